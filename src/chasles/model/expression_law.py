"""Laws written as expressions: "0.3 * smooth(t, 1, 2)" for a drive, "-40 * v - 5 * v * abs(v)" for a joint force.

The text is parsed as Python is, walked node by node, and becomes the program of a small machine (`model.program`);
nothing of it is executed as Python, and nothing has to be compiled. Its derivatives by time are exact, and the times at
which it jumps or begins to change are known to the integrator.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chasles.model import program as machine
from chasles.model.expression import LONGEST_LAW, used_names
from chasles.model.expression_builder import POINT_DISTANCE, POINT_SPEED, TIME_NAME, Builder
from chasles.model.expression_function import LAW_FUNCTIONS, Table, Term
from chasles.model.law import Law
from chasles.model.law_calls import law_values
from chasles.model.suggestion import meant

FEW = 16  # times at which the program is interpreted in less time than its loop takes to load


class Expression(Law):
    """A law written as one expression, or one for each number of its result.

    variables: the names it may use, t, and q and v of the joint it acts on. rates: the result is the value of the one
    expression with its first and second derivative by time, as a drive needs it. names: parameters by name.
    """

    def __init__(
        self,
        given: str | float | Sequence[str | float],
        *,
        variables: Sequence[str] = (TIME_NAME,),
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
        return isinstance(other, Expression) and self._meaning == other._meaning

    def __hash__(self) -> int:
        return hash(self._meaning)

    @property
    def _meaning(self) -> tuple[Any, ...]:
        """A program counts the joints and frames that it sees; their names are beside it."""
        return self.program, self.seen, self.variables, self.breaks

    def __reduce__(self) -> Any:
        return _again, (self.value, self.variables, self.rates, self.sees)

    @property
    def value(self) -> str | list[str]:
        """What a file holds: one expression or a list of them, with all parameters put in."""
        return self.texts[0] if len(self.texts) == 1 else list(self.texts)

    def renamed(self, rename: Callable[[str], str]) -> Expression:
        """The same law in a system where the joints and frames that it sees have other names."""
        if not self.seen:
            return self
        texts = [ast.unparse(_Renamed(rename).visit(parsed(text))) for text in self.texts]
        return Expression(texts, variables=self.variables, rates=self.rates, sees=self.sees)

    def slopes(self) -> tuple[tuple[float, ...], ...]:
        """Programs of the derivatives by distance and by speed of a law between two points: the same expression, in
        which one of these and time have changed places. None if it sees other joints."""
        if self.seen:
            return ()
        found = []
        for name, other in ((POINT_DISTANCE, POINT_SPEED), (POINT_SPEED, POINT_DISTANCE)):
            roles = {name: [machine.TIME], TIME_NAME: [machine.COORDINATE, 0], other: [machine.VELOCITY, 0]}
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
        return any(TIME_NAME in used_names(text) for text in self.texts)

    def at(self, t: float, q: Any = (), v: Any = ()) -> np.ndarray:
        """The result at a time: value, rate and acceleration of a drive, or the forces."""
        count = 3 if self.rates else len(self.texts)
        return machine.values_at(self.program, t, np.atleast_1d(q), np.atleast_1d(v), count)

    def over(self, times: np.ndarray) -> np.ndarray:
        """The result of a law of time at times of any shape, (..., numbers): compiled where they are many."""
        flat, count = times.ravel(), 3 if self.rates else len(self.texts)
        if flat.size <= FEW:
            found = np.array([self.at(t) for t in flat])
        else:
            found, none = np.empty((flat.size, count)), np.zeros((1, 0))
            rows, program = np.zeros(flat.size, dtype=np.int64), np.array(self.program)
            law_values(self.address, np.ascontiguousarray(flat), rows, none, none, program, found)
        return found.reshape(*times.shape, count)

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


class _Renamed(ast.NodeTransformer):
    """Changes all strings: an expression has no others than names of joints and frames."""

    def __init__(self, rename: Callable[[str], str]):
        self.rename = rename

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(self.rename(node.value)) if isinstance(node.value, str) else node


class _Constants(ast.NodeTransformer):
    """Puts values in the place of parameters, and their points in the place of tables."""

    def __init__(self, names: Mapping[str, float], tables: Mapping[str, Table] | None = None):
        self.names, self.tables = names, tables or {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [self.visit(argument) for argument in node.args]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        known = name in self.tables or name in LAW_FUNCTIONS or name in ("q", "v", POINT_DISTANCE, POINT_SPEED)
        if not known and (near := meant(name, self.tables)):
            raise ValueError(f"there is no function or table {name!r}; {near}tables: {', '.join(self.tables)}")
        if table := self.tables.get(name):
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
    elif isinstance(names, Mapping) and len(names):
        raise ValueError(
            f"{where}: parameters is {dict(names)!r}, but the value {value.value!r} has its parameters in their places "
            "already; give it as it was written, with their names"
        )
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
