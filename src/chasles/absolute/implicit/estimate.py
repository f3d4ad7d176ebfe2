"""Sizes of errors of a step relative to the tolerance, and what of an error the constraints leave."""

from __future__ import annotations

from chasles.absolute.factor import solve
from chasles.absolute.implicit.reference import value_of
from chasles.absolute.implicit.velocity import release_rotors
from chasles.absolute.kkt import POSE, add_jacobian_times, push_back
from chasles.absolute.tables import BODY, SE3
from chasles.kernel.algebra import mul, mul_t
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, store3
from chasles.lie import quaternion

TINY = 1e-14  # the least tolerance: what is zero but for rounding must not be compared with zero


@kernel
def sizes(n, q, v):
    """How large positions, angular velocities and velocities are."""
    far, spin, speed = 0.0, 0.0, 0.0
    for i in range(n):
        for k in range(3):
            far = max(far, abs(q[POSE * i + 4 + k]))
            spin, speed = max(spin, abs(v[6 * i + k])), max(speed, abs(v[6 * i + 3 + k]))
    return far, spin, speed


@kernel
def relative_size(n, e, angular, linear, rtol, atol):
    """Root of the mean square of e, six numbers a body, each relative to atol + rtol times its size."""
    if n == 0:
        return 0.0
    turn, move, total = 1.0 / max(atol + rtol * angular, TINY), 1.0 / max(atol + rtol * linear, TINY), 0.0
    for i in range(n):
        for k in range(3):
            a, b = turn * e[6 * i + k], move * e[6 * i + 3 + k]
            total += a * a + b * b
    return sqrt(total / (6.0 * n))


@kernel
def into_space(bodies, n, q, e, back):
    """Linear parts from the bodies' spaces to space, or back."""
    for i in range(n):
        if bodies[i * BODY.size + BODY.space] == SE3:
            at = POSE * i
            R = quaternion.to_matrix((q[at], q[at + 1], q[at + 2], q[at + 3]))
            linear = load3(e, 6 * i + 3, 0.0)
            store3(e, 6 * i + 3, mul_t(R, linear) if back else mul(R, linear))


@kernel
def tangent_part(desk, e):
    """Remove from e (in the algebra, at the begin of the step) what the constraints would, in the metric of the kept
    factor."""
    bodies, tiles, nodes, incidences, _, column, row, _, _, _, _, _, n, nt, nn, _ = value_of(desk.tables)
    a, b = desk.a, desk.b
    into_space(bodies, n, desk.q, e, False)
    for k in range(3 * nn):
        b[k] = 0.0
    for k in range(6 * n):
        a[k] = 0.0
    add_jacobian_times(bodies, tiles, nodes, incidences, n, desk.old, e, b, -1.0, True)
    release_rotors(tiles, nodes, nt, b)
    solve(nn, column, row, desk.kept_factors, b)
    push_back(bodies, tiles, nodes, incidences, desk.weights, n, desk.old, b, a)
    for k in range(6 * n):
        e[k] += a[k]
    into_space(bodies, n, desk.q, e, True)
