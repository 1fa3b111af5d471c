"""What the menus and the command palette offer: the dock, set to a task, on the chosen layers."""

from __future__ import annotations

import napari
from napari.layers import Image, Labels, Shapes
from qtpy.QtWidgets import QFileDialog

from napari_scsc.plugin import layers
from napari_scsc.plugin.dock import Dock
from napari_scsc.plugin.opening import open_path, open_paths
from napari_scsc.plugin.sections.restore_section import NO_LAYER


def denoise(viewer: napari.Viewer) -> None:
    """Denoise the selected image."""
    dock = _dock_on_selection(viewer)
    dock.attempt(dock.denoise)


def inpaint(viewer: napari.Viewer) -> None:
    """Fill what is missing in the selected image, where the selected mask and NaN say so."""
    dock = _dock_on_selection(viewer)
    masks = [x for x in viewer.layers.selection if isinstance(x, Labels | Shapes)]
    dock.missing_layer = masks[0].name if masks else NO_LAYER
    dock.attempt(dock.inpaint)


def open_files(viewer: napari.Viewer) -> None:
    """Ask for files, and open them with what they say of axes, sizes and channels."""
    paths, _ = QFileDialog.getOpenFileNames(None, "Open files with axes, sizes and channels")
    open_paths(viewer, paths)


def open_folder(viewer: napari.Viewer) -> None:
    """Ask for a folder of zarr, bands or views, and open it as one image."""
    path = QFileDialog.getExistingDirectory(None, "Open a folder of zarr, bands or views")
    if path:
        open_path(viewer, path)


def _dock_on_selection(viewer: napari.Viewer) -> Dock:
    """The dock, opened if it is not, with the selected images ticked."""
    _, dock = viewer.window.add_plugin_dock_widget("napari-scsc")
    chosen = [
        x.name
        for x in viewer.layers
        if x in viewer.layers.selection and isinstance(x, Image) and not layers.is_ours(x)
    ]
    if chosen:
        dock.sources = chosen
    assert isinstance(dock, Dock)
    return dock
