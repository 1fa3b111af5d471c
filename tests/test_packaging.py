from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import distribution, entry_points, requires
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import pytest
from npe2 import PluginManifest
from npe2.manifest.schema import Category
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import napari_scsc

ROOT = Path(__file__).resolve().parents[1]
QT_BINDINGS = {"pyqt5", "pyqt6", "pyside2", "pyside6"}
HEAVY = {"napari", "qtpy", "magicgui", "pyqtgraph", "PyQt6", "PySide6"}
ABOUT = "napari_scsc.__about__"


def base_requirements() -> set[str]:
    """The canonical names of what is installed when no extra is asked for."""
    found = map(Requirement, requires("napari-scsc") or [])
    return {
        canonicalize_name(r.name) for r in found if r.marker is None or "extra" not in str(r.marker)
    }


@pytest.fixture(scope="module")
def manifest() -> PluginManifest:
    """The manifest beside the sources; that of an installation may be older."""
    return PluginManifest.from_file(str(files("napari_scsc").joinpath("napari.yaml")))


def test_manifest_is_valid(manifest):
    manifest.validate_imports()
    assert manifest.name == "napari-scsc"
    # napari names a dock by the plugin in one place and by display_name in another: when the two
    # differ, the same dock can be opened twice.
    assert manifest.display_name == manifest.name


def test_npe2_finds_nothing_to_complain_of():
    done = run("-m", "npe2", "validate", str(files("napari_scsc").joinpath("napari.yaml")))
    assert "'napari-scsc' valid" in done.stdout


def test_manifest_says_what_the_plugin_is_for(manifest):
    assert Category.Image_Processing in manifest.categories
    (widget,) = manifest.contributions.widgets
    assert widget.display_name == "Denoise and inpaint"
    package, _, resource = manifest.icon.partition(":")
    ElementTree.fromstring(files(package).joinpath(resource).read_text("utf-8"))


def test_entry_point_names_the_manifest_in_the_package():
    (entry,) = (e for e in entry_points(group="napari.manifest") if e.name == "napari-scsc")
    package, _, resource = entry.value.partition(":")
    assert files(package).joinpath(resource).is_file()


def test_package_is_marked_as_typed():
    assert files("napari_scsc").joinpath("py.typed").is_file()


def test_version_is_that_of_the_installation():
    installed = distribution("napari-scsc")
    if not is_ours(installed):
        pytest.skip("what is installed is another copy of the package")
    assert napari_scsc.__version__ == installed.version


def is_ours(installed) -> bool:
    """Whether the package that is imported is the one that is installed."""
    package = Path(napari_scsc.__file__).parent
    origin = json.loads(installed.read_text("direct_url.json") or "{}").get("url", "")
    in_place = unquote(urlparse(origin).path).endswith(package.parents[1].as_posix())
    return in_place or Path(str(installed.locate_file("napari_scsc"))) == package


def test_import_loads_next_to_nothing():
    code = (
        "import sys; before = set(sys.modules); import napari_scsc\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    allowed = {"napari_scsc", "__future__", "importlib", "warnings"}
    assert set(run("-c", code).stdout.split()) <= allowed


def test_manifest_loads_nothing_of_the_package():
    code = (
        "import sys; from importlib.resources import files; from npe2 import PluginManifest\n"
        "PluginManifest.from_file(str(files('napari_scsc').joinpath('napari.yaml')))\n"
        f"print(*sorted({HEAVY!r} & set(sys.modules)))\n"
        "print(*sorted(name for name in sys.modules if name.startswith('napari_scsc.')))"
    )
    assert run("-c", code).stdout.split() in ([ABOUT], [ABOUT, "napari_scsc._version"])


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What Python does in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


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
