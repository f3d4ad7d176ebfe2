"""Screws as lines: round trips, the theorems of Chasles and Poinsot, and the cases in which there is no axis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from chasles import lie, screw
from tests.oracle.definitions import ORACLE, precise

EPS = 2.0**-52
check = settings(derandomize=True, deadline=None, max_examples=50, database=None)
ANGLES = [1e-12, 1e-8, 1e-4, 1e-2, 0.5, 1.0, 2.0, 3.0, np.pi - 1e-4, np.pi - 1e-8, np.pi - 1e-12, np.pi]


def near(found, expected, ulps, size):
    np.testing.assert_allclose(found, expected, rtol=0, atol=ulps * EPS * size)


@st.composite
def six(draw, smallest=-150.0):
    """Halves of independent sizes over many decades, each possibly zero."""
    vectors = np.array(draw(st.tuples(*[st.floats(-1, 1)] * 6))).reshape(2, 3)
    for half in vectors:
        norm = np.linalg.norm(half)
        half *= 10.0 ** draw(st.floats(smallest, 6)) / norm if norm > 1e-3 else 0.0
    return vectors.ravel()


# ---------------------------------------------------------------- twists and wrenches


@check
@given(x=six())
def test_a_twist_and_a_wrench_come_back(x):
    size = np.max(np.abs(x))
    twist = screw.Screw.from_twist(x).twist()
    near(twist[3:], x[3:], 8, np.max(np.abs(x[3:])))
    near(twist, x, 8, size)
    wrench = screw.Screw.from_wrench(x).wrench()
    near(wrench[:3], x[:3], 8, np.max(np.abs(x[:3])))
    near(wrench, x, 8, size)


@check
@given(x=six(-6.0))
def test_the_screw_of_a_twist_is_the_line_that_moves_along_itself(x):
    s = screw.Screw.from_twist(x)
    assert s.magnitude >= 0
    near(np.linalg.norm(s.axis), 1.0, 4, 1.0)
    if np.isfinite(s.pitch):
        velocity = x[3:] + np.cross(x[:3], s.point)  # of the body's point on the axis
        near(velocity, s.pitch * x[:3], 16, max(np.max(np.abs(x)), EPS))
        near(s.point @ s.axis, 0.0, 8, max(np.linalg.norm(s.point), EPS))


def test_a_known_screw():
    s = screw.Screw([0, 0, 1], [2.0, 0, 0], pitch=0.5, magnitude=3.0)
    np.testing.assert_allclose(s.twist(), [0, 0, 3, 0, -6, 1.5])
    np.testing.assert_allclose(s.wrench(), [0, -6, 1.5, 0, 0, 3])
    back = screw.Screw.from_twist(s.twist())
    np.testing.assert_allclose(back.point, [2, 0, 0])
    assert (back.pitch, back.magnitude) == (0.5, 3.0)


def test_translations_couples_and_nothing():
    translation = screw.Screw.from_twist([0, 0, 0, 0, 3, 4])
    assert translation.pitch == np.inf
    assert translation.magnitude == 5
    np.testing.assert_allclose(translation.axis, [0, 0.6, 0.8])
    np.testing.assert_array_equal(translation.wrench(), [0, 3, 4, 0, 0, 0])
    couple = screw.Screw.from_wrench([0, 3, 4, 0, 0, 0])
    assert couple.pitch == np.inf
    zero = screw.Screw.from_twist(np.zeros(6))
    assert (zero.pitch, zero.magnitude) == (0, 0)
    np.testing.assert_array_equal(zero.twist(), np.zeros(6))
    np.testing.assert_allclose(np.linalg.norm(zero.axis), 1)


def test_large_pitch_and_tiny_numbers():
    s = screw.Screw.from_twist([0, 0, 1e-160, 1e-3, 0, 1e140])  # squares would vanish, or overflow
    assert s.pitch == pytest.approx(1e300)
    assert s.point[1] == pytest.approx(1e157)
    far = screw.Screw.from_twist([0, 0, 1e-300, 1e10, 0, 0])  # the axis is out of the range of doubles
    assert far.pitch == np.inf
    np.testing.assert_array_equal(far.twist(), [0, 0, 0, 1e10, 0, 0])


def test_batches_of_all_kinds():
    twists = np.array([[[0, 0, 1, 1, 2, 3], [0, 0, 0, 1, 2, 3], [0, 0, 0, 0, 0, 0.0]]] * 2)
    s = screw.Screw.from_twist(twists)
    assert s.axis.shape == s.point.shape == (2, 3, 3)
    np.testing.assert_array_equal(s.pitch[0], [3, np.inf, 0])
    np.testing.assert_allclose(s.twist(), twists, atol=1e-15)
    empty = screw.Screw.from_twist(np.empty((0, 6)))
    assert empty.twist().shape == empty.wrench().shape == (0, 6)
    assert screw.Screw(np.eye(3), pitch=[[1.0], [np.inf]]).twist().shape == (2, 3, 6)


def test_bad_screws_are_named():
    with pytest.raises(ValueError, match=r"axis is not a unit vector: its length is off by up to 1\.5"):
        screw.Screw([0, 0, 2.0])
    with pytest.raises(ValueError, match=r"pitch must be a number or \+inf"):
        screw.Screw([0, 0, 1], pitch=-np.inf)
    with pytest.raises(ValueError, match=r"pitch must be a number or \+inf"):
        screw.Screw([0, 0, 1], pitch=np.nan)
    with pytest.raises(ValueError, match=r"shapes do not broadcast: axis \(3, 3\), point \(3,\), pitch \(2,\)"):
        screw.Screw(np.eye(3), pitch=[1, 2])
    with pytest.raises(ValueError, match=r"Screw.from_twist: twist has shape \(5,\)"):
        screw.Screw.from_twist(np.zeros(5))
    with pytest.raises(ValueError, match=r"Screw.from_wrench: wrench\[1\] is not finite"):
        screw.Screw.from_wrench([0, np.nan, 0, 0, 0, 0])


# ---------------------------------------------------------------- Chasles


@precise
def oracle_motion(g):
    """Axis, point, angle and translation from the logarithm with 60 digits."""
    x = mp.matrix(ORACLE["pose" if np.ndim(g) == 1 else "se3"].log(g))
    w, v = x[:3], x[3:]
    angle = mp.norm(w)
    cross = mp.matrix([w[1] * v[2] - w[2] * v[1], w[2] * v[0] - w[0] * v[2], w[0] * v[1] - w[1] * v[0]])
    parts = w / angle, cross / angle**2, mp.matrix([angle]), mp.matrix([(w.T * v)[0] / angle])
    return [np.array(part.tolist(), dtype=float)[:, 0] for part in parts]


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("matrix", [False, True])
def test_screw_motion_against_the_oracle(angle, matrix):
    rng = np.random.default_rng(int(1e6 * angle))
    for _ in range(4):
        n = rng.normal(size=3)
        g = lie.pose.exp(np.concatenate([angle * n / np.linalg.norm(n), rng.normal(size=3)]))
        g = lie.pose.to_matrix(g) if matrix else g
        axis, point, expected, translation = oracle_motion(g)
        found = screw.screw_motion(g)
        sign = np.sign(found.axis @ axis)  # at half a turn both directions are right
        near(found.axis, sign * axis, 8, 1.0)
        near(found.angle, expected[0], 8, expected[0])
        near(found.translation, sign * translation[0], 8, 2.0)
        near(found.point, point, 16, 1 + np.linalg.norm(point))


@pytest.mark.parametrize("angle", ANGLES)
def test_points_of_the_axis_move_along_it(angle):
    rng = np.random.default_rng(7)
    n = rng.normal(size=3)
    g = lie.pose.exp(np.concatenate([angle * n / np.linalg.norm(n), rng.normal(size=3)]))
    motion = screw.screw_motion(g)
    moved = lie.pose.act(g, motion.point)
    near(moved, motion.point + motion.translation * motion.axis, 16, 1 + np.linalg.norm(motion.point))
    near(motion.twist(), lie.pose.log(g), 16, 2.0)
    near(lie.pose.to_matrix(motion.pose()), lie.pose.to_matrix(g), 32, 2.0)
    assert motion.pitch == motion.translation / motion.angle


def test_translation_and_identity():
    g = lie.pose.identity((2,))
    g[0, 4:] = [0, 3, 4]
    motion = screw.screw_motion(g)
    np.testing.assert_allclose(motion.axis[0], [0, 0.6, 0.8])
    np.testing.assert_array_equal(motion.angle, 0)
    np.testing.assert_allclose(motion.translation, [5, 0])
    np.testing.assert_array_equal(motion.pitch, [np.inf, 0])
    np.testing.assert_allclose(motion.pose(), g, atol=1e-15)
    for part in screw.screw_motion(np.empty((0, 7))):
        assert len(part) == 0
    assert screw.screw_motion(np.empty((0, 4, 4))).pose().shape == (0, 7)


def test_small_rotations_can_be_taken_for_none():
    g = lie.pose.exp([0, 0, 1e-11, 1.0, 0, 0])
    assert screw.screw_motion(g).point[1] == pytest.approx(1e11)
    motion = screw.screw_motion(g, tolerance=1e-10)
    np.testing.assert_allclose(motion.axis, [1, 0, 0], atol=1e-10)
    assert motion.angle == 0


def test_bad_poses_are_named():
    with pytest.raises(ValueError, match=r"screw_motion: pose\[1\] is off the group"):
        screw.screw_motion([[1.0, 0, 0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match=r"screw_motion: pose has shape \(3, 3\)"):
        screw.screw_motion(np.eye(3))


# ---------------------------------------------------------------- Poinsot


@check
@given(w=six(-6.0))
def test_central_axis(w):
    axis, point, force, couple = found = screw.central_axis(w)
    size = np.max(np.abs(w))
    near(force, np.linalg.norm(w[3:]), 8, size)
    near(found.wrench(), w, 16, size)
    if force > 0:
        torque = w[:3] - np.cross(point, w[3:])  # about a point of the axis: parallel to the force
        near(np.cross(torque, axis), np.zeros(3), 32, size)
        near(torque @ axis, couple, 16, size)
    else:
        near(couple, np.linalg.norm(w[:3]), 8, size)


def test_central_axis_of_two_skew_forces():
    """Equal forces along x at z = 1 and along y at z = -1: the axis is the bisector in the middle."""
    first = np.concatenate([np.cross([0, 0, 1.0], [1, 0, 0]), [1, 0, 0]])
    second = np.concatenate([np.cross([0, 0, -1.0], [0, 1, 0]), [0, 1, 0]])
    found = screw.central_axis(first + second)
    np.testing.assert_allclose(found.axis, [np.sqrt(0.5), np.sqrt(0.5), 0])
    np.testing.assert_allclose(found.point, 0, atol=1e-15)
    np.testing.assert_allclose([found.force, found.couple], [np.sqrt(2), np.sqrt(2)])
    assert screw.central_axis(np.empty((0, 6))).wrench().shape == (0, 6)
