"""What the functions of Python say, in the words of the dock."""

from __future__ import annotations

import re

_TRANSLATED = (
    (
        r"inpaint\(image, None\) fills them, and denoises with sigma=\.\.\.",
        "choose the task Inpaint; to take noise out as well, type its level into 'noise'",
    ),
    (
        r"mark them as missing, as in inpaint\(image, ~np\.isfinite\(image\)\)",
        "cover them with a Labels layer, choose the task Inpaint and that layer as the mask",
    ),
    (
        r"nothing is missing: the mask is empty and the image holds no NaN; .*",
        "nothing is marked as missing: choose a Labels or Shapes layer as the mask (the one that "
        "is chosen may be empty, and the image holds no NaN)",
    ),
    (r"\bgive it as sigma\b", "type it into 'noise'"),
    (r"\bgive sigma\b", "type the noise level into 'noise'"),
    (r"\bsigma is\b", "the noise level is"),
    (r"; drop the axis, or choose another kind", ": set it to 'separate', or choose another kind"),
)


def in_the_dock(text: str) -> str:
    """The same for somebody who sees no code."""
    for pattern, words in _TRANSLATED:
        text = re.sub(pattern, words, text)
    return text
