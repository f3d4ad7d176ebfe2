"""A tree as two flat arrays, the form in which kernels see it.

`topology` (int64) has a head, six numbers a link and three a velocity; `numbers` (float64) has a head and the constants
of each link. Links are numbered so that a parent comes before its children; the parent of a root is -1, the ground. A
link is moved by one elementary joint, whose axis is the z axis of the link's frame: a joint with several axes is a
chain of links without mass, a weld is no joint at all (the bodies are one link). So a body of the model is a frame on a
link.
"""

from __future__ import annotations

import numpy as np

from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

HEAD = layout("HEAD", links=1, coordinates=1, velocities=1, armatures=1)  # armatures: how many links have one
# `tip`: nothing hangs on the link; `last`: it is its parent's last child, which sweeps inward meet first
LINK = layout("LINK", parent=1, kind=1, coordinate=1, velocity=1, tip=1, last=1)
GRAVITY = layout("GRAVITY", vector=3, spare=1)
# pose of the link in its parent's frame at q = 0; mass, first moment and inertia about the origin, in the link's frame
CONSTANT = layout("CONSTANT", rotation=9, position=3, mass=1, moment=3, inertia=6, pitch=1, armature=1)

# a revolute joint with an armature is a helical one without pitch: REVOLUTE is the short path of what is most frequent
REVOLUTE, PRISMATIC, HELICAL, SPHERICAL, FREE = range(5)
COORDINATES = (1, 1, 1, 4, 7)  # numbers in q, by kind: spherical a unit quaternion, free a pose
VELOCITIES = (1, 1, 1, 3, 6)


@kernel
def links_of(topology):
    return topology[HEAD.links]


@kernel
def link(topology, i):
    """Parent, kind, first coordinate and first velocity of link i."""
    at = HEAD.size + i * LINK.size
    return topology[at], topology[at + 1], topology[at + 2], topology[at + 3]


@kernel
def is_tip(topology, i):
    return topology[HEAD.size + i * LINK.size + LINK.tip] != 0


@kernel
def is_last(topology, i):
    return topology[HEAD.size + i * LINK.size + LINK.last] != 0


@kernel
def parent_of(topology, i):
    return topology[HEAD.size + i * LINK.size]


@kernel
def velocity_before(topology, k):
    """The velocity before velocity k on the way to the ground; -1 at the end of the way.

    -2 - f where the way ends with a free joint on the ground, whose six velocities begin at f: there the columns of the
    Jacobian are those of the identity, and need no product.
    """
    return topology[HEAD.size + topology[HEAD.links] * LINK.size + k]


@kernel
def link_of_velocity(topology, k):
    return topology[HEAD.size + topology[HEAD.links] * LINK.size + topology[HEAD.velocities] + k]


@kernel
def run_of_velocity(topology, k):
    """The first velocity of the run that ends with k: of velocities that follow each other on the way to the ground."""
    return topology[HEAD.size + topology[HEAD.links] * LINK.size + 2 * topology[HEAD.velocities] + k]


@kernel
def constants_of(i):
    """Where the constants of link i begin in `numbers`."""
    return GRAVITY.size + i * CONSTANT.size


@kernel
def vector_at(numbers, at):
    return (numbers[at], numbers[at + 1], numbers[at + 2])


@kernel
def inertia_of(numbers, c):
    """Mass, first moment, rotational inertia (six numbers) of the link whose constants begin at c."""
    at = c + CONSTANT.inertia
    rotational = (
        *(numbers[at], numbers[at + 1], numbers[at + 2]),
        *(numbers[at + 3], numbers[at + 4], numbers[at + 5]),
    )
    return numbers[c + CONSTANT.mass], vector_at(numbers, c + CONSTANT.moment), rotational


@kernel
def velocities_of(kind):
    return 3 if kind == SPHERICAL else (6 if kind == FREE else 1)


def link_table(topology: np.ndarray) -> np.ndarray:
    """The links' part of a topology, (links, 6)."""
    return topology[HEAD.size : HEAD.size + LINK.size * int(topology[HEAD.links])].reshape(-1, LINK.size)
