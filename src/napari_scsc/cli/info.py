"""What files are, and what was found in them, as facts by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from napari_scsc.batch.inputs import find_axes, holds_codes, load_bank
from napari_scsc.cli.inputs import FileRequest, open_array
from napari_scsc.cli.messages import render
from napari_scsc.errors import message_of

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.model.bank import FilterBank
    from napari_scsc.noise.model import Noise
    from napari_scsc.run.updates import Finished


def describe_file(path: str, request: FileRequest, with_noise: bool) -> dict[str, Any]:
    """What a file is: filters, codes or an image."""
    if path.lower().endswith(".scsc"):
        bank = load_bank(path)
        assert bank is not None
        shown = ("kind", "n_samples", "learner")
        return {**describe_bank(bank), **{k: v for k, v in bank.info.items() if k in shown}}
    if holds_codes(path):
        return _describe_codes(path)
    facts = _describe_image(path, request, with_noise)
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
    if noise.outliers:
        facts["outliers_per_million"] = 1e6 * noise.outliers
    return facts


def describe_encoding(finished: Finished) -> dict[str, Any]:
    """What codes were made, by which noise."""
    codes = finished.result
    return {"blocks": codes.n_blocks, "density": codes.density, **describe_noise(finished)}


def _describe_codes(path: str) -> dict[str, Any]:
    from napari_scsc import open_codes

    codes = open_codes(path)
    facts = {"shape": codes.shape, "kind": codes.axes.kind, "blocks": codes.n_blocks}
    return {**facts, "n_filters": codes.n_filters, "density": codes.density, "bank": codes.bank.id}


def _describe_image(path: str, request: FileRequest, with_noise: bool) -> dict[str, Any]:
    """What an image is, as far as a few parts of it tell."""
    from napari_scsc.data.samples import check_lengths

    image = open_array(path, request.key)
    facts: dict[str, Any] = {"shape": image.array.shape, "dtype": str(image.array.dtype)}
    facts |= {"scale": image.scale, "units": image.units}
    remarks = list(image.remarks)
    try:
        axes = find_axes(image, request.kind, request.axes)
        facts |= {"kind": axes.kind, "axes": dict(zip(axes.labels, axes.roles, strict=True))}
        check_lengths(axes, image.array.shape)
        if with_noise:
            noise = _estimate_noise(image.array, axes)
            facts |= {**noise_facts(noise), "sure": noise.sure}
            facts["grows_with_brightness"] = noise.depends_on_signal
            remarks += noise.remarks
    except (ValueError, TypeError) as error:
        if "kind" not in facts and (request.kind or request.axes):
            raise
        remarks.append(message_of(error))
    facts["remarks"] = tuple(map(render, remarks)) or None
    return facts


def _estimate_noise(array: Any, axes: Axes) -> Noise:
    """The noise of some tiles; unlike for a restoration, the range of the others does not count."""
    from napari_scsc.data.image import wrap_image
    from napari_scsc.data.samples import ImageSamples
    from napari_scsc.data.scaling import ValueRange, measure_range
    from napari_scsc.noise.find import find_noise, noise_tile_places

    image = wrap_image(array)
    samples = ImageSamples(image, axes, ValueRange())
    places = [samples.region(*place) for place in noise_tile_places(samples)]
    measured = measure_range(image, places)
    return find_noise(ImageSamples(image, axes, measured))


def format_fact(value: Any) -> str:
    """A fact as people read it."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {format_fact(part)}" for name, part in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(format_fact, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
