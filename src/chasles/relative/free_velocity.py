"""Velocities of free joints as integrators take them: w, with those of positions in the frames that the joints move in.

v has twists in the axes of the body: its linear part turns with the body, however evenly this moves. w has p' = R v in
its place, which only forces change: a uniform velocity is a constant. All other velocities are the same in both.
"""

from __future__ import annotations

import numpy as np

from chasles.kernel.algebra import add, cross, mul, mul_t
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, store3
from chasles.lie import quaternion
from chasles.relative.joint import load_quaternion
from chasles.relative.tables import FREE, HEAD, LINK, link, link_table, links_of


@kernel
def to_body(topology, q, w, v, z):
    """v of velocities w; they may be the same array."""
    for k in range(topology[HEAD.velocities]):
        store(v, k, load(w, k, z))
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == FREE:
            R = quaternion.to_matrix(load_quaternion(q, iq, z))
            store3(v, iv + 3, mul_t(R, load3(v, iv + 3, z)))


@kernel
def from_body(topology, q, v, z):
    """w in place of v."""
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == FREE:
            R = quaternion.to_matrix(load_quaternion(q, iq, z))
            store3(v, iv + 3, mul(R, load3(v, iv + 3, z)))


@kernel
def stop_roots(topology, v, z):
    """Velocities as they are seen from the place of each free joint on the ground: accelerations w' are the same there,
    and have no rounding of a large velocity."""
    for i in range(links_of(topology)):
        parent, kind, _, iv = link(topology, i)
        if kind == FREE and parent < 0:
            zero = like(0.0, z)
            store3(v, iv + 3, (zero, zero, zero))


@kernel
def rates_from_body(topology, q, v, a, stopped, z):
    """w' in place of v' = a: R (v' + ω x v). `stopped`: what is on the ground has v = 0 there, by `stop_roots`."""
    for i in range(links_of(topology)):
        parent, kind, iq, iv = link(topology, i)
        if kind == FREE:
            R, rate = quaternion.to_matrix(load_quaternion(q, iq, z)), load3(a, iv + 3, z)
            if parent >= 0 or not stopped:
                rate = add(rate, cross(load3(v, iv, z), load3(v, iv + 3, z)))
            store3(a, iv + 3, mul(R, rate))


class FreeVelocities:
    """The same for arrays of states (..., nq) and (..., nv)."""

    def __init__(self, topology: np.ndarray):
        table = link_table(topology)
        free = table[table[:, LINK.kind] == FREE]
        self.count = len(free)
        self._turn = free[:, [LINK.coordinate]] + np.arange(4)
        self._spin = free[:, [LINK.velocity]] + np.arange(3)
        self._linear = self._spin + 3

    def to_body(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """v of velocities w."""
        v = w.copy()
        v[..., self._linear] = self._turned(-1.0, q, w[..., self._linear])
        return v

    def from_body(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """w of velocities v."""
        w = v.copy()
        w[..., self._linear] = self._turned(1.0, q, v[..., self._linear])
        return w

    def change_from_body(self, q: np.ndarray, v: np.ndarray, turn: np.ndarray, change: np.ndarray) -> np.ndarray:
        """How w changes where q turns by `turn` (nv) along q exp(turn) and v by `change`; rates are such changes."""
        total = change.copy()
        total[..., self._linear] += np.cross(turn[..., self._spin], v[..., self._linear])
        return self.from_body(q, total)

    def change_to_body(self, q: np.ndarray, v: np.ndarray, turn: np.ndarray, change: np.ndarray) -> np.ndarray:
        """How v changes where q turns by `turn` and w by `change`."""
        total = self.to_body(q, change)
        total[..., self._linear] -= np.cross(turn[..., self._spin], v[..., self._linear])
        return total

    def _turned(self, sign: float, q: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Vectors turned by the joints' quaternions, or back. Of a run that ran away states may be no numbers."""
        turn = q[..., self._turn]
        axis = sign * turn[..., 1:]
        with np.errstate(invalid="ignore", over="ignore"):
            across = 2.0 * np.cross(axis, vectors)
            return vectors + turn[..., :1] * across + np.cross(axis, across)
