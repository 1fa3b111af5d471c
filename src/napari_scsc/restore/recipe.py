"""The recipe of a result: all that it takes to make it again, as files of results keep it.

It is JSON, and data throughout: nothing in it is ever run, and no place to write to is read from
it. What could be meant otherwise than it was written is refused when it is read.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, cast, get_args

from napari_scsc.__about__ import __version__
from napari_scsc.checks import check_choice, check_int
from napari_scsc.data.axes import Axes, Role
from napari_scsc.data.samples import ImageSamples
from napari_scsc.errors import FileFormatError, Message
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.empty import EmptyNoise
from napari_scsc.noise.model import Noise
from napari_scsc.restore.methods import Task
from napari_scsc.restore.options import RestoreOptions
from napari_scsc.restore.script import format_arguments, make_script
from napari_scsc.run.origin import Origin

_FORMAT = 1
_MAX_BANK_BYTES = 1 << 18  # of filters that are kept in a recipe
_OPTIONS = (
    "sigma",
    "noise",
    "noise_filters",
    "outliers",
    "saturation",
    "strength",
    "quality",
    "method",
    "seed",
    "error",
    "memory",
)
"""The options that a result depends on, but for axes and filters, which are kept beside them."""
_PACKAGES = ("numpy", "scipy", "numba", "pyFFTW")  # that the last bits depend on


@dataclass(frozen=True, slots=True)
class GivenBank:
    """Filters that a restoration was given, and did not learn.

    Attributes
    ----------
    id : str
        Which they are.
    bank : FilterBank, optional
        The filters, unless they are too large to be kept in a recipe.
    """

    id: str
    bank: FilterBank | None


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a result came about.

    ``start_restoration`` makes it, stores write it, ``napari-scsc info`` shows it, and
    ``napari-scsc again`` follows it.

    Attributes
    ----------
    task : {"denoise", "inpaint"}
        What was done.
    origin : Origin
        The files that were read, as far as they are known, and the digest of what was in them.
    shape, dtype : tuple of int, str
        Of the image.
    axes : Axes
        What its axes were taken for.
    is_masked : bool
        Whether a mask said what is missing.
    options : mapping
        The other arguments that the result depends on, as ``denoise`` and ``inpaint`` have them.
    given : GivenBank, optional
        The filters that were given; without, they were learned from the image.
    noise : Noise
        The noise that was given or found.
    bank : str, optional
        The id of the filters that restored; None if there was nothing to be done.
    version : str
        Of this package.
    packages : mapping
        Versions of the packages that compute.
    """

    task: Task
    origin: Origin
    shape: tuple[int, ...]
    dtype: str
    axes: Axes
    is_masked: bool
    options: Mapping[str, Any]
    given: GivenBank | None
    noise: Noise
    bank: str | None
    version: str
    packages: Mapping[str, str]

    @classmethod
    def of(
        cls,
        task: Task,
        samples: ImageSamples,
        options: RestoreOptions,
        origin: Origin,
        *,
        is_masked: bool,
        noise: Noise,
        bank: FilterBank | None,
    ) -> Recipe:
        """The recipe of a restoration that has found its noise and its filters."""
        given = options.bank
        return cls(
            task=task,
            origin=origin,
            shape=samples.image.shape,
            dtype=str(samples.image.dtype),
            axes=samples.axes,
            is_masked=is_masked,
            options={name: getattr(options, name) for name in _OPTIONS},
            given=None if given is None else GivenBank(given.id, _small(given)),
            noise=noise,
            bank=None if bank is None else bank.id,
            version=__version__,
            packages=dict(installed_packages()),
        )

    @property
    def script(self) -> str:
        """Lines of Python that do the same, for people."""
        return self.origin.script or _write_script(self)

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold; ``from_json`` undoes it."""
        origin, given = self.origin, self.given
        filters = None
        if given is not None:
            data = None if given.bank is None else given.bank.to_json()
            filters = {"id": given.id, "path": origin.bank, "data": data}
        values = {
            "format": _FORMAT,
            "version": self.version,
            "packages": dict(self.packages),
            "task": self.task,
            "input": {
                "path": origin.path,
                "key": origin.key,
                "folder": origin.folder,
                "shape": self.shape,
                "dtype": self.dtype,
                "digest": origin.digest,
            },
            "mask": {"path": origin.mask} if self.is_masked else None,
            "axes": {f.name: getattr(self.axes, f.name) for f in fields(Axes)},
            "options": {**self.options, "noise": _noise_to_json(self.options["noise"])},
            "filters": filters,
            "noise": self.noise.to_json(),
            "bank": self.bank,
            "command": origin.command,
            "script": self.script,
        }
        return dict(json.loads(json.dumps(values)))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Recipe:
        """The recipe that ``to_json`` wrote down; an error says what is wrong with another."""
        if check_int("the format of the recipe", values["format"], 1) > _FORMAT:
            raise FileFormatError(
                f"has a recipe of a later napari-scsc ({_text(values['version'])})",
                remedy="please update napari-scsc",
            )
        image, mask, filters = values["input"], values["mask"], values["filters"]
        origin = Origin(
            path=_text_or_none(image["path"]),
            key=_text_or_none(image["key"]),
            folder=_text(image["folder"]),
            digest=_text(image["digest"]),
            mask=None if mask is None else _text_or_none(mask["path"]),
            bank=None if filters is None else _text_or_none(filters["path"]),
            command=_text(values["command"]),
            script=_text(values["script"]),
        )
        given = None if filters is None else _given_from_json(filters)
        return cls(
            task=cast("Task", check_choice("task", values["task"], get_args(Task))),
            origin=origin,
            shape=tuple(check_int("shape", n, 1) for n in image["shape"]),
            dtype=_text(image["dtype"]),
            axes=_axes_from_json(values["axes"]),
            is_masked=mask is not None,
            options=_options_from_json(values["options"], given),
            given=given,
            noise=Noise.from_json(values["noise"]),
            bank=_text_or_none(values["bank"]),
            version=_text(values["version"]),
            packages={_text(name): _text(found) for name, found in values["packages"].items()},
        )

    def differences_here(self) -> tuple[Message, ...]:
        """What is another here than where the result was made, so that its bits may be."""
        here = {"napari-scsc": __version__, **installed_packages()}
        there = {"napari-scsc": self.version, **self.packages}
        words = [
            f"{name} {there.get(name, 'was not there')} (here {here.get(name, 'is none')})"
            for name in {**there, **here}
            if there.get(name) != here.get(name)
        ]
        if not words:
            return ()
        text = (
            f"the result was made with {', '.join(words)}: its bits may differ from those made here"
        )
        return (Message(text),)


@cache
def installed_packages() -> Mapping[str, str]:
    """Versions of the packages that compute, of those that are installed."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _small(bank: FilterBank) -> FilterBank | None:
    """The bank, if it is small enough to be kept in a recipe."""
    weights = 0 if bank.weights is None else bank.weights.nbytes
    return bank if bank.filters.nbytes + weights <= _MAX_BANK_BYTES else None


def _given_from_json(values: Mapping[str, Any]) -> GivenBank:
    name, data = _text(values["id"]), values["data"]
    bank = None if data is None else FilterBank.from_json(data)
    if bank is not None and bank.id != name:
        raise FileFormatError(f"has a recipe whose filters are {bank.id}, and should be {name}")
    return GivenBank(name, bank)


def _noise_to_json(noise: str | Noise | EmptyNoise) -> str | dict[str, Any]:
    if isinstance(noise, str):
        return noise
    return {"noise" if isinstance(noise, Noise) else "empty": noise.to_json()}


def _noise_from_json(values: Any) -> str | Noise | EmptyNoise:
    if isinstance(values, str):
        return values
    if "noise" in values:
        return Noise.from_json(values["noise"])
    return EmptyNoise.from_json(values["empty"])


def _options_from_json(values: Mapping[str, Any], given: GivenBank | None) -> dict[str, Any]:
    """The options, checked as those of a call are."""
    unknown = [name for name in values if name not in _OPTIONS]
    if unknown:
        raise FileFormatError(
            f"has a recipe with the option {unknown[0]!r:.40}, which this version does not know"
        )
    options = {**values, "noise": _noise_from_json(values["noise"])}
    numbers = tuple(options.get("noise_filters", ()))
    if numbers and given is None:
        raise FileFormatError("has a recipe that names filters of a bank, and no bank")
    checked = RestoreOptions(**{**options, "noise_filters": ()})
    found = {name: getattr(checked, name) for name in _OPTIONS}
    return {**found, "noise_filters": tuple(check_int("noise_filters", n, 0) for n in numbers)}


def _axes_from_json(values: Mapping[str, Any]) -> Axes:
    roles = tuple(check_choice("role", role, get_args(Role)) for role in values["roles"])
    labels = tuple(map(_text, values["labels"]))
    return Axes(_text(values["kind"]), labels, cast("tuple[Role, ...]", roles))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is where words should be")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _write_script(recipe: Recipe) -> str:
    """The lines for an image from a file, or for an array that whoever reads them has to give."""
    origin, usual = recipe.origin, RestoreOptions()
    lines = [f"image = {_open_line(origin.path, origin.key)}"]
    first, names = "image", {}
    if recipe.is_masked:
        lines.append(f"missing = {_open_line(origin.mask)}")
        first = "image, missing"
    if recipe.given is not None:
        load = "..." if origin.bank is None else f"FilterBank.load({origin.bank!r})"
        lines.append(f"bank = {load}  # {recipe.given.id}")
        names["bank"] = "bank"
    options = {n: v for n, v in recipe.options.items() if v != getattr(usual, n)}
    if isinstance(recipe.options["noise"], Noise):
        del options["noise"]
        names["noise"] = f"Noise.from_json({recipe.options['noise'].to_json()!r})"
    arguments = format_arguments(first, recipe.axes, names, options)
    result = "result, error" if recipe.options["error"] else "result"
    return make_script([*lines, f"{result} = {recipe.task}({arguments})"])


def _open_line(path: str | None, key: str | None = None) -> str:
    if path is None:
        return "..."
    return f"open_file({', '.join(repr(word) for word in (path, key) if word is not None)}).array"
