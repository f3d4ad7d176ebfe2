"""The numerical figures of celledoni2022.

Figures 1, 4 and 12 are drawings of the systems. Figures 19 to 21 are not in the paper: experiments that it proposes.
"""

from __future__ import annotations

from chasles.reproduce.elastic_pendulums import figure_19
from chasles.reproduce.pendulum_chain import figure_8, figure_9, figure_10, figure_11
from chasles.reproduce.quadrotor_load import figure_13, figure_14, figure_15, figure_16, figure_17, figure_18
from chasles.reproduce.rod_groups import figure_20, figure_21
from chasles.reproduce.spinning_top import figure_2, figure_3
from chasles.reproduce.two_pendulums import figure_5, figure_6, figure_7

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
    19: figure_19,
    20: figure_20,
    21: figure_21,
}
