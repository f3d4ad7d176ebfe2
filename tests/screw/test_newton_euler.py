"""Newton-Euler equations against the forces on the particles of a body, differentiated with 60 digits."""

import itertools

import numpy as np
import pytest
from mpmath import mp

from chasles import lie, screw
from tests.oracle.definitions import precise
from tests.screw.motion import (
    BODY,
    PATHS,
    REPRESENTATIONS,
    TIME,
    Ad,
    acceleration_of,
    body_inertia,
    doubles,
    pose_of,
    rate,
    stack,
    twist_of,
    vee,
    wrench_on,
)

EPS = 2.0**-52
MATRIX = body_inertia()
every_representation = pytest.mark.parametrize("name", REPRESENTATIONS)


def near(found, expected, ulps=16):
    size = max(1.0, np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=ulps * EPS * size)


@every_representation
@pytest.mark.parametrize("path", PATHS)
def test_wrench_is_the_sum_of_the_forces_on_the_particles(name, path):
    found = screw.wrench_of_motion(MATRIX, twist_of(path, name), acceleration_of(path, name), name, pose_of(path))
    near(found, wrench_on(path, name))


@pytest.mark.parametrize(("source", "target"), list(itertools.product(REPRESENTATIONS, repeat=2)))
def test_the_four_agree_through_the_conversions(source, target):
    rng = np.random.default_rng(3)
    g, v, a = lie.pose.random(rng, (20,)), rng.normal(size=(20, 6)), rng.normal(size=(20, 6))
    there = screw.convert_twist(v, g, source, target), screw.convert_acceleration(a, v, g, source, target)
    wrench = screw.wrench_of_motion(MATRIX, v, a, source, g)
    near(screw.wrench_of_motion(MATRIX, *there, target, g), screw.convert_wrench(wrench, g, source, target), 64)


def test_body_form_is_that_of_the_coadjoint_operator():
    """mueller2018 eq. (41)."""
    rng = np.random.default_rng(4)
    v, a = rng.normal(size=(2, 20, 6))
    expected = a @ MATRIX - lie.se3.adT_apply(v, v @ MATRIX)
    near(screw.wrench_of_motion(MATRIX, v, a), expected)


@precise
def in_frame(turning: bool):
    """Motion of a body resolved in a moving frame F_j, or in the axes of another frame F_k that turns as well."""
    body, frame, axes = PATHS

    def change(t):  # takes coordinates of the result to the world
        relative = frame.rotation(t).T * axes.rotation(t) if turning else mp.eye(3)
        return frame.adjoint(t) * Ad(relative, [0, 0, 0])

    def twist(t):
        return mp.inverse(change(t)) * body.twist("spatial", t)

    def relative_rotation(t):
        return frame.rotation(t).T * axes.rotation(t)

    turn = change(TIME)
    world = mp.inverse(body.adjoint(TIME))
    inertia = turn.T * world.T * BODY.inertia() * world * turn
    frame_twist = mp.inverse(turn) * frame.twist("spatial", TIME)
    relative = vee(relative_rotation(TIME).T * rate(relative_rotation, TIME)) if turning else mp.zeros(3, 1)
    wrench = turn.T * BODY.wrench("spatial", body, TIME)
    absolute = vee(axes.rotation(TIME).T * rate(axes.rotation, TIME))
    return [doubles(m) for m in (inertia, twist(TIME), rate(twist, TIME), frame_twist, relative, wrench, absolute)]


@pytest.mark.parametrize("turning", [False, True])
def test_wrench_in_an_arbitrary_frame(turning):
    inertia, twist, acceleration, frame_twist, relative, wrench, _ = in_frame(turning)
    near(screw.wrench_in_frame(inertia, twist, acceleration, frame_twist, relative), wrench, 64)


def test_special_cases_of_the_arbitrary_frame():
    """Body-fixed is F_j = F_i, spatial is a frame at rest in the world (mueller2018 after eq. (61), corrected)."""
    path = PATHS[0]
    v, a = twist_of(path, "body"), acceleration_of(path, "body")
    near(screw.wrench_in_frame(MATRIX, v, a, v), wrench_on(path, "body"), 64)
    v, a = twist_of(path, "spatial"), acceleration_of(path, "spatial")
    inertia = screw.inertia.transform(MATRIX, pose_of(path))
    near(screw.wrench_in_frame(inertia, v, a, np.zeros(6)), wrench_on(path, "spatial"), 64)


def test_hybrid_is_the_body_frame_with_world_axes():
    path = PATHS[0]
    g = pose_of(path)
    v, a = twist_of(path, "hybrid"), acceleration_of(path, "hybrid")
    inertia = screw.inertia.transform(MATRIX, lie.se3.from_parts(g[:3, :3], np.zeros(3)))
    near(screw.wrench_in_frame(inertia, v, a, v, -v[:3]), wrench_on(path, "hybrid"), 64)


@every_representation
def test_batches(name):
    rng = np.random.default_rng(5)
    g, v, a = lie.pose.random(rng, (4, 1)), rng.normal(size=(3, 6)), rng.normal(size=(3, 6))
    found = screw.wrench_of_motion(MATRIX, v, a, name, g)
    assert found.shape == ((3, 6) if name == "body" else (4, 3, 6))
    if name != "body":
        near(found[2, 1], screw.wrench_of_motion(MATRIX, v[1], a[1], name, g[2, 0]))
    empty = np.empty((0, 6))
    assert screw.wrench_of_motion(MATRIX, empty, empty, name, np.empty((0, 7))).shape == (0, 6)
    assert screw.wrench_in_frame(MATRIX, empty, empty, np.zeros(6)).shape == (0, 6)


def test_bad_input_is_named():
    six, g = np.zeros(6), lie.pose.identity()
    with pytest.raises(ValueError, match="'world' is not a representation; it is one of body, spatial, hybrid, mixed"):
        screw.wrench_of_motion(MATRIX, six, six, "world", g)
    with pytest.raises(ValueError, match="representation 'hybrid' needs the pose of the body"):
        screw.wrench_of_motion(MATRIX, six, six, "hybrid")
    with pytest.raises(ValueError, match=r"inertia has shape \(3, 3\)"):
        screw.wrench_of_motion(np.eye(3), six, six)
    with pytest.raises(ValueError, match="is off the form"):
        screw.wrench_of_motion(np.diag([1.0, 2, 3, 4, 5, 6]), six, six)
    with pytest.raises(ValueError, match=r"do not broadcast: inertia \(\), twist \(2,\), acceleration \(3,\)"):
        screw.wrench_of_motion(MATRIX, np.zeros((2, 6)), np.zeros((3, 6)))
    with pytest.raises(ValueError, match=r"wrench_in_frame: frame_twist has shape \(3,\)"):
        screw.wrench_in_frame(MATRIX, six, six, np.zeros(3))


# ---------------------------------------------------------------- formulas of the source that are wrong as printed


@precise
def momentum_and_wrench():
    path = PATHS[0]

    def momentum(t):
        turn = Ad(path.rotation(t), [0, 0, 0])
        return turn * BODY.inertia() * path.twist("body", t)

    return [doubles(m) for m in (momentum(TIME), rate(momentum, TIME), BODY.wrench("hybrid", path, TIME))]


def test_hybrid_momentum_balance_of_the_source():
    """mueller2018 eq. (52) as printed, Π' = W, is wrong off the center of mass: the moving reference point is
    missing.
    """
    momentum, momentum_rate, wrench = momentum_and_wrench()
    velocity = twist_of(PATHS[0], "hybrid")[3:]
    moving = lie.se3.adT_apply(np.concatenate([np.zeros(3), velocity]), momentum)
    assert np.max(np.abs(momentum_rate - wrench)) > 0.1
    near(momentum_rate - moving, wrench, 64)


def test_axes_turn_relative_to_the_frame():
    """mueller2018 eq. (63) with the absolute angular velocity of F_k is wrong; with the relative one it is right."""
    inertia, twist, acceleration, frame_twist, _, wrench, absolute = in_frame(True)
    assert np.max(np.abs(screw.wrench_in_frame(inertia, twist, acceleration, frame_twist, absolute) - wrench)) > 0.1


def test_linear_acceleration_before_the_mixed_equations():
    """mueller2018 before eq. (56): r'' = v' + ω × v lacks the rotation; it is Rᵀ r''."""
    path = PATHS[0]
    r, v, a = pose_of(path)[:3, :3], twist_of(path, "body"), acceleration_of(path, "body")
    second = acceleration_of(path, "mixed")[3:]
    printed = a[3:] + np.cross(v[:3], v[3:])
    assert np.max(np.abs(printed - second)) > 0.1
    near(printed, r.T @ second, 32)


def test_rate_of_the_displacement_before_the_hybrid_equations():
    """mueller2018 before eq. (53): the sign of d/dt Ad_d⁻¹ = Ad_d⁻¹ ad_ω - ad_ω Ad_d⁻¹ is wrong, for d fixed to
    the body.
    """
    path = PATHS[0]
    w = twist_of(path, "hybrid")[:3]
    d = pose_of(path)[:3, :3] @ [0.3, -0.7, 0.2]
    inverse = lie.se3.Ad(lie.se3.from_parts(np.eye(3), -d))
    angular = lie.se3.ad(np.concatenate([w, np.zeros(3)]))
    truth = -lie.se3.ad(np.concatenate([np.zeros(3), np.cross(w, d)]))
    near(angular @ inverse - inverse @ angular, truth)
    assert np.max(np.abs(inverse @ angular - angular @ inverse - truth)) > 0.1


@precise
def center_of_mass_balance():
    path = PATHS[0]
    mass = sum(BODY.masses)
    place = sum((m * mp.matrix(p) for m, p in zip(BODY.masses, BODY.places, strict=True)), mp.zeros(3, 1)) / mass

    def center(t):
        return path.rotation(t) * place + path.position(t)

    values = rate(center, TIME), rate(lambda t: rate(center, t), TIME), BODY.wrench("hybrid", path, TIME)
    return mass, *(doubles(stack(m, []) if m.rows == 3 else m) for m in values)


def test_force_is_mass_times_acceleration():
    """mueller2018 eq. (50) as printed has the velocity of the center of mass."""
    mass, velocity, acceleration, wrench = center_of_mass_balance()
    assert np.max(np.abs(mass * velocity - wrench[3:])) > 0.1
    near(mass * acceleration, wrench[3:], 16)
