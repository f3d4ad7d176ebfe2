"""How fine the meshes of rods have to be: other numbers of elements, the error of a mesh, a mesh for an accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.expression_law import Expression
from chasles.model.rod import FEWEST, Rod
from chasles.model.rod_parts import own_parts
from chasles.model.rod_place import NodeName
from chasles.model.system import System
from chasles.simulation.bodies.equilibrium import BodyEquilibrium
from chasles.simulation.equilibrium import equilibrium

FOUR, TWO = 15.0, 3.0  # by how much a difference to half the elements is larger than the error, of order 4 and 2
SMOOTH = 3.0  # an observed order from which on it is taken for 4
LEAST = FEWEST  # elements of the first mesh that is judged
MOST = 4096  # elements of all rods
ROUNDING = 1e-12  # of the length of a rod
OF_JOINTS = ("joint", "joints", "mimic")  # fields that name joints, where a node is the joint of an element
Quantity = Callable[[System], ArrayLike]


@dataclass(frozen=True)
class MeshError:
    """The error of the meshes of a system, estimated by coarser ones: of the quantity that was asked for, in its unit.

    order: as three meshes show it; what is smooth has 4, waves with fronts have 2. elements: of each rod.
    """

    error: float
    order: float
    elements: Mapping[str, int]

    def __str__(self) -> str:
        meshes = ", ".join(f"{name}: {n}" for name, n in self.elements.items())
        return f"mesh error about {self.error:.2g}, observed order {self.order:.2g} (elements of {meshes})"


def with_elements(system: System, elements: Mapping[str, int]) -> System:
    """The system with other numbers of elements in some rods. Joints, forces and frames at nodes stay where they are;
    ValueError if the new mesh has no node there."""
    for name in elements:
        system.rod(name)
    moved = _Moved(system, elements)
    parts: dict[str, Any] = {
        kind: [moved.part(item) if is_dataclass(item) else item for item in own_parts(getattr(system, kind))]
        for kind in ("joints", "frames", "forces", "actuators", "constraints")
    }
    meshed = [replace(moved.part(rod), elements=elements.get(rod.name, rod.elements)) for rod in system.rods]
    return replace(system, bodies=own_parts(system.bodies), rods=meshed, **parts)


class _Moved:
    """Parts of a system where rods have other numbers of elements: nodes that they name have other names there."""

    def __init__(self, system: System, elements: Mapping[str, int]) -> None:
        self.names: dict[str, str] = {}  # of all nodes; empty where there is none
        self.used: set[str] = set()  # of these, by the parts so far
        self.joints: set[str] = set()  # of elements: other elements have others
        self.named = system.named
        for rod in system.rods:
            n = elements.get(rod.name, rod.elements)
            for k, node in enumerate(rod.nodes):
                self.names[node] = f"{rod.name}[{k * n // rod.elements}]" if k * n % rod.elements == 0 else ""
            if rod.strains and rod.modes is None and n != rod.elements:
                self.joints |= set(rod.nodes)

    def part(self, item: Any) -> Any:
        """A joint, frame, force, actuator, constraint or rod."""
        where = f"{type(item).__name__.lower()} {item.name!r}"
        changes: dict[str, Any] = {}
        for one in fields(item):
            value = getattr(item, one.name)
            if one.name == "name" or not one.init or not isinstance(value, str | tuple | Expression):
                continue
            new = self._value(value, where, one.name in OF_JOINTS)
            if new != value:
                changes[one.name] = new
        return replace(item, **changes)

    def _value(self, value: Any, where: str, of_joint: bool) -> Any:
        if isinstance(value, tuple):
            return tuple(self._value(one, where, of_joint) for one in value)
        if isinstance(value, Expression):
            for name, index in value.seen:
                if isinstance(index, int):
                    self._check_joint(name, where)
            return value.renamed(lambda name: self._node(name, where))
        if isinstance(value, NodeName):  # by its place, which stays
            self.used.add(value)
            return value
        if not isinstance(value, str):
            return value
        if of_joint:
            self._check_joint(value, where)
        return self._node(value, where)

    def _check_joint(self, name: str, where: str) -> None:
        if name in self.joints:
            raise ValueError(
                f"with_elements: {where} uses joint {name!r}, the strain of one element, which other elements do not "
                "have; give the rod `modes`, whose joints stay, or use its intrinsic strain"
            )

    def _node(self, name: str, where: str) -> str:
        self.used.add(self.named(name))
        found = self.names.get(name, name)
        if not found:
            raise ValueError(f"with_elements: {where} is at {name!r}, where the new mesh has no node")
        return found


def _at_rest(system: System, coarsest: Mapping[str, int]) -> np.ndarray:
    """Places in equilibrium of the nodes that the coarsest meshes have too."""
    found = equilibrium(system)
    poses = found.poses if isinstance(found, BodyEquilibrium) else system.compile().poses(found.q)
    where = {body.name: pose for body, pose in zip(system.bodies, poses, strict=True)}
    nodes = [name for rod in system.rods for name in rod.nodes[:: rod.elements // coarsest[rod.name]] if name in where]
    return np.array([where[name][4:] for name in nodes])


def mesh_error(system: System, quantity: Quantity | None = None, rods: Collection[str] | None = None) -> MeshError:
    """Estimate the error of the meshes of rods, by computing with half and a quarter of the elements too.

    quantity: a function of a system that gives a number or an array, as the end of a run; by default the places of
    nodes in equilibrium [m]. rods: names of those whose meshes are judged, by default all. Their numbers of elements
    have to be multiples of four.
    """
    elements = _elements(system, rods)
    coarsest = {rod.name: elements.get(rod.name, 4 * rod.elements) // 4 for rod in system.rods}

    def asked(one: System) -> ArrayLike:
        return _at_rest(one, coarsest) if quantity is None else quantity(one)

    odd = [name for name, n in elements.items() if n % 4]
    if odd or not elements:
        what = f"rod {odd[0]!r} has {elements[odd[0]]} elements" if odd else "there are no rods"
        raise ValueError(f"mesh_error: {what}; expected multiples of four, so that they can be halved twice")
    found = [np.asarray(asked(system), dtype=float)]
    for part in (2, 4):
        coarse = with_elements(system, {name: n // part for name, n in elements.items()})
        found.append(np.asarray(asked(coarse), dtype=float))
    near, far = (float(np.abs(one - other).max(initial=0.0)) for one, other in pairwise(found))
    size = ROUNDING * max(rod.length for rod in system.rods)
    order = float(np.log2(far / near)) if near > size else 4.0
    return MeshError(near / (FOUR if order > SMOOTH else TWO), order, elements)


def refined(
    system: System, accuracy: float, quantity: Quantity | None = None, rods: Collection[str] | None = None
) -> System:
    """The system with enough elements in its rods for an accuracy, in the unit of `mesh_error`: the numbers of elements
    are doubled until its estimate is smaller. rods: names of those that may have more, by default all."""
    return refined_with_error(system, accuracy, quantity, rods)[0]


def refined_with_error(
    system: System, accuracy: float, quantity: Quantity | None = None, rods: Collection[str] | None = None
) -> tuple[System, MeshError]:
    """The same with the estimate of its error."""
    if not accuracy > 0.0:
        raise ValueError(f"refined: accuracy is {accuracy!r}; expected a positive number")
    own = _elements(system, rods)
    fine = with_elements(
        system, {name: _first(system.rod(name), least) for name, least in _coarsest(system).items() if name in own}
    )
    while True:
        estimate = mesh_error(fine, quantity, rods)
        if estimate.error <= accuracy:
            return fine, estimate
        elements = {name: 2 * n for name, n in estimate.elements.items()}
        if sum(elements.values()) > MOST:
            raise ValueError(f"refined: {estimate}; {accuracy:g} would need more than {MOST} elements")
        fine = with_elements(fine, elements)


def _elements(system: System, rods: Collection[str] | None) -> dict[str, int]:
    chosen = [rod.name for rod in system.rods] if rods is None else rods
    return {name: system.rod(name).elements for name in chosen}


def _coarsest(system: System) -> dict[str, int]:
    """The smallest numbers of elements with which the rods have all nodes that something is at."""
    moved = _Moved(system, {})
    for kind in ("joints", "frames", "forces", "actuators", "constraints", "rods"):
        for item in own_parts(getattr(system, kind)):
            if is_dataclass(item):
                moved.part(item)
    used = {name: [0] for name in _elements(system, None)}
    for rod in system.rods:
        carrying = {rod.at(mass.at) for mass in rod.added}
        used[rod.name] += [k for k, node in enumerate(rod.nodes) if node in moved.used | carrying]
    return {rod.name: rod.elements // math.gcd(rod.elements, *used[rod.name]) for rod in system.rods}


def _first(rod: Rod, coarsest: int) -> int:
    """The smallest multiple of its elements, so that its nodes stay, a quarter of which has all nodes that are used."""
    least = math.lcm(rod.elements, 4 * coarsest)
    return least * -(-LEAST // least)
