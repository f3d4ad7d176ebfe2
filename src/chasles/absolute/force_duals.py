"""Forces on the bodies on dual numbers: what `forces.act` does, in parts that are compiled where they are needed."""

from __future__ import annotations

from functools import cache

import numpy as np

from chasles.absolute.joint_force import act_on_joint, look
from chasles.absolute.tables import HEAD, forces_of
from chasles.force.bushing import add_bushing, is_element
from chasles.force.law_tangent import DUALS
from chasles.force.rod import add_rod
from chasles.force.table import BUSHING, FORCE, FORCES, MOVING, ROD, SCRATCH, SPRING, WRENCH, add_spring, add_wrench
from chasles.kernel.address import INTEGER, NUMBER, NUMBERS, address_of, as_integers
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native


@kernel(allocates=True)
def parts_of(p_at, p_size, values_at, of_joints_at, counted_at, rates_at, states_at, wrenches_at, scratch_at):
    """The tables of the forces; numbers of joints, plain or on duals; and arrays of duals: numbers of forces, counted
    angles and rates, states, wrenches, scratch."""
    integers, forces = carray(as_integers(p_at), (p_size,)), forces_of(carray(p_at, (p_size,)))
    n, count = forces.n, integers[HEAD.n_angles]
    return (
        forces,
        carray(values_at, (forces.values.shape[0],)),
        carray(of_joints_at, (forces.joint_numbers.shape[0],)),
        carray(counted_at, (count,)),
        carray(rates_at, (count,)),
        carray(states_at, (MOVING.size * (n + 1),)),
        carray(wrenches_at, (6 * n,)),
        carray(scratch_at, (SCRATCH,)),
    )


@native
def springs_and_joints(
    t, p_at, p_size, values_at, of_joints_at, counted_at, rates_at, states_at, wrenches_at, scratch_at
):
    """Add springs, wrenches and what acts along joints to the wrenches (torque and force in the bodies)."""
    forces, values, of_joints, counted, rates, states, wrenches, scratch = parts_of(
        p_at, p_size, values_at, of_joints_at, counted_at, rates_at, states_at, wrenches_at, scratch_at
    )
    table = forces.table
    for k in range(table[FORCES.count]):
        line = FORCES.size + k * FORCE.size
        at, kind = table[line + FORCE.numbers], table[line + FORCE.kind]
        if table[line + FORCE.seen] != 0 and not is_element(table, k):
            look(forces.joints, of_joints, table, values, line, states, counted, scratch)
        if kind == SPRING:
            add_spring(t, table, line, values, at, states, MOVING.size, wrenches, scratch)
        elif kind == WRENCH:
            add_wrench(t, table, line, values, at, states, MOVING.size, wrenches, scratch)
        elif not is_element(table, k):
            act_on_joint(
                *(t, forces.joints, of_joints, table[line + FORCE.first], table, values),
                *(forces.control, counted, rates, states, wrenches, scratch),
            )


@native
def bushings(t, p_at, p_size, values_at, of_joints_at, counted_at, rates_at, states_at, wrenches_at, scratch_at):
    """Add bushings to the wrenches."""
    forces, values, _, _, _, states, wrenches, _ = parts_of(
        p_at, p_size, values_at, of_joints_at, counted_at, rates_at, states_at, wrenches_at, scratch_at
    )
    table = forces.table
    for k in range(table[FORCES.count]):
        line = FORCES.size + k * FORCE.size
        if table[line + FORCE.kind] == BUSHING:
            add_bushing(table, line, values, table[line + FORCE.numbers], states, MOVING.size, wrenches)


@native
def rods(t, p_at, p_size, values_at, of_joints_at, counted_at, rates_at, states_at, wrenches_at, scratch_at):
    """Add the elements of rods to the wrenches."""
    forces, values, _, _, _, states, wrenches, scratch = parts_of(
        p_at, p_size, values_at, of_joints_at, counted_at, rates_at, states_at, wrenches_at, scratch_at
    )
    table = forces.table
    for k in range(table[FORCES.count]):
        line = FORCES.size + k * FORCE.size
        if table[line + FORCE.kind] == ROD:
            at = table[line + FORCE.numbers]
            add_rod(t, table, line, values, at, states, MOVING.size, wrenches, scratch)


@cache
def acting_address(kind: int, varied: bool = False) -> int:
    """Address of what adds the forces of a kind. varied: whether numbers of joints are duals too."""
    function = {BUSHING: bushings, ROD: rods}.get(kind, springs_and_joints)
    of_joints = DUALS if varied and function is springs_and_joints else NUMBERS
    return address_of(function, NUMBER, NUMBERS, INTEGER, DUALS, of_joints, *(DUALS,) * 5)


def acting_addresses(table: np.ndarray) -> np.ndarray:
    """Addresses of what adds the forces of a table, by their kinds: nothing is compiled that has nothing to do."""
    rows = table[FORCES.size :][: table[FORCES.count] * FORCE.size].reshape(-1, FORCE.size)
    kinds = {kind if kind in (BUSHING, ROD) else SPRING for kind in rows[:, FORCE.kind].tolist()}
    return np.array([acting_address(kind) for kind in sorted(kinds)], dtype=np.int64)
