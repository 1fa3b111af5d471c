from __future__ import annotations

import json

import numpy as np
import pytest

from napari_scsc import samples
from napari_scsc.data.samples import open_samples
from napari_scsc.errors import Message, Remedy, UserError
from napari_scsc.noise import remarks
from napari_scsc.noise.find import given_noise
from napari_scsc.noise.model import Noise
from napari_scsc.noise.working import check_sigma


def test_variance_is_never_negative():
    found = Noise(1.0, 0.5, -2.0, False, True, ())
    np.testing.assert_allclose(found.variance(np.array([0.0, 4.0, 10.0])), [0, 0, 3])


def test_noise_comes_back_from_json():
    said = (remarks.TEXTURED, remarks.STRIPED, Message("is 3, but should not", "sigma"))
    noise = Noise(1.5, 0.25, -2.0, True, False, said)
    assert Noise.from_json(json.loads(json.dumps(noise.to_json()))) == noise


def test_remarks_of_version_0_1_are_read():
    written = Noise(1.5, 0.25, -2.0, True, False, ()).to_json()
    found = Noise.from_json({**written, "remarks": ["the image is small"]})
    assert found.remarks == (Message("the image is small"),)


@pytest.mark.parametrize(("name", "value"), [("sigma", -1), ("gain", "2"), ("offset", None)])
def test_noise_that_cannot_be_is_not_read(name, value):
    written = Noise(1.5, 0.25, -2.0, True, False, ()).to_json()
    with pytest.raises(UserError, match=name):
        Noise.from_json({**written, name: value})


def test_sigma_that_cannot_be_meant_is_said_of_sigma():
    source = open_samples(samples.tissue((32, 32)), None, "image", None)
    (remark,) = given_noise(source, 50.0).remarks
    assert remark.argument == "sigma"
    assert str(remark).startswith("sigma is 50, but all values of the image lie within")
    with pytest.raises(UserError, match=r"^sigma is 1e-12, but the values of the image") as raised:
        check_sigma(1e-12, source)
    assert raised.value.message.argument == "sigma"
    check_sigma(None, source)
    check_sigma(0.1, source)


def test_front_ends_can_say_how_to_give_sigma():
    words = remarks.SMALL.render(remedies={Remedy.GIVE_SIGMA: "fill in the field"})
    assert words.endswith(": fill in the field")
