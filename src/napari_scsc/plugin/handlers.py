"""The one door of the dock: whatever goes wrong in a handler is told to the user.

A handler is what Qt, magicgui or napari call: slots, callbacks, event filters. An error that leaves
one ends in the hands of Qt, which may end the process, or of psygnal, which skips all handlers
after it. ``tests/plugin/test_handlers.py`` holds that every handler goes through here.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar, cast

from qtpy.QtCore import QObject

from napari_scsc.errors import UserError
from napari_scsc.plugin.wording import say

_Method = TypeVar("_Method", bound=Callable[..., Any])


def handler(method: _Method) -> _Method:
    """Make a method one that signals can be connected to: it tells its errors, and raises none.

    It stays a method, of which signals keep no object alive. Like a slot of Qt it may take fewer
    arguments than the signal brings. A generator, as napari takes for the mouse, stays one.
    """
    fallback = False if method.__annotations__.get("return") == "bool" else None
    most = _count_arguments(method)

    if inspect.isgeneratorfunction(method):

        @functools.wraps(method)
        def go_through(self: Any, *args: Any) -> Iterator[Any]:
            try:
                yield from method(self, *args[:most])
            except Exception as error:  # the user is told, whatever it was
                tell(self, error)

        return cast(_Method, go_through)

    @functools.wraps(method)
    def call(self: Any, *args: Any) -> Any:
        try:
            return method(self, *args[:most])
        except Exception as error:  # the user is told, whatever it was
            tell(self, error)
            return fallback

    return cast(_Method, call)


def tell(part: Any, error: Exception) -> None:
    """Tell an error by the signal ``failed`` of a part of the dock, or of the nearest around it.

    What is no error of the user's goes to the log too, with its traceback.
    """
    if not isinstance(error, UserError):
        logging.getLogger(__name__).error("a handler of the dock failed", exc_info=error)
    failed = None
    with suppress(RuntimeError):  # Qt has deleted it
        while failed is None and part is not None:
            failed = getattr(part, "failed", None)
            part = part.parent() if isinstance(part, QObject) else None
    if failed is not None:
        failed.emit(error)
    else:
        from napari.utils.notifications import show_error  # the plots work without napari

        show_error(f"napari-scsc: {say(error)}")


def _count_arguments(method: Callable[..., Any]) -> int | None:
    """How many arguments a method takes after ``self``; None if any number."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return len(parameters)
