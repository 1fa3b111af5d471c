"""What users are told of the noise that was found in their data."""

from __future__ import annotations

from napari_scsc.errors import Message, Remedy

_MEASURE = "the standard deviation of the noise can be measured in an empty area"

CONSTANT = Message("all pixels have the same value: there is nothing to estimate the noise from")
NOISELESS = Message(
    "no noise was found: large parts are perfectly even, as in drawn or already smoothed images, "
    f"so the image is left as it is; if you see noise, {_MEASURE}",
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
UNSEEN = Message(
    "there is no flat part in which noise could be seen, so the image is left as it is; if you see "
    f"noise, {_MEASURE}",
    remedy=Remedy.GIVE_SIGMA,
)
BLURRED = Message(
    "the noise of neighbouring pixels is alike, as after smoothing, resizing, registration, "
    "demosaicing or lossy compression, there is too little to see how, and some of it will stay",
    remedy="restore the raw data if you have them, or shrink the image by two first",
)
STRIPED = Message(
    "the noise forms streaks along rows or columns, as from a scan, there is too little to see "
    "how, and some of them will stay",
    remedy="correct them first if you can",
)
CORRELATED = Message(
    "the noise of neighbouring pixels is alike, as after smoothing, resizing, registration, "
    "demosaicing or lossy compression: what was measured of it is taken into account"
)
MAYBE_CORRELATED = Message(
    "the noise of neighbouring pixels is alike, but there is hardly a flat part to see how: some "
    "of it may stay, or fine structure be taken for it",
    remedy="mark an empty area, or restore the raw data if you have them",
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
REPEATED = Message(
    "no noise was found: the same values repeat to the bit, as in patterns that were drawn, so the "
    f"image is left as it is; if you see noise, {_MEASURE}",
    remedy=Remedy.GIVE_SIGMA,
)
COARSE = Message(
    "if there is noise, it is smaller than the steps between the values and hardly recorded, so "
    "the image is left as it is; the data from before they were reduced to so few levels would "
    "tell it",
    remedy=Remedy.GIVE_SIGMA,
)
MOSTLY_COARSE = Message(
    "the noise is mostly smaller than the steps between the values, so it is hardly recorded; the "
    "data from before they were reduced to so few levels would tell it",
    remedy=Remedy.GIVE_SIGMA,
)


def clipped_remark(share: float) -> Message:
    """What is said where that share of the pixels was clipped."""
    return Message(
        f"{100 * share:.3g} % of the pixels have the lowest or the highest value possible (clipped "
        "or saturated): they were left out, and the noise there is smaller than estimated"
    )


def stripes_remark(rows: bool, columns: bool) -> Message:
    """What is said of errors that rows, or columns, share."""
    what = "rows and columns" if rows and columns else "rows" if rows else "columns"
    return Message(
        f"all pixels of some {what} share an error (stripes, as from a readout or a scan): "
        "it is estimated and taken away"
    )


def outliers_remark(share: float, is_sure: bool) -> Message:
    """What is said where that share of the pixels stands out of its surroundings."""
    text = f"about {share * 1e6:.0f} in a million pixels stand out of all pixels around them"
    if is_sure:
        return Message(f"{text} (hot, dead, cosmic rays): they are replaced")
    return Message(f"{text}, and are kept", remedy=Remedy.FILL_OUTLIERS)


FAR = Message(
    "a few values lie so far beyond all others that they would hide them: they are left as they "
    "are, and the noise is that of the rest",
    remedy=Remedy.FILL_OUTLIERS,
)
PATTERNED = Message(
    "pixels have an error of their own that is the same in all frames or planes (a fixed pattern, "
    "as of a camera): it is estimated and taken away"
)
CLEAN = (NOISELESS, REPEATED, COARSE)
"""What is told of an image that was seen well, and has no noise."""

SOME_CLEAN = Message(
    "no noise was found in some of the channels or frames, as in a channel of transparency: they "
    f"are left as they are; if you see noise in them, {_MEASURE}"
)
SOME_CONSTANT = Message(
    "some of the channels or frames have the same value everywhere: they are left as they are"
)


def of_some(remark: Message) -> Message:
    """What is said of an image, where it holds for some of its channels or frames."""
    if remark in CLEAN:
        return SOME_CLEAN
    return SOME_CONSTANT if remark == CONSTANT else remark


ALIKE = (CORRELATED, MAYBE_CORRELATED)
CERTAIN = (
    CORRELATED,
    PATTERNED,
    SOME_CONSTANT,
    stripes_remark(True, True),
    stripes_remark(True, False),
    stripes_remark(False, True),
)
"""What is told without any doubt in the figures."""
