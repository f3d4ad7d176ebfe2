"""Müller, "Singularity-free Lie group integration and geometrically consistent evaluation of multibody system models
described in terms of standard absolute coordinates" (2022): a study of its combinations of coordinates.

The paper has one figure, a scheme, and announces experiments as future work. The figures here are those experiments.
"""

from __future__ import annotations

from chasles.reproduce.figures_003 import figure_1, figure_2, figure_3, figure_4
from chasles.reproduce.implicit_003 import figure_5

FIGURES = {1: figure_1, 2: figure_2, 3: figure_3, 4: figure_4, 5: figure_5}
