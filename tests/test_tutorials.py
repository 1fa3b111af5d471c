"""Tutorials and how-to pages work as written: every block of Python and every command, in order."""

from __future__ import annotations

import importlib
import re
import shlex
from operator import attrgetter

import page_tools
import pytest
from click.testing import CliRunner
from page_tools import DOCS, blocks_of, python_blocks

from napari_scsc import cli

in_a_viewer = page_tools.in_a_viewer  # the fixture

IN_A_WINDOW = {"tutorials/scripted-session.md"}
PAGES = sorted(
    page.relative_to(DOCS).as_posix()
    for folder in ("tutorials", "how-to")
    for page in (DOCS / folder).glob("*.md")
    if "```python" in page.read_text(encoding="utf-8")
)
CONTRIBUTING = "../CONTRIBUTING.md"  # seen from the documentation


def run_command(line):
    program, *arguments = shlex.split(line, comments=True)
    assert program == "napari-scsc"
    result = CliRunner().invoke(cli.main, arguments, prog_name="napari-scsc")
    assert result.exit_code == 0, f"{line}\n{result.output}"


def run_page(page, names):
    for language, code in blocks_of(page):
        if language == "python":
            exec(compile(code, f"docs/{page}", "exec", dont_inherit=True), names)
        elif language == "sh":
            for line in code.strip().splitlines():
                run_command(line)


@pytest.mark.parametrize(
    "page", [CONTRIBUTING, *(page for page in PAGES if page not in IN_A_WINDOW)]
)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, {"__name__": "page"})


@pytest.mark.screen
@pytest.mark.parametrize("page", sorted(IN_A_WINDOW))
def test_page_with_a_window_runs(page, tmp_path, monkeypatch, in_a_viewer):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    try:
        run_page(page, names)
    finally:
        in_a_viewer(names)
    assert names["dock"].result is not None


def test_every_tutorial_has_blocks_that_are_run():
    tutorials = {page.name for page in (DOCS / "tutorials").glob("*.md")} - {"index.md"}
    assert tutorials == {page.partition("/")[2] for page in PAGES if page.startswith("tutorials/")}
    for page in tutorials:
        assert python_blocks(f"tutorials/{page}")


def test_pictures_of_the_pages_exist():
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"!\[[^\]]*\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).is_file(), f"{page.name} shows {target}"


def test_the_page_on_mathematics_names_what_exists():
    text = (DOCS / "mathematics.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:\w+/)*\w+\.py)`(?:: ((?:`[\w.]+`(?:, )?)+))?", text)
    assert len(named) > 10
    for path, things in named:
        name = path.removesuffix(".py").replace("/", ".")
        module = importlib.import_module(
            name if name.startswith("laboratory.") else f"napari_scsc.{name}"
        )
        for thing in re.findall(r"`([\w.]+)`", things):
            assert attrgetter(thing)(module), f"{path} has no {thing}"
