"""The types of what loops and operations are called with: references to named tuples, and of the workspace. This needs
Numba (see `kernel.late`)."""

from __future__ import annotations

from numba import types

from chasles.absolute.tables import lane_tables_of, tables_of
from chasles.constrained.correction import CorrectionPass, Step
from chasles.constrained.tables import plan_of
from chasles.constrained.workspace import Call, ForceCall, LaneCall, make_workspace
from chasles.kernel.code.lanes import LANES
from chasles.kernel.code.reference import Reference, at_address

FLOATS, INTEGERS = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")
CALL = Reference(
    types.NamedTuple(
        [FLOATS, INTEGERS, *[FLOATS] * 5, INTEGERS, *[FLOATS] * 4, INTEGERS, INTEGERS, *[types.int64] * 3],
        Call,
    )
)
FORCE_CALL = Reference(
    types.NamedTuple([*[types.float64] * 3, FLOATS, INTEGERS, *[FLOATS] * 9, types.int64], ForceCall)
)
STEP = Reference(types.NamedTuple([*[types.float64] * 6, *[types.int64] * 3], Step))
ITERATION = Reference(types.NamedTuple([types.float64, types.boolean, types.int64], CorrectionPass))
# the workspace from its address
workspace_at = at_address(
    make_workspace.made.kind(
        [
            *(INTEGERS, FLOATS, tables_of.made.kind, INTEGERS, plan_of.made.kind),
            *(INTEGERS, FLOATS, FLOATS, INTEGERS, INTEGERS, FLOATS, *[FLOATS] * 9),
        ]
    )
)
# and that of four runs on lanes
ON_LANES = types.Array(LANES, 1, "C")
LANE_CALL = Reference(
    types.NamedTuple(
        [INTEGERS, FLOATS, INTEGERS, *[FLOATS] * 5, INTEGERS, *[FLOATS] * 4, INTEGERS, *[types.int64] * 3], LaneCall
    )
)
lane_workspace_at = at_address(
    make_workspace.made.kind(
        [
            *(INTEGERS, ON_LANES, lane_tables_of.made.kind(LANES), INTEGERS, plan_of.made.kind),
            *(INTEGERS, FLOATS, FLOATS, INTEGERS, INTEGERS, ON_LANES, *[ON_LANES] * 9),
        ],
        LANES,
    )
)
