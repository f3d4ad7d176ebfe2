"""Shapes against quadrature: Gauss-Legendre rules that are exact for the polynomials in question."""

import numpy as np
import pytest

from chasles import lie, screw
from chasles.screw import inertia

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
ANGLES = np.arange(12) * np.pi / 6  # the trapezoidal rule is exact for low harmonics


def interval(low, high):
    return (low + high) / 2 + (high - low) / 2 * NODES, (high - low) / 2 * WEIGHTS


def discs(z, weights, radius):
    """Points and weights of circular discs of the given radii, normal to z: polar coordinates."""
    rho, w_rho = interval(0.0, 1.0)
    x = radius[:, None, None] * rho[None, :, None] * np.cos(ANGLES)
    y = radius[:, None, None] * rho[None, :, None] * np.sin(ANGLES)
    w = weights[:, None, None] * radius[:, None, None] ** 2 * (rho * w_rho)[None, :, None] * (np.pi / 6)
    points = np.stack([x, y, np.broadcast_to(z[:, None, None], x.shape)], axis=-1)
    return points.reshape(-1, 3), np.broadcast_to(w, x.shape).ravel()


def box_points(size):
    axes = [interval(-s / 2, s / 2) for s in size]
    points = np.stack(np.meshgrid(*(a[0] for a in axes), indexing="ij"), axis=-1).reshape(-1, 3)
    return points, np.einsum("i,j,k->ijk", *(a[1] for a in axes)).ravel()


def ball_points(radii):
    z, w = interval(-1.0, 1.0)
    points, weights = discs(z, w, np.sqrt(1 - z * z))
    return points * radii, weights * np.prod(radii)


def cylinder_points(radius, length):
    z, w = interval(-length / 2, length / 2)
    return discs(z, w, np.full_like(z, radius))


def capsule_points(radius, length):
    z, w = interval(0.0, radius)
    top, top_weights = discs(z, w, np.sqrt(radius**2 - z * z))
    middle, middle_weights = cylinder_points(radius, length)
    up = np.array([0, 0, length / 2])
    return (
        np.concatenate([middle, top + up, -top - up]),
        np.concatenate([middle_weights, top_weights, top_weights]),
    )


POSE = lie.pose.exp([0.4, -1.1, 0.7, 0.3, 0.5, -0.8])
CASES = [
    (screw.Box, {"size": (0.3, 1.2, 0.7)}, box_points((0.3, 1.2, 0.7))),
    (screw.Sphere, {"radius": 0.6}, ball_points(np.array([0.6, 0.6, 0.6]))),
    (screw.Cylinder, {"radius": 0.4, "length": 1.7}, cylinder_points(0.4, 1.7)),
    (screw.Capsule, {"radius": 0.4, "length": 1.7}, capsule_points(0.4, 1.7)),
    (screw.Capsule, {"radius": 1.4, "length": 0.2}, capsule_points(1.4, 0.2)),
    (screw.Ellipsoid, {"radii": (0.3, 1.2, 0.7)}, ball_points(np.array([0.3, 1.2, 0.7]))),
]
every_shape = pytest.mark.parametrize(("kind", "sizes", "rule"), CASES)


@every_shape
@pytest.mark.parametrize("pose", [None, POSE], ids=["centered", "placed"])
def test_mass_properties_against_quadrature(kind, sizes, rule, pose):
    points, weights = rule
    shape = kind(**sizes) if pose is None else kind(**sizes, pose=pose)
    places = points if pose is None else lie.pose.act(pose, points)
    density = 7.8
    rows = np.concatenate([-lie.so3.hat(places), np.broadcast_to(np.eye(3), (len(places), 3, 3))], axis=-1)
    expected = np.einsum("k,kia,kib->ab", density * weights, rows, rows, optimize=True)
    assert shape.volume == pytest.approx(weights.sum(), rel=1e-13)
    assert shape.mass(density) == pytest.approx(density * shape.volume)
    found = shape.inertia(density=density)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.max(np.abs(expected)))
    np.testing.assert_allclose(shape.inertia(mass=shape.mass(density)), found, rtol=1e-14)
    inertia.check(found)


def test_shapes_are_values():
    assert screw.Box([1, 2, 3]) == screw.Box((1.0, 2.0, 3.0), pose=np.array([1.0, 0, 0, 0, 0, 0, 0]))
    assert len({screw.Sphere(1), screw.Sphere(1.0), screw.Sphere(2)}) == 2
    assert screw.Box([1, 2, 3]).size == (1.0, 2.0, 3.0)
    assert screw.Sphere(1, color=[1, 0, 0]).color == (1.0, 0.0, 0.0)
    with pytest.raises(AttributeError):
        screw.Sphere(1).radius = 2


def test_a_dumbbell_is_combined():
    left, right = (screw.Sphere(0.1, pose=[1, 0, 0, 0, x, 0, 0]) for x in (-1, 1))
    both = inertia.combine([left.inertia(mass=2.0), right.inertia(mass=2.0)])
    assert both[1, 1] == pytest.approx(2 * 2.0 * (0.4 * 0.01 + 1))
    np.testing.assert_allclose(inertia.principal(both).pose[4:], 0, atol=1e-15)


def test_a_needle_is_a_body():
    found = screw.Box((1e-8, 1e-8, 1.0)).inertia(mass=1.0)
    assert found[2, 2] == pytest.approx(1e-16 / 6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: screw.Sphere(-1), "Sphere: radius is -1; expected a positive number"),
        (lambda: screw.Sphere("big"), "Sphere: radius is 'big'; expected a positive number"),
        (lambda: screw.Cylinder(1, np.inf), "Cylinder: length is inf; expected a positive number"),
        (lambda: screw.Capsule(0, 1), "Capsule: radius is 0; expected a positive number"),
        (lambda: screw.Box((1, 2)), r"Box: size is \(1, 2\); expected 3 finite numbers"),
        (lambda: screw.Box(1.0), "Box: size is 1.0; expected 3 finite numbers"),
        (lambda: screw.Box("abc"), "Box: size is 'abc'; expected 3 finite numbers"),
        (lambda: screw.Ellipsoid((1, 0, 1)), "Ellipsoid: radii is .* expected positive lengths"),
        (lambda: screw.Box((1, 2, 3), pose=[2, 0, 0, 0, 0, 0, 0]), "Box: pose is off the group by"),
        (lambda: screw.Box((1, 2, 3), pose=[1, 0, 0, 0]), "Box: pose is .* expected 3 or 7 finite numbers"),
        (lambda: screw.Box((1, 2, 3), color=(1, 2, 0)), "Box: color is .* expected numbers from 0 to 1"),
        (lambda: screw.Box((1, 2, 3), color=(1, 0)), "Box: color is .* expected 3 or 4 finite numbers"),
        (lambda: screw.Sphere(1).inertia(), "Sphere.inertia: give either density= or mass="),
        (lambda: screw.Sphere(1).inertia(density=1, mass=1), "Sphere.inertia: give either density= or mass="),
        (lambda: screw.Sphere(1).inertia(density=-1), "Sphere: density is -1; expected a positive number"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
