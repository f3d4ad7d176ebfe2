"""Inertia: particles as the truth, the group's action, what is physical and what is not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chasles import lie, screw
from chasles.screw import inertia

EPS = 2.0**-52
check = settings(derandomize=True, deadline=None, max_examples=30, database=None)


def particles(rng, count=6, batch=()):
    return rng.uniform(0.1, 2, size=(*batch, count)), rng.normal(size=(*batch, count, 3))


def matrix_of(masses, places):
    """Sum of the inertias of point masses: (v + ω × x)² m as a quadratic form."""
    rows = np.concatenate([-lie.so3.hat(places), np.broadcast_to(np.eye(3), (*places.shape, 3))], axis=-1)
    return np.einsum("...k,...kia,...kib->...ab", masses, rows, rows)


def about_center(masses, places):
    total = masses.sum()
    center = masses @ places / total
    rotational = matrix_of(masses, places - center)[:3, :3]
    return total, center, (rotational + rotational.T) / 2


@check
@given(seed=st.integers(0, 10**6))
def test_inertia_of_particles(seed):
    rng = np.random.default_rng(seed)
    masses, places = particles(rng)
    expected = matrix_of(masses, places)
    mass, center, rotational = about_center(masses, places)
    size = np.max(np.abs(expected))
    np.testing.assert_allclose(screw.spatial_inertia(mass, center, rotational), expected, atol=32 * EPS * size)
    six = rotational[(0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]
    assert np.array_equal(screw.spatial_inertia(mass, center, six), screw.spatial_inertia(mass, center, rotational))
    parameters = inertia.to_parameters(expected)
    assert parameters[0] == pytest.approx(mass)
    np.testing.assert_allclose(parameters[1:4], masses @ places, atol=32 * EPS * size)
    np.testing.assert_allclose(inertia.from_parameters(parameters), expected, atol=8 * EPS * size)
    second = np.concatenate([places, np.ones((6, 1))], axis=1)
    pseudo = np.einsum("k,ki,kj->ij", masses, second, second)
    np.testing.assert_allclose(inertia.pseudo_inertia(expected), pseudo, atol=64 * EPS * size)


@check
@given(seed=st.integers(0, 10**6), scale=st.floats(-3, 3))
def test_transform_is_the_action_of_the_group(seed, scale):
    rng = np.random.default_rng(seed)
    masses, places = particles(rng)
    g = lie.pose.random(rng)
    g[4:] *= 10.0**scale
    m = matrix_of(masses, places)
    found = inertia.transform(m, g)
    back = np.linalg.inv(lie.pose.Ad(g))
    size = np.max(np.abs(found))
    np.testing.assert_allclose(found, back.T @ m @ back, atol=64 * EPS * size)
    np.testing.assert_allclose(found, matrix_of(masses, lie.pose.act(g, places)), atol=64 * EPS * size)
    np.testing.assert_allclose(inertia.transform(found, lie.pose.inverse(g)), m, atol=64 * EPS * size)
    np.testing.assert_allclose(inertia.transform(m, lie.pose.to_matrix(g)), found, atol=16 * EPS * size)


def test_mass_matrix_resolved_in_other_axes():
    """mueller2018 eq. (64): the rotation takes coordinates of F_k to F_j; as printed, the other way, the energy
    is wrong.
    """
    rng = np.random.default_rng(2)
    m, r, v = matrix_of(*particles(rng)), lie.so3.random(rng), rng.normal(size=6)
    turn = lie.se3.Ad(lie.se3.from_parts(r, np.zeros(3)))
    energy = v @ m @ v
    w = turn.T @ v  # resolved in F_k, with R_jk = r
    assert w @ (turn.T @ m @ turn) @ w == pytest.approx(energy)
    other = inertia.transform(m, lie.se3.from_parts(r.T, np.zeros(3)))
    np.testing.assert_allclose(turn.T @ m @ turn, other, atol=1e-13)
    assert abs(w @ (turn @ m @ turn.T) @ w - energy) > 0.1


def test_bodies_combine():
    rng = np.random.default_rng(3)
    masses, places = particles(rng, batch=(4,))
    together = inertia.combine(matrix_of(masses, places))
    np.testing.assert_allclose(together, matrix_of(masses.ravel(), places.reshape(-1, 3)), rtol=1e-13)
    assert inertia.combine(np.zeros((5, 2, 6, 6))).shape == (5, 6, 6)
    np.testing.assert_array_equal(inertia.combine(np.empty((0, 6, 6))), np.zeros((6, 6)))
    with pytest.raises(ValueError, match=r"expected \(..., n, 6, 6\)"):
        inertia.combine(np.eye(6))


@check
@given(seed=st.integers(0, 10**6))
def test_principal_axes(seed):
    rng = np.random.default_rng(seed)
    m = matrix_of(*particles(rng))
    found = inertia.principal(m)
    assert np.all(np.diff(found.moments) >= 0)
    rebuilt = inertia.transform(screw.spatial_inertia(found.mass, np.zeros(3), np.diag(found.moments)), found.pose)
    np.testing.assert_allclose(rebuilt, m, atol=128 * EPS * np.max(np.abs(m)))


def test_principal_axes_of_simple_bodies():
    found = inertia.principal(screw.spatial_inertia(2.0, [1, 2, 3], np.diag([1.0, 2, 2.5])))
    np.testing.assert_allclose(found.pose, [1, 0, 0, 0, 1, 2, 3], atol=1e-15)
    np.testing.assert_allclose(found.moments, [1, 2, 2.5])
    ball = inertia.principal(screw.spatial_inertia(2.0, [0, 0, 0], np.eye(3)))
    np.testing.assert_allclose(ball.moments, 1)
    with pytest.raises(ValueError, match=r"principal: the mass of inertia\[1\] is 0: no center of mass"):
        inertia.principal(np.array([np.eye(6), np.zeros((6, 6))]))


# ---------------------------------------------------------------- what is physical


@check
@given(seed=st.integers(0, 10**6), moments=st.tuples(*[st.floats(0.01, 10)] * 3))
def test_check_agrees_with_the_pseudo_inertia(seed, moments):
    """Physical is the same as: the pseudo-inertia is positive semidefinite."""
    rng = np.random.default_rng(seed)
    center, r, mass = rng.normal(size=3), lie.so3.random(rng), rng.uniform(0.1, 5)
    rotational = r @ np.diag(moments) @ r.T + mass * (center @ center * np.eye(3) - np.outer(center, center))
    six = rotational[(0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]
    m = inertia.from_parameters([mass, *(mass * center), *six])
    lowest = np.linalg.eigvalsh(inertia.pseudo_inertia(m))[0]
    if lowest > 1e-6:
        inertia.check(m)
    elif lowest < -1e-6:
        with pytest.raises(ValueError, match="triangle inequality"):
            inertia.check(m)


@pytest.mark.parametrize(
    ("mass", "moments", "message"),
    [
        (1.0, [1, 2, 5], r"^inertia violates the triangle inequality: principal moments 1, 2, 5 \(1 \+ 2 < 5\)$"),
        (1.0, [-1, 2, 2], "is not positive definite about the center of mass: principal moments -1, 2, 2$"),
        (1.0, [0, 2, 2], "principal moments 0, 2, 2; pass strict=False if a point mass or a thin rod is meant"),
        (-2.0, [1, 1, 1], "^inertia has negative mass: -2$"),
        (0.0, [1, 1, 1], "has no mass, but the first moment 0, 0, 0 and the rotational inertia 1, 0, 0, 1, 0, 1"),
        (0.0, [0, 0, 0], "has no mass; pass strict=False if a massless body is meant"),
    ],
)
def test_violations_are_told_with_numbers(mass, moments, message):
    with pytest.raises(ValueError, match=message):
        screw.spatial_inertia(mass, np.zeros(3), np.diag(moments))


def test_degenerate_bodies_are_allowed_on_request():
    point = screw.spatial_inertia(2.0, [1, 2, 3], np.zeros(6), strict=False)
    np.testing.assert_allclose(point, matrix_of(np.array([2.0]), np.array([[1.0, 2, 3]])))
    np.testing.assert_array_equal(screw.spatial_inertia(0.0, [1, 2, 3], np.zeros(6), strict=False), np.zeros((6, 6)))
    screw.spatial_inertia(1.0, [0, 0, 5.0], np.diag([1.0, 1, 0]), strict=False)  # rod
    screw.spatial_inertia(1.0, [0, 0, 5.0], np.diag([1.0, 1, 2]))  # plate: equality
    with pytest.raises(ValueError, match="triangle"):
        screw.spatial_inertia(1.0, np.zeros(3), np.diag([1.0, 1, 3]), strict=False)


def test_check_names_and_tolerates():
    rounded = inertia.from_parameters([1, 0, 0, 0, 0.333333, 0, 0, 0.333333, 0, 0.666667])
    with pytest.raises(ValueError, match=r'^body "arm" violates the triangle inequality: .*0.333333 \+ 0.333333'):
        inertia.check(rounded, name='body "arm"')
    inertia.check(rounded, tolerance=1e-5)
    with pytest.raises(ValueError, match=r"^inertia\[1, 0\] has negative mass: -1$"):
        inertia.check(np.array([[np.eye(6)], [-np.eye(6)]]))
    inertia.check(np.empty((0, 6, 6)))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"rotational has shape \(2,\); expected \(..., 3, 3\), or \(..., 6\)"):
        screw.spatial_inertia(1.0, np.zeros(3), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"rotational is not symmetric: entries differ by up to 0\.5"):
        screw.spatial_inertia(1.0, np.zeros(3), [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match=r"rotational\[1\] is not symmetric: entries differ by up to 1e-06"):
        screw.spatial_inertia(1.0, np.zeros(3), [1e9 * np.eye(3), np.eye(3) + 1e-6 * np.eye(3, k=1)])
    with pytest.raises(ValueError, match="principal: the mass of inertia is -1: no center of mass"):
        inertia.principal(-np.eye(6))
    with pytest.raises(ValueError, match=r"spatial_inertia: center has shape \(2,\)"):
        screw.spatial_inertia(1.0, np.zeros(2), np.eye(3))
    with pytest.raises(ValueError, match=r"do not broadcast: mass \(2,\), center \(3,\), rotational \(\)"):
        screw.spatial_inertia([1.0, 2.0], np.zeros((3, 3)), np.eye(3))
    with pytest.raises(ValueError, match=r"inertia\[1\] is off the form .* by 1; .*\(angular, linear\)"):
        inertia.to_parameters(np.array([np.eye(6), np.diag([1.0, 1, 1, 2, 3, 3])]))
    with pytest.raises(ValueError, match=r"parameters has shape \(9,\)"):
        inertia.from_parameters(np.zeros(9))
    with pytest.raises(ValueError, match=r"transform: pose has shape \(3,\)"):
        inertia.transform(np.eye(6), np.zeros(3))


def test_batches():
    rng = np.random.default_rng(5)
    m = matrix_of(*particles(rng, batch=(4, 1)))
    g = lie.pose.random(rng, (3,))
    moved = inertia.transform(m, g)
    assert moved.shape == (4, 3, 6, 6)
    np.testing.assert_allclose(moved[2, 1], inertia.transform(m[2, 0], g[1]), rtol=1e-13, atol=1e-14)
    assert inertia.principal(moved).pose.shape == (4, 3, 7)
    for function in (inertia.to_parameters, inertia.pseudo_inertia):
        assert len(function(np.empty((0, 6, 6)))) == 0
    assert inertia.transform(np.empty((0, 6, 6)), g[0]).shape == (0, 6, 6)
    assert inertia.principal(np.empty((0, 6, 6))).pose.shape == (0, 7)
    assert screw.spatial_inertia(np.ones(4), np.zeros(3), np.eye(3)).shape == (4, 6, 6)
    assert screw.spatial_inertia(np.ones(0), np.zeros(3), np.eye(3)).shape == (0, 6, 6)
