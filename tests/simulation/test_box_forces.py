"""Forces between bounds: against the conditions of a minimum, and against all choices of which bounds are reached."""

import itertools

import numpy as np
import pytest

from chasles.simulation.nonsmooth.box_forces import _by_steps, forces_in_box, reserve


def problem(rng, n, rank):
    root = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-2, 2, n)[:, None]
    W = root @ root.T
    a = root @ rng.normal(size=rank)  # what forces can change, as in a mechanism
    low = np.where(rng.random(n) < 0.3, 0.0, -rng.random(n))
    high = np.where(rng.random(n) < 0.4, np.inf, rng.random(n))
    return a, W, low, high


def by_choice(a, W, low, high):
    """The least value over all choices of coordinates at their bounds; None if bounds are violated in all."""
    best = np.inf
    for sides in itertools.product((-1, 0, 1), repeat=len(a)):
        f = np.where(np.array(sides) < 0, low, np.where(np.array(sides) > 0, high, 0.0))
        if not np.isfinite(f).all():
            continue
        free = np.array(sides) == 0
        if free.any():
            f[free] = np.linalg.lstsq(W[np.ix_(free, free)], -(a[free] + W[np.ix_(free, ~free)] @ f[~free]))[0]
        if (f >= low - 1e-12).all() and (f <= high + 1e-12).all():
            best = min(best, 0.5 * f @ W @ f + a @ f)
    return best


@pytest.mark.parametrize("seed", range(30))
def test_the_minimum_between_bounds(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    a, W, low, high = problem(rng, n, int(rng.integers(1, n + 1)))
    f = forces_in_box(a, W, low, high)
    assert np.all((f >= low) & (f <= high))
    value, size = 0.5 * f @ W @ f + a @ f, np.abs(a) @ np.abs(f) + 1e-30
    assert value <= by_choice(a, W, low, high) + 1e-9 * size
    slow = _by_steps(a, W, low, high)
    assert value <= 0.5 * slow @ W @ slow + a @ slow + 1e-9 * size


@pytest.mark.parametrize("seed", range(20))
def test_speeds_that_singular_impulses_cannot_all_change(seed):
    """Limits of fewer freedoms that want different speeds: none gets less, and those that get more do not push."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    root = rng.normal(size=(n, int(rng.integers(1, n)))) * 10.0 ** rng.uniform(-3, 3, n)[:, None]
    W, own = root @ root.T, np.abs(root).max(axis=1)
    a = root @ rng.normal(size=root.shape[1]) + own * rng.random(n)  # bounded from below
    f = forces_in_box(a, W, np.zeros(n), np.full(n, np.inf))
    slope = (a + W @ f) / own
    assert f.min() >= 0.0
    assert slope.min() > -1e-8
    assert np.abs(slope[f > 0.0]).max(initial=0.0) < 1e-8


def test_two_limits_of_one_freedom():
    f = forces_in_box(np.array([-1.6, -1.3]), np.ones((2, 2)), np.zeros(2), np.full(2, np.inf))
    np.testing.assert_allclose(f, [1.6, 0.0], atol=1e-12)


def test_what_is_left_of_the_bounds():
    one = np.array([[2.0]])
    assert reserve(np.array([-1.0]), one, np.array([-1.0]), np.array([1.0])) == pytest.approx(0.5)
    assert reserve(np.array([3.0]), one, np.array([0.0]), np.array([np.inf])) == pytest.approx(-1.5)
    assert reserve(np.array([3.0]), one, np.array([-np.inf]), np.array([np.inf])) == 1.0
    both = np.ones((2, 2))  # two that share: each takes the half, whatever the shortest forces are
    assert reserve(np.array([-1.2, -1.2]), both, -np.ones(2), np.ones(2)) == pytest.approx(0.4)
    assert reserve(np.array([-1.2, -1.2]), both, -np.ones(2), np.array([1.0, 0.5])) == pytest.approx(0.15)


def test_a_force_that_moves_nothing_but_for_rounding_goes_to_its_bound():
    """At a dead center W is zero, or by rounding a little less: friction then is against the acceleration."""
    for W in (0.0, -1e-20, 1e-20):
        matrix = np.array([[2.0, 0.0], [0.0, W]])
        f = forces_in_box(np.array([1.0, -50.0]), matrix, np.array([-3.0, -4.0]), np.array([3.0, 4.0]))
        np.testing.assert_allclose(f, [-0.5, 4.0])
