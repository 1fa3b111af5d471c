"""Commands of the pages that a test cannot run: their words are looked up where they count."""

from __future__ import annotations

import re
import shlex
import tomllib
from functools import cache
from itertools import pairwise

from packaging.requirements import Requirement
from page_blocks import ROOT

REPOSITORY = "https://github.com/napari-scsc/napari-scsc"


def check_command(line):
    """Fail if the line names what does not exist; return what kind of command it is."""
    words = shlex.split(line, comments=True)
    program = words[0].removesuffix("3") if words[0].startswith("python") else words[0]
    if "=" in program:
        program = "a variable"
    assert program in CHECKS, f"no test knows what to do with: {line}"
    CHECKS[program](words[1:] if program != "a variable" else words)
    return program


def _python(words):
    assert words[0] == "-m", "what a command does in Python is a block of Python"
    module, *rest = words[1:]
    assert module in MODULES, module
    MODULES[module](rest)


def _pip(words):
    action, *rest = words
    assert action in {"install", "uninstall"}
    groups = [rest[i + 1] for i, word in enumerate(rest) if word == "--group"]
    assert set(groups) <= set(_project()["dependency-groups"])
    for word in rest:
        if not word.startswith("-") and word not in groups:
            _check_requirement(word)


def _check_requirement(word):
    """A requirement of PEP 508, or this project as a folder or a clone, with extras that it has."""
    here = re.fullmatch(r"\.{1,2}(?:/napari-scsc)?(?:\[([\w,]+)\])?", word)
    if here:
        extras = set(here[1].split(",")) if here[1] else set()
        ours = True
    else:
        requirement = Requirement(word)
        extras, ours = requirement.extras, requirement.name == "napari-scsc"
        assert not ours or requirement.url in {None, f"git+{REPOSITORY}"}
    if ours:
        assert extras <= set(_project()["project"]["optional-dependencies"])


def _conda(words):
    assert words[0] in {"create", "install", "activate"}
    if words[0] == "activate":
        return
    specifications = [
        word
        for before, word in pairwise(words)
        if not word.startswith("-") and before not in {"-n", "--name", "-c", "--channel"}
    ]
    assert specifications
    for word in specifications:
        Requirement(re.sub(r"(?<![=<>!~])=(?!=)", "==", word))


def _git(words):
    assert words[:2] == ["clone", REPOSITORY]


def _cd(words):
    assert words == ["napari-scsc"]


def _make(words):
    targets = [word for word in words if "=" not in word]
    variables = [word.partition("=")[0] for word in words if "=" in word]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for name in targets:
        assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"no target {name}"
    for name in variables:
        assert re.search(rf"^{name} \?=|\({name}\)", makefile, re.MULTILINE), f"no variable {name}"


def _variable(words):
    (word,) = words
    name, _, value = word.partition("=")
    readers = [p for p in (ROOT / "src").rglob("*.py") if name in p.read_text("utf-8")]
    assert readers, f"nothing reads {name}"
    assert any(f'"{value}"' in reader.read_text("utf-8") for reader in readers)


def _benchmarks(words):
    from benchmarks.__main__ import BENCHMARKS, _parser

    assert _parser().parse_args(words).name in {*BENCHMARKS, "all"}


def _laboratory(words):
    from laboratory.command_line import _make_parser

    _make_parser().parse_args(words)


def _nothing_more(words):
    assert not words


@cache
def _project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


MODULES = {
    "pip": _pip,
    "benchmarks": _benchmarks,
    "laboratory": _laboratory,
    "laboratory.docs_page": lambda words: None,
}
CHECKS = {
    "python": _python,
    "pip": _pip,
    "conda": _conda,
    "git": _git,
    "cd": _cd,
    "make": _make,
    "napari": _nothing_more,
    "a variable": _variable,
}
