"""The command line: the same jobs without a window."""

from __future__ import annotations

import glob
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click

from napari_scsc.__about__ import __version__

INTERRUPTED = 130  # as a shell has it for Ctrl-C
BROKEN_OFF = 3

Command = Callable[..., Any]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="napari-scsc")
def main() -> None:
    """Denoise and inpaint images of any kind and size with filters learned from them.

    INPUT is a file, a folder of images, or a zarr; '-' reads an array in numpy's format.
    """


# --- options ------------------------------------------------------------------------------------


def _options(*options: Command) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_kind = click.option(
    "--kind",
    type=click.Choice(
        ["image", "rgb", "video", "stack", "multispectral", "light-field", "time-lapse"]
    ),
    help="What the axes mean; guessed where the file tells.",
)
_axes = click.option("--axes", help='Letters of the axes in the order of the file, such as "yxc".')
_key = click.option("--key", help="Which array of a zarr or HDF5 file.")
_sigma = click.option("--sigma", type=float, help="Noise level in the units of the image.")
_seed = click.option("--seed", type=int, default=0, show_default=True)
_jobs = click.option("--jobs", type=int, help="Threads; all cores unless given.")
_json = click.option("--json", "as_json", is_flag=True, help="Say what was done as JSON.")
_scheduler = click.option(
    "--scheduler",
    help="Where to compute: 'threads' (of this process), 'cluster:N' (N processes of this "
    "machine), or the address of a dask scheduler, as tcp://host:8786.",
)
_resume = click.option("--resume", is_flag=True, help="Go on with a run that broke off.")
_restoring = _options(
    _kind,
    _axes,
    _key,
    click.option("--bank", type=click.Path(exists=True), help="Filters that were learned before."),
    _sigma,
    click.option("--strength", type=float, default=1.0, show_default=True),
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
        "--out",
        "-o",
        required=True,
        help="File for the result (.zarr, .ome.zarr, .tif, .npy), a folder for several, or '-'.",
    ),
    click.option("--memory", help='How much to take at most, such as "2GB".'),
    _scheduler,
    _jobs,
    _resume,
    _seed,
    _json,
)


# --- commands -----------------------------------------------------------------------------------


@main.command()
@click.argument("inputs", nargs=-1, required=True)
@_options(
    _kind,
    _axes,
    _key,
    click.option("--out", "-o", required=True, help="File for the filters (.scsc)."),
    click.option("--bank", type=click.Path(exists=True), help="Filters to go on from."),
    click.option("--n-base", type=int, help="R, how many base filters."),
    click.option("--size", type=int, help="Pixels along a side of a filter."),
    click.option(
        "--model", type=click.Choice(["lattice", "paper"]), default="lattice", show_default=True
    ),
    click.option("--n-filters", type=int, help="K, filters of a sample (the paper's model)."),
    click.option("--beta", type=float, help="Price of the code (the paper's model)."),
    click.option(
        "--tiles", type=int, default=64, show_default=True, help="Of an image; 0: all of it."
    ),
    click.option("--passes", type=int, default=1, show_default=True),
    click.option("--batch", type=int, default=1, show_default=True),
    _sigma,
    _scheduler,
    _jobs,
    _resume,
    _seed,
    _json,
)
def learn(inputs: tuple[str, ...], out: str, as_json: bool, **asked: Any) -> None:
    """Learn base filters from one or more INPUTS, and write them to a file."""
    with _reporting(as_json) as report, _scheduler_of(asked.pop("scheduler")):
        from napari_scsc import FilterBank, iter_learn

        opened = [_open(path, asked["key"]) for path in _expanded(inputs)]
        target = Path(out)
        if target.suffix != ".scsc":
            raise ValueError(f"the file for filters must end in .scsc, not {target.name}")
        checkpoint = target.with_name(target.name + ".partial")
        size, bank = asked["size"], asked["bank"]
        axes = asked["axes"] or _labels(opened[0], asked["kind"])
        options = {
            "kind": asked["kind"],
            "axes": axes,
            "bank": None if bank is None else FilterBank.load(bank),
            "n_base": asked["n_base"],
            "filter_shape": None if size is None else (size,) * _n_shift(opened[0], asked, axes),
            "sigma": asked["sigma"],
            "tiles": asked["tiles"] or None,
            "passes": asked["passes"],
            "model": asked["model"],
            "n_filters": asked["n_filters"],
            "beta": asked["beta"],
            "batch": asked["batch"],
            "n_jobs": asked["jobs"],
            "seed": asked["seed"],
            "checkpoint": checkpoint,
            "resume": asked["resume"],
        }
        updates = iter_learn([o.array for o in opened], **options)
        last = _follow(updates, "learning", report)
        last.bank.save(target)
        checkpoint.unlink(missing_ok=True)
        report(
            {"filters": str(target), "n_base": last.bank.n_base, "id": last.bank.id},
            f"{last.bank.n_base} filters in {target}",
        )


@main.command()
@click.argument("inputs", nargs=-1, required=True)
@_restoring
def denoise(inputs: tuple[str, ...], **asked: Any) -> None:
    """Take the noise out of each of the INPUTS."""
    _restore(inputs, None, asked)


@main.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option("--mask", help="Image that is not zero where something is missing; NaN always is.")
@_restoring
def inpaint(inputs: tuple[str, ...], mask: str | None, **asked: Any) -> None:
    """Fill what is missing in each of the INPUTS."""
    _restore(inputs, mask or "", asked)


@main.command()
@click.argument("path")
@_options(_kind, _axes, _key, _json)
@click.option("--noise/--no-noise", default=True, help="Whether to estimate the noise.")
def info(
    path: str, kind: str | None, axes: str | None, key: str | None, as_json: bool, noise: bool
) -> None:
    """Say what a file is: an image, its axes and its noise, or a bank of filters."""
    with _reporting(as_json) as report:
        from napari_scsc import FilterBank, estimate_noise
        from napari_scsc.axes import resolve

        if path.endswith(".scsc"):
            bank = FilterBank.load(path)
            facts: dict[str, Any] = {
                "filters": bank.n_base,
                "shape": list(bank.filters.shape[1:]),
                "n_joint": bank.n_joint,
                "id": bank.id,
                **{k: v for k, v in bank.info.items() if k in ("kind", "n_samples", "learner")},
            }
            report(facts, *(f"{name}: {value}" for name, value in facts.items()))
            return
        opened = _open(path, key)
        shape = tuple(opened.array.shape)
        meaning = resolve(shape, kind, axes or _labels(opened, kind), name=opened.name)
        facts = {
            "shape": list(shape),
            "dtype": str(opened.array.dtype),
            "kind": meaning.kind,
            "axes": dict(zip(meaning.labels, meaning.roles, strict=True)),
            "scale": opened.scale,
            "units": opened.units,
        }
        if noise:
            found = estimate_noise(opened.array, axes=meaning)
            facts["noise"] = {
                "sigma": found.sigma,
                "grows_with_brightness": found.depends_on_signal,
                "sure": found.sure,
            }
        report(facts, *(f"{name}: {value}" for name, value in facts.items() if value is not None))


@main.command()
@click.option("--out", default="out", show_default=True, help="Folder for pictures.")
@click.option("--headless", is_flag=True, help="No window, though there is a screen.")
def demo(out: str, headless: bool) -> None:
    """Open napari with a noisy sample; without a screen, restore it into a folder."""
    from napari_scsc import demo as demonstration

    demonstration.run(Path(out), headless=headless)


@main.command()
@_options(_jobs, _json)
def bench(jobs: int | None, as_json: bool) -> None:
    """Time every quality on a made-up image of 512 x 512 pixels, and say what it gains."""
    with _reporting(as_json) as report:
        import numpy as np

        from napari_scsc import denoise as restore
        from napari_scsc import measures, samples
        from napari_scsc.restore import groups, plan

        groups.warm_up()
        clean = samples.tissue((512, 512))
        noisy = clean + np.random.default_rng(0).normal(0, 0.1, clean.shape).astype(np.float32)
        rows: list[dict[str, Any]] = []
        for quality in plan.QUALITIES:
            start = time.perf_counter()
            result = restore(
                noisy, kind="image", sigma=0.1, quality=cast(Any, quality), n_jobs=jobs
            )
            seconds = time.perf_counter() - start
            psnr = measures.psnr(result, clean)
            rows.append({"quality": quality, "seconds": seconds, "psnr": psnr})
        before = measures.psnr(noisy, clean)
        report(
            {"noisy": before, "qualities": rows},
            f"noisy     {before:6.2f} dB",
            *(f"{r['quality']:9} {r['psnr']:6.2f} dB {r['seconds']:7.2f} s" for r in rows),
        )


# --- restoring ----------------------------------------------------------------------------------


def _restore(inputs: tuple[str, ...], mask: str | None, asked: dict[str, Any]) -> None:
    """Denoise, or with a mask (which may be empty) inpaint."""
    with _reporting(asked["as_json"]) as report, _scheduler_of(asked["scheduler"]):
        from napari_scsc import FilterBank, iter_denoise, iter_inpaint

        paths = _expanded(inputs)
        bank = None if asked["bank"] is None else FilterBank.load(asked["bank"])
        for path, target in _targets(paths, asked["out"]):
            opened = _open(path, asked["key"])
            options = {
                "kind": asked["kind"],
                "axes": asked["axes"] or _labels(opened, asked["kind"]),
                "bank": bank,
                "sigma": asked["sigma"],
                "strength": asked["strength"],
                "quality": asked["quality"],
                "method": asked["method"],
                "seed": asked["seed"],
                "n_jobs": asked["jobs"],
            }
            if target != "-":
                options |= {
                    "out": _output(target, opened),
                    "memory": asked["memory"],
                    "resume": asked["resume"],
                }
            if mask is None:
                updates = iter_denoise(opened.array, **options)
            else:
                missing = _open(mask, None).array if mask else None
                updates = iter_inpaint(opened.array, missing, **options)
            name = Path(path).name
            last = _follow(updates, name, report)
            if target == "-":
                _write_standard_output(last.result)
                continue
            noise = None if last.noise is None else last.noise.sigma
            report(
                {"input": path, "output": target, "sigma": noise, "remarks": list(last.remarks)},
                f"{name} -> {target}",
                *last.remarks,
            )


def _targets(paths: list[str], out: str) -> list[tuple[str, str]]:
    """The file for the result of each input; of several inputs, in a folder."""
    if len(paths) == 1:
        return [(paths[0], out)]
    folder = Path(out)
    if out == "-" or folder.suffix in (".zarr", ".tif", ".tiff", ".npy"):
        raise ValueError(f"there are {len(paths)} inputs: --out must be a folder, not {out}")
    folder.mkdir(parents=True, exist_ok=True)
    return [(path, str(folder / f"{Path(path).name.split('.')[0]}.tif")) for path in paths]


def _output(target: str, opened: Any) -> Any:
    from napari_scsc.restore.output import Output

    return Output(target, opened.scale, opened.units)


# --- inputs -------------------------------------------------------------------------------------


def _expanded(inputs: tuple[str, ...]) -> list[str]:
    """The files that are meant: patterns are for shells that do not know them."""
    found: list[str] = []
    for item in inputs:
        matches = sorted(glob.glob(item)) if glob.has_magic(item) else [item]
        if not matches:
            raise FileNotFoundError(f"no file is called like {item}")
        found += matches
    return found


def _open(path: str, key: str | None) -> Any:
    from napari_scsc.io import sources

    if path == "-":
        import io

        import numpy as np

        array = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
        return sources.Opened(array, None, None, None, "standard input")
    return sources.open_source(path, key)


def _labels(opened: Any, kind: str | None) -> Any:
    """The labels that the file has, unless the user says what it is."""
    return None if kind is not None else opened.labels


def _n_shift(opened: Any, asked: dict[str, Any], axes: Any) -> int:
    from napari_scsc.axes import resolve

    return resolve(tuple(opened.array.shape), asked["kind"], axes, name=opened.name).count("shift")


def _write_standard_output(result: Any) -> None:
    import numpy as np

    np.save(sys.stdout.buffer, np.asarray(result), allow_pickle=False)


# --- around -------------------------------------------------------------------------------------


class _Report:
    """What is said: for people on the error stream while it runs, the result on the output."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def __call__(self, facts: dict[str, Any], *lines: str) -> None:
        if self.as_json:
            click.echo(json.dumps(facts))
        else:
            for line in lines:
                click.echo(line, err=False)


@contextmanager
def _reporting(as_json: bool) -> Iterator[_Report]:
    """Turn errors into a line and an exit code."""
    try:
        yield _Report(as_json)
    except KeyboardInterrupt:
        click.echo("stopped; --resume goes on with it", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException:
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        from napari_scsc.restore.blocks import RunInterrupted

        words = str(error) or type(error).__name__
        click.echo(f"napari-scsc: {words}", err=True)
        sys.exit(BROKEN_OFF if isinstance(error, RunInterrupted) else 1)


@contextmanager
def _scheduler_of(name: str | None) -> Iterator[None]:
    """Have dask compute where the user wants it."""
    if name is None or name == "threads":
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ValueError("a scheduler needs distributed: pip install distributed") from None
    if name.startswith("cluster:") and name[8:].isdigit():
        with (
            LocalCluster(n_workers=int(name[8:]), threads_per_worker=1) as cluster,
            Client(cluster),
        ):
            yield
    elif "://" in name:
        with Client(name):
            yield
    else:
        raise ValueError(
            f"--scheduler must be threads, cluster:N or an address such as tcp://host:8786, "
            f"not {name}"
        )


def _follow(updates: Any, what: str, report: _Report) -> Any:
    """Go through the updates with a bar on a terminal, or lines in a log."""
    last = None
    with _progress(what) as show:
        for update in updates:
            last = update
            show(update.done, update.message)
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
    told = -1.0

    def tell(done: float, message: str) -> None:
        nonlocal told
        if done >= told + 0.1 or done == 1:
            told = done
            click.echo(f"{what}: {done:.0%} {message}", err=True)

    yield tell


if __name__ == "__main__":
    main()
