"""Units of length and time: the words that OME-Zarr allows, which napari and pint know too."""

from __future__ import annotations

import re
from typing import Any

_PREFIXES = {
    **{"y": ("yocto", -24), "z": ("zepto", -21), "a": ("atto", -18), "f": ("femto", -15)},
    **{"p": ("pico", -12), "n": ("nano", -9), "µ": ("micro", -6), "m": ("milli", -3)},
    **{"c": ("centi", -2), "d": ("deci", -1), "": ("", 0), "h": ("hecto", 2), "k": ("kilo", 3)},
    **{"M": ("mega", 6), "G": ("giga", 9), "T": ("tera", 12), "P": ("peta", 15)},
    **{"E": ("exa", 18), "Z": ("zetta", 21), "Y": ("yotta", 24)},
}
METRES = {
    **{f"{word}meter": 10.0**power for word, power in _PREFIXES.values()},
    **{"angstrom": 1e-10, "inch": 0.0254, "foot": 0.3048, "yard": 0.9144, "mile": 1609.344},
    "parsec": 3.0857e16,
}
SYMBOLS = {
    **{f"{word}meter": f"{symbol}m" for symbol, (word, _) in _PREFIXES.items()},
    **{f"{word}second": f"{symbol}s" for symbol, (word, _) in _PREFIXES.items()},
    **{"angstrom": "Å", "inch": "in", "foot": "ft", "yard": "yd", "mile": "mi", "parsec": "pc"},
    **{"minute": "min", "hour": "h", "day": "d"},
}
WORDS = {"space": set(METRES), "time": set(SYMBOLS) - set(METRES)}
_BY_SYMBOL = {
    **{symbol: word for word, symbol in SYMBOLS.items()},
    **{"micron": "micrometer", "microns": "micrometer", "sec": "second", "hr": "hour"},
}


def unit_word(unit: Any) -> str | None:
    """The word that OME and napari have for a unit of length or time, or None if it is neither.

    Words and symbols are known ("micrometer", "microns", "um", "µm"), and units of pint.
    """
    # Micro is written with the Greek letter, the sign made for it, or u; so is the angstrom.
    text = str(unit).strip().replace("\N{GREEK SMALL LETTER MU}", "µ").replace("\u212b", "Å")
    for symbol in (text, re.sub("^u(?=[ms]$)", "µ", text)):
        if symbol in _BY_SYMBOL:
            return _BY_SYMBOL[symbol]
    word = text.lower().replace("metre", "meter")
    return next((w for w in (word, word.removesuffix("s")) if w in SYMBOLS), None)
