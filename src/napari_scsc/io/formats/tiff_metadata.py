"""What TIFF files say of their axes, channels and values: OME, ImageJ, tifffile, and plain tags."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from napari_scsc.io import tiff_notes
from napari_scsc.io.channels import Channel
from napari_scsc.io.units import METRES, unit_word

# Of each unit of resolution its micrometres, and the resolutions that say nothing of the size of a
# pixel: 72 and 96 dots an inch are what programs write for a screen, and 1 is for nothing at all.
_RESOLUTION_UNITS: dict[int, tuple[float, tuple[float, ...]]] = {
    2: (25_400.0, (1, 72, 96)),  # an inch
    3: (10_000.0, (1, 72 / 2.54, 96 / 2.54)),  # a centimetre
}
_LABELS = {**dict(zip("TZCYXUVN", "tzcyxuvn", strict=True)), "S": "c"}

Sizes = dict[str, tuple[float, str]]
"""Of the letters of axes, the size of a pixel and its unit."""


@dataclass(frozen=True, slots=True)
class TiffFacts:
    """What a TIFF file says of a series; None or empty where it says nothing."""

    labels: list[str] | None = None
    scale: Any = None
    units: Any = None
    translation: tuple[float, ...] | None = None
    channels: tuple[Channel, ...] = ()
    recipe: Mapping[str, Any] = field(default_factory=dict)


def find_facts(file: Any, number: int) -> TiffFacts:
    """What a file that tifffile has opened says of one of its series."""
    series = file.series[number]
    labels: Any = [_LABELS.get(letter, "") for letter in series.axes]
    if not all(labels) or len(set(labels)) < len(labels):
        labels = None  # what tifffile calls Q or I is not known
    if series.kind == "ome":
        return _ome_facts(file, number, labels)
    if series.kind == "imagej":
        return _imagej_facts(file, number, labels)
    if series.kind == "shaped":
        return _shaped_facts(file, number, labels)
    scale, units = _along_axes(series.axes, _resolution_sizes(series.keyframe))
    return TiffFacts(labels, scale, units)


def _along_axes(letters: str, known: Sizes) -> tuple[list[float] | None, list[str] | None]:
    """Scale and units of all axes; those of which nothing is known count pixels."""
    if not known:
        return None, None
    sizes = [known.get(letter, (1.0, "pixel")) for letter in letters]
    return [size for size, _ in sizes], [unit for _, unit in sizes]


def _shaped_facts(file: Any, number: int, labels: Any) -> TiffFacts:
    series, metadata = file.series[number], file.shaped_metadata[number]
    scale, units = metadata.get("scale"), metadata.get("units")
    if not scale:
        scale, units = _along_axes(series.axes, _resolution_sizes(series.keyframe))
    translation = metadata.get("translation")
    if not isinstance(translation, list) or len(translation) != len(series.axes):
        translation = None
    return TiffFacts(
        labels,
        scale,
        units,
        None if translation is None else tuple(map(float, translation)),
        tiff_notes.channels_from_json(metadata.get("channels")),
        tiff_notes.recipe_from_json(metadata.get("recipe")),
    )


def _ome_facts(file: Any, number: int, labels: Any) -> TiffFacts:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(file.ome_metadata)
    images = root.findall("{*}Image/{*}Pixels")
    series = file.series[number]
    notes = {
        note.get("Namespace"): note.findtext("{*}Value")
        for note in root.findall("{*}StructuredAnnotations/{*}CommentAnnotation")
    }
    recipe = tiff_notes.recipe_from_json(notes.get(tiff_notes.RECIPE))
    pixels = images[number] if number < len(images) else ElementTree.Element("Pixels")
    known = _ome_sizes(pixels.attrib)
    scale, units = _along_axes(series.axes, known or _resolution_sizes(series.keyframe))
    windows = tiff_notes.windows_from_json(notes.get(tiff_notes.WINDOWS)) if not number else []
    channels = _ome_channels(pixels, windows)
    return TiffFacts(
        labels,
        scale,
        units,
        _ome_translation(pixels, series.axes, known),
        channels if _has_place(channels, series) else (),
        recipe,
    )


def _ome_sizes(attributes: Mapping[str, str]) -> Sizes:
    names = {letter: (f"PhysicalSize{letter}", "µm") for letter in "XYZ"}
    names["T"] = "TimeIncrement", "s"
    return {
        letter: (float(attributes[name]), attributes.get(f"{name}Unit", usual))
        for letter, (name, usual) in names.items()
        if name in attributes
    }


def _ome_translation(pixels: Any, letters: str, known: Sizes) -> tuple[float, ...] | None:
    """Where the first plane lies, in the units of the scale; None where that is at 0 or unknown."""
    first = {"TheC": "0", "TheZ": "0", "TheT": "0"}
    planes = pixels.findall("{*}Plane")
    plane = next((p for p in planes if first.items() <= p.attrib.items()), None)
    if plane is None:
        return None
    found = []
    for letter in letters:
        name, usual = ("DeltaT", "s") if letter == "T" else (f"Position{letter}", "reference frame")
        position = float(plane.get(name, 0))
        unit = plane.get(f"{name}Unit", usual)
        found.append(position * _unit_ratio(unit, known.get(letter, (1.0, "pixel"))[1]))
    return tuple(found) if any(found) and all(map(math.isfinite, found)) else None


def _unit_ratio(unit: str, wanted: str) -> float:
    """One unit in another; 0 where it cannot be said, as of the frame of a microscope's stage."""
    words = unit_word(unit) or unit, unit_word(wanted) or wanted
    if words[0] == words[1]:
        return 1.0
    return METRES[words[0]] / METRES[words[1]] if set(words) <= set(METRES) else 0.0


def _ome_channels(pixels: Any, windows: list[tuple[float, float] | None]) -> tuple[Channel, ...]:
    entries = pixels.findall("{*}Channel")
    if len(windows) != len(entries):
        windows = [None] * len(entries)
    return tiff_notes.known_channels(
        Channel(entry.get("Name", ""), tiff_notes.from_ome_colour(entry.get("Color", "")), window)
        for entry, window in zip(entries, windows, strict=True)
    )


def _has_place(channels: tuple[Channel, ...], series: Any) -> bool:
    """Whether there is one channel for each value of the axis, or one and no axis of channels."""
    letters = series.axes
    n_channels = series.shape[letters.index("C")] if "C" in letters else 1
    return "S" not in letters and len(channels) == n_channels


def _imagej_facts(file: Any, number: int, labels: Any) -> TiffFacts:
    series, metadata = file.series[number], file.imagej_metadata or {}
    scale, units = _along_axes(series.axes, _imagej_sizes(file, metadata))
    steps = scale or [1.0] * len(series.axes)
    origins = [metadata.get(f"{letter.lower()}origin", 0) for letter in series.axes]
    translation = None
    if any(origins) and all(isinstance(origin, int | float) for origin in origins):
        translation = tuple(-origin * s for origin, s in zip(origins, steps, strict=True))
    channels = _imagej_channels(series, metadata)
    return TiffFacts(
        labels,
        scale,
        units,
        translation,
        channels if _has_place(channels, series) else (),
        _imagej_recipe(str(metadata.get("Info", ""))),
    )


def _imagej_sizes(file: Any, metadata: Mapping[str, Any]) -> Sizes:
    unit = str(metadata.get("unit", "pixel")).replace("\\u00B5", "µ")
    sizes = {letter: (1 / per, unit) for letter, per in _resolutions(file.pages.first).items()}
    if "unit" not in metadata:  # then the tag has the unit, if anything has
        sizes |= _resolution_sizes(file.pages.first)
    if "spacing" in metadata:
        sizes["Z"] = abs(float(metadata["spacing"])), unit
    if metadata.get("finterval"):
        sizes["T"] = float(metadata["finterval"]), str(metadata.get("tunit", "s"))
    return {} if set(sizes.values()) <= {(1.0, "pixel")} else sizes


def _imagej_channels(series: Any, metadata: Mapping[str, Any]) -> tuple[Channel, ...]:
    axis = series.axes.find("C")
    n_channels = 1 if axis < 0 else series.shape[axis]
    names = _imagej_names(series, metadata.get("Labels"), axis)
    tables = metadata.get("LUTs", ())
    tables = tables if isinstance(tables, list | tuple) else [tables]  # a single one comes bare
    ends = metadata.get("Ranges") or ()
    if n_channels == 1 and not ends:
        ends = metadata.get("min"), metadata.get("max")
    return tiff_notes.known_channels(
        Channel(
            names[i] if names else "",
            tiff_notes.from_imagej_table(tables[i]) if len(tables) == n_channels else "",
            tiff_notes.window_of(ends[2 * i : 2 * i + 2]),
        )
        for i in range(n_channels)
    )


def _imagej_names(series: Any, labels: Any, axis: int) -> list[str]:
    """Names of the channels, where the labels of pages are the same in each channel."""
    n_pages = math.prod(series.shape[: series.axes.index("Y")]) if "Y" in series.axes else 0
    if axis < 0 or not isinstance(labels, list | tuple) or len(labels) != n_pages:
        return []
    n_inner = math.prod(series.shape[axis + 1 : series.axes.index("Y")])
    found: list[set[str]] = [set() for _ in range(series.shape[axis])]
    for page, label in enumerate(labels):
        found[page // n_inner % len(found)].add(str(label))
    if any(len(names) > 1 for names in found):
        return []  # they name pages
    return [names.pop() for names in found]


def _imagej_recipe(notes: str) -> dict[str, Any]:
    for line in notes.splitlines():
        name, _, text = line.partition(" = ")
        if name == tiff_notes.RECIPE:
            return tiff_notes.recipe_from_json(text)
    return {}


def _resolution_sizes(page: Any) -> Sizes:
    """Sizes of pixels by the tags that every TIFF may have, where they are more than a default."""
    tag = page.tags.get("ResolutionUnit")
    micrometres, defaults = _RESOLUTION_UNITS.get(0 if tag is None else int(tag.value), (0.0, ()))
    found = _resolutions(page)
    if not micrometres or all(_is_one_of(per, defaults) for per in found.values()):
        return {}
    return {letter: (micrometres / per, "µm") for letter, per in found.items()}


def _is_one_of(per: float, defaults: tuple[float, ...]) -> bool:
    # Programs round: what is 72 dots an inch to one is 72.009 to another.
    return any(math.isclose(per, default, rel_tol=1e-3) for default in defaults)


def _resolutions(page: Any) -> dict[str, float]:
    """Pixels in a unit along X and Y, as far as the tags say."""
    found = {}
    for letter in "XY":
        tag = page.tags.get(f"{letter}Resolution")
        if tag is not None and all(tag.value):
            found[letter] = tag.value[0] / tag.value[1]
    return found
