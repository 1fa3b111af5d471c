"""Sample data made on the spot: no download, the same in every place.

What a camera gives is in counts, uint16: an offset, the counts of the photons with their own noise,
and the noise of reading. ``clean=True`` gives the same scene in the same units without any noise,
float32: what a perfect restoration would find. ``seed``, 0 unless given, says which picture it is,
or a generator of numpy as ``rng``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from napari_scsc._types import Array
from napari_scsc.checks import check_seed


def tissue(
    shape: tuple[int, int] = (256, 256), seed: int | None = None, *, rng: Any = None
) -> Array:
    """A picture of cells: textured nuclei between filaments, float32 in [0, 1]."""
    seed = check_seed(seed, rng)
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    picture = 0.08 + 0.05 * _clouds(shape, 40, rng)
    for _ in range(max(1, shape[0] * shape[1] // 2500)):
        picture = np.maximum(picture, _filament(rows, columns, rng))
    for _ in range(max(1, shape[0] * shape[1] // 6000)):
        cell, inside = _nucleus(rows, columns, rng)
        texture = 0.75 + 0.25 * np.sin(_clouds(shape, 3, rng) * 3)
        picture = np.where(inside, cell * texture, picture)
    blurred = ndimage.gaussian_filter(picture, 0.8)
    return np.clip(blurred, 0, 1).astype(np.float32)


def noisy_tissue(
    shape: tuple[int, int] = (256, 256),
    seed: int | None = None,
    *,
    rng: Any = None,
    clean: bool = False,
) -> Array:
    """``tissue`` through a camera in dim light, (y, x) uint16 counts."""
    seed = check_seed(seed, rng)
    return _camera(tissue(shape, seed), 60, seed, clean)


def rgb(shape: tuple[int, int] = (256, 256), seed: int = 0, *, clean: bool = False) -> Array:
    """A stained section in the light of a lamp, purple nuclei in pink, (y, x, c) uint8."""
    rng = np.random.default_rng([seed, 5])
    haematoxylin, eosin = (0.65, 0.70, 0.29), (0.07, 0.99, 0.11)  # what each takes of R, G and B
    nuclei = 1.6 * tissue(shape, seed) ** 1.5
    ground = 0.35 * np.clip(
        1 + 0.35 * _clouds(shape, 6, rng) + 0.2 * _clouds(shape, 1.5, rng), 0, 2
    )
    density = nuclei[..., None] * haematoxylin + ground[..., None] * eosin
    light, white = np.exp(-density), 170  # of 255: the noise has room above it
    if clean:
        return np.asarray(white * light, np.float32)
    photons = 120  # where the light of the lamp is not weakened
    return np.asarray(
        np.clip(np.rint(white / photons * rng.poisson(photons * light)), 0, 255), np.uint8
    )


def video(
    shape: tuple[int, int, int] = (32, 128, 160),
    seed: int | None = None,
    *,
    rng: Any = None,
    clean: bool = False,
) -> Array:
    """Granular cells that glide, turn and bounce off the borders, (t, y, x) uint16 counts."""
    seed = check_seed(seed, rng)
    rng = np.random.default_rng(seed)
    ground = np.maximum(0.1 + 0.03 * _clouds(shape[1:], 20, rng), 0.02)
    frames = np.repeat(ground[None].astype(np.float32), shape[0], axis=0)
    for _ in range(max(2, shape[1] * shape[2] // 1400)):
        _add_moving_cell(frames, rng)
    return _camera(ndimage.gaussian_filter(frames, (0, 0.7, 0.7)), 50, seed, clean)


def stack(
    shape: tuple[int, int, int] = (24, 128, 144),
    seed: int | None = None,
    *,
    rng: Any = None,
    clean: bool = False,
) -> Array:
    """Nuclei with chromatin and a bright rim, (z, y, x) uint16 counts; z is 2.5 times coarser."""
    seed = check_seed(seed, rng)
    rng = np.random.default_rng([seed, 3])
    coarse = 2.5
    places = np.meshgrid(*(np.arange(n, dtype=np.float32) for n in shape), indexing="ij")
    volume = np.maximum(0.06 + 0.02 * _clouds(shape, 12, rng), 0.02)
    chromatin = _clouds(shape, 1.2, rng)
    for _ in range(max(2, shape[1] * shape[2] * shape[0] // 25_000)):
        centre, size = rng.uniform(0, shape), rng.uniform(9, 15, 3) / (coarse, 1, 1)
        parts = zip(places, centre, size, strict=True)
        radius = np.sqrt(sum(((p - c) / s) ** 2 for p, c, s in parts))
        rim = np.exp(-(((radius - 1) / 0.08) ** 2))
        inside = rng.uniform(0.3, 0.5) * np.clip(1 + 0.3 * chromatin, 0.3, None) * (radius < 1)
        np.maximum(volume, np.maximum(inside, 0.7 * rim), out=volume)
    return _camera(ndimage.gaussian_filter(volume, (0.8, 0.8, 0.8)), 50, seed, clean)


def time_lapse(
    shape: tuple[int, int, int, int] = (5, 10, 96, 112), seed: int = 0, *, clean: bool = False
) -> Array:
    """Cells that creep, in two channels: chromatin and membranes, (t, c, z, y, x) uint16 counts.

    The shape is that without the channels.
    """
    rng = np.random.default_rng([seed, 4])
    n_times, *size = shape
    coarse = 2.5  # z, as in ``stack``
    places = np.meshgrid(*(np.arange(n, dtype=np.float32) for n in size), indexing="ij")
    chromatin = np.clip(1 + 0.3 * _clouds((size[0], size[1], size[2]), 1.2, rng), 0.3, None)
    n_cells = max(2, size[0] * size[1] * size[2] // 7000)
    centres = rng.uniform(0, size, (n_cells, 3))
    radii = rng.uniform(8, 13, (n_cells, 3)) / (coarse, 1, 1)
    steps = rng.normal(0, (0.1, 0.8, 0.8), (n_cells, 3))
    levels = rng.uniform(0.3, 0.6, n_cells)
    scene = np.full((n_times, 2, *size), 0.05, np.float32)
    for t in range(n_times):
        for centre, radius, level in zip(centres + t * steps, radii, levels, strict=True):
            parts = zip(places, centre, radius, strict=True)
            from_centre = np.sqrt(sum(((p - c) / r) ** 2 for p, c, r in parts))
            nucleus = level * chromatin * (from_centre < 0.75)
            membrane = 0.7 * np.exp(-(((from_centre - 1) / 0.08) ** 2))
            np.maximum(scene[t], np.stack([nucleus, membrane]), out=scene[t])
    return _camera(ndimage.gaussian_filter(scene, (0, 0, 0.8, 0.8, 0.8)), 50, seed, clean)


def wavelengths(n_bands: int = 31) -> Array:
    """The wavelengths of the bands of ``multispectral`` in nanometres, float32."""
    return np.linspace(400, 700, n_bands, dtype=np.float32)


def multispectral(
    shape: tuple[int, int, int] = (31, 160, 160),
    seed: int | None = None,
    *,
    rng: Any = None,
    clean: bool = False,
) -> Array:
    """Five stains with smooth spectra that mix from place to place, (c, y, x) uint16 counts."""
    seed = check_seed(seed, rng)
    rng = np.random.default_rng(seed)
    n_stains = 5
    centre = rng.permutation(np.linspace(420, 680, n_stains))[:, None]
    width = rng.uniform(20, 60, (n_stains, 1))
    spectra = 0.15 + np.exp(-0.5 * ((wavelengths(shape[0]) - centre) / width) ** 2)
    clouds = np.stack([_clouds(shape[1:], 9, rng) for _ in range(n_stains)])
    where = np.exp(3 * (clouds - clouds.mean(axis=(1, 2), keepdims=True)))
    amounts = where / where.sum(axis=0)
    amounts *= 0.25 + tissue((shape[1], shape[2]), seed)
    cube = np.einsum("sc,syx->cyx", spectra, amounts).astype(np.float32)
    return _camera(cube / cube.max(), 80, seed, clean)


def light_field(
    shape: tuple[int, int, int, int] = (7, 7, 112, 128),
    seed: int | None = None,
    *,
    rng: Any = None,
    clean: bool = False,
) -> Array:
    """Textured discs before a textured wall, seen from a grid of places, (u, v, y, x) uint16.

    The wall moves by half a pixel from one view to the next and the discs by up to two pixels the
    other way, so that they hide and uncover what is behind them.
    """
    seed = check_seed(seed, rng)
    rng = np.random.default_rng(seed)
    n_u, n_v, height, width = shape
    pad = 2 * max(n_u, n_v)  # what is moved in from outside, at two pixels a view from the middle
    size = height + 2 * pad, width + 2 * pad
    layers = [(0.5, 0.3 + 0.06 * _clouds(size, 4, rng), np.ones(size))]
    for disparity, level in ((-0.7, 0.45), (-1.3, 0.6), (-2.0, 0.8)):  # from the back to the front
        texture = level * (1 + 0.15 * _clouds(size, 1.5, rng))
        layers.append((disparity, texture, _discs(size, rng)))
    views = np.zeros((n_u, n_v, height, width), np.float32)
    for disparity, texture, cover in layers:
        spectra = np.fft.rfft2(np.stack([texture * cover, cover]))
        for u, v in np.ndindex(n_u, n_v):
            move = disparity * (u - (n_u - 1) / 2), disparity * (v - (n_v - 1) / 2)
            moved, hidden = _moved(spectra, size, move)[:, pad : pad + height, pad : pad + width]
            views[u, v] = views[u, v] * (1 - hidden) + moved
    return _camera(np.clip(views, 0, 1), 100, seed, clean)


def with_holes(
    shape: tuple[int, int] = (256, 256),
    seed: int | None = None,
    *,
    rng: Any = None,
    clean: bool = False,
) -> tuple[Array, Array]:
    """``tissue`` with scratches, dead columns and a lost block.

    Returns
    -------
    image : ndarray, (y, x) float32
        With a little noise, and zero where it is missing; neither with ``clean=True``.
    missing : ndarray, (y, x) bool
        True where nothing was measured.
    """
    seed = check_seed(seed, rng)
    rng = np.random.default_rng([seed, 1])
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    missing = np.zeros(shape, bool)
    for _ in range(7):
        missing |= _filament(rows, columns, rng) > 0.1
    missing[:, rng.choice(shape[1], max(1, shape[1] // 50), replace=False)] = True
    y, x = (int(rng.integers(n // 4, n // 2 + 1)) for n in shape)
    missing[y : y + max(1, shape[0] // 20), x : x + max(1, shape[1] // 20)] = True
    image = tissue(shape, seed)
    if not clean:
        noisy = image + 0.01 * rng.standard_normal(shape, np.float32)
        image = np.where(missing, np.float32(0), np.clip(noisy, 0, 1))
    return image, missing


def _camera(scene: Array, photons: float, seed: int, clean: bool) -> Array:
    """Counts of a camera that gets that many photons, in the mean, where the scene is 1."""
    offset, gain, reading = 100, 2.2, 3.5
    expected = photons * np.maximum(scene, 0)
    if clean:
        return np.asarray(offset + gain * expected, np.float32)
    rng = np.random.default_rng([seed, 2])
    counts = offset + gain * rng.poisson(expected)
    counts += reading * rng.standard_normal(scene.shape, np.float32)
    return np.asarray(np.clip(np.rint(counts), 0, 65535), np.uint16)


def _add_moving_cell(frames: Array, rng: np.random.Generator) -> None:
    """Draw a cell into every frame where it is brighter than what is there."""
    start = rng.uniform(0, frames.shape[1:])
    speed = rng.uniform(-1.5, 1.5, 2)
    angle, turn = rng.uniform(0, np.pi), rng.uniform(-0.06, 0.06)
    a, b = rng.uniform(7, 12), rng.uniform(5, 8)
    level = rng.uniform(0.35, 0.7)
    granules = rng.uniform(-0.6, 0.6, (8, 2)) * (a, b)
    reach = int(np.ceil(max(a, b))) + 3
    for t, frame in enumerate(frames):
        y, x = (
            abs((p + n) % (2 * n) - n)  # there and back again
            for p, n in zip(start + t * speed, frame.shape, strict=True)
        )
        top, left = max(0, int(y) - reach), max(0, int(x) - reach)
        window = frame[top : int(y) + reach + 1, left : int(x) + reach + 1]
        dy = np.arange(top, top + window.shape[0])[:, None] - y
        dx = np.arange(left, left + window.shape[1])[None] - x
        sine, cosine = np.sin(angle + t * turn), np.cos(angle + t * turn)
        u, v = dy * sine + dx * cosine, dy * cosine - dx * sine
        radius = np.sqrt((u / a) ** 2 + (v / b) ** 2)
        body = 0.7 + sum(0.3 * np.exp(-((u - p) ** 2 + (v - q) ** 2) / 3) for p, q in granules)
        rim = 1 / (1 + np.exp(np.clip(8 * (radius - 1), -30, 30)))
        np.maximum(window, np.clip(level * body * rim, 0, 1), out=window)


def _discs(shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """One where there is a disc, zero elsewhere, with edges that are not ragged."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    cover = np.zeros(shape)
    for _ in range(max(2, shape[0] * shape[1] // 6000)):
        radius = rng.uniform(7, 14)
        distance = np.hypot(rows - rng.uniform(0, shape[0]), columns - rng.uniform(0, shape[1]))
        cover = np.maximum(cover, distance < radius)
    return np.clip(ndimage.gaussian_filter(cover, 0.8, mode="wrap"), 0, 1)


def _moved(spectra: Array, shape: tuple[int, int], move: tuple[float, float]) -> Array:
    """The pictures of these spectra, moved by parts of pixels, without a blur."""
    phase_y = np.exp(-2j * np.pi * move[0] * np.fft.fftfreq(shape[0]))[:, None]
    phase_x = np.exp(-2j * np.pi * move[1] * np.fft.rfftfreq(shape[1]))
    return np.asarray(np.fft.irfft2(spectra * (phase_y * phase_x), shape))


def _clouds(shape: tuple[int, ...], size: float, rng: np.random.Generator) -> Array:
    """Smooth noise of about unit variance."""
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), size, mode="wrap")
    return np.asarray(noise / noise.std())


def _filament(rows: Array, columns: Array, rng: np.random.Generator) -> Array:
    """A thin, slightly wavy line across the picture."""
    angle, phase = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
    y, x = rng.uniform(0, rows.shape[0]), rng.uniform(0, rows.shape[1])
    along = (rows - y) * np.sin(angle) + (columns - x) * np.cos(angle)
    across = (rows - y) * np.cos(angle) - (columns - x) * np.sin(angle)
    across = across + rng.uniform(1, 4) * np.sin(along / rng.uniform(10, 30) + phase)
    length = rng.uniform(20, 70)
    profile = np.exp(-((across / 0.9) ** 2)) * (np.abs(along) < length)
    return np.asarray(rng.uniform(0.25, 0.6) * profile)


def _nucleus(rows: Array, columns: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """A bright ellipse with a sharp rim."""
    angle = rng.uniform(0, np.pi)
    y, x = rng.uniform(0, rows.shape[0]), rng.uniform(0, rows.shape[1])
    a, b = rng.uniform(8, 18), rng.uniform(6, 12)
    u = (rows - y) * np.sin(angle) + (columns - x) * np.cos(angle)
    v = (rows - y) * np.cos(angle) - (columns - x) * np.sin(angle)
    radius = np.sqrt((u / a) ** 2 + (v / b) ** 2)
    level = rng.uniform(0.4, 0.8) * (1 - 0.3 * radius**2)
    return np.asarray(level), np.asarray(radius < 1)
