"""Functions of NumPy and `math` on dual numbers, so that functions written for numbers give derivatives too.

They are inlined before types are known, so there is no branch in them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from chasles.kernel.code.dual import DUAL
from chasles.kernel.code.lanes import absolute, chain, chain2, primal, select, sqrt
from chasles.kernel.functions import atan2, sincos


def _on_duals(implementation: Callable, *functions: Any) -> None:
    """Let functions of one dual be `implementation`."""

    def choose(x):
        return implementation if x == DUAL else None

    for function in functions:
        overload(function, inline="always")(choose)


def _tangent(x):
    value = np.tan(primal(x))
    return chain(value, 1.0 + value * value, x)


def _exponential(x):
    value = np.exp(primal(x))
    return chain(value, value, x)


def _hyperbolic_tangent(x):
    value = np.tanh(primal(x))
    return chain(value, 1.0 - value * value, x)


_on_duals(lambda x: sqrt(x), np.sqrt, math.sqrt)
_on_duals(lambda x: sincos(x)[0], np.sin, math.sin)
_on_duals(lambda x: sincos(x)[1], np.cos, math.cos)
_on_duals(lambda x: absolute(x), abs, np.abs, math.fabs)
_on_duals(_tangent, np.tan, math.tan)
_on_duals(_exponential, np.exp, math.exp)
_on_duals(_hyperbolic_tangent, np.tanh, math.tanh)
_on_duals(lambda x: chain(np.log(primal(x)), 1.0 / primal(x), x), np.log, math.log)
_on_duals(lambda x: chain(np.sinh(primal(x)), np.cosh(primal(x)), x), np.sinh, math.sinh)
_on_duals(lambda x: chain(np.cosh(primal(x)), np.sinh(primal(x)), x), np.cosh, math.cosh)
_on_duals(lambda x: chain(np.arctan(primal(x)), 1.0 / (1.0 + primal(x) * primal(x)), x), np.arctan, math.atan)
_on_duals(lambda x: select(x > 0.0, 1.0, select(x < 0.0, -1.0, 0.0)), np.sign)


def _choose_angle(y, x):
    return (lambda y, x: atan2(y, x)) if DUAL in (y, x) else None


for _angle in (np.arctan2, math.atan2):
    overload(_angle, inline="always")(_choose_angle)


def _number_power(x, exponent):
    """The exponent is a constant; the slope of x ** 0 is zero also at 0."""
    value = primal(x)
    slope = select(exponent == 0, 0.0, exponent * value ** (exponent - 1))
    return chain(value**exponent, slope, x)


def _dual_power(x, exponent):
    base, power = primal(x), primal(exponent)
    value = base**power
    return chain2(value, power * base ** (power - 1.0), x, value * np.log(base), exponent)


def _choose_power(x, exponent):
    if x == DUAL and isinstance(exponent, types.Number):
        return _number_power
    return _dual_power if exponent == DUAL and (x == DUAL or isinstance(x, types.Number)) else None


for _power in (operator.pow, np.power):
    overload(_power, inline="always")(_choose_power)


@overload(int, inline="always")
def _integer(x):
    """Addresses and places among the numbers of a constraint."""
    return (lambda x: int(primal(x))) if x == DUAL else None
