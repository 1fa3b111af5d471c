"""Put what ``python -m laboratory all`` found into docs/laboratory.md.

python -m laboratory.docs_page laboratory/results
"""

import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
MARK = "<!-- results -->"


def write_page(results):
    """Replace all that stands below the mark of the page, and its pictures."""
    pictures = DOCS / "images" / "paper"
    pictures.mkdir(parents=True, exist_ok=True)
    text = (results / "paper.md").read_text(encoding="utf-8")
    text = re.sub(r"^# .*\n+", "", text)
    text = re.sub(r"^## ", "### ", text, flags=re.MULTILINE)
    for name in re.findall(r"\]\((\w+\.png)\)", text):
        shutil.copy(results / name, pictures / name)
    text = re.sub(r"\]\((\w+\.png)\)", r"](images/paper/\1)", text)
    page = DOCS / "laboratory.md"
    before, _, _ = page.read_text(encoding="utf-8").partition(MARK)
    page.write_text(f"{before}{MARK}\n\n## What came out\n\n{text.strip()}\n", encoding="utf-8")


if __name__ == "__main__":
    write_page(Path(sys.argv[1]))
