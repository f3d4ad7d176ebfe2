"""Cotangents through the projection of a closed mechanism onto its rows (`relative.loop.entry.onto_rows`).

Positions go there by sweeps q ← q ⊕ c, of multipliers x,

    M c + Bᵀ Nᵀ x = 0,   S x = g(q),   S = J M⁻¹ Jᵀ,

with the rows N of the links at q, but masses M, twists B of the links and S at the place of the factor: that where the
projection begins, or where sweeps were slow. Velocities go there likewise, with J v - target in place of g. Each sweep
is taken again, and then back, with all its derivatives; those of the factor too, which count where steps are long. What
is left of g is rounding, but its derivative is not: a projection of cotangents, at the end, stands for all further
sweeps.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from chasles.constraint.projection import SWEEPS
from chasles.constraint.rows import ZERO
from chasles.kernel.address import INTEGERS, NUMBER, NUMBERS, address_of, as_integer_array, invoke
from chasles.kernel.algebra import add, cross, dot, mul, mul_t, scale
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, load3, load6, store3, store9
from chasles.lie import quaternion
from chasles.relative.forward import LIMB
from chasles.relative.free_velocity import to_body
from chasles.relative.joint import load_quaternion, placement
from chasles.relative.loop.rows import push
from chasles.relative.loop.tables import HEAD, loop_work_of, part
from chasles.relative.tables import FREE, SPHERICAL, constants_of, link, links_of
from chasles.simulation.adjoint.loop_field import APART, MASSES, TILES, rows_times_motion
from chasles.simulation.adjoint.loop_memory import LOOP, loop_room_of
from chasles.simulation.adjoint.loop_sweeps import (
    SMALL,
    factorize,
    look_at,
    solve_rows,
    spot_at,
    sweep_positions,
    sweep_velocities,
)
from chasles.simulation.adjoint.mass import place_of, solve_mass
from chasles.simulation.adjoint.pull_state import set_to
from chasles.simulation.adjoint.steps import clear
from chasles.simulation.adjoint.tree import add_felt, add_turn, free_velocities_back, hand_on

# a share that is off by so little that it makes no difference at which of two places derivatives are taken
NOTHING = 1e-13
SETTLING, SETTLED = 20, 0.5  # further sweeps, at most, of cotangents; one that leaves more has come to rounding


@kernel(shared=True)
def set_places(topology, numbers, q, limbs):
    """Places of all links on their parents."""
    for i in range(links_of(topology)):
        _, kind, iq, _ = link(topology, i)
        R, p = placement(numbers, constants_of(i), kind, q, iq, 0.0)
        store9(limbs, (i + 1) * LIMB.size + LIMB.rotation, R)
        store3(limbs, (i + 1) * LIMB.size + LIMB.position, p)


@kernel(allocates=True, shared=True)
def respond_with(integers, p, space, x, weight):
    """change = weight M⁻¹ Bᵀ Nᵀ x."""
    for r in range(integers[HEAD.n_rows]):
        space.x[r] = x[r]
    invoke(integers[HEAD.respond], integers, p, p.shape[0], weight, p[integers[HEAD.end] :])


@kernel(allocates=True, shared=True)
def take_from(integers, p, space, limbs, x, forces):
    """forces -= Jᵀ x, of rows at the places in the limbs."""
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, touched = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.touched)
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    clear(space.wrenches)
    for r in range(integers[HEAD.n_rows]):
        push(tiles, groups, equations, touched, space.rows, r, space.motion, x[r], space.wrenches)
    for i in range(links_of(topology) - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        wrench = load6(space.wrenches, 6 * i, 0.0)
        add_felt(numbers, constants_of(i), kind, wrench, -1.0, forces, iv)
        if parent >= 0:
            R, place = place_of(numbers, i, kind, limbs)
            hand_on(R, place, wrench, space.wrenches, 6 * parent)


@kernel(allocates=True, shared=True)
def weigh_rows(integers, p, space, room):
    """In space.x what multiplies the rows in a sweep whose change has the cotangent room.a_bar; M⁻¹ times that in
    room.mu. How large N of this is."""
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    solve_mass(topology, numbers, space.limbs, room.a_bar, room.mu)
    size = rows_times_motion(integers, space)
    solve_rows(integers, space)
    return size


@kernel(allocates=True)
def settle_velocities(integers, p, space, room):
    """Through all further sweeps of velocities, which move nothing but derivatives: room.a_bar -= Jᵀ y so that N of
    μ = M⁻¹ room.a_bar, with the factor at hand, is zero at the place in room.limbs; y in room.second."""
    clear(room.second)
    size = np.inf
    for _ in range(SETTLING):
        before, size = size, weigh_rows(integers, p, space, room)
        if not size < SETTLED * before:
            break
        for r in range(integers[HEAD.n_rows]):
            room.second[r] += space.x[r]
            room.held[r] = space.x[r]
        take_from(integers, p, space, room.limbs, room.held, room.a_bar)


@kernel(shared=True)
def tangents_of(topology, q, q_bar, out):
    """Add the cotangent along q exp(δ) to `out` from that of the numbers q, which becomes zero."""
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == SPHERICAL or kind == FREE:
            w, x, bar = q[iq], load3(q, iq + 1, 0.0), load3(q_bar, iq + 1, 0.0)
            turned = add(scale(-q_bar[iq], x), add(scale(w, bar), cross(bar, x)))
            add3(out, iv, scale(0.5, turned))
            if kind == FREE:
                R = quaternion.to_matrix(load_quaternion(q, iq, 0.0))
                add3(out, iv + 3, mul_t(R, load3(q_bar, iq + 4, 0.0)))
        else:
            out[iv] += q_bar[iq]
    clear(q_bar)


@kernel(shared=True)
def add_to_coordinates(topology, q, bar, q_bar):
    """Add the cotangent of the numbers q from that along q exp(δ)."""
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == SPHERICAL or kind == FREE:
            push = load3(bar, iv + 3, 0.0) if kind == FREE else ZERO
            add_turn(q, iq, load3(bar, iv, 0.0), push, kind, 1.0, q_bar)
        else:
            q_bar[iq] += bar[iv]


@kernel(shared=True)
def retract_back(topology, change, v, bar, v_bar, change_bar):
    """Through `steps.retract`: `bar` and v_bar become the cotangents before it, v what it was."""
    for i in range(links_of(topology)):
        _, kind, _, iv = link(topology, i)
        if kind == SPHERICAL or kind == FREE:
            half, own = scale(0.5, load3(change, iv, 0.0)), load3(bar, iv, 0.0)
            R = quaternion.to_matrix(quaternion.normalize((1.0, half[0], half[1], half[2])))
            turned, total = mul(R, own), own
            if kind == FREE:
                speed, speed_bar = load3(v, iv + 3, 0.0), load3(v_bar, iv + 3, 0.0)
                push = mul(R, load3(bar, iv + 3, 0.0))
                total = add(own, cross(speed_bar, speed))
                turned = add(turned, cross(load3(change, iv + 3, 0.0), push))
                store3(bar, iv + 3, push)
                store3(change_bar, iv + 3, push)
                store3(v, iv + 3, mul(R, speed))
                store3(v_bar, iv + 3, mul(R, speed_bar))
            store3(change_bar, iv, scale(1.0 / (1.0 + dot(half, half)), add(total, cross(half, total))))
            store3(bar, iv, turned)
        else:
            change_bar[iv] = bar[iv]


@kernel(allocates=True, shared=True)
def differentiate(t, counts, by_acceleration, by_speed, by_residual, p, memory, room, here, there, g):
    """`pull_linkage` at a spot or, if it is apart, at two, whose cotangents these are."""
    head = as_integer_array(memory)
    others = room.others if counts & APART != 0 else room.limbs
    invoke(
        *(head[LOOP.linkage], t, counts, by_acceleration, by_speed, by_residual, p, p.shape[0]),
        *(here.q, room.limbs, here.bar, there.q, others, there.bar),
        *(g, g.shape[0], memory, memory.shape[0]),
    )


@kernel(allocates=True, shared=True)
def sweep_back(t, integers, p, memory, space, room, x, change, by_speed, by_residual, here, there, same, settled, g):
    """Through one sweep, from the cotangent of its change in room.a_bar, to those of where it is, `here`, of its
    factor, `there`, and of all numbers; of velocities too. settled: whether what multiplies the rows is as small as the
    change, and their product counts for nothing."""
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    weigh_rows(integers, p, space, room)
    set_to(room.first, x)
    set_to(room.second, space.x)
    set_to(room.a, change)
    if same:  # masses, links and rows are those of one place
        respond_with(integers, p, space, room.second, -1.0)
        for k in range(integers[HEAD.n_v]):
            room.mu[k] += space.change[k]
        differentiate(t, MASSES + TILES, 1.0, by_speed, by_residual, p, memory, room, here, here, g)
        return
    set_places(topology, numbers, there.q, room.others)
    differentiate(t, MASSES + TILES + APART, 0.0, by_speed, by_residual, p, memory, room, here, there, g)
    if not settled:  # how S follows its place
        clear(room.v)
        look_at(t, integers, p, there.q, room.v)
        respond_with(integers, p, space, x, 1.0)
        set_to(room.a, space.change)
        respond_with(integers, p, space, room.second, 1.0)
        set_to(room.mu, space.change)
        for r in range(integers[HEAD.n_rows]):
            room.first[r], room.second[r] = -room.first[r], -room.second[r]
        set_to(room.limbs, room.others)
        differentiate(t, MASSES + TILES, 1.0, 0.0, 0.0, p, memory, room, there, there, g)


@kernel(allocates=True, shared=True)
def take_factor(t, integers, p, space, room, q):
    """The factor at q, as it was."""
    clear(room.v)
    look_at(t, integers, p, q, room.v)
    factorize(integers, p, q, space)


@kernel(allocates=True)
def velocities_back(t, integers, p, memory, space, room, end, owner, sweeps, converged, g):
    """Through the sweeps of velocities, whose cotangents are room.v_bar, to the velocities before them, room.speed. The
    last ones, with one factor, and all that might follow are one projection: M (v - v₀) + Jᵀ x = 0, J v = target."""
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    here, first, used = spot_at(memory, integers, end), SWEEPS + 1, owner
    if sweeps > 0:
        used = int(spot_at(memory, integers, first + sweeps - 1).info[1])
    if converged:
        clear(room.first)
        clear(room.a)
        set_to(room.v, room.speed)
        while sweeps > 0 and int(spot_at(memory, integers, first + sweeps - 1).info[1]) == used:
            sweeps -= 1
            one = spot_at(memory, integers, first + sweeps)
            for r in range(integers[HEAD.n_rows]):
                room.first[r] += one.x[r]
            for k in range(integers[HEAD.n_v]):
                room.a[k] += one.change[k]
                room.speed[k] -= one.change[k]
        there = spot_at(memory, integers, used)
        set_places(topology, numbers, here.q, room.limbs)
        set_places(topology, numbers, there.q, room.others)
        set_to(room.a_bar, room.v_bar)
        settle_velocities(integers, p, space, room)
        differentiate(t, MASSES + TILES + APART, 0.0, 1.0, 0.0, p, memory, room, here, there, g)
    for k in range(sweeps - 1, -1, -1):
        one = spot_at(memory, integers, first + k)
        there = spot_at(memory, integers, int(one.info[1]))
        if used != int(one.info[1]):
            used = int(one.info[1])
            take_factor(t, integers, p, space, room, there.q)
        set_to(room.v, one.v)
        set_to(room.speed, one.v)
        look_at(t, integers, p, here.q, room.v)
        set_places(topology, numbers, here.q, room.limbs)
        set_to(room.a_bar, room.v_bar)
        sweep_back(
            *(t, integers, p, memory, space, room, one.x, one.change, 1.0, 0.0, here, there, False, False, g),
        )
    if used != owner:
        take_factor(t, integers, p, space, room, spot_at(memory, integers, owner).q)
    look_at(t, integers, p, here.q, room.speed)
    set_places(topology, numbers, here.q, room.limbs)


@kernel(allocates=True)
def settle_positions(t, integers, p, memory, space, room, end, g):
    """Through all further sweeps of positions. What rows make of velocities is not always the derivative of their
    residuals, of which rolling has none: so what counts is how much these move the cotangents."""
    topology, size = part(integers, integers, HEAD.topology), np.inf
    clear(room.first)
    clear(room.v)
    clear(room.a)
    for _ in range(SETTLING):
        set_to(room.a_bar, room.bar)
        for i in range(links_of(topology)):
            _, kind, _, iv = link(topology, i)
            if kind == FREE:  # what turns it, turns its velocity
                add3(room.a_bar, iv, cross(load3(room.v_bar, iv + 3, 0.0), load3(room.speed, iv + 3, 0.0)))
        weigh_rows(integers, p, space, room)
        set_to(room.second, space.x)
        differentiate(t, TILES, 0.0, 0.0, 1.0, p, memory, room, end, end, g)
        before, size = size, 0.0
        clear(room.held_bar)
        tangents_of(topology, end.q, end.bar, room.held_bar)
        for k in range(integers[HEAD.n_v]):
            size = max(size, abs(room.held_bar[k]))
            room.bar[k] += room.held_bar[k]
        if not size < SETTLED * before or size == 0.0:
            break


@kernel(allocates=True)
def positions_back(t, integers, p, memory, space, room, sweeps, owner, share, g):
    """Through the sweeps of positions, whose cotangent is at the last spot. share: how far off they are in the end; if
    this is no rounding, there are no further sweeps."""
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    end, last, speeds = spot_at(memory, integers, sweeps), owner, as_integer_array(memory)[LOOP.speeds]
    clear(room.bar)
    tangents_of(topology, end.q, end.bar, room.bar)
    if share < SMALL:
        settle_positions(t, integers, p, memory, space, room, end, g)
    for k in range(sweeps - 1, -1, -1):
        here = spot_at(memory, integers, k)
        share, used = here.info[0], int(here.info[1])
        retract_back(topology, here.change, room.speed, room.bar, room.v_bar, room.a_bar)
        there = spot_at(memory, integers, used)
        if owner != used:
            take_factor(t, integers, p, space, room, there.q)
            owner = used
        clear(room.v)
        look_at(t, integers, p, here.q, room.v)
        set_places(topology, numbers, here.q, room.limbs)
        same, settled = used == k or share < NOTHING, share < SMALL and used == last and speeds == 0
        sweep_back(
            *(t, integers, p, memory, space, room, here.x, here.change, 0.0, 1.0, here, there, same, settled, g),
        )
        tangents_of(topology, here.q, here.bar, room.bar)


@kernel(allocates=True)
def pull_corrected(t, y, bar, y_bar, g, memory):
    """All of it, for a state y and the cotangent of what is made of it."""
    head = as_integer_array(memory)
    p = memory[head[LOOP.packed] : head[LOOP.end]]
    integers, free = as_integer_array(p), head[LOOP.free] != 0
    space, room = loop_work_of(p[integers[HEAD.end] :], integers), loop_room_of(memory[head[LOOP.room] :], integers)
    nq, nv, topology = integers[HEAD.n_q], integers[HEAD.n_v], part(integers, integers, HEAD.topology)
    numbers = g[nv:]
    set_to(room.q, y)
    set_to(room.speed, y[nq:])
    if free:
        to_body(topology, room.q, room.speed, room.speed, 0.0)
    sweeps, owner, far, share = sweep_positions(t, integers, p, memory, space, room.q, room.speed)
    if owner < 0:
        for k in range(nq + nv):
            y_bar[k] = np.nan
        return
    speed_sweeps, converged = sweep_velocities(t, integers, p, memory, space, room.q, room.speed, sweeps, owner, far)
    end = spot_at(memory, integers, sweeps)
    set_to(end.bar, bar)
    set_to(room.v_bar, bar[nq:])
    if free:
        body_velocities_back(topology, end.q, room.speed, room.v_bar, end.bar)
    velocities_back(t, integers, p, memory, space, room, sweeps, owner, speed_sweeps, converged, numbers)
    positions_back(t, integers, p, memory, space, room, sweeps, owner, share, numbers)
    add_to_coordinates(topology, y, room.bar, y_bar)
    if free:
        free_velocities_back(topology, y, room.speed, room.v_bar, y_bar, nq)
    else:
        for k in range(nv):
            y_bar[nq + k] += room.v_bar[k]
    y_bar[nq + nv] += bar[nq + nv]


@kernel(shared=True)
def body_velocities_back(topology, q, v, v_bar, q_bar):
    """Cotangents through w = R v of free joints."""
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == FREE:
            R = quaternion.to_matrix(load_quaternion(q, iq, 0.0))
            own = mul_t(R, load3(v_bar, iv + 3, 0.0))
            add_turn(q, iq, cross(load3(v, iv + 3, 0.0), own), ZERO, SPHERICAL, 1.0, q_bar)
            store3(v_bar, iv + 3, own)


@native
def pull_onto_loops(t, y, f, bar, y_bar, g, p, memory, sizes):
    """`pull_corrected` through pointers; sizes: of y, bar, g, p and memory."""
    n = carray(sizes, (5,))
    state, given, found = carray(y, (n[0],)), carray(bar, (n[1],)), carray(y_bar, (n[0],))
    pull_corrected(t, state, given, found, carray(g, (n[2],)), carray(memory, (n[4],)))


@cache
def projection_address() -> int:
    """Address of `pull_onto_loops`, compiled now or loaded from the cache."""
    return address_of(pull_onto_loops, NUMBER, *(NUMBERS,) * 7, INTEGERS)
