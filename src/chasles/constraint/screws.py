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
SCREW_WORK = layout("SCREW_WORK", twists=6 * MOST_SCREWS, length=1, basis=36, triangle=36, part=6, error=6, axes=6)
NOT_A_NUMBER = float("nan")
ALIKE = 1e-6  # shares of axes that differ by no more are as good: rounding would choose another one each time


class SingularJointError(ValueError):
    """The screws of a joint depend on each other at a state, so that its coordinates have no rates."""


@kernel
def place_screws(screws, n, q, work):
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
            a, b = load3(work, SCREW_WORK.twists + 6 * i, 0.0), load3(work, SCREW_WORK.twists + 6 * i + 3, 0.0)
            store6(work, SCREW_WORK.twists + 6 * i, (mul_t(R, a), mul_t(R, sub(b, cross(step[1], a)))))
        store6(work, SCREW_WORK.twists + 6 * k, (w, v))
    work[SCREW_WORK.length] = length if length > 0.0 else 1.0  # where axes meet no length is compared with an angle
    return g


@kernel
def twist_square(work, k):
    """Square of the length of vector k of the basis."""
    square = 0.0
    for c in range(6):
        square += work[SCREW_WORK.basis + 6 * k + c] ** 2
    return square


@kernel
def across(work, k, count):
    """Take out of vector k of the basis what is along the first `count`, twice for the sake of rounding; its length."""
    for i in range(count):
        work[SCREW_WORK.part + i] = 0.0
    for _ in range(2):
        for i in range(count):
            along = 0.0
            for c in range(6):
                along += work[SCREW_WORK.basis + 6 * i + c] * work[SCREW_WORK.basis + 6 * k + c]
            for c in range(6):
                work[SCREW_WORK.basis + 6 * k + c] -= along * work[SCREW_WORK.basis + 6 * i + c]
            work[SCREW_WORK.part + i] += along
    return sqrt(twist_square(work, k))


@kernel
def make_basis(n, work, choose):
    """An orthonormal basis: the first n vectors span the twists (J = basis T), the others are across them.

    They are completed from axes that are chosen anew, or from those chosen before: a choice that followed the pose
    would exchange rows while Newton's method of a step looks for their multipliers.
    """
    for k in range(n):
        for c in range(6):
            unit = 1.0 if c < 3 else work[SCREW_WORK.length]
            work[SCREW_WORK.basis + 6 * k + c] = work[SCREW_WORK.twists + 6 * k + c] / unit
        least = DEPENDENT * sqrt(twist_square(work, k))
        size = across(work, k, k)
        for i in range(k):
            work[SCREW_WORK.triangle + 6 * i + k] = work[SCREW_WORK.part + i]
        work[SCREW_WORK.triangle + 7 * k] = size
        for c in range(6):
            work[SCREW_WORK.basis + 6 * k + c] *= 1.0 / size if size > least else NOT_A_NUMBER
    for k in range(n, 6):
        if choose:
            most = -1.0
            for c in range(6):  # the axis that is farthest from all so far
                left = 1.0
                for i in range(k):
                    left -= work[SCREW_WORK.basis + 6 * i + c] ** 2
                if left > most + ALIKE:
                    work[SCREW_WORK.axes + k], most = float(c), left
        for c in range(6):
            work[SCREW_WORK.basis + 6 * k + c] = 1.0 if c == int(work[SCREW_WORK.axes + k]) else 0.0
        size = across(work, k, k)
        for c in range(6):
            work[SCREW_WORK.basis + 6 * k + c] *= 1.0 / size


@kernel
def along_basis(work, k, x):
    """Vector k of the basis times a twist."""
    at = SCREW_WORK.basis + 6 * k
    w, v = x
    first = work[at] * w[0] + work[at + 1] * w[1] + work[at + 2] * w[2]
    return first + (work[at + 3] * v[0] + work[at + 4] * v[1] + work[at + 5] * v[2]) / work[SCREW_WORK.length]


@kernel
def screw_velocities(n, angular, linear, work, v):
    """v = J⁺ V of a twist V in the child's frame."""
    for k in range(n - 1, -1, -1):
        left = along_basis(work, k, (angular, linear))
        for i in range(k + 1, n):
            left -= work[SCREW_WORK.triangle + 6 * k + i] * v[i]
        v[k] = left / work[SCREW_WORK.triangle + 7 * k]


@kernel
def pick_screw(n, k, at, work):
    """Bring the screw whose part at `at` (0 angular, 3 linear) is longest among k ... n-1 to place k; its length."""
    best, longest = k, -1.0
    for i in range(k, n):
        x = load3(work, SCREW_WORK.basis + 6 * i + at, 0.0)
        square = dot(x, x)
        if square > longest:
            best, longest = i, square
    for c in range(6):
        one, other = SCREW_WORK.basis + 6 * k + c, SCREW_WORK.basis + 6 * best + c
        work[one], work[other] = work[other], work[one]
    work[SCREW_WORK.part + k], work[SCREW_WORK.part + best] = work[SCREW_WORK.part + best], work[SCREW_WORK.part + k]
    return sqrt(max(longest, 0.0))


@kernel
def eliminate(n, k, at, size, work):
    """Scale screw k and what acts along it so that its part at `at` has length 1, and take it out of those behind."""
    work[SCREW_WORK.part + k] /= size
    for c in range(6):
        work[SCREW_WORK.basis + 6 * k + c] /= size
    e = load3(work, SCREW_WORK.basis + 6 * k + at, 0.0)
    for i in range(k + 1, n):
        along = dot(e, load3(work, SCREW_WORK.basis + 6 * i + at, 0.0))
        work[SCREW_WORK.part + i] -= along * work[SCREW_WORK.part + k]
        for c in range(6):
            work[SCREW_WORK.basis + 6 * i + c] -= along * work[SCREW_WORK.basis + 6 * k + c]


@kernel
def screw_wrench(n, tau, work):
    """The wrench W with Jᵀ W = τ in the child's frame, whose force is least and, with it, whose torque.

    Lengths and angles are not weighed against each other, so it does not depend on units: what can act as a torque is
    one, as for a helical joint, and forces act only along what can slide, through the origin of the child's frame.
    Combinations of the screws are made whose angular parts are orthonormal; those that are left slide. The basis is
    used up.
    """
    for k in range(n):
        work[SCREW_WORK.part + k] = tau[k]
        for c in range(6):
            work[SCREW_WORK.basis + 6 * k + c] = work[SCREW_WORK.twists + 6 * k + c]
    turning = 0
    for k in range(min(n, 3)):
        size = pick_screw(n, k, 0, work)
        if not size > SLIDES:
            break
        eliminate(n, k, 0, size, work)
        turning = k + 1
    torque, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(turning, n):
        eliminate(n, k, 3, pick_screw(n, k, 3, work), work)
        force = add_scaled(force, work[SCREW_WORK.part + k], load3(work, SCREW_WORK.basis + 6 * k + 3, 0.0))
    for k in range(turning):
        e, v = load3(work, SCREW_WORK.basis + 6 * k, 0.0), load3(work, SCREW_WORK.basis + 6 * k + 3, 0.0)
        torque = add_scaled(torque, work[SCREW_WORK.part + k] - dot(v, force), e)
    return torque, force


@kernel(allocates=True)
def screw_coordinates(screws, n, R, p, q, work):
    """Coordinates of the pose (R, p) of the child's frame in the parent's, nearest the guess in q, to q.

    Twists, basis and what is left of the error stay in the workspace.
    """
    given = (quaternion.from_matrix(R), p)
    for sweep in range(ITERATIONS):
        error = pose.log(pose.compose(pose.inverse(place_screws(screws, n, q, work)), given))
        make_basis(n, work, sweep == 0)  # by the guess, which is that of the step
        store6(work, SCREW_WORK.error, error)
        step = work[SCREW_WORK.part : SCREW_WORK.part + 6]
        screw_velocities(n, error[0], error[1], work, step)
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
def screw_bend(n, v, work):
    """J' v: what the twist's derivative has besides J v', in the child's frame."""
    store3(work, SCREW_WORK.part, (0.0, 0.0, 0.0))
    store3(work, SCREW_WORK.part + 3, (0.0, 0.0, 0.0))
    w, u = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)  # of the screws behind
    for k in range(n - 1, -1, -1):
        a = scale(v[k], load3(work, SCREW_WORK.twists + 6 * k, 0.0))
        b = scale(v[k], load3(work, SCREW_WORK.twists + 6 * k + 3, 0.0))
        add3(work, SCREW_WORK.part, cross(a, w))
        add3(work, SCREW_WORK.part + 3, sub(cross(b, w), cross(u, a)))
        w, u = add(w, a), add(u, b)
    return load3(work, SCREW_WORK.part, 0.0), load3(work, SCREW_WORK.part + 3, 0.0)
