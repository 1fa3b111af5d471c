"""The generated parts of the documentation."""

import pytest

from laboratory.docs_page import replace_between, write_pages
from laboratory.experiments import EXPERIMENTS
from laboratory.overview import write_overview
from laboratory.tests.result_row_makers import make_final_rows

PAGE = """before
<!-- overview -->
old
<!-- end of overview -->
between
<!-- bars --><!-- end of bars -->
"""


def test_only_what_is_between_the_marks_is_replaced():
    once = replace_between(PAGE, "overview", "new")
    assert "old" not in once
    assert once.startswith("before\n")
    assert once.endswith("between\n<!-- bars --><!-- end of bars -->\n")
    assert replace_between(once, "overview", "new") == once


def test_missing_marks_are_named():
    with pytest.raises(ValueError, match="<!-- bars -->"):
        replace_between("no marks", "bars", "new")


@pytest.fixture
def results(tmp_path):
    rows = make_final_rows(
        {"SCSC": 28, "SCSC orthonormal": 30, "OCSC": 29, "SCSC-L1": 28.5},
        n_test=2,
        beta=0.1,
        radius=1.0,
        kept_mb=1.0,
    )
    nothing = {name: [] for name in EXPERIMENTS}
    write_overview(nothing | {"sharing": rows, "balls": rows, "convergence": rows}, tmp_path)
    (tmp_path / "paper.md").write_text("# Title\n\n## Figure 1\n\n![](overview.png)\n")
    (tmp_path / "orthonormal-bars.csv").write_text(
        "what,value,bar,outcome\nspeed,7.5,<= 8,met\nsize,nan,<= 1,MISSED\n"
    )
    return tmp_path


def test_first_screen_has_a_verdict_for_each_definition(results):
    text = (results / "overview.md").read_text()
    (line,) = (line for line in text.splitlines() if "SCSC outperforms OCSC from R" in line)
    _, _, paper, orthonormal, _ = line.split("|")
    assert "**no**: equal beta, length one, objective, equal size" in paper
    assert "**yes**: equal beta, length one, objective, equal size" in orthonormal
    assert (results / "overview.png").exists()


def test_pages_get_results_and_pictures(results, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "laboratory.md").write_text(PAGE)
    write_pages(results, docs)
    page = (docs / "laboratory.md").read_text()
    assert "what the paper claims" in page
    assert "| speed | <= 8 | 7.5 | met |" in page
    assert "| size | <= 1 |  | not measured |" in page
    assert "](images/paper/overview.png)" in (docs / "laboratory-tables.md").read_text()
    assert (docs / "images" / "paper" / "overview.png").exists()
