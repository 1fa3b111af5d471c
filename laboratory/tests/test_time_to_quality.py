"""Times to equal quality, read from learning curves."""

import math

import pytest

from laboratory.experiments import figure_6_convergence as convergence
from laboratory.tests.result_row_makers import (
    FAST,
    SLOW,
    judge_experiment,
    make_curve,
    make_untrained,
)
from laboratory.time_to_quality import faster_at_equal_quality, time_to_goal, times_to_common_goal
from laboratory.verdicts import NO, NOT_TESTED, YES


@pytest.mark.parametrize(("first", "second", "expected"), [(FAST, SLOW, YES), (SLOW, FAST, NO)])
def test_faster_at_equal_psnr(first, second, expected):
    rows = make_curve("SCSC", first) + make_curve("OCSC", second)
    for name, words in (("convergence", "is faster than OCSC"), ("large", "in less time")):
        assert {v for text, v in judge_experiment(name, rows).items() if words in text} == {
            expected
        }


def test_time_to_what_needs_no_learning_is_not_compared():
    rows = make_curve("SCSC", FAST) + make_curve("OCSC", SLOW)
    judge = faster_at_equal_quality("SCSC", "OCSC", "psnr_unit")
    assert judge(rows + make_untrained(24)).agrees == YES
    found = judge(rows + make_untrained(29))
    assert found.agrees == NOT_TESTED
    assert "no learning (SCSC) (29) is as good as the worse of both (28)" in found.measured
    by_objective = faster_at_equal_quality("SCSC", "OCSC", "objective_unit")
    assert by_objective(rows + make_untrained(29)).agrees == NOT_TESTED
    assert by_objective(rows + make_untrained(24)).agrees == YES


def test_seconds_a_sample_are_always_said():
    # A pass of two samples takes a second.
    rows = make_curve("SCSC", FAST) + make_curve("OCSC", SLOW)
    judge = faster_at_equal_quality("SCSC", "OCSC", "psnr_unit")
    for curves in (rows, rows + make_untrained(29)):
        assert "(0.5 s and 0.5 s a sample)" in judge(curves).measured


def test_a_seed_is_compared_with_itself():
    rows = make_curve("SCSC", FAST) + make_curve("OCSC", SLOW)
    later = [row | {"seed": 1, "psnr_unit": row["psnr_unit"] - 5} for row in rows]
    judge = faster_at_equal_quality("SCSC", "OCSC", "psnr_unit")
    assert judge(rows + later).agrees == YES
    assert "never" not in judge(rows + later).measured


def test_seeds_without_a_curve_say_nothing_of_time():
    rows = make_curve("SCSC", FAST) + make_curve("OCSC", SLOW)
    ends = [row | {"seed": 1, "seconds": 40} for row in rows if row["end"]]
    assert times_to_common_goal(rows + ends, "SCSC", "OCSC", min) == times_to_common_goal(
        rows, "SCSC", "OCSC", min
    )


def test_time_that_is_never_reached_is_infinite():
    assert time_to_goal(make_curve("SCSC", FAST), 30) == 2
    assert time_to_goal(make_curve("SCSC", FAST), 27) == pytest.approx(1.4)
    assert time_to_goal(make_curve("SCSC", FAST), 20) == 1  # not tested before
    assert time_to_goal(make_curve("SCSC", FAST), 31) == math.inf
    rows = make_curve("SCSC", SLOW) + make_curve("OCSC", FAST)
    assert convergence.sooner("psnr")(rows, "SCSC", "OCSC") == NO
