"""Errors and remarks for users: what is wrong, which argument it is about, what would help.

A front end never reads the English of a message. It renders a ``Message`` with its own names of
the arguments (``sigma``, ``--sigma``, the field *noise*) and its own words for the remedies.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any

_NO_WORDS: Mapping[Any, str] = MappingProxyType({})


class Remedy(Enum):
    """What the user can do; the value says it to somebody who writes Python.

    The command line and the dock have tables of their own, ``{Remedy: words}``.
    """

    CHOOSE_ANOTHER_NAME = "choose another name"
    CHOOSE_ANOTHER_OUTPUT = "give another array or path, or a copy of the image"
    CHOOSE_SCSC_MODEL = "learn with model='scsc'"
    CLUSTER_MEMORY = (
        "run it again with resume=True, on workers with more memory or without a cluster, or "
        "remove it and begin again with a smaller memory"
    )
    DENOISE_FOR_ERROR = "denoise(image, error=True) tells it, with the method 'scsc'"
    DROP_AXIS = "drop the axis, or choose another kind"
    FILL_MISSING = "inpaint(image) fills them, and denoises with sigma=..."
    FILL_OUTLIERS = "outliers='fill' replaces them"
    GIVE_SIGMA = "give sigma if you know it"
    INVERT_MASK = "if the mask marks what is known, invert it"
    LEARN_WITH_CHECKPOINT = "learn again, with checkpoint=..."
    MARK_INFINITE = "mark them as missing, as in inpaint(image, ~np.isfinite(image))"
    MARK_MISSING = "to take noise out of a complete image, use denoise"
    NAME_AXES = "name its axes with axes=..."
    NAME_INPUT = "name the file that you mean, with input=..."
    NAME_ONE_SAMPLE_AXIS = "say which is by itself, as in axes='t:separate, z, y, x'"
    NAME_OUTPUT = "name the file, out=..."
    OVERWRITE = "choose another name, or say overwrite=True"
    RESTORE_TOGETHER = 'with kind="video" or kind="stack" it is filled from its neighbours'
    RESUME = "go on with it, resume=True, or remove it"
    RESUME_WITH_SAME_ARGUMENTS = "resume with the same arguments, or remove it"
    RUN_AGAIN = "run it again with resume=True"
    SAY_KEY = "say which with key=..."
    SAY_KIND_OR_AXES = "say which with kind=..., or name its axes with axes=..."


@dataclass(frozen=True, slots=True)
class Message:
    """Something the user should know.

    Attributes
    ----------
    text : str
        What is wrong, or stands out. With an argument it is the rest of a sentence that begins
        with the argument's name: ``"must be above 0, but is -1"``.
    argument : str, optional
        The argument of the Python function that it is about.
    remedy : Remedy or str, optional
        What would help; a string where it is the same for everybody.
    path : str, optional
        The file that it is about.
    item : int, optional
        Which of several images it is about, from 1 on.
    """

    text: str
    argument: str | None = None
    remedy: Remedy | str | None = None
    path: str | None = None
    item: int | None = None

    def __str__(self) -> str:
        return self.render()

    def render(
        self,
        arguments: Mapping[str, str] = _NO_WORDS,
        remedies: Mapping[Remedy, str] = _NO_WORDS,
    ) -> str:
        """One sentence, with a front end's names of arguments and words for remedies."""
        words = self.text
        if self.argument is not None:
            words = f"{arguments.get(self.argument, self.argument)} {words}"
        if isinstance(self.remedy, Remedy):
            words = f"{words}: {remedies.get(self.remedy, self.remedy.value)}"
        elif self.remedy:
            words = f"{words}: {self.remedy}"
        if self.item is not None:
            words = f"image {self.item}: {words}"
        return f"{self.path}: {words}" if self.path is not None else words

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold; ``message_from_json`` undoes it."""
        remedy = self.remedy.name if isinstance(self.remedy, Remedy) else self.remedy
        return {"text": self.text, "argument": self.argument, "remedy": remedy}


def message_from_json(value: Any) -> Message:
    """A message as ``Message.to_json`` wrote it; files of version 0.1 have plain strings."""
    if isinstance(value, str):
        return Message(value)
    remedy = value["remedy"]
    return Message(str(value["text"]), value["argument"], Remedy.__members__.get(remedy, remedy))


class UserError(ValueError):
    """An input, an argument or a file that cannot be worked with; see ``Message``."""

    def __init__(
        self,
        text: str,
        *,
        argument: str | None = None,
        remedy: Remedy | str | None = None,
        path: str | os.PathLike[str] | None = None,
        item: int | None = None,
    ) -> None:
        super().__init__(text)
        place = None if path is None else os.fspath(path)
        self.message = Message(text, argument, remedy, place, item)

    def __str__(self) -> str:
        return str(self.message)

    def __reduce__(self) -> tuple[Any, ...]:  # the errors of files cannot be sent by themselves
        return _rebuild_error, (type(self), self.message)

    def about(self, **facts: Any) -> UserError:
        """The same error, with more known of it, such as ``path`` or ``item``."""
        self.message = replace(self.message, **facts)
        return self


def _rebuild_error(kind: type[UserError], message: Message) -> UserError:
    error = kind(message.text)
    error.message = message
    return error


class UserTypeError(UserError, TypeError):
    """An argument of a type that it cannot have."""


class PathExistsError(UserError, FileExistsError):
    """Something is at the place of a result, and would be lost."""


class PathNotFoundError(UserError, FileNotFoundError):
    """A file or folder that is needed is not there."""


class FileFormatError(UserError):
    """The file is not what it should be: damaged, of another kind, or of a later version."""


class MissingPackageError(UserError, ImportError):
    """An optional package is needed, and not installed."""


class RunInterrupted(RuntimeError):
    """A run broke off for a reason outside of it; what was finished is kept, and can be resumed."""

    def __init__(self, text: str, *, remedy: Remedy | str | None = None) -> None:
        super().__init__(text)
        self.message = Message(text, remedy=remedy)

    def __str__(self) -> str:
        return str(self.message)


def message_of(error: BaseException) -> Message:
    """What an error says, whoever raised it."""
    message = getattr(error, "message", None)
    if isinstance(message, Message):
        return message
    if isinstance(error, OSError) and error.strerror:
        return Message(error.strerror, path=error.filename and os.fsdecode(error.filename))
    if isinstance(error, ValueError | TypeError | OSError | ImportError | RuntimeError):
        return Message(str(error) or type(error).__name__)
    return Message(f"{type(error).__name__}: {error}")
