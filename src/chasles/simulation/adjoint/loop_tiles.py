"""Cotangents through the rows of one tile that closes a loop, by hand: whatever its kind, up to the kinds that laws
and rolling have (`loop_special`).

What goes back is the number

    T = Σ δ (J ξ) + acceleration (J A - rate) + speed (J V - target) + residual g

of all rows, each with four weights: the first derivative of g along velocities ξ, and along the motion its second, its
first and itself. So a vector that turns with a body has four channels (a jet): itself, its variation by ξ, its rate and
its acceleration, and each row is a product of two of them.
"""

from __future__ import annotations

from chasles.constraint.rows import DISTANCE, DOT, EMPTY, HELIX, NUMBERS, POINT, TILE, TRAVEL, TURN, TURN_ANGLE, vector
from chasles.constraint.tile_work import ALONE, EXTRA, EXTRA_AT, LAST, angle_of
from chasles.kernel.algebra import add, add_scaled, cross, dot, mul, mul_t, scale, sub
from chasles.kernel.functions import atan2
from chasles.kernel.lanes import rint
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load9, store3

# of the ground and of each link that is held, in space: pose, angular parts of ξ, of V and of the acceleration, linear
# parts of these at its origin, and the cotangents of all of them (`turning`: of its rotation)
TILE_FRAME = layout(
    "TILE_FRAME", rotation=9, position=3, vary_spin=3, spin=3, angular=3, vary=3, velocity=3, linear=3,
    turning=3, vary_spin_bar=3, spin_bar=3, angular_bar=3, position_bar=3, vary_bar=3, velocity_bar=3, linear_bar=3,
)  # fmt: skip
# channels of a vector, and their cotangents
JET = layout("JET", itself=3, vary=3, rate=3, second=3, itself_bar=3, vary_bar=3, rate_bar=3, second_bar=3)
ARM_A, ARM_B, GAP, U, W = (k * JET.size for k in range(5))  # jets of a tile: levers, from one point to the other, axes
JETS = 5 * JET.size
# weights of the three rows of a tile
WEIGHT = layout("WEIGHT", residual=3, vary=3, speed=3, acceleration=3)


@kernel
def weights_of(weights, at, k):
    """Of row k: of itself, its variation, its rate and its second derivative."""
    return (
        weights[at + WEIGHT.residual + k],
        weights[at + WEIGHT.vary + k],
        weights[at + WEIGHT.speed + k],
        weights[at + WEIGHT.acceleration + k],
    )


@kernel(shared=True)
def turn(frames, body, x, y, z, jets, at):
    """The jet of a vector (x, y, z) fixed in a body; its cotangents are zero."""
    b = body * TILE_FRAME.size
    spin = load3(frames, b + TILE_FRAME.spin, 0.0)
    out = mul(load9(frames, b + TILE_FRAME.rotation, 0.0), (x, y, z))
    rate = cross(spin, out)
    store3(jets, at + JET.itself, out)
    store3(jets, at + JET.vary, cross(load3(frames, b + TILE_FRAME.vary_spin, 0.0), out))
    store3(jets, at + JET.rate, rate)
    store3(jets, at + JET.second, add(cross(load3(frames, b + TILE_FRAME.angular, 0.0), out), cross(spin, rate)))
    for k in range(JET.itself_bar, JET.size):
        jets[at + k] = 0.0


@kernel(shared=True)
def turn_back(frames, body, jets, at, g, place):
    """Cotangents of a body and, subtracted from g, of the numbers of a vector that is fixed in it."""
    b = body * TILE_FRAME.size
    spin, angular = load3(frames, b + TILE_FRAME.spin, 0.0), load3(frames, b + TILE_FRAME.angular, 0.0)
    out, rate = load3(jets, at + JET.itself, 0.0), load3(jets, at + JET.rate, 0.0)
    vary_bar, second_bar = load3(jets, at + JET.vary_bar, 0.0), load3(jets, at + JET.second_bar, 0.0)
    rate_bar = add(load3(jets, at + JET.rate_bar, 0.0), cross(second_bar, spin))
    bar = add(load3(jets, at + JET.itself_bar, 0.0), cross(vary_bar, load3(frames, b + TILE_FRAME.vary_spin, 0.0)))
    bar = add(add(bar, cross(rate_bar, spin)), cross(second_bar, angular))
    add3(frames, b + TILE_FRAME.vary_spin_bar, cross(out, vary_bar))
    add3(frames, b + TILE_FRAME.spin_bar, add(cross(rate, second_bar), cross(out, rate_bar)))
    add3(frames, b + TILE_FRAME.angular_bar, cross(out, second_bar))
    add3(frames, b + TILE_FRAME.turning, cross(out, bar))
    add3(g, place, scale(-1.0, mul_t(load9(frames, b + TILE_FRAME.rotation, 0.0), bar)))


@kernel(shared=True)
def span(frames, first, second, constants, n, jets):
    """The jets of both levers, and of the vector from the point on the first body to that on the second."""
    a, b = vector(constants, n + NUMBERS.a), vector(constants, n + NUMBERS.b)
    turn(frames, first, a[0], a[1], a[2], jets, ARM_A)
    turn(frames, second, b[0], b[1], b[2], jets, ARM_B)
    for c in range(4):
        here, there = first * TILE_FRAME.size + TILE_FRAME.position, second * TILE_FRAME.size + TILE_FRAME.position
        if c > 0:
            here, there = here + TILE_FRAME.vary - TILE_FRAME.position, there + TILE_FRAME.vary - TILE_FRAME.position
            here, there = here + 3 * (c - 1), there + 3 * (c - 1)
        for k in range(3):
            m = 3 * c + k
            jets[GAP + m] = frames[there + k] + jets[ARM_B + m] - frames[here + k] - jets[ARM_A + m]
            jets[GAP + JET.itself_bar + m] = 0.0


@kernel(shared=True)
def span_back(frames, first, second, jets, g, n):
    """Cotangents of both bodies, and of the numbers of their points, from those of the vector between these."""
    for m in range(12):
        bar = jets[GAP + JET.itself_bar + m]
        frames[first * TILE_FRAME.size + TILE_FRAME.position_bar + m] -= bar
        frames[second * TILE_FRAME.size + TILE_FRAME.position_bar + m] += bar
        jets[ARM_A + JET.itself_bar + m] -= bar
        jets[ARM_B + JET.itself_bar + m] += bar
    turn_back(frames, first, jets, ARM_A, g, n + NUMBERS.a)
    turn_back(frames, second, jets, ARM_B, g, n + NUMBERS.b)


@kernel
def add_product(jets, at, to, itself, vary, rate, second):
    """Cotangents of the jet `to` from those of its product with the jet `at`, which has these weights."""
    x, d = load3(jets, at + JET.itself, 0.0), load3(jets, at + JET.vary, 0.0)
    v, a = load3(jets, at + JET.rate, 0.0), load3(jets, at + JET.second, 0.0)
    add3(jets, to + JET.itself_bar, add(add_scaled(scale(itself, x), vary, d), add_scaled(scale(rate, v), second, a)))
    add3(jets, to + JET.vary_bar, scale(vary, x))
    add3(jets, to + JET.rate_bar, add_scaled(scale(rate, x), 2.0 * second, v))
    add3(jets, to + JET.second_bar, scale(second, x))


@kernel(shared=True)
def multiply(jets, one, other, itself, vary, rate, second):
    """What the product of two jets adds to T with these weights, and their cotangents."""
    x, y = load3(jets, one, 0.0), load3(jets, other, 0.0)
    total = itself * dot(x, y)
    total += vary * (dot(load3(jets, one + JET.vary, 0.0), y) + dot(x, load3(jets, other + JET.vary, 0.0)))
    u, v = load3(jets, one + JET.rate, 0.0), load3(jets, other + JET.rate, 0.0)
    total += rate * (dot(u, y) + dot(x, v)) + 2.0 * second * dot(u, v)
    total += second * (dot(load3(jets, one + JET.second, 0.0), y) + dot(x, load3(jets, other + JET.second, 0.0)))
    add_product(jets, other, one, itself, vary, rate, second)
    add_product(jets, one, other, itself, vary, rate, second)
    return total


@kernel
def between(frames, first, second, what):
    """A vector of the second body minus that of the first."""
    return sub(load3(frames, second * TILE_FRAME.size + what, 0.0), load3(frames, first * TILE_FRAME.size + what, 0.0))


@kernel
def share(frames, first, second, what, bar):
    """Give both bodies the cotangent of the difference of their vectors."""
    add3(frames, second * TILE_FRAME.size + what, bar)
    add3(frames, first * TILE_FRAME.size + what, scale(-1.0, bar))


@kernel(shared=True)
def turn_about(frames, first, second, jets, vary, rate, second_weight):
    """What turning about the axis U adds to T, and cotangents; its value has cotangents of its own (`angle_back`)."""
    axis, moved = load3(jets, U + JET.itself, 0.0), load3(jets, U + JET.rate, 0.0)
    varied, spin = between(frames, first, second, TILE_FRAME.vary_spin), between(frames, first, second, TILE_FRAME.spin)
    angular = between(frames, first, second, TILE_FRAME.angular)
    bar = add(add_scaled(scale(vary, varied), rate, spin), scale(second_weight, angular))
    add3(jets, U + JET.itself_bar, bar)
    add3(jets, U + JET.rate_bar, scale(second_weight, spin))
    share(frames, first, second, TILE_FRAME.vary_spin_bar, scale(vary, axis))
    share(frames, first, second, TILE_FRAME.spin_bar, add_scaled(scale(rate, axis), second_weight, moved))
    share(frames, first, second, TILE_FRAME.angular_bar, scale(second_weight, axis))
    return dot(axis, bar) + second_weight * dot(moved, spin)


@kernel(shared=True)
def angle_back(frames, first, second, constants, at, other, mark, weight, g):
    """The angle of a mark on the second body, from the direction at `at` to that at `other` of the first; and
    cotangents of `weight` times it."""
    R = load9(frames, first * TILE_FRAME.size + TILE_FRAME.rotation, 0.0)
    S = load9(frames, second * TILE_FRAME.size + TILE_FRAME.rotation, 0.0)
    x, y, m = mul(R, vector(constants, at)), mul(R, vector(constants, other)), mul(S, vector(constants, mark))
    s, c = dot(y, m), dot(x, m)
    along, across = weight * s / (s * s + c * c), weight * c / (s * s + c * c)
    x_bar, y_bar, m_bar = scale(-along, m), scale(across, m), add_scaled(scale(across, y), -along, x)
    add3(frames, first * TILE_FRAME.size + TILE_FRAME.turning, add(cross(x, x_bar), cross(y, y_bar)))
    add3(frames, second * TILE_FRAME.size + TILE_FRAME.turning, cross(m, m_bar))
    add3(g, at, scale(-1.0, mul_t(R, x_bar)))
    add3(g, other, scale(-1.0, mul_t(R, y_bar)))
    add3(g, mark, scale(-1.0, mul_t(S, m_bar)))
    return atan2(s, c)


@kernel(shared=True)
def points_back(frames, first, second, constants, n, weights, at, jets, g):
    """Of a tile of a point."""
    span(frames, first, second, constants, n, jets)
    for c in range(4):
        for k in range(3):
            jets[GAP + JET.itself_bar + 3 * c + k] = weights[at + 3 * c + k]
    span_back(frames, first, second, jets, g, n)


@kernel(shared=True)
def coordinate_back(tiles, constants, j, frames, weights, at, rows, jets, g):
    """Of a tile of one coordinate c q, driven or coupled: all but what a law of time says."""
    first, second = tiles[j * TILE.size + TILE.first] + 1, tiles[j * TILE.size + TILE.second] + 1
    n = j * NUMBERS.size
    c, u = constants[n + NUMBERS.s], vector(constants, n + NUMBERS.u)
    itself, vary, rate, acceleration = weights_of(weights, at, 0)
    turn(frames, first, u[0], u[1], u[2], jets, U)
    if tiles[j * TILE.size + TILE.kinds] == TURN:
        total = turn_about(frames, first, second, jets, c * vary, c * rate, c * acceleration) / c
        if itself != 0.0:
            u_1, u_2, w = n + NUMBERS.u + 3, n + NUMBERS.u + 6, n + NUMBERS.w
            angle = angle_back(frames, first, second, constants, u_1, u_2, w, c * itself, g)
            counted = int(constants[n + EXTRA_AT + EXTRA.angle])
            if counted >= 0:  # coupled; what is driven has c = 1, whatever the parameters are
                angle += TURN_ANGLE * rint((angle_of(rows, counted) - angle) / TURN_ANGLE)
            total += itself * angle
    else:
        span(frames, first, second, constants, n, jets)
        total = multiply(jets, U, GAP, c * itself, c * vary, c * rate, c * acceleration) / c
        span_back(frames, first, second, jets, g, n)
    turn_back(frames, first, jets, U, g, n + NUMBERS.u)
    g[n + NUMBERS.s] -= total
    use = int(constants[n + EXTRA_AT + EXTRA.use])
    if use == ALONE or use == LAST:
        g[n + NUMBERS.s + 1] += itself


@kernel(shared=True)
def pull_tile(tiles, constants, j, frames, weights, rows, jets, g):
    """Cotangents of the bodies of tile j, and of its numbers subtracted from g."""
    n, row, at = j * NUMBERS.size, j * TILE.size, j * WEIGHT.size
    first, second, kind = tiles[row + TILE.first] + 1, tiles[row + TILE.second] + 1, tiles[row + TILE.kinds]
    if kind == POINT:
        points_back(frames, first, second, constants, n, weights, at, jets, g)
        return
    if kind == TURN or kind == TRAVEL:
        coordinate_back(tiles, constants, j, frames, weights, at, rows, jets, g)
        return
    span(frames, first, second, constants, n, jets)
    for k in range(3):
        kind = tiles[row + TILE.kinds + k]
        itself, vary, rate, acceleration = weights_of(weights, at, k)
        s, u = constants[n + NUMBERS.s + k], vector(constants, n + NUMBERS.u + 3 * k)
        if kind == DISTANCE:
            half = 0.5 / s
            total = multiply(jets, GAP, GAP, half * itself, half * vary, half * rate, half * acceleration)
            g[n + NUMBERS.s + k] += total / s + 0.5 * itself
        elif kind != EMPTY:
            turn(frames, first, u[0], u[1], u[2], jets, U)
            if kind == DOT:
                w = vector(constants, n + NUMBERS.w + 3 * k)
                turn(frames, second, w[0], w[1], w[2], jets, W)
                multiply(jets, U, W, itself, vary, rate, acceleration)
                turn_back(frames, second, jets, W, g, n + NUMBERS.w + 3 * k)
                g[n + NUMBERS.s + k] += itself
            else:
                multiply(jets, U, GAP, itself, vary, rate, acceleration)
            if kind == HELIX:  # the third row; u of the first two and w of the first are across the axis
                turned = turn_about(frames, first, second, jets, -s * vary, -s * rate, -s * acceleration) / s
                u_0, u_1, w_0 = n + NUMBERS.u, n + NUMBERS.u + 3, n + NUMBERS.w
                angle = angle_back(frames, first, second, constants, u_0, u_1, w_0, -s * itself, g)
                along = dot(load3(jets, U, 0.0), load3(jets, GAP, 0.0)) / s
                angle += TURN_ANGLE * rint((along - angle) / TURN_ANGLE)
                g[n + NUMBERS.s + k] -= turned - itself * angle
            turn_back(frames, first, jets, U, g, n + NUMBERS.u + 3 * k)
    span_back(frames, first, second, jets, g, n)
