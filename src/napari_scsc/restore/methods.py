"""The methods of restoration: a registry. A new method is a file and an entry here.

Imports nothing heavy: the command line shows the names in its help. A method names its functions
as ``module:function``, which are imported when they are needed.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Literal

Task = Literal["denoise", "inpaint"]


@dataclass(frozen=True, slots=True)
class Method:
    """How an image is restored.

    Attributes
    ----------
    summary : str
        What it does.
    model : str, optional
        The model of ``learn`` whose filters it needs; None if it needs none.
    denoise, inpaint : str
        Functions that prepare a ``Restoration``: generators that yield updates while they learn,
        and return the ``TileRestorer`` that restores each tile.
    cost : str
        The function that says what a sample takes, ``cost(shift, n_joint, task, quality)``.
    """

    summary: str
    model: str | None
    denoise: str
    inpaint: str
    cost: str

    def load(self, part: Literal["denoise", "inpaint", "cost"]) -> Any:
        """Import one of the functions."""
        module, _, name = getattr(self, part).partition(":")
        return getattr(importlib.import_module(module), name)


_PAPER = "napari_scsc.restore.paper"

METHODS: dict[str, Method] = {
    "scsc": Method(
        summary="groups of similar patches, each with weights of its own",
        model="patches",
        denoise="napari_scsc.restore.denoise:prepare",
        inpaint="napari_scsc.restore.inpaint:prepare",
        cost="napari_scsc.restore.passes:cost",
    ),
    "scsc-paper": Method(
        summary="the paper's convolutional code, for comparison",
        model="scsc",
        denoise=f"{_PAPER}:prepare_denoising",
        inpaint=f"{_PAPER}:prepare_inpainting",
        cost=f"{_PAPER}:cost",
    ),
    "ocsc-paper": Method(
        summary="the code of the paper's predecessor, for comparison",
        model="ocsc",
        denoise=f"{_PAPER}:prepare_denoising",
        inpaint=f"{_PAPER}:prepare_inpainting",
        cost=f"{_PAPER}:cost",
    ),
}

COPY = Method(
    summary="an image without noise stays as it is",
    model=None,
    denoise="napari_scsc.restore.copy:prepare",
    inpaint="napari_scsc.restore.copy:prepare",
    cost="napari_scsc.restore.copy:cost",
)
"""What is done where there is nothing to do; users do not choose it."""
