"""Pages of the documentation as programs: their blocks and commands.

What a page shows is run, in the order of the page, in a folder of its own:

- ``python``: run, with the names that the blocks before it left;
- ``sh``: a command in each line, and ``console``: one behind each ``$``. Those of napari-scsc are
  run; those that install, build or measure are checked word by word;
- ``diff``: applied to the package, by ``test_extending``;
- ``text``: what is read and not run: output, drawings, keys to press.

A block behind ``<!-- not run: reason -->`` is only checked as far as it can be without running it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LANGUAGES = {"python", "sh", "console", "diff", "text"}
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n\s*)?"
    r"(?P<indent> *)```(?P<language>[^\n]*)\n(?P<code>.*?)^ *```\s*$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    code: str
    reason: str | None
    """Why it is not run, if it is not."""

    @property
    def commands(self):
        """The commands in it; of a console, without what it prints."""
        if self.language == "console":
            shown = [line for line in self.code.splitlines() if line.startswith("$ ")]
            return commands_of("\n".join(line[2:] for line in shown))
        return commands_of(self.code) if self.language == "sh" else []

    def run_python(self, names):
        # The lines before it are left empty, so that errors name the line of the page.
        code = compile("\n" * self.line + self.code, self.page, "exec", dont_inherit=True)
        exec(code, names)


def pages():
    """Every page, as a path from the root of the repository."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    return sorted(page.relative_to(ROOT).as_posix() for page in found)


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page):
    text = text_of(page)
    return [
        Block(
            page,
            text[: found.start("code")].count("\n"),
            found["language"],
            re.sub(f"^{found['indent']}", "", found["code"], flags=re.MULTILINE),
            found["reason"],
        )
        for found in FENCE.finditer(text)
    ]


def all_blocks():
    return [block for page in pages() for block in blocks_of(page)]


def commands_of(code):
    r"""One command a line, without its comment; ``\`` and ``|`` at the end of a line go on."""
    lines = re.sub(r"\\\n\s*|(?<=\|)\n\s*", " ", code).splitlines()
    bare = (re.sub(r"(^|\s)#\s.*$", "", line).strip() for line in lines)
    return [line for line in bare if line]


def commands_in_passing(page):
    """Lines of napari-scsc within a sentence or a table, and in what is shown and not run."""
    shown = [line[2:] for b in blocks_of(page) for line in b.code.splitlines() if line[:2] == "$ "]
    said = re.findall(r"`(napari-scsc [^`]+)`", FENCE.sub("", text_of(page)))
    return said + [line for line in shown if line.startswith("napari-scsc ")]


if __name__ == "__main__":  # the commands of a page that begin with some words, for a shell to run
    wanted_page, beginning = sys.argv[1:]
    for wanted in blocks_of(wanted_page):
        for command in wanted.commands:
            if command.startswith(beginning):
                print(command)
