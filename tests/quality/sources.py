"""The source files of the package, read and parsed once for all tests that look at them."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import chasles

PACKAGE = Path(chasles.__file__).parent


@functools.cache
def files(under: str = "") -> tuple[Path, ...]:
    """The Python files of the package, or of one of its folders."""
    return tuple(sorted((PACKAGE / under).rglob("*.py")))


@functools.cache
def text(path: Path) -> str:
    return path.read_text()


def mentioning(pattern: str) -> list[Path]:
    """Files of the package that have such words: only they are parsed, which takes seconds for all."""
    return [path for path in files() if re.search(pattern, text(path))]


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, at any depth."""
    return tuple(ast.walk(tree(path)))
