"""choices"""

from __future__ import annotations

from typing import Literal

Quality = Literal["draft", "fast", "balanced", "best"]
QUALITIES = ("draft", "fast", "balanced", "best")
