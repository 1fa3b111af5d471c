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


def open_path(viewer: Any, path: str) -> None:
    """Open a file as layers."""
    from napari_scsc.io.layers import get_reader

    # Ours first: they know the axes. What they do not read is left to napari's choice.
    ours = get_reader(path) is not None
    viewer.open(path, plugin="napari-scsc" if ours else "napari")
