"""Celledoni, Cokaj, Leone, Murari, Owren, "Lie group integrators for mechanical systems" (2022): its numerical figures.

Figures 1, 4 and 12 are drawings of the systems.
"""

from __future__ import annotations

from chasles.reproduce.chain_004 import figure_8, figure_9, figure_10, figure_11
from chasles.reproduce.heavy_top_004 import figure_2, figure_3
from chasles.reproduce.pendulum_004 import figure_5, figure_6, figure_7
from chasles.reproduce.quadrotors_004 import figure_13, figure_14, figure_15, figure_16, figure_17, figure_18

FIGURES = {
    2: figure_2,
    3: figure_3,
    5: figure_5,
    6: figure_6,
    7: figure_7,
    8: figure_8,
    9: figure_9,
    10: figure_10,
    11: figure_11,
    13: figure_13,
    14: figure_14,
    15: figure_15,
    16: figure_16,
    17: figure_17,
    18: figure_18,
}
