"""The command line: the same jobs without a window.

Nothing heavy is imported before a command runs: help and completion are to be quick.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.__about__ import __version__
from napari_scsc.cli.about import about_bank, about_codes, about_image, about_noise, plain
from napari_scsc.cli.files import (
    checkpoint_of,
    expanded,
    is_done,
    load_bank,
    load_mask,
    open_input,
    targets_of,
)
from napari_scsc.cli.words import (
    complain,
    failing_in_one_line,
    is_terminal,
    keeping,
    naming,
    naming_numbered,
    say,
    stopping_at_once_when_asked_twice,
    translated,
)
from napari_scsc.cli.work import computing_on, each, follow, make_each

if TYPE_CHECKING:
    from napari_scsc.run.updates import RestoreUpdate, Updates


_LOST = 1.0  # seconds of learning, at most, when it is stopped

# Said again here, since the modules that know them take long to import.
KINDS = ("image", "rgb", "video", "stack", "multispectral", "light-field", "time-lapse")
QUALITIES = ("draft", "fast", "balanced", "best")
METHODS = ("scsc", "scsc-paper", "ocsc-paper")
FORMATS = (".tif", ".ome.tif", ".zarr", ".ome.zarr", ".npy")

Command = Callable[..., Any]


class _Program(click.Group):
    """Commands whose failures are one line and an exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            return super().parse_args(ctx, args)  # says what there is
        with failing_in_one_line(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        for name in ("asyncio", "distributed", "tifffile"):  # what matters is raised as well
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with failing_in_one_line(ctx), stopping_at_once_when_asked_twice():
            return super().invoke(ctx)


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="napari-scsc")
def main() -> None:
    """Denoise and inpaint images of any kind and size with filters learned from them.

    INPUTS are files, patterns of file names, zarrs, or folders that hold the bands, the views or
    the numbered planes of one image; '-' reads an array in numpy's format.
    """


# --- options ------------------------------------------------------------------------------------


def _options(*options: Command) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _option(name: str, kind: Any, text: str, default: Any = None) -> Command:
    shown = default is not None
    return click.option(name, type=kind, help=text, default=default, show_default=shown)


def _number(name: str, text: str, default: int | None = None, least: int = 1) -> Command:
    return _option(name, click.IntRange(min=least), text, default)


def _word(name: str, words: tuple[str, ...], text: str, default: str | None = None) -> Command:
    return _option(name, click.Choice(words), text, default)


_reading = _options(
    click.argument("inputs", nargs=-1, required=True, type=click.Path()),
    _word("--kind", KINDS, "What the axes mean; guessed where the file tells."),
    _option("--axes", str, 'Letters in their order, such as "yxc"; n: each position by itself.'),
    _option("--key", str, "Which array of a file that holds several."),
)
_out = partial(click.option, "--out", "-o", type=click.Path())
_bank = _option("--bank", click.Path(exists=True), "Filters from an earlier run.")
_above_0 = click.FloatRange(min=0, min_open=True)
_jobs = _number("--jobs", "Threads; all cores unless given.")
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per result.")
_sigma = _option("--sigma", _above_0, "Noise level in the units of the image, if it is known.")
_memory = _option("--memory", str, 'How much to take at most, such as "2GB".')
_mask = _option("--mask", click.Path(), "Image that is not 0 where something is missing.")
_running = _options(
    _option(
        "--scheduler",
        str,
        "Where to compute: 'threads' (of this process), 'cluster:N' (N processes of this "
        "machine), or the address of a dask scheduler, as tcp://host:8786.",
    ),
    _jobs,
    click.option("--resume", is_flag=True, help="Go on with a run that broke off."),
    _json,
)
_computing = _options(
    _sigma,
    _number("--seed", "The same seed gives the same result.", 0, 0),
    _running,
)
_restoring = _options(
    _reading,
    _out(required=True, help=f"File for the result ({', '.join(FORMATS)}), a folder, or '-'."),
    _word("--format", FORMATS, "Of results in a folder; that of the input unless given."),
    _bank,
    _option("--strength", _above_0, "Less is gentler, more is smoother.", 1.0),
    _word("--quality", QUALITIES, "What to spend.", "balanced"),
    _word("--method", METHODS, "The paper's are there to compare.", "scsc"),
    _memory,
    _computing,
)


# --- commands -----------------------------------------------------------------------------------


@main.command()
@_options(
    _reading,
    _out(required=True, help="File for the filters (.scsc)."),
    _bank,
    _number("--tiles", "How many of an image, at most; 0: all.", 64, 0),
    _number("--passes", "How often to go through them.", 1),
    _number("--batch", "Tiles that are coded at the same time.", 1),
    _number("--n-base", "R, how many base filters."),
    _number("--size", "Pixels along a side of a filter."),
    _word("--model", ("lattice", "paper"), "lattice restores best.", "lattice"),
    _number("--n-filters", "K, filters of a tile (the paper's model)."),
    _option("--beta", _above_0, "Price of the code (the paper's model)."),
    _computing,
)
def learn(inputs: tuple[str, ...], out: str, **asked: Any) -> None:
    """Learn base filters from one or more INPUTS, and write them to a file."""
    from napari_scsc import iter_learn

    target = Path(out)
    if target.suffix.lower() != ".scsc":
        raise click.BadParameter(f"the file for filters must end in .scsc, not {out}")
    if is_done(target, asked["resume"]):
        say({"filters": out, "was_there": True}, f"{out} is there already", **asked)
        return
    images, axes, paths = [], [], expanded(inputs)
    for path in paths:
        with naming(path):
            image, meaning = open_input(path, **asked)
            for remark in image.remarks:
                complain(f"{path}: {translated(str(remark))}")
            images.append(image.array)
            axes.append(meaning)
            if meaning != axes[0]:
                raise ValueError(
                    f"the axes are {', '.join(meaning.labels)} ({meaning.kind}), but of the first "
                    f"input {', '.join(axes[0].labels)} ({axes[0].kind}): name them with --axes"
                )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=target.parent):
        pass  # a folder that cannot be written to says so now, and not when all is learned
    same = ("n_base", "sigma", "passes", "model", "n_filters", "beta", "batch", "seed", "resume")
    with (
        computing_on(asked["scheduler"]),
        keeping(checkpoint_of(target)),
        naming_numbered(paths),
    ):
        updates = iter_learn(
            images,
            axes=axes[0],
            bank=load_bank(asked["bank"]),
            filter_shape=asked["size"] and (asked["size"],) * axes[0].count("shift"),
            tiles=asked["tiles"] or None,
            n_jobs=asked["jobs"],
            checkpoint=checkpoint_of(target),
            every=None,
            every_seconds=_LOST,
            **{name: asked[name] for name in same},
        )
        bank = follow(updates, "learning").bank
        assert bank is not None
        bank.save(target)
    checkpoint_of(target).unlink(missing_ok=True)
    facts = {"filters": out, "n_base": bank.n_base, "shape": bank.filters.shape[1:], "id": bank.id}
    say(facts, f"{bank.n_base} filters in {out}", **asked)


@main.command()
@_restoring
def denoise(inputs: tuple[str, ...], **asked: Any) -> None:
    """Take the noise out of each of the INPUTS."""
    from napari_scsc import iter_denoise

    _restore(iter_denoise, inputs, **asked)


@main.command()
@_mask
@_restoring
def inpaint(inputs: tuple[str, ...], mask: str | None, **asked: Any) -> None:
    """Fill what is missing in each of the INPUTS: NaN, and what a mask says."""
    from napari_scsc import iter_inpaint

    _restore(partial(iter_inpaint, missing=load_mask(mask)), inputs, **asked)


@main.command()
@_options(
    _reading,
    _out(required=True, help="Folder for the codes (.zarr), or a folder for several of these."),
    click.option("--bank", type=click.Path(exists=True), required=True, help="Filters to use."),
    _mask,
    _sigma,
    _option("--beta", _above_0, "Price of the code in noise levels; 4 unless given."),
    _memory,
    _running,
)
def encode(inputs: tuple[str, ...], mask: str | None, **asked: Any) -> None:
    """Code each of the INPUTS with the paper's model: weights and sparse codes of its blocks."""
    from napari_scsc import iter_encode
    from napari_scsc.restore.codes import SUFFIX

    if asked["out"] == "-":
        raise click.UsageError("--out must be a folder for codes, and is '-'")
    options = {"missing": load_mask(mask), "bank": load_bank(asked["bank"]), "beta": asked["beta"]}
    targets = targets_of(expanded(inputs), format=None, default=".codes" + SUFFIX, **asked)

    def found(last: RestoreUpdate) -> dict[str, Any]:
        codes = last.result
        return {"blocks": codes.n_blocks, "density": codes.density, **about_noise(last)}

    make_each(partial(iter_encode, **options), targets, found, **asked)


@main.command()
@_options(_reading, _json)
@click.option("--noise/--no-noise", default=True, help="Whether to estimate the noise.")
def info(inputs: tuple[str, ...], **asked: Any) -> None:
    """Say what files are: images, their axes and noise, banks of filters, or codes.

    Of a large image, only a few parts are looked at.
    """

    def about(path: str) -> None:
        found = about_bank(path) or about_codes(path) or about_image(path, **asked)
        facts = {"input": path, **{k: v for k, v in found.items() if v is not None}}
        say(facts, *(f"{name}: {plain(value)}" for name, value in facts.items()), **asked)

    each(expanded(inputs), about)


@main.command()
@_out(default="out", show_default=True, help="Folder for pictures.")
@click.option("--headless", is_flag=True, help="No window, though there is a screen.")
def demo(out: str, headless: bool) -> None:
    """Open napari with a noisy sample; without a screen, restore it into a folder."""
    from napari_scsc.plugin import demo as demonstration

    demonstration.run(Path(out), headless=headless, overwrite=False)


@main.command()
@_options(_jobs, _json)
def bench(jobs: int | None, as_json: bool) -> None:
    """Time every quality on a made-up image of 512 x 512 pixels, and say what it gains."""
    import numpy as np

    from napari_scsc import denoise, samples
    from napari_scsc.data import measures
    from napari_scsc.restore.groups import group_kernels

    group_kernels.warm_up()
    clean = samples.tissue((512, 512))
    noisy = clean + np.random.default_rng(0).normal(0, 0.1, clean.shape).astype(np.float32)
    restored, qualities = noisy, ("noisy", *QUALITIES)
    for quality in qualities:
        start = time.perf_counter()
        if quality in QUALITIES:
            options: dict[str, Any] = {"quality": quality, "n_jobs": jobs}
            restored = denoise(noisy, kind="image", sigma=0.1, **options)
        seconds, psnr = time.perf_counter() - start, measures.psnr(restored, clean)
        facts = {"quality": quality, "psnr": psnr, "seconds": seconds}
        say(facts, f"{quality:9} {psnr:6.2f} dB {seconds:7.2f} s", as_json=as_json)


# --- restoring ----------------------------------------------------------------------------------


def _restore(start: Callable[..., Updates], inputs: tuple[str, ...], **asked: Any) -> None:
    """Denoise or inpaint each of the inputs."""
    if asked["out"] == "-" and (asked["resume"] or asked["as_json"]):
        raise click.UsageError("--resume and --json need a file, and --out is '-'")
    if asked["out"] == "-" and is_terminal(sys.stdout):
        raise click.UsageError("--out '-' is for a pipe or a file, and this is a terminal")
    targets = targets_of(expanded(inputs), **asked)
    options = {name: asked[name] for name in ("strength", "quality", "method", "seed")}
    make_each(
        partial(start, bank=load_bank(asked["bank"]), **options), targets, about_noise, **asked
    )
