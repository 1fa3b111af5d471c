"""How the experiments judge the claims of the paper."""

import numpy as np
import pytest

from laboratory.evaluation import EQUAL_SIZE_COLUMNS, equal_size_column
from laboratory.experiment_report import judge_claims
from laboratory.experiments import EXPERIMENTS
from laboratory.experiments import figure_6_convergence as convergence
from laboratory.experiments.figure_2_weight_matrices import describe
from laboratory.experiments.table_5_restoration import TASKS, degrade, smooth_part
from laboratory.tests.result_row_makers import (
    FAST,
    SLOW,
    judge_experiment,
    make_curve,
    make_final_rows,
    make_untrained,
)
from laboratory.verdicts import DEFINITIONS, NO, NOT_TESTED, YES


@pytest.mark.parametrize(
    ("name", "text", "better", "worse"),
    [
        ("balls", "SCSC-L1 is much inferior", "SCSC", "SCSC-L1"),
        ("sharing", "SCSC always outperforms SCSC (shared)", "SCSC", "SCSC (shared)"),
        ("sharing", "SCSC always outperforms SEP-TD (", "SCSC", "SEP-TD"),
        ("sharing", "SCSC always outperforms SEP-TD, r", "SCSC", "SEP-TD, rescaled"),
        ("sharing", "SCSC outperforms OCSC", "SCSC", "OCSC"),
        ("finetune", "OCSC with fine-tuning is still much worse", "SCSC", "OCSC fine-tuned"),
        ("finetune", "fine-tuning improves OCSC", "OCSC fine-tuned", "OCSC"),
        ("large", "SCSC significantly outperforms OCSC", "SCSC", "OCSC"),
        ("highdim", "SCSC outperforms OCSC", "SCSC", "OCSC"),
        ("highdim", "SCSC outperforms CCSC", "SCSC", "CCSC"),
        ("highdim", "OCSC outperforms CCSC", "OCSC", "CCSC"),
    ],
)
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_who_is_better_is_read_from_the_rows(name, text, better, worse, definition):
    def judged(first, second):
        rows = make_final_rows(
            {_ours(better, definition): first, _ours(worse, definition): second},
            seconds=1.0,
            passes=1,
            kept_mb=1.0,
        )
        told = judge_experiment(name, rows, definition)
        return {v for claim, v in told.items() if claim.startswith(text)}

    assert judged(30, 28) == {YES}
    assert judged(28, 30) == {NO}


def _ours(system, definition):
    """The system that a definition of SCSC is judged by."""
    same = {"SCSC": definition, "SCSC (shared)": f"{definition} (shared)"}
    return same.get(system, system)


def test_each_definition_is_judged_by_its_own_rows():
    rows = make_final_rows({"SCSC": 27, "SCSC orthonormal": 30, "SCSC-L1": 28})
    assert set(judge_experiment("balls", rows, "SCSC").values()) == {NO}
    assert set(judge_experiment("balls", rows, "SCSC orthonormal").values()) == {YES}


@pytest.mark.parametrize("ahead", [0.5, 3.0])
@pytest.mark.parametrize(
    ("name", "better", "worse"),
    [
        ("balls", "SCSC", "SCSC-L1"),
        ("finetune", "SCSC", "OCSC fine-tuned"),
        ("large", "SCSC", "OCSC"),
    ],
)
def test_much_is_a_decibel(name, better, worse, ahead):
    told = judge_experiment(name, make_final_rows({better: 28 + ahead, worse: 28}))
    words = ("much", "significantly")
    much = {v for text, v in told.items() if any(word in text for word in words)}
    assert much == {YES if ahead > 1 else NO}


@pytest.mark.parametrize(("ahead", "expected"), [(0.4, YES), (-0.4, YES), (2, NO), (-2, NO)])
def test_comparable_is_neither_better_nor_worse(ahead, expected):
    told = judge_experiment(
        "convergence", make_final_rows({"SCSC": 28 + ahead, "OCSC": 28}, kept_mb=1.0)
    )
    assert {v for text, v in told.items() if "comparable" in text} == {expected}


def test_from_ten_on_does_not_look_below():
    text = "SCSC outperforms OCSC from R = 10 on (equal beta)"
    rows = (
        make_final_rows({"SCSC": 30})
        + make_final_rows({"SCSC": 20}, R=5)
        + make_final_rows({"OCSC": 25}, R=50)
    )
    assert judge_experiment("sharing", rows)[text] == YES
    assert judge_experiment("sharing", rows + make_final_rows({"SCSC": 20}, R=20))[text] == NO


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nothing_measured_is_not_a_verdict(name):
    assert set(judge_experiment(name, []).values()) == {NOT_TESTED}


def test_size_that_was_not_reached_is_not_compared():
    rows = make_final_rows({"SCSC": 30, "SCSC-L1": 28})
    rows[1][EQUAL_SIZE_COLUMNS[0]] = None
    told = list(judge_experiment("balls", rows).values())
    assert told.count(NOT_TESTED) == 1
    assert set(told) == {YES, NOT_TESTED}


def test_verdict_may_differ_from_one_size_to_another():
    rows = make_final_rows({"SCSC": 30, "SCSC-L1": 28})
    rows[0][equal_size_column(0.5)] = 25
    told = judge_experiment("balls", rows)
    assert {text: v for text, v in told.items() if v == NO}.keys() == {
        "SCSC-L1 is much inferior to SCSC-L2, at all R (0.5 numbers a pixel)"
    }


def test_a_pair_without_a_figure_is_not_lost():
    rows = make_final_rows({"OCSC": 30, "FCSC": 28, "SBCSC": 28})
    rows[2][EQUAL_SIZE_COLUMNS[0]] = None
    text = "online methods have better PSNR than batch methods (0.5 numbers a pixel)"
    told = {claim.text: found[0] for claim, found in judge_claims(convergence, rows)}[text]
    assert told.agrees == YES
    assert "1 of 1 pairs; 1 could not be compared" in told.measured


def test_rivals_that_are_not_in_the_papers_figure_are_not_its_batch_methods():
    told = judge_experiment("convergence", make_final_rows({"OCSC": 20, "CCSC": 28}))
    assert {v for text, v in told.items() if text.startswith("online")} == {NOT_TESTED}


@pytest.mark.parametrize(("first", "second", "expected"), [(FAST, SLOW, YES), (SLOW, FAST, NO)])
def test_online_against_batch(first, second, expected):
    rows = make_curve("OCDL-Liu", first) + make_curve("SBCSC", second)
    told = judge_experiment("convergence", rows)
    assert {v for text, v in told.items() if text.startswith("online")} == {expected}


def test_scsc_is_shown_against_each_other_system():
    rows = (
        make_curve("SCSC", FAST)
        + make_curve("OCSC", SLOW)
        + make_curve("SBCSC", [(3, 31)])
        + make_untrained(21)
    )
    rows[-2][EQUAL_SIZE_COLUMNS[0]] = None
    ((_, header, lines),) = convergence.tables(rows)  # of one definition: the other was not run
    found = {line[1]: dict(zip(header, line, strict=True)) for line in lines}
    assert set(found) == {"OCSC", "SBCSC"}
    assert found["OCSC"]["equal beta"] == found["OCSC"]["equal beta, length one"] == "+2.00"
    assert found["SBCSC"]["0.5 numbers a pixel"] is None
    assert found["SBCSC"]["equal beta"] == "-1.00"
    assert found["OCSC"]["seconds to its PSNR"] == "1.6 / 20"
    assert found["SBCSC"]["seconds to its objective"] == "never / 3"
    begun = convergence.tables(rows + make_untrained(28))[0][2][0]
    assert begun[-1] == "0 / 20"


@pytest.mark.parametrize(("kept_mb", "expected"), [(25.0, YES), (3.0, NO)])
def test_storage_is_judged_by_the_ratio_of_k_and_r(kept_mb, expected):
    rows = make_final_rows({"SCSC": 30}, kept_mb=1.0, seconds=1.0)
    rows += make_final_rows({"OCSC": 30}, kept_mb=kept_mb, seconds=1.0, R=50)
    (told,) = (v for text, v in judge_experiment("convergence", rows).items() if "storage" in text)
    assert told == expected


def restored(psnrs, price=2.0):
    labels = {"task": "inpainting", "image": "Car", "price": price, "input_psnr": 9.12}
    return [row | labels for row in make_final_rows(psnrs)]


def test_best_in_the_table_is_judged_at_equal_and_at_best_price():
    told = judge_experiment("restoration", restored({"SCSC": 28, "OCSC": 27, "SBCSC": 27}))
    assert [told[text] for text in told if "consistently best" in text] == [YES, YES]
    rows = restored({"SCSC": 28, "OCSC": 27}) + restored({"SCSC": 20, "OCSC": 27.5}, price=4.0)
    told = judge_experiment("restoration", rows)
    assert [told[text] for text in told if "consistently best" in text] == [NO, YES]


def test_the_noise_that_gives_the_input_of_the_paper():
    rows = restored({"SCSC": 28})
    for row, task, level in zip(rows * 2, ("0.01", "0.1"), (20.0, 10.0), strict=True):
        rows = [*rows, row | {"task": f"denoising, variance {task}", "input_psnr": level}]
    told = judge_experiment("restoration", rows)
    assert told["noise of variance 0.01: input of 10 dB"] == NO
    assert told["the same if variance 0.1 is meant"] == YES
    assert told["inpainting: input of 9.12 dB"] == YES


def test_readings_are_judged_against_the_best_pair():
    def rows(as_in_text):
        return make_final_rows({"SCSC": as_in_text}, beta=1.0, radius=0.3) + make_final_rows(
            {"SCSC": 29}, beta=0.1, radius=1.0
        )

    assert set(judge_experiment("readings", rows(28.5)).values()) == {YES}
    assert set(judge_experiment("readings", rows(7.0)).values()) == {NO}


def test_weights_are_described_by_what_columns_use():
    one = describe(np.eye(5, 8, dtype=np.float32) + np.eye(5, 8, 5, dtype=np.float32))
    assert one["one_base_filter"] == 1
    assert one["near_zero"] == pytest.approx(0.8)
    dense = describe(np.ones((5, 8), np.float32))
    assert (dense["one_base_filter"], dense["near_zero"], dense["base_filters"]) == (0, 0, 5)


@pytest.mark.parametrize(("sparse", "dense"), [("SCSC-L1", "SCSC"), ("SCSC", "SCSC-L1")])
def test_weights_verdicts_follow_the_shares(sparse, dense):
    rows = [
        {"system": sparse, "near_zero": 0.9, "one_base_filter": 0.9, "base_filters": 1.1},
        {"system": dense, "near_zero": 0.1, "one_base_filter": 0.0, "base_filters": 6.0},
    ]
    assert set(judge_experiment("weights", rows).values()) == (
        {YES} if sparse == "SCSC-L1" else {NO}
    )


def test_smooth_part_has_no_code():
    (task,) = (task for task in TASKS if task == "inpainting")
    clean = np.full((16, 16), 0.5, np.float32)
    known, given, _ = degrade(task, clean, np.random.default_rng(0))
    np.testing.assert_allclose(smooth_part(given, known), clean, atol=1e-4)
