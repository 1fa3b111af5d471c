"""Results that are there before a batch begins: whether they are what it would make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from napari_scsc.batch.again import recipe_in
from napari_scsc.batch.inputs import find_axes, open_array
from napari_scsc.batch.request import BatchRequest
from napari_scsc.batch.updates import FileReport, FileState
from napari_scsc.errors import Message

if TYPE_CHECKING:
    from napari_scsc.io.formats.opened_file import OpenedFile
    from napari_scsc.restore.recipe import Recipe

OTHER_SETTINGS = "with other settings"
OTHER_SOURCE = "from a source that has changed since"

_BY_THEMSELVES = ("saturation",)  # options that a recipe has in other words than a request


def report_earlier(
    request: BatchRequest,
    report: FileReport,
    options: Mapping[str, Any],
    open_source: Callable[[], OpenedFile],
) -> FileReport:
    """What is to be said of a result that was there: how it is not what the request would make.

    Of one that does not say how it was made, nothing is known, and nothing is said.

    Parameters
    ----------
    request : BatchRequest
        What is asked for.
    report : FileReport
        The file and its result.
    options : mapping
        The arguments that all files share, as they are called with.
    open_source : function
        Opens the file.
    """
    found = replace(report, state=FileState.WAS_THERE)
    try:
        recipe = recipe_in(open_array(str(report.result)), str(report.result))
    except Exception:  # it may be anything, and stays
        return found
    if recipe is None:
        return found
    differences = _other_settings(recipe, request, options)
    has_other_source = False
    try:
        image = open_source()
        axes = find_axes(image, request.kind, request.axes)
        if (axes.labels, axes.roles) != (recipe.axes.labels, recipe.axes.roles):
            differences.append("axes")
        else:
            has_other_source = not _is_source(image.array, recipe, options.get("missing"))
    except Exception:  # it has gone, or cannot be read any more: its result is the better for it
        pass
    outdated, warnings = [], []
    if differences:
        outdated.append(OTHER_SETTINGS)
        words = f"its result was there, made {OTHER_SETTINGS} ({', '.join(differences)})"
        warnings.append(Message(words, remedy="remove it, or name another folder"))
    if has_other_source:
        outdated.append(OTHER_SOURCE)
        words = f"its result was there, made {OTHER_SOURCE}"
        warnings.append(Message(words, remedy="remove it, or name another folder"))
    return replace(found, outdated=tuple(outdated), warnings=tuple(warnings))


def _other_settings(recipe: Recipe, request: BatchRequest, options: Mapping[str, Any]) -> list[str]:
    """The arguments that are not those of the recipe, apart from what needs the image."""
    from napari_scsc.restore.options import RestoreOptions

    if recipe.task != request.task:
        return ["task"]
    asked = RestoreOptions(
        **{name: value for name, value in options.items() if name not in ("missing", "resume")}
    )
    names = [
        name
        for name, value in recipe.options.items()
        if name not in _BY_THEMSELVES and getattr(asked, name) != value
    ]
    then = recipe.options["saturation"]
    # True stands for the largest value of the image, whatever that is.
    if (then is False) if asked.saturation is True else (then != asked.saturation):
        names.append("saturation")
    given = None if recipe.given is None else recipe.given.id
    if given != (None if asked.bank is None else asked.bank.id):
        names.append("filters")
    if recipe.is_masked != (options.get("missing") is not None):
        names.append("mask")
    return names


def _is_source(array: Any, recipe: Recipe, missing: Any) -> bool:
    """Whether an image, with its mask, is the one that the recipe is about."""
    from napari_scsc.data.fingerprint import has_digest
    from napari_scsc.data.samples import open_samples

    if (tuple(array.shape), str(array.dtype)) != (recipe.shape, recipe.dtype):
        return False
    if recipe.is_masked != (missing is not None):  # told already
        return True
    samples = open_samples(array, missing, None, recipe.axes)
    level = recipe.options["saturation"]
    if level is not False:
        samples = samples.without_saturated(float(level))
    return has_digest(samples, recipe.origin.digest)
