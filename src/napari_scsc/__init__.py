"""Interactive, multi-dimensional image restoration with sample-dependent sparse coding."""

import importlib
from typing import TYPE_CHECKING, Any

from napari_scsc.__about__ import __version__

if TYPE_CHECKING:
    from napari_scsc.axes import Axes
    from napari_scsc.bank import FilterBank
    from napari_scsc.files import FileFormatError
    from napari_scsc.general import general_bank
    from napari_scsc.lattice import LatticeSCSC
    from napari_scsc.learner import SCSC
    from napari_scsc.plugin.session import open
    from napari_scsc.restore.blocks import RunInterrupted
    from napari_scsc.restore.codes import CodedBlock, Codes, encode, iter_encode, open_codes
    from napari_scsc.restore.denoise import denoise, iter_denoise
    from napari_scsc.restore.explain import Explanation, explain
    from napari_scsc.restore.inpaint import inpaint, iter_inpaint
    from napari_scsc.restore.job import RestorationWarning, RestoreUpdate, estimate_noise
    from napari_scsc.restore.learning import iter_learn, learn
    from napari_scsc.restore.noise import Noise
    from napari_scsc.restore.output import Output
    from napari_scsc.results import Code, Update, ZeroCodeWarning
    from napari_scsc.settings import Relative

# Where the names live. They are looked up when they are used: napari asks every plugin for
# something at its start, and should not have to wait for FFTs and compilers.
_HOMES = {
    "Axes": "axes",
    "Code": "results",
    "CodedBlock": "restore.codes",
    "Codes": "restore.codes",
    "Explanation": "restore.explain",
    "FileFormatError": "files",
    "FilterBank": "bank",
    "LatticeSCSC": "lattice",
    "Noise": "restore.noise",
    "Output": "restore.output",
    "Relative": "settings",
    "RestorationWarning": "restore.job",
    "RestoreUpdate": "restore.job",
    "RunInterrupted": "restore.blocks",
    "SCSC": "learner",
    "Update": "results",
    "ZeroCodeWarning": "results",
    "denoise": "restore.denoise",
    "encode": "restore.codes",
    "estimate_noise": "restore.job",
    "explain": "restore.explain",
    "general_bank": "general",
    "inpaint": "restore.inpaint",
    "iter_denoise": "restore.denoise",
    "iter_encode": "restore.codes",
    "iter_inpaint": "restore.inpaint",
    "iter_learn": "restore.learning",
    "learn": "restore.learning",
    "open": "plugin.session",
    "open_codes": "restore.codes",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "SCSC",
    "Axes",
    "Code",
    "CodedBlock",
    "Codes",
    "Explanation",
    "FileFormatError",
    "FilterBank",
    "LatticeSCSC",
    "Noise",
    "Output",
    "Relative",
    "RestorationWarning",
    "RestoreUpdate",
    "RunInterrupted",
    "Update",
    "ZeroCodeWarning",
    "__version__",
    "denoise",
    "encode",
    "estimate_noise",
    "explain",
    "general_bank",
    "inpaint",
    "iter_denoise",
    "iter_encode",
    "iter_inpaint",
    "iter_learn",
    "learn",
    "open",
    "open_codes",
]
