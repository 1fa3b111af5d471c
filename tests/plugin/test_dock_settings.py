"""Fields, what is remembered, preferences, menus, samples, and the script of what was done."""

from __future__ import annotations

import json
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest
from dock_tools import (
    choose,
    complaints,
    finish,
    is_ready,
    noisy_cells,
    run_script,
    slow_down,
)
from npe2 import PluginManifest
from qtpy.QtWidgets import QDoubleSpinBox, QRadioButton

from napari_scsc import FilterBank, inpaint, learn
from napari_scsc.data.axes import PRESETS
from napari_scsc.plugin import preferences
from napari_scsc.plugin.dock import Dock
from napari_scsc.plugin.fields import REMEMBERED, Field
from napari_scsc.plugin.sections.learn_section import PATCHES, SCSC

pytestmark = pytest.mark.screen

FIELDS = {
    "kind": "image",
    "effort": "thorough",
    "model": PATCHES,
    "n_base": 7,
    "filter_size": 5,
    "n_filters": 9,
    "sparsity": 1.5,
    "ball": "l1",
    "passes": 3,
    "seed": 11,
    "go_on": True,
    "task": "Fill holes",
    "quality": "fast",
    "sigma": 2.5,
    "noise_model": "correlated",
    "empty_layer": "holes",
    "outliers": "keep",
    "strength": 1.5,
    "missing_layer": "holes",
    "saturated": True,
    "residual": True,
    "method": "the paper's code",
    "preview": True,
    "reference": "mine",
}


def values_of(dock):
    return {name: getattr(dock, name) for name in FIELDS}


def shown(dock, name):
    """What the widget of a field says."""
    field = getattr(getattr(dock, vars(Dock)[name].part), name)
    if name == "strength":
        (readout,) = field.native.findChildren(QDoubleSpinBox)
        return readout.value()
    if name in ("model", "task"):
        (chosen,) = (b for b in field.native.findChildren(QRadioButton) if b.isChecked())
        return chosen.text()
    for reader in ("currentText", "isChecked", "value"):
        if hasattr(field.native, reader):
            found = getattr(field.native, reader)()
            return found.split(" · ")[0] if name == "quality" else found  # its seconds beside it
    raise AssertionError(field)


def with_holes(make):
    viewer, dock = make(noisy_cells(), name="mine")
    holes = np.zeros((64, 64), int)
    holes[20:23, 10:50] = 1
    viewer.add_labels(holes, name="holes")
    viewer.add_labels(holes, name="other holes")
    dock.missing_layer = "no layer"  # the first was taken while it was the only one
    return viewer, dock


# --- fields ---------------------------------------------------------------------------------------


def test_every_field_is_read_and_set_as_an_attribute_and_reset(make_light_dock):
    assert set(FIELDS) == {name for name, field in vars(Dock).items() if isinstance(field, Field)}
    viewer, dock = with_holes(make_light_dock)
    first = values_of(dock)
    for name, value in FIELDS.items():
        assert getattr(dock, name) != value
        setattr(dock, name, value)
        assert getattr(dock, name) == value
        assert shown(dock, name) == value
    assert values_of(dock) == FIELDS
    dock.bank = FilterBank(np.ones((1, 4, 4), np.float32))
    dock.reset()
    assert values_of(dock) == first
    assert dock.bank is dock.result is None
    assert dock.script == dock.message == dock.scores == ""
    assert [layer.name for layer in viewer.layers] == ["mine", "holes", "other holes"]
    assert is_ready(dock)


def test_value_that_is_not_allowed_is_refused_and_changes_nothing(make_light_dock):
    _, dock = make_light_dock(noisy_cells())
    first = values_of(dock)
    wrong = {"quality": "perfect", "n_base": -1, "strength": 100, "missing_layer": "nobody"}
    for name, value in wrong.items():
        with pytest.raises(ValueError):  # noqa: PT011 (the words are magicgui's)
            setattr(dock, name, value)
    assert values_of(dock) == first


def test_what_the_dock_says_can_only_be_read(make_light_dock):
    _, dock = make_light_dock(noisy_cells())
    for name in ("script", "message", "about", "noise", "scores", "busy", "paused", "progress"):
        with pytest.raises(AttributeError, match="read"):
            setattr(dock, name, "x")
    with pytest.raises(AttributeError):
        dock.result = None


def test_reset_is_refused_while_something_runs(make_light_dock, monkeypatch):
    slow_down(monkeypatch)
    _, dock = make_light_dock(noisy_cells())
    dock.denoise()
    with pytest.raises(ValueError, match="stop it first"):
        dock.reset()
    assert dock.busy


# --- memory ---------------------------------------------------------------------------------------


def test_some_fields_come_back_in_the_next_dock(make_light_dock, memory):
    _, dock = with_holes(make_light_dock)
    first = values_of(dock)
    for name, value in FIELDS.items():
        setattr(dock, name, value)
    dock.close()
    assert memory.is_file()
    _, after = with_holes(make_light_dock)
    for name, value in values_of(after).items():
        assert value == (FIELDS[name] if name in REMEMBERED else first[name]), name
    after.reset()
    assert values_of(after) == first


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"[1, 2]",
        json.dumps({"quality": "perfect", "seed": "x", "n_base": -5, "passes": None}).encode(),
        json.dumps({"nobody": 1, "_viewer": 2, "bank": 3, "ball": ["l1"]}).encode(),
    ],
    ids=["empty", "no text", "a list", "wrong values", "unknown names"],
)
def test_memory_that_was_corrupted_does_no_harm(make_light_dock, memory, content):
    memory.parent.mkdir(exist_ok=True)
    memory.write_bytes(content)
    _, dock = make_light_dock(noisy_cells())
    assert not complaints()
    assert dock.message == ""
    assert (dock.quality, dock.seed, dock.n_base, dock.ball) == ("balanced", 0, 0, "l2")
    assert dock.bank is None
    assert is_ready(dock)
    dock.seed = 4
    dock.close()
    assert json.loads(memory.read_text())["seed"] == 4


def test_good_fields_of_a_bad_memory_come_back(make_light_dock, memory):
    memory.parent.mkdir(exist_ok=True)
    memory.write_text(json.dumps({"quality": "perfect", "seed": 5}))
    _, dock = make_light_dock(noisy_cells())
    assert (dock.quality, dock.seed) == ("balanced", 5)


@pytest.mark.parametrize("old", ["orthonormal (restores best)", "the paper's (SCSC)"])
def test_memory_with_an_old_name_of_a_model_begins_with_scsc(make_light_dock, memory, old):
    memory.parent.mkdir(exist_ok=True)
    memory.write_text(json.dumps({"model": old, "seed": 5}))
    _, dock = make_light_dock(noisy_cells())
    assert (dock.model, dock.seed) == (SCSC, 5)
    assert not complaints()


def test_memory_that_cannot_be_written_does_no_harm(make_light_dock, memory):
    memory.parent.write_text("in the way")
    _, dock = make_light_dock(noisy_cells())
    dock.close()
    assert not complaints()
    assert memory.parent.read_text() == "in the way"


# --- preferences ----------------------------------------------------------------------------------


@pytest.fixture
def our_settings(plugin_settings, npe2pm):
    """The real manifest's settings, in a file of this test."""
    from napari.settings import get_plugin_settings

    npe2pm.register(PluginManifest.from_distribution("napari-scsc"))
    return get_plugin_settings("napari-scsc").restoration


def test_preferences_of_the_manifest_are_those_without_napari_knowing_us(our_settings):
    from napari_scsc.plugin import preferences

    assert our_settings.threads == 0
    assert preferences.read_preferences() == preferences._DEFAULTS


def test_preferences_reach_the_dock(our_settings, make_light_dock, tmp_path):
    our_settings.threads = 2
    our_settings.quality = "fast"
    our_settings.plot_rate = 5
    our_settings.results_folder = str(tmp_path / "results")
    our_settings.large_result_mb = 1
    large = np.tile(noisy_cells(), (12, 12))[:720, :720]
    _, dock = make_light_dock(large, name="mine")
    assert dock.quality == "fast"
    assert dock.plots.rate == 5
    dock.denoise()
    assert dock.runner.result.request.threads == 2
    dock.stop()
    finish(dock)
    assert list((tmp_path / "results").iterdir())
    our_settings.results_folder = ""
    our_settings.threads = 1
    our_settings.quality = "fast"
    our_settings.plot_rate = 7
    assert dock.quality == "fast"
    dock.denoise()
    assert dock.runner.result.request.threads == 1
    dock.stop()
    finish(dock)
    dock.reset()
    assert dock.quality == "fast"
    assert dock.plots.rate == 7


def test_preferred_quality_that_is_no_more_is_the_default(monkeypatch):
    kept = SimpleNamespace(
        threads=0, quality="best", plot_rate=12, results_folder="", large_result_mb=2000
    )
    monkeypatch.setattr(
        preferences, "get_plugin_settings", lambda _: SimpleNamespace(restoration=kept)
    )
    assert preferences.read_preferences().quality == "balanced"


def test_preferred_qualities_are_those_of_the_dock(make_light_dock):
    manifest = PluginManifest.from_distribution("napari-scsc")
    (page,) = manifest.contributions.configurations.values()
    _, dock = make_light_dock()
    assert set(page.properties["quality"].enum) <= set(dock.restore_section.quality.choices)


# --- menus and samples ----------------------------------------------------------------------------


def test_commands_read_well_and_those_that_need_a_path_are_not_offered():
    manifest = PluginManifest.from_file(str(files("napari_scsc") / "napari.yaml"))
    manifest.validate_imports()
    titles = {c.id: c.title for c in manifest.contributions.commands}
    assert len(set(titles.values())) == len(titles)
    for title in titles.values():
        assert title[0].isupper()
        assert not title.endswith(".")
        assert "_" not in title
        assert len(title) < 80
    hidden = {c.id for c in manifest.contributions.commands if c.enablement == "False"}
    assert hidden == {f"napari-scsc.{name}" for name in ("read", "write_bank", "write_layers")}


def dock_of(viewer):
    _, dock = viewer.window.add_plugin_dock_widget("napari-scsc")
    return dock


def test_menu_of_filters_denoises_and_fills_what_is_selected(
    make_napari_viewer, memory, our_settings, qtbot
):
    from napari._app_model import get_app_model

    our_settings.quality = "fast"
    image = noisy_cells()
    holes = np.zeros(image.shape, int)
    holes[20:23, 10:50] = 1
    viewer = make_napari_viewer()
    for name in ("first", "second"):
        viewer.add_image(image, name=name)
    viewer.add_labels(holes, name="holes")
    viewer.add_labels(np.zeros_like(holes), name="other")
    app = get_app_model()
    offered = {item.command.id for item in app.menus.get_menu("napari/layers/filter")}
    assert {"napari-scsc.denoise", "napari-scsc.inpaint"} <= offered
    for command in ("napari-scsc.read", "napari-scsc.write_bank"):
        assert app.registered_actions[command].enablement.eval({}) is False

    viewer.layers.selection = {viewer.layers["first"]}
    app.commands.execute_command("napari-scsc.denoise").result()
    dock = dock_of(viewer)
    finish(dock)
    assert viewer.layers[-1].name == "first · denoised"
    viewer.layers.selection = {viewer.layers["second"], viewer.layers["holes"]}
    app.commands.execute_command("napari-scsc.inpaint").result()
    assert dock_of(viewer) is dock
    finish(dock)
    assert viewer.layers[-1].name == "second · filled"
    expected = inpaint(image, holes, bank=dock.bank, quality="fast")
    np.testing.assert_array_equal(viewer.layers[-1].data, expected)
    assert not complaints()

    viewer.layers.selection = {viewer.layers["second"]}
    app.commands.execute_command("napari-scsc.inpaint").result()
    finish(dock)
    assert dock.missing_layer == "no layer"
    assert "missing" in dock.message


def test_menu_on_an_empty_viewer_says_what_to_do(make_napari_viewer, memory):
    from napari._app_model import get_app_model

    viewer = make_napari_viewer()
    for command in ("napari-scsc.denoise", "napari-scsc.inpaint"):
        get_app_model().commands.execute_command(command).result()
        dock = dock_of(viewer)
        assert "open an image" in dock.message
        assert not dock.busy


def test_samples_open_and_are_guessed_right(make_light_dock):
    viewer, dock = make_light_dock()
    expected = {
        "noisy_tissue": "image",
        "video": "video",
        "stack": "stack",
        "multispectral": "multispectral",
        "light_field": "light-field",
        "with_holes": "image",
        "rgb": "rgb",
    }
    offered = PluginManifest.from_distribution("napari-scsc").contributions.sample_data
    assert {sample.key for sample in offered} == {*expected, "time_lapse"}
    for key, kind in expected.items():
        made = viewer.open_sample("napari-scsc", key)
        dock.sources = [made[0].name]
        assert dock.axes == PRESETS[kind]
        assert is_ready(dock)
    dock.sources = [viewer.open_sample("napari-scsc", "time_lapse")[0].name]
    assert dock.axes.roles == ("sample", "sample", "shift", "shift", "shift")
    dock.missing_layer = "missing"


# --- scripts --------------------------------------------------------------------------------------


def assert_script_repeats(viewer, dock):
    """The last thing done, whatever it was, is done again to the bit."""
    left = run_script(viewer, dock.script)
    if "result" in left:
        np.testing.assert_array_equal(np.asarray(left["result"]), dock.result.data)
    else:
        assert left["bank"].id == dock.bank.id


def test_script_of_learning_then_denoising_twice(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name='it\'s "mine"')
    dock.quality, dock.effort, dock.n_base, dock.seed = "fast", "quick", 20, 3
    dock.learn()
    finish(dock)
    assert_script_repeats(viewer, dock)
    for strength in (1.0, 1.5):
        dock.strength = strength
        dock.denoise()
        finish(dock)
        assert_script_repeats(viewer, dock)


def test_script_of_a_second_denoising_with_the_filters_of_the_first(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert_script_repeats(viewer, dock)
    first = dock.bank.id
    dock.strength = 1.5
    dock.denoise()
    finish(dock)
    assert dock.bank.id == first
    assert_script_repeats(viewer, dock)
    assert run_script(viewer, dock.script)["bank"].id == first
    viewer.add_image(noisy_cells((48, 80)), name="other")
    dock.sources, dock.sigma = ["other"], 55.0
    dock.denoise()
    finish(dock)
    assert dock.bank.id != first  # nobody has chosen those of the first for others
    assert_script_repeats(viewer, dock)


def test_script_with_filters_from_a_file_and_from_a_dropped_layer(make_light_dock, tmp_path):
    image = noisy_cells()
    path = tmp_path / "some filters.scsc"
    learn([image], tiles=4).save(path)
    viewer, dock = make_light_dock(image, name="mine")
    dock.quality = "fast"
    dock.load_bank(path)
    dock.denoise()
    finish(dock)
    assert_script_repeats(viewer, dock)
    loaded = dock.bank
    dock.reset()
    dock.quality = "fast"
    viewer.open(path, plugin="napari-scsc")
    assert dock.bank.id == loaded.id
    dock.denoise()
    finish(dock)
    assert_script_repeats(viewer, dock)


@pytest.mark.parametrize("mask", ["labels and saturated", "shapes"])
def test_script_of_inpainting(make_light_dock, mask):
    viewer, dock = with_holes(make_light_dock)
    viewer.layers["mine"].scale = (0.5, 0.5)
    viewer.add_shapes([[[4, 4], [4, 20], [6, 20], [6, 4]]], shape_type="polygon", name="drawn")
    dock.quality = "fast"
    if mask == "shapes":
        dock.missing_layer = "drawn"
    else:
        dock.missing_layer, dock.saturated = "holes", True
    dock.inpaint()
    finish(dock)
    assert (dock.result.data != viewer.layers["mine"].data).any()
    assert_script_repeats(viewer, dock)


def test_script_of_the_model_of_the_paper_learned_and_used(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells((32, 32)), name="mine")
    dock.model, dock.method = SCSC, "the paper's code"
    dock.effort, dock.n_base, dock.n_filters, dock.filter_size = "quick", 3, 6, 5
    dock.ball, dock.sparsity = "l1", 2.0
    dock.learn()
    finish(dock)
    assert dock.bank.n_base == 3
    assert dock.bank.support == (5, 5)
    assert_script_repeats(viewer, dock)
    dock.denoise()
    finish(dock)
    assert "scsc-paper" in dock.script
    assert_script_repeats(viewer, dock)


def test_script_with_axes_of_ones_own(make_light_dock, qtbot):
    volume = noisy_cells((4, 40, 40))
    viewer, dock = make_light_dock(volume, name="mine", axis_labels=("z", "y", "x"))
    dock.source_section._boxes[0].value = "each by itself"
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    assert "Axes(" in dock.script
    assert_script_repeats(viewer, dock)


def test_script_of_learning_that_goes_on_from_a_bank(make_light_dock, tmp_path):
    viewer, dock = make_light_dock()
    for name, shape in (("a", (48, 64)), ("b", (64, 48))):
        viewer.add_image(noisy_cells(shape), name=name)
    dock.effort, dock.sources = "quick", ["a"]
    dock.learn()
    finish(dock)
    first = dock.bank
    dock.go_on, dock.sources = True, ["b", "a"]
    dock.learn()
    finish(dock)
    assert dock.bank.id != first.id
    assert_script_repeats(viewer, dock)
    path = tmp_path / "first.scsc"
    first.save(path)
    dock.load_bank(path)
    dock.learn()
    finish(dock)
    assert_script_repeats(viewer, dock)


def test_copied_script_is_the_script(make_light_dock):
    from qtpy.QtWidgets import QApplication

    viewer, dock = make_light_dock(noisy_cells((40, 40)), name="mine")
    assert not dock.menu.entries["Copy script"].isEnabled()
    dock.quality = "fast"
    dock.denoise()
    finish(dock)
    choose(dock, "Copy script")
    assert QApplication.clipboard().text() == dock.script
    recipe = viewer.layers["mine · denoised"].metadata["napari_scsc"]["recipe"]
    assert recipe["script"] == dock.script
    assert_script_repeats(viewer, dock)
