"""A pair of axes with what is drawn in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

OVER_TIME, CURVE, SPACE, BARS = "time", "curve", "space", "bars"  # what kind of axes
# over time: values, values held until each time, sizes of errors, sizes of what went before each time, counts that hold
# from then on
AS_LINES, AS_HELD, AS_SIZES, AS_STAIRS, AS_COUNTS = "lines", "held", "sizes", "stairs", "counts"


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `values` makes (times, series) of a part of the run, or the coordinates of a curve.

    `optional`: series that are left out if they are zero throughout.
    `compared`: the label if several runs are drawn, by the sizes of their values.
    """

    title: str
    label: str  # of the values, with unit
    series: tuple[str, ...]
    values: Callable[[Any], np.ndarray]
    kind: str = OVER_TIME
    drawn: str = AS_LINES
    across: str = "time $t$ [s]"
    compared: str = ""
    optional: tuple[int, ...] = ()
