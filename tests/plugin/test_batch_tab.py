"""The tab Batch: many files, clicked and dropped, with results of the same bits as the function."""

from __future__ import annotations

import csv
import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import tifffile
from dock_tools import children, our_threads, quietly
from journey_tools import click, drop
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QAbstractButton, QApplication, QComboBox, QLineEdit

from napari_scsc import FilterBank, denoise, learn, samples
from napari_scsc.batch import job
from napari_scsc.batch.request import BatchRequest
from napari_scsc.errors import UserError
from napari_scsc.plugin.batch.batch_tab import BatchTab
from napari_scsc.plugin.batch.file_table import COLUMNS
from napari_scsc.plugin.batch.settings import BatchSettings
from napari_scsc.run.updates import BlocksDone

pytestmark = pytest.mark.screen

OPTIONS = {"quality": "draft", "sigma": 20.0}


def image(seed):
    return samples.noisy_tissue((48, 48), seed=seed)


@pytest.fixture
def make_files(tmp_path):
    def make(count):
        for i in range(count):
            np.save(tmp_path / f"cells {i}.npy", image(i))
        return [str(tmp_path / f"cells {i}.npy") for i in range(count)]

    return make


@pytest.fixture
def make_tab(qtbot):
    tabs = []

    def make(**settings):
        chosen = BatchSettings(**{"options": OPTIONS, **settings})
        tab = BatchTab(lambda: chosen)
        tab.errors = []
        tab.failed.connect(tab.errors.append)
        qtbot.addWidget(tab)
        tab.resize(320, 560)
        tab.show()
        tabs.append(tab)
        return tab

    yield make
    for tab in tabs:
        tab.stop()
        assert tab.wait(20)
    qtbot.waitUntil(lambda: not our_threads(), timeout=5000)


def run(tab):
    click(tab.start_button)
    assert tab.wait(120)


def states(tab):
    return [str(report.state) for report in tab.reports]


def check_bits(folder, count, missing=()):
    for i in range(count):
        if i not in missing:
            expected = quietly(denoise, image(i), **OPTIONS)
            np.testing.assert_array_equal(np.load(folder / f"cells {i}.npy"), expected)


def hold_at(monkeypatch, number):
    """Let the file of that number wait in its middle until the event is set, or it is cancelled."""
    import napari_scsc

    start, go, begun = napari_scsc.iter_denoise, threading.Event(), threading.Event()
    count = 0

    def slowly(array, cancellation, **options):
        nonlocal count
        updates = start(array, cancellation=cancellation, **options)
        count += 1
        if count == number + 1:
            yield next(updates)
            begun.set()
            while not go.wait(0.01):
                cancellation.check()
                yield BlocksDone(1, 2, 0.5)
        yield from updates

    monkeypatch.setattr(napari_scsc, "iter_denoise", slowly)
    return go, begun


def test_twenty_files_give_twenty_results_of_the_same_bits(make_tab, make_files, tmp_path):
    tab = make_tab()
    tab.add_paths(make_files(20))
    assert tab.start_button.text() == "Denoise 20 files"
    run(tab)
    assert tab.errors == []
    assert states(tab) == ["done"] * 20
    check_bits(tmp_path / "denoised", 20)
    assert "20 of 20" in tab.message_line.text()
    row = [tab.files.table.files.index(3, c).data() for c in range(len(COLUMNS))]
    assert row[:3] == ["cells 3.npy", "done", "20"]
    assert sorted(p.name for p in (tmp_path / "denoised").iterdir()) == sorted(
        f"cells {i}.npy" for i in range(20)
    )


def test_stop_keeps_what_is_done_and_starting_again_goes_on(
    make_tab, make_files, tmp_path, monkeypatch, qtbot
):
    tab = make_tab()
    tab.add_paths(make_files(5))
    with monkeypatch.context() as patch:
        _, begun = hold_at(patch, 2)
        click(tab.start_button)
        assert tab.start_button.text() == "Stop"
        qtbot.waitUntil(lambda: begun.is_set() and states(tab)[2] == "running", timeout=60000)
        click(tab.start_button)
        assert tab.wait(20)
    assert states(tab) == ["done", "done", "stopped", "waiting", "waiting"]
    assert "Starting again goes on" in tab.message_line.text()
    assert not (tmp_path / "denoised" / "cells 2.npy").exists()
    run(tab)
    assert states(tab) == ["was there", "was there", "done", "done", "done"]
    check_bits(tmp_path / "denoised", 5)
    assert not list((tmp_path / "denoised").glob("*.partial"))
    assert tab.errors == []


CHILD = """
import sys
from qtpy.QtWidgets import QApplication
application = QApplication([])
from napari_scsc.plugin.batch.batch_tab import BatchTab
from napari_scsc.plugin.batch.settings import BatchSettings
tab = BatchTab(lambda: BatchSettings(options={options!r}))
tab.add_paths(sys.argv[1:])
tab.show()
tab.start()
tab.wait()
"""


@pytest.mark.slow
def test_hundred_files_go_on_after_a_kill_to_the_same_bits(make_tab, make_files, tmp_path):
    paths = make_files(100)
    child = subprocess.Popen([sys.executable, "-c", CHILD.format(options=OPTIONS), *paths])
    made = tmp_path / "denoised"
    for _ in range(6000):
        if len(list(made.glob("*.npy"))) >= 30:
            break
        assert child.poll() is None
        time.sleep(0.02)
    child.kill()
    child.wait()
    before = {path: path.stat().st_mtime_ns for path in made.glob("*.npy")}
    assert 30 <= len(before) < 100
    tab = make_tab()
    tab.add_paths(paths)
    run(tab)
    assert states(tab).count("done") + states(tab).count("was there") == 100
    assert {path: path.stat().st_mtime_ns for path in before} == before  # these were left alone
    check_bits(made, 100)
    assert not list(made.glob("*.partial"))


def test_broken_file_is_a_failed_row_and_the_others_are_done(make_tab, make_files, tmp_path):
    paths = make_files(3)
    Path(paths[1]).write_bytes(b"no array")
    tab = make_tab()
    tab.add_paths(paths)
    run(tab)
    assert states(tab) == ["done", "failed", "done"]
    check_bits(tmp_path / "denoised", 3, missing=(1,))
    model, column = tab.files.table.files, COLUMNS.index("warning")
    assert "cells 1.npy" in model.index(1, column).data(Qt.ItemDataRole.ToolTipRole)
    assert model.index(1, 0).data(Qt.ItemDataRole.ForegroundRole) is not None
    assert model.index(0, 0).data(Qt.ItemDataRole.ForegroundRole) is None
    assert "1 failed" in tab.message_line.text()


def test_file_that_has_gone_is_a_failed_row_and_the_others_are_done(make_tab, make_files):
    paths = make_files(3)
    tab = make_tab()
    tab.add_paths(paths)
    os.remove(paths[1])
    run(tab)
    assert states(tab) == ["done", "failed", "done"]
    warning = tab.files.table.files.index(1, COLUMNS.index("warning")).data()
    assert "there is no such file" in warning
    assert "1 failed" in tab.message_line.text()


def test_failure_ends_it_if_that_is_chosen(make_tab, make_files):
    paths = make_files(3)
    Path(paths[1]).write_bytes(b"no array")
    tab = make_tab()
    tab.add_paths(paths)
    tab.output.failures.setCurrentText("stop")
    run(tab)
    assert states(tab) == ["done", "failed", "waiting"]


def test_folder_that_cannot_be_written_to_is_told(make_tab, make_files, tmp_path):
    (tmp_path / "taken").write_text("a file")
    tab = make_tab()
    tab.add_paths(make_files(2))
    tab.output.out.setText(str(tmp_path / "taken"))
    run(tab)
    (error,) = tab.errors
    assert "taken" in str(error)
    assert "taken" in tab.message_line.text()
    assert states(tab) == ["waiting", "waiting"]
    assert not tab.busy


def test_results_that_are_there_are_kept_unless_it_may_go_on(make_tab, make_files, tmp_path):
    (tmp_path / "denoised").mkdir()
    (tmp_path / "denoised" / "cells 0.npy").write_text("mine")
    tab = make_tab()
    tab.add_paths(make_files(2))
    tab.output.go_on.setChecked(False)
    run(tab)
    (error,) = tab.errors
    assert "go on with what is there" in str(error)
    tab.output.go_on.setChecked(True)
    run(tab)
    assert states(tab) == ["was there", "done"]
    assert (tmp_path / "denoised" / "cells 0.npy").read_text() == "mine"


def test_results_of_other_settings_or_sources_are_said_to_be_such(qtbot, make_tab, tmp_path):
    paths = [str(tmp_path / f"w{i}.tif") for i in range(3)]
    for i, path in enumerate(paths):
        tifffile.imwrite(path, image(i))
    chosen = [BatchSettings(options=OPTIONS)]
    tab = make_tab()
    tab._read_settings = lambda: chosen[0]
    tab.add_paths(paths)
    run(tab)
    assert "3 of 3" in tab.message_line.text()
    run(tab)
    assert "0 restored, 3 were there, in" in tab.message_line.text()
    chosen[0] = BatchSettings(options={**OPTIONS, "strength": 2.5})
    run(tab)
    assert "0 restored, 3 were there, 3 of them with other settings" in tab.message_line.text()
    warning = tab.files.table.files.index(1, COLUMNS.index("warning")).data()
    assert "other settings (strength)" in warning
    chosen[0] = BatchSettings(options=OPTIONS)
    tifffile.imwrite(paths[1], image(7))
    os.remove(tmp_path / "denoised" / "w0.tif")
    run(tab)
    words = "1 restored, 2 were there, 1 of them from a source that has changed since"
    assert words in tab.message_line.text()
    assert states(tab) == ["done", "was there", "was there"]
    assert [len(report.warnings) for report in tab.reports[1:]] == [1, 0]
    assert tab.errors == []


def test_pause_holds_until_it_is_pressed_again(make_tab, make_files, monkeypatch, qtbot, tmp_path):
    go, begun = hold_at(monkeypatch, 1)
    tab = make_tab()
    tab.add_paths(make_files(3))
    click(tab.start_button)
    qtbot.waitUntil(begun.is_set, timeout=60000)
    click(tab.pause_button)
    assert (tab.paused, tab.pause_button.text()) == (True, "Resume")
    go.set()
    qtbot.wait(300)
    assert tab.busy
    assert states(tab)[2] == "waiting"
    click(tab.pause_button)
    assert tab.wait(60)
    assert states(tab) == ["done"] * 3
    check_bits(tmp_path / "denoised", 3)


def test_stop_ends_what_is_held(make_tab, make_files, monkeypatch, qtbot):
    _, begun = hold_at(monkeypatch, 0)
    tab = make_tab()
    tab.add_paths(make_files(2))
    click(tab.start_button)
    qtbot.waitUntil(begun.is_set, timeout=60000)
    click(tab.pause_button)
    click(tab.start_button)
    assert tab.wait(20)
    assert states(tab) == ["stopped", "waiting"]
    assert not tab.paused


@pytest.mark.parametrize("error", [RuntimeError("FFT"), KeyError("odd")])
def test_error_of_any_kind_in_one_file_is_its_row(make_tab, make_files, monkeypatch, error):
    import napari_scsc

    start = napari_scsc.iter_denoise

    def fail(array, **options):
        if array.shape == (40, 48):
            raise error
        return start(array, **options)

    paths = make_files(2)
    np.save(paths[0], image(0)[:40])
    monkeypatch.setattr(napari_scsc, "iter_denoise", fail)
    tab = make_tab()
    tab.add_paths(paths)
    run(tab)
    assert states(tab) == ["failed", "done"]


def test_deleting_the_widget_ends_the_job(make_files, monkeypatch, qtbot, tmp_path):
    _, begun = hold_at(monkeypatch, 0)
    tab = BatchTab(lambda: BatchSettings(options=OPTIONS))
    tab.add_paths(make_files(2))
    tab.start()
    qtbot.waitUntil(begun.is_set, timeout=60000)
    cancellation = tab._job.job.cancellation
    tab.deleteLater()
    qtbot.waitUntil(lambda: cancellation.is_cancelled, timeout=5000)
    qtbot.waitUntil(lambda: not our_threads(), timeout=20000)
    assert not (tmp_path / "denoised" / "cells 1.npy").exists()


@pytest.mark.slow
def test_copied_command_gives_the_same_bits(make_tab, make_files, tmp_path):
    bank = learn([image(9)], tiles=2, filter_shape=(5, 5))
    bank.save(tmp_path / "own.scsc")
    tab = make_tab(bank=bank, bank_path=str(tmp_path / "own.scsc"), n_jobs=1)
    tab.add_paths(make_files(2))
    click(tab.command_button)
    program, *arguments = shlex.split(QApplication.clipboard().text())
    assert program == "napari-scsc"
    command = [sys.executable, "-m", "napari_scsc", *arguments]
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    os.rename(tmp_path / "denoised", tmp_path / "by command")
    run(tab)
    for name in ("cells 0.npy", "cells 1.npy"):
        by_command = np.load(tmp_path / "by command" / name)
        np.testing.assert_array_equal(np.load(tmp_path / "denoised" / name), by_command)
    loaded = FilterBank.load(tmp_path / "own.scsc")
    expected = quietly(denoise, image(0), bank=loaded, **OPTIONS)
    np.testing.assert_array_equal(np.load(tmp_path / "denoised" / "cells 0.npy"), expected)


def test_command_needs_filters_that_are_in_a_file(make_tab, make_files):
    bank = learn([image(9)], tiles=2, filter_shape=(5, 5))
    tab = make_tab(bank=bank)
    tab.add_paths(make_files(1))
    click(tab.command_button)
    (error,) = tab.errors
    assert isinstance(error, UserError)
    assert "save the filters first" in str(error)


def test_files_and_folders_are_dropped_each_once(make_tab, make_files, tmp_path):
    paths = make_files(3)
    (tmp_path / "notes.txt").write_text("no image")
    tab = make_tab()
    drop(tab.files.table, paths[1:2])
    assert [r.path for r in tab.reports] == [paths[1]]
    drop(tab.files.table, [tmp_path])
    assert [r.path for r in tab.reports] == [paths[1], paths[0], paths[2]]
    assert tab.output.out.placeholderText() == str(tmp_path / "denoised")
    tab.files.pattern.setText("*.png")
    drop(tab.files.table, [tmp_path])
    assert "holds no file like *.png" in str(tab.errors[0])


def test_delete_key_and_clear_take_files_away(make_tab, make_files):
    tab = make_tab()
    tab.add_paths(make_files(4))
    tab.files.table.selectRow(1)
    QTest.keyClick(tab.files.table, Qt.Key.Key_Delete)
    assert [Path(r.path).stem[-1] for r in tab.reports] == ["0", "2", "3"]
    click(tab.files.clear_button)
    assert tab.reports == ()
    assert not tab.start_button.isEnabled()
    tab.start_button.click()
    assert not tab.busy


def test_list_is_locked_while_it_runs(make_tab, make_files, monkeypatch, qtbot):
    _, begun = hold_at(monkeypatch, 0)
    tab = make_tab()
    paths = make_files(2)
    tab.add_paths(paths)
    click(tab.start_button)
    qtbot.waitUntil(begun.is_set, timeout=60000)
    drop(tab.files.table, paths)
    tab.files.table.selectAll()
    QTest.keyClick(tab.files.table, Qt.Key.Key_Delete)
    assert len(tab.errors) == 2
    assert len(tab.reports) == 2


def test_double_click_on_a_done_row_opens_result_and_source(make_tab, make_files, qtbot, tmp_path):
    paths = make_files(2)
    Path(paths[1]).write_bytes(b"no array")
    tab = make_tab()
    tab.add_paths(paths)
    wanted = []
    tab.open_wanted.connect(lambda result, source: wanted.append((result, source)))
    run(tab)
    table = tab.files.table
    for row in (0, 1):
        place = table.visualRect(table.files.index(row, 0)).center()
        # The first click of a double click chooses the row.
        QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
        QTest.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert wanted == [(str(tmp_path / "denoised" / "cells 0.npy"), paths[0])]


def test_summary_has_a_row_a_file(make_tab, make_files, tmp_path):
    tab = make_tab()
    tab.add_paths(make_files(2))
    run(tab)
    tab.save_summary(str(tmp_path / "summary.csv"))
    with open(tmp_path / "summary.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["state"], row["sigma"]) for row in rows] == [("done", "20")] * 2


def test_thousand_rows_need_no_widgets_of_their_own(make_tab, tmp_path):
    tab = make_tab()
    before = len(tab.findChildren(QAbstractButton)) + len(tab.files.table.findChildren(object))
    tab.files.table.files.add(str(tmp_path / f"{i}.tif") for i in range(1000))
    QApplication.processEvents()
    assert tab.files.table.files.rowCount() == 1000
    now = len(tab.findChildren(QAbstractButton)) + len(tab.files.table.findChildren(object))
    assert now == before


def test_settings_are_said_in_words(make_tab):
    tab = make_tab(options={})
    assert tab.settings_line.text() == "denoise, balanced, strength 1.00, noise found in each"
    assert "noise 20" in make_tab().settings_line.text()
    filled = make_tab(task="inpaint", options={"saturation": 255.0}, kind="stack")
    assert filled.settings_line.text() == "inpaint, balanced, stack"
    assert filled.start_button.text() == "Fill files"


def test_request_is_that_of_the_settings_and_fields(make_tab, make_files, tmp_path):
    tab = make_tab(n_jobs=2, kind="image")
    paths = make_files(2)
    tab.add_paths(paths)
    tab.output.format.setCurrentText(".ome.zarr")
    expected = BatchRequest(
        inputs=tuple(paths),
        out=os.path.join(tmp_path, "denoised", ""),
        options={**OPTIONS, "n_jobs": 2},
        kind="image",
        format=".ome.zarr",
        resume=True,
    )
    assert tab.request() == expected


@pytest.mark.parametrize("points", [None, 16])
def test_everything_fits_into_a_narrow_dock(make_tab, make_files, points, qtbot):
    tab = make_tab()
    tab.add_paths(make_files(3))
    if points:
        for widget in (tab, *children(tab, (QAbstractButton, QLineEdit, QComboBox))):
            font = widget.font()
            font.setPointSizeF(points)
            widget.setFont(font)
        for label in tab.findChildren(type(tab.settings_line)):
            label.setFont(tab.font())
    tab.bar.show()
    tab._say("12 of 20, about 3 min left")
    tab.resize(320, 560)
    qtbot.wait(50)
    assert (tab.width(), tab.height()) == (320, 560)
    hint = tab.minimumSizeHint()
    assert (hint.width() <= 320, hint.height() <= 560) == (True, True), hint
    for button in tab.findChildren(QAbstractButton):
        if button.isVisibleTo(tab) and button.text():
            least = button.fontMetrics().horizontalAdvance(button.text())
            assert button.width() >= least, button.text()


def test_every_control_has_a_name_and_is_reached_by_tab(make_tab, make_files):
    from test_accessibility import name_of

    tab = make_tab()
    tab.add_paths(make_files(1))
    for control in children(tab, (QAbstractButton, QLineEdit, QComboBox)):
        if control.isVisibleTo(tab) and control.parentWidget() is not tab.files.table:
            assert name_of(control, tab), control
            assert control.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_nothing_is_opened_by_the_thread_of_the_window(make_tab, make_files, monkeypatch):
    opened_in = set()
    open_array = job.open_array

    def watched(path, key=None):
        opened_in.add(threading.current_thread() is threading.main_thread())
        return open_array(path, key)

    monkeypatch.setitem(job.iter_batch.__kwdefaults__, "open_input", watched)
    tab = make_tab()
    tab.add_paths(make_files(2))
    run(tab)
    assert opened_in == {False}
    assert states(tab) == ["done"] * 2
