"""A result is of one image: what was read of it is what is there at the end, for every process."""

from __future__ import annotations

import os
import pickle
import shutil

import dask
import dask.array as da
import numpy as np
import pytest
import zarr

from napari_scsc import (
    denoise,
    encode,
    inpaint,
    iter_denoise,
    iter_encode,
    learn,
    open_codes,
    samples,
)
from napari_scsc.data import fingerprint
from napari_scsc.restore import passes
from napari_scsc.run import block_grid, blocks, proof
from napari_scsc.run.block_grid import BlockGrid
from napari_scsc.run.blocks import BlockRecords, BlockRun
from napari_scsc.run.updates import BlocksDone, RegionRestored

OPTIONS = {"kind": "image", "quality": "draft", "sigma": 10.0, "n_jobs": 1, "memory": "100 MB"}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks and chunks in an image that takes a second."""
    monkeypatch.setattr(passes, "_bytes_per_point", lambda *_: 2e4)
    monkeypatch.setattr(block_grid, "CHUNK_VALUES", 3000)


@pytest.fixture
def image():
    return samples.noisy_tissue((130, 110)).astype(np.float32)


def begin(updates, kind=BlocksDone, done=0.3):
    """Go on until some is done."""
    next(u for u in updates if isinstance(u, kind) and u.done > done)
    return updates


@pytest.mark.parametrize("at", [(5, 5), (125, 105)])
def test_array_that_changes_while_it_is_restored_is_told(image, at):
    updates = begin(iter_denoise(image, **OPTIONS), RegionRestored)
    image[at] += 1
    with pytest.raises(ValueError, match="changed while it was restored"):
        list(updates)


@pytest.mark.parametrize("at", [(5, 5), (125, 105)])
def test_file_that_changes_while_it_is_restored_is_told(image, tmp_path, at):
    np.save(tmp_path / "in.npy", image)
    source = np.load(tmp_path / "in.npy", mmap_mode="r")
    updates = begin(iter_denoise(source, out=tmp_path / "a.npy", **OPTIONS))
    image[at] += 1
    np.save(tmp_path / "in.npy", image)
    with pytest.raises(ValueError, match="changed while it was restored"):
        list(updates)
    assert not (tmp_path / "a.npy").exists()


def test_change_in_a_large_image_is_found_wherever_it_is(image, tmp_path, monkeypatch):
    """Of a large image only some tiles are looked at before the start."""
    monkeypatch.setattr(fingerprint, "_MAX_VALUES_READ_WHOLE", 1)
    monkeypatch.setattr(fingerprint, "_VALUES_PER_TILE", 16)
    monkeypatch.setattr(fingerprint, "_MAX_TILES", 1)
    path = tmp_path / "a.zarr"
    for resumes in (False, True):
        changing = image.copy()
        updates = begin(iter_denoise(changing, out=path, **OPTIONS), done=0.5)
        if resumes:
            updates.close()
            changing[3::30, 3::30] += 1  # in every block: nobody knows which were read
            updates = iter_denoise(changing, out=path, resume=True, **OPTIONS)
        else:
            changing[3, 3] += 1
        with pytest.raises(ValueError, match=r"changed while it was restored.* remove .*\.partial"):
            list(updates)
        assert not path.exists()
        shutil.rmtree(tmp_path / "a.zarr.partial")


def test_known_values_of_a_change_that_was_undone_are_not_kept(image, tmp_path, monkeypatch):
    """They are read when a chunk is written, which is later than the blocks that fill its holes."""
    holes = np.random.default_rng(0).random(image.shape) < 0.2
    options = {k: v for k, v in OPTIONS.items() if k != "sigma"}
    path, changing, write = tmp_path / "a.zarr", image.copy(), blocks._write_chunk

    def change_when_all_blocks_were_read(run, number, needed):
        if len(BlockRecords(run).numbers("reads")) == run.grid.n_blocks:
            changing[...] = image + 1
        return write(run, number, needed)

    with monkeypatch.context() as patch:
        patch.setattr(blocks, "_write_chunk", change_when_all_blocks_were_read)
        with pytest.raises(ValueError, match="changed while it was restored"):
            inpaint(changing, holes, out=path, **options)
    changing[...] = image
    with pytest.raises(ValueError, match="changed while it was restored"):
        inpaint(changing, holes, out=path, resume=True, **options)


def test_codes_of_an_image_that_changes_are_told(image, tmp_path):
    bank = learn([image], kind="image", model="scsc", tiles=1, filter_shape=(5, 5), n_base=4)
    options = {"kind": "image", "n_jobs": 1, "memory": "100 MB"}
    updates = iter_encode(image, bank, out=tmp_path / "a.codes.zarr", **options)
    begin(updates, done=0.0)
    image[0, 0] += 1
    with pytest.raises(ValueError, match="changed while it was restored"):
        list(updates)
    assert not (tmp_path / "a.codes.zarr").exists()
    encode(image, bank, out=tmp_path / "b.codes.zarr", **options)
    assert open_codes(tmp_path / "b.codes.zarr").reconstruct().compute().shape == image.shape


def test_record_that_was_broken_off_is_not_taken_for_another(tmp_path):
    run = BlockRun(None, None, BlockGrid((), (), (), (), ()), tmp_path, None)
    run.record("blocks", 12)
    (log,) = tmp_path.glob("blocks-*")
    whole = log.read_bytes()
    for n_bytes in range(len(whole)):  # as on a disk that was full
        log.write_bytes(whole[:n_bytes])
        run.record("blocks", 34)
        assert BlockRecords(run).numbers("blocks") in ({34}, {12, 34})
        if n_bytes < len(whole) - 1:
            assert BlockRecords(run).numbers("blocks") == {34}


# --- chunks that are not there --------------------------------------------------------------------


@pytest.fixture
def stored(image, tmp_path):
    zarr.create_array(str(tmp_path / "in.zarr"), data=image, chunks=(32, 32))
    return zarr.open_array(str(tmp_path / "in.zarr"), mode="r")


def test_zarr_that_is_gone_is_not_taken_for_zeros(stored, tmp_path):
    elsewhere = pickle.loads(pickle.dumps(stored))
    os.rename(tmp_path / "in.zarr", tmp_path / "moved")
    for array in (stored, elsewhere):
        with pytest.raises(ValueError, match="cannot be reached"):
            denoise(array, **OPTIONS)


@pytest.mark.parametrize("lazy", [False, True])
def test_chunk_that_goes_during_a_run_is_told(stored, tmp_path, lazy):
    source = da.from_zarr(stored) if lazy else stored
    updates = begin(iter_denoise(source, out=tmp_path / "a.npy", **OPTIONS))
    (tmp_path / "in.zarr" / "c" / "3" / "3").unlink()
    with pytest.raises(ValueError, match="changed while it was restored"):
        list(updates)
    assert not (tmp_path / "a.npy").exists()


def test_chunks_that_were_never_written_are_told(stored, image, tmp_path):
    (tmp_path / "in.zarr" / "c" / "3" / "3").unlink()
    with pytest.warns(UserWarning, match=r"1 of 20 chunks .* are not there.* fill value 0"):
        denoise(stored, **OPTIONS)


# --- other processes ------------------------------------------------------------------------------


def test_process_that_sees_another_image_is_refused(image, stored, tmp_path):
    """As a worker of a cluster with a folder of its own under the same path."""
    made = proof.Proof.of(blocks_of(stored))
    proof._proven.clear()
    made.check(blocks_of(image))
    proof._proven.clear()
    with pytest.raises(ValueError, match="sees other values of the image"):
        made.check(blocks_of(image * 0 + np.arange(110, dtype=np.float32)))


def test_process_with_other_versions_is_refused(image):
    made = proof.Proof.of(blocks_of(image))
    other = proof.Proof(made.values, (*made.environment, ("numpy", "1.0")))
    with pytest.raises(ValueError, match=r"numpy .* instead of 1\.0: install the same versions"):
        other.check(blocks_of(image))


def blocks_of(image):
    from napari_scsc.data.samples import open_samples

    return open_samples(image, None, "image", None)


def test_processes_prove_that_they_see_the_image(stored, tmp_path, monkeypatch):
    """The client's proof is of the image that it sees, and a worker makes its own."""
    asked = []
    check = proof.Proof.check
    monkeypatch.setattr(proof.Proof, "check", lambda *a: asked.append(1) or check(*a))
    monkeypatch.setattr(blocks, "has_other_processes", lambda: True)
    expected = denoise(stored, **OPTIONS)
    result = denoise(stored, out=tmp_path / "a.npy", **OPTIONS)
    np.testing.assert_array_equal(result, expected)
    assert asked


def test_threads_need_no_proof():
    from napari_scsc.run.executors import has_other_processes

    assert not has_other_processes()
    for scheduler, other in {"threads": False, "synchronous": False, "processes": True}.items():
        with dask.config.set(scheduler=scheduler):
            assert has_other_processes() == other
