from __future__ import annotations

import pint
import pytest

from napari_scsc.io.units import unit_word


@pytest.mark.parametrize(
    ("unit", "word"),
    [
        ("um", "micrometer"),
        ("µm", "micrometer"),
        ("\N{GREEK SMALL LETTER MU}m", "micrometer"),
        ("microns", "micrometer"),
        ("Micrometre", "micrometer"),
        (pint.Unit("um"), "micrometer"),
        (pint.Unit("micron"), "micrometer"),
        ("mm", "millimeter"),
        ("Mm", "megameter"),
        ("m", "meter"),
        ("Å", "angstrom"),
        ("ms", "millisecond"),
        ("us", "microsecond"),
        ("s", "second"),
        ("seconds", "second"),
        ("min", "minute"),
        ("h", "hour"),
        ("pixel", None),
        (pint.Unit("pixel"), None),
        ("", None),
        ("kelvin", None),
        (None, None),
    ],
)
def test_units_become_the_words_of_ome(unit, word):
    assert unit_word(unit) == word
