"""Inertial numbers of a tree as functions of masses, centers, inertias about them, and places of bodies in links.

Links have m, m c and inertias about their origins, which are products of these. Taken apart, each of them mostly
depends on one parameter, and is straight in it: so few systems tell how all of them change (`slopes`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.constraint.rows import NUMBERS as TILE_NUMBERS
from chasles.model.body import UPPER
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.relative.tables import CONSTANT, GRAVITY

APART = 17  # of each body: mass, center, inertia (xx, xy, xz, yy, yz, zz), quaternion and position in its link
INERTIAL = slice(CONSTANT.mass, CONSTANT.pitch)
STEP = 1e-30  # of complex steps


class BodyNumbers:
    """Of the mechanisms of a family, the numbers of their bodies beside those of their tables."""

    def __init__(self, base: Mechanism | ClosedMechanism):
        self.mechanism, self.tree = base, base.tree
        self.tiles = len(base.closing.tiles) if isinstance(base, ClosedMechanism) else 0
        self.units = np.ones((len(self._bodies(base)), 1))
        self.base = self._apart(base)
        self.units = self.base[:, 10:14]
        self.moving = np.flatnonzero(self.tree.link_of_body >= 0)

    def apart(self, mechanism: Mechanism | ClosedMechanism, numbers: np.ndarray) -> np.ndarray:
        """Numbers that begin with those of the tree, but inertial ones, and behind them those of the bodies."""
        rest = numbers.copy()
        self._inertial(rest)[...] = 0.0
        return np.concatenate([rest, self._apart(mechanism).ravel()])

    def sizes(self, numbers: np.ndarray) -> np.ndarray:
        """How large what the numbers are made of is: of vectors their length, as they are turned."""
        found = np.abs(self.apart(self.mechanism, numbers))
        links, bodies = self._links(found), found[len(numbers) :].reshape(-1, APART)
        tiles = found[len(self.tree.numbers) :][: self.tiles * TILE_NUMBERS.size].reshape(-1, 3)
        links[:, : CONSTANT.position] = bodies[:, 10:14] = 1.0
        for vectors in (links[:, CONSTANT.position : CONSTANT.mass], tiles, bodies[:, 1:4], bodies[:, 14:]):
            vectors[:] = vectors.max(axis=1, initial=0.0, keepdims=True)
        bodies[:, 4:10] = bodies[:, 4:10].max(axis=1, initial=0.0, keepdims=True)
        return found

    def joined(self, changes: np.ndarray, count: int) -> np.ndarray:
        """Changes of numbers, of which `count` come before those of bodies, from changes of what `apart` made."""
        size = APART * len(self.base)
        bodies = changes[count : count + size].reshape(len(self.base), APART, changes.shape[1])
        found = np.concatenate([changes[:count], changes[count + size :]])
        inertial, slopes = self._inertial(found), self._slopes()
        for k in self.moving.tolist():
            inertial[self.tree.link_of_body[k]] += slopes[k] @ bodies[k]
        return found

    def _inertial(self, numbers: np.ndarray) -> np.ndarray:
        """Those of the links, (links, 10, ...), as a view."""
        return self._links(numbers)[:, INERTIAL]

    def _links(self, numbers: np.ndarray) -> np.ndarray:
        """The constants of links among numbers that begin with those of the tree, as a view."""
        own = numbers[GRAVITY.size : len(self.tree.numbers)]
        return own.reshape(len(own) // CONSTANT.size, CONSTANT.size, *numbers.shape[1:])

    @staticmethod
    def _bodies(mechanism: Any) -> Any:
        system = mechanism.spanning.system if isinstance(mechanism, ClosedMechanism) else mechanism.system
        return system.bodies

    def _apart(self, mechanism: Mechanism | ClosedMechanism) -> np.ndarray:
        bodies, places = self._bodies(mechanism), mechanism.tree.body_in_link
        mass, com = (np.array([getattr(body, name) for body in bodies]) for name in ("mass", "com"))
        inertia = np.array([body.inertia for body in bodies]).reshape(-1, 3, 3)[:, *UPPER]
        found = np.concatenate([mass.reshape(-1, 1), com.reshape(-1, 3), inertia, places.reshape(-1, 7)], axis=1)
        found[:, 10:14] *= np.copysign(1.0, (found[:, 10:14] * self.units).sum(axis=1, keepdims=True))
        return found

    def _slopes(self) -> np.ndarray:
        """Derivatives of the ten numbers of a link by those of each body on it, (bodies, 10, 17)."""
        steps = self.base + 1j * STEP * np.eye(APART)[:, None]
        return np.moveaxis(np.imag(on_link(steps)) / STEP, 0, -1)


def on_link(apart: np.ndarray) -> np.ndarray:
    """m, m c and the inertia about the origin of a link, (..., 10), from the numbers of a body (..., 17)."""
    mass, com, (w, x, y, z) = apart[..., 0], apart[..., 1:4], np.moveaxis(apart[..., 10:14], -1, 0)
    turn = np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    turn = np.moveaxis(turn, (0, 1), (-2, -1))
    center = (turn @ com[..., None])[..., 0] + apart[..., 14:]
    own = apart[..., 4:10][..., [[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
    about = (center * center).sum(axis=-1)[..., None, None] * np.eye(3) - center[..., :, None] * center[..., None, :]
    inertia = turn @ own @ np.swapaxes(turn, -1, -2) + mass[..., None, None] * about
    return np.concatenate([mass[..., None], mass[..., None] * center, inertia[..., *UPPER]], axis=-1)
