"""The motion of bodies with constraints as a vector field: the index-1 form 000 eq. (2) on SE(3)^n or (SO(3)xR3)^n.

y = (central poses, velocities, work); f = (velocities, accelerations, power). The mechanism is in the parameters, so
the field is compiled once for every mechanism. With the correction, each step ends with a projection onto the
constraints.
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.entry import work_size
from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.tables import HEAD
from chasles.force.table import FORCES, MOVING, SCRATCH
from chasles.integrate.field import field
from chasles.kernel.address import invoke
from chasles.kernel.workspace import scratch


@field(allocates=True)  # the workspace of a large system
def body_motion(t, y, p, out):
    """Velocities, accelerations and power of bodies under their constraints and forces."""
    whole = p.view(np.int64)
    n = whole[HEAD.n_bodies]
    q, v = y[: POSE * n], y[POSE * n : (POSE + TWIST) * n]
    size, forces = work_size(whole), MOVING.size * (n + 1) + SCRATCH
    space = scratch(size + forces + 6 * n + 2)
    work, room = space[:size], space[size : size + forces]
    wrenches, result = space[size + forces : size + forces + 6 * n], space[size + forces + 6 * n :]
    power = 0.0
    if whole[whole[HEAD.table] + FORCES.count] != 0:
        invoke(whole[HEAD.act], t, p, p.shape[0], q, v, wrenches, room, result)
        power = result[0]
    else:
        for k in range(6 * n):
            wrenches[k] = 0.0
    for k in range(6 * n):
        out[k] = v[k]
    invoke(whole[HEAD.accelerations], p, p.shape[0], q, v, wrenches, work, out[6 * n : 12 * n])
    out[12 * n] = power


@field(allocates=True)
def onto_constraints(t, y, p, out):
    """The state projected onto the constraints."""
    whole = p.view(np.int64)
    n = whole[HEAD.n_bodies]
    size = work_size(whole)
    space = scratch(size + 4)
    for k in range(y.shape[0]):
        out[k] = y[k]
    q, v = out[: POSE * n], out[POSE * n : (POSE + TWIST) * n]
    if whole[HEAD.n_tiles] > 0:
        invoke(whole[HEAD.project], p, p.shape[0], q, v, space[:size], space[size:])
