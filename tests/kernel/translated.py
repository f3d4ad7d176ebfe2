"""Kernels that use each part of Python that `kernel.translate` knows; `test_translate` compiles them in two ways."""

import math
from collections import namedtuple

import numpy as np

from chasles.kernel.lanes import fma, select, sqrt
from chasles.kernel.policy import kernel

SIZES = namedtuple("SIZES", "first second")(2, 3)
TABLE = np.array([0.5, 1.5, 2.5])
WEIGHTS = (0.25, 0.75)
LIMIT = 3


@kernel
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def constants(x, n):
    """Numbers of the text, of the module and of a named tuple."""
    third = 1.0 / 3.0
    return x * third - 2 * WEIGHTS[1] + TABLE[1] + SIZES.second * x + (-1) ** 2 + n // LIMIT - n % 2 + 2**-1


def tuples(x, n):
    """Tuples with stars, parts of them, names for their elements."""
    a = (x, 2.0 * x, -x)
    whole = (*a, *cross(a, (1.0, x, 3.0)), 1.0)
    (first, second), third = (a[0], a[-1]), whole[3:5]
    first, second = second, first
    return first - 2.0 * second + third[0] * third[1] + whole[-1] + whole[n % 7]


def choices(x, n):
    """if, elif, else, conditional expressions, and, or, not, chains of comparisons."""
    if x > 0.5 and n > 1:
        y = 1.0
        kind = 0
    elif not n or x < -0.5:
        y = x
        kind = 1
    else:
        y = -x if n == 2 else x * x
        kind = 2
    inside = 0.0 < y <= 1.0
    other = x > 0.0 or n > 2
    if kind == 1 and (inside or x):
        return y + 0.5
    return y + (3.0 if inside else kind) + (1.0 if other else 0.0)


def loops(x, n):
    """Ranges, while, break, continue; variables whose type becomes wider, or that a loop sets first."""
    total = 0
    for k in range(n):
        if k == 3:
            continue
        total += x * k
        if total > 10.0:
            break
    last = 0.0
    while True:
        last += 0.75
        if last > 2.0 * abs(x):
            break
    for j in range(n, 0, -2):
        for i in range(j):
            last = last - 0.1 * i
            found = i + j
    while n > 0:
        n -= 1
        last *= 1.01
    return total + last + (found if x > 5.0 else 0)


def arrays(x, n):
    """Elements, parts and sizes of arrays; changes of elements; several targets."""
    return fill(np.zeros(7), x, n)


@kernel
def fill(out, x, n):
    part = out[2:]
    part[0] = out[-1] = x
    out[n % 7] += 2.0 * x
    out[1] -= TABLE[SIZES.first]
    part[1:3][1] = n
    total = 0.0
    for k in range(out.size):
        total = total * 1.5 + out[k]
    return total + part.shape[0]


def functions(x, n):
    """Functions of Python, of NumPy and of the package; keywords; nothing returned."""
    nothing(x)
    y = fma(x, x, 1.0) + sqrt(abs(x)) + math.sin(x) + np.cos(x)
    y += select(x > 0.0, x, 2.0) + max(x, y, 1.0) + min(n, 3) + float(n) + int(2.6 * x)
    return y + scaled(b=x, a=2.0) + bool(n)


@kernel
def nothing(x):
    pass


@kernel
def scaled(a, b):
    return a / (b * b + 1.0)


def early(x, n):
    """Returns of several types, and a loop that is left by one."""
    for k in range(n):
        if k * x > 2.0:
            return k
    if n is None:
        return 7
    return -x


KERNELS = (constants, tuples, choices, loops, functions, early)
