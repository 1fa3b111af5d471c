"""The command line: what it says of names and data that are not there."""

import pytest

from laboratory.checks import CHECKS
from laboratory.command_line import main
from laboratory.experiments import EXPERIMENTS


def test_unknown_name_lists_the_names(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["no-such-thing"])
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert "no-such-thing" in message
    assert all(name in message for name in EXPERIMENTS)


def test_missing_data_folder_is_said(tmp_path, capsys):
    words = ["readings", "--quick", "--data", str(tmp_path / "none"), "--out", str(tmp_path)]
    assert main([*words, "--jobs", "1"]) == 2
    assert "there is no data folder" in capsys.readouterr().err


def test_options_of_experiments_are_refused_for_checks(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["preprocessing", "--seeds", "3"])
    assert stop.value.code == 2
    assert "--seeds is for experiments" in capsys.readouterr().err


@pytest.mark.parametrize("name", CHECKS)
def test_checks_need_data(name, tmp_path, capsys):
    if name == "fruit":
        pytest.importorskip("sporco")
    assert main([name, "--out", str(tmp_path)]) == 2
    assert "--data DIR" in capsys.readouterr().err
