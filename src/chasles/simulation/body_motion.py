"""The motion of bodies with constraints as a vector field: the index-1 form 000 eq. (2) on SE(3)^n or (SO(3)xR3)^n.

y = (central poses, velocities, angles counted over full turns, work); f = (velocities, accelerations, rates of the
angles, power). The mechanism is in the parameters, so
the field is compiled once for every mechanism. With the correction, each step ends with a projection onto the
constraints.
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.entry import set_clock, work_size
from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import HEAD
from chasles.force.table import FORCES, MOVING, SCRATCH
from chasles.integrate.field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.denormals import flush_denormals, restore_denormals


@field
def body_motion(t, y, p, out):
    """Velocities, accelerations and power of bodies under their constraints and forces."""
    whole = as_integer_array(p)
    n = whole[HEAD.n_bodies]
    q, v = y[: POSE * n], y[POSE * n : (POSE + TWIST) * n]
    size, forces = work_size(whole), MOVING.size * (n + 1) + SCRATCH
    space = p[whole[HEAD.end] :]
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
    before = flush_denormals()
    set_clock(whole, work, t, y, (POSE + TWIST) * n)
    invoke(whole[HEAD.accelerations], p, p.shape[0], q, v, wrenches, work, out[6 * n :])
    restore_denormals(before)
    out[12 * n + whole[HEAD.n_angles]] = power


@field
def onto_constraints(t, y, p, out):
    """The state projected onto the constraints."""
    whole = as_integer_array(p)
    n = whole[HEAD.n_bodies]
    size = work_size(whole)
    space = p[whole[HEAD.end] :]
    for k in range(y.shape[0]):
        out[k] = y[k]
    q, v = out[: POSE * n], out[POSE * n : (POSE + TWIST) * n]
    if whole[HEAD.n_tiles] > 0:
        before = flush_denormals()
        set_clock(whole, space, t, y, (POSE + TWIST) * n)
        space[size + 3] = 1.0  # the last stage left the factor of its state
        invoke(whole[HEAD.project], p, p.shape[0], q, v, space[:size], space[size : size + 4])
        restore_denormals(before)


def with_workspace(mechanism: AbsoluteMechanism) -> np.ndarray:
    """The parameters of these fields: the packed mechanism and, at its end, workspace. A run has its own copy."""
    n = mechanism.n
    size = mechanism.work + MOVING.size * (n + 1) + SCRATCH + 6 * n + 4
    return np.concatenate([mechanism.parameters, np.zeros(size)])
