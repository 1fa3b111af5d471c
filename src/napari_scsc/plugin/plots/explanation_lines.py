"""An explanation of a pixel in a few lines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from napari_scsc.plugin.plots.plot_content import PlotContent

if TYPE_CHECKING:
    from napari_scsc.restore.explain import Explanation

_MOST = 6  # filters that have a line of their own
_NOTHING = 0.005  # of the scale: less than a pixel of a bar


@dataclass(frozen=True, slots=True)
class ExplanationLine:
    """What one filter, or several together, add to the pixel.

    Attributes
    ----------
    name : str
        Such as "B 4".
    part : float
        What it adds to the result.
    before : float or None
        What it adds to the source, if that is known.
    number : int or None
        That of the filter, if it is one.
    mean : bool
        Whether it is a constant filter, or what no filter explains: filters without a constant one
        among them leave the local mean.
    """

    name: str
    part: float
    before: float | None
    number: int | None = None
    mean: bool = False


def lines_of(explanation: Explanation, content: PlotContent | None) -> list[ExplanationLine]:
    """The filters that add most, all others, and what no filter explains if that can be seen."""
    parts = np.nan_to_num(explanation.parts, posinf=0, neginf=0)
    known = explanation.parts_before
    before = None if known is None else np.nan_to_num(known, posinf=0, neginf=0)
    count = min(_MOST, int(np.count_nonzero(parts)))
    lines = [
        _of_filter(int(number), parts[i], None if before is None else before[i], content)
        for i, number in enumerate(explanation.filters[:count])
    ]
    if others := len(parts) - count:
        lines.append(
            ExplanationLine(
                f"{others} other{'s' if others > 1 else ''}",
                float(parts[count:].sum()),
                None if before is None else float(before[count:].sum()),
            )
        )
    if abs(explanation.rest) > _NOTHING * scale_of(lines):
        lines.append(
            ExplanationLine(
                "no filter", float(explanation.rest), rest_before(explanation), mean=True
            )
        )
    return lines


def rest_before(explanation: Explanation) -> float | None:
    """What no filter explains of the source, if that is known."""
    if explanation.before is None or explanation.parts_before is None:
        return None
    return float(explanation.before - explanation.parts_before.sum())


def _of_filter(
    number: int, part: float, before: float | None, content: PlotContent | None
) -> ExplanationLine:
    mean = content is not None and number < len(content.filters) and content.is_mean(number)
    name = f"B {number} (mean)" if mean else f"B {number}"
    return ExplanationLine(
        name, float(part), None if before is None else float(before), number, mean
    )


def scale_of(lines: list[ExplanationLine]) -> float:
    """What a full bar stands for.

    The local mean is nearly all of the value: it does not count if there are other lines, which
    could not be seen beside it.
    """
    detail = [line for line in lines if not line.mean]
    return _largest(detail) or _largest(lines) or 1.0


def _largest(lines: list[ExplanationLine]) -> float:
    return max((abs(v) for line in lines for v in (line.part, line.before or 0.0)), default=0.0)


def amount(value: float, scale: float, sign: str = "") -> str:
    """A number with as many decimals as bars of that scale deserve."""
    if not 1e-4 <= scale < 1e6:
        return f"{value:{sign}.3g}"
    decimals = max(0, 2 - math.floor(math.log10(scale)))
    return f"{value:{sign}z.{decimals}f}"
