"""Rows of constraints against their definition: differences of the residual along motions, with forty digits."""

import functools

import mpmath as mp
import numpy as np
import pytest

from chasles.constraint.joints import distance_tile, make_tile
from chasles.constraint.rows import (
    DOT,
    EMPTY,
    HELIX,
    MOTION,
    POINT,
    ROWS,
    SLIDE,
    acceleration_term,
    evaluate_tile,
)
from chasles.kernel.policy import kernel
from chasles.lie import se3
from chasles.lie.rotation import quaternion_to_matrix

DIGITS = 40
X, Y, Z = np.eye(3)
NONE = (EMPTY, 0 * X, 0 * X, 0.0)
ROWS_OF = {
    "POINT": [(POINT, 0 * X, 0 * X, 0.0)] * 3,
    "SLIDE": [(SLIDE, Z, 0 * X, 0.0), (SLIDE, X, 0 * X, 0.0), NONE],
    "DOT": [(DOT, X, Z, 0.0), (DOT, Y, Z, 0.0), (DOT, X, Y, 0.0)],
}
PITCH = 0.17
HELIX_ROWS = [(SLIDE, X, X, 0.0), (SLIDE, Y, 0 * X, 0.0), (HELIX, Z, 0 * X, PITCH)]


@kernel(entry=True)
def rows_of_tile(tiles, numbers, motion, work):
    evaluate_tile(tiles, numbers, 0, motion, work)
    acceleration_term(tiles, numbers, 0, motion, work)


def skew(w):
    return mp.matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def vector(x):
    return mp.matrix([mp.mpf(float(c)) for c in x])


def dot(a, b):
    return mp.fsum(a[k] * b[k] for k in range(3))


class Path:
    """A motion C0 exp(t V + t² A / 2), of velocity V and its derivative A at t = 0, on SE(3) or SO(3)xR3."""

    def __init__(self, rotation, position, velocity, acceleration, on_se3):
        self.R, self.r = mp.matrix(rotation.tolist()), vector(position)
        self.V, self.A, self.on_se3 = vector(velocity), vector(acceleration), on_se3

    def at(self, t):
        move = t * self.V + t * t / 2 * self.A
        if not self.on_se3:
            return self.R * mp.expm(skew(move[:3])), self.r + move[3:]
        twist = mp.zeros(4, 4)
        twist[:3, :3], twist[:3, 3] = skew(move[:3]), move[3:]
        step = mp.expm(twist)
        return self.R * step[:3, :3], self.r + self.R * step[:3, 3]


class Ground:
    def at(self, t):
        return mp.eye(3), vector((0, 0, 0))


def residuals(rows, points, rotations, A, B, t, length=None):
    """The definitions of the rows; `rotations` are those of the frames on the bodies."""
    (RA, rA), (RB, rB) = A.at(t), B.at(t)
    d = (rB + RB * points[1]) - (rA + RA * points[0])
    found = []
    for k, (kind, u, w, s) in enumerate(rows):
        U, W = RA * rotations[0] * vector(u), RB * rotations[1] * vector(w)
        if kind == POINT:
            found.append(d[k])
        elif kind == SLIDE:
            found.append(dot(U, d))
        elif kind == DOT:
            found.append(dot(U, W))
        elif kind == HELIX:
            x, y, mark = RA * rotations[0] * vector(X), RA * rotations[0] * vector(Y), RB * rotations[1] * vector(X)
            along, angle = dot(U, d), mp.atan2(dot(y, mark), dot(x, mark))
            angle += 2 * mp.pi * mp.nint((along / s - angle) / (2 * mp.pi))
            found.append(along - s * angle)
        elif length is not None:
            found.append((dot(d, d) - mp.mpf(length) ** 2) / (2 * mp.mpf(length)))
            length = None
        else:
            found.append(mp.mpf(0))
    return found


def motion_of(paths_data):
    """The motion array of the kernels, for (rotation, position, velocity, on SE(3)) of each body."""
    motion = np.zeros(MOTION.size * max(1, len(paths_data)))
    for i, (R, r, V, on_se3) in enumerate(paths_data):
        at = i * MOTION.size
        motion[at : at + 9] = R.ravel()
        motion[at + MOTION.position : at + MOTION.position + 3] = r
        motion[at + MOTION.spin : at + MOTION.spin + 3] = V[:3]
        velocity = R @ V[3:] if on_se3 else V[3:]
        motion[at + MOTION.velocity : at + MOTION.velocity + 3] = velocity
        if on_se3:
            motion[at + MOTION.transport : at + MOTION.transport + 3] = R @ np.cross(V[:3], V[3:])
    return motion


def check(tile, rows, frames, bodies, length=None):
    """Jacobian and acceleration term of a tile, for bodies (R, r, V, A, on SE(3)); None is the ground."""
    present = [body for body in bodies if body is not None]
    motion = motion_of([(R, r, V, s) for R, r, V, _, s in present])
    work = np.full(ROWS.size, np.nan)
    rows_of_tile(tile.integers, tile.numbers, motion, work)
    if rows[0][0] == POINT:  # their linear parts are known and not stored
        work[ROWS.first_linear : ROWS.first_linear + 9] = -np.eye(3).ravel()
        work[ROWS.second_linear : ROWS.second_linear + 9] = np.eye(3).ravel()
    with mp.workdps(DIGITS):
        A, B = (Ground() if body is None else Path(*body) for body in bodies)
        # the tile has rounded directions: what is tested are derivatives, so take the same ones
        turns = [mp.matrix(quaternion_to_matrix(frame[:4]).tolist()) for frame in frames]
        points = [vector(frame[4:]) for frame in frames]

        @functools.cache  # rows are differentiated one after the other, at the same times
        def values(t):
            return residuals(rows, points, turns, A, B, t, length)

        for k in range(3):
            exact = [float(mp.diff(lambda t, k=k: values(t)[k], 0, n, h=mp.mpf(10) ** -12)) for n in (0, 1, 2)]
            speed = push = 0.0
            for side, body in enumerate(bodies):
                if body is None:
                    continue
                R, _, V, a, on_se3 = body
                at = 18 * side + 3 * k
                angular = work[ROWS.first_angular + at : ROWS.first_angular + at + 3]
                linear = work[ROWS.first_linear + at : ROWS.first_linear + at + 3]
                turn = R if on_se3 else np.eye(3)  # the rows take the axes of space
                speed += angular @ V[:3] + linear @ (turn @ V[3:])
                push += angular @ a[:3] + linear @ (turn @ a[3:])
            size = 1.0 + max(abs(e) for e in exact)
            assert abs(work[ROWS.residual + k] - exact[0]) < 2e-15 * size
            assert abs(speed - exact[1]) < 4e-15 * size
            assert abs(push - work[ROWS.rate + k] - exact[2]) < 2e-14 * size


def random_frame(rng):
    turn = rng.normal(size=4)
    return np.array([*(turn / np.linalg.norm(turn)), *rng.uniform(-0.5, 0.5, 3)])


def random_body(rng, on_se3):
    R = quaternion_to_matrix(random_frame(rng)[:4])
    return R, rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 6), rng.uniform(-3, 3, 6), on_se3


@pytest.mark.first(6)
@pytest.mark.sample(2)
@pytest.mark.parametrize("joined", ["ground", "SE3", "SO3xR3"])
@pytest.mark.parametrize("on_se3", [True, False])
@pytest.mark.parametrize("kind", [*ROWS_OF, "DISTANCE"])
def test_rows_are_derivatives_of_their_residual(kind, on_se3, joined):
    rng = np.random.default_rng([len(kind), on_se3, len(joined)])
    for _ in range(3):
        frames = random_frame(rng), random_frame(rng)
        other = None if joined == "ground" else random_body(rng, joined == "SE3")
        first, second = (-1, 0) if other is None else (0, 1)
        bodies = [other, random_body(rng, on_se3)]
        if kind == "DISTANCE":
            length = float(rng.uniform(0.5, 2.0))
            frames = tuple(np.array([1.0, 0.0, 0.0, 0.0, *frame[4:]]) for frame in frames)
            tile, rows = distance_tile("link", first, second, [f[4:] for f in frames], length), [NONE] * 3
            check(tile, rows, frames, bodies, length)
        else:
            check(make_tile("some", first, second, frames, ROWS_OF[kind]), ROWS_OF[kind], frames, bodies)


@pytest.mark.first(4)
@pytest.mark.sample(2)
@pytest.mark.parametrize("turns", [0.0, 0.4, 3.7, -12.2])
@pytest.mark.parametrize("joined", ["ground", "SE3", "SO3xR3"])
@pytest.mark.parametrize("on_se3", [True, False])
def test_rows_of_a_screw_over_several_turns(turns, joined, on_se3):
    """The angle is that about the axis only while the axes are parallel, so the motion satisfies the joint."""
    rng = np.random.default_rng(7)
    frames = random_frame(rng), random_frame(rng)
    other = None if joined == "ground" else random_body(rng, joined == "SE3")
    parent = np.eye(4)
    twist_a = np.zeros(6)
    if other is not None:
        parent[:3, :3], parent[:3, 3] = other[0], other[1]
        twist_a = other[2].copy()
        if not other[4]:
            twist_a[3:] = other[0].T @ twist_a[3:]  # as a body twist
    poses = []
    for frame in frames:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = quaternion_to_matrix(frame[:4]), frame[4:]
        poses.append(pose)
    screw = np.array([0.0, 0.0, 1.0, 0.0, 0.0, PITCH])
    angle, rate = 2 * np.pi * turns + 0.3, 1.7
    turned = se3.exp(angle * screw)
    child = parent @ poses[0] @ turned @ np.linalg.inv(poses[1])
    relative = np.linalg.inv(child) @ parent
    twist = se3.Ad(relative) @ twist_a + se3.Ad(poses[1]) @ screw * rate
    velocity = twist.copy()
    if not on_se3:
        velocity[3:] = child[:3, :3] @ twist[3:]
    body = child[:3, :3], child[:3, 3], velocity, rng.uniform(-3, 3, 6), on_se3
    first, second = (-1, 0) if other is None else (0, 1)
    check(make_tile("screw", first, second, frames, HELIX_ROWS), HELIX_ROWS, frames, [other, body])
