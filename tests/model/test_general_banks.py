"""The filters that come with the package."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from napari_scsc import general_bank
from napari_scsc.model.general_banks import GENERAL_BANK_KINDS


@pytest.mark.parametrize("kind", GENERAL_BANK_KINDS)
def test_filters_are_an_orthonormal_basis(kind):
    filters = general_bank(kind).filters
    flat = filters.reshape(len(filters), -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(len(flat)), atol=1e-5)


def test_they_are_small_and_say_where_they_come_from():
    folder = resources.files("napari_scsc.model") / "banks"
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 200_000
    for kind in GENERAL_BANK_KINDS:
        assert "synthetic" in general_bank(kind).info["learned_from"]


def test_other_kinds_are_refused_by_name():
    with pytest.raises(ValueError, match=r"image.*rgb.*video"):
        general_bank("light-field")
