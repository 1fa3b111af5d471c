"""Attributes of a part as attributes of the whole."""

from __future__ import annotations

from typing import Any


class PartAttribute:
    """An attribute of a part as an attribute of the whole, such as ``dock.message``.

    Parameters
    ----------
    part : str
        The attribute of the whole that is the part.
    doc : str
        What it is.
    name : str, optional
        What the part calls it; the same name unless given.
    is_settable : bool
        Whether it can be set, or only read.
    """

    def __init__(self, part: str, doc: str, name: str = "", *, is_settable: bool = False) -> None:
        self.part = part
        self.__doc__ = doc
        self._name = name
        self._is_settable = is_settable

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, whole: Any, _owner: type | None = None) -> Any:
        return self if whole is None else getattr(getattr(whole, self.part), self._name)

    def __set__(self, whole: Any, value: Any) -> None:
        if not self._is_settable:
            raise AttributeError(f"{self._name} can only be read")
        setattr(getattr(whole, self.part), self._name, value)
