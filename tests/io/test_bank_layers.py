from __future__ import annotations

import numpy as np
import pytest
from layer_tools import RNG, bank_of, read, read_one

from napari_scsc import SCSC, FileFormatError, FilterBank, LatticeSCSC
from napari_scsc.io import layers


@pytest.mark.parametrize(
    ("shape", "n_joint", "info", "labels"),
    [
        ((4, 5, 7), 0, {}, ("filter", "y", "x")),
        ((4, 9), 0, {}, ("filter", "x")),
        ((4, 3, 5, 5), 1, {"kind": "rgb"}, ("filter", "c", "y", "x")),
        ((4, 3, 5, 5), 0, {"kind": "video"}, ("filter", "t", "y", "x")),
        ((4, 3, 3, 5, 5), 2, {"kind": "light-field"}, ("filter", "u", "v", "y", "x")),
        ((4, 5, 5), 0, {"kind": "time-lapse"}, ("filter", "y", "x")),
        ((4, 3, 5, 5), 1, {}, ("filter", "joint 1", "y", "x")),
        ((4, 3, 5, 5), 0, {"kind": "image"}, ("filter", "shift 1", "y", "x")),
    ],
)
def test_bank_opens_as_filters_and_is_saved_again(tmp_path, shape, n_joint, info, labels):
    bank = bank_of(shape, n_joint, **info)
    bank.save(tmp_path / "cells.scsc")
    data, arguments = read_one(tmp_path / "cells.scsc")
    np.testing.assert_array_equal(data, bank.filters)
    assert arguments["axis_labels"] == labels
    low, high = arguments["contrast_limits"]
    assert -low == high == pytest.approx(np.abs(bank.filters).max())
    known = arguments["metadata"]["napari_scsc"]
    assert (known["kind"], known["id"], arguments["rgb"]) == ("filter bank", bank.id, False)
    assert known["path"] == str((tmp_path / "cells.scsc").resolve())

    again = tmp_path / "again.scsc"
    assert layers.write_bank(str(again), data, arguments) == [str(again)]
    loaded = FilterBank.load(again)
    assert (loaded.id, loaded.n_joint) == (bank.id, n_joint)
    assert dict(loaded.info) | info == dict(loaded.info)


def test_bank_of_zeros_still_has_contrast(tmp_path):
    FilterBank(np.zeros((2, 3, 3), np.float32)).save(tmp_path / "a.scsc")
    assert read_one(tmp_path / "a.scsc")[1]["contrast_limits"] == (-1, 1)


def test_checkpoint_is_called_what_it_is(tmp_path):
    model = SCSC(n_base=2, n_filters=3, filter_shape=(3, 3), max_iter=2)
    sample = RNG.standard_normal((12, 12)).astype(np.float32)
    model.partial_fit(sample)
    model.checkpoint(tmp_path / "a.scsc")
    with pytest.raises(FileFormatError, match=r"is a checkpoint.* SCSC\.resume"):
        read(tmp_path / "a.scsc")
    lattice = LatticeSCSC(2, (3, 3), sigma=0.1)
    lattice.partial_fit(sample)
    lattice.checkpoint(tmp_path / "b.scsc")
    with pytest.raises(FileFormatError, match=r"is a checkpoint.* LatticeSCSC\.resume"):
        read(tmp_path / "b.scsc")


def test_wrong_bank_says_which_file_and_why(tmp_path):
    (tmp_path / "a.scsc").write_bytes(b"no bank")
    with pytest.raises(FileFormatError, match=r"a\.scsc: not a readable napari-scsc filter bank"):
        read(tmp_path / "a.scsc")


def test_only_layers_of_filters_are_written(tmp_path):
    path = tmp_path / "a.scsc"
    with pytest.raises(TypeError, match="'nuclei' is not a layer of filters"):
        layers.write_bank(str(path), np.ones((3, 3)), {"name": "nuclei", "metadata": {}})
    bank = bank_of()
    attributes = {"name": "filters", "metadata": {"napari_scsc": {"bank": bank}}}
    with pytest.raises(TypeError, match="no longer shows"):
        layers.write_bank(str(path), bank.filters + 1, attributes)
    assert list(tmp_path.iterdir()) == []
