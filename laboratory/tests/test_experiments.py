"""The paper's experiments: what they plan, how they judge, and that they do nothing twice."""

import math
from types import SimpleNamespace

import dask
import numpy as np
import pytest

from benchmarks.paper import (
    EXPERIMENTS,
    claims,
    command,
    convergence,
    learning,
    restoration,
    results,
    size,
    units,
)
from benchmarks.paper.claims import MOSTLY, NO, NOT_TESTED, UNDECIDED, YES
from benchmarks.paper.scale import FULL, QUICK
from benchmarks.paper.sets import Samples
from benchmarks.synthetic import sample
from benchmarks.systems import EVERY, STARTS, SYSTEMS, engine
from benchmarks.systems.base import Task, shared

SCALES = pytest.mark.parametrize("scale", [QUICK, FULL], ids=["quick", "full"])
NAMES = pytest.mark.parametrize("name", EXPERIMENTS)


def module(name):
    return command.experiment_named(name)


# --- plans --------------------------------------------------------------------------------------

COMPARED = {
    "balls": {"SCSC", "SCSC-L1"},
    "weights": {"SCSC", "SCSC-L1"},
    "sharing": {"SCSC", "SCSC (shared)", "SEP-TD", "SEP-TD, rescaled", "OCSC"},
    "finetune": {"SCSC", "OCSC", "OCSC fine-tuned"},
    "filters": {"SCSC", "OCSC", "SBCSC"},
    "convergence": {
        "SCSC",
        "OCSC",
        "OCDL-Degraux",
        "OCDL-Liu",
        "DeconvNet",
        "FCSC",
        "FFCSC",
        "CBPDN",
        "CONSENSUS",
        "SBCSC",
        "CCSC",
        "SCSC (ADMM code)",
        *STARTS,
    },
    "large": {"SCSC", "OCSC", *STARTS},
    "highdim": {"SCSC", "OCSC", "CCSC", *STARTS},
    "restoration": {"SBCSC", "OCSC", "SCSC", "smooth part only"},
    "solvers": {"niAPG", "ADMM, rho 0.02", "ADMM, rho 0.1", "ADMM, rho 1", "ADMM, rho 10"},
    "complexity": {"SCSC", "OCSC"},
    "readings": {"SCSC"},
}
SETS = {
    "balls": {"fruit", "city"},
    "sharing": {"fruit", "city"},
    "finetune": {"fruit", "city"},
    "convergence": {"fruit", "city"},
    "readings": {"fruit", "city"},
    "weights": {"city"},
    "filters": {"fruit", "city", "cifar10", "flower"},
    "large": {"cifar10", "flower"},
    "highdim": {"video", "multispectral", "light field"},
    "restoration": {"fruit"},
    "solvers": {"city"},
    "complexity": {"synthetic"},
}


@SCALES
@NAMES
def test_plan_covers_every_system_and_set(name, scale):
    plan = module(name).plan(scale)
    assert {unit.system for unit in plan} == COMPARED[name]
    assert {unit.data for unit in plan} == SETS[name]


@SCALES
@NAMES
def test_every_system_of_a_case_has_every_seed(name, scale):
    seeds = {}
    for unit in module(name).plan(scale):
        size = unit.settings.get("K"), unit.settings.get("R"), unit.settings.get("beta")
        case = (unit.system, unit.data, *size, unit.settings.get("radius"))
        seeds.setdefault(case, set()).add(unit.seed)
    assert len({frozenset(found) for found in seeds.values()}) == 1


@SCALES
@NAMES
def test_units_differ_in_their_keys(name, scale):
    plan = module(name).plan(scale)
    assert len({unit.key for unit in plan}) == len(plan) > 0


def test_learning_units_ask_for_systems_that_exist():
    plan = [unit for name in EXPERIMENTS for unit in module(name).plan(QUICK)]
    asked = {unit.system for unit in plan if unit.kind in ("learning", "weights", "restoration")}
    assert asked == {*EVERY, restoration.SMOOTH}  # and none of them is forgotten


@pytest.mark.parametrize("name", ["highdim", "restoration", "convergence", "large"])
def test_online_systems_have_ten_passes_where_batch_methods_have_a_budget(name):
    online = [u for u in module(name).plan(QUICK) if u.system in learning.ONLINE]
    assert {unit.settings["passes"] for unit in online} == {10}


def test_experiments_share_what_is_the_same():
    plans = [unit for name in ("balls", "sharing") for unit in module(name).plan(QUICK)]
    assert len(units.without_repeats(plans)) < len(plans)


def test_a_unit_that_must_be_alone_is_so_for_all():
    timed = units.Unit("learning", "SCSC", "fruit", 0, alone=True)
    other = units.Unit("learning", "SCSC", "fruit", 0)
    for both in ([timed, other], [other, timed]):
        assert [unit.alone for unit in units.without_repeats(both)] == [True]


def test_settings_make_another_unit():
    first, second = (units.Unit("learning", "SCSC", "fruit", 0, {"K": k}) for k in (50, 100))
    assert first.key != second.key


def test_unknown_name_lists_the_names(capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["no-such-thing"])
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert "no-such-thing" in message
    assert all(name in message for name in EXPERIMENTS)


def test_missing_data_folder_is_said(tmp_path, capsys):
    words = ["readings", "--quick", "--data", str(tmp_path / "none"), "--out", str(tmp_path)]
    assert command.main([*words, "--jobs", "1"]) == 2
    assert "there is no data folder" in capsys.readouterr().err


# --- verdicts -----------------------------------------------------------------------------------


def ends_of(psnrs, **labels):
    """End rows, {system: PSNR}, the same PSNR at equal beta and at equal size."""
    return [
        {"system": s, "data": "fruit", "seed": 0, "R": 10, "K": 50, "end": True, "seconds": 1.0}
        | {"psnr": p, "psnr_unit": p, **dict.fromkeys(learning.EQUAL, p)}
        | labels
        for s, p in psnrs.items()
    ]


def agreed(name, rows):
    """{text of the claim: verdict}."""
    return {claim.text: found.agrees for claim, found in results.verdicts(module(name), rows)}


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
def test_who_is_better_is_read_from_the_rows(name, text, better, worse):
    def judged(first, second):
        rows = ends_of({better: first, worse: second}, seconds=1.0, passes=1, kept_mb=1.0)
        return {v for claim, v in agreed(name, rows).items() if claim.startswith(text)}

    assert judged(30, 28) == {YES}
    assert judged(28, 30) == {NO}


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
    told = agreed(name, ends_of({better: 28 + ahead, worse: 28}))
    words = ("much", "significantly")
    much = {v for text, v in told.items() if any(word in text for word in words)}
    assert much == {YES if ahead > 1 else NO}


@pytest.mark.parametrize(("ahead", "expected"), [(0.4, YES), (-0.4, YES), (2, NO), (-2, NO)])
def test_comparable_is_neither_better_nor_worse(ahead, expected):
    told = agreed("convergence", ends_of({"SCSC": 28 + ahead, "OCSC": 28}, kept_mb=1.0))
    assert {v for text, v in told.items() if "comparable" in text} == {expected}


def test_one_case_against_it_refutes_what_is_always_so():
    rows = ends_of({"SCSC": 30, "SEP-TD": 28}) + ends_of({"SCSC": 27, "SEP-TD": 28}, R=5)
    judge = claims.always_above("SCSC", "SEP-TD")
    found = judge(rows)
    assert found.agrees == NO
    assert "1 of 2" in found.measured


def test_from_ten_on_does_not_look_below():
    text = "SCSC outperforms OCSC from R = 10 on (equal beta)"
    rows = ends_of({"SCSC": 30}) + ends_of({"SCSC": 20}, R=5) + ends_of({"OCSC": 25}, R=50)
    assert agreed("sharing", rows)[text] == YES
    assert agreed("sharing", rows + ends_of({"SCSC": 20}, R=20))[text] == NO


@NAMES
def test_nothing_measured_is_not_a_verdict(name):
    assert set(agreed(name, []).values()) == {NOT_TESTED}


def test_size_that_was_not_reached_is_not_compared():
    rows = ends_of({"SCSC": 30, "SCSC-L1": 28})
    rows[1][learning.EQUAL[0]] = None
    told = list(agreed("balls", rows).values())
    assert told.count(NOT_TESTED) == 1
    assert set(told) == {YES, NOT_TESTED}


def test_verdict_may_differ_from_one_size_to_another():
    rows = ends_of({"SCSC": 30, "SCSC-L1": 28})
    rows[0][learning.equal_key(0.5)] = 25
    told = agreed("balls", rows)
    assert {text: v for text, v in told.items() if v == NO}.keys() == {
        "SCSC-L1 is much inferior to SCSC-L2, at all R (0.5 numbers a pixel)"
    }


def seeds_of(*pairs):
    """PSNRs of SCSC and OCSC, a pair a seed."""
    return [
        row
        for seed, (ours, theirs) in enumerate(pairs)
        for row in ends_of({"SCSC": ours, "OCSC": theirs}, seed=seed)
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
    assert claims.always_above("SCSC", "OCSC")(seeds_of(*pairs)).agrees == expected


def test_lead_of_other_seeds_is_known_less_well():
    rows = seeds_of((30, 29), (27, 26.1))
    paired = claims.lead(rows, "SCSC", "OCSC", "psnr")
    for row in rows:
        row["seed"] += 10 * (row["system"] == "OCSC")
    unpaired = claims.lead(rows, "SCSC", "OCSC", "psnr")
    assert unpaired.mean == pytest.approx(paired.mean)
    assert unpaired.error > 10 * paired.error


@pytest.mark.parametrize(
    ("lost", "unsure", "expected"), [(0, 0, YES), (1, 0, MOSTLY), (2, 0, NO), (0, 2, UNDECIDED)]
)
def test_nine_pairs_in_ten_are_most(lost, unsure, expected):
    answers = iter([NO] * lost + [UNDECIDED] * unsure + [YES] * (10 - lost - unsure))
    rivals = [str(i) for i in range(10)]
    judge = claims.groups_compared(["SCSC"], rivals, lambda *_: next(answers), "better")
    assert judge(ends_of(dict.fromkeys(["SCSC", *rivals], 1.0))).agrees == expected


def test_a_pair_without_a_figure_is_not_lost():
    rows = ends_of({"OCSC": 30, "FCSC": 28, "SBCSC": 28})
    rows[2][learning.EQUAL[0]] = None
    text = "online methods have better PSNR than batch methods (0.25 numbers a pixel)"
    told = {claim.text: found for claim, found in results.verdicts(convergence, rows)}[text]
    assert told.agrees == YES
    assert "1 of 1 pairs; 1 could not be compared" in told.measured


def test_rivals_that_are_not_in_the_papers_figure_are_not_its_batch_methods():
    told = agreed("convergence", ends_of({"OCSC": 20, "CCSC": 28}))
    assert {v for text, v in told.items() if text.startswith("online")} == {NOT_TESTED}


def test_larger_k_must_be_better_on_every_line():
    line = [*ends_of({"SCSC": 28}, K=25), *ends_of({"SCSC": 29}, K=50)]
    assert claims.grows_with("K")(line).agrees == YES
    falls = [*ends_of({"OCSC": 28}, K=25), *ends_of({"OCSC": 27}, K=50)]
    found = claims.grows_with("K")(line + falls)
    assert found.agrees == NO
    assert "OCSC on fruit" in found.measured


def curve(system, points):
    (row,) = ends_of({system: 0}, kept_mb=1.0)
    return [
        row
        | {"seconds": s, "psnr": p, "psnr_unit": p, "objective_unit": -p, "objective": -p}
        | {"end": (s, p) == points[-1], "passes": s, "n_train": 2}
        | dict.fromkeys(learning.EQUAL, p)
        for s, p in points
    ]


FAST, SLOW = [(1, 25), (2, 30)], [(10, 20), (20, 28)]


@pytest.mark.parametrize(("first", "second", "expected"), [(FAST, SLOW, YES), (SLOW, FAST, NO)])
def test_online_against_batch(first, second, expected):
    rows = curve("OCDL-Liu", first) + curve("SBCSC", second)
    told = agreed("convergence", rows)
    assert {v for text, v in told.items() if text.startswith("online")} == {expected}


@pytest.mark.parametrize(("first", "second", "expected"), [(FAST, SLOW, YES), (SLOW, FAST, NO)])
def test_faster_at_equal_psnr(first, second, expected):
    rows = curve("SCSC", first) + curve("OCSC", second)
    for name, words in (("convergence", "is faster than OCSC"), ("large", "in less time")):
        assert {v for text, v in agreed(name, rows).items() if words in text} == {expected}


def not_learned(psnr, system="no learning (SCSC)"):
    return curve(system, [(0, psnr)])


def test_time_to_what_needs_no_learning_is_not_compared():
    rows = curve("SCSC", FAST) + curve("OCSC", SLOW)
    judge = claims.faster_at_equal("SCSC", "OCSC", "psnr_unit")
    assert judge(rows + not_learned(24)).agrees == YES
    found = judge(rows + not_learned(29))
    assert found.agrees == NOT_TESTED
    assert "no learning (SCSC) (29) is as good as the worse of both (28)" in found.measured
    by_objective = claims.faster_at_equal("SCSC", "OCSC", "objective_unit")
    assert by_objective(rows + not_learned(29)).agrees == NOT_TESTED
    assert by_objective(rows + not_learned(24)).agrees == YES


def test_seconds_a_sample_are_always_said():
    rows = curve("SCSC", FAST) + curve("OCSC", SLOW)  # a pass of two samples takes a second
    judge = claims.faster_at_equal("SCSC", "OCSC", "psnr_unit")
    for some in (rows, rows + not_learned(29)):
        assert "(0.5 s and 0.5 s a sample)" in judge(some).measured


def test_scsc_is_shown_against_each_other_system():
    rows = curve("SCSC", FAST) + curve("OCSC", SLOW) + curve("SBCSC", [(3, 31)]) + not_learned(21)
    rows[-2][learning.EQUAL[0]] = None
    ((_, header, lines),) = convergence.tables(rows)
    found = {line[1]: dict(zip(header, line, strict=True)) for line in lines}
    assert set(found) == {"OCSC", "SBCSC"}
    assert found["OCSC"]["equal beta"] == found["OCSC"]["equal beta, length one"] == "+2.00"
    assert found["SBCSC"]["0.25 numbers a pixel"] is None
    assert found["SBCSC"]["0.5 numbers a pixel"] == "-1.00"
    assert found["OCSC"]["seconds to its PSNR"] == "2 / 20"
    assert found["SBCSC"]["seconds to its objective"] == "never / 3"
    begun = convergence.tables(rows + not_learned(28))[0][2][0]
    assert begun[-1] == "0 / 20"


def test_further_tables_are_written():
    rows = curve("SCSC", FAST) + curve("OCSC", SLOW)
    text = results.describe(convergence, "convergence", rows, {}, QUICK)
    assert "| data | rival | equal beta |" in text
    assert "| fruit | OCSC | +2.00 |" in text


def test_a_seed_is_compared_with_itself():
    rows = curve("SCSC", FAST) + curve("OCSC", SLOW)
    later = [row | {"seed": 1, "psnr_unit": row["psnr_unit"] - 5} for row in rows]
    judge = claims.faster_at_equal("SCSC", "OCSC", "psnr_unit")
    assert judge(rows + later).agrees == YES
    assert "never" not in judge(rows + later).measured


def test_time_that_is_never_reached_is_infinite():
    assert claims.time_to(curve("SCSC", FAST), 30) == 2
    assert claims.time_to(curve("SCSC", FAST), 31) == math.inf
    rows = curve("SCSC", SLOW) + curve("OCSC", FAST)
    assert convergence.sooner("psnr")(rows, "SCSC", "OCSC") == NO


@pytest.mark.parametrize(("kept", "expected"), [(25.0, YES), (3.0, NO)])
def test_storage_is_judged_by_the_ratio_of_k_and_r(kept, expected):
    rows = ends_of({"SCSC": 30}, kept_mb=1.0, seconds=1.0)
    rows += ends_of({"OCSC": 30}, kept_mb=kept, seconds=1.0, R=50)
    (told,) = (v for text, v in agreed("convergence", rows).items() if "storage" in text)
    assert told == expected


def restored(psnrs, price=2.0):
    labels = {"task": "inpainting", "image": "Car", "price": price, "input_psnr": 9.12}
    return [row | labels for row in ends_of(psnrs)]


def test_best_in_the_table_is_judged_at_equal_and_at_best_price():
    told = agreed("restoration", restored({"SCSC": 28, "OCSC": 27, "SBCSC": 27}))
    assert [told[text] for text in told if "consistently best" in text] == [YES, YES]
    rows = restored({"SCSC": 28, "OCSC": 27}) + restored({"SCSC": 20, "OCSC": 27.5}, price=4.0)
    told = agreed("restoration", rows)
    assert [told[text] for text in told if "consistently best" in text] == [NO, YES]


def test_the_noise_that_gives_the_input_of_the_paper():
    rows = restored({"SCSC": 28})
    for row, task, level in zip(rows * 2, ("0.01", "0.1"), (20.0, 10.0), strict=True):
        rows = [*rows, row | {"task": f"denoising, variance {task}", "input_psnr": level}]
    told = agreed("restoration", rows)
    assert told["noise of variance 0.01: input of 10 dB"] == NO
    assert told["the same if variance 0.1 is meant"] == YES
    assert told["inpainting: input of 9.12 dB"] == YES


def solved(system, objective, late_change, violation_share=None, seconds=1.0, iteration=1):
    row = {"system": system, "seed": 0, "end": True, "objective": objective}
    row |= {"late_change": late_change, "seconds": seconds, "iteration": iteration}
    if violation_share is not None:
        row |= {"violation": 1.0, "violation_share": violation_share}
    return row


def told_of_rho_one(rows):
    """Verdicts on niAPG and on ADMM with rho 1; nothing else was run."""
    told = agreed("solvers", rows)
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
    told = agreed("solvers", rows)
    assert told["ADMM fails to converge (rho 0.02)"] == YES
    assert told["ADMM fails to converge (rho 10)"] == NO


def test_slow_is_not_failing():
    rows = [solved("niAPG", 100, 1e-5), solved("ADMM, rho 10", 112, 2e-4, 1e-6)]
    assert agreed("solvers", rows)["ADMM fails to converge (rho 10)"] == UNDECIDED


def test_solver_that_blows_up_has_not_converged():
    rows = [solved("niAPG", 100, 1e-5), solved("ADMM, rho 1", math.nan, math.nan, math.nan)]
    told = agreed("solvers", rows)
    assert told["ADMM fails to converge (rho 1)"] == YES
    assert told["the violation of ADMM's constraint does not go to zero (rho 1)"] == YES


def test_solvers_are_compared_by_seconds_and_by_iterations():
    rows = [
        solved("niAPG", 100, 1e-5, seconds=1.0, iteration=50),
        solved("ADMM, rho 1", 100, 1e-5, 1e-6, seconds=2.0, iteration=20),
    ]
    told = agreed("solvers", rows)
    assert told["niAPG has fast convergence (seconds; ADMM at any rho)"] == YES
    assert told["niAPG has fast convergence (iterations; ADMM at any rho)"] == NO


def fitted(system, of, axis, exponent):
    return {"system": system, "of": of, "in": axis, "exponent": exponent}


def test_exponents_are_upper_bounds():
    text = "SCSC, filter update O(R^2 P + RP log P)"
    assert agreed("complexity", [fitted("SCSC", "filter_ms", "R", 1.2)])[text] == YES
    assert agreed("complexity", [fitted("SCSC", "filter_ms", "K", 0.9)])[text] == NO


@pytest.mark.parametrize(("ratio", "expected"), [(100.0, YES), (91.8, NO)])
def test_hundredth_of_the_memory_is_that_of_h(ratio, expected):
    ratios = {"H": ratio, "H and G": 91.8}
    rows = [{"system": "OCSC", "of": what, "ratio": r} for what, r in ratios.items()]
    (told,) = (v for text, v in agreed("complexity", rows).items() if "hundredth" in text)
    assert told == expected


def test_readings_are_judged_against_the_best_pair():
    def rows(as_in_text):
        return ends_of({"SCSC": as_in_text}, beta=1.0, radius=0.3) + ends_of(
            {"SCSC": 29}, beta=0.1, radius=1.0
        )

    assert set(agreed("readings", rows(28.5)).values()) == {YES}
    assert set(agreed("readings", rows(7.0)).values()) == {NO}


def test_weights_are_described_by_what_columns_use():
    from benchmarks.paper.weights import describe

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
    assert set(agreed("weights", rows).values()) == ({YES} if sparse == "SCSC-L1" else {NO})


# --- equal size ---------------------------------------------------------------------------------


def coded(numbers, psnr):
    return learning.Tested(
        psnr=psnr, per_pixel=0.0, numbers=numbers, tiny=0.0, length=1.0, objective=1.0
    )


def by_a_law(beta):
    """Numbers and PSNR of a code that never was."""
    return coded(numbers=0.3 / beta**1.5, psnr=30 - 8 * math.log(beta))


def around(targets, start, steps, law=by_a_law):
    return learning.tested_around(targets, law, {start: law(start)}, steps)


def psnr_of_the_law(target):
    return by_a_law((0.3 / target) ** (1 / 1.5)).psnr


@pytest.mark.parametrize("start", [1e-3, 0.1, 30.0])
def test_psnr_at_each_target_of_a_known_law_is_found(start):
    found = around((0.25, 0.5, 1.0), start, steps=25)
    for target in (0.25, 0.5, 1.0):
        assert learning.psnr_at(found, target) == pytest.approx(psnr_of_the_law(target), abs=0.2)


def test_targets_share_their_codes():
    alone = sum(len(around((target,), 0.1, 25)) for target in (0.25, 0.5, 1.0))
    assert len(around((0.25, 0.5, 1.0), 0.1, 25)) < alone


def test_search_begins_with_the_codes_that_are_there():
    """Two codes around a target that are near enough leave nothing to be done."""
    betas = [(0.3 / numbers) ** (1 / 1.5) for numbers in (0.45, 0.55)]
    found = {beta: by_a_law(beta) for beta in betas}
    assert learning.tested_around((0.5,), None, found, 25) == found


def test_no_more_codes_than_allowed():
    tried = []
    around((0.25, 0.5), 1e-6, 4, law=lambda b: tried.append(b) or by_a_law(b))
    assert len(tried) == 4


def test_size_that_cannot_be_reached_ends_the_search():
    """However large beta is, the sample's own filters stay."""
    found = around((0.25,), 0.1, 6, law=lambda beta: coded(0.3 + 0.1 / beta, 20.0))
    assert len(found) == 6
    assert learning.psnr_at(found, 0.25) is None


def test_code_of_zeros_does_not_lead_the_search_astray():
    def law(beta):
        return by_a_law(beta) if beta < 1.5 else coded(0.0, 0.0)

    found = around((0.25,), 1.6, 12, law)
    assert learning.psnr_at(found, 0.25) == pytest.approx(psnr_of_the_law(0.25), abs=0.2)


SETTINGS = {
    "K": 8,
    "R": 3,
    "support": [5, 5],
    "beta": 0.1,
    "radius": 1.0,
    "budget": 60.0,
    "passes": 1,
    "test_iterations": 60,
    "sparsity_steps": 15,
}


@pytest.fixture(scope="module")
def samples():
    images = np.stack([sample((24, 24), seed=seed) for seed in range(3)])
    return Samples(images[:2], images[2:])


def learned(samples, system, **changes):
    unit = units.Unit("learning", system, "synthetic", 0, SETTINGS | changes)
    return learning.learn_and_test(unit, samples, SYSTEMS[system])


@pytest.mark.parametrize("system", ["SCSC", "OCSC", "OCSC fine-tuned"])
def test_psnr_at_equal_size_falls_with_the_target(samples, system):
    (row,) = learned(samples, system)
    assert row["end"]
    found = [row[key] for key in learning.EQUAL]
    assert None not in found
    assert sorted(found) == found
    assert found[0] < found[-1]


def test_psnr_at_equal_size_lies_on_the_line_between():
    found = {0.4: coded(0.9, 20.0), 0.1: coded(1.1, 30.0), 0.01: coded(3.0, 50.0)}
    assert learning.psnr_at(found, 1.0) == pytest.approx(25)


def test_neighbours_far_apart_say_nothing():
    found = {0.4: coded(0.5, 20.0), 0.1: coded(2.0, 30.0)}
    assert learning.psnr_at(found, 1.0) is None


def test_near_enough_needs_no_neighbour():
    assert learning.psnr_at({0.4: coded(1.01, 20.0)}, 1.0) == 20
    assert learning.psnr_at({0.4: coded(1.1, 20.0)}, 1.0) is None


def test_beta_of_unit_filters_grows_with_the_length(samples):
    """Filters twice as long, at twice the price, are the same filters."""
    task = Task(samples.train, n_filters=6, support=(5, 5), beta=0.1)
    test = learning.Test(samples.test, 300)
    whole = learning.tested_both(shared(task, task.first_filters()), test, 0.1)
    assert list(whole) == [0.1]
    short = learning.tested_both(shared(task, task.first_filters() / 2), test, 0.1)
    assert list(short) == pytest.approx([0.1, 0.05])
    assert short[0.1].length == pytest.approx(0.5, rel=1e-4)
    assert short[0.1].psnr < whole[0.1].psnr - 1
    ends = [list(found.values())[-1] for found in (whole, short)]
    assert ends[1].psnr == pytest.approx(ends[0].psnr, abs=0.05)
    assert ends[1].objective == pytest.approx(ends[0].objective, rel=1e-2)


def test_rows_have_both_readings_of_equal_beta(samples):
    (row,) = learned(samples, "OCSC", sparsity_steps=0)
    assert (row["psnr_unit"], row["objective_unit"]) == (row["psnr"], row["objective"])
    (row,) = learned(samples, "SCSC", sparsity_steps=0)
    longer = row["length"] > 1
    assert (row["psnr_unit"] < row["psnr"]) == longer
    assert (row["objective_unit"] > row["objective"]) == longer


@pytest.mark.parametrize("name", STARTS)
def test_no_learning_is_tested_like_the_others(samples, name):
    unit = units.Unit("learning", name, "synthetic", 0, SETTINGS | {"passes": 0})
    (row,) = learning.learn_and_test(unit, samples, EVERY[name])
    assert (row["seconds"], row["passes"], row["end"]) == (0, 0, True)
    assert row["psnr_unit"] > 0


def test_objective_of_the_test_is_the_sum_over_its_samples(samples):
    (row,) = learned(samples, "OCSC", sparsity_steps=0)
    (twice,) = learned(Samples(samples.train, np.repeat(samples.test, 2, axis=0)), "OCSC")
    assert twice["objective"] == pytest.approx(2 * row["objective"], rel=1e-4)
    assert twice["psnr"] == pytest.approx(row["psnr"], abs=0.01)


def test_curve_ends_with_what_the_plain_run_has(samples):
    (plain,) = learned(samples, "SCSC", sparsity_steps=0)
    *_, last = rows = learned(samples, "SCSC", sparsity_steps=0, curve=True)
    assert [row["end"] for row in rows[:-1]] == [False] * (len(rows) - 1)
    assert len(rows) > 1
    assert last["psnr"] == plain["psnr"]


def test_end_says_why_it_is_the_end():
    steps = [SimpleNamespace(seconds=s, passes=p) for s, p in ((1, 0.5), (2, 1.0), (3, 1.5))]

    def ends(**settings):
        return [(s.seconds, why) for s, why in learning.ended_steps(steps, settings) if why]

    assert ends(budget=2) == [(2, "budget")]
    assert ends(budget=1) == [(2, "budget")]  # not before it has seen every sample
    assert ends(budget=9, passes=0.5) == [(1, "passes")]
    assert ends(budget=9) == [(3, "itself")]


# --- what a code is made of ---------------------------------------------------------------------


def test_only_what_is_large_enough_counts():
    maps = np.array([[1.0, 0.5, -0.02, 0.005, 0.0]])
    np.testing.assert_array_equal(size.counted(maps), [[True, True, True, False, False]])
    assert not size.counted(np.zeros((2, 3))).any()


def test_parallel_columns_are_one_filter_signed_and_scaled():
    weights = np.array([[2.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    maps = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [9.0, 9.0]])
    found, merged = size.merged(weights, maps)
    np.testing.assert_allclose(found, [[2, 0], [0, 1]])
    np.testing.assert_allclose(merged, [[0, 1.5], [3, 4]])
    np.testing.assert_allclose(found @ merged, weights @ maps)


def test_a_value_that_is_split_among_copies_counts_once():
    model = SimpleNamespace(
        settings=SimpleNamespace(weights="sample"),
        bank=SimpleNamespace(filters=2 * np.eye(3, 4)),
    )
    weights = np.zeros((3, 5))
    weights[0] = 1
    code = SimpleNamespace(W=weights, Z=np.ones((5, 10)))
    found = size.size_of(model, code)
    assert (found.values, found.own, found.numbers) == (10, 3, 13)  # one column, of 3 weights
    assert found.length == 2


def test_shared_weights_are_no_part_of_a_code():
    model = SimpleNamespace(
        settings=SimpleNamespace(weights="shared"), bank=SimpleNamespace(filters=np.eye(3, 4))
    )
    code = SimpleNamespace(W=np.eye(3), Z=np.ones((3, 10)))
    assert size.size_of(model, code).numbers == 30


def test_filters_that_were_fitted_to_a_sample_are_part_of_its_code(samples):
    task = Task(samples.train, n_filters=4, support=(5, 5), beta=0.1)
    tuned = engine.FineTuned(shared(task, task.first_filters()))
    code = tuned.encode(samples.test[0], max_iter=50, tol=0.0)
    assert code.is_refitted
    assert not np.allclose(code.filters, task.first_filters(), atol=0.01)
    assert size.size_of(tuned, code).own == 4 * 25


def test_code_of_zeros_has_no_size():
    model = SimpleNamespace(
        settings=SimpleNamespace(weights="sample"), bank=SimpleNamespace(filters=np.eye(3, 4))
    )
    found = size.size_of(model, SimpleNamespace(W=np.ones((3, 2)), Z=np.zeros((2, 10))))
    assert (found.numbers, found.tiny, found.length) == (0, 0, 1)


def test_test_codes_run_to_their_last_iteration(samples):
    asked = {}

    def encode(sample, **options):
        asked.update(options)
        return model.encode(sample, **options)

    task = Task(samples.train, n_filters=2, support=(3, 3), beta=0.1)
    model = shared(task, task.first_filters())
    watched = SimpleNamespace(encode=encode, bank=model.bank, settings=model.settings)
    learning.Test(samples.test, 7).of(watched)
    assert asked == {"max_iter": 7, "tol": 0.0}


def test_blocks_are_no_workers_where_time_is_measured(samples):
    seen = []

    def system(task):
        seen.append(dask.config.get("scheduler", None))
        yield from EVERY["no learning (shared)"](task)

    unit = units.Unit("learning", "", "synthetic", 0, SETTINGS | {"sparsity_steps": 0})
    learning.learn_and_test(unit, samples, system)
    assert seen == ["synchronous"]
    assert dask.config.get("scheduler", None) is None


def test_smooth_part_has_no_code():
    (task,) = (task for task in restoration.TASKS if task == "inpainting")
    clean = np.full((16, 16), 0.5, np.float32)
    known, given, _ = restoration.spoilt(task, clean, np.random.default_rng(0))
    np.testing.assert_allclose(restoration.smooth_part(given, known), clean, atol=1e-4)


# --- running ------------------------------------------------------------------------------------


@pytest.fixture
def plan():
    return [units.Unit("stand_in", "SCSC", "fruit", seed, {"K": 5}) for seed in range(3)]


@pytest.fixture
def measured(monkeypatch):
    """Units are measured here and at once; the seeds that were."""
    seeds = []

    def outcomes(some, folder, workers):
        for unit in some:
            seeds.append(unit.seed)
            yield unit, ([{**unit.labels, "psnr": 20 + unit.seed / 3}], 0.5)

    monkeypatch.setattr(units, "_outcomes", outcomes)
    return seeds


def quiet(_):
    pass


def test_finished_units_are_not_measured_again(tmp_path, plan, measured):
    store = units.Store(tmp_path)
    units.run(plan[:2], store, None, say=quiet)
    first, _ = command.gather(plan, store, {})
    units.run(plan, store, None, say=quiet)
    again, missing = command.gather(plan, store, {})
    assert measured == [0, 1, 2]
    assert again[:2] == first
    assert len(again) == 3
    assert not missing


def test_time_of_a_unit_that_was_not_alone_is_measured_again(tmp_path, plan, measured):
    store = units.Store(tmp_path)
    units.run(plan[:1], store, None, say=quiet)
    alone = units.Unit("stand_in", "SCSC", "fruit", 0, {"K": 5}, alone=True)
    units.run([alone], store, None, say=quiet)
    units.run(plan[:1], store, None, say=quiet)  # one that was alone serves both
    assert measured == [0, 0]


def test_fresh_forgets(tmp_path, plan, measured):
    store = units.Store(tmp_path)
    units.run(plan[:1], store, None, say=quiet)
    store.forget(plan[0])
    units.run(plan[:1], store, None, say=quiet)
    assert measured == [0, 0]


def test_a_unit_that_fails_stops_no_other(tmp_path, plan, monkeypatch):
    def outcomes(some, folder, workers):
        for unit in some:
            yield unit, MemoryError("too large") if unit.seed == 1 else ([unit.labels], 1.0)

    monkeypatch.setattr(units, "_outcomes", outcomes)
    store = units.Store(tmp_path)
    failed = units.run(plan, store, None, say=quiet)
    rows, missing = command.gather(plan, store, failed)
    assert [row["seed"] for row in rows] == [0, 2]
    assert missing == {"SCSC, fruit, K 5, seed 1": "MemoryError: too large"}


def test_how_long_it_takes_is_known_from_like_units(tmp_path, plan):
    store = units.Store(tmp_path)
    assert units.expected_seconds(plan, store, jobs=1) == sum(unit.guess for unit in plan)
    store.keep(plan[0], [], 7.0)
    assert units.expected_seconds(plan, store, jobs=1) == 21
    assert units.expected_seconds(plan, store, jobs=2) == 10.5


# --- what is left -------------------------------------------------------------------------------


def test_report_says_claims_and_spread(tmp_path):
    rows = [
        *ends_of({"SCSC": 30.0, "SCSC-L1": 28.0}),
        *ends_of({"SCSC": 31.0, "SCSC-L1": 28.5}, seed=1),
    ]
    text = results.write(module("balls"), "balls", rows, {"one": "not run"}, QUICK, tmp_path)
    assert "30.5 ± 0.71" in text
    assert "| yes |" in text
    assert "- one: not run" in text
    assert {path.name for path in tmp_path.iterdir()} == {"balls.csv", "balls.png", "balls.md"}
