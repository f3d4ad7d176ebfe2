"""Which way round joints hold their bodies.

The rows that align axes are dot products, which a half turn satisfies as well: those of a weld have four solutions, and
one is closed. So whether a joint is closed is judged on the group. The rotation of the child's joint frame in
the parent's, S = exp(r~), must be the identity (weld, prismatic), or keep the axis z (revolute, cylindrical, helical,
planar), where r is then the shortest rotation vector that takes the parent's axis to the child's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from chasles.constraint.joints import Tile
from chasles.constraint.rows import DOT, NUMBERS, TILE
from chasles.lie import so3

# near r = 0 the rows x_A·z_B, y_A·z_B, x_A·y_B are (r_y, -r_x, -r_z)
AS_ROWS = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


@dataclass(frozen=True)
class Alignment:
    """The tiles of a list that align axes: which they are, their bodies (-1: ground), and the axes on these."""

    tiles: np.ndarray
    joints: tuple[str, ...]
    bodies: np.ndarray  # (tiles, 2)
    axes: np.ndarray  # (tiles, 2, 3, 3): columns x, y, z of the joint's frame in the body's
    three_axes: np.ndarray  # whether all three axes are aligned, not only z

    @classmethod
    def of(cls, tiles: Sequence[Tile]) -> Alignment:
        """Of all tiles that hold two or three dot products."""
        aligned = [k for k, tile in enumerate(tiles) if (tile.integers[TILE.kinds : TILE.kinds + 2] == DOT).all()]
        axes, three_axes = np.empty((len(aligned), 2, 3, 3)), np.empty(len(aligned), dtype=bool)
        for j, k in enumerate(aligned):
            u, w = (tiles[k].numbers[at : at + 9].reshape(3, 3) for at in (NUMBERS.u, NUMBERS.w))
            three_axes[j] = tiles[k].integers[TILE.kinds + 2] == DOT
            z = w[0]
            y = w[2] if three_axes[j] else np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
            y = y / np.linalg.norm(y)
            axes[j, 0] = np.array([u[0], u[1], np.cross(u[0], u[1])]).T
            axes[j, 1] = np.array([np.cross(y, z), y, z]).T
        bodies = np.array([(tiles[k].first, tiles[k].second) for k in aligned], dtype=int).reshape(-1, 2)
        return cls(np.array(aligned, dtype=int), tuple(tiles[k].joint for k in aligned), bodies, axes, three_axes)

    def seen_from(self, frames: Mapping[int, tuple[int, np.ndarray]]) -> Alignment:
        """The same for bodies with other numbers and frames: of each body its new number, and the rotation of its new
        frame in the old one."""
        axes, bodies = self.axes.copy(), self.bodies.copy()
        for k, side in np.argwhere(self.bodies >= 0):
            bodies[k, side], turn = frames[int(self.bodies[k, side])]
            axes[k, side] = turn.T @ self.axes[k, side]
        return replace(self, bodies=bodies, axes=axes)

    def relative(self, rotations: np.ndarray) -> np.ndarray:
        """S of each tile, (..., tiles, 3, 3), from the rotations of all bodies, (..., bodies, 3, 3)."""
        ground = np.broadcast_to(np.eye(3), (*rotations.shape[:-3], 1, 3, 3))
        every = np.concatenate([rotations, ground], axis=-3)  # the ground, -1, is the last
        first, second = (every[..., self.bodies[:, side], :, :] @ self.axes[:, side] for side in range(2))
        return np.swapaxes(first, -1, -2) @ second

    def angles(self, rotations: np.ndarray) -> np.ndarray:
        """By what angle each joint is off, (..., tiles) [rad], from 0 to π."""
        S = self.relative(rotations)
        skew = S - np.swapaxes(S, -1, -2)
        sine = 0.5 * np.sqrt(skew[..., 2, 1] ** 2 + skew[..., 0, 2] ** 2 + skew[..., 1, 0] ** 2)
        turn = np.arctan2(sine, 0.5 * (np.trace(S, axis1=-2, axis2=-1) - 1.0))
        tilt = np.arctan2(np.hypot(S[..., 0, 2], S[..., 1, 2]), S[..., 2, 2])
        return np.where(self.three_axes, turn, tilt)

    def turned(self, rotations: np.ndarray) -> dict[str, float]:
        """The joints that are the wrong way round, and by what angle [rad]: beyond 90 degrees the rows, as they fall to
        zero, lead to a half turn."""
        angles = zip(self.joints, self.angles(rotations).tolist(), strict=True)
        return {joint: angle for joint, angle in angles if angle > np.pi / 2}

    def add_to(self, names: Sequence[str], amounts: np.ndarray, rotations: np.ndarray) -> np.ndarray:
        """Violations by joint, (..., names), in which those that are the wrong way round count with their angle."""
        order = {name: k for k, name in enumerate(names)}
        angles = self.angles(rotations)
        for j, joint in enumerate(self.joints):
            k, angle = order[joint], angles[..., j]
            amounts[..., k] = np.where(angle > np.pi / 2, np.maximum(angle, amounts[..., k]), amounts[..., k])
        return amounts

    def rows(self, rotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows to assemble with, in place of the dot products: g (tiles, 3), zero only where the joint is closed, and
        their Jacobians in the angular velocities of both bodies, each in its own frame, (tiles, 2, 3, 3).

        g is r in the order of the rows, and the Jacobian is that of the relative angular velocity, with which gᵀJ is
        the gradient of |r|²/2 at any distance.
        """
        S = self.relative(rotations)
        r = so3.log(S)
        across = np.hypot(S[:, 0, 2], S[:, 1, 2])
        tilt = np.arctan2(across, S[:, 2, 2])
        some = np.where(across > 0.0, across, 1.0)
        x = np.where(across > 0.0, -S[:, 1, 2] / some, 1.0)  # at a half turn all axes serve
        axis = np.stack([x, S[:, 0, 2] / some, np.zeros_like(x)], axis=-1) * tilt[:, None]
        r = np.where(self.three_axes[:, None], r, axis)
        on_first = -np.swapaxes(self.axes[:, 0], -1, -2)
        on_second = S @ np.swapaxes(self.axes[:, 1], -1, -2)
        return r @ AS_ROWS.T, AS_ROWS @ np.stack([on_first, on_second], axis=1)


def described(turned: Mapping[str, float]) -> str:
    """What is said of joints that are the wrong way round; nothing if there are none."""
    if not turned:
        return ""
    listed = [f"{joint!r} by {np.degrees(angle):.0f} degrees" for joint, angle in turned.items()]
    return f" (turned the wrong way round: {'; '.join([*listed[:8], '...'][: len(listed)])})"
