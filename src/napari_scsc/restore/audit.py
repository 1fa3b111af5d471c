"""Audit: whether the brightness of regions is the same before and after a restoration."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from napari_scsc._types import Array
from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.noise.model import Noise

MIN_REGION_PIXELS = 100
"""With fewer pixels, two standard errors of the mean are more than anybody would let pass."""

MAX_STANDARD_ERRORS = 2.0
"""As far as the mean of a region that is preserved may be from that of its noisy pixels."""

Verdict = Literal["preserved", "changed", "too few pixels"]


@dataclass(frozen=True, slots=True)
class AuditedRegion:
    """The brightness of one region before and after a restoration.

    Attributes
    ----------
    label : int
        Which region it is.
    n_pixels : int
        How many pixels it has.
    mean_before, mean_after, sum_before, sum_after : float
        Of its pixels, in the units of the image.
    difference : float
        Of the means, after less before.
    standard_error : float
        Of the mean before: that of so many pixels with the noise that they have.
    difference_in_errors : float
        The difference in standard errors.
    pixel_error : float, optional
        Root mean square of the standard errors of its restored pixels, if they are known.
    verdict : {"preserved", "changed", "too few pixels"}
        Preserved is a mean within two standard errors.
    """

    label: int
    n_pixels: int
    mean_before: float
    mean_after: float
    sum_before: float
    sum_after: float
    difference: float
    standard_error: float
    difference_in_errors: float
    pixel_error: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Audit(Sequence[AuditedRegion]):
    """The regions of an audit, by their labels: a sequence, and a table for other programs."""

    regions: tuple[AuditedRegion, ...]

    @overload
    def __getitem__(self, index: int) -> AuditedRegion: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[AuditedRegion, ...]: ...

    def __getitem__(self, index: int | slice) -> AuditedRegion | tuple[AuditedRegion, ...]:
        """A region, or some."""
        return self.regions[index]

    def __len__(self) -> int:
        """How many regions there are."""
        return len(self.regions)

    def __iter__(self) -> Iterator[AuditedRegion]:
        """One region after the other."""
        return iter(self.regions)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table as comma separated values, also written to a file if a path is given."""
        stream = io.StringIO()
        writer = csv.DictWriter(
            stream, [field.name for field in fields(AuditedRegion)], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(asdict(region) for region in self.regions)
        if path is not None:
            Path(path).write_text(stream.getvalue(), encoding="utf-8")
        return stream.getvalue()


def audit(before: Any, after: Any, labels: Any, noise: Noise, error: Any = None) -> Audit:
    """Compare the mean brightness of labelled regions before and after a restoration.

    Noise that is taken away must not take brightness with it: the mean of a region afterwards
    should be that of its noisy pixels, as far as these can tell. The pixels are taken to have
    noise that is independent from one to the next.

    Parameters
    ----------
    before, after : array
        The image and its restoration, of the same shape.
    labels : array of int
        Of the same shape: the number of the region that a pixel belongs to, 0 for none.
    noise : Noise
        That of the image before: of ``estimate_noise``, or of the end of ``iter_denoise``.
    error : array, optional
        The standard error of each pixel, of ``denoise(..., error=True)``.

    Returns
    -------
    Audit
        A sequence of ``AuditedRegion``; ``to_csv`` makes a table of it.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_scsc import audit, denoise, estimate_noise, samples
    >>> noisy = samples.noisy_tissue((96, 96))
    >>> clean = denoise(noisy, kind="image", quality="fast")
    >>> labels = np.zeros(noisy.shape, int)
    >>> labels[20:60, 30:80] = 1
    >>> [region] = audit(noisy, clean, labels, estimate_noise(noisy, kind="image"))
    >>> region.n_pixels, region.verdict
    (2000, 'preserved')
    """
    images = {"before": before, "after": after, "labels": labels}
    if error is not None:
        images["error"] = error
    wrapped = {name: wrap_image(image) for name, image in images.items()}
    shape = wrapped["before"].shape
    for name, image in wrapped.items():
        if image.shape != shape:
            raise UserError(f"has the shape {image.shape}, the image before {shape}", argument=name)
    numbers = wrapped["labels"].whole()
    if numbers.dtype.kind not in "iu":
        raise UserError(f"must hold whole numbers, but holds {numbers.dtype}", argument="labels")
    inside = numbers > 0
    found, places = np.unique(numbers[inside], return_inverse=True)

    def sums(values: Array) -> Array:
        return np.bincount(places, values, len(found))

    pixels = {
        name: wrapped[name].whole()[inside].astype(np.float64)
        for name in ("before", "after", *(["error"] if error is not None else []))
    }
    counts = np.bincount(places, minlength=len(found))
    sum_before, sum_after = sums(pixels["before"]), sums(pixels["after"])
    variances = sums(noise.variance(pixels["after"])) / counts
    errors = np.sqrt(sums(pixels["error"] ** 2) / counts) if error is not None else None
    return Audit(
        tuple(
            _judge(
                int(found[i]),
                int(counts[i]),
                float(sum_before[i]),
                float(sum_after[i]),
                float(np.sqrt(variances[i] / counts[i])),
                None if errors is None else float(errors[i]),
            )
            for i in range(len(found))
        )
    )


def _judge(
    label: int,
    n_pixels: int,
    sum_before: float,
    sum_after: float,
    standard_error: float,
    pixel_error: float | None,
) -> AuditedRegion:
    difference = (sum_after - sum_before) / n_pixels
    in_errors = (
        difference / standard_error if standard_error else float(np.sign(difference)) * np.inf
    )
    if difference == 0:
        in_errors = 0.0
    verdict: Verdict = "preserved" if abs(in_errors) <= MAX_STANDARD_ERRORS else "changed"
    return AuditedRegion(
        label,
        n_pixels,
        sum_before / n_pixels,
        sum_after / n_pixels,
        sum_before,
        sum_after,
        difference,
        standard_error,
        in_errors,
        pixel_error,
        "too few pixels" if n_pixels < MIN_REGION_PIXELS else verdict,
    )
