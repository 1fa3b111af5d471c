"""What files are, and what was found in them, as facts by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from napari_scsc.cli.files import holds_codes, load_bank, meaning_of, opened
from napari_scsc.cli.words import translated, words_of

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.noise.model import Noise
    from napari_scsc.run.updates import RestoreUpdate


def about_noise(last: RestoreUpdate) -> dict[str, Any]:
    """The noise that a restoration went by."""
    return {"sigma": last.noise and last.noise.sigma}


def about_bank(path: str) -> dict[str, Any] | None:
    """What a file of filters holds; None for other files."""
    if not path.lower().endswith(".scsc"):
        return None
    bank = load_bank(path)
    known = {k: v for k, v in bank.info.items() if k in ("kind", "n_samples", "learner")}
    return {"n_base": bank.n_base, "shape": bank.filters.shape[1:], "id": bank.id, **known}


def about_codes(path: str) -> dict[str, Any] | None:
    """What a folder of codes holds; None for all else."""
    if not holds_codes(path):
        return None
    from napari_scsc import open_codes

    codes = open_codes(path)
    facts = {"shape": codes.shape, "kind": codes.axes.kind, "blocks": codes.n_blocks}
    return {**facts, "n_filters": codes.n_filters, "density": codes.density, "bank": codes.bank.id}


def about_image(
    path: str, key: str | None, kind: str | None, axes: str | None, noise: bool, **_: Any
) -> dict[str, Any]:
    """What an image is, as far as a few parts of it tell."""
    from napari_scsc.data.samples import check_lengths

    image = opened(path, key)
    facts: dict[str, Any] = {"shape": image.array.shape, "dtype": str(image.array.dtype)}
    facts |= {"scale": image.scale, "units": image.units}
    remarks = [translated(str(remark)) for remark in image.remarks]
    try:
        meaning = meaning_of(image, kind, axes)
        roles = dict(zip(meaning.labels, meaning.roles, strict=True))
        facts |= {"kind": meaning.kind, "axes": roles}
        check_lengths(meaning, image.array.shape)
        if noise:
            found = _noise(image.array, meaning)
            facts |= {"sigma": found.sigma, "sure": found.sure}
            facts["grows_with_brightness"] = found.depends_on_signal
            remarks += map(translated, found.remarks)
    except (ValueError, TypeError) as error:
        if "kind" not in facts and (kind or axes):
            raise
        remarks.append(words_of(error))
    facts["remarks"] = tuple(remarks) or None
    return facts


def _noise(array: Any, axes: Axes) -> Noise:
    """The noise of some tiles; unlike for a restoration, the range of the others does not count."""
    from napari_scsc.data.image import wrap_image
    from napari_scsc.data.samples import ImageSamples, draw_tiles
    from napari_scsc.data.scaling import ValueRange, measure_range
    from napari_scsc.noise.find import NOISE_TILE_COUNT, find_noise

    view = wrap_image(array)
    image = ImageSamples(view, axes, ValueRange())
    places = draw_tiles(image, 1 << 18, NOISE_TILE_COUNT, seed=0)
    seen = measure_range(view, [image.region(*place) for place in places])
    return find_noise(ImageSamples(view, axes, seen), None)


def plain(value: Any) -> str:
    """A fact as people read it."""
    if isinstance(value, dict):
        return ", ".join(f"{k} {plain(v)}" for k, v in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(plain, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
