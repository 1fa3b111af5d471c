"""Code an image of any size with the paper's model, block by block."""

from __future__ import annotations

import hashlib
import os
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from napari_scsc.cancellation import Cancellation
from napari_scsc.data.fingerprint import digest, has_digest, image_changed
from napari_scsc.data.samples import ImageSamples, check_bank
from napari_scsc.errors import UserError
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.find import find_noise
from napari_scsc.noise.working import WorkingValues, check_sigma
from napari_scsc.restore.codes import SUFFIX, Codes, open_codes
from napari_scsc.restore.options import RestoreOptions
from napari_scsc.restore.paper import TileCoder, code_price
from napari_scsc.restore.restoration import fingerprint_restoration
from napari_scsc.run.block_grid import BlockGrid, TileBlock
from napari_scsc.run.blocks import BlockRun, fill_store
from napari_scsc.run.executors import has_other_processes
from napari_scsc.run.partial import Output, PartialFolder
from napari_scsc.run.proof import Proof
from napari_scsc.run.updates import Finished, NoiseFound, Updates, hold_to_one_thread


def start_encoding(
    samples: ImageSamples,
    bank: FilterBank,
    beta: float | None,
    options: RestoreOptions,
    cancellation: Cancellation,
) -> Updates:
    """Check that all fits together, and begin; wrong arguments raise here."""
    check_sigma(options.sigma, samples)
    check_bank(bank, samples)
    options.check_out(samples)
    assert options.output is not None
    find_digest = cache(lambda: digest(samples))
    folder = PartialFolder(
        options.output,
        lambda: {
            **fingerprint_restoration("encode", samples, options, find_digest()),
            "beta": beta,
            "start": _digest_start(bank),
        },
        options.resume,
    )
    updates = _encode(samples, bank, beta, options, folder, find_digest(), cancellation)
    return hold_to_one_thread(folder.hold_during(updates))


def check_output(out: Any) -> Output:
    """Refuse a name that cannot be one of a folder of codes."""
    output = out if isinstance(out, Output) else Output(out)
    name = Path(output.path).name.lower()
    if not name.endswith(SUFFIX) or name == SUFFIX or name.endswith(".ome" + SUFFIX):
        raise UserError(
            f"codes go to a folder whose name ends in {SUFFIX}, as in a.codes.zarr",
            path=os.fspath(output.path),
        )
    return output


def _digest_start(bank: FilterBank) -> str:
    """What tells banks apart that have the same filters, and code in another way."""
    weights = b"" if bank.weights is None else bank.weights.astype("<f8").tobytes()
    settings = str(sorted(bank.settings.items())).encode()
    return hashlib.blake2b(weights + settings, digest_size=16).hexdigest()


def _encode(
    samples: ImageSamples,
    bank: FilterBank,
    beta: float | None,
    options: RestoreOptions,
    folder: PartialFolder,
    known: str,
    cancellation: Cancellation,
) -> Updates:
    noise = folder.noise(partial(find_noise, samples, options.noise_wish))
    if not samples.is_complete:
        noise = noise.as_white()
    if not samples.has_same_range():
        raise image_changed(folder.folder if options.resume else None)
    yield NoiseFound(noise)
    working = WorkingValues(samples, noise)
    price = code_price(bank, "sample", working.sigma, beta)
    coder = TileCoder.of(bank, samples, working, price, options.tile_memory)
    codes = Codes(
        path=(folder.folder / "result.zarr").absolute(),  # other processes work in other folders
        bank=coder.bank,
        shape=samples.image.shape,
        dtype=samples.image.dtype,
        axes=samples.axes,
        scale=folder.output.scale,
        units=folder.output.units,
        noise=noise,
        beta=price,
        n_filters=coder.model.settings.n_filters,
        n_nonzero=0,
        size=coder.size,
        overlap=coder.overlap,
        range=(samples.range.low, samples.range.high),
        precision=coder.model.settings.dtype,
    )
    if not codes.path.exists():
        codes.create()
    run = BlockRun(
        samples,
        coder,
        BlockGrid.of(samples, coder),
        folder.folder.absolute(),
        codes.store,
        proof=Proof.of(samples) if has_other_processes() else None,
    )
    yield from fill_store(run, _encode_block, options.tiles_at_a_time(coder.memory), cancellation)
    if not has_digest(samples, known):  # of what the noise was found in
        raise image_changed(folder.folder)
    folder.publish(codes.path)
    yield Finished(open_codes(folder.path), noise, bank, noise.remarks)


def _encode_block(
    samples: ImageSamples, coder: TileCoder, block: TileBlock, cancellation: Cancellation
) -> Any:
    """What is kept of a block."""
    from scipy import sparse

    from napari_scsc.io.codes import Coded

    smooth, code = coder.code(samples, block.index, block.tile.region, cancellation)
    settings = coder.model.settings
    if code is None:  # nothing of it is known
        ends = np.zeros(settings.n_filters + 1, np.int64)
        weights = np.zeros((settings.n_base, settings.n_filters), settings.real)
        none = np.zeros(0, settings.real)
        return Coded(weights, ends, none.astype(np.int32), none, smooth)
    rows = sparse.csr_array(code.Z.reshape(len(code.Z), -1))
    ends, positions = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    return Coded(code.W, ends, positions, rows.data, smooth)
