"""How the experiments on solvers (Figures 8, 9) and complexities (Table 1) judge."""

import math

import pytest

from laboratory.tests.result_row_makers import judge_experiment
from laboratory.verdicts import NO, NOT_TESTED, UNDECIDED, YES


def solved(system, objective, late_change, violation_share=None, seconds=1.0, iteration=1):
    row = {"system": system, "filters_of": "SCSC", "seed": 0, "end": True, "objective": objective}
    row |= {"late_change": late_change, "seconds": seconds, "iteration": iteration}
    if violation_share is not None:
        row |= {"violation": 1.0, "violation_share": violation_share}
    return row


def told_of_rho_one(rows):
    """Verdicts on niAPG and on ADMM with rho 1; nothing else was run."""
    told = judge_experiment("solvers", rows)
    others = {text for text in told if "(rho " in text and "(rho 1)" not in text}
    assert {told.pop(text) for text in others} == {NOT_TESTED}
    return told


def test_solvers_are_judged_by_what_they_end_with():
    diverging = [solved("niAPG", 100, 1e-5), solved("ADMM, rho 1", 300, 0.2, 0.5)]
    assert set(told_of_rho_one(diverging).values()) == {YES}
    behaved = [solved("niAPG", 103, 0.1), solved("ADMM, rho 1", 99, 1e-5, 1e-6)]
    assert set(told_of_rho_one(behaved).values()) == {NO}


def test_each_rho_has_a_verdict_of_its_own():
    rows = [
        solved("niAPG", 100, 1e-5),
        solved("ADMM, rho 0.02", 300, 0.2, 0.5),
        solved("ADMM, rho 10", 101, 1e-5, 1e-6),
    ]
    told = judge_experiment("solvers", rows)
    assert told["ADMM fails to converge (rho 0.02)"] == YES
    assert told["ADMM fails to converge (rho 10)"] == NO


def test_slow_is_not_failing():
    rows = [solved("niAPG", 100, 1e-5), solved("ADMM, rho 10", 112, 2e-4, 1e-6)]
    assert judge_experiment("solvers", rows)["ADMM fails to converge (rho 10)"] == UNDECIDED


def test_solver_that_blows_up_has_not_converged():
    rows = [solved("niAPG", 100, 1e-5), solved("ADMM, rho 1", math.nan, math.nan, math.nan)]
    told = judge_experiment("solvers", rows)
    assert told["ADMM fails to converge (rho 1)"] == YES
    assert told["the violation of ADMM's constraint does not go to zero (rho 1)"] == YES


def test_solvers_are_compared_by_seconds_and_by_iterations():
    rows = [
        solved("niAPG", 100, 1e-5, seconds=1.0, iteration=50),
        solved("ADMM, rho 1", 100, 1e-5, 1e-6, seconds=2.0, iteration=20),
    ]
    told = judge_experiment("solvers", rows)
    assert told["niAPG has fast convergence (seconds; ADMM at any rho)"] == YES
    assert told["niAPG has fast convergence (iterations; ADMM at any rho)"] == NO


def fitted(system, of, axis, exponent):
    return {"system": system, "of": of, "in": axis, "exponent": exponent}


def test_exponents_are_upper_bounds():
    text = "SCSC, filter update O(R^2 P + RP log P)"
    assert judge_experiment("complexity", [fitted("SCSC", "filter_ms", "R", 1.2)])[text] == YES
    assert judge_experiment("complexity", [fitted("SCSC", "filter_ms", "K", 0.9)])[text] == NO


@pytest.mark.parametrize(("ratio", "expected"), [(100.0, YES), (91.8, NO)])
def test_hundredth_of_the_memory_is_that_of_h(ratio, expected):
    ratios = {"H": ratio, "H and G": 91.8}
    rows = [{"system": "SCSC", "of": what, "ratio": r} for what, r in ratios.items()]
    (told,) = (v for text, v in judge_experiment("complexity", rows).items() if "hundredth" in text)
    assert told == expected
