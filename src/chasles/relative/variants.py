"""The numbers of trees that differ in their bodies alone, of many at once."""

from __future__ import annotations

import numpy as np

from chasles.relative.tables import CONSTANT, GRAVITY
from chasles.relative.tree import Tree, add_inertias, moved_inertias


def numbers_with(tree: Tree, inertias: np.ndarray, com: np.ndarray, central: np.ndarray) -> np.ndarray:
    """The numbers of a tree, (members, numbers), with other inertias (members, bodies, 6, 6), centers of mass and
    inertias about these."""
    count = len(inertias)
    constants = np.tile(tree.numbers[GRAVITY.size :], (count, 1)).reshape(count, -1, CONSTANT.size)
    constants[..., CONSTANT.mass : CONSTANT.pitch] = 0.0
    add_inertias(constants, tree.link_of_body, *moved_inertias(inertias, com, central, tree.body_in_link))
    gravity = np.tile(tree.numbers[: GRAVITY.size], (count, 1))
    return np.concatenate([gravity, constants.reshape(count, -1)], axis=1)
