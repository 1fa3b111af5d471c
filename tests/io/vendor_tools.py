"""Files of microscopes that tests write, where the packages are that can."""

from __future__ import annotations

import numpy as np
import pytest


def write_czi(path, values):
    """A CZI of two channels, (t, c, z, y, x); the test is skipped where nothing writes such."""
    pytest.importorskip("bioio_czi")
    czi = pytest.importorskip("pylibCZIrw.czi")
    with czi.create_czi(str(path)) as file:
        for t, c, z in np.ndindex(values.shape[:3]):
            file.write(data=values[t, c, z][..., None], plane={"T": t, "C": c, "Z": z})
        shown = {
            i: czi.ChannelDisplaySettingsDataClass(True, czi.TintingMode.Color, colour, 0.0, 0.5)
            for i, colour in enumerate((czi.Rgb8Color(0, 0, 255), czi.Rgb8Color(0, 255, 127)))
        }
        file.write_metadata(
            "a",
            channel_names={0: "DAPI", 1: "GFP"},
            display_settings=shown,
            scale_x=1e-7,
            scale_y=2e-7,
            scale_z=5e-7,
        )
