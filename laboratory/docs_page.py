"""Put what ``python -m laboratory all`` and ``orthonormal`` found into the documentation.

python -m laboratory.docs_page laboratory/results

docs/laboratory.md gets the first screen and the bars, between marks; docs/laboratory-tables.md is
all claims, figures and means.
"""

import csv
import math
import re
import shutil
import sys
from pathlib import Path

from laboratory.experiment_report import table

DOCS = Path(__file__).parents[1] / "docs"
_TABLES_HEAD = """# The paper's laboratory: all tables

Every claim of Section 4 with what was measured, for SCSC as the paper defines it and with
orthonormal base filters; the figures, and the means of what was measured. The rows themselves are
the files `laboratory/results/*.csv`. [The paper's laboratory](laboratory.md) says what the columns
mean and what was left out. This page is written by `python -m laboratory.docs_page`.
"""


def write_pages(results, docs=DOCS):
    """Write what is generated of both pages, and their pictures."""
    pictures = docs / "images" / "paper"
    pictures.mkdir(parents=True, exist_ok=True)
    for picture in results.glob("*.png"):
        shutil.copy(picture, pictures / picture.name)
    text = (results / "paper.md").read_text(encoding="utf-8")
    text = re.sub(r"^# .*\n+", "", text)
    text = re.sub(r"\]\((\w+\.png)\)", r"](images/paper/\1)", text)
    (docs / "laboratory-tables.md").write_text(
        f"{_TABLES_HEAD}\n{text.strip()}\n", encoding="utf-8"
    )
    page = docs / "laboratory.md"
    text = page.read_text(encoding="utf-8")
    overview = (results / "overview.md").read_text(encoding="utf-8")
    text = replace_between(text, "overview", overview)
    text = replace_between(text, "bars", _bars(results / "orthonormal-bars.csv"))
    page.write_text(text, encoding="utf-8")


def replace_between(text, name, content):
    """The text with what stands between the marks of that name replaced."""
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, first, rest = text.partition(marks[0])
    _, second, after = rest.partition(marks[1])
    if not first or not second:
        raise ValueError(f"the page has no marks {marks[0]} and {marks[1]}")
    return f"{before}{first}\n\n{content.strip()}\n\n{second}{after}"


def _bars(path):
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return table(("bar", "wanted", "found", ""), map(_bar_line, rows))


def _bar_line(row):
    value = float(row["value"])
    found = ("", "not measured") if math.isnan(value) else (f"{value:.4g}", row["outcome"])
    return (row["what"], row["bar"], *found)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
