"""How much noise there is, read from the data: its level, its growth with brightness, its colour.

Small patches are cut at many places and written in cosines. Image content shows in the slow and
middling cosines of a patch long before it shows in the fast ones, and white noise is in all of them
alike, each independent of the others. So the slow and middling ones say which patches are flat,
and the fast ones of those patches say how strong the noise is: as the two sets are disjoint,
choosing the flat patches does not favour those where the noise happens to be weak.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import Message
from napari_scsc.noise import remarks
from napari_scsc.noise.cosine_patches import CosinePatches, cut_cosine_patches
from napari_scsc.noise.level import find_flat_patches, fit_variance_line, measure_bands
from napari_scsc.noise.model import Noise
from napari_scsc.noise.planes import PlaneValues, guess_sigma, prepare_planes
from napari_scsc.noise.spectrum import measure_spectrum

_ROUNDING_POWER = 1e-12  # of rounding errors, relative to the power of the data
_MIN_STEPS = 0.6  # between values, that sigma is wide where noise is recorded faithfully
_MANY_PATCHES, _FEW_PATCHES = 400, 30  # counted without overlaps
_MIN_FLAT_SHARE, _MIN_FLAT_PATCHES = 0.02, 5  # where noise and texture can be told apart
_CLIPPED_SHARE_TOLD, _CLIPPED_SHARE_UNSURE = 0.01, 0.1


def estimate_from_planes(planes: Sequence[Array], known: Sequence[Array] | None = None) -> Noise:
    """Estimate the noise of planes, or lines, that were measured in the same way.

    Parameters
    ----------
    planes : sequence of arrays with one or two axes
        Slices of a stack, bands or frames, in any units. All are taken together.
    known : sequence of bool arrays, optional
        True where a pixel was measured, in the shapes of the planes. Values that are not finite
        count as not measured.

    Returns
    -------
    Noise
        In the units of the planes.
    """
    values = prepare_planes(planes, known)
    if values is None:
        return _unknown_noise(remarks.CONSTANT)
    patches = cut_cosine_patches(values.planes, values.usable)
    if patches is None:
        patches = cut_cosine_patches(values.planes, values.measured)  # clipped all over
    if patches is None:
        return _unknown_noise(remarks.TINY, guess_sigma(values))
    return _judge_patches(values, patches)


def _judge_patches(values: PlaneValues, patches: CosinePatches) -> Noise:
    """The noise from the patches, with what there is to say about it."""
    bands = measure_bands(patches)
    flat = find_flat_patches(bands)
    is_drawing = patches.constant > 0.5 and flat.share < _MIN_FLAT_SHARE
    if flat.level < _ROUNDING_POWER or is_drawing:
        return _unknown_noise(remarks.NOISELESS)
    gain, offset = 0.0, flat.level
    variances = np.full(len(bands.means), flat.level)
    said: list[Message] = []
    line = fit_variance_line(bands)
    if line is not None and line.is_clear:
        variances = np.maximum(line.gain * bands.means + line.offset, line.least)
        flat = find_flat_patches(bands.over(variances))
        gain, offset = line.gain, line.offset
        if gain < 0:
            gain = 0.0
            said.append(remarks.INVERTED)
    elif line is not None and line.is_likely:
        said.append(remarks.MAYBE_PHOTONS)
    spectrum = measure_spectrum(patches, variances)
    many = patches.independent > _MANY_PATCHES
    blurred = spectrum.middling.is_noise(1.35, many) or spectrum.slow.is_noise(
        8 if many else 4, many
    )
    striped = spectrum.stripes.is_noise(1.6, many)
    if blurred or striped:
        gain, offset = gain * spectrum.total, offset * spectrum.total
        said.append(remarks.BLURRED if blurred else remarks.STRIPED)
    elif patches.independent < _FEW_PATCHES:
        said.append(remarks.SMALL)
    elif flat.share < _MIN_FLAT_SHARE or flat.independent < _MIN_FLAT_PATCHES:
        said.append(remarks.TEXTURED)
    sigma = math.sqrt(max(offset, 0.0)) * values.spread
    sure = not said and sigma >= _MIN_STEPS * values.step and values.clipped < _CLIPPED_SHARE_UNSURE
    said += _remarks_on_values(values, sigma)
    gain *= values.spread
    return Noise(
        sigma=sigma,
        gain=gain,
        offset=sigma**2 - gain * values.centre,
        correlated=blurred or striped,
        sure=sure,
        remarks=tuple(said),
    )


def _remarks_on_values(values: PlaneValues, sigma: float) -> list[Message]:
    """What quantisation and clipping do to noise of that level."""
    said = []
    if sigma < _MIN_STEPS * values.step:
        said.append(remarks.COARSE)
    if values.clipped > _CLIPPED_SHARE_TOLD:
        said.append(remarks.clipped_remark(values.clipped))
    return said


def _unknown_noise(remark: Message, sigma: float = 0.0) -> Noise:
    return Noise(sigma, 0.0, sigma**2, correlated=False, sure=False, remarks=(remark,))
