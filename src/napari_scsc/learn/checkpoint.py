"""How far learning is, kept in a file."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from napari_scsc.checks import check_float, check_int
from napari_scsc.learn.models import MODELS, Lattice, Paper
from napari_scsc.learn.request import Request
from napari_scsc.model.container import reporting_damage
from napari_scsc.model.lattice import LatticeSCSC
from napari_scsc.model.scsc import SCSC
from napari_scsc.noise.model import Noise


@dataclass
class Progress:
    """What is known of a job, and how far it is."""

    model: Lattice | Paper
    noises: list[Noise]
    peak: float  # range of the first tiles, in dB above the noise
    drawn: int = 0
    n_learned: int = 0


class Keeper:
    """Writes the state of a job to a file, and reads it."""

    def __init__(
        self,
        request: Request,
        path: Path,
        every: int | None,
        every_seconds: float | None,
        resume: bool,
    ) -> None:
        self._request = request
        self._fingerprint = request.fingerprint()
        self.path = path
        self._every = None if every is None else check_int("every", every, 1)
        if every_seconds is not None:
            every_seconds = check_float("every_seconds", every_seconds, least=0)
        self._seconds = every_seconds
        self._kept, self._time = -1, time.monotonic()
        self._progress = None
        if not path.absolute().parent.is_dir():
            raise FileNotFoundError(f"there is no folder for the checkpoint {path}")
        if path.exists():
            if not resume:
                raise FileExistsError(
                    f"{path} holds a run already: go on with it (resume=True), or remove it"
                )
            self._progress = self._read()

    def progress(self) -> Progress | None:
        """How far an earlier run came, if there was one."""
        return self._progress

    def keep(self, progress: Progress, at_once: bool = False) -> None:
        """Write the state, if it is time to, or at once if it has changed."""
        if progress.n_learned == 0 or progress.drawn == self._kept:
            return
        tiles = progress.drawn - max(self._kept, 0)
        seconds = time.monotonic() - self._time
        if not (
            at_once
            or (self._every is not None and tiles >= self._every)
            or (self._seconds is not None and seconds >= self._seconds)
        ):
            return
        notes = {
            "request": self._fingerprint,
            "noises": [asdict(noise) for noise in progress.noises],
            "peak": progress.peak,
            "drawn": progress.drawn,
            "n_learned": progress.n_learned,
        }
        progress.model.checkpoint(self.path, notes)
        self._kept, self._time = progress.drawn, time.monotonic()

    def _read(self) -> Progress:
        request, path = self._request, self.path
        notes = SCSC.notes(path) if request.model == "paper" else LatticeSCSC.notes(path)[0]
        with reporting_damage(path):
            theirs = dict(notes["request"])
        mine = self._fingerprint
        others = [name for name in mine if theirs.get(name) != mine[name]]
        if others:
            raise ValueError(
                f"{path} is the checkpoint of another job, for which "
                f"{', '.join(_difference(name, theirs, mine) for name in others)}: "
                "resume with the same arguments, or choose another file"
            )
        with reporting_damage(path):
            self._kept = check_int("drawn", notes["drawn"], 1, request.total)
            return Progress(
                model=MODELS[request.model].resume(request, path),
                noises=[Noise(**{**n, "remarks": tuple(n["remarks"])}) for n in notes["noises"]],
                peak=check_float("peak", notes["peak"]),
                drawn=self._kept,
                n_learned=check_int("n_learned", notes["n_learned"], 1),
            )


def _difference(name: str, theirs: dict[str, Any], mine: dict[str, Any]) -> str:
    if name in ("images", "chunks", "bank"):
        return f"the {name} differed"
    return f"{name} was {theirs.get(name)!r} and not {mine[name]!r}"
