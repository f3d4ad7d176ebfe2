"""Laws written as expressions: "0.3 * smooth(t, 1, 2)" for a drive, "-40 * v - 5 * v * abs(v)" for a joint force.

The text is parsed as Python is, walked node by node, and becomes the program of a small machine (`model.program`);
nothing of it is executed as Python, and nothing has to be compiled. Its derivatives by time are exact, and the times at
which it jumps or begins to change are known to the integrator.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from chasles.model import program as machine
from chasles.model.expression import CONSTANTS, LONGEST_LAW, used_names
from chasles.model.law import Law
from chasles.model.suggestion import meant

TIME = "t"
ARRAYS = {"q": machine.COORDINATE, "v": machine.VELOCITY}  # of the joint on which a force acts
POINT_DISTANCE, POINT_SPEED = "distance", "speed"  # of the two points between which a force acts
# what a variable of one number is for the machine
ROLES = {TIME: [machine.TIME], POINT_DISTANCE: [machine.COORDINATE, 0], POINT_SPEED: [machine.VELOCITY, 0]}


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


class Builder:
    """Makes programs of expressions, and gathers the times at which they change."""

    def __init__(
        self,
        names: Mapping[str, float],
        variables: Sequence[str],
        roles: Mapping[str, Sequence[float]] = ROLES,
        sees: bool = False,
    ):
        self.sees = sees  # whether it may use coordinates of other joints
        self.names, self.variables, self.roles = names, variables, roles
        self.seen: list[tuple[str, int | str]] = []  # coordinates of other joints, pairs of frames
        self.breaks: list[float] = []
        self.bare: set[str] = set()  # q or v without an index
        self.count = dict.fromkeys(ARRAYS, 0)  # how many coordinates and velocities there must be

    # -------------------------------------------------------------- arithmetic

    def add(self, a: Term, b: Term) -> Term:
        return self._two(machine.ADD, a, b, lambda x, y: (x[0] + y[0], x[1] + y[1]))

    def subtract(self, a: Term, b: Term) -> Term:
        return self._two(machine.SUBTRACT, a, b, lambda x, y: (x[0] - y[0], x[1] - y[1]))

    def multiply(self, a: Term, b: Term) -> Term:
        affine = None
        if a.constant is not None and b.affine is not None:
            affine = (a.constant * b.affine[0], a.constant * b.affine[1])
        elif b.constant is not None and a.affine is not None:
            affine = (b.constant * a.affine[0], b.constant * a.affine[1])
        return self._two(machine.MULTIPLY, a, b, lambda x, y: affine)

    def _two(self, kind: int, a: Term, b: Term, affine: Callable[[Any, Any], Any]) -> Term:
        found = affine(a.affine, b.affine) if a.affine is not None and b.affine is not None else None
        if found is not None and found[0] == 0.0:
            return number(found[1])
        return Term([*a.code, *b.code, kind], max(a.depth, 1 + b.depth), found)

    def negative(self, a: Term) -> Term:
        return self.multiply(number(-1.0), a)

    def one(self, kind: int, a: Term, *operands: float) -> Term:
        """A function of one term; of a constant it is a constant."""
        term = Term([*a.code, kind, *operands], a.depth)
        return number(self.value(term)) if a.constant is not None else term

    def power(self, a: Term, b: Term) -> Term:
        if b.constant is not None:
            if a.constant is not None:
                return number(math.pow(a.constant, b.constant))
            return number(1.0) if b.constant == 0.0 else self.one(machine.POWER, a, b.constant)
        return self.one(machine.EXPONENTIAL, self.multiply(b, self.one(machine.LOGARITHM, a)))

    def divide(self, a: Term, b: Term) -> Term:
        if b.constant is not None:
            if b.constant == 0.0:
                raise ValueError("division by zero")
            if a.affine is not None:
                return self._two(
                    machine.MULTIPLY, a, number(1.0 / b.constant), lambda x, y: (x[0] / b.constant, x[1] / b.constant)
                )
        return self.multiply(a, self.one(machine.RECIPROCAL, b))

    def larger(self, a: Term, b: Term) -> Term:
        self.changes(self.subtract(a, b), 0.0)
        return Term([*a.code, *b.code, machine.LARGER], max(a.depth, 1 + b.depth))

    def select(self, condition: Term, a: Term, b: Term) -> Term:
        """a from where the condition is zero on, else b."""
        self.changes(condition, 0.0)
        code = [*condition.code, *a.code, *b.code, machine.SELECT]
        return Term(code, max(condition.depth, 1 + a.depth, 2 + b.depth))

    def pieces(self, x: Term, knots: Sequence[float], rows: Sequence[Sequence[float]], smooth: bool = False) -> Term:
        """A polynomial in pieces, each by powers of the distance from its first knot; held outside of the knots.
        smooth: nothing happens at the knots but the first and last."""
        for knot in (knots[0], knots[-1]) if smooth else knots:
            self.changes(x, knot)
        degree = len(rows[0]) - 1
        return self.one(machine.POLYNOMIAL, x, len(rows), degree, *knots, *(c for row in rows for c in row))

    def changes(self, x: Term, at: float) -> None:
        """Something happens where the term is `at`; if it is affine in time, that time is known."""
        if x.affine is not None and x.affine[0] != 0.0:
            self.breaks.append((at - x.affine[1]) / x.affine[0])

    def value(self, term: Term) -> float:
        """Of a term without variables."""
        return float(machine.values_at([1, *term.code, machine.END], 0.0, count=1)[0])

    # -------------------------------------------------------------- reading

    def term(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as value):
                return number(float(value))
            case ast.Name(id=name):
                return self._named(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as index)) if name in ARRAYS:
                return self._component(name, index)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.negative(self.term(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.term(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self, self.term(left), self.term(right))
            case ast.Call(func=ast.Name(id=name), args=[first, ast.List(elts=x), ast.List(elts=y)], keywords=[]) if (
                name in TABLES
            ):
                return _table(self, name, self.term(first), *([self._constant(item) for item in row] for row in (x, y)))
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str() as joint), *more], keywords=[]) if (
                name in ARRAYS
            ):
                return self._of_joint(name, joint, more)
            case ast.Call(
                func=ast.Name(id="distance" | "speed" as name),
                args=[ast.Constant(value=str() as one), ast.Constant(value=str() as other)],
                keywords=[],
            ):
                return self._see(
                    ARRAYS["q" if name == POINT_DISTANCE else "v"], f"{name}({one!r}, {other!r})", one, other
                )
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, [self.term(argument) for argument in arguments])
        raise ValueError(f"expected numbers, {', '.join([*self.variables, *self.names])}, + - * / ** and functions")

    def _constant(self, node: ast.expr) -> float:
        value = self.term(node).constant
        if value is None or not math.isfinite(value):
            raise ValueError("a table has something else than numbers in it")
        return value

    def _named(self, name: str) -> Term:
        if name in self.names:
            return number(self.names[name])
        if name in self.roles and name in self.variables:
            code = list(self.roles[name])
            return Term(code, 1, (1.0, 0.0) if code == [machine.TIME] else None)
        if name in ARRAYS and name in self.variables:
            self.bare.add(name)
            return self._component(name, 0)
        if name in CONSTANTS:
            return number(CONSTANTS[name])
        known = ", ".join([*self.variables, *self.names, *CONSTANTS])
        raise ValueError(f"{name!r} is unknown here; known are {known}")

    def _of_joint(self, name: str, joint: str, more: Sequence[ast.expr]) -> Term:
        """A coordinate or velocity of another joint, q("crank"), q("guide", 1)."""
        match list(more):
            case []:
                index = 0
            case [ast.Constant(value=int() as index)] if not isinstance(index, bool):
                pass
            case _:
                raise ValueError(f"{name} takes the name of a joint, and which of its coordinates: {name}('crank', 0)")
        return self._see(ARRAYS[name], f"{name}({joint!r})", joint, index)

    def _see(self, kind: int, text: str, name: str, which: int | str) -> Term:
        """A coordinate of a joint, or the distance of two frames; or the rate of it."""
        if not self.sees:
            raise ValueError(f"{text} is for forces; here a law depends on time alone")
        if (name, which) not in self.seen:
            self.seen.append((name, which))
        if len(self.seen) > machine.MOST_SEEN:
            raise ValueError(f"uses more than {machine.MOST_SEEN} coordinates of other joints and distances of frames")
        return Term([kind, machine.OWN_ARGUMENTS + self.seen.index((name, which))])

    def _component(self, name: str, index: int) -> Term:
        if name not in self.variables:
            raise ValueError(f"{name!r} is unknown here; known are {', '.join(self.variables)}")
        self.count[name] = max(self.count[name], index + 1)
        return Term([ARRAYS[name], index])

    def _call(self, name: str, arguments: list[Term]) -> Term:
        if name not in LAW_FUNCTIONS:
            near = meant(name, LAW_FUNCTIONS)
            raise ValueError(f"there is no function {name!r}; {near}known are {', '.join(LAW_FUNCTIONS)}")
        function = LAW_FUNCTIONS[name]
        if not function.least <= len(arguments) <= function.most:
            raise ValueError(f"{name} takes {function.form}; {len(arguments)} given")
        for argument in arguments[function.variable :]:
            if argument.constant is None:
                raise ValueError(f"{function.form}: only the first argument may depend on {', '.join(self.variables)}")
        return function.make(self, *arguments)


_OPERATORS: dict[type[ast.operator], Callable[[Builder, Term, Term], Term]] = {
    ast.Add: Builder.add,
    ast.Sub: Builder.subtract,
    ast.Mult: Builder.multiply,
    ast.Div: Builder.divide,
    ast.Pow: Builder.power,
}


# ---------------------------------------------------------------- functions


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
        raise ValueError(f"{kind}: {len(x)} places and {len(y)} values; expected as many, at least two")
    for before, after in itertools.pairwise(x):
        if not before < after:
            raise ValueError(f"{kind}: {after:g} follows {before:g}; expected places in ascending order")
    if kind == "periodic" and y[0] != y[-1]:
        raise ValueError(f"{kind}: begins with {y[0]:g} and ends with {y[-1]:g}; expected the same value")
    return table


def _table(build: Builder, kind: str, at: Term, x: list[float], y: list[float]) -> Term:
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
    "max": Function("max(x, y, ...)", "", _many(Builder.larger), 2, ANY, ANY),
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


# ---------------------------------------------------------------- the law


class Expression(Law):
    """A law written as one expression, or one for each number of its result.

    variables: the names it may use, t, and q and v of the joint it acts on. rates: the result is the value of the one
    expression with its first and second derivative by time, as a drive needs it. names: parameters by name.
    """

    def __init__(
        self,
        given: str | float | Sequence[str | float],
        *,
        variables: Sequence[str] = (TIME,),
        rates: bool = False,
        names: Mapping[str, float] | None = None,
        sees: bool = False,
    ):
        texts = [given] if isinstance(given, str | int | float) else list(given)
        build = Builder(dict(names or {}), variables, sees=sees)
        code: list[float] = []
        written = []
        for text in texts:
            tree = parsed(text) if isinstance(text, str) else ast.Constant(float(text))
            term = _explained(text, build, tree)
            if term.depth > machine.DEPTH:
                raise ValueError(f"{text!r} is nested too deeply: {term.depth} values at once, at most {machine.DEPTH}")
            code += [*term.code, machine.END]
            written.append(_unparsed(tree, build.names))
        self.program = (float(machine.ONE_WITH_RATES if rates else len(texts)), *map(float, code))
        self.texts, self.variables, self.rates = tuple(written), tuple(variables), rates
        self.sees, self.seen = sees, tuple(build.seen)
        self.bare, self.count = frozenset(build.bare), build.count
        super().__init__(machine.INTERPRETED, sorted(set(build.breaks)))
        self.__name__ = ", ".join(self.texts)

    def __repr__(self) -> str:
        return f"Expression({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.program == other.program

    def __hash__(self) -> int:
        return hash(self.program)

    def __reduce__(self) -> Any:
        return _again, (self.value, self.variables, self.rates, self.sees)

    @property
    def value(self) -> str | list[str]:
        """What a file holds: one expression or a list of them, with all parameters put in."""
        return self.texts[0] if len(self.texts) == 1 else list(self.texts)

    def slopes(self) -> tuple[tuple[float, ...], ...]:
        """Programs of the derivatives by distance and by speed of a law between two points: the same expression, in
        which one of these and time have changed places. None if it sees other joints."""
        if self.seen:
            return ()
        found = []
        for name, other in ((POINT_DISTANCE, POINT_SPEED), (POINT_SPEED, POINT_DISTANCE)):
            roles = {name: [machine.TIME], TIME: [machine.COORDINATE, 0], other: [machine.VELOCITY, 0]}
            term = _explained(self.texts[0], Builder({}, self.variables, roles), parsed(self.texts[0]))
            found.append((float(machine.ONE_WITH_RATES), *map(float, term.code), float(machine.END)))
        return tuple(found)

    def check_seen(self, where: str, system: Any) -> None:
        """Whether a system has what is used of other joints and of frames."""
        for name, index in self.seen:
            if isinstance(index, str):
                for one in (name, index):
                    system.place(one, f"{where}: value {self.value!r}")
                continue
            found = system.joint(name, where)
            if found.nq != found.nv:
                raise ValueError(
                    f"{where}: value {self.value!r} uses coordinates of {name!r}, a {found.kind} joint, whose "
                    "coordinates are a quaternion; take a joint with angles or lengths"
                )
            if not 0 <= index < found.nv:
                raise ValueError(
                    f"{where}: value {self.value!r} uses coordinate {index} of {name!r}, which has {found.nv} of them, "
                    "counted from 0"
                )

    @property
    def in_time(self) -> bool:
        """Whether it depends on time."""
        return any(TIME in used_names(text) for text in self.texts)

    def at(self, t: float, q: Any = (), v: Any = ()) -> np.ndarray:
        """The result at a time: value, rate and acceleration of a drive, or the forces."""
        count = 3 if self.rates else len(self.texts)
        return machine.values_at(self.program, t, np.atleast_1d(q), np.atleast_1d(v), count)

    @property
    def compiled(self) -> Law:
        return _SHARED

    @property
    def address(self) -> int:
        return _SHARED.address

    def check(self, where: str, joint: str, nq: int, nv: int) -> None:
        """Whether a joint has the coordinates that are used."""
        for name, size in (("q", nq), ("v", nv)):
            if name in self.bare and size != 1:
                raise ValueError(
                    f"{where}: value {self.value!r} uses {name}, but joint {joint!r} has {size} of them; "
                    f"write {name}[0] to {name}[{size - 1}]"
                )
            if self.count[name] > size:
                raise ValueError(
                    f"{where}: value {self.value!r} uses {name}[{self.count[name] - 1}], but joint {joint!r} has "
                    f"{size} of them, counted from 0"
                )

    def jumps(self, start: float, end: float) -> list[tuple[float, float, float]]:
        """Times between start and end at which the value or the rate of a drive jumps, with how much."""
        near, found = 1e-9 * (end - start), []
        sizes = np.abs([self.at(t) for t in np.linspace(start, end, 41)]).max(axis=0)
        for time in self.declared(np.array(self.program)):
            if not start < time < end:
                continue
            before, after = self.at(time - near), self.at(time + near)
            # what is left when the rates have explained what they can
            value = after[0] - before[0] - near * (before[1] + after[1])
            speed = after[1] - before[1] - near * (before[2] + after[2])
            jump = abs(value) > 1e-6 * sizes[0]
            if jump or abs(speed) > 1e-6 * max(sizes[1], abs(before[1]), abs(after[1])):
                found.append((time, float(value) if jump else 0.0, float(speed)))
        return found


def _again(value: Any, variables: Sequence[str], rates: bool, sees: bool) -> Expression:
    return Expression(value, variables=variables, rates=rates, sees=sees)


_SHARED = Law(machine.interpret)  # the one compiled function of all expressions


class _Constants(ast.NodeTransformer):
    """Puts values in the place of parameters, and their points in the place of tables."""

    def __init__(self, names: Mapping[str, float], tables: Mapping[str, Table] | None = None):
        self.names, self.tables = names, tables or {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [self.visit(argument) for argument in node.args]
        if isinstance(node.func, ast.Name) and (table := self.tables.get(node.func.id)):
            points = [ast.List([_literal(value) for value in row], ast.Load()) for row in (table.x, table.y)]
            return ast.Call(ast.Name(table.kind, ast.Load()), [*node.args, *points], node.keywords)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.names:
            return node
        return _literal(self.names[node.id])


def _literal(value: float) -> ast.expr:
    size = ast.Name("inf") if math.isinf(value) else ast.Constant(abs(float(value)))
    return ast.UnaryOp(ast.USub(), size) if math.copysign(1.0, value) < 0 else size


def parsed(text: str) -> ast.expr:
    """The tree of an expression."""
    if len(text) > LONGEST_LAW:
        raise ValueError(f"the expression has {len(text)} characters; at most {LONGEST_LAW} are read")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        raise ValueError(f"{text!r} is not an expression") from None


def _explained(text: Any, build: Builder, tree: ast.expr) -> Term:
    try:
        return build.term(tree)
    except (ArithmeticError, RecursionError) as error:
        raise ValueError(f"{text!r} has no value: {error}") from None
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


# ---------------------------------------------------------------- in the place of a law


def written(value: Any) -> bool:
    """Whether a value is an expression, or has one among its numbers."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(isinstance(item, str) for item in value)
    return isinstance(value, str | Expression)


def settle_expression(item: Any, where: str, variables: Sequence[str], rates: bool = False, sees: bool = False) -> None:
    """Make the value of a force or drive an expression, and its program the parameters."""
    value, names = item.value, item.parameters
    if not isinstance(value, Expression):
        if not isinstance(names, Mapping) and len(names):
            raise ValueError(f"{where}: parameters is {names!r}; of expressions they have names: {{'speed': 3.0}}")
        try:
            own = dict(names) if len(names) else None
            value = Expression(value, variables=variables, rates=rates, names=own, sees=sees)
        except ValueError as error:
            raise ValueError(f"{where}: value {error}") from None
    object.__setattr__(item, "value", value)
    object.__setattr__(item, "parameters", value.program)


def put_in(text: str, names: Mapping[str, float], tables: Mapping[str, Table] | None = None) -> str:
    """An expression with the values of parameters and tables in the place of their names."""
    return _unparsed(parsed(text), names, tables)


def _unparsed(tree: ast.expr, names: Mapping[str, float], tables: Mapping[str, Table] | None = None) -> str:
    try:
        return ast.unparse(ast.fix_missing_locations(_Constants(names, tables).visit(tree)))
    except RecursionError:
        raise ValueError("the expression is nested too deeply") from None
