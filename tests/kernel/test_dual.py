"""Dual numbers: derivatives of kernels against derivatives taken with 60 digits."""

import math

import numpy as np
import pytest
from mpmath import mp

from chasles.kernel.policy import COMPILED

if not COMPILED:
    pytest.skip(reason="there are no dual numbers without the compiler", allow_module_level=True)

from chasles.kernel.address import DUALS, INTEGER, address_of
from chasles.kernel.algebra import two_product, two_sum
from chasles.kernel.code import numpy_on_duals as numpy_on_duals
from chasles.kernel.dual import as_duals, dual_of
from chasles.kernel.functions import atan2, atan2_upper, polynomial, sincos
from chasles.kernel.lanes import (
    absolute,
    all_true,
    buffer,
    copysign,
    fma,
    like,
    load,
    maximum,
    minimum,
    rint,
    select,
    sqrt,
    store,
)
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import load3, load6, store3, store6
from chasles.lie import quaternion, se3, so3
from tests.oracle.definitions import ORACLE

EPS = float(np.finfo(float).eps)
CUBIC = (0.5, -1.0, 2.0, 3.0)


@kernel
def operations(x, y):
    """Every operator and function of two scalars, with floats in each place."""
    return (
        *(x + y, x - y, x * y, x / y, -x, 2.0 + x, x - 2.0, 2.0 - x, 3.0 * x, x * 3.0, x / 3.0, 3.0 / y),
        *(fma(x, y, 2.0), fma(x, 3.0, y), sqrt(absolute(x)), absolute(x), absolute(y), rint(x), copysign(x, y)),
        *(minimum(x, y), maximum(x, y), max(x, 0.25), min(0.25, y), sincos(x)[0], sincos(x)[1]),
        *(atan2(x, y), atan2(y, 0.5), atan2_upper(absolute(y), x), polynomial(x, CUBIC), like(2.0, x)),
        *(select(x < y, x * x, y * y), select(x > y, 1.0, y), select(all_true(x == x), x, 0.0)),
        *(two_product(x, y)[0] + two_product(x, y)[1], two_sum(x, y)[0]),
    )


EXPECTED = (
    *(lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: -x),
    *(lambda x, y: 2 + x, lambda x, y: x - 2, lambda x, y: 2 - x, lambda x, y: 3 * x, lambda x, y: x * 3),
    *(lambda x, y: x / 3, lambda x, y: 3 / y, lambda x, y: x * y + 2, lambda x, y: 3 * x + y),
    *(lambda x, y: mp.sqrt(abs(x)), lambda x, y: abs(x), lambda x, y: abs(y), lambda x, y: mp.nint(x)),
    *(lambda x, y: abs(x) * mp.sign(y), lambda x, y: min(x, y), lambda x, y: max(x, y), lambda x, y: max(x, 0.25)),
    *(lambda x, y: min(y, 0.25), lambda x, y: mp.sin(x), lambda x, y: mp.cos(x), lambda x, y: mp.atan2(x, y)),
    *(lambda x, y: mp.atan2(y, 0.5), lambda x, y: mp.atan2(abs(y), x), lambda x, y: ((x / 2 - 1) * x + 2) * x + 3),
    *(lambda x, y: mp.mpf(2), lambda x, y: x * x if x < y else y * y, lambda x, y: 1 if x > y else y),
    *(lambda x, y: x, lambda x, y: x * y, lambda x, y: x + y),
)


@kernel(entry=True)
def on_duals(given, out):
    z = dual_of(0.0)
    results = operations(load(given, 0, z), load(given, 1, z))
    for k in range(35):
        store(out, k, results[k])


def gradient(function, *where: float) -> list:
    """Value and derivatives with respect to each argument, with 60 digits."""
    count = len(where)
    orders = [tuple(int(i == k) for i in range(count)) for k in range(count)]
    return [function(*map(mp.mpf, where)), *(mp.diff(function, where, order, h=mp.mpf(10) ** -25) for order in orders)]


@pytest.mark.parametrize(("x", "y"), [(0.7, 1.3), (-1.9, 0.4), (2.6, -3.1), (-0.3, -0.2), (1e-9, 5.0)])
def test_operations(x, y):
    given, out = buffer(2), buffer(35)
    given.reshape(2, 4)[:] = [[x, 1.0, 0.0, 2.0], [y, 0.0, 1.0, -3.0]]
    on_duals(given, out)
    assert len(EXPECTED) == 35
    with mp.workdps(60):
        for k, function in enumerate(EXPECTED):
            value, dx, dy = map(float, gradient(function, x, y))
            found, scale = out.reshape(-1, 4)[k], max(abs(dx), abs(dy), 1e-300)
            assert abs(found[0] - value) <= 2 * EPS * abs(value), k
            assert np.abs(found[1:3] - [dx, dy]).max() <= 8 * EPS * scale, k
            assert abs(found[3] - (2 * dx - 3 * dy)) <= 16 * EPS * 5 * scale, k  # directions are linear


@kernel(entry=True)
def at_the_edge(given, out):
    """Branches that are selected away, in which something has no derivative."""
    x, y, z = load3(given, 0, dual_of(0.0))
    root = sqrt(x)
    store(out, 0, root)
    store(out, 1, select(x == 0.0, y, y / x))
    store(out, 2, select(x > 0.0, 1.0 / root, z))
    store(out, 3, select(x > 0.0, atan2(x, x), y * z))
    store(out, 4, maximum(x, 1e-300) * y)
    store(out, 5, sqrt(x * x + y * y - y * y) + z)


def test_selected_away_branches_leave_no_trace():
    given, out = buffer(3), buffer(6)
    given.reshape(3, 4)[:] = [[0.0, 1.0, 0.0, 0.0], [2.0, 0.0, 1.0, 0.0], [3.0, 0.0, 0.0, 1.0]]
    at_the_edge(given, out)
    expected = [[0, 0, 0, 0], [2, 0, 1, 0], [3, 0, 0, 1], [6, 0, 3, 2], [2e-300, 0, 1e-300, 0], [3, 0, 0, 1]]
    assert np.array_equal(out.reshape(6, 4), expected)


# ---------------------------------------------------------------- functions of users


def of_numbers(y, out):
    """What a force law may be made of: branches on values, loops, NumPy and math."""
    total = 0.0
    for k in range(2):
        total += abs(y[k]) ** 1.5 + y[k] ** 3
    if y[0] > y[1]:
        total = total * np.exp(-y[0])
    out[0] = total
    out[1] = np.tanh(y[0]) + math.tanh(y[1]) + np.tan(y[0]) + np.sinh(y[1]) * np.cosh(y[0])
    out[2] = np.log(2.0 + y[0]) + np.arctan(y[1]) + math.atan2(y[0], y[1]) + np.arctan2(1.0, y[0])
    out[3] = np.sqrt(4.0 + y[0]) * np.sin(y[1]) - math.cos(y[0]) + np.sign(y[1]) + max(y[0], y[1])
    out[4] = y[0] ** 2 + (2.0 + y[0]) ** y[1] + 2.0 ** y[1]
    out[5] = 1.0


def expected_of_numbers(a, b):
    total = abs(a) ** 1.5 + abs(b) ** 1.5 + a**3 + b**3
    return [
        total * mp.exp(-a) if a > b else total,
        mp.tanh(a) + mp.tanh(b) + mp.tan(a) + mp.sinh(b) * mp.cosh(a),
        mp.log(2 + a) + mp.atan(b) + mp.atan2(a, b) + mp.atan2(1, a),
        mp.sqrt(4 + a) * mp.sin(b) - mp.cos(a) + mp.sign(b) + max(a, b),
        a**2 + (2 + a) ** b + 2**b,
        mp.mpf(1),
    ]


@kernel(entry=True)
def call_of_numbers(given, out):
    user(as_duals(given), as_duals(out))


user = kernel(of_numbers)


def test_functions_written_for_numbers():
    for a, b in ((0.7, -0.4), (-0.8, 0.3)):
        given, out = buffer(2), buffer(6)
        given.reshape(2, 4)[:, :3] = [[a, 1.0, 0.0], [b, 0.0, 1.0]]
        call_of_numbers(given, out)
        with mp.workdps(60):
            for k in range(6):
                exact = gradient(lambda x, y, k=k: expected_of_numbers(x, y)[k], a, b)
                assert np.abs(out.reshape(6, 4)[k, :3] - np.array(exact, dtype=float)).max() < 20 * EPS


def test_arrays_of_duals_by_address():
    """A compiled function of pointers takes duals as it takes numbers."""

    def double(values, size):
        array = carray(values, size)
        for k in range(size):
            array[k] = 2.0 * array[k] + k

    function = native(double, keep=False)
    assert address_of(function, DUALS, INTEGER) != 0


# ---------------------------------------------------------------- Lie groups


@kernel(entry=True)
def group_maps(given, out):
    """Maps of a twist (6) and a vector (6): quaternion exp and log, dexp and dexpinv on SO(3) and SE(3), its log."""
    z = dual_of(0.0)
    x, y = load6(given, 0, z), load6(given, 6, z)
    q = quaternion.exp(x[0])
    for k in range(4):
        store(out, k, q[k])
    store3(out, 4, quaternion.log(q))
    store3(out, 7, so3.dexp_apply(x[0], y[0]))
    store3(out, 10, so3.dexpinv_apply(x[0], y[0]))
    store6(out, 13, se3.dexpinv_apply(x, y))
    store6(out, 19, se3.log(se3.exp(x)))


def expected_maps(x, y) -> list:
    w, v = [x[k] for k in range(3)], [y[k] for k in range(3)]
    return [
        *ORACLE["s3"].exp(w),
        *w,
        *(ORACLE["so3"].dexp(w) * mp.matrix(v)),
        *(ORACLE["so3"].dexpinv(w) * mp.matrix(v)),
        *(ORACLE["se3"].dexpinv(x) * mp.matrix(y)),
        *x,
    ]


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-12, 1e-8, 3e-4, 0.1, 1.0, 2.4, 2.6, 3.1])
def test_group_maps(angle):
    rng = np.random.default_rng(11)
    x, y, directions = rng.normal(size=6), rng.normal(size=6), rng.normal(size=(12, 3))
    x[:3] *= angle / np.linalg.norm(x[:3])
    given, out = buffer(12), buffer(25)
    given.reshape(12, 4)[:, 0], given.reshape(12, 4)[:, 1:] = [*x, *y], directions
    group_maps(given, out)
    exact = np.empty((25, 4))
    with mp.workdps(60):
        start = [mp.mpf(float(value)) for value in (*x, *y)]
        exact[:, 0] = [float(value) for value in expected_maps(start[:6], start[6:])]
        h = mp.mpf(10) ** -20
        for k in range(3):
            sides = []
            for sign in (1, -1):
                moved = [value + sign * h * mp.mpf(float(d)) for value, d in zip(start, directions[:, k], strict=True)]
                sides.append(expected_maps(moved[:6], moved[6:]))
            exact[:, k + 1] = [float((a - b) / (2 * h)) for a, b in zip(*sides, strict=True)]
    scale = np.abs(exact[:, 1:]).max()
    near_half_turn = 40.0 if angle > 3.0 else 1.0  # the logarithm of a matrix there, whose own error is of this size
    error = np.abs(out.reshape(25, 4) - exact) / EPS
    assert error[:, 0].max() < 16 * max(1.0, np.abs(exact[:, 0]).max())
    assert error[:, 1:].max() < 24 * near_half_turn * scale
