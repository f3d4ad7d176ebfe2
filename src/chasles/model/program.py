"""Expressions at work: a stack machine that computes a value with its first and second derivative by time.

The program of an expression is a row of numbers, operations with their constants, and travels as the parameters of a
law. So all expressions share one compiled function, and a new one compiles nothing. Written for float64 it also runs on
dual numbers, which gives derivatives by coordinates and velocities.
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np

from chasles.kernel.address import scratch
from chasles.kernel.lanes import chain, chain2, primal

# operations: they put a value on the stack, or replace the topmost one, two or three by what they compute
END, CONSTANT, TIME, COORDINATE, VELOCITY = range(5)
ADD, SUBTRACT, MULTIPLY, NEGATE = range(5, 9)
LARGER, SELECT, ANGLE = range(9, 12)
SINE, COSINE, EXPONENTIAL, LOGARITHM, ARCTANGENT, RECIPROCAL, POWER, MAGNITUDE, WRAP, POLYNOMIAL = range(12, 22)
DEPTH = 40  # values that the stack holds
ROOM = 3 * DEPTH  # each with two derivatives
# arguments of a law that sees more than its own joint, body or points: so many of its own, then at most so many others
OWN_ARGUMENTS, MOST_SEEN = 7, 16
ONE_WITH_RATES = 0  # what is computed: the value, rate and acceleration of one expression, or values of so many


def interpret(t: Any, x: Any, y: Any, p: Any, out: Any) -> None:
    """A law f(t, x, y, p, out) whose parameters p are a program: what is computed, then operations, each expression
    closed by END. A stack element is a value and its first and second derivative by time."""
    stack = scratch(out, ROOM)
    zero = 0.0 * out[0]  # of the kind of the result, which may be dual where the program is not
    outputs = int(primal(p[0]))
    at, found, top = 1, 0, 0
    while found < max(outputs, 1):
        kind = int(primal(p[at]))
        at += 1
        if kind == END:
            if outputs == ONE_WITH_RATES:
                out[0], out[1], out[2] = stack[0], stack[1], stack[2]
            else:
                out[found] = stack[0]
            found, top = found + 1, 0
        elif kind <= VELOCITY:
            a = top
            top += 3
            stack[a], stack[a + 1], stack[a + 2] = zero, zero, zero
            if kind == TIME:
                stack[a], stack[a + 1] = zero + t, zero + 1.0
            else:
                if kind == CONSTANT:
                    stack[a] = p[at]
                elif kind == COORDINATE:
                    stack[a] = x[int(primal(p[at]))]
                else:
                    stack[a] = y[int(primal(p[at]))]
                at += 1
        elif kind == NEGATE:
            a = top - 3
            stack[a], stack[a + 1], stack[a + 2] = -stack[a], -stack[a + 1], -stack[a + 2]
        elif kind <= ANGLE:
            a, b = top - 6, top - 3
            top = b
            a0, a1, a2 = stack[a], stack[a + 1], stack[a + 2]
            b0, b1, b2 = stack[b], stack[b + 1], stack[b + 2]
            if kind == ADD:
                stack[a], stack[a + 1], stack[a + 2] = a0 + b0, a1 + b1, a2 + b2
            elif kind == SUBTRACT:
                stack[a], stack[a + 1], stack[a + 2] = a0 - b0, a1 - b1, a2 - b2
            elif kind == MULTIPLY:
                stack[a], stack[a + 1], stack[a + 2] = a0 * b0, a1 * b0 + a0 * b1, a2 * b0 + 2.0 * a1 * b1 + a0 * b2
            elif kind == LARGER:
                if primal(b0) > primal(a0) or primal(b0) != primal(b0):
                    stack[a], stack[a + 1], stack[a + 2] = b0, b1, b2
            elif kind == SELECT:  # below these two a condition: from zero on the first, else the second
                a, b = a - 3, a
                top = b
                condition = primal(stack[a])
                if condition >= 0.0:
                    stack[a], stack[a + 1], stack[a + 2] = a0, a1, a2
                elif condition < 0.0:
                    stack[a], stack[a + 1], stack[a + 2] = b0, b1, b2
                else:
                    stack[a] = zero + math.nan
            else:  # the angle of (b, a), atan2(a, b)
                square = a0 * a0 + b0 * b0
                size = primal(square)
                turn, along = (b0 * a1 - a0 * b1) / square, (a0 * a1 + b0 * b1) / square
                angle = math.atan2(primal(a0), primal(b0))
                stack[a] = chain2(angle, primal(b0) / size, a0, -primal(a0) / size, b0)
                stack[a + 1] = turn
                stack[a + 2] = (b0 * a2 - a0 * b2) / square - 2.0 * turn * along
        else:
            a = top - 3
            v = primal(stack[a])
            f, f1, f2, f3 = 0.0, 0.0, 0.0, 0.0  # a function of one number and its derivatives
            if kind == SINE:
                f, f1 = math.sin(v), math.cos(v)
                f2, f3 = -f, -f1
            elif kind == COSINE:
                f, f1 = math.cos(v), -math.sin(v)
                f2, f3 = -f, -f1
            elif kind == EXPONENTIAL:
                f = math.exp(v)
                f1 = f2 = f3 = f
            elif kind == LOGARITHM:
                f = math.log(v) if v > 0.0 else math.nan
                f1 = 1.0 / v
                f2 = -f1 * f1
                f3 = -2.0 * f1 * f2
            elif kind == ARCTANGENT:
                f, f1 = math.atan(v), 1.0 / (1.0 + v * v)
                f2 = -2.0 * v * f1 * f1
                f3 = (6.0 * v * v - 2.0) * f1 * f1 * f1
            elif kind == RECIPROCAL:
                f = 1.0 / v
                f1 = -f * f
                f2 = -2.0 * f * f1
                f3 = -3.0 * f * f2
            elif kind == MAGNITUDE:
                f, f1 = abs(v), (1.0 if v >= 0.0 else -1.0)
            elif kind == WRAP:  # into one period
                first, period = primal(p[at]), primal(p[at + 1])
                at += 2
                f, f1 = v - period * math.floor((v - first) / period), 1.0
            elif kind == POWER:
                c = primal(p[at])
                at += 1
                f = v**c
                f1 = c * v ** (c - 1.0) if c != 0.0 else 0.0
                f2 = c * (c - 1.0) * v ** (c - 2.0) if c != 0.0 and c != 1.0 else 0.0
                f3 = c * (c - 1.0) * (c - 2.0) * v ** (c - 3.0) if c != 0.0 and c != 1.0 and c != 2.0 else 0.0
            elif kind == POLYNOMIAL:  # in pieces: their number, degree, knots, coefficients; held outside of the knots
                pieces, degree = int(primal(p[at])), int(primal(p[at + 1]))
                knots = at + 2
                rows = knots + pieces + 1
                at = rows + pieces * (degree + 1)
                low, high = 0, pieces - 1
                while low < high:
                    middle = (low + high + 1) // 2
                    if v >= primal(p[knots + middle]):
                        low = middle
                    else:
                        high = middle - 1
                first, last = primal(p[knots]), primal(p[knots + pieces])
                s = min(max(v, first), last) - primal(p[knots + low])
                row = rows + low * (degree + 1)
                for k in range(degree, -1, -1):
                    f3 = f3 * s + 3.0 * f2
                    f2 = f2 * s + 2.0 * f1
                    f1 = f1 * s + f
                    f = f * s + primal(p[row + k])
                if v < first or v > last:
                    f1, f2, f3 = 0.0, 0.0, 0.0
                if v != v:
                    f = v
            a0, a1, a2 = stack[a], stack[a + 1], stack[a + 2]
            slope = chain(f1, f2, a0)
            stack[a] = chain(f, f1, a0)
            stack[a + 1] = slope * a1
            stack[a + 2] = slope * a2 + chain(f2, f3, a0) * a1 * a1


def _value(value: Any, *_: Any) -> Any:
    return value


# the same function without a compiler, for the few values that a model needs when it is made
INTERPRETED = FunctionType(
    interpret.__code__,
    {
        **globals(),
        "primal": _value,
        "chain": _value,
        "chain2": _value,
        "scratch": lambda out, size: np.zeros(size),
    },
)


def values_at(program: Any, t: float, x: Any = (), y: Any = (), count: int = 3) -> np.ndarray:
    """What a program computes; plain Python."""
    out = np.zeros(count)
    numbers = [np.asarray(part, dtype=float) for part in (x, y, program)]
    with np.errstate(all="ignore"):
        INTERPRETED(float(t), *numbers, out)
    return out
