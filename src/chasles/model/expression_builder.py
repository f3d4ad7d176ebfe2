"""From the text of a law to the program of the small machine (`model.program`), node by node: nothing of it is executed
as Python. Times at which it jumps or begins to change are gathered on the way."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chasles.model import program as machine
from chasles.model.expression import CONSTANTS
from chasles.model.expression_function import LAW_FUNCTIONS, TABLES, Term, number, through_points
from chasles.model.suggestion import meant

TIME_NAME = "t"
ARRAYS = {"q": machine.COORDINATE, "v": machine.VELOCITY}  # of the joint on which a force acts
POINT_DISTANCE, POINT_SPEED = "distance", "speed"  # of the two points between which a force acts
# what a variable of one number is for the machine
ROLES = {TIME_NAME: [machine.TIME], POINT_DISTANCE: [machine.COORDINATE, 0], POINT_SPEED: [machine.VELOCITY, 0]}


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
                return through_points(
                    self, name, self.term(first), *([self._constant(item) for item in row] for row in (x, y))
                )
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
        raise ValueError(f"{name!r} is unknown here; known: {known}")

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
            raise ValueError(f"{name!r} is unknown here; known: {', '.join(self.variables)}")
        self.count[name] = max(self.count[name], index + 1)
        return Term([ARRAYS[name], index])

    def _call(self, name: str, arguments: list[Term]) -> Term:
        if name not in LAW_FUNCTIONS:
            near = meant(name, LAW_FUNCTIONS)
            raise ValueError(f"there is no function {name!r}; {near}known: {', '.join(LAW_FUNCTIONS)}")
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
