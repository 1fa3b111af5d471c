"""The state of ``SCSC``: all that learning changes, and the checkpoint it is kept in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_scsc.__about__ import __version__
from napari_scsc._types import Array
from napari_scsc.checks import check_float, check_int
from napari_scsc.errors import FileFormatError, UserError
from napari_scsc.model import container
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.container import reporting_damage
from napari_scsc.model.rotation import readable_rotation
from napari_scsc.model.settings import Settings, arguments_from_json
from napari_scsc.model.solver.filter_step import FilterStep, project_filters
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.orthonormal_step import LagHistory, OrthonormalStep
from napari_scsc.model.solver.problem import Geometry
from napari_scsc.model.solver.prox import Ball, project_columns

_FILE_KIND = "napari-scsc checkpoint"
_FILE_VERSION = 1
_NOTED = "noted "  # begins the names of arrays that are kept for others


@dataclass
class State:
    """The filters with their step, the history, and the mean of the samples' weights.

    ``rotation`` (R, R) is the one in which they are shown; None: as they are. ``used_weights``
    (R, K), from which it follows, is the mean of the weights, each column by its use.
    """

    step: FilterStep | OrthonormalStep
    history: History | LagHistory
    mean_weights: Array | None
    rotation: Array | None = None
    used_weights: Array | None = None
    n_seen: int = 0
    seconds: float = 0.0

    @classmethod
    def first(cls, settings: Settings, x: Array, bank: FilterBank | None) -> State:
        """The state before the first sample, whose shape it takes on.

        The filters are random, or those of a bank.
        """
        joint = x.shape[: settings.n_joint]
        geometry = Geometry(joint, x.shape[settings.n_joint :], settings.filter_shape)
        if bank is None:
            weights = first_weights(settings)
            rng = np.random.default_rng([settings.seed, 0])
            filters = rng.standard_normal((settings.n_base, *joint, *settings.filter_shape))
            length = np.linalg.norm(filters.reshape(len(filters), -1), axis=1)
            filters = filters / length.reshape(-1, *[1] * (filters.ndim - 1))
        else:
            check_joint(x, bank.joint)
            filters = bank.filters
            weights = starting_weights(settings, bank)
        step, history = _first_step(settings, geometry, filters)
        if weights is not None and settings.filters == "orthonormal" and bank is not None:
            # Other base filters of the same span: the composed filters stay what they were.
            rows, before = (f.reshape(len(f), -1) for f in (step.filters, filters))
            weights = project_columns(
                (rows @ before.T @ weights).astype(settings.real), settings.ball, settings.radius
            )
        return cls(step, history, weights)

    def take_in(
        self, terms: tuple[Array, Array], weights: Array | None, use: Array, forget: float
    ) -> None:
        """Take one more sample into the history, and its weights into their running means."""
        self.history.update([terms], forget)
        self.n_seen += 1
        if self.mean_weights is not None and weights is not None:
            share = weights.dtype.type(1 / self.history.count)
            self.mean_weights = self.mean_weights + share * (weights - self.mean_weights)
            if isinstance(self.history, LagHistory):
                used = weights * np.sqrt(use)
                before = np.zeros_like(used) if self.used_weights is None else self.used_weights
                self.used_weights = before + (used - before) / self.history.count

    def update_filters(self, ball: Ball) -> None:
        """Compute the filters from the history, and how they are shown.

        There is a choice only where the ball of the weights is round.
        """
        shown = None if self.rotation is None else self.rotated(self.step.filters)
        # Both are of the same constraint: what makes the one makes the other.
        self.step.update(self.history)  # type: ignore[arg-type]
        if isinstance(self.history, LagHistory) and ball == "l2" and self.used_weights is not None:
            self.rotation = readable_rotation(
                self.used_weights, self.history.moments, self.step.filters, shown
            )

    def rotated(self, array: Array) -> Array:
        """A copy of filters (R, ...) or weights (R, K) as they are shown."""
        if self.rotation is None:
            return array.copy()
        return np.tensordot(self.rotation, array, axes=1).astype(array.dtype)

    def save(
        self,
        path: str | os.PathLike[str],
        settings: Settings,
        notes: Mapping[str, Any] | None = None,
        noted: Mapping[str, Array] | None = None,
    ) -> None:
        """Write a checkpoint, complete or not at all; notes and noted arrays are kept with it."""
        header: dict[str, Any] = {
            "settings": settings.to_json(),
            "joint": self.step.geometry.joint,
            "n_seen": self.n_seen,
            "count": self.history.count,
            "seconds": self.seconds,
            "written_by": f"napari-scsc {__version__}",
        }
        arrays = {"filters": self.step.filters, **self.history.arrays()}
        if isinstance(self.step, FilterStep):
            header["shift"] = self.step.geometry.shift
            header["rho"] = self.step.rho
            arrays["dual"] = self.step.dual
        if self.mean_weights is not None:
            arrays["weights"] = self.mean_weights
        if self.rotation is not None:
            arrays["rotation"] = self.rotation
        if self.used_weights is not None:
            arrays["used"] = self.used_weights
        if notes is not None:
            header["notes"] = dict(notes)
        arrays |= {_NOTED + name: array for name, array in (noted or {}).items()}
        container.write(path, _FILE_KIND, _FILE_VERSION, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> tuple[Settings, State]:
        """Read a checkpoint; FileFormatError says what is wrong with a file that is not one."""
        header, arrays = container.read(path, _FILE_KIND, _FILE_VERSION)
        with reporting_damage(path):
            settings = Settings(**arguments_from_json(header["settings"]))
            return settings, cls._from_file(settings, header, arrays)

    @staticmethod
    def notes(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
        """Read the notes and arrays that were kept with a checkpoint; empty if there are none."""
        header, arrays = container.read(path, _FILE_KIND, _FILE_VERSION)
        with reporting_damage(path):
            noted = {n.removeprefix(_NOTED): a for n, a in arrays.items() if n.startswith(_NOTED)}
            return dict(header.get("notes", {})), noted

    @classmethod
    def _from_file(
        cls, settings: Settings, header: dict[str, Any], arrays: dict[str, Array]
    ) -> State:
        geometry = Geometry(
            tuple(check_int("joint", n, 1) for n in header["joint"]),
            # Only a history of spectra depends on the size of samples.
            tuple(check_int("shift", n, 1) for n in header["shift"])
            if settings.filters == "ball"
            else settings.filter_shape,
            settings.filter_shape,
        )
        if (len(geometry.joint), len(geometry.shift)) != (settings.n_joint, len(geometry.support)):
            raise FileFormatError("the shape of its samples does not fit its settings")
        # Compared before anything is allocated, or any length searched for: a header alone must
        # cost neither memory nor time.
        if settings.filters == "ball":
            box = arrays["dual"].shape[2:]
            if len(box) != len(geometry.reach) or any(
                n > length for n, length in zip(geometry.reach, box, strict=True)
            ):
                raise FileFormatError("its samples do not fit its arrays")
        expected = {"filters": (settings.n_base, *geometry.joint, *geometry.support)}
        expected |= _shapes_of_history(settings, geometry)
        if settings.weights != "identity":
            expected["weights"] = (settings.n_base, settings.n_filters)
        if "rotation" in arrays:
            expected["rotation"] = (settings.n_base, settings.n_base)
        if "used" in arrays:
            expected["used"] = (settings.n_base, settings.n_filters)
        for name, shape in expected.items():
            if arrays[name].shape != shape:
                raise FileFormatError(f"{name} has the shape {arrays[name].shape}, not {shape}")
            if (arrays[name].dtype.kind == "c") != (name in ("h", "g")):
                raise FileFormatError(f"{name} holds {arrays[name].dtype}")
        step, history = _first_step(settings, geometry, arrays["filters"])
        step.filters = arrays["filters"].astype(settings.real)  # to the bit
        if isinstance(step, FilterStep):
            step.dual = arrays["dual"].astype(settings.real)
            step.rho = check_float("rho", header["rho"], least=0)
        for name, empty in history.arrays().items():
            setattr(history, name, arrays[name].astype(empty.dtype))
        history.count = check_float("count", header["count"], least=0)
        return cls(
            step=step,
            history=history,
            mean_weights=arrays["weights"].astype(settings.real) if "weights" in expected else None,
            rotation=arrays.get("rotation"),
            used_weights=arrays.get("used"),
            n_seen=check_int("n_seen", header["n_seen"], 0, 1 << 53),
            seconds=check_float("seconds", header["seconds"], least=0),
        )


def _first_step(
    settings: Settings, geometry: Geometry, filters: Array
) -> tuple[FilterStep | OrthonormalStep, History | LagHistory]:
    """The filters brought into their constraint, and an empty history that suits them."""
    real = settings.real
    if settings.filters == "orthonormal":
        history = LagHistory(settings.n_base, geometry, real)
        return OrthonormalStep(filters, geometry, real), history
    step = FilterStep(project_filters(filters), geometry, real)
    return step, History(settings.n_base, geometry, real)


def _shapes_of_history(settings: Settings, geometry: Geometry) -> dict[str, tuple[int, ...]]:
    """The arrays of a checkpoint that depend on what the filters may be."""
    n_base, n_joint = settings.n_base, geometry.n_joint
    if settings.filters == "orthonormal":
        return {
            "lags": (n_base, n_base, *(2 * h - 1 for h in geometry.support)),
            "cross": (n_base, n_joint, *geometry.support),
        }
    return {
        "dual": (n_base, n_joint, *geometry.box),
        "h": (n_base, n_base, geometry.n_frequencies),
        "g": (n_base, n_joint, geometry.n_frequencies),
    }


def first_weights(settings: Settings) -> Array | None:
    """Random weights (R, K) on the ball, to code the first sample from; None for the identity."""
    if settings.weights == "identity":
        return None
    rng = np.random.default_rng([settings.seed, 1])
    weights = rng.standard_normal((settings.n_base, settings.n_filters))
    weights *= settings.radius / np.linalg.norm(weights, axis=0)
    return project_columns(weights, settings.ball, settings.radius).astype(settings.real)


def starting_weights(settings: Settings, bank: FilterBank) -> Array | None:
    """Where coding with a bank starts: at its weights, brought into the ball of the settings."""
    if settings.weights == "identity" or bank.weights is None:
        return first_weights(settings)
    weights = bank.weights.astype(settings.real)
    return project_columns(weights, settings.ball, settings.radius)


def check_joint(x: Array, joint: tuple[int, ...]) -> None:
    """Refuse a sample whose joint axes are not those of the filters."""
    if x.shape[: len(joint)] != joint:
        raise UserError(
            f"the filters span joint axes of lengths {joint}, "
            f"but the sample has the shape {x.shape}"
        )


def fit_into(geometry: Geometry, x: Array, mask: Array | None) -> tuple[Array, Array | None]:
    """A sample and its mask in the shape of the first one: what it lacks is missing data."""
    check_joint(x, geometry.joint)
    shift = x.shape[len(geometry.joint) :]
    if shift == geometry.shift:
        return x, mask
    if any(n > m for n, m in zip(shift, geometry.shift, strict=True)):
        raise UserError(
            f"the sample has the shape {x.shape}, but learning began with {geometry.shift} on the "
            "shift axes: a later sample may be smaller, not larger",
            remedy="cut it into tiles",
        )
    missing = [(0, 0)] * len(geometry.joint)
    missing += [(0, m - n) for n, m in zip(shift, geometry.shift, strict=True)]
    known = np.ones(x.shape, bool) if mask is None else np.broadcast_to(mask, x.shape)
    return np.pad(x, missing), np.pad(known, missing)
