"""All forces but gravity on the bodies of a packed mechanism, from a table; and its joints at a state."""

from __future__ import annotations

from chasles.absolute.joint_force import JOINT, SPOT, act_on_joint, look, spot_joint
from chasles.absolute.kkt import POSE, TWIST
from chasles.absolute.tables import BODY, HEAD, SE3, force_work_of, force_work_size, forces_of
from chasles.constraint.rows import IDENTITY
from chasles.force.bushing import add_bushings, run_of_elements
from chasles.force.rod import add_rods
from chasles.force.table import ACTED, BUSHING, FORCE, FORCES, MOVING, ROD, SPRING, WRENCH, add_spring, add_wrench
from chasles.kernel.address import as_integers, invoke
from chasles.kernel.algebra import mul, mul_t
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import load3, load9, store3, store6, store9
from chasles.lie import quaternion


@kernel
def set_states(bodies, n, q, v, states):
    """Poses and body twists of the ground and all bodies, as forces take them."""
    store9(states, MOVING.rotation, IDENTITY)
    for k in range(MOVING.position, MOVING.size):
        states[k] = 0.0
    for i in range(n):
        at = (i + 1) * MOVING.size
        R = quaternion.to_matrix((q[POSE * i], q[POSE * i + 1], q[POSE * i + 2], q[POSE * i + 3]))
        linear = load3(v, TWIST * i + 3, 0.0)
        if bodies[i * BODY.size + BODY.space] != SE3:
            linear = mul_t(R, linear)
        store9(states, at + MOVING.rotation, R)
        store3(states, at + MOVING.position, load3(q, POSE * i + 4, 0.0))
        store6(states, at + MOVING.twist, (load3(v, TWIST * i, 0.0), linear))


@native
def act(t, p_at, p_size, q_at, v_at, wrenches_at, work_at, result_at):
    """All forces but gravity as wrenches (torque in the body, force in space); result: (power, stored energy)."""
    integers, p = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,))
    forces, space = forces_of(p), force_work_of(carray(work_at, (force_work_size(integers),)), integers)
    n, table, values, states, scratch = forces.n, forces.table, forces.values, space.states, space.scratch
    q, v, wrenches = carray(q_at, (POSE * n,)), carray(v_at, (TWIST * n,)), carray(wrenches_at, (6 * n,))
    result = carray(result_at, (ACTED.size,))
    set_states(forces.bodies, n, q, v, states)
    for k in range(6 * n):
        wrenches[k] = 0.0
    power, energy, k = 0.0, 0.0, 0
    while k < table[FORCES.count]:
        line, count = FORCES.size + k * FORCE.size, 1
        at = table[line + FORCE.numbers]
        if table[line + FORCE.seen] != 0:
            look(forces.joints, forces.joint_numbers, table, values, line, states, forces.counted, scratch)
        if table[line + FORCE.kind] == SPRING:
            lost, stored = add_spring(t, table, line, values, at, states, MOVING.size, wrenches, scratch)
            power, energy = power + lost, energy + stored
        elif table[line + FORCE.kind] == BUSHING:
            count = run_of_elements(table, k)
            lost, stored = add_bushings(table, k, count, values, states, MOVING.size, wrenches, scratch)
            power, energy = power + lost, energy + stored
        elif table[line + FORCE.kind] == ROD:
            count = run_of_elements(table, k)
            lost, stored = add_rods(t, table, k, count, values, states, MOVING.size, wrenches, scratch)
            power, energy = power + lost, energy + stored
        elif table[line + FORCE.kind] == WRENCH:
            power += add_wrench(t, table, line, values, at, states, MOVING.size, wrenches, scratch)
        else:
            more, stored = act_on_joint(
                *(t, forces.joints, forces.joint_numbers, table[line + FORCE.first], table, values),
                *(forces.control, forces.counted, forces.rates, states, wrenches, scratch),
            )
            power, energy = power + more, energy + stored
        k += count
    for i in range(n):
        R = load9(states, (i + 1) * MOVING.size + MOVING.rotation, 0.0)
        store3(wrenches, 6 * i + 3, mul(R, load3(wrenches, 6 * i + 3, 0.0)))
    result[ACTED.power], result[ACTED.energy] = power, energy


@kernel(entry=True, allocates=True)
def joints_of_states(integers, p, angles, q, v, work, coordinates, velocities):
    """Coordinates and velocities of all joints of a batch of states."""
    forces, space = forces_of(p), force_work_of(work, integers)
    joints, numbers, states, spot = forces.joints, forces.joint_numbers, space.states, space.scratch
    for k in range(q.shape[0]):
        set_states(forces.bodies, forces.n, q[k], v[k], states)
        iq = iv = 0
        for j in range(integers[HEAD.n_joints]):
            spot_joint(joints, numbers, j, states, angles[k], spot)
            for i in range(joints[j * JOINT.size + JOINT.coordinates]):
                coordinates[k, iq] = spot[SPOT.q + i]
                iq += 1
            for i in range(joints[j * JOINT.size + JOINT.velocities]):
                velocities[k, iv] = spot[SPOT.v + i]
                iv += 1


@kernel(entry=True)
def forces_on_states(address, integers, times, angles, controls, p, q, v, wrenches, work, results):
    """All forces on a batch of states; the angles and controls in p are written to."""
    for k in range(q.shape[0]):
        for j in range(integers[HEAD.n_angles]):
            p[integers[HEAD.counted] + j] = angles[k, j]
        for j in range(controls.shape[1]):
            p[integers[HEAD.control] + j] = controls[k, j]
        invoke(address, times[k], p, p.shape[0], q[k], v[k], wrenches[k], work, results[k])
