"""What the commands are tried on."""

from __future__ import annotations

import pytest
from cli_tools import save

from napari_scsc import samples
from napari_scsc.restore import passes
from napari_scsc.run import block_grid


@pytest.fixture(scope="module")
def cells():
    return samples.noisy_tissue((72, 64))


@pytest.fixture
def folder(tmp_path, monkeypatch, cells):
    """Where the commands run: a folder with an image of which size and units are known."""
    monkeypatch.chdir(tmp_path)
    save("cells.tif", cells, "yx", (0.2, 0.2), ("um", "um"))
    return tmp_path


@pytest.fixture
def many_blocks(monkeypatch):
    monkeypatch.setattr(passes, "_bytes_per_point", lambda *_: 2e4)
    monkeypatch.setattr(block_grid, "CHUNK_VALUES", 3000)
