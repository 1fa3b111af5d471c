"""The two models of the section Learn, and which filters restore."""

from __future__ import annotations

import numpy as np
import pytest
from dock_tools import finish, noisy_cells, quietly, run_script
from plot_tools import point_at
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QRadioButton

from napari_scsc import FilterBank, denoise
from napari_scsc.data.rgb_pictures import diverging
from napari_scsc.plugin.sections.learn_section import PATCHES, SCSC

pytestmark = pytest.mark.screen


def learner_of(bank):
    """The model of a bank, by the name that the dock has for it."""
    return {"paper": SCSC, "scsc": SCSC, "lattice": PATCHES, "patches": PATCHES}[
        bank.info["learner"]
    ]


def press(dock, name, qtbot):
    """Click the radio button of a model."""
    (button,) = (b for b in dock.findChildren(QRadioButton) if b.text() == name)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton, pos=button.rect().topLeft() * 0.5)


def make_small(dock):
    """As little to learn as will do."""
    dock.effort, dock.n_base, dock.filter_size, dock.quality = "quick", 4, 5, "fast"


def test_learn_takes_scsc_unless_the_user_chose_otherwise(make_dock, qtbot):
    _, dock = make_dock(noisy_cells((48, 48)), name="mine", show=True)
    assert dock.model == SCSC
    make_small(dock)
    for name in (SCSC, PATCHES, SCSC):
        press(dock, name, qtbot)
        assert dock.model == name
        qtbot.mouseClick(dock.learn_section.start, Qt.MouseButton.LeftButton)
        finish(dock)
        assert learner_of(dock.bank) == name


def test_each_model_is_explained_in_sight_and_in_its_button(make_dock, qtbot):
    _, dock = make_dock(noisy_cells(), show=True)
    dock.tabs.setCurrentIndex(1)
    sentences = {}
    for name in (SCSC, PATCHES):
        press(dock, name, qtbot)
        sentence = dock.learn_section.model.sentence
        assert sentence.isVisibleTo(dock)
        sentences[name] = sentence.text()
        (button,) = (b for b in dock.findChildren(QRadioButton) if b.text() == name)
        assert button.toolTip() == button.accessibleDescription() == sentence.text()
    assert sentences[SCSC] != sentences[PATCHES]


def test_settings_of_scsc_are_enabled_for_it_only(make_light_dock):
    _, dock = make_light_dock(noisy_cells())
    section = dock.learn_section
    for name in (PATCHES, SCSC, PATCHES):
        dock.model = name
        for field in (section.n_filters, section.sparsity, section.ball):
            assert field.enabled == (name == SCSC)
        assert section.n_base.enabled


@pytest.mark.parametrize("model", [SCSC, PATCHES])
def test_one_click_learns_patches_while_nothing_else_was_changed(make_light_dock, model):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality, dock.model = "fast", model
    assert not dock.learn_section.is_changed
    dock.denoise()
    finish(dock)
    assert learner_of(dock.bank) == PATCHES
    image = viewer.layers["mine"].data
    expected = quietly(denoise, image, kind="image", quality="fast")
    np.testing.assert_array_equal(dock.result.data, expected)


def test_one_click_learns_as_the_section_says_once_it_was_changed(make_light_dock):
    _, dock = make_light_dock(noisy_cells((48, 48)))
    make_small(dock)
    dock.denoise()
    finish(dock)
    assert learner_of(dock.bank) == SCSC
    assert dock.bank.n_base == 4
    assert dock.result is not None


@pytest.mark.parametrize("name", ["n_filters", "sparsity", "ball"])
def test_settings_of_scsc_count_as_changed_for_it_only(make_light_dock, name):
    _, dock = make_light_dock(noisy_cells())
    setattr(dock, name, "l1" if name == "ball" else 3)
    assert dock.learn_section.is_changed
    dock.model = PATCHES
    assert not dock.learn_section.is_changed


def test_denoise_is_given_the_filters_on_show(make_dock, qtbot):
    viewer, dock = make_dock(noisy_cells((48, 48)), name="mine", show=True)
    make_small(dock)
    dock.learn()
    finish(dock)
    learned = dock.bank
    assert SCSC in dock.learn_section._about_bank.text()
    press(dock, PATCHES, qtbot)  # a choice for the next time
    assert dock.run_section.main_button.text().startswith("Denoise")
    qtbot.mouseClick(dock.run_section.main_button, Qt.MouseButton.LeftButton)
    finish(dock)
    assert dock.runner.result.request.bank.id == dock.bank.id == learned.id
    np.testing.assert_array_equal(dock.plots._data.content.filters, learned.filters)
    image = viewer.layers["mine"].data
    expected = quietly(denoise, image, kind="image", quality="fast", bank=learned)
    np.testing.assert_array_equal(dock.result.data, expected)


@pytest.mark.parametrize("model", [SCSC, PATCHES])
def test_copied_script_learns_the_same_filters(make_light_dock, model):
    viewer, dock = make_light_dock(noisy_cells((48, 48)), name="mine")
    make_small(dock)
    dock.model = model
    dock.learn()
    finish(dock)
    assert run_script(viewer, dock.script)["bank"].id == dock.bank.id
    dock.denoise()
    finish(dock)
    left = run_script(viewer, dock.script)
    np.testing.assert_array_equal(left["result"], dock.result.data)


@pytest.mark.parametrize("model", [SCSC, PATCHES])
def test_filters_go_on_with_their_own_model(make_light_dock, model):
    viewer, dock = make_light_dock(noisy_cells((48, 48)), name="mine")
    make_small(dock)
    dock.model = model
    dock.learn()
    finish(dock)
    first = dock.bank
    dock.model, dock.go_on = ({SCSC, PATCHES} - {model}).pop(), True
    dock.learn()
    finish(dock)
    assert dock.bank.id != first.id
    assert learner_of(dock.bank) == model
    assert run_script(viewer, dock.script)["bank"].id == dock.bank.id


def test_weights_of_the_tile_are_live_and_a_column_shows_the_filter_it_composes(make_dock, qtbot):
    _, dock = make_dock(noisy_cells((64, 96)), name="mine", show=True)
    dock.tabs.setCurrentIndex(1)
    make_small(dock)
    dock.n_filters, dock.effort = 12, "thorough"
    dock.plots.tabs.setCurrentWidget(dock.plots.weights)
    dock.learn()
    qtbot.waitUntil(lambda: not dock.plots.weights.is_empty(dock.plots._data.content))
    dock.pause()  # in the middle, or when it is done
    tab = dock.plots.weights
    qtbot.waitUntil(lambda: tab not in dock.plots._stale)
    content = dock.plots._data.content
    assert content.weights.shape == (4, 12)
    assert content.by_use
    filters = content.filters.reshape(4, -1)
    np.testing.assert_allclose(filters @ filters.T, np.eye(4), atol=1e-5)
    for place in (0, 7):
        point_at(tab.picture, 1, place)
        k = int(content.order[place])
        assert f"D {k} = " in tab.text.text()
        composed = np.tensordot(content.weights[:, k], content.filters, 1)
        assert np.linalg.norm(composed) <= 1 + 1e-4
        shown = tab.composed.pixmap().toImage().pixelColor(42, 42).getRgb()[:3]
        assert shown == tuple(diverging(composed)[2, 2])
    if dock.paused:
        dock.pause()
    finish(dock)


def test_filters_are_told_of_where_they_fit(make_light_dock):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    said = dock.learn_section._about_bank
    assert said.isHidden()
    dock.bank = FilterBank(np.ones((3, 4, 6), np.float32))
    assert not said.isHidden()
    assert said.text() == "There are 3 filters"
    viewer.add_image(noisy_cells((6, 48, 48)), name="frames", axis_labels=("t", "y", "x"))
    dock.sources = ["frames"]
    assert said.isHidden()
