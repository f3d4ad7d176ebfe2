"""A joint given by screws, seen from outside: its coordinates, found from the relative pose, and what it forbids.

G(q) = exp(Y_1 q_1) ... exp(Y_n q_n) is inverted by Newton's method from a guess: δq = J⁺ log(G(q)⁻¹ G), J the twists
of the screws in the child's frame. An orthonormal basis whose first n vectors span J and whose others are reciprocal to
the screws then serves velocities q' = J⁺ V and the rows of the constraint N·V = 0. Where the screws depend on each
other there is no such basis and all becomes NaN: `SingularJointError` says so where Python sees it.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, mul_t, scale, sub
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, store3, store6
from chasles.lie import pose, quaternion

MOST_SCREWS = 6  # screws of a joint
ITERATIONS = 30
CONVERGED = 1e-13  # of the last step, relative to 1 rad, or to the lengths at hand
SLIDES = 1e-6  # angular part of a combination of unit screws below which it slides: it turns about a far axis
DEPENDENT = 1e-10  # of the part of a screw's twist that is across those before it
# twists of the screws in the child's frame, the length that counts like 1 rad, the basis of twists in its units, the
# triangle T with J = basis T, coordinates of a vector in it, the error log(G(q)⁻¹ G), and the axes that the basis was
# completed from
SCREW_ROOM = layout("SCREW_ROOM", twists=6 * MOST_SCREWS, length=1, basis=36, triangle=36, part=6, error=6, axes=6)
ROOM_OF_SCREWS = SCREW_ROOM.size
NOT_A_NUMBER = float("nan")


class SingularJointError(ValueError):
    """The screws of a joint depend on each other at a state, so that its coordinates have no rates."""


@kernel
def place_screws(screws, n, q, room):
    """G(q), and the twists of the screws in the child's frame."""
    g = ((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    length = 0.0
    for k in range(n):
        w, v = load3(screws, 6 * k, 0.0), load3(screws, 6 * k + 3, 0.0)
        if dot(w, w) > 0.0:
            length = max(length, sqrt(dot(v, v)))
        step = pose.exp((scale(q[k], w), scale(q[k], v)))
        g = pose.compose(g, step)
        R = quaternion.to_matrix(step[0])
        for i in range(k):  # Ad of the step's inverse
            a, b = load3(room, SCREW_ROOM.twists + 6 * i, 0.0), load3(room, SCREW_ROOM.twists + 6 * i + 3, 0.0)
            store6(room, SCREW_ROOM.twists + 6 * i, (mul_t(R, a), mul_t(R, sub(b, cross(step[1], a)))))
        store6(room, SCREW_ROOM.twists + 6 * k, (w, v))
    room[SCREW_ROOM.length] = length if length > 0.0 else 1.0  # where axes meet no length is compared with an angle
    return g


@kernel
def twist_square(room, k):
    """Square of the length of vector k of the basis."""
    square = 0.0
    for c in range(6):
        square += room[SCREW_ROOM.basis + 6 * k + c] ** 2
    return square


@kernel
def across(room, k, count):
    """Take out of vector k of the basis what is along the first `count`, twice for the sake of rounding; its length."""
    for i in range(count):
        room[SCREW_ROOM.part + i] = 0.0
    for _ in range(2):
        for i in range(count):
            along = 0.0
            for c in range(6):
                along += room[SCREW_ROOM.basis + 6 * i + c] * room[SCREW_ROOM.basis + 6 * k + c]
            for c in range(6):
                room[SCREW_ROOM.basis + 6 * k + c] -= along * room[SCREW_ROOM.basis + 6 * i + c]
            room[SCREW_ROOM.part + i] += along
    return sqrt(twist_square(room, k))


@kernel
def make_basis(n, room, choose):
    """An orthonormal basis: the first n vectors span the twists (J = basis T), the others are across them.

    They are completed from axes that are chosen anew, or from those chosen before: a choice that followed the pose
    would exchange rows while Newton's method of a step looks for their multipliers.
    """
    for k in range(n):
        for c in range(6):
            unit = 1.0 if c < 3 else room[SCREW_ROOM.length]
            room[SCREW_ROOM.basis + 6 * k + c] = room[SCREW_ROOM.twists + 6 * k + c] / unit
        least = DEPENDENT * sqrt(twist_square(room, k))
        size = across(room, k, k)
        for i in range(k):
            room[SCREW_ROOM.triangle + 6 * i + k] = room[SCREW_ROOM.part + i]
        room[SCREW_ROOM.triangle + 7 * k] = size
        for c in range(6):
            room[SCREW_ROOM.basis + 6 * k + c] *= 1.0 / size if size > least else NOT_A_NUMBER
    for k in range(n, 6):
        if choose:
            most = -1.0
            for c in range(6):  # the axis that is farthest from all so far
                left = 1.0
                for i in range(k):
                    left -= room[SCREW_ROOM.basis + 6 * i + c] ** 2
                if left > most:
                    room[SCREW_ROOM.axes + k], most = float(c), left
        for c in range(6):
            room[SCREW_ROOM.basis + 6 * k + c] = 1.0 if c == int(room[SCREW_ROOM.axes + k]) else 0.0
        size = across(room, k, k)
        for c in range(6):
            room[SCREW_ROOM.basis + 6 * k + c] *= 1.0 / size


@kernel
def along_basis(room, k, x):
    """Vector k of the basis times a twist."""
    at = SCREW_ROOM.basis + 6 * k
    w, v = x
    first = room[at] * w[0] + room[at + 1] * w[1] + room[at + 2] * w[2]
    return first + (room[at + 3] * v[0] + room[at + 4] * v[1] + room[at + 5] * v[2]) / room[SCREW_ROOM.length]


@kernel
def screw_velocities(n, angular, linear, room, v):
    """v = J⁺ V of a twist V in the child's frame."""
    for k in range(n - 1, -1, -1):
        left = along_basis(room, k, (angular, linear))
        for i in range(k + 1, n):
            left -= room[SCREW_ROOM.triangle + 6 * k + i] * v[i]
        v[k] = left / room[SCREW_ROOM.triangle + 7 * k]


@kernel
def pick_screw(n, k, at, room):
    """Bring the screw whose part at `at` (0 angular, 3 linear) is longest among k ... n-1 to place k; its length."""
    best, longest = k, -1.0
    for i in range(k, n):
        x = load3(room, SCREW_ROOM.basis + 6 * i + at, 0.0)
        square = dot(x, x)
        if square > longest:
            best, longest = i, square
    for c in range(6):
        one, other = SCREW_ROOM.basis + 6 * k + c, SCREW_ROOM.basis + 6 * best + c
        room[one], room[other] = room[other], room[one]
    room[SCREW_ROOM.part + k], room[SCREW_ROOM.part + best] = room[SCREW_ROOM.part + best], room[SCREW_ROOM.part + k]
    return sqrt(max(longest, 0.0))


@kernel
def eliminate(n, k, at, size, room):
    """Scale screw k and what acts along it so that its part at `at` has length 1, and take it out of those behind."""
    room[SCREW_ROOM.part + k] /= size
    for c in range(6):
        room[SCREW_ROOM.basis + 6 * k + c] /= size
    e = load3(room, SCREW_ROOM.basis + 6 * k + at, 0.0)
    for i in range(k + 1, n):
        along = dot(e, load3(room, SCREW_ROOM.basis + 6 * i + at, 0.0))
        room[SCREW_ROOM.part + i] -= along * room[SCREW_ROOM.part + k]
        for c in range(6):
            room[SCREW_ROOM.basis + 6 * i + c] -= along * room[SCREW_ROOM.basis + 6 * k + c]


@kernel
def screw_wrench(n, tau, room):
    """The wrench W with Jᵀ W = τ in the child's frame, whose force is least and, with it, whose torque.

    Lengths and angles are not weighed against each other, so it does not depend on units: what can act as a torque is
    one, as for a helical joint, and forces act only along what can slide, through the origin of the child's frame.
    Combinations of the screws are made whose angular parts are orthonormal; those that are left slide. The basis is
    used up.
    """
    for k in range(n):
        room[SCREW_ROOM.part + k] = tau[k]
        for c in range(6):
            room[SCREW_ROOM.basis + 6 * k + c] = room[SCREW_ROOM.twists + 6 * k + c]
    turning = 0
    for k in range(min(n, 3)):
        size = pick_screw(n, k, 0, room)
        if not size > SLIDES:
            break
        eliminate(n, k, 0, size, room)
        turning = k + 1
    torque, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(turning, n):
        eliminate(n, k, 3, pick_screw(n, k, 3, room), room)
        force = add_scaled(force, room[SCREW_ROOM.part + k], load3(room, SCREW_ROOM.basis + 6 * k + 3, 0.0))
    for k in range(turning):
        e, v = load3(room, SCREW_ROOM.basis + 6 * k, 0.0), load3(room, SCREW_ROOM.basis + 6 * k + 3, 0.0)
        torque = add_scaled(torque, room[SCREW_ROOM.part + k] - dot(v, force), e)
    return torque, force


@kernel(allocates=True)
def screw_coordinates(screws, n, R, p, q, room):
    """Coordinates of the pose (R, p) of the child's frame in the parent's, nearest the guess in q, to q.

    Twists, basis and what is left of the error stay in the room.
    """
    given = (quaternion.from_matrix(R), p)
    for sweep in range(ITERATIONS):
        error = pose.log(pose.compose(pose.inverse(place_screws(screws, n, q, room)), given))
        make_basis(n, room, sweep == 0)  # by the guess, which is that of the step
        store6(room, SCREW_ROOM.error, error)
        step = room[SCREW_ROOM.part : SCREW_ROOM.part + 6]
        screw_velocities(n, error[0], error[1], room, step)
        longest, far = 0.0, sqrt(dot(p, p))
        for k in range(n):
            w, v = load3(screws, 6 * k, 0.0), load3(screws, 6 * k + 3, 0.0)
            far += sqrt(dot(v, v)) if dot(w, w) > 0.0 else abs(q[k])
        for k in range(n):
            w = load3(screws, 6 * k, 0.0)
            q[k] += step[k]
            if step[k] != 0.0:
                longest = max(longest, abs(step[k]) / (1.0 + abs(q[k]) if dot(w, w) > 0.0 else far))
        if not longest > CONVERGED:  # a NaN ends it too
            break


@kernel
def screw_bend(n, v, room):
    """J' v: what the twist's derivative has besides J v', in the child's frame."""
    store3(room, SCREW_ROOM.part, (0.0, 0.0, 0.0))
    store3(room, SCREW_ROOM.part + 3, (0.0, 0.0, 0.0))
    w, u = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)  # of the screws behind
    for k in range(n - 1, -1, -1):
        a = scale(v[k], load3(room, SCREW_ROOM.twists + 6 * k, 0.0))
        b = scale(v[k], load3(room, SCREW_ROOM.twists + 6 * k + 3, 0.0))
        add3(room, SCREW_ROOM.part, cross(a, w))
        add3(room, SCREW_ROOM.part + 3, sub(cross(b, w), cross(u, a)))
        w, u = add(w, a), add(u, b)
    return load3(room, SCREW_ROOM.part, 0.0), load3(room, SCREW_ROOM.part + 3, 0.0)
