"""Every exception of the package comes back from another process as it was: a pool that cannot read one hangs."""

import copy
import importlib
import inspect
import pickle
import pkgutil

import numpy as np
import pytest

import chasles
import chasles.errors
from chasles.integrate.method import RKMK
from chasles.integrate.solution import Solution
from chasles.integrate.space import Space

OPTIONAL = ("mujoco", "pinocchio", "matplotlib", "cyclopts", "rich", "PIL", "imageio")


def every_exception():
    """All classes of exceptions that modules of the package define, private ones too."""
    found = {}
    for module in pkgutil.walk_packages(chasles.__path__, "chasles."):
        if module.name.endswith("__main__"):
            continue
        try:
            members = vars(importlib.import_module(module.name))
        except ImportError as missing:
            if missing.name not in OPTIONAL:
                raise
            continue
        for value in members.values():
            if isinstance(value, type) and issubclass(value, BaseException) and value.__module__.startswith("chasles"):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return [found[name] for name in sorted(found)]


SOLUTION = Solution(Space("so3", "r2", side="right"), RKMK("rk4"), np.arange(3.0), np.ones((3, 11)), False, "ended")
SAMPLES = {
    "str": "some words",
    "int": 3,
    "float": 0.25,
    "Solution": SOLUTION,
    "Any": SOLUTION,
    "OSError": OSError(28, "full"),
}


def sample(kind):
    """An exception of a class, made with whatever its constructor asks for."""
    wanted = [p for p in inspect.signature(kind.__init__).parameters.values() if p.name != "self"]
    if any(p.kind is p.VAR_POSITIONAL for p in wanted):
        return kind("some words")
    arguments = []
    for parameter in wanted:
        names = [part.strip() for part in str(parameter.annotation).split("|")]
        arguments.append(next((SAMPLES[name] for name in names if name in SAMPLES), (1.5, 2.5)))
    return kind(*arguments)


def as_text(value):
    return f"{value!r} {value.t} {value.y} {value.space}" if isinstance(value, Solution) else repr(value)


@pytest.mark.parametrize("kind", every_exception(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("way", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_an_exception_is_pickled_with_all_it_knows(kind, way):
    error = sample(kind)
    error.add_note("while sweeping")
    again = way(error)
    assert type(again) is kind
    assert again.args == error.args
    assert str(again) == str(error)
    assert sorted(vars(again)) == sorted(vars(error))
    for name, value in vars(error).items():
        assert as_text(getattr(again, name)) == as_text(value), name


def test_there_are_the_exceptions_that_users_know():
    names = {kind.__name__ for kind in every_exception()}
    public = {name for name in dir(chasles.errors) if name.endswith("Error") or name == "Interrupted"}
    assert public < names
    assert len(public) >= 8
