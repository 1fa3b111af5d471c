"""Messages are rendered by each front end, never parsed."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

from napari_scsc.errors import (
    FileFormatError,
    Message,
    MissingPackageError,
    PathExistsError,
    PathNotFoundError,
    Remedy,
    RunInterrupted,
    UserError,
    UserTypeError,
    message_from_json,
    message_of,
)

SOURCES = Path(__file__).parents[1] / "src"


def test_message_names_its_argument_as_the_front_end_does():
    message = Message("must be above 0", "sigma", Remedy.GIVE_SIGMA)
    assert str(message) == f"sigma must be above 0: {Remedy.GIVE_SIGMA.value}"
    words = message.render({"sigma": "--sigma"}, {Remedy.GIVE_SIGMA: "give --sigma"})
    assert words == "--sigma must be above 0: give --sigma"


def test_message_says_which_file_and_which_image_it_is_about():
    assert str(Message("is too small", path="a.tif")) == "a.tif: is too small"
    assert str(Message("is too small", item=2)) == "image 2: is too small"


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (UserError, ValueError),
        (UserTypeError, TypeError),
        (PathExistsError, FileExistsError),
        (PathNotFoundError, FileNotFoundError),
        (MissingPackageError, ImportError),
        (FileFormatError, ValueError),
    ],
)
def test_errors_are_those_of_python_too_and_can_be_sent(kind, builtin):
    error = kind("is wrong", argument="image", remedy=Remedy.RESUME, path="a {b}.tif")
    assert isinstance(error, builtin)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert again.message == error.message
    assert str(again) == f"a {{b}}.tif: image is wrong: {Remedy.RESUME.value}"


def test_interrupted_run_can_be_sent():
    again = pickle.loads(pickle.dumps(RunInterrupted("it broke off", remedy=Remedy.RUN_AGAIN)))
    assert str(again) == f"it broke off: {Remedy.RUN_AGAIN.value}"


@pytest.mark.parametrize("remedy", [None, "do this", *Remedy])
def test_message_survives_json(remedy):
    message = Message("stands out", "sigma", remedy)
    assert message_from_json(message.to_json()) == message


def test_remark_of_version_0_1_is_a_message():
    assert message_from_json("stands out") == Message("stands out")


def test_message_of_any_error():
    assert message_of(ValueError("is wrong")) == Message("is wrong")
    assert message_of(KeyError("a")) == Message("KeyError: 'a'")
    assert message_of(FileNotFoundError(2, "No such file", "a.tif")) == Message(
        "No such file", path="a.tif"
    )


def test_no_message_is_rewritten_by_a_pattern():
    """Nothing searches or replaces in what an error says."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if getattr(node.func.value, "id", "") == "re" or node.func.attr == "replace":
                words = ast.unparse(node)
                assert "str(error)" not in words, f"{path}: {words}"
                assert "message" not in words or node.func.attr == "replace", f"{path}: {words}"
