"""The syntax tree of a function, if its source is still what was compiled."""

from __future__ import annotations

import ast
import functools
import linecache
import operator
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

UNKNOWN = object()  # what a value is that is known only when the kernel runs
ARITHMETIC: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
SIGNS: dict[type, Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}


def tree_of(function: FunctionType) -> ast.FunctionDef | None:
    """The definition of a function; None if there is none, or if the source was edited since."""
    code = function.__code__
    found = _definitions(code.co_filename).get((code.co_name, code.co_firstlineno))
    return found[0] if found and _same(found[1], code) else None


@functools.cache
def _definitions(filename: str) -> dict[tuple[str, int], tuple[ast.FunctionDef, CodeType]]:
    """The functions of a file, or of a text that was compiled, by name and first line."""
    text = _text(filename)
    try:
        tree = ast.parse(text)
        codes = {(code.co_name, code.co_firstlineno): code for code in _codes(compile(text, filename, "exec", 0, True))}
    except (SyntaxError, ValueError):
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            place = node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if place in codes:
                found[place] = node, codes[place]
    return found


def _text(filename: str) -> str:
    if filename in linecache.cache:  # a text that was compiled
        return "".join(linecache.getlines(filename))
    try:
        return Path(filename).read_text(encoding="utf-8")
    except OSError:
        return ""


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _same(one: CodeType, other: CodeType) -> bool:
    def meaning(code: CodeType) -> tuple:
        constants = [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]
        return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars

    return meaning(one) == meaning(other)


@functools.cache
def names_in(node: ast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a part of a program reads, and those that it sets."""
    reads: set[str] = set()
    sets: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            (reads if isinstance(one.ctx, ast.Load) else sets).add(one.id)
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            reads.add(one.target.id)
    return frozenset(reads), frozenset(sets)


def folded(node: ast.expr) -> Any:
    """The value of an expression of constants only, which Python computes before anything is compiled."""
    if isinstance(node, ast.Constant):
        return node.value
    try:
        if isinstance(node, ast.UnaryOp):
            operand = folded(node.operand)
            return operand if operand is UNKNOWN else SIGNS[type(node.op)](operand)
        if isinstance(node, ast.BinOp):
            left, right = folded(node.left), folded(node.right)
            return UNKNOWN if UNKNOWN in (left, right) else ARITHMETIC[type(node.op)](left, right)
        if isinstance(node, ast.Tuple):
            values = tuple(folded(one) for one in node.elts)
            return UNKNOWN if UNKNOWN in values else values
    except (ArithmeticError, KeyError, TypeError):
        pass
    return UNKNOWN
