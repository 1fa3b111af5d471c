"""Which layer is restored, and what becomes of a result that is stopped or deleted."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tifffile
from dock_tools import choose, finish, is_ready, noisy_cells, quietly, slow_down
from qtpy.QtWidgets import QApplication

from napari_scsc.plugin import requests
from napari_scsc.run.updates import RegionRestored

pytestmark = pytest.mark.screen


def noisy(seed, level=40.0, shape=(48, 48)):
    """Cells with noise of their own."""
    x = noisy_cells(shape).astype(float)
    return (x + np.random.default_rng(seed).normal(0, level, shape)).clip(0).astype(np.uint16)


def with_layers(make, count, **looks):
    viewer, dock = make()
    for number in range(count):
        viewer.add_image(noisy(number, 20 + 10 * number), name=f"layer {number}", **looks)
    dock.sources, dock.quality = [layer.name for layer in viewer.layers], "draft"
    return viewer, dock


def test_reference_that_is_opened_later_is_not_restored(make_light_dock, qtbot):
    viewer, dock = with_layers(make_light_dock, 1)
    viewer.add_image(noisy(5), name="reference")
    assert dock.sources == ["layer 0"]
    qtbot.wait(20)
    viewer.layers.selection = {viewer.layers["layer 0"]}
    viewer.layers.selection = {viewer.layers["reference"]}
    assert dock.sources == ["reference"]  # the user has chosen it
    viewer.add_image(noisy(5, shape=(64, 80)), name="another image")
    assert dock.sources == ["another image"]


def test_script_runs_by_itself_where_the_layer_came_from_a_file(make_light_dock, tmp_path):
    tifffile.imwrite(tmp_path / "cells.tif", noisy(3))
    viewer, dock = make_light_dock()
    viewer.open(tmp_path / "cells.tif", plugin="napari")
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    choose(dock, "Copy script")
    script = QApplication.clipboard().text()
    assert "viewer" not in script
    names = {}
    quietly(exec, script, names)
    np.testing.assert_array_equal(names["result"], dock.result.data)


def test_what_is_not_restored_of_a_stopped_result_is_marked(make_light_dock, qtbot, monkeypatch):
    slow_down(monkeypatch)
    viewer, dock = make_light_dock(noisy(0), name="mine")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    dock.stop()
    finish(dock, 10)
    mark = viewer.layers["mine · denoised, partial: not restored"]
    assert not mark.data[:4, :4].any()
    assert mark.data[4:].all()
    assert "not restored" not in "".join(map(str, dock.restore_section.missing_layer.choices))


def test_result_that_is_deleted_while_it_is_made_is_not_promised(
    make_light_dock, qtbot, monkeypatch
):
    removed, updates = threading.Event(), requests.RestoreRequest.updates

    def updates_around_the_removal(self, out, cancellation):
        for update in updates(self, out, cancellation):
            removed.wait(0.1)  # reports that follow at once are gathered
            yield update
            if isinstance(update, RegionRestored):
                removed.wait(20)

    monkeypatch.setattr(requests.RestoreRequest, "updates", updates_around_the_removal)
    viewer, dock = make_light_dock(noisy(0), name="mine")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=20000)
    viewer.layers.remove(dock.result)
    removed.set()
    finish(dock)
    assert "layer 'mine" not in dock.message
    assert "mine · denoised" not in [layer.name for layer in viewer.layers]
    assert is_ready(dock)
