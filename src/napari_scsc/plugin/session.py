"""A viewer with the dock in one call, for scripts and the demonstration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import napari

    from napari_scsc.plugin.dock import Dock


def open(  # napari_scsc.open(...) reads as it should
    *images: Any, viewer: napari.Viewer | None = None, show: bool = True, **looks: Any
) -> tuple[napari.Viewer, Dock]:
    """Open napari with images and the dock.

    Parameters
    ----------
    *images : array, path or layer data tuple
        What to open: arrays, files that napari or this plugin can read, or (data, looks, type).
    viewer : napari.Viewer, optional
        One that is open already.
    show : bool
        Whether the window is shown.
    **looks
        Arguments of the layers of arrays, such as ``name``, ``scale`` and ``axis_labels``.

    Returns
    -------
    tuple
        The viewer, and the dock as a handle: ``dock.denoise()``, ``dock.wait()``, ``dock.result``.
    """
    import os

    import napari
    from napari.layers import Layer

    from napari_scsc.plugin.opening import open_path

    viewer = viewer or napari.Viewer(show=show)
    for image in images:
        if isinstance(image, str | os.PathLike):
            open_path(viewer, os.fspath(image))
        elif isinstance(image, tuple):
            viewer.add_layer(Layer.create(*image))
        else:
            viewer.add_image(image, **looks)
    _, dock = viewer.window.add_plugin_dock_widget("napari-scsc")
    return viewer, dock
