"""The scalar types that steps and operations on spaces are compiled for: one state, four states, or one state with its
derivatives in three directions. The arrays of the last two have four doubles a number."""

from __future__ import annotations

from typing import Any

from chasles.kernel.dual import dual_of
from chasles.kernel.lanes import WIDTH, lanes_of
from chasles.kernel.policy import kernel

ON_SCALARS, ON_LANES, ON_DUALS = "scalar", "lanes", "duals"
WIDTHS = {ON_SCALARS: 1, ON_LANES: WIDTH, ON_DUALS: WIDTH}


@kernel
def scalar_zero():
    return 0.0


@kernel
def lanes_zero():
    return lanes_of(0.0)


@kernel
def dual_zero():
    return dual_of(0.0)


# the zero of a type tells a kernel what it runs on
ZEROS: dict[str, Any] = {ON_SCALARS: scalar_zero, ON_LANES: lanes_zero, ON_DUALS: dual_zero}
