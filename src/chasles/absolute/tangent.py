"""The equations of motion on dual numbers: how accelerations of bodies change with poses, velocities and wrenches.

Accelerations and multipliers solve M a + Jᵀ λ = f, J a = c. With those of a state held, the dual parts of f - Jᵀ λ and
c - J a are the right-hand sides of the same equations for δa and δλ. One pass has three directions: the rotations of a
body, its displacements, its angular or linear velocities, the torques or the forces on it.
"""

from __future__ import annotations

from functools import cache

from chasles.absolute.factor import solve
from chasles.absolute.kkt import (
    POSE,
    TWIST,
    add_feedback,
    add_jacobian_times,
    angular_of,
    each,
    is_point,
    linear_of,
    prepare,
    respond,
    set_motion,
)
from chasles.absolute.redundant import solve_refined
from chasles.absolute.tables import BODY, FIELD, HEAD, MASS, MECHANISM, PAIR, SE3, tables_of, work_of
from chasles.constraint.rows import MOTION, ROWS, within_subgroup
from chasles.constraint.special import evaluate_rate
from chasles.constraint.tile_work import angle_at, rows_size, set_time
from chasles.force.law_tangent import DUALS
from chasles.kernel.address import INTEGER, NUMBER, NUMBERS, address_of, as_integers, invoke
from chasles.kernel.algebra import add, cross, mul, mul_t, scale, sub
from chasles.kernel.dual import TANGENTS
from chasles.kernel.dual_memory import DualRegions
from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, load3, load9, store3, store6
from chasles.lie import quaternion

TURN, SHIFT, SPIN, SPEED, TORQUE, PUSH = range(6)  # blocks of three directions of a body


# workspace of `equations_tangent`, of duals
TANGENT_WORK = DualRegions(
    "TangentWork",
    motion=MOTION.size * MECHANISM.sizes.n_bodies,
    rows=rows_size(MECHANISM.sizes.n_tiles, MECHANISM.sizes.n_angles),
)
tangent_work_of, tangent_work_size = TANGENT_WORK.views, TANGENT_WORK.total


@native
def equations_tangent(p_at, p_size, t, angles_at, q_at, v_at, wrenches_at, a_at, x_at, work_at, out_at):
    """f - Jᵀ λ of all bodies and c - J a of all nodes, on duals, with a and λ (x, in elimination order) as numbers.

    Wrenches: torque and force on each body in its central frame. a: as `kkt.accelerate` leaves it.
    """
    integers, p = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,))
    tables = tables_of(p)
    bodies, tiles, nodes, incidences, _, _, _, _, _, masses, constants, gravity, n, nt, nn, _ = tables
    q, v, wrenches = carray(q_at, (POSE * n,)), carray(v_at, (TWIST * n,)), carray(wrenches_at, (6 * n,))
    a, x, out = carray(a_at, (6 * n,)), carray(x_at, (3 * nn,)), carray(out_at, (6 * n + 3 * nn,))
    motion, rows = tangent_work_of(carray(work_at, (tangent_work_size(integers),)), integers)
    angles, forces, right = carray(angles_at, (integers[HEAD.n_angles],)), out[: 6 * n], out[6 * n :]
    set_motion(bodies, n, q, v, motion)
    set_time(rows, t)
    for k in range(integers[HEAD.n_angles]):
        rows[angle_at(rows, k)] = angles[k]
    prepare(tiles, constants, nt, motion, rows)
    for k in range(3 * nn):
        right[k] = 0.0
    for j in range(nt):
        evaluate_rate(tiles, constants, j, motion, rows)
        store3(right, 3 * nodes[j], load3(rows, j * ROWS.size + ROWS.rate, 0.0))
    alpha, beta = gravity[FIELD.alpha], gravity[FIELD.beta]
    if alpha != 0.0 or beta != 0.0:
        add_feedback(bodies, tiles, nodes, incidences, constants, alpha, beta, n, nt, motion, rows, right)
    add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, a, right, -1.0, True)
    for i in range(n):
        at, m = i * MOTION.size, i * MASS.size
        spin, R = load3(motion, at + MOTION.spin, 0.0), load9(motion, at + MOTION.rotation, 0.0)
        momentum = each(load3(masses, m + MASS.moments, 0.0), spin)
        torque = sub(load3(wrenches, 6 * i, 0.0), cross(spin, momentum))
        heavy = scale(-masses[m + MASS.mass], load3(motion, at + MOTION.transport, 0.0))
        store6(forces, 6 * i, (torque, add(mul(R, load3(wrenches, 6 * i + 3, 0.0)), heavy)))
        first = bodies[i * BODY.size + BODY.first]
        for e in range(first, first + bodies[i * BODY.size + BODY.count]):
            tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
            push = scale(-1.0, load3(x, 3 * nodes[tile], 0.0))
            add3(forces, 6 * i, mul_t(angular_of(rows, tile, side), push))
            if not is_point(tiles, tile):  # else it is constant
                add3(forces, 6 * i + 3, mul_t(linear_of(rows, tile, side), push))


@cache
def equations_address() -> int:
    """Address of `equations_tangent`, compiled now or loaded from the cache."""
    reals, duals = NUMBERS, DUALS
    return address_of(
        *(equations_tangent, reals, INTEGER, NUMBER, reals),
        *(duals, duals, duals, reals, reals, duals, duals),
    )


@kernel
def set_direction(bodies, i, block, sign, motion, q, v, wrenches):
    """Tangents of body i for a block of directions (sign 1), or none any more (0)."""
    R = load9(motion, i * MOTION.size + MOTION.rotation, 0.0)
    for k in range(TANGENTS):
        x = sign if k == 0 else 0.0, sign if k == 1 else 0.0, sign if k == 2 else 0.0
        at, place = 1 + k, WIDTH * POSE * i
        if block == TURN:
            unit = q[place], q[place + WIDTH], q[place + 2 * WIDTH], q[place + 3 * WIDTH]
            turned = quaternion.product(unit, (0.0, 0.5 * x[0], 0.5 * x[1], 0.5 * x[2]))
            q[place + at], q[place + WIDTH + at] = turned[0], turned[1]
            q[place + 2 * WIDTH + at], q[place + 3 * WIDTH + at] = turned[2], turned[3]
        elif block == SHIFT:
            y = mul(R, x) if bodies[i * BODY.size + BODY.space] == SE3 else x
            for j in range(3):
                q[place + WIDTH * (4 + j) + at] = y[j]
        elif block == SPIN or block == SPEED:
            v[WIDTH * (TWIST * i + 3 * (block - SPIN) + k) + at] = sign
        else:
            wrenches[WIDTH * (6 * i + 3 * (block - TORQUE) + k) + at] = sign


@kernel
def solve_equations(tables, rows, factors, refinement, x, a):
    """M a + Jᵀ λ = f, J a = c (of rotors and empty rows J a - λ) with the factor of `kkt.accelerate`: a comes as f,
    forces in space, and x as c; they become a and λ."""
    bodies, tiles, nodes, incidences, _, column, row, _, _, masses, _, gravity, n, _, nn, _ = tables
    refined = gravity[FIELD.regularization] > 0.0
    for i in range(n):
        body, m = i * BODY.size, i * MASS.size
        torque, force = load3(a, 6 * i, 0.0), load3(a, 6 * i + 3, 0.0)
        if bodies[body + BODY.hub] != 0 and not refined:
            store3(x, 3 * bodies[body + BODY.angular], torque)
            store3(x, 3 * bodies[body + BODY.linear], force)
        else:
            store3(a, 6 * i, each(load3(masses, m + MASS.inverse, 0.0), torque))
            store3(a, 6 * i + 3, scale(1.0 / masses[m + MASS.mass], force))
    if refined:
        solve_refined(tables, rows, factors, refinement, x, a)
    else:
        add_jacobian_times(bodies, tiles, nodes, incidences, n, rows, a, x, -1.0, False)
        solve(nn, column, row, factors, x)
        respond(bodies, tiles, nodes, incidences, masses, n, rows, x, a)


@kernel
def response(tables, rows, factors, refinement, given, k, x, a):
    """δa and δλ to the k-th tangents of what `equations_tangent` gave."""
    forces = 6 * tables.n
    for j in range(forces):
        a[j] = given[WIDTH * j + 1 + k]
    for j in range(3 * tables.nn):
        x[j] = given[WIDTH * (forces + j) + 1 + k]
    solve_equations(tables, rows, factors, refinement, x, a)


@kernel(entry=True, allocates=True)
def acceleration_derivatives(
    address, integers, p, on_duals, t, angles, work, a, x, q, v, wrenches, dual_work, given, out
):
    """∂a of all directions, (bodies, 6 blocks, 3, 6 bodies). work: as `entry.accelerations` left it, with a and λ, of
    which a and x are copies; q, v, wrenches, dual_work, given: duals."""
    tables, space = tables_of(p), work_of(work, integers)
    bodies, n, motion = tables.bodies, tables.n, space.motion
    for i in range(n):
        for block in range(6):
            set_direction(bodies, i, block, 1.0, motion, q, v, wrenches)
            invoke(address, on_duals, on_duals.shape[0], t, angles, q, v, wrenches, a, x, dual_work, given)
            set_direction(bodies, i, block, 0.0, motion, q, v, wrenches)
            for k in range(TANGENTS):
                response(tables, space.rows, space.factors, space.refinement, given, k, space.x, space.a)
                turn = (0.0, 0.0, 0.0)
                if block == TURN:
                    turn = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
                for j in range(n):
                    angular, linear = load3(space.a, 6 * j, 0.0), load3(space.a, 6 * j + 3, 0.0)
                    if bodies[j * BODY.size + BODY.space] == SE3:  # from the axes of space
                        R = load9(motion, j * MOTION.size + MOTION.rotation, 0.0)
                        linear = mul_t(R, linear)
                        if j == i:
                            linear = sub(linear, cross(turn, mul_t(R, load3(a, 6 * j + 3, 0.0))))
                        held = bodies[j * BODY.size + BODY.held]
                        if held > 0:
                            angular, linear = within_subgroup(tables.tiles, tables.constants, held - 1, angular, linear)
                    store6(out[i, block, k], 6 * j, (angular, linear))
