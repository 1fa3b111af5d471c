"""Functions that share options: each option is written once, in a dataclass that checks itself.

A public function takes ``**options: Unpack[...]`` and passes them on. ``takes_options`` gives it
the signature that it really has, and fills the descriptions of the options into its docstring.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from napari_scsc.errors import UserTypeError

F = TypeVar("F", bound=Callable[..., Any])

_PLACE = "{options}"


def takes_options(options: type[Any], *, without: Collection[str] = ()) -> Callable[[F], F]:
    """Decorate a function whose ``**options`` are fields of the dataclass ``options``.

    ``{options}`` in its docstring becomes the parameters of the dataclass, as its own docstring
    describes them; those in ``without`` are left out.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        given = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        names = {p.name for p in given} | set(without)
        shared = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_default_of(field),
                annotation=field.type,
            )
            for field in fields(options)
            if field.init and field.name not in names
        ]
        function.__signature__ = signature.replace(parameters=[*given, *shared])  # type: ignore[attr-defined]
        if function.__doc__:
            text = describe_options(options, without=names)
            function.__doc__ = inspect.cleandoc(function.__doc__).replace(_PLACE, text)
        return function

    return decorate


def _default_of(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def describe_options(options: type[Any], *, without: Collection[str] = ()) -> str:
    """The entries under "Parameters" of the docstring of a dataclass, as lines."""
    text = inspect.cleandoc(options.__doc__ or "").partition("Parameters\n----------\n")[2]
    entries: list[list[str]] = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            entries.append([])
        if entries:
            entries[-1].append(line)
    kept = []
    for entry in entries:
        head, _, kind = entry[0].partition(" : ")
        names = [name for name in head.split(", ") if name not in without]
        if names:
            kept += [f"{', '.join(names)} : {kind}", *entry[1:]]
    return textwrap.dedent("\n".join(kept)).strip()


def check_keywords(function: str, options: type[Any], given: Mapping[str, Any]) -> None:
    """Refuse a keyword that is no option, as a call of the function itself would."""
    known = {field.name for field in fields(options) if field.init}
    for name in given:
        if name not in known:
            raise UserTypeError(f"{function}() has no argument {name!r}")
