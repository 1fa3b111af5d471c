"""How far learning is, kept in a file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_scsc.checks import check_float, check_int
from napari_scsc.errors import PathExistsError, PathNotFoundError, Remedy, UserError
from napari_scsc.learning.models import MODELS, LearnableModel
from napari_scsc.learning.plan import LearnPlan
from napari_scsc.model.container import reporting_damage
from napari_scsc.model.lattice import LatticeSCSC
from napari_scsc.model.scsc import SCSC
from napari_scsc.noise.model import Noise


@dataclass
class LearningState:
    """What is known of the images of a plan, and how far learning is.

    Attributes
    ----------
    model : LearnableModel
        What was learned.
    noises : list of Noise
        The noise of each image.
    peak : float
        Range of the first tiles in learning values, in dB: PSNR is understood as relative to it.
    n_drawn, n_learned : int
        Tiles that were drawn, and those of them that were learned from.
    """

    model: LearnableModel
    noises: list[Noise]
    peak: float
    n_drawn: int = 0
    n_learned: int = 0


class Checkpoint:
    """Writes the state of learning to a file when it is time to, and reads it."""

    def __init__(self, plan: LearnPlan) -> None:
        options = plan.options
        assert options.checkpoint is not None
        self.path = Path(options.checkpoint)
        self._plan = plan
        self._every, self._every_seconds = options.every, options.every_seconds
        self._written_at, self._time = -1, time.monotonic()
        self.state: LearningState | None = None
        """How far an earlier run came, if there was one."""
        if not self.path.absolute().parent.is_dir():
            raise PathNotFoundError("there is no folder for the checkpoint", path=self.path)
        if self.path.exists() and not options.resume:
            raise PathExistsError("holds a run already", path=self.path, remedy=Remedy.RESUME)
        self._fingerprint = plan.fingerprint()
        if self.path.exists():
            self.state = self._read()

    def write(self, state: LearningState, at_once: bool = False) -> None:
        """Write the state if it is time to, or at once if it has changed."""
        if state.n_learned == 0 or state.n_drawn == self._written_at:
            return
        tiles = state.n_drawn - max(self._written_at, 0)
        seconds = time.monotonic() - self._time
        if not (
            at_once
            or (self._every is not None and tiles >= self._every)
            or (self._every_seconds is not None and seconds >= self._every_seconds)
        ):
            return
        notes = {
            "request": self._fingerprint,
            "noises": [noise.to_json() for noise in state.noises],
            "peak": state.peak,
            "drawn": state.n_drawn,
            "n_learned": state.n_learned,
        }
        state.model.write_checkpoint(self.path, notes)
        self._written_at, self._time = state.n_drawn, time.monotonic()

    def _read(self) -> LearningState:
        plan, path = self._plan, self.path
        learner = LatticeSCSC if plan.options.model == "patches" else SCSC
        notes, _ = learner.notes(path)
        with reporting_damage(path):
            written = dict(notes["request"])
        wanted = self._fingerprint
        others = [name for name in wanted if written.get(name) != wanted[name]]
        if others:
            differences = ", ".join(_describe_difference(n, written, wanted) for n in others)
            raise UserError(
                f"is the checkpoint of another job, for which {differences}",
                path=path,
                remedy=Remedy.RESUME_WITH_SAME_ARGUMENTS,
            )
        with reporting_damage(path):
            self._written_at = check_int("drawn", notes["drawn"], 1, plan.n_tiles)
            return LearningState(
                model=MODELS[plan.options.model].resume(plan, path),
                noises=[Noise.from_json(noise) for noise in notes["noises"]],
                peak=check_float("peak", notes["peak"]),
                n_drawn=self._written_at,
                n_learned=check_int("n_learned", notes["n_learned"], 1),
            )


def _describe_difference(name: str, written: dict[str, Any], wanted: dict[str, Any]) -> str:
    if name in ("images", "chunks", "bank", "values"):
        return f"the {name} differed"
    return f"{name} was {written.get(name)!r} and not {wanted[name]!r}"
