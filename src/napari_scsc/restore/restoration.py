"""The one path of an image through restoration: noise, filters, tiles, result.

``denoise`` and ``inpaint`` differ in what their method prepares; all else is the same, and every
branch ends in the same place.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from napari_scsc.cancellation import Cancellation
from napari_scsc.data.fingerprint import digest
from napari_scsc.data.samples import ImageSamples, check_bank
from napari_scsc.errors import Message
from napari_scsc.groups import group_kernels
from napari_scsc.io.filenames import path_beside
from napari_scsc.learning.loop import learn_planned
from napari_scsc.learning.options import LearnOptions
from napari_scsc.learning.plan import plan_learning
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.threads import ThreadExecutor
from napari_scsc.noise import outliers
from napari_scsc.noise.find import find_noise, given_noise, sample_indices
from napari_scsc.noise.model import Noise
from napari_scsc.noise.remarks import CERTAIN
from napari_scsc.noise.working import WorkingValues, check_sigma
from napari_scsc.restore import machine_speed
from napari_scsc.restore.cost import estimate_reference_cost
from napari_scsc.restore.methods import COPY, METHODS, Method, Task
from napari_scsc.restore.options import RestoreOptions
from napari_scsc.run.blending import lazy_results
from napari_scsc.run.blocks import restore_into_store
from napari_scsc.run.partial import PartialFolder
from napari_scsc.run.tile_restorer import (
    MapName,
    TileRestorer,
    WritingResult,
    WrittenResult,
    restore_in_memory,
    thread_pool,
)
from napari_scsc.run.updates import (
    LEARNING_SHARE,
    Finished,
    NoiseFound,
    RestoreUpdate,
    Updates,
    hold_to_one_thread,
)

_SPAN_FILE, _SECOND_FILE = "span.scsc", "second.scsc"
_MAX_LEARNED_SAMPLES = 4  # that differ in their noise
_MIN_PATCHES_PER_VALUE = 16  # of a patch, from which on their moments are better than a bank

FindBank = Generator[RestoreUpdate, None, FilterBank]


@dataclass
class Restoration:
    """An image on its way through restoration: what a method needs to prepare for it.

    Attributes
    ----------
    task : {"denoise", "inpaint"}
        What is wanted.
    samples : ImageSamples
        The image.
    options : RestoreOptions
        How it is wanted.
    method : Method
        How it is restored.
    noise : Noise
        In the units of the image.
    is_watched : bool
        Whether somebody wants to see something soon.
    cancellation : Cancellation
        Ends it.
    folder : PartialFolder, optional
        Of a result that goes to a file.
    remarks : list of Message
        What the user should know; methods add to it.
    """

    task: Task
    samples: ImageSamples
    options: RestoreOptions
    method: Method
    noise: Noise
    is_watched: bool
    cancellation: Cancellation
    folder: PartialFolder | None = None
    remarks: list[Message] = field(default_factory=list)

    @cached_property
    def working(self) -> WorkingValues:
        """The values that are computed with."""
        return WorkingValues(self.samples, self.noise)

    @property
    def sigma(self) -> float:
        """The noise level to take away, in working values."""
        return self.working.sigma * self.options.strength

    @property
    def is_lazy(self) -> bool:
        """Whether the result is a dask array, of which nothing is computed yet."""
        return self.options.out is None and self.samples.image.is_lazy

    @property
    def maps(self) -> tuple[MapName, ...]:
        """What is to be found beside the values; the support only where it costs no file."""
        if not self.options.error:
            return ()
        return ("error",) if self.folder or self.is_lazy else ("error", "support")

    def find_bank(self, learn: Callable[[], FindBank]) -> FindBank:
        """The filters that were given, that an earlier run kept, or that are learned now."""
        bank = self.options.bank or (self.folder.bank() if self.folder else None)
        if bank is None:
            bank = yield from learn()
        if self.folder:
            self.folder.keep_bank(bank)
        return bank

    def find_second_bank(self, learn: Callable[[], FindBank]) -> FindBank:
        """Filters beside those on show: that an earlier run kept, or that are learned now."""
        found = self.folder.bank(_SECOND_FILE) if self.folder else None
        if found is None:
            found = yield from learn()
        if self.folder:
            self.folder.keep_bank(found, _SECOND_FILE)
        return found

    def find_span(
        self, bank: FilterBank, learn_own: Callable[[tuple[int, ...] | None], FindBank]
    ) -> FilterBank:
        """The filters in whose span the image is restored.

        A bank that was given has directions in which this image is nothing but noise, and lacks
        some in which it is more. Without the former, and completed by the latter, its span is that
        of the filters that ``learn_own`` finds in the image, of a given shape or of what suits. An
        image with few patches cannot say which directions these are, and is left to the bank.
        """
        is_few = bank.is_of_patches and self._has_few_patches(bank.support)
        if self.options.bank is None or is_few:
            return bank
        span = self.folder.bank(_SPAN_FILE) if self.folder else None
        if span is None:
            # What is on show are the filters that were given: nobody sees these being learned.
            span = _run_unseen(learn_own(bank.support if bank.is_of_patches else None))
        if self.folder:
            self.folder.keep_bank(span, _SPAN_FILE)
        return span

    def _has_few_patches(self, support: tuple[int, ...]) -> bool:
        places = (n - h + 1 for n, h in zip(self.samples.shift, support, strict=True))
        count = math.prod(places) * len(self.samples.indices())
        return count < _MIN_PATCHES_PER_VALUE * math.prod(support)

    def learn_bank(
        self, beta: float | None = None, filter_shape: tuple[int, ...] | None = None
    ) -> FindBank:
        """Learn the filters of the method from the image, as ``learn`` does.

        ``beta`` is the price of a code in working values, where it does not follow from the noise.
        """
        assert self.method.model is not None
        options = LearnOptions(
            seed=self.options.seed, model=self.method.model, filter_shape=filter_shape
        )
        images, noises = [self.samples], [self.noise]
        if self.noise.samples:
            pairs = list(
                zip(
                    sample_indices(self.samples, self.noise.sample_counts),
                    self.noise.samples,
                    strict=True,
                )
            )
            chosen = pairs[:: -(-len(pairs) // _MAX_LEARNED_SAMPLES)]
            images = [self.samples.only(index) for index, _ in chosen]
            noises = [noise for _, noise in chosen]
        plan = plan_learning(images, options, noises=noises, beta=beta)
        executor = ThreadExecutor()
        return learn_planned(plan, executor, None, self.cancellation, share=LEARNING_SHARE)


def _run_unseen(finding: FindBank) -> FilterBank:
    """What learning returns, without its updates."""
    while True:
        try:
            next(finding)
        except StopIteration as end:
            bank: FilterBank = end.value
            return bank


def start_restoration(
    task: Task,
    samples: ImageSamples,
    options: RestoreOptions,
    *,
    is_watched: bool,
    cancellation: Cancellation,
) -> Updates:
    """Check that all fits together, and begin; wrong arguments raise here."""
    check_sigma(options.sigma, samples)
    if options.bank is not None:
        check_bank(options.bank, samples)
    options.check_out(samples)
    options.check_error(task)
    folder = None
    if options.output is not None:
        from napari_scsc.io import stores  # zarr takes long to load

        stores.suffix_of(options.output.path)  # refuses what cannot be written
        folder = PartialFolder(
            options.output,
            lambda: fingerprint_restoration(task, samples, options),
            options.resume,
            ("error",) if options.error else (),
        )
        _make_store(samples, folder, samples.image.shape)  # refuses axes that it cannot hold
    return hold_to_one_thread(_restore(task, samples, options, folder, is_watched, cancellation))


def fingerprint_restoration(
    task: str, samples: ImageSamples, options: RestoreOptions
) -> dict[str, Any]:
    """All that a result depends on, as JSON has it."""
    axes = samples.axes
    return {
        "task": task,
        "shape": samples.image.shape,
        "dtype": str(samples.image.dtype),
        "axes": [axes.kind, axes.labels, axes.roles],
        **options.fingerprint(),
        "image or mask": digest(samples),
    }


def _restore(
    task: Task,
    samples: ImageSamples,
    options: RestoreOptions,
    folder: PartialFolder | None,
    is_watched: bool,
    cancellation: Cancellation,
) -> Updates:
    def find() -> Noise:
        # What is known stays as it is, unless the user says how noisy it is.
        is_kept = task == "inpaint" and options.noise_wish == "auto"
        if is_kept:
            return given_noise(samples, 0.0)
        found = find_noise(samples, options.noise_wish)
        limits = {"auto": found.outlier_limit, "fill": outliers.LIKELY, "keep": 0.0}
        return replace(found, outlier_limit=limits[options.outliers])

    is_timed = group_kernels.is_ready() and not folder
    start, paused = time.perf_counter(), cancellation.paused_seconds
    if folder:
        folder.begin()
    noise = folder.noise(find) if folder else find()
    yield NoiseFound(noise)
    method = METHODS[options.method]
    if task == "denoise" and noise.sigma == 0:
        method = COPY
    # What was found without any doubt is told with the noise, and is nothing to be warned of.
    doubts = [remark for remark in noise.remarks if remark not in CERTAIN]
    restoration = Restoration(
        task, samples, options, method, noise, is_watched, cancellation, folder, doubts
    )
    restorer: TileRestorer = yield from method.load(task)(restoration)
    written = yield from _write_result(restoration, restorer)
    if is_timed and method is not COPY and not restoration.is_lazy:
        seconds = time.perf_counter() - start - (cancellation.paused_seconds - paused)
        _correct_speed(task, samples, options, seconds)
    remarks = restoration.remarks
    if written.n_doubtful:
        remarks.append(restorer.describe_doubtful(written.n_doubtful))
    yield Finished(
        written.result,
        noise,
        restorer.bank,
        tuple(remarks),
        written.maps.get("error"),
        written.maps.get("support"),
    )


def _correct_speed(
    task: Task, samples: ImageSamples, options: RestoreOptions, seconds: float
) -> None:
    """The next promise of the time knows how long this one took."""
    axes, quality, method = samples.axes, options.quality, options.method
    expected = estimate_reference_cost(
        samples.image.shape, axes, task, quality, method, options.n_threads
    )
    machine_speed.correct(
        machine_speed.name_job(axes, task, quality, method), expected.seconds, seconds
    )


def _write_result(restoration: Restoration, restorer: TileRestorer) -> WritingResult:
    """Restore to where the options say: a file, an array, or a dask array for a dask array."""
    samples, options = restoration.samples, restoration.options
    if restoration.folder is not None:
        return (yield from _write_file(restoration, restorer, restoration.folder))
    if restoration.is_lazy:
        result, *maps = map(samples.image.like, lazy_results(samples, restorer))
        return WrittenResult(result, maps=dict(zip(restorer.maps, maps, strict=True)))
    with thread_pool(options.n_threads) as executor:
        return (
            yield from restore_in_memory(
                samples,
                restorer,
                out=options.out,
                executor=executor,
                cancellation=restoration.cancellation,
            )
        )


def _write_file(
    restoration: Restoration, restorer: TileRestorer, folder: PartialFolder
) -> WritingResult:
    """Fill the file block by block; it appears under its name when it is whole."""
    samples, options = restoration.samples, restoration.options
    written = yield from restore_into_store(
        samples,
        restorer,
        folder.folder,
        lambda chunks, name: _make_store(samples, folder, chunks, name),
        options.tiles_at_a_time(restorer.memory),
        restoration.cancellation,
    )
    store, maps = written.result, written.maps
    folder.publish(store.path, {name: of_map.path for name, of_map in maps.items()})
    written.result = replace(store, path=folder.path).open()
    for name, of_map in maps.items():
        maps[name] = replace(of_map, path=path_beside(folder.path, name)).open()
    return written


def _make_store(
    samples: ImageSamples,
    folder: PartialFolder,
    chunks: tuple[int, ...],
    map_name: MapName | None = None,
) -> Any:
    """The store of the result, or of one of its maps."""
    from napari_scsc.io import stores

    output = folder.output
    suffix = stores.suffix_of(output.path)
    return stores.store_for(
        folder.path_in_making(map_name, suffix),
        samples.image.shape,
        np.float32 if map_name else samples.image.dtype,
        chunks,
        labels=samples.axes.labels,
        scale=output.scale,
        units=output.units,
        name=" ".join(filter(None, (folder.path.name.removesuffix(suffix), map_name))),
    )
