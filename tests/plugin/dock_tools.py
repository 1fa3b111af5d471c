"""What the tests of the dock share; the fixtures are in conftest.py."""

from __future__ import annotations

import threading
import warnings

import numpy as np

from napari_scsc import samples
from napari_scsc.plugin import preferences, requests
from napari_scsc.run.updates import BlocksDone, RegionRestored, RestorationWarning

_MAX_PIECE = 256  # pixels along a side: a larger picture of its own takes minutes


def noisy_cells(shape=(64, 64)):
    """A picture (y, x), or as many of them as the axes before say, each with its own noise."""
    piece = samples.tissue(tuple(min(n, _MAX_PIECE) for n in shape[-2:]))
    pieces = [-(-n // _MAX_PIECE) for n in shape[-2:]]
    picture = np.tile(piece, pieces)[: shape[-2], : shape[-1]]
    x = np.broadcast_to(picture, shape)
    return (1000 * x + np.random.default_rng(0).normal(500, 60, shape)).astype(np.uint16)


def quietly(restore, *args, **options):
    """What a function of the package gives, without its remarks about small images."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RestorationWarning)
        return restore(*args, **options)


def our_threads():
    """Threads that restore, and napari's that run a job."""
    return [t for t in threading.enumerate() if t.name.startswith("napari-scsc")]


def slow_down(monkeypatch, error=None):
    """Updates that come slowly and without end, or fail: the paths out of a worker."""

    def updates(self, out, cancellation):
        for i in range(1000):
            cancellation.check()
            threading.Event().wait(0.01)
            if error is not None and i == 3:
                raise error
            region = tuple(slice(0, 4) for _ in np.shape(out))
            out[region] = 7
            yield RegionRestored(region, out[region], i, 1000, done=1 - 0.99**i)

    monkeypatch.setattr(requests.RestoreRequest, "updates", updates)


def slow_learning(monkeypatch, error=None):
    """The same for learning: tiles without end."""

    def updates(self, cancellation):
        for i in range(1000):
            cancellation.check()
            threading.Event().wait(0.01)
            if error is not None and i == 3:
                raise error
            yield BlocksDone(i, 1000, done=1 - 0.99**i)

    monkeypatch.setattr(requests.LearnRequest, "updates", updates)


def set_preferences(monkeypatch, **changed):
    """Let every dock read these preferences."""
    first = {
        "threads": None,
        "quality": "fast",
        "plot_rate": 12.0,
        "results_folder": None,
        "large_result": 2_000_000_000,
    }
    wishes = preferences.Preferences(**{**first, **changed})
    monkeypatch.setattr(preferences, "read_preferences", lambda: wishes)


def choose(dock, name):
    """Choose an entry of the dock's menu, as a click does."""
    dock.menu.entries[name].trigger()


def finish(dock, seconds=60):
    assert dock.wait(seconds)


def is_ready(dock):
    """Whether the dock takes orders: nothing runs, nothing is shown as running."""
    return (
        not dock.busy
        and dock.run_section.main_button.isEnabled()
        and dock.run_section.main_button.text().startswith(("Denoise", "Fill"))
        and dock.learn_section.start.isEnabled()
        and dock.run_section.bar.parentWidget().isHidden()
        and dock.runner.job.job is None
        and dock.runner.job._activity is None
    )


def complaints():
    """What napari has notified of, of all that is ours."""
    from napari.utils.notifications import notification_manager

    return [n.message for n in notification_manager.records if "napari-scsc" in n.message]


def errors_raised():
    """Exceptions that nobody caught: napari shows them as errors."""
    from napari.utils.notifications import ErrorNotification, notification_manager

    return [n.exception for n in notification_manager.records if isinstance(n, ErrorNotification)]


def run_script(viewer, text):
    """What the script leaves."""
    names = {"viewer": viewer}
    quietly(exec, text, names)
    return names


def children(widget, kinds):
    """Its children of several kinds; PySide takes one at a time."""
    found = [child for kind in kinds for child in widget.findChildren(kind)]
    return list(dict.fromkeys(found))
