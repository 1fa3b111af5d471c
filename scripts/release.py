"""What a release needs beside its tag.

``python scripts/release.py notes v0.2.0`` prints the section of the changelog;
``python scripts/release.py check dist`` looks at the sdist and the wheel that were built.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_WHEEL_BYTES = 700_000  # three quarters of it are code; whatever is larger came in by mistake
IN_THE_WHEEL = ("napari.yaml", "icon.svg", "py.typed", "_version.py", "model/banks/image.scsc")
IN_THE_SDIST = ("pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "tests/conftest.py")


def notes(tag: str, changelog: str) -> str:
    """Return the section of a version, without its heading."""
    version = re.escape(tag.removeprefix("v"))
    heading = rf"^## \[{version}\] - \d{{4}}-\d{{2}}-\d{{2}}\n(.*?)(?=^## \[|^\[[^\]]+\]: |\Z)"
    found = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise SystemExit(f"CHANGELOG.md has no section '## [{tag.removeprefix('v')}] - <date>'.")
    return found[1].strip() + "\n"


def check(folder: Path) -> str:
    """Return what a folder with one sdist and one wheel has, where nothing is wrong."""
    wheel, sdist = (one(folder, pattern) for pattern in ("*.whl", "*.tar.gz"))
    size = wheel.stat().st_size
    if size > MAX_WHEEL_BYTES:
        raise SystemExit(f"{wheel.name} has {size} bytes; it may have {MAX_WHEEL_BYTES}.")
    with zipfile.ZipFile(wheel) as opened:
        missing = {f"napari_scsc/{name}" for name in IN_THE_WHEEL} - set(opened.namelist())
    with tarfile.open(sdist) as opened:
        within = {name.partition("/")[2] for name in opened.getnames()}
    missing |= set(IN_THE_SDIST) - within
    if missing:
        raise SystemExit(f"Left out: {', '.join(sorted(missing))}.")
    return f"{wheel.name}: {size / 1000:.0f} kB; {sdist.name}: {sdist.stat().st_size / 1000:.0f} kB"


def one(folder: Path, pattern: str) -> Path:
    """Return the only file of its kind."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder} has {len(found)} files {pattern}; there should be one.")
    return found[0]


def main(arguments: list[str]) -> None:
    """Do what the first argument says."""
    match arguments:
        case ["notes", tag]:
            sys.stdout.write(notes(tag, (ROOT / "CHANGELOG.md").read_text("utf-8")))
        case ["check", folder]:
            print(check(Path(folder)))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
