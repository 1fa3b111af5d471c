"""What an experiment leaves: NAME.csv, NAME.png, and NAME.md with what agrees with the paper."""

import matplotlib

from benchmarks.paper.claims import chosen, deviation, distinct, ends, mean
from benchmarks.paper.learning import EQUAL
from benchmarks.report import write_csv

matplotlib.use("Agg")

_EQUAL = (
    "`per_pixel`: values of the test codes a pixel; below a hundredth of the largest they do not "
    "count, and maps of parallel filters count as one. `numbers`: these and what else a sample has "
    "for itself, R weights of each column of W in use, or each filter fitted to it. `length`: the "
    "median length of the filters in use. `psnr_unit`: PSNR with beta times that length, the price "
    "that filters of length one pay. "
    f"{', '.join(f'`{key}`' for key in EQUAL)}: PSNR at equal size of the code, each system with "
    "the beta at which its test codes take so many numbers a pixel; on the line between the two "
    "nearest codes. What could not be brought there has no figure and is not compared."
)


def write(experiment, name, rows, missing, scale, out):
    """Write all of it; return the text of NAME.md."""
    out.mkdir(parents=True, exist_ok=True)
    if rows:
        write_csv(out / f"{name}.csv", [_flat(row) for row in rows])
        experiment.draw(rows).savefig(out / f"{name}.png", dpi=130)
    text = describe(experiment, name, rows, missing, scale)
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    return text


def describe(experiment, name, rows, missing, scale):
    """NAME.md: what was run, what it gave, and what the paper says of it."""
    seeds = "one seed" if scale.seeds == 1 else f"{scale.seeds} seeds"
    size = "quick version, smaller than the paper's" if scale.quick else "full version"
    parts = [f"## {experiment.TITLE}", f"`{name}`, {size}, {seeds}. {experiment.NOTES}"]
    if any(key in row for row in rows for key in EQUAL):
        parts.append(_EQUAL)
    if missing:
        lines = "\n".join(f"- {what}: {why}" for what, why in missing.items())
        parts.append(f"Not measured:\n\n{lines}")
    parts.append(_table(("paper says", "we measured", "agrees?"), _judged(experiment, rows)))
    if rows:
        parts.append(f"![{experiment.TITLE}]({name}.png)")
        summarised = getattr(experiment, "summarised", ends)
        parts.append(_summary(*experiment.SUMMARY, summarised(rows)))
        for words, header, lines in _further_tables(experiment, rows):
            parts += [words, _table(header, lines)]
    return "\n\n".join(parts) + "\n"


def _further_tables(experiment, rows):
    """(text, header, lines) of each, where an experiment has more to show than its means."""
    return experiment.tables(rows) if hasattr(experiment, "tables") else []


def verdicts(experiment, rows):
    """Pairs of a claim and its verdict."""
    return [(claim, claim.judge(rows)) for claim in experiment.CLAIMS]


def _judged(experiment, rows):
    return [
        (claim.text, found.measured, found.agrees) for claim, found in verdicts(experiment, rows)
    ]


def _summary(labels, figures, rows):
    """Mean and standard deviation over the seeds."""
    figures = [key for key in figures if any(row.get(key) is not None for row in rows)]
    lines = []
    for case in distinct(rows, *labels):
        some = chosen(rows, **dict(zip(labels, case, strict=True)))
        lines.append((*case, *(_with_spread(some, key) for key in figures)))
    return _table((*labels, *figures), lines)


def _with_spread(rows, key):
    average, spread = mean(rows, key), deviation(rows, key)
    if average is None:
        return ""
    return f"{average:.4g}" + ("" if not spread else f" ± {spread:.2g}")


def _table(header, lines):
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)


def _cell(value):
    text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")


def _flat(row):
    """Without what a cell cannot hold, such as a matrix."""
    return {
        key: "x".join(map(str, value)) if key == "support" else value
        for key, value in row.items()
        if key == "support" or not isinstance(value, list)
    }
