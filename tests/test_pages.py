"""Every block of code and every command of README and docs works as written."""

from __future__ import annotations

import importlib
import os
import re
import shlex
from collections import Counter
from operator import attrgetter

import page_tools
import pytest
from cli_tools import succeed
from command_checks import check_command
from page_blocks import (
    DOCS,
    FENCE,
    LANGUAGES,
    all_blocks,
    blocks_of,
    commands_in_passing,
    pages,
    text_of,
)
from page_stand_ins import FILES, NAMES, make_files, names_for

from napari_scsc import cli

in_a_viewer = page_tools.in_a_viewer  # the fixture

IN_A_WINDOW = {"docs/tutorials/scripted-session.md", "docs/scripting.md"}
SLOW = {"docs/large-data.md"}  # starts a cluster


def is_run_here(command):
    return command.startswith("napari-scsc ") and "|" not in command


def is_run_by_a_shell(command):
    """In test_cli_processes, for it has the page with the pipes."""
    return "napari-scsc " in command and "|" in command


def is_run(block):
    """Whether a test of its page runs it, or a part of it."""
    if block.reason is not None:
        return False
    return block.language == "python" or any(map(is_run_here, block.commands))


WITH_CODE = [page for page in pages() if any(map(is_run, blocks_of(page)))]


def run_page(page, names, folder):
    for block in filter(is_run, blocks_of(page)):
        if block.language == "python":
            block.run_python(names)
            continue
        if page in FILES:  # each of its blocks stands by itself
            os.chdir(folder_of(block, folder))
            make_files(page)
        for command in filter(is_run_here, block.commands):
            succeed(*shlex.split(command)[1:])
        os.chdir(folder)


def folder_of(block, folder):
    made = folder / f"line-{block.line}"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page in SLOW else ())
        for page in WITH_CODE
        if page not in IN_A_WINDOW
    ],
)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A demonstration without a screen, and without starting one.
    monkeypatch.setattr("napari_scsc.plugin.demo._has_screen", lambda: False)
    monkeypatch.setattr("napari_scsc.plugin.demo._screenshot_on_a_virtual_screen", lambda _: None)
    run_page(page, {"__name__": "page", **names_for(page)}, tmp_path)


@pytest.mark.screen
@pytest.mark.parametrize("page", sorted(IN_A_WINDOW))
def test_page_with_a_window_runs(page, tmp_path, monkeypatch, in_a_viewer):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    try:
        run_page(page, names, tmp_path)
    finally:
        in_a_viewer(names)
    assert names["dock"].result is not None


OTHER_COMMANDS = sorted(
    {c for b in all_blocks() for c in b.commands if not (is_run_here(c) or is_run_by_a_shell(c))}
)


@pytest.mark.parametrize("command", OTHER_COMMANDS)
def test_command_that_installs_builds_or_measures_names_what_exists(command):
    check_command(command)


def test_no_block_escapes():
    for page in pages():
        fences = [f for f in text_of(page).splitlines() if f.lstrip().startswith("```")]
        assert len(fences) == 2 * len(blocks_of(page)), f"a fence of {page} is not closed"
    unknown = [(b.page, b.line, b.language) for b in all_blocks() if b.language not in LANGUAGES]
    assert not unknown, f"these blocks have no language that a test knows: {unknown}"
    handled = Counter(how_it_is_tested(block) for block in all_blocks())
    assert handled.total() == len(all_blocks())
    assert handled["run"] > 90
    assert handled["not run, for a reason"] <= 4


def how_it_is_tested(block):
    if block.reason is not None:
        compile(block.code, block.page, "exec")
        return "not run, for a reason"
    if block.language == "text":
        return "read"
    if block.language == "diff":
        assert block.page == "docs/how-to/extend.md"  # test_extending applies them
        return "applied"
    if block.language == "python":
        assert block.page in WITH_CODE
        return "run"
    assert block.commands, f"nothing to run at line {block.line} of {block.page}"
    if any(map(is_run_by_a_shell, block.commands)):
        assert block.page == "docs/command-line.md"
        return "run"
    return "run" if any(map(is_run_here, block.commands)) else "checked word by word"


def test_code_is_fenced():
    for page in pages():
        prose = FENCE.sub("", text_of(page))
        indented = re.findall(r"(?:^|\n)\n((?: {4}|\t)[^\s*\-\d].*)", prose)
        # The second paragraph of an item of a list, or of a note, is indented too.
        assert not [line for line in indented if re.search(r"[=(<>$]", line)], page


@pytest.mark.parametrize("page", [page for page in pages() if commands_in_passing(page)])
def test_commands_in_passing_have_options_that_exist(page):
    for line in commands_in_passing(page):
        name, *words = shlex.split(line, comments=True)[1:]
        command = cli.main.commands[name]
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        used = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
        assert used <= known, f"{page}: {line}"


def test_stand_ins_are_for_pages_that_exist():
    assert {*NAMES, *FILES, *IN_A_WINDOW, *SLOW} <= set(pages())


def test_every_tutorial_has_code():
    tutorials = {f"docs/tutorials/{page.name}" for page in (DOCS / "tutorials").glob("*.md")}
    assert tutorials - {"docs/tutorials/index.md"} <= set(WITH_CODE)


def test_every_page_is_in_the_navigation():
    navigation = text_of("mkdocs.yml").partition("\nnav:\n")[2].partition("\n\n")[0]
    named = re.findall(r"[\w/-]+\.md", navigation)
    assert sorted(named) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


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
