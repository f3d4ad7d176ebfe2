"""What acts on a tree besides gravity: the joints' own springs, dampers, friction and stops, springs between bodies,
wrenches, joint forces. Interpreted from a table, like joints, so a new system compiles nothing.

The sum goes to generalised forces and to wrenches on the links (in their frames). With it comes the energy stored in
springs, and the power of all that is not a spring: energy changes by this power, which is how a run is certified.
"""

from __future__ import annotations

import functools

import numpy as np
from numba import carray, types

from chasles.force.table import FORCE, FORCES, SCRATCH, SPRING, WRENCH, add_spring, add_wrench
from chasles.kernel.address import INTEGERS, NUMBERS, address_of, invoke
from chasles.kernel.algebra import dot, mul_t, scale
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout, load3
from chasles.lie import quaternion
from chasles.lie.so3 import dexpinv_apply
from chasles.relative.joint import load_quaternion
from chasles.relative.kinematics import STATE, move_links
from chasles.relative.tables import FREE, HEAD, SPHERICAL, link, links_of

# of each velocity, at the begin of the numbers
PASSIVE = layout(
    "PASSIVE",
    damping=1,
    stiffness=1,
    rest=1,
    friction=1,
    friction_speed=1,
    lower=1,
    upper=1,
    stop_stiffness=1,
    stop_damping=1,
)


@kernel
def passive_force(values, at, x, speed):
    """Force of one freedom displaced by x: (force of springs, force of the rest, stored energy)."""
    stiffness = values[at + PASSIVE.stiffness]
    spring, energy = -stiffness * x, 0.5 * stiffness * x * x
    rest = -values[at + PASSIVE.damping] * speed
    friction = values[at + PASSIVE.friction]
    if friction != 0.0:
        rest -= friction * np.tanh(speed / values[at + PASSIVE.friction_speed])
    return spring, rest, energy


@kernel
def stop_force(values, at, q, speed):
    """Force of a stop beyond a limit, which pushes but never pulls: (spring, rest, stored energy)."""
    beyond = max(q - values[at + PASSIVE.upper], 0.0) + min(q - values[at + PASSIVE.lower], 0.0)
    stiffness = values[at + PASSIVE.stop_stiffness]
    if beyond == 0.0 or stiffness == 0.0:
        return 0.0, 0.0, 0.0
    spring = -stiffness * beyond
    total = spring - values[at + PASSIVE.stop_damping] * speed
    if total * spring < 0.0:
        total = 0.0
    return spring, total - spring, 0.5 * stiffness * beyond * beyond


@kernel
def add_one_freedom(values, k, q, speed, tau):
    """Returns (power of what is not a spring, stored energy)."""
    at = k * PASSIVE.size
    spring, rest, energy = passive_force(values, at, q - values[at + PASSIVE.rest], speed)
    stop, damped, more = stop_force(values, at, q, speed)
    tau[k] += spring + rest + stop + damped
    return (rest + damped) * speed, energy + more


@kernel
def add_vector(values, iv, x, v, tau, turn):
    """Three freedoms at once: a rotation by the vector x (turn), or a displacement."""
    power, energy = 0.0, 0.0
    pull = (
        values[iv * PASSIVE.size + PASSIVE.stiffness] * x[0],
        values[(iv + 1) * PASSIVE.size + PASSIVE.stiffness] * x[1],
        values[(iv + 2) * PASSIVE.size + PASSIVE.stiffness] * x[2],
    )
    energy = 0.5 * dot(pull, x)
    if turn:  # the gradient along q exp(δ)
        pull = dexpinv_apply(x, pull)
    for k in range(3):
        _, rest, _ = passive_force(values, (iv + k) * PASSIVE.size, 0.0, v[iv + k])
        tau[iv + k] += rest
        power += rest * v[iv + k]
    tau[iv] -= pull[0]
    tau[iv + 1] -= pull[1]
    tau[iv + 2] -= pull[2]
    return power, energy


@kernel
def add_passive(topology, values, q, v, tau):
    """The joints' own springs, dampers, friction and stops; returns (power, stored energy)."""
    power, energy = 0.0, 0.0
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == SPHERICAL or kind == FREE:
            unit = quaternion.flip(load_quaternion(q, iq, 0.0))
            p, e = add_vector(values, iv, quaternion.log(unit), v, tau, True)
            power, energy = power + p, energy + e
            if kind == FREE:
                stiffness = values[(iv + 3) * PASSIVE.size + PASSIVE.stiffness]
                x = load3(q, iq + 4, 0.0)
                pull = mul_t(quaternion.to_matrix(unit), scale(stiffness, x))
                energy += 0.5 * stiffness * dot(x, x)
                for k in range(3, 6):
                    _, rest, _ = passive_force(values, (iv + k) * PASSIVE.size, 0.0, v[iv + k])
                    tau[iv + k] += rest - pull[k - 3]
                    power += rest * v[iv + k]
        else:
            p, e = add_one_freedom(values, iv, q[iq], v[iv], tau)
            power, energy = power + p, energy + e
    return power, energy


@kernel
def add_joint_force(t, table, row, values, at, q, v, tau, scratch):
    """Forces on a joint, constant or from a law; returns their power."""
    iq, nq, iv, nv = (
        table[row + FORCE.first],
        table[row + FORCE.second],
        table[row + FORCE.third],
        table[row + FORCE.fourth],
    )
    law, power = table[row + FORCE.law], 0.0
    out = scratch[0:nv]
    if law == 0:
        for k in range(nv):
            out[k] = values[at + k]
    else:
        count = table[row + FORCE.parameters]
        invoke(law, t, q[iq : iq + nq], v[iv : iv + nv], values[at : at + count], out, nq, nv, count, nv)
    for k in range(nv):
        tau[iv + k] += out[k]
        power += out[k] * v[iv + k]
    return power


@kernel
def add_forces(t, topology, table, values, q, v, tau, wrenches, states, scratch):
    """Add all forces to tau and to the wrenches; returns (power of what is not a spring, energy stored in springs).

    `states` has the poses and twists of the links, if the head of the table asks for them.
    """
    power, energy = 0.0, 0.0
    first = 0
    if table[FORCES.passive] != 0:
        power, energy = add_passive(topology, values, q, v, tau)
        first = topology[HEAD.velocities] * PASSIVE.size
    for k in range(table[FORCES.count]):
        row = FORCES.size + k * FORCE.size
        at = first + table[row + FORCE.numbers]
        kind = table[row + FORCE.kind]
        if kind == SPRING:
            p, e = add_spring(table, row, values, at, states, STATE.size, wrenches)
            power, energy = power + p, energy + e
        elif kind == WRENCH:
            power += add_wrench(t, table, row, values, at, states, STATE.size, wrenches, scratch)
        else:
            power += add_joint_force(t, table, row, values, at, q, v, tau, scratch)
    return power, energy


@native
def act(t, topology, numbers, table, values, q, v, tau, wrenches, states, scratch, result, sizes):
    """All forces from q and v alone, through pointers, so that one compiled copy serves every loop.

    Poses and twists of the links are computed if a force needs them. tau is added to, the wrenches are set, the result
    is (power, stored energy). sizes: of topology, numbers, table, values, q, v, wrenches and states.
    """
    n = carray(sizes, (8,))
    links = carray(topology, (n[0],))
    constants, forces, own = carray(numbers, (n[1],)), carray(table, (n[2],)), carray(values, (n[3],))
    coordinates, velocities, sums = carray(q, (n[4],)), carray(v, (n[5],)), carray(tau, (n[5],))
    on_links, motion, room = carray(wrenches, (n[6],)), carray(states, (n[7],)), carray(scratch, (SCRATCH,))
    for k in range(n[6]):
        on_links[k] = 0.0
    if forces[FORCES.motion] != 0:
        move_links(links, constants, coordinates, velocities, coordinates[0:0], motion, 0.0)
    power, energy = add_forces(t, links, forces, own, coordinates, velocities, sums, on_links, motion, room)
    carray(result, (2,))[0] = power
    carray(result, (2,))[1] = energy


@functools.cache
def act_address() -> int:
    """Address of `act`, compiled now or loaded from the cache."""
    reals, whole = NUMBERS, INTEGERS
    return address_of(act, types.float64, whole, reals, whole, *(reals,) * 8, whole)


@kernel(entry=True)
def forces_on_states(
    address, times, topology, numbers, table, values, q, v, tau, wrenches, results, states, scratch, sizes
):
    """All forces on a batch of states, by rows of the arrays."""
    for k in range(q.shape[0]):
        for j in range(tau.shape[1]):
            tau[k, j] = 0.0
        invoke(
            *(address, times[k], topology, numbers, table, values, q[k], v[k]),
            *(tau[k], wrenches[k], states, scratch, results[k], sizes),
        )
