"""What an experiment leaves in its folder."""

from laboratory.experiment_report import report_text, write_report
from laboratory.experiment_scale import QUICK
from laboratory.experiments import figure_6_convergence as convergence
from laboratory.experiments import load_experiment
from laboratory.tests.result_row_makers import FAST, SLOW, make_curve, make_final_rows


def test_further_tables_are_written():
    rows = make_curve("SCSC", FAST) + make_curve("OCSC", SLOW)
    text = report_text(convergence, "convergence", rows, {}, QUICK)
    assert "| data | rival | equal beta |" in text
    assert "| fruit | OCSC | +2.00 |" in text


def test_report_says_claims_and_spread(tmp_path):
    rows = [
        *make_final_rows({"SCSC": 30.0, "SCSC-L1": 28.0}),
        *make_final_rows({"SCSC": 31.0, "SCSC-L1": 28.5}, seed=1),
    ]
    text = write_report(
        load_experiment("balls"),
        "balls",
        rows,
        {"one, seed 1": "not run", "one, seed 2": "not run"},
        QUICK,
        tmp_path,
    )
    assert "30.5 ± 0.71" in text
    assert "| yes |" in text
    assert "- one, seed 1, 2: not run" in text
    assert "up to 2 seeds" in text
    assert {path.name for path in tmp_path.iterdir()} == {"balls.csv", "balls.png", "balls.md"}
