"""The page on extending is true: its changes apply, touch as few files as it says, and work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "extend.md"

USES = {
    "kind": (
        2,
        """
x = np.random.default_rng(0).normal(size=(4, 32, 32)).astype("f4") + np.linspace(0, 9, 32)
assert denoise(x, kind="polarisation", quality="draft").shape == x.shape
assert open_samples(x, None, None, ("angle", "y", "x")).axes.kind == "polarisation"
assert "polarisation" in help_of("denoise")
""",
    ),
    "quality": (
        1,
        """
x = np.random.default_rng(0).normal(size=(32, 32)) + np.linspace(0, 9, 32)
psnr = {q: measures.psnr(denoise(x, kind="image", sigma=1.0, quality=q),
        np.broadcast_to(np.linspace(0, 9, 32), x.shape)) for q in ("draft", "good")}
assert psnr["good"] != psnr["draft"]
assert "good" in help_of("denoise")
""",
    ),
    "method": (
        2,
        """
x = np.random.default_rng(0).normal(size=(300, 32)) + np.linspace(0, 9, 32)
expected = ndimage.gaussian_filter(x, 1.0)
found = denoise(x, kind="image", method="gaussian", sigma=1.0)
assert np.abs(found - expected).max() < 0.01
assert np.array_equal(found, denoise(x, kind="image", method="gaussian", sigma=1.0, out="a.npy"))
assert "gaussian" in help_of("denoise")
""",
    ),
    "format": (
        2,
        """
np.savetxt("plane.csv", np.eye(8), delimiter=",")
assert open_file("plane.csv").labels == ("y", "x")
""",
    ),
}

PREPARED = """
import numpy as np
from click.testing import CliRunner
from scipy import ndimage
from napari_scsc import cli, denoise
from napari_scsc.data import measures
from napari_scsc.data.samples import open_samples
from napari_scsc.io.formats import open_file

def help_of(command):
    return CliRunner().invoke(cli.main, [command, "--help"]).output
"""


def changes():
    """The changes of the page by what they add."""
    blocks = re.findall(
        r"^## An? (?:file )?(\w+).*?^```diff\n(.*?)^```", PAGE.read_text(), re.S | re.M
    )
    return dict(blocks)


def apply_change(change, root):
    """Apply a change whose hunks are found by their lines, and return how many files it has."""
    files = re.split(r"^--- .*\n\+\+\+ b/(.*)\n", change, flags=re.M)[1:]
    for path, text in zip(files[::2], files[1::2], strict=True):
        place = root / path
        if not place.exists():
            place.write_text(re.sub(r"^\+", "", text, flags=re.M))
            continue
        for hunk in re.split(r"^@@ @@\n", text, flags=re.M)[1:]:
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] or "\n" for line in lines if not line.startswith("+"))
            after = "".join(line[1:] or "\n" for line in lines if not line.startswith("-"))
            source = place.read_text()
            assert source.count(before) == 1, f"{path} does not hold once:\n{before}"
            place.write_text(source.replace(before, after))
    return len(files) // 2


@pytest.mark.parametrize("what", USES)
def test_change_applies_touches_few_files_and_works(what, tmp_path):
    n_files, use = USES[what]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    assert apply_change(changes()[what], tmp_path) == n_files
    # A copy of the package would be compiled anew.
    chosen = {"PYTHONPATH": str(tmp_path / "src"), "NAPARI_SCSC_KERNELS": "numpy"}
    environment = {**os.environ, **chosen}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PREPARED + use],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
