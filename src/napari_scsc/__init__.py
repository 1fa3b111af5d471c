"""Interactive, multi-dimensional image restoration with sample-dependent sparse coding."""

from __future__ import annotations

import importlib

from napari_scsc.__about__ import __version__

TYPE_CHECKING = False  # as typing has it; importing typing would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from napari_scsc.cancellation import Cancellation, Cancelled
    from napari_scsc.data.axes import Axes
    from napari_scsc.errors import FileFormatError, RunInterrupted, UserError
    from napari_scsc.learning.api import iter_learn, learn
    from napari_scsc.model.bank import FilterBank
    from napari_scsc.model.general_banks import general_bank
    from napari_scsc.model.lattice import LatticeSCSC
    from napari_scsc.model.scsc import SCSC
    from napari_scsc.model.settings import Relative
    from napari_scsc.model.updates import Code, SampleUpdate, ZeroCodeWarning
    from napari_scsc.noise.model import Noise
    from napari_scsc.plugin.session import open
    from napari_scsc.restore.api import (
        denoise,
        encode,
        estimate_noise,
        inpaint,
        iter_denoise,
        iter_encode,
        iter_inpaint,
    )
    from napari_scsc.restore.audit import Audit, AuditedRegion, audit
    from napari_scsc.restore.bank_fit import BankFit, TileFit, bank_fit
    from napari_scsc.restore.codes import CodedBlock, Codes, open_codes
    from napari_scsc.restore.explain import Explanation, explain
    from napari_scsc.restore.personal_dictionary import PersonalDictionary, explain_group
    from napari_scsc.restore.recipe import Recipe
    from napari_scsc.run.origin import Origin
    from napari_scsc.run.partial import Output
    from napari_scsc.run.updates import (
        BlocksDone,
        Finished,
        FirstLook,
        NoiseFound,
        RegionRestored,
        RestorationWarning,
        RestoreUpdate,
        TileLearned,
    )

# Where the names live. They are looked up when they are used: napari asks every plugin for
# something at its start, and should not have to wait for FFTs and compilers.
_HOMES = {
    "Audit": "restore.audit",
    "AuditedRegion": "restore.audit",
    "Axes": "data.axes",
    "BankFit": "restore.bank_fit",
    "BlocksDone": "run.updates",
    "Cancellation": "cancellation",
    "Cancelled": "cancellation",
    "Code": "model.updates",
    "CodedBlock": "restore.codes",
    "Codes": "restore.codes",
    "Explanation": "restore.explain",
    "FileFormatError": "errors",
    "FilterBank": "model.bank",
    "Finished": "run.updates",
    "FirstLook": "run.updates",
    "LatticeSCSC": "model.lattice",
    "Noise": "noise.model",
    "NoiseFound": "run.updates",
    "Origin": "run.origin",
    "Output": "run.partial",
    "PersonalDictionary": "restore.personal_dictionary",
    "Recipe": "restore.recipe",
    "RegionRestored": "run.updates",
    "Relative": "model.settings",
    "RestorationWarning": "run.updates",
    "RestoreUpdate": "run.updates",
    "RunInterrupted": "errors",
    "SCSC": "model.scsc",
    "SampleUpdate": "model.updates",
    "TileFit": "restore.bank_fit",
    "TileLearned": "run.updates",
    "UserError": "errors",
    "ZeroCodeWarning": "model.updates",
    "audit": "restore.audit",
    "bank_fit": "restore.bank_fit",
    "denoise": "restore.api",
    "encode": "restore.api",
    "estimate_noise": "restore.api",
    "explain": "restore.explain",
    "explain_group": "restore.personal_dictionary",
    "general_bank": "model.general_banks",
    "inpaint": "restore.api",
    "iter_denoise": "restore.api",
    "iter_encode": "restore.api",
    "iter_inpaint": "restore.api",
    "iter_learn": "learning.api",
    "learn": "learning.api",
    "open": "plugin.session",
    "open_codes": "restore.codes",
}


def __getattr__(name: str) -> Any:
    if name == "samples":  # a module of the public interface, which lies in another room
        return importlib.import_module(f"{__name__}.data.synthetic")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "SCSC",
    "Audit",
    "AuditedRegion",
    "Axes",
    "BankFit",
    "BlocksDone",
    "Cancellation",
    "Cancelled",
    "Code",
    "CodedBlock",
    "Codes",
    "Explanation",
    "FileFormatError",
    "FilterBank",
    "Finished",
    "FirstLook",
    "LatticeSCSC",
    "Noise",
    "NoiseFound",
    "Origin",
    "Output",
    "PersonalDictionary",
    "Recipe",
    "RegionRestored",
    "Relative",
    "RestorationWarning",
    "RestoreUpdate",
    "RunInterrupted",
    "SampleUpdate",
    "TileFit",
    "TileLearned",
    "UserError",
    "ZeroCodeWarning",
    "__version__",
    "audit",
    "bank_fit",
    "denoise",
    "encode",
    "estimate_noise",
    "explain",
    "explain_group",
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
