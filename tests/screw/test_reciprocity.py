"""Reciprocal products and systems, and rates in moving frames."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chasles import lie, screw
from tests.oracle.definitions import precise
from tests.screw.motion import PATHS, TIME, column, doubles, rate

EPS = 2.0**-52
check = settings(derandomize=True, deadline=None, max_examples=30, database=None)


def random_screws(rng, count):
    axes = rng.normal(size=(count, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    return screw.Screw(axes, rng.normal(size=(count, 3)), rng.normal(size=count))


def test_reciprocal_product_is_geometric():
    """(h1 + h2) cos α - a sin α with the signed distance and angle about the common normal."""
    a, angle, h1, h2 = 0.7, 1.1, 0.3, -0.2
    first = screw.Screw([0, 0, 1], [0, 0, 0.4], h1)
    second = screw.Screw([0, -np.sin(angle), np.cos(angle)], [a, 0, 0], h2)  # turned about x by the angle
    expected = (h1 + h2) * np.cos(angle) - a * np.sin(angle)
    assert screw.reciprocal_product(first, second) == pytest.approx(expected, abs=1e-15)
    assert screw.reciprocal_product(first, second) == screw.power(second.wrench(), first.twist())


def test_lines_that_meet_are_reciprocal():
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(2, 10, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    meet = rng.normal(size=(10, 3))
    first, second = screw.Screw(axes[0], meet + 2 * axes[0]), screw.Screw(axes[1], meet - 3 * axes[1])
    np.testing.assert_allclose(screw.reciprocal_product(first, second), 0, atol=1e-14)


@check
@given(seed=st.integers(0, 10**6))
def test_products_do_not_depend_on_the_frame(seed):
    rng = np.random.default_rng(seed)
    g, x, y = lie.pose.random(rng), rng.normal(size=6), rng.normal(size=6)
    moved = screw.reciprocal_product(lie.pose.Ad_apply(g, x), lie.pose.Ad_apply(g, y))
    np.testing.assert_allclose(moved, screw.reciprocal_product(x, y), rtol=0, atol=200 * EPS)
    assert screw.reciprocal_product(x, y) == pytest.approx(screw.reciprocal_product(y, x), abs=8 * EPS)


@check
@given(seed=st.integers(0, 10**6), count=st.integers(0, 8), scale=st.floats(-6, 6))
def test_reciprocal_system(seed, count, scale):
    rng = np.random.default_rng(seed)
    twists = random_screws(rng, count).twist() * 10.0**scale if count else np.empty((0, 6))
    wrenches = screw.reciprocal(twists)
    assert wrenches.shape == (max(6 - count, 0), 6)
    np.testing.assert_allclose(wrenches @ twists.T, 0, atol=100 * EPS * 10.0**scale)
    np.testing.assert_allclose(wrenches @ wrenches.T, np.eye(len(wrenches)), atol=50 * EPS)
    if count < 6:  # the reciprocal of the reciprocal is the system itself
        back = screw.reciprocal(wrenches)
        assert np.linalg.matrix_rank(np.vstack([back, twists * 10.0**-scale]), tol=1e-8) == count


def test_constraints_of_joints():
    """What a joint cannot transmit: a revolute joint carries five wrenches, none about its axis."""
    revolute = screw.Screw([0, 0, 1], [1.0, 0, 0]).twist()
    carried = screw.reciprocal(revolute[None])
    assert carried.shape == (5, 6)
    np.testing.assert_allclose(carried @ revolute, 0, atol=1e-15)
    spherical = np.eye(6)[:3]
    forces = screw.reciprocal(spherical)
    np.testing.assert_allclose(forces[:, :3], 0, atol=1e-15)
    dependent = np.vstack([spherical, spherical[0] + spherical[1], np.zeros(6)])
    assert screw.reciprocal(dependent).shape == (3, 6)


def test_batches_of_systems():
    rng = np.random.default_rng(1)
    systems = rng.normal(size=(5, 2, 3, 6))
    found = screw.reciprocal(systems)
    assert found.shape == (5, 2, 3, 6)
    np.testing.assert_allclose(np.einsum("...ij,...kj->...ik", found, systems), 0, atol=1e-14)
    assert screw.reciprocal(np.empty((0, 2, 6))).shape == (0, 4, 6)
    systems[0, 0, 1] = systems[0, 0, 0]
    with pytest.raises(ValueError, match=r"different ranks: \[2, 3\]"):
        screw.reciprocal(systems)
    with pytest.raises(ValueError, match=r"expected \(..., k, 6\), one screw a row"):
        screw.reciprocal(np.zeros(6))
    assert screw.power(np.empty((0, 6)), np.zeros(6)).shape == (0,)
    with pytest.raises(ValueError, match=r"power: leading axes do not broadcast: wrench \(2,\), twist \(3,\)"):
        screw.power(np.zeros((2, 6)), np.zeros((3, 6)))
    with pytest.raises(ValueError, match=r"reciprocal_product: second has shape \(4,\)"):
        screw.reciprocal_product(np.zeros(6), np.zeros(4))


# ---------------------------------------------------------------- rates in moving frames


@precise
def moving(dual: bool):
    """A screw or wrench with changing coordinates in a moving frame: its rate in the world, resolved in the frame."""
    path = PATHS[1]
    a, b = column(np.random.default_rng(8).normal(size=6)), column(np.random.default_rng(9).normal(size=6))

    def adjoint(t):
        return path.adjoint(t) ** -1 if dual else path.adjoint(t)

    def inside(t):
        return a + t * t * b

    def world(t):
        return (adjoint(t).T if dual else adjoint(t)) * inside(t)

    back = adjoint(TIME).T if dual else adjoint(TIME)
    values = inside(TIME), rate(inside, TIME), path.twist("body", TIME), back**-1 * rate(world, TIME)
    return [doubles(v) for v in values]


def test_rates_of_screws_and_wrenches():
    """mueller2018 eqs. (117) and (41)."""
    x, dx, v, expected = moving(dual=False)
    np.testing.assert_allclose(screw.screw_rate(x, dx, v), expected, rtol=0, atol=50 * EPS)
    w, dw, v, expected = moving(dual=True)
    np.testing.assert_allclose(screw.wrench_rate(w, dw, v), expected, rtol=0, atol=50 * EPS)


def test_rates_keep_the_power_and_batch():
    rng = np.random.default_rng(2)
    v, x, w = rng.normal(size=(3, 4, 6))
    zero = np.zeros(6)
    change = screw.power(screw.wrench_rate(w, zero, v), x) + screw.power(w, screw.screw_rate(x, zero, v))
    np.testing.assert_allclose(change, 0, atol=1e-14)
    assert screw.screw_rate(np.empty((0, 6)), zero, zero).shape == (0, 6)
    with pytest.raises(ValueError, match=r"screw_rate: frame_twist has shape \(3,\)"):
        screw.screw_rate(zero, zero, np.zeros(3))
    with pytest.raises(ValueError, match=r"wrench_rate: leading axes do not broadcast: wrench \(2,\), rate \(3,\)"):
        screw.wrench_rate(np.zeros((2, 6)), np.zeros((3, 6)), zero)
