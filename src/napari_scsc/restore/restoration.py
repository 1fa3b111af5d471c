"""The one path of an image through restoration: noise, filters, tiles, result.

``denoise`` and ``inpaint`` differ in what their method prepares; all else is the same, and every
branch ends in the same place.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from napari_scsc.cancellation import Cancellation
from napari_scsc.data.fingerprint import digest, file_facts, has_digest, image_changed, is_of_all
from napari_scsc.data.samples import ImageSamples, check_bank, check_values_lie_together
from napari_scsc.data.storage import find_unwritten_chunks
from napari_scsc.errors import Message, Remedy, UserError
from napari_scsc.groups import group_kernels
from napari_scsc.io.filenames import path_beside
from napari_scsc.learning.loop import learn_planned
from napari_scsc.learning.options import LearnOptions
from napari_scsc.learning.plan import plan_learning
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.threads import ThreadExecutor
from napari_scsc.noise import outliers
from napari_scsc.noise.even_frames import with_even_frames
from napari_scsc.noise.find import find_noise, given_noise
from napari_scsc.noise.model import Noise
from napari_scsc.noise.remarks import CERTAIN
from napari_scsc.noise.unlike import sample_indices
from napari_scsc.noise.working import WorkingValues, check_sigma
from napari_scsc.restore import machine_speed
from napari_scsc.restore.cost import estimate_reference_cost
from napari_scsc.restore.methods import COPY, METHODS, Method, Task
from napari_scsc.restore.options import RestoreOptions
from napari_scsc.restore.recipe import Recipe
from napari_scsc.run.blending import lazy_results
from napari_scsc.run.blocks import restore_into_store
from napari_scsc.run.origin import Origin
from napari_scsc.run.partial import PartialFolder
from napari_scsc.run.proof import Proof
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
TellRecipe = Callable[[Noise, FilterBank | None], Recipe]


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
        even = [with_even_frames(*pair) for pair in zip(images, noises, strict=True)]
        images, noises = [image for image, _ in even], [noise for _, noise in even]
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
    is_masked: bool = False,
    cancellation: Cancellation,
) -> Updates:
    """Check that all fits together, and begin; wrong arguments raise here.

    ``is_masked`` says whether the image has a mask, besides what the options say is missing.
    """
    check_sigma(options.sigma, samples)
    if options.bank is not None:
        check_bank(options.bank, samples)
    options.check_out(samples)
    options.check_error(task)
    folder = None
    find_digest = cache(lambda: digest(samples))  # may read all of the image
    if options.output is not None:
        from napari_scsc.io import stores  # zarr takes long to load

        stores.suffix_of(options.output.path)  # refuses what cannot be written
        folder = PartialFolder(
            options.output,
            lambda: fingerprint_restoration(task, samples, options, find_digest()),
            options.resume,
            ("error",) if options.error else (),
        )
        _make_store(samples, folder, samples.image.shape)  # refuses axes that it cannot hold
    origin = _find_origin(samples, options)

    def tell_recipe(noise: Noise, bank: FilterBank | None) -> Recipe:
        known = replace(origin, digest=find_digest())
        return Recipe.of(task, samples, options, known, is_masked=is_masked, noise=noise, bank=bank)

    updates = _restore(
        task, samples, options, folder, is_watched, tell_recipe, find_digest, cancellation
    )
    return hold_to_one_thread(updates if folder is None else folder.hold_during(updates))


def _find_origin(samples: ImageSamples, options: RestoreOptions) -> Origin:
    """Where the image comes from; refuse one that has other values than it should have."""
    origin = options.output.origin if options.output is not None else None
    if origin is None:
        path = samples.image.path
        return Origin(path=None if path is None else os.fspath(path))
    if origin.digest and not has_digest(samples, origin.digest):
        raise UserError(
            "the values, or the mask, are not those that the result was made from",
            remedy=Remedy.NAME_INPUT,
        )
    return origin


def fingerprint_restoration(
    task: str, samples: ImageSamples, options: RestoreOptions, values: str
) -> dict[str, Any]:
    """All that a result depends on, as JSON has it; ``values`` is the digest of the image."""
    axes = samples.axes
    return {
        "task": task,
        "shape": samples.image.shape,
        "dtype": str(samples.image.dtype),
        "axes": [axes.kind, axes.labels, axes.roles],
        **options.fingerprint(),
        "image or mask": values,
        "file": "" if is_of_all(values) else file_facts(samples.image),
    }


def _restore(
    task: Task,
    samples: ImageSamples,
    options: RestoreOptions,
    folder: PartialFolder | None,
    is_watched: bool,
    tell_recipe: TellRecipe,
    find_digest: Callable[[], str],
    cancellation: Cancellation,
) -> Updates:
    def find() -> Noise:
        # What is known stays as it is, unless the user says how noisy it is.
        is_kept = task == "inpaint" and options.noise_wish == "auto"
        if is_kept:
            return given_noise(samples, 0.0)
        found = find_noise(samples, options.noise_wish)
        if task != "denoise" or options.method != "scsc":
            found = found.without_frame_levels()  # only groups can go by them
        limits = {"auto": found.outlier_limit, "fill": outliers.LIKELY, "keep": 0.0}
        return replace(found, outlier_limit=limits[options.outliers])

    is_timed = group_kernels.is_ready() and not folder
    start, paused = time.perf_counter(), cancellation.paused_seconds
    known = ""
    if not (samples.image.is_lazy and options.out is None):
        known = find_digest()
        # The range was found before; of saturated values it is that of an image without them.
        if not (options.saturation or samples.has_same_range()):
            raise image_changed(folder.folder if folder and options.resume else None)
    noise = folder.noise(find) if folder else find()
    if task == "denoise" and noise.sigma == 0:
        check_values_lie_together(samples.without_cache())
    yield NoiseFound(noise)
    method = METHODS[options.method]
    if task == "denoise" and noise.sigma == 0:
        method = COPY
    # What was found without any doubt is told with the noise, and is nothing to be warned of.
    doubts = [remark for remark in noise.remarks if remark not in CERTAIN]
    doubts += _find_gaps(samples)
    restoration = Restoration(
        task, samples, options, method, noise, is_watched, cancellation, folder, doubts
    )
    restorer: TileRestorer = yield from method.load(task)(restoration)
    recipe = None  # a lazy result is not made here, and who waits for the values sees no recipe
    if folder or (is_watched and not restoration.is_lazy):
        recipe = tell_recipe(noise, restorer.bank)
    written = yield from _write_result(restoration, restorer, recipe, known)
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
        recipe,
    )


def _find_gaps(samples: ImageSamples) -> list[Message]:
    """What is to be said of chunks of the image that are not there."""
    found = filter(None, map(find_unwritten_chunks, samples.image.sources))
    return [
        Message(
            f"{gaps.count} of {gaps.total} chunks of the image or its mask are not there, and are "
            f"taken for the fill value {gaps.fill_value}: they were never written, or are lost"
        )
        for gaps in found
    ]


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


def _write_result(
    restoration: Restoration, restorer: TileRestorer, recipe: Recipe | None, known: str
) -> WritingResult:
    """Restore to where the options say: a file, an array, or a dask array for a dask array."""
    samples, options = restoration.samples, restoration.options
    if restoration.folder is not None:
        return (yield from _write_file(restoration, restorer, restoration.folder, recipe, known))
    if restoration.is_lazy:
        result, *maps = map(samples.image.like, lazy_results(samples, restorer, Proof.of(samples)))
        return WrittenResult(result, maps=dict(zip(restorer.maps, maps, strict=True)))
    with thread_pool(options.n_threads) as executor:
        written = yield from restore_in_memory(
            samples,
            restorer,
            out=options.out,
            executor=executor,
            cancellation=restoration.cancellation,
        )
    if not has_digest(samples, known):  # of what noise and filters were found in
        raise image_changed()
    return written


def _write_file(
    restoration: Restoration,
    restorer: TileRestorer,
    folder: PartialFolder,
    recipe: Recipe | None,
    known: str,
) -> WritingResult:
    """Fill the file block by block; it appears under its name when it is whole."""
    samples, options = restoration.samples, restoration.options
    told = {} if recipe is None else recipe.to_json()
    written = yield from restore_into_store(
        samples,
        restorer,
        folder.folder,
        lambda chunks, name: _make_store(samples, folder, chunks, name, told),
        options.tiles_at_a_time(restorer.memory),
        restoration.cancellation,
    )
    if not has_digest(samples, known):  # of what noise and filters were found in
        raise image_changed(folder.folder)
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
    recipe: Mapping[str, Any] | None = None,
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
        translation=output.translation,
        channels=output.channels,
        zarr_format=output.zarr_format,
        name=" ".join(filter(None, (folder.path.name.removesuffix(suffix), map_name))),
        recipe=recipe,
    )
