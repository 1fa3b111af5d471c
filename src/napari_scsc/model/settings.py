"""The arguments of the learner: checked once, when they arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from napari_scsc.checks import check_choice, check_float, check_int
from napari_scsc.model.solver.prox import Ball

Weights = Literal["sample", "shared", "identity"]


@dataclass(frozen=True, slots=True)
class Relative:
    """A beta given as a share of the smallest beta that makes a sample's code all zero."""

    share: float

    def __post_init__(self) -> None:
        check_float("the share of a relative beta", self.share, above=0, below=1)


@dataclass(frozen=True, slots=True)
class Settings:
    """See ``SCSC``, whose arguments these are."""

    n_base: int
    n_filters: int
    filter_shape: tuple[int, ...]
    n_joint: int
    beta: float | Relative
    ball: Ball
    radius: float
    weights: Weights
    max_iter: int
    tol: float
    forget: float
    seed: int
    dtype: Literal["float32", "float64"]

    def __post_init__(self) -> None:
        checked = {
            "n_base": check_int("n_base", self.n_base, 1, 10_000),
            "n_filters": check_int("n_filters", self.n_filters, 1, 1_000_000),
            "filter_shape": filter_lengths(self.filter_shape),
            "n_joint": check_int("n_joint", self.n_joint, 0),
            "radius": check_float("radius", self.radius, above=0),
            "max_iter": check_int("max_iter", self.max_iter, 1),
            "tol": check_float("tol", self.tol, least=0),
            "forget": check_float("forget", self.forget, least=0, below=1),
            "seed": check_int("seed", self.seed, 0),
        }
        if not isinstance(self.beta, Relative):
            checked["beta"] = check_float("beta", self.beta, above=0)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        check_choice("ball", self.ball, ("l2", "l1"))
        check_choice("weights", self.weights, ("sample", "shared", "identity"))
        check_choice("dtype", self.dtype, ("float32", "float64"))
        if self.weights == "identity" and self.n_filters != self.n_base:
            raise ValueError(
                'with weights="identity" the base filters are the filters: n_filters must equal '
                f"n_base, but they are {self.n_filters} and {self.n_base}"
            )

    @property
    def real(self) -> np.dtype[Any]:
        """The type of all real arrays."""
        return np.dtype(self.dtype)

    def arguments(self) -> dict[str, Any]:
        """What ``SCSC`` takes to have these settings."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_json(self) -> dict[str, Any]:
        """Only what JSON can hold."""
        return asdict(self)


def from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that ``Settings.to_json`` wrote down."""
    known = {field.name for field in fields(Settings)}
    for name in values:
        if name not in known:
            raise ValueError(f"the settings hold {name!r}, which is not an argument of SCSC")
    arguments = dict(values)
    if isinstance(arguments.get("beta"), dict):
        arguments["beta"] = Relative(**arguments["beta"])
    return arguments


def filter_lengths(value: Any) -> tuple[int, ...]:
    """Check the argument ``filter_shape``."""
    try:
        lengths = tuple(value)
    except TypeError:
        raise TypeError(f"filter_shape must be a tuple of lengths, but is {value!r}") from None
    if not 1 <= len(lengths) <= 4:
        raise ValueError(f"filter_shape must have 1 to 4 lengths, but is {lengths!r}")
    return tuple(check_int("each length of filter_shape", n, 1) for n in lengths)
