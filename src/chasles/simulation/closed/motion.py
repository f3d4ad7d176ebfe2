"""The motion of a closed mechanism in joint coordinates as a vector field: index 1, the rows solved for accelerations.

y = (q, v, work), f = (v, accelerations, power), as for a tree. The mechanism is in the parameters, so the field is
compiled once for every mechanism. With the correction, each step ends with a projection onto the constraints.
Those "of free joints" have the velocities of `relative.free_velocity` in y and f.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.vector_field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.policy import kernel
from chasles.relative.free_velocity import from_body, rates_from_body, to_body
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.tables import HEAD, loop_work_size, part


@kernel(allocates=True)
def rates(t, integers, p, space, free, y, out, z):
    """(v, a, power) of a closed mechanism under its forces and the control, for one state or with derivatives (z:
    duals). integers, p: the packed mechanism; free: whether free joints have the velocities of their positions."""
    if not free:
        invoke(integers[HEAD.derivative], t, integers, p, p.shape[0], y, space, out)
        return
    nq, nv, topology = integers[HEAD.n_q], integers[HEAD.n_v], part(integers, integers, HEAD.topology)
    body = space[loop_work_size(integers) + 4 :]
    for k in range(nq):
        body[k] = y[k]
    v = body[nq : nq + nv]
    to_body(topology, y[:nq], y[nq : nq + nv], v, z)
    invoke(integers[HEAD.derivative], t, integers, p, p.shape[0], body, space, out)
    rates_from_body(topology, y[:nq], v, out[nv : 2 * nv], False, z)
    for k in range(nv):
        out[k] = y[nq + k]


@kernel(allocates=True)
def corrected(t, integers, p, space, free, y, out, z):
    """The state projected onto the constraints."""
    nq, nv, size = integers[HEAD.n_q], integers[HEAD.n_v], loop_work_size(integers)
    topology = part(integers, integers, HEAD.topology)
    for k in range(nq + nv + 1):
        out[k] = y[k]
    q, v = out[:nq], out[nq : nq + nv]
    if free:
        to_body(topology, q, v, v, z)
    before = flush_denormals()
    invoke(integers[HEAD.project], integers, p, p.shape[0], t, q, v, space[:size], space[size : size + 4])
    restore_denormals(before)
    if free:
        from_body(topology, q, v, z)


@field
def closed_motion(t, y, p, out):
    """(v, a, power) of a closed mechanism under its forces and the control."""
    integers = as_integer_array(p)
    rates(t, integers, p, p[integers[HEAD.end] :], False, y, out, 0.0)


@field
def onto_loops(t, y, p, out):
    """The state projected onto the constraints."""
    integers = as_integer_array(p)
    corrected(t, integers, p, p[integers[HEAD.end] :], False, y, out, 0.0)


@field
def motion_of_free_joints(t, y, p, out):
    """`closed_motion` with velocities of the positions of free joints."""
    integers = as_integer_array(p)
    rates(t, integers, p, p[integers[HEAD.end] :], True, y, out, 0.0)


@field
def free_joints_onto_loops(t, y, p, out):
    """`onto_loops` with velocities of the positions of free joints."""
    integers = as_integer_array(p)
    corrected(t, integers, p, p[integers[HEAD.end] :], True, y, out, 0.0)


@kernel(allocates=True)
def seen(p, y):
    """(q, v, work), as events see a state with the velocities of positions: in the workspace."""
    integers = as_integer_array(p)
    nq, nv, topology = integers[HEAD.n_q], integers[HEAD.n_v], part(integers, integers, HEAD.topology)
    first = integers[HEAD.end] + loop_work_size(integers) + 4
    state = p[first : first + y.shape[0]]
    for k in range(y.shape[0]):
        state[k] = y[k]
    v = state[nq : nq + nv]
    to_body(topology, state[:nq], v, v, 0.0)
    return state


def with_workspace(mechanism: ClosedMechanism) -> np.ndarray:
    """The parameters of these fields: the packed mechanism and, at its end, workspace. A run has its own copy."""
    size = mechanism.packed.work + 4 + mechanism.nq + mechanism.nv + 1
    return np.concatenate([mechanism.packed.parameters, np.zeros(size)])
