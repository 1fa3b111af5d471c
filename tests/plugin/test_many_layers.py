"""Many layers as one job: all of them are restored, and each as it would be alone."""

from __future__ import annotations

import time

import numpy as np
import pytest
from dock_tools import complaints, errors_raised, finish, noisy_cells, quietly, run_script

from napari_scsc import Axes, denoise, learn, samples
from napari_scsc.plugin import commands
from napari_scsc.plugin.cost import find_cost
from napari_scsc.plugin.layers import is_ours
from napari_scsc.plugin.preferences import read_preferences
from napari_scsc.plugin.sections.source_section import Sharing
from napari_scsc.restore import machine_speed

pytestmark = pytest.mark.screen


def image(number, shape=(48, 48), sigma=None):
    x = 1000 * samples.tissue(shape, seed=number) + 500
    noise = np.random.default_rng(number).normal(0, sigma or 30 + 10 * (number % 4), shape)
    return (x + noise).astype(np.uint16)


@pytest.fixture
def make_many(make_light_dock):
    def make(images, **looks):
        viewer, dock = make_light_dock()
        for number, data in enumerate(images):
            viewer.add_image(data, name=f"cells {number}", **looks)
        dock.sources = [layer.name for layer in viewer.layers]
        dock.quality = "draft"
        return viewer, dock

    return make


def alone(data, **options):
    return quietly(denoise, data, **{"quality": "draft", "seed": 0, **options})


def results_of(viewer):
    return {x.name: x for x in viewer.layers if is_ours(x)}


def test_twenty_ticked_layers_give_twenty_results_of_the_bits_of_each_alone(make_many):
    images = [image(i) for i in range(20)]
    viewer, dock = make_many(images)
    assert dock.run_section.main_button.text().startswith("Denoise 20 layers")
    dock.restore()
    finish(dock, 120)
    assert len(results_of(viewer)) == 20
    for number, data in enumerate(images):
        result = viewer.layers[f"cells {number} · denoised"]
        np.testing.assert_array_equal(result.data, alone(data))
    assert "20 of 20 layers" in dock.message
    assert len(dock.results) == 20


def test_each_layer_has_the_noise_that_was_found_in_it(make_many):
    levels = (15, 60, 120)
    viewer, dock = make_many([image(3, (96, 96), sigma) for sigma in levels])
    dock.restore()
    finish(dock)
    found = {r.request.source.name: r.noise.sigma for r in dock.runner.results}
    for number, sigma in enumerate(levels):
        assert found[f"cells {number}"] == pytest.approx(sigma, rel=0.3)
        viewer.layers.selection = {viewer.layers[f"cells {number}"]}
        assert f"{found[f'cells {number}']:.3g}" in dock.noise


def test_layer_that_cannot_be_restored_is_named_and_the_others_are_done(make_many):
    viewer, dock = make_many([image(0), np.full((48, 48), np.nan, np.float32), image(2)])
    dock.restore()
    finish(dock)
    assert set(results_of(viewer)) == {"cells 0 · denoised", "cells 2 · denoised"}
    assert "2 of 3 layers" in dock.message
    assert "cells 1:" in dock.message
    assert errors_raised() == []
    np.testing.assert_array_equal(viewer.layers["cells 2 · denoised"].data, alone(image(2)))


def test_layers_none_of_which_can_be_restored_are_told(make_many):
    viewer, dock = make_many([np.full((48, 48), np.nan, np.float32)] * 2)
    dock.restore()
    finish(dock)
    assert results_of(viewer) == {}
    assert dock.message.startswith("That did not work")
    assert len(complaints()) == 1


def test_constant_layer_among_others_harms_none_of_them(make_many):
    viewer, dock = make_many([image(0), np.full((48, 48), 7, np.uint16), image(2)])
    dock.restore()
    finish(dock)
    for number in (0, 2):
        result = viewer.layers[f"cells {number} · denoised"]
        np.testing.assert_array_equal(result.data, alone(image(number)))
    made = results_of(viewer).get("cells 1 · denoised")
    if made is None:
        assert "cells 1:" in dock.message
    else:
        assert (made.data == 7).all()


def test_stop_in_the_middle_keeps_what_is_done(make_many, qtbot):
    _, dock = make_many([image(i, (96, 96)) for i in range(20)])
    dock.quality = "balanced"
    dock.restore()
    qtbot.waitUntil(lambda: any(r.noise is not None for r in dock.runner.results), timeout=60000)
    dock.stop()
    finish(dock, 20)
    done = [r for r in dock.runner.results if r.noise is not None]
    assert 0 < len(done) < 20
    assert f"{len(done)} of 20 layers are done" in dock.message
    for result in done:
        expected = alone(result.request.source.data, quality="balanced")
        np.testing.assert_array_equal(result.layer.data, expected)
        assert "partial" not in result.layer.name
    for result in dock.results[len(done) :]:
        assert result.name.endswith(", partial")
    assert not dock.busy


def test_progress_is_one_over_all_layers(make_many, monkeypatch):
    _, dock = make_many([image(i) for i in range(4)])
    shares, stages = [], []
    show = dock.run_section.show

    def record(done, stage, left):
        shares.append(done)
        stages.append(stage)
        show(done, stage, left)

    monkeypatch.setattr(dock.run_section, "show", record)
    dock.restore()
    finish(dock)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    for number in range(4):
        assert any(f" of 4, cells {number}:" in stage for stage in stages), stages


def test_layers_that_take_the_viewer_long_are_counted_in_the_next_promise(
    make_many, monkeypatch, tmp_path
):
    monkeypatch.setenv("NAPARI_SCSC_CACHE", str(tmp_path))
    machine_speed.forget()
    viewer, dock = make_many([image(i) for i in range(3)])
    request = dock.runner.restore_requests()[0]
    wishes = read_preferences()
    before = find_cost(request, wishes).seconds
    add = type(viewer).add_image

    def slowly(self, *args, **options):
        time.sleep(0.5)
        return add(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(type(viewer), "add_image", slowly)
        dock.restore()
        finish(dock)
    assert find_cost(request, wishes).seconds > before + 0.35
    machine_speed.forget()


def test_shared_filters_are_learned_once_from_all_layers(make_many):
    images = [image(i, (64, 64)) for i in range(3)]
    viewer, dock = make_many(images)
    dock.sharing = Sharing.FILTERS
    dock.restore()
    finish(dock)
    # In the order of the list, which is napari's: from the top.
    bank = quietly(learn, images[::-1], model="patches", seed=0)
    assert dock.bank.id == bank.id
    assert {r.bank.id for r in dock.runner.results} == {bank.id}
    for number, data in enumerate(images):
        result = viewer.layers[f"cells {number} · denoised"]
        np.testing.assert_array_equal(result.data, alone(data, bank=bank))


def test_shared_filters_of_layers_of_different_kinds_are_refused_in_words(make_many):
    viewer, dock = make_many([image(0), noisy_cells((4, 48, 48))])
    dock.sharing = Sharing.FILTERS
    dock.attempt(dock.restore)
    finish(dock)
    assert "of one kind" in dock.message
    assert "each by itself" in dock.message
    assert results_of(viewer) == {}


def test_channels_restored_together_are_those_of_one_joint_image(make_light_dock):
    images = [image(0), image(0, sigma=70)]
    viewer, dock = make_light_dock()
    looks = (
        {"name": "DAPI", "colormap": "blue", "blending": "additive"},
        {"name": "GFP", "colormap": "green", "blending": "minimum"},
    )
    for data, one in zip(images, looks, strict=True):
        viewer.add_image(data, contrast_limits=(300, 900), **one)
    dock.sources = ["DAPI", "GFP"]
    dock.quality = "draft"
    dock.sharing = Sharing.CHANNELS
    dock.restore()
    finish(dock)
    axes = Axes("custom", ("c", "y", "x"), ("joint", "shift", "shift"))
    expected = alone(np.stack(images[::-1]), axes=axes)  # in the order of the list
    for name, values in (("GFP", expected[0]), ("DAPI", expected[1])):
        source, result = viewer.layers[name], viewer.layers[f"{name} · denoised"]
        np.testing.assert_array_equal(result.data, values)
        assert result.colormap.name == source.colormap.name
        assert result.blending == source.blending
        assert list(result.contrast_limits) == list(source.contrast_limits)
    script = run_script(viewer, dock.script)
    np.testing.assert_array_equal(script["result"], expected)


@pytest.mark.parametrize("other", [(48, 40), (3, 48, 48)], ids=["other shape", "more axes"])
def test_channels_of_different_shapes_are_refused_in_words(make_many, other):
    viewer, dock = make_many([image(0), noisy_cells(other)])
    dock.sharing = Sharing.CHANNELS
    dock.attempt(dock.restore)
    finish(dock)
    assert "channels that are restored together have one shape" in dock.message
    assert "48 x 48" in dock.message
    assert "restore each by itself" in dock.message
    assert results_of(viewer) == {}
    assert errors_raised() == []


def test_layers_of_one_file_are_ticked_together_on_opening(make_light_dock, tmp_path):
    import tifffile
    from napari.layers import Image

    path = tmp_path / "scene.tif"
    tifffile.imwrite(path, np.stack([image(0), image(1)]))
    viewer, dock = make_light_dock(image(5, (40, 40)), name="other")
    for number in range(2):
        layer = Image(image(number), name=f"channel {number}")
        layer._source = layer.source.model_copy(update={"path": str(path)})
        viewer.add_layer(layer)
    assert set(dock.sources) == {"channel 0", "channel 1"}
    assert dock.run_section.main_button.text().startswith("Denoise 2 layers")


@pytest.mark.slow
def test_command_of_the_menu_restores_all_selected_layers(make_napari_viewer, memory, monkeypatch):
    from dock_tools import set_preferences

    set_preferences(monkeypatch, quality="draft")
    viewer = make_napari_viewer()
    for number in range(3):
        viewer.add_image(image(number), name=f"cells {number}")
    viewer.layers.selection = {viewer.layers["cells 0"], viewer.layers["cells 2"]}
    commands.denoise(viewer)
    _, dock = viewer.window.add_plugin_dock_widget("napari-scsc")
    finish(dock, 120)
    assert set(results_of(viewer)) == {"cells 0 · denoised", "cells 2 · denoised"}
    for number in (0, 2):
        result = viewer.layers[f"cells {number} · denoised"]
        np.testing.assert_array_equal(result.data, alone(image(number)))
    dock.close()


def test_five_dimensions_are_restored_as_they_stand(make_light_dock):
    data = noisy_cells((2, 2, 4, 40, 40))
    viewer, dock = make_light_dock(data, name="cells", axis_labels=("t", "c", "z", "y", "x"))
    assert dock.axes.roles == ("sample", "sample", "shift", "shift", "shift")
    assert "2 x 2 x 4 x 40 x 40" in dock.about
    assert dock.run_section.main_button.isEnabled()
    dock.quality = "draft"
    dock.restore()
    finish(dock, 120)
    result = viewer.layers["cells · denoised"]
    np.testing.assert_array_equal(result.data, alone(data, axes=dock.axes))
    assert tuple(result.axis_labels) == ("t", "c", "z", "y", "x")
    script = run_script(viewer, dock.script)
    np.testing.assert_array_equal(script["result"], result.data)


def test_script_of_several_layers_gives_the_same_bits(make_many):
    viewer, dock = make_many([image(i) for i in range(3)])
    dock.strength = 1.3
    dock.restore()
    finish(dock)
    results = run_script(viewer, dock.script)["results"]
    assert set(results) == {"cells 0", "cells 1", "cells 2"}
    for name, values in results.items():
        np.testing.assert_array_equal(viewer.layers[f"{name} · denoised"].data, values)


def test_results_get_names_that_are_free(make_many):
    viewer, dock = make_many([image(0), image(1)])
    viewer.add_image(image(2), name="cells 0 · denoised")
    dock.sources = ["cells 0", "cells 1"]
    for _ in range(2):
        dock.restore()
        finish(dock)
    names = [layer.name for layer in viewer.layers]
    assert len(set(names)) == len(names)
    assert {"cells 0 · denoised 2", "cells 0 · denoised 3"} <= set(names)
    assert {"cells 1 · denoised", "cells 1 · denoised 2"} <= set(names)
    np.testing.assert_array_equal(viewer.layers["cells 0 · denoised"].data, image(2))


def test_two_layers_of_one_name_both_get_a_result(make_light_dock, qtbot):
    viewer, dock = make_light_dock(image(0), image(1), name="cells")
    qtbot.wait(10)
    viewer.layers.selection = set(viewer.layers)
    dock.quality = "draft"
    dock.restore()
    finish(dock)
    assert len(results_of(viewer)) == 2
