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
from napari_scsc.model.settings import Settings, arguments_from_json
from napari_scsc.model.solver.filter_step import FilterStep, project_filters
from napari_scsc.model.solver.history import History
from napari_scsc.model.solver.problem import Geometry
from napari_scsc.model.solver.prox import project_columns

_FILE_KIND = "napari-scsc checkpoint"
_FILE_VERSION = 1


@dataclass
class State:
    """The filters with their dual variable, the history, and the mean of the samples' weights."""

    step: FilterStep
    history: History
    mean_weights: Array | None
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
        return cls(
            step=FilterStep(project_filters(filters), geometry, settings.real),
            history=History(
                settings.n_base, geometry.n_joint, geometry.n_frequencies, settings.real
            ),
            mean_weights=weights,
        )

    def count(self, weights: Array | None) -> None:
        """Count one more sample, and take its weights into their running mean."""
        self.n_seen += 1
        if self.mean_weights is not None and weights is not None:
            share = weights.dtype.type(1 / self.n_seen)
            self.mean_weights = self.mean_weights + share * (weights - self.mean_weights)

    def save(
        self,
        path: str | os.PathLike[str],
        settings: Settings,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a checkpoint, complete or not at all; ``notes`` are kept with it."""
        header: dict[str, Any] = {
            "settings": settings.to_json(),
            "joint": self.step.geometry.joint,
            "shift": self.step.geometry.shift,
            "n_seen": self.n_seen,
            "count": self.history.count,
            "rho": self.step.rho,
            "seconds": self.seconds,
            "written_by": f"napari-scsc {__version__}",
        }
        arrays = {
            "filters": self.step.filters,
            "dual": self.step.dual,
            "h": self.history.h,
            "g": self.history.g,
        }
        if self.mean_weights is not None:
            arrays["weights"] = self.mean_weights
        if notes is not None:
            header["notes"] = dict(notes)
        container.write(path, _FILE_KIND, _FILE_VERSION, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> tuple[Settings, State]:
        """Read a checkpoint; FileFormatError says what is wrong with a file that is not one."""
        header, arrays = container.read(path, _FILE_KIND, _FILE_VERSION)
        with reporting_damage(path):
            settings = Settings(**arguments_from_json(header["settings"]))
            return settings, cls._from_file(settings, header, arrays)

    @staticmethod
    def notes(path: str | os.PathLike[str]) -> dict[str, Any]:
        """Read the notes that were kept with a checkpoint; empty if there are none."""
        header, _ = container.read(path, _FILE_KIND, _FILE_VERSION)
        with reporting_damage(path):
            return dict(header.get("notes", {}))

    @classmethod
    def _from_file(
        cls, settings: Settings, header: dict[str, Any], arrays: dict[str, Array]
    ) -> State:
        geometry = Geometry(
            tuple(check_int("joint", n, 1) for n in header["joint"]),
            tuple(check_int("shift", n, 1) for n in header["shift"]),
            settings.filter_shape,
        )
        if (len(geometry.joint), len(geometry.shift)) != (settings.n_joint, len(geometry.support)):
            raise FileFormatError("the shape of its samples does not fit its settings")
        # Compared before anything is allocated, or any length searched for: a header alone must
        # cost neither memory nor time.
        box = arrays["dual"].shape[2:]
        if len(box) != len(geometry.reach) or any(
            n > length for n, length in zip(geometry.reach, box, strict=True)
        ):
            raise FileFormatError("its samples do not fit its arrays")
        expected = {
            "filters": (settings.n_base, *geometry.joint, *geometry.support),
            "dual": (settings.n_base, geometry.n_joint, *geometry.box),
            "h": (settings.n_base, settings.n_base, geometry.n_frequencies),
            "g": (settings.n_base, geometry.n_joint, geometry.n_frequencies),
        }
        if settings.weights != "identity":
            expected["weights"] = (settings.n_base, settings.n_filters)
        for name, shape in expected.items():
            if arrays[name].shape != shape:
                raise FileFormatError(f"{name} has the shape {arrays[name].shape}, not {shape}")
            if (arrays[name].dtype.kind == "c") != (name in ("h", "g")):
                raise FileFormatError(f"{name} holds {arrays[name].dtype}")
        step = FilterStep(arrays["filters"], geometry, settings.real)
        step.dual = arrays["dual"].astype(settings.real)
        step.rho = check_float("rho", header["rho"], least=0)
        history = History(0, 0, 0, settings.real)
        history.h = arrays["h"].astype(history.h.dtype)
        history.g = arrays["g"].astype(history.g.dtype)
        history.count = check_float("count", header["count"], least=0)
        return cls(
            step=step,
            history=history,
            mean_weights=arrays["weights"].astype(settings.real) if "weights" in expected else None,
            n_seen=check_int("n_seen", header["n_seen"], 0, 1 << 53),
            seconds=check_float("seconds", header["seconds"], least=0),
        )


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
