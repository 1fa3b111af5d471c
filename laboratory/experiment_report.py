"""What an experiment leaves: NAME.csv, NAME.png, and NAME.md with what agrees with the paper."""

import matplotlib

from benchmarks.report import write_csv
from laboratory.evaluation import EQUAL_SIZE_COLUMNS
from laboratory.result_rows import deviation, distinct_labels, final_rows, mean, select_rows

matplotlib.use("Agg")

_COLUMNS_EXPLAINED = (
    "`per_pixel`: values of the test codes a pixel; below a hundredth of the largest they do not "
    "count, and maps of parallel filters count as one. `numbers`: these and what else a sample has "
    "for itself, R weights of each column of W in use, or each filter fitted to it. `length`: the "
    "median length of the filters in use. `psnr_unit`: PSNR with beta times that length, the price "
    "that filters of length one pay. `objective_unit`: the objective of the test samples at that "
    "price, error and price of the code, their sum; less is better. "
    f"{', '.join(f'`{key}`' for key in EQUAL_SIZE_COLUMNS)}: PSNR at equal size of the code, "
    "each system with the beta at which its test codes take so many numbers a pixel; on the line "
    "between the two nearest codes. What could not be brought there has no figure and is not "
    "compared."
)


def write_report(experiment, name, rows, missing, scale, out):
    """Write all of it; return the text of NAME.md."""
    out.mkdir(parents=True, exist_ok=True)
    if rows:
        write_csv(out / f"{name}.csv", [_csv_row(row) for row in rows])
        experiment.draw(rows).savefig(out / f"{name}.png", dpi=130)
    text = report_text(experiment, name, rows, missing, scale)
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    return text


def report_text(experiment, name, rows, missing, scale):
    """NAME.md: what was run, what it gave, and what the paper says of it."""
    n_seeds = len(distinct_labels(rows, "seed"))
    seeds = "one seed" if n_seeds <= 1 else f"up to {n_seeds} seeds"
    size = "quick version, smaller than the paper's" if scale.quick else "full version"
    parts = [f"## {experiment.TITLE}", f"`{name}`, {size}, {seeds}. {experiment.NOTES}"]
    if any(key in row for row in rows for key in EQUAL_SIZE_COLUMNS):
        parts.append(_COLUMNS_EXPLAINED)
    if missing:
        parts.append(f"Not measured:\n\n{_list_missing(missing)}")
    parts.append(table(_CLAIM_HEADER, _claim_lines(experiment, rows)))
    if rows:
        parts.append(f"![{experiment.TITLE}]({name}.png)")
        summarised = getattr(experiment, "summarised", final_rows)
        parts.append(_summary(*experiment.SUMMARY, summarised(rows)))
        for words, header, lines in _further_tables(experiment, rows):
            parts += [words, table(header, lines)]
    return "\n\n".join(parts) + "\n"


def _list_missing(missing):
    """A line for each case and reason, {"SCSC, fruit, seed 1": why}, with all its seeds."""
    seeds = {}
    for name, why in missing.items():
        case, _, seed = name.rpartition(", seed ")
        seeds.setdefault((case, why), []).append(seed)
    return "\n".join(
        f"- {case}, seed {', '.join(found)}: {why}" for (case, why), found in seeds.items()
    )


def _further_tables(experiment, rows):
    """(text, header, lines) of each, where an experiment has more to show than its means."""
    return experiment.tables(rows) if hasattr(experiment, "tables") else []


def judge_claims(experiment, rows):
    """Pairs of a claim and its verdicts, one for each definition of SCSC that it is about."""
    return [(claim, claim.verdicts(rows)) for claim in experiment.CLAIMS]


_CLAIM_HEADER = (
    "paper says",
    "as the paper defines it",
    "agrees?",
    "with orthonormal filters",
    "agrees?",
)


def _claim_lines(experiment, rows):
    for claim, verdicts in judge_claims(experiment, rows):
        cells = [cell for verdict in verdicts for cell in verdict]
        yield (claim.text, *cells, *[""] * (len(_CLAIM_HEADER) - 1 - len(cells)))


def _summary(labels, figures, rows):
    """Mean and standard deviation over the seeds."""
    figures = [key for key in figures if any(row.get(key) is not None for row in rows)]
    lines = []
    for case in distinct_labels(rows, *labels):
        case_rows = select_rows(rows, **dict(zip(labels, case, strict=True)))
        lines.append((*case, *(_with_spread(case_rows, key) for key in figures)))
    return table((*labels, *figures), lines)


def _with_spread(rows, key):
    average, spread = mean(rows, key), deviation(rows, key)
    if average is None:
        return ""
    return f"{average:.4g}" + ("" if not spread else f" ± {spread:.2g}")


def table(header, lines):
    """A table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)


def _cell(value):
    text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")


def _csv_row(row):
    """Without what a cell cannot hold, such as a matrix."""
    return {
        key: "x".join(map(str, value)) if key == "support" else value
        for key, value in row.items()
        if key == "support" or not isinstance(value, list)
    }
