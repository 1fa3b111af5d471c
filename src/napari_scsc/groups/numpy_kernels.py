"""What the compiled kernels of groups do, in numpy, for many groups at once.

For machines without numba, and to be read beside the equations. ``group_kernels`` says what a place
is, and where the values of a patch lie.
"""

from __future__ import annotations

import numpy as np

from napari_scsc._types import Array

FAINT_MEAN = 2.4  # standard errors, below which a coefficient of the mean of a group is dropped
LANCZOS_STEPS = 16  # enough where no more than twelve directions stand above the noise
NEGLIGIBLE_STEP = 1e-6  # of the trace: a next vector of Lanczos that is nothing but rounding
ASSUMED_NOISE = 1.1  # of the true one, beside the power of a pilot, which has some noise too
NEGLIGIBLE_ENERGY = 2.0  # in variances of the noise: what no patch of a pilot has is left out
ALIKE_DISTANCE = 8.0  # in variances: two standard errors of the difference of two noisy patches
ALIKE_DEVIATIONS = 3.0  # of the squared distance of noisy patches from what noise alone gives
FEW_ALIKE = 3  # fewer of a group are as good as the reference alone
STRICTNESS_ALONE = 2.0  # times the negligible energy there: a pilot that is alone keeps more noise
MIN_CORRELATION = 1e-2  # of two codes: what is less is left as it is


def match(planes: Array, references: Array, reach: Array, size: int) -> Array:
    """For each reference place, the ``size`` places around it whose patches are most alike.

    ``planes`` (z, y, P, x) are the first coefficients of all patches, by place; ``references``
    (n, 3) are places, and the search goes ``reach`` to either side of each. Returns the numbers
    (n, size) of places, the nearest first: the reference itself, and of those that are as near,
    those in nearer planes and rows first.
    """
    n_z, n_y, _, n_x = planes.shape
    along = [sorted(range(-r, r + 1), key=lambda o: (abs(o), -o)) for r in reach[:2]]
    offsets = np.stack(
        np.meshgrid(*along, np.arange(-reach[2], reach[2] + 1), indexing="ij"), -1
    ).reshape(-1, 3)
    distances = np.full((len(references), len(offsets)), np.inf, planes.dtype)
    z, y, x = references.T
    own = planes[z, y, :, x]
    for number, offset in enumerate(offsets):
        other = references + offset
        inside = ((other >= 0) & (other < (n_z, n_y, n_x))).all(axis=1)
        i, j, k = other[inside].T
        difference = own[inside] - planes[i, j, :, k]
        distances[inside, number] = np.einsum("np,np->n", difference, difference)
    distances[:, int(reach[2])] = -1  # the first row holds the reference itself
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :size]
    return np.asarray((references[:, None] + offsets[nearest]) @ [n_y * n_x, n_x, 1])


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
    """First pass: W from the noisy group itself, its singular values shrunk.

    The shrinkage is the one that loses least for a low-rank matrix in white noise (Gavish and
    Donoho 2017); ``strength`` scales the noise level it assumes. The mean of the group is kept,
    but for coefficients that are no larger than its noise; the flat ones stay. Singular vectors are
    found by ``LANCZOS_STEPS`` steps of Lanczos from a vector ``start``, or by all steps. Adds the
    weighted patches to ``total``, which begins at the value ``first``, and to ``tallies`` (3, n),
    where the patches begin, their weights, and these times two figures: the variance of the error
    that the noise leaves, in variances of the noise, and how many of the group are alike.
    """
    size, n_base = groups.shape[1], len(basis)
    aspect = min(size, n_base) / max(size, n_base)
    noise = (strength * sigma) ** 2 * max(size, n_base)
    x = coefficients[groups]
    n_alike = _count_alike(x, (2 * n_base + ALIKE_DEVIATIONS * np.sqrt(8 * n_base)) * sigma**2)
    mean = x.mean(axis=1, keepdims=True)
    x = x - mean
    faint = np.abs(mean) < FAINT_MEAN * sigma / np.sqrt(size)
    faint[..., :n_flat] = False
    gram = x @ x.swapaxes(1, 2)
    energies, left = _leading_eigenvectors(gram, start, min(LANCZOS_STEPS, size))
    edge = (1 + np.sqrt(aspect)) ** 2
    many = 4 * (energies > edge * noise).sum(axis=1) > 3 * energies.shape[1]
    if many.any() and energies.shape[1] < size:  # so many that some were not met
        missed = [(0, 0), (0, size - energies.shape[1])]
        energies, left = np.pad(energies, missed), np.pad(left, [*missed, (0, 0)])
        energies[many], left[many] = _leading_eigenvectors(gram[many], start, size)
    ratios = np.maximum(energies / noise, 0)
    is_kept = ratios > edge
    square = np.where(is_kept, (ratios - aspect - 1) ** 2 - 4 * aspect, 0)
    factors = np.sqrt(square) / np.where(is_kept, ratios, 1)
    estimate = (left * factors[..., None]).swapaxes(1, 2) @ (left @ x)
    kept = 1 + np.square(factors).sum(axis=1)
    # A direction that is kept brings the noise of each code, and its own, shared by the codes.
    of_mean = (n_base - faint.sum(axis=(1, 2))) / (size * n_base)
    of_codes = np.einsum("ga,gai->gi", np.square(factors), 1 / n_base + np.square(left))
    variances = of_mean[:, None] + of_codes
    # Beside such energies, single precision cannot tell those of the noise's size: all stays.
    is_kept_whole = NEGLIGIBLE_STEP * np.trace(gram, axis1=1, axis2=2) > edge * noise
    estimate[is_kept_whole], kept[is_kept_whole] = x[is_kept_whole], 1 + size
    variances[is_kept_whole] = 1
    patches = (np.where(faint, 0, mean) + estimate).astype(np.float32) @ basis
    _put_back(patches, 1 / kept, variances, n_alike, groups, points, offsets, total, first, tallies)


def _leading_eigenvectors(gram: Array, start: Array, steps: int) -> tuple[Array, Array]:
    """Eigenvalues (g, steps) and, about, eigenvectors (g, steps, n) of matrices (g, n, n).

    The largest are right, the others are not. By Lanczos, from a vector.
    """
    n = gram.shape[1]
    least = NEGLIGIBLE_STEP * np.trace(gram, axis1=1, axis2=2)
    rows = np.zeros((len(gram), steps, n), np.float32)
    tridiagonal = np.zeros((len(gram), steps, steps), np.float32)
    rows[:, 0] = start[:n]
    going = np.ones(len(gram), bool)
    for step in range(steps):
        image = np.einsum("gij,gj->gi", gram, rows[:, step])
        for b in range(step, -1, -1):
            share = np.einsum("gi,gi->g", rows[:, b], image)
            image -= share[:, None] * rows[:, b]
            if b == step:
                tridiagonal[:, step, step] = share
        length = np.sqrt(np.einsum("gi,gi->g", image, image))
        going &= length > least
        if step + 1 < steps:
            length[~going] = 0
            tridiagonal[:, step, step + 1] = tridiagonal[:, step + 1, step] = length
            rows[:, step + 1] = image / np.where(going, length, 1)[:, None] * going[:, None]
    energies, vectors = np.linalg.eigh(tridiagonal)
    return energies, vectors.swapaxes(1, 2) @ rows


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
    """Later passes: W from the group of a pilot, each coefficient weighed by its power there.

    ``values`` are those of the noisy sample, ``pilot`` (places, R) the coefficients of the pilot.
    Adds to ``total`` and ``tallies`` as ``threshold`` does.
    """
    size, n_base = groups.shape[1], len(basis)
    q = pilot[groups]
    mean_q = q.mean(axis=1, keepdims=True)
    x = values[points[groups][..., None] + offsets]
    mean_x = x.mean(axis=1, keepdims=True)
    # One factor for all: a factor each would depend on which basis of the span it is.
    square = np.square(mean_q[..., n_flat:]).sum(axis=-1, keepdims=True)
    noise_of_mean = (n_base - n_flat) * sigma**2 / size
    mean = mean_x @ basis.T
    share_of_mean = square / np.where(square > 0, square + noise_of_mean, 1)
    mean[..., n_flat:] *= share_of_mean
    n_alike = _count_alike(q, ALIKE_DISTANCE * sigma**2)
    # Joint values stand in for patches that are alike.
    is_alone = (n_alike < FEW_ALIKE) & (n_flat == 1)
    strictness = np.where(is_alone, STRICTNESS_ALONE, 1.0)
    vectors, codes = _span(q - mean_q, strictness * NEGLIGIBLE_ENERGY * sigma**2)
    _decorrelate(codes, vectors)
    filters = vectors @ basis
    power = np.square(codes)
    shares = power / (power + (ASSUMED_NOISE * sigma) ** 2)
    found = shares * (filters @ (x - mean_x).swapaxes(1, 2))
    patches = (mean @ basis + found.swapaxes(1, 2) @ filters).astype(np.float32)
    weight = 1 / (1 + np.square(shares).sum(axis=(1, 2)) / n_base)
    of_mean = (n_flat + share_of_mean[..., 0] * (n_base - n_flat)) / (size * n_base)
    variances = of_mean + shares.sum(axis=1) / n_base
    _put_back(patches, weight, variances, n_alike, groups, points, offsets, total, first, tallies)


def _count_alike(rows: Array, limit: float) -> Array:
    """How many of the rows (g, n, R) lie no farther than a squared distance from the first."""
    return np.asarray((np.square(rows - rows[:, :1]).sum(axis=2) <= limit).sum(axis=1))


def _span(q: Array, least: Array) -> tuple[Array, Array]:
    """Orthonormal vectors (g, k, R) and codes (g, k, n), so that q is about codes.T @ vectors.

    Gram and Schmidt, the row first of which most is left. Vectors of groups that need fewer than
    others are zero.
    """
    every = np.arange(len(q))
    energies = np.square(q).sum(axis=2)
    vectors, codes = [], []
    for _ in range(min(q.shape[1:])):
        most = energies.argmax(axis=1)
        going = energies[every, most] > least
        if not going.any():
            break
        pivot = q[every, most]
        length = np.linalg.norm(pivot, axis=1)
        vector = pivot / np.where(going, length, 1)[:, None] * going[:, None]
        code = np.einsum("gnr,gr->gn", q, vector)
        q = q - code[..., None] * vector[:, None]
        energies = np.square(q).sum(axis=2)
        energies[every, most] = 0
        energies[~going] = 0
        vectors.append(vector)
        codes.append(code)
    if not vectors:
        return np.zeros((len(q), 0, q.shape[2]), q.dtype), np.zeros((*q.shape[:1], 0, q.shape[1]))
    return np.stack(vectors, axis=1), np.stack(codes, axis=1)


def _decorrelate(codes: Array, vectors: Array) -> None:
    """Turn vectors, and codes with them, so that codes are hardly correlated; see the loops."""
    for a in range(codes.shape[1] - 1):
        for b in range(a + 1, codes.shape[1]):
            aa, bb, ab = (
                np.einsum("gn,gn->g", codes[:, i], codes[:, j]) for i, j in ((a, a), (b, b), (a, b))
            )
            is_turned = np.abs(ab) > MIN_CORRELATION * np.sqrt(aa * bb)
            ratio = (bb - aa) / (2 * np.where(is_turned, ab, 1))
            tangent = np.where(ratio >= 0, 1, -1) / (np.abs(ratio) + np.sqrt(1 + ratio**2))
            tangent *= is_turned
            cosine = (1 / np.sqrt(1 + tangent**2))[:, None]
            sine = cosine * tangent[:, None]
            for rows in (codes, vectors):
                u, v = rows[:, a].copy(), rows[:, b].copy()
                rows[:, a] = cosine * u - sine * v
                rows[:, b] = sine * u + cosine * v


def _put_back(
    patches: Array,
    weight: Array,
    variances: Array,
    n_alike: Array,
    groups: Array,
    points: Array,
    offsets: Array,
    total: Array,
    first: int,
    tallies: Array,
) -> None:
    """Add patches (g, n, M), times the weight (g,) of their group, where they lie."""
    start = points[groups] - first
    weight = np.broadcast_to(weight.astype(np.float32)[:, None], groups.shape)
    np.add.at(total, start[..., None] + offsets, patches * weight[..., None])
    np.add.at(tallies[0], start, weight)
    np.add.at(tallies[1], start, weight * variances.astype(np.float32))
    np.add.at(tallies[2], start, weight * n_alike[:, None].astype(np.float32))
