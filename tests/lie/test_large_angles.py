"""Exponentials of very large angles stay on their groups, and are as good as the numbers that come in allow; against
mpmath with 400 digits."""

import mpmath
import numpy as np
import pytest

from chasles import lie
from chasles.kernel.policy import COMPILED, kernel
from chasles.lie import se3, so3

SIZES = [10.0**k for k in (7.9, 8.1, 9, 10, 11, 12, 13, 14, 15, 16, 18, 22, 30, 60, 100, 140, 153)]
EPS = np.finfo(float).eps


def directions(count):
    rng = np.random.default_rng(20)
    drawn = rng.normal(size=(count, 3))
    drawn[0], drawn[1] = (0, 0, 1), (0.6, -0.8, 0)
    return drawn / np.linalg.norm(drawn, axis=1)[:, None]


CASES = np.array([size * n for size in SIZES for n in directions(6)])
LINEAR = np.random.default_rng(21).normal(size=(len(CASES), 3))


def allowed(x):
    """Up to 1e12 the angle carries its own rounding error, beyond it is known as well as its digits say."""
    size = np.linalg.norm(x)
    return 6 * EPS + (EPS * size if size > 9e11 else (EPS * size) ** 3)


def true_motion(x, v):
    """Rotation matrix and translation of a twist, by Rodrigues' formula with 400 digits."""
    with mpmath.workdps(400):
        a, b = mpmath.matrix([float(k) for k in x]), mpmath.matrix([float(k) for k in v])
        hat = mpmath.matrix([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
        s = a[0] ** 2 + a[1] ** 2 + a[2] ** 2
        t = mpmath.sqrt(s)
        one = mpmath.eye(3)
        r = one + mpmath.sin(t) / t * hat + (1 - mpmath.cos(t)) / s * hat * hat
        p = (one + (1 - mpmath.cos(t)) / s * hat + (1 - mpmath.sin(t) / t) / s * hat * hat) * b
        half = [mpmath.cos(t / 2), *(mpmath.sin(t / 2) / t * k for k in a)]
        numbers = [[float(r[i, j]) for j in range(3)] for i in range(3)]
        return np.array(numbers), np.array([float(k) for k in p]), np.array([float(k) for k in half])


TRUE = [true_motion(x, v) for x, v in zip(CASES, LINEAR, strict=True)]


def off(r):
    """Distance from the rotations."""
    return max(abs(r.T @ r - np.eye(3)).max(), abs(np.linalg.det(r) - 1))


@pytest.mark.parametrize("name", ["so3", "s3", "se3", "pose", "so3xr3", "s3xr3"])
def test_exponentials_in_space(name):
    group = getattr(lie, name)
    twists = CASES if name in ("so3", "s3") else np.hstack([CASES, LINEAR])
    for g, x, v, (r, p, q) in zip(group.exp(twists), CASES, LINEAR, TRUE, strict=True):
        turn, true = (g[:3, :3], r) if g.ndim == 2 else (g[:4], q)
        assert (off(turn) if g.ndim == 2 else abs(turn @ turn - 1)) < 8 * EPS, x
        assert abs(turn - true).max() < allowed(x), x
        if name in ("se3", "pose"):
            place = g[:3, 3] if g.ndim == 2 else g[4:]
            assert abs(place - p).max() < 4 * allowed(x), x
        elif name in ("so3xr3", "s3xr3"):
            np.testing.assert_array_equal(g[:3, 3] if g.ndim == 2 else g[4:], v)


@pytest.mark.parametrize("sign", [1, -1])
def test_exponentials_in_the_plane(sign):
    angles = sign * np.array([*SIZES, 1.5e150])
    for w, r, g in zip(
        angles, lie.so2.exp(angles[:, None]), lie.se2.exp(np.c_[angles, angles * 0 + 2, angles * 0 - 1]), strict=True
    ):
        with mpmath.workdps(400):
            c, s = float(mpmath.cos(float(w))), float(mpmath.sin(float(w)))
        for found in (r, g[:2, :2]):
            np.testing.assert_allclose(found, [[c, -s], [s, c]], rtol=0, atol=2 * EPS)
        turned = np.array([[s, c - 1], [1 - c, s]]) / w @ [2, -1]  # (e^{iw} - 1)/(iw)
        np.testing.assert_allclose(g[:2, 2], turned, rtol=0, atol=8 * EPS / abs(w))


def test_angles_of_conversions():
    for size in SIZES:
        with mpmath.workdps(400):
            c, s = (float(f(mpmath.mpf(size) / 2)) for f in (mpmath.cos, mpmath.sin))
        q = lie.rotation.axis_angle_to_quaternion([0, 0.6, 0.8], size)
        np.testing.assert_allclose(q, [c, 0, 0.6 * s, 0.8 * s], rtol=0, atol=2 * EPS)
        assert abs(np.linalg.norm(lie.rotation.euler_to_quaternion([size, -size, size / 3], "ZYX")) - 1) < 4 * EPS
        for turn in (so3.ccsk([size, -size, size]), so3.cay([size, -size, size]), so3.cay2([size, -size, size])):
            assert off(turn) < 8 * EPS


@pytest.mark.skipif(not COMPILED, reason="there are neither scalars nor lanes when the compiler is off")
def test_one_state_at_a_time():
    """The kernels for single numbers, which the integrators run."""

    @kernel(entry=True)
    def alone(twists, out):
        for i in range(twists.shape[0]):
            x = (twists[i, 0], twists[i, 1], twists[i, 2]), (twists[i, 3], twists[i, 4], twists[i, 5])
            r, p = se3.exp(x)
            for k in range(9):
                out[i, k] = r[k]
            for k in range(3):
                out[i, 9 + k] = p[k]

    out = np.empty((len(CASES), 12))
    alone(np.hstack([CASES, LINEAR]), out)
    for row, x, (r, p, _) in zip(out, CASES, TRUE, strict=True):
        assert off(row[:9].reshape(3, 3)) < 8 * EPS
        assert abs(row[:9].reshape(3, 3) - r).max() < allowed(x)
        assert abs(row[9:] - p).max() < 4 * allowed(x)


def test_one_large_angle_among_ordinary_ones():
    """Four states share a register: the others must not notice."""
    x = np.array([[0.3, -0.2, 0.5], [1e12, 1e12, -1e12], [2.0, 0.1, 0.0], [0.0, 0.0, 1e-9]])
    together, alone = so3.exp(x), np.array([so3.exp(row) for row in x])
    np.testing.assert_allclose(together, alone, rtol=0, atol=2 * EPS)


def test_numbers_whose_squares_overflow_are_refused():
    for x in ([1.6e154, 1.6e154, 1.6e154], [0.0, 1e200, 0.0], [1.0, np.finfo(float).max, 0.0]):
        for function in (so3.exp, lie.s3.exp):
            with pytest.raises(ValueError, match="too large to be squared"):
                function(x)
