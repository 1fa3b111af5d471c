"""What ``learn`` and ``iter_learn`` can be told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

from napari_scsc.checks import check_choice, check_float, check_int, check_seed
from napari_scsc.choices import BALLS, DRAWS, MODELS
from napari_scsc.data.axes import Axes
from napari_scsc.errors import Remedy, UserError, UserTypeError
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.settings import filter_lengths
from napari_scsc.model.solver.prox import Ball


class LearnKeywords(TypedDict, total=False):
    """The fields of ``LearnOptions``, for type checkers."""

    kind: str | None
    axes: str | Sequence[str] | Axes | None
    bank: FilterBank | None
    n_base: int | None
    filter_shape: Sequence[int] | None
    sigma: float | None
    tiles: int | Literal["auto"] | None
    draw: str
    passes: int
    model: str
    n_filters: int | None
    beta: float | None
    ball: Ball
    seed: int
    rng: Any
    batch: int
    n_jobs: int | None
    checkpoint: str | os.PathLike[str] | None
    every: int | None
    every_seconds: float | None
    resume: bool


@dataclass(frozen=True, kw_only=True)
class LearnOptions:
    """The options of learning, checked.

    Parameters
    ----------
    kind : str, optional
        "image", "rgb", "video", "stack", "multispectral", "light-field" or "time-lapse".
        Guessed from labels and shape where that is possible.
    axes : str, sequence of str or Axes, optional
        Labels of the axes in the images' own order, such as "yxc", or "tczyx", of which each time
        point and channel is by itself. "n" is any axis whose positions are, and may occur several
        times. A role can stand after a label, as in "t, c:joint, z, y, x": ``slide``, ``joint`` or
        ``separate``. ``Axes`` says all of it.
    bank : FilterBank, optional
        Filters to go on from, learned by this function or ``LatticeSCSC``.
    n_base : int, optional
        R, the number of base filters. Without it, those that stand above the noise.
    filter_shape : tuple of int, optional
        Lengths of the filters on the shift axes. Without it, what suits the kind of data.
    sigma : float, optional
        Noise level in the units of the images; estimated for each unless given.
    tiles : int, "auto" or None
        How many tiles of an image are learned from. "auto": those that ``denoise`` learns from,
        a few from anywhere in the image. A number: up to so many, read chunk by chunk. None: all.
    draw : {"uniform", "structure"}
        "uniform": each tile is as likely as any other. "structure": of those that are in memory
        anyway, tiles that hold more than noise are more likely.
    passes : int
        How often to go through the tiles.
    model : {"patches", "scsc", "ocsc"}
        "patches": the filters of ``LatticeSCSC``, in which patches vary most; quick. "scsc": the
        convolutional filters of ``SCSC``, few of which each sample mixes into many of its own;
        they take seconds, show what an image is made of, and ``encode`` needs them. Filters of
        either model restore equally well. "ocsc": those of the paper's predecessor, without
        weights.
    n_filters : int, optional
        K, the number of filters that a sample has; of the model "scsc" only.
    beta : float, optional
        Price of the code in noise levels of the image (0.8 for "scsc", which learns from denoised
        tiles; 4 for "ocsc"); of these two models only.
    ball : {"l2", "l1"}
        The ball of the weights of the model "scsc"; see ``SCSC``.
    seed : int, optional
        The same seed gives the same filters. 0 unless given.
    rng : int, numpy.random.Generator, SeedSequence or BitGenerator, optional
        Instead of ``seed``, as in SciPy: a number is the seed, anything else draws one. Unlike
        there, None is the seed 0.
    batch : int
        How many tiles are coded, at the same time, before the filters are updated.
    n_jobs : int, optional
        Threads that code the tiles of a batch. Unless given, the workers of the dask.distributed
        client that is active, if there is one, or else as many threads as there are cores. The
        result does not depend on it.
    checkpoint : path, optional
        A file in which the state is kept while learning, and after it.
    every : int, optional
        The checkpoint is written after so many tiles,
    every_seconds : float, optional
        or after so many seconds, whichever comes first.
    resume : bool
        Whether to go on from the checkpoint, if it is there: with the same arguments the result
        has the same bits as if learning had not stopped.
    """

    kind: str | None = None
    axes: str | Sequence[str] | Axes | None = None
    bank: FilterBank | None = None
    n_base: int | None = None
    filter_shape: Sequence[int] | None = None
    sigma: float | None = None
    tiles: int | Literal["auto"] | None = "auto"
    draw: str = "uniform"
    passes: int = 1
    model: str = "patches"
    n_filters: int | None = None
    beta: float | None = None
    ball: Ball = "l2"
    seed: int = None  # type: ignore[assignment]  # once checked, a number
    rng: Any = None
    batch: int = 1
    n_jobs: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    every: int | None = 50
    every_seconds: float | None = 60.0
    resume: bool = False

    def __post_init__(self) -> None:
        if self.bank is not None and not isinstance(self.bank, FilterBank):
            raise UserTypeError(
                f"must be a FilterBank, but is a {type(self.bank).__name__}", argument="bank"
            )
        self._check_numbers()
        check_choice("draw", self.draw, DRAWS)
        check_choice("model", self.model, MODELS)
        check_choice("ball", self.ball, BALLS)
        self._check_what_belongs_to_the_model()
        if self.filter_shape is not None:
            object.__setattr__(self, "filter_shape", filter_lengths(self.filter_shape))

    def _check_numbers(self) -> None:
        object.__setattr__(self, "seed", check_seed(self.seed, self.rng))
        object.__setattr__(self, "rng", None)  # a generator would draw again for a copy
        least = {"passes": 1, "batch": 1}
        for name in ("n_base", "n_filters", "n_jobs", "every", *least):
            value = getattr(self, name)
            if value is not None or name in least:
                object.__setattr__(self, name, check_int(name, value, least.get(name, 1)))
        if self.tiles not in ("auto", None):
            object.__setattr__(self, "tiles", check_int("tiles", self.tiles, 1))
        for name in ("sigma", "beta"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_float(name, value, above=0))
        if self.every_seconds is not None:
            check_float("every_seconds", self.every_seconds, least=0)

    def _check_what_belongs_to_the_model(self) -> None:
        owners = {"n_filters": ("scsc",), "beta": ("scsc", "ocsc")}
        for name, models in owners.items():
            if getattr(self, name) is not None and self.model not in models:
                raise UserError(
                    "belongs to the convolutional model",
                    argument=name,
                    remedy=Remedy.CHOOSE_SCSC_MODEL,
                )
        if self.bank is None:
            return
        for name in ("n_base", "filter_shape", "n_filters"):
            if getattr(self, name) is not None:
                raise UserError(
                    "is that of the bank: leave it out, or learn without bank", argument=name
                )

    def fingerprint(self) -> dict[str, Any]:
        """The options that the learned filters depend on, apart from images and bank."""
        others = (
            "kind",
            "axes",
            "bank",
            "rng",
            "n_jobs",
            "checkpoint",
            "every",
            "every_seconds",
            "resume",
        )
        names = (field.name for field in fields(self))
        return {name: getattr(self, name) for name in names if name not in others}
