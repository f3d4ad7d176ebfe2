"""Inertias that bodies can have: units, flat bodies, and least squares that stay within them."""

import numpy as np
import pytest

from chasles.fit.inertia_cone import (
    extents,
    inertia_frame,
    numbers_of,
    pseudo,
    require_body,
    symmetric,
    ten_of,
    thin_directions,
)
from chasles.fit.physical import Region, physical_least_squares
from chasles.screw import inertia

TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]


def ten(*widths, center=(0.1, -0.2, 0.3), mass=1.7):
    """Of a body with these extents along turned axes."""
    spread = TURN @ np.diag(np.square(widths)) @ TURN.T
    theta = np.trace(spread) * np.eye(3) - spread
    return inertia.to_parameters(inertia.spatial_inertia(mass, center, mass * theta, strict=False))


def test_units_of_a_body():
    box = ten(0.3, 0.2, 0.1)
    frame = inertia_frame(box)
    assert np.allclose(symmetric(frame.matrix @ box), np.eye(4))
    P = pseudo(box)
    assert np.allclose(ten_of(P), box, rtol=1e-13)
    assert np.allclose(symmetric(numbers_of(P)), P)
    assert np.isclose(np.sum(numbers_of(P) ** 2), np.sum(P**2))
    assert np.allclose(extents(box), (0.3, 0.2, 0.1))
    for shares in np.random.default_rng(1).random((50, 10)):
        inertia.check(inertia.from_parameters(frame.drawn(shares)))


@pytest.mark.parametrize(("widths", "count"), [((3, 2, 1), 0), ((3, 2, 0), 1), ((3, 0, 0), 2), ((0, 0, 0), 3)])
def test_directions_without_extent(widths, count):
    found = thin_directions(ten(*(0.1 * width for width in widths)))
    assert found.shape == (3, count)
    if count in (1, 2):
        assert np.allclose(found @ found.T, TURN[:, 3 - count :] @ TURN[:, 3 - count :].T)
    require_body(ten(*widths), "body")


def test_what_is_no_body_is_refused():
    with pytest.raises(ValueError, match="body 'a' has no mass"):
        require_body(np.zeros(10), "a")
    with pytest.raises(ValueError, match="body 'b' has an inertia that no distribution of mass has"):
        require_body(np.array([1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.3]), "b")


@pytest.mark.parametrize("widths", [(0.3, 0.2, 0.1), (0.3, 0.2, 0.0), (0.3, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_the_least_of_a_quadratic_function_in_the_cone(widths):
    """By its conditions: the gradient is in the dual cone, and vanishes along all that is not at the surface."""
    rng, start = np.random.default_rng(2), ten(*widths)
    for _ in range(5):
        J, wanted = rng.normal(size=(12, 12)), rng.normal(size=12)
        x = np.r_[start, 0.5, 0.5]
        bounds = np.r_[np.full(10, -np.inf), 0.0, 0.0], np.r_[np.full(10, np.inf), 1.0, 1.0]
        region = Region.about(x, np.ones(12), bounds, [slice(0, 10)])
        w = region.least(J, wanted, np.inf)
        y, gradient = region.inside + w, J.T @ (J @ w + wanted)
        size = np.abs(gradient).max() + 1.0
        Q, G = symmetric(y[:10]), symmetric(gradient[:10])
        assert np.linalg.eigvalsh(Q)[0] >= 0.0
        assert np.linalg.eigvalsh(G)[0] > -1e-4 * size
        assert abs(np.trace(G @ Q)) < 1e-7 * size**2
        own, at = gradient[10:], x[10:] + w[10:]
        assert ((at >= 0.0) & (at <= 1.0)).all()
        assert (np.abs(np.where(own > 0, at, 1.0 - at) * own) < 1e-7 * size**2).all()


@pytest.mark.parametrize("widths", [(0.3, 0.2, 0.1), (0.3, 0.2, 0.0), (0.3, 0.0, 0.0)])
def test_curved_least_squares_find_flat_bodies_in_few_steps(widths):
    """From a ball, with noise that asks for less than nothing of an extent."""
    rng, true = np.random.default_rng(3), ten(*widths, center=(0.1, 0.0, 0.2))
    A = rng.normal(size=(200, 10))
    noise, calls = 1e-4 * rng.normal(size=200), []

    def function(x):
        calls.append(x)
        return (np.exp(A @ x) - np.exp(A @ true) - noise) / 1e-4

    def slope(x):
        return np.exp(A @ x)[:, None] * A / 1e-4

    found, settled = physical_least_squares(
        *(function, slope, ten(0.2, 0.2, 0.2, center=(0, 0, 0.1)), np.ones(10)),
        *((np.full(10, -np.inf), np.full(10, np.inf)), [slice(0, 10)]),
        *(lambda r: 0.5 * float(r @ r), np.ones_like, 50, 1e-10),
    )
    assert settled
    assert len(calls) < 20
    J = slope(found)
    deviations = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
    assert (np.abs(found - true) < 4 * deviations).all()
    inertia.check(inertia.from_parameters(found), strict=False)
