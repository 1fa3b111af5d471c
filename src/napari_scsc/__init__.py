"""Interactive, multi-dimensional image restoration with sample-dependent sparse coding."""

from typing import Any

from napari_scsc.__about__ import __version__
from napari_scsc.axes import Axes
from napari_scsc.bank import FilterBank
from napari_scsc.files import FileFormatError
from napari_scsc.lattice import LatticeSCSC
from napari_scsc.learner import SCSC
from napari_scsc.restore.denoise import denoise, iter_denoise
from napari_scsc.restore.inpaint import inpaint, iter_inpaint
from napari_scsc.restore.job import RestorationWarning, RestoreUpdate, estimate_noise
from napari_scsc.restore.learning import iter_learn, learn
from napari_scsc.restore.noise import Noise
from napari_scsc.results import Code, Update, ZeroCodeWarning
from napari_scsc.settings import Relative


def __getattr__(name: str) -> Any:
    """``napari_scsc.open`` is there, but napari is loaded only by whoever asks for it."""
    if name == "open":
        from napari_scsc.plugin.session import open as opened

        return opened
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "SCSC",
    "Axes",
    "Code",
    "FileFormatError",
    "FilterBank",
    "LatticeSCSC",
    "Noise",
    "Relative",
    "RestorationWarning",
    "RestoreUpdate",
    "Update",
    "ZeroCodeWarning",
    "__version__",
    "denoise",
    "estimate_noise",
    "inpaint",
    "iter_denoise",
    "iter_inpaint",
    "iter_learn",
    "learn",
]
