"""Energy-momentum scheme on (SO(3)xR3)^n: Cayley steps, and constraint forces at the mean of both rotations.

With the rotation x of a step and the displacement u,

    R_1 = R_0 cay(x/2),   ω_1 = 2x/h - ω_0,   r_1 = r_0 + u,   v_1 = 2u/h - v_0
    R_m = (R_0 + R_1)/2 = R_0 (I - x~/2)⁻¹
    Θ (x - h ω_0) + 1/2 x × Θ x = h²/2 (τ - R_m⁻¹ t),   m (u - h v_0) = h²/2 (m g + f_a - f),   g(q_1) = 0

f and t are force and torque (in space) of the constraints with R_m and the mean positions. Because
R_1 - R_0 = R_m x~ = (R_0 x)~ R_m, equations that are linear or bilinear in rotations and positions change by the work
of these forces, exactly; so the energy under gravity is kept, and what angular momentum the ground leaves.
"""

from __future__ import annotations

from numba import carray

from chasles.absolute.entry import mechanism, set_clock, work_parts
from chasles.absolute.implicit.layout import (
    COUNTS,
    DONE,
    ITERATIONS,
    NO_CONVERGENCE,
    NOT_FINITE,
    RUNNING,
    TIMES,
    work_of,
)
from chasles.absolute.implicit.loop import (
    TAIL,
    apply_forces,
    count_from,
    finish_step,
    point_size,
    predict_angles,
    save_point,
    start_step,
    total_size,
    worst_tile,
)
from chasles.absolute.implicit.rattle import rotation_at
from chasles.absolute.implicit.retry import RATIOS, TRIES, again, settled
from chasles.absolute.implicit.saddle import BLOCK, clear_matrix, factorise_saddle, pushed_by, solve_saddle
from chasles.absolute.implicit.stiffness import rotational, turned_reaction
from chasles.absolute.implicit.structure import PLACE, SEPARATE, structure_of
from chasles.absolute.kkt import POSE, TWIST, each, prepare, set_motion
from chasles.absolute.redundant import regularise
from chasles.absolute.tables import BODY, FIELD, HEAD, MASS, PAIR
from chasles.constraint.rows import (
    DISTANCE,
    DOT,
    EMPTY,
    IDENTITY,
    MOTION,
    NUMBERS,
    POINT,
    ROWS,
    TILE,
    ZERO,
    pose_of,
    vector,
)
from chasles.kernel.address import as_integers
from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    mat_add,
    mat_mul,
    mat_scale,
    mul,
    mul_t,
    neg,
    scale,
    skew,
    sub,
)
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout, load3, load9, store3, store6, store9
from chasles.lie import quaternion

# parameters: tolerance of Newton's method, of the velocities
CAYLEY = layout("CAYLEY", tolerance=1)


@kernel
def move_bodies(n, q, x, new_q, mid):
    """Poses at the end of the step; mean rotations and positions to `mid`."""
    for i in range(n):
        at, half = POSE * i, scale(0.5, load3(x, 6 * i, 0.0))
        size = 1.0 + dot(half, half)
        unit = (q[at], q[at + 1], q[at + 2], q[at + 3])
        s = 1.0 / sqrt(size)
        turned = quaternion.product(unit, (s, s * half[0], s * half[1], s * half[2]))
        new_q[at], new_q[at + 1], new_q[at + 2], new_q[at + 3] = quaternion.keep_unit(turned)
        here, shift = load3(q, at + 4, 0.0), load3(x, 6 * i + 3, 0.0)
        store3(new_q, at + 4, add(here, shift))
        # (I - Y~)⁻¹ = (I + Y~ + Y Yᵀ)/(1 + Y·Y)
        Y = half
        square = (
            *(Y[0] * Y[0], Y[0] * Y[1], Y[0] * Y[2]),
            *(Y[1] * Y[0], Y[1] * Y[1], Y[1] * Y[2]),
            *(Y[2] * Y[0], Y[2] * Y[1], Y[2] * Y[2]),
        )
        C = mat_scale(1.0 / size, mat_add(mat_add(IDENTITY, skew(Y)), square))
        store9(mid, i * MOTION.size + MOTION.rotation, mat_mul(quaternion.to_matrix(unit), C))
        store3(mid, i * MOTION.size + MOTION.position, add_scaled(here, 0.5, shift))


@kernel
def to_body(q, x, i, torque):
    """R_m⁻¹ t = (I - x~/2) R_0ᵀ t."""
    if i < 0:
        return ZERO
    turned = mul_t(rotation_at(q, i), torque)
    return add_scaled(turned, -0.5, cross(load3(x, 6 * i, 0.0), turned))


@kernel
def mean_rows(tiles, numbers, nt, q, x, mid, rows):
    """Torque in the body and force in space of each multiplier on both bodies, as rows of a Jacobian are stored."""
    for j in range(nt):
        row, n, at = j * TILE.size, j * NUMBERS.size, j * ROWS.size
        A, B = tiles[row + TILE.first], tiles[row + TILE.second]
        RA, rA = pose_of(mid, A)
        RB, rB = pose_of(mid, B)
        alpha, beta = mul(RA, vector(numbers, n + NUMBERS.a)), mul(RB, vector(numbers, n + NUMBERS.b))
        d = sub(add(rB, beta), add(rA, alpha))
        for k in range(3):
            kind = tiles[row + TILE.kinds + k]
            first, second, force = ZERO, ZERO, ZERO
            if kind == DOT:
                U, W = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k)), mul(RB, vector(numbers, n + NUMBERS.w + 3 * k))
                first = cross(U, W)
                second = neg(first)
            elif kind != EMPTY:
                if kind == POINT:
                    force = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
                elif kind == DISTANCE:
                    force = scale(1.0 / numbers[n + NUMBERS.s + k], d)
                else:  # SLIDE: the direction turns with A
                    force = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k))
                    first = cross(force, d)
                first, second = sub(first, cross(alpha, force)), cross(beta, force)
            place = at + 3 * k
            store3(rows, place + ROWS.first_angular, to_body(q, x, A, first))
            store3(rows, place + ROWS.first_linear, neg(force))
            store3(rows, place + ROWS.second_angular, to_body(q, x, B, second))
            store3(rows, place + ROWS.second_linear, force)


@kernel
def cayley_block(bodies, places, tiles, numbers, nodes, incidences, masses, i, x, mid, lam, s, blocks):
    """Newton's block of body i, with how reactions turn with the mean rotation."""
    theta, mass = load3(masses, i * MASS.size + MASS.moments, 0.0), masses[i * MASS.size + MASS.mass]
    at, R = i * BLOCK.size, load9(mid, i * MOTION.size + MOTION.rotation, 0.0)
    turned = mat_scale(0.0, IDENTITY)
    first = bodies[i * BODY.size + BODY.first]
    for e in range(first, first + bodies[i * BODY.size + BODY.count]):
        tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
        turned = mat_add(turned, turned_reaction(tiles, numbers, nodes, tile, side, R, mid, lam))
    turn = mat_mul(rotational(theta, x, 1.0, 0.5), mat_add(IDENTITY, skew(scale(0.5, x))))
    store9(blocks, at + BLOCK.aa, mat_add(turn, mat_scale(0.5 * s, turned)))
    if places[i * PLACE.size + PLACE.kind] == SEPARATE:
        blocks[at + BLOCK.ll] = mass
    else:
        store9(blocks, at + BLOCK.ll, mat_scale(mass, IDENTITY))
        store9(blocks, at + BLOCK.la, mat_scale(0.0, IDENTITY))
        store9(blocks, at + BLOCK.al, mat_scale(0.0, IDENTITY))


@native
def energy_momentum(
    limit, p_at, p_size, e_at, e_size, parameters_at, memory_at, work_at, counts_at, history_at, times_at, total,
    every, saved_t_at, saved_y_at,
):  # fmt: skip
    """Take up to `limit` steps. Memory: the point y, λ, the tail."""
    whole, p, packed = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,)), carray(e_at, (e_size,))
    tables, structure = mechanism(whole, p), structure_of(packed)
    bodies, tiles, incidences, masses, constants, gravity = (
        *(tables[0], tables[1], tables[3]),
        *(tables[9], tables[10], tables[11]),
    )
    n, nt = tables[12], tables[13]
    places, nodes, n_nodes, n_lower = structure[0], structure[1], structure[9], structure[10]
    size = point_size(whole)
    end = size + 3 * n_nodes
    memory = carray(memory_at, (end + TAIL + whole[HEAD.n_angles],))
    tolerance = carray(parameters_at, (CAYLEY.size,))[CAYLEY.tolerance]
    counts, history = carray(counts_at, (COUNTS.size,)), carray(history_at, (2 * ITERATIONS,))
    times = carray(times_at, (TIMES.size,))
    own, mean, _, blocks, matrix, factors, f, d, g, new_q, wrenches, room, _, vectors = work_of(
        whole, packed, carray(work_at, (total_size(whole, packed),))
    )
    motion, rows, _, _, _, _, _ = work_parts(whole, own)
    y, lam, tail = memory[:size], memory[size:end], memory[end:]
    q, v = y[: POSE * n], y[POSE * n : (POSE + TWIST) * n]
    x, new_v, push, mid = vectors[: 6 * n], vectors[6 * n : 12 * n], vectors[12 * n : 18 * n], vectors[18 * n :]
    down, regular = (gravity[0], gravity[1], gravity[2]), gravity[FIELD.regularisation]
    weight = regular
    before = flush_denormals()
    counts[COUNTS.status] = RUNNING
    for _ in range(limit):
        t, h, last = start_step(counts, times, total)
        count_from(whole, p, y, (POSE + TWIST) * n)
        set_clock(whole, own, t, y, (POSE + TWIST) * n)
        apply_forces(whole, p, t, q, v, wrenches, room)
        far, fastest, s = 1.0, 0.0, 0.5 * h * h
        for i in range(n):  # h p_0 and half of the forces' impulse, times h/2
            mass, theta = masses[i * MASS.size + MASS.mass], load3(masses, i * MASS.size + MASS.moments, 0.0)
            turn, shift = each(theta, load3(v, 6 * i, 0.0)), scale(mass, load3(v, 6 * i + 3, 0.0))
            store3(push, 6 * i, add_scaled(scale(h, turn), 0.5 * s, load3(wrenches, 6 * i, 0.0)))
            shift = add_scaled(scale(h, shift), s * mass, down)
            store3(push, 6 * i + 3, add_scaled(shift, 0.5 * s, load3(wrenches, 6 * i + 3, 0.0)))
            for k in range(6):
                x[6 * i + k] = h * v[6 * i + k]
                fastest = max(fastest, abs(v[6 * i + k]))
            for k in range(3):
                far = max(far, abs(q[POSE * i + 4 + k]))
        predict_angles(whole, p, tables, own, t, h, y, motion, tail)
        goal, previous, found, power = max(tolerance * abs(h) * fastest, 1e-16 * far), 1e300, False, 0.0
        for iteration in range(ITERATIONS):
            if regular > 0.0 and iteration % TRIES == 0:
                again(n, n_nodes, h, v, x, lam)
                weight = regular * RATIOS[iteration // TRIES]
            move_bodies(n, q, x, new_q, mid)
            for k in range(6 * n):
                new_v[k] = 2.0 / h * x[k] - v[k]
            set_motion(bodies, n, new_q, new_v, motion)
            prepare(tiles, constants, nt, motion, rows)
            mean_rows(tiles, constants, nt, q, x, mid, mean)
            power = apply_forces(whole, p, t + h, new_q, new_v, wrenches, room)
            clear_matrix(tiles, nodes, nt, n_nodes + 2 * n_lower, matrix)
            if regular > 0.0:  # the iterations, which sum up λ, are the refinement
                regularise(bodies, tiles, incidences, nodes, masses, n, rows, weight, matrix)
            for i in range(n):
                mass, theta = masses[i * MASS.size + MASS.mass], load3(masses, i * MASS.size + MASS.moments, 0.0)
                at = load3(x, 6 * i, 0.0)
                torque, force = pushed_by(bodies, tiles, nodes, incidences, i, mean, lam)
                impulse = each(theta, at)
                torque = add_scaled(add_scaled(impulse, 0.5, cross(at, impulse)), s, torque)
                force = add_scaled(scale(mass, load3(x, 6 * i + 3, 0.0)), s, force)
                torque = add_scaled(sub(load3(push, 6 * i, 0.0), torque), 0.5 * s, load3(wrenches, 6 * i, 0.0))
                force = add_scaled(sub(load3(push, 6 * i + 3, 0.0), force), 0.5 * s, load3(wrenches, 6 * i + 3, 0.0))
                store6(f, 6 * i, (torque, force))
                cayley_block(bodies, places, tiles, constants, nodes, incidences, masses, i, at, mid, lam, s, blocks)
            off = 0.0
            for k in range(3 * n_nodes):
                g[k] = 0.0
            for j in range(nt):
                for k in range(3):
                    g[3 * nodes[j] + k] -= rows[j * ROWS.size + ROWS.residual + k]
                    off = max(off, abs(g[3 * nodes[j] + k]))
            factorise_saddle(bodies, tiles, incidences, structure, n, rows, mean, blocks, matrix, factors)
            solve_saddle(bodies, tiles, incidences, structure, n, rows, mean, blocks, matrix, factors, f, g, d)
            largest, total_sum = 0.0, 0.0
            for i in range(n):  # from a rotation at the end of the step to the coordinates of Cayley's map
                half, turn = scale(0.5, load3(x, 6 * i, 0.0)), load3(d, 6 * i, 0.0)
                dx = add(add(turn, cross(half, turn)), scale(dot(half, turn), half))
                store3(x, 6 * i, add(load3(x, 6 * i, 0.0), dx))
                store3(x, 6 * i + 3, add(load3(x, 6 * i + 3, 0.0), load3(d, 6 * i + 3, 0.0)))
                for k in range(6):
                    largest = max(largest, abs(d[6 * i + k]))
                    total_sum += d[6 * i + k]
            for k in range(3 * n_nodes):
                lam[k] += g[k] / s
            counts[COUNTS.iterations] += 1
            counts[COUNTS.tried] = iteration + 1
            history[iteration], history[ITERATIONS + iteration] = largest / abs(h), off
            if not abs(total_sum) < 1e300:
                counts[COUNTS.status] = NOT_FINITE
                break
            contraction = largest / previous if previous < 1e299 else 1.0
            previous = largest
            if largest < goal or (iteration > 0 and largest * min(contraction, 1.0) < 0.1 * goal):
                found = True
                break
            if iteration > 1 and contraction > 0.5 and largest < 1e-12 * far:  # rounding of absolute positions
                found = True
                break
            if regular > 0.0 and settled(iteration % TRIES, contraction, largest, off, h * fastest, far):
                found = True
                break
        if not found:
            if counts[COUNTS.status] == RUNNING:
                counts[COUNTS.status] = NO_CONVERGENCE
            counts[COUNTS.worst], counts[COUNTS.level] = worst_tile(tiles, nt, nodes, g), 0
            break
        move_bodies(n, q, x, new_q, mid)
        for k in range(6 * n):
            new_v[k] = 2.0 / h * x[k] - v[k]
        finish_step(whole, p, tables, 0.5 * h * (tail[0] + power), new_q, new_v, y, motion, rows, tail)
        tail[0] = power
        counts[COUNTS.step] += 1
        save_point(counts, times, total, every, y, saved_t_at, saved_y_at)
        if last:
            counts[COUNTS.status] = DONE
            break
    restore_denormals(before)
