"""The dock in a real viewer, with the real worker."""

from __future__ import annotations

import numpy as np
import pytest
from dock_tools import slow_down

from napari_scsc import samples
from napari_scsc.errors import message_of
from napari_scsc.groups import compiling

pytestmark = pytest.mark.screen


@pytest.fixture
def noisy():
    x = samples.tissue((96, 96))
    return (1000 * x + np.random.default_rng(0).normal(500, 60, x.shape)).astype(np.uint16)


def test_one_image_is_denoised_without_an_argument(make_dock, noisy):
    viewer, dock = make_dock(noisy, name="nuclei")
    before = noisy.copy()
    dock.denoise()
    assert dock.wait(120)
    result = viewer.layers["nuclei · denoised"]
    assert result.unique_id == dock.result.unique_id
    assert result.data.dtype == np.uint16
    clean = 1000 * samples.tissue((96, 96)) + 500
    assert np.std(result.data - clean) < 0.5 * np.std(noisy - clean)
    np.testing.assert_array_equal(viewer.layers["nuclei"].data, before)
    assert dock.bank is not None


def test_learning_gives_filters_and_the_next_denoise_uses_them(make_dock, noisy):
    _, dock = make_dock(noisy)
    dock.learn()
    assert dock.wait(60)
    learned = dock.bank
    assert learned is not None
    dock.denoise()
    assert dock.wait(120)
    assert dock.bank.id == learned.id


def test_holes_marked_by_labels_are_filled(make_dock, noisy):
    viewer, dock = make_dock(noisy, name="nuclei")
    mask = np.zeros(noisy.shape, int)
    mask[:, 40:42] = 3
    viewer.add_labels(mask, name="holes")
    dock.missing_layer = "holes"
    dock.quality = "fast"
    dock.inpaint()
    assert dock.wait(120)
    filled = viewer.layers["nuclei · filled"].data
    np.testing.assert_array_equal(filled[mask == 0], noisy[mask == 0])


def test_result_looks_like_its_source(make_dock, noisy):
    looks = {
        "scale": (0.2, 0.3),
        "translate": (5, -3),
        "rotate": 10,
        "shear": [0.1],
        "affine": np.array([[1, 0, 2], [0, 1, 3], [0, 0, 1.0]]),
        "units": ("um", "um"),
        "axis_labels": ("y", "x"),
        "colormap": "magma",
        "contrast_limits": (400, 1600),
        "gamma": 0.8,
        "blending": "additive",
    }
    viewer, dock = make_dock(noisy, name="nuclei", **looks)
    dock.quality = "fast"
    dock.denoise()
    assert dock.wait(60)
    source, result = viewer.layers["nuclei"], dock.result
    for name in ("scale", "translate", "rotate", "shear"):
        np.testing.assert_allclose(getattr(result, name), getattr(source, name))
    np.testing.assert_allclose(result.affine.affine_matrix, source.affine.affine_matrix)
    for name in ("units", "axis_labels", "gamma", "blending"):
        assert getattr(result, name) == getattr(source, name)
    assert result.colormap.name == source.colormap.name
    assert list(result.contrast_limits) == list(source.contrast_limits)
    assert viewer.layers.extent.units == source.units  # one stray layer would make them pixels
    assert "denoise(" in result.metadata["napari_scsc"]["recipe"]["script"]


def test_second_run_makes_a_layer_of_its_own(make_dock, noisy):
    viewer, dock = make_dock(noisy, name="nuclei")
    dock.quality = "fast"
    for strength in (1.0, 1.5):
        dock.strength = strength
        dock.denoise()
        assert dock.wait(60)
    names = [layer.name for layer in viewer.layers]
    assert names == ["nuclei", "nuclei · denoised", "nuclei · denoised 2"]


def test_script_gives_the_same_bits(make_dock, noisy):
    viewer, dock = make_dock(noisy, name="nuclei")
    dock.quality = "fast"
    dock.denoise()
    assert dock.wait(60)
    names = {"viewer": viewer}
    exec(dock.script, names)
    np.testing.assert_array_equal(names["result"], dock.result.data)


def test_script_of_learning_gives_the_same_filters(make_dock, noisy):
    viewer, dock = make_dock(noisy, name="nuclei")
    dock.learn()
    assert dock.wait(60)
    names = {"viewer": viewer}
    exec(dock.script, names)
    assert names["bank"].id == dock.bank.id


def test_stop_keeps_a_layer_that_is_called_partial(make_dock, noisy, qtbot, monkeypatch):
    slow_down(monkeypatch)
    _, dock = make_dock(noisy, name="nuclei")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    dock.stop()
    assert dock.wait(5)
    assert dock.result.name == "nuclei · denoised, partial"
    assert (dock.result.data[:4, :4] == 7).all()
    assert dock.run_section.main_button.isEnabled()


def test_paused_job_waits_and_goes_on(make_dock, noisy, qtbot, monkeypatch):
    slow_down(monkeypatch)
    _, dock = make_dock(noisy)
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    dock.pause()
    assert dock.run_section.pause_button.text() == "Resume"
    qtbot.wait(300)
    dock.result.data[:4, :4] = 0
    qtbot.wait(300)
    assert (dock.result.data[:4, :4] == 0).all()  # nothing comes any more
    dock.pause()
    qtbot.waitUntil(lambda: bool((dock.result.data[:4, :4] == 7).all()), timeout=5000)
    dock.stop()
    assert dock.wait(5)


@pytest.mark.parametrize("error", [ValueError("no"), RuntimeError("no"), MemoryError("no")])
def test_failure_is_said_and_leaves_the_dock_ready(make_dock, noisy, monkeypatch, error):
    from napari.utils.notifications import notification_manager

    slow_down(monkeypatch, error)
    viewer, dock = make_dock(noisy, name="nuclei")
    before = viewer.layers["nuclei"].data.copy()
    dock.denoise()
    assert dock.wait(10)
    assert "no" in dock.message
    assert any(
        f"napari-scsc: {message_of(error)}" in n.message for n in notification_manager.records
    )
    assert dock.run_section.main_button.isEnabled()
    np.testing.assert_array_equal(viewer.layers["nuclei"].data, before)


def test_deleting_the_source_or_the_result_does_no_harm(make_dock, noisy, qtbot, monkeypatch):
    slow_down(monkeypatch)
    viewer, dock = make_dock(noisy, name="nuclei")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    viewer.layers.clear()
    qtbot.wait(200)
    assert dock.busy
    dock.stop()
    assert dock.wait(5)
    assert len(viewer.layers) == 0
    assert not dock.run_section.main_button.isEnabled()


def test_closing_the_dock_stops_its_job(make_dock, noisy, qtbot, monkeypatch):
    slow_down(monkeypatch)
    viewer, dock = make_dock(noisy)
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    viewer.window.remove_dock_widget(dock)
    qtbot.waitUntil(lambda: not dock.busy, timeout=5000)


def test_closing_the_viewer_stops_its_job(make_napari_viewer, qtbot, noisy, monkeypatch):
    slow_down(monkeypatch)
    viewer = make_napari_viewer(show=False)
    viewer.add_image(noisy)
    _, dock = viewer.window.add_plugin_dock_widget("napari-scsc")
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    job = dock.runner.job.job
    viewer.close()
    qtbot.waitUntil(lambda: not _alive(job) or job._outcome is not None, timeout=5000)


def _alive(job):
    try:
        job.objectName()
    except RuntimeError:  # Qt has deleted it
        return False
    return True


def test_nothing_to_work_on_is_said(make_dock):
    _, dock = make_dock()
    assert not dock.run_section.main_button.isEnabled()
    assert "open an image" in dock.run_section.main_button.toolTip()
    with pytest.raises(ValueError, match="open an image"):
        dock.denoise()


def test_axes_that_nobody_has_named_are_proposed_and_can_be_changed(make_dock):
    volume = np.random.default_rng(0).normal(size=(12, 40, 40)).astype(np.float32)
    _, dock = make_dock(volume)
    assert dock.run_section.main_button.isEnabled()
    assert dock.axes.roles == ("shift", "shift", "shift")
    dock.kind = "multispectral"
    assert dock.axes.roles == ("joint", "shift", "shift")
    assert "12 x 40 x 40" in dock.about


def test_bank_is_saved_and_loaded(make_dock, noisy, tmp_path):
    _, dock = make_dock(noisy)
    with pytest.raises(ValueError, match="no filters"):
        dock.save_bank(tmp_path / "mine.scsc")
    dock.learn()
    assert dock.wait(60)
    dock.save_bank(tmp_path / "mine.scsc")
    own = dock.bank.id
    dock.bank = None
    dock.load_bank(tmp_path / "mine.scsc")
    assert dock.bank.id == own


def test_reference_gives_psnr_and_ssim(make_dock, noisy):
    viewer, dock = make_dock(noisy, name="nuclei")
    dock.quality = "fast"
    dock.denoise()
    assert dock.wait(60)
    clean = (1000 * samples.tissue((96, 96)) + 500).astype(np.uint16)
    viewer.add_image(clean, name="clean")
    dock.reference = "clean"
    assert dock.wait(10)
    assert "PSNR" in dock.scores


def test_odd_references_are_told_in_words(make_dock, noisy):
    viewer, dock = make_dock(noisy, name="nuclei")
    dock.quality = "draft"
    dock.denoise()
    assert dock.wait(60)
    holed = (1000 * samples.tissue((96, 96)) + 500).astype(np.float32)
    holed[:24] = np.nan
    for name, data in (("flat", np.full((96, 96), 5.0)), ("holed", holed)):
        viewer.add_image(data, name=name)
    dock.reference = "flat"
    assert dock.wait(10)
    assert dock.scores.startswith("No figures: the reference is constant")
    dock.reference = "holed"
    assert dock.wait(10)
    assert "(of the 75% that are known in it)" in dock.scores
    assert "nan" not in dock.scores


def test_dock_says_that_it_is_compiling(make_light_dock, monkeypatch):

    _, dock = make_light_dock(samples.noisy_tissue((64, 64)))
    said = []
    say = dock.run_section.say
    monkeypatch.setattr(dock.run_section, "say", lambda text: (said.append(text), say(text)))
    monkeypatch.setattr(compiling, "_started", [0.0])
    dock.learn()
    assert dock.wait(20)
    assert any("compiling" in text for text in said)
    said.clear()
    monkeypatch.setattr(compiling, "_started", [])
    dock.learn()
    assert dock.wait(20)
    assert said
    assert not any("compiling" in text for text in said)
