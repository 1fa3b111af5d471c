"""Evaluation at one price for all, and the search for codes of equal size."""

import math
from types import SimpleNamespace

import pytest

from laboratory.evaluation import (
    Evaluation,
    Evaluator,
    evaluate_around,
    evaluate_at_both_prices,
    interpolate_psnr,
)
from laboratory.systems.interface import LearningTask, shared_coder


def coded(numbers, psnr):
    return Evaluation(
        psnr=psnr, per_pixel=0.0, numbers=numbers, tiny=0.0, length=1.0, objective=1.0
    )


def by_a_law(beta):
    """Numbers and PSNR of a code that never was."""
    return coded(numbers=0.3 / beta**1.5, psnr=30 - 8 * math.log(beta))


def around(targets, start, steps, law=by_a_law):
    return evaluate_around(targets, law, {start: law(start)}, steps)


def psnr_of_the_law(target):
    return by_a_law((0.3 / target) ** (1 / 1.5)).psnr


@pytest.mark.parametrize("start", [1e-3, 0.1, 30.0])
def test_psnr_at_each_target_of_a_known_law_is_found(start):
    found = around((0.25, 0.5, 1.0), start, steps=25)
    for target in (0.25, 0.5, 1.0):
        assert interpolate_psnr(found, target) == pytest.approx(psnr_of_the_law(target), abs=0.2)


def test_targets_share_their_codes():
    runs_alone = sum(len(around((target,), 0.1, 25)) for target in (0.25, 0.5, 1.0))
    assert len(around((0.25, 0.5, 1.0), 0.1, 25)) < runs_alone


def test_search_begins_with_the_codes_that_are_there():
    """Two codes around a target that are near enough leave nothing to be done."""
    betas = [(0.3 / numbers) ** (1 / 1.5) for numbers in (0.45, 0.55)]
    found = {beta: by_a_law(beta) for beta in betas}
    assert evaluate_around((0.5,), None, found, 25) == found


def test_no_more_codes_than_allowed():
    tried = []
    around((0.25, 0.5), 1e-6, 4, law=lambda b: tried.append(b) or by_a_law(b))
    assert len(tried) == 4


def test_size_that_cannot_be_reached_ends_the_search():
    """However large beta is, the sample's own filters stay."""
    found = around((0.25,), 0.1, 6, law=lambda beta: coded(0.3 + 0.1 / beta, 20.0))
    assert len(found) == 6
    assert interpolate_psnr(found, 0.25) is None


def test_code_of_zeros_does_not_lead_the_search_astray():
    def law(beta):
        return by_a_law(beta) if beta < 1.5 else coded(0.0, 0.0)

    found = around((0.25,), 1.6, 12, law)
    assert interpolate_psnr(found, 0.25) == pytest.approx(psnr_of_the_law(0.25), abs=0.2)


def test_psnr_at_equal_size_lies_on_the_line_between():
    found = {0.4: coded(0.9, 20.0), 0.1: coded(1.1, 30.0), 0.01: coded(3.0, 50.0)}
    assert interpolate_psnr(found, 1.0) == pytest.approx(25)


def test_neighbours_far_apart_say_nothing():
    found = {0.4: coded(0.5, 20.0), 0.1: coded(2.0, 30.0)}
    assert interpolate_psnr(found, 1.0) is None


def test_near_enough_needs_no_neighbour():
    assert interpolate_psnr({0.4: coded(1.01, 20.0)}, 1.0) == 20
    assert interpolate_psnr({0.4: coded(1.1, 20.0)}, 1.0) is None


def test_beta_of_unit_filters_grows_with_the_length(data_set):
    """Filters twice as long, at twice the price, are the same filters."""
    task = LearningTask(data_set.train, n_filters=6, support=(5, 5), beta=0.1)
    test = Evaluator(data_set.test, 300)
    whole = evaluate_at_both_prices(shared_coder(task, task.first_filters()), test, 0.1)
    assert list(whole) == [0.1]
    short = evaluate_at_both_prices(shared_coder(task, task.first_filters() / 2), test, 0.1)
    assert list(short) == pytest.approx([0.1, 0.05])
    assert short[0.1].length == pytest.approx(0.5, rel=1e-4)
    assert short[0.1].psnr < whole[0.1].psnr - 1
    ends = [list(found.values())[-1] for found in (whole, short)]
    assert ends[1].psnr == pytest.approx(ends[0].psnr, abs=0.05)
    assert ends[1].objective == pytest.approx(ends[0].objective, rel=1e-2)


def test_test_codes_run_to_their_last_iteration(data_set):
    asked = {}

    def encode(sample, **options):
        asked.update(options)
        return model.encode(sample, **options)

    task = LearningTask(data_set.train, n_filters=2, support=(3, 3), beta=0.1)
    model = shared_coder(task, task.first_filters())
    watched = SimpleNamespace(encode=encode, bank=model.bank, settings=model.settings)
    Evaluator(data_set.test, 7).evaluate(watched)
    assert asked == {"max_iter": 7, "tol": 0.0}
