"""Numbers given by expressions of parameters, such as "length / 2" or "30 * deg": arithmetic, and nothing else.

The text is parsed as a Python expression and walked node by node; only numbers, known names, + - * / ** and the
functions below are understood, so that nothing in a file can run code. Everything is a float.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter

LONGEST = 400  # characters
LONGEST_LAW = 100_000  # of a law, which may have a table in it
CONSTANTS = {"pi": math.pi, "tau": math.tau, "deg": math.pi / 180.0, "inf": math.inf}
FUNCTIONS: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")},
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "hypot")},
    "abs": abs,
    "min": min,
    "max": max,
}
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: lambda base, power: math.pow(base, power),
}


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """The value of an expression; a ValueError says what is wrong with it."""
    if len(text) > LONGEST:
        raise ValueError(f"the expression has {len(text)} characters; at most {LONGEST} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _value(tree.body, names)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is not an expression") from None
    except (ArithmeticError, TypeError) as error:
        raise ValueError(f"{text!r} has no value: {error}") from None
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            if name in names:
                return names[name]
            if name in CONSTANTS:
                return CONSTANTS[name]
            known = ", ".join([*names, *CONSTANTS])
            raise ValueError(f"{name!r} is not a parameter; known: {known}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return float(FUNCTIONS[name](*(_value(argument, names) for argument in arguments)))
    raise ValueError(f"expected numbers, parameters, + - * / ** and {', '.join(FUNCTIONS)}")


def used_names(text: str) -> set[str]:
    """The names in an expression, for the order in which parameters are evaluated; empty if it is none."""
    try:
        tree = ast.parse(text[:LONGEST_LAW].strip(), mode="eval")
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def evaluate_all(given: Mapping[str, float | str]) -> dict[str, float]:
    """Values of parameters, each a number or an expression of others; a circle is an error that names it."""
    uses = {name: used_names(value) & given.keys() if isinstance(value, str) else () for name, value in given.items()}
    try:
        order = list(TopologicalSorter({name: sorted(others) for name, others in uses.items()}).static_order())
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise ValueError(f"parameters depend on each other in a circle: {circle}") from None
    values: dict[str, float] = {}
    for name in order:
        value = given[name]
        values[name] = evaluate(value, values) if isinstance(value, str) else float(value)
    return {name: values[name] for name in given}
