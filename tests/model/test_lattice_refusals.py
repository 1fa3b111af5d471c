from __future__ import annotations

import numpy as np
import pytest
from lattice_samples import all_patches, flat, pictures

from napari_scsc import FileFormatError, FilterBank, LatticeSCSC, samples

# --- wrong arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"n_base": 0}, ValueError, "n_base"),
        ({"n_base": 2.5}, TypeError, "n_base"),
        ({"n_base": True}, TypeError, "n_base"),
        ({"filter_shape": ()}, ValueError, "filter_shape"),
        ({"filter_shape": (0, 3)}, ValueError, "filter_shape"),
        ({"filter_shape": (3, 3, 3, 3, 3)}, ValueError, "filter_shape"),
        ({"filter_shape": 5}, TypeError, "filter_shape"),
        ({"n_joint": -1}, ValueError, "n_joint"),
        ({"sigma": -0.1}, ValueError, "sigma"),
        ({"sigma": np.nan}, ValueError, "sigma"),
        ({"sigma": "0.1"}, TypeError, "sigma"),
        ({"forget": 1.0}, ValueError, "forget"),
        ({"forget": -0.1}, ValueError, "forget"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": "1"}, TypeError, "seed"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, word):
    with pytest.raises(error, match=word):
        LatticeSCSC(**arguments)


@pytest.mark.parametrize(
    ("sample", "error", "words"),
    [
        (np.zeros(20), ValueError, "axes"),
        (np.zeros((2, 20, 20)), ValueError, "axes"),
        (np.zeros((0, 20)), ValueError, "empty"),
        (np.zeros((7, 20)), ValueError, "at least as long"),
        (np.zeros((20, 20), complex), TypeError, "real numbers"),
        (np.zeros((20, 20), bool), TypeError, "real numbers"),
        (np.full((20, 20), np.nan), ValueError, "NaN"),
        (np.full((20, 20), np.inf), ValueError, "infinite"),
        (np.full((20, 20), 1e300), ValueError, "1e\\+300"),
    ],
)
def test_wrong_samples_are_refused_and_nothing_is_learned(sample, error, words):
    model = LatticeSCSC(6, (8, 8))
    with pytest.raises(error, match=words):
        model.partial_fit(sample)
    assert model.n_seen == 0
    with pytest.raises(ValueError, match="nothing was learned"):
        _ = model.bank


@pytest.mark.parametrize("n_base", [2, 49])
def test_number_of_filters_must_fit_their_shape(n_base):
    with pytest.raises(ValueError, match=r"3 \(the constants\) to 48"):
        LatticeSCSC(n_base, (4, 4), 1).partial_fit(pictures(1, (3, 20, 20))[0])


@pytest.mark.parametrize("n_base", [3, 48])
def test_fewest_and_most_filters_can_be_learned(n_base):
    model = LatticeSCSC(n_base, (4, 4), 1).fit(pictures(2, (3, 20, 20)))
    assert model.bank.n_base == n_base


def test_joint_axes_must_stay_the_same():
    model = LatticeSCSC(6, (4, 4), 1).fit(pictures(1, (3, 20, 20)))
    with pytest.raises(ValueError, match=r"\(3,\)"):
        model.partial_fit(pictures(1, (2, 20, 20))[0])
    assert model.n_seen == 1


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.ones((5, 5), bool), "shape"),
        (np.zeros((40, 36), bool), "nothing was measured"),
        (np.full((40, 36), 2.0), "True"),
    ],
)
def test_wrong_masks_are_refused(mask, words):
    with pytest.raises(ValueError, match=words):
        LatticeSCSC(6, (4, 4)).partial_fit(pictures(1)[0], mask)


@pytest.mark.parametrize(
    "x", [np.full((20, 20), 3.0), np.mgrid[:20, :20][0], np.eye(20), np.sin(np.mgrid[:20, :20][1])]
)
@pytest.mark.parametrize("n_base", [None, 12])
def test_filters_of_data_that_need_fewer_are_orthonormal_too(x, n_base):
    """Where the data vary in few directions only, the others are still no constants."""
    bank = LatticeSCSC(n_base, (4, 4), sigma=0.1).fit([x]).bank
    np.testing.assert_allclose(flat(bank) @ flat(bank).T, np.eye(bank.n_base), atol=1e-5)


def test_sample_of_the_size_of_a_filter_is_one_patch():
    model = LatticeSCSC(2, (6, 6)).fit(pictures(1, (6, 6)))
    patch = all_patches(pictures(1, (6, 6))[0], 0, (6, 6)).ravel()
    assert abs(flat(model.bank)[1] @ patch) == pytest.approx(np.linalg.norm(patch), rel=1e-5)


# --- files --------------------------------------------------------------------------------------


def test_nothing_learned_is_nothing_to_write(tmp_path):
    with pytest.raises(ValueError, match="nothing was learned"):
        LatticeSCSC().checkpoint(tmp_path / "none")
    assert not list(tmp_path.iterdir())


def test_notes_are_kept_with_a_checkpoint(tmp_path):
    model = LatticeSCSC(6, (4, 4)).fit(pictures())
    model.checkpoint(tmp_path / "plain")
    assert LatticeSCSC.notes(tmp_path / "plain") == ({}, {})
    model.checkpoint(tmp_path / "noted", {"a": [1, None, "b"]}, {"x": np.arange(3.0)})
    notes, arrays = LatticeSCSC.notes(tmp_path / "noted")
    assert notes == {"a": [1, None, "b"]}
    np.testing.assert_array_equal(arrays["x"], np.arange(3.0))
    assert LatticeSCSC.resume(tmp_path / "noted").bank.id == model.bank.id


def test_what_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "file"
    model = LatticeSCSC(6, (4, 4)).fit(pictures())
    with pytest.raises(FileNotFoundError):
        LatticeSCSC.resume(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(FileFormatError, match="file"):
        LatticeSCSC.resume(path)
    model.bank.save(path, overwrite=True)
    with pytest.raises(FileFormatError, match="filter bank"):
        LatticeSCSC.resume(path)
    model.checkpoint(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match="file"):
        LatticeSCSC.resume(path)


@pytest.mark.parametrize(
    "change",
    [
        {"joint": [2]},
        {"joint": "x"},
        {"joint": None},
        {"n_seen": -1},
        {"n_seen": 1.5},
        {"count": -1.0},
        {"count": "many"},
        {"seconds": None},
        {"arguments": {"n_base": 0}},
        {"arguments": {"no_such": 1}},
        {"arguments": [1]},
        {"version": 99},
    ],
)
def test_wrong_contents_of_a_checkpoint_are_refused(change, tmp_path, monkeypatch):
    model = LatticeSCSC(6, (4, 4)).fit(pictures())
    from napari_scsc.model import container

    write = container.write

    def write_changed(path, kind, version, header, arrays):
        header = {**header, **change}
        write(path, kind, header.pop("version", version), header, arrays)

    monkeypatch.setattr(container, "write", write_changed)
    model.checkpoint(tmp_path / "file")
    with pytest.raises(FileFormatError, match="file"):
        LatticeSCSC.resume(tmp_path / "file")


def test_bank_says_where_it_comes_from(tmp_path):
    bank = LatticeSCSC(6, (4, 4), seed=5).fit(pictures()).bank
    bank.save(tmp_path / "bank.scsc")
    loaded = FilterBank.load(tmp_path / "bank.scsc")
    assert loaded.id == bank.id
    assert loaded.info["learner"] == "lattice"
    assert loaded.info["n_samples"] == 4
    assert loaded.info["arguments"]["seed"] == 5


def test_picture_is_well_explained_by_few_filters():
    x = samples.tissue((96, 96))
    model = LatticeSCSC(16, (8, 8)).fit([x])
    patches = all_patches(x, 0, (8, 8)).reshape(-1, 64)
    kept = ((patches @ flat(model.bank).T) ** 2).sum() / (patches**2).sum()
    assert kept > 0.95
