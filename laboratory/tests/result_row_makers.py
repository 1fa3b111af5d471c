"""Rows as experiments leave them, made up for tests of what is read from them."""

from laboratory.evaluation import EQUAL_SIZE_COLUMNS
from laboratory.experiment_report import judge_claims
from laboratory.experiments import load_experiment
from laboratory.verdicts import DEFINITIONS


def make_final_rows(psnrs, **labels):
    """End rows, {system: PSNR}, the same PSNR at equal beta and at equal size."""
    return [
        {"system": s, "data": "fruit", "seed": 0, "R": 10, "K": 50, "end": True, "seconds": 1.0}
        | {"psnr": p, "psnr_unit": p, "objective_unit": 100 / p if p else None}
        | dict.fromkeys(EQUAL_SIZE_COLUMNS, p)
        | labels
        for s, p in psnrs.items()
    ]


def judge_experiment(name, rows, definition=DEFINITIONS[0]):
    """{text of the claim: verdict} of SCSC in one of its definitions."""
    place = DEFINITIONS.index(definition)
    return {
        claim.text: verdicts[min(place, len(verdicts) - 1)].agrees
        for claim, verdicts in judge_claims(load_experiment(name), rows)
    }


def make_curve(system, points):
    (row,) = make_final_rows({system: 0}, kept_mb=1.0)
    return [
        row
        | {"seconds": s, "psnr": p, "psnr_unit": p, "objective_unit": 100 / p}
        | {"end": (s, p) == points[-1], "passes": s, "n_train": 2}
        | dict.fromkeys(EQUAL_SIZE_COLUMNS, p)
        for s, p in points
    ]


FAST, SLOW = [(1, 25), (2, 30)], [(10, 20), (20, 28)]


def make_untrained(psnr, system="no learning (SCSC)"):
    return make_curve(system, [(0, psnr)])
