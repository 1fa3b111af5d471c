"""The laboratory uses the package and the benchmarks; neither uses the laboratory."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("src", "benchmarks") for path in (ROOT / folder).rglob("*.py")]


def names_in(tree):
    """Modules that are imported anywhere, and strings: one may be imported by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def uses_laboratory(source):
    names = names_in(ast.parse(source))
    return any(name == "laboratory" or name.startswith("laboratory.") for name in names)


@pytest.mark.parametrize(
    "source",
    [
        "import laboratory",
        "def f():\n    from laboratory.systems import SYSTEMS",
        "importlib.import_module('laboratory.systems')",
        "importlib.import_module(f'laboratory.{name}')",
    ],
)
def test_every_kind_of_import_is_seen(source):
    assert uses_laboratory(source)


def test_nothing_of_package_and_benchmarks_imports_the_laboratory():
    assert SOURCES
    users = [path for path in SOURCES if uses_laboratory(path.read_text(encoding="utf-8"))]
    assert not users, users
