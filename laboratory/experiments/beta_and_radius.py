"""What beta and the radius of the weights are: the paper's text against its authors' program."""

from benchmarks.paper import figures
from benchmarks.paper.claims import chosen, distinct, every_way, mean, untested, verdict
from benchmarks.paper.learning import QUALITY
from benchmarks.paper.plans import everywhere

TITLE = "Readings: beta and the radius of the ball"
NOTES = (
    "The text says beta = 1 and radius 1/sqrt(R), the published program has 0.1 and 1. PSNR rises "
    "as beta falls, by construction; at equal size beta only matters for what was learned."
)
SUMMARY = (
    ("data", "beta", "radius"),
    QUALITY,
)


def _radii(scale):
    return {"1": 1.0, "1/sqrt(R)": round(scale.n_base**-0.5, 6)}


def plan(scale):
    return [
        unit
        for beta in (0.1, 1.0)
        for radius in _radii(scale).values()
        for unit in everywhere(scale, ("SCSC",), beta=beta, radius=radius)
    ]


def _text_is_best(key):
    def judge(rows):
        texts, good = [], []
        for (data,) in distinct(rows, "data"):
            some = chosen(rows, data=data)
            pairs = distinct(some, "beta", "radius")
            found = {(b, r): mean(some, key, beta=b, radius=r) for b, r in pairs}
            found = {pair: value for pair, value in found.items() if value is not None}
            text = [pair for pair in found if pair[0] == 1.0 and pair[1] < 1]
            if not text or len(found) < 2:
                continue
            best = max(found, key=found.get)
            texts.append(
                f"{data}: {found[text[0]]:.2f} dB as in the text, {found[best]:.2f} dB at best "
                f"(beta {best[0]:g}, radius {best[1]:.3g})"
            )
            good.append(found[text[0]] > found[best] - 1.0)
        return verdict("; ".join(texts), all(good)) if texts else untested("pairs are missing")

    return judge


CLAIMS = every_way(
    "beta = 1 and radius 1/sqrt(R) are the setting of the results, here: within 1 dB of the best "
    "pair",
    _text_is_best,
)


def draw(rows):
    named = [row | {"case": f"beta {row['beta']:g}, radius {row['radius']:.3g}"} for row in rows]
    return figures.bars(named, "psnr", figures.PSNR, ("data", "case"))
