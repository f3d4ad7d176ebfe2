"""A study for mueller2022: its combinations of coordinates.

The paper has one figure, a scheme, and announces experiments as future work. The figures here are those experiments.
"""

from __future__ import annotations

from chasles.reproduce.coordinate_figures import figure_1, figure_2, figure_3, figure_4
from chasles.reproduce.implicit_methods import figure_5

FIGURES = {1: figure_1, 2: figure_2, 3: figure_3, 4: figure_4, 5: figure_5}
