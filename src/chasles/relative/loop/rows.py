"""The rows of `constraint` on the links of a tree: their motion as the rows see it, and the rows' wrenches on them.

A link is a body on SE(3) to the rows: ω and the derivatives of its velocity in its own frame, linear parts turned to
the axes of space.
"""

from __future__ import annotations

from chasles.constraint.rows import MOTION, POINT, ROWS, TILE
from chasles.constraint.special import TARGET, TURN, call_special, evaluate
from chasles.constraint.tile_work import TILE_WORK, angle_at, set_time, tile_work_at
from chasles.kernel.algebra import add, cross, dot, mul, mul_t, scale
from chasles.kernel.lanes import absolute, maximum, primal
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, load3, load6, load9, store3, store9
from chasles.relative.kinematics import STATE
from chasles.relative.loop.tables import GROUP, ROW

TINY = 1e-300


@kernel
def set_motion(touched, n_touched, states, motion):
    """Motion of the links that are held, from poses and body twists of all links."""
    for c in range(n_touched):
        at, here = (touched[c] + 1) * STATE.size, c * MOTION.size
        R, (w, u) = load9(states, at + STATE.rotation, 0.0), load6(states, at + STATE.twist, 0.0)
        store9(motion, here + MOTION.rotation, R)
        store3(motion, here + MOTION.position, load3(states, at + STATE.position, 0.0))
        store3(motion, here + MOTION.spin, w)
        store3(motion, here + MOTION.velocity, mul(R, u))
        store3(motion, here + MOTION.transport, mul(R, cross(w, u)))


@kernel
def set_clock(t, counted, n_counted, q, rows):
    """The time, and the angles of coupled joints, which as coordinates of the tree know their full turns."""
    set_time(rows, t)
    for k in range(n_counted):
        rows[angle_at(rows, k)] = q[counted[k]]


@kernel
def evaluate_tiles(tiles, constants, n_tiles, motion, rows):
    """Residuals and Jacobians of all tiles."""
    for j in range(n_tiles):
        evaluate(tiles, constants, j, motion, rows)


@kernel
def unit(k):
    return (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@kernel
def side_of(tiles, rows, t, side, k):
    """Row k of one side of tile t: angular (in the link) and linear part (in space)."""
    at = t * ROWS.size + ROWS.first_angular + 18 * side + 3 * k
    if tiles[t * TILE.size + TILE.kinds] == POINT:  # not stored
        return load3(rows, at, 0.0), scale(2.0 * side - 1.0, unit(k))
    return load3(rows, at, 0.0), load3(rows, at + 9, 0.0)


@kernel
def tiles_of(groups, equations, r):
    """The first of the tiles of row r, how many there are, and which of their rows it is."""
    group = equations[r * ROW.size + ROW.group] * GROUP.size
    return groups[group + GROUP.tile], groups[group + GROUP.count], equations[r * ROW.size + ROW.place]


@kernel
def last_tile(groups, group):
    """The tile of a group that has the residual, the acceleration term and the kinds of its rows."""
    return groups[group * GROUP.size + GROUP.tile] + groups[group * GROUP.size + GROUP.count] - 1


@kernel
def value_of(groups, equations, rows, r, what):
    """Residual or acceleration term of row r."""
    group, k = equations[r * ROW.size + ROW.group], equations[r * ROW.size + ROW.place]
    return rows[last_tile(groups, group) * ROWS.size + what + k]


@kernel
def size_of_row(tiles, groups, equations, rows, r, turn, move):
    """What row r makes of a rotation or angular velocity, and of a displacement or velocity, of these sizes."""
    first, count, k = tiles_of(groups, equations, r)
    angular, linear = TINY, 0.0
    for t in range(first, first + count):
        for side in range(2):
            if tiles[t * TILE.size + TILE.first + side] >= 0:
                w, u = side_of(tiles, rows, t, side, k)
                for j in range(3):
                    angular = maximum(angular, absolute(primal(w[j])))
                    linear = maximum(linear, absolute(primal(u[j])))
    return angular * turn + linear * move


@kernel
def share_reach(equations, reach, m):
    """Squared reaches of the rows of a group become their mean, so that none depends on the axes of a point's rows."""
    r = 0
    while r < m:
        group, end, total = equations[r * ROW.size + ROW.group], r, 0.0
        while end < m and equations[end * ROW.size + ROW.group] == group:
            total += reach[end]
            end += 1
        for k in range(r, end):
            reach[k] = total / (end - r)
        r = end


@kernel
def times_velocities(tiles, groups, equations, rows, r, motion):
    """J V of row r."""
    first, count, k = tiles_of(groups, equations, r)
    total = 0.0
    for t in range(first, first + count):
        for side in range(2):
            c = tiles[t * TILE.size + TILE.first + side]
            if c >= 0:
                angular, linear = side_of(tiles, rows, t, side, k)
                at = c * MOTION.size
                total += dot(angular, load3(motion, at + MOTION.spin, 0.0))
                total += dot(linear, load3(motion, at + MOTION.velocity, 0.0))
    return total


@kernel
def speed_of(tiles, groups, equations, constants, rows, r, motion):
    """J V of row r minus what it must be."""
    target = target_of(tiles, groups, equations, constants, rows, r, motion)
    return times_velocities(tiles, groups, equations, rows, r, motion) - target


@kernel
def target_of(tiles, groups, equations, constants, rows, r, motion):
    """What J V of row r must be: zero, but for constraints that depend on time."""
    group, k = equations[r * ROW.size + ROW.group], equations[r * ROW.size + ROW.place]
    t = last_tile(groups, group)
    if tiles[t * TILE.size + TILE.kinds] < TURN:
        return 0.0
    call_special(TARGET, tiles, constants, t, motion, rows)
    return rows[tile_work_at(rows) + TILE_WORK.target + k]


@kernel
def times_accelerations(tiles, groups, equations, touched, rows, r, motion, accelerations, stride, fall):
    """J A of row r: A of link i is at accelerations[(i + 1) stride], its linear part is short of `fall` (in space)."""
    first, count, k = tiles_of(groups, equations, r)
    total = 0.0
    for t in range(first, first + count):
        for side in range(2):
            c = tiles[t * TILE.size + TILE.first + side]
            if c >= 0:
                angular, linear = side_of(tiles, rows, t, side, k)
                A = load6(accelerations, (touched[c] + 1) * stride, 0.0)
                R = load9(motion, c * MOTION.size + MOTION.rotation, 0.0)
                total += dot(angular, A[0]) + dot(linear, add(mul(R, A[1]), fall))
    return total


@kernel
def push(tiles, groups, equations, touched, rows, r, motion, weight, wrenches):
    """Add weight Jᵀ of row r to the wrenches on the links, in their frames."""
    first, count, k = tiles_of(groups, equations, r)
    for t in range(first, first + count):
        for side in range(2):
            c = tiles[t * TILE.size + TILE.first + side]
            if c >= 0:
                angular, linear = side_of(tiles, rows, t, side, k)
                R = load9(motion, c * MOTION.size + MOTION.rotation, 0.0)
                add3(wrenches, 6 * touched[c], scale(weight, angular))
                add3(wrenches, 6 * touched[c] + 3, scale(weight, mul_t(R, linear)))
