"""The settings of ``SCSC``: its arguments, checked once, when they arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from napari_scsc.checks import check_choice, check_float, check_int
from napari_scsc.choices import BALLS
from napari_scsc.errors import UserError, UserTypeError
from napari_scsc.model.solver.orthonormal_step import check_count
from napari_scsc.model.solver.prox import Ball

Weights = Literal["sample", "shared", "identity"]
Constraint = Literal["orthonormal", "ball"]

DEFAULT_FORGET: dict[Constraint, float] = {"orthonormal": 0.3, "ball": 0.0}
"""Codes of earlier filters are worth less; the paper keeps all."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A beta given as a share of the smallest beta that makes a sample's code all zero.

    Attributes
    ----------
    share : float
        Above 0 and below 1; 0.1 is a good start.
    """

    share: float

    def __post_init__(self) -> None:
        check_float("share", self.share, above=0, below=1)


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of ``SCSC``, which describes them, with the types that they should have."""

    n_base: int
    n_filters: int
    filter_shape: tuple[int, ...]
    n_joint: int
    beta: float | Relative
    ball: Ball
    radius: float
    weights: Weights
    filters: Constraint
    max_iter: int
    tol: float
    forget: float
    seed: int
    dtype: Literal["float32", "float64"]

    def __post_init__(self) -> None:
        check_choice("ball", self.ball, BALLS)
        check_choice("weights", self.weights, ("sample", "shared", "identity"))
        check_choice("filters", self.filters, ("orthonormal", "ball"))
        check_choice("dtype", self.dtype, ("float32", "float64"))
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
        if self.filters == "orthonormal" and self.n_joint == 0:
            check_count(self.n_base, (), self.filter_shape)
        if self.weights == "identity" and self.n_filters != self.n_base:
            raise UserError(
                "must equal n_base where weights are the identity, for then the base filters are "
                f"the filters, but they are {self.n_filters} and {self.n_base}",
                argument="n_filters",
            )

    @property
    def real(self) -> np.dtype[Any]:
        """The type of all real arrays."""
        return np.dtype(self.dtype)

    def arguments(self) -> dict[str, Any]:
        """What ``SCSC`` takes to have these settings."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold; ``arguments_from_json`` undoes it."""
        return asdict(self)


def arguments_from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that ``Settings.to_json`` wrote down."""
    known = {field.name for field in fields(Settings)}
    for name in values:
        if name not in known:
            raise UserError(f"the settings hold {name!r}, which is not an argument of SCSC")
    arguments = dict(values)
    if arguments:  # written before there was a choice
        arguments.setdefault("filters", "ball")
    if isinstance(arguments.get("beta"), dict):
        arguments["beta"] = Relative(**arguments["beta"])
    return arguments


def filter_lengths(value: Any) -> tuple[int, ...]:
    """Return the argument ``filter_shape`` as 1 to 4 lengths, or raise."""
    try:
        lengths = tuple(value)
    except TypeError:
        raise UserTypeError(
            f"must be a tuple of lengths, but is {value!r}", argument="filter_shape"
        ) from None
    if not 1 <= len(lengths) <= 4:
        raise UserError(f"must have 1 to 4 lengths, but is {lengths!r}", argument="filter_shape")
    try:
        return tuple(check_int("filter_shape", n, 1) for n in lengths)
    except UserError as error:
        text = f"must hold whole numbers from 1 on, but is {lengths!r}"
        raise type(error)(text, argument="filter_shape") from None
