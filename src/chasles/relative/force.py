"""What acts on a tree besides gravity: the joints' own springs, dampers, friction and stops, springs between bodies,
wrenches, joint forces. Interpreted from a table, like joints, so a new system compiles nothing.

The sum goes to generalized forces and to wrenches on the links (in their frames). With it comes the energy stored in
springs, and the power of all that is not a spring: energy changes by this power, which is how a run is certified.
"""

from __future__ import annotations

import functools

from chasles.force.bushing import add_bushing
from chasles.force.passive import PASSIVE, add_displacement, add_one_freedom, add_rotation
from chasles.force.rod import add_rod
from chasles.force.table import (
    ACTED,
    BUSHING,
    FORCE,
    FORCES,
    ROD,
    SCRATCH,
    SIGHT,
    SPOTTED,
    SPRING,
    WRENCH,
    add_spring,
    add_wrench,
    called,
    line_between,
)
from chasles.kernel.address import INTEGERS, NUMBER, NUMBERS, address_of, invoke
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import load3
from chasles.lie import quaternion
from chasles.model.program import OWN_ARGUMENTS
from chasles.relative.joint import load_quaternion
from chasles.relative.kinematics import STATE, move_links
from chasles.relative.tables import FREE, HEAD, SPHERICAL, link, links_of


@kernel
def add_passive(topology, values, q, v, tau):
    """The joints' own springs, dampers, friction and stops; returns (power, stored energy)."""
    power, energy = 0.0, 0.0
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == SPHERICAL or kind == FREE:
            unit = quaternion.flip(load_quaternion(q, iq, 0.0))
            p, e = add_rotation(values, iv, unit, v, tau)
            power, energy = power + p, energy + e
            if kind == FREE:
                p, e = add_displacement(values, iv + 3, unit, load3(q, iq + 4, 0.0), v, tau)
                power, energy = power + p, energy + e
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
        called(t, table, row, values, at, q[iq : iq + nq], v[iv : iv + nv], out, nq, nv, nv, scratch)
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
        for i in range(table[row + FORCE.seen]):
            other = FORCES.size + (table[row + FORCE.seen_at] + i) * FORCE.size
            if table[other + FORCE.third] == 0:
                scratch[SPOTTED + SIGHT.x + OWN_ARGUMENTS + i] = q[table[other + FORCE.first]]
                scratch[SPOTTED + SIGHT.y + OWN_ARGUMENTS + i] = v[table[other + FORCE.second]]
            else:
                seen = line_between(table, other, values, first + table[other + FORCE.numbers], states, STATE.size)
                scratch[SPOTTED + SIGHT.x + OWN_ARGUMENTS + i] = seen[2]
                scratch[SPOTTED + SIGHT.y + OWN_ARGUMENTS + i] = seen[5]
        if kind == SPRING:
            p, e = add_spring(t, table, row, values, at, states, STATE.size, wrenches, scratch)
            power, energy = power + p, energy + e
        elif kind == BUSHING:
            p, e = add_bushing(table, row, values, at, states, STATE.size, wrenches)
            power, energy = power + p, energy + e
        elif kind == ROD:
            p, e = add_rod(t, table, row, values, at, states, STATE.size, wrenches, scratch)
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
    acted = carray(result, (ACTED.size,))
    acted[ACTED.power], acted[ACTED.energy] = power, energy


@functools.cache
def act_address() -> int:
    """Address of `act`, compiled now or loaded from the cache."""
    reals, whole = NUMBERS, INTEGERS
    return address_of(act, NUMBER, whole, reals, whole, *(reals,) * 8, whole)


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
