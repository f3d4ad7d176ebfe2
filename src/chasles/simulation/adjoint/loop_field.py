"""Cotangents through the equations of motion of a closed mechanism, at a cost that depends on no number of parameters.

The accelerations solve M a + Jᵀ λ = τ - h and J a = rate - 2 α (J v - target) - β² g of the rows that were chosen. For
a cotangent ā of them let M μ + Jᵀ ν = ā and J μ = 0: the same equations, whose factor the field left behind. Then all
derivatives are those of the number

    s = μᵀ (τ - Q(q, v, a) - Jᵀ λ) - νᵀ (J a - rate + 2 α (J v - target) + β² g)

at constant μ, ν, λ and a. Its first part is that of a tree (`tree`); the others are T of each tile (`loop_tiles`), with
ξ the twists of μ, and give the links that it holds cotangents of their poses too.
"""

from __future__ import annotations

from functools import cache

from chasles.constraint.rows import MOTION, TILE, TRAVEL, ZERO
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, NUMBERS, address_of, as_integer_array, invoke
from chasles.kernel.algebra import add, cross, motion_cross, mul, mul_t, sub
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, load3, load6, load9, store3, store6, store9
from chasles.relative.forward import LIMB, carried
from chasles.relative.free_velocity import to_body
from chasles.relative.joint import along_screws
from chasles.relative.loop.rows import tiles_of, times_accelerations
from chasles.relative.loop.tables import HEAD, loop_work_of, part
from chasles.relative.loop.triangle import solve
from chasles.relative.tables import GRAVITY, constants_of, link, links_of
from chasles.simulation.adjoint.loop_memory import LOOP, loop_room_of
from chasles.simulation.adjoint.loop_special import SPECIAL, pull_special
from chasles.simulation.adjoint.loop_tiles import TILE_FRAME, WEIGHT, pull_tile
from chasles.simulation.adjoint.mass import place_of, solve_mass
from chasles.simulation.adjoint.tree import (
    BACK,
    add6,
    both,
    free_rates_back,
    free_velocities_back,
    pull_forces,
    pull_link,
    pull_own,
)

# what counts in `pull_linkage`; with rates, things fall and tiles are driven
MASSES, RATES, TILES, PUSHES, APART = 1, 2, 4, 8, 16
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def outward(topology, numbers, v, a, mu, fall, limbs, work):
    """Twists, accelerations and ξ of all links, from v, a and μ; no cotangents yet."""
    for k in range(BACK.size):
        work[k] = 0.0
    for k in range(3):
        work[BACK.acceleration + 3 + k] = -fall[k]
    store6(limbs, LIMB.motion, (ZERO, ZERO))
    for i in range(links_of(topology)):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * BACK.size, (parent + 1) * BACK.size
        R, p = place_of(numbers, i, kind, limbs)
        joint = along_screws(numbers, c, kind, v, iv, 0.0)
        twist = both(carried(R, p, load6(work, base + BACK.twist, 0.0)), joint)
        A = both(carried(R, p, load6(work, base + BACK.acceleration, 0.0)), motion_cross(twist, joint))
        xi = carried(R, p, load6(limbs, (parent + 1) * LIMB.size + LIMB.motion, 0.0))
        store6(work, here + BACK.twist, twist)
        store6(work, here + BACK.acceleration, both(A, along_screws(numbers, c, kind, a, iv, 0.0)))
        at = (i + 1) * LIMB.size + LIMB.motion
        store6(limbs, at, both(xi, along_screws(numbers, c, kind, mu, iv, 0.0)))
        for k in range(BACK.twist_bar, BACK.size):
            work[here + k] = 0.0


@kernel(shared=True)
def spin_out(topology, numbers, v, limbs, work):
    """Twists of all links at another place than that of their accelerations and ξ."""
    for i in range(links_of(topology)):
        parent, kind, _, iv = link(topology, i)
        R, p = place_of(numbers, i, kind, limbs)
        twist = carried(R, p, load6(work, (parent + 1) * BACK.size + BACK.twist, 0.0))
        joint = along_screws(numbers, constants_of(i), kind, v, iv, 0.0)
        store6(work, (i + 1) * BACK.size + BACK.twist, both(twist, joint))


@kernel(shared=True)
def set_frames(touched, n_touched, motion, fall, limbs, work, frames):
    """Motion of the links that are held, in space, and of the ground; no cotangents yet."""
    for k in range(TILE_FRAME.size):
        frames[k] = 0.0
    store9(frames, TILE_FRAME.rotation, IDENTITY)
    for c in range(n_touched):
        b, at = (c + 1) * TILE_FRAME.size, c * MOTION.size
        R, xi = load9(motion, at, 0.0), load6(limbs, (touched[c] + 1) * LIMB.size + LIMB.motion, 0.0)
        here = (touched[c] + 1) * BACK.size
        (w, u), A = load6(work, here + BACK.twist, 0.0), load6(work, here + BACK.acceleration, 0.0)
        store9(frames, b + TILE_FRAME.rotation, R)
        store3(frames, b + TILE_FRAME.position, load3(motion, at + MOTION.position, 0.0))
        store3(frames, b + TILE_FRAME.vary_spin, mul(R, xi[0]))
        store3(frames, b + TILE_FRAME.vary, mul(R, xi[1]))
        store3(frames, b + TILE_FRAME.spin, mul(R, w))
        store3(frames, b + TILE_FRAME.velocity, mul(R, u))
        store3(frames, b + TILE_FRAME.angular, mul(R, A[0]))
        store3(frames, b + TILE_FRAME.linear, add(mul(R, add(A[1], cross(w, u))), load3(fall, 0, 0.0)))
        for k in range(TILE_FRAME.turning, TILE_FRAME.size):
            frames[b + k] = 0.0


@kernel(shared=True)
def frames_back(touched, n_touched, fall, work, frames):
    """Cotangents of links, in their frames, from those in space; fall: gravity, and behind it its cotangent."""
    for c in range(n_touched):
        b, here = (c + 1) * TILE_FRAME.size, (touched[c] + 1) * BACK.size
        R, (w, u) = load9(frames, b + TILE_FRAME.rotation, 0.0), load6(work, here + BACK.twist, 0.0)
        turning, linear_bar = load3(frames, b + TILE_FRAME.turning, 0.0), load3(frames, b + TILE_FRAME.linear_bar, 0.0)
        for k in range(3):  # what turns with the link
            angular, moving = TILE_FRAME.vary_spin + 3 * k, TILE_FRAME.vary + 3 * k
            bar = load3(frames, b + TILE_FRAME.vary_spin_bar + 3 * k, 0.0)
            turning = add(turning, cross(load3(frames, b + angular, 0.0), bar))
            vector = load3(frames, b + moving, 0.0)
            if k == 2:
                vector = sub(vector, load3(fall, 0, 0.0))
            turning = add(turning, cross(vector, load3(frames, b + TILE_FRAME.vary_bar + 3 * k, 0.0)))
        push = mul_t(R, linear_bar)
        add6(work, here + BACK.pose_bar, (mul_t(R, turning), mul_t(R, load3(frames, b + TILE_FRAME.position_bar, 0.0))))
        add3(work, here + BACK.xi_bar, mul_t(R, load3(frames, b + TILE_FRAME.vary_spin_bar, 0.0)))
        add3(work, here + BACK.xi_bar + 3, mul_t(R, load3(frames, b + TILE_FRAME.vary_bar, 0.0)))
        add3(work, here + BACK.twist_bar, add(mul_t(R, load3(frames, b + TILE_FRAME.spin_bar, 0.0)), cross(u, push)))
        add3(
            work,
            here + BACK.twist_bar + 3,
            add(mul_t(R, load3(frames, b + TILE_FRAME.velocity_bar, 0.0)), cross(push, w)),
        )
        add6(work, here + BACK.acceleration_bar, (mul_t(R, load3(frames, b + TILE_FRAME.angular_bar, 0.0)), push))
        add3(fall, 3, linear_bar)


@kernel
def spread(groups, equations, m, first, second, by_acceleration, by_speed, by_residual, weights):
    """Weights of the rows of tiles, from two numbers of each equation."""
    for k in range(weights.shape[0]):
        weights[k] = 0.0
    for r in range(m):
        begin, count, k = tiles_of(groups, equations, r)
        for j in range(begin, begin + count):
            at = j * WEIGHT.size + k
            weights[at + WEIGHT.residual] = by_residual * second[r]
            weights[at + WEIGHT.vary] = first[r]
            weights[at + WEIGHT.speed] = by_speed * second[r]
            weights[at + WEIGHT.acceleration] = by_acceleration * second[r]


@kernel(allocates=True, shared=True)
def pull_tiles(t, integers, p, space, memory, room, limbs, g, rates):
    """Cotangents of the links that are held from T of all tiles."""
    head, tiles = as_integer_array(memory), part(integers, integers, HEAD.tiles)
    touched, constants = part(integers, integers, HEAD.touched), part(p, integers, HEAD.constants)
    count, first = integers[HEAD.n_touched], integers[HEAD.numbers + 1] - integers[HEAD.numbers]
    set_frames(touched, count, space.motion, room.fall, limbs, room.back, room.frames)
    for j in range(integers[HEAD.n_tiles]):
        if tiles[j * TILE.size + TILE.kinds] <= TRAVEL:
            pull_tile(tiles, constants, j, room.frames, room.weights, space.rows, room.jets, g[first:])
    frames_back(touched, count, room.fall, room.back, room.frames)
    for k in range(head[LOOP.specials]):
        pull_special(
            *(head[LOOP.special] + k * SPECIAL.size, memory, memory[head[LOOP.alone] : head[LOOP.forces]], room.sides),
            *(t, tiles, touched, space.motion, space.rows, room.weights, limbs, room.back),
            *(load3(room.fall, 0, 0.0), room.fall[3:], g, rates),
        )


@kernel(shared=True)
def inward(integers, p, q, v, a, mu, pushes, limbs, work, v_bar, y_bar, g, counts):
    """Cotangents of all links go to the coordinates, the velocities and the numbers of the tree."""
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    for i in range(links_of(topology) - 1, -1, -1):
        if counts & PUSHES != 0:
            for k in range(6):
                work[(i + 1) * BACK.size + BACK.xi_bar + k] -= pushes[6 * i + k]
        if counts & MASSES != 0:
            pull_own(numbers, i, limbs, work, g, -1.0)
        pull_link(topology, numbers, i, q, v, a, mu, limbs, work, v_bar, y_bar, g, 0, True)


@kernel(shared=True)
def move_apart(links, work, apart):
    """Accelerations, their cotangents and those of ξ go apart; cotangents of twists and poses stay alone."""
    for k in range(BACK.size * (links + 1)):
        apart[k] = 0.0
    for here in range(0, BACK.size * (links + 1), BACK.size):
        for k in range(6):
            apart[here + BACK.acceleration + k] = work[here + BACK.acceleration + k]
        for k in range(BACK.acceleration_bar, BACK.pose_bar):
            apart[here + k] = work[here + k]
            work[here + k] = 0.0


@native
def pull_linkage(
    t, counts, by_acceleration, by_speed, by_residual, p_at, p_size, q_at, limbs_at, y_bar_at, there_at, others_at,
    there_bar_at, g_at, g_size, memory_at, memory_size,
):  # fmt: skip
    """Add to the cotangents of q (room.v_bar: of v) and of all numbers of tree and tiles what

        s = -(μᵀ Q(q, v, a) + T)

    makes of them, with v, a, μ of the room. T has the rows' variations times room.first, and their other channels
    times room.second and these factors. counts: what counts of it. The tiles were evaluated at q, whose places are in
    the limbs; these have ξ afterwards.

    If it is apart, accelerations and ξ of the links are those of another place, `there`, where masses are looked at too
    (they do not move); `others` has its places.
    """
    p, memory = carray(p_at, (p_size,)), carray(memory_at, (memory_size,))
    integers, head = as_integer_array(p), as_integer_array(memory)
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    nq, links, apart = integers[HEAD.n_q], integers[HEAD.n_links], counts & APART != 0
    q, y_bar, there, there_bar = (
        carray(q_at, (nq,)),
        carray(y_bar_at, (nq,)),
        carray(there_at, (nq,)),
        carray(there_bar_at, (nq,)),
    )
    g, limbs, others = (
        carray(g_at, (g_size,)),
        carray(limbs_at, (LIMB.size * (links + 1),)),
        carray(others_at, (LIMB.size * (links + 1),)),
    )
    space, room = loop_work_of(p[integers[HEAD.end] :], integers), loop_room_of(memory[head[LOOP.room] :], integers)
    rates = counts & RATES != 0
    for k in range(3):
        room.fall[k] = numbers[GRAVITY.vector + k] if rates else 0.0
        room.fall[3 + k] = 0.0
    outward(topology, numbers, room.still if apart else room.v, room.a, room.mu, room.fall, others, room.back)
    if apart:
        spin_out(topology, numbers, room.v, limbs, room.back)
    if counts & TILES != 0:
        spread(
            *(part(integers, integers, HEAD.groups), part(integers, integers, HEAD.rows), integers[HEAD.n_rows]),
            *(room.first, room.second, by_acceleration, by_speed, by_residual, room.weights),
        )
        pull_tiles(t, integers, p, space, memory, room, others, g, rates)
    if apart:
        move_apart(links, room.back, room.apart)
        inward(
            *(integers, p, q, room.v, room.still, room.still, space.pushes, limbs, room.back, room.v_bar, y_bar, g),
            counts & TILES,
        )
    v, work = room.still if apart else room.v, room.apart if apart else room.back
    inward(
        *(integers, p, there, v, room.a, room.mu, space.pushes, others, work, room.v_bar, there_bar, g, counts),
    )
    if rates:  # the ground accelerates by -g
        for k in range(3):
            g[GRAVITY.vector + k] += room.back[BACK.acceleration_bar + 3 + k] - room.fall[3 + k]


@kernel(allocates=True, shared=True)
def rows_times_motion(integers, space):
    """x = N times the twists in the limbs; how large it is, of the rows that were chosen, in their reaches."""
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, touched = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.touched)
    found, size = space.limbs[LIMB.motion :], 0.0
    for r in range(integers[HEAD.n_rows]):
        space.x[r] = times_accelerations(
            tiles, groups, equations, touched, space.rows, r, space.motion, found, LIMB.size, ZERO
        )
    for s in range(int(space.report[0])):
        r = int(space.order[s])
        size = max(size, abs(space.x[r] * space.scales[r]))
    return size


@kernel(allocates=True, shared=True)
def hold(integers, p, space, room):
    """From velocities x = M⁻¹ f in room.mu, whose twists are in the limbs, what the rows leave of them, M⁻¹ (f - Jᵀ y)
    with J of it zero; y in room.second."""
    m, nv = integers[HEAD.n_rows], integers[HEAD.n_v]
    rows_times_motion(integers, space)
    solve(space.matrix, space.scales, space.order, int(space.report[0]), m, nv, space.x)
    invoke(integers[HEAD.respond], integers, p, p.shape[0], -1.0, p[integers[HEAD.end] :])
    for k in range(nv):
        room.mu[k] += space.change[k]
    for r in range(m):
        room.second[r] = space.x[r]


@kernel(allocates=True)
def pull_loop_motion(t, y, f, bar, y_bar, g, p, memory):
    """All of it, for the state whose field f was the last that was computed with p."""
    integers, head = as_integer_array(p), as_integer_array(memory)
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    space, room = loop_work_of(p[integers[HEAD.end] :], integers), loop_room_of(memory[head[LOOP.room] :], integers)
    nq, nv, links, free = integers[HEAD.n_q], integers[HEAD.n_v], integers[HEAD.n_links], head[LOOP.free] != 0
    q = y[:nq]
    for k in range(nv):
        room.v[k], room.a[k], room.a_bar[k], room.v_bar[k] = y[nq + k], f[nv + k], bar[nv + k], 0.0
        y_bar[nq + k] += bar[k]
    if free:
        to_body(topology, q, room.v, room.v, 0.0)
        free_rates_back(topology, q, room.v, room.a, bar[nv:], room.a_bar, room.v_bar, y_bar, False)
    for r in range(integers[HEAD.n_rows]):
        room.first[r] = space.x[r]
    solve_mass(topology, numbers, space.limbs, room.a_bar, room.mu)
    hold(integers, p, space, room)
    for k in range(nv):
        g[k] += room.mu[k]
    alpha, beta = p[integers[HEAD.feedback]], p[integers[HEAD.feedback] + 1]
    acting = head[LOOP.forces] != head[LOOP.spots]
    counts, count = MASSES + RATES + TILES, g.shape[0] - nv
    if acting:
        counts += PUSHES
    invoke(
        *(head[LOOP.linkage], t, counts, 1.0, 2.0 * alpha, beta * beta, p, p.shape[0], q, space.limbs, y_bar),
        *(q, space.limbs, y_bar, g[nv:], count, memory, memory.shape[0]),
    )
    if acting:
        for k in range(nq):
            room.state[k] = q[k]
        for k in range(nv):
            room.state[nq + k] = room.v[k]
        own = integers[HEAD.numbers + 1] - integers[HEAD.numbers] + integers[HEAD.constants + 1]
        own += nv - integers[HEAD.constants]
        pull_forces(
            *(t, nq, nv, links, room.state, space.limbs, room.mu, room.v_bar, y_bar, g[own:]),
            memory[head[LOOP.forces] : head[LOOP.spots]],
        )
    if free:
        free_velocities_back(topology, q, room.v, room.v_bar, y_bar, nq)
    else:
        for k in range(nv):
            y_bar[nq + k] += room.v_bar[k]


@native
def pull_loop(t, y, f, bar, y_bar, g, p, memory, sizes):
    """`pull_loop_motion` through pointers; sizes: of y, bar, g, p and memory."""
    n = carray(sizes, (5,))
    state, given, found = carray(y, (n[0],)), carray(bar, (n[1],)), carray(y_bar, (n[0],))
    pull_loop_motion(
        t, state, carray(f, (n[1],)), given, found, carray(g, (n[2],)), carray(p, (n[3],)), carray(memory, (n[4],))
    )


@cache
def linkage_address() -> int:
    """Address of `pull_linkage`, compiled now or loaded from the cache."""
    n, size, real = NUMBERS, INTEGER, NUMBER
    return address_of(pull_linkage, real, size, *(real,) * 3, n, size, *(n,) * 7, size, n, size)


@cache
def loop_address() -> int:
    """Address of `pull_loop`, compiled now or loaded from the cache."""
    return address_of(pull_loop, NUMBER, *(NUMBERS,) * 7, INTEGERS)
