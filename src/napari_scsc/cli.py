"""The command line: the same jobs without a window.

Nothing heavy is imported before a command runs: help and completion are to be quick.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.__about__ import __version__

if TYPE_CHECKING:
    from napari_scsc.axes import Axes
    from napari_scsc.io.sources import Opened
    from napari_scsc.restore.job import RestoreUpdate, Updates
    from napari_scsc.restore.noise import Noise

FAILED = 1
BROKEN_OFF = 3
INTERRUPTED = 130  # as a shell has it for Ctrl-C

_SECONDS = 3.0  # of learning that are lost at most when it is stopped

Command = Callable[..., Any]


class _Program(click.Group):
    """Commands whose failures are one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else ctx.command_path
            words = error.format_message().rstrip(".")
            _complain(f"{words}. See {command} --help")
            sys.exit(error.exit_code)
        except KeyboardInterrupt as error:
            _complain(". ".join(["stopped", *getattr(error, "__notes__", ())]))
            sys.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise  # click knows what to do
        except Exception as error:
            from napari_scsc.restore.blocks import RunInterrupted

            _complain(_words(error))
            sys.exit(BROKEN_OFF if isinstance(error, RunInterrupted) else FAILED)


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


def _checked_memory(_ctx: click.Context, _option: click.Parameter, size: str | None) -> Any:
    if size is None:
        return None
    from napari_scsc.restore.job import _bytes

    try:
        return _bytes(size)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _checked_scheduler(_ctx: click.Context, _option: click.Parameter, name: str | None) -> Any:
    if name is None or re.fullmatch(r"threads|cluster:[1-9][0-9]*|\w+://.+", name):
        return name
    raise click.BadParameter(
        f"it is threads, cluster:N or an address such as tcp://host:8786, not {name}"
    )


_inputs = click.argument("inputs", nargs=-1, required=True, type=click.Path())
_kind = click.option(
    "--kind",
    type=click.Choice(
        ["image", "rgb", "video", "stack", "multispectral", "light-field", "time-lapse"]
    ),
    help="What the axes mean; guessed where the file tells.",
)
_axes = click.option(
    "--axes",
    help='Letters of the axes in the order of the file, such as "yxc"; n: each position by itself.',
)
_key = click.option("--key", help="Which array of a zarr, HDF5, .npz or .mat file.")
_sigma = click.option(
    "--sigma",
    type=click.FloatRange(min=0, min_open=True),
    help="Noise level in the units of the image; estimated unless given.",
)
_seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
_jobs = click.option("--jobs", type=click.IntRange(min=1), help="Threads; all cores unless given.")
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per result.")
_resume = click.option("--resume", is_flag=True, help="Go on with a run that broke off.")
_scheduler = click.option(
    "--scheduler",
    callback=_checked_scheduler,
    help="Where to compute: 'threads' (of this process), 'cluster:N' (N processes of this "
    "machine), or the address of a dask scheduler, as tcp://host:8786.",
)
_restoring = _options(
    _inputs,
    click.option(
        "--out",
        "-o",
        required=True,
        type=click.Path(),
        help="File for the result (.zarr, .ome.zarr, .tif, .ome.tif, .npy), a folder, or '-'.",
    ),
    click.option(
        "--format",
        "suffix",
        type=click.Choice([".tif", ".ome.tif", ".zarr", ".ome.zarr", ".npy"]),
        help="Of files in a folder; that of the input unless given.",
    ),
    _kind,
    _axes,
    _key,
    click.option("--bank", type=click.Path(exists=True), help="Filters that were learned before."),
    _sigma,
    click.option(
        "--strength",
        type=click.FloatRange(min=0, min_open=True),
        default=1.0,
        show_default=True,
        help="Less is gentler, more is smoother.",
    ),
    click.option(
        "--quality",
        type=click.Choice(["draft", "fast", "balanced", "best"]),
        default="balanced",
        show_default=True,
    ),
    click.option(
        "--method",
        type=click.Choice(["scsc", "scsc-paper", "ocsc-paper"]),
        default="scsc",
        show_default=True,
    ),
    click.option(
        "--memory", callback=_checked_memory, help='How much to take at most, such as "2GB".'
    ),
    _scheduler,
    _jobs,
    _resume,
    _seed,
    _json,
)


# --- commands -----------------------------------------------------------------------------------


@main.command()
@_options(
    _inputs,
    click.option(
        "--out", "-o", required=True, type=click.Path(), help="File for the filters (.scsc)."
    ),
    _kind,
    _axes,
    _key,
    click.option("--bank", type=click.Path(exists=True), help="Filters to go on from."),
    click.option("--n-base", type=click.IntRange(min=1), help="R, how many base filters."),
    click.option("--size", type=click.IntRange(min=1), help="Pixels along a side of a filter."),
    click.option(
        "--model", type=click.Choice(["lattice", "paper"]), default="lattice", show_default=True
    ),
    click.option(
        "--n-filters", type=click.IntRange(min=1), help="K, filters of a tile (the paper's model)."
    ),
    click.option("--beta", type=float, help="Price of the code (the paper's model)."),
    click.option(
        "--tiles",
        type=click.IntRange(min=0),
        default=64,
        show_default=True,
        help="Of an image, at most; 0: all of it.",
    ),
    click.option("--passes", type=click.IntRange(min=1), default=1, show_default=True),
    click.option(
        "--batch",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Tiles that are coded at the same time.",
    ),
    _sigma,
    _scheduler,
    _jobs,
    _resume,
    _seed,
    _json,
)
def learn(inputs: tuple[str, ...], out: str, as_json: bool, **asked: Any) -> None:
    """Learn base filters from one or more INPUTS, and write them to a file."""
    target = Path(out)
    if target.suffix.lower() != ".scsc":
        raise click.BadParameter(f"the file for filters must end in .scsc, not {out}")
    checkpoint = _checkpoint(target)
    if _is_done(target, asked["resume"]):
        _say(as_json, {"filters": out, "was_there": True}, f"{out} is there already")
        return
    paths = _expanded(inputs)

    from napari_scsc import iter_learn

    with _computing_on(asked["scheduler"]):
        images, axes = [], []
        for path in paths:
            with _naming(path):
                opened = _open(path, asked["key"])
                images.append(opened.array)
                axes.append(_meaning(opened, asked["kind"], asked["axes"]))
        for path, own in zip(paths, axes, strict=True):
            if own != axes[0]:
                raise ValueError(
                    f"{path} has the axes {', '.join(own.labels)} ({own.kind}), but {paths[0]} "
                    f"{', '.join(axes[0].labels)} ({axes[0].kind}): name them with --axes"
                )
        target.parent.mkdir(parents=True, exist_ok=True)
        size = asked["size"]
        updates = iter_learn(
            images,
            axes=axes[0],
            bank=_bank(asked),
            n_base=asked["n_base"],
            filter_shape=None if size is None else (size,) * axes[0].count("shift"),
            sigma=asked["sigma"],
            tiles=asked["tiles"] or None,
            passes=asked["passes"],
            model=asked["model"],
            n_filters=asked["n_filters"],
            beta=asked["beta"],
            batch=asked["batch"],
            n_jobs=asked["jobs"],
            seed=asked["seed"],
            checkpoint=checkpoint,
            every=None,
            every_seconds=_SECONDS,
            resume=asked["resume"],
        )
        with _keeping(checkpoint):
            bank = _follow(updates, "learning").bank
            assert bank is not None
            bank.save(target)
    checkpoint.unlink(missing_ok=True)
    facts = {"filters": out, "n_base": bank.n_base, "shape": bank.filters.shape[1:], "id": bank.id}
    _say(as_json, facts, f"{bank.n_base} filters in {out}")


@main.command()
@_restoring
def denoise(inputs: tuple[str, ...], **asked: Any) -> None:
    """Take the noise out of each of the INPUTS."""
    from napari_scsc import iter_denoise

    _restore(iter_denoise, inputs, asked)


@main.command()
@click.option(
    "--mask",
    type=click.Path(),
    help="Image that is not zero where something is missing; NaN always is.",
)
@_restoring
def inpaint(inputs: tuple[str, ...], mask: str | None, **asked: Any) -> None:
    """Fill what is missing in each of the INPUTS."""
    from napari_scsc import iter_inpaint

    missing = None
    if mask is not None:
        with _naming(mask):
            missing = _open(mask, None).array
    _restore(partial(iter_inpaint, missing=missing), inputs, asked)


@main.command()
@_options(_inputs, _kind, _axes, _key, _json)
@click.option("--noise/--no-noise", default=True, help="Whether to estimate the noise.")
def info(
    inputs: tuple[str, ...],
    kind: str | None,
    axes: str | None,
    key: str | None,
    noise: bool,
    as_json: bool,
) -> None:
    """Say what files are: images, their axes and noise, or banks of filters.

    Of a large image, only a few parts are looked at.
    """

    def about(path: str) -> None:
        is_bank = path.lower().endswith(".scsc")
        found = _about_bank(path) if is_bank else _about_image(path, kind, axes, key, noise)
        facts = {"input": path, **found}
        _say(as_json, facts, *(f"{k}: {_plain(v)}" for k, v in facts.items() if v is not None))

    _each(_expanded(inputs), about)


@main.command()
@click.option(
    "--out", "-o", type=click.Path(), default="out", show_default=True, help="Folder for pictures."
)
@click.option("--headless", is_flag=True, help="No window, though there is a screen.")
def demo(out: str, headless: bool) -> None:
    """Open napari with a noisy sample; without a screen, restore it into a folder."""
    from napari_scsc import demo as demonstration

    demonstration.run(Path(out), headless=headless)


@main.command()
@_options(_jobs, _json)
def bench(jobs: int | None, as_json: bool) -> None:
    """Time every quality on a made-up image of 512 x 512 pixels, and say what it gains."""
    import numpy as np

    from napari_scsc import denoise as restore
    from napari_scsc import measures, samples
    from napari_scsc.restore import groups, plan

    groups.warm_up()
    clean = samples.tissue((512, 512))
    noisy = clean + np.random.default_rng(0).normal(0, 0.1, clean.shape).astype(np.float32)
    before = measures.psnr(noisy, clean)
    qualities: tuple[Any, ...] = plan.QUALITIES
    rows: list[dict[str, Any]] = []
    if not as_json:
        click.echo(f"noisy     {before:6.2f} dB")
    for quality in qualities:
        start = time.perf_counter()
        result = restore(noisy, kind="image", sigma=0.1, quality=quality, n_jobs=jobs)
        seconds, psnr = time.perf_counter() - start, measures.psnr(result, clean)
        rows.append({"quality": quality, "seconds": seconds, "psnr": psnr})
        if not as_json:
            click.echo(f"{quality:9} {psnr:6.2f} dB {seconds:7.2f} s")
    if as_json:
        _say(True, {"noisy": before, "qualities": rows})


# --- restoring ----------------------------------------------------------------------------------


def _restore(start: Callable[..., Updates], inputs: tuple[str, ...], asked: dict[str, Any]) -> None:
    """Denoise or inpaint each of the inputs."""
    from napari_scsc.restore.output import Output

    is_piped = asked["out"] == "-"
    if is_piped and (asked["resume"] or asked["as_json"]):
        raise click.UsageError("--resume and --json need a file, and --out is '-'")
    if is_piped and sys.stdout.isatty():
        raise click.UsageError("--out '-' is for a pipe or a file, and this is a terminal")
    targets = _targets(_expanded(inputs), asked["out"], asked["suffix"], asked["resume"])
    bank = _bank(asked)
    same = ("sigma", "strength", "quality", "method", "seed", "memory", "resume")

    def restore(path: str) -> None:
        target = targets[path]
        if _is_done(target, asked["resume"]):
            known = {"input": path, "output": str(target), "was_there": True}
            _say(asked["as_json"], known, f"{target} is there already")
            return
        opened = _open(path, asked["key"])
        updates = start(
            opened.array,
            axes=_meaning(opened, asked["kind"], asked["axes"]),
            bank=bank,
            n_jobs=asked["jobs"],
            out=Output(target, opened.scale, opened.units),
            **{name: asked[name] for name in same},
        )
        with _keeping(None if is_piped else _checkpoint(target)):
            last = _follow(updates, "-" if path == "-" else Path(path).name)
        if is_piped:
            with open(target, "rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        sigma = last.noise.sigma if last.noise else None
        facts = {"input": path, "output": str(target), "sigma": sigma, "remarks": last.remarks}
        for remark in () if asked["as_json"] else last.remarks:
            _complain(f"{path}: {remark}")
        if not is_piped:
            _say(asked["as_json"], facts, f"{path} -> {target}")

    with _computing_on(asked["scheduler"]):
        _each(list(targets), restore)


def _targets(paths: list[str], out: str, suffix: str | None, is_resumed: bool) -> dict[str, Path]:
    """The file for the result of each input; in a folder, they are called like the inputs."""
    from napari_scsc.io import stores

    is_file = out == "-" or bool(_suffix(out))
    is_folder = out.endswith(("/", os.sep)) or (Path(out).is_dir() and not is_file)
    if len(paths) > 1 and is_file:
        raise click.UsageError(f"--out must be a folder for {len(paths)} inputs, not {out}")
    if suffix and is_file:
        raise click.UsageError(f"--format is for files in a folder, and --out is {out}")
    if out == "-":
        return {paths[0]: _temporary_folder() / "standard output.npy"}
    if len(paths) > 1 or is_folder:
        targets = {path: Path(out) / _name(path, suffix) for path in paths}
    else:
        stores.suffix_of(out)  # refuses what cannot be written
        targets = {paths[0]: Path(out)}
    by_target: dict[Path, str] = {}
    for path, target in targets.items():
        if target in by_target:
            raise ValueError(f"{by_target[target]} and {path} would both be written to {target}")
        by_target[target] = path
        _is_done(target, is_resumed)
    return targets


def _name(path: str, suffix: str | None) -> str:
    """What the result of an input is called in a folder: like it, if its format can be written."""
    from napari_scsc.io.stores import _stem

    name = "stdin.npy" if path == "-" else Path(path).resolve().name
    if _suffix(name) and suffix is None:
        return name
    return _stem(Path(name)) + (suffix or ".tif")


def _suffix(path: str) -> str | None:
    """The end of a name that says its format, if it can be written."""
    from napari_scsc.io import stores

    with suppress(ValueError):
        return stores.suffix_of(path)
    return None


def _checkpoint(target: Path) -> Path:
    return target.with_name(target.name + ".partial")


def _is_done(target: Path, is_resumed: bool) -> bool:
    """Whether a run that is resumed has made this file before; without resuming, refuse it."""
    checkpoint = _checkpoint(target)
    if target.exists():
        if not is_resumed:
            raise FileExistsError(f"{target} is there already: choose another name, or remove it")
        return True
    if checkpoint.exists() and not is_resumed:
        raise FileExistsError(
            f"{checkpoint} holds a run that broke off: go on with it (--resume), or remove it"
        )
    return False


def _bank(asked: dict[str, Any]) -> Any:
    from napari_scsc import FilterBank

    return None if asked["bank"] is None else FilterBank.load(asked["bank"])


# --- inputs -------------------------------------------------------------------------------------


def _expanded(inputs: tuple[str, ...]) -> list[str]:
    """The files that are meant, each once: patterns are for shells that do not know them."""
    found: list[str] = []
    for item in inputs:
        if item == "-" or os.path.exists(item):
            found.append(item)
        elif matches := sorted(glob.glob(item)):
            found += matches
        else:
            raise FileNotFoundError(f"{item}: there is no such file or folder")
    return list(dict.fromkeys(found))


def _temporary_folder() -> Path:
    """A folder that is there until the command ends."""
    return Path(click.get_current_context().with_resource(tempfile.TemporaryDirectory()))


def _open(path: str, key: str | None) -> Opened:
    from napari_scsc.io import sources

    if path != "-":
        return sources.open_source(path, key)
    if sys.stdin.isatty():
        raise ValueError("'-' reads an array from a pipe or a file, and this is a terminal")
    # In a file it may be larger than the memory, and other processes can read it.
    place = _temporary_folder() / "standard input.npy"
    with open(place, "wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    if place.stat().st_size == 0:
        raise ValueError("nothing came from standard input")
    return sources.open_source(place, key)


def _meaning(opened: Opened, kind: str | None, axes: str | None) -> Axes:
    """What the axes are: as the user says, else as the file does. Those of length 1 are put aside.

    Files of microscopes have all five axes, of which only some mean something.
    """
    from napari_scsc.axes import Axes, resolve

    shape = tuple(opened.array.shape)
    own = opened.labels
    kept = [i for i, n in enumerate(shape) if n > 1] or list(range(len(shape)))
    lengths = [shape[i] for i in kept]
    found = None
    if axes is not None:
        if len(axes) not in (len(shape), len(kept)):
            resolve(shape, kind, axes)  # refuses it
        letters = axes if len(axes) == len(kept) else "".join(axes[i] for i in kept)
        found = resolve(lengths, kind, letters)
    elif own is not None:
        with suppress(ValueError):  # names that say nothing, or not what the user says
            found = resolve(lengths, kind, [own[i] for i in kept])
    if found is None:
        found = resolve(lengths, kind, name=opened.name)
    labels = list(own or (f"axis-{i}" for i in range(len(shape))))
    roles: list[Any] = ["sample"] * len(shape)
    for i, label, role in zip(kept, found.labels, found.roles, strict=True):
        roles[i] = role
        # Each position by itself: that does not change what the axis is.
        if label != "n" or own is None or own[i] in found.labels:
            labels[i] = label
    return Axes(found.kind, tuple(labels), tuple(roles))


# --- what files are -----------------------------------------------------------------------------


def _about_bank(path: str) -> dict[str, Any]:
    from napari_scsc import FilterBank

    bank = FilterBank.load(path)
    known = {k: v for k, v in bank.info.items() if k in ("kind", "n_samples", "learner")}
    shape = bank.filters.shape[1:]
    return {"filters": bank.n_base, "shape": shape, "n_joint": bank.n_joint, "id": bank.id, **known}


def _about_image(
    path: str, kind: str | None, axes: str | None, key: str | None, noise: bool
) -> dict[str, Any]:
    opened = _open(path, key)
    facts: dict[str, Any] = {"shape": opened.array.shape, "dtype": str(opened.array.dtype)}
    try:
        meaning = _meaning(opened, kind, axes)
    except ValueError as error:
        if kind is not None or axes is not None:
            raise
        return {**facts, "kind": None, "remarks": [_words(error)]}
    facts |= {
        "kind": meaning.kind,
        "axes": dict(zip(meaning.labels, meaning.roles, strict=True)),
        "scale": opened.scale,
        "units": opened.units,
    }
    if noise:
        found = _noise_of_some_tiles(opened.array, meaning)
        facts["noise"] = {
            "sigma": found.sigma,
            "grows_with_brightness": found.depends_on_signal,
            "sure": found.sure,
        }
        facts["remarks"] = list(found.remarks) or None
    return facts


def _noise_of_some_tiles(array: Any, axes: Axes) -> Noise:
    """The noise; unlike for a restoration, the range of all values is not looked for."""
    from napari_scsc import arrays
    from napari_scsc.restore import job, source

    view = arrays.view(array)
    image = source.Source(view, axes, arrays.Range())
    places = source.draw_tiles(image, 1 << 18, job._NOISE_TILES, seed=0)
    seen = arrays.measure(view, [image.region(*place) for place in places])
    return job.find_noise(source.Source(view, axes, seen), None)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_plain(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# --- around -------------------------------------------------------------------------------------


def _say(as_json: bool, facts: dict[str, Any], *lines: str) -> None:
    """Give a result: to programs as JSON, to people as lines."""
    click.echo(json.dumps(facts) if as_json else "\n".join(lines))


def _complain(words: str) -> None:
    click.echo(f"napari-scsc: {' '.join(words.split())}", err=True)


# What the functions of Python say, in the words of the command line.
_TRANSLATED = (
    (r"inpaint\(image, None\)", "inpaint"),
    (r"as in inpaint\(image, ~np.isfinite\(image\)\)", "with a --mask for inpaint"),
    (r"\b(\w+)=(?:\.\.\.|True\b)", r"--\1"),
    (r"""\b(\w+)=["']([\w-]+)["']""", r"--\1 \2"),
    (r"again with resume\b", "again with --resume"),
    (r"the same arguments", "the same options"),
    (r"the same memory", "the same --memory"),
    (r"name one of them as a sample or joint axis", "call one of them n in --axes"),
    (r"drop the axis, or choose another kind", "choose another --kind or --axes"),
    (r"\bn_(base|filters|jobs)\b", r"--n-\1"),
    (r"--n-jobs", "--jobs"),
    (r"\bfilter_shape\b", "--size"),
    (r"^\d+ requested and \d+ written$", "not all could be written: is the disk full?"),
)


def _words(error: Exception) -> str:
    """What went wrong, for somebody who sees no code."""
    if isinstance(error, OSError) and error.strerror:
        words = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, ValueError | TypeError | OSError | ImportError | RuntimeError):
        words = str(error) or type(error).__name__
    else:
        words = f"{type(error).__name__}: {error}"
    for pattern, option in _TRANSLATED:
        words = re.sub(pattern, option, words)
    return ". ".join([words, *getattr(error, "__notes__", ())])


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Let an error say which input it is about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        words = _words(error)
        name = "standard input" if path == "-" else Path(path).name
        raise ValueError(words if name in words else f"{path}: {words}") from error


def _each(paths: list[str], do: Callable[[str], None]) -> None:
    """Do it for each input; one that cannot be read does not keep the others from it."""
    failed = False
    for path in paths:
        try:
            with _naming(path):
                do(path)
        except (ValueError, OSError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EPIPE):
                raise  # nor would the others be written
            _complain(_words(error))
            failed = True
    if failed:
        sys.exit(FAILED)


@contextmanager
def _keeping(checkpoint: Path | None) -> Iterator[None]:
    """Say where the finished part of a run is that breaks off."""
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:
        if checkpoint is not None and checkpoint.exists():
            error.add_note(f"--resume goes on with what is in {checkpoint}")
        raise


@contextmanager
def _computing_on(scheduler: str | None) -> Iterator[None]:
    """Have dask compute where the user wants it."""
    if scheduler is None or scheduler == "threads":
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ValueError(
            "--scheduler needs distributed: pip install 'napari-scsc[cluster]'"
        ) from None
    if scheduler.startswith("cluster:"):
        n_workers = int(scheduler.removeprefix("cluster:"))
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            yield
    else:
        with Client(scheduler, timeout=10):
            yield


def _follow(updates: Updates, what: str) -> RestoreUpdate:
    """Go through the updates with a bar on a terminal, or lines in a log; return the last one."""
    last = None
    with closing(updates), _progress(what) as show:
        for last in updates:
            show(last.done, last.message)
    assert last is not None
    return last


@contextmanager
def _progress(what: str) -> Iterator[Callable[[float, str], None]]:
    if sys.stderr.isatty():
        from tqdm import tqdm

        layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining} {postfix}"
        with tqdm(total=1.0, desc=what, bar_format=layout, file=sys.stderr) as bar:

            def show(done: float, message: str) -> None:
                bar.set_postfix_str(message, refresh=False)
                bar.update(done - bar.n)

            yield show
        return
    told, when = -1.0, 0.0

    def tell(done: float, message: str) -> None:
        nonlocal told, when
        if done >= told + 0.1 or done == 1 > told or time.monotonic() > when + 60:
            told, when = done, time.monotonic()
            click.echo(f"{what}: {done:.0%} {message}", err=True)

    yield tell


if __name__ == "__main__":
    main(prog_name="napari-scsc")
