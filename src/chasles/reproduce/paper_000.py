"""Müller, Terze, "Is there an optimal choice of configuration space for Lie group integration schemes applied to
constrained MBS?" (2013): its numerical figures.

Figures 1, 4, 8 and 11 are drawings of the systems.
"""

from __future__ import annotations

from chasles.reproduce.heavy_top_000 import figure_2, figure_3
from chasles.reproduce.links_000 import (
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
