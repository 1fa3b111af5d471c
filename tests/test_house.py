"""The house: which room knows which, and how large things may get.

The graph of imports is built from the sources, with the imports inside functions and those that
are there for type checkers only.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "napari_scsc"
ARCHITECTURE = ROOT / "docs" / "architecture.md"

# From left to right: a room knows the rooms to its left. What lies beside them at the top is known
# to all and knows none of them.
ROOMS = (
    "model",
    "groups",
    "data",
    "noise",
    "io",
    "run",
    "learning",
    "restore",
    "batch",
    "plugin",
    "cli",
)
TOP = {
    "__about__",
    "_keywords",
    "_types",
    "cache",
    "cancellation",
    "checks",
    "choices",
    "errors",
} | {"renaming"}
ENTRANCES = {"__init__", "__main__"}  # which open the door to all rooms
GUI = {"napari", "magicgui", "qtpy", "pyqtgraph", "superqt"}

MAX_LINES = 500
MAX_METHODS = 25


def sources():
    """All modules of the package, as names without the package's own."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "_version.py":  # the build wrote it
            continue
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts), path


@cache
def imports_of(path):
    """Everything that a module imports, wherever the import stands, as full names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports by position"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def edges():
    """Pairs of modules of the package of which the first imports the second."""
    modules = {name for name, _ in sources()}
    for name, path in sources():
        for imported in imports_of(path):
            if not imported.startswith("napari_scsc."):
                continue
            inner = imported.removeprefix("napari_scsc.")
            while inner and inner not in modules:
                inner = inner.rpartition(".")[0]
            if inner and inner != name:
                yield name, inner


def room_of(module):
    return module.split(".")[0]


def rank(module):
    room = room_of(module)
    return -1 if room in TOP else ROOMS.index(room)


def test_every_module_is_in_a_room():
    assert {room_of(name) for name, _ in sources()} == {*ROOMS, *TOP, *ENTRANCES}


def test_no_import_goes_against_the_direction():
    against = [
        f"{a} imports {b}" for a, b in edges() if room_of(a) not in ENTRANCES and rank(b) > rank(a)
    ]
    assert against == []


def test_no_cycle_between_modules():
    graph = {}
    for a, b in edges():
        graph.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_only_the_plugin_knows_the_gui():
    for name, path in sources():
        found = {full.partition(".")[0] for full in imports_of(path)} & GUI
        assert not found or room_of(name) == "plugin", f"{name} imports {found}"


def test_modules_are_short_enough_to_be_read():
    long = {n: c for n, p in sources() if (c := len(p.read_text().splitlines())) > MAX_LINES}
    assert long == {}


def test_classes_do_not_do_everything():
    large = {}
    for name, path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                count = sum(isinstance(x, ast.FunctionDef) for x in node.body)
                if count > MAX_METHODS:
                    large[f"{name}.{node.name}"] = count
    assert large == {}


def test_page_on_the_architecture_names_every_module():
    page = ARCHITECTURE.read_text()
    missing = [
        name
        for name, path in sources()
        if path.name != "__init__.py" and f"`{'/'.join(name.split('.'))}.py`" not in page
    ]
    assert missing == []


def test_page_on_the_architecture_names_nothing_else():
    import re

    named = set(re.findall(r"`([\w/]+)\.py`", ARCHITECTURE.read_text()))
    known = {"/".join(name.split(".")) for name, _ in sources()} | {"__init__"}
    assert {name for name in named - known if (ROOT / f"{name}.py").exists() is False} == set()
