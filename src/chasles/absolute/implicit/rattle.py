"""RATTLE on the group: symplectic, symmetric, positions and velocities on the constraints. With p = M V and X = h D,

    dexpinv_Xᵀ M D = p_n + h/2 (F_n - J_nᵀ λ⁺),   q_{n+1} = q_n exp(X),   g(q_{n+1}) = 0
    p_{n+1} = dexpinv_{-X}ᵀ M D + h/2 (F_{n+1} - J_{n+1}ᵀ λ⁻),   J_{n+1} V_{n+1} = target

F are the applied forces; the gyroscopic ones come from dexpinv. Forces that depend on velocities are taken at V_n in
the first equation and at V_{n+1} in the second, which keeps order 2. J has the rows of each body in its algebra.
"""

from __future__ import annotations

from numba import carray

from chasles.absolute.entry import mechanism, set_clock, work_parts
from chasles.absolute.implicit.chart import move_body, onward_inverse
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
    from_chart,
    has_forces,
    keep_targets,
    point_size,
    power_to_keep,
    predict_angles,
    save_point,
    start_step,
    to_chart,
    total_size,
    worst_tile,
)
from chasles.absolute.implicit.position import onto_velocities
from chasles.absolute.implicit.retry import RATIOS, TRIES, again, settled
from chasles.absolute.implicit.saddle import BLOCK, clear_matrix, factorise_saddle, pushed_by, solve_saddle
from chasles.absolute.implicit.structure import PLACE, SEPARATE, structure_of
from chasles.absolute.kkt import POSE, TWIST, each, prepare, set_motion
from chasles.absolute.redundant import factorise_rows, regularise
from chasles.absolute.tables import BODY, FIELD, HEAD, MASS, SE3
from chasles.constraint.rows import IDENTITY, ROWS
from chasles.kernel.address import as_integers
from chasles.kernel.algebra import add, add_scaled, mat_add, mat_scale, mul, mul_t, neg, scale, skew, sub
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout, load3, load6, store3, store6, store9
from chasles.lie import quaternion, se3, so3

VELOCITY_SWEEPS = 30  # for forces that depend on velocities
ENOUGH = 1e-10  # change of velocities in the last of them, of the largest
# parameters: tolerance of Newton's method, of the velocities
RATTLE = layout("RATTLE", tolerance=1)


@kernel
def momentum(masses, i, v):
    """M v of body i, in the algebra of its space."""
    m = i * MASS.size
    return each(load3(masses, m + MASS.moments, 0.0), v[0]), scale(masses[m + MASS.mass], v[1])


@kernel
def pulled_back(on_se3, x, p):
    """dexpinv_xᵀ p."""
    if on_se3:
        A, B, _ = se3.dexpinv(x)
        return add(mul_t(A, p[0]), mul_t(B, p[1])), mul_t(A, p[1])
    return so3.dexpinv_apply(neg(x[0]), p[0]), p[1]


@kernel
def rotation_at(q, i):
    at = POSE * i
    return quaternion.to_matrix((q[at], q[at + 1], q[at + 2], q[at + 3]))


@kernel
def half_step_block(places, masses, i, x, blocks):
    """∂(dexpinv_xᵀ M x)/∂d, to first order of the step; the same for both groups."""
    theta, mass = load3(masses, i * MASS.size + MASS.moments, 0.0), masses[i * MASS.size + MASS.mass]
    at = i * BLOCK.size
    T = (theta[0], 0.0, 0.0, 0.0, theta[1], 0.0, 0.0, 0.0, theta[2])
    half = scale(0.5, x)
    S, P = skew(half), skew(each(theta, half))
    turn = (  # (x~ Θ + Θ x~)/2
        *(0.0, S[1] * (theta[0] + theta[1]), S[2] * (theta[0] + theta[2])),
        *(S[3] * (theta[0] + theta[1]), 0.0, S[5] * (theta[1] + theta[2])),
        *(S[6] * (theta[0] + theta[2]), S[7] * (theta[1] + theta[2]), 0.0),
    )
    store9(blocks, at + BLOCK.aa, mat_add(T, mat_add(turn, mat_scale(-1.0, P))))
    if places[i * PLACE.size + PLACE.kind] == SEPARATE:
        blocks[at + BLOCK.ll] = mass
    else:
        store9(blocks, at + BLOCK.ll, mat_scale(mass, IDENTITY))
        store9(blocks, at + BLOCK.la, mat_scale(0.0, IDENTITY))
        store9(blocks, at + BLOCK.al, mat_scale(0.0, IDENTITY))


@native
def rattle(
    limit, p_at, p_size, e_at, e_size, parameters_at, memory_at, work_at, counts_at, history_at, times_at, total,
    every, saved_t_at, saved_y_at,
):  # fmt: skip
    """Take up to `limit` steps. Memory: the point y, λ⁺, the tail."""
    whole, p, packed = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,)), carray(e_at, (e_size,))
    tables, structure = mechanism(whole, p), structure_of(packed)
    bodies, tiles, _, incidences, _, _, _, _, _, masses, constants, gravity, n, nt, _, _ = tables
    places, nodes, n_nodes, n_lower = structure[0], structure[1], structure[9], structure[10]
    size = point_size(whole)
    end = size + 3 * n_nodes
    memory = carray(memory_at, (end + TAIL + whole[HEAD.n_angles],))
    tolerance = carray(parameters_at, (RATTLE.size,))[RATTLE.tolerance]
    counts, history = carray(counts_at, (COUNTS.size,)), carray(history_at, (2 * ITERATIONS,))
    times = carray(times_at, (TIMES.size,))
    own, old, targets, blocks, matrix, factors, f, d, g, new_q, wrenches, room, _, vectors = work_of(
        whole, packed, carray(work_at, (total_size(whole, packed),))
    )
    motion, rows, kept_matrix, kept_factors, b, a, velocity = work_parts(whole, own)
    y, lam, tail = memory[:size], memory[size:end], memory[end:]
    q, v = y[: POSE * n], y[POSE * n : (POSE + TWIST) * n]
    x, new_v, push, half = vectors[: 6 * n], vectors[6 * n : 12 * n], vectors[12 * n : 18 * n], vectors[18 * n : 24 * n]
    down, regular = (gravity[0], gravity[1], gravity[2]), gravity[FIELD.regularisation]
    weight = regular
    before = flush_denormals()
    counts[COUNTS.status] = RUNNING
    for _ in range(limit):
        t, h, last = start_step(counts, times, total)
        set_clock(whole, own, t, y, (POSE + TWIST) * n)
        set_motion(bodies, n, q, v, motion)
        prepare(tiles, constants, nt, motion, rows)
        for k in range(nt * ROWS.size):
            old[k] = rows[k]
        keep_targets(whole, tables, motion, rows, targets)
        count_from(whole, p, y, (POSE + TWIST) * n)
        apply_forces(whole, p, t, q, v, wrenches, room)
        far, fastest = 1.0, 0.0
        for i in range(n):  # h p_n + h²/2 F_n: torque in the body, force in space
            mass = masses[i * MASS.size + MASS.mass]
            here = load6(v, 6 * i, 0.0)
            turn, shift = momentum(masses, i, here)
            shift = from_chart(bodies, i, motion, (turn, shift))[1]
            force = add_scaled(load3(wrenches, 6 * i + 3, 0.0), mass, down)
            store3(push, 6 * i, add_scaled(scale(h, turn), 0.5 * h * h, load3(wrenches, 6 * i, 0.0)))
            store3(push, 6 * i + 3, add_scaled(scale(h, shift), 0.5 * h * h, force))
            for k in range(6):
                x[6 * i + k] = h * v[6 * i + k]
                fastest = max(fastest, abs(v[6 * i + k]))
            for k in range(3):
                far = max(far, abs(q[POSE * i + 4 + k]))
        predict_angles(whole, p, tables, own, t, h, y, motion, tail)
        goal, previous, found = max(tolerance * abs(h) * fastest, 1e-15 * far), 1e300, False
        scaled = 0.5 * h * h
        for iteration in range(ITERATIONS):
            if regular > 0.0 and iteration % TRIES == 0:
                again(n, n_nodes, h, v, x, lam)
                weight = regular * RATIOS[iteration // TRIES]
            for i in range(n):
                move_body(bodies[i * BODY.size + BODY.space] == SE3, q, i, load6(x, 6 * i, 0.0), new_q)
            set_motion(bodies, n, new_q, v, motion)
            prepare(tiles, constants, nt, motion, rows)
            clear_matrix(tiles, nodes, nt, n_nodes + 2 * n_lower, matrix)
            if regular > 0.0:  # the iterations, which sum up λ, are the refinement
                regularise(bodies, tiles, incidences, nodes, masses, n, rows, weight, matrix)
            for i in range(n):
                on_se3, at = bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
                torque, force = pulled_back(on_se3, at, momentum(masses, i, at))
                if on_se3:
                    force = mul(rotation_at(q, i), force)
                reaction = pushed_by(bodies, tiles, nodes, incidences, i, old, lam)
                torque = add_scaled(torque, scaled, reaction[0])
                force = add_scaled(force, scaled, reaction[1])
                store3(f, 6 * i, sub(load3(push, 6 * i, 0.0), torque))
                store3(f, 6 * i + 3, sub(load3(push, 6 * i + 3, 0.0), force))
                half_step_block(places, masses, i, at[0], blocks)
            off = 0.0
            for k in range(3 * n_nodes):
                g[k] = 0.0
            for j in range(nt):
                for k in range(3):
                    g[3 * nodes[j] + k] -= rows[j * ROWS.size + ROWS.residual + k]
                    off = max(off, abs(g[3 * nodes[j] + k]))
            factorise_saddle(bodies, tiles, incidences, structure, n, rows, old, blocks, matrix, factors)
            solve_saddle(bodies, tiles, incidences, structure, n, rows, old, blocks, matrix, factors, f, g, d)
            largest, total_sum = 0.0, 0.0
            for i in range(n):
                on_se3, at = bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
                dx = onward_inverse(on_se3, at, to_chart(bodies, i, motion, load6(d, 6 * i, 0.0)))
                store6(x, 6 * i, (add(at[0], dx[0]), add(at[1], dx[1])))
                for k in range(6):
                    largest = max(largest, abs(d[6 * i + k]))
                    total_sum += d[6 * i + k]
            for k in range(3 * n_nodes):
                lam[k] += g[k] / scaled
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
            if iteration > 1 and contraction > 0.5 and largest < 1e-11 * far:  # rounding of absolute positions
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
        work = 0.5 * h * power_to_keep(whole, tables, nodes, lam, targets)
        for i in range(n):
            move_body(bodies[i * BODY.size + BODY.space] == SE3, q, i, load6(x, 6 * i, 0.0), new_q)
        set_motion(bodies, n, new_q, v, motion)
        prepare(tiles, constants, nt, motion, rows)
        keep_targets(whole, tables, motion, rows, targets)
        factorise_rows(tables, masses, rows, kept_matrix, kept_factors)
        for i in range(n):  # M⁻¹ dexpinv_{-x}ᵀ M x / h: (ω in the body, velocity in space)
            on_se3, at = bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
            turn, shift = pulled_back(on_se3, (neg(at[0]), neg(at[1])), momentum(masses, i, at))
            turn = scale(1.0 / h, each(load3(masses, i * MASS.size + MASS.inverse, 0.0), turn))
            shift = scale(1.0 / (h * masses[i * MASS.size + MASS.mass]), shift)
            store6(half, 6 * i, from_chart(bodies, i, motion, (turn, shift)))
            store6(new_v, 6 * i, (turn, shift))
        power, impulse, change, sweeps = 0.0, 0.0, 0.0, VELOCITY_SWEEPS if has_forces(whole) else 1
        for _ in range(sweeps):
            power = apply_forces(whole, p, t + h, new_q, new_v, wrenches, room)
            for i in range(n):
                light = 1.0 / masses[i * MASS.size + MASS.mass]
                spin = each(load3(masses, i * MASS.size + MASS.inverse, 0.0), load3(wrenches, 6 * i, 0.0))
                fall = add_scaled(down, light, load3(wrenches, 6 * i + 3, 0.0))
                store3(velocity, 6 * i, add_scaled(load3(half, 6 * i, 0.0), 0.5 * h, spin))
                store3(velocity, 6 * i + 3, add_scaled(load3(half, 6 * i + 3, 0.0), 0.5 * h, fall))
            impulse = onto_velocities(whole, tables, motion, rows, kept_matrix, kept_factors, targets, velocity, b, a)
            change = 0.0
            for i in range(n):
                now = to_chart(bodies, i, motion, load6(velocity, 6 * i, 0.0))
                was = load6(new_v, 6 * i, 0.0)
                for k in range(3):
                    change = max(change, abs(new_v[6 * i + k] - velocity[6 * i + k]))
                change = max(
                    change, abs(was[1][0] - now[1][0]) + abs(was[1][1] - now[1][1]) + abs(was[1][2] - now[1][2])
                )
                store6(new_v, 6 * i, now)
            if not change > 1e-15 * fastest:
                break
        for k in range(6 * n):
            fastest = max(fastest, abs(new_v[k]))
        if sweeps > 1 and not change <= ENOUGH * fastest:
            counts[COUNTS.status], counts[COUNTS.tried] = NO_CONVERGENCE, 0
            counts[COUNTS.worst], counts[COUNTS.level] = worst_tile(tiles, nt, nodes, g), 1
            break
        finish_step(whole, p, tables, work + impulse + 0.5 * h * (tail[0] + power), new_q, new_v, y, motion, rows, tail)
        tail[0] = power
        counts[COUNTS.step] += 1
        save_point(counts, times, total, every, y, saved_t_at, saved_y_at)
        if last:
            counts[COUNTS.status] = DONE
            break
    restore_denormals(before)
