"""The dock as its user feels it: how soon it is there, how soon it answers, what it leaves behind.

Every figure comes from a process of its own (``python -m benchmarks.dock --child NAME``), with
settings and caches in a temporary folder. Needs a screen, or xvfb-run.

Times of the GUI thread are of two kinds. A *gap* is the time between two turns of the event loop
beyond the 5 ms of the timer that watches it: it has the noise of the machine, what others draw, and
waiting for the interpreter's lock in it, so the same window is watched under the same load without
the dock. A *call* is one entry from Qt into the Python code of the plugin: what the dock itself
takes, whatever it calls. ``--quick`` makes fewer repeats, and stops the denoising half way.
"""

import collections
import contextlib
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# What a child loads before its clock starts is not counted: here only the standard library.

_ROOT = Path(__file__).resolve().parents[1]
_HEAVY = "napari_scsc.plugin numba dask pyqtgraph scipy numpy pyfftw imageio magicgui qtpy napari"
_MB = 2**20
_TOO_LONG = 0.05  # seconds, of the thread of the GUI
_BEAT = 0.005
_CAUSES = {"napari_scsc/plugin/": "ours", "/pyqtgraph/": "ours", "vispy/": "canvas"}


def run(report, *, data, quick):
    with tempfile.TemporaryDirectory(prefix="napari-scsc-dock-") as folder:
        start = _Starter(Path(folder))
        _compiling(report, start)
        _importing(report, start)
        _opening(report, start, 3 if quick else 5)
        _pressing(report, start, 1 if quick else 3)
        phases = _staying_alive(report, start, quick)
        counts = _coming_and_going(report, start, 20 if quick else 200)
    _draw(report, phases, counts)


# --- what is compared with what -----------------------------------------------------------------


def _add(report, part, what, value, unit="s"):
    report.add(part=part, what=what, value=value, unit=unit)


def _compiling(report, start):
    for when in ("nothing compiled yet", "compiled before"):
        _add(report, "compiling", f"groups.warm_up(), {when}", start("warm_up"))


def _importing(report, start):
    for what in ("import napari_scsc", "npe2: one manifest", "npe2: discover all"):
        found = start("loaded", what)
        _add(report, "importing", what, found["seconds"])
        _add(report, "importing", f"{what}: of interest", found["modules"] or "-", "modules")
        if what.startswith("npe2"):
            ours = [name for name in found["modules"].split() if name not in found["npe2's own"]]
            report.at_most(f"{what}: modules loaded for our manifest", len(ours), 0)
    slowest = start.import_times()
    _add(report, "importing", "-X importtime, napari_scsc", slowest.pop("napari_scsc"))
    for name, seconds in sorted(slowest.items(), key=lambda item: -item[1])[:6]:
        _add(report, "importing", f"-X importtime, of that {name}", seconds)


def _opening(report, start, repeats):
    found = {which: [] for which in ("empty", "ours")}
    for _ in range(repeats):
        for which, seconds in found.items():
            seconds.append(start("open", which))
    for which, seconds in found.items():
        _add(report, "opening", f"{which} dock, until painted", statistics.median(seconds))
    cold = start("open", "ours", fresh=True)
    _add(report, "opening", "ours dock, nothing compiled yet", cold)
    bar = 1.5 * statistics.median(found["empty"]) + 1
    report.at_most("opening the dock, s", statistics.median(found["ours"]), bar)


def _pressing(report, start, repeats):
    runs = {
        cores: [start("press", cores, order) for order in range(n)]
        for cores, n in (("one core", max(repeats, 3)), ("all cores", repeats))
    }
    for cores, found in runs.items():
        for what in found[0]:
            value = statistics.median(one[what] for one in found)
            _add(report, "512 x 512", f"{cores}: {what}", value, "dB" if "PSNR" in what else "s")
        seconds = statistics.median(one["first filters"] for one in found)
        report.at_most(f"512 x 512, {cores}: first filters drawn, s", seconds, 1.0)
    ratio = statistics.median(one["done"] / one["bm3d"] for one in runs["one core"])
    report.at_most("512 x 512, one core: done, time / bm3d's", ratio, 1.0)
    cold = start("press", "all cores", "at once", fresh=True)
    _add(report, "512 x 512", "nothing compiled yet: first filters", cold["first filters"])
    _add(report, "512 x 512", "nothing compiled yet: done", cold["done"])


def _staying_alive(report, start, quick):
    phases = start("gui", "quick" if quick else "full")
    rows, slow = [], []
    for phase in phases:
        gaps = sorted(gap for gap, _, _ in phase["gaps"])
        longest = max(phase["gaps"])
        ours = [call for call in phase["calls"] if call["outermost"]]
        rows.append(
            {
                "phase": phase["name"],
                "turns": len(gaps),
                "longest gap ms": 1000 * longest[0],
                "of it our calls": 1000 * longest[1],
                "of it the canvas": 1000 * longest[2],
                "99% ms": 1000 * gaps[int(0.99 * len(gaps))],
                "over 50 ms": sum(gap > _TOO_LONG for gap in gaps),
                "our longest call ms": 1000 * max((c["longest"] for c in ours), default=0.0),
                "our calls over 50 ms": sum(c["over 50 ms"] for c in ours),
            }
        )
        slow += [{"phase": phase["name"], **call} for call in phase["calls"] if call["over 50 ms"]]
        _add(report, "2048 x 2048", f"{phase['name']}: longest gap", 1000 * longest[0], "ms")
    report.extra("gui", rows)
    report.extra("slow", slow)
    found = {row["phase"]: row for row in rows}
    for phase in ("learning", "denoising"):
        control, ours = found[f"{phase}, no dock"], found[phase]
        report.at_most(
            f"2048 x 2048, {phase}: our longest call, ms", ours["our longest call ms"], 50
        )
        for what in ("longest gap ms", "99% ms"):
            more = ours[what] - control[what]
            report.at_most(f"2048 x 2048, {phase}: {what} above the control's", more, 50)
    return phases


def _coming_and_going(report, start, cycles):
    counts = start("cycles", cycles)
    first, middle, last = counts[0], counts[len(counts) // 2], counts[-1]
    for what in ("threads", "widgets", "callbacks"):
        values = [one[what] for one in (first, middle, last)]
        _add(report, f"{cycles} cycles", f"{what} at the start, the middle, the end", values, "")
        report.at_most(f"{cycles} cycles: {what} more at the end", values[2] - values[0], 0)
    memory = [round(one["memory"], 1) for one in (first, middle, last)]
    _add(report, f"{cycles} cycles", "memory at the start, the middle, the end", memory, "MB")
    report.at_most(f"{cycles} cycles: MB more in the second half", memory[2] - memory[1], 20)
    grown = {name: n - first["kinds"].get(name, 0) for name, n in last["kinds"].items()}
    most = sorted((n, name) for name, n in grown.items() if n > 0)[-8:]
    _add(report, f"{cycles} cycles", "widgets that stayed", str(dict(most)), "")
    return counts


def _draw(report, phases, counts):
    left, right = report.figure(columns=2)
    for phase in phases:
        gaps = sorted((1000 * gap for gap, _, _ in phase["gaps"]), reverse=True)
        left.loglog(gaps, [(i + 1) / len(gaps) for i in range(len(gaps))], label=phase["name"])
    left.axvline(1000 * _TOO_LONG, color="grey", ls=":")
    left.set(xlabel="gap, ms", ylabel="share of gaps longer than that", xlim=(1, None))
    left.legend()
    for what in ("threads", "widgets", "callbacks", "memory"):
        values = [one[what] for one in counts]
        cycles = [one["cycle"] for one in counts]
        right.plot(cycles, [value / values[0] for value in values], label=what)
    right.set(xlabel="cycle", ylabel="share of what was there after the first ten")
    right.legend()


# --- starting processes -------------------------------------------------------------------------


class _Starter:
    """Starts children on a screen, with caches and settings in a folder of their own."""

    def __init__(self, folder):
        from benchmarks.data import DataError

        self._folder = folder
        self._screen = []
        if sys.platform == "linux" and not os.environ.get("DISPLAY"):
            if shutil.which("xvfb-run") is None:
                raise DataError("needs a screen: set DISPLAY, or install xvfb and xauth")
            self._screen = ["xvfb-run", "-a", "-s", "-screen 0 1600x1000x24"]

    def __call__(self, name, *arguments, fresh=False):
        """What a child returned; ``fresh``: as if nothing had ever been compiled."""
        command = [sys.executable, "-m", "benchmarks.dock", "--child", name, *map(str, arguments)]
        done = self._run([*self._screen, *command], fresh)
        return json.loads(done.stdout.splitlines()[-1])

    def import_times(self):
        """Cumulative seconds of every package that ``import napari_scsc`` loads."""
        command = [sys.executable, "-X", "importtime", "-c", "import napari_scsc"]
        lines = [line.split("|") for line in self._run(command, False).stderr.splitlines()]
        times = {line[2].strip(): line[1] for line in lines if len(line) == 3}
        wanted = {name: t for name, t in times.items() if name in [*_HEAVY.split(), "napari_scsc"]}
        return {name: int(microseconds) / 1e6 for name, microseconds in wanted.items()}

    def _run(self, command, fresh):
        folder = Path(tempfile.mkdtemp(dir=self._folder)) if fresh else self._folder
        own = {
            "NAPARI_CONFIG": str(folder / "settings.yaml"),
            "NAPARI_SCSC_CACHE": str(folder / "cache"),
            "NUMBA_CACHE_DIR": str(folder / "numba"),
            "QT_API": os.environ.get("QT_API", "pyqt6"),
        }
        environment = {**os.environ, **own}
        done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
        return done


# --- children: without a window -----------------------------------------------------------------


def warm_up():
    from napari_scsc.restore import groups

    start = time.perf_counter()
    groups.warm_up()
    return time.perf_counter() - start


def loaded(what):
    """Time, and which of the modules of interest it loads."""
    own = []
    if what.startswith("npe2"):
        import npe2

        own = _of_interest()
    start = time.perf_counter()
    if what == "import napari_scsc":
        import napari_scsc  # noqa: F401
    elif what == "npe2: one manifest":
        npe2.PluginManifest.from_distribution("napari-scsc")
    else:
        npe2.PluginManager.instance().discover()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "modules": " ".join(_of_interest()), "npe2's own": own}


def _of_interest():
    return [name for name in _HEAVY.split() if name in sys.modules]


# --- children: with a window --------------------------------------------------------------------


def open_dock(which):
    """Seconds until a dock is painted, napari and one image being there."""
    from magicgui.widgets import Container

    viewer = _viewer(_cells(512))
    painted = _painted_widgets()
    start = time.perf_counter()
    if which == "ours":
        inside = _dock(viewer)
    else:
        inside = viewer.window.add_dock_widget(Container(labels=False), name="empty")
    _until(lambda: any(inside is w or inside.isAncestorOf(w) for w in painted), every=0.001)
    return time.perf_counter() - start


def press(cores, order):
    """Seconds from a press of the button to what it brings, and bm3d's beside it."""
    if cores == "one core":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from napari_scsc import samples

    noisy, clean = (samples.noisy_tissue((512, 512), clean=c) for c in (False, True))
    if order == "at once":  # as on the first day
        return _press(noisy, clean)
    warm_up()
    bm3d = _bm3d(noisy, clean) if order == "1" else {}
    return {**_press(noisy, clean), **(bm3d or _bm3d(noisy, clean))}


def _press(noisy, clean):
    from qtpy.QtCore import Qt
    from qtpy.QtTest import QTest
    from qtpy.QtWidgets import QAbstractButton

    dock = _dock(_viewer(noisy))
    _turn(1)
    buttons = dock.findChildren(QAbstractButton)
    button = next(b for b in buttons if b.text() == "Learn and denoise")
    drawn = _first_filters(dock.plots)
    start = time.perf_counter()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    if not dock.busy:
        raise RuntimeError("a click on 'Learn and denoise' starts nothing")
    _until(lambda: drawn or not dock.busy)
    _until(lambda: not dock.busy)
    done = time.perf_counter() - start
    score = _psnr(dock.result.data, clean)
    return {"first filters": drawn[0] - start, "done": done, "PSNR": score}


def _bm3d(noisy, clean):
    import numpy as np

    from benchmarks import peers

    width = float(np.ptp(clean))
    image, sigma = (noisy / width).astype(np.float32), float(np.std(noisy - clean)) / width
    peers.bm3d(image[:64, :64], sigma)  # what a first call loads
    start = time.perf_counter()
    result = peers.bm3d(image, sigma)
    return {"bm3d": time.perf_counter() - start, "bm3d's PSNR": _psnr(result * width, clean)}


def _psnr(result, clean):
    import numpy as np

    error = np.mean((np.asarray(result, float) - clean) ** 2)
    return float(10 * np.log10(np.ptp(clean) ** 2 / error))


def watch_gui(how):
    """Gaps and calls while the dock works, and with the same work but without it."""
    import napari_scsc

    image = _cells(2048)
    viewer = _viewer(image)
    layer = viewer.layers[0]
    warm_up()
    phases = [_watched("idle", 5)]
    for name, work in (
        ("learning, no dock", lambda tick: napari_scsc.iter_learn([image], tick=tick)),
        ("denoising, no dock", lambda tick: napari_scsc.iter_denoise(image, tick=tick)),
        ("denoising, a layer drawn, no dock", lambda t: napari_scsc.iter_denoise(image, tick=t)),
    ):
        with _working(work), _calling(layer.refresh if "drawn" in name else None):
            phases.append(_watched(name, 20))
    dock = _dock(viewer)
    _turn(2)
    phases.append(_watched("learning", 300, dock, dock.learn))
    phases.append(_watched("denoising", 20 if how == "quick" else 1800, dock, dock.denoise))
    return phases


def cycles(number):
    """What is there after every tenth cycle of opening, working and closing; ten come before."""
    viewer = _viewer(_cells(96))
    counts = []
    for cycle in range(int(number) + 11):
        if cycle >= 10 and cycle % 10 == 0:
            _turn(0.5)
            counts.append(_counts(viewer, cycle - 10))
        dock = _dock(viewer)
        (dock.learn if cycle % 2 else dock.denoise)()
        for step in (dock.pause, dock.pause, dock.stop):
            _turn(0.05)
            step()
        if not dock.wait(20):
            raise RuntimeError("the dock does not stop")
        viewer.window.remove_dock_widget(dock)
        del viewer.layers[1:], dock, step
        _turn(0.05)
    return counts


def _counts(viewer, cycle):
    import psutil
    from qtpy.QtWidgets import QApplication

    gc.collect()
    _turn(0.1)
    process = psutil.Process()
    kinds = [type(widget).__name__ for widget in QApplication.allWidgets()]
    events = (viewer.layers.events, viewer.layers[0].events)
    emitters = [emitter for group in events for emitter in group.emitters.values()]
    return {
        "cycle": cycle,
        "threads": process.num_threads(),
        "widgets": len(kinds),
        "callbacks": sum(len(emitter.callbacks) for emitter in emitters),
        "memory": process.memory_info().rss / _MB,
        "kinds": dict(collections.Counter(kinds)),
    }


# --- the window and its event loop --------------------------------------------------------------


def _cells(side):
    """Cells under white noise, float32: pieces of 256 x 256 side by side, being much quicker."""
    import numpy as np

    from napari_scsc import samples

    pieces = -(-side // 256)
    clean = np.tile(samples.tissue((256, 256)), (pieces, pieces))[:side, :side]
    return clean + np.random.default_rng(0).normal(0, 0.1, clean.shape).astype(np.float32)


def _viewer(image):
    import napari

    viewer = napari.Viewer(show=True)
    viewer.add_image(image)
    viewer.window.resize(1400, 900)
    _turn(1)
    return viewer


def _dock(viewer):
    return viewer.window.add_plugin_dock_widget("napari-scsc")[1]


def _until(condition, timeout=1800.0, every=_BEAT):
    """Let a real event loop turn, as in napari, until there is what is waited for."""
    from qtpy.QtCore import QEventLoop, Qt, QTimer

    loop, timer = QEventLoop(), QTimer()
    end = time.perf_counter() + timeout
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(lambda: loop.quit() if condition() else None)
    timer.timeout.connect(lambda: loop.quit() if time.perf_counter() > end else None)
    timer.start(round(1000 * every))
    loop.exec()
    timer.stop()


def _turn(seconds):
    _until(lambda: False, seconds)


def _filtered(see):
    """Show every event of the application, and whom it is for, to ``see`` before it is handled."""
    from qtpy.QtCore import QObject
    from qtpy.QtWidgets import QApplication

    class Filter(QObject):
        def eventFilter(self, receiver, event):
            see(receiver, event)
            return False

    application = QApplication.instance()
    application.installEventFilter(Filter(application))


def _painted_widgets():
    """A list of the widgets that are painted from now on."""
    from qtpy.QtCore import QEvent
    from qtpy.QtWidgets import QWidget

    painted = []

    def see(receiver, event):
        if event.type() == QEvent.Type.Paint and isinstance(receiver, QWidget):
            painted.append(receiver)

    _filtered(see)
    return painted


def _first_filters(plots):
    """A list that gets the time at which the plots have first drawn filters."""
    drawn, before = [], [plots.redraws]

    def see(_receiver, _event):
        if not drawn and plots.redraws > before[0]:
            before[0] = plots.redraws
            with contextlib.suppress(ValueError):  # so far there was nothing to draw
                plots.mosaic_layer()
                drawn.append(time.perf_counter())

    _filtered(see)
    return drawn


@contextlib.contextmanager
def _working(work):
    """Restore again and again in another thread, without a dock."""
    stopped = threading.Event()

    def tick():
        if stopped.is_set():
            raise InterruptedError

    def restore():
        with contextlib.suppress(InterruptedError):
            while True:
                for _ in work(tick):
                    tick()

    thread = threading.Thread(target=restore)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@contextlib.contextmanager
def _calling(function):
    """Call a function as often as the dock draws, if there is one."""
    from qtpy.QtCore import QTimer

    timer = QTimer()
    if function is not None:
        timer.timeout.connect(lambda: function())
        timer.start(80)
    yield
    timer.stop()


# --- the thread of the GUI ----------------------------------------------------------------------


def _watched(name, seconds, dock=None, start=None):
    """Gaps between turns of the event loop and calls into our code, until the dock is done."""
    from qtpy.QtCore import QTimer

    calls, beats, ended = _Calls(), [], []

    def beat():
        now = time.perf_counter()
        beats.append((now, *calls.totals.values()))
        if dock is not None and now > begun + seconds:
            dock.stop()
        if dock is not None and not dock.busy:
            ended.append(now)
        return ended and now > ended[0] + 0.5  # until what the end brought is drawn too

    sys.settrace(calls.trace)  # of this thread only
    begun = time.perf_counter()
    if start is not None:
        QTimer.singleShot(0, start)
    _until(beat, seconds if dock is None else seconds + 60)
    sys.settrace(None)
    pairs = zip(beats, beats[1:], strict=False)
    gaps = [(b[0] - a[0] - _BEAT, b[1] - a[1], b[2] - a[2]) for a, b in pairs]
    return {"name": name, "gaps": gaps, "calls": list(calls.ours.values())}


class _Calls:
    """Times of calls into the code of the plugin, and of the canvas of napari, on one thread."""

    def __init__(self):
        self.totals = {"ours": 0.0, "canvas": 0.0}
        self.ours = {}
        self._causes = {}
        self._inside = False

    def trace(self, frame, _event, _arg):
        """For ``sys.settrace``: the outermost call of either kind, and every one of ours."""
        code, outermost = frame.f_code, not self._inside
        if code not in self._causes:
            name = code.co_filename.replace("\\", "/")
            self._causes[code] = next((c for part, c in _CAUSES.items() if part in name), None)
        cause = self._causes[code]
        if cause is None or (cause != "ours" and not outermost):
            return None
        self._inside = True
        frame.f_trace_lines = False
        wall, processor = time.perf_counter(), time.thread_time()

        def leave(_frame, event, _arg):
            if event == "return":
                seconds = time.perf_counter() - wall
                if outermost:
                    self._inside = False
                    self.totals[cause] += seconds
                if cause == "ours":
                    self._keep(code, outermost, seconds, time.thread_time() - processor)
            return leave

        return leave

    def _keep(self, code, outermost, seconds, processor):
        place = f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_qualname}"
        new = {"call": place, "outermost": outermost, "longest": 0.0, "over 50 ms": 0}
        found = self.ours.setdefault((code, outermost), new)
        found["over 50 ms"] += seconds > _TOO_LONG
        if seconds > found["longest"]:
            found.update({"longest": seconds, "processor": processor})


CHILDREN = {
    "warm_up": warm_up,
    "loaded": loaded,
    "open": open_dock,
    "press": press,
    "gui": watch_gui,
    "cycles": cycles,
}

if __name__ == "__main__":
    print(json.dumps(CHILDREN[sys.argv[2]](*sys.argv[3:])), flush=True)
    os._exit(0)  # what is measured is measured; jobs and windows need no farewell
