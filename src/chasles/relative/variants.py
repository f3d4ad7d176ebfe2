"""Trees that differ from another one in numbers: of bodies of many at once, and whole mechanisms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from chasles.relative.tables import CONSTANT, GRAVITY
from chasles.relative.tree import Tree, add_inertias, inertias_on_links, moved_inertias


def numbers_with(tree: Tree, inertias: np.ndarray, com: np.ndarray, central: np.ndarray) -> np.ndarray:
    """The numbers of a tree, (members, numbers), with other inertias (members, bodies, 6, 6), centers of mass and
    inertias about these."""
    count = len(inertias)
    constants = np.tile(tree.numbers[GRAVITY.size :], (count, 1)).reshape(count, -1, CONSTANT.size)
    constants[..., CONSTANT.mass : CONSTANT.pitch] = 0.0
    add_inertias(constants, tree.link_of_body, *moved_inertias(inertias, com, central, tree.body_in_link))
    gravity = np.tile(tree.numbers[: GRAVITY.size], (count, 1))
    return np.concatenate([gravity, constants.reshape(count, -1)], axis=1)


def tree_like(base: Mechanism, system: System, joints: Mapping[str, Joint]) -> Mechanism | None:
    """The mechanism of a system that differs from that of another in inertias, gravity, forces, and in what forces some
    joints exert, `joints` by name. None if its tables of forces have another form."""
    tree, numbers = base.tree, base.tree.numbers.copy()
    numbers[:3] = system.gravity
    constants = numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)
    constants[:, CONSTANT.mass : CONSTANT.pitch] = 0.0
    add_inertias(constants, tree.link_of_body, *inertias_on_links(system, tree.body_in_link))
    own = tuple(joints.get(joint.name, joint) for joint in tree.joints) if joints else tree.joints
    own = tuple(replace(one, child=old.child) for one, old in zip(own, tree.joints, strict=True)) if joints else own
    same = not joints and system.forces == base.system.forces
    tables = base.tables.with_numbers(system, replace(tree, numbers=numbers, joints=own), same)
    if not same and not np.array_equal(tables.acting.table, base.tables.acting.table):
        return None
    return Mechanism._of_tables(system, tables)
