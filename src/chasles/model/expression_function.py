"""Terms of expressions, and the functions that laws can use: each makes the operations of the small machine
(`model.program`) out of those of its arguments."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.model import program as machine

if TYPE_CHECKING:
    from chasles.model.expression_builder import Builder


@dataclass
class Term:
    """A part of an expression: a constant, or operations that leave it on the stack.

    `affine`: (a, b) if it is a t + b and nothing else. `depth`: how many values it needs on the stack.
    """

    code: list[float] = field(default_factory=list)
    depth: int = 1
    affine: tuple[float, float] | None = None

    @property
    def constant(self) -> float | None:
        return self.affine[1] if self.affine is not None and self.affine[0] == 0.0 else None


def number(value: float) -> Term:
    return Term([machine.CONSTANT, float(value)], 1, (0.0, float(value)))


@dataclass(frozen=True)
class Function:
    """A function of expressions: how it is written, what it is, and which of its arguments may be variable."""

    form: str
    what: str
    make: Callable[..., Term]
    least: int
    most: int
    variable: int  # so many of the first arguments; the others are constants


def _edges(form: str, first: Term, last: Term) -> tuple[float, float]:
    low, high = float(first.constant or 0.0), float(last.constant or 0.0)
    if not low < high:
        raise ValueError(f"{form}: begins at {low:g} and ends at {high:g}; expected an end after the begin")
    return low, high


def _rise(form: str, coefficients: Sequence[float]) -> Callable[..., Term]:
    """From 0 to 1 between two values of x by a polynomial of s = (x - begin) / (end - begin)."""

    def make(build: Builder, x: Term, first: Term, last: Term) -> Term:
        low, high = _edges(form, first, last)
        return build.pieces(x, [low, high], [[c / (high - low) ** k for k, c in enumerate(coefficients)]])

    return make


def _phase(build: Builder, form: str, x: Term, first: Term, last: Term) -> Term:
    """s from 0 to 1 between two values of x, held outside."""
    low, high = _edges(form, first, last)
    return build.pieces(x, [low, high], [[0.0, 1.0 / (high - low)]])


def _sine(build: Builder, s: Term, rate: float, phase: float = 0.0) -> Term:
    return build.one(machine.SINE, build.add(build.multiply(number(rate), s), number(phase)))


def _step(build: Builder, x: Term, edge: Term) -> Term:
    return build.select(build.subtract(x, edge), number(1.0), number(0.0))


def _sign(build: Builder, x: Term) -> Term:
    return build.select(x, number(1.0), number(-1.0))


def _trapezoid(build: Builder, x: Term, first: Term, last: Term, fraction: Term = number(1 / 3)) -> Term:  # noqa: B008
    form = LAW_FUNCTIONS["trapezoid"].form
    (low, high), part = _edges(form, first, last), float(fraction.constant or 0.0)
    if not 0.0 < part <= 0.5:
        raise ValueError(f"{form}: fraction is {part:g}; expected the part of the time that speeds up, up to 0.5")
    length, speed = high - low, 1.0 / ((1.0 - part) * (high - low))
    ramp = part * length
    rows = [[0.0, 0.0, speed / (2 * ramp)], [speed * ramp / 2, speed, 0.0]]
    knots = [low, low + ramp, high - ramp, high]
    ending = [1.0 - speed * ramp / 2, speed, -speed / (2 * ramp)]
    if part == 0.5:
        return build.pieces(x, [low, low + ramp, high], [rows[0], ending])
    return build.pieces(x, knots, [*rows, ending])


def _cycloid(build: Builder, x: Term, first: Term, last: Term) -> Term:
    s = _phase(build, LAW_FUNCTIONS["cycloid"].form, x, first, last)
    return build.subtract(s, build.multiply(number(1 / math.tau), _sine(build, s, math.tau)))


def _modified_sine(build: Builder, x: Term, first: Term, last: Term) -> Term:
    """Acceleration by a quick sine over the first and last eighth, and a slow one in between."""
    s = _phase(build, LAW_FUNCTIONS["modified_sine"].form, x, first, last)
    a, pi = 1.0 / (4.0 + math.pi), math.pi
    quick, slow = _sine(build, s, 4 * pi), _sine(build, s, 4 * pi / 3, pi / 3)
    line = build.multiply(number(pi * a), s)
    ends = build.subtract(line, build.multiply(number(a / 4), quick))
    middle = build.subtract(build.add(line, number(2 * a)), build.multiply(number(9 * a / 4), slow))
    after = build.add(ends, number(4 * a))
    begun = build.select(build.subtract(s, number(7 / 8)), after, middle)
    for part in (1 / 8, 7 / 8):
        build.changes(x, float(first.constant or 0.0) + part * float((last.constant or 0.0) - (first.constant or 0.0)))
    return build.select(build.subtract(s, number(1 / 8)), begun, ends)


def _half_sine(build: Builder, x: Term, first: Term, last: Term) -> Term:
    s = _phase(build, LAW_FUNCTIONS["half_sine"].form, x, first, last)
    return _sine(build, s, math.pi)


def _sweep(build: Builder, x: Term, f0: Term, f1: Term, first: Term, last: Term) -> Term:
    """sin of 2 pi times the integral of a frequency that goes from f0 to f1 between two times; zero before, and on at
    f1 after."""
    low, high = _edges(LAW_FUNCTIONS["sweep"].form, first, last)
    a, b, length = float(f0.constant or 0.0), float(f1.constant or 0.0), high - low
    turns = build.pieces(x, [low, high], [[0.0, a, (b - a) / (2 * length)]])
    after = build.multiply(number(b), build.larger(build.subtract(x, last), number(0.0)))
    return _sine(build, build.add(turns, after), math.tau)


def _harmonics(build: Builder, x: Term, *coefficients: Term) -> Term:
    """a0 + a1 cos x + b1 sin x + a2 cos 2x + b2 sin 2x + ..."""
    total = coefficients[0]
    for k, coefficient in enumerate(coefficients[1:]):
        order, phase = k // 2 + 1, (math.pi / 2 if k % 2 == 0 else 0.0)
        total = build.add(total, build.multiply(coefficient, _sine(build, x, float(order), phase)))
    return total


def _abs(build: Builder, x: Term) -> Term:
    build.changes(x, 0.0)
    return build.one(machine.MAGNITUDE, x)


def _tan(build: Builder, x: Term) -> Term:
    return build.divide(build.one(machine.SINE, x), build.one(machine.COSINE, x))


def _asin(build: Builder, x: Term) -> Term:
    rest = build.multiply(build.subtract(number(1.0), x), build.add(number(1.0), x))
    return _atan2(build, x, build.power(rest, number(0.5)))


def _atan2(build: Builder, y: Term, x: Term) -> Term:
    return Term([*y.code, *x.code, machine.ANGLE], max(y.depth, 1 + x.depth))


def _tanh(build: Builder, x: Term) -> Term:
    double = build.one(machine.EXPONENTIAL, build.multiply(number(2.0), x))
    return build.subtract(number(1.0), build.divide(number(2.0), build.add(double, number(1.0))))


def _many(combine: Callable[[Builder, Term, Term], Term]) -> Callable[..., Term]:
    def make(build: Builder, first: Term, *more: Term) -> Term:
        return functools.reduce(lambda a, b: combine(build, a, b), more, first)

    return make


def _smaller(build: Builder, a: Term, b: Term) -> Term:
    return build.negative(build.larger(build.negative(a), build.negative(b)))


def _elementary(name: str, kind: int) -> Function:
    return Function(f"{name}(x)", "", lambda build, x: build.one(kind, x), 1, 1, 1)


class Table(NamedTuple):
    """Points that a law goes through; `kind` is one of `TABLES`."""

    kind: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def checked(table: Table) -> Table:
    """A table whose points can be joined; a ValueError says what is wrong with it."""
    kind, x, y = table
    if len(x) != len(y) or len(x) < 2:
        raise ValueError(f"{kind}: {len(x)} numbers in x and {len(y)} in y; expected the same number, at least two")
    for before, after in itertools.pairwise(x):
        if not before < after:
            raise ValueError(f"{kind}: {after:g} follows {before:g}; expected x in ascending order")
    if kind == "periodic" and y[0] != y[-1]:
        raise ValueError(f"{kind}: begins with {y[0]:g} and ends with {y[-1]:g}; expected the same value")
    return table


def through_points(build: Builder, kind: str, at: Term, x: list[float], y: list[float]) -> Term:
    """Through the points of a table: straight lines, or a cubic spline whose acceleration has no jump."""
    from scipy.interpolate import CubicSpline

    checked(Table(kind, tuple(x), tuple(y)))
    if kind == "table" or len(x) == 2:
        return build.pieces(at, x, np.column_stack([y[:-1], np.diff(y) / np.diff(x)]).tolist())
    rows = CubicSpline(x, y, bc_type=TABLES[kind].ends).c[::-1].T.tolist()
    if kind == "periodic":
        at = build.one(machine.WRAP, at, x[0], x[-1] - x[0])
    return build.pieces(at, x, rows, smooth=True)


class TableKind(NamedTuple):
    """How the points of a table are joined: what people read, and the ends of a spline as SciPy calls them."""

    what: str
    ends: str = ""


TABLES = {
    "table": TableKind("straight lines through the points of a table"),
    "spline": TableKind("a cubic spline through the points of a table, held outside of it", "not-a-knot"),
    "clamped": TableKind("a cubic spline that begins and ends at rest", "clamped"),
    "periodic": TableKind("a cubic spline that repeats itself, as a cam does", "periodic"),
}
ANY = 100
LAW_FUNCTIONS = {
    "sin": _elementary("sin", machine.SINE),
    "cos": _elementary("cos", machine.COSINE),
    "tan": Function("tan(x)", "", _tan, 1, 1, 1),
    "asin": Function("asin(x)", "", _asin, 1, 1, 1),
    "acos": Function("acos(x)", "", lambda b, x: b.subtract(number(math.pi / 2), _asin(b, x)), 1, 1, 1),
    "atan": _elementary("atan", machine.ARCTANGENT),
    "atan2": Function("atan2(y, x)", "", _atan2, 2, 2, 2),
    "sqrt": Function("sqrt(x)", "", lambda b, x: b.power(x, number(0.5)), 1, 1, 1),
    "exp": _elementary("exp", machine.EXPONENTIAL),
    "log": _elementary("log", machine.LOGARITHM),
    "hypot": Function(
        "hypot(x, y)", "", lambda b, x, y: b.power(b.add(b.multiply(x, x), b.multiply(y, y)), number(0.5)), 2, 2, 2
    ),
    "abs": Function("abs(x)", "", _abs, 1, 1, 1),
    "min": Function("min(x, y, ...)", "", _many(_smaller), 2, ANY, ANY),
    "max": Function("max(x, y, ...)", "", _many(lambda build, a, b: build.larger(a, b)), 2, ANY, ANY),
    "tanh": Function("tanh(x)", "", _tanh, 1, 1, 1),
    "sign": Function("sign(x)", "1 from zero on, -1 below", _sign, 1, 1, 1),
    "step": Function("step(x, edge)", "0, and 1 from the edge on", _step, 2, 2, 1),
    "ramp": Function("ramp(x, begin, end)", "from 0 to 1 in a straight line", _rise("ramp", [0, 1]), 3, 3, 1),
    "smooth3": Function(
        "smooth3(x, begin, end)",
        "from 0 to 1, speed without a jump: degree 3",
        *(_rise("smooth3", [0, 0, 3, -2]), 3, 3, 1),
    ),
    "smooth": Function(
        "smooth(x, begin, end)",
        "from 0 to 1, speed and acceleration without a jump: degree 5",
        *(_rise("smooth", [0, 0, 0, 10, -15, 6]), 3, 3, 1),
    ),
    "smooth7": Function(
        "smooth7(x, begin, end)",
        "from 0 to 1, jerk too without a jump: degree 7",
        *(_rise("smooth7", [0, 0, 0, 0, 35, -84, 70, -20]), 3, 3, 1),
    ),
    "trapezoid": Function(
        "trapezoid(x, begin, end, fraction)",
        "from 0 to 1 with a speed that rises, stays and falls; fraction (1/3) is the part that rises",
        *(_trapezoid, 3, 4, 1),
    ),
    "cycloid": Function("cycloid(x, begin, end)", "from 0 to 1, acceleration a sine", _cycloid, 3, 3, 1),
    "modified_sine": Function(
        "modified_sine(x, begin, end)", "from 0 to 1, the cam law of modified sines", _modified_sine, 3, 3, 1
    ),
    "half_sine": Function("half_sine(x, begin, end)", "one half wave of a sine, 0 outside", _half_sine, 3, 3, 1),
    "sweep": Function(
        "sweep(t, f0, f1, begin, end)", "a sine whose frequency goes from f0 to f1 [Hz]", _sweep, 5, 5, 1
    ),
    "harmonics": Function(
        "harmonics(x, a0, a1, b1, a2, b2, ...)", "a0 + a1 cos x + b1 sin x + a2 cos 2x + ...", _harmonics, 2, ANY, 1
    ),
}
