"""The motion of a closed mechanism in joint coordinates as a vector field: index 1, the rows solved for accelerations.

y = (q, v, work), f = (v, accelerations, power), as for a tree. The mechanism is in the parameters, so the field is
compiled once for every mechanism. With the correction, each step ends with a projection onto the constraints.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.tables import HEAD, part, rooms, work_size


@field
def closed_motion(t, y, p, out):
    """(v, a, power) of a closed mechanism under its forces and the control."""
    whole = as_integer_array(p)
    nq, nv, links = whole[HEAD.n_q], whole[HEAD.n_v], whole[HEAD.n_links]
    q, v = y[:nq], y[nq : nq + nv]
    work = p[whole[HEAD.end] : whole[HEAD.end] + work_size(whole)]
    _, states, _, _, _, _, _, _, _, wrenches, _, tau, _, scratch, report = rooms(whole, work)
    control, table = part(p, whole, HEAD.control), part(whole, whole, HEAD.table)
    power = 0.0
    for k in range(nv):
        tau[k] = control[k]
        power += control[k] * v[k]
        out[k] = v[k]
    if table[0] + table[1] != 0:
        topology, numbers = part(whole, whole, HEAD.topology), part(p, whole, HEAD.numbers)
        values, sizes = part(p, whole, HEAD.values), whole[HEAD.sizes : HEAD.sizes + 8]
        invoke(
            *(whole[HEAD.act], t, topology, numbers, table, values, q, v),
            *(tau, wrenches, states, scratch, report, sizes),
        )
        power += report[0]
    else:
        for k in range(6 * links):
            wrenches[k] = 0.0
    before = flush_denormals()
    invoke(whole[HEAD.accelerations], p, p.shape[0], t, q, v, tau, wrenches, work, out[nv : 2 * nv])
    restore_denormals(before)
    out[2 * nv] = power


@field
def onto_loops(t, y, p, out):
    """The state projected onto the constraints."""
    whole = as_integer_array(p)
    nq, nv, size = whole[HEAD.n_q], whole[HEAD.n_v], work_size(whole)
    for k in range(y.shape[0]):
        out[k] = y[k]
    space = p[whole[HEAD.end] :]
    before = flush_denormals()
    invoke(
        *(whole[HEAD.project], p, p.shape[0], t, out[:nq], out[nq : nq + nv]),
        *(space[:size], space[size : size + 4]),
    )
    restore_denormals(before)


def with_workspace(mechanism: ClosedMechanism) -> np.ndarray:
    """The parameters of these fields: the packed mechanism and, at its end, workspace. A run has its own copy."""
    return np.concatenate([mechanism.packed.parameters, np.zeros(mechanism.packed.work + 4)])
