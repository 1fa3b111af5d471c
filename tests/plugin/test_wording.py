"""What the dock says: its own words for arguments and remedies, and no Python."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from dock_tools import finish, noisy_cells

from napari_scsc.errors import Message, Remedy, UserError
from napari_scsc.learning.options import LearnOptions
from napari_scsc.plugin.wording import ARGUMENTS, REMEDIES, say
from napari_scsc.restore.options import RestoreOptions

PYTHON = re.compile(r"=|\(\.*\)|\w\(|\w_\w|--\w|~|np\.|\.\.\.|\bNone\b|\bTrue\b|`")
# Of options that the dock never sets, nothing can be wrong.
NOT_OF_THE_DOCK = {"draw", "batch", "checkpoint", "every", "every_seconds", "resume", "rng"}


@pytest.mark.parametrize("remedy", Remedy)
def test_every_remedy_has_words_without_python(remedy):
    assert not PYTHON.search(REMEDIES[remedy]), REMEDIES[remedy]


def test_pattern_knows_python_when_it_sees_it():
    assert PYTHON.search("name its axes with axes=...")
    assert PYTHON.search("inpaint(image) fills them")
    assert PYTHON.search("say filter_shape")


def test_every_option_that_the_dock_sets_has_words():
    options = {f.name for kind in (LearnOptions, RestoreOptions) for f in dataclasses.fields(kind)}
    assert options - NOT_OF_THE_DOCK <= set(ARGUMENTS)
    for words in ARGUMENTS.values():
        assert not PYTHON.search(words), words


def test_message_is_rendered_with_the_words_of_the_dock():
    remark = Message("is uncertain", argument="sigma", remedy=Remedy.GIVE_SIGMA)
    said = "the noise level is uncertain: type the noise level into 'noise' if you know it"
    assert say(remark) == said
    error = UserError("has 3 axes", argument="image", remedy="choose another kind", item=2)
    assert say(error) == "image 2: the image has 3 axes: choose another kind"


def nan_to_denoise(viewer, dock):
    viewer.layers["mine"].data = np.where(np.eye(64) > 0, np.nan, 1.0 * noisy_cells())
    dock.denoise()


def nothing_to_fill(viewer, dock):
    viewer.add_labels(np.zeros((64, 64), int), name="empty")
    dock.missing_layer = "empty"
    dock.inpaint()


def infinite_values(viewer, dock):
    viewer.layers["mine"].data = np.where(np.eye(64) > 0, np.inf, 1.0 * noisy_cells())
    dock.denoise()


@pytest.mark.screen
@pytest.mark.parametrize(
    ("mistake", "advice"),
    [
        (nan_to_denoise, "choose the task 'Fill holes'"),
        (nothing_to_fill, "choose a Labels or Shapes layer as the mask"),
        (infinite_values, "cover them with a Labels layer"),
    ],
)
def test_what_goes_wrong_is_said_in_words_of_the_dock(make_light_dock, mistake, advice):
    viewer, dock = make_light_dock(noisy_cells(), name="mine")
    dock.quality = "fast"
    mistake(viewer, dock)
    finish(dock)
    assert advice in dock.message
    assert not PYTHON.search(dock.message), dock.message


@pytest.mark.screen
def test_remarks_on_a_result_are_said_in_words_of_the_dock(make_light_dock):
    image = noisy_cells().astype(np.float32)
    image[10:50, 10:50] = np.nan  # wider than any filter
    _, dock = make_light_dock(image, name="mine")
    dock.quality = "draft"
    dock.inpaint()
    finish(dock)
    assert "Note: " in dock.message
    assert not PYTHON.search(dock.message), dock.message
