"""Judges: leads, chance, lines and pairs."""

import pytest

from laboratory.tests.result_row_makers import make_final_rows
from laboratory.verdicts import (
    MOSTLY,
    NO,
    UNDECIDED,
    YES,
    always_above,
    better_in_every_pair,
    compute_lead,
    grows_with,
)


def test_one_case_against_it_refutes_what_is_always_so():
    rows = make_final_rows({"SCSC": 30, "SEP-TD": 28}) + make_final_rows(
        {"SCSC": 27, "SEP-TD": 28}, R=5
    )
    judge = always_above("SCSC", "SEP-TD")
    found = judge(rows)
    assert found.agrees == NO
    assert "1 of 2" in found.measured


def test_lead_in_the_objective_is_said_in_percent_of_the_rival():
    rows = make_final_rows({"SCSC": 30, "OCSC": 30})
    rows[0]["objective_unit"] = 0.6 * rows[1]["objective_unit"]
    found = always_above("SCSC", "OCSC", "objective_unit")(rows)
    assert found.agrees == YES
    assert "lower in 1 of 1 cases, -40.0 %" in found.measured


def seeds_of(*pairs):
    """PSNRs of SCSC and OCSC, a pair a seed."""
    return [
        row
        for seed, (ours, theirs) in enumerate(pairs)
        for row in make_final_rows({"SCSC": ours, "OCSC": theirs}, seed=seed)
    ]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(30, 29), (27, 29.5)], UNDECIDED),  # -0.75 with a standard error of 1.75
        ([(30, 29), (27, 26.1)], YES),
        ([(29, 30), (26.1, 27)], NO),
        ([(30, 29)], YES),  # one seed says nothing of chance
    ],
)
def test_a_lead_must_be_more_than_chance(pairs, expected):
    assert always_above("SCSC", "OCSC")(seeds_of(*pairs)).agrees == expected


def test_lead_of_other_seeds_is_known_less_well():
    rows = seeds_of((30, 29), (27, 26.1))
    paired = compute_lead(rows, "SCSC", "OCSC", "psnr")
    for row in rows:
        row["seed"] += 10 * (row["system"] == "OCSC")
    unpaired = compute_lead(rows, "SCSC", "OCSC", "psnr")
    assert unpaired.mean == pytest.approx(paired.mean)
    assert unpaired.error > 10 * paired.error


@pytest.mark.parametrize(
    ("lost", "unsure", "expected"), [(0, 0, YES), (1, 0, MOSTLY), (2, 0, NO), (0, 2, UNDECIDED)]
)
def test_nine_pairs_in_ten_are_most(lost, unsure, expected):
    answers = iter([NO] * lost + [UNDECIDED] * unsure + [YES] * (10 - lost - unsure))
    rivals = [str(i) for i in range(10)]
    judge = better_in_every_pair(["SCSC"], rivals, lambda *_: next(answers), "better")
    assert judge(make_final_rows(dict.fromkeys(["SCSC", *rivals], 1.0))).agrees == expected


def test_larger_k_must_be_better_on_every_line():
    line = [*make_final_rows({"SCSC": 28}, K=25), *make_final_rows({"SCSC": 29}, K=50)]
    assert grows_with("K")(line).agrees == YES
    falls = [*make_final_rows({"OCSC": 28}, K=25), *make_final_rows({"OCSC": 27}, K=50)]
    found = grows_with("K")(line + falls)
    assert found.agrees == NO
    assert "OCSC on fruit" in found.measured
