"""Make the pictures of the documentation from the real window, in a dark and a light theme.

``tour`` is a film: a sample is opened, its filters appear, it is denoised, and compared by a wipe.

    python scripts/screenshots.py [name ...]

Without names, all of them. Where there is no screen, a virtual one is started with xvfb-run. The
settings of the user are neither read nor changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "images"
SIZE = 1400, 900
COLOURS = 256  # of a picture's palette
FILM, FILM_COLOURS = (1200, 760), 160
FRAMES = 9  # of the work itself, at most
WIPES = 0.75, 0.5, 0.3, 0.5  # where the line of the film's end is
PATCHES = "patches (quick)"  # what Learn does not take unless told
FILL = "Fill holes"
RESTORE, FILTERS, BATCH = range(3)  # the tabs of the dock


def start(viewer: Any, _dock: Any) -> None:
    """An image is open, and nothing was pressed yet."""
    _open(viewer, "noisy_tissue")


def axes(viewer: Any, dock: Any) -> None:
    """Five axes: what is proposed, and where it can be changed."""
    import numpy as np

    from napari_scsc import samples

    channels = [[samples.stack((12, 128, 144), seed=2 * t + c) for c in (0, 1)] for t in range(3)]
    labels = ("t", "c", "z", "y", "x")
    viewer.add_image(np.array(channels), name="embryo", axis_labels=labels)
    _press(dock, "Edit the axes")


def layers(viewer: Any, dock: Any) -> None:
    """Three layers, restored as one job."""
    _open_fields(viewer)
    dock.sources = ["field 3", "field 2", "field 1"]
    dock.denoise()
    _wait(dock)


def preview(viewer: Any, dock: Any) -> None:
    """What is in view, restored while somebody looks, with its frame."""
    from napari_scsc import samples

    viewer.add_image(samples.noisy_tissue((580, 580)), name="slide 4")
    _process(0.5)
    dock.strength = 1.2
    dock.preview = True
    _process(0.5)
    _wait(dock)


def wipe(viewer: Any, dock: Any) -> None:
    """Before on the left of the line, after on the right."""
    _denoise(viewer, dock, "noisy_tissue")
    dock.compare_section.wipe_switch.click()


def compare(viewer: Any, dock: Any) -> None:
    """A denoised image, measured against a clean one."""
    _denoise_with_reference(viewer, dock)
    _press(dock, "advanced, folded")


def fit(viewer: Any, dock: Any) -> None:
    """Filters of something else: they do not fit, and the map says where."""
    import numpy as np

    from napari_scsc import learn, samples

    stripes = np.indices((192, 192))[0] // 3 % 2 * 1000.0
    stripes += np.random.default_rng(0).normal(0, 60, stripes.shape)
    viewer.add_image(samples.noisy_tissue(), name="tissue")
    dock.bank = learn(stripes.astype(np.float32), kind="image", model="scsc")
    dock.denoise()
    _wait(dock)
    dock.compare_section.maps.switches["fit"].click()
    viewer.layers["tissue · fit"].opacity = 0.5


def batch(viewer: Any, dock: Any) -> None:
    """Files of a folder, half of them done."""
    import tifffile

    from napari_scsc import samples

    folder = Path(tempfile.mkdtemp()) / "night1"  # its name is to be seen, the rest is not
    folder.mkdir()
    os.chdir(folder.parent)
    for number in range(8):
        image = samples.noisy_tissue(seed=number)
        tifffile.imwrite(folder / f"well-{number + 1:02}.tif", image, metadata={"axes": "YX"})
    viewer.add_image(samples.noisy_tissue(), name="well-01")
    dock.tabs.setCurrentIndex(BATCH)
    _widen(viewer, dock, 560)
    tab = dock.batch_tab
    tab.add_paths([str(folder)])
    tab.output.out.setText("night1-clean")
    tab.start()
    while tab.busy and sum(report.seconds > 0 for report in tab.reports) < 5:
        _process(0.02)
    tab.pause()
    _process(0.5)


def learn_image(viewer: Any, dock: Any) -> None:
    """Half way through learning from an image: the base filters."""
    _open(viewer, "noisy_tissue")
    _learn_half_way(dock)


def learn_video(viewer: Any, dock: Any) -> None:
    """Half way through learning from a video: how far it has come."""
    _open(viewer, "video")
    dock.effort = "quick"
    _learn_half_way(dock)
    dock.plots.tabs.setCurrentWidget(dock.plots.progress)


def learn_multispectral(viewer: Any, dock: Any) -> None:
    """Half way through learning from a multispectral cube: filters and their spectra."""
    _open(viewer, "multispectral")
    dock.model, dock.effort, dock.passes = PATCHES, "thorough", 20
    _learn_half_way(dock)


def learn_light_field(viewer: Any, dock: Any) -> None:
    """Half way through learning from a light field: the weights."""
    _open(viewer, "light_field")
    dock.effort = "quick"
    _learn_half_way(dock)
    dock.plots.tabs.setCurrentWidget(dock.plots.weights)


def explain(viewer: Any, dock: Any) -> None:
    """The patches like the one around a pixel of a denoised image, and their filters."""
    _denoise(viewer, dock, "noisy_tissue")
    dock.tabs.setCurrentIndex(FILTERS)
    dock.plots.tabs.setCurrentWidget(dock.plots.explain)
    _process(0.2)
    dock.explain((162, 168))  # on a fibre
    _wait(dock)
    dock.plots.explain.by_group.click()
    _process(0.2)


def inpaint_before(viewer: Any, dock: Any) -> None:
    """Holes, marked by a layer of labels."""
    _open(viewer, "with_holes")
    dock.task, dock.missing_layer = FILL, "missing"


def inpaint_after(viewer: Any, dock: Any) -> None:
    """The same, filled."""
    inpaint_before(viewer, dock)
    dock.inpaint()
    _wait(dock)
    viewer.layers["missing"].visible = False


def shapes(viewer: Any, dock: Any) -> None:
    """What is missing, drawn by hand as shapes."""
    _open(viewer, "noisy_tissue")
    corners = [[70, 60], [70, 100], [82, 100], [82, 60]]
    viewer.add_shapes(
        [corners, [[150, 150], [200, 190]]],
        shape_type=["polygon", "line"],
        edge_width=4,
        edge_color="orange",
        face_color="orange",
        name="dust",
    )
    dock.task, dock.missing_layer = FILL, "dust"


def video_after(viewer: Any, dock: Any) -> None:
    """A denoised video."""
    dock.quality = "fast"
    _denoise(viewer, dock, "video")


def multispectral_after(viewer: Any, dock: Any) -> None:
    """A denoised multispectral cube."""
    _denoise(viewer, dock, "multispectral")


def light_field_after(viewer: Any, dock: Any) -> None:
    """A denoised light field."""
    _denoise(viewer, dock, "light_field")


def error(viewer: Any, dock: Any) -> None:
    """Holes are to be filled, and none is marked."""
    _open(viewer, "noisy_tissue")
    dock.attempt(dock.inpaint)


SCENES: tuple[Callable[[Any, Any], None], ...] = (
    start,
    axes,
    layers,
    preview,
    wipe,
    compare,
    fit,
    batch,
    learn_image,
    learn_video,
    learn_multispectral,
    learn_light_field,
    explain,
    inpaint_before,
    inpaint_after,
    shapes,
    video_after,
    multispectral_after,
    light_field_after,
    error,
)


# --- what the scenes share ------------------------------------------------------------------------


def _open(viewer: Any, sample: str) -> None:
    viewer.open_sample("napari-scsc", sample)


def _learn_half_way(dock: Any) -> None:
    """Start learning, and hold it in the middle."""
    dock.tabs.setCurrentIndex(FILTERS)
    dock.learn()
    while dock.busy and dock.progress < 0.45:
        _process(0.02)
    dock.pause()
    if not dock.paused:
        sys.exit("learning was done before it could be held in the middle")
    _process(1)


def _denoise(viewer: Any, dock: Any, sample: str) -> None:
    _open(viewer, sample)
    dock.denoise()
    _wait(dock)


def _open_fields(viewer: Any) -> None:
    """Three images of one experiment, beside each other."""
    from napari_scsc import samples

    for number in range(3):
        image = samples.noisy_tissue((192, 192), seed=number)
        viewer.add_image(image, name=f"field {number + 1}", translate=(0, 200 * number))
    viewer.reset_view()


def _denoise_with_reference(viewer: Any, dock: Any) -> None:
    from napari_scsc import samples

    _open(viewer, "noisy_tissue")
    viewer.add_image(samples.noisy_tissue(clean=True), name="reference", visible=False)
    dock.reference = "reference"
    dock.denoise()
    _wait(dock)


def _widen(viewer: Any, dock: Any, width: int) -> None:
    """Give the dock more room, as somebody does who drags its edge."""
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QDockWidget

    window = viewer.window._qt_window
    around = next(x for x in window.findChildren(QDockWidget) if x.isAncestorOf(dock))
    window.resizeDocks([around], [width], Qt.Orientation.Horizontal)
    _process(0.3)


def _press(dock: Any, name: str) -> None:
    """Press the button that is called so for those who do not see it."""
    from qtpy.QtWidgets import QToolButton

    _process(0.3)
    buttons = [x for x in dock.findChildren(QToolButton) if x.isVisible()]
    next(button for button in buttons if button.accessibleName() == name).click()


def _wait(dock: Any) -> None:
    if not dock.wait(600):
        sys.exit("the dock did not finish")


def _process(seconds: float) -> None:
    """Let the window live for so long."""
    from qtpy.QtWidgets import QApplication

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        QApplication.processEvents()
        time.sleep(0.005)


# --- the window -----------------------------------------------------------------------------------


def take(scene: Callable[[Any, Any], None], folder: Path) -> None:
    """Set up a scene in a window of its own, and take its picture in both themes."""
    from napari.settings import get_settings

    viewer, dock = _new_window(SIZE)
    scene(viewer, dock)
    for theme in ("dark", "light"):
        get_settings().appearance.theme = theme
        _process(0.8)
        path = folder / f"{scene.__name__.replace('_', '-')}-{theme}.png"
        _save(_picture_of(viewer), path)
        print(f"  {path}: {path.stat().st_size / 1000:.0f} kB", flush=True)
    dock.stop()
    dock.batch_tab.stop()
    _wait(dock)
    viewer.close()
    _process(0.2)


def _new_window(size: tuple[int, int]) -> tuple[Any, Any]:
    """A viewer and its dock, as somebody sees them who has set nothing yet."""
    from napari.settings import get_settings

    import napari_scsc

    get_settings().appearance.theme = "dark"
    viewer, dock = napari_scsc.open()
    dock.reset()  # or it would begin with what the last scene has set
    viewer.window.resize(*size)
    _process(0.3)
    return viewer, dock


def film(folder: Path) -> None:
    """Open a noisy sample, denoise it, compare it, and keep what was to be seen on the way."""
    from PIL import Image

    viewer, dock = _new_window(FILM)
    _open(viewer, "noisy_tissue")
    _process(1)
    frames = [_picture_of(viewer)]
    for tab, work in ((FILTERS, dock.learn), (RESTORE, dock.denoise)):
        dock.tabs.setCurrentIndex(tab)
        work()
        while dock.busy:
            _process(0.25)
            frames.append(_picture_of(viewer))
    _wait(dock)
    _process(0.5)
    kept = [frames[i] for i in _spread(len(frames), FRAMES + 1)]
    kept.append(_picture_of(viewer))
    times = [2.0, *(0.5,) * (len(kept) - 2), 2.0]
    dock.compare_section.wipe_switch.click()
    for share in WIPES:
        dock.compare_section.wipe.position = share
        _process(0.4)
        kept.append(_picture_of(viewer))
        times.append(0.4)
    times[-1] = 4.0
    palette = kept[-1].quantize(FILM_COLOURS, method=Image.Quantize.MAXCOVERAGE)
    few = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in kept]
    milliseconds = [round(1000 * seconds) for seconds in times]
    path = folder / "tour.gif"
    looks = {"duration": milliseconds, "loop": 0, "optimize": True}
    few[0].save(path, save_all=True, append_images=few[1:], **looks)
    print(f"  {path}: {path.stat().st_size / 1000:.0f} kB", flush=True)
    viewer.close()
    _process(0.2)


def _spread(total: int, most: int) -> list[int]:
    """So many of the numbers below ``total``, the first and the last among them."""
    count = min(total, most)
    return [round(i * (total - 1) / (count - 1)) for i in range(count)]


def _picture_of(viewer: Any) -> Any:
    from PIL import Image

    return Image.fromarray(viewer.screenshot(canvas_only=False, flash=False)[..., :3])


def _save(picture: Any, path: Path) -> None:
    """Write a picture with few colours: a third of the size, and nobody sees it."""
    from PIL import Image

    few = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main() -> None:
    """Take the pictures that were asked for."""
    known = {scene.__name__.replace("_", "-"): scene for scene in SCENES} | {"tour": None}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(known))
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the pictures")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(known)
    if unknown:
        parser.error(f"no such picture: {', '.join(sorted(unknown))}")
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        sys.exit(_on_a_virtual_screen())
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as settings:
        # napari reads it when it is first imported.
        os.environ["NAPARI_CONFIG"] = str(Path(settings) / "settings.yaml")
        for name in arguments.names or known:
            if scene := known[name]:
                take(scene, arguments.out)
            else:
                film(arguments.out)


def _on_a_virtual_screen() -> int:
    program = shutil.which("xvfb-run")
    if program is None:
        sys.exit("There is no screen, and no xvfb-run to make one")
    screen = (program, "-a", "-s", "-screen 0 1600x1000x24")
    return subprocess.run([*screen, sys.executable, *sys.argv], check=False).returncode


if __name__ == "__main__":
    main()
