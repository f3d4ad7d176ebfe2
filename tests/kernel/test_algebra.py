"""Tuple algebra against NumPy."""

import numpy as np

from chasles.kernel.algebra import force_cross, inertia_mul, mat_mul, motion_cross, mul, mul_t, skew_mul, sym_mul
from chasles.kernel.policy import kernel


@kernel
def vector(x, i):
    return (x[i], x[i + 1], x[i + 2])


@kernel
def matrix(x, i):
    return (x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7], x[i + 8])


@kernel
def put(out, i, a):
    out[i], out[i + 1], out[i + 2] = a[0], a[1], a[2]


@kernel(entry=True)
def everything(x, out):
    """Results of all operations on the numbers of x, one after the other."""
    a, b, c, d = vector(x, 0), vector(x, 3), vector(x, 6), vector(x, 9)
    m, n = matrix(x, 12), matrix(x, 21)
    s = (x[30], x[31], x[32], x[33], x[34], x[35])
    put(out, 0, mul(m, a))
    put(out, 3, mul_t(m, a))
    put(out, 6, sym_mul(s, a))
    twist = motion_cross((a, b), (c, d))
    put(out, 9, twist[0])
    put(out, 12, twist[1])
    wrench = force_cross((a, b), (c, d))
    put(out, 15, wrench[0])
    put(out, 18, wrench[1])
    momentum = inertia_mul((x[36], c, s), (a, b))
    put(out, 21, momentum[0])
    put(out, 24, momentum[1])
    product, turned = mat_mul(m, n), skew_mul(a, m)
    for k in range(9):
        out[27 + k], out[36 + k] = product[k], turned[k]


def hat(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def test_all_operations():
    x = np.random.default_rng(0).normal(size=37)
    out = np.empty(45)
    everything(x, out)
    a, b, c, d = x[:12].reshape(4, 3)
    m, n = x[12:30].reshape(2, 3, 3)
    s = x[[30, 31, 32, 31, 33, 34, 32, 34, 35]].reshape(3, 3)
    ad = np.block([[hat(a), np.zeros((3, 3))], [hat(b), hat(a)]])
    inertia = np.block([[s, hat(c)], [-hat(c), x[36] * np.eye(3)]])
    other = np.concatenate([c, d])
    expected = [m @ a, m.T @ a, s @ a, ad @ other, -ad.T @ other, inertia @ np.concatenate([a, b]), (m @ n).ravel()]
    np.testing.assert_allclose(out, np.concatenate([*expected, (hat(a) @ m).ravel()]), rtol=0, atol=1e-14)
