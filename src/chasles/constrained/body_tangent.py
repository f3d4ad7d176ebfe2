"""Blocks of Newton's matrix: inertia, gyroscopic terms, and how reactions turn with the bodies.

With unknowns d (rotation in the body, displacement in space at the end of the step), dV = d/κ and the derivatives of
velocities d/λ, the blocks below are s (∂r/∂q + ∂r/∂V / κ + ∂r/∂V' / λ), scaled by s = β h² or the like so that they do
not grow as the step becomes short: cm = s/λ, cc = s/κ. Where reactions couple two bodies, it is left out.
"""

from __future__ import annotations

from chasles.absolute.kkt import each
from chasles.absolute.tables import BODY, MASS, PAIR, SE3
from chasles.constrained.tables import BLOCK, PLACE, SEPARATE
from chasles.constraint.rows import DOT, IDENTITY, MOTION, NUMBERS, POINT, TILE, pose_of, vector
from chasles.kernel.algebra import add, cross, dot, mat_add, mat_mul, mat_mul_t, mat_scale, mul, mul_t, skew
from chasles.kernel.lanes import fma
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store9


@kernel
def twice_crossed(a, b):
    """a~ b~ = b aᵀ - (a·b) I."""
    s = dot(a, b)
    return (
        *(a[0] * b[0] - s, b[0] * a[1], b[0] * a[2]),
        *(b[1] * a[0], b[1] * a[1] - s, b[1] * a[2]),
        *(b[2] * a[0], b[2] * a[1], b[2] * a[2] - s),
    )


@kernel
def turned_reaction(tiles, numbers, nodes, tile, side, R, motion, x):
    """How the torque in the body of the multipliers x of a tile changes as the body turns."""
    row, n = tile * TILE.size, tile * NUMBERS.size
    if tiles[row + TILE.kinds] == POINT:
        b = vector(numbers, n + NUMBERS.a + 3 * side)
        sign = 2.0 * side - 1.0
        return mat_scale(sign, twice_crossed(b, mul_t(R, load3(x, 3 * nodes[tile], 0.0))))
    total = mat_scale(0.0, IDENTITY)
    if tiles[row + TILE.kinds] == DOT:
        other = tiles[row + TILE.first] if side == 1 else tiles[row + TILE.second]
        S, _ = pose_of(motion, other)
        for k in range(3):
            if tiles[row + TILE.kinds + k] == DOT:
                u, w = vector(numbers, n + NUMBERS.u + 3 * k), vector(numbers, n + NUMBERS.w + 3 * k)
                mine, its = (w, u) if side == 1 else (u, w)
                added = twice_crossed(mine, mul_t(R, mul(S, its)))
                total = mat_add(total, mat_scale(x[3 * nodes[tile] + k], added))
    return total


@kernel
def rotational(theta, w, cm, cc):
    """cm Θ + cc (ω~ Θ - (Θ ω)~). Which products are rounded is said: the compiler has no choice (`chart.plus`)."""
    x, y, z = each(theta, w)
    return (
        *(cm * theta[0], cc * fma(-w[2], theta[1], z), cc * fma(w[1], theta[2], -y)),
        *(cc * fma(w[2], theta[0], -z), cm * theta[1], cc * fma(-w[0], theta[2], x)),
        *(cc * fma(-w[1], theta[0], y), cc * fma(w[0], theta[1], -x), cm * theta[2]),
    )


@kernel
def body_block(workspace, step, i, acceleration, x, A, B):
    """The block of body i. (A, B): ∂x/∂d = [A 0; B A] in the algebra, where V and V' follow the coordinates x.

    acceleration: the linear part of V'; x: multipliers.
    """
    tables, plan, motion, blocks = workspace.tables, workspace.plan, workspace.motion, workspace.blocks
    bodies, tiles, incidences, masses = tables.bodies, tables.tiles, tables.incidences, tables.masses
    cm, cc, s = step.cm, step.cc, step.s
    m, at, place = i * MASS.size, i * MOTION.size, i * BLOCK.size
    theta, mass = load3(masses, m + MASS.moments, 0.0), masses[m + MASS.mass]
    w, R = load3(motion, at + MOTION.spin, 0.0), load9(motion, at + MOTION.rotation, 0.0)
    turned = mat_scale(0.0, IDENTITY)
    first = bodies[i * BODY.size + BODY.first]
    for e in range(first, first + bodies[i * BODY.size + BODY.count]):
        tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
        turned = mat_add(turned, turned_reaction(tiles, tables.constants, plan.nodes, tile, side, R, motion, x))
    store9(blocks, place + BLOCK.aa, mat_add(mat_mul(rotational(theta, w, cm, cc), A), mat_scale(s, turned)))
    kind = plan.places[i * PLACE.size + PLACE.kind]
    if bodies[i * BODY.size + BODY.space] == SE3:
        v = mul_t(R, load3(motion, at + MOTION.velocity, 0.0))
        pull = mat_mul(skew(w), B)
        pull = mat_add(mat_scale(cm, B), mat_scale(cc, mat_add(pull, mat_scale(-1.0, mat_mul(skew(v), A)))))
        pull = mat_add(pull, mat_scale(-s, skew(add(acceleration, cross(w, v)))))
        store9(blocks, place + BLOCK.la, mat_scale(mass, mat_mul(R, pull)))
        follow = mat_mul(mat_add(mat_scale(cm, IDENTITY), mat_scale(cc, skew(w))), A)
        store9(blocks, place + BLOCK.ll, mat_scale(mass, mat_mul(R, mat_mul_t(follow, R))))
        store9(blocks, place + BLOCK.al, mat_scale(0.0, IDENTITY))
    elif kind == SEPARATE:
        blocks[place + BLOCK.ll] = cm * mass
    else:
        store9(blocks, place + BLOCK.ll, mat_scale(cm * mass, IDENTITY))
        store9(blocks, place + BLOCK.la, mat_scale(0.0, IDENTITY))
        store9(blocks, place + BLOCK.al, mat_scale(0.0, IDENTITY))
