"""What is believed when it is read lies where nobody else can write."""

from __future__ import annotations

import json
import os
import stat
import sys
import warnings

import numpy as np
import pytest

from napari_scsc import cache
from napari_scsc.model.solver import fft
from napari_scsc.restore import machine_speed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders of users are their own")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NAPARI_SCSC_CACHE", str(tmp_path / "cache"))
    cache._warn_once.cache_clear()
    machine_speed.forget()
    yield tmp_path / "cache"
    machine_speed.forget()


def test_a_folder_that_is_made_is_for_this_user_alone(folder):
    assert cache.make_cache_folder() == folder
    assert stat.S_IMODE(folder.stat().st_mode) & 0o022 == 0
    assert cache.cache_folder() == folder


def test_a_folder_that_others_can_write_is_not_believed(folder):
    folder.mkdir()
    (folder / "speed.json").write_text(json.dumps({"machine": 3.0}))
    assert machine_speed.factor_of("a job") == 3.0
    machine_speed.forget()
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="other users can write"):
        assert machine_speed.factor_of("a job") == 1.0
    before = sorted(folder.iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said once
        machine_speed.correct("a job", 1.0, 5.0)
        transform = fft.RealFFT(1, (12, 10), np.float32)
    transform.space[...] = 1
    transform.forward()
    assert transform.spectrum[0, 0, 0] == pytest.approx(120)
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give")
def test_a_folder_of_another_user_is_not_believed(folder):
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    with pytest.warns(RuntimeWarning, match="belongs to another user"), pytest.raises(RuntimeError):
        cache.cache_folder()


def test_a_group_is_others_unless_it_is_the_users_own(folder, monkeypatch):
    folder.mkdir()
    folder.chmod(0o770)
    monkeypatch.setattr(cache, "_is_own_group", lambda number: True)
    assert cache.find_problem(folder) is None
    monkeypatch.setattr(cache, "_is_own_group", lambda number: False)
    assert cache.find_problem(folder) == "other users can write to it"
