"""Functions of the constrained solver stay short, with few arguments, and found by objects."""

import ast
import inspect
from pathlib import Path

import pytest

import chasles.constrained
from chasles.constrained.schemes import SCHEMES
from chasles.constrained.workspace import CARRIED
from chasles.integrate.constrained_method import CONSTRAINED_METHODS

FILES = sorted(Path(chasles.constrained.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_functions_are_at_most_60_lines_and_8_arguments(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
            assert len([name for name in names if name != "self"]) <= 8, node.name
            assert node.end_lineno - node.lineno < 60, node.name


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
