"""What users are told of the noise that was found in their data."""

from __future__ import annotations

from napari_scsc.errors import Message, Remedy

_MEASURE = "the standard deviation of the noise can be measured in an empty area"

CONSTANT = Message("all pixels have the same value: there is nothing to estimate the noise from")
NOISELESS = Message(
    "no noise was found: large parts are perfectly even, as in drawn or already smoothed images; "
    f"if you see noise, {_MEASURE}",
    remedy=Remedy.GIVE_SIGMA,
)
TINY = Message(
    f"the image is too small to estimate its noise, the figure is a rough guess; {_MEASURE}",
    remedy=Remedy.GIVE_SIGMA,
)
SMALL = Message(
    f"the image is small, so the noise is known roughly only; {_MEASURE}",
    remedy=Remedy.GIVE_SIGMA,
)
TEXTURED = Message(
    "there is hardly a flat part, so fine structure and noise cannot be told apart: the noise may "
    f"be weaker than estimated, or stronger if it forms blotches; {_MEASURE}",
    remedy=Remedy.GIVE_SIGMA,
)
BLURRED = Message(
    "the noise of neighbouring pixels is alike, as after smoothing, resizing, registration, "
    "demosaicing or lossy compression, and some of it will stay as blotches",
    remedy="restore the raw data if you have them, or shrink the image by two first",
)
STRIPED = Message(
    "the noise forms stripes along rows or columns, as from a camera's readout or a scan, and they "
    "will not be removed completely",
    remedy="correct them first if you can",
)
INVERTED = Message(
    "dark pixels are noisier than bright ones, as if the contrast were inverted",
    remedy="undo that, and the noise can be described as photon noise",
)
MAYBE_PHOTONS = Message(
    "bright pixels may be noisier than dark ones (photon noise), but there is too little to see by "
    "how much; more images of the kind would tell",
    remedy=Remedy.GIVE_SIGMA,
)
COARSE = Message(
    "the noise is smaller than the steps between the values, so it is hardly recorded; the data "
    "from before they were reduced to so few levels would tell it",
    remedy=Remedy.GIVE_SIGMA,
)


def clipped_remark(share: float) -> Message:
    """What is said where that share of the pixels was clipped."""
    return Message(
        f"{100 * share:.3g} % of the pixels have the lowest or the highest value possible (clipped "
        "or saturated): they were left out, and the noise there is smaller than estimated"
    )
