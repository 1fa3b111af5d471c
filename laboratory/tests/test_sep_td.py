"""SEP-TD: decompositions of filters."""

from dataclasses import replace

import numpy as np
import pytest

from laboratory.systems import sep_td
from laboratory.tests.planted_filters import learned_filters, planted_task, take_steps, unit_filters


@pytest.mark.parametrize("lengths", [(6,), (5, 4), (3, 4, 5)])
def test_decomposition_finds_filters_that_are_of_low_rank(lengths):
    rng = np.random.default_rng(0)
    vectors = [rng.standard_normal((n, 2)) for n in lengths]
    filters = sep_td.compose(vectors, rng.standard_normal((2, 12)))
    found = sep_td.compose(*sep_td.decompose(filters, 2))
    assert np.linalg.norm(found - filters) < 1e-3 * np.linalg.norm(filters)


def test_composed_filters_are_sums_of_outer_products():
    rng = np.random.default_rng(0)
    a, b, weights = (rng.standard_normal(shape) for shape in ((3, 2), (4, 2), (2, 5)))
    expected = np.einsum("ir,jr,rk->kij", a, b, weights)
    np.testing.assert_allclose(sep_td.compose([a, b], weights), expected)


def test_error_of_the_decomposition_falls_with_its_rank_and_no_filter_gets_longer():
    filters = unit_filters(np.random.default_rng(0).standard_normal((20, 5, 5)))
    errors = []
    for rank in (1, 5, 10, 20):
        found = sep_td.compose(*sep_td.decompose(filters, rank))
        assert (np.linalg.norm(found.reshape(20, -1), axis=1) < 1 + 1e-9).all()
        errors.append(np.linalg.norm(found - filters))
    assert sorted(errors, reverse=True) == errors
    assert errors[-1] < 0.3 * errors[0]


def test_rescaled_filters_are_as_long_as_those_they_stand_for():
    filters = np.random.default_rng(0).standard_normal((6, 5, 5))
    found = sep_td.approximate_rescaled(filters, 2)
    lengths = (np.linalg.norm(f.reshape(6, -1), axis=1) for f in (found, filters))
    np.testing.assert_allclose(*lengths)
    best = sep_td.approximate(filters, 2)
    assert np.linalg.matrix_rank(np.concatenate([found, best]).reshape(12, -1)) == 2


@pytest.mark.parametrize("name", ["SEP-TD", "SEP-TD, rescaled"])
def test_sep_td_of_full_rank_is_ocsc(name):
    task = planted_task(4, (14, 14), support=(3, 3))
    separable = take_steps(name, replace(task, n_base=9), 4)
    for ours, theirs in zip(take_steps("OCSC", task, 4), separable, strict=True):
        np.testing.assert_allclose(learned_filters([theirs]), learned_filters([ours]), atol=1e-5)
