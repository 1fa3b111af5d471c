"""Opening files and folders as layers: for scripts, menus, and what is dropped on the dock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from napari.layers._source import layer_source
from qtpy.QtCore import QEvent, QObject
from qtpy.QtWidgets import QWidget

from napari_scsc.io.layers import can_read, read_layers
from napari_scsc.plugin.handlers import handler


def open_path(viewer: Any, path: str) -> list[Any]:
    """Open a file or folder as layers, which are returned.

    By our own formats first: they know axes, sizes and channels, also of what napari does not ask
    us for. What they do not read is left to napari.
    """
    place = Path(path)
    if not can_read(place):
        return list(viewer.open(path, plugin="napari"))
    with layer_source(path=str(path), reader_plugin="napari-scsc"):
        return [viewer.add_image(data, **arguments) for data, arguments, _ in read_layers(place)]


def open_paths(viewer: Any, paths: Sequence[str]) -> None:
    """Open files and folders, one after the other."""
    for path in paths:
        open_path(viewer, path)


class FileDrop(QObject):
    """Lets files and folders be dropped on a widget.

    Parameters
    ----------
    target : QWidget
        On which they are dropped.
    take : callable
        Gets their paths.
    """

    def __init__(self, target: QWidget, take: Callable[[list[str]], None]) -> None:
        super().__init__(target)
        self._take = take
        target.setAcceptDrops(True)
        target.installEventFilter(self)

    @handler
    def eventFilter(self, _target: Any, event: Any) -> bool:
        """Take what names files; everything else goes its way."""
        kind = event.type()
        if kind not in (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop):
            return False
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if not paths:
            return False
        event.acceptProposedAction()
        if kind == QEvent.Type.Drop:
            self._take(paths)
        return True
