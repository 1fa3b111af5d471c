"""The OpenGL context of the canvas, in which what a layer held there must be freed."""

from __future__ import annotations

from qtpy.QtOpenGLWidgets import QOpenGLWidget
from qtpy.QtWidgets import QApplication


def make_canvas_current() -> None:
    """Make the contexts of all canvases current: to be called before a layer is removed.

    napari frees what a layer held in whatever context is current, which is Qt's own as a rule.
    Where OpenGL is software, the process then ends at a later drawing.
    """
    for widget in QApplication.allWidgets():
        if isinstance(widget, QOpenGLWidget) and widget.isValid():
            widget.makeCurrent()
