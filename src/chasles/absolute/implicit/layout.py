"""Workspace and memory of the loops, and what they count."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from chasles.absolute.implicit.saddle import BLOCK
from chasles.absolute.implicit.scale import EXTENT, GOAL, ISLAND
from chasles.absolute.implicit.structure import SIZES, plan_of
from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD, MASS, tables_of, work_of
from chasles.constraint.rows import NUMBERS, ROWS, TURN
from chasles.force.table import FORCES, MOVING, SCRATCH
from chasles.kernel.address import as_integer_array
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel
from chasles.kernel.reference import Reference
from chasles.kernel.workspace import layout

# integer memory of a run. The first seven are those of all runs with fixed steps (`integrate.newton`); then the tile
# with the largest residual when a step failed, and what that residual is of: 0 position, 1 velocity
COUNTS = layout("COUNTS", step=1, rows=1, status=1, evaluations=1, iterations=1, matrices=1, tried=1, worst=1, level=1)
RUNNING, DONE, NOT_FINITE, NO_CONVERGENCE = range(4)
ITERATIONS = 40  # in a step, at most
TIMES = layout("TIMES", start=1, end=1, step=1, last=1)


# a point y of a run: central poses, velocities, counted angles, work of the forces
STATE_VECTOR = Regions("StateVector", q=POSE * SIZES.n_bodies, v=TWIST * SIZES.n_bodies, turns=SIZES.n_angles, done=1)
point_of, point_size = STATE_VECTOR.views, STATE_VECTOR.total
# what all methods share of a workspace; vectors have six numbers a body
WORKSPACE = Regions(
    "Workspace",
    old=ROWS.size * SIZES.n_tiles,  # rows of another point: of the begin of the step, or of the stage
    left=ROWS.size * SIZES.n_tiles,  # left rows of Newton's matrix; what J V of the tiles must be
    blocks=BLOCK.size * SIZES.n_bodies,  # of Newton's matrix
    matrix=9 * (SIZES.n_nodes + 2 * SIZES.n_lower),
    factors=9 * (SIZES.n_nodes + SIZES.n_lower),
    f=6 * SIZES.n_bodies,  # right-hand sides of motion and constraints, which become the solution
    d=6 * SIZES.n_bodies,
    g=3 * SIZES.n_nodes,
    new_q=POSE * SIZES.n_bodies,  # poses of the trial state
    wrenches=6 * SIZES.n_bodies,
    room=MOVING.size * SIZES.n_states + SCRATCH,  # of the forces
    power=2,  # of the forces, and their energy
    weights=MASS.size * SIZES.n_bodies,  # of positions that are corrected: a metric
    goals=GOAL.size * SIZES.n_bodies,  # of Newton's method, and lengths of the bodies (`scale`)
    islands=ISLAND.size * SIZES.n_bodies,
    extents=EXTENT.size * SIZES.n_bodies,
    unsolved=3 * SIZES.n_kept,  # right-hand side of a sweep, for the next one
    report=4,  # of a projection by the mechanism's own function
    stage_angles=SIZES.n_angles,  # counted angles at a stage
    spare=6 * SIZES.n_bodies,
)
workspace_of = WORKSPACE.views
# what the states of all methods end with: power of the forces, the step before, how fast Newton's method converged and
# steps since that was seen (of generalized alpha), one or two estimates of the error of the step relative to the
# tolerance; and of the counted angles their rates, or during a step the angles predicted for its end
CARRIED = {"power": 1, "last_step": 1, "contraction": 1, "unseen": 1, "errors": 2, "angles": SIZES.n_angles}
make_desk = joined(
    "Desk",
    "whole p tables packed plan counts history times stiffen y "
    "work motion rows kept_matrix kept_factors b a step",  # the last line is of the mechanism (`tables.WORK`)
    STATE_VECTOR,
    WORKSPACE,
)


class Call(NamedTuple):
    """What a loop is called with: all arrays of a run, and how far to go."""

    mechanism: Any  # packed
    structure: Any  # packed
    parameters: Any  # of the method
    state: Any  # what the method carries from step to step, beginning with the point
    kept: Any  # workspace of the mechanism's own functions, with the factor of its own matrix
    work: Any
    vectors: Any  # workspace of the method
    counts: Any
    history: Any
    times: Any
    saved_t: Any
    saved_y: Any
    stiffen: int  # address of the forces' derivatives, or 0
    limit: int  # steps to take at most
    total: int  # steps of the run
    every: int  # of how many steps one is saved, or 0


FLOATS, INTEGERS = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")
CALL = Reference(
    types.NamedTuple(
        [FLOATS, INTEGERS, *[FLOATS] * 5, INTEGERS, *[FLOATS] * 4, *[types.int64] * 4],
        Call,
    )
)


@kernel
def has_forces(whole):
    """Whether there are forces but gravity."""
    return whole[whole[HEAD.table] + FORCES.count] != 0


@kernel(allocates=True)
def desk_of(call):
    """All that the loops of all methods have at hand."""
    p, packed = call.mechanism, call.structure
    whole, y = as_integer_array(p), call.state[: point_size(packed)]
    kept = work_of(call.kept, whole)
    return make_desk(
        (
            *(whole, p, tables_of(p), packed, plan_of(packed), call.counts, call.history, call.times, call.stiffen, y),
            *(call.kept, kept.motion, kept.rows, kept.matrix, kept.factors, kept.x, kept.a, kept.velocity),
        ),
        point_of(y, packed),
        workspace_of(call.work, packed),
    )


def lengths_of(mechanism: AbsoluteMechanism) -> np.ndarray:
    """How large the bodies are [m]: their radii of gyration, or the distance of a joint from the center of mass."""
    masses = np.array([body.mass for body in mechanism.system.bodies])
    lengths = np.sqrt(mechanism.moments.max(axis=1, initial=0.0) / masses)
    for tile in mechanism.tiles:
        if tile.kind < TURN:
            for body, at in ((tile.first, NUMBERS.a), (tile.second, NUMBERS.b)):
                if body >= 0:
                    lengths[body] = max(lengths[body], float(np.linalg.norm(tile.numbers[at : at + 3])))
    return lengths


def set_lengths(mechanism: AbsoluteMechanism, goals: np.ndarray) -> None:
    """The lengths of the bodies to their goals."""
    table = goals.reshape(-1, GOAL.size)
    table[:, GOAL.length] = lengths_of(mechanism) ** 2
    table[:, GOAL.inverse] = 1 / table[:, GOAL.length]


def set_weights(mechanism: AbsoluteMechanism, weights: np.ndarray, unit: bool) -> None:
    """The metric in which positions are corrected: masses, or the unit matrix of (ω in the body, velocity)."""
    table = weights.reshape(-1, MASS.size)
    masses = np.array([body.mass for body in mechanism.system.bodies])
    if unit:
        table[:] = 1.0
    else:
        table[:, MASS.mass] = masses
        table[:, MASS.moments : MASS.moments + 3] = mechanism.moments
        table[:, MASS.inverse : MASS.inverse + 3] = 1 / mechanism.moments
