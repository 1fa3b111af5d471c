"""The dock as its user feels it: how soon it is there, how soon it answers, what it leaves behind.

Every figure comes from a process of its own (``python -m benchmarks.dock --child NAME``), with
settings and caches in a temporary folder. Needs a screen, or xvfb-run.

The thread of the GUI is watched in two ways. A *call* is one entry from Qt into the code of the
plugin, with all that this calls; what it takes to add a layer is mostly napari's own, so that is
also measured by itself. A *gap* is the time between two turns of the event loop beyond the 5 ms of
the timer that watches; the control is the same window under the same load without the dock.
Two more phases explain the gaps, without bars: a label, or a layer, that changes as often as the
dock does. Whatever is painted has OpenGL put the whole window together again, and without a GPU
that takes long.

``--quick`` makes fewer repeats, and stops denoising the large image after 20 s.
"""

import collections
import contextlib
import gc
import itertools
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

# Nothing else here: what a child has loaded before its clock starts is not counted.

_ROOT = Path(__file__).resolve().parents[1]
_HEAVY = "napari_scsc.plugin numba dask pyqtgraph scipy numpy pyfftw imageio magicgui qtpy napari"
_MB = 2**20
_TOO_LONG = 50  # ms, of the thread of the GUI
_STALL = 100  # ms, that a user notices
_BEAT = 5  # ms between two looks at the event loop
_DRAWN = 80  # ms between two reports of the dock
_PARTS = ("calls", "adding a layer", "canvas")  # of a gap
_CODE = {"napari_scsc/plugin/": "calls", "/pyqtgraph/": "calls", "vispy/": "canvas"}


def run(report, *, data, quick):
    with tempfile.TemporaryDirectory(prefix="napari-scsc-dock-") as folder:
        child = _Starter(Path(folder))
        _compiling_and_importing(report, child)
        _opening(report, child, 3 if quick else 5)
        _pressing(report, child, 3)
        phases = _staying_alive(report, child, quick)
        _stalling(report, child)
        counts = _coming_and_going(report, child, 20 if quick else 200)
    _draw(report, phases, counts)


def _compiling_and_importing(report, child):
    for when in ("never compiled before", "compiled before"):
        _add(report, "start", f"warm_up(), {when}", child("warm_up"))
    for what in ("import napari_scsc", "npe2: one manifest", "npe2: discover all"):
        rounds = [child("loading", what) for _ in range(3)]
        modules, others = rounds[0][1:]
        _add(report, "start", what, statistics.median(one[0] for one in rounds))
        _add(report, "start", f"{what}: loads", " ".join(modules) or "none of interest", "")
        if what.startswith("npe2"):
            ours = set(modules) - set(others)
            report.at_most(f"{what}: heavy modules loaded for ours", len(ours), 0)
    for name, seconds in child.import_times().items():
        _add(report, "start", f"-X importtime: {name}", seconds)


def _opening(report, child, repeats):
    rounds = [(child("opening", "empty"), child("opening", "ours")) for _ in range(repeats)]
    empty, ours = (statistics.median(seconds) for seconds in zip(*rounds, strict=True))
    _add(report, "opening", "an empty dock, until painted", empty)
    _add(report, "opening", "the dock, until painted", ours)
    _add(report, "opening", "the dock, never compiled before", child("opening", "ours", fresh=True))
    report.at_most("opening the dock, s", ours, 1.5 * empty + 1)


def _pressing(report, child, repeats):
    for cores in ("one core", "all cores"):
        rounds = [child("pressing", cores, i % 2) for i in range(repeats)]
        for what in rounds[0]:
            median = statistics.median(one[what] for one in rounds)
            _add(report, f"512 x 512, {cores}", what, median, "dB" if "PSNR" in what else "s")
        filters = statistics.median(one["first filters"] for one in rounds)
        report.at_most(f"512 x 512, {cores}: first filters drawn, s", filters, 1)
        if cores == "one core":
            ratio = statistics.median(one["done"] / one["bm3d"] for one in rounds)
            report.at_most(f"512 x 512, {cores}: done, time / bm3d's", ratio, 1)
    first = child("pressing", "all cores", "at once", fresh=True)
    for what in ("first filters", "done"):
        _add(report, "512 x 512, never compiled before", what, first[what])


def _staying_alive(report, child, quick):
    """Gaps and calls of each phase, in milliseconds."""
    adding, phases = child("watching", "quick" if quick else "full")
    _add(report, "2048 x 2048", "napari by itself adds a layer", adding, "processor ms")
    rows, slow = {}, []
    for name, gaps, calls in phases:
        rows[name] = _summary(gaps, calls)
        _add(report, "2048 x 2048", f"{name}: longest gap", rows[name]["longest gap"], "ms")
        slow += [{"phase": name, **call} for call in calls if call["longest"] > _TOO_LONG]
    report.extra("gui", [{"phase": name, **row} for name, row in rows.items()])
    report.extra("slow", slow)
    for name in ("learning", "denoising"):
        row, control = rows[name], rows[f"{name}, no dock"]
        bars = {what: row[what] for what in ("our longest call", "our longest that adds no layer")}
        for what in ("longest gap", "99%"):
            bars[f"{what}, beyond the control's"] = row[what] - control[what]
        for what, value in bars.items():
            report.at_most(f"2048 x 2048, {name}: {what}, ms", value, _TOO_LONG)
    own = rows["denoising"]["adding a layer, processor"] - adding
    report.at_most("2048 x 2048: adding a layer, processor ms beyond napari's", own, _TOO_LONG)
    return phases


def _stalling(report, child):
    """The longest call of ours while much goes on."""
    adding, phases = child("stalling")
    _add(report, "stalls", "napari by itself adds a layer of 4096 x 4096", adding, "processor ms")
    for name, gaps, calls in phases:
        row = _summary(gaps, calls)
        _add(report, "stalls", f"{name}: longest gap", row["longest gap"], "ms")
        _add(report, "stalls", f"{name}: longest that adds a layer", row["our longest call"], "ms")
        longest = row["our longest that adds no layer"]
        _add(report, "stalls", f"{name}: longest call by the clock", longest, "ms")
        busiest = row["our busiest that adds no layer"]
        report.at_most(
            f"{name}: our busiest call that adds no layer, processor ms", busiest, _STALL
        )


def _summary(gaps, calls):
    longest = max(gaps)
    plain, adding = ([c for c in calls if c["part"] == part] for part in _PARTS[:2])
    return {
        "turns": len(gaps),
        "longest gap": longest[0],
        **{f"of it {part}": share for part, share in zip(_PARTS, longest[1:], strict=True)},
        "99%": sorted(gap[0] for gap in gaps)[int(0.99 * len(gaps))],
        "over 50": sum(gap[0] > _TOO_LONG for gap in gaps),
        "our longest call": max((call["longest"] for call in calls), default=0.0),
        "our longest that adds no layer": max((call["longest"] for call in plain), default=0.0),
        "our busiest that adds no layer": max((call["processor"] for call in plain), default=0.0),
        "adding a layer, processor": max((call["processor"] for call in adding), default=0.0),
    }


def _coming_and_going(report, child, cycles):
    counts = child("cycling", cycles)
    first, middle, last = counts[0], counts[len(counts) // 2], counts[-1]
    part = f"{cycles} cycles"
    for what in ("threads", "widgets", "callbacks", "dead callbacks", "memory"):
        values = [round(one[what]) for one in (first, middle, last)]
        _add(report, part, f"{what}: start, middle, end", values, "MB" if what == "memory" else "")
        if what != "memory":
            report.at_most(f"{part}: {what}, growth", last[what] - first[what], 0)
    report.at_most(
        f"{part}: memory, growth in the second half, MB", last["memory"] - middle["memory"], 20
    )
    kinds = collections.Counter(last["kinds"]) - collections.Counter(first["kinds"])
    _add(report, part, "widgets that stayed", str(dict(kinds.most_common(8))), "")
    return counts


def _add(report, part, what, value, unit="s"):
    report.add(part=part, what=what, value=value, unit=unit)


def _draw(report, phases, counts):
    left, right = report.figure(columns=2)
    for name, gaps, _ in phases:
        falling = sorted((gap[0] for gap in gaps), reverse=True)
        left.loglog(falling, [(i + 1) / len(gaps) for i in range(len(gaps))], label=name)
    left.axvline(_TOO_LONG, color="grey", ls=":")
    left.set(xlabel="gap, ms", ylabel="share of the gaps that are longer", xlim=(1, None))
    for what in ("threads", "widgets", "callbacks", "memory"):
        shares = [one[what] / counts[0][what] for one in counts]
        right.plot([one["cycle"] for one in counts], shares, label=what)
    right.set(xlabel="cycle", ylabel="compared with that after the first ten")
    for ax in (left, right):
        ax.legend(fontsize="x-small", loc="lower left")


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
        folder = tempfile.mkdtemp(dir=self._folder) if fresh else self._folder
        command = ["-m", "benchmarks.dock", "--child", name, *map(str, arguments)]
        done = self._run([*self._screen, sys.executable, *command], Path(folder))
        return json.loads(done.stdout.splitlines()[-1])

    def import_times(self):
        """Seconds that ``import napari_scsc`` takes, and those of them for what it loads."""
        command = [sys.executable, "-X", "importtime", "-c", "import napari_scsc"]
        lines = [line.split("|") for line in self._run(command, self._folder).stderr.splitlines()]
        times = {line[2].strip(): line[1] for line in lines if len(line) == 3}
        return {n: int(times[n]) / 1e6 for n in ("napari_scsc", *_HEAVY.split()) if n in times}

    def _run(self, command, folder):
        own = {
            "NAPARI_CONFIG": str(folder / "settings.yaml"),
            "NAPARI_SCSC_CACHE": str(folder / "cache"),
            "NUMBA_CACHE_DIR": str(folder / "numba"),
            "PYTHONPYCACHEPREFIX": str(self._folder / "bytecode"),
            "QT_API": os.environ.get("QT_API", "pyqt6"),
        }
        environment = {**os.environ, **own}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
        return done


# --- children -----------------------------------------------------------------------------------


def warm_up():
    from napari_scsc.groups import compiling

    start = time.perf_counter()
    compiling.warm_up()
    return time.perf_counter() - start


def loading(what):
    """Seconds, the heavy modules that are there afterwards, and those of npe2 itself."""
    import npe2

    others = _heavy_modules()
    start = time.perf_counter()
    if what == "import napari_scsc":
        import napari_scsc  # noqa: F401
    elif what == "npe2: one manifest":
        npe2.PluginManifest.from_distribution("napari-scsc")
    else:
        npe2.PluginManager.instance().discover()
    return time.perf_counter() - start, _heavy_modules(), others


def _heavy_modules():
    return [name for name in _HEAVY.split() if name in sys.modules]


def opening(which):
    """Seconds until a dock is painted, napari and one image being there."""
    import numpy as np
    from magicgui.widgets import Container
    from qtpy.QtCore import QEvent

    viewer = _viewer(np.random.default_rng(0).random((512, 512)))
    if "napari_scsc" in sys.modules:
        raise RuntimeError("the package is loaded already")
    painted = []

    def see(receiver, event):
        if event.type() == QEvent.Type.Paint and receiver.isWidgetType():
            painted.append(receiver)

    _show_events_to(see)
    start = time.perf_counter()
    if which == "ours":
        dock = _dock(viewer)
    else:
        dock = viewer.window.add_dock_widget(Container(labels=False), name="empty")
    _until(lambda: any(dock is w or dock.isAncestorOf(w) for w in painted), every=1)
    return time.perf_counter() - start


def pressing(cores, order):
    """Seconds from a press of the button to what it brings, and bm3d's before or after it."""
    if cores == "one core":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from napari_scsc import samples

    noisy, clean = (samples.noisy_tissue((512, 512), clean=c) for c in (False, True))
    if order == "at once":  # as on the first day
        return _press(noisy, clean)
    warm_up()
    found = {}
    for method in (_press, _bm3d) if order == "0" else (_bm3d, _press):
        found |= method(noisy, clean)
    return found


def _press(noisy, clean):
    from qtpy.QtCore import Qt
    from qtpy.QtTest import QTest

    dock = _dock(_viewer(noisy))
    _turn(1)
    button = dock.run_section.main_button
    drawn, redraws = [], [dock.plots.redraws]

    def see(_receiver, _event):
        if not drawn and dock.plots.redraws > redraws[0]:
            redraws[0] = dock.plots.redraws
            with contextlib.suppress(ValueError):  # there were no filters to draw
                dock.plots.mosaic_layer()
                drawn.append(time.perf_counter())

    _show_events_to(see)
    start = time.perf_counter()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    if not dock.busy:
        raise RuntimeError(f"a click on '{button.text()}' starts nothing")
    dock.tabs.setCurrentIndex(1)  # where the filters are to be seen
    _until(lambda: not dock.busy)
    done = time.perf_counter() - start
    return {"first filters": drawn[0] - start, "done": done, "PSNR": _psnr(dock.result.data, clean)}


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


def watching(how):
    """What adding a layer takes napari, and phases without and with the dock."""
    from qtpy.QtWidgets import QLabel

    import napari_scsc

    image = _cells(2048)
    viewer = _viewer(image)
    warm_up()
    phases = [_watched("idle", 5)]
    label = QLabel("0")
    plain = viewer.window.add_dock_widget(label, name="plain")
    with _working(lambda by: napari_scsc.iter_learn(image, cancellation=by)):
        phases.append(_watched("learning, no dock", 15))
        with _repeated(lambda: label.setNum(int(label.text()) + 1)):
            phases.append(_watched("learning, no dock, a label drawn", 15))
    with _working(lambda by: napari_scsc.iter_denoise(image, cancellation=by)):
        phases.append(_watched("denoising, no dock", 15))
        with _repeated(lambda: label.setNum(int(label.text()) + 1)):
            phases.append(_watched("denoising, no dock, a label drawn", 15))
        with _repeated(viewer.layers[0].refresh):
            phases.append(_watched("denoising, no dock, a layer drawn", 15))
        adding = statistics.median(_seconds_to_add(viewer, image) for _ in range(5))
    viewer.window.remove_dock_widget(plain)
    dock = _dock(viewer)
    _turn(2)
    phases.append(_watched("learning", 300, dock, dock.learn))
    phases.append(_watched("denoising", 20 if how == "quick" else 1800, dock, dock.denoise))
    return 1000 * adding, phases


def stalling():
    """Adding a large layer, and phases: a large image, many layers, a preview beside a job."""
    large = _cells(4096)
    viewer = _viewer(large)
    warm_up()
    adding = statistics.median(_seconds_to_add(viewer, large) for _ in range(3))
    dock = _dock(viewer)
    dock.quality = "draft"
    _turn(2)
    # Python collects the garbage of all that napari has loaded now and then, which takes 0.25 s
    # and falls on whichever call comes then.
    gc.collect()
    gc.freeze()
    phases = [_watched("4096 x 4096", 300, dock, dock.denoise)]

    def preview_beside():
        dock.denoise()
        dock.preview = True

    phases.append(_watched("4096 x 4096, a preview beside it", 300, dock, preview_beside))
    viewer.layers.clear()
    for number in range(20):
        viewer.add_image(_cells(512), name=f"layer {number}")
    dock.sources = [layer.name for layer in viewer.layers]
    dock.quality = "balanced"
    _turn(2)
    phases.append(_watched("20 layers of 512 x 512", 300, dock, dock.denoise))
    if len(dock.results) < 20:
        raise RuntimeError(f"{len(dock.results)} results of 20 layers")
    return 1000 * adding, phases


@contextlib.contextmanager
def _repeated(function):
    """Call a function in the thread of the GUI, as often as the dock is told something."""
    from qtpy.QtCore import QTimer

    timer = QTimer()
    timer.timeout.connect(lambda: function())
    timer.start(_DRAWN)
    yield
    timer.stop()


def _seconds_to_add(viewer, image):
    """Of the processor, and traced as ours is: those of the clock vary too much under load."""
    sys.settrace(_Calls().trace)
    start = time.thread_time()
    viewer.add_image(image * 0, contrast_limits=(0, 1))
    seconds = time.thread_time() - start
    sys.settrace(None)
    _turn(1)
    del viewer.layers[1:]
    _turn(1)
    return seconds


def cycling(number):
    """What is there after every tenth cycle of opening, working and closing; ten come before."""
    viewer = _viewer(_cells(96))
    counts = []
    for cycle in range(-10, int(number) + 1):
        if cycle >= 0 and cycle % 10 == 0:
            counts.append({"cycle": cycle, **_counts(viewer)})
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


def _counts(viewer):
    import psutil
    from qtpy.QtWidgets import QApplication

    gc.collect()
    _turn(0.5)
    process = psutil.Process()
    kinds = collections.Counter(type(widget).__name__ for widget in QApplication.allWidgets())
    groups = (viewer.layers.events, viewer.layers[0].events)
    emitters = itertools.chain(*(group.emitters.values() for group in groups))
    callbacks = [callback for emitter in emitters for callback in emitter.callbacks]
    # napari keeps a method as a weak reference, and drops a dead one at the next event of its kind.
    dead = [cb for cb in callbacks if isinstance(cb, tuple) and cb[0]() is None]
    return {
        "threads": process.num_threads(),
        "widgets": sum(kinds.values()),
        "callbacks": len(callbacks) - len(dead),
        "dead callbacks": sum(cb[1] != "reset_choices" for cb in dead),  # which napari connects
        "memory": process.memory_info().rss / _MB,
        "kinds": dict(kinds),
    }


# --- the window and its event loop --------------------------------------------------------------


def _cells(side):
    """Cells under white noise, float32; pieces side by side, because a large one takes minutes."""
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


def _until(condition, timeout=1800, every=_BEAT):
    """Let an event loop turn, as napari's own does, until there is what is waited for."""
    from qtpy.QtCore import QEventLoop, Qt, QTimer

    loop, timer, end = QEventLoop(), QTimer(), time.perf_counter() + timeout
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(lambda: condition() and loop.quit())
    timer.timeout.connect(lambda: time.perf_counter() > end and loop.quit())
    timer.start(every)
    loop.exec()
    timer.stop()


def _turn(seconds):
    _until(lambda: False, seconds)


def _show_events_to(see):
    """Call ``see`` with the receiver and each event of the application before it is handled."""
    from qtpy.QtCore import QObject
    from qtpy.QtWidgets import QApplication

    class Filter(QObject):
        def eventFilter(self, receiver, event):
            see(receiver, event)
            return False

    application = QApplication.instance()
    application.installEventFilter(Filter(application))


@contextlib.contextmanager
def _working(work):
    """Do the work of the dock in another thread, again and again, without a dock."""
    from napari_scsc.cancellation import Cancellation, Cancelled

    cancellation = Cancellation()

    def repeat():
        with contextlib.suppress(Cancelled):
            while True:
                for _ in work(cancellation):
                    cancellation.check()

    thread = threading.Thread(target=repeat)
    thread.start()
    yield
    cancellation.cancel()
    thread.join()


# --- the thread of the GUI ----------------------------------------------------------------------


def _watched(name, seconds, dock=None, start=None):
    """The name, the gaps with their parts, and our calls, until the time is up or the dock done."""
    from qtpy.QtCore import QTimer

    calls, beats, busy = _Calls(), [], []

    def beat():
        now = time.perf_counter()
        beats.append((1000 * now, *calls.so_far().values()))
        if dock is None:
            return now > end
        if now > end:
            dock.stop()
        if dock.busy:
            busy.append(now)
        return busy and now > busy[-1] + 0.5  # until what the end brought is drawn too

    sys.settrace(calls.trace)  # of this thread only
    end = time.perf_counter() + seconds
    if start is not None:
        QTimer.singleShot(0, start)
    _until(beat)
    sys.settrace(None)
    steps = [[b - a for a, b in zip(*two, strict=True)] for two in itertools.pairwise(beats)]
    gaps = [(step[0] - _BEAT, *(max(0.0, part) for part in step[1:])) for step in steps]
    return name, gaps, list(calls.found.values())


class _Calls:
    """Milliseconds of the calls into the plugin, and of those of the canvas, on one thread."""

    def __init__(self):
        self.totals = dict.fromkeys(_PARTS, 0.0)
        self.found = {}
        self._parts = {}
        self._outermost = None  # what it turned out to be
        self._since = 0.0

    def so_far(self):
        """The totals, with the call that is not over: it may let the event loop turn itself."""
        if self._outermost is None:
            return dict(self.totals)
        running = 1000 * (time.perf_counter() - self._since)
        return self.totals | {self._outermost: self.totals[self._outermost] + running}

    def trace(self, frame, _event, _arg):
        """For ``sys.settrace``: follow calls into the plugin, and the outermost of the canvas."""
        part = self._parts.get(frame.f_code, "unknown")
        if part is None:  # nearly always: this must not take long
            return None
        if part == "unknown":
            part = self._parts[frame.f_code] = _part(frame.f_code)
        if part == "adding a layer" and self._outermost == "calls":
            self._outermost = part
        outermost = self._outermost is None
        by_benchmark = frame.f_back is not None and frame.f_back.f_code.co_filename == __file__
        if part is None or by_benchmark or not (outermost or part == "calls"):
            return None
        wall, processor = time.perf_counter(), time.thread_time()
        if outermost:
            self._outermost, self._since = part, wall
        frame.f_trace_lines = False

        def leave(frame, event, _arg):
            if event == "return":
                times = time.perf_counter() - wall, time.thread_time() - processor
                self._leave(frame.f_code, outermost, *(1000 * t for t in times))
            return leave

        return leave

    def _leave(self, code, outermost, wall, processor):
        part = self._outermost
        if outermost:
            self.totals[part] += wall
            self._outermost = None
        if part == "canvas":
            return
        place = f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_qualname}"
        new = {
            "call": place,
            "outermost": outermost,
            "part": part,
            "longest": 0.0,
            "processor": 0.0,
        }
        found = self.found.setdefault((code, outermost, part), new)
        found["longest"] = max(wall, found["longest"])
        found["processor"] = max(processor, found["processor"])


def _part(code):
    if code.co_qualname in ("LayerList.insert", "EventedList.__delitem__"):
        return "adding a layer"  # or removing one
    file = code.co_filename.replace("\\", "/")
    return next((part for piece, part in _CODE.items() if piece in file), None)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[2]](*sys.argv[3:])), flush=True)
    os._exit(0)  # what is measured is measured; jobs and windows need no farewell
