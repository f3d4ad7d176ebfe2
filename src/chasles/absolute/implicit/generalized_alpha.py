"""Generalized alpha on the group: index 3, and the stabilised index 2 of Gear, Gupta and Leimkuhler.

    q_{n+1} = q_n exp(x),   x* = h V + h²(1/2 - β) a + h² β a_{n+1},   x = x* [- W J_nᵀ ζ]
    x' = V + h(1 - γ) a + h γ a_{n+1},   (1 - αm) a_{n+1} + αm a = (1 - αf) x'' + αf V'

Textbook form (Brüls, Cardona, Arnold): V_{n+1} = x', V'_{n+1} = x''. Local form: x, x', x'' are coordinates and their
derivatives in the chart q_n exp(x), so V_{n+1} = dexp_{-x*} x' and V'_{n+1} its derivative, with as many brackets as
order 2 needs, and a is carried to the next chart. With the equations of motion and g = 0 [and J V = 0] at t_{n+1}.
"""

from __future__ import annotations

from numba import carray

from chasles.absolute.entry import mechanism, set_clock, work_parts
from chasles.absolute.implicit.chart import bracket, lift, lift_rate, minus, move_body, onward, onward_inverse, plus
from chasles.absolute.implicit.estimate import project_velocity, relative_size, sizes, tangent_part
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
from chasles.absolute.implicit.newton import IN_POSITION, IN_VELOCITY, KEPT, LINEAR, SLOW, correction
from chasles.absolute.implicit.position import correct_position, displacement, keep_rows, onto_velocities
from chasles.absolute.implicit.retry import SHARPER, TRIES, settled
from chasles.absolute.implicit.structure import structure_of
from chasles.absolute.kkt import POSE, TWIST, prepare, set_motion
from chasles.absolute.redundant import factorise_rows
from chasles.absolute.tables import BODY, FIELD, HEAD, SE3
from chasles.kernel.address import as_integers
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout, load6, store6

TRUSTED = 8.0  # steps for which the convergence of Newton's method is taken to be what it was
# parameters: spectral radius, index, whether in local coordinates, tolerance, address of the forces' derivatives,
# whether to project velocities, tolerances of the error (zero: no estimate)
ALPHA = layout("ALPHA", rho=1, index=1, local=1, tolerance=1, stiffen=1, project=1, rtol=1, atol=1)


@kernel
def coefficients(rho):
    """αm, αf, γ, β."""
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + af - am
    return am, af, gamma, 0.25 * (gamma + 0.5) * (gamma + 0.5)


@kernel
def trial_state(bodies, n, local, q, x, star, rate, second, new_q, new_v, new_rate):
    """Poses, velocities and their derivatives from the coordinates."""
    for i in range(n):
        on_se3 = bodies[i * BODY.size + BODY.space] == SE3
        move_body(on_se3, q, i, load6(x, 6 * i, 0.0), new_q)
        velocity, acceleration = load6(rate, 6 * i, 0.0), load6(second, 6 * i, 0.0)
        if local:
            at = load6(star, 6 * i, 0.0)
            acceleration = lift_rate(on_se3, at, velocity, acceleration)
            velocity = lift(on_se3, at, velocity)
        store6(new_v, 6 * i, velocity)
        store6(new_rate, 6 * i, acceleration)


@native
def generalized_alpha(
    limit, p_at, p_size, e_at, e_size, parameters_at, memory_at, work_at, counts_at, history_at, times_at, total,
    every, saved_t_at, saved_y_at,
):  # fmt: skip
    """Take up to `limit` steps. Memory: the point y, then V', a, λ, ζ, the changes of ζ and x'' in the step before."""
    whole, p, packed = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,)), carray(e_at, (e_size,))
    tables, structure = mechanism(whole, p), structure_of(packed)
    bodies, tiles, constants, n, nt, nn = tables[0], tables[1], tables[10], tables[12], tables[13], tables[14]
    nodes, unmeasured, n_nodes = structure[1], structure[8], structure[9]
    size = point_size(whole)
    end = size + 18 * n + 3 * n_nodes + 6 * nn
    memory = carray(memory_at, (end + TAIL + whole[HEAD.n_angles],))
    parameters = carray(parameters_at, (ALPHA.size,))
    counts, history = carray(counts_at, (COUNTS.size,)), carray(history_at, (2 * ITERATIONS,))
    times = carray(times_at, (TIMES.size,))
    own, old, left, blocks, matrix, factors, f, d, g, new_q, wrenches, room, weights, vectors = work_of(
        whole, packed, carray(work_at, (total_size(whole, packed),))
    )
    motion, rows, kept_matrix, kept_factors, b, a, step = work_parts(whole, own)
    y = memory[:size]
    q, v = y[: POSE * n], y[POSE * n : (POSE + TWIST) * n]
    rate_n, a_n = memory[size : size + 6 * n], memory[size + 6 * n : size + 12 * n]
    lam = memory[size + 12 * n : size + 12 * n + 3 * n_nodes]
    zeta, drift = memory[end - 6 * n - 6 * nn : end - 6 * n - 3 * nn], memory[end - 6 * n - 3 * nn : end - 6 * n]
    growth, tail = memory[end - 6 * n : end], memory[end:]
    x, star, rate, second = (
        vectors[: 6 * n],
        vectors[6 * n : 12 * n],
        vectors[12 * n : 18 * n],
        vectors[18 * n : 24 * n],
    )
    new_v, new_rate, moved = vectors[24 * n : 30 * n], vectors[30 * n : 36 * n], vectors[36 * n : 42 * n]
    index, local, tolerance = int(parameters[ALPHA.index]), parameters[ALPHA.local] != 0.0, parameters[ALPHA.tolerance]
    stiffen = int(parameters[ALPHA.stiffen])
    am, af, gamma, beta = coefficients(parameters[ALPHA.rho])
    estimating = parameters[ALPHA.atol] + parameters[ALPHA.rtol] > 0.0
    regular = tables[11][FIELD.regularisation]
    onto = index == 2 and regular > 0.0
    if onto:  # rows that depend on others: index 3, whose matrix is symmetric, and velocities are projected
        index = 3
    form = IN_POSITION if index == 3 and not local else IN_VELOCITY if index == 2 and local else LINEAR
    carried = index == 3 or local
    before = flush_denormals()
    counts[COUNTS.status] = RUNNING
    for _ in range(limit):
        t, h, last = start_step(counts, times, total)
        h_before = tail[1]
        if h != tail[1]:  # a belongs to a time off t_n by so much of the step
            for k in range(6 * n):
                a_n[k] = rate_n[k] + h / tail[1] * (a_n[k] - rate_n[k])
                growth[k] *= h / tail[1]
            tail[1], tail[2] = h, 1.0
        s, kappa = beta * h * h, beta * h / gamma
        cm, cc = (1.0 - am) / (1.0 - af), gamma * h
        fastest, far, spin = 0.0, 1.0, 0.0
        for i in range(n):
            for k in range(3):
                far = max(far, abs(q[POSE * i + 4 + k]))
                spin = max(spin, abs(v[6 * i + k]))
        for k in range(6 * n):  # predicted: x'' changes as in the step before, λ stays
            second[k] = rate_n[k] + growth[k]
            end = ((1.0 - af) * second[k] + af * rate_n[k] - am * a_n[k]) / (1.0 - am)
            rate[k] = v[k] + h * ((1.0 - gamma) * a_n[k] + gamma * end)
            star[k] = h * (v[k] + h * ((0.5 - beta) * a_n[k] + beta * end))
            x[k] = star[k]
            fastest = max(fastest, max(abs(v[k]), abs(h * rate_n[k])))
        if index == 2 or estimating:
            set_clock(whole, own, t, y, (POSE + TWIST) * n)
            set_motion(bodies, n, q, v, motion)
            prepare(tiles, constants, nt, motion, rows)
            keep_rows(tables, rows, old, weights, kept_matrix, kept_factors)
        if index == 2:
            for k in range(3 * nn):  # predicted as x'' is; from here on `drift` has where ζ was
                before_step = zeta[k]
                zeta[k] += drift[k]
                drift[k] = before_step
            displacement(tables, old, weights, q, zeta, a)
            for k in range(6 * n):
                x[k] += a[k]
        predict_angles(whole, p, tables, own, t, h, y, motion, tail)
        turned = abs(h) * spin
        sweeps = 1 if turned < 0.01 else 2 if turned < 0.1 else 3
        if regular > 0.0:  # what dependent rows leave open must not be carried on
            for k in range(3 * n_nodes):
                lam[k] = 0.0
        goal, previous, found, power = max(tolerance * abs(h) * fastest, 4e-15 * far), 1e300, False, 0.0
        fresh = True
        for iteration in range(ITERATIONS):
            weight = regular if iteration < TRIES else SHARPER * regular
            trial_state(bodies, n, local, q, x, star, rate, second, new_q, new_v, new_rate)
            power = apply_forces(whole, p, t + h, new_q, new_v, wrenches, room)
            set_motion(bodies, n, new_q, new_v, motion)
            prepare(tiles, constants, nt, motion, rows)
            off = correction(
                t + h, tables, structure, whole, p, packed, stiffen, fresh, index, form, s, cm, cc, kappa, x, new_rate,
                lam, new_q, new_v, motion, rows, left, blocks, matrix, factors, f, d, g, wrenches, room, weight,
            )  # fmt: skip
            largest, total_sum = 0.0, 0.0
            for i in range(n):
                on_se3 = bodies[i * BODY.size + BODY.space] == SE3
                change = load6(d, 6 * i, 0.0)
                for k in range(6):
                    largest = max(largest, abs(d[6 * i + k]))
                    total_sum += d[6 * i + k]
                at = load6(x, 6 * i, 0.0)
                dx = to_chart(bodies, i, motion, change)
                if form == IN_VELOCITY:
                    dx = plus(dx, -0.5 * kappa, bracket(on_se3, load6(new_v, 6 * i, 0.0), dx))
                    change = from_chart(bodies, i, motion, dx)
                if carried:
                    dx = onward_inverse(on_se3, at, dx)
                elif index == 2:
                    change = from_chart(bodies, i, motion, onward(on_se3, at, dx))
                store6(step, 6 * i, change)
                store6(moved, 6 * i, dx)
            for k in range(3 * n_nodes):
                lam[k] += g[k] / s
            if index == 2:
                correct = correct_position(
                    tables, unmeasured, sweeps, q, x, motion, rows, old, weights, kept_factors, b, kept_matrix,
                    step, zeta, a, d,
                )  # fmt: skip
                for k in range(6 * n):
                    x[k] += d[k]
                largest = max(largest, correct)
            for k in range(6 * n):
                x[k] += moved[k]
                star[k] += moved[k]
                rate[k] += moved[k] / kappa
                second[k] += cm / s * moved[k]
            counts[COUNTS.iterations] += 1
            history[iteration], history[ITERATIONS + iteration] = largest / abs(h), off
            counts[COUNTS.tried] = iteration + 1
            if not abs(total_sum) < 1e300:
                counts[COUNTS.status] = NOT_FINITE
                break
            contraction = largest / previous if previous < 1e299 else 0.0
            previous, fresh = largest, contraction > SLOW
            if iteration == 1:
                tail[2], tail[3] = contraction, 0.0
            elif iteration == 0 and tail[3] < TRUSTED and largest * tail[2] < 0.1 * goal:
                tail[3] += 1.0
                found = True
                break
            if largest < goal or (iteration > 0 and largest * min(max(contraction, KEPT), 1.0) < 0.1 * goal):
                found = True
                break
            if iteration > 1 and contraction > 0.5 and largest < 1e-11 * far:  # rounding of absolute positions
                found = True
                break
            if regular > 0.0 and settled(iteration, contraction, largest, off, h * fastest, far):
                found = True
                break
        if not found:
            if counts[COUNTS.status] == RUNNING:
                counts[COUNTS.status] = NO_CONVERGENCE
            counts[COUNTS.worst] = worst_tile(tiles, nt, nodes, g)
            counts[COUNTS.level] = 1 if index == 2 else 0
            break
        keep_targets(whole, tables, motion, rows, left)
        power += power_to_keep(whole, tables, nodes, lam, left)
        trial_state(bodies, n, local, q, x, star, rate, second, new_q, new_v, new_rate)
        if estimating:
            for k in range(6 * n):  # of coordinates and velocities
                ahead = ((1.0 - af) * second[k] + af * rate_n[k] - am * a_n[k]) / (1.0 - am)
                x[k] = h * h * (1 / 6 - beta - 0.5 * (am - af)) * (ahead - a_n[k])
                bend = 2.0 * (second[k] - rate_n[k] - growth[k]) / (h * (h + h_before))
                moved[k] = h * h * h * (-1 / 12 + (am - af) * (0.5 - af)) * bend
            if not local:
                for i in range(n):
                    on_se3 = bodies[i * BODY.size + BODY.space] == SE3
                    twist = bracket(on_se3, load6(v, 6 * i, 0.0), load6(rate_n, 6 * i, 0.0))
                    store6(x, 6 * i, plus(load6(x, 6 * i, 0.0), h * h * h / 12, twist))
            if nt > 0:
                tangent_part(tables, old, weights, kept_factors, q, b, a, x)
                tangent_part(tables, old, weights, kept_factors, q, b, a, moved)
            far, turning, speed = sizes(n, q, new_v)
            rtol, atol = parameters[ALPHA.rtol], parameters[ALPHA.atol]
            tail[4] = max(
                relative_size(n, x, 1.0, far, rtol, atol), relative_size(n, moved, turning, speed, rtol, atol)
            )
        for i in range(n):
            on_se3 = bodies[i * BODY.size + BODY.space] == SE3
            acceleration, at = load6(second, 6 * i, 0.0), load6(star, 6 * i, 0.0)
            for k in range(6 * i, 6 * i + 6):
                growth[k] = second[k] - rate_n[k]
                a_n[k] = ((1.0 - af) * second[k] + af * rate_n[k] - am * a_n[k]) / (1.0 - am)
            if local:
                ahead = lift(on_se3, at, minus(load6(a_n, 6 * i, 0.0), acceleration))
                store6(a_n, 6 * i, plus(load6(new_rate, 6 * i, 0.0), 1.0, ahead))
        for k in range(6 * n):
            rate_n[k] = new_rate[k]
        impulse = 0.0
        if onto:
            set_motion(bodies, n, new_q, new_v, motion)
            prepare(tiles, constants, nt, motion, rows)
            factorise_rows(tables, tables[9], rows, kept_matrix, kept_factors)
            for i in range(n):
                store6(step, 6 * i, from_chart(bodies, i, motion, load6(new_v, 6 * i, 0.0)))
            impulse = onto_velocities(whole, tables, motion, rows, kept_matrix, kept_factors, left, step, b, a)
            for i in range(n):
                store6(new_v, 6 * i, to_chart(bodies, i, motion, load6(step, 6 * i, 0.0)))
        if index == 2:
            for k in range(3 * nn):
                drift[k] = zeta[k] - drift[k]
        if parameters[ALPHA.project] != 0.0 and nt > 0 and not onto:
            set_motion(bodies, n, new_q, new_v, motion)
            prepare(tiles, constants, nt, motion, rows)
            project_velocity(tables, motion, rows, weights, kept_factors, b, a, new_q, new_v)
        finish_step(whole, p, tables, impulse + 0.5 * h * (tail[0] + power), new_q, new_v, y, motion, rows, tail)
        tail[0] = power
        counts[COUNTS.step] += 1
        save_point(counts, times, total, every, y, saved_t_at, saved_y_at)
        if last:
            counts[COUNTS.status] = DONE
            break
    restore_denormals(before)
