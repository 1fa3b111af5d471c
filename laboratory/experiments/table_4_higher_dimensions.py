"""Table 4: video, multispectral and light field data."""

from functools import partial

from laboratory import figures
from laboratory.evaluation import QUALITY_COLUMNS
from laboratory.learning_units import learning_unit
from laboratory.result_rows import final_rows
from laboratory.systems import UNTRAINED
from laboratory.time_to_quality import claims_for_psnr_and_objective, faster_at_equal_quality
from laboratory.verdicts import (
    DEFINITIONS,
    always_above,
    claims_for_each_comparison,
    judges_of_both,
)

TITLE = "Table 4: higher-dimensional data sets"
NOTES = (
    "One video, one multispectral scene and one light field, cut into pieces, some for learning "
    "and others for the test; the paper had whole collections. The contrast of each frame, band "
    "or view is normalised. The quick version has every third band and every second view. Codes "
    "are shared over bands and views, and beta grows as the root of their number, as the answer "
    "of a filter of unit length does. All ran on one thread of a CPU, within the same budget, but "
    "for one pass at least. A pass of CCSC is one of its iterations. Speed is "
    'judged at R = 10; "no learning" is what each begins with.'
)
SUMMARY = (
    ("data", "system", "R"),
    (*QUALITY_COLUMNS, "seconds", "passes", "budget", "kept_mb"),
)
_SET_SIZES = {
    # size, training and test samples, filters, step of bands or views; then of the quick version
    "video": ((40, 4, 1, (7, 11, 11), 1), (32, 6, 1, (5, 7, 7), 1)),
    "multispectral": ((48, 4, 1, (11, 11), 1), (32, 8, 2, (11, 11), 3)),
    "light field": ((48, 4, 1, (11, 11), 1), (32, 8, 2, (11, 11), 2)),
}


def _count_channels(data, step):
    """Bands or views that a filter spans."""
    bands, views = len(range(0, 31, step)), len(range(0, 8, step)) ** 2
    return {"video": 1, "multispectral": bands, "light field": views}[data]


def plan(scale):
    units = []
    for data, sizes in _SET_SIZES.items():
        size, n_train, n_test, support, step = sizes[scale.quick]
        changes = scale.other_set_settings(
            size=size,
            n_train=n_train,
            n_test=n_test,
            support=list(support),
            joint_step=step,
            K=30 if scale.quick else 50,
            beta=round(0.1 * _count_channels(data, step) ** 0.5, 3),
        )
        for system, options in _SYSTEM_OPTIONS:
            if scale.quick and system not in UNTRAINED:
                options = options | {"curve": True}
            units += [
                learning_unit(scale, system, data, seed, **(changes | options))
                for seed in range(scale.sweep_seeds)
            ]
    return units


_SYSTEM_OPTIONS = (
    *((system, {"R": r}) for r in (10, 5) for system in DEFINITIONS),
    ("CCSC", {}),
    ("OCSC", {}),
    *((start, {"sparsity_steps": 0, "R": 10}) for start in UNTRAINED),
)


def _faster_than(rival, ours, key):
    judge = faster_at_equal_quality(ours, rival, key)

    def judge_one_size(rows):
        return judge([row for row in rows if row["system"] != ours or row["R"] == 10])

    return judge_one_size


def _scsc_above(theirs):
    return claims_for_each_comparison(
        f"SCSC outperforms {theirs}",
        lambda key: judges_of_both(lambda ours: always_above(ours, theirs, key, match=("data",))),
    )


CLAIMS = (
    *_scsc_above("OCSC"),
    *_scsc_above("CCSC"),
    *claims_for_each_comparison(
        "OCSC outperforms CCSC", lambda key: (always_above("OCSC", "CCSC", key, cases=("data",)),)
    ),
    *(
        claim
        for rival in ("OCSC", "CCSC")
        for claim in claims_for_psnr_and_objective(
            f"SCSC is the fastest (the paper: on other hardware): than {rival}, to equal {{}}, "
            "filters of length one",
            partial(_faster_than, rival),
        )
    ),
)


def draw(rows):
    shown = [
        row | {"set": _bar_name(row)} for row in final_rows(rows) if row["system"] not in UNTRAINED
    ]
    return figures.plot_bars(shown, "psnr", figures.PSNR, ("set",))


def _bar_name(row):
    return row["data"] + (f", R = {row['R']}" if row["system"] in DEFINITIONS else "")
