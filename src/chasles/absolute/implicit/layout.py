"""Workspace and memory of the loops, and what they count."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray

from chasles.absolute.entry import mechanism, work_parts, work_size
from chasles.absolute.implicit.saddle import BLOCK
from chasles.absolute.implicit.scale import GOAL
from chasles.absolute.implicit.structure import HEAD as PLAN
from chasles.absolute.implicit.structure import Structure, plan_of
from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD, MASS
from chasles.constraint.rows import NUMBERS, ROWS, TURN
from chasles.force.table import FORCES, MOVING, SCRATCH
from chasles.kernel.address import as_integers
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

# integer memory of a run. The first seven are those of all runs with fixed steps (`integrate.newton`); then the tile
# with the largest residual when a step failed, and what that residual is of: 0 position, 1 velocity
COUNTS = layout("COUNTS", step=1, rows=1, status=1, evaluations=1, iterations=1, matrices=1, tried=1, worst=1, level=1)
RUNNING, DONE, NOT_FINITE, NO_CONVERGENCE = range(4)
ITERATIONS = 40  # in a step, at most
TIMES = layout("TIMES", start=1, end=1, step=1, last=1)


class Tables(NamedTuple):
    """What `entry.mechanism` returns, with names."""

    bodies: Any
    tiles: Any
    nodes: Any
    incidences: Any
    slots: Any
    column: Any
    row: Any
    first: Any
    operations: Any
    masses: Any
    constants: Any
    gravity: Any
    n: int  # bodies
    nt: int  # tiles
    nn: int  # nodes
    nm: int  # tiles of the matrix


class Desk(NamedTuple):
    """What the loops of all methods have at hand. A method may use an array for something else while it is free."""

    whole: Any  # the packed mechanism: as integers, as numbers, its tables
    p: Any
    tables: Any
    packed: Any  # the packed structure of the equations, and its parts
    plan: Any
    counts: Any
    history: Any
    times: Any
    y: Any  # the point at the begin of the step, its poses and velocities
    q: Any
    v: Any
    work: Any  # workspace of the mechanism's own functions, and its parts
    motion: Any
    rows: Any
    kept_matrix: Any
    kept_factors: Any
    b: Any  # three numbers a node of the mechanism's own elimination
    a: Any  # six numbers a body
    step: Any  # the same
    old: Any  # rows of another point
    left: Any  # rows, or what J V of the tiles must be
    blocks: Any
    matrix: Any
    factors: Any
    f: Any
    d: Any
    g: Any
    new_q: Any
    wrenches: Any
    room: Any  # of the forces
    weights: Any  # of positions that are corrected: a metric
    goals: Any  # of Newton's method, and lengths of the bodies (`scale`)
    vectors: Any  # of the method: six numbers a body each


@kernel
def has_forces(whole):
    """Whether there are forces but gravity."""
    return whole[whole[HEAD.table] + FORCES.count] != 0


@kernel
def room_of_forces(whole):
    """Numbers that forces need."""
    return MOVING.size * (whole[HEAD.n_bodies] + 1) + SCRATCH + 2 if has_forces(whole) else 0


@kernel
def point_size(whole):
    """Numbers in a point: (central poses, velocities, counted angles, work of the forces)."""
    return (POSE + TWIST) * whole[HEAD.n_bodies] + whole[HEAD.n_angles] + 1


@kernel(allocates=True)
def desk_of(p_at, p_size, e_at, e_size, memory_at, work_at, counts_at, history_at, times_at):
    """All of it from addresses. The workspace is `total_work` long."""
    whole, p, packed = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,)), carray(e_at, (e_size,))
    n, nt = whole[HEAD.n_bodies], whole[HEAD.n_tiles]
    nn, lower = packed[PLAN.n_nodes], packed[PLAN.n_lower]
    a = work_size(whole)
    b = a + ROWS.size * nt
    c = b + ROWS.size * nt
    d = c + BLOCK.size * n
    e = d + 9 * (nn + 2 * lower)
    f = e + 9 * (nn + lower)
    g = f + 6 * n
    h = g + 6 * n
    i = h + 3 * nn
    j = i + 7 * n
    k = j + 6 * n
    m = k + room_of_forces(whole)
    o = m + MASS.size * n
    r = o + GOAL.size * n
    end = r + 6 * n * packed[PLAN.vectors]
    tables = Tables(*mechanism(whole, p))
    work, y = carray(work_at, (end,)), carray(memory_at, (point_size(whole),))
    return Desk(  # type: ignore[call-arg]  # the number of parts is not known to the checker
        *(whole, p, tables, packed, plan_of(packed)),
        *(carray(counts_at, (COUNTS.size,)), carray(history_at, (2 * ITERATIONS,)), carray(times_at, (TIMES.size,))),
        *(y, y[: POSE * n], y[POSE * n : (POSE + TWIST) * n], work[:a]),
        *work_parts(whole, work[:a]),
        *(work[a:b], work[b:c], work[c:d], work[d:e], work[e:f], work[f:g], work[g:h], work[h:i]),
        *(work[i:j], work[j:k], work[k:m], work[m:o], work[o:r], work[r:]),
    )


@kernel(allocates=True)
def vector_of(desk, k):
    """A vector of the method, six numbers a body."""
    size = 6 * desk.tables.n
    return desk.vectors[size * k : size * (k + 1)]


def total_work(mechanism: AbsoluteMechanism, structure: Structure) -> int:
    """Numbers in the workspace."""
    n, nt, nn, lower = mechanism.n, len(mechanism.tiles), structure.n_nodes, structure.n_lower
    rows = 2 * ROWS.size * nt + BLOCK.size * n + 9 * (2 * nn + 3 * lower)
    own = (25 + MASS.size + GOAL.size + 6 * structure.vectors) * n
    forces = MOVING.size * (n + 1) + SCRATCH + 2 if mechanism.forces.table[FORCES.count] else 0
    return mechanism.work + rows + own + 3 * nn + forces


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


def goals_of(mechanism: AbsoluteMechanism, structure: Structure, work: np.ndarray) -> np.ndarray:
    """The part of the workspace with what corrections and errors of each body are compared with."""
    end = total_work(mechanism, structure) - 6 * structure.vectors * mechanism.n
    return work[end - GOAL.size * mechanism.n : end].reshape(-1, GOAL.size)


def set_lengths(mechanism: AbsoluteMechanism, structure: Structure, work: np.ndarray) -> None:
    """The lengths of the bodies to the workspace."""
    table = goals_of(mechanism, structure, work)
    table[:, GOAL.length] = lengths_of(mechanism) ** 2
    table[:, GOAL.inverse] = 1 / table[:, GOAL.length]


def set_weights(mechanism: AbsoluteMechanism, structure: Structure, work: np.ndarray, unit: bool) -> None:
    """The metric in which positions are corrected: masses, or the unit matrix of (ω in the body, velocity)."""
    end = total_work(mechanism, structure) - (GOAL.size + 6 * structure.vectors) * mechanism.n
    table = work[end - MASS.size * mechanism.n : end].reshape(-1, MASS.size)
    masses = np.array([body.mass for body in mechanism.system.bodies])
    if unit:
        table[:] = 1.0
    else:
        table[:, MASS.mass] = masses
        table[:, MASS.moments : MASS.moments + 3] = mechanism.moments
        table[:, MASS.inverse : MASS.inverse + 3] = 1 / mechanism.moments
