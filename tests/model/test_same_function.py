"""Functions that are made anew are the same if all that they hold is."""

import functools

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from chasles.model.same_function import same_function


class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness
        self.itself = self

    def __call__(self, t):
        return self.stiffness * t

    def damped(self, t):
        return self.stiffness * t


class Slotted(Spring):
    __slots__ = ("more",)

    def __init__(self, more):
        super().__init__(1.0)
        self.more = more


def pull(stiffness, t):
    return stiffness * t


def closed(value):
    return lambda t: value


def counting(stiffness):
    calls = []

    def counts(t):
        calls.append(t)
        return stiffness * t

    return counts


def local(stiffness):
    class Own:
        def __call__(self, t):
            return stiffness * t

    return Own()


MADE = {
    "an object": Spring,
    "a method of an object": lambda x: Spring(x).damped,
    "an object with slots": Slotted,
    "an object of a local class": local,
    "a partial function": lambda x: functools.partial(pull, x),
    "a partial function by name": lambda x: functools.partial(pull, stiffness=x),
    "an array": lambda x: closed(np.array([1.0, x])),
    "a list in a dict": lambda x: closed({"rows": [1.0, x]}),
    "a function in a function": lambda x: closed(closed(x)),
    "a spline": lambda x: closed(CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, x])),
    "a default": lambda x: lambda t, gain=x: gain * t,
    "a function with a memory": counting,
}


@pytest.mark.parametrize("what", MADE)
def test_functions_are_the_same_if_all_that_they_hold_is(what):
    make = MADE[what]
    assert same_function(make(2.0), make(2.0))
    assert not same_function(make(2.0), make(3.0))


def test_other_code_is_another_function():
    assert not same_function(lambda t: 2.0 * t, lambda t: 3.0 * t)
    assert not same_function(Spring(1.0), closed(1.0))
    assert not same_function(closed(np.ones(2)), closed(1.0))
