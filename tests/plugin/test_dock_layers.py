"""Several layers as one job: each by itself, with shared filters, or as channels."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
from dock_tools import finish, is_ready, noisy_cells, quietly, run_script, slow_down

from napari_scsc import Axes, denoise, learn
from napari_scsc.plugin import commands
from napari_scsc.plugin.sections.source_section import Sharing

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


def results_by_source(dock):
    return {
        one.request.source.name: one.layer.data
        for one in dock.runner.results
        if one.layer is not None
    }


def test_twenty_ticked_layers_give_twenty_results_each_by_itself(make_light_dock):
    viewer, dock = with_layers(make_light_dock, 20)
    assert "20 layers" in dock.run_section.main_button.text()
    sources = {layer.name: layer.data for layer in viewer.layers}
    dock.denoise()
    finish(dock, 120)
    made = results_by_source(dock)
    assert set(made) == set(sources)
    for name in ("layer 0", "layer 7", "layer 19"):
        expected = quietly(denoise, sources[name], kind="image", quality="draft")
        np.testing.assert_array_equal(made[name], expected)
    assert "20 of 20 layers" in dock.message
    assert is_ready(dock)


def test_each_layer_has_its_own_noise(make_light_dock):
    _, dock = with_layers(make_light_dock, 2)
    dock.denoise()
    finish(dock)
    first, second = (one.noise.sigma for one in dock.runner.results)
    assert first != second
    for one in dock.runner.results:
        dock.sources = [one.request.source.name]
        assert f"{one.noise.sigma:.3g}" in dock.noise


def test_layer_that_cannot_be_restored_keeps_no_other_from_it(make_light_dock):
    viewer, dock = with_layers(make_light_dock, 2)
    viewer.add_image(np.full((48, 48), 7, np.uint16), name="flat")
    dock.sources = ["layer 0", "flat", "layer 1"]
    dock.denoise()
    finish(dock)
    assert set(results_by_source(dock)) == {"layer 0", "layer 1"}
    assert "2 of 3 layers" in dock.message
    assert "flat: the image is constant" in dock.message
    assert is_ready(dock)


def test_stop_keeps_the_layers_that_are_done(make_light_dock, qtbot, monkeypatch):
    viewer, dock = with_layers(make_light_dock, 3)
    done = []
    dock.runner.noise_found.connect(lambda layer_id, _noise: done.append(layer_id))
    dock.quality = "balanced"
    dock.denoise()
    qtbot.waitUntil(lambda: any(part.is_done for part in dock.runner._running.restored))
    dock.stop()
    finish(dock, 10)
    names = [layer.name for layer in viewer.layers]
    assert any(name.endswith("denoised") for name in names)
    assert is_ready(dock)


def test_shared_filters_are_learned_once_from_all(make_light_dock):
    viewer, dock = with_layers(make_light_dock, 2)
    dock.sharing = Sharing.FILTERS
    images = [layer.data for layer in reversed(viewer.layers)]
    dock.denoise()
    finish(dock)
    shared = learn(images, kind="image", seed=0)
    assert dock.bank.id == shared.id
    for one in dock.runner.results:
        expected = quietly(
            denoise, one.request.source.data, kind="image", quality="draft", bank=shared
        )
        np.testing.assert_array_equal(one.layer.data, expected)
        assert one.fit is None  # its own image is among those that were learned from


def test_channels_are_restored_together_and_keep_their_looks(make_light_dock):
    viewer, dock = make_light_dock()
    for name, colour in (("dna", "blue"), ("actin", "green")):
        data = noisy(len(name))
        viewer.add_image(data, name=name, colormap=colour, blending="additive")
    dock.sources, dock.quality, dock.sharing = ["dna", "actin"], "draft", Sharing.CHANNELS
    dock.denoise()
    finish(dock)
    order = [one.request.source.name for one in dock.runner.results]
    stack = np.stack([viewer.layers[name].data for name in order])
    axes = Axes("custom", ("c", "y", "x"), ("joint", "shift", "shift"))
    expected = quietly(denoise, stack, axes=axes, quality="draft")
    for channel, name in enumerate(order):
        made = viewer.layers[f"{name} · denoised"]
        np.testing.assert_array_equal(made.data, expected[channel])
        assert made.colormap.name == viewer.layers[name].colormap.name
        assert made.blending == "additive"
    np.testing.assert_array_equal(run_script(viewer, dock.script)["result"], expected)


def test_channels_of_different_shapes_are_refused_in_words(make_light_dock):
    viewer, dock = with_layers(make_light_dock, 1)
    viewer.add_image(noisy(1, shape=(48, 64)), name="wide")
    dock.sources, dock.sharing = ["layer 0", "wide"], Sharing.CHANNELS
    dock.attempt(dock.denoise)
    assert "one shape" in dock.message
    assert is_ready(dock)


def test_layers_of_one_file_are_ticked_together(make_light_dock, tmp_path):
    tifffile.imwrite(tmp_path / "cells.tif", np.stack([noisy(1), noisy(2)]))
    viewer, dock = make_light_dock()
    viewer.open(tmp_path / "cells.tif", plugin="napari", channel_axis=0)
    assert len(viewer.layers) == 2
    assert sorted(dock.sources) == sorted(layer.name for layer in viewer.layers)


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


def test_menu_restores_all_selected_layers(make_dock):
    viewer, dock = make_dock()
    for number in range(3):
        viewer.add_image(noisy(number), name=f"layer {number}")
    dock.quality = "draft"
    viewer.layers.selection = {viewer.layers["layer 0"], viewer.layers["layer 2"]}
    commands.denoise(viewer)
    finish(dock)
    assert set(results_by_source(dock)) == {"layer 0", "layer 2"}


def test_five_dimensions_work_as_they_stand(make_light_dock):
    image = noisy(0, shape=(2, 2, 5, 32, 32))
    _, dock = make_light_dock(image, name="cells", axis_labels=("t", "c", "z", "y", "x"))
    assert "time-lapse of stacks, 2 channels" in dock.about
    assert "t, c each by itself; z, y, x together" in dock.about
    dock.quality = "draft"
    dock.denoise()
    finish(dock)
    expected = quietly(denoise, image, axes="tczyx", quality="draft")
    np.testing.assert_array_equal(dock.result.data, expected)


def test_script_of_several_layers_gives_their_bits(make_light_dock):
    viewer, dock = with_layers(make_light_dock, 2)
    dock.denoise()
    finish(dock)
    made = run_script(viewer, dock.script)["results"]
    for name, data in results_by_source(dock).items():
        np.testing.assert_array_equal(made[name], data)


def test_script_runs_by_itself_where_the_layer_came_from_a_file(make_light_dock, tmp_path):
    from dock_tools import choose
    from qtpy.QtWidgets import QApplication

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
    viewer, dock = make_light_dock(noisy(0, shape=(256, 256)), name="mine")
    dock.quality = "balanced"
    dock.denoise()
    qtbot.waitUntil(lambda: dock.result is not None, timeout=20000)
    viewer.layers.remove(dock.result)
    finish(dock)
    assert "layer 'mine" not in dock.message
    assert "mine · denoised" not in [layer.name for layer in viewer.layers]
    assert is_ready(dock)
