"""The numerical figures of mueller2013.

Figures 1, 4, 8 and 11 are drawings of the systems.
"""

from __future__ import annotations

from chasles.reproduce.box_linkages import (
    figure_5,
    figure_6,
    figure_7,
    figure_9,
    figure_10,
    figure_12,
    figure_13,
    figure_14,
    figure_15,
)
from chasles.reproduce.box_top import figure_2, figure_3

FIGURES = {
    2: figure_2,
    3: figure_3,
    5: figure_5,
    6: figure_6,
    7: figure_7,
    9: figure_9,
    10: figure_10,
    12: figure_12,
    13: figure_13,
    14: figure_14,
    15: figure_15,
}
