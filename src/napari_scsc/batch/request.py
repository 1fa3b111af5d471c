"""What a batch is asked for, and the shell line that asks for the same."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from napari_scsc.choices import FAILURE_WISHES, ZARR_FORMATS
from napari_scsc.errors import UserError

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.model.bank import FilterBank

BatchTask = Literal["denoise", "inpaint", "encode"]

_DEFAULT_SUFFIXES = {"encode": ".codes.zarr"}  # of results in a folder; else those of the inputs
_PROGRAM = "napari-scsc"


@dataclass(frozen=True, kw_only=True)
class BatchRequest:
    """One job for many files: what a command of the command line or the dock's tab Batch asks for.

    Parameters
    ----------
    inputs : tuple of str
        Files, folders, or patterns of their names.
    out : str
        A folder for the results, or a file for the only one.
    task : {"denoise", "inpaint", "encode"}
        What to do with each of them.
    pattern : str, optional
        With it, each file in a folder whose name matches is an image of its own, as "*.tif *.npy";
        without it, a folder is one image.
    kind, key : str, optional
        What the axes mean; which array of a file that holds several. The key "all" stands for every
        field of a plate of OME-Zarr, and the result is a plate again.
    axes : str or Axes, optional
        Letters in their order, such as "yxc".
    mask : str, optional
        A file that is not 0 where something is missing.
    dark : str, optional
        A file of dark frames, from which the noise is read.
    bank : str or FilterBank, optional
        Filters, or the file that they are in.
    format : str, optional
        The end of the names of results in a folder; that of the input unless given.
    zarr_format : {"0.4", "0.5"}, optional
        The version of OME-Zarr of results that are zarr; that of the input unless given, or else
        "0.5".
    options : mapping
        Arguments of ``iter_denoise`` and its like, such as ``quality``. Those that say what is done
        anyway are left out, so that two requests for the same are equal.
    on_failure : {"go-on", "stop"}
        Whether files are restored after one that cannot be.
    resume : bool
        Leave out files whose result is there, and go on with those that are half done.
    digest : str
        Of the values that the only input must have, as a recipe tells it; empty: any.

    Examples
    --------
    >>> from napari_scsc.batch.request import BatchRequest, command_line
    >>> request = BatchRequest(inputs=("a 1.tif", "b.tif"), out="clean", options={"sigma": 3.0})
    >>> command_line(request)
    "napari-scsc denoise 'a 1.tif' b.tif --out clean --sigma 3.0"
    """

    inputs: tuple[str, ...]
    out: str
    task: BatchTask = "denoise"
    pattern: str | None = None
    kind: str | None = None
    axes: str | Axes | None = None
    key: str | None = None
    mask: str | None = None
    dark: str | None = None
    bank: str | FilterBank | None = None
    format: str | None = None
    zarr_format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    on_failure: str = "go-on"
    resume: bool = False
    digest: str = ""

    def __post_init__(self) -> None:
        if self.on_failure not in FAILURE_WISHES:
            raise UserError(
                f"is one of {', '.join(FAILURE_WISHES)}, not {self.on_failure!r}",
                argument="on_failure",
            )
        if self.zarr_format not in (None, *ZARR_FORMATS):
            words = ", ".join(map(repr, ZARR_FORMATS))
            raise UserError(
                f"must be one of {words}, but is {self.zarr_format!r}", argument="zarr_format"
            )
        usual = _usual_options()
        given = {
            name: value
            for name, value in self.options.items()
            if not _is_plain(value) or value != usual.get(name)
        }
        if self.dark is not None and "noise" in given:
            raise UserError("says what the noise is, and so do dark frames", argument="noise")
        object.__setattr__(self, "options", given)

    @property
    def default_suffix(self) -> str:
        """The end of the names of results in a folder, whatever the inputs are; or empty."""
        return _DEFAULT_SUFFIXES.get(self.task, "")


def _usual_options() -> dict[str, Any]:
    from napari_scsc.restore.options import RestoreOptions

    usual = RestoreOptions()
    return {option.name: getattr(usual, option.name) for option in fields(usual)}


def _is_plain(value: Any) -> bool:
    """Whether it can be compared, and be written as a word."""
    return value is None or isinstance(value, str | bool | int | float | tuple)


def command_line(request: BatchRequest) -> str:
    """The shell line that does the same; UserError if something in the request is in no file."""
    words = [_PROGRAM, request.task]
    inputs = list(request.inputs)
    options = ["--out", request.out, *_option_words(request)]
    if any(item.startswith("-") and item != "-" for item in inputs):
        words += [*options, "--", *inputs]
    else:
        words += [*inputs, *options]
    return shlex.join(words)


def _option_words(request: BatchRequest) -> Iterator[str]:
    named = {
        "pattern": request.pattern,
        **_axes_words(request),
        "key": request.key,
        "mask": request.mask,
        "dark": request.dark,
        "bank": _bank_word(request.bank),
        "format": request.format,
        "zarr_format": request.zarr_format,
        **{_OPTION_NAMES.get(name, name): value for name, value in request.options.items()},
        "on_failure": None if request.on_failure == "go-on" else request.on_failure,
        "resume": request.resume,
    }
    for name, value in named.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            yield option
        elif value is not None and value is not False and value != ():
            yield from (option, _spell(name, value))


_OPTION_NAMES = {"n_jobs": "jobs"}


def _spell(name: str, value: Any) -> str:
    if not _is_plain(value):
        raise UserError(
            "is in no file, and a command takes files", argument=name, remedy="give a number"
        )
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _bank_word(bank: str | FilterBank | None) -> str | None:
    if bank is None or isinstance(bank, str):
        return bank
    raise UserError(
        "is in no file, and a command takes files", argument="bank", remedy="save the filters first"
    )


def _axes_words(request: BatchRequest) -> dict[str, str | None]:
    """The options that say what the axes are."""
    if request.axes is None or isinstance(request.axes, str):
        return {"kind": request.kind, "axes": request.axes}
    from napari_scsc.data.axes import PRESETS, ROLE_WORDS, resolve

    axes = request.axes
    if PRESETS.get(axes.kind) == axes:
        return {"kind": axes.kind, "axes": "".join(axes.labels)}
    pairs = zip(axes.labels, axes.roles, strict=True)
    letters = "".join("n" if role == "sample" else label for label, role in pairs)
    if len(letters) == len(axes.roles):
        found = resolve((64,) * len(letters), None, letters)
        if found.roles == axes.roles:
            return {"kind": None, "axes": letters}
        words = ", ".join(
            "n" if role == "sample" else f"{label}:{ROLE_WORDS[role]}"
            for label, role in zip(axes.labels, axes.roles, strict=True)
        )
        with suppress(UserError):  # a label that is no letter of ours
            if resolve((64,) * len(letters), None, words).roles == axes.roles:
                return {"kind": None, "axes": words}
    raise UserError("cannot be said in a command", argument="axes", remedy="name them by letters")


def result_folder(first_input: str, task: BatchTask) -> str:
    """Where results go unless told: a folder beside the first input."""
    words = {"denoise": "denoised", "inpaint": "filled", "encode": "codes"}
    return os.path.join(os.path.dirname(os.path.abspath(first_input)), words[task])
