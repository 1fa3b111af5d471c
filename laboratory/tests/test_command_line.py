"""The command line: what it says of names and data that are not there."""

import pytest

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
