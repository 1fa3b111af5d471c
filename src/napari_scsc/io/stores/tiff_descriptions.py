"""What results say of themselves in TIFF, as ImageJ, OME and tifffile read it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_scsc.data.axes import letter_of
from napari_scsc.io import tiff_notes
from napari_scsc.io.stores.flat import FlatStore
from napari_scsc.io.units import METRES, SYMBOLS, WORDS


@dataclass(frozen=True)
class DescribedTiff(FlatStore):
    """The descriptions of a TIFF file; what decides between them is ``TiffStore``."""

    @property
    def letters(self) -> str:
        """One letter an axis as TIFF has them, S for the colours of a pixel; empty if unknown."""
        if len(self.shape) == 1:
            return "YX"
        labels = self.labels or (("y", "x") if len(self.shape) == 2 else ())
        letters = [letter_of(label).upper() for label in labels]
        if not all(letters) or len(set(letters)) < len(letters):
            return ""
        return re.sub("YXC$", "YXS", "".join(letters))

    def _along(self, letter: str) -> tuple[float, str]:
        """Scale and unit along an axis; 1 and "pixel" where nothing is known."""
        i = self._axis_of(letter)
        if self.scale is None or i is None:
            return 1.0, "pixel"
        return self.scale[i], self.units[i] if self.units else "pixel"

    def _start_of(self, letter: str) -> float:
        """Where the first pixel lies along an axis; 0 where nothing is known."""
        i = self._axis_of(letter)
        return 0.0 if self.translation is None or i is None else self.translation[i]

    def _axis_of(self, letter: str) -> int | None:
        n = len(self.shape)
        letters = [letter_of(label) for label in self.labels or [""] * (n - 2) + ["y", "x"][-n:]]
        return letters.index(letter) if letter in letters else None

    @property
    def _n_channels(self) -> int:
        """How many channels the pages have, which may be one without an axis of its own."""
        return self.shape[self.letters.index("C")] if "C" in self.letters else 1

    def _pixels_per_centimetre(self) -> tuple[float, ...] | None:
        """Pixels in a centimetre along x and y, where TIFF can say it."""
        found = [self._along(letter) for letter in "xy"]
        if any(unit not in METRES for _, unit in found):
            return None
        per = tuple(0.01 / (scale * METRES[unit]) for scale, unit in found)
        # A resolution is a ratio of two integers of 32 bits.
        return per if all(1e-3 < p < 1e9 for p in per) else None

    @property
    def _page_shape(self) -> tuple[int, ...]:
        """Lengths of the axes along which the pages are counted."""
        return self.shape[: self.letters.index("Y")]

    def _imagej_metadata(self) -> dict[str, Any]:
        unit = self._along("x")[1]
        metadata: dict[str, Any] = {"axes": self.letters}
        metadata["unit"] = SYMBOLS.get(unit, unit).replace("µ", "u")
        if "Z" in self.letters:
            metadata["spacing"] = self._along("z")[0]
        time, unit = self._along("t")
        if unit in WORDS["time"]:
            metadata |= {"finterval": time, "tunit": SYMBOLS[unit].replace("µ", "u")}
        for letter in "xyz":  # where 0 lies, in pixels
            if start := self._start_of(letter):
                metadata[f"{letter}origin"] = -start / self._along(letter)[0]
        if self.recipe:
            metadata["Info"] = f"{tiff_notes.RECIPE} = {tiff_notes.recipe_json(self.recipe)}\n"
        return metadata | self._imagej_channels()

    def _imagej_channels(self) -> dict[str, Any]:
        channels = self.channels
        if "S" in self.letters or len(channels) != self._n_channels:
            return {}
        metadata: dict[str, Any] = {}
        if any(channel.name for channel in channels):  # pages of one channel come one by one
            n_others = math.prod(self._page_shape) // len(channels)
            metadata["Labels"] = [channel.name for channel in channels] * n_others
        if any(channel.colour for channel in channels):
            metadata["LUTs"] = [tiff_notes.to_imagej_table(c.colour) for c in channels]
            metadata["mode"] = "composite" if len(channels) > 1 else "color"
        windows = [channel.window for channel in channels if channel.window is not None]
        if windows and len(windows) == len(channels):
            metadata["Ranges"] = tuple(end for window in windows for end in window)
        return metadata

    def _ome_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"axes": self.letters, "Name": _without_quotes(self.name)}
        for letter in "XYZ":
            scale, unit = self._along(letter.lower())
            if (scale, unit) != (1, "pixel") and unit not in WORDS["time"]:
                metadata[f"PhysicalSize{letter}"] = scale
                metadata[f"PhysicalSize{letter}Unit"] = SYMBOLS.get(unit, unit)
        time, unit = self._along("t")
        if unit in WORDS["time"]:
            metadata |= {"TimeIncrement": time, "TimeIncrementUnit": SYMBOLS[unit]}
        if planes := self._ome_planes():
            metadata["Plane"] = planes
        return metadata | self._ome_channels()

    def _ome_planes(self) -> list[dict[str, Any]]:
        """Where each plane lies, if that is anywhere but at 0."""
        starts = {letter: self._start_of(letter.lower()) for letter in "XYZT"}
        if not any(starts.values()):
            return []
        planes = []
        for index in np.ndindex(self._page_shape):
            at = dict(zip(self.letters, index, strict=False))
            plane: dict[str, Any] = {}
            for letter, start in starts.items():
                step, unit = self._along(letter.lower())
                name = "DeltaT" if letter == "T" else f"Position{letter}"
                if (letter == "T") == (unit in WORDS["time"]) and start:
                    plane[name] = start + at.get(letter, 0) * step
                    plane[f"{name}Unit"] = SYMBOLS.get(unit, unit)
            planes.append(plane)
        return planes

    def _ome_channels(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {}
        notes = {tiff_notes.RECIPE: tiff_notes.recipe_json(self.recipe) if self.recipe else ""}
        if "S" not in self.letters and len(self.channels) == self._n_channels:
            metadata["Channel"] = [
                {
                    **({"Name": _without_quotes(channel.name)} if channel.name else {}),
                    **({"Color": tiff_notes.to_ome_colour(c)} if (c := channel.colour) else {}),
                }
                for channel in self.channels
            ]
            notes[tiff_notes.WINDOWS] = tiff_notes.windows_json(self.channels)
        metadata["CommentAnnotation"] = [
            {"Namespace": name, "Value": text} for name, text in notes.items() if text
        ]
        return metadata

    def _plain_metadata(self) -> dict[str, Any]:
        known = {
            "axes": self.letters,
            "scale": self.scale,
            "units": self.units,
            "translation": self.translation,
            "channels": tiff_notes.channels_json(self.channels),
            "recipe": dict(self.recipe),
        }
        if len(self.shape) == 1:
            known = {"axes": "YX", "recipe": dict(self.recipe)}
        return {key: value for key, value in known.items() if value}


def _without_quotes(text: str) -> str:
    """The text, where tifffile does not escape quotation marks with others instead."""
    import tifffile

    version = tuple(map(int, tifffile.__version__.split(".")[:2]))
    return text if version >= (2026, 3) else text.replace('"', "'")
