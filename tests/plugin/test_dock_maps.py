"""What is known of a result: switches for its residual, error and support, and an audit."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import xarray
from dock_tools import errors_raised, finish, noisy_cells, quietly, set_preferences
from qtpy.QtWidgets import QFileDialog

from napari_scsc import audit, denoise, iter_denoise
from napari_scsc.plugin.sections.form_widgets import Fold

pytestmark = pytest.mark.screen


def names(viewer):
    return [layer.name for layer in viewer.layers]


def squares(shape=(64, 64)):
    labels = np.zeros(shape, int)
    labels[4:30, 4:30], labels[40:44, 40:44] = 1, 2
    return labels


def test_switches_show_and_remove_what_the_run_kept(make_dock, qtbot, monkeypatch):
    image = noisy_cells()
    viewer, dock = make_dock(image, name="cells", scale=(2, 2), show=True)
    switches = dock.compare_section.maps.switches
    assert not any(button.isEnabled() for button in switches.values())
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    result = dock.result.data.copy()
    # Nothing may be restored a second time.
    monkeypatch.setattr("napari_scsc.plugin.requests.iter_denoise", None)
    *_, expected = quietly(list, iter_denoise(image, kind="image", quality="fast", error=True))
    maps = {
        "residual": image.astype(np.float32) - result,
        "error": expected.error,
        "support": expected.support,
    }
    for name, values in maps.items():
        switches[name].click()
        finish(dock)
        layer = viewer.layers[f"cells · {name}"]
        np.testing.assert_array_equal(layer.data, values)
        assert layer.visible
        assert switches[name].isChecked()
        np.testing.assert_array_equal(layer.scale, (2, 2))
        assert dock.sources == ["cells"]
    for name in maps:
        switches[name].click()
        assert not switches[name].isChecked()
    assert names(viewer) == ["cells", "cells · denoised"]
    assert not errors_raised()


def test_residual_of_values_of_any_size_is_shown(make_dock):
    image = 1e30 * noisy_cells()
    viewer, dock = make_dock(image.astype(np.float32), name="cells", show=True)
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    dock.compare_section.maps.switches["residual"].click()
    finish(dock)
    low, high = viewer.layers["cells · residual"].contrast_limits
    assert np.isfinite([low, high]).all()
    assert -low == high > 0
    assert not errors_raised()


def test_maps_of_a_labelled_stack_are_shown(make_light_dock):
    stack = np.stack([noisy_cells()] * 4).astype(np.float32)
    viewer, dock = make_light_dock(xarray.DataArray(stack, dims=("z", "y", "x")), name="cells")
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    for name in ("residual", "error", "support"):
        dock.compare_section.maps.switches[name].click()
        finish(dock)
        assert f"cells · {name}" in names(viewer)
    assert not errors_raised()


def test_residual_of_large_integers_is_what_was_taken_away(make_light_dock):
    rng = np.random.default_rng(0)
    image = (1 << 30) + rng.integers(0, 200, (48, 48), np.int32)
    viewer, dock = make_light_dock(image, name="cells")
    dock.quality, dock.sigma = "draft", 50.0
    dock.denoise()
    finish(dock)
    dock.compare_section.maps.switches["residual"].click()
    finish(dock)
    taken = image.astype(np.int64) - dock.result.data
    np.testing.assert_array_equal(viewer.layers["cells · residual"].data, taken)


def test_switch_goes_off_when_its_layer_is_removed_and_with_a_new_result(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    switches = dock.compare_section.maps.switches
    switches["error"].click()
    viewer.layers.remove("cells · error")
    assert not switches["error"].isChecked()
    switches["error"].click()
    assert switches["error"].isChecked()
    dock.denoise()
    finish(dock)
    assert not switches["error"].isChecked()
    assert "cells · error" in names(viewer)
    viewer.layers.remove(dock.result)
    assert not switches["error"].isEnabled()


def test_residual_that_the_run_adds_is_switched_on(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.quality, dock.residual = "fast", True
    dock.denoise()
    finish(dock)
    switch = dock.compare_section.maps.switches["residual"]
    assert switch.isChecked()
    switch.click()
    assert "cells · residual" not in names(viewer)


def test_residual_of_colours_is_added_to_a_view_in_three_dimensions(make_dock):
    image = np.stack([noisy_cells()] * 3, -1).astype(np.uint8)
    viewer, dock = make_dock(image, name="cells", show=True)
    viewer.dims.ndisplay = 3
    dock.quality, dock.residual = "draft", True
    dock.denoise()
    finish(dock)
    assert not viewer.layers["cells · residual"].visible
    viewer.layers.clear()
    assert not errors_raised()


def test_what_has_no_error_says_so(make_light_dock, monkeypatch, tmp_path):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    labels = viewer.add_labels(squares(), name="holes")
    dock.missing_layer = labels.name
    dock.quality = "draft"
    dock.inpaint()
    finish(dock)
    switches = dock.compare_section.maps.switches
    assert switches["residual"].isEnabled()
    assert not switches["error"].isEnabled()
    assert "groups of patches" in switches["error"].toolTip()
    set_preferences(monkeypatch, results_folder=tmp_path, large_result=0)
    dock.denoise()
    finish(dock)
    assert dock.result is not None
    assert not switches["support"].isEnabled()


def test_error_of_colours_is_one_picture(make_light_dock):
    image = np.moveaxis(noisy_cells((3, 48, 48)) // 8, 0, -1).astype(np.uint8)
    viewer, dock = make_light_dock(image, name="mine", rgb=True)
    dock.kind, dock.quality = "rgb", "fast"
    dock.denoise()
    finish(dock)
    dock.compare_section.maps.switches["error"].click()
    layer = viewer.layers["mine · error"]
    assert not layer.rgb
    assert layer.data.shape == (48, 48)


def test_script_gives_the_result_alone(make_light_dock):
    _viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert "error" not in dock.script


def test_regions_are_audited_and_saved(make_dock, monkeypatch, tmp_path):
    image = noisy_cells()
    viewer, dock = make_dock(image, name="cells", show=True)
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    for fold in dock.findChildren(Fold):
        fold.head.setChecked(True)
    section = dock.compare_section.audit
    assert not section.regions.visible
    viewer.add_labels(np.zeros((5, 5), int), name="too small")
    assert not section.regions.visible
    viewer.add_labels(squares(), name="nuclei")
    assert section.regions.visible
    assert tuple(section.regions.choices) == ("no layer", "nuclei")
    section.regions.value = "nuclei"
    finish(dock)
    *_, last = quietly(list, iter_denoise(image, kind="image", quality="fast", error=True))
    expected = audit(image, last.result, squares(), last.noise, last.error)
    assert section.audit == expected
    cells = [section.table.item(row, 1).text() for row in range(section.table.rowCount())]
    assert cells == [region.verdict for region in expected]
    path = tmp_path / "audit.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    section.save_button.click()
    assert [row["label"] for row in csv.DictReader(path.read_text().splitlines())] == ["1", "2"]
    viewer.layers.remove("nuclei")
    assert section.audit is None
    assert not section.table.isVisible()
    assert not errors_raised()


def test_regions_of_colours_are_audited_over_all_of_them(make_light_dock):
    image = np.moveaxis(noisy_cells((3, 64, 64)) // 8, 0, -1).astype(np.uint8)
    viewer, dock = make_light_dock(image, name="mine", rgb=True)
    dock.kind, dock.quality = "rgb", "fast"
    dock.denoise()
    finish(dock)
    viewer.add_labels(squares(), name="nuclei")
    dock.compare_section.audit.regions.value = "nuclei"
    finish(dock)
    first, _ = dock.compare_section.audit.audit
    assert first.n_pixels == 3 * 26 * 26


def test_result_in_the_dock_has_the_bits_of_the_function(make_light_dock):
    _viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    expected = quietly(denoise, noisy_cells(), kind="image", quality="fast")
    np.testing.assert_array_equal(dock.result.data, expected)
