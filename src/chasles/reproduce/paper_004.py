"""Celledoni, Cokaj, Leone, Murari, Owren, "Lie group integrators for mechanical systems" (2022): its numerical figures.

Figures 1, 4 and 12 are drawings of the systems.
"""

from __future__ import annotations

from chasles.reproduce.heavy_top_004 import figure_2, figure_3

FIGURES = {2: figure_2, 3: figure_3}
