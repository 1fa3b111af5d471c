"""The spectrum of the noise: white, shared by neighbours, or in stripes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from napari_scsc._types import Array
from napari_scsc.noise.cosine_patches import FAST, MIDDLING, MIN_PATCHES, SLOW, CosinePatches

_FLAT_SHARES = (0.01, 0.03, 0.1)  # of the patches, the flattest first, whose spectra are compared
_MIN_FLAT_PATCHES = 12  # independent ones, in the smallest of these shares
_MAX_FLAT_SHARE = 0.6
_CALM_QUANTILE = 0.4
_MAX_WHITE_POWER, _MAX_WHITE_GROWTH = 1.12, 1.1  # of a band of cosines in white noise


class SpectrumBand(NamedTuple):
    """A band of cosines in flat patches: what noise does in it, or texture."""

    powers: Array  # in the flattest patches and in ever more, relative to white noise
    tails: float  # fourth moment over the square of the second: 3 for noise, more for texture

    @property
    def growth(self) -> float:
        """From the flattest patches to those less flat: texture grows, noise does not."""
        return float(self.powers[2] / self.powers[0])

    @property
    def may_be_texture(self) -> bool:
        """Whether there is more than white noise even in the flattest patches, or it grows."""
        return bool(self.powers[0] > _MAX_WHITE_POWER or self.growth > _MAX_WHITE_GROWTH)

    def is_noise(self, least: float, many: bool) -> bool:
        """Whether there is that much more than white noise, and it is not texture.

        Where there are ``many`` patches, one of the two signs of noise is enough.
        """
        if many:
            alike = (self.tails < 3.6 and self.growth < 1.5) or (
                self.tails < 8 and self.growth < 1.2
            )
        else:
            alike = self.tails < 3.4 and self.growth < 1.2
        return bool(alike and self.powers[:2].min() > least)


class NoiseSpectrum(NamedTuple):
    """The spectrum of the noise."""

    total: float  # mean power over all cosines, relative to the variances assumed
    slow: SpectrumBand
    middling: SpectrumBand
    stripes: SpectrumBand  # cosines along one axis, relative to others as fast


def measure_spectrum(patches: CosinePatches, variances: Array) -> NoiseSpectrum:
    """The spectrum in the flattest patches, if white noise had these ``variances`` (n,).

    One half of the cosines chooses the patches in which the other half is measured, and the other
    way round. Noise has the same spectrum in the flattest patches and in those less flat, and its
    cosines are normally distributed; texture grows from the ones to the others, and is strong in
    few of them.
    """
    speed = patches.speed
    spectra, calm, tails = _measure_cosines(patches, variances)
    # Shading is in the slow cosines of few patches: a low quantile hardly feels it.
    spectrum = np.where(speed < MIDDLING, np.minimum(calm, spectra[0]), spectra[0])
    constant = spectrum[speed == speed.min()].mean()

    def band(which: Array, reference: Array) -> SpectrumBand:
        relative = spectra[:, which].mean(axis=1) / spectra[:, reference].mean(axis=1)
        return SpectrumBand(relative, float(tails[which].mean()))

    fast = speed > FAST
    comparable = (speed > 2 * SLOW) & (speed < 0.51)
    others = comparable & (patches.along == 0)
    stripes = [band(comparable & (patches.along == axis), others) for axis in patches.axes]
    return NoiseSpectrum(
        total=float((spectrum.sum() + constant) / (len(speed) + 1)),
        slow=band((speed > SLOW) & (speed < MIDDLING), fast),
        middling=band((speed > MIDDLING) & (speed < FAST), fast),
        stripes=max(stripes, key=lambda one: float(one.powers[0]), default=band(fast, fast)),
    )


def _measure_cosines(patches: CosinePatches, variances: Array) -> tuple[Array, Array, Array]:
    """What each of the M cosines does in flat patches.

    Returns
    -------
    spectra : (3, M)
        Its mean power in the flattest patches, and in ever more of them.
    calm : (M,)
        Its power in the flattest by a quantile, as large as the mean for normal noise.
    tails : (M,)
        Its fourth moment over the square of the second, in the flattest.
    """
    speed = patches.speed
    scale = (1 / variances).astype(np.float32)
    # A handful of patches has no spectrum to speak of: small images begin with a larger share.
    widening = max(1, _MIN_FLAT_PATCHES / patches.independent / _FLAT_SHARES[0])
    shares = np.minimum(np.array(_FLAT_SHARES) * widening, _MAX_FLAT_SHARE)
    spectra = np.empty((len(shares), len(speed)))
    calm, tails = np.empty(len(speed)), np.empty(len(speed))
    for choosing in (patches.even, ~patches.even):
        flatness = patches.powers[:, choosing & (speed > SLOW)].sum(axis=1) * scale
        order = np.argsort(flatness)
        measured = np.flatnonzero(~choosing)
        for number, share in enumerate(shares):
            chosen = order[: max(MIN_PATCHES // 2, int(share * len(order)))]
            powers = patches.powers[np.ix_(chosen, measured)] * scale[chosen, None]
            spectra[number, measured] = powers.mean(axis=0, dtype=np.float64)
            if number == 0:
                calm[measured] = np.quantile(powers, _CALM_QUANTILE, axis=0)
                tails[measured] = np.square(powers).mean(axis=0, dtype=np.float64)
    tails /= np.maximum(spectra[0], 1e-30) ** 2
    calm /= special.gammaincinv(0.5, _CALM_QUANTILE) * 2
    return spectra, calm, tails
