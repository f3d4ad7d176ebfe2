"""Integrators by name, as files and the command line write them: "rk4", "cf4",
{ name = "generalized_alpha", rho = 0.9 }."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from chasles.integrate import method as explicit
from chasles.integrate.constrained_method import (
    BACKWARD,
    HALF_EXPLICIT,
    BLieDF,
    EnergyMomentum,
    GeneralizedAlpha,
    HalfExplicit,
    RadauIIA,
    Rattle,
)
from chasles.integrate.gauss import Gauss, LieMidpoint
from chasles.integrate.method import RKMK, CommutatorFree, CrouchGrossman, Exponentials, LowStorage
from chasles.integrate.tableau import TABLEAUX, Tableau
from chasles.model.suggestion import meant

# a word alone, and what it makes
SHORT: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(TABLEAUX, RKMK),
    **dict.fromkeys(explicit.COMMUTATOR_FREE, CommutatorFree),
    **dict.fromkeys(explicit.CROUCH_GROSSMAN, CrouchGrossman),
    **dict.fromkeys(explicit.LOW_STORAGE, LowStorage),
}
# those of LONG with the options that papers name them by
PRESET: dict[str, Any] = {
    "generalized_alpha_index3": GeneralizedAlpha(index=3),
    **{f"bliedf{k}": BLieDF(k) for k in BACKWARD},
    **{f"hem{k}": HalfExplicit(k) for k in HALF_EXPLICIT},
}
# with options; the last six are for constrained systems in absolute coordinates
LONG: dict[str, type] = {
    "rkmk": RKMK,
    "gauss": Gauss,
    "lie_midpoint": LieMidpoint,
    "generalized_alpha": GeneralizedAlpha,
    "bliedf": BLieDF,
    "rattle": Rattle,
    "half_explicit": HalfExplicit,
    "energy_momentum": EnergyMomentum,
    "radau5": RadauIIA,
}
METHOD_NAMES = (*LONG, *PRESET, *SHORT)


def method_from(given: Any) -> Any:
    """The integrator of a name, or of a table {name, options}."""
    name, options = (given, {}) if not isinstance(given, Mapping) else (given.get("name"), dict(given))
    options.pop("name", None)
    if not options and isinstance(name, str) and name in SHORT:
        return SHORT[name](name)
    if not options and isinstance(name, str) and name in PRESET:
        return PRESET[name]
    if not isinstance(name, str) or name not in LONG:
        raise ValueError(f"is {given!r}; {meant(name, METHOD_NAMES)}expected one of {', '.join(METHOD_NAMES)}")
    known = [field.name for field in fields(LONG[name])]
    for option in options:
        if option not in known:
            raise ValueError(f"{option} is unknown for {name}; {meant(option, known)}expected {', '.join(known)}")
    if isinstance(options.get("tableau"), Mapping):
        options["tableau"] = tableau_from(options["tableau"])
    return LONG[name](**options)


def tableau_from(given: Mapping[str, Any]) -> Tableau:
    """A tableau of the user's own, of a table with its fields."""
    known = [field.name for field in fields(Tableau)]
    for name in given:
        if name not in known:
            raise ValueError(f"{name} is unknown for a tableau; {meant(name, known)}expected {', '.join(known)}")
    for name in ("name", "order", "a", "b"):
        if name not in given:
            raise ValueError(f"has a tableau without {name}; expected {', '.join(known)}")
    return Tableau(**{name: _tuples(value) for name, value in given.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _lists(value: Any) -> Any:
    return list(map(_lists, value)) if isinstance(value, tuple) else value


def named_method(where: str, given: Any) -> Any:
    """The method that is given to `where`: as itself, or as `method_from` takes it; the error says whose it is."""
    try:
        return method_from(given) if isinstance(given, str | Mapping) else given
    except ValueError as error:
        raise ValueError(f"{where}: method {error}") from None


def name_of(method: Any) -> str | dict[str, Any]:
    """What `method_from` makes the method of."""
    if isinstance(method, Exponentials) and method.name in SHORT and SHORT[method.name](method.name) == method:
        return method.name
    if isinstance(method, RKMK) and isinstance(method.tableau, str) and method == RKMK(method.tableau):
        return method.tableau
    for name, make in LONG.items():
        if type(method) is make:
            options = {field.name: getattr(method, field.name) for field in fields(make) if field.init}
            if isinstance(own := options.get("tableau"), Tableau):
                options["tableau"] = _table_of(own)
            if all(isinstance(value, str | int | float | bool | dict) for value in options.values()):
                return {"name": name, **{key: value for key, value in options.items() if value != _default(make, key)}}
    raise ValueError(f"{method} is not one of the methods that have a name: {', '.join(METHOD_NAMES)}")


def _table_of(tableau: Tableau) -> dict[str, Any]:
    """What `tableau_from` makes the tableau of, to the same bits."""
    given = {field.name: getattr(tableau, field.name) for field in fields(Tableau)}
    given = {name: value for name, value in given.items() if value not in (None, 0)}
    return {name: int(value) if isinstance(value, np.integer) else _lists(value) for name, value in given.items()}


def _default(make: Any, name: str) -> Any:
    return next(field.default for field in fields(make) if field.name == name)
