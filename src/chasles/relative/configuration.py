"""Configurations of a tree as elements of a group: neutral, random, q exp(δ), differences, interpolation.

Coordinates with one axis add up. The quaternion of a spherical joint and the pose of a free one are multiplied on the
right by exp(δ), in the coordinates of the velocity: δ means v times time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.lie import s3
from chasles.lie.arrays import real_array
from chasles.lie.rotation import quaternion_to_matrix
from chasles.relative.tables import FREE, HEAD, LINK, SPHERICAL, link_table


class Configuration:
    """The algebra of configurations of one tree, from its topology."""

    def __init__(self, topology: np.ndarray):
        table = link_table(topology)
        self.nq, self.nv = int(topology[HEAD.coordinates]), int(topology[HEAD.velocities])
        groups = {
            kind: table[table[:, LINK.kind] == kind][:, [LINK.coordinate, LINK.velocity]] for kind in (SPHERICAL, FREE)
        }
        self._spherical = [_spans(groups[SPHERICAL], 4, 3)] if len(groups[SPHERICAL]) else []
        self._free = [_spans(groups[FREE], 7, 6)] if len(groups[FREE]) else []
        plain = table[(table[:, LINK.kind] != SPHERICAL) & (table[:, LINK.kind] != FREE)]
        self._plain = plain[:, LINK.coordinate], plain[:, LINK.velocity]
        self._parts = [(part, s3) for part in self._spherical] + [(part, pose_group) for part in self._free]

    def neutral(self) -> np.ndarray:
        """All joints' frames coincide: zeros, and identities of the groups."""
        q = np.zeros(self.nq)
        for (iq, _), _ in self._parts:
            q[iq[:, 0]] = 1.0
        return q

    def random(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
        """Angles and distances uniform in [-π, π], rotations uniform, positions standard normal."""
        q = np.empty((*shape, self.nq))
        q[..., self._plain[0]] = rng.uniform(-np.pi, np.pi, (*shape, len(self._plain[0])))
        for (iq, _), group in self._parts:
            q[..., iq] = group.random(rng, (*shape, len(iq)))
        return q

    def retract(self, q: ArrayLike, delta: ArrayLike) -> np.ndarray:
        """q exp(δ)."""
        start = real_array("retract", "q", q, (self.nq,))
        step = real_array("retract", "delta", delta, (self.nv,))
        batch = np.broadcast_shapes(start.shape[:-1], step.shape[:-1])
        end = np.empty((*batch, self.nq))
        end[..., self._plain[0]] = start[..., self._plain[0]] + step[..., self._plain[1]]
        for (iq, iv), group in self._parts:
            end[..., iq] = group.compose(start[..., iq], group.exp(step[..., iv]))
        return end

    def difference(self, q1: ArrayLike, q0: ArrayLike) -> np.ndarray:
        """δ with q0 exp(δ) = q1, by the shorter rotation."""
        end = real_array("difference", "q1", q1, (self.nq,))
        start = real_array("difference", "q0", q0, (self.nq,))
        batch = np.broadcast_shapes(start.shape[:-1], end.shape[:-1])
        delta = np.empty((*batch, self.nv))
        delta[..., self._plain[1]] = end[..., self._plain[0]] - start[..., self._plain[0]]
        for (iq, iv), group in self._parts:
            relative = group.compose(group.inverse(start[..., iq]), end[..., iq])
            if group is s3:  # q and -q are the same rotation
                relative = np.where(relative[..., :1] < 0, -relative, relative)
            delta[..., iv] = group.log(relative)
        return delta

    def lift(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """The derivative of the numbers q along q exp(s δ), for q (..., nq) and δ (..., nv)."""
        rate = np.empty((*np.broadcast_shapes(q.shape[:-1], delta.shape[:-1]), self.nq))
        rate[..., self._plain[0]] = delta[..., self._plain[1]]
        for (iq, iv), group in self._parts:
            w, x, d = q[..., iq[:, :1]], q[..., iq[:, 1:4]], delta[..., iv]
            turn = d[..., :3]
            rate[..., iq[:, 0]] = -0.5 * (x * turn).sum(axis=-1)
            rate[..., iq[:, 1:4]] = 0.5 * (w * turn + np.cross(x, turn))
            if group is pose_group:
                rotation = quaternion_to_matrix(q[..., iq[:, :4]])
                rate[..., iq[:, 4:]] = (rotation @ d[..., 3:, None])[..., 0]
        return rate

    def lower(self, q: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """δ (..., nv) of a derivative of the numbers q: the inverse of `lift`."""
        delta = np.empty((*np.broadcast_shapes(q.shape[:-1], rate.shape[:-1]), self.nv))
        delta[..., self._plain[1]] = rate[..., self._plain[0]]
        for (iq, iv), group in self._parts:
            w, x, d = q[..., iq[:, :1]], q[..., iq[:, 1:4]], rate[..., iq]
            turn = d[..., 1:4]
            delta[..., iv[:, :3]] = 2.0 * (w * turn - d[..., :1] * x - np.cross(x, turn))
            if group is pose_group:
                rotation = quaternion_to_matrix(q[..., iq[:, :4]])
                delta[..., iv[:, 3:]] = (np.swapaxes(rotation, -1, -2) @ d[..., 4:, None])[..., 0]
        return delta

    def ad(self, v: np.ndarray) -> np.ndarray:
        """[v, .] on the algebra of the configurations, (nv, nv): zero but for spherical and free joints."""
        matrix = np.zeros((self.nv, self.nv))
        for (_, iv), group in self._parts:
            for block in iv:
                matrix[np.ix_(block, block)] = group.ad(v[block])
        return matrix

    def interpolate(self, q0: ArrayLike, q1: ArrayLike, fraction: ArrayLike) -> np.ndarray:
        """q0 exp(s δ) on the shortest way to q1; s = 0 gives q0, s = 1 gives q1."""
        s = np.asarray(fraction, dtype=float)[..., None]
        return self.retract(q0, s * self.difference(q1, q0))


def _spans(starts: np.ndarray, nq: int, nv: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices into q and v of joints that begin at `starts`, (joints, nq) and (joints, nv)."""
    return starts[:, :1] + np.arange(nq), starts[:, 1:] + np.arange(nv)
