"""Errors of Lie group functions against the high-precision definitions in `tests.oracle`.

A function is measured on samples: double inputs, taken exactly as they are, and the result the definition gives for
them. Inputs of inverse maps are elements computed by the definition and rounded to double.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp

from chasles import lie
from tests.oracle.definitions import ORACLE, THETAS, V_NORMS, directions, twists, ulp_error

BAR = 8.0  # ulp of the largest entry
BARRED_GROUPS = ("so3", "s3", "se3")
BARRED_FUNCTIONS = ("exp", "log", "dexp", "dexpinv", "cay", "cayinv", "dcay", "dcayinv")
BARRED = [(group, function) for group in BARRED_GROUPS for function in BARRED_FUNCTIONS]

INVERSE_OF = {"log": "exp", "rotation_log": "exp", "cayinv": "cay", "cay2inv": "cay2"}
ELEMENT_SHAPE = {"so3": (3, 3), "s3": (4,), "se3": (4, 4), "pose": (7,)}
SEED = 3


@dataclass(frozen=True)
class Sample:
    """Arguments and the true results; two are right where the angle may be taken on either side of the half turn."""

    theta: float
    v_norm: float
    args: tuple[np.ndarray, ...]
    truths: tuple[Any, ...]


@dataclass(frozen=True)
class Error:
    """Largest error of an entry: absolute, and in ulp of the largest entry of the true result."""

    theta: float
    v_norm: float
    absolute: float
    ulp: float


def inputs(group: str) -> Iterator[tuple[float, float, np.ndarray]]:
    """Angle, norm of the linear part and vector of the algebra; the linear part has norm 0 where there is none."""
    rng = np.random.default_rng(SEED)
    for theta in THETAS:
        if ORACLE[group].dim == 3:
            yield from ((theta, 0.0, theta * n) for n in directions(0, 8))
        else:
            yield from ((theta, v_norm, x) for v_norm in V_NORMS for x in twists(theta, rng, v_norm))


def rounded(group: str, element: Any) -> np.ndarray:
    """A group element of the oracle as an array of doubles."""
    return np.array([float(entry) for entry in element]).reshape(ELEMENT_SHAPE[group])


def logarithms(group: str, element: np.ndarray) -> list[Any]:
    """The logarithm, and beyond half of the largest angle also the one on the other side of the half turn."""
    oracle = ORACLE[group]
    x = oracle.log(element)
    angle = mp.norm(x[: oracle.angular])
    return [x] if angle <= oracle.half_turn * mp.pi / 2 else [x, oracle.other_log(x)]


def rotation_logarithms(quaternion: np.ndarray) -> list[Any]:
    """Logarithms of a unit quaternion that stands for a rotation: q and -q are the same."""
    x = ORACLE["s3"].log(quaternion)
    return [x] if mp.norm(x) <= mp.pi / 2 else [x, ORACLE["so3"].other_log(x)]


def _element_logarithms(group: str, element: np.ndarray) -> list[Any]:
    return rotation_logarithms(element) if group == "s3" else logarithms(group, element)


def _sample(group: str, function: str, x: np.ndarray, rng: np.random.Generator) -> tuple[tuple, list[Any]]:
    """Arguments and true results of a function for a vector x of the algebra."""
    oracle = ORACLE[group]
    if function == "dexpinv_of_element":
        element = rounded(group, oracle.exp(-x))
        return (element,), [oracle.dexpinv([-c for c in y]) for y in _element_logarithms(group, element)]
    if function in INVERSE_OF:
        element = rounded(group, getattr(oracle, INVERSE_OF[function])(x))
        if function == "log":
            return (element,), logarithms(group, element)
        if function == "rotation_log":
            return (element,), rotation_logarithms(element)
        return (element,), [getattr(oracle, function)(element)]
    args = (x, rng.normal(size=oracle.dim)) if function in ("ddexp", "ddexpinv") else (x,)
    return args, [getattr(oracle, function)(*args)]


@functools.cache
def samples(group: str, function: str) -> tuple[Sample, ...]:
    """All samples of a function.

    Besides the functions of chasles there are two, for libraries that have them: `rotation_log`, the logarithm of a
    quaternion taken as a rotation, and `dexpinv_of_element`, which takes g = exp(-X) and is dexpinv at -log(g).
    """
    rng = np.random.default_rng(SEED)
    found = []
    for theta, v_norm, x in inputs(group):
        args, truths = _sample(group, function, x, rng)
        found.append(Sample(theta, v_norm, args, tuple(truths)))
    return tuple(found)


def absolute_error(computed: np.ndarray, truth: Any) -> float:
    """Largest absolute error of an entry; infinite if one is not finite."""
    if not np.all(np.isfinite(computed)):
        return float("inf")
    return max(float(abs(mp.mpf(float(c)) - t)) for c, t in zip(np.ravel(computed), truth, strict=True))


def errors(group: str, function: str, call: Callable[..., Any]) -> list[Error]:
    """Errors of `call` on the samples of a function, in their order."""
    found = []
    for sample in samples(group, function):
        computed = np.asarray(call(*sample.args), dtype=float)
        absolute = min(absolute_error(computed, truth) for truth in sample.truths)
        ulp = min(ulp_error(computed, truth) for truth in sample.truths)
        found.append(Error(sample.theta, sample.v_norm, absolute, ulp))
    return found


def chasles_errors(group: str, function: str) -> list[Error]:
    """Errors of the function of that name in `chasles.lie`."""
    return errors(group, function, getattr(getattr(lie, group), function))


def worst_ulp(group: str, function: str) -> tuple[float, float]:
    """Largest error in ulp of a function of chasles over all samples, and the angle at which it occurs."""
    worst = max(chasles_errors(group, function), key=lambda error: error.ulp)
    return worst.ulp, worst.theta
