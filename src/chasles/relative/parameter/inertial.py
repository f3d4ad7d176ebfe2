"""The ten parameters of bodies and the numbers of joints that forces depend on linearly: to and from a `System`.

    π of a body = (m [kg], m cx, m cy, m cz [kg m], Θxx, Θxy, Θxz, Θyy, Θyz, Θzz [kg m²])

in the body's own frame, the rotational inertia Θ about its origin (as `screw.inertia`). Bodies come in the order of the
system. After them come, where asked for, the armature, damping and dry friction of the velocities, in the order of v;
armature belongs to joints with axes only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from chasles.model.body import Body
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.relative.tree import Tree
from chasles.screw import inertia as spatial

NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
OF_JOINTS = ("armature", "damping", "friction")


def check_terms(function: str, terms: Iterable[str] | str) -> tuple[str, ...]:
    """Which numbers of joints are parameters."""
    chosen = (terms,) if isinstance(terms, str) else tuple(terms)
    for term in chosen:
        if term not in OF_JOINTS:
            raise ValueError(f"{function}: joint term {term!r} is unknown; expected some of {', '.join(OF_JOINTS)}")
    return chosen


def has_term(joint: Joint, term: str) -> bool:
    """Whether a joint's velocities can have a term."""
    return bool(joint.nv) and (term != "armature" or bool(joint.screws))


def columns_of(tree: Tree, term: str) -> np.ndarray:
    """The velocities that have a parameter of this name."""
    found = [np.arange(tree.velocities[j.name].start, tree.velocities[j.name].stop) for j in tree.joints]
    chosen = [part for joint, part in zip(tree.joints, found, strict=True) if has_term(joint, term)]
    return np.concatenate([np.empty(0, dtype=np.int64), *chosen])


def parameters_of(system: System, tree: Tree, terms: tuple[str, ...]) -> np.ndarray:
    """π of all bodies, (10 bodies + terms,)."""
    bodies = [spatial.to_parameters(body.spatial) for body in system.bodies]
    joints = [np.array(getattr(j, term)) for term in terms for j in tree.joints if has_term(j, term)]
    return np.concatenate([np.empty(0), *bodies, *joints])


def names_of(system: System, tree: Tree, terms: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the parameters: "body: m", ..., "joint: damping", with a number for joints of several velocities."""
    names = [f"{body.name}: {name}" for body in system.bodies for name in NAMES]
    for term in terms:
        for joint in tree.joints:
            if has_term(joint, term):
                names += [f"{joint.name}{f'[{k}]' if joint.nv > 1 else ''}: {term}" for k in range(joint.nv)]
    return tuple(names)


def body_with(body: Body, ten: np.ndarray) -> Body:
    """The body with ten parameters; ValueError that names it if no distribution of mass has them."""
    try:
        if body.physical:
            spatial.check(spatial.from_parameters(ten), strict=False)
    except ValueError as error:
        raise ValueError(f"body {body.name!r}: {error}") from None
    mass = float(ten[0])
    com = ten[1:4] / mass if mass else np.zeros(3)
    steiner = (com @ com) * np.eye(3) - np.outer(com, com)
    central = ten[[[4, 5, 6], [5, 7, 8], [6, 8, 9]]] - mass * steiner
    return Body(body.name, mass, com, central, body.shapes, physical=body.physical)


def system_with(system: System, tree: Tree, parameters: np.ndarray, terms: tuple[str, ...]) -> System:
    """The system with these parameters."""
    count = len(system.bodies)
    ten = parameters[: 10 * count].reshape(count, 10)
    joints = {joint.name: joint for joint in system.joints}
    at = 10 * count
    for term in terms:
        for joint in tree.joints:
            if has_term(joint, term):
                if joint.name in joints:  # not one that the tree made for a body that moves freely
                    numbers: Any = {term: parameters[at : at + joint.nv]}
                    joints[joint.name] = replace(joints[joint.name], **numbers)
                at += joint.nv
    bodies = [body_with(body, row) for body, row in zip(system.bodies, ten, strict=True)]
    return replace(system, bodies=bodies, joints=list(joints.values()))


def violations(system: System, parameters: np.ndarray) -> dict[str, str]:
    """What is not physical, by body; empty if a distribution of mass exists for each."""
    found = {}
    for k, body in enumerate(system.bodies):
        try:
            spatial.check(spatial.from_parameters(parameters[10 * k : 10 * k + 10]), strict=False)
        except ValueError as error:
            found[body.name] = str(error)
    return found
