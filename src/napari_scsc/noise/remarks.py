"""What is said of the noise that was found."""

from __future__ import annotations

_GIVE = "measure the standard deviation in an empty area and give it as sigma"
_CONSTANT = "all pixels have the same value: there is nothing to estimate the noise from"
_NOISELESS = (
    "no noise was found: large parts are perfectly even, as in drawn or already smoothed images; "
    f"if you see noise, {_GIVE}"
)
_TINY = f"the image is too small to estimate its noise, the figure is a rough guess: {_GIVE}"
_SMALL = f"the image is small, so the noise is known roughly only: if you can, {_GIVE}"
_TEXTURED = (
    "there is hardly a flat part, so fine structure and noise cannot be told apart: the noise may "
    f"be weaker than estimated, or stronger if it forms blotches; {_GIVE}"
)
_BLURRED = (
    "the noise of neighbouring pixels is alike, as after smoothing, resizing, registration, "
    "demosaicing or lossy compression: some of it will stay as blotches; restore the raw data if "
    "you have them, or shrink the image by two first"
)
_STRIPED = (
    "the noise forms stripes along rows or columns, as from a camera's readout or a scan: they "
    "will not be removed completely; correct them first if you can"
)
_INVERTED = (
    "dark pixels are noisier than bright ones, as if the contrast were inverted: undo that, "
    "and the noise can be described as photon noise"
)
_MAYBE = (
    "bright pixels may be noisier than dark ones (photon noise), but there is too little to see by "
    "how much; estimate the noise from more images, or give sigma"
)
_COARSE = (
    "the noise is smaller than the steps between the values, so it is hardly recorded: "
    f"use the data before they were reduced to so few levels, or {_GIVE}"
)
_CLIPPED = (
    "{share:.3g} % of the pixels have the lowest or the highest value possible (clipped or "
    "saturated): they were left out, and the noise there is smaller than estimated"
)
