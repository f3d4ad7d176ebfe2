"""The motion of a tree some of whose joints follow others: `tree_motion` with y = (q, v, work) of the independent
coordinates. Forces act on all joints, which are placed first.

Compiled apart, so that trees without followers have nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.force.table import FORCES, SCRATCH
from chasles.integrate.vector_field import field
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.lanes import like
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout
from chasles.relative.algorithm import evaluate
from chasles.relative.elimination import PLAN
from chasles.relative.force import act_address
from chasles.relative.forward import LIMB
from chasles.relative.forward_dependent import forward_dynamics_dependent
from chasles.relative.free_velocity import rates_from_body, stop_roots, to_body
from chasles.relative.kinematics import STATE
from chasles.relative.open_terms import GROUP_TERM, WORK
from chasles.relative.tables import CONSTANT, GRAVITY, HEAD
from chasles.simulation.tree.motion import PLACES

if TYPE_CHECKING:
    from chasles.relative.mechanism import Mechanism

# as `tree_motion.PART`, and where further tables of integers are: the topology of the independent coordinates, the plan
# of the elimination, and on what all coordinates depend
DEPENDENT_PART = layout("DEPENDENT_PART", **dict.fromkeys(PLACES, 1), sizes=8, independent=1, plan=1, index=1, end=1)

accelerations = forward_dynamics_dependent.kernel


@kernel
def rates(t, integers, tables, space, free, y, out, z):
    """(v, a, power) of a tree with followers under its forces and the control; as `tree_motion.rates`."""
    nq, nv, links = (
        integers[DEPENDENT_PART.coordinates],
        integers[DEPENDENT_PART.velocities],
        integers[DEPENDENT_PART.links],
    )
    topology, independent, plan, index, numbers, table, values, control = tables
    all_q, all_v = topology[HEAD.coordinates], topology[HEAD.velocities]
    ratios = numbers[GRAVITY.size + CONSTANT.size * links :]
    at = LIMB.size * (links + 1) + GROUP_TERM.size * plan[PLAN.places] + plan[PLAN.pairs] + 2 * plan[PLAN.groups]
    states, wrenches = space[at : at + STATE.size * (links + 1)], space[at + STATE.size * (links + 1) :][: 6 * links]
    at += STATE.size * (links + 1) + 6 * links
    places, speeds = space[at : at + all_q], space[at + all_q : at + all_q + all_v]
    at += all_q + all_v
    tau, every, buffer = space[at : at + all_v], space[at + all_v : at + 2 * all_v], space[at + 2 * all_v :]
    result = space[at + 2 * all_v + SCRATCH :]
    q, w = y[:nq], y[nq : nq + nv]
    v = result[2 : 2 + nv] if free else w
    if free:
        to_body(independent, q, w, v, z)
    for k in range(all_q):
        places[k] = ratios[all_v + k] * q[index[k]] + ratios[all_v + all_q + k]
    for k in range(all_v):
        speeds[k] = ratios[k] * v[index[all_q + k]]
        tau[k] = like(0.0, z)
    power, own = like(0.0, z), all_q + all_v
    for k in range(nv):
        tau[index[own + k]] = control[k]
        power += control[k] * v[k]
        out[k] = w[k]
    acting = table[0] + table[1] != 0
    if acting:
        sizes = integers[DEPENDENT_PART.sizes : DEPENDENT_PART.sizes + 8]
        invoke(
            *(integers[DEPENDENT_PART.act], t, topology, numbers, table, values, places, speeds),
            *(tau, wrenches, states, buffer, result, sizes),
        )
        power += result[0]
    if free:
        stop_roots(topology, speeds, z)
    loads = wrenches if acting and table[FORCES.motion] != 0 else wrenches[0:0]  # else there are none but on joints
    accelerations(topology, numbers, places, speeds, tau, loads, plan, ratios, every, space, z)
    for k in range(nv):
        out[nv + k] = every[index[own + k]]
    if free:
        rates_from_body(independent, q, v, out[nv : 2 * nv], True, z)
    out[2 * nv] = power


@kernel(allocates=True)  # a view counts as an array that is made
def integer_tables(integers):
    """Topology, that of the independent coordinates, plan and dependence, in the parameters."""
    return (
        integers[DEPENDENT_PART.size : integers[DEPENDENT_PART.independent]],
        integers[integers[DEPENDENT_PART.independent] : integers[DEPENDENT_PART.plan]],
        integers[integers[DEPENDENT_PART.plan] : integers[DEPENDENT_PART.index]],
        integers[integers[DEPENDENT_PART.index] : integers[DEPENDENT_PART.end]],
    )


@kernel(allocates=True)
def tables_of(integers, p):
    """All tables in the parameters."""
    return (
        *integer_tables(integers),
        p[integers[DEPENDENT_PART.numbers] : integers[DEPENDENT_PART.table]],
        integers[integers[DEPENDENT_PART.table] : integers[DEPENDENT_PART.values]],
        p[integers[DEPENDENT_PART.values] : integers[DEPENDENT_PART.control]],
        p[integers[DEPENDENT_PART.control] : integers[DEPENDENT_PART.work]],
    )


@field
def dependent_motion(t, y, p, out):
    """(v, a, power) of a tree with followers under its forces and the control."""
    integers = as_integer_array(p)
    rates(t, integers, tables_of(integers, p), p[integers[DEPENDENT_PART.work] :], False, y, out, 0.0)


@field
def free_dependent_motion(t, y, p, out):
    """The same with free joints, with the velocities of their positions."""
    integers = as_integer_array(p)
    rates(t, integers, tables_of(integers, p), p[integers[DEPENDENT_PART.work] :], True, y, out, 0.0)


@kernel(allocates=True)
def seen(p, y):
    """(q, v, work), as events see a state with the velocities of positions: in the workspace."""
    integers = as_integer_array(p)
    nq, nv = integers[DEPENDENT_PART.coordinates], integers[DEPENDENT_PART.velocities]
    state = p[integers[DEPENDENT_PART.work] : integers[DEPENDENT_PART.work] + y.shape[0]]
    for k in range(y.shape[0]):
        state[k] = y[k]
    v = state[nq : nq + nv]
    to_body(integer_tables(integers)[1], state[:nq], v, v, 0.0)
    return state


def integer_parts(mechanism: Mechanism) -> tuple[np.ndarray, ...]:
    """The tables of integers that come after the topology."""
    depends, lifted = mechanism.tree.dependence, mechanism.tables.lifted
    assert depends is not None
    assert lifted is not None
    index = np.concatenate([depends.place, depends.column, depends.own])
    return mechanism.tree.independent, lifted.elimination.table, index


def work_size(mechanism: Mechanism) -> int:
    """Numbers of workspace."""
    sizes, lifted = mechanism.tables.sizes, mechanism.tables.lifted
    assert lifted is not None
    own = evaluate(WORK, {**sizes, **lifted.elimination.sizes})
    every = STATE.size * sizes["slots"] + 6 * sizes["links"] + sizes["nq"] + 3 * sizes["nv"]
    return own + every + SCRATCH + 2 + mechanism.nv


def parameters(mechanism: Mechanism, free: bool) -> np.ndarray:
    """The parameters of `dependent_motion` for a mechanism, with no control."""
    tree, tables = mechanism.tree, mechanism.tables
    arrays = (tree.topology, *integer_parts(mechanism), tables.all_numbers, tables.acting.table, tables.acting.values)
    parts = [*(part.view(float) for part in arrays), np.zeros(mechanism.nv), np.zeros(work_size(mechanism))]
    edges = DEPENDENT_PART.size + np.cumsum([len(part) for part in parts])
    act = 0 if tables.acting.empty else act_address()
    sizes = array_sizes(mechanism)
    head = [mechanism.nq, mechanism.nv, tables.links, *edges[3:8], act, free, *sizes, *edges[:4]]
    return np.concatenate([np.array(head, dtype=np.int64).view(float), *parts])


def array_sizes(mechanism: Mechanism) -> tuple[int, ...]:
    """The sizes that `act` asks for, of all joints."""
    tables, sizes = mechanism.tables, mechanism.tables.sizes
    lengths = map(len, (mechanism.tree.topology, tables.all_numbers, tables.acting.table, tables.acting.values))
    return (*lengths, sizes["nq"], sizes["nv"], 6 * sizes["links"], STATE.size * sizes["slots"])
