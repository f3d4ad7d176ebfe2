"""Workspace and memory of the loops, and what they count."""

from __future__ import annotations

import numpy as np

from chasles.absolute.entry import work_size
from chasles.absolute.implicit.saddle import BLOCK
from chasles.absolute.implicit.structure import HEAD as PLAN
from chasles.absolute.implicit.structure import Structure
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD, MASS
from chasles.constraint.rows import ROWS
from chasles.force.table import FORCES, MOVING, SCRATCH
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

# integer memory of a run. The first seven are those of all runs with fixed steps (`integrate.newton`); then the tile
# with the largest residual when a step failed, and what that residual is of: 0 position, 1 velocity
COUNTS = layout("COUNTS", step=1, rows=1, status=1, evaluations=1, iterations=1, matrices=1, tried=1, worst=1, level=1)
RUNNING, DONE, NOT_FINITE, NO_CONVERGENCE = range(4)
ITERATIONS = 40  # in a step, at most
TIMES = layout("TIMES", start=1, end=1, step=1, last=1)


@kernel
def has_forces(whole):
    """Whether there are forces but gravity."""
    return whole[whole[HEAD.table] + FORCES.count] != 0


@kernel
def room_of_forces(whole):
    """Numbers that forces need."""
    return MOVING.size * (whole[HEAD.n_bodies] + 1) + SCRATCH + 2 if has_forces(whole) else 0


@kernel(allocates=True)
def work_of(whole, packed, work):
    """The parts of the workspace: that of the mechanism's own functions; old rows, left rows, blocks, matrix, factors,
    f, d, g, q, wrenches, room of the forces, weights, and vectors of six numbers a body in one piece."""
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
    return (
        *(work[:a], work[a:b], work[b:c], work[c:d], work[d:e], work[e:f], work[f:g], work[g:h], work[h:i]),
        *(work[i:j], work[j:k], work[k:m], work[m:o], work[o : o + 6 * n * packed[PLAN.vectors]]),
    )


def total_work(mechanism: AbsoluteMechanism, structure: Structure) -> int:
    """Numbers in the workspace."""
    n, nt, nn, lower = mechanism.n, len(mechanism.tiles), structure.n_nodes, structure.n_lower
    rows = 2 * ROWS.size * nt + BLOCK.size * n + 9 * (2 * nn + 3 * lower)
    own = (25 + MASS.size + 6 * structure.vectors) * n
    forces = MOVING.size * (n + 1) + SCRATCH + 2 if mechanism.forces.table[FORCES.count] else 0
    return mechanism.work + rows + own + 3 * nn + forces


def set_weights(mechanism: AbsoluteMechanism, structure: Structure, work: np.ndarray, unit: bool) -> None:
    """The metric in which positions are corrected: masses, or the unit matrix of (ω in the body, velocity)."""
    end = total_work(mechanism, structure) - 6 * mechanism.n * structure.vectors
    table = work[end - MASS.size * mechanism.n : end].reshape(-1, MASS.size)
    masses = np.array([body.mass for body in mechanism.system.bodies])
    if unit:
        table[:] = 1.0
    else:
        table[:, MASS.mass] = masses
        table[:, MASS.moments : MASS.moments + 3] = mechanism.moments
        table[:, MASS.inverse : MASS.inverse + 3] = 1 / mechanism.moments
