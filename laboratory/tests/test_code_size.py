"""What a code is made of, and what of it counts."""

from types import SimpleNamespace

import numpy as np

from laboratory.code_size import is_significant, measure_code_size, merge_parallel_columns
from laboratory.systems import scsc_and_ocsc
from laboratory.systems.interface import LearningTask, shared_coder


def test_only_what_is_large_enough_counts():
    maps = np.array([[1.0, 0.5, -0.02, 0.005, 0.0]])
    np.testing.assert_array_equal(is_significant(maps), [[True, True, True, False, False]])
    assert not is_significant(np.zeros((2, 3))).any()


def test_parallel_columns_are_one_filter_signed_and_scaled():
    weights = np.array([[2.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    maps = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [9.0, 9.0]])
    merged_weights, merged_maps = merge_parallel_columns(weights, maps)
    np.testing.assert_allclose(merged_weights, [[2, 0], [0, 1]])
    np.testing.assert_allclose(merged_maps, [[0, 1.5], [3, 4]])
    np.testing.assert_allclose(merged_weights @ merged_maps, weights @ maps)


def test_a_value_that_is_split_among_copies_counts_once():
    model = SimpleNamespace(
        settings=SimpleNamespace(weights="sample"),
        bank=SimpleNamespace(filters=2 * np.eye(3, 4)),
    )
    weights = np.zeros((3, 5))
    weights[0] = 1
    code = SimpleNamespace(W=weights, Z=np.ones((5, 10)))
    found = measure_code_size(model, code)
    # One column is left, of three weights.
    assert (found.values, found.side_numbers, found.numbers) == (10, 3, 13)
    assert found.length == 2


def test_shared_weights_are_no_part_of_a_code():
    model = SimpleNamespace(
        settings=SimpleNamespace(weights="shared"), bank=SimpleNamespace(filters=np.eye(3, 4))
    )
    code = SimpleNamespace(W=np.eye(3), Z=np.ones((3, 10)))
    assert measure_code_size(model, code).numbers == 30


def test_filters_that_were_fitted_to_a_sample_are_part_of_its_code(data_set):
    task = LearningTask(data_set.train, n_filters=4, support=(5, 5), beta=0.1)
    tuned = scsc_and_ocsc.FineTuned(shared_coder(task, task.first_filters()))
    code = tuned.encode(data_set.test[0], max_iter=50, tol=0.0)
    assert code.is_refitted
    assert not np.allclose(code.filters, task.first_filters(), atol=0.01)
    assert measure_code_size(tuned, code).side_numbers == 4 * 25


def test_code_of_zeros_has_no_size():
    model = SimpleNamespace(
        settings=SimpleNamespace(weights="sample"), bank=SimpleNamespace(filters=np.eye(3, 4))
    )
    found = measure_code_size(model, SimpleNamespace(W=np.ones((3, 2)), Z=np.zeros((2, 10))))
    assert (found.numbers, found.tiny, found.length) == (0, 0, 1)
