"""One screen of all experiments: a figure, and what the paper claims beside both definitions.

Who beats whom depends on what is equal, so that a claim has a verdict for each comparison.
"""

from laboratory import figures
from laboratory.data_sets import SMALL_SETS
from laboratory.experiment_report import judge_claims, table
from laboratory.experiments import load_experiment
from laboratory.result_rows import distinct_labels, final_rows, mean, select_rows
from laboratory.systems import UNTRAINED
from laboratory.verdicts import DEFINITIONS, NOT_TESTED

HEADLINES = {
    "balls": ("SCSC-L1 is much inferior to SCSC-L2, at all R",),
    "sharing": (
        "SCSC always outperforms SCSC (shared)",
        "SCSC always outperforms SEP-TD",
        "SCSC outperforms OCSC from R = 10 on",
    ),
    "finetune": ("OCSC with fine-tuning is still much worse than SCSC",),
    "filters": ("a larger K is consistently better for all methods",),
    "convergence": (
        "online methods have better PSNR than batch methods",
        "SCSC is faster than OCSC at equal objective",
        "SCSC requires less storage than OCSC, by about",
    ),
    "large": ("SCSC significantly outperforms OCSC on both sets",),
    "highdim": ("SCSC outperforms OCSC", "SCSC outperforms CCSC"),
    "solvers": ("niAPG converges",),
    "complexity": ("K = 100, R = 10: SCSC takes a hundredth of the memory",),
    "restoration": ("SCSC is consistently best",),
}
"""How the claims on the first screen begin, by experiment; all others are in its own table."""

_SHORT_NAMES = {
    "equal beta": "equal beta",
    "equal beta, filters of length one": "length one",
    "objective, filters of length one": "objective",
    "0.5 numbers a pixel": "equal size",
}


def write_overview(rows_by_experiment, out):
    """Write overview.md and overview.png."""
    lines = [
        line
        for name, headlines in HEADLINES.items()
        for headline in headlines
        for line in [_line(name, headline, rows_by_experiment[name])]
    ]
    header = ("what the paper claims", "as the paper defines it", "with orthonormal filters")
    (out / "overview.md").write_text(table(header, lines) + "\n", encoding="utf-8")
    rows = rows_by_experiment["convergence"] + rows_by_experiment["sharing"]
    draw(rows).savefig(out / "overview.png", dpi=130)


def _line(name, headline, rows):
    """The claim, where it is in the paper, and its verdicts for both definitions."""
    experiment = load_experiment(name)
    judged = [
        (claim.text, verdicts)
        for claim, verdicts in judge_claims(experiment, rows)
        if claim.text == headline or claim.text.startswith(f"{headline} (")
    ]
    if not judged:
        raise ValueError(f"{name} has no claim that begins with {headline!r}")
    place = experiment.TITLE.split(":")[0]
    if len(judged) == 1:
        ((text, verdicts),) = judged
        return (f"{text} ({place})", *(verdict.agrees for verdict in verdicts))
    cells = [
        _verdict_words(
            (text.removeprefix(headline).strip(" ()"), verdicts[number].agrees)
            for text, verdicts in judged
        )
        for number in range(len(DEFINITIONS))
    ]
    return (f"{headline} ({place})", *cells)


def _verdict_words(found):
    """Comparisons with the same verdict together: "yes: equal beta; no: length one"."""
    by_verdict = {}
    for what, agrees in found:
        if agrees != NOT_TESTED:
            by_verdict.setdefault(agrees, []).append(_SHORT_NAMES.get(what, what))
    parts = (f"**{agrees}**: {', '.join(names)}" for agrees, names in by_verdict.items())
    return "; ".join(parts) or NOT_TESTED


def draw(rows):
    """The test objective with filters at length one: SCSC over R, all others as levels."""
    rows = [
        row | {"mean_objective": row["objective_unit"] / row["n_test"]} for row in final_rows(rows)
    ]
    figure, axes = figures.make_panels(len(SMALL_SETS))
    axes[0, 1].sharex(axes[0, 0])
    axes[0, 1].sharey(axes[0, 0])
    figure.set_size_inches(11, 4.4)
    for ax, data in zip(axes[0], SMALL_SETS, strict=True):
        set_rows = select_rows(rows, data=data)
        for definition in DEFINITIONS:
            line = select_rows(set_rows, system=definition, beta=0.1, radius=1.0)
            sizes = sorted(r for (r,) in distinct_labels(line, "R"))
            heights = [mean(line, "mean_objective", R=r) for r in sizes]
            ax.plot(sizes, heights, **figures.style(definition))
        for (system,) in distinct_labels(set_rows, "system"):
            level_rows = select_rows(set_rows, system=system)
            if level_rows[0]["R"] == level_rows[0]["K"] and system not in UNTRAINED:
                whole = max(row["K"] for row in level_rows)
                height = mean(level_rows, "mean_objective", K=whole)
                colour, _ = figures.STYLES[system]
                ax.axhline(height, color=colour, linestyle="--", linewidth=1, label=system)
        ax.set(
            title=f"{figures.TITLES[data]}: objective of a test image",
            xlabel="base filters R",
            ylabel="objective, filters of length one",
        )
    figures.legend_beside(figure, axes[0, 0])
    return figure
