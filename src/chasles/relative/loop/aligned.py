"""Which way round the joints that close a tree hold their bodies: `constraint.alignment` in joint coordinates."""

from __future__ import annotations

import numpy as np

from chasles.constraint.alignment import Alignment
from chasles.lie.rotation import quaternion_to_matrix
from chasles.relative.loop.build import Closing
from chasles.relative.mechanism import Mechanism


class LoopAlignment:
    """The alignment of what closes a tree, and how it follows the joints."""

    def __init__(self, tree: Mechanism, closing: Closing):
        links = Alignment.of(closing.tiles)
        carrying = {int(link): k for k, link in enumerate(tree.tree.link_of_body)}
        used = sorted({int(link) for link in links.bodies.ravel() if link >= 0})
        self.names = tuple(tree.bodies[carrying[link]] for link in used)
        on_link = quaternion_to_matrix(tree.tree.body_in_link[:, :4])
        frames = {link: (k, on_link[carrying[link]]) for k, link in enumerate(used)}
        self.tree, self.alignment = tree, links.seen_from(frames)

    def rotations(self, q: np.ndarray) -> np.ndarray:
        """Of the bodies concerned, (..., bodies, 3, 3)."""
        return quaternion_to_matrix(self.tree.poses(q, self.names)[..., :4])

    def turned(self, q: np.ndarray) -> dict[str, float]:
        """The joints that are the wrong way round at a configuration, and by what angle [rad]."""
        return self.alignment.turned(self.rotations(q)) if self.names else {}
