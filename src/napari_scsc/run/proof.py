"""Proof that another process computes the same: it sees the same image, and has the same code."""

from __future__ import annotations

import hashlib
import platform
import socket
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import napari_scsc
from napari_scsc.__about__ import __version__
from napari_scsc.data.fingerprint import digest_some
from napari_scsc.data.samples import ImageSamples
from napari_scsc.errors import UserError

_PACKAGES = ("numpy", "scipy", "numba", "pyfftw", "zarr")  # that results depend on
_MAX_PROVEN = 1000

Environment = dict[str, str]
"""Versions of all that results depend on, by name."""


@cache
def _digest_of_code() -> str:
    found = hashlib.blake2b(digest_size=8)
    folder = Path(napari_scsc.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if path.name != "_version.py":  # written when it is installed
            found.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()


@cache
def find_environment() -> Environment:
    """What this process computes with."""
    found = {"napari-scsc": __version__, "its code": _digest_of_code()}
    major, minor, _ = platform.python_version_tuple()
    found["Python"] = f"{major}.{minor}"
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def check_environment(theirs: Environment, ours: Environment, worker: str) -> None:
    """Refuse a worker that computes with other versions: its part of the result would differ."""
    others = [
        f"{name} {theirs.get(name, 'missing')} instead of {wanted}"
        for name, wanted in ours.items()
        if theirs.get(name) != wanted
    ]
    if others:
        raise UserError(
            f"the worker {worker} has {', '.join(others)}",
            remedy="install the same versions on all workers",
        )


_proven: set[Proof] = set()  # in this process


@dataclass(frozen=True)
class Proof:
    """What a process must find before it works: made by the client, checked once in a process."""

    values: str
    environment: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, samples: ImageSamples) -> Proof:
        """What this process finds."""
        found = cls(digest_some(samples), tuple(find_environment().items()))
        _remember(found)
        return found

    def check(self, samples: ImageSamples) -> None:
        """Raise UserError in a process that sees another image, or has other versions."""
        if self in _proven:
            return
        worker = socket.gethostname()
        check_environment(find_environment(), dict(self.environment), worker)
        try:
            values = digest_some(samples)
        except OSError as error:
            raise UserError(
                f"the worker {worker} cannot read the image ({error})", remedy=_SAME_PATHS
            ) from error
        if values != self.values:
            raise UserError(
                f"the worker {worker} sees other values of the image than this process",
                remedy=_SAME_PATHS,
            )
        _remember(self)


_SAME_PATHS = "have it where all workers see it under the same path"


def _remember(proof: Proof) -> None:
    if len(_proven) >= _MAX_PROVEN:
        _proven.clear()
    _proven.add(proof)
