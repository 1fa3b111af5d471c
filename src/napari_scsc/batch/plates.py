"""Plates in a batch: all fields of a plate, each an image, become a plate again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from napari_scsc.batch.request import BatchRequest
from napari_scsc.batch.updates import FileReport, has_result
from napari_scsc.errors import UserError
from napari_scsc.io.formats import list_fields

ALL_FIELDS = "all"
"""The key that stands for every field of a plate."""

_SUFFIX = ".ome.zarr"


class Plate(NamedTuple):
    """A plate of which all fields are restored; ``find_plates`` makes it.

    Attributes
    ----------
    source : str
        The input, as it was given.
    target : Path
        The plate that is made.
    fields : tuple of str
        The paths of the fields in both, as "A/1/0".
    """

    source: str
    target: Path
    fields: tuple[str, ...]

    def plan(self) -> list[FileReport]:
        """A report for each field: an image of its own."""
        return [FileReport(f"{self.source}/{f}", self.target / f) for f in self.fields]


def find_plates(request: BatchRequest, results: Mapping[str, Path]) -> dict[str, Plate]:
    """The plates among the inputs of which all fields are wanted, by their names."""
    if request.key != ALL_FIELDS or request.task == "encode":
        return {}
    plates = {}
    for path, target in results.items():
        fields = list_fields(path)
        if not fields:
            continue
        if not target.name.lower().endswith(_SUFFIX):
            raise UserError(
                f"a plate becomes a plate, and its name ends with {_SUFFIX}, not {target.name}",
                path=path,
                remedy=f"name it so, or choose the format {_SUFFIX}",
            )
        plates[path] = Plate(path, target, tuple(fields))
    return plates


def finish_plates(
    plates: Sequence[Plate], reports: Sequence[FileReport], request: BatchRequest
) -> None:
    """Make plates of those whose fields are all there; the others wait for a run that goes on."""
    from napari_scsc.io.stores.plates import write_plate

    there = {report.path for report in reports if has_result(report)}
    for plate in plates:
        if all(report.path in there for report in plate.plan()):
            write_plate(Path(plate.source), plate.target, plate.fields, request.zarr_format)
