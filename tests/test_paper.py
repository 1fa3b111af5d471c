"""The paper's experiments: what they plan, how they judge, and that they do nothing twice."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.paper import EXPERIMENTS, claims, command, convergence, learning, results, units
from benchmarks.paper.claims import NO, NOT_TESTED, YES
from benchmarks.paper.scale import FULL, QUICK
from benchmarks.paper.sets import Samples
from benchmarks.synthetic import sample
from benchmarks.systems import SYSTEMS

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
    },
    "large": {"SCSC", "OCSC"},
    "highdim": {"SCSC", "OCSC", "CCSC"},
    "restoration": {"SBCSC", "OCSC", "SCSC"},
    "solvers": {"niAPG", "ADMM, rho 0.1", "ADMM, rho 1", "ADMM, rho 10"},
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
    assert asked <= set(SYSTEMS)
    assert asked >= set(SYSTEMS)  # and none of them is forgotten


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
    """End rows, {system: PSNR}, the same PSNR at equal beta and at equal sparsity."""
    return [
        {"system": s, "data": "fruit", "seed": 0, "R": 10, "K": 50, "end": True}
        | {"psnr": p, **dict.fromkeys(learning.EQUAL, p)}
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
        ("convergence", "SCSC has comparable PSNR", "SCSC", "OCSC"),
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


def test_equal_sparsity_that_was_not_reached_is_not_compared():
    rows = ends_of({"SCSC": 30, "SCSC-L1": 28})
    rows[1][learning.EQUAL[0]] = None
    others = [YES] * len(learning.EQUAL)
    assert sorted(agreed("balls", rows).values()) == sorted([*others, NOT_TESTED])


def test_verdict_may_differ_from_one_sparsity_to_another():
    rows = ends_of({"SCSC": 30, "SCSC-L1": 28})
    rows[0][learning.equal_key(0.5)] = 25
    told = agreed("balls", rows)
    assert {text: v for text, v in told.items() if v == NO}.keys() == {
        "SCSC-L1 is much inferior to SCSC-L2, at all R (0.5 non-zeros a pixel)"
    }


def test_seeds_are_averaged():
    rows = ends_of({"SCSC": 30, "SCSC-L1": 29}) + ends_of({"SCSC": 27, "SCSC-L1": 29.5}, seed=1)
    assert set(agreed("balls", rows).values()) == {NO}


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
        | {"seconds": s, "psnr": p, "objective": -p, "end": (s, p) == points[-1]}
        | dict.fromkeys(learning.EQUAL, p)
        for s, p in points
    ]


FAST, SLOW = [(1, 25), (2, 30)], [(10, 20), (20, 28)]


@pytest.mark.parametrize(("first", "second", "expected"), [(FAST, SLOW, YES), (SLOW, FAST, NO)])
def test_online_against_batch(first, second, expected):
    rows = curve("OCDL-Liu", first) + curve("SBCSC", second)
    told = agreed("convergence", rows)
    assert {v for text, v in told.items() if text.startswith("online")} == {expected}
    assert told["the same, by the test objective"] == expected


@pytest.mark.parametrize(("first", "second", "expected"), [(FAST, SLOW, YES), (SLOW, FAST, NO)])
def test_faster_at_equal_psnr(first, second, expected):
    rows = curve("SCSC", first) + curve("OCSC", second)
    assert agreed("convergence", rows)["SCSC is faster than OCSC at equal PSNR"] == expected
    assert agreed("large", rows)["SCSC reaches what OCSC reaches in less time"] == expected


def test_a_seed_is_compared_with_itself():
    rows = curve("SCSC", FAST) + curve("OCSC", SLOW)
    later = [row | {"seed": 1, "psnr": row["psnr"] - 5} for row in rows]
    judge = claims.faster_at_equal_psnr("SCSC", "OCSC")
    assert judge(rows + later).agrees == YES
    assert "inf" not in judge(rows + later).measured


def test_time_that_is_never_reached_is_infinite():
    assert claims.time_to(curve("SCSC", FAST), 30) == 2
    assert claims.time_to(curve("SCSC", FAST), 31) == math.inf
    assert not convergence.sooner(curve("SCSC", SLOW) + curve("OCSC", FAST), "SCSC", "OCSC")


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


def solved(system, objective, late_change, violation_share=None, seconds=1.0):
    row = {"system": system, "seed": 0, "end": True, "objective": objective}
    row |= {"late_change": late_change, "seconds": seconds}
    if violation_share is not None:
        row |= {"violation": 1.0, "violation_share": violation_share}
    return row


def test_solvers_are_judged_by_what_they_end_with():
    diverging = [solved("niAPG", 100, 1e-5), solved("ADMM, rho 1", 300, 0.2, 0.5)]
    assert set(agreed("solvers", diverging).values()) == {YES}
    behaved = [solved("niAPG", 100, 0.1), solved("ADMM, rho 1", 99, 1e-5, 1e-6)]
    assert set(agreed("solvers", behaved).values()) == {NO}


def test_one_rho_that_converges_refutes_that_none_does():
    rows = [
        solved("niAPG", 100, 1e-5),
        solved("ADMM, rho 1", 300, 0.2, 0.5),
        solved("ADMM, rho 10", 101, 1e-5, 1e-6),
    ]
    told = agreed("solvers", rows)
    assert told["ADMM fails to converge (at every rho)"] == NO


def test_solver_that_blows_up_has_not_converged():
    rows = [solved("niAPG", 100, 1e-5), solved("ADMM, rho 1", math.nan, math.nan, math.nan)]
    told = agreed("solvers", rows)
    assert told["ADMM fails to converge (at every rho)"] == YES
    assert told["the violation of ADMM's constraint does not go to zero"] == YES


def fitted(system, of, axis, exponent):
    return {"system": system, "of": of, "in": axis, "exponent": exponent}


def test_exponents_are_upper_bounds():
    text = "SCSC, filter update O(R^2 P + RP log P)"
    assert agreed("complexity", [fitted("SCSC", "filter_ms", "R", 1.2)])[text] == YES
    assert agreed("complexity", [fitted("SCSC", "filter_ms", "K", 0.9)])[text] == NO


@pytest.mark.parametrize(("ratio", "expected"), [(100.0, YES), (91.8, NO)])
def test_hundredth_of_the_memory(ratio, expected):
    rows = [{"system": "OCSC", "of": what, "ratio": ratio} for what in ("H", "H and G")]
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


# --- equal sparsity -----------------------------------------------------------------------------


def coded(per_pixel, psnr):
    return learning.Tested(psnr=psnr, nonzero=0.0, per_pixel=per_pixel, objective=1.0)


def by_a_law(beta):
    """Non-zeros and PSNR of a code that never was."""
    return coded(per_pixel=0.3 / beta**1.5, psnr=30 - 8 * math.log(beta))


def psnr_of_the_law(target):
    return by_a_law((0.3 / target) ** (1 / 1.5)).psnr


@pytest.mark.parametrize("start", [1e-3, 0.1, 30.0])
def test_psnr_at_each_target_of_a_known_law_is_found(start):
    found = learning.tested_around((0.25, 0.5, 1.0), by_a_law, start, steps=25)
    for target in (0.25, 0.5, 1.0):
        assert learning.psnr_at(found, target) == pytest.approx(psnr_of_the_law(target), abs=0.2)


def test_targets_share_their_codes():
    alone = sum(len(learning.tested_around((t,), by_a_law, 0.1, 25)) for t in (0.25, 0.5, 1.0))
    assert len(learning.tested_around((0.25, 0.5, 1.0), by_a_law, 0.1, 25)) < alone


def test_no_more_codes_than_allowed():
    tried = []
    learning.tested_around((0.25, 0.5), lambda b: tried.append(b) or by_a_law(b), 1e-6, steps=4)
    assert len(tried) == 4


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
def test_psnr_at_equal_sparsity_falls_with_the_target(samples, system):
    (row,) = learned(samples, system)
    assert row["end"]
    found = [row[key] for key in learning.EQUAL]
    assert None not in found
    assert sorted(found) == found
    assert found[0] < found[-1]


def test_psnr_at_equal_sparsity_lies_on_the_line_between():
    found = {0.4: coded(0.9, 20.0), 0.1: coded(1 / 0.9, 30.0), 0.01: coded(3.0, 50.0)}
    assert learning.psnr_at(found, 1.0) == pytest.approx(25)


def test_neighbours_far_apart_say_nothing():
    found = {0.4: coded(0.5, 20.0), 0.1: coded(2.0, 30.0)}
    assert learning.psnr_at(found, 1.0) is None


def test_near_enough_needs_no_neighbour():
    assert learning.psnr_at({0.4: coded(1.01, 20.0)}, 1.0) == 20
    assert learning.psnr_at({0.4: coded(1.1, 20.0)}, 1.0) is None


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
