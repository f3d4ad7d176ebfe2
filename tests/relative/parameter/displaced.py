"""The oracle's trees with other parameters: mass properties along a direction, places displaced by screws.

In the reference assembly a joint's frame stands in space at J. A screw δ on its parent side displaces the joint's own
screws and all that it carries by J exp(δ) J⁻¹; on its child side it displaces the child and what that carries, but not
the joint, by J exp(-δ) J⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.oracle import tree as oracle
from tests.relative.models import Part

ORIGIN = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@oracle.precise
def with_masses(tree: oracle.Tree, change: np.ndarray) -> oracle.Tree:
    """The tree with ten parameters of each body, in the bodies' frames, changed by (bodies, 10)."""
    links = []
    for link, ten in zip(tree.links, oracle.exact(change), strict=True):
        mass = link.mass + ten[0]
        com = (link.mass * link.com + ten[1:4]) / mass
        about_origin = link.inertia + link.mass * steiner(link.com) + ten[4:][[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
        links.append(replace(link, mass=mass, com=com, inertia=about_origin - mass * steiner(com)))
    return oracle.Tree(links, tree.gravity)


def steiner(com: oracle.Array) -> oracle.Array:
    return (com @ com) * oracle.identity(3) - np.outer(com, com)


@oracle.precise
def with_places(parts: Sequence[Part], tree: oracle.Tree, delta: dict[tuple[str, str], np.ndarray]) -> oracle.Tree:
    """The tree with joints' frames displaced, by (joint, side); the parts are those that the tree was made of.

    To first order in the screws, the displacements of several places add up in any order.
    """
    links = list(tree.links)
    index = {part.name: k for k, part in enumerate(parts)}

    def carried_by(k: int, of: int) -> bool:
        while k != of and k >= 0:
            k = index.get(parts[k].parent, -1)
        return k == of

    for k, part in enumerate(parts):
        in_space = {"general": ORIGIN, "weld": ORIGIN}.get(part.kind, (*part.turn, *part.point))
        J = oracle.pose_matrix(in_space)
        for side, sign in (("parent", 1), ("child", -1)):
            screw = oracle.exact(delta.get((f"to {part.name}", side), np.zeros(6)))
            D = J @ oracle.exponential(sign * screw) @ oracle.inverse(J)
            for i in range(len(parts)):
                if carried_by(i, k):
                    links[i] = moved(links[i], D, own=side == "parent" or i != k)
    return oracle.Tree(links, tree.gravity)


def moved(link: oracle.Link, D: oracle.Array, own: bool) -> oracle.Link:
    """A link displaced in the reference assembly, with its own joint or without."""
    changes = {"reference": D @ link.reference}
    if own:
        changes["screws"] = np.array([unhat(D @ oracle.hat(Y) @ oracle.inverse(D)) for Y in link.screws], dtype=object)
        changes["screws"] = changes["screws"].reshape(-1, 6)
        changes["place"] = None if link.place is None else D @ link.place
    return replace(link, **changes)


def unhat(matrix: oracle.Array) -> oracle.Array:
    return np.concatenate([oracle.axial(matrix[:3, :3]), matrix[:3, 3]])
