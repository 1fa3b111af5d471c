"""Make the pictures of the documentation from the real window, in a dark and a light theme.

``tour`` is a film: a sample is opened, its filters appear, it is denoised.

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
FILM, FILM_COLOURS = (1200, 760), 96
FRAMES = 12  # of the work itself, at most
PATCHES = "patches (quick)"  # what Learn does not take unless told


def start(_viewer: Any, _dock: Any) -> None:
    """Nothing is open yet."""


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


def compare(viewer: Any, dock: Any) -> None:
    """A denoised image, measured against a clean one."""
    _denoise_with_reference(viewer, dock)
    _scroll_to(dock, dock.compare_section)


def explain(viewer: Any, dock: Any) -> None:
    """The patches like the one around a pixel of a denoised image, and their filters."""
    _denoise_with_reference(viewer, dock)
    dock.plots.tabs.setCurrentWidget(dock.plots.explain)
    _process(0.2)
    dock.explain((162, 168))  # on a fibre
    _wait(dock)
    dock.plots.explain.by_group.click()
    _process(0.2)


def inpaint_before(viewer: Any, dock: Any) -> None:
    """Holes, marked by a layer of labels."""
    _open(viewer, "with_holes")
    dock.task, dock.missing_layer = "Inpaint", "missing"
    _scroll_to(dock, dock.restore_section)


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
    dock.task, dock.missing_layer = "Inpaint", "dust"
    _scroll_to(dock, dock.restore_section)


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


def kind(viewer: Any, _dock: Any) -> None:
    """Axes that cannot be guessed."""
    from napari_scsc import samples

    viewer.add_image(samples.video((24, 128, 160)), name="acquisition 7")


def error(viewer: Any, dock: Any) -> None:
    """Holes are to be filled, and none is marked."""
    _open(viewer, "noisy_tissue")
    dock.attempt(dock.inpaint)


SCENES: tuple[Callable[[Any, Any], None], ...] = (
    start,
    learn_image,
    learn_video,
    learn_multispectral,
    learn_light_field,
    compare,
    explain,
    inpaint_before,
    inpaint_after,
    shapes,
    video_after,
    multispectral_after,
    light_field_after,
    kind,
    error,
)


# --- what the scenes share ------------------------------------------------------------------------


def _open(viewer: Any, sample: str) -> None:
    viewer.open_sample("napari-scsc", sample)


def _learn_half_way(dock: Any) -> None:
    """Start learning, and hold it in the middle."""
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


def _denoise_with_reference(viewer: Any, dock: Any) -> None:
    from napari_scsc import samples

    viewer.add_image(samples.noisy_tissue(clean=True), name="reference")
    _open(viewer, "noisy_tissue")
    dock.sources = ["noisy tissue"]
    dock.reference = "reference"
    dock.denoise()
    _wait(dock)


def _scroll_to(dock: Any, section: Any) -> None:
    from qtpy.QtWidgets import QScrollArea

    _process(0.3)  # until the sections have their sizes
    bar = dock.findChild(QScrollArea).verticalScrollBar()
    inside = dock.findChild(QScrollArea).widget()
    bar.setValue(section.mapTo(inside, section.rect().topLeft()).y() - 40)


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
    """Open a noisy sample, denoise it, and keep what was to be seen on the way."""
    from PIL import Image

    viewer, dock = _new_window(FILM)
    _open(viewer, "noisy_tissue")
    _process(1)
    frames, seconds = [_picture_of(viewer)], [2.0]
    for work in (dock.learn, dock.denoise):
        work()
        while dock.busy:
            _process(0.25)
            frames.append(_picture_of(viewer))
            seconds.append(0.25)
    _scroll_to(dock, dock.restore_section)
    _process(1)
    frames.append(_picture_of(viewer))
    seconds.append(4.0)
    kept = _spread(len(frames), FRAMES + 2)
    palette = frames[-1].quantize(FILM_COLOURS, method=Image.Quantize.MAXCOVERAGE)
    few = [frames[i].quantize(palette=palette, dither=Image.Dither.NONE) for i in kept]
    times = [round(1000 * max(seconds[i], 0.5)) for i in kept]
    path = folder / "tour.gif"
    few[0].save(path, save_all=True, append_images=few[1:], duration=times, loop=0, optimize=True)
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
