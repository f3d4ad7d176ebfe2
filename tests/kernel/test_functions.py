"""Elementary functions against mpmath, in units in the last place of the result."""

import numpy as np
import pytest
from mpmath import mp

from chasles.kernel.functions import atan2, sincos
from chasles.kernel.policy import COMPILED, kernel
from chasles.kernel.rows import load_rows, store_rows

pytestmark = pytest.mark.skipif(not COMPILED, reason="NumPy's own functions stand in when the compiler is switched off")
mp.dps = 40


@kernel(entry=True)
def sincos_lanes(x, out):
    for i in range(0, x.shape[0], 4):
        (a,) = load_rows(x, i, 1, 1)
        store_rows(out, 2 * i, 2, sincos(a))


@kernel(entry=True)
def sincos_floats(x, out):
    for i in range(x.shape[0]):
        out[2 * i], out[2 * i + 1] = sincos(x[i])


@kernel(entry=True)
def atan2_lanes(y, x, out):
    for i in range(0, x.shape[0], 4):
        (a,), (b,) = load_rows(y, i, 1, 1), load_rows(x, i, 1, 1)
        store_rows(out, i, 1, (atan2(a, b),))


def ulps(value, truth):
    """Error in units in the last place of the true value."""
    return abs(float(mp.mpf(float(value)) - truth)) / np.spacing(abs(float(truth)))


def angles():
    rng = np.random.default_rng(0)
    spread = rng.choice([-1, 1], 3000) * 10.0 ** rng.uniform(-12, 8, 3000)
    near_multiples = np.arange(1, 201) * np.pi / 2 + rng.normal(size=200) * 1e-9
    return np.concatenate([[0.0, -0.0, 5e-324, 1e-300], spread, near_multiples])


@pytest.mark.parametrize("function", [sincos_lanes, sincos_floats])
def test_sincos_to_two_ulp_up_to_1e8(function):
    x = angles()
    out = np.empty(2 * len(x))
    function(x, out)
    for angle, (s, c) in zip(x, out.reshape(-1, 2), strict=True):
        assert ulps(s, mp.sin(mp.mpf(float(angle)))) < 2, angle
        assert ulps(c, mp.cos(mp.mpf(float(angle)))) < 2, angle


@pytest.mark.parametrize("function", [sincos_lanes, sincos_floats])
def test_sincos_far_beyond_is_right_too(function):
    x = np.array([1e9, -1e20, 1e300, 3.0])  # one huge lane sends all four to the library
    out = np.empty(8)
    function(x, out)
    truth = [[float(mp.sin(mp.mpf(float(a)))), float(mp.cos(mp.mpf(float(a))))] for a in x]
    np.testing.assert_allclose(out.reshape(4, 2), truth, rtol=4e-16)


def test_sincos_of_not_a_number_is_not_a_number():
    out = np.empty(8)
    sincos_lanes(np.array([np.nan, np.inf, -np.inf, 0.0]), out)
    assert np.isnan(out[:6]).all()
    assert list(out[6:]) == [0.0, 1.0]


def test_atan2_to_two_ulp_in_all_octants():
    rng = np.random.default_rng(1)
    y = rng.normal(size=4000) * 10.0 ** rng.uniform(-8, 8, 4000)
    x = rng.normal(size=4000) * 10.0 ** rng.uniform(-8, 8, 4000)
    out = np.empty(4000)
    atan2_lanes(y, x, out)
    for a, b, angle in zip(y, x, out, strict=True):
        assert ulps(angle, mp.atan2(mp.mpf(float(a)), mp.mpf(float(b)))) < 2, (a, b)


def test_atan2_on_the_axes_and_the_diagonal():
    y, x = np.array([0.0, 0, 1, -1, 1, 1, -1, 0]), np.array([1.0, -1, 0, 0, 1, -1, -1, 0])
    out = np.empty(8)
    atan2_lanes(y, x, out)
    expected = np.pi * np.array([0, 1, 0.5, -0.5, 0.25, 0.75, -0.75, 0])
    np.testing.assert_array_equal(out, expected)
