"""The motion of a tree as a vector field: mueller2018 eq. (78) in (q, v), with the work of the forces as one more
state.

y = (q, v, work), f = (v, accelerations, power); where free joints move on SO(3) x R3, their velocities are those of
`relative.free_velocity` in both. All of the mechanism is in the parameters, so the field is compiled once for every
mechanism: integers are kept as their bits. The end of the parameters is workspace: a run has its own copy.
"""

from __future__ import annotations

import numpy as np

from chasles.force.table import SCRATCH
from chasles.integrate.vector_field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.lanes import like
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout
from chasles.relative.force import act_address
from chasles.relative.forward import LIMB, forward_dynamics
from chasles.relative.free_velocity import rates_from_body, stop_roots, to_body
from chasles.relative.kinematics import STATE
from chasles.relative.mechanism import Mechanism

# where the parts are in the parameters, as integers; the control (forces u on all velocities) is the last but one
# `act` is the address of the function of that name in `relative.force`, `sizes` those that it asks for; `free` says
# whether free joints have the velocities of their positions
PLACES = ("coordinates", "velocities", "links", "numbers", "table", "values", "control", "work", "act", "free")
PART = layout("PART", **dict.fromkeys(PLACES, 1), sizes=8)

accelerations = forward_dynamics.kernel


@kernel
def rates(t, integers, tables, space, free, y, out, z):
    """(v, a, power) of a tree under its forces and the control, for one state or with derivatives (z: duals).

    whole: the head as integers; tables: topology, numbers, those of the forces, control; space: workspace; free:
    whether there are free joints with the velocities of their positions.
    """
    nq, nv, links = integers[PART.coordinates], integers[PART.velocities], integers[PART.links]
    topology, numbers, table, values, control = tables
    q, w = y[:nq], y[nq : nq + nv]
    at = LIMB.size * (links + 1)
    states, wrenches = space[at : at + STATE.size * (links + 1)], space[at + STATE.size * (links + 1) :][: 6 * links]
    at += STATE.size * (links + 1) + 6 * links
    tau, buffer, result = space[at : at + nv], space[at + nv :], space[at + nv + SCRATCH :]
    v = result[2 : 2 + nv] if free else w
    if free:
        to_body(topology, q, w, v, z)
    power = like(0.0, z)
    for k in range(nv):
        tau[k] = control[k]
        power += control[k] * v[k]
        out[k] = w[k]
    acting = table[0] + table[1] != 0
    if acting:
        sizes = integers[PART.sizes : PART.sizes + 8]
        invoke(
            *(integers[PART.act], t, topology, numbers, table, values, q, v),
            *(tau, wrenches, states, buffer, result, sizes),
        )
        power += result[0]
    if free:
        stop_roots(topology, v, z)
    accelerations(topology, numbers, q, v, tau, wrenches if acting else wrenches[0:0], out[nv : 2 * nv], space, z)
    if free:
        rates_from_body(topology, q, v, out[nv : 2 * nv], True, z)
    out[2 * nv] = power


@kernel(allocates=True)  # a view counts as an array that is made
def tables_of(integers, p):
    """Topology, numbers, tables of the forces and control, in the parameters."""
    return (
        integers[PART.size : integers[PART.numbers]],
        p[integers[PART.numbers] : integers[PART.table]],
        integers[integers[PART.table] : integers[PART.values]],
        p[integers[PART.values] : integers[PART.control]],
        p[integers[PART.control] : integers[PART.work]],
    )


@field
def tree_motion(t, y, p, out):
    """(v, a, power) of a tree under its forces and the control."""
    integers = as_integer_array(p)
    rates(t, integers, tables_of(integers, p), p[integers[PART.work] :], False, y, out, 0.0)


@field
def free_tree_motion(t, y, p, out):
    """The same of a tree with free joints, with the velocities of their positions: compiled apart, so that others have
    nothing of it."""
    integers = as_integer_array(p)
    rates(t, integers, tables_of(integers, p), p[integers[PART.work] :], True, y, out, 0.0)


@kernel(allocates=True)
def seen(p, y):
    """(q, v, work), as events see a state with the velocities of positions: in the workspace."""
    integers = as_integer_array(p)
    nq, nv = integers[PART.coordinates], integers[PART.velocities]
    state = p[integers[PART.work] : integers[PART.work] + y.shape[0]]
    for k in range(y.shape[0]):
        state[k] = y[k]
    v = state[nq : nq + nv]
    to_body(tables_of(integers, p)[0], state[:nq], v, v, 0.0)
    return state


def work_size(mechanism: Mechanism) -> int:
    """Numbers of workspace."""
    slots, nv = mechanism.tables.links + 1, mechanism.nv
    return (LIMB.size + STATE.size) * slots + 6 * mechanism.tables.links + 2 * nv + SCRATCH + 2


def array_sizes(mechanism: Mechanism) -> tuple[int, ...]:
    """The sizes that `act` asks for."""
    tables = (
        mechanism.tree.topology,
        mechanism.tree.numbers,
        mechanism.tables.acting.table,
        mechanism.tables.acting.values,
    )
    links = mechanism.tables.links
    return (*map(len, tables), mechanism.nq, mechanism.nv, 6 * links, STATE.size * (links + 1))


def parameters(mechanism: Mechanism, free: bool) -> np.ndarray:
    """The parameters of `tree_motion` for a mechanism, with no control."""
    tables = (
        mechanism.tree.topology,
        mechanism.tree.numbers,
        mechanism.tables.acting.table,
        mechanism.tables.acting.values,
    )
    links, nq, nv = mechanism.tables.links, mechanism.nq, mechanism.nv
    parts = (*(part.view(float) for part in tables), np.zeros(nv), np.zeros(work_size(mechanism)))
    edges = PART.size + np.cumsum([len(part) for part in parts])
    act = 0 if mechanism.tables.acting.empty else act_address()  # not compiled where nothing acts
    head = np.array([nq, nv, links, *edges[:5], act, free, *array_sizes(mechanism)], dtype=np.int64)
    return np.concatenate([head.view(float), *parts])
