"""Doing again what a result says of itself: its recipe as a request, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_scsc.batch.inputs import open_array
from napari_scsc.batch.request import BatchRequest
from napari_scsc.errors import FileFormatError, Message, PathNotFoundError, Remedy, UserError
from napari_scsc.io.filenames import format_shape, stem_of

if TYPE_CHECKING:
    from napari_scsc.io.formats.opened_file import OpenedFile
    from napari_scsc.restore.recipe import Recipe
    from napari_scsc.run.updates import Finished


def read_recipe(path: str) -> Recipe:
    """The recipe that a file of a result holds; FileFormatError if it is damaged."""
    opened = open_array(path)
    recipe = recipe_in(opened, path)
    if recipe is None:
        raise UserError(_why_there_is_none(opened.recipe), path=path)
    return recipe


def _why_there_is_none(found: Mapping[str, Any]) -> str:
    if "layers" in found:
        return "holds several layers, each made in its own way: save the one that you mean alone"
    if found:
        return "is a result that was stopped, and does not say how it could be made as it is"
    return (
        "does not say how it was made: it is no result, or of a kind that has no place for it, or "
        "was written by another program since"
    )


def recipe_in(opened: OpenedFile, path: str) -> Recipe | None:
    """The recipe of one whole result that was found in a file, if it is there."""
    from napari_scsc.restore.recipe import Recipe

    if "format" not in opened.recipe:
        return None
    try:
        return Recipe.from_json(opened.recipe)
    except FileFormatError as error:
        raise error.about(path=path) from None
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        words = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FileFormatError(f"has a damaged recipe: {words}", path=path) from error


def repeat_request(
    recipe: Recipe,
    result: str,
    *,
    out: str | None = None,
    source: str | None = None,
    mask: str | None = None,
    bank: str | None = None,
    resume: bool = False,
) -> BatchRequest:
    """The request that does a recipe again; nothing of what there is gets overwritten.

    Parameters
    ----------
    recipe : Recipe
        What to do.
    result : str
        The file that it was found in; the names in it are looked for from there.
    out : str, optional
        A file or a folder for the new result. Unless given, it lies beside the old one, and is
        called like it with ``-again``.
    source, mask, bank : str, optional
        The files of the image, its mask and the filters, instead of those that were read then. An
        image or a mask that is named here may have other values than then.
    resume : bool
        Go on with a run that broke off.
    """
    origin, place = recipe.origin, Path(result)
    if source is None and origin.path is None:
        raise UserError(
            "was made from an array or a layer that is in no file",
            path=result,
            remedy=Remedy.NAME_INPUT,
        )
    if recipe.is_masked and mask is None and origin.mask is None:
        raise UserError(
            "is needed: it was an array or a layer that is in no file",
            argument="missing",
            remedy="name a file of it",
        )
    is_named = source is not None or mask is not None
    if source is None:
        assert origin.path is not None
        source = _find(recipe, origin.path, place)
        _check_shape(recipe, source)
    if recipe.is_masked and mask is None:
        assert origin.mask is not None
        mask = _find(recipe, origin.mask, place)
    return BatchRequest(
        inputs=(source,),
        out=out or _name_again(place),
        task=recipe.task,
        axes=recipe.axes,
        key=origin.key,
        mask=mask if recipe.is_masked else None,
        bank=_find_bank(recipe, bank, place),
        options=recipe.options,
        resume=resume,
        zarr_format=open_array(result).zarr_format if out is None else None,
        digest="" if is_named else origin.digest,
    )


def _name_again(result: Path) -> str:
    """What the new result is called, beside the old one."""
    if not result.suffix:  # a field of a plate, which nothing is put into
        raise UserError(
            "a new result cannot be called like it", path=str(result), remedy=Remedy.NAME_OUTPUT
        )
    stem = stem_of(result)
    return str(result.with_name(f"{stem}-again{result.name.removeprefix(stem)}"))


def _find(recipe: Recipe, path: str, result: Path) -> str:
    """Where a file of the recipe is; the words of the error are those of the recipe."""
    found = recipe.origin.locate(path, result)
    if not found.exists():
        raise PathNotFoundError(
            f"is what {result.name} was made from, and is not there any more",
            path=str(found),
            remedy=Remedy.NAME_INPUT,
        )
    return str(found)


def _check_shape(recipe: Recipe, source: str) -> None:
    """Refuse an image of another shape or type: its axes would be told to be wrong, and are not."""
    array = open_array(source, recipe.origin.key).array
    found = tuple(array.shape), str(array.dtype)
    if found != (recipe.shape, recipe.dtype):
        then = f"{format_shape(recipe.shape)} {recipe.dtype}"
        raise UserError(
            f"is {format_shape(found[0])} {found[1]}, and the result was made from {then}",
            path=source,
            remedy=Remedy.NAME_INPUT,
        )


def _find_bank(recipe: Recipe, bank: str | None, result: Path) -> Any:
    """The filters that were given then: those in the recipe, else those in their file."""
    given = recipe.given
    if given is None:
        if bank is not None:
            raise UserError(
                "is not needed: the filters were learned from the image", argument="bank"
            )
        return None
    if bank is None and given.bank is not None:
        return given.bank
    if bank is None and recipe.origin.bank is None:
        raise UserError(
            f"is needed: the filters {given.id} are too large for a recipe, and were in no file",
            argument="bank",
            remedy="name a file of them",
        )
    from napari_scsc.batch.inputs import load_bank

    path = bank or _find(recipe, recipe.origin.bank or "", result)
    found = load_bank(path)
    if found is None or found.id != given.id:
        raise UserError(
            f"holds other filters than {given.id}, with which the result was made", path=path
        )
    return found


def compare_again(recipe: Recipe, finished: Finished, result: str) -> tuple[Message, ...]:
    """What is not as it was then: the image, its noise, its filters, and the values."""
    made = finished.recipe
    if made.origin.digest != recipe.origin.digest:
        text = "the image or its mask is another one: this is the same recipe, not the same result"
        return (Message(text),)
    words = []
    if made.noise != recipe.noise:
        words.append("the noise that was found")
    if made.bank != recipe.bank:
        words.append("the filters that were learned")
    count = count_differences(finished.result, open_array(result).array)
    if count:
        words.append(f"{count} of {finished.result.size} values")
    if not words:
        return ()
    return (Message(f"not as in {result}: {', '.join(words)}"),)


def count_differences(values: Any, others: Any) -> int:
    """How many values of two images are not the same, read block by block; NaN is itself."""
    import numpy as np

    from napari_scsc.data.image import wrap_image

    one, other = wrap_image(values), wrap_image(others)
    if one.shape != other.shape:
        return int(np.prod(one.shape))
    count = 0
    for region in one.blocks():
        a, b = one.read(region), other.read(region)
        count += int(np.count_nonzero((a != b) & ((a == a) | (b == b))))
    return count
