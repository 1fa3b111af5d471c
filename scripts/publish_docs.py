"""Put a built site beside those of other versions: ``publish_docs.py SITE VERSION FOLDER``.

FOLDER is what the web server shows, such as a work tree of the branch ``gh-pages``. Each version
has a folder of its own, ``latest`` is the newest release (before the first, whatever there is), and
``versions.json`` is what the pages read to offer the others.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path

from packaging.version import InvalidVersion, Version

LATEST = "latest"
START = """<!doctype html>
<meta charset="utf-8">
<title>napari-scsc</title>
<meta http-equiv="refresh" content="0; url=latest/">
<a href="latest/">The documentation of napari-scsc</a>
"""


def publish(site: Path, version: str, folder: Path) -> None:
    """Show the site as that version; a site of the same version is replaced."""
    if not (site / "index.html").is_file():
        raise SystemExit(f"{site} is no built site: it has no index.html")
    if version == LATEST or not re.fullmatch(r"\w[\w.+-]*", version):
        raise SystemExit(f"{version!r} cannot be the name of a version")
    folder.mkdir(parents=True, exist_ok=True)
    _replace(site, folder / version)
    names = sorted((p.parent.name for p in folder.glob("*/index.html")), key=_age, reverse=True)
    versions = [name for name in names if name != LATEST]
    newest = next((name for name in versions if _is_release(name)), versions[0])
    _replace(folder / newest, folder / LATEST)
    listed = [
        {"version": name, "title": name, "aliases": [LATEST] if name == newest else []}
        for name in versions
    ]
    (folder / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(START, encoding="utf-8")
    (folder / ".nojekyll").touch()  # files whose names begin with an underscore are shown too


def _replace(source: Path, target: Path) -> None:
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target)


def _age(name: str) -> tuple[int, Version]:
    """What is no version, as "dev", comes before all that are."""
    try:
        return 0, Version(name)
    except InvalidVersion:
        return 1, Version("0")


def _is_release(name: str) -> bool:
    kind, version = _age(name)
    return kind == 0 and not version.is_prerelease


def main() -> None:
    """Publish what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="the built site")
    parser.add_argument("version", help="such as 0.2.0, or dev")
    parser.add_argument("folder", type=Path, help="what the web server shows")
    arguments = parser.parse_args()
    publish(arguments.site, arguments.version.removeprefix("v"), arguments.folder)


if __name__ == "__main__":
    main()
