"""The examples in docstrings are run, and print what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = (
    "cancellation",
    "data.axes",
    "learning.api",
    "model.bank",
    "model.general_banks",
    "model.lattice",
    "model.scsc",
    "restore.api",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_print_what_they_say(name):
    module = importlib.import_module(f"napari_scsc.{name}")
    found = doctest.testmod(module, optionflags=OPTIONS)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("name", ["SCSC", "LatticeSCSC", "FilterBank", "Axes", "general_bank"])
def test_public_names_have_an_example(name):
    import napari_scsc

    finder = doctest.DocTestFinder(recurse=False)
    assert any(test.examples for test in finder.find(getattr(napari_scsc, name)))
