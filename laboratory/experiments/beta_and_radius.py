"""What beta and the radius of the weights are: the paper's text against its authors' program."""

from functools import partial

from laboratory import figures
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_units
from laboratory.result_rows import distinct_labels, final_rows, mean, select_rows
from laboratory.verdicts import (
    DEFINITIONS,
    claims_for_each_comparison,
    judges_of_both,
    untested,
    verdict,
)

TITLE = "Readings: beta and the radius of the ball"
NOTES = (
    "The text says beta = 1 and radius 1/sqrt(R), the published program has 0.1 and 1. PSNR rises "
    "as beta falls, by construction; at equal size beta only matters for what was learned."
)
SUMMARY = (
    ("data", "system", "beta", "radius"),
    QUALITY_COLUMNS,
)


def _radii(scale):
    return {"1": 1.0, "1/sqrt(R)": round(scale.n_base**-0.5, 6)}


def plan(scale):
    return [
        unit
        for beta in (0.1, 1.0)
        for radius in _radii(scale).values()
        for unit in learning_units(scale, DEFINITIONS, scale.rival_sets, beta=beta, radius=radius)
    ]


def _text_is_best(ours, key):
    def judge(rows):
        texts, agrees = [], []
        for (data,) in distinct_labels(rows, "data"):
            set_rows = select_rows(final_rows(rows), data=data, system=ours)
            pairs = distinct_labels(set_rows, "beta", "radius")
            psnrs = {(b, r): mean(set_rows, key, beta=b, radius=r) for b, r in pairs}
            psnrs = {pair: value for pair, value in psnrs.items() if value is not None}
            in_text = [pair for pair in psnrs if pair[0] == 1.0 and pair[1] < 1]
            if not in_text or len(psnrs) < 2:
                continue
            best = max(psnrs, key=psnrs.get)
            texts.append(
                f"{data}: {psnrs[in_text[0]]:.2f} dB as in the text, {psnrs[best]:.2f} dB at best "
                f"(beta {best[0]:g}, radius {best[1]:.3g})"
            )
            agrees.append(psnrs[in_text[0]] > psnrs[best] - 1.0)
        return verdict("; ".join(texts), all(agrees)) if texts else untested("pairs are missing")

    return judge


CLAIMS = tuple(
    claim
    for claim in claims_for_each_comparison(
        "beta = 1 and radius 1/sqrt(R) are the setting of the results, here: within 1 dB of the "
        "best pair",
        lambda key: judges_of_both(partial(_text_is_best, key=key)),
    )
    if "objective" not in claim.text  # those of several betas cannot be compared
)


def draw(rows):
    named = [
        row | {"case": f"beta {row['beta']:g}, radius {row['radius']:.3g}"}
        for row in final_rows(rows)
    ]
    return figures.plot_bars(named, "psnr", figures.PSNR, ("data", "case"))
