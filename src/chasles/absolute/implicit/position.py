"""Positions in the stabilised form of index 2: x = x* - W J_nᵀ ζ holds g = 0 at the end of the step.

W is a metric, J_n the rows at the begin of the step. The equations J T W J_nᵀ dζ = g + J T dx*, with T = dexp_{-x}, are
solved with the factor of J_n W J_nᵀ, again and again if the step turns the bodies far.
"""

from __future__ import annotations

from chasles.absolute.factor import solve
from chasles.absolute.implicit.chart import onward
from chasles.absolute.implicit.loop import power_to_keep
from chasles.absolute.kkt import POSE, add_jacobian_times, respond
from chasles.absolute.redundant import factorise_rows, solve_refined
from chasles.absolute.tables import BODY, FIELD, SE3
from chasles.constraint.rows import MOTION, ROTOR, ROWS, TILE
from chasles.constraint.special import add_target_speeds
from chasles.kernel.algebra import mul, mul_t
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store3, store6
from chasles.lie import quaternion


@kernel
def keep_rows(tables, rows, old, weights, matrix, factors):
    """Rows and factor of the begin of a step."""
    nt = tables[13]
    for k in range(nt * ROWS.size):
        old[k] = rows[k]
    factorise_rows(tables, weights, rows, matrix, factors)


@kernel
def displacement(tables, old, weights, q, zeta, a):
    """a = -W J_nᵀ ζ in the algebra of each body's space, from the start q of the step."""
    bodies, tiles, nodes, incidences, n = tables[0], tables[1], tables[2], tables[3], tables[12]
    for k in range(6 * n):
        a[k] = 0.0
    respond(bodies, tiles, nodes, incidences, weights, n, old, zeta, a)
    for i in range(n):
        if bodies[i * BODY.size + BODY.space] == SE3:
            at = POSE * i
            R = quaternion.to_matrix((q[at], q[at + 1], q[at + 2], q[at + 3]))
            store3(a, 6 * i + 3, mul_t(R, load3(a, 6 * i + 3, 0.0)))


@kernel
def correct_position(
    tables, unmeasured, sweeps, q, x, motion, rows, old, weights, factors, b, spare, step, zeta, a, total
):
    """Correct ζ so that g + J `step` vanishes; returns the size of the change of x, which is in `total`.

    step: the displacement (in the body, in space) by the rest of the correction. b, spare: room, three numbers a node.
    """
    bodies, tiles, nodes, incidences = tables[0], tables[1], tables[2], tables[3]
    n, nt, nn = tables[12], tables[13], tables[14]
    for k in range(3 * nn):
        b[k] = 0.0
    for k in range(6 * n):
        total[k] = 0.0
    for t in range(nt):
        for k in range(3):
            b[3 * nodes[t] + k] -= rows[t * ROWS.size + ROWS.residual + k]
    add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, step, b, -1.0, True)
    size = 0.0
    for sweep in range(sweeps):
        for t in range(nt):
            for k in range(3):
                if unmeasured[3 * t + k] != 0:  # an equation between velocities alone
                    b[3 * nodes[t] + k] = 0.0
        solve_kept(tables, factors, b, spare, zeta, sweep + 1 < sweeps, old, weights, q, x, motion, rows, a, total)
    for k in range(6 * n):
        size = max(size, abs(total[k]))
    return size


@kernel
def solve_kept(tables, factors, b, spare, zeta, again, old, weights, q, x, motion, rows, a, total):
    """One sweep: b = -residual is solved for dζ; if another follows, it becomes minus the residual that is left."""
    bodies, tiles, nodes, incidences, _, column, row, _, _, _, _, _, n, _, nn, _ = tables
    for k in range(3 * nn):
        spare[k] = b[k]
    solve(nn, column, row, factors, b)
    for k in range(3 * nn):
        zeta[k] += b[k]
    displacement(tables, old, weights, q, b, a)
    for k in range(6 * n):
        total[k] += a[k]
    if again:
        for i in range(n):
            on_se3 = bodies[i * BODY.size + BODY.space] == SE3
            turn = load3(x, 6 * i, 0.0), load3(x, 6 * i + 3, 0.0)
            moved = onward(on_se3, turn, (load3(a, 6 * i, 0.0), load3(a, 6 * i + 3, 0.0)))
            linear = moved[1]
            if on_se3:
                linear = mul(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), linear)
            store6(a, 6 * i, (moved[0], linear))
        for k in range(3 * nn):
            b[k] = spare[k]
        add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, a, b, -1.0, True)


@kernel
def release_rotors(tiles, nodes, nt, b):
    """Rotors hold nothing."""
    for j in range(nt):
        if tiles[j * TILE.size + TILE.kinds] == ROTOR:
            b[3 * nodes[j]] = 0.0


@kernel
def onto_velocities(whole, tables, motion, rows, room, factors, targets, velocity, b, a):
    """Velocities (ω in the body, r' in space) onto J V = target, mass-orthogonally, twice for rounding.

    The factor is of the rows and masses at hand; room: six numbers a node. Returns the work of constraints that depend
    on time.
    """
    work = 0.0
    bodies, tiles, nodes, incidences, _, column, row, _, _, masses, constants, gravity, n, nt, nn, _ = tables
    for _ in range(2):
        for k in range(3 * nn):
            b[k] = 0.0
        for k in range(6 * n):
            a[k] = 0.0
        add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, velocity, b, -1.0, True)
        add_target_speeds(tiles, constants, nodes, nt, motion, rows, b, 1.0)
        release_rotors(tiles, nodes, nt, b)
        if gravity[FIELD.regularisation] > 0.0:
            solve_refined(tables, rows, factors, room, b, a)
        else:
            solve(nn, column, row, factors, b)
            respond(bodies, tiles, nodes, incidences, masses, n, rows, b, a)
        for k in range(6 * n):
            velocity[k] += a[k]
        work += power_to_keep(whole, tables, nodes, b, targets)
    return work
