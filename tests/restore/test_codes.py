"""Codes of images of any size: they say what the paper's method says, whatever happens between."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from cancelling import CallingCancellation
from cli_tools import run, succeed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal as filtering

from napari_scsc import (
    SCSC,
    FileFormatError,
    FilterBank,
    Output,
    denoise,
    encode,
    inpaint,
    iter_encode,
    open_codes,
    samples,
)
from napari_scsc.cancellation import NEVER
from napari_scsc.data.samples import open_samples
from napari_scsc.noise.working import WorkingValues
from napari_scsc.restore import paper
from napari_scsc.restore.paper import TileCoder
from napari_scsc.run.blocks import BlockRecords
from napari_scsc.run.updates import BlocksDone, Finished, NoiseFound

TILE, OVERLAP = {1: 64, 2: 40, 3: 12}, {1: 16, 2: 10, 3: 4}
OPTIONS = {"kind": "image", "n_jobs": 1}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks in an image that takes a second."""
    monkeypatch.setattr(paper, "CODE_TILE_SIDES", TILE)
    monkeypatch.setattr(paper, "_OVERLAPS", OVERLAP)


def make_bank(support=(5, 5), joint=(), n_base=4, n_filters=6, **more):
    rng = np.random.default_rng(0)
    filters = rng.standard_normal((n_base, *joint, *support)).astype(np.float32)
    filters /= np.sqrt((filters**2).sum(axis=tuple(range(1, filters.ndim)), keepdims=True))
    weights = np.eye(n_base, n_filters, dtype=np.float32) + 0.1
    weights /= np.linalg.norm(weights, axis=0)
    known = {"n_base": n_base, "n_filters": n_filters, "filter_shape": support, "max_iter": 8}
    known |= {"n_joint": len(joint), **more}
    return FilterBank(filters, len(joint), weights, settings=known)


@pytest.fixture(scope="module")
def bank():
    return make_bank()


@pytest.fixture(scope="module")
def noisy():
    clean = samples.tissue((90, 75))
    noise = np.random.default_rng(0).normal(0, 0.02, clean.shape)
    return (1000 * (clean + noise + 1)).astype(np.uint16)


def files_of(folder):
    """All that is in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


# --- what the codes say -------------------------------------------------------------------------


def test_code_of_a_block_is_the_convolution_that_the_paper_has(noisy, bank, tmp_path):
    image = noisy.astype(np.float32)
    codes = encode(image, bank, out=tmp_path / "a.zarr", sigma=20.0, **OPTIONS)
    assert codes.n_blocks == len(codes) > 3
    assert codes.density > 0.001
    low, high = float(image.min()), float(image.max())
    for number in range(codes.n_blocks):
        block = codes.block(number)
        maps = block.Z.toarray().reshape(-1, *block.reach)
        filters = np.einsum("rk,rij->kij", block.W, bank.filters)
        detail = sum(filtering.convolve(z, d, "valid") for z, d in zip(maps, filters, strict=True))
        expected = low + (high - low) * (block.smooth[0] + detail)
        found = codes.reconstruct(number)
        assert found.shape == noisy[block.region].shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * (high - low))


def test_code_of_a_block_is_that_of_the_learner(noisy, bank, tmp_path):
    image = noisy.astype(np.float32)
    codes = encode(image, bank, out=tmp_path / "a.zarr", sigma=20.0, **OPTIONS)
    block = codes.block(2)
    work = (image[block.region] - image.min()) / np.ptp(image)
    expected = SCSC.from_bank(bank, beta=codes.beta).encode(work - block.smooth[0])
    np.testing.assert_allclose(block.W, expected.W, atol=1e-3)
    np.testing.assert_allclose(
        block.Z.toarray(), expected.Z.reshape(len(expected.Z), -1), atol=1e-3
    )


def noisy_data(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    smooth = np.cumsum(rng.normal(0, 1, shape), axis=-1)
    values = smooth + rng.normal(0, 0.5, shape)
    values = 100 * (values - values.min()) / np.ptp(values)
    return (values + 20).astype(dtype)


KINDS = {
    "image": ((70, 55), (5, 5), ()),
    "rgb": ((50, 44, 3), (4, 5), (3,)),
    "multispectral": ((4, 45, 50), (5, 4), (4,)),
    "time-lapse": ((3, 42, 45), (5, 5), ()),
    "video": ((9, 20, 17), (2, 3, 4), ()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_whole_of_the_codes_is_what_the_method_of_the_paper_gives(kind, dtype, tmp_path):
    shape, support, joint = KINDS[kind]
    image, bank = noisy_data(shape, dtype, 0), make_bank(support, joint)
    codes = encode(image, bank, out=tmp_path / "a.zarr", kind=kind, sigma=4.0, n_jobs=1)
    expected = denoise(image, kind=kind, bank=bank, sigma=4.0, method="scsc-paper", n_jobs=1)
    found = codes.reconstruct()
    assert isinstance(found, da.Array)
    assert (found.shape, found.dtype) == (image.shape, image.dtype)
    rounding = 1 if image.dtype.kind in "iu" else 1e-4 * np.ptp(image)
    np.testing.assert_allclose(
        np.asarray(found, float), np.asarray(expected, float), atol=rounding, rtol=0
    )
    assert codes.n_blocks > 1
    assert 0 < codes.density < 0.5


@settings(max_examples=12)
@given(
    shape=st.tuples(st.integers(8, 60), st.integers(8, 60)),
    dtype=st.sampled_from(["int16", "uint32", "float32"]),
    seed=st.integers(0, 9),
    beta=st.sampled_from([None, 1.0, 50.0]),
)
def test_codes_of_any_image_say_what_the_method_says(shape, dtype, seed, beta, tmp_path_factory):
    image, bank = noisy_data(shape, dtype, seed), make_bank()
    out = tmp_path_factory.mktemp("codes") / "a.zarr"
    codes = encode(image, bank, out=out, sigma=4.0, beta=beta, **OPTIONS)
    strength = 1.0 if beta is None else beta / 4
    expected = denoise(
        image, bank=bank, sigma=4.0, strength=strength, method="scsc-paper", **OPTIONS
    )
    rounding = 1 if image.dtype.kind in "iu" else 1e-4 * np.ptp(image)
    found = np.asarray(codes.reconstruct(), float)
    np.testing.assert_allclose(found, np.asarray(expected, float), atol=rounding, rtol=0)


def test_noise_is_found_as_for_denoising(noisy, bank, tmp_path):
    codes = encode(noisy, bank, out=tmp_path / "a.zarr", **OPTIONS)
    expected = denoise(noisy, bank=bank, method="scsc-paper", **OPTIONS)
    np.testing.assert_allclose(np.asarray(codes.reconstruct(), int), expected, atol=1)
    assert codes.noise.sigma == pytest.approx(20, rel=0.3)


def test_larger_price_gives_a_sparser_code(noisy, bank, tmp_path):
    found = [
        encode(noisy, bank, out=tmp_path / f"{beta}.zarr", sigma=20.0, beta=beta, **OPTIONS)
        for beta in (1.0, 4.0)
    ]
    assert found[0].density > 2 * found[1].density > 0
    counts = sum(found[0].block(n).Z.nnz for n in range(len(found[0])))
    assert counts == found[0].n_nonzero


def test_places_axes_scale_and_bank_are_kept(noisy, bank, tmp_path):
    video = np.stack([noisy, noisy[::-1]])
    out = Output(tmp_path / "a.zarr", (1.0, 0.5, 0.25), ("second", "micrometer", "micrometer"))
    made = encode(video, bank, out=out, kind="time-lapse", n_jobs=1)
    codes = open_codes(tmp_path / "a.zarr")
    assert codes.axes == made.axes
    assert codes.axes.labels == ("t", "y", "x")
    assert (codes.scale, codes.units) == (out.scale, out.units)
    np.testing.assert_array_equal(codes.bank.filters, bank.filters)
    np.testing.assert_array_equal(codes.bank.weights, bank.weights)
    assert dict(codes.bank.settings) == dict(bank.settings)
    covered = np.zeros(video.shape, int)
    group = zarr.open_group(tmp_path / "a.zarr", mode="r")
    assert group.metadata.zarr_format == 3
    for number in range(len(codes)):
        region = codes.block(number).region
        assert [s.start for s in region] == group["start"][number].tolist()
        assert [s.stop for s in region] == group["stop"][number].tolist()
        covered[region] += 1
    assert covered.min() == 1
    with pytest.raises(IndexError, match="blocks"):
        codes.block(len(codes))


def test_codes_can_be_sent_without_their_arrays(noisy, bank, tmp_path):
    codes = encode(noisy, bank, out=tmp_path / "a.zarr", **OPTIONS)
    expected = codes.reconstruct().compute()
    sent = pickle.dumps(codes)
    assert len(sent) < noisy.nbytes
    np.testing.assert_array_equal(pickle.loads(sent).reconstruct().compute(), expected)
    part = codes.reconstruct()[:10, 5:9].compute(scheduler="synchronous")
    np.testing.assert_array_equal(part, expected[:10, 5:9])


# --- what is missing ----------------------------------------------------------------------------


class Slices:
    """An array that says which parts of it were asked for."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.sizes = []

    def __getitem__(self, region):
        self.sizes.append(self.values[region].size)
        return self.values[region]


def test_mask_is_read_block_by_block(noisy, bank, tmp_path, monkeypatch):
    monkeypatch.setattr("napari_scsc.data.samples._MAX_VALUES_MEASURED", 1000)
    missing = np.random.default_rng(1).random(noisy.shape) < 0.2
    mask, image = Slices(missing), da.from_array(noisy, chunks=30)
    codes = encode(image, bank, missing=mask, out=tmp_path / "a.zarr", sigma=20.0, **OPTIONS)
    coded = [size for size in mask.sizes if size == TILE[2] ** 2]
    assert len(coded) == 2 * len(codes)  # and once more at the end: it must still be the same
    spoiled = np.where(missing, 0, noisy).astype(noisy.dtype)
    other = encode(spoiled, bank, missing=missing, out=tmp_path / "b.zarr", sigma=20.0, **OPTIONS)
    for number in range(len(codes)):  # nothing that is missing was looked at
        np.testing.assert_allclose(
            codes.block(number).smooth, other.block(number).smooth, atol=1e-6
        )


def test_codes_of_what_is_known_are_those_of_inpainting(noisy, bank, tmp_path):
    missing = np.random.default_rng(1).random(noisy.shape) < 0.2
    codes = encode(noisy, bank, missing=missing, out=tmp_path / "a.zarr", sigma=20.0, **OPTIONS)
    expected = inpaint(noisy, missing, bank=bank, sigma=20.0, method="scsc-paper", **OPTIONS)
    np.testing.assert_allclose(np.asarray(codes.reconstruct(), int), expected, atol=1)


def test_nan_is_missing_and_a_block_of_it_has_no_code(noisy, bank, tmp_path):
    image = noisy.astype(np.float32)
    image[:45, :45] = np.nan
    codes = encode(image, bank, out=tmp_path / "a.zarr", sigma=20.0, **OPTIONS)
    first, last = codes.block(0), codes.block(len(codes) - 1)
    assert first.Z.nnz == 0
    assert not first.W.any()
    assert last.Z.nnz > 0
    assert np.isfinite(np.asarray(codes.reconstruct())).all()


def test_inpainting_by_the_paper_bears_a_hole_of_the_size_of_a_block(noisy, bank):
    image = noisy.astype(np.float32)
    image[:45, :45] = np.nan
    filled = inpaint(image, bank=bank, method="scsc-paper", **OPTIONS)
    assert np.isfinite(filled).all()
    known = ~np.isnan(image)
    np.testing.assert_array_equal(filled[known], image[known])


# --- whatever happens ---------------------------------------------------------------------------


@pytest.fixture
def made(monkeypatch):
    """The blocks that were coded, each in no less than a tenth of a second."""
    made = []
    code = TileCoder.code

    def slowly(self, samples, index, part, cancellation=NEVER):
        for _ in range(5):
            time.sleep(0.02)
            cancellation.check()
        made.append((index, tuple(s.start for s in part)))
        return code(self, samples, index, part, cancellation)

    monkeypatch.setattr(TileCoder, "code", slowly)
    return made


def test_cancelling_leaves_what_is_done_and_resuming_gives_the_same_bytes(
    noisy, bank, tmp_path, made
):
    encode(noisy, bank, out=tmp_path / "whole.zarr", **OPTIONS)
    total = len(made)
    made.clear()

    def tick():
        if len(made) > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        for _ in iter_encode(
            noisy, bank, out=tmp_path / "a.zarr", cancellation=CallingCancellation(tick), **OPTIONS
        ):
            pass
    assert not (tmp_path / "a.zarr").exists()
    assert (tmp_path / "a.zarr.partial").exists()
    assert not [t for t in threading.enumerate() if t.name == "napari-scsc blocks"]
    with pytest.raises(FileExistsError, match="resume"):
        encode(noisy, bank, out=tmp_path / "a.zarr", **OPTIONS)
    before = len(made)
    assert before < total
    encode(noisy, bank, out=tmp_path / "a.zarr", resume=True, **OPTIONS)
    assert len(made) <= total + 1  # the one that was under way
    assert files_of(tmp_path / "a.zarr") == files_of(tmp_path / "whole.zarr")
    assert not (tmp_path / "a.zarr.partial").exists()


def test_coding_of_a_block_can_be_cancelled_in_any_iteration(noisy, bank):
    model = SCSC.from_bank(bank, beta=1e-3, tol=0.0)
    sample = noisy[:40, :40] / noisy.max() - 0.5
    calls = []

    def tick():
        calls.append(1)
        if len(calls) == stop:
            raise InterruptedError

    stop = 0
    model.encode(sample, cancellation=CallingCancellation(tick))
    total = len(calls)
    assert total >= model.settings.max_iter
    stop = total - 1
    calls.clear()
    with pytest.raises(InterruptedError):
        model.encode(sample, cancellation=CallingCancellation(tick))
    assert len(calls) == stop


KILLED = """
import sys, time
import numpy as np
from napari_scsc import FilterBank, encode
from napari_scsc.restore import paper
from napari_scsc.run.blocks import BlockRun

paper.CODE_TILE_SIDES, paper._OVERLAPS = {tile}, {overlap}
record = BlockRun.record

def slowly(run, *what):
    record(run, *what)
    print("block", flush=True)
    time.sleep(0.2)

BlockRun.record = slowly
if __name__ == "__main__":
    encode(np.load("image.npy"), FilterBank.load("bank.scsc"), out="a.zarr", kind="image", n_jobs=1)
"""


def test_killed_run_resumes_to_the_same_bytes(noisy, bank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("image.npy", noisy)
    bank.save("bank.scsc")
    bank = FilterBank.load("bank.scsc")  # with what saving adds to it
    encode(noisy, bank, out="whole.zarr", **OPTIONS)
    program = KILLED.format(tile=TILE, overlap=OVERLAP)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with child:
        for _ in range(2):
            assert child.stdout.readline() == "block\n"
        child.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    assert not Path("a.zarr").exists()
    assert Path("a.zarr.partial").exists()
    encode(noisy, bank, out="a.zarr", resume=True, **OPTIONS)
    assert files_of("a.zarr") == files_of("whole.zarr")


def test_run_killed_before_its_last_step_is_finished(noisy, bank, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr("napari_scsc.run.partial.PartialFolder.publish", fail)
        with pytest.raises(OSError, match="gone"):
            encode(noisy, bank, out=tmp_path / "a.zarr", **OPTIONS)
    codes = encode(noisy, bank, out=tmp_path / "a.zarr", resume=True, **OPTIONS)
    assert codes.n_nonzero > 0
    assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]


def test_error_in_a_block_is_told_and_the_rest_can_be_resumed(noisy, bank, tmp_path):
    is_broken = True

    def broken(block, block_info=None):
        if is_broken and block_info and block_info[0]["chunk-location"] == (2, 1):
            raise OSError("the disk is gone")
        return block

    image = da.from_array(noisy, chunks=30).map_blocks(broken, dtype=noisy.dtype)
    with pytest.raises(OSError, match="the disk is gone"):
        encode(image, bank, out=tmp_path / "a.zarr", **OPTIONS)
    is_broken = False
    encode(image, bank, out=tmp_path / "a.zarr", resume=True, **OPTIONS)


def test_scheduler_and_number_of_threads_change_nothing(noisy, bank, tmp_path):
    encode(noisy, bank, out=tmp_path / "1.zarr", **OPTIONS)
    encode(noisy, bank, out=tmp_path / "2.zarr", kind="image", n_jobs=2)
    with dask.config.set(scheduler="synchronous"):
        encode(noisy, bank, out=tmp_path / "3.zarr", **OPTIONS)
    first = files_of(tmp_path / "1.zarr")
    assert files_of(tmp_path / "2.zarr") == first
    assert files_of(tmp_path / "3.zarr") == first


def test_progress_goes_up_to_the_end(noisy, bank, tmp_path):
    seen = []
    codes = encode(noisy, bank, out=tmp_path / "a.zarr", progress=seen.append, **OPTIONS)
    assert [u.done for u in seen] == sorted(u.done for u in seen)
    assert {type(u) for u in seen} == {NoiseFound, BlocksDone, Finished}
    assert seen[-1].result is codes
    assert seen[-1].done == 1


@pytest.mark.parametrize("n_filters", [10, 400])
def test_blocks_fit_into_the_memory(n_filters, monkeypatch):
    monkeypatch.undo()
    source = open_samples(noisy_data((400, 300), "float32", 0), None, "image", None)
    from napari_scsc.noise.find import given_noise

    working = WorkingValues(source, given_noise(source, 1.0))
    bank = make_bank(n_filters=n_filters)
    coder = TileCoder.of(bank, source, working, 0.1, memory=20_000_000)
    assert coder.memory <= 20_000_000
    assert all(s > o + 5 for s, o in zip(coder.size, coder.overlap, strict=True))
    free = TileCoder.of(bank, source, working, 0.1)
    assert (coder.size == free.size) == (free.memory <= 20_000_000)


# --- what is wrong ------------------------------------------------------------------------------


WRONG = {
    "no bank": ({"bank": None}, TypeError, "bank must be a FilterBank"),
    "path of a bank": ({"bank": "bank.scsc"}, TypeError, "bank must be a FilterBank"),
    "bank for colours": ({"bank": make_bank((5, 5), (3,))}, ValueError, "joint axes"),
    "bank for volumes": ({"bank": make_bank((3, 3, 3))}, ValueError, "shift axes"),
    "large filters": ({"bank": make_bank((5, 99))}, ValueError, "smaller than the filters"),
    "kind": ({"kind": "video"}, ValueError, "video"),
    "constant": ({"image": np.full((50, 40), 7)}, ValueError, "constant"),
    "infinite": ({"image": np.full((50, 40), np.inf)}, ValueError, "infinite"),
    "unknown": ({"image": np.full((50, 40), np.nan)}, ValueError, "missing"),
    "mask": ({"missing": np.zeros((3, 3), bool)}, ValueError, "mask"),
    "beta": ({"beta": 0}, ValueError, "beta"),
    "sigma": ({"sigma": -1}, ValueError, "sigma"),
    "name": ({"out": "new.tif"}, ValueError, r"ends in \.zarr"),
    "name of an image": ({"out": "new.ome.zarr"}, ValueError, r"ends in \.zarr"),
    "memory": ({"memory": "much"}, ValueError, "memory"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_before_anything_is_written(noisy, bank, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    changes, error, words = WRONG[name]
    arguments = {"image": noisy, "bank": bank, "out": "new.zarr", **OPTIONS, **changes}
    with pytest.raises(error, match=words):
        encode(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_nor_mixed(noisy, bank, tmp_path):
    target = tmp_path / "a.zarr"
    updates = iter_encode(noisy, bank, out=target, **OPTIONS)
    next(update for update in updates if isinstance(update, BlocksDone))
    updates.close()
    others = FilterBank(bank.filters, 0, bank.weights[:, ::-1], bank.settings)
    more = {**OPTIONS, "out": target, "resume": True}
    with pytest.raises(ValueError, match="beta"):
        encode(noisy, bank, beta=2.0, **more)
    with pytest.raises(ValueError, match="start"):
        encode(noisy, others, **more)
    with pytest.raises(ValueError, match="image or mask"):
        encode(noisy[::-1], bank, **more)
    encode(noisy, bank, **more)
    before = files_of(target)
    with pytest.raises(FileExistsError, match="already"):
        encode(noisy, bank, out=target, **OPTIONS)
    assert files_of(target) == before


def test_what_are_no_codes_is_refused(noisy, bank, tmp_path):
    with pytest.raises(FileNotFoundError):
        open_codes(tmp_path / "none.zarr")
    zarr.save_array(tmp_path / "image.zarr", noisy)
    bank.save(tmp_path / "bank.scsc")
    zarr.create_group(tmp_path / "group.zarr")
    for name in ("image.zarr", "bank.scsc", "group.zarr"):
        with pytest.raises(FileFormatError, match="not napari-scsc codes"):
            open_codes(tmp_path / name)


def change(path, edit):
    document = json.loads(Path(path, "zarr.json").read_text("utf-8"))
    edit(document["attributes"]["napari_scsc"])
    Path(path, "zarr.json").write_text(json.dumps(document), "utf-8")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda header: header.update(version=99), "update"),
        (lambda header: header.pop("n_nonzero"), "n_nonzero"),
        (lambda header: header.update(beta="much"), "beta"),
        (lambda header: header["image"].update(shape=[0, 3]), "length"),
        (lambda header: header["image"].update(dtype="O"), "type"),
        (lambda header: header["blocks"].update(size=[40]), "size"),
        (lambda header: header["blocks"].update(overlap=[40, 40]), "share 40"),
        (lambda header: header["bank"].update(n_joint=7), "shift axes"),
    ],
)
def test_damaged_header_is_told(noisy, bank, tmp_path, edit, words):
    encode(noisy, bank, out=tmp_path / "a.zarr", **OPTIONS)
    change(tmp_path / "a.zarr", edit)
    with pytest.raises(FileFormatError, match=words):
        open_codes(tmp_path / "a.zarr")


def test_damaged_code_is_told(noisy, bank, tmp_path):
    codes = encode(noisy, bank, out=tmp_path / "a.zarr", **OPTIONS)
    zarr.open_array(tmp_path / "a.zarr", path="Z/indices", mode="r+")[1, 0] = 1 << 30
    zarr.open_array(tmp_path / "a.zarr", path="Z/indptr", mode="r+")[2, -1] = 1 << 40
    codes.block(0)
    for number in (1, 2):
        with pytest.raises(FileFormatError, match=f"block {number} is damaged"):
            codes.block(number)


# --- the command line ---------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch, noisy, bank):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", noisy)
    np.save("b.npy", noisy[::-1])
    np.save("mask.npy", np.random.default_rng(0).random(noisy.shape) < 0.1)
    bank.save("bank.scsc")
    return tmp_path


def test_command_gives_the_codes_of_the_function(folder, noisy):
    done = succeed("encode", "a.npy", "--bank", "bank.scsc", "-o", "a.codes.zarr", "--json")
    facts = json.loads(done.stdout)
    bank = FilterBank.load("bank.scsc")
    codes = encode(noisy, bank, out="b.codes.zarr", kind="image")
    assert files_of("a.codes.zarr") == files_of("b.codes.zarr")
    assert facts["output"] == "a.codes.zarr"
    assert facts["blocks"] == codes.n_blocks
    assert facts["density"] == codes.density
    told = json.loads(succeed("info", "a.codes.zarr", "--json").stdout)
    assert told["blocks"] == codes.n_blocks
    assert told["bank"] == bank.id
    refused = run("denoise", "a.codes.zarr", "-o", "new.tif")
    assert refused.exit_code == 1
    assert "a.codes.zarr: holds codes, not an image" in refused.stderr


def test_command_takes_a_mask_a_price_and_several_inputs(folder, noisy):
    options = ("--mask", "mask.npy", "--beta", 3, "--sigma", 20, "--memory", "200MB")
    succeed("encode", "a.npy", "b.npy", "--bank", "bank.scsc", "-o", "codes", *options)
    assert sorted(os.listdir("codes")) == ["a.codes.zarr", "b.codes.zarr"]
    more = {"missing": np.load("mask.npy"), "beta": 3, "sigma": 20, "memory": "200 MB"}
    encode(noisy, FilterBank.load("bank.scsc"), out="c.zarr", kind="image", **more)
    assert files_of("codes/a.codes.zarr") == files_of("c.zarr")
    again = succeed("encode", "a.npy", "--bank", "bank.scsc", "-o", "c.zarr", "--resume")
    assert "already" in again.stdout


def test_command_resumes(folder, noisy, made, monkeypatch):
    def stop(*_):
        if len(made) > 2:
            raise KeyboardInterrupt

    command = ("encode", "a.npy", "--bank", "bank.scsc", "-o", "a.zarr", "--jobs", 1)
    with monkeypatch.context() as patch:
        steps = BlockRecords.steps
        patch.setattr(BlockRecords, "steps", lambda records: stop() or steps(records))
        stopped = run(*command)
    assert stopped.exit_code == 130
    assert "--resume goes on with what is in a.zarr.partial" in stopped.stderr
    succeed(*command, "--resume")
    encode(noisy, FilterBank.load("bank.scsc"), out="b.zarr", **OPTIONS)
    assert files_of("a.zarr") == files_of("b.zarr")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("a.npy", "-o", "new.zarr"), 2, "--bank"),
        (("a.npy", "--bank", "bank.scsc", "-o", "-"), 2, "--out"),
        (("a.npy", "--bank", "bank.scsc", "-o", "new.tif"), 1, "new.tif"),
        (("a.npy", "--bank", "bank.scsc", "-o", "new.zarr", "--beta", "0"), 2, "--beta"),
        (("a.npy", "--bank", "bank.scsc", "-o", "new.zarr", "--kind", "rgb"), 1, "rgb"),
        (("a.npy", "--bank", "bank.scsc", "-o", "bank.scsc/new.zarr"), 1, "bank.scsc"),
        (("a.npy", "--bank", "mask.npy", "-o", "new.zarr"), 1, "mask.npy"),
    ],
)
def test_what_is_wrong_with_a_command_is_one_line(folder, args, code, words):
    result = run("encode", *args)
    assert result.exit_code == code
    (line,) = [t for t in result.stderr.splitlines() if not re.match(r"\S+: +\d+% ", t)]
    assert line.startswith("napari-scsc: ")
    assert words in line
    assert not [p.name for p in folder.iterdir() if p.name.startswith("new")]
