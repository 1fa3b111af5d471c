"""What the dock says is so, and goes when it is no longer."""

from __future__ import annotations

import threading

import pytest
from dock_tools import finish, noisy_cells, slow_down, slow_learning
from journey_tools import press_main, radio, run, tick, type_into

from napari_scsc.plugin import requests

pytestmark = pytest.mark.screen


@pytest.fixture
def open_dock(make_dock, qtbot):
    """A window with an image and the dock, which is there to be clicked."""

    def make(**looks):
        viewer, dock = make_dock(noisy_cells(), show=True, **looks)
        qtbot.waitUntil(dock.run_section.main_button.isVisible, timeout=5000)
        return viewer, dock

    return make


def test_stop_before_anything_is_done_promises_nothing(open_dock, qtbot, monkeypatch):
    begun = threading.Event()

    def wait_for_ever(self, out, cancellation):
        begun.set()
        while True:
            cancellation.check()
            threading.Event().wait(0.01)
            yield from ()

    monkeypatch.setattr(requests.RestoreRequest, "updates", wait_for_ever)
    viewer, dock = open_dock()
    press_main(dock)
    qtbot.waitUntil(begun.is_set, timeout=5000)
    press_main(dock)
    finish(dock)
    assert dock.message == "Stopped; nothing was done that could be kept"
    assert len(viewer.layers) == 1


def test_stop_says_that_what_was_done_is_kept_where_it_is(open_dock, qtbot, monkeypatch):
    slow_down(monkeypatch)
    viewer, dock = open_dock(name="mine")
    press_main(dock)
    qtbot.waitUntil(lambda: dock.result is not None, timeout=5000)
    press_main(dock)
    finish(dock)
    assert dock.message == "Stopped; what was done so far is kept"
    assert "mine · denoised, partial" in viewer.layers


def test_stop_of_learning_that_learned_nothing_promises_nothing(open_dock, monkeypatch):
    slow_learning(monkeypatch)
    _, dock = open_dock()
    dock.learn()
    press_main(dock)
    finish(dock)
    assert dock.bank is None
    assert dock.message == "Stopped; nothing was learned that could be kept"


def test_all_layers_of_a_joint_result_are_named(make_light_dock):
    viewer, dock = make_light_dock()
    for name in "abc":
        viewer.add_image(noisy_cells((48, 48)), name=name)
    dock.sources, dock.quality, dock.sharing = list("abc"), "draft", "together, as channels"
    dock.denoise()
    finish(dock)
    assert ": layers 'c · denoised', 'b · denoised', 'a · denoised'" in dock.message


def test_noise_that_was_found_is_told_where_it_is_what_will_be_taken_away(open_dock):
    _, dock = open_dock()
    dock.quality = "draft"
    run(dock)
    found = dock.noise
    assert found.startswith("found")
    radio(dock.restore_section.task, "Fill holes")
    assert dock.restore_section.sigma.native.text() == "none"
    assert dock.noise == ""
    radio(dock.restore_section.task, "Denoise")
    assert dock.noise == found
    type_into(dock.restore_section.sigma, "40")
    assert dock.noise == ""
    run(dock)
    type_into(dock.restore_section.sigma, "0")
    assert dock.noise == found  # what was given is not said to be found


def test_refusal_of_the_wipe_goes_with_the_3d_view(open_dock):
    viewer, dock = open_dock()
    dock.quality = "draft"
    run(dock)
    said = dock.message
    viewer.dims.ndisplay = 3
    tick(dock.compare_section.wipe_switch)
    assert "leave the 3-D view first" in dock.message
    viewer.dims.ndisplay = 2
    assert dock.message == ""
    viewer.dims.ndisplay = 3
    tick(dock.compare_section.wipe_switch)
    dock.run_section.say(said)  # something else was said meanwhile
    viewer.dims.ndisplay = 2
    assert dock.message == said
