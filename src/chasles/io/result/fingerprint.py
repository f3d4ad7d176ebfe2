"""Fingerprints of users' functions, by what they do: comments, layout, docstrings, annotations and decorators have no
part in it."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from chasles.model.user_function import constants_of


def fingerprint(function: Any) -> dict[str, str]:
    """Name and hash of a user's function: of its statements, or code where there is no source, and the constants it
    takes from outside."""
    name, source = _parts(function)
    return {"name": name, "hash": _digest(_statements(source), function)}


def is_same(function: Any, stored: Mapping[str, str]) -> bool:
    """Whether a function is the one of a stored fingerprint; earlier versions took the source as it stands."""
    _, source = _parts(function)
    return stored["hash"] in (_digest(_statements(source), function), _digest(source, function))


def _parts(function: Any) -> tuple[str, str]:
    """Name and source."""
    name = getattr(function, "__name__", type(function).__name__)
    plain = getattr(function, "function", function)  # of a law or field
    while isinstance(plain, functools.partial):  # its arguments are among the constants
        plain = plain.func
    code = getattr(plain, "__code__", None)
    for own in (plain, type(plain)) if code is None else (plain,):  # an object that is called has the code of its class
        with suppress(OSError, TypeError):
            return name, inspect.getsource(own)
    return name, repr(None if code is None else (code.co_code, code.co_names, repr(code.co_consts)))


def _digest(words: str, function: Any) -> str:
    return hashlib.sha256((words + repr(constants_of(function))).encode()).hexdigest()


class _Bare(ast.NodeTransformer):
    """Takes away what does nothing."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node


def _statements(source: str) -> str:
    """The source without comments, layout, docstrings, annotations and decorators; as it is, if it is none that can be
    read alone (a lambda inside of a line)."""
    try:
        return ast.unparse(_Bare().visit(ast.parse(textwrap.dedent(source))))
    except (SyntaxError, ValueError, RecursionError):
        return source
