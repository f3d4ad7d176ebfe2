"""Rows of coordinates, rolling, the user's own, screws and rotors against their definitions, with forty digits."""

import ctypes
import functools

import mpmath as mp
import numpy as np
import pytest

import chasles as ch
from chasles.constraint.rows import CUSTOM, EMPTY, NUMBERS, ROLL, ROWS, TRAVEL, TURN
from chasles.constraint.special import EVALUATE, RATE, TARGET, special_address
from chasles.constraint.tile_work import EXTRA, EXTRA_AT, TILE_WORK, rows_size
from chasles.constraint.tiles import TileBuilder
from chasles.kernel.policy import COMPILED
from chasles.lie import pose as pose_group
from chasles.lie import se3
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model import joint as make
from tests.absolute.test_constraints import link, swing
from tests.constraint.test_rows import DIGITS, Ground, Path, dot, motion_of, random_body, random_frame, skew, vector

pytestmark = pytest.mark.skipif(not COMPILED, reason="called through its address")
REAL, WHOLE = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int64)


KEPT: list[TileBuilder] = []  # tiles have addresses of laws, which live as long as their builder


def computed(tile, numbers, motion, angles=(), time=0.0):
    """Residual, rate, Jacobians (2, 3, 6: angular in the body, linear in space) and target of a tile."""
    arguments = (ctypes.c_int64, WHOLE, REAL, ctypes.c_int64, REAL, REAL, ctypes.c_int64)
    function = ctypes.CFUNCTYPE(None, *arguments)(special_address())
    work = np.full(rows_size(1, len(angles)), np.nan)
    at = len(work) - TILE_WORK.size
    work[at + TILE_WORK.time] = time
    for k, angle in enumerate(angles):
        work[at - 1 - k] = angle
    pointers = tile.integers.ctypes.data_as(WHOLE), numbers.ctypes.data_as(REAL)
    more = motion.ctypes.data_as(REAL), work.ctypes.data_as(REAL), len(work)
    for what in (EVALUATE, RATE):
        function(what, *pointers, 0, *more)
    J = work[ROWS.first_angular : ROWS.first_angular + 36].reshape(2, 2, 3, 3)
    residual, rate = work[ROWS.residual : ROWS.residual + 3].copy(), work[ROWS.rate : ROWS.rate + 3].copy()
    J = np.concatenate([J[:, 0], J[:, 1]], axis=-1)
    function(TARGET, *pointers, 0, *more)
    return residual, rate, J, work[at + TILE_WORK.target :][:3].copy()


def applied(J, bodies, which):
    """J times the velocities (2) or their derivatives (3) of bodies (R, r, V, A, on SE(3)); None is the ground."""
    total = np.zeros(3)
    for side, body in enumerate(bodies):
        if body is not None:
            R, x = body[0], body[which]
            total += J[side, :, :3] @ x[:3] + J[side, :, 3:] @ ((R if body[4] else np.eye(3)) @ x[3:])
    return total


def compare(found, definition, bodies, rows, speeds=None):
    """Rows are derivatives of the definition: value(t) of residuals, or speeds(t) if these cannot be integrated."""
    residual, rate, J, target = found
    # rows are differentiated one after the other, at the same times
    definition, speeds = (function and functools.cache(function) for function in (definition, speeds))
    with mp.workdps(DIGITS):
        for k in range(rows):
            exact = [mp.mpf(0)] * 3
            if definition is not None:
                exact = [mp.diff(lambda t, k=k: definition(t)[k], 0, n, h=mp.mpf(10) ** -12) for n in (0, 1, 2)]
                assert abs(residual[k] - exact[0]) < 4e-15 * (1 + abs(exact[0]))
            if speeds is not None:
                exact[1:] = [mp.diff(lambda t, k=k: speeds(t)[k], 0, n, h=mp.mpf(10) ** -10) for n in (0, 1)]
            size = 1.0 + max(abs(float(e)) for e in exact)
            assert abs(applied(J, bodies, 2)[k] - target[k] - float(exact[1])) < 1e-14 * size
            assert abs(applied(J, bodies, 3)[k] - rate[k] - float(exact[2])) < 4e-14 * size


def paths(bodies):
    return [Ground() if body is None else Path(*body) for body in bodies]


def pair(rng, joined, on_se3):
    other = None if joined == "ground" else random_body(rng, joined == "SE3")
    return [other, random_body(rng, on_se3)], (-1, 0) if other is None else (0, 1)


def moving(bodies):
    return motion_of([(R, r, V, s) for R, r, V, _, s in (body for body in bodies if body is not None)])


def tiles_of(rng, indices, constraint_of, joint=None):
    """A tile of a constraint between bodies "one" and "two" whose frames are at random places on their central ones."""
    frames = random_frame(rng), random_frame(rng)
    places = {"one": (indices[0], frames[0]), "two": (indices[1], frames[1])}
    system = ch.System(
        [ch.Body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in ("one", "two")], [joint] if joint else []
    )
    builder = TileBuilder(system, places)
    KEPT.append(builder)
    tiles = builder.build(constraint_of)
    return tiles, builder.numbers(tiles), frames


SIDES = pytest.mark.parametrize(("joined", "on_se3"), [("ground", True), ("SE3", False), ("SO3xR3", True)])


@SIDES
def test_travel_with_a_drive(joined, on_se3):
    rng = np.random.default_rng(11)
    bodies, indices = pair(rng, joined, on_se3)
    joint = make.prismatic(
        "slide", "one", "two", axis=(0.2, 0.5, -0.7), at=random_frame(rng), child_at=random_frame(rng)
    )
    parameters, time = (0.3, 2.0, 0.7), 0.4
    (tile,), numbers, _ = tiles_of(
        rng, indices, ch.Drive("drive", "slide", swing.function, parameters=parameters), joint
    )
    assert tile.kind == TRAVEL
    A, B = paths(bodies)
    axis = vector(tile.numbers[NUMBERS.u : NUMBERS.u + 3])  # as the tile has it; its meaning is tested with joints
    a, b = (vector(tile.numbers[at : at + 3]) for at in (NUMBERS.a, NUMBERS.b))

    def gap(t):
        (RA, rA), (RB, rB) = A.at(t), B.at(t)
        s, now = [mp.mpf(x) for x in parameters], time + t
        wanted = s[0] * mp.sin(s[1] * now) + s[2] * now
        return [dot(RA * axis, rB + RB * b - rA - RA * a) - wanted]

    compare(computed(tile, numbers, moving(bodies), time=time), gap, bodies, 1)


def on_axis(rng, other, axis_frames, screw, angle, rate, on_se3):
    """A body that moves relative to another as a joint lets it: turned and moved along z of the joint's frames."""
    parent, twist_a = np.eye(4), np.zeros(6)
    if other is not None:
        parent[:3, :3], parent[:3, 3], twist_a = other[0], other[1], other[2].copy()
        if not other[4]:
            twist_a[3:] = other[0].T @ twist_a[3:]
    poses = [np.asarray(pose_group.to_matrix(frame)) for frame in axis_frames]
    child = parent @ poses[0] @ se3.exp(angle * screw) @ np.linalg.inv(poses[1])
    twist = se3.Ad(np.linalg.inv(child) @ parent) @ twist_a + se3.Ad(poses[1]) @ screw * rate
    if not on_se3:
        twist[3:] = child[:3, :3] @ twist[3:]
    return child[:3, :3], child[:3, 3], twist, rng.uniform(-3, 3, 6), on_se3


@pytest.mark.sample(1)
@SIDES
@pytest.mark.parametrize("turns", [0.0, 3.7, -12.2])
def test_turn_with_a_drive_over_several_turns(turns, joined, on_se3):
    """The angle is that about the axis while the axes are parallel, so the motion satisfies the joint."""
    rng = np.random.default_rng(12)
    other = None if joined == "ground" else random_body(rng, joined == "SE3")
    joint = make.cylindrical(
        "pipe", "one", "two", axis=(0.0, 0.0, 1.0), at=random_frame(rng), child_at=random_frame(rng)
    )
    parameters, time, angle = (0.3, 2.0, 0.7), 0.4, 2 * np.pi * turns + 0.3
    indices = (-1, 0) if other is None else (0, 1)
    (tile,), numbers, frames = tiles_of(
        rng, indices, ch.Drive("drive", "pipe", swing.function, parameters=parameters), joint
    )
    assert tile.kind == TURN
    own = [
        pose_group.compose(f, np.array(g)) for f, g in zip(frames, (joint.parent_frame, joint.child_frame), strict=True)
    ]
    body = on_axis(rng, other, own, np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.1]), angle, 1.7, on_se3)
    bodies = [other, body]
    A, B = paths(bodies)
    u = [vector(tile.numbers[NUMBERS.u + 3 * k : NUMBERS.u + 3 * k + 3]) for k in range(3)]
    mark = vector(tile.numbers[NUMBERS.w : NUMBERS.w + 3])

    def gap(t):
        RA, RB = A.at(t)[0], B.at(t)[0]
        s, now = [mp.mpf(x) for x in parameters], time + t
        wanted = s[0] * mp.sin(s[1] * now) + s[2] * now
        found = mp.atan2(dot(RA * u[2], RB * mark), dot(RA * u[1], RB * mark))
        return [found + 2 * mp.pi * mp.nint((wanted - found) / (2 * mp.pi)) - wanted]

    compare(computed(tile, numbers, moving(bodies), time=time), gap, bodies, 1)


@SIDES
def test_custom_rows_of_frames_off_the_center(joined, on_se3):
    rng = np.random.default_rng(13)
    bodies, indices = pair(rng, joined, on_se3)
    points, length = rng.uniform(-1, 1, (2, 3)), 0.8
    constraint = ch.CustomConstraint("link", ("one", "two"), link.function, parameters=[length, *points[0], *points[1]])
    (tile,), numbers, frames = tiles_of(rng, indices, constraint)
    assert tile.kind == CUSTOM
    A, B = paths(bodies)
    turns, centers = [mp.matrix(quaternion_to_matrix(f[:4]).tolist()) for f in frames], [vector(f[4:]) for f in frames]

    def gap(t):
        (RA, rA), (RB, rB) = A.at(t), B.at(t)
        ends = [
            r + R * (c + Q * vector(p))
            for R, r, c, Q, p in zip((RA, RB), (rA, rB), centers, turns, points, strict=True)
        ]
        d = ends[1] - ends[0]
        return [(dot(d, d) - mp.mpf(length) ** 2) / 2]

    compare(computed(tile, numbers, moving(bodies)), gap, bodies, 1)


@pytest.mark.sample(1)
@SIDES
@pytest.mark.parametrize("axis", [None, (0.3, -0.5, 0.8)])
def test_rolling(axis, joined, on_se3):
    """Velocities of the two points in contact, by differences along the motion with the points held on their bodies."""
    rng = np.random.default_rng(14)
    bodies, indices = pair(rng, joined, on_se3)
    points, radius = rng.uniform(-1, 1, (2, 3)), 0.4
    constraint = ch.Rolling("roll", ("one", "two"), radius, points, normal=(0.1, 0.4, 0.9), axis=axis)
    (tile,), numbers, _ = tiles_of(rng, indices, constraint)
    assert tile.kind == ROLL
    A, B = paths(bodies)
    u = [vector(tile.numbers[NUMBERS.u + 3 * k : NUMBERS.u + 3 * k + 3]) for k in range(3)]
    a, b, disc = (vector(tile.numbers[at : at + 3]) for at in (NUMBERS.a, NUMBERS.b, NUMBERS.w))

    def contact(t):
        """The center's distance from the plane less that of a touching center, and the contact in space."""
        (RA, rA), (RB, rB) = A.at(t), B.at(t)
        normal, K, center = RA * u[2], RB * disc, rB + RB * b
        across = normal - dot(normal, K) * K
        size = mp.sqrt(dot(across, across))
        return dot(normal, center - rA - RA * a) - radius * size, center - mp.mpf(radius) / size * across

    def speeds(t):
        place, (RA, rA), (RB, rB) = contact(t)[1], A.at(t), B.at(t)
        on_a, on_b = RA.T * (place - rA), RB.T * (place - rB)

        @functools.cache
        def apart(s):
            (SA, sA), (SB, sB) = A.at(s), B.at(s)
            return sB + SB * on_b - sA - SA * on_a

        velocity = mp.matrix([mp.diff(lambda s, k=k: apart(s)[k], t, h=mp.mpf(10) ** -14) for k in range(3)])
        return [dot(RA * direction, velocity) for direction in u]

    found = computed(tile, numbers, moving(bodies))
    compare(found, None, bodies, 3, speeds)
    with mp.workdps(DIGITS):
        assert abs(found[0][2] - contact(0)[0]) < 4e-15
    assert not found[0][:2].any()


def exponential(x):
    twist = mp.zeros(4, 4)
    twist[:3, :3], twist[:3, 3] = skew(x[:3]), x[3:]
    return mp.expm(twist)


def along_joint(A, joint, frames, q0, v0, a0, on_se3):
    """The child of a joint on the path A, with coordinates q0 + v0 t + a0 t²/2: (R, r, V, V', on SE(3)) at t = 0."""
    F, H = (mp.matrix(np.asarray(pose_group.to_matrix(frame)).tolist()) for frame in frames)

    def at(t):
        R, r = A.at(t)
        pose = mp.eye(4)
        pose[:3, :3], pose[:3, 3] = R, r
        pose = pose * F
        for screw, q, v, a in zip(joint.screws, q0, v0, a0, strict=True):
            pose = pose * exponential((mp.mpf(q) + v * t + mp.mpf(a) / 2 * t * t) * vector(screw))
        return pose * H**-1

    h = mp.mpf(10) ** -12
    before, C, after = at(-h), at(mp.mpf(0)), at(h)
    D, E = (after - before) / (2 * h), (after - 2 * C + before) / h**2
    R, dR, ddR = C[:3, :3], D[:3, :3], E[:3, :3]
    spin, change = R.T * dR, R.T * ddR + dR.T * dR
    v, a = D[:3, 3], E[:3, 3]
    if on_se3:  # of the body twist
        v, a = R.T * v, R.T * a + dR.T * v
    V = [spin[2, 1], spin[0, 2], spin[1, 0], *v]
    dV = [change[2, 1], change[0, 2], change[1, 0], *a]
    numbers = [np.array(x.tolist(), dtype=float) for x in (R, C[:3, 3])]
    return numbers[0], numbers[1].ravel(), np.array(V, dtype=float), np.array(dV, dtype=float), on_se3


JOINTS = {
    "general 1": make.general("j", "one", "two", screws=((0.0, 0.6, 0.8, 0.1, 0.4, -0.3),)),
    "general 2": make.general(
        "j", "one", "two", screws=((0.0, 0.6, 0.8, 0.1, 0.4, -0.3), (0.0, 0.0, 0.0, 0.6, 0.0, -0.8))
    ),
    "general 4": make.general(
        *("j", "one", "two"),
        screws=(
            *((0.0, 0.6, 0.8, 0.1, 0.4, -0.3), (1.0, 0.0, 0.0, 0.3, -0.1, 0.2)),
            *((0.0, 0.0, 0.0, 0.6, 0.0, -0.8), (0.0, 1.0, 0.0, 0.3, 0.2, 0.2)),
        ),
    ),
    "revolute": make.revolute("j", "one", "two", axis=(0.3, -0.5, 0.8), armature=0.7),
    "helical": make.helical("j", "one", "two", axis=(0.3, -0.5, 0.8), pitch=0.2, armature=0.7),
    "planar": make.planar("j", "one", "two", normal=(0.3, -0.5, 0.8), armature=(0.7, 0.2, 0.4)),
    "universal": make.universal("j", "one", "two", axes=((0.6, 0.0, 0.8), (0.3, 0.9, 0.1)), armature=(0.7, 0.2)),
}


@pytest.mark.sample(1)
@SIDES
@pytest.mark.parametrize("kind", JOINTS)
def test_rows_of_screws_vanish_and_rows_of_rotors_feel_the_coordinate(kind, joined, on_se3):
    """Along any motion of the joint: N·V = 0 and its derivative; √I q' and √I q'' of a rotor."""
    rng = np.random.default_rng(15)
    joint = make.Joint(
        **{name: getattr(JOINTS[kind], name) for name in ("name", "parent", "child", "kind", "screws", "armature")},
        parent_frame=random_frame(rng),
        child_frame=random_frame(rng),
    )
    other = None if joined == "ground" else random_body(rng, joined == "SE3")
    indices, frames = (-1, 0) if other is None else (0, 1), (random_frame(rng), random_frame(rng))
    own = [
        pose_group.compose(f, np.array(g)) for f, g in zip(frames, (joint.parent_frame, joint.child_frame), strict=True)
    ]
    q, v, a = rng.uniform(-1, 1, (3, joint.nv))
    if kind == "general 1":
        q[0] += 8 * np.pi  # the guess tells the turn
    with mp.workdps(DIGITS + 10):
        bodies = [other, along_joint(paths([other])[0], joint, own, q, v, a, on_se3)]
    names = ("one", "two")
    system = ch.System([ch.Body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in names], [joint])
    builder = TileBuilder(system, dict(zip(names, zip(indices, frames, strict=True), strict=True)))
    tiles = builder.screw_tiles(joint) if joint.kind == "general" else builder.rotor_tiles(joint)
    numbers = builder.numbers(tiles)
    assert sum(int(np.count_nonzero(t.integers[2:5] != EMPTY)) for t in tiles) == (
        6 - joint.nv if joint.kind == "general" else joint.nv
    )
    for k, tile in enumerate(tiles):
        row = numbers[k * NUMBERS.size : (k + 1) * NUMBERS.size].copy()
        all_numbers = np.concatenate([row, numbers[len(tiles) * NUMBERS.size :]])
        all_numbers[EXTRA_AT + EXTRA.parameters] = NUMBERS.size
        residual, rate, J, target = computed(
            tile, all_numbers, moving(bodies), angles=q + 0.1 * rng.uniform(-1, 1, len(q))
        )
        speed, push = applied(J, bodies, 2), applied(J, bodies, 3) - rate
        if joint.kind == "general":
            assert max(np.abs(residual).max(), np.abs(speed).max(), np.abs(target).max()) < 1e-14
            assert np.abs(push).max() < 1e-13
            used = J[1, np.array(tile.integers[2:5]) != EMPTY]
            assert np.linalg.svd(used)[1].min() > 0.1  # independent
        else:
            root = np.sqrt(joint.armature[k])
            assert abs(speed[0] - root * v[k]) < 1e-14
            assert abs(target[0] - root * v[k]) < 1e-14
            assert abs(push[0] - root * a[k]) < 1e-13
            assert not residual.any()
