"""Numbers of elements that a model file leaves to an accuracy: elements = { accuracy = "0.1 mm" }."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.expression_law import Expression
from chasles.model.rod import MOST_TRIED, SAME_PLACE, Rod
from chasles.model.rod_place import MARK, arc_length, naming_fields
from chasles.model.system import System

if TYPE_CHECKING:
    from chasles.simulation.bodies.rod_mesh import MeshError

LEAST = 2  # elements of the coarsest mesh that a number is found by
FINEST = 1e-10  # of the length of a rod: equilibria are solved to somewhat less
MOVED = 1e-12  # strain of an element, above which something acts on a rod


class Accuracy(float):
    """An error of node positions [m] that a rod may have in equilibrium."""


def accuracy_of(given: Any, number: Any) -> Accuracy:
    """What a table says instead of a number of elements; `number` reads a length."""
    if set(given) != {"accuracy"}:
        raise ValueError(
            f'has {", ".join(map(str, given)) or "nothing"}; expected {{ accuracy = "0.1 mm" }}, or a number'
        )
    found = number(given["accuracy"], ("m",))
    if not found > 0.0:
        raise ValueError(f"accuracy is {found:g}; expected a positive length [m]")
    return Accuracy(found)


def coarse(rod: Rod, accuracy: float, parts: Mapping[str, Sequence[Any]]) -> Rod:
    """A rod with the fewest elements that turn little and have nodes at all places which parts of a model name."""
    if rod.modes is not None:
        raise ValueError(
            "an accuracy is that of elements alone, and a rod with modes is as exact as its modes; give a number"
        )
    if accuracy < FINEST * rod.length:
        raise ValueError(
            f"accuracy is {accuracy:g} m; expected {FINEST:g} of the length or more, which is "
            f"{FINEST * rod.length:.2g} m"
        )
    count = LEAST
    for name in (*_named(parts), *(f"{rod.name}{MARK}{mass.at!r}" for mass in rod.added)):
        owner, mark, place = name.rpartition(MARK)
        if name.startswith(f"{rod.name}[") and name != rod.nodes[0]:
            raise ValueError(
                f"{name!r} is no place as long as the number of elements follows from an accuracy; name the node by "
                f"its arc length, '{rod.name}{MARK}{rod.length:g}' at the end"
            )
        if mark and owner == rod.name and (s := arc_length(place)) is not None and 0.0 <= s <= rod.length:
            part = Fraction(s / rod.length).limit_denominator(MOST_TRIED)
            if abs(float(part) - s / rod.length) > SAME_PLACE:
                replace(rod, elements=LEAST).at(s, repr(name))  # says what is near
            count = math.lcm(count, part.denominator)
    if count > MOST_TRIED:
        raise ValueError(f"has nodes at places that need {count} elements at least; give a number, or other places")
    while True:
        found = replace(rod, elements=count)
        try:
            found.mesh  # noqa: B018  # it is an error if elements turn too far
        except ValueError:
            if count > MOST_TRIED:
                raise
            count *= 2
        else:
            return found


def refined(system: System, accuracies: Mapping[str, float]) -> tuple[System, MeshError]:
    """A system with enough elements in these rods: the smallest accuracy holds for all nodes in equilibrium."""
    from chasles.simulation.bodies.rod_mesh import refined_with_error  # other files do not wait for it
    from chasles.simulation.equilibrium import equilibrium

    try:
        rest = equilibrium(system)
    except RuntimeError as error:
        raise ValueError(f"elements by accuracy need an equilibrium: {error}; or give a number of elements") from None
    for name in accuracies:
        rod, nodes = system.rod(name), rest.rod(name).nodes
        X = pose_group.log(pose_group.compose(pose_group.inverse(nodes[:-1]), nodes[1:])) - rod.mesh.rest
        X[:, 3:] /= rod.mesh.lengths[:, None]
        if not np.abs(X).max() > MOVED:
            raise ValueError(
                f"rod {name!r} has no deformation in equilibrium, so that any number of elements has no error there; "
                'give a number, and see "mesh of rods" in the certificate of a run'
            )
    try:
        return refined_with_error(system, min(accuracies.values()), rods=list(accuracies))
    except RuntimeError as error:
        raise ValueError(f"elements by accuracy: {error}; give a number of elements") from None


def _named(parts: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """All names of bodies in the parts of a model."""
    for items in parts.values():
        for item in items:
            for field in naming_fields(item):
                given = getattr(item, field)
                yield from (given,) if isinstance(given, str) else (one for one in given if isinstance(one, str))
            if isinstance(law := getattr(item, "value", None), Expression):
                yield from (name for pair in law.seen for name in pair if isinstance(name, str))
