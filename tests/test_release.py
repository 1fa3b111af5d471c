"""A release: its notes, its files, the recipe for conda-forge, and what the workflows use."""

from __future__ import annotations

import importlib.util
import io
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "release.py"
RECIPE = ROOT / "conda" / "recipe.yaml"
pytestmark = pytest.mark.skipif(not RECIPE.is_file(), reason="not run from the sources")

LINUX = {"sys_platform": "linux", "platform_machine": "x86_64"}  # one package for all platforms
NAMES_ON_CONDA = {"dask": "dask-core"}  # "dask" there brings distributed along

CHANGELOG = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-11-18

### Added

- A thing.

## [0.1.0] - 2026-01-01

- The first.

[Unreleased]: https://example.org
"""


@pytest.fixture(scope="module")
def release():
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def recipe():
    """The recipe with its variables filled in, as rattler-build does it."""
    stage0 = pytest.importorskip("rattler_build.stage0")
    (variant,) = stage0.Stage0Recipe.from_file(RECIPE).render()
    return variant.recipe.to_dict()


def bounds(lines) -> dict[str, SpecifierSet]:
    """The versions that are asked for, by name."""
    found = map(Requirement, lines)
    return {r.name: r.specifier for r in found if r.marker is None or r.marker.evaluate(LINUX)}


def on_conda(lines) -> dict[str, SpecifierSet]:
    """The same of a recipe, where "3.11.*" stands for what pip calls "==3.11.*"."""
    pairs = (line.partition(" ")[::2] for line in lines)
    return {name: SpecifierSet(f"=={v}" if v[:1].isdigit() else v) for name, v in pairs}


def test_notes_are_the_section_of_the_version(release):
    assert release.notes("v0.2.0", CHANGELOG) == "### Added\n\n- A thing.\n"
    assert release.notes("v0.1.0", CHANGELOG) == "- The first.\n"


@pytest.mark.parametrize("tag", ["v0.3.0", "v0.2", "v0x2.0"])
def test_a_tag_without_a_section_is_refused(release, tag):
    with pytest.raises(SystemExit, match="has no section"):
        release.notes(tag, CHANGELOG)


def write_distribution(folder, left_out="", padding=0):
    """An sdist and a wheel with empty files where the package has some."""
    with zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w") as wheel:
        for name in (
            "napari.yaml",
            "icon.svg",
            "py.typed",
            "_version.py",
            "model/banks/image.scsc",
        ):
            if name != left_out:
                wheel.writestr(f"napari_scsc/{name}", "")
        wheel.writestr("napari_scsc/padding", bytes(padding))
    with tarfile.open(folder / "a-1.tar.gz", "w:gz") as sdist:
        names = ("pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "tests/conftest.py")
        for name in names:
            if name != left_out:
                sdist.addfile(tarfile.TarInfo(f"a-1/{name}"), io.BytesIO())


def test_whole_files_pass(release, tmp_path):
    write_distribution(tmp_path)
    assert "a-1.tar.gz" in release.check(tmp_path)


@pytest.mark.parametrize("name", ["icon.svg", "LICENSE"])
def test_files_that_were_left_out_are_named(release, tmp_path, name):
    write_distribution(tmp_path, left_out=name)
    with pytest.raises(SystemExit, match=rf"Left out: .*{name}"):
        release.check(tmp_path)


def test_a_large_wheel_is_refused(release, tmp_path):
    write_distribution(tmp_path, padding=release.MAX_WHEEL_BYTES)
    with pytest.raises(SystemExit, match="it may have"):
        release.check(tmp_path)


def test_recipe_requires_what_the_package_does(recipe, project):
    wanted = {
        NAMES_ON_CONDA.get(name, name): version
        for name, version in bounds(project["project"]["dependencies"]).items()
    }
    python = SpecifierSet(project["project"]["requires-python"])
    assert on_conda(recipe["requirements"]["run"]) == {**wanted, "python": python}


def test_recipe_builds_with_what_the_package_does(recipe, project):
    wanted = bounds(project["build-system"]["requires"])
    host = on_conda(recipe["requirements"]["host"])
    assert {name: host[name] for name in wanted} == wanted


def test_recipe_installs_the_commands_of_the_package(recipe, project):
    scripts = [f"{name} = {place}" for name, place in project["project"]["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["about"]["summary"] == project["project"]["description"]
    assert recipe["about"]["license"] == project["project"]["license"]


def test_neither_napari_nor_qt_is_required_by_the_recipe(recipe, project):
    assert not {"napari", "pyqt6", "pyside6"} & on_conda(recipe["requirements"]["run"]).keys()
    constraints = on_conda(recipe["requirements"]["run_constraints"])
    extras = project["project"]["optional-dependencies"]
    assert constraints["napari"] == Requirement(extras["pyqt6"][0]).specifier
    assert constraints["distributed"] == Requirement(extras["cluster"][0]).specifier


def test_summary_begins_with_what_the_package_does(project):
    assert project["project"]["description"].startswith("Denoise and inpaint")
    urls = {name.lower() for name in project["project"]["urls"]}
    assert {"documentation", "user support", "bug tracker"} <= urls


@pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="not run from a clone")
def test_actions_are_pinned_and_keep_no_credentials():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text("utf-8")
        for action in re.findall(r"uses: (\S+.*)", text):
            assert re.fullmatch(r"\./\S+|[\w./-]+@[0-9a-f]{40} # v[\d.]+", action), (path, action)
        kept = text.count("uses: actions/checkout@") - text.count("persist-credentials: false")
        assert kept == 0 or "contents: write" in text, path
        assert re.search(r"^permissions:( \{\}|\n  contents: read)$", text, re.MULTILINE), path
