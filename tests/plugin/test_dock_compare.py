"""What made a pixel, and what was there before."""

from __future__ import annotations

import numpy as np
import pytest
from dock_tools import (
    errors_raised,
    finish,
    noisy_cells,
)

pytestmark = pytest.mark.screen


def explained(dock):
    """Where, and the value there."""
    explanation = dock.plots.explain._explanation
    return None if explanation is None else (explanation.position, explanation.value)


def click(viewer, event_type, position, moves=()):
    from napari.utils.interactions import (
        mouse_move_callbacks,
        mouse_press_callbacks,
        mouse_release_callbacks,
    )

    event = event_type("mouse_press", position)
    event.modifiers = ()
    mouse_press_callbacks(viewer, event)
    for there in moves:
        event.type, event.position, event.is_dragging = "mouse_move", there, True
        mouse_move_callbacks(viewer, event)
    event.type = "mouse_release"
    mouse_release_callbacks(viewer, event)


def test_click_explains_a_pixel_of_the_result_while_the_tab_is_open(make_dock, qtbot, MouseEvent):
    viewer, dock = make_dock(noisy_cells(), name="mine", scale=(2, 2), translate=(5, 5), show=True)
    untouched = list(viewer.mouse_drag_callbacks)
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert viewer.mouse_drag_callbacks == untouched
    dock.tabs.setCurrentIndex(1)
    tabs = dock.plots.tabs
    tabs.setCurrentWidget(dock.plots.explain)
    assert len(viewer.mouse_drag_callbacks) == len(untouched) + 1
    result = viewer.layers["mine · denoised"]
    click(viewer, MouseEvent, result.data_to_world((20, 30)), moves=[(6, 6)])
    finish(dock)
    assert explained(dock) is None
    click(viewer, MouseEvent, result.data_to_world((20, 30)))
    finish(dock)
    assert explained(dock) == ((20, 30), pytest.approx(result.data[20, 30]))
    click(viewer, MouseEvent, (-100, -100))
    finish(dock)
    assert explained(dock)[0] == (20, 30)
    tabs.setCurrentWidget(dock.plots.filters)
    assert viewer.mouse_drag_callbacks == untouched
    tabs.setCurrentWidget(dock.plots.explain)
    viewer.window.remove_dock_widget(dock)
    assert viewer.mouse_drag_callbacks == untouched
    assert not errors_raised()


@pytest.mark.parametrize("kind", ["rgb", "multispectral", "time-lapse"])
def test_explanation_has_the_value_of_the_result(make_light_dock, kind):
    bands = noisy_cells((3, 40, 40)) // 8
    image = np.moveaxis(bands, 0, -1).astype(np.uint8) if kind == "rgb" else bands
    viewer, dock = make_light_dock(image, name="mine", rgb=kind == "rgb")
    dock.kind, dock.quality = kind, "fast"
    with pytest.raises(ValueError, match="no filters"):
        dock.explain((0, 0, 0))
    dock.denoise()
    finish(dock)
    result = viewer.layers["mine · denoised"]
    pixel = (20, 30) if kind == "rgb" else (2, 20, 30)
    dock.explain(result.data_to_world(pixel))
    finish(dock)
    expected = result.data[pixel].mean()
    position = (*pixel, None) if kind == "rgb" else pixel
    assert explained(dock) == (position, pytest.approx(expected))


def test_source_is_explained_where_there_is_no_result(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.learn()
    finish(dock)
    dock.explain((7, 9))
    finish(dock)
    assert explained(dock) == ((7, 9), pytest.approx(viewer.layers["mine"].data[7, 9]))


def test_original_is_seen_whatever_results_there_are(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    viewer.add_image(noisy_cells(), name="another", visible=False)
    dock.sources = ["cells"]
    dock.denoise()
    finish(dock)
    viewer.add_image(noisy_cells(), name="reference")  # on top of all
    viewer.layers["cells"].visible = False
    before = {layer.name: layer.visible for layer in viewer.layers}
    dock.compare_section.show_original(True)
    dock.compare_section.show_original(True)  # a key that is held is pressed again and again
    seen = [layer.name for layer in viewer.layers if layer.visible]
    assert seen == ["cells"]
    dock.compare_section.show_original(False)
    assert {layer.name: layer.visible for layer in viewer.layers} == before


def test_wipe_that_is_on_goes_over_to_a_preview(make_dock, qtbot):
    viewer, dock = make_dock(noisy_cells(), name="mine", show=True)
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    compare, live = dock.compare_section, dock.preview_switch.live
    compare.wipe_switch.click()
    compare.wipe.position = 0.3
    dock.preview = True
    qtbot.waitUntil(lambda: live.layer is not None and not live.running)
    assert compare.wipe_switch.isChecked()
    assert compare.wipe.is_on
    assert compare.wipe._result is live.layer
    assert compare.wipe.position == pytest.approx(0.3, abs=0.05)
    dock.preview = False
    finish(dock)
    assert not compare.wipe_switch.isChecked()  # what it compared with is gone
    assert not compare.wipe.is_on
    assert not [layer for layer in viewer.layers if "wipe" in layer.name]
    assert not errors_raised()


def test_result_takes_the_place_of_its_preview(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.preview = True
    finish(dock)
    assert "Preview of 64 x 64" in dock.message
    dock.denoise()
    finish(dock)
    assert [layer.name for layer in viewer.layers] == ["cells", "cells · denoised"]
    assert "cells · denoised" in dock.message
    assert not dock.preview


def test_what_was_said_of_another_image_is_forgotten(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.denoise()
    finish(dock)
    assert dock.noise
    assert dock.message
    viewer.add_image(noisy_cells(), name="others")
    dock.sources = ["others"]
    assert not dock.noise
    assert not dock.message


def test_script_of_what_failed_is_not_kept(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.denoise()
    finish(dock)
    good = dock.script
    viewer.add_labels(np.zeros((64, 64), int), name="empty")
    dock.missing_layer = "empty"
    dock.inpaint()
    finish(dock)
    assert "choose a Labels or Shapes layer" in dock.message
    assert dock.script == good


def test_script_calls_layers_as_they_are_called_now(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="cells")
    dock.denoise()
    finish(dock)
    viewer.layers["cells"].name = "nuclei"
    dock.strength = 1.5
    dock.denoise()
    finish(dock)
    assert "'cells'" not in dock.script
    names = {"viewer": viewer}
    exec(dock.script, names)
    np.testing.assert_array_equal(names["result"], dock.result.data)
