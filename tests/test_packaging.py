from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points, requires, version
from importlib.resources import files
from pathlib import Path

import pytest
from npe2 import PluginManifest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import napari_scsc

ROOT = Path(__file__).resolve().parents[1]
QT_BINDINGS = {"pyqt5", "pyqt6", "pyside2", "pyside6"}


def base_requirements() -> set[str]:
    """The canonical names of what is installed when no extra is asked for."""
    found = map(Requirement, requires("napari-scsc") or [])
    return {
        canonicalize_name(r.name) for r in found if r.marker is None or "extra" not in str(r.marker)
    }


def test_manifest_is_valid():
    manifest = PluginManifest.from_distribution("napari-scsc")
    manifest.validate_imports()
    assert manifest.name == "napari-scsc"
    # napari names a dock by the plugin in one place and by display_name in another: when the two
    # differ, the same dock can be opened twice.
    assert manifest.display_name == manifest.name


def test_entry_point_names_the_manifest_in_the_package():
    (entry,) = (e for e in entry_points(group="napari.manifest") if e.name == "napari-scsc")
    package, _, resource = entry.value.partition(":")
    assert files(package).joinpath(resource).is_file()


def test_package_is_marked_as_typed():
    assert files("napari_scsc").joinpath("py.typed").is_file()


def test_version_is_the_same_everywhere():
    assert napari_scsc.__version__ == version("napari-scsc")
    citation = ROOT / "CITATION.cff"
    if citation.is_file():
        stated = re.search(r"^version: (\S+)$", citation.read_text("utf-8"), re.MULTILINE)
        assert stated is not None
        assert stated[1] == napari_scsc.__version__


def test_import_loads_no_gui():
    code = (
        "import sys, napari_scsc\n"
        "gui = {'napari', 'qtpy', 'magicgui', 'pyqtgraph', 'PyQt6', 'PySide6'}\n"
        "print(*sorted(gui & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_base_needs_neither_napari_nor_a_qt_binding():
    base = base_requirements()
    assert "numpy" in base  # the metadata were read at all
    assert not base & ({"napari"} | QT_BINDINGS)


def test_manifest_at_the_top_is_the_one_in_the_package():
    top = ROOT / "napari.yaml"
    package = ROOT / "src" / "napari_scsc" / "napari.yaml"
    if not package.is_file():
        pytest.skip("not run from a clone of the repository")
    if not (top.is_symlink() or top.is_file()):
        pytest.skip("a source distribution leaves out the link at the top")
    if not top.is_symlink() and sys.platform == "win32":
        pytest.skip("git made a text file of the link: this Windows allows no symbolic links")
    assert top.is_symlink()
    assert top.resolve() == package.resolve()
