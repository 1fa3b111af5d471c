"""Formulas of the documentation as MathML, which browsers draw themselves.

An extension of Markdown behind pymdownx.arithmatex, which finds the formulas: no page needs a
script for them, and none is fetched from another site.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.postprocessors import Postprocessor

# As arithmatex leaves them with "generic": \(...\) within a line, \[...\] on lines of their own.
_FOUND = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*\\(?:\(|\[)(?P<tex>.*?)\\(?:\)|\])\s*</(?P=tag)>',
    re.DOTALL,
)


class Formulas(Extension):
    """Formulas as MathML."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Come after the one that puts raw HTML back, for formulas are among it."""
        md.postprocessors.register(_ToMathML(md), "formulas", priority=0)


class _ToMathML(Postprocessor):
    def run(self, text: str) -> str:
        return _FOUND.sub(_to_mathml, text)


def _to_mathml(found: re.Match[str]) -> str:
    tex = html.unescape(found["tex"]).strip()
    drawn = convert(tex, display="block" if found["tag"] == "div" else "inline")
    unknown = re.search(r">[^<]*(\\[^<]+)<", drawn)
    if unknown:
        raise ValueError(f"{unknown[1]} cannot be drawn; say it in another way: {tex}")
    return drawn


def makeExtension(**options: object) -> Formulas:
    """Make the extension, as Markdown asks for it."""
    return Formulas(**options)
