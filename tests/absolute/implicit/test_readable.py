"""The constrained solver stays readable: short functions and files, words of the field, methods found by objects."""

import ast
import functools
import inspect
import re
from pathlib import Path

import pytest

import chasles.constrained
from chasles.constrained.schemes import SCHEMES
from chasles.constrained.workspace import CARRIED
from chasles.integrate.constrained_method import CONSTRAINED_METHODS

FILES = sorted(Path(chasles.constrained.__file__).parent.glob("*.py"))


PACKAGE = FILES[0].parents[1]
EQUATIONS = sorted(PACKAGE.glob("constraint/*.py"))
BESIDE = [*EQUATIONS, *sorted(PACKAGE.glob("absolute/*.py")), PACKAGE / "kernel" / "memory.py"]


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text())


def name_of(path):
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", [*FILES, *EQUATIONS], ids=name_of)
def test_functions_are_at_most_60_lines_and_8_arguments(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
            assert len([name for name in names if name != "self"]) <= 8, node.name
            assert node.end_lineno - node.lineno < 60, node.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_at_most_400_lines(path):
    assert len(path.read_text().splitlines()) <= 400


# words that once stood for workspace, state of a method, result, integers, scratch, memory, redundant
DIALECT = re.compile(r"(^|_)(desk|own|found|whole|tail|told|room|kept)(_|$)")


@pytest.mark.parametrize("path", [*FILES, *BESIDE], ids=name_of)
def test_names_are_words_of_the_field(path):
    tree = tree_of(path)
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    names += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg | ast.keyword) and node.arg]
    names += [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert not [name for name in names if DIALECT.search(name) and name != "whole_or_nothing"]


PACKED = {"integers", "structure", "tables", "packed", "parameters", "constants", "counts", "times", "values"}
PACKED |= {"gravity", "report", "result", "acted", "returned", "point", "memory", "clock", "operations"}


@pytest.mark.parametrize("path", [*FILES, *BESIDE], ids=name_of)
def test_no_place_of_declared_memory_is_a_number(path):
    """As in tables[12], tail[3] or y[7 * n : 13 * n]: what packed arrays, states and parameters hold has names."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Subscript):
            name = getattr(node.value, "attr", getattr(node.value, "id", ""))
            assert not (isinstance(node.slice, ast.Constant) and name in PACKED), ast.unparse(node)
            assert not re.search(r"\b(7|13) \* \w*\.?n\b", ast.unparse(node.slice)), ast.unparse(node)


def test_each_method_is_one_file_with_its_scheme():
    assert set(SCHEMES) == set(CONSTRAINED_METHODS)
    for data, scheme in SCHEMES.items():
        homes = {inspect.getmodule(getattr(scheme.loop, "py_func", scheme.loop)), inspect.getmodule(scheme.start)}
        assert len(homes) == 1, data
        assert next(iter(scheme.state.counts)) == "point"
        assert list(scheme.state.counts)[-len(CARRIED) :] == list(CARRIED)


def test_the_map_names_every_module():
    for path in FILES:
        if path.stem not in ("__init__", "body_sizes", "problem", "group"):
            assert f"{path.stem}" in chasles.constrained.__doc__, path.stem
