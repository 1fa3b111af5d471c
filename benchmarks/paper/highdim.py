"""Table 4: video, multispectral and light field data."""

from benchmarks.paper import figures
from benchmarks.paper.claims import (
    Claim,
    always_above,
    both_ways,
    distinct,
    ends,
    mean,
    untested,
    verdict,
)
from benchmarks.paper.learning import EQUAL
from benchmarks.paper.plans import learn

TITLE = "Table 4: higher-dimensional data sets"
NOTES = (
    "One video, one multispectral scene and one light field, cut into pieces, some for learning "
    "and others for the test; the paper had whole collections. The contrast of each frame, band "
    "or view is normalised. The quick version has every third band and every second view. Codes "
    "are shared over bands and views, and beta grows as the root of their number, as the answer "
    "of a filter of unit length does. All ran on one thread of a CPU."
)
SUMMARY = (
    ("data", "system", "R"),
    ("psnr", "per_pixel", *EQUAL, "seconds", "passes", "budget", "kept_mb"),
)
_SETS = {
    # size, training and test samples, filters, step of bands or views; then of the quick version
    "video": ((100, 10, 2, (11, 11, 11), 1), (32, 6, 2, (5, 7, 7), 1)),
    "multispectral": ((60, 6, 2, (11, 11), 1), (32, 8, 2, (11, 11), 3)),
    "light field": ((60, 40, 4, (11, 11), 1), (32, 8, 2, (11, 11), 2)),
}


def _channels(data, step):
    """Bands or views that a filter spans."""
    bands, views = len(range(0, 31, step)), len(range(0, 8, step)) ** 2
    return {"video": 1, "multispectral": bands, "light field": views}[data]


def plan(scale):
    units = []
    for data, sizes in _SETS.items():
        size, n_train, n_test, support, step = sizes[scale.quick]
        changes = scale.small_images() | {
            "size": size,
            "n_train": n_train,
            "n_test": n_test,
            "support": list(support),
            "joint_step": step,
            "K": 30 if scale.quick else 50,
            "beta": round(0.1 * _channels(data, step) ** 0.5, 3),
        }
        for system, r in (("CCSC", None), ("OCSC", None), ("SCSC", 5), ("SCSC", 10)):
            own = changes | ({"R": r} if r else {})
            units += [
                learn(scale, system, data, seed, alone=True, **own) for seed in range(scale.seeds)
            ]
    return units


def _fastest(rows):
    texts, good = [], []
    for (data,) in distinct(rows, "data"):
        some = [row | {"pass_seconds": row["seconds"] / row["passes"]} for row in ends(rows)]
        times = [mean(some, "pass_seconds", data=data, system=s) for s in ("SCSC", "OCSC")]
        if None not in times:
            texts.append(f"{data}: {times[0]:.3g} s a pass against {times[1]:.3g} s")
            good.append(times[0] < times[1])
    return verdict("; ".join(texts), all(good)) if texts else untested("not both systems")


def _above(ours, theirs, cases=("data", "R")):
    return both_ways(
        f"{ours} outperforms {theirs}",
        lambda key: always_above(ours, theirs, key, cases=cases, match=("data",)),
    )


CLAIMS = (
    *_above("SCSC", "OCSC"),
    *_above("SCSC", "CCSC"),
    *_above("OCSC", "CCSC", cases=("data",)),
    Claim("SCSC is faster than OCSC (the paper: on other hardware)", _fastest),
)


def draw(rows):
    return figures.bars(
        [row | {"system": row["system"], "set": _name(row)} for row in ends(rows)],
        "psnr",
        figures.PSNR,
        ("set",),
    )


def _name(row):
    return row["data"] + (f", R = {row['R']}" if row["system"] == "SCSC" else "")
