"""The options of the commands, each called like the argument of Python that it sets."""

from __future__ import annotations

from typing import Any

import click

from napari_scsc.choices import (
    FAILURE_WISHES,
    KINDS,
    MODELS,
    NOISE_WISHES,
    OUTLIER_WISHES,
    RESULT_FORMATS,
    ZARR_FORMATS,
)
from napari_scsc.restore.methods import METHODS
from napari_scsc.restore.quality import QUALITIES


def _tile_count(value: str) -> int | str | None:
    """The argument ``tiles`` of ``learn``: "auto", a number, or 0 for all, which is None there."""
    if value == "auto":
        return value
    if not value.isdecimal():
        raise click.BadParameter(f"{value!r} is neither 'auto' nor a whole number from 0 on.")
    return int(value) or None


def _numbers(value: str) -> tuple[int, ...]:
    """Whole numbers with commas between them."""
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise click.BadParameter(f"{value!r} is not like 4,5: whole numbers with commas between.")
    return tuple(map(int, parts))


def _option(*names: str, text: str, default: Any = None, **facts: Any) -> click.Option:
    """An option ``--name``; a second name is that of its argument, if it differs."""
    if default is not None:  # a default of None would be one for an option that is required
        facts |= {"default": default, "show_default": True}
    return click.Option(names, help=text, **facts)


def _flag(*names: str, text: str) -> click.Option:
    return click.Option(names, help=text, is_flag=True)


def _count(*names: str, text: str, default: int | None = None, least: int = 1) -> click.Option:
    return _option(*names, type=click.IntRange(min=least), text=text, default=default)


def _word(name: str, words: tuple[str, ...], text: str, default: str | None = None) -> click.Option:
    return _option(name, type=click.Choice(words), text=text, default=default)


def _out(text: str, default: str | None = None) -> click.Option:
    needed = default is None
    return _option("--out", "-o", type=click.Path(), text=text, default=default, required=needed)


def _bank(text: str = "Filters from an earlier run.", required: bool = False) -> click.Option:
    return _option("--bank", type=click.Path(exists=True), text=text, required=required)


_ABOVE_0 = click.FloatRange(min=0, min_open=True)

_READING: list[click.Parameter] = [
    click.Argument(["inputs"], nargs=-1, required=True, type=click.Path()),
    _word("--kind", KINDS, "What the axes mean; guessed where the file tells."),
    _option(
        "--axes",
        text='Letters in their order, such as "tczyx"; n: each position by itself. With roles '
        '(slide, joint, separate): "t, c:joint, z, y, x".',
    ),
    _option(
        "--key", text="Which array of a file that holds several; 'all': every field of a plate."
    ),
]
_MASK_TEXT = "Image that is not 0 where something is missing."
_MASK = _option("--mask", "missing", type=click.Path(), text=_MASK_TEXT)
_SIGMA_TEXT = "Noise level in the units of the image, if it is known."
_SIGMA = _option("--sigma", type=_ABOVE_0, text=_SIGMA_TEXT)
_NOISE: list[click.Parameter] = [
    _SIGMA,
    _word("--noise", NOISE_WISHES, "What neighbouring pixels share of it.", "auto"),
    _option("--dark", type=click.Path(), text="Dark frames, from which the noise is read."),
    _option(
        "--noise-filters",
        type=_numbers,
        metavar="4,5,...",
        text="Filters of --bank, by their number, that show noise.",
    ),
    _word("--outliers", OUTLIER_WISHES, "Hot and dead pixels: fill or keep them.", "auto"),
]
_SEED = _count("--seed", text="The same seed gives the same result.", default=0, least=0)
_MEMORY = _option("--memory", text='How much to take at most, such as "2GB".')
_JOBS = _count("--jobs", "n_jobs", text="Threads; all cores unless given.")
_JSON = _flag("--json", "as_json", text="Print one JSON object per result.")
_RUNNING: list[click.Parameter] = [
    _option(
        "--scheduler",
        text="Where to compute: 'threads' (of this process), 'cluster:N' (N processes of this "
        "machine), or the address of a dask scheduler, as tcp://host:8786.",
    ),
    _JOBS,
    _flag("--resume", text="Go on with a run that broke off."),
    _JSON,
]

LEARN: list[click.Parameter] = [
    *_READING,
    _out("File for the filters (.scsc)."),
    _bank(),
    _option(
        "--tiles",
        type=_tile_count,
        metavar="auto|INTEGER",
        text="How many of an image, at most; auto: those that denoise learns from; 0: all.",
        default="auto",
    ),
    _count("--passes", text="How often to go through them.", default=1),
    _count("--batch", text="Tiles that are coded at the same time.", default=1),
    _count("--n-base", text="R, how many base filters."),
    _count("--size", "filter_shape", text="Pixels along a side of a filter."),
    _word("--model", MODELS, "patches is quick; scsc is convolutional.", "patches"),
    _count("--n-filters", text="K, filters of a tile (scsc)."),
    _option("--beta", type=_ABOVE_0, text="Price of the code (scsc, ocsc)."),
    _SIGMA,
    _SEED,
    *_RUNNING,
]
_MANY_FILES: list[click.Parameter] = [
    _option("--pattern", text="Files in a folder that are images of their own, such as '*.tif'."),
    _word("--on-failure", FAILURE_WISHES, "After a file that cannot be restored.", "go-on"),
    _option("--summary", type=click.Path(), text="Write a table with one row a file (CSV)."),
]
_RESTORING: list[click.Parameter] = [
    *_READING,
    *_MANY_FILES,
    _out(f"File for the result ({', '.join(RESULT_FORMATS)}), a folder, or '-'."),
    _word("--format", RESULT_FORMATS, "Of results in a folder; that of the input unless given."),
    _word("--zarr-format", ZARR_FORMATS, "Of zarr results; that of the input, else 0.5."),
    _bank(),
    _option("--strength", type=_ABOVE_0, text="Less is gentler, more is smoother.", default=1.0),
    _word("--quality", QUALITIES, "What to spend.", "balanced"),
    _word("--method", tuple(METHODS), "The paper's are there to compare.", "scsc"),
    _MEMORY,
    *_NOISE,
    _SEED,
    *_RUNNING,
]
_ERROR_TEXT = "Also write the standard error of each value, to NAME.error beside the result NAME."
DENOISE: list[click.Parameter] = [*_RESTORING, _flag("--error", text=_ERROR_TEXT)]
_SATURATION_TEXT = "Values of at least that are missing, and filled with no less."
_SATURATION = _option("--saturation", type=float, text=_SATURATION_TEXT)
INPAINT: list[click.Parameter] = [_MASK, _SATURATION, *_RESTORING]
ENCODE: list[click.Parameter] = [
    *_READING,
    _out("Folder for the codes (.zarr), or a folder for several of these."),
    _bank("Filters to use.", required=True),
    _MASK,
    _SIGMA,
    _option(
        "--beta",
        type=_ABOVE_0,
        text="Price of the code in noise levels; 2.75 unless given, 4 for filters in balls.",
    ),
    _MEMORY,
    *_RUNNING,
]
INFO: list[click.Parameter] = [
    *_READING,
    _bank("Filters of which to say whether they fit the images."),
    _JSON,
    click.Option(["--noise/--no-noise"], default=True, help="Whether to estimate the noise."),
]
AGAIN: list[click.Parameter] = [
    click.Argument(["result"], type=click.Path()),
    _option(
        "--out",
        "-o",
        type=click.Path(),
        text="File or folder for the new result; unless given, NAME-again beside the result NAME.",
    ),
    _option(
        "--input",
        "source",
        type=click.Path(),
        text="The image, if it is not where it was; it may be another one.",
    ),
    _option("--mask", "missing", type=click.Path(), text="The mask, if it is not where it was."),
    _bank("The filters, if they are not where they were."),
    *_RUNNING,
]
DEMO: list[click.Parameter] = [
    _out("Folder for pictures.", default="out"),
    _flag("--headless", text="No window, though there is a screen."),
]
BENCH: list[click.Parameter] = [_JOBS, _JSON]

ARGUMENT_NAMES: dict[str, str] = {
    **{str(option.name): option.opts[0] for option in (*LEARN, *DENOISE, *INPAINT)},
    "images": "the inputs",
}
"""How messages call the arguments of the functions of Python."""
