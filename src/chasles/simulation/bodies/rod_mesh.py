"""How fine the meshes of rods have to be: other numbers of elements, the error of a mesh, a mesh for an accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
LEAST = FEWEST  # elements of the coarsest of three meshes: below that, orders are not seen
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
        self.joints: set[str] = set()  # of elements: other elements have others
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
        if not isinstance(value, str) or isinstance(value, NodeName):  # by its place, which stays
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


def mesh_error(system: System, quantity: Quantity | None = None) -> MeshError:
    """Estimate the error of the meshes of rods, by computing with half and a quarter of the elements too.

    quantity: a function of a system that gives a number or an array, as the end of a run; by default the places of
    nodes in equilibrium [m]. Numbers of elements have to be multiples of four.
    """
    elements = _elements(system)
    coarsest = {name: n // 4 for name, n in elements.items()}

    def asked(one: System) -> ArrayLike:
        return _at_rest(one, coarsest) if quantity is None else quantity(one)

    odd = [rod for rod in system.rods if rod.elements % 4]
    if odd or not system.rods:
        what = f"rod {odd[0].name!r} has {odd[0].elements} elements" if odd else "there are no rods"
        raise ValueError(f"mesh_error: {what}; expected multiples of four, so that they can be halved twice")
    found = [np.asarray(asked(system), dtype=float)]
    for part in (2, 4):
        coarse = with_elements(system, {name: n // part for name, n in elements.items()})
        found.append(np.asarray(asked(coarse), dtype=float))
    near, far = (float(np.abs(one - other).max(initial=0.0)) for one, other in pairwise(found))
    size = ROUNDING * max(rod.length for rod in system.rods)
    order = float(np.log2(far / near)) if near > size else 4.0
    return MeshError(near / (FOUR if order > SMOOTH else TWO), order, elements)


def refined(system: System, accuracy: float, quantity: Quantity | None = None) -> System:
    """The system with enough elements in its rods for an accuracy, in the unit of `mesh_error`: the numbers of elements
    are doubled until its estimate is smaller."""
    if not accuracy > 0.0:
        raise ValueError(f"refined: accuracy is {accuracy!r}; expected a positive number")
    start = {rod.name: 4 * max(LEAST // 4, -(-rod.elements // 4)) for rod in system.rods}
    fine = with_elements(system, {rod.name: _multiple(rod, start[rod.name]) for rod in system.rods})
    while True:
        estimate = mesh_error(fine, quantity)
        if estimate.error <= accuracy:
            return fine
        elements = {name: 2 * n for name, n in _elements(fine).items()}
        if sum(elements.values()) > MOST:
            raise ValueError(f"refined: {estimate}; {accuracy:g} would need more than {MOST} elements")
        fine = with_elements(fine, elements)


def _elements(system: System) -> dict[str, int]:
    return {rod.name: rod.elements for rod in system.rods}


def _multiple(rod: Rod, least: int) -> int:
    """The smallest multiple of its elements, so that its nodes stay, that is one of four and not below `least`."""
    n = rod.elements
    while n % 4 or n < least:
        n += rod.elements
    return n
