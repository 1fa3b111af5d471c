"""What the batch systems share: convolution on a circle, in the Fourier domain.

Space (or frequency) comes first and a small matrix last: samples are (*space, C, N), filters
(*space, C, K) and codes (*space, K, N), with the joint axes flattened to C. Then the convolutions
of all samples with all filters are one product of matrices for each frequency.
"""

import numpy as np
import scipy.fft


class CircularDomain:
    """The circular domain of samples, each shift axis padded with zeros by its support - 1.

    On a circle this is the same as half of it on either side, which is how the authors of SCSC pad.
    Codes live on the whole domain, and a value of a code lies on the first point of its filter.
    """

    def __init__(self, shift, support):
        self.shift, self.support = tuple(shift), tuple(support)
        self.shape = tuple(n + m - 1 for n, m in zip(shift, support, strict=True))
        self._axes = tuple(range(len(self.shape)))

    def embed(self, arrays):
        """Arrays (N, *joint, *box) as (*space, C, N), zero outside the box."""
        box = arrays.shape[-len(self.shape) :]
        flat = arrays.reshape(len(arrays), -1, *box)
        placed = np.zeros((*self.shape, flat.shape[1], len(flat)), np.float32)
        placed[tuple(slice(n) for n in box)] = np.moveaxis(flat, (0, 1), (-1, -2))
        return placed

    def mask(self):
        """One on the samples and zero on the padding, (*space, 1, 1)."""
        return self.embed(np.ones((1, *self.shift), np.float32))

    def crop(self, filters):
        """Filters (*space, C, K) on their support, (*support, C, K)."""
        return filters[tuple(slice(m) for m in self.support)]

    def pad(self, filters):
        """Filters (*support, C, K) with zeros on the rest of space."""
        rest = zip(self.shape, self.support, strict=True)
        return np.pad(filters, [*((0, n - m) for n, m in rest), (0, 0), (0, 0)])

    def fft(self, arrays):
        return scipy.fft.rfftn(arrays, axes=self._axes)

    def ifft(self, spectra):
        return scipy.fft.irfftn(spectra, self.shape, axes=self._axes)


def domain_of(samples, support):
    """The domain of samples (N, *joint, *shift)."""
    return CircularDomain(samples.shape[-len(support) :], support)


def as_filters(cropped, joint):
    """Filters (*support, C, K) as everybody else knows them: (K, *joint, *support)."""
    filters = np.moveaxis(cropped, (-1, -2), (0, 1))
    return np.ascontiguousarray(filters.reshape(len(filters), *joint, *filters.shape[2:]))


def as_codes(placed):
    """Codes (*space, K, N) as (N, K, *space)."""
    return np.ascontiguousarray(np.moveaxis(placed, (-1, -2), (0, 1)))


def soft_threshold(values, threshold):
    """The proximal step of the l1 norm."""
    return values - np.clip(values, -threshold, threshold)


def filter_norms(filters):
    """Lengths of filters (*space, C, K)."""
    axes = tuple(range(filters.ndim - 1))
    return np.sqrt(np.square(filters).sum(axis=axes, keepdims=True))


def project_to_unit_balls(filters):
    """The nearest filters (*space, C, K) that are no longer than one."""
    return filters / np.maximum(filter_norms(filters), 1)


def adjoint(matrices):
    return matrices.conj().swapaxes(-1, -2)


class RidgeSolver:
    """argmin_v |b - A v|^2 + rho |v - w|^2 for a stack of matrices A, factored once.

    v = w + A^H (A A^H + rho I)^-1 (b - A w) where A is wide (Woodbury; Sherman-Morrison for one
    row), and w + (A^H A + rho I)^-1 A^H (b - A w) where it is tall. In this form nothing large is
    cancelled, so that single precision is enough for all but the inverse.
    """

    def __init__(self, matrices, rho):
        rows, columns = matrices.shape[-2:]
        self._wide = rows < columns
        self._matrices, self._adjoint = matrices, adjoint(matrices)
        left, right = (self._matrices, self._adjoint)
        gram = left @ right if self._wide else right @ left
        damped = gram.astype(np.complex128) + rho * np.eye(gram.shape[-1])
        self._inverse = np.linalg.inv(damped).astype(gram.dtype)

    def solve(self, b, w):
        residual = b - self._matrices @ w
        if self._wide:
            return w + self._adjoint @ (self._inverse @ residual)
        return w + self._inverse @ (self._adjoint @ residual)


def conjugate_gradient(apply, b, x, iterations):
    """A few steps from ``x`` towards the solution of ``apply(x) = b``, apply positive definite."""
    x = x.copy()
    residual = b - apply(x)
    direction = residual.copy()
    energy = np.vdot(residual, residual).real
    for _ in range(iterations):
        if energy == 0:
            break
        applied = apply(direction)
        step = energy / np.vdot(direction, applied).real
        x += step * direction
        residual -= step * applied
        previous, energy = energy, np.vdot(residual, residual).real
        direction *= energy / previous
        direction += residual
    return x
