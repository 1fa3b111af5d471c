"""A quality is one record, a method one entry."""

from __future__ import annotations

import subprocess
import sys

import pytest

from napari_scsc.data.axes import PRESETS
from napari_scsc.restore.cost import estimate_cost, estimate_reference_cost
from napari_scsc.restore.methods import COPY, METHODS
from napari_scsc.restore.passes import passes_for
from napari_scsc.restore.quality import LEVELS, QUALITIES

PATCHES = [(8,), (8, 8), (10, 10), (3, 3), (4, 5, 5)]
# The steps of the last pass of each quality, for these patches.
STEPS = {
    "draft": [(8,), (8, 8), (10, 10), (3, 3), (4, 4, 4)],
    "fast": [(8,), (8, 8), (9, 9), (3, 3), (4, 4, 4)],
    "balanced": [(5,), (5, 5), (6, 6), (2, 2), (3, 3, 3)],
}


def test_every_quality_has_a_record():
    assert tuple(LEVELS) == QUALITIES


@pytest.mark.parametrize("quality", QUALITIES)
def test_steps_of_a_quality(quality):
    passes = [passes_for(patch, quality) for patch in PATCHES]
    assert [(p.threshold, *p.wiener)[-1].step for p in passes] == STEPS[quality]


@pytest.mark.parametrize("kind", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_cost_is_known_before_a_job_starts(method, kind):
    axes = PRESETS[kind]
    shape = tuple(3 if role == "joint" else 40 for role in axes.roles)
    costs = [estimate_reference_cost(shape, axes, "denoise", q, method, 1) for q in QUALITIES]
    assert all(c.tiles >= 1 and c.seconds > 0 and c.memory > 0 for c in costs)
    assert [c.seconds for c in costs] == sorted(c.seconds for c in costs)
    inpainting = estimate_reference_cost(shape, axes, "inpaint", "balanced", method, 1)
    assert inpainting.seconds >= costs[2].seconds


def test_cost_grows_with_the_number_of_samples():
    axes = PRESETS["time-lapse"]
    one, two, ten = (estimate_cost((n, 64, 64), axes, "denoise", "fast") for n in (1, 2, 10))
    # What comes before the first tile, the noise and the filters, comes once.
    assert ten.seconds - one.seconds == pytest.approx(9 * (two.seconds - one.seconds))
    assert ten.seconds > 1.2 * one.seconds
    assert ten.tiles == 10 * one.tiles
    assert ten.memory == one.memory


def test_threads_share_the_tiles_and_not_what_comes_before():
    axes = PRESETS["image"]
    one, two = (
        estimate_cost((400, 400), axes, "denoise", "balanced", n_threads=n).seconds for n in (1, 2)
    )
    assert one / 2 < two < one


@pytest.mark.parametrize("part", ["denoise", "inpaint", "cost"])
@pytest.mark.parametrize("method", [*METHODS.values(), COPY])
def test_functions_of_a_method_exist(method, part):
    assert callable(method.load(part))


def test_names_to_choose_from_are_quick_to_import():
    script = (
        "import sys; from napari_scsc import choices; from napari_scsc.restore import methods, "
        "quality; print(*({'numpy', 'scipy', 'dask', 'zarr', 'napari'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "", done.stderr
