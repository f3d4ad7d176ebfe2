"""What the derivatives of forces are made of: the arrays of a `ForceCall`, with poses and twists of the bodies."""

from __future__ import annotations

from typing import Any, NamedTuple

from chasles.absolute.forces import set_states
from chasles.absolute.tables import force_work_of, forces_of
from chasles.constrained.tables import plan_of
from chasles.kernel.policy import kernel


class Job(NamedTuple):
    """What the derivatives of each force are made of, and added to."""

    t: float
    s: float
    ratio: float
    forces: Any
    slots: Any
    coupled: Any
    states: Any
    scratch: Any
    blocks: Any
    matrix: Any
    law_wrenches: Any
    tiles: Any
    wrenches: Any
    acted: Any
    first: int


@kernel(allocates=True)
def job_of(call):
    """A job, with the motions of the bodies in the workspace of the forces."""
    forces, plan = forces_of(call.mechanism), plan_of(call.structure)
    space = force_work_of(call.force_work, call.mechanism)
    set_states(forces.bodies, forces.n, call.q, call.v, space.states)
    return Job(
        *(call.t, call.s, call.ratio, forces, plan.slots, plan.coupled, space.states, space.scratch),
        *(call.blocks, call.matrix, call.law_wrenches, call.tiles, call.wrenches, call.acted, call.first),
    )
