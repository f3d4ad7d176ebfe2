"""The lane type: one source, compiled for floats and for four floats at a time, gives the same numbers."""

import numpy as np
import pytest

from chasles.kernel import lanes
from chasles.kernel.algebra import two_product, two_sum
from chasles.kernel.lanes import (
    absolute,
    all_true,
    copysign,
    fma,
    lane,
    like,
    load,
    maximum,
    minimum,
    rint,
    select,
    sqrt,
    store,
)
from chasles.kernel.policy import COMPILED, kernel
from chasles.kernel.rows import load_rows, store_rows

compiled_only = pytest.mark.skipif(not COMPILED, reason="lanes are NumPy columns when the compiler is switched off")


@kernel
def many_operations(a, b):
    """Every operator and function once, on two scalars."""
    smaller = select((a < b) & (a <= b) | (a == b), a, b)
    larger = select((a > b) | (a >= b), a, b)
    differ = select(a != b, 1.0, 0.0)
    return (
        *(a + b, a - b, a * b, a / b, -a, 2.0 + a, a - 2.0, 2.0 * a, 1.0 / b),
        *(fma(a, b, 1.0), sqrt(absolute(a)), absolute(b), rint(a), copysign(a, b)),
        *(minimum(a, b), maximum(a, 0.5), smaller, larger, differ),
    )


COUNT = 19


@kernel(entry=True)
def on_lanes(a, b, out):
    for i in range(0, a.shape[0], 4):
        (x,), (y,) = load_rows(a, i, 1, 1), load_rows(b, i, 1, 1)
        store_rows(out, i * COUNT, COUNT, many_operations(x, y))


@kernel(entry=True)
def on_floats(a, b, out):
    for i in range(a.shape[0]):
        row = many_operations(a[i], b[i])
        for k in range(COUNT):
            out[i * COUNT + k] = row[k]


@compiled_only
def test_lanes_and_floats_give_the_same_bits():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=400), rng.normal(size=400)
    a[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1, 1e300, 5e-324]
    b[:8] = [1, 1, 1, 2, 3, 1, 1e300, 1]
    first, second = np.empty(400 * COUNT), np.empty(400 * COUNT)
    on_lanes(a, b, first)
    on_floats(a, b, second)
    np.testing.assert_array_equal(first, second)


@compiled_only
def test_operations_are_what_numpy_says():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=40), rng.normal(size=40)
    out = np.empty(40 * COUNT)
    on_lanes(a, b, out)
    got = out.reshape(40, COUNT).T
    expected = (
        *(a + b, a - b, a * b, a / b, -a, 2 + a, a - 2, 2 * a, 1 / b),
        *(None, np.sqrt(abs(a)), abs(b), np.rint(a), np.copysign(a, b)),
        *(np.minimum(a, b), np.maximum(a, 0.5), np.minimum(a, b), np.maximum(a, b), np.ones(40)),
    )
    for value, truth in zip(got, expected, strict=True):
        if truth is not None:
            np.testing.assert_array_equal(value, truth)
    fused = [float(np.longdouble(x) * np.longdouble(y) + 1) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(got[9], fused, rtol=2**-52, atol=0)


@kernel(entry=True)
def nan_in_extremes(x, out):
    (a,) = load_rows(x, 0, 1, 1)
    store_rows(out, 0, 2, (minimum(a, 0.0), maximum(0.0, a)))


@compiled_only
def test_extremes_do_not_hide_nan():
    out = np.empty(8)
    nan_in_extremes(np.array([np.nan, 1.0, -1.0, np.nan]), out)
    expected = [[np.nan, np.nan], [0, 1], [-1, 0], [np.nan, np.nan]]
    np.testing.assert_array_equal(out.reshape(4, 2), expected)


@kernel(entry=True)
def error_free(a, b, out):
    for i in range(a.shape[0]):
        p, e = two_product(a[i], b[i])
        s, f = two_sum(a[i] * 1.0000001, b[i] * a[i])  # products, which the compiler would like to fuse
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = p, e, s, f


@compiled_only
def test_error_free_transformations_are_exact():
    from fractions import Fraction

    rng = np.random.default_rng(2)
    a, b = rng.normal(size=200), rng.normal(size=200) * 10.0 ** rng.integers(-12, 12, 200)
    out = np.empty((200, 4))
    error_free(a, b, out)
    for x, y, (p, e, s, f) in zip(a, b, out, strict=True):
        assert Fraction(float(x)) * Fraction(float(y)) == Fraction(float(p)) + Fraction(float(e))
        exact = Fraction(float(x * 1.0000001)) + Fraction(float(y * x))
        assert exact == Fraction(float(s)) + Fraction(float(f))


@kernel(entry=True)
def copy_rows_3(x, out, stride):
    store_rows(out, 0, 3, load_rows(x, 0, stride, 3))


@kernel(entry=True)
def copy_rows_7(x, out, stride):
    store_rows(out, 0, 7, load_rows(x, 0, stride, 7))


@kernel(entry=True)
def copy_rows_16(x, out, stride):
    store_rows(out, 0, 16, load_rows(x, 0, stride, 16))


@compiled_only
@pytest.mark.parametrize(("length", "copy"), [(3, copy_rows_3), (7, copy_rows_7), (16, copy_rows_16)])
def test_transposition_there_and_back(length, copy):
    x = np.arange(4.0 * length)
    out = np.full(4 * length, -1.0)
    copy(x, out, length)
    np.testing.assert_array_equal(out, x)
    copy(x, out, 0)  # one row for all
    np.testing.assert_array_equal(out.reshape(4, length), np.tile(x[:length], (4, 1)))


@kernel(entry=True)
def running_sum(work, out):
    total = like(0.0, load(work, 0, lanes.lanes_of(0.0)))
    for i in range(work.shape[0] // 4):
        total = total + load(work, i, total)
        store(work, i, total)
    for k in range(4):
        out[k] = lane(total, k)
    return all_true(total > 0.0)


@compiled_only
def test_aligned_buffers():
    work = lanes.buffer(5)
    assert work.ctypes.data % 64 == 0
    assert work.shape == (20,)
    work[:] = np.arange(20.0)
    out = np.empty(4)
    assert running_sum(work, out)
    np.testing.assert_array_equal(out, np.arange(20.0).reshape(5, 4).sum(axis=0))
    np.testing.assert_array_equal(work.reshape(5, 4), np.cumsum(np.arange(20.0).reshape(5, 4), axis=0))
