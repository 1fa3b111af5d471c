"""FilterBank: learned filters, with all that is needed to use them elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from napari_scsc.__about__ import __version__
from napari_scsc._types import Array
from napari_scsc.checks import check_choice, check_int
from napari_scsc.errors import UserError, UserTypeError
from napari_scsc.model import container
from napari_scsc.model.container import reporting_damage

_FILE_KIND = "napari-scsc filter bank"
_FILE_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class FilterBank:
    """Learned base filters, which never change: learners make banks, restoration uses them.

    Parameters
    ----------
    filters : ndarray, (R, *joint, *support)
        The base filters B; each has at most unit length over joint axes and support together.
    n_joint : int
        How many of the axes after the first are joint axes.
    weights : ndarray, (R, K), optional
        The mean of the samples' weights W: where the coding of a new sample starts.
    settings : mapping
        The arguments of the learner that made it.
    info : mapping
        Where it comes from: version, number of samples, and what else the maker wants to keep.
        Only what JSON can hold.

    Examples
    --------
    Two filters of 3 x 3 points over three colours:

    >>> import numpy as np
    >>> from napari_scsc import FilterBank
    >>> bank = FilterBank(np.ones((2, 3, 3, 3), np.float32) / 27**0.5, n_joint=1)
    >>> bank
    FilterBank(2 filters, 3 x 3 x 3, id ...)
    >>> bank.joint, bank.support
    ((3,), (3, 3))
    """

    filters: Array
    n_joint: int = 0
    weights: Array | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        filters = _read_only("filters", self.filters)
        weights = None if self.weights is None else _read_only("weights", self.weights)
        n_joint = check_int("n_joint", self.n_joint, 0)
        if not 1 <= filters.ndim - 1 - self.n_joint <= 4:
            raise UserError(
                f"of shape {filters.shape} with n_joint={self.n_joint} leave "
                f"{filters.ndim - 1 - self.n_joint} shift axes; allowed are 1 to 4",
                argument="filters",
            )
        if 0 in filters.shape:
            raise UserError(
                f"must not be empty, but their shape is {filters.shape}", argument="filters"
            )
        if weights is not None and (weights.ndim != 2 or len(weights) != len(filters)):
            raise UserError(
                f"must have the shape ({len(filters)}, K), but have {weights.shape}",
                argument="weights",
            )
        object.__setattr__(self, "n_joint", n_joint)
        object.__setattr__(self, "filters", filters)
        object.__setattr__(self, "weights", weights)
        for name in ("settings", "info"):
            object.__setattr__(self, name, MappingProxyType(_as_json(name, getattr(self, name))))

    def __repr__(self) -> str:
        lengths = " x ".join(map(str, self.filters.shape[1:]))
        return f"FilterBank({self.n_base} filters, {lengths}, id {self.id})"

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping proxy cannot be pickled
        arguments = (self.filters, self.n_joint, self.weights, dict(self.settings), dict(self.info))
        return FilterBank, arguments

    @property
    def n_base(self) -> int:
        """R, the number of base filters."""
        return len(self.filters)

    @property
    def support(self) -> tuple[int, ...]:
        """Lengths of the filters on the shift axes."""
        return self.filters.shape[1 + self.n_joint :]

    @property
    def joint(self) -> tuple[int, ...]:
        """Lengths of the joint axes."""
        return self.filters.shape[1 : 1 + self.n_joint]

    @property
    def is_of_patches(self) -> bool:
        """Whether ``LatticeSCSC`` learned it: its filters are patches, not to be convolved."""
        return self.info.get("learner") == "lattice"

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that name these very filters."""
        digest = hashlib.sha256(str((self.filters.shape, self.n_joint)).encode())
        digest.update(self.filters.astype("<f8").tobytes())
        return digest.hexdigest()[:16]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the bank to ``path`` (by custom ``*.scsc``); complete, or not at all.

        What is there already is replaced only with ``overwrite``; else it raises FileExistsError.
        """
        arrays = {"filters": self.filters}
        if self.weights is not None:
            arrays["weights"] = self.weights
        header = {
            "n_joint": self.n_joint,
            "settings": dict(self.settings),
            "info": {**self.info, "written_by": f"napari-scsc {__version__}"},
        }
        container.write(path, _FILE_KIND, _FILE_VERSION, header, arrays, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FilterBank:
        """Read a bank; FileFormatError says what is wrong with a file that is not one."""
        header, arrays = container.read(path, _FILE_KIND, _FILE_VERSION)
        with reporting_damage(path):
            return cls(
                filters=arrays["filters"],
                n_joint=header["n_joint"],
                weights=arrays.get("weights"),
                settings=header.get("settings", {}),
                info=header.get("info", {}),
            )

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold; ``from_json`` undoes it, to the bit."""
        return {
            "filters": _array_to_json(self.filters),
            "n_joint": self.n_joint,
            "weights": None if self.weights is None else _array_to_json(self.weights),
            "settings": dict(self.settings),
            "info": dict(self.info),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FilterBank:
        """The bank that ``to_json`` wrote down."""
        weights = values["weights"]
        return cls(
            filters=_array_from_json(values["filters"]),
            n_joint=values["n_joint"],
            weights=None if weights is None else _array_from_json(weights),
            settings=values["settings"],
            info=values["info"],
        )


def _array_to_json(array: Array) -> dict[str, Any]:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(little.tobytes()).decode()
    return {"dtype": little.dtype.str, "shape": list(array.shape), "data": data}


def _array_from_json(values: Mapping[str, Any]) -> Array:
    dtype = check_choice("dtype", values["dtype"], ("<f4", "<f8"))
    found = np.frombuffer(base64.b64decode(values["data"], validate=True), dtype)
    return found.reshape(values["shape"]).astype(dtype[1:])


def _as_json(argument: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what will be there after saving and loading: lists for tuples, and so on."""
    try:
        return dict(json.loads(json.dumps(dict(values), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise UserError(f"must hold only what JSON can: {error}", argument=argument) from None


def _read_only(argument: str, array: Array) -> Array:
    """A copy that cannot be written to, if all its values are finite floats."""
    copy = np.array(array, order="C")
    if copy.dtype not in (np.float32, np.float64):
        raise UserTypeError(f"must be float32 or float64, but are {copy.dtype}", argument=argument)
    if not np.isfinite(copy).all():
        raise UserError("hold NaN or infinite values", argument=argument)
    copy.flags.writeable = False
    return copy
