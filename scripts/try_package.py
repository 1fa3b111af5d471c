"""Try an installed napari-scsc as its first user does: the manifest, the command line, the dock.

Run it with the Python of the environment, away from the sources. It needs napari and a Qt binding,
and no screen: ``QT_QPA_PLATFORM=offscreen``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path


def try_manifest() -> str:
    """Every name that the manifest gives can be imported."""
    from npe2 import PluginManifest

    manifest = PluginManifest.from_distribution("napari-scsc")
    manifest.validate_imports()
    return f"{manifest.name} {manifest.package_version}, in {installed_in()}"


def installed_in() -> Path:
    """Where the package is; not in the sources."""
    import napari_scsc

    folder = Path(napari_scsc.__file__).parent
    if folder.parent.name == "src":
        raise SystemExit(f"{folder} is the source, not an installation.")
    return folder


def try_command_line() -> str:
    """The demonstration leaves a result and pictures."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "napari_scsc", "demo", "--headless", "--out", folder]
        subprocess.run(command, check=True)
        written = sorted(path.name for path in Path(folder).iterdir())
    if "denoised.tif" not in written:
        raise SystemExit(f"The demonstration left {written}.")
    return f"{len(written)} files"


def try_dock() -> str:
    """The dock denoises a sample, on a viewer without a window: no graphics are needed."""
    from napari.components import ViewerModel
    from qtpy.QtWidgets import QApplication

    from napari_scsc import samples
    from napari_scsc.plugin.dock import Dock

    application = QApplication.instance() or QApplication([])
    viewer = ViewerModel()
    viewer.add_image(samples.tissue((96, 96)), name="tissue")
    dock = Dock(viewer)
    dock.quality = "fast"
    dock.denoise()
    if not dock.wait(300) or dock.result is None:
        raise SystemExit(f"The dock did not denoise: {dock.message}")
    name = dock.result.name
    dock.close()
    application.processEvents()
    return f"{name}, with {binding()}"


def binding() -> str:
    """The Qt binding that was found."""
    import qtpy

    return f"{qtpy.API_NAME} {qtpy.QT_VERSION}"


if __name__ == "__main__":
    for step in (try_manifest, try_command_line, try_dock):
        print(f"{step.__name__}: {step()}", flush=True)
