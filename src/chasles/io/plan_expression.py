"""Quantities of a plan that are written as expressions, "u('left') * v('wheel')": of inputs, coordinates and velocities
by name, time and parameters. As in model files, only arithmetic is understood, so nothing in a file can run code.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from chasles import plan
from chasles.model.expression import CONSTANTS
from chasles.model.suggestion import meant
from chasles.model.system import System
from chasles.relative.loop.closed import in_joint_coordinates

LONGEST_QUANTITY = 1000  # characters
Values = Callable[[dict[str, Any]], Any]  # of t, q, v, u and parameters


def _atan2(y: Any, x: Any) -> Any:
    a, b = np.asarray(y), np.asarray(x)
    value = np.arctan2(a.real, b.real)
    if not (np.iscomplexobj(a) or np.iscomplexobj(b)):
        return value
    return value + 1j * (b.real * a.imag - a.real * b.imag) / (a.real**2 + b.real**2)


# of complex numbers too, whose imaginary parts are changes
FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    **{name: (1, getattr(np, name)) for name in ("sin", "cos", "tan", "sqrt", "exp", "log", "tanh")},
    **{name: (1, getattr(np, f"arc{name[1:]}")) for name in ("asin", "acos", "atan")},
    "atan2": (2, _atan2),
    "hypot": (2, lambda a, b: np.sqrt(a * a + b * b)),
    "abs": (1, lambda a: np.where(np.real(a) < 0, -a, a)),
    "min": (2, lambda a, b: np.where(np.real(a) < np.real(b), a, b)),
    "max": (2, lambda a, b: np.where(np.real(a) > np.real(b), a, b)),
}
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


class Written:
    """Reads expressions for a system and its parameters."""

    def __init__(self, system: System, parameters: Mapping[str, float]):
        self.system, self.parameters = system, parameters
        tree = in_joint_coordinates("plan", system).tree
        self.places = {"q": tree.coordinates, "v": tree.velocities}
        self.inputs = {one.name: slice(k, k + 1) for k, one in enumerate(system.actuators)} or tree.velocities

    def quantity(self, text: str) -> Any:
        """The quantity of an expression; a ValueError says what is wrong with it."""
        if len(text) > LONGEST_QUANTITY:
            raise ValueError(f"the expression has {len(text)} characters; at most {LONGEST_QUANTITY} are read")
        self.used = set[str]()
        try:
            values = self._read(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, RecursionError, MemoryError):
            raise ValueError(f"{text!r} is not an expression") from None
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}") from None

        def function(t: Any, q: Any, v: Any, **more: Any) -> Any:
            return values(dict(self.parameters) | {"t": t, "q": q, "v": v} | more) + 0.0 * t

        names = ("t", "q", "v", *sorted(self.used - {"t", "q", "v"}))
        function.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])  # type: ignore[attr-defined]
        return plan.quantity(function, text)

    def _read(self, node: ast.expr) -> Values:
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as number):
                return lambda given, value=float(number): value  # type: ignore[misc]
            case ast.Name(id=name):
                return self._named(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._read(operand)
                return lambda given: -inner(given)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                one, other, of = self._read(left), self._read(right), OPERATORS[type(op)]
                return lambda given: of(one(given), other(given))
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str() as one_of), *more], keywords=[]):
                return self._place(name, one_of, more)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
                count, of = FUNCTIONS[name]
                if len(arguments) != count:
                    raise ValueError(f"{name} takes {count} of them, here {len(arguments)}")
                parts = [self._read(argument) for argument in arguments]
                return lambda given: of(*(part(given) for part in parts))
        raise ValueError(
            "expected numbers, t, parameters, q('joint'), v('joint'), u('actuator'), + - * / ** and "
            + ", ".join(FUNCTIONS)
        )

    def _named(self, name: str) -> Values:
        if name in CONSTANTS and name not in self.parameters:
            return lambda given: CONSTANTS[name]
        if name != "t" and name not in self.parameters:
            known = ("t", *self.parameters, *CONSTANTS)
            raise ValueError(f"{name!r} is unknown here; {meant(name, known)}known: {', '.join(known)}")
        self.used.add(name)
        return lambda given: given[name]

    def _place(self, kind: str, name: str, more: list[ast.expr]) -> Values:
        """A coordinate, a velocity or an input: q("guide", 1)."""
        places = self.inputs if kind == "u" else self.places.get(kind)
        if places is None:
            raise ValueError(f"{kind} of {name!r} is unknown; expected q, v or u")
        if name not in places:
            raise ValueError(f"{kind}({name!r}): {meant(name, places)}there are {', '.join(map(repr, places))}")
        own, index = places[name], 0
        size, rates = own.stop - own.start, self.places["v"].get(name, own)
        if kind == "q" and size != rates.stop - rates.start:
            raise ValueError(f"q({name!r}): the coordinates of this joint are a quaternion; take one with axes")
        match more:
            case []:
                pass
            case [ast.Constant(value=int() as index)] if 0 <= index < size:
                pass
            case _:
                raise ValueError(f"{kind}({name!r}) has {size} of them, counted from 0: {kind}({name!r}, 0)")
        self.used.add(kind)
        return lambda given: given[kind][:, own.start + index]
