"""Interactive, multi-dimensional image restoration with sample-dependent sparse coding."""

from napari_scsc.__about__ import __version__
from napari_scsc.bank import FilterBank
from napari_scsc.files import FileFormatError
from napari_scsc.learner import SCSC
from napari_scsc.results import Code, Update, ZeroCodeWarning
from napari_scsc.settings import Relative

__all__ = [
    "SCSC",
    "Code",
    "FileFormatError",
    "FilterBank",
    "Relative",
    "Update",
    "ZeroCodeWarning",
    "__version__",
]
