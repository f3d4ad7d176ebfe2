"""BLieDF: BDF in canonical coordinates centred at the new point, stabilised index 2, k = 2 to 5 steps.

With increments x_j (q_{j+1} = q_j exp x_j, newest first: x_0 is the unknown), X_i = log(exp(-x_0) ... exp(-x_{i-1})),

    h V_{n+1} = Σ_{i≥1} α_i X_i + γ_0 W J_nᵀ ζ,     h V'_{n+1} = Σ_{i≥0} α_i V_{n+1-i}

and the equations of motion, g = 0 and J V = 0 at t_{n+1}. "first" logarithms keep the first commutators of the
products, which is enough up to k = 4; γ_j = Σ_{i≤j} α_i:

    h V_{n+1} = Σ_j γ_j x_j - 1/2 Σ_{l≥1} γ_l Σ_{j<l} [x_j, x_l] + γ_0 W J_nᵀ ζ
"""

from __future__ import annotations

from numba import carray

from chasles.absolute.entry import mechanism, set_clock, work_parts
from chasles.absolute.implicit.chart import bracket, move_body, onward, plus
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
    finish_step,
    from_chart,
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
from chasles.absolute.implicit.newton import KEPT, LINEAR, SLOW, correction
from chasles.absolute.implicit.position import correct_position, displacement, keep_rows
from chasles.absolute.implicit.structure import structure_of
from chasles.absolute.kkt import POSE, TWIST, prepare, set_motion
from chasles.absolute.tables import BODY, FIELD, HEAD, SE3
from chasles.kernel.address import as_integers
from chasles.kernel.algebra import add, neg, scale
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout, load6, store6
from chasles.lie import quaternion, so3

MOST = 5
# parameters: steps, whether logarithms are exact, tolerance, address of the forces' derivatives, α, γ
BDF = layout("BDF", steps=1, exact=1, tolerance=1, stiffen=1, alpha=MOST + 1, gamma=MOST)


@kernel
def first_commutators(on_se3, i, n, steps, gamma, x, history):
    """h V without ζ."""
    here = load6(x, 6 * i, 0.0)
    total = (scale(gamma[0], here[0]), scale(gamma[0], here[1]))
    newer = here  # the sum of all increments newer than x_l
    for m in range(steps - 1):
        past = load6(history, 6 * (m * n + i), 0.0)
        total = plus(total, gamma[m + 1], past)
        total = plus(total, -0.5 * gamma[m + 1], bracket(on_se3, newer, past))
        newer = plus(newer, 1.0, past)
    return total


@kernel
def exact_logarithms(on_se3, i, n, steps, alpha, x, history):
    """h V without ζ; the products as quaternions and positions, so that small logarithms stay accurate."""
    here = load6(x, 6 * i, 0.0)
    total = (scale(-alpha[1], here[0]), scale(-alpha[1], here[1]))
    back = neg(here[0])
    unit = quaternion.exp(back)
    place = so3.dexp_apply(back, neg(here[1])) if on_se3 else neg(here[1])
    for m in range(steps - 1):
        past = load6(history, 6 * (m * n + i), 0.0)
        back = neg(past[0])
        if on_se3:
            place = add(place, quaternion.rotate(unit, so3.dexp_apply(back, neg(past[1]))))
        else:
            place = add(place, neg(past[1]))
        unit = quaternion.keep_unit(quaternion.product(unit, quaternion.exp(back)))
        turn = quaternion.log(unit)
        shift = so3.dexpinv_apply(turn, place) if on_se3 else place
        total = plus(total, alpha[m + 2], (turn, shift))
    return total


@kernel
def trial_state(bodies, n, steps, exact, h, alpha, gamma, q, x, star, past, velocities, new_q, new_v, new_rate):
    """Poses, velocities and their derivatives from the increment."""
    for i in range(n):
        on_se3 = bodies[i * BODY.size + BODY.space] == SE3
        move_body(on_se3, q, i, load6(x, 6 * i, 0.0), new_q)
        if exact:
            moved = exact_logarithms(on_se3, i, n, steps, alpha, x, past)
        else:
            moved = first_commutators(on_se3, i, n, steps, gamma, x, past)
        store6(new_v, 6 * i, moved)
        for k in range(6 * i, 6 * i + 6):
            new_v[k] = (new_v[k] + gamma[0] * (star[k] - x[k])) / h
            rate = alpha[0] * new_v[k]
            for m in range(steps):
                rate += alpha[m + 1] * velocities[6 * n * m + k]
            new_rate[k] = rate / h


@native
def bliedf(
    limit, p_at, p_size, e_at, e_size, parameters_at, memory_at, work_at, counts_at, history_at, times_at, total,
    every, saved_t_at, saved_y_at,
):  # fmt: skip
    """Take up to `limit` steps. Memory: the point y, λ, ζ, increments, velocities, works of the past, the tail."""
    whole, p, packed = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,)), carray(e_at, (e_size,))
    tables, structure = mechanism(whole, p), structure_of(packed)
    bodies, tiles, constants, n, nt, nn = tables[0], tables[1], tables[10], tables[12], tables[13], tables[14]
    nodes, unmeasured, n_nodes = structure[1], structure[8], structure[9]
    parameters, size = carray(parameters_at, (BDF.size,)), point_size(whole)
    steps, exact, tolerance = int(parameters[BDF.steps]), parameters[BDF.exact] != 0.0, parameters[BDF.tolerance]
    alpha, gamma = parameters[BDF.alpha : BDF.gamma], parameters[BDF.gamma :]
    stiffen = int(parameters[BDF.stiffen])
    first = size + 3 * n_nodes + 3 * nn
    second = first + 6 * n * MOST
    third = second + 6 * n * MOST
    memory = carray(memory_at, (third + MOST + TAIL + whole[HEAD.n_angles],))
    counts, history = carray(counts_at, (COUNTS.size,)), carray(history_at, (2 * ITERATIONS,))
    times = carray(times_at, (TIMES.size,))
    own, old, left, blocks, matrix, factors, f, d, g, new_q, wrenches, room, weights, vectors = work_of(
        whole, packed, carray(work_at, (total_size(whole, packed),))
    )
    motion, rows, kept_matrix, kept_factors, b, a, step = work_parts(whole, own)
    y, lam, zeta = memory[:size], memory[size : size + 3 * n_nodes], memory[size + 3 * n_nodes : first]
    past, velocities, works, tail = (
        memory[first:second],
        memory[second:third],
        memory[third : third + MOST],
        memory[third + MOST :],
    )
    q, v = y[: POSE * n], y[POSE * n : (POSE + TWIST) * n]
    x, star, new_v, new_rate = (
        vectors[: 6 * n],
        vectors[6 * n : 12 * n],
        vectors[12 * n : 18 * n],
        vectors[18 * n : 24 * n],
    )
    regular = tables[11][FIELD.regularisation]
    before = flush_denormals()
    counts[COUNTS.status] = RUNNING
    for _ in range(limit):
        t, h, last = start_step(counts, times, total)
        kappa = h / gamma[0]
        s = kappa * kappa
        far, fastest, spin = 1.0, 0.0, 0.0
        for i in range(n):
            for k in range(3):
                far = max(far, abs(q[POSE * i + 4 + k]))
                spin = max(spin, abs(v[6 * i + k]))
        for k in range(6 * n):
            star[k] = 2.0 * past[k] - past[6 * n + k] if steps > 2 else past[k] + h * (v[k] - velocities[6 * n + k])
            x[k] = star[k]
            fastest = max(fastest, abs(v[k]))
        set_clock(whole, own, t, y, (POSE + TWIST) * n)
        set_motion(bodies, n, q, v, motion)
        prepare(tiles, constants, nt, motion, rows)
        keep_rows(tables, rows, old, weights, kept_matrix, kept_factors)
        if regular > 0.0:  # what dependent rows leave open must not add up
            for k in range(3 * nn):
                zeta[k] = 0.0
        displacement(tables, old, weights, q, zeta, a)
        for k in range(6 * n):
            star[k] -= a[k]
        predict_angles(whole, p, tables, own, t, h, y, motion, tail)
        turned = abs(h) * spin
        sweeps = 1 if turned < 0.01 else 2 if turned < 0.1 else 3
        goal, previous, found, power = max(tolerance * abs(h) * fastest, 4e-15 * far), 1e300, False, 0.0
        fresh = True
        for iteration in range(ITERATIONS):
            trial_state(bodies, n, steps, exact, h, alpha, gamma, q, x, star, past, velocities, new_q, new_v, new_rate)
            power = apply_forces(whole, p, t + h, new_q, new_v, wrenches, room)
            set_motion(bodies, n, new_q, new_v, motion)
            prepare(tiles, constants, nt, motion, rows)
            off = correction(
                t + h, tables, structure, whole, p, packed, stiffen, fresh, 2, LINEAR, s, 1.0, kappa, kappa, x,
                new_rate, lam, new_q, new_v, motion, rows, left, blocks, matrix, factors, f, d, g, wrenches, room,
                regular,
            )  # fmt: skip
            largest, total_sum = 0.0, 0.0
            for i in range(n):
                on_se3, at = bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
                e = to_chart(bodies, i, motion, load6(d, 6 * i, 0.0))
                dx = e
                for m in range(steps - 1):
                    twist = bracket(on_se3, load6(past, 6 * (m * n + i), 0.0), e)
                    dx = plus(dx, -0.5 * gamma[m + 1] / gamma[0], twist)
                for k in range(6):
                    largest = max(largest, abs(d[6 * i + k]))
                    total_sum += d[6 * i + k]
                store6(step, 6 * i, from_chart(bodies, i, motion, onward(on_se3, at, dx)))
                store6(new_v, 6 * i, dx)
            for k in range(3 * n_nodes):
                lam[k] += g[k] / s
            correct = correct_position(
                tables, unmeasured, sweeps, q, x, motion, rows, old, weights, kept_factors, b, kept_matrix, step, zeta,
                a, d,
            )  # fmt: skip
            for k in range(6 * n):
                x[k] += new_v[k] + d[k]
                star[k] += new_v[k]
            largest = max(largest, correct)
            counts[COUNTS.iterations] += 1
            counts[COUNTS.tried] = iteration + 1
            history[iteration], history[ITERATIONS + iteration] = largest / abs(h), off
            if not abs(total_sum) < 1e300:
                counts[COUNTS.status] = NOT_FINITE
                break
            contraction = largest / previous if previous < 1e299 else 0.0
            previous, fresh = largest, contraction > SLOW
            if largest < goal or (iteration > 0 and largest * min(max(contraction, KEPT), 1.0) < 0.1 * goal):
                found = True
                break
            if iteration > 1 and contraction > 0.5 and largest < 1e-11 * far:  # rounding of absolute positions
                found = True
                break
        if not found:
            if counts[COUNTS.status] == RUNNING:
                counts[COUNTS.status] = NO_CONVERGENCE
            counts[COUNTS.worst], counts[COUNTS.level] = worst_tile(tiles, nt, nodes, g), 1
            break
        keep_targets(whole, tables, motion, rows, left)
        power += power_to_keep(whole, tables, nodes, lam, left)
        trial_state(bodies, n, steps, exact, h, alpha, gamma, q, x, star, past, velocities, new_q, new_v, new_rate)
        for m in range(MOST - 1, 0, -1):
            works[m] = works[m - 1]
            for k in range(6 * n):
                past[6 * n * m + k] = past[6 * n * (m - 1) + k]
                velocities[6 * n * m + k] = velocities[6 * n * (m - 1) + k]
        for k in range(6 * n):
            past[k], velocities[k] = x[k], new_v[k]
        works[0] = y[size - 1]
        total_work = h * power
        for m in range(steps):
            total_work -= alpha[m + 1] * works[m]
        finish_step(whole, p, tables, total_work / alpha[0] - y[size - 1], new_q, new_v, y, motion, rows, tail)
        counts[COUNTS.step] += 1
        save_point(counts, times, total, every, y, saved_t_at, saved_y_at)
        if last:
            counts[COUNTS.status] = DONE
            break
    restore_denormals(before)
