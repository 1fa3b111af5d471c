"""A fixed pattern: an error that a pixel has in all frames of a video, or planes of a stack."""

from __future__ import annotations

import math

import numpy as np

from napari_scsc._types import Array
from napari_scsc.cancellation import NEVER
from napari_scsc.groups.single_patches import denoise_patches
from napari_scsc.model.basis import Basis
from napari_scsc.model.general_banks import general_bank_for

_MIN_RATIO = 2.0  # of the variance in the mean of all frames, to that without a pattern
MIN_FRAMES = 8
"""Frames whose mean tells a pattern from noise."""


def pattern_level(found: float, sigma: float, n_frames: int, alike: float = 1.0) -> float:
    """Level of the pattern where the mean of frames has noise of the level ``found``; 0 if none is.

    That of a frame is ``sigma``, and ``alike`` the sum of its correlations from frame to frame.
    """
    expected = max(alike, 1.0) * sigma**2 / n_frames
    return math.sqrt(found**2 - expected) if found**2 > _MIN_RATIO * expected else 0.0


def fixed_pattern(frames: Array, sigma: float, level: float) -> Array:
    """The pattern (y, x), of that level, of frames (t, y, x) with other noise ``sigma``.

    What is left of the mean of all frames when its noise is taken away.
    """
    mean = frames.mean(axis=0)
    bank = general_bank_for((), mean.shape)
    if bank is None or len(frames) < MIN_FRAMES:
        return np.zeros_like(mean)
    noise = math.sqrt(level**2 + sigma**2 / len(frames))
    basis = Basis.of(bank)
    clean = basis.back(denoise_patches(basis.project(mean[None]), basis, noise, NEVER))[0]
    # Some of what is left is noise of the frames, which their mean has too.
    return np.asarray((mean - clean) * np.float32(level**2 / noise**2))
