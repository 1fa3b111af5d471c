"""The command line: the same jobs without a window.

Nothing heavy is imported before a command runs: help and completion are to be quick.
"""

from __future__ import annotations

import glob
import json
import logging
import os
import re
import shutil
import signal
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

FAILED, BROKEN_OFF, INTERRUPTED = 1, 3, 130  # 130 is what shells have for Ctrl-C

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
        with _failing_in_one_line(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        for name in ("asyncio", "distributed", "tifffile"):  # what matters is raised as well
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with _failing_in_one_line(ctx):
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
_computing = _options(
    _option("--sigma", _above_0, "Noise level in the units of the image, if it is known."),
    _number("--seed", "The same seed gives the same result.", 0, 0),
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
_restoring = _options(
    _reading,
    _out(required=True, help=f"File for the result ({', '.join(FORMATS)}), a folder, or '-'."),
    _word("--format", FORMATS, "Of results in a folder; that of the input unless given."),
    _bank,
    _option("--strength", _above_0, "Less is gentler, more is smoother.", 1.0),
    _word("--quality", QUALITIES, "What to spend.", "balanced"),
    _word("--method", METHODS, "The paper's are there to compare.", "scsc"),
    _option("--memory", str, 'How much to take at most, such as "2GB".'),
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
    if _is_done(target, asked["resume"]):
        _say({"filters": out, "was_there": True}, f"{out} is there already", **asked)
        return
    images, axes = [], []
    for path in _expanded(inputs):
        with _naming(path):
            image, meaning = _open(path, **asked)
            images.append(image.array)
            axes.append(meaning)
            if meaning != axes[0]:
                raise ValueError(
                    f"the axes are {', '.join(meaning.labels)} ({meaning.kind}), but of the first "
                    f"input {', '.join(axes[0].labels)} ({axes[0].kind}): name them with --axes"
                )
    target.parent.mkdir(parents=True, exist_ok=True)
    same = ("n_base", "sigma", "passes", "model", "n_filters", "beta", "batch", "seed", "resume")
    with _computing_on(asked["scheduler"]), _keeping(_checkpoint(target)):
        updates = iter_learn(
            images,
            axes=axes[0],
            bank=_load(asked["bank"]),
            filter_shape=asked["size"] and (asked["size"],) * axes[0].count("shift"),
            tiles=asked["tiles"] or None,
            n_jobs=asked["jobs"],
            checkpoint=_checkpoint(target),
            every=None,
            every_seconds=_LOST,
            **{name: asked[name] for name in same},
        )
        bank = _follow(updates, "learning").bank
        assert bank is not None
        bank.save(target)
    _checkpoint(target).unlink(missing_ok=True)
    facts = {"filters": out, "n_base": bank.n_base, "shape": bank.filters.shape[1:], "id": bank.id}
    _say(facts, f"{bank.n_base} filters in {out}", **asked)


@main.command()
@_restoring
def denoise(inputs: tuple[str, ...], **asked: Any) -> None:
    """Take the noise out of each of the INPUTS."""
    from napari_scsc import iter_denoise

    _restore(iter_denoise, inputs, **asked)


@main.command()
@_option("--mask", click.Path(), "Image that is not 0 where something is missing.")
@_restoring
def inpaint(inputs: tuple[str, ...], mask: str | None, **asked: Any) -> None:
    """Fill what is missing in each of the INPUTS: NaN, and what a mask says."""
    from napari_scsc import iter_inpaint

    missing = None
    if mask is not None:
        with _naming(mask):
            missing = _opened(mask).array
    _restore(partial(iter_inpaint, missing=missing), inputs, **asked)


@main.command()
@_options(_reading, _json)
@click.option("--noise/--no-noise", default=True, help="Whether to estimate the noise.")
def info(inputs: tuple[str, ...], **asked: Any) -> None:
    """Say what files are: images, their axes and noise, or banks of filters.

    Of a large image, only a few parts are looked at.
    """

    def about(path: str) -> None:
        found = _about_bank(path) if path.lower().endswith(".scsc") else _about(path, **asked)
        facts = {"input": path, **{k: v for k, v in found.items() if v is not None}}
        _say(facts, *(f"{name}: {_plain(value)}" for name, value in facts.items()), **asked)

    _each(_expanded(inputs), about)


@main.command()
@_out(default="out", show_default=True, help="Folder for pictures.")
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

    from napari_scsc import denoise, measures, samples
    from napari_scsc.restore import groups

    groups.warm_up()
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
        _say(facts, f"{quality:9} {psnr:6.2f} dB {seconds:7.2f} s", as_json=as_json)


# --- restoring ----------------------------------------------------------------------------------


def _restore(start: Callable[..., Updates], inputs: tuple[str, ...], **asked: Any) -> None:
    """Denoise or inpaint each of the inputs."""
    from napari_scsc.restore.job import _bytes
    from napari_scsc.restore.output import Output

    asked["memory"] = _bytes(asked["memory"])
    is_piped = asked["out"] == "-"
    if is_piped and (asked["resume"] or asked["as_json"]):
        raise click.UsageError("--resume and --json need a file, and --out is '-'")
    if is_piped and _is_terminal(sys.stdout):
        raise click.UsageError("--out '-' is for a pipe or a file, and this is a terminal")
    targets = _targets(_expanded(inputs), **asked)
    bank = _load(asked["bank"])
    same = ("sigma", "strength", "quality", "method", "seed", "memory", "resume")

    def restore(path: str) -> None:
        target = targets[path]
        facts = {"input": path, "output": str(target)}
        if _is_done(target, asked["resume"]):
            _say({**facts, "was_there": True}, f"{target} is there already", **asked)
            return
        image, axes = _open(path, **asked)
        updates = start(
            image.array,
            axes=axes,
            bank=bank,
            n_jobs=asked["jobs"],
            out=Output(target, image.scale, image.units),
            **{name: asked[name] for name in same},
        )
        with _keeping(None if is_piped else _checkpoint(target)):
            last = _follow(updates, Path(path).name)
        if not asked["as_json"]:
            for remark in last.remarks:
                _complain(f"{path}: {remark}")
        if is_piped:
            with open(target, "rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        found = {"sigma": last.noise and last.noise.sigma, "remarks": last.remarks}
        _say({**facts, **found}, f"{path} -> {target}", **asked)

    with _computing_on(asked["scheduler"]):
        _each(list(targets), restore)


def _targets(
    paths: list[str], out: str, format: str | None, resume: bool, **_: Any
) -> dict[str, Path]:
    """The file for the result of each input; in a folder, they are called like the inputs."""
    from napari_scsc.io import stores

    is_file = out == "-" or bool(_suffix(out))
    if is_file and len(paths) > 1:
        raise click.UsageError(f"--out must be a folder for {len(paths)} inputs, not {out}")
    if is_file and format:
        raise click.UsageError(f"--format is for results in a folder, and --out is {out}")
    if out == "-":
        return {paths[0]: _temporary_folder() / "standard output.npy"}
    names_folder = out.endswith(("/", os.sep)) or not Path(out).suffix or Path(out).is_dir()
    if len(paths) > 1 or (names_folder and not is_file):
        targets = {path: Path(out) / _name(path, format) for path in paths}
    else:
        stores.suffix_of(out)  # refuses what cannot be written
        targets = {paths[0]: Path(out)}
    taken: dict[Path, str] = {}
    for path, target in targets.items():
        if target in taken:
            raise ValueError(f"{taken[target]} and {path} would both be written to {target}")
        taken[target] = path
        _is_done(target, resume)
    return targets


def _name(path: str, suffix: str | None) -> str:
    """What the result of an input is called in a folder: like it, if its format can be written."""
    from napari_scsc.io.stores import _stem

    name = "stdin.npy" if path == "-" else Path(path).resolve().name
    return name if _suffix(name) and not suffix else _stem(Path(name)) + (suffix or ".tif")


def _suffix(path: str) -> str:
    """The end of a name that says its format; empty if that cannot be written."""
    from napari_scsc.io import stores

    with suppress(ValueError):
        return stores.suffix_of(path)
    return ""


def _checkpoint(target: Path) -> Path:
    return target.with_name(target.name + ".partial")


def _is_done(target: Path, is_resumed: bool) -> bool:
    """Whether a run that is resumed has made this file before; without resuming, refuse it."""
    if target.exists() and not is_resumed:
        raise FileExistsError(f"{target} is there already: choose another name, or remove it")
    if _checkpoint(target).exists() and not is_resumed:
        raise FileExistsError(
            f"{_checkpoint(target)} holds a run that broke off: go on with --resume, or remove it"
        )
    return target.exists()


def _load(bank: str | None) -> Any:
    from napari_scsc import FilterBank

    return None if bank is None else FilterBank.load(bank)


# --- inputs -------------------------------------------------------------------------------------


def _expanded(inputs: tuple[str, ...]) -> list[str]:
    """The files that are meant, each once: patterns are for shells that do not know them."""
    found: list[str] = []
    for item in inputs:
        matches = [item] if item == "-" or os.path.exists(item) else sorted(glob.glob(item))
        if not matches:
            raise FileNotFoundError(f"{item}: there is no such file or folder")
        found += matches
    return list(dict.fromkeys(found))


def _temporary_folder() -> Path:
    """A folder that is there until the command ends."""
    return Path(click.get_current_context().with_resource(tempfile.TemporaryDirectory()))


def _opened(path: str, key: str | None = None) -> Opened:
    from napari_scsc.io import sources

    if path != "-":
        return sources.open_source(path, key)
    if _is_terminal(sys.stdin):
        raise ValueError("'-' reads an array from a pipe or a file, and this is a terminal")
    # In a file it may be larger than the memory, and other processes can read it.
    place = _temporary_folder() / "standard input.npy"
    with open(place, "wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    if place.stat().st_size == 0:
        raise ValueError("nothing came from standard input")
    return sources.open_source(place, key)


def _open(
    path: str, key: str | None, kind: str | None, axes: str | None, **_: Any
) -> tuple[Opened, Axes]:
    """An input, and what its axes are."""
    image = _opened(path, key)
    return image, _meaning(image, kind, axes)


def _meaning(image: Opened, kind: str | None, axes: str | None) -> Axes:
    """What the axes are: as the user says, else as the file does. Those of length 1 are put aside.

    Files of microscopes have all five axes, of which only some mean something.
    """
    from napari_scsc.axes import Axes, resolve

    shape, own, found = tuple(image.array.shape), image.labels, None
    kept = [i for i, n in enumerate(shape) if n > 1] or list(range(len(shape)))
    lengths = [shape[i] for i in kept]
    if axes is not None:
        if len(axes) == len(shape):
            axes = "".join(axes[i] for i in kept)
        found = resolve(lengths, kind, axes)
    elif own is not None:
        with suppress(ValueError):  # names that say nothing, or not what the user says
            found = resolve(lengths, kind, [own[i] for i in kept])
    if found is None:
        found = resolve(lengths, kind, name=image.name)
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
    bank = _load(path)
    known = {k: v for k, v in bank.info.items() if k in ("kind", "n_samples", "learner")}
    return {"n_base": bank.n_base, "shape": bank.filters.shape[1:], "id": bank.id, **known}


def _about(
    path: str, key: str | None, kind: str | None, axes: str | None, noise: bool, **_: Any
) -> dict[str, Any]:
    image = _opened(path, key)
    facts: dict[str, Any] = {"shape": image.array.shape, "dtype": str(image.array.dtype)}
    facts |= {"scale": image.scale, "units": image.units}
    try:
        meaning = _meaning(image, kind, axes)
        roles = dict(zip(meaning.labels, meaning.roles, strict=True))
        facts |= {"kind": meaning.kind, "axes": roles}
        if noise:
            found = _noise(image.array, meaning)
            facts |= {"sigma": found.sigma, "sure": found.sure, "remarks": found.remarks or None}
            facts["grows_with_brightness"] = found.depends_on_signal
    except (ValueError, TypeError) as error:
        if "kind" not in facts and (kind or axes):
            raise
        facts["remarks"] = (_words(error),)
    return facts


def _noise(array: Any, axes: Axes) -> Noise:
    """The noise of some tiles; unlike for a restoration, the range of the others does not count."""
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
    if isinstance(value, tuple):
        return ", ".join(map(_plain, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# --- words --------------------------------------------------------------------------------------


def _say(facts: dict[str, Any], *lines: str, as_json: bool, **_: Any) -> None:
    """Give a result: to programs as JSON, to people as lines."""
    click.echo(json.dumps(facts) if as_json else "\n".join(lines))


def _complain(words: str) -> None:
    click.echo(f"napari-scsc: {' '.join(words.split())}", err=True)


# What the functions of Python say, in the words of the command line.
_TRANSLATED = (
    (r"^memory must", "--memory must"),
    (r"inpaint\(image, None\)", "inpaint"),
    (r"as in inpaint\(image, ~np.isfinite\(image\)\)", "with a --mask for inpaint"),
    (r"\b(\w+)=(?:\.\.\.|True\b)", r"--\1"),
    (r"""\b(\w+)=["']([\w-]+)["']""", r"--\1 \2"),
    (r"again with resume\b", "again with --resume"),
    (r"the same arguments", "the same options"),
    (r"the same memory", "the same --memory and --jobs"),
    (r"name one of them as a sample or joint axis", "call one of them n in --axes"),
    (r"drop the axis, or choose another kind", "choose another --kind or --axes"),
    (r"\bn_(base|filters)\b", r"--n-\1"),
    (r"\bfilter_shape\b", "--size"),
    (r"^\d+ requested and \d+ written$", "not all could be written, as on a full disk"),
)


def _words(error: BaseException) -> str:
    """What went wrong, for somebody who sees no code."""
    if isinstance(error, OSError) and error.strerror:
        words = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, ValueError | TypeError | OSError | ImportError | RuntimeError):
        words = str(error)
    else:
        words = f"{type(error).__name__}: {error}"
    for pattern, option in _TRANSLATED:
        words = re.sub(pattern, option, words)
    return ". ".join([words, *getattr(error, "__notes__", ())])


@contextmanager
def _failing_in_one_line(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else ctx.command_path
        _complain(f"{error.format_message().rstrip('.')}. See {command} --help")
        sys.exit(error.exit_code)
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise  # click knows what to do
    except KeyboardInterrupt as error:
        _complain(". ".join(["stopped", *getattr(error, "__notes__", ())]))
        sys.exit(INTERRUPTED)
    except Exception as error:
        from napari_scsc.restore.blocks import RunInterrupted

        _complain(_words(error))
        sys.exit(BROKEN_OFF if isinstance(error, RunInterrupted) else FAILED)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Let an error say which input it is about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        words = _words(error)
        name = "standard input" if path == "-" else Path(path).name
        raise ValueError(words if name in words else f"{path}: {words}") from error


@contextmanager
def _keeping(checkpoint: Path | None) -> Iterator[None]:
    """Say where the finished part of a run is that breaks off."""
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:
        if checkpoint is not None and checkpoint.exists():
            error.add_note(f"--resume goes on with what is in {checkpoint}")
        raise


# --- work ---------------------------------------------------------------------------------------


def _each(paths: list[str], do: Callable[[str], None]) -> None:
    """Do it for each input; one that cannot be read does not keep the others from it."""
    failed = False
    for path in paths:
        try:
            with _naming(path):
                do(path)
        except (ValueError, OSError) as error:
            if isinstance(error, BrokenPipeError) or hasattr(error, "__notes__"):
                raise  # it broke off while it wrote, and so would the others
            _complain(_words(error))
            failed = True
    if failed:
        sys.exit(FAILED)


@contextmanager
def _computing_on(scheduler: str | None) -> Iterator[None]:
    """Have dask compute where the user wants it."""
    if scheduler is None or scheduler == "threads":
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ValueError("--scheduler needs: pip install 'napari-scsc[cluster]'") from None
    if "://" in scheduler:
        with Client(scheduler, timeout=10):
            yield
        return
    if not re.fullmatch("cluster:[1-9][0-9]*", scheduler):
        raise ValueError(f"--scheduler is threads, cluster:N or tcp://host:8786, not {scheduler}")
    options = {"n_workers": int(scheduler.removeprefix("cluster:")), "threads_per_worker": 1}
    # Ctrl-C reaches every process of a terminal: this one tells the workers to stop, and those
    # that begin while it is ignored go on ignoring it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster = LocalCluster(dashboard_address=":0", silence_logs=logging.CRITICAL, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    with cluster, Client(cluster):
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
    if _is_terminal(sys.stderr):
        from tqdm import tqdm

        layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
        with tqdm(total=1.0, desc=what, bar_format=layout, file=sys.stderr) as bar:

            def show(done: float, message: str) -> None:
                bar.n = done
                bar.set_postfix_str(message)

            yield show
        return
    told, when = -1.0, 0.0

    def tell(done: float, message: str) -> None:
        nonlocal told, when
        if done >= told + 0.1 or done == 1 > told or time.monotonic() > when + 60:
            told, when = done, time.monotonic()
            click.echo(f"{what}: {done:.0%} {message}", err=True)

    yield tell


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()  # a closed one is None


if __name__ == "__main__":
    main(prog_name="napari-scsc")
