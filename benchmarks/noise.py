"""The estimated noise level against the known one: white noise on photographs, micrographs, cells.

Images are averaged 2 x 2 first where they are large enough: photographs have noise of their own.
The estimator was developed with about half of these images in sight.
"""

import numpy as np

from benchmarks.data import load_image, load_images
from benchmarks.preprocessing import grey
from napari_scsc import estimate_noise, samples

_SIGMAS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3)
_MICROGRAPHS = ("w2s_010_0", "w2s_031_2", "w2s_042_1", "w2s_077_2", "w2s_099_0")


def run(report, *, data, quick):
    images = _images(data)
    images = images[:: 8 if quick else 1]
    for sigma in _SIGMAS:
        for name, clean in images:
            noise = np.random.default_rng(0).standard_normal(clean.shape)
            found = estimate_noise(clean + sigma * noise)
            error = found.sigma / sigma - 1
            report.rows.append(
                {"image": name, "sigma": sigma, "error": float(error), "sure": found.sure}
            )
        _summarise(report, sigma)
    ax = report.figure()
    ax.semilogx([r["sigma"] for r in report.rows], [100 * r["error"] for r in report.rows], ".")
    ax.set(xlabel="sigma", ylabel="error, %", ylim=(-30, 100))


def _summarise(report, sigma):
    rows = [r for r in report.rows if r["sigma"] == sigma]
    within = np.mean([abs(r["error"]) <= 0.05 for r in rows])
    wrong = sum(r["sure"] and abs(r["error"]) > 0.05 for r in rows)
    print(
        f"  sigma {sigma}: {within:.0%} of {len(rows)} within 5 %, {wrong} sure and not", flush=True
    )
    report.at_least(f"sigma {sigma}: share within 5 %", float(within), 1.0)
    report.at_most(f"sigma {sigma}: sure and wrong", wrong, 0)


def _images(data):
    found = [
        (f"{name} {i}", _scaled(grey(image)))
        for name in ("ten_images", "flower/test", "fruit_city_test")
        for i, image in enumerate(load_images(data, *name.split("/")))
    ]
    for name in _MICROGRAPHS:
        found.append((name, _scaled(load_image(data, f"microscopy/{name}_clean.tif"))))
    for seed in range(4):
        found.append((f"tissue {seed}", samples.tissue((256, 256), seed)))
    return found


def _scaled(image):
    """Values from 0 to 1, averaged 2 x 2 if that leaves enough."""
    image = np.asarray(image, float)
    if min(image.shape) >= 200:
        y, x = (n // 2 * 2 for n in image.shape)
        image = image[:y, :x].reshape(y // 2, 2, x // 2, 2).mean(axis=(1, 3))
    return (image - image.min()) / np.ptp(image)
