"""Denoise, inpaint and encode: the functions that users call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_float
from napari_scsc.choices import Quality
from napari_scsc.data.axes import Axes
from napari_scsc.data.samples import check_bank, open_samples
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.threads import single_threaded
from napari_scsc.noise.find import find_noise
from napari_scsc.noise.model import Noise
from napari_scsc.noise.working import check_sigma
from napari_scsc.restore.codes import Codes, _checked_output, _start_of, encode_updates
from napari_scsc.restore.denoise import _begin
from napari_scsc.restore.inpaint import _check_samples, inpaint_updates
from napari_scsc.restore.options import Options, check_out
from napari_scsc.restore.output import open_result_folder
from napari_scsc.run.partial import Output, PartialFolder
from napari_scsc.run.updates import RestoreUpdate, Updates, hold_to_one_thread, run_to_end


def encode(
    image: Any,
    bank: FilterBank,
    *,
    out: str | os.PathLike[str] | Output,
    missing: Any = None,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    sigma: float | None = None,
    beta: float | None = None,
    n_jobs: int | None = None,
    memory: int | str | None = None,
    resume: bool = False,
    progress: Callable[[RestoreUpdate], None] | None = None,
) -> Codes:
    """Code an image with the paper's model, block by block, into a folder.

    What is smooth is split off, for the filters do not model it; the rest of each block is coded
    as ``B * (W Z)``, with weights W and a sparse code Z of its own. These are the codes by which
    ``denoise(method="scsc-paper")`` denoises.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type. NaN is missing.
    bank : FilterBank
        The base filters B, and the weights from which the search begins.
    out : path or Output
        A folder whose name ends in ``.zarr``; it appears when it is whole.
    missing : array, optional
        True (or not zero) where the image is not known; it is read block by block too.
    sigma : float, optional
        Standard deviation of the noise, in the units of the image; estimated unless given.
    beta : float, optional
        Price of the code, in noise levels; 4 unless given. Larger is sparser.
    kind, axes, n_jobs, memory, resume, progress
        See ``denoise``.

    Returns
    -------
    Codes
        What is in the folder; ``open_codes`` opens it again.
    """
    codes: Codes = run_to_end(
        iter_encode(
            image,
            bank,
            out=out,
            missing=missing,
            kind=kind,
            axes=axes,
            sigma=sigma,
            beta=beta,
            n_jobs=n_jobs,
            memory=memory,
            resume=resume,
        ),
        progress,
    )
    return codes


def iter_encode(
    image: Any,
    bank: FilterBank,
    *,
    out: str | os.PathLike[str] | Output,
    missing: Any = None,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    sigma: float | None = None,
    beta: float | None = None,
    n_jobs: int | None = None,
    memory: int | str | None = None,
    resume: bool = False,
    cancellation: Cancellation = NEVER,
) -> Updates:
    """Code as ``encode`` does, yielding updates; the last one holds the codes.

    Wrong arguments raise at the call. ``tick`` is called often; it may raise to cancel.
    """
    if not isinstance(bank, FilterBank):
        raise TypeError(f"bank must be a FilterBank, but is a {type(bank).__name__}")
    options = Options.checked(
        bank=bank,
        sigma=sigma,
        strength=1.0,
        quality="balanced",
        method="scsc-paper",
        seed=0,
        n_jobs=n_jobs,
        out=_checked_output(out),
        memory=memory,
        resume=resume,
    )
    if beta is not None:
        beta = check_float("beta", beta, above=0)
    source = open_samples(image, missing, kind, axes)
    check_sigma(options.sigma, source)
    check_bank(bank, source)
    folder = PartialFolder(options.out, source, options, "encode", beta=beta, start=_start_of(bank))
    return hold_to_one_thread(encode_updates(source, bank, beta, options, folder, cancellation))


def denoise(
    image: Any,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    bank: FilterBank | None = None,
    sigma: float | None = None,
    strength: float = 1.0,
    quality: Quality = "balanced",
    method: str = "scsc",
    seed: int = 0,
    n_jobs: int | None = None,
    out: Any = None,
    memory: int | str | None = None,
    resume: bool = False,
    progress: Callable[[RestoreUpdate], None] | None = None,
) -> Any:
    """Take the noise out of an image.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type.
    kind : str, optional
        "image", "rgb", "video", "stack", "multispectral", "light-field" or "time-lapse".
        Guessed from labels and shape where that is possible.
    axes : str, sequence of str or Axes, optional
        Labels of the axes in the image's own order, such as "yxc"; ``Axes`` also says what each
        is for.
    bank : FilterBank, optional
        Filters learned elsewhere. Without it they are learned from the image.
    sigma : float, optional
        Standard deviation of the noise, in the units of the image. Without it the noise is
        estimated, and may depend on brightness.
    strength : float
        1 takes away the noise that is there; less is gentler, more is smoother.
    quality : {"draft", "fast", "balanced", "best"}
        What to spend: about 1/50 : 1 : 3 : 8 in time. A draft thresholds each patch by itself,
        and is some 3 dB behind the others.
    method : {"scsc", "scsc-paper", "ocsc-paper"}
        "scsc" groups similar patches, each group with weights of its own. The others are the
        inference of the paper, and of its predecessor, for comparison.
    seed : int
        The same seed gives the same result.
    n_jobs : int, optional
        Threads; all cores unless given. The result does not depend on it.
    out : path, Output or array, optional
        Where the result goes. A path that ends in .zarr, .ome.zarr, .tif or .npy: it is computed
        block by block in bounded memory, by whatever scheduler dask has, and the file appears
        when it is whole; returned is a lazy array of it. An array of the shape and type of the
        image (numpy, zarr): it is filled, and returned. Without it, the result is like the image:
        of a dask array, a lazy dask array, for which only noise and filters were found.
    memory : int or str, optional
        How much to take for a result that goes to a file, such as "2 GB".
    resume : bool
        Go on with a file that was begun, and broke off.
    progress : callable, optional
        Called with each update of ``iter_denoise``; it may raise to cancel.

    Returns
    -------
    array
        Like the image: the same kind of array, shape and type of values.
    """
    options = Options.checked(
        bank=bank,
        sigma=sigma,
        strength=strength,
        quality=quality,
        method=method,
        seed=seed,
        n_jobs=n_jobs,
        out=out,
        memory=memory,
        resume=resume,
    )
    return run_to_end(_begin(image, kind, axes, options, progress is not None, None), progress)


def iter_denoise(
    image: Any,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    bank: FilterBank | None = None,
    sigma: float | None = None,
    strength: float = 1.0,
    quality: Quality = "balanced",
    method: str = "scsc",
    seed: int = 0,
    n_jobs: int | None = None,
    out: Any = None,
    memory: int | str | None = None,
    resume: bool = False,
    cancellation: Cancellation = NEVER,
) -> Updates:
    """Denoise as ``denoise`` does, yielding updates; the last one holds the result.

    Wrong arguments raise at the call. ``tick`` is called often, also from other threads; it may
    raise to cancel.
    """
    options = Options.checked(
        bank=bank,
        sigma=sigma,
        strength=strength,
        quality=quality,
        method=method,
        seed=seed,
        n_jobs=n_jobs,
        out=out,
        memory=memory,
        resume=resume,
    )
    return _begin(image, kind, axes, options, True, cancellation)


def inpaint(
    image: Any,
    missing: Any = None,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    bank: FilterBank | None = None,
    sigma: float | None = None,
    strength: float = 1.0,
    quality: Quality = "balanced",
    method: str = "scsc",
    seed: int = 0,
    n_jobs: int | None = None,
    out: Any = None,
    memory: int | str | None = None,
    resume: bool = False,
    progress: Callable[[RestoreUpdate], None] | None = None,
) -> Any:
    """Fill what is missing in an image.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type. NaN is missing.
    missing : array, optional
        True (or not zero) where the image is not known: of the shape of the image, of its last
        axes, or of its shift axes. Values there are not looked at.
    sigma : float, optional
        Standard deviation of the noise of the known values, in the units of the image: they are
        then denoised as well. Without it they are kept as they are, to the bit.
    kind, axes, bank, strength, quality, method, seed, n_jobs, out, memory, resume, progress
        See ``denoise``.

    Returns
    -------
    array
        Like the image: the same kind of array, shape and type of values. A RestorationWarning
        tells of holes that are wider than the filters; they are filled smoothly.
    """
    return run_to_end(
        iter_inpaint(
            image,
            missing,
            kind=kind,
            axes=axes,
            bank=bank,
            sigma=sigma,
            strength=strength,
            quality=quality,
            method=method,
            seed=seed,
            n_jobs=n_jobs,
            out=out,
            memory=memory,
            resume=resume,
        ),
        progress,
    )


def iter_inpaint(
    image: Any,
    missing: Any = None,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    bank: FilterBank | None = None,
    sigma: float | None = None,
    strength: float = 1.0,
    quality: Quality = "balanced",
    method: str = "scsc",
    seed: int = 0,
    n_jobs: int | None = None,
    out: Any = None,
    memory: int | str | None = None,
    resume: bool = False,
    cancellation: Cancellation = NEVER,
) -> Updates:
    """Inpaint as ``inpaint`` does, yielding updates; the last one holds the result.

    Wrong arguments raise at the call. ``tick`` is called often, also from other threads; it may
    raise to cancel.
    """
    options = Options.checked(
        bank=bank,
        sigma=sigma,
        strength=strength,
        quality=quality,
        method=method,
        seed=seed,
        n_jobs=n_jobs,
        out=out,
        memory=memory,
        resume=resume,
    )
    source = open_samples(image, missing, kind, axes)
    check_sigma(options.sigma, source)
    if not source.has_missing and source.is_known_whole:
        raise ValueError(
            "nothing is missing: the mask is empty and the image holds no NaN; "
            "to take noise out of a complete image, use denoise"
        )
    _check_samples(source)
    if options.bank is not None:
        check_bank(options.bank, source)
    check_out(out, source)
    workspace = open_result_folder(source, options, "inpaint")
    return hold_to_one_thread(inpaint_updates(source, options, workspace, cancellation))


def estimate_noise(
    image: Any,
    missing: Any = None,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
) -> Noise:
    """Estimate the noise of an image of any kind, in its units; see ``denoise`` for arguments."""
    source = open_samples(image, missing, kind, axes)
    with single_threaded():
        return find_noise(source, None)
