"""What learners give back: frozen records, whose arrays are never written to again."""

from __future__ import annotations

from dataclasses import dataclass

from napari_scsc._types import Array


class ZeroCodeWarning(UserWarning):
    """A sample was coded as nothing at all: beta is too large for it."""


@dataclass(frozen=True, slots=True)
class SampleUpdate:
    """What a learner learned from one sample. Its arrays are copies.

    Attributes
    ----------
    sample : int
        Number of the sample, from 1 on.
    B : ndarray, (R, *joint, *support)
        The base filters after it.
    W : ndarray, (R, K)
        Its weights.
    use : ndarray, (K,)
        How much of the code each column of W has: the sum of its magnitudes.
    objective : float
        F(W, Z) of its code.
    sparsity : float
        Share of its code that is not zero.
    psnr : float
        20 log10(1 / RMS error) of its reconstruction where it was measured, in dB (peak 1, as in
        the paper).
    seconds : float
        Time spent learning so far, without that of whoever looks at the updates.
    iterations : int
        Iterations that its code took.
    converged : bool
        Whether the code reached the tolerance before ``max_iter``.
    """

    sample: int
    B: Array
    W: Array
    use: Array
    objective: float
    sparsity: float
    psnr: float
    seconds: float
    iterations: int
    converged: bool


@dataclass(frozen=True, slots=True)
class Code:
    """The code of one sample.

    Attributes
    ----------
    W : ndarray, (R, K)
        The sample's weights: its own filters are D = B W.
    Z : ndarray, (K, *reach)
        Its sparse code. A filter of length h also acts from outside the sample, so each shift axis
        of n points is n + h - 1 long here; a value at index i is centred on the point
        i - (h - 1 - h // 2).
    reconstruction : ndarray, (*joint, *shift)
        B * (W Z), also where nothing was measured.
    objective : tuple of float
        F at the start, after each iteration, and of the result.
    converged : bool
        Whether the tolerance was reached before ``max_iter``.
    """

    W: Array
    Z: Array
    reconstruction: Array
    objective: tuple[float, ...]
    converged: bool
