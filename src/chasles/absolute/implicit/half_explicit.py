"""Half-explicit Runge-Kutta methods of index 2 in Munthe-Kaas form: explicit stages, J V = 0 at the next stage.

In the coordinates X of q = q_n exp(X) the equations are those of a vector space, X' = dexpinv_{-X} V, so that tableaux
for equations of index 2 keep their order. With the row of the next stage (or the weights, after the last one),

    W_i = dexpinv_{-X_i} V_i,   X_{i+1} = h Σ row_j W_j,   Q_{i+1} = q_n exp X_{i+1}
    M V'_i + J(Q_i)ᵀ Λ_i = F_i,   J(Q_{i+1}) V_{i+1} = target,   V_{i+1} = V_n + h Σ row_j V'_j

one linear system a stage. Positions drift by O(h^p), so each step ends with a projection. The error of a step is
measured by the last stage, which is at the end of the step too.
"""

from __future__ import annotations

from numba import carray

from chasles.absolute.entry import mechanism, set_clock, work_parts
from chasles.absolute.implicit.chart import move_body, onward_inverse
from chasles.absolute.implicit.estimate import relative_size, sizes
from chasles.absolute.implicit.layout import COUNTS, DONE, ITERATIONS, NOT_FINITE, RUNNING, TIMES, work_of
from chasles.absolute.implicit.loop import (
    TAIL,
    apply_forces,
    count_from,
    finish_step,
    keep_targets,
    point_size,
    power_to_keep,
    predict_angles,
    save_point,
    start_step,
    to_chart,
    total_size,
)
from chasles.absolute.implicit.newton import velocity_residual
from chasles.absolute.implicit.position import release_rotors
from chasles.absolute.implicit.saddle import BLOCK, clear_matrix, factorise_saddle, solve_saddle
from chasles.absolute.implicit.structure import PLACE, SEPARATE, structure_of
from chasles.absolute.kkt import POSE, TWIST, each, prepare, set_motion
from chasles.absolute.redundant import REFINEMENTS, regularise
from chasles.absolute.tables import BODY, FIELD, HEAD, MASS, SE3
from chasles.constraint.rows import IDENTITY, MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import evaluate, evaluate_rate
from chasles.kernel.address import as_integers, invoke
from chasles.kernel.algebra import add_scaled, cross, mat_mul_t, mat_scale, mul_t, scale, sub
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6, store9

MOST_STAGES = 8
# parameters: stages, whether to project, tolerances of the error (zero: no estimate); then rows of the tableau below
# the first and the weights, then nodes and 1
HALF = layout("HALF", stages=1, project=1, rtol=1, atol=1, table=MOST_STAGES * MOST_STAGES, nodes=MOST_STAGES + 1)


@kernel
def forces_on(bodies, masses, gravity, n, motion, wrenches, f):
    """Applied and gyroscopic forces: torque in the body, force in space (less what turns with the body)."""
    for i in range(n):
        at, m = i * MOTION.size, i * MASS.size
        spin = load3(motion, at + MOTION.spin, 0.0)
        turn = cross(spin, each(load3(masses, m + MASS.moments, 0.0), spin))
        fall = sub((gravity[0], gravity[1], gravity[2]), load3(motion, at + MOTION.transport, 0.0))
        store3(f, 6 * i, sub(load3(wrenches, 6 * i, 0.0), turn))
        store3(f, 6 * i + 3, add_scaled(load3(wrenches, 6 * i + 3, 0.0), masses[m + MASS.mass], fall))


@kernel
def keep_rotations(bodies, n, motion, blocks):
    """Rotations of this stage, for the blocks of bodies on SE(3)."""
    for i in range(n):
        if bodies[i * BODY.size + BODY.space] == SE3:
            store9(blocks, i * BLOCK.size + BLOCK.ll, load9(motion, i * MOTION.size + MOTION.rotation, 0.0))


@kernel
def inertia_blocks(bodies, places, masses, n, motion, blocks):
    """M; on SE(3) the unknown V' has its linear part in axes that turned from this stage to the next."""
    for i in range(n):
        at = i * BLOCK.size
        theta, mass = load3(masses, i * MASS.size + MASS.moments, 0.0), masses[i * MASS.size + MASS.mass]
        store9(blocks, at + BLOCK.aa, (theta[0], 0.0, 0.0, 0.0, theta[1], 0.0, 0.0, 0.0, theta[2]))
        if places[i * PLACE.size + PLACE.kind] == SEPARATE:
            blocks[at + BLOCK.ll] = mass
        else:
            turned = IDENTITY
            if bodies[i * BODY.size + BODY.space] == SE3:
                R = load9(motion, i * MOTION.size + MOTION.rotation, 0.0)
                turned = mat_mul_t(load9(blocks, at + BLOCK.ll, 0.0), R)
            store9(blocks, at + BLOCK.ll, mat_scale(mass, turned))
            store9(blocks, at + BLOCK.la, mat_scale(0.0, IDENTITY))
            store9(blocks, at + BLOCK.al, mat_scale(0.0, IDENTITY))


@kernel
def rotor_equations(bodies, tiles, masses, nodes, nt, blocks, old, rows, g):
    """Rotors: J V' - λ = rate, all of this stage; what turned to the next is in the blocks."""
    for j in range(nt):
        if tiles[j * TILE.size + TILE.kinds] == ROTOR:
            at = j * ROWS.size
            for side in range(2):
                i, place = tiles[j * TILE.size + TILE.first + side], at + ROWS.first_angular + 18 * side
                store3(rows, place, load3(old, place, 0.0))
                linear = load3(old, place + 9, 0.0)
                if i >= 0 and bodies[i * BODY.size + BODY.space] == SE3:
                    turned = load9(blocks, i * BLOCK.size + BLOCK.ll, 0.0)
                    linear = scale(1.0 / masses[i * MASS.size + MASS.mass], mul_t(turned, linear))
                store3(rows, place + 9, linear)
            g[3 * nodes[j]] = old[at + ROWS.rate]


@kernel
def errors(n, stages, h, rtol, atol, q, v, x, new_v, last_x, last_v, slopes, rates):
    """Two estimates of the error of the step relative to the tolerance: the last stage against the result, and, of
    HEM5, that of a combination of the last two stages, of one order less (Brasey's)."""
    far, spin, speed = sizes(n, q, new_v)
    for k in range(6 * n):
        last_x[k] -= x[k]
        last_v[k] -= new_v[k]
    first = max(relative_size(n, last_x, 1.0, far, rtol, atol), relative_size(n, last_v, spin, speed, rtol, atol))
    if stages < MOST_STAGES:
        return first, 0.0
    one, two = 6 * n * (stages - 2), 6 * n * (stages - 1)
    for k in range(6 * n):
        last_x[k] = h * (2.5 * slopes[one + k] - 1.5 * slopes[two + k]) - x[k]
        last_v[k] = v[k] + h * (2.5 * rates[one + k] - 1.5 * rates[two + k]) - new_v[k]
    return first, max(relative_size(n, last_x, 1.0, far, rtol, atol), relative_size(n, last_v, spin, speed, rtol, atol))


@native
def half_explicit(
    limit, p_at, p_size, e_at, e_size, parameters_at, memory_at, work_at, counts_at, history_at, times_at, total,
    every, saved_t_at, saved_y_at,
):  # fmt: skip
    """Take up to `limit` steps. Memory: the point y, the tail."""
    whole, p, packed = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,)), carray(e_at, (e_size,))
    tables, structure = mechanism(whole, p), structure_of(packed)
    bodies, tiles, _, incidences, _, _, _, _, _, masses, constants, gravity = tables[:12]
    n, nt = tables[12], tables[13]
    places, nodes, n_nodes, n_lower = structure[0], structure[1], structure[9], structure[10]
    size = point_size(whole)
    memory = carray(memory_at, (size + TAIL + whole[HEAD.n_angles],))
    parameters = carray(parameters_at, (HALF.size,))
    stages, table = int(parameters[HALF.stages]), parameters[HALF.table : HALF.nodes]
    counts, times = carray(counts_at, (COUNTS.size,)), carray(times_at, (TIMES.size,))
    history = carray(history_at, (2 * ITERATIONS,))
    own, old, targets, blocks, matrix, factors, f, d, g, new_q, wrenches, room, _, vectors = work_of(
        whole, packed, carray(work_at, (total_size(whole, packed),))
    )
    motion, rows, _, _, _, a, _ = work_parts(whole, own)
    y, tail = memory[:size], memory[size:]
    q, v = y[: POSE * n], y[POSE * n : (POSE + TWIST) * n]
    stage_v, x = vectors[: 6 * n], vectors[6 * n : 12 * n]
    regular = gravity[FIELD.regularisation]
    slopes, rates = (
        vectors[12 * n : 12 * n + 6 * n * MOST_STAGES],
        vectors[12 * n + 6 * n * MOST_STAGES : 12 * n + 12 * n * MOST_STAGES],
    )
    last_x = vectors[12 * n + 12 * n * MOST_STAGES : 18 * n + 12 * n * MOST_STAGES]
    last_v = vectors[18 * n + 12 * n * MOST_STAGES :]
    before = flush_denormals()
    counts[COUNTS.status] = RUNNING
    for _ in range(limit):
        t, h, last = start_step(counts, times, total)
        predict_angles(whole, p, tables, own, t, h, y, motion, tail)
        set_clock(whole, own, t, y, (POSE + TWIST) * n)
        count_from(whole, p, y, (POSE + TWIST) * n)
        work, power = 0.0, 0.0
        for k in range(6 * n):
            stage_v[k], x[k] = v[k], 0.0
        for k in range(POSE * n):
            new_q[k] = q[k]
        set_motion(bodies, n, new_q, stage_v, motion)
        prepare(tiles, constants, nt, motion, rows)
        for i in range(stages):
            weight = table[i * MOST_STAGES + i]
            if i + 1 == stages:
                for k in range(6 * n):
                    last_x[k], last_v[k] = x[k], stage_v[k]
            power = apply_forces(whole, p, t + parameters[HALF.nodes + i] * h, new_q, stage_v, wrenches, room)
            forces_on(bodies, masses, gravity, n, motion, wrenches, f)
            keep_rotations(bodies, n, motion, blocks)
            keep_targets(whole, tables, motion, rows, targets)
            for j in range(nt):
                if tiles[j * TILE.size + TILE.kinds] == ROTOR:  # its rows were those of the stage before
                    evaluate(tiles, constants, j, motion, rows)
                    evaluate_rate(tiles, constants, j, motion, rows)
            for k in range(nt * ROWS.size):
                old[k] = rows[k]
            for body in range(n):
                on_se3 = bodies[body * BODY.size + BODY.space] == SE3
                slope = onward_inverse(on_se3, load6(x, 6 * body, 0.0), load6(stage_v, 6 * body, 0.0))
                store6(slopes, 6 * (i * n + body), slope)
            for k in range(6 * n):
                far, fast = 0.0, v[k]
                for j in range(i + 1):
                    far += table[i * MOST_STAGES + j] * slopes[6 * n * j + k]
                for j in range(i):
                    fast += h * table[i * MOST_STAGES + j] * rates[6 * n * j + k]
                x[k], stage_v[k] = h * far, fast
            for body in range(n):
                move_body(bodies[body * BODY.size + BODY.space] == SE3, q, body, load6(x, 6 * body, 0.0), new_q)
            for k in range(whole[HEAD.n_angles]):
                a[k] = y[(POSE + TWIST) * n + k] + parameters[HALF.nodes + i + 1] * (
                    tail[TAIL + k] - y[(POSE + TWIST) * n + k]
                )
            set_clock(whole, own, t + parameters[HALF.nodes + i + 1] * h, a, 0)
            count_from(whole, p, a, 0)
            set_motion(bodies, n, new_q, stage_v, motion)
            prepare(tiles, constants, nt, motion, rows)
            for k in range(3 * n_nodes):
                g[k] = 0.0
            back = -1.0 / (h * weight)
            velocity_residual(bodies, tiles, constants, nodes, incidences, n, nt, motion, rows, back, g)
            clear_matrix(tiles, nodes, nt, n_nodes + 2 * n_lower, matrix)
            if regular > 0.0:
                regularise(bodies, tiles, incidences, nodes, masses, n, rows, regular, matrix)
            inertia_blocks(bodies, places, masses, n, motion, blocks)
            rotor_equations(bodies, tiles, masses, nodes, nt, blocks, old, rows, g)
            factorise_saddle(bodies, tiles, incidences, structure, n, rows, old, blocks, matrix, factors)
            solve_saddle(bodies, tiles, incidences, structure, n, rows, old, blocks, matrix, factors, f, g, d)
            power += power_to_keep(whole, tables, nodes, g, targets)
            for body in range(n):
                rate = to_chart(bodies, body, motion, load6(d, 6 * body, 0.0))
                store6(rates, 6 * (i * n + body), rate)
            for k in range(6 * n):
                stage_v[k] += h * weight * rates[6 * n * i + k]
            set_motion(bodies, n, new_q, stage_v, motion)
            for _ in range(REFINEMENTS if regular > 0.0 else 0):
                for k in range(3 * n_nodes):
                    g[k] = 0.0
                for k in range(6 * n):
                    f[k] = 0.0
                velocity_residual(bodies, tiles, constants, nodes, incidences, n, nt, motion, rows, back, g)
                release_rotors(tiles, nodes, nt, g)
                solve_saddle(bodies, tiles, incidences, structure, n, rows, old, blocks, matrix, factors, f, g, d)
                power += power_to_keep(whole, tables, nodes, g, targets)
                for body in range(n):
                    rate = to_chart(bodies, body, motion, load6(d, 6 * body, 0.0))
                    add3(rates, 6 * (i * n + body), rate[0])
                    add3(rates, 6 * (i * n + body) + 3, rate[1])
                    add3(stage_v, 6 * body, scale(h * weight, rate[0]))
                    add3(stage_v, 6 * body + 3, scale(h * weight, rate[1]))
                set_motion(bodies, n, new_q, stage_v, motion)
            work += h * table[(stages - 1) * MOST_STAGES + i] * power
            counts[COUNTS.evaluations] += 1
        finite = 0.0
        for k in range(6 * n):
            finite += stage_v[k] + x[k]
        if not abs(finite) < 1e300:
            counts[COUNTS.status], counts[COUNTS.tried] = NOT_FINITE, 0
            break
        if parameters[HALF.atol] + parameters[HALF.rtol] > 0.0:
            rtol, atol = parameters[HALF.rtol], parameters[HALF.atol]
            tail[4], tail[5] = errors(n, stages, h, rtol, atol, q, v, x, stage_v, last_x, last_v, slopes, rates)
        if parameters[HALF.project] != 0.0 and nt > 0:
            history[3] = 0.0  # no factor at hand: a run that is resumed has none either
            invoke(whole[HEAD.project], p, p.shape[0], new_q, stage_v, own, history)
        if whole[HEAD.n_angles] > 0:  # those at the end of the step: the last stage's were predicted
            count_from(whole, p, tail, TAIL)
            apply_forces(whole, p, t + h, new_q, stage_v, wrenches, room)
        finish_step(whole, p, tables, work, new_q, stage_v, y, motion, rows, tail)
        counts[COUNTS.step] += 1
        save_point(counts, times, total, every, y, saved_t_at, saved_y_at)
        if last:
            counts[COUNTS.status] = DONE
            break
    restore_denormals(before)
