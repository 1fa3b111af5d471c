"""Other restoration methods, one thread each, and how results are compared, summed up and shown.

Where the noise level is given, all methods get it. Other settings are the defaults, or what the
documentation of the method recommends for a known noise level, unless a benchmark says otherwise.
"""

import statistics
import time

import bm3d as bm3d_package
import bm4d as bm4d_package
import cv2
import numpy as np
from scipy.fft import dctn, idctn
from scipy.interpolate import griddata
from scipy.ndimage import gaussian_filter, uniform_filter
from skimage.metrics import structural_similarity
from skimage.restoration import (
    cycle_spin,
    denoise_nl_means,
    denoise_tv_chambolle,
    denoise_wavelet,
    inpaint_biharmonic,
)

from benchmarks.quality import psnr

cv2.setNumThreads(1)

_BLUR_WIDTHS = (0.7, 0.85, 1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, 5)

# --- denoising ----------------------------------------------------------------------------------


def bm3d(noisy, sigma):
    profile = bm3d_package.BM3DProfile()
    profile.num_threads = 1  # its default is all cores
    return bm3d_package.bm3d(noisy, sigma, profile)


def bm3d_spectrum(noisy, power):
    """Bm3d for noise of a known power spectrum, the squares of ``fft2`` of a noise of the shape."""
    if not hasattr(np, "trapz"):
        # This mode of bm3d calls what numpy has dropped.
        np.trapz = np.trapezoid  # noqa: NPY201
    return bm3d(noisy, power)


def best_blur(noisy, score):
    """Gaussian blur of the width that scores best: what a person with the truth would choose."""
    blurred = (gaussian_filter(noisy, width) for width in _BLUR_WIDTHS)
    return max(blurred, key=score)


def global_wiener(noisy, variance):
    """Wiener filter over the cosines of the whole image, in which the noise has that variance."""
    mean = noisy.mean()
    cosines = dctn(noisy - mean, norm="ortho")
    power = uniform_filter(cosines**2, 9, mode="nearest")
    share = np.maximum(power - variance, 0) / np.maximum(power, 1e-30)
    return idctn(cosines * share, norm="ortho") + mean


def bm4d(volume, sigma):
    profile = bm4d_package.BM4DProfile()
    profile.num_threads = 1  # its default is all cores
    return bm4d_package.bm4d(volume, sigma, profile)


def pca_bm3d(planes, sigma, n_components):
    """Bm3d on the leading principal components over the planes (n, y, x), the others dropped."""
    flat = planes.reshape(len(planes), -1).astype(np.float64)
    mean = flat.mean(axis=1, keepdims=True)
    vectors = np.linalg.svd(flat - mean, full_matrices=False)[0][:, :n_components]
    components = (vectors.T @ (flat - mean)).reshape(n_components, *planes.shape[1:])
    # The vectors are orthonormal: the noise of each component is that of the planes.
    cleaned = np.stack([bm3d(component, sigma) for component in components])
    return (vectors @ cleaned.reshape(n_components, -1) + mean).reshape(planes.shape)


def nl_means(noisy, sigma):
    """Scikit-image's, as its example calls the fast mode with a known noise level."""
    return denoise_nl_means(noisy, patch_size=5, patch_distance=6, h=0.6 * sigma, sigma=sigma)


def total_variation(noisy, weight):
    return denoise_tv_chambolle(noisy, weight=weight)


def wavelet(noisy, sigma):
    options = {"sigma": sigma, "rescale_sigma": True}
    return cycle_spin(noisy, func=denoise_wavelet, max_shifts=3, func_kw=options, workers=1)


def opencv_nl_means(noisy, h):
    """OpenCV's works on 8 bits: what lies outside [0, 1] is lost."""
    return _from_bits(cv2.fastNlMeansDenoising(_to_bits(noisy), None, h=h * 255))


def _to_bits(image):
    return (np.clip(image, 0, 1) * 255).round().astype(np.uint8)


def _from_bits(image):
    return image.astype(np.float32) / 255


# --- inpainting ---------------------------------------------------------------------------------


def biharmonic(image, missing):
    return inpaint_biharmonic(image, missing)


def interpolated(image, missing, method):
    """Scipy's ``griddata``: "linear" or "cubic", and the nearest where these know nothing."""
    known, wanted = np.argwhere(~missing), np.argwhere(missing)
    filled = griddata(known, image[~missing], wanted, method)
    unknown = np.isnan(filled)
    if unknown.any():
        filled[unknown] = griddata(known, image[~missing], wanted[unknown], "nearest")
    result = image.copy()
    result[missing] = filled
    return result


def opencv_inpaint(image, missing, method):
    """Values in [0, 1], as 8 bits: with floats, OpenCV's Telea method returns nonsense."""
    flag = {"navier-stokes": cv2.INPAINT_NS, "telea": cv2.INPAINT_TELEA}[method]
    return _from_bits(cv2.inpaint(_to_bits(image), missing.astype(np.uint8), 3, flag))


def along_first_axis(image, missing):
    """Linear interpolation along the first axis, line by line."""
    result = image.copy()
    place = np.arange(len(image))
    for index in np.ndindex(image.shape[1:]):
        gaps = missing[:, *index]
        if gaps.any() and not gaps.all():
            line = result[:, *index]
            line[gaps] = np.interp(place[gaps], place[~gaps], line[~gaps])
    return result


def low_rank(image, missing, rank, iterations=100):
    """Fill the planes so that they have a low rank: keep the leading vectors, and what is known."""
    start = along_first_axis(image, missing)
    flat, gaps = start.reshape(len(image), -1).copy(), missing.reshape(len(image), -1)
    for _ in range(iterations):
        vectors = np.linalg.eigh(flat @ flat.T)[1][:, -rank:]
        flat[gaps] = (vectors @ (vectors.T @ flat))[gaps]
    return flat.reshape(image.shape)


# --- comparing ----------------------------------------------------------------------------------


def scores(clean, result):
    """PSNR, peak 1, over all values; SSIM, the mean over the planes."""
    planes = (a.reshape(-1, *a.shape[-2:]).astype(np.float64) for a in (clean, result))
    return {
        "psnr": float(psnr(clean, result)),
        "ssim": statistics.fmean(ssim(a, b, 1.0) for a, b in zip(*planes, strict=True)),
    }


def ssim(clean, result, peak):
    return float(structural_similarity(clean, result, data_range=peak))


def compare(report, methods, clean, score=scores, **labels):
    """Run the methods in turn, add a row for each, and return their results."""
    results = {}
    for name, method in methods.items():
        start = time.perf_counter()
        results[name] = method()
        seconds = time.perf_counter() - start
        report.add(**labels, method=name, **score(clean, results[name]), seconds=seconds)
    return results


def chosen(rows, **labels):
    return [row for row in rows if all(row.get(key) == value for key, value in labels.items())]


def mean(rows, key, **labels):
    return statistics.fmean(row[key] for row in chosen(rows, **labels))


def time_ratio(rows, method, rival, **labels):
    """Median over the images of the time of one method / that of another."""
    pairs = [[row["seconds"] for row in chosen(rows, method=m, **labels)] for m in (method, rival)]
    return statistics.median(ours / theirs for ours, theirs in zip(*pairs, strict=True))


def means(rows, *by):
    """One row for each combination of the labels: the means of all figures over the images."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[label] for label in by), []).append(row)
    table = []
    for labels, group in groups.items():
        figures = [key for key, value in group[0].items() if isinstance(value, float)]
        table.append(
            dict(zip(by, labels, strict=True))
            | {"images": len(group)}
            | {key: statistics.fmean(row[key] for row in group) for key in figures if key not in by}
        )
    return table


def show(report, examples):
    """Draw one line of pictures for each example: clean, the others, and their differences.

    ``examples`` maps a title to {name: image}, the clean one first, then what is to be restored,
    then two results. All differences of a line have the same scale.
    """
    axes = np.atleast_2d(report.figure(columns=6, rows=len(examples)))
    for line, (title, pictures) in zip(axes, examples.items(), strict=True):
        clean, *others = pictures.values()
        low, high = float(clean.min()), float(clean.max())
        differences = {f"{n} - clean": p - clean for n, p in list(pictures.items())[2:]}
        reach = max(np.quantile(np.abs(d), 0.995) for d in differences.values())
        for ax, (name, picture) in zip(line, pictures.items(), strict=False):
            ax.imshow(picture, "gray", vmin=low, vmax=high, interpolation="nearest")
            ax.set_title(name)
        for ax, (name, picture) in zip(line[len(others) + 1 :], differences.items(), strict=True):
            ax.imshow(picture, "RdBu", vmin=-reach, vmax=reach, interpolation="nearest")
            ax.set_title(f"{name}, +-{reach:.2g}")
        line[0].set_ylabel(title)
        for ax in line:
            ax.set(xticks=[], yticks=[])
