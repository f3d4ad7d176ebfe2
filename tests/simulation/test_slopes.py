"""Derivatives of many numbers by many parameters: against closed forms, and how often the function is called."""

import numpy as np
import pytest

from chasles.simulation.slopes import CannotVaryError, NoDerivativeError, NotSmoothError, NumberSlopes

STEP = 1e-2


class Counted:
    """f of parameters with values p, by offsets in steps of one hundredth of them."""

    def __init__(self, f, p):
        self.f, self.p, self.calls = f, np.array(p, dtype=float), 0
        self.sizes = STEP * np.where(self.p == 0.0, 1.0, np.abs(self.p)) * np.linspace(1.0, 0.7, len(self.p))

    def __call__(self, offsets):
        self.calls += 1
        return self.f(self.p + offsets * self.sizes)

    def slopes(self):
        return NumberSlopes(self, self.f(self.p), len(self.p)).found(self.p == 0.0) / self.sizes


def test_straight_numbers_take_three_calls():
    """A thousand parameters: numbers that are some of them, multiples, one beyond its limit, and constants."""
    rng = np.random.default_rng(0)
    p, places, factors = rng.choice([-1.5, 0.8], 1000), rng.permutation(1500) % 1000, rng.normal(size=1500)

    def f(p):
        return np.concatenate([factors * p[places] + 3.0, [7.0, np.inf]])

    counted = Counted(f, p)
    found = counted.slopes()
    wanted = np.zeros_like(found)
    wanted[np.arange(1500), places] = factors
    assert np.abs(found - wanted).max() < 1e-11
    assert counted.calls == 3


def test_what_depends_on_several_or_is_bent():
    p = np.array([0.7, -1.3, 0.7, 2.0, 0.0, 1e-3])

    def f(p):
        a, b, c, d, e, g = p
        straight = [a, 2 * d, 1e6 * g, e]
        bent = [
            a * b,
            a + b,
            a - c,
            np.sin(3 * d),
            d * d * d,
            e * a,
            np.exp(g),
            (b + d) ** 2,
            np.sqrt(1 + e * e),
            a * e + b,
        ]
        return np.array([*straight, *bent])

    h = 1e-20
    wanted = np.array([np.imag(f(p + 1j * h * one)) / h for one in np.eye(len(p))]).T
    counted = Counted(f, p)
    rounding = 2e-15 * np.abs(f(p))[:, None] / counted.sizes
    assert (np.abs(counted.slopes() - wanted) <= rounding + 1e-12 * np.abs(wanted)).all()


def test_many_parameters_of_which_few_count():
    """Of 500, nine are lengths: halves are tried, and those that change different numbers are varied at once."""
    rng = np.random.default_rng(1)
    p, which = 1.0 + rng.random(500), np.arange(9) * 50 + 7

    def f(p):
        return np.cos(p[which])

    counted = Counted(f, p)
    found = counted.slopes()
    wanted = np.zeros_like(found)
    wanted[np.arange(9), which] = -np.sin(p[which])
    assert np.abs(found - wanted).max() < 1e-12
    assert counted.calls < 150


def test_sides():
    """A number that cannot be negative has one-sided differences; others are not harmed."""

    def f(p):
        if p[1] < 0.0:
            raise ValueError("damping is negative")
        return np.array([p[0], 5.0 * p[1], np.sin(p[1]) + p[0], p[2] * p[0]])

    found = Counted(f, [2.0, 0.0, 3.0, 4.0]).slopes()
    assert np.abs(found - [[1, 0, 0, 0], [0, 5, 0, 0], [1, 1, 0, 0], [3, 0, 2, 0]]).max() < 1e-10


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("f", [lambda x: np.abs(x - 1.0), np.floor, lambda x: x + 1e-6 * np.maximum(x - 1.0, 0.0)])
def test_kinks_and_jumps_are_found_out(f, count):
    p = np.concatenate([[1.0], np.linspace(2.3, 3.3, count - 1)])
    with pytest.raises(NotSmoothError) as caught:
        Counted(lambda p: np.concatenate([np.atleast_1d(f(p[0])), p[1:]]), p).slopes()
    assert caught.value.parameter == 0


def test_what_has_no_derivative_is_told():
    def stiff(p):
        if p[1] != 1.0:
            raise ValueError("no other value")
        return p

    with pytest.raises(CannotVaryError, match="no other value") as caught:
        Counted(stiff, [1.0, 1.0, 2.0]).slopes()
    assert caught.value.parameter == 1

    def shaped(p):
        if p[1] != 1.0:
            raise NoDerivativeError("another structure")
        return p

    with pytest.raises(NoDerivativeError):
        Counted(shaped, [1.0, 1.0, 2.0]).slopes()
