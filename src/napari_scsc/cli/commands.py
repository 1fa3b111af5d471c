"""The commands: each turns its options into jobs, and says what came of them."""

from __future__ import annotations

import glob
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.__about__ import __version__
from napari_scsc.batch.again import compare_again, read_recipe, repeat_request
from napari_scsc.batch.inputs import find_inputs, load_bank, naming_inputs
from napari_scsc.batch.request import BatchTask
from napari_scsc.batch.results import check_folder, is_done
from napari_scsc.cli.batch import computing_on, do_each, follow, restore_each
from napari_scsc.cli.info import (
    describe_bank,
    describe_encoding,
    describe_file,
    describe_noise,
    describe_recipe,
    format_fact,
)
from napari_scsc.cli.inputs import (
    FileRequest,
    is_terminal,
    make_batch_request,
    make_temporary_folder,
    open_alike,
    split_options,
)
from napari_scsc.cli.messages import complain, render, say
from napari_scsc.cli.options import AGAIN, BENCH, DEMO, DENOISE, ENCODE, INFO, INPAINT, LEARN
from napari_scsc.cli.program import FAILED, Program, keeping_partial
from napari_scsc.errors import FileFormatError, Message, UserError
from napari_scsc.io.filenames import partial_of
from napari_scsc.restore.quality import QUALITIES

if TYPE_CHECKING:
    from napari_scsc.model.bank import FilterBank
    from napari_scsc.run.updates import Finished

_MAX_SECONDS_LOST = 1.0  # of learning, when it is stopped


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="napari-scsc")
def main() -> None:
    """Denoise and inpaint images of any kind and size with filters learned from them.

    INPUTS are files, patterns of file names, zarrs, or folders that hold the bands, the views or
    the numbered planes of one image; '-' reads an array in numpy's format.
    """


@main.command(params=LEARN)
def learn(**given: Any) -> None:
    """Learn base filters from one or more INPUTS, and write them to a file."""
    request, options = split_options(given)
    target = Path(request.out)
    if target.suffix.lower() != ".scsc":
        raise click.BadParameter(f"the file for filters must end in .scsc, not {request.out}")
    facts: dict[str, Any] = {"filters": request.out}
    if is_done(target, options["resume"]):
        words = f"{request.out} is there already"
        say({**facts, "was_there": True}, words, as_json=request.as_json)
        return
    paths = find_inputs(request.inputs)
    images, axes = open_alike(paths, request)
    for path, image in zip(paths, images, strict=True):
        for remark in image.remarks:
            complain(f"{path}: {render(remark)}")
    options["bank"] = load_bank(options["bank"])
    if options["filter_shape"] is not None:
        options["filter_shape"] = (options["filter_shape"],) * axes.count("shift")
    check_folder(target.parent)
    with computing_on(request.scheduler), naming_inputs(paths):
        bank = _learn_into(target, [image.array for image in images], {**options, "axes": axes})
    words = f"{bank.n_base} filters in {request.out}"
    say({**facts, **describe_bank(bank)}, words, as_json=request.as_json)


def _learn_into(target: Path, images: list[Any], options: Mapping[str, Any]) -> FilterBank:
    from napari_scsc import iter_learn

    part = partial_of(target)
    seconds = _MAX_SECONDS_LOST
    with keeping_partial(lambda: part):
        updates = iter_learn(images, checkpoint=part, every=None, every_seconds=seconds, **options)
        bank: FilterBank = follow(updates, "learning").result
        bank.save(target)
    part.unlink(missing_ok=True)
    for begun in part.parent.glob(f".{glob.escape(part.name)}.*"):  # when it was killed
        if re.fullmatch(r"[0-9a-f]{8}", begun.suffix[1:]):
            begun.unlink(missing_ok=True)
    return bank


@main.command(params=DENOISE)
def denoise(**given: Any) -> None:
    """Take the noise out of each of the INPUTS."""
    _restore("denoise", given)


@main.command(params=INPAINT)
def inpaint(**given: Any) -> None:
    """Fill what is missing in each of the INPUTS: NaN, and what a mask says."""
    _restore("inpaint", given)


def _restore(task: BatchTask, given: Mapping[str, Any]) -> None:
    """Denoise or inpaint each of the inputs."""
    files, _ = split_options(given)
    if files.out == "-" and (given["resume"] or files.as_json):
        raise click.UsageError("--resume and --json need a file, and --out is '-'")
    if files.out == "-" and given.get("error"):
        raise click.UsageError("--error needs a file to lie beside, and --out is '-'")
    if files.out == "-" and is_terminal(sys.stdout):
        raise click.UsageError("--out '-' is for a pipe or a file, and this is a terminal")
    if given["dark"] is not None and given["noise"] != "auto":
        raise click.UsageError("--dark and --noise both say what the noise is: give one")
    out = files.out
    if out == "-":
        out = str(make_temporary_folder() / "standard output.npy")
    request = make_batch_request(task, {**given, "out": out})
    with _refusing_usage():
        restore_each(request, files, describe_noise)


@contextmanager
def _refusing_usage() -> Iterator[None]:
    """Let options that contradict each other be a command that was not understood."""
    try:
        yield
    except UserError as error:
        if error.message.argument not in ("out", "format"):
            raise
        raise click.UsageError(render(error.message)) from error


@main.command(params=ENCODE)
def encode(**given: Any) -> None:
    """Code each of the INPUTS with the paper's model: weights and sparse codes of its blocks."""
    files, _ = split_options(given)
    if files.out == "-":
        raise click.UsageError("--out must be a folder for codes, and is '-'")
    with _refusing_usage():
        restore_each(make_batch_request("encode", given), files, describe_encoding)


@main.command(params=INFO)
def info(noise: bool, **given: Any) -> None:
    """Say what files are: images, their axes and noise, banks of filters, or codes.

    Of a large image, only a few parts are looked at.
    """
    request, options = split_options(given)
    bank = load_bank(options["bank"])

    def describe(path: str) -> None:
        facts = {"input": path, **describe_file(path, request, with_noise=noise, bank=bank)}
        recipe = facts.get("recipe")
        shown = {name: value for name, value in facts.items() if name != "recipe"}
        shown |= {} if recipe is None else describe_recipe(recipe)
        lines = (f"{name}: {format_fact(value)}" for name, value in shown.items())
        say(facts, *lines, as_json=request.as_json)
        if "unreadable" in facts:
            raise FileFormatError("its values cannot be read", path=path)

    do_each(find_inputs(request.inputs), describe)


@main.command(params=AGAIN)
def again(**given: Any) -> None:
    """Make a RESULT again, as it says itself that it was made, and compare the two.

    The image must be the one of then, unless --input names another.
    """
    result = given["result"]
    recipe = read_recipe(result)
    for difference in recipe.differences_here():
        complain(f"{result}: {render(difference)}")
    request = repeat_request(
        recipe,
        result,
        out=given["out"],
        source=given["source"],
        mask=given["missing"],
        bank=given["bank"],
        resume=given["resume"],
    )
    if given["n_jobs"] is not None:
        request = replace(request, options={**request.options, "n_jobs": given["n_jobs"]})

    compared: list[tuple[Message, ...]] = []  # nothing, if the new result was there already

    def compare(finished: Finished) -> dict[str, Any]:
        compared.append(compare_again(recipe, finished, result))
        return {**describe_noise(finished), "same": not compared[0]}

    files = FileRequest(
        inputs=request.inputs,
        kind=None,
        axes=None,
        key=request.key,
        as_json=given["as_json"],
        out=request.out,
        scheduler=given["scheduler"],
    )
    with _refusing_usage():
        restore_each(request, files, compare)
    for differences in compared:
        if not differences and not files.as_json:
            say({}, f"the same values as {result}, to the bit", as_json=False)
        for difference in differences:
            complain(render(difference))
        if differences and request.digest:
            sys.exit(FAILED)


@main.command(params=DEMO)
def demo(out: str, headless: bool) -> None:
    """Open napari with a noisy sample; without a screen, restore it into a folder."""
    from napari_scsc.plugin import demo as demonstration

    demonstration.run(Path(out), headless=headless, overwrite=False)


# Of ``bench --jobs 1`` on the machine on which costs were measured: medians of three runs.
_REFERENCE_SECONDS = {"draft": 0.21, "fast": 0.50, "balanced": 0.79}


@main.command(params=BENCH)
def bench(n_jobs: int | None, as_json: bool) -> None:
    """Time every quality on a made-up image of 512 x 512 pixels, and say what it gains.

    Beside it is the time of the reference: one core of a server (AMD EPYC, 2.6 GHz).
    """
    import numpy as np

    from napari_scsc import denoise, samples
    from napari_scsc.data import measures
    from napari_scsc.groups import compiling

    compiling.warm_up()
    clean = samples.tissue((512, 512))
    noisy = clean + np.random.default_rng(0).normal(0, 0.1, clean.shape).astype(np.float32)
    denoise(noisy[:64, :64], kind="image", sigma=0.1, n_jobs=n_jobs)  # all that is loaded late
    psnr = measures.psnr(noisy, clean)
    say({"quality": "noisy", "psnr": psnr}, f"{'noisy':9} {psnr:6.2f} dB", as_json=as_json)
    for quality in QUALITIES:
        start = time.perf_counter()
        restored = denoise(noisy, kind="image", sigma=0.1, quality=quality, n_jobs=n_jobs)
        seconds, reference = time.perf_counter() - start, _REFERENCE_SECONDS[quality]
        psnr = measures.psnr(restored, clean)
        say(
            {"quality": quality, "psnr": psnr, "seconds": seconds, "reference_seconds": reference},
            f"{quality:9} {psnr:6.2f} dB {seconds:7.2f} s   reference {reference:.2f} s, "
            f"here {seconds / reference:.2f} times that",
            as_json=as_json,
        )
