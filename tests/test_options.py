"""Options are written once, and the functions that share them have real signatures."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

import napari_scsc
from napari_scsc.learning.options import LearnKeywords, LearnOptions
from napari_scsc.restore.options import RestoreKeywords, RestoreOptions

SHARED = {
    "denoise": RestoreOptions,
    "iter_denoise": RestoreOptions,
    "inpaint": RestoreOptions,
    "iter_inpaint": RestoreOptions,
    "learn": LearnOptions,
    "iter_learn": LearnOptions,
}
ENCODING = ("encode", "iter_encode")


@pytest.mark.parametrize(
    ("options", "keywords"), [(RestoreOptions, RestoreKeywords), (LearnOptions, LearnKeywords)]
)
def test_type_checkers_know_the_options(options, keywords):
    fields = {field.name: field.type for field in dataclasses.fields(options)}
    assert fields == {n: t.__forward_arg__ for n, t in keywords.__annotations__.items()}


@pytest.mark.parametrize("name", SHARED)
def test_signature_has_every_option_with_its_default(name):
    parameters = inspect.signature(getattr(napari_scsc, name)).parameters
    for field in dataclasses.fields(SHARED[name]):
        assert parameters[field.name].default == field.default
        assert parameters[field.name].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("name", [*SHARED, *ENCODING, "estimate_noise", "explain", "explain_group"])
def test_docstring_describes_every_parameter(name):
    function = getattr(napari_scsc, name)
    text = inspect.getdoc(function)
    assert "{options}" not in text
    heads = [line for line in text.splitlines() if line and not line.startswith(" ")]
    described = {word for line in heads for word in line.partition(" : ")[0].split(", ")}
    assert set(inspect.signature(function).parameters) <= described


@pytest.mark.parametrize("name", SHARED)
def test_docstring_has_an_example_that_is_run(name):
    assert ">>> " in inspect.getdoc(getattr(napari_scsc, name))


@pytest.mark.parametrize("name", [*SHARED, *ENCODING])
def test_unknown_option_is_refused_by_the_name_of_the_function(name):
    function = getattr(napari_scsc, name)
    more = {"bank": None, "out": "a.zarr"} if name in ENCODING else {}
    with pytest.raises(TypeError, match=rf"{name}\(\) has no argument 'strenght'"):
        function(np.zeros((9, 9)), **more, strenght=2)


@pytest.mark.parametrize("name", ["strength", "quality", "seed"])
def test_option_that_coding_does_not_have_is_refused(name):
    with pytest.raises(TypeError, match=f"no argument '{name}'"):
        napari_scsc.encode(np.zeros((9, 9)), None, out="a.zarr", **{name: 1})


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("strength", 0, "strength must be finite and above 0, but is 0"),
        ("sigma", -1, "sigma must be finite and above 0"),
        ("sigma", "much", "sigma must be a number"),
        ("quality", "superb", "quality must be one of 'draft'"),
        ("method", "copy", "method must be one of 'scsc'"),
        ("n_jobs", 0, "n_jobs must be a whole number from 1 on"),
        ("seed", 1.5, "seed must be a whole number"),
        ("memory", "much", 'memory must be like "2 GB"'),
        ("bank", "a.scsc", "bank must be a FilterBank, but is a str"),
        ("resume", True, "resume goes on with a file"),
    ],
)
def test_wrong_option_is_named(option, value, words):
    with pytest.raises((ValueError, TypeError)) as raised:
        RestoreOptions(**{option: value})
    assert str(raised.value).startswith(words)
    assert raised.value.message.argument == option
