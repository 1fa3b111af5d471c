"""What the tests of the live plots share; the fixture ``plots`` is in conftest.py."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pytestqt")

from qtpy.QtCore import QPointF

from napari_scsc.model.updates import SampleUpdate
from napari_scsc.restore.explain import Explanation

TABS = FILTERS, WEIGHTS, PROGRESS, EXPLAIN = range(4)


def make_update(shape=(6, 5, 5), n_filters=9, sample=1, **changes):
    rng = np.random.default_rng(sample)
    values = {
        "sample": sample,
        "B": rng.standard_normal(shape).astype(np.float32),
        "W": rng.standard_normal((shape[0], n_filters)).astype(np.float32),
        "use": rng.exponential(size=n_filters),
        "objective": 10.0 / sample,
        "sparsity": 0.05,
        "psnr": 30.0 + sample,
        "seconds": 0.1 * sample,
        "iterations": 3,
        "converged": True,
    }
    return SampleUpdate(**{**values, **changes})


def make_explanation(parts=(0.5, -0.2, 0.1), **changes):
    """Of filters 0, 1, 2, ... with these parts."""
    parts = np.array(parts)
    order = np.argsort(-np.abs(parts), kind="stable")
    values = {
        "position": (34, 50),
        "labels": ("y", "x"),
        "value": float(parts.sum()),
        "before": 0.6,
        "filters": order,
        "parts": parts[order],
        "parts_before": 1.5 * parts[order],
        "rest": 0.0,
    }
    return Explanation(**{**values, **changes})


def show(plots, qtbot, tab=FILTERS):
    plots.tabs.setCurrentIndex(tab)
    plots.show()
    settle(plots, qtbot)


def settle(plots, qtbot):
    """Wait until the visible tab shows the newest content."""
    qtbot.waitUntil(lambda: plots._tab not in plots._stale)


def point_at(picture, row, column):
    picture.hover(picture.image.mapToScene(QPointF(column + 0.5, row + 0.5)))


def pixels(picture):
    return picture.image.image
