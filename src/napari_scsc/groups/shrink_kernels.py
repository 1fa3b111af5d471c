"""The passes over groups: compiled. ``numpy_kernels`` says what they do."""

from __future__ import annotations

import numpy as np

from napari_scsc._types import Array
from napari_scsc.groups.numpy_kernels import (
    ALIKE_DEVIATIONS,
    ALIKE_DISTANCE,
    ASSUMED_NOISE,
    FAINT_MEAN,
    FEW_ALIKE,
    LANCZOS_STEPS,
    MIN_CORRELATION,
    NEGLIGIBLE_ENERGY,
    NEGLIGIBLE_STEP,
    STRICTNESS_ALONE,
)
from napari_scsc.model.solver.kernels import compiled

_ROTATIONS_PER_VALUE = 30  # of a tridiagonal matrix: three are usual


@compiled
def _mix(weights: Array, vectors: Array, out: Array) -> None:
    """out = weights @ vectors."""
    out[:] = 0
    for r in range(len(weights)):
        weight, vector = weights[r], vectors[r]
        for m in range(len(out)):
            out[m] += weight * vector[m]


@compiled
def _count_alike(rows: Array, limit: float) -> int:
    """How many rows lie no farther than ``limit``, a squared distance, from the first."""
    count = np.int64(0)
    for i in range(len(rows)):
        square = np.float32(0)
        for r in range(rows.shape[1]):
            difference = rows[i, r] - rows[0, r]
            square += difference * difference
        count += np.int64(square <= limit)
    return int(count)


@compiled
def _put_back(
    mean: Array,
    codes: Array,
    filters: Array,
    n_filters: int,
    members: Array,
    weight: float,
    variances: Array,
    n_alike: int,
    points: Array,
    offsets: Array,
    total: Array,
    first: int,
    tallies: Array,
) -> None:
    """Add the patches mean + codes.T @ filters, times their weight, where they lie."""
    patch = np.empty(len(offsets), np.float32)
    for i in range(len(members)):
        for m in range(len(patch)):
            patch[m] = mean[m]
        for a in range(n_filters):
            code, vector = codes[a, i], filters[a]
            for m in range(len(patch)):
                patch[m] += code * vector[m]
        start = points[members[i]] - first
        for m in range(len(patch)):
            total[start + offsets[m]] += weight * patch[m]
        tallies[0, start] += weight
        tallies[1, start] += weight * variances[i]
        tallies[2, start] += weight * n_alike


@compiled
def _lanczos(
    gram: Array, start: Array, n_steps: int, basis: Array, diagonal: Array, beside: Array
) -> int:
    """Vectors in which a matrix is tridiagonal; those of its large eigenvalues are among the first.

    Fills as many rows of ``basis``, and of the two diagonals, as it returns: ``n_steps`` at most.
    """
    n = len(gram)
    image = np.empty(n, np.float32)
    trace = np.float32(0)
    for i in range(n):
        trace += gram[i, i]
        basis[0, i] = start[i]
    for step in range(n_steps):
        for i in range(n):
            value, row = np.float32(0), gram[i]
            for j in range(n):
                value += row[j] * basis[step, j]
            image[i] = value
        for b in range(step, -1, -1):
            vector, share = basis[b], np.float32(0)
            for i in range(n):
                share += vector[i] * image[i]
            for i in range(n):
                image[i] -= share * vector[i]
            if b == step:
                diagonal[step] = share
        length = np.float32(0)
        for i in range(n):
            length += image[i] * image[i]
        length = np.sqrt(length)
        beside[step] = length
        if length <= NEGLIGIBLE_STEP * trace:
            return step + 1
        if step + 1 < n_steps:
            for i in range(n):
                basis[step + 1, i] = image[i] / length
    return n_steps


@compiled
def _diagonalise(diagonal: Array, beside: Array, n: int, vectors: Array) -> None:
    """Eigenvalues, in place of the diagonal, and eigenvectors of a tridiagonal matrix.

    Implicit QL. The eigenvectors are the rows of ``vectors``.
    """
    one = np.float32(1)
    for i in range(n):
        for k in range(n):
            vectors[i, k] = 0
        vectors[i, i] = one
    beside[n - 1] = 0
    for low in range(n):
        for _ in range(_ROTATIONS_PER_VALUE):
            high = low
            while high < n - 1 and abs(beside[high]) > np.float32(1e-6) * (
                abs(diagonal[high]) + abs(diagonal[high + 1])
            ):
                high += 1
            if high == low:
                break
            g = (diagonal[low + 1] - diagonal[low]) / (2 * beside[low])
            r = np.sqrt(g * g + one)
            g = diagonal[high] - diagonal[low] + beside[low] / (g + (r if g >= 0 else -r))
            sine, cosine, shift = one, one, np.float32(0)
            i = high - 1
            while i >= low:
                f, b = sine * beside[i], cosine * beside[i]
                r = np.sqrt(f * f + g * g)
                beside[i + 1] = r
                if r == 0:
                    diagonal[i + 1] -= shift
                    beside[high] = 0
                    break
                sine, cosine = f / r, g / r
                g = diagonal[i + 1] - shift
                r = (diagonal[i] - g) * sine + 2 * cosine * b
                shift = sine * r
                diagonal[i + 1] = g + shift
                g = cosine * r - b
                upper, lower = vectors[i], vectors[i + 1]
                for k in range(n):
                    u, v = upper[k], lower[k]
                    lower[k] = sine * u + cosine * v
                    upper[k] = cosine * u - sine * v
                i -= 1
            if i < low:
                diagonal[low] -= shift
                beside[low] = g
                beside[high] = 0


@compiled
def threshold(
    coefficients: Array,
    groups: Array,
    sigma: float,
    strength: float,
    basis: Array,
    n_flat: int,
    start: Array,
    points: Array,
    offsets: Array,
    total: Array,
    first: int,
    tallies: Array,
) -> None:
    """First pass; see ``numpy_kernels``."""
    n_groups, size = groups.shape
    n_base, length = basis.shape
    x = np.empty((size, n_base), np.float32)
    gram = np.empty((size, size), np.float32)
    rows = np.empty((size, size), np.float32)
    vectors = np.empty((size, size), np.float32)
    energies = np.empty(size, np.float32)
    beside = np.empty(size, np.float32)
    codes = np.empty((size, size), np.float32)
    filters = np.empty((size, length), np.float32)
    mean = np.empty(n_base, np.float32)
    mixture = np.empty(n_base, np.float32)
    mean_patch = np.empty(length, np.float32)
    variances = np.empty(size, np.float32)
    aspect = min(size, n_base) / max(size, n_base)
    noise = (strength * sigma) ** 2 * max(size, n_base)
    edge = (1 + np.sqrt(aspect)) ** 2
    faint = np.float32(FAINT_MEAN * sigma / np.sqrt(size))
    alike = np.float32((2 * n_base + ALIKE_DEVIATIONS * np.sqrt(8 * n_base)) * sigma**2)
    for g in range(n_groups):
        members = groups[g]
        mean[:] = 0
        for i in range(size):
            row = coefficients[members[i]]
            for r in range(n_base):
                x[i, r] = row[r]
                mean[r] += row[r]
        for r in range(n_base):
            mean[r] /= np.float32(size)
        for i in range(size):
            for r in range(n_base):
                x[i, r] -= mean[r]
            for j in range(i + 1):
                product = np.float32(0)
                for r in range(n_base):
                    product += x[i, r] * x[j, r]
                gram[i, j] = product
                gram[j, i] = product
        n_alike = np.int64(0)
        for i in range(size):
            n_alike += np.int64(gram[i, i] + gram[0, 0] - 2 * gram[0, i] <= alike)
        n_of_mean = n_base
        for r in range(n_flat, n_base):
            if abs(mean[r]) < faint:
                mean[r] = 0
                n_of_mean -= 1
        variances[:] = n_of_mean / (size * n_base)
        _mix(mean, basis, mean_patch)
        trace = np.float32(0)
        for i in range(size):
            trace += gram[i, i]
        # Beside such energies, single precision cannot tell those of the noise's size: all stays.
        if NEGLIGIBLE_STEP * trace > edge * noise:
            variances[:] = 1
            for a in range(size):
                for i in range(size):
                    codes[a, i] = np.float32(a == i)
                _mix(x[a], basis, filters[a])
            _put_back(
                mean_patch, codes, filters, size, members, np.float32(1 / (1 + size)),
                variances, n_alike, points, offsets, total, first, tallies,
            )  # fmt: skip
            continue
        n_steps = min(LANCZOS_STEPS, size)
        while True:
            n = _lanczos(gram, start, n_steps, rows, energies, beside)
            _diagonalise(energies, beside, n, vectors)
            n_above = 0
            for a in range(n):
                n_above += int(energies[a] > edge * noise)
            if n < n_steps or n_steps == size or 4 * n_above <= 3 * n_steps:
                break
            n_steps = size  # so many stand above the noise that some were not met
        n_kept, kept = np.int64(0), 1.0  # a plain 0 would compile _put_back for constants, too
        for a in range(n):
            ratio = energies[a] / noise
            if ratio <= edge:
                continue
            factor = np.sqrt((ratio - aspect - 1) ** 2 - 4 * aspect) / ratio
            kept += factor * factor
            code = codes[n_kept]
            _mix(vectors[a, :n], rows[:n], code)
            _mix(code, x, mixture)
            _mix(mixture, basis, filters[n_kept])
            for i in range(size):
                variances[i] += factor * factor * (1 / n_base + code[i] * code[i])
                code[i] *= np.float32(factor)
            n_kept += 1
        _put_back(
            mean_patch, codes, filters, n_kept, members, np.float32(1 / kept),
            variances, n_alike, points, offsets, total, first, tallies,
        )  # fmt: skip


@compiled
def _span(q: Array, energies: Array, least: float, vectors: Array, codes: Array) -> int:
    """Orthonormal vectors (k, R), and codes (k, n), so that q is about codes.T @ vectors.

    Gram and Schmidt, the row first of which most is left: ``energies`` says how much. ``q`` and
    ``energies`` become what is left. Returns k.
    """
    size, n_base = q.shape
    for k in range(min(size, n_base)):
        most = 0
        for i in range(1, size):
            if energies[i] > energies[most]:
                most = i
        if energies[most] <= least:
            return k
        vector, square = vectors[k], np.float32(0)
        for r in range(n_base):
            square += q[most, r] * q[most, r]
        length = np.sqrt(square)
        for r in range(n_base):
            vector[r] = q[most, r] / length
        for i in range(size):
            row, share, rest = q[i], np.float32(0), np.float32(0)
            for r in range(n_base):
                share += row[r] * vector[r]
            for r in range(n_base):
                value = row[r] - share * vector[r]
                row[r] = value
                rest += value * value
            codes[k, i] = share
            energies[i] = rest
        energies[most] = 0
    return int(min(size, n_base))


@compiled
def _decorrelate(codes: Array, vectors: Array, n: int) -> None:
    """Turn vectors, and codes with them, so that codes are hardly correlated: to where q varies.

    One sweep of one-sided Jacobi rotations; a second one changes nothing that can be measured.
    """
    one = np.float32(1)
    for a in range(n - 1):
        for b in range(a + 1, n):
            aa, bb, ab = np.float32(0), np.float32(0), np.float32(0)
            for i in range(codes.shape[1]):
                u, v = codes[a, i], codes[b, i]
                aa += u * u
                bb += v * v
                ab += u * v
            if abs(ab) <= np.float32(MIN_CORRELATION) * np.sqrt(aa * bb):
                continue
            ratio = (bb - aa) / (2 * ab)
            tangent = (one if ratio >= 0 else -one) / (abs(ratio) + np.sqrt(one + ratio * ratio))
            cosine = one / np.sqrt(one + tangent * tangent)
            sine = cosine * tangent
            for i in range(codes.shape[1]):
                u, v = codes[a, i], codes[b, i]
                codes[a, i] = cosine * u - sine * v
                codes[b, i] = sine * u + cosine * v
            for r in range(vectors.shape[1]):
                u, v = vectors[a, r], vectors[b, r]
                vectors[a, r] = cosine * u - sine * v
                vectors[b, r] = sine * u + cosine * v


@compiled
def wiener(
    values: Array,
    pilot: Array,
    groups: Array,
    sigma: float,
    basis: Array,
    n_flat: int,
    points: Array,
    offsets: Array,
    total: Array,
    first: int,
    tallies: Array,
) -> None:
    """Later passes; see ``numpy_kernels``."""
    n_groups, size = groups.shape
    n_base, length = basis.shape
    most = min(size, n_base)
    q = np.empty((size, n_base), np.float32)
    x = np.empty((size, length), np.float32)
    energies = np.empty(size, np.float32)
    vectors = np.empty((most, n_base), np.float32)
    codes = np.empty((most, size), np.float32)
    filters = np.empty((most, length), np.float32)
    mean_q = np.empty(n_base, np.float32)
    mean = np.empty(n_base, np.float32)
    mean_patch = np.empty(length, np.float32)
    variances = np.empty(size, np.float32)
    noise = np.float32((ASSUMED_NOISE * sigma) ** 2)
    noise_of_mean = np.float32((n_base - n_flat) * sigma**2 / size)
    least = np.float32(NEGLIGIBLE_ENERGY * sigma**2)
    alike = np.float32(ALIKE_DISTANCE * sigma**2)
    for g in range(n_groups):
        members = groups[g]
        mean_q[:] = 0
        mean_patch[:] = 0
        for i in range(size):
            row, start = pilot[members[i]], points[members[i]]
            for r in range(n_base):
                q[i, r] = row[r]
                mean_q[r] += row[r]
            for m in range(length):
                value = values[start + offsets[m]]
                x[i, m] = value
                mean_patch[m] += value
        for r in range(n_base):
            mean_q[r] /= np.float32(size)
        for m in range(length):
            mean_patch[m] /= np.float32(size)
        for i in range(size):
            energy = np.float32(0)
            for r in range(n_base):
                value = q[i, r] - mean_q[r]
                q[i, r] = value
                energy += value * value
            energies[i] = energy
            for m in range(length):
                x[i, m] -= mean_patch[m]
        n_alike = _count_alike(q, alike)
        # One factor for all: a factor each would depend on which basis of the span it is.
        square = np.float32(0)
        for r in range(n_flat, n_base):
            square += mean_q[r] * mean_q[r]
        share = square / (square + noise_of_mean) if square > 0 else np.float32(0)
        for r in range(n_base):
            value = np.float32(0)
            for m in range(length):
                value += basis[r, m] * mean_patch[m]
            mean[r] = value if r < n_flat else share * value
        _mix(mean, basis, mean_patch)
        variances[:] = (n_flat + share * (n_base - n_flat)) / (size * n_base)
        # Joint values stand in for patches that are alike.
        is_alone = n_alike < FEW_ALIKE and n_flat == 1
        strictness = np.float32(STRICTNESS_ALONE if is_alone else 1)
        n = _span(q, energies, strictness * least, vectors, codes)
        _decorrelate(codes, vectors, n)
        kept = np.float32(0)
        for a in range(n):
            code, vector = codes[a], filters[a]
            _mix(vectors[a], basis, vector)
            for i in range(size):
                value = np.float32(0)
                for m in range(length):
                    value += x[i, m] * vector[m]
                power = code[i] * code[i]
                share = power / (power + noise)
                kept += share * share
                variances[i] += share / n_base
                code[i] = share * value
        _put_back(
            mean_patch, codes, filters, n, members, np.float32(1 / (1 + kept / n_base)),
            variances, n_alike, points, offsets, total, first, tallies,
        )  # fmt: skip
