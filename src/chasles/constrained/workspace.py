"""Workspace and memory of the loops, and what they count."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.tables import HEAD, MASS, tables_of, work_of
from chasles.constrained.goals import EXTENT, GOAL, ISLAND
from chasles.constrained.tables import BLOCK, ELEMENT, SIZES, plan_of
from chasles.constraint.rows import ROWS
from chasles.force.table import ACTED, FORCES, MOVING, SCRATCH
from chasles.integrate.newton import COUNTS as ALL_COUNTS
from chasles.kernel.address import INTEGER, address_of, as_integer_array, invoke, kind_in
from chasles.kernel.dual_memory import DualRegions
from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import late
from chasles.kernel.memory import joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import address, by_reference
from chasles.kernel.workspace import layout

# integer memory of a run: that of all runs with fixed steps, then the tile with the largest residual when a step
# failed, and what that residual is of: 0 position, 1 velocity
COUNTS = layout("COUNTS", **dict.fromkeys((*ALL_COUNTS._fields[:-1], "worst", "level"), 1))
ITERATIONS = 40  # in a step, at most
TIMES = layout("TIMES", start=1, end=1, step=1, last=1)


# a point y of a run: central poses, velocities, counted angles, work of the forces
STATE_VECTOR = DualRegions(
    "StateVector", q=POSE * SIZES.n_bodies, v=TWIST * SIZES.n_bodies, counted_angles=SIZES.n_angles, work_done=1
)
point_of, point_size = STATE_VECTOR.views, STATE_VECTOR.total
# what all methods share of a workspace; vectors have six numbers a body
WORKSPACE = DualRegions(
    "Workspace",
    old_rows=ROWS.size * SIZES.n_tiles,  # rows of another point: of the begin of the step, or of the stage
    left_rows=ROWS.size * SIZES.n_tiles,  # of Newton's matrix
    blocks=BLOCK.size * SIZES.n_bodies,  # of Newton's matrix
    matrix=9 * (SIZES.n_nodes + 2 * SIZES.n_lower),
    factors=9 * (SIZES.n_nodes + SIZES.n_lower),
    f=6 * SIZES.n_bodies,  # right-hand sides of motion and constraints, which become the solution
    d=6 * SIZES.n_bodies,
    g=3 * SIZES.n_nodes,
    trial_q=POSE * SIZES.n_bodies,  # poses of the trial state
    wrenches=6 * SIZES.n_bodies,
    force_work=MOVING.size * SIZES.n_states + SCRATCH,
    acted=ACTED.size,  # power of the forces, and their energy
    metric=MASS.size * SIZES.n_bodies,  # in which positions are corrected
    goals=GOAL.size * SIZES.n_bodies,  # of Newton's method, and lengths of the bodies (`scale`)
    island_sizes=ISLAND.size * SIZES.n_bodies,
    extents=EXTENT.size * SIZES.n_bodies,
    unsolved=3 * SIZES.n_row_nodes,  # right-hand side of a sweep, for the next one
    stage_angles=SIZES.n_angles,  # counted angles at a stage
    law_wrenches=6 * SIZES.n_bodies,  # of a law, as it is differentiated
    element_tiles=WIDTH * ELEMENT.size,  # of four elements between two bodies
    displacement=6 * SIZES.n_bodies,  # by a correction: rotations in the bodies, displacements in space
    targets=3 * SIZES.n_tiles,  # what J V of the tiles must be
    # what operations return (`operations`)
    off=1,  # the largest residual of the constraints, and of rows that depend on others (`correction`)
    uneven=1,
    impulse_work=1,  # of constraints that depend on time (`onto_velocities`)
    error=1,  # relative to its tolerance (`error_size`)
)
shared_of = WORKSPACE.views
# what the states of all methods end with: power of the forces, the step before, how fast Newton's method converged and
# steps since that was seen (of generalized alpha), one or two estimates of the error of the step relative to the
# tolerance; and of the counted angles their rates, or during a step the angles predicted for its end
CARRIED = {"power": 1, "last_step": 1, "contraction": 1, "unseen": 1, "errors": 2, "angles": SIZES.n_angles}
make_workspace = joined(
    "AllWorkspace",
    "integers mechanism tables structure plan counts history times force_tangents operations point "
    # this line: `absolute.tables.WORK`
    "row_work motion rows row_matrix row_factors row_solution response velocity refinement",
    STATE_VECTOR,
    WORKSPACE,
)


class Call(NamedTuple):
    """What a loop is called with: all arrays of a run, and how far to go."""

    mechanism: Any  # packed
    structure: Any  # packed
    parameters: Any  # of the method
    state: Any  # what the method carries from step to step, beginning with the point
    row_work: Any  # workspace of the mechanism's own functions, with the factors of J W Jᵀ (`absolute.tables.WORK`)
    work: Any
    vectors: Any  # workspace of the method
    counts: Any
    history: Any
    times: Any
    saved_t: Any
    saved_y: Any
    force_tangents: Any  # addresses of the forces' derivatives (`force_tangent.force_tangent_addresses`)
    operations: Any  # addresses of what methods share (`operations.addresses`)
    limit: int  # steps to take at most
    total: int  # steps of the run
    every: int  # of how many steps one is saved, or 0


class LaneCall(NamedTuple):
    """The same for four runs on lanes: their numbers lie in buffers of lanes."""

    integers: Any  # of the packed mechanism, which the four have in common
    mechanism: Any
    structure: Any
    parameters: Any
    state: Any
    row_work: Any
    work: Any
    vectors: Any
    counts: Any
    times: Any
    saved_t: Any
    saved_y: Any
    tally: Any  # corrections of each, in all steps and in the last one
    operations: Any
    limit: int
    total: int
    every: int


# addresses of large parts of a step that methods share (`operations`), beside those of the loop of the method and,
# while it runs, of the workspace; `missing`: whether one was called that the loop was not given
OPERATIONS = layout(
    "OPERATIONS",
    **dict.fromkeys(("workspace", "loop", "set_state", "correction", "solve_equations"), 1),
    **dict.fromkeys(("keep_rows", "factorize", "onto_velocities", "finish_angles"), 1),
    **dict.fromkeys(("leave_tangent", "error_size", "missing"), 1),
)


class ForceCall(NamedTuple):
    """What the derivatives of forces are asked with (`force_tangent`)."""

    t: float
    s: float  # factor of the equations of motion
    ratio: float  # by which velocities follow displacements
    mechanism: Any
    structure: Any
    q: Any
    v: Any
    blocks: Any  # to which they are added
    matrix: Any
    law_wrenches: Any
    tiles: Any
    force_work: Any
    wrenches: Any  # of all forces before the row `first`; those of elements from there on are added, and their power
    acted: Any
    first: int


LANE_CALL = kind_in("chasles.constrained.call_types", "LANE_CALL")
CALL = kind_in("chasles.constrained.call_types", "CALL")
FORCE_CALL = kind_in("chasles.constrained.call_types", "FORCE_CALL")
NO_ROW = 1 << 40  # `first`, if all forces are known


@kernel
def has_forces(integers):
    """Whether there are forces but gravity."""
    return integers[integers[HEAD.table] + FORCES.count] != 0


@kernel(allocates=True)
def workspace_of(call):
    """All that the loops of all methods have at hand."""
    p, packed = call.mechanism, call.structure
    integers, y = as_integer_array(p), call.state[: point_size(packed)]
    rows = work_of(call.row_work, integers)
    return make_workspace(
        (
            *(
                integers,
                p,
                tables_of(p),
                packed,
                plan_of(packed),
                call.counts,
                call.history,
                call.times,
                call.force_tangents,
                call.operations,
                y,
            ),
            *(call.row_work, rows.motion, rows.rows, rows.matrix, rows.factors, rows.x, rows.a, rows.velocity),
            rows.refinement,
        ),
        point_of(y, packed),
        shared_of(call.work, packed),
    )


# the workspace from its address
workspace_at, lane_workspace_at = late("chasles.constrained.call_types", "workspace_at", "lane_workspace_at")


@native
def take_steps_in_workspace(call):
    """Make the workspace, and let the loop of the method go on in it."""
    workspace = by_reference(workspace_of(call))
    call.operations[OPERATIONS.workspace] = address(workspace)
    invoke(call.operations[OPERATIONS.loop], call.operations[OPERATIONS.workspace], call)


@functools.cache
def loop_address(loop: Any) -> int:
    """Address of a method's loop, compiled now or loaded from the cache."""
    return address_of(loop, INTEGER, CALL)


@functools.cache
def run_address() -> int:
    """Address of `take_steps_in_workspace`, which `run_loop` calls."""
    return address_of(take_steps_in_workspace, CALL)


@kernel(entry=True)
def run_loop(address, call):
    """Let a loop go on."""
    invoke(address, by_reference(call))
