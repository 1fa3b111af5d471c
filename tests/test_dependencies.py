"""Every dependency is used and explained, and every package that is used is a dependency."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# Installed by the user's choice, or only needed for what is optional.
OPTIONAL = {"napari", "distributed", "h5py", "pint", "xarray"}
pytestmark = pytest.mark.skipif(not SOURCES, reason="not run from a clone of the repository")


def imported() -> set[str]:
    """The packages that the sources import, also inside of functions."""
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"napari_scsc"}


def required() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {re.match(r"[\w-]+", line)[0].lower() for line in project["dependencies"]}


def explained() -> set[str]:
    """The first column of the table of docs/dependencies.md."""
    text = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\w-]+)(?: \(\w+\))? \|", text, re.MULTILINE)
    return {name.lower() for name in rows} - {"package", "---"}


def test_every_dependency_is_imported():
    assert required() - imported() == set()


def test_every_package_that_is_imported_is_a_dependency():
    assert imported() - required() - OPTIONAL == set()


def test_every_dependency_is_explained_and_nothing_else():
    assert explained() == required()
