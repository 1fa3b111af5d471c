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
from typing import NamedTuple

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import Message
from napari_scsc.noise import remarks
from napari_scsc.noise.correlation import Correlation, find_correlation
from napari_scsc.noise.cosine_patches import MAX_PATCHES, CosinePatches, cut_cosine_patches
from napari_scsc.noise.level import (
    FlatPatches,
    find_flat_patches,
    fit_variance_line,
    measure_bands,
)
from napari_scsc.noise.model import FLOOR_SHARE, Noise, rounded_rows
from napari_scsc.noise.planes import PlaneValues, guess_sigma, prepare_planes
from napari_scsc.noise.spectrum import measure_spectrum
from napari_scsc.noise.stripes import stripe_level

_ROUNDING_POWER = 1e-10  # of rounding errors, relative to the power of the data
_MIN_STEPS = 0.6  # between values, that sigma is wide where noise is recorded faithfully
_MIN_PHOTON_STEPS = 0.3  # the same, that a photon adds
_MANY_PATCHES, _FEW_PATCHES = 400, 30  # counted without overlaps
_MIN_FLAT_SHARE, _MIN_FLAT_PATCHES = 0.02, 5  # where noise and texture can be told apart
_MIN_SEEN_PATCHES = 0.25  # flat ones, counted without overlaps: where noise is seen at all
_ENOUGH_PATCHES = 200  # of which some would be flat
_CLIPPED_SHARE_TOLD, _CLIPPED_SHARE_UNSURE = 0.01, 0.1
_MAX_CONSTANT_SHARE, _MIN_COARSE_SHARE = 0.5, 0.002  # of the patches of an image that was drawn
_MAX_REPEATED_SHARE = 0.5  # of the patches, that are the same as others: noise never repeats
_MAX_REPEATED_TEXTURE = 0.2  # the same, where hardly one is as flat as noise
_MIN_CORRELATED_SHARE, _MAX_SLOW_GROWTH = 0.09, 2.0  # beyond these it is texture
_MAX_CORRELATED_VARIANCE = 0.8  # of that of all values: more may be content without any flat part
_MIN_CORRELATED_PATCHES = 40  # flat ones, that are enough to know how alike neighbours are


def estimate_from_planes(
    planes: Sequence[Array],
    known: Sequence[Array] | None = None,
    *,
    is_alike: bool = False,
    most: int = MAX_PATCHES,
) -> Noise:
    """Estimate the noise of planes, or lines, that were measured in the same way.

    Parameters
    ----------
    planes : sequence of arrays with one or two axes
        Slices of a stack, bands or frames, in any units. All are taken together.
    known : sequence of bool arrays, optional
        True where a pixel was measured, in the shapes of the planes. Values that are not finite
        count as not measured.
    is_alike : bool
        Whether neighbours share noise, though it may look as if they did not.
    most : int
        Patches that are looked at.

    Returns
    -------
    Noise
        In the units of the planes.
    """
    values = prepare_planes(planes, known)
    if values is None:
        return _unknown_noise(remarks.CONSTANT)
    patches = cut_cosine_patches(values.planes, values.usable, most)
    if patches is None:
        patches = cut_cosine_patches(values.planes, values.measured, most)  # clipped all over
    if patches is None:
        return _unknown_noise(remarks.TINY, guess_sigma(values))
    return _judge_patches(values, patches, is_alike)


def _judge_patches(values: PlaneValues, patches: CosinePatches, is_alike: bool) -> Noise:
    """The noise from the patches, with what there is to say about it."""
    bands = measure_bands(patches)
    flat = find_flat_patches(bands)
    if flat.level < _ROUNDING_POWER or _is_drawn(values, patches, flat):
        return _unknown_noise(remarks.NOISELESS)
    is_textured = flat.share < _MIN_COARSE_SHARE
    if patches.repeated > (_MAX_REPEATED_TEXTURE if is_textured else _MAX_REPEATED_SHARE):
        return _unknown_noise(remarks.REPEATED)
    rows, columns = _find_stripes(values, math.sqrt(flat.level))
    if rows or columns:
        values = values.without_stripes(math.sqrt(flat.level), rows, columns)
        patches = cut_cosine_patches(values.planes, values.usable, len(patches.means)) or patches
    white = _fit_variances(patches)
    spectrum = measure_spectrum(patches, white.variances)
    many = patches.independent > _MANY_PATCHES
    is_blurred = (
        is_alike
        or spectrum.middling.is_noise(1.35, many)
        or spectrum.slow.is_noise(8 if many else 4, many)
    )
    is_streaked = spectrum.stripes.is_noise(1.6, many)
    found, fit = None, white
    if is_blurred or is_streaked:
        found, fit = _find_lags(values, patches, white)
        is_texture = (
            fit.flat.share < _MIN_CORRELATED_SHARE or spectrum.slow.growth > _MAX_SLOW_GROWTH
        )
        if is_texture and not is_alike:
            # Texture everywhere: what neighbours share there is content.
            found, fit, is_blurred, is_streaked = None, white, False, False
    if _is_below_steps(values, fit):
        return _unknown_noise(remarks.COARSE)
    is_white = found is None and not (is_blurred or is_streaked)
    is_seen = white.flat.independent >= _MIN_SEEN_PATCHES or patches.independent < _ENOUGH_PATCHES
    if is_white and not (is_seen or is_alike):
        return _unknown_noise(remarks.UNSEEN)
    said = list(fit.said)
    if found is None and (is_blurred or is_streaked):
        fit = fit.times(spectrum.total)
        said.append(remarks.BLURRED if is_blurred else remarks.STRIPED)
    elif found is not None:
        fit = fit.times(float(found.lags[0, 0]))
        is_known = found.n_flat >= _MIN_CORRELATED_PATCHES and fit.offset < _MAX_CORRELATED_VARIANCE
        said.append(remarks.CORRELATED if is_known else remarks.MAYBE_CORRELATED)
    if _is_below_steps(values, fit):  # what neighbours share may leave less of it
        return _unknown_noise(remarks.COARSE)
    if rows or columns:
        said.append(remarks.stripes_remark(rows > 0, columns > 0))
    if patches.independent < _FEW_PATCHES:
        said.append(remarks.SMALL)
    elif found is None and (
        white.flat.share < _MIN_FLAT_SHARE
        or white.flat.independent < _MIN_FLAT_PATCHES
        or (many and spectrum.middling.may_be_texture)
    ):
        said.append(remarks.TEXTURED)
    variance = max(fit.offset, 0.0) + rows**2 + columns**2
    sigma = math.sqrt(variance) * values.spread
    doubts = [remark for remark in said if remark not in remarks.CERTAIN]
    sure = (
        not doubts and sigma >= _MIN_STEPS * values.step and values.clipped < _CLIPPED_SHARE_UNSURE
    )
    said += _remarks_on_values(values, sigma)
    gain = fit.gain * values.spread
    return Noise(
        sigma=sigma,
        gain=gain,
        offset=sigma**2 - gain * values.centre,
        correlated=is_blurred or is_streaked or rows > 0 or columns > 0,
        sure=sure,
        remarks=tuple(said),
        lags=() if found is None else rounded_rows(found.lags / found.lags[0, 0]),
        rows=rows * values.spread,
        columns=columns * values.spread,
        mean=values.centre,
        floor=FLOOR_SHARE * math.sqrt(fit.least) * values.spread if gain else 0.0,
    )


def _is_drawn(values: PlaneValues, patches: CosinePatches, flat: FlatPatches) -> bool:
    """Whether an image has no noise: it was drawn, or reduced to few levels."""
    if patches.constant > _MAX_CONSTANT_SHARE:
        return flat.share < _MIN_FLAT_SHARE
    # Where noise is recorded, some patches are as flat as it is, or it grows with brightness.
    is_coarse = math.sqrt(flat.level) * values.spread < _MIN_STEPS * values.step
    return is_coarse and flat.share < _MIN_COARSE_SHARE and _fit_variances(patches).gain == 0


def _is_below_steps(values: PlaneValues, fit: _VarianceFit) -> bool:
    """Whether the noise is smaller than the steps between values: it was hardly recorded.

    What looks like noise is then the rounding itself, or a drawing of few levels. Single photons
    are no less than a step, but two values are a drawing, a mask or a screen of dots.
    """
    if values.is_binary:
        return True
    sigma = math.sqrt(max(fit.offset, 0.0)) * values.spread
    is_counted = fit.gain * values.spread > _MIN_PHOTON_STEPS * values.step
    return sigma < _MIN_STEPS * values.step and not is_counted


class _VarianceFit(NamedTuple):
    """The variance of the noise at each patch, and over brightness, in spreads of the values."""

    variances: Array
    gain: float
    offset: float
    least: float
    flat: FlatPatches
    said: tuple[Message, ...]

    def at(self, values: Array) -> Array:
        """The variance at pixels of a brightness."""
        return np.maximum(self.gain * values + self.offset, self.least)

    def times(self, factor: float) -> _VarianceFit:
        """Variances that many times as large."""
        return self._replace(
            gain=self.gain * factor, offset=self.offset * factor, least=self.least * factor
        )


def _fit_variances(patches: CosinePatches) -> _VarianceFit:
    """The variance of noise that is white in these patches."""
    bands = measure_bands(patches)
    flat = find_flat_patches(bands)
    line = fit_variance_line(bands)
    if line is None or not line.is_clear:
        is_likely = line is not None and line.is_likely
        said = (remarks.MAYBE_PHOTONS,) if is_likely else ()
        variances = np.full(len(bands.means), flat.level)
        return _VarianceFit(variances, 0.0, flat.level, flat.level, flat, said)
    variances = np.maximum(line.gain * bands.means + line.offset, line.least)
    flat = find_flat_patches(bands.over(variances))
    if line.gain < 0:
        return _VarianceFit(variances, 0.0, line.offset, line.least, flat, (remarks.INVERTED,))
    return _VarianceFit(variances, line.gain, line.offset, line.least, flat, ())


def _find_lags(
    values: PlaneValues, patches: CosinePatches, white: _VarianceFit
) -> tuple[Correlation | None, _VarianceFit]:
    """How alike the noise of neighbours is, and its variances: each is seen better by the other."""
    level = np.float64(white.flat.level)
    found = find_correlation(
        values.planes, values.usable, lambda means: np.full_like(means, level), rounds=3
    )
    if found is None:
        return None, white
    # Every other patch is enough: they overlap.
    powers = patches.powers[::2] * (1 / (level * found.powers)).astype(np.float32)
    fit = _fit_variances(patches._replace(powers=powers, means=patches.means[::2]))
    found = find_correlation(values.planes, values.usable, fit.at)
    return found, fit


def _find_stripes(values: PlaneValues, sigma: float) -> tuple[float, float]:
    """Levels of the errors that rows, and that columns, share."""
    across = [plane.T for plane in values.planes]
    masks = [mask.T for mask in values.measured]
    return (
        stripe_level(values.planes, values.measured, sigma),
        stripe_level(across, masks, sigma),
    )


def _remarks_on_values(values: PlaneValues, sigma: float) -> list[Message]:
    """What quantisation and clipping do to noise of that level."""
    said = []
    if sigma < _MIN_STEPS * values.step:
        said.append(remarks.MOSTLY_COARSE)
    if values.clipped > _CLIPPED_SHARE_TOLD:
        said.append(remarks.clipped_remark(values.clipped))
    return said


def _unknown_noise(remark: Message, sigma: float = 0.0) -> Noise:
    return Noise(sigma, 0.0, sigma**2, correlated=False, sure=False, remarks=(remark,))
