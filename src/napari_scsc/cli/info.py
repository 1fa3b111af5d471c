"""What files are, and what was found in them, as facts by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from napari_scsc.batch.again import recipe_in
from napari_scsc.batch.inputs import find_axes, holds_codes, load_bank
from napari_scsc.cli.inputs import FileRequest, open_array
from napari_scsc.cli.messages import render
from napari_scsc.errors import FileFormatError, Message, message_of
from napari_scsc.io.filenames import format_shape

VALUES_LOOKED_AT = 24 << 18  # at most, to find the noise
_MAX_CHUNKS_OF_NOISE = 200_000  # zarr opens some ten thousand in a second

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.io.formats.opened_file import OpenedFile
    from napari_scsc.model.bank import FilterBank
    from napari_scsc.noise.model import Noise
    from napari_scsc.run.updates import Finished


def describe_file(
    path: str, request: FileRequest, with_noise: bool, bank: FilterBank | None = None
) -> dict[str, Any]:
    """What a file is: filters, codes or an image; of an image, whether a bank fits it."""
    if path.lower().endswith(".scsc"):
        held = load_bank(path)
        assert held is not None
        shown = ("kind", "n_samples", "learner")
        return {**describe_bank(held), **{k: v for k, v in held.info.items() if k in shown}}
    if holds_codes(path):
        return _describe_codes(path)
    facts = _describe_image(path, request, with_noise, bank)
    return {name: value for name, value in facts.items() if value is not None}


def describe_bank(bank: FilterBank) -> dict[str, Any]:
    """How many filters there are, their shape, and what tells them from others."""
    return {"n_base": bank.n_base, "shape": bank.filters.shape[1:], "id": bank.id}


def describe_noise(finished: Finished) -> dict[str, Any]:
    """The noise that a restoration went by."""
    return {} if finished.noise is None else noise_facts(finished.noise)


def noise_facts(noise: Noise) -> dict[str, Any]:
    """What is known of a noise, by name; the units are those of the image, and photons."""
    facts: dict[str, Any] = {"sigma": noise.sigma}
    if noise.depends_on_signal:
        facts |= {"gain": noise.gain, "black": noise.black}
        if noise.read_noise:
            facts["read_noise_photons"] = noise.read_noise
        if math.isfinite(noise.photons):
            facts["photons_at_the_mean"] = noise.photons
    if noise.lags:
        facts["correlation_of_neighbours"] = (noise.lags[1][0], noise.lags[0][1])
    shared = {"rows": noise.rows, "columns": noise.columns, "frames": noise.frames}
    facts |= {f"error_of_{name}": level for name, level in shared.items() if level}
    if noise.joint:
        facts["sigma_of_joint_values"] = tuple(part.sigma for part in noise.joint)
    if noise.samples:
        facts["sigma_of_samples"] = tuple(part.sigma for part in noise.samples)
    if noise.frame_levels:
        facts["sigma_of_frames"] = noise.frame_levels
    if noise.outliers:
        facts["outliers_per_million"] = 1e6 * noise.outliers
    return facts


def describe_encoding(finished: Finished) -> dict[str, Any]:
    """What codes were made, by which noise."""
    codes = finished.result
    return {"blocks": codes.n_blocks, "density": codes.density, **describe_noise(finished)}


def describe_recipe(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe says, as far as people read it; ``values`` are JSON."""
    from napari_scsc.restore.recipe import Recipe

    if "format" not in values:  # of several layers, or of a result that was stopped
        version, names = values.get("version"), values.get("layers", ())
        known = {"made_by": version and f"napari-scsc {version}", "layers": tuple(names)}
        return {name: value for name, value in known.items() if value}
    recipe = Recipe.from_json(values)
    origin, given, noise = recipe.origin, recipe.given, recipe.options["noise"]
    settings = {n: v for n, v in recipe.options.items() if v is not None and v not in ((), False)}
    settings["noise"] = noise if isinstance(noise, str) else f"given, {noise.sigma:.4g}"
    source = origin.path or "an array or a layer in no file"
    facts: dict[str, Any] = {
        "made_by": f"napari-scsc {recipe.version}, {recipe.task}",
        "made_from": f"{source} ({format_shape(recipe.shape)} {recipe.dtype})",
    }
    if recipe.is_masked:
        facts["mask"] = origin.mask or "an array or a layer in no file"
    facts |= {"settings": settings, "noise_then": noise_facts(recipe.noise)}
    if recipe.bank is not None:
        whose = "learned from the image" if given is None else origin.bank or "given"
        facts["filters"] = f"{recipe.bank}, {whose}"
    if origin.command:
        facts["command"] = origin.command
    return facts


def _describe_codes(path: str) -> dict[str, Any]:
    from napari_scsc import open_codes

    codes = open_codes(path)
    facts = {"shape": codes.shape, "kind": codes.axes.kind, "blocks": codes.n_blocks}
    return {**facts, "n_filters": codes.n_filters, "density": codes.density, "bank": codes.bank.id}


def _describe_image(
    path: str, request: FileRequest, with_noise: bool, bank: FilterBank | None
) -> dict[str, Any]:
    """What an image is, as far as a few parts of it tell."""
    from napari_scsc.data.axis_descriptions import describe_axes, explain_axes
    from napari_scsc.data.samples import check_lengths
    from napari_scsc.io.formats import list_fields

    image = open_array(path, request.key)
    shape = tuple(image.array.shape)
    facts: dict[str, Any] = {"shape": shape, "dtype": str(image.array.dtype)}
    facts |= {"scale": image.scale, "units": image.units, "translation": image.translation}
    names = (channel.name or str(i) for i, channel in enumerate(image.channels))
    facts |= {"channels": tuple(names) or None, "fields": tuple(list_fields(path)) or None}
    remarks = list(image.remarks)
    axes, doubt = _find_or_propose_axes(image, request)
    if doubt is not None:
        remarks.append(doubt)
    facts |= {"what": describe_axes(axes, shape), "restores": explain_axes(axes)}
    facts |= {"kind": axes.kind, "axes": dict(zip(axes.labels, axes.roles, strict=True))}
    try:
        check_lengths(axes, shape)
        n_looks = _count_chunks_of_noise(image.array)
        if with_noise and n_looks > _MAX_CHUNKS_OF_NOISE:
            chunks = format_shape(image.array.chunks)
            text = f"its noise was not looked for: chunks of {chunks} make that slow"
            remarks.append(Message(text, remedy="write it anew in larger chunks"))
        elif with_noise:
            noise = _estimate_noise(image.array, axes)
            facts |= {**noise_facts(noise), "sure": noise.sure}
            facts["grows_with_brightness"] = noise.depends_on_signal
            remarks += noise.remarks
        if bank is not None:
            facts |= _describe_fit(image.array, axes, bank)
    except FileFormatError as error:
        facts["unreadable"] = render(error.message)
    except (ValueError, TypeError) as error:
        remarks.append(message_of(error))
    try:
        recipe_in(image, path)  # refuses one that is damaged
        facts["recipe"] = dict(image.recipe) or None
    except FileFormatError as error:
        remarks.append(replace(error.message, path=None))
    facts["remarks"] = tuple(map(render, remarks)) or None
    return facts


def _count_chunks_of_noise(array: Any) -> int:
    """About how many chunks are read to find the noise."""
    chunks = getattr(array, "chunks", None)
    n_values = math.prod(chunks) if chunks else math.inf
    return 0 if math.isinf(n_values) else round(min(array.size, VALUES_LOOKED_AT) / n_values)


def _describe_fit(array: Any, axes: Axes, bank: FilterBank) -> dict[str, Any]:
    from napari_scsc import bank_fit

    fit = bank_fit(array, bank, axes=axes)
    return {
        "fit": fit.verdict,
        "energy_outside": fit.energy_outside,
        "energy_to_gain": fit.energy_to_gain,
        "distance_of_weights": fit.distance_of_weights,
        "objective_per_noise_level": fit.objective,
    }


def _find_or_propose_axes(image: OpenedFile, request: FileRequest) -> tuple[Axes, Message | None]:
    """What the axes are; where that is open, what they may be, and what has to be said of them."""
    from napari_scsc.data.axes import propose_axes

    try:
        return find_axes(image, request.kind, request.axes), None
    except (ValueError, TypeError) as error:
        if request.kind or request.axes:
            raise
        proposed = propose_axes(image.array.shape, labels=image.labels, name=image.name)
        return proposed, message_of(error)


def _estimate_noise(array: Any, axes: Axes) -> Noise:
    from napari_scsc.data.image import wrap_image
    from napari_scsc.noise.find import find_noise, open_few_tiles

    return find_noise(open_few_tiles(wrap_image(array), axes))


def format_fact(value: Any) -> str:
    """A fact as people read it."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {format_fact(part)}" for name, part in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(format_fact, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
