"""What the dock hears from the viewer, besides the list of layers in its section Source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from napari_scsc.plugin.handlers import handler


class ViewerLink:
    """New layers, a key that is held and clicks, told to functions while it is attached.

    Parameters
    ----------
    viewer : napari.Viewer
        Where it listens.
    key : str
        A key, such as "Shift-O".
    added : function of a layer
        Called when a layer was added.
    held : function of a bool
        Called when the key is pressed (True) and when it is released (False).
    clicked : function of a position
        Called with a position in the world that was clicked, while somebody wants clicks.
    """

    def __init__(
        self,
        viewer: Any,
        key: str,
        *,
        added: Callable[[Any], None],
        held: Callable[[bool], None],
        clicked: Callable[[Any], None],
    ) -> None:
        self.attached = False
        self._viewer, self._key = viewer, key
        self._added, self._held, self._clicked = added, held, clicked

    def attach(self) -> None:
        """Listen to layers and the key from now on."""
        self.attached = True
        self._viewer.layers.events.inserted.connect(self._on_inserted)
        self._viewer.bind_key(self._key, self._on_key, overwrite=True)

    def detach(self) -> None:
        """Listen to nothing any more."""
        self.attached = False
        self._viewer.layers.events.inserted.disconnect(self._on_inserted)
        self._viewer.bind_key(self._key, None)
        self.listen_to_clicks(False)

    def listen_to_clicks(self, yes: bool) -> None:
        """Whether clicks are wanted; only while it is attached."""
        callbacks = self._viewer.mouse_drag_callbacks
        if self._on_mouse in callbacks:
            callbacks.remove(self._on_mouse)
        if yes and self.attached:
            callbacks.append(self._on_mouse)

    @handler
    def _on_inserted(self, event: Any) -> None:
        self._added(event.value)

    @handler
    def _on_key(self, _viewer: Any) -> Any:
        self._held(True)
        yield
        self._held(False)

    @handler
    def _on_mouse(self, _viewer: Any, event: Any) -> Any:
        yield
        if event.type != "mouse_move":  # else the button was down to move the view
            self._clicked(event.position)
