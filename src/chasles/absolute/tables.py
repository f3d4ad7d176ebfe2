"""A mechanism in absolute coordinates as flat arrays: what the kernels see, and where it is in one packed array.

The frame of a body is its central one: at the center of mass, along the principal axes, so that its inertia is diagonal
in both spaces. On SE(3) this changes nothing (a constant factor on the right commutes with the integrators), on
SO(3)xR3 it is the point one wants.
"""

from __future__ import annotations

import numpy as np

from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

# a body: its space (1: SE(3)), whether it is a hub (explicit in the matrix) with the nodes of its two tiles, its first
# incidence and how many, its first entry in the table of slots, and one more than the tile that holds it in a subgroup
BODY = layout("BODY", space=1, hub=1, angular=1, linear=1, first=1, count=1, slots=1, held=1)
# its numbers: mass, principal moments and their inverses
MASS = layout("MASS", mass=1, moments=3, inverse=3)
# an incidence of a body: tile and side; a slot: tile of the matrix and whether it is stored transposed
PAIR = 2
SE3, SO3XR3 = 1, 0

# parts of the packed array, in order; the head has where each begins, and counts
PARTS = (
    *("bodies", "tiles", "nodes", "incidences", "slots", "column", "row", "first", "operations"),  # integers
    *("masses", "constants", "gravity", "table", "values"),  # numbers; the table of forces is integers again
    *("joints", "joint_numbers"),  # what acts along coordinates (`joint_force`): integers and numbers
    *("counted", "rates", "control"),  # of a simulation: angles over full turns, their rates, inputs along coordinates
)
# what "gravity" has: gravity, the two constants of Baumgarte, and ε of `redundant` or 0 if all rows are independent
FIELD = layout("FIELD", gravity=3, alpha=1, beta=1, regularization=1)
# n_angles: angles that are counted over full turns
# n_moving: tiles that may depend on time and so do work
COUNTS = (
    *("n_bodies", "n_tiles", "n_nodes", "n_matrix", "n_angles", "accelerations", "project", "act"),
    *("n_joints", "n_moving"),
)
HEAD = layout("HEAD", **dict.fromkeys((*PARTS, "end", *COUNTS), 1))


def pack(parts: dict[str, np.ndarray], counts: dict[str, int]) -> np.ndarray:
    """One array of floats; integers are kept as their bits."""
    arrays = [np.ascontiguousarray(parts[name]).reshape(-1).view(float) for name in PARTS]
    edges = HEAD.size + np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
    head = np.array([*edges, *(counts[name] for name in COUNTS)], dtype=np.int64)
    return np.concatenate([head.view(float), *arrays])


@kernel(allocates=True)  # a view counts as an array that is made
def part_of(array, whole, part, following):
    """A part of the packed array, as numbers or, of its other view, as integers."""
    return array[whole[part] : whole[following]]
