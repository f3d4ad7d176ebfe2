"""Residuals of a mechanism in absolute coordinates at many states, with exact derivatives (`residual_tangent`)."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from chasles.absolute import force_duals, residual_tangent
from chasles.absolute.coloring import Colors, colored
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import MECHANISM
from chasles.cached import cached_property
from chasles.constraint.duals import on_duals
from chasles.constraint.rows import EMPTY, MOTION, ROTOR, TILE
from chasles.force.law_tangent import LawTangent
from chasles.force.table import FORCE, FORCES
from chasles.kernel.lanes import WIDTH, buffer
from chasles.kernel.undisturbed import Calling
from chasles.lie.rotation import quaternion_to_matrix


class MovingStates(NamedTuple):
    """States of bodies, by rows: times, whether forces and gravity act, counted angles, inputs along the joints, poses,
    velocities, their derivatives, and two sets of multipliers in the order of the tiles."""

    t: np.ndarray
    forced: np.ndarray
    angles: np.ndarray
    controls: np.ndarray
    q: np.ndarray
    v: np.ndarray
    rate: np.ndarray
    lam: np.ndarray
    zeta: np.ndarray


class ResidualParts(NamedTuple):
    """Residuals, or their derivatives along (..., 6 bodies) columns: of motion (6 a body), the shift by ζ, places,
    speeds and changes of the constraints (`BodyResiduals.rows`), velocities of all joints."""

    motion: np.ndarray
    shift: np.ndarray
    place: np.ndarray
    speed: np.ndarray
    change: np.ndarray
    joints: np.ndarray


class BodyResiduals:
    """`residual_tangent` of a mechanism."""

    def __init__(self, mechanism: AbsoluteMechanism):
        self.mechanism, self.n = mechanism, mechanism.n
        packed = mechanism.packed.copy()
        constants, table = MECHANISM.part(packed, "constants"), MECHANISM.part(packed, "table")
        constants[:], self.constraint_laws = on_duals(constants, mechanism.tiles, mechanism.laws)
        self.laws = [LawTangent(law) for law in mechanism.forces.laws]
        rows = table[FORCES.size :].reshape(-1, FORCE.size)
        by_address = {law.address: one.address for law, one in zip(mechanism.forces.laws, self.laws, strict=True)}
        with_law = rows[:, FORCE.law] != 0
        rows[with_law, FORCE.law] = [by_address[int(address)] for address in rows[with_law, FORCE.law]]
        self.packed, self.integers = packed, packed.view(np.int64)
        self.acting = force_duals.acting_addresses(mechanism.forces.table)
        tiles = mechanism.tiles
        self.edges = np.cumsum([6 * self.n, 6 * self.n, *(3 * len(tiles),) * 3]).tolist()
        self.size = self.edges[-1] + mechanism.joint_tables.nv
        # tiles of a coupling share their node: the last of them has the sum
        nodes = mechanism.elimination.order[mechanism._node] if tiles else np.zeros(0, dtype=int)
        last = {int(node): tile for tile, node in enumerate(nodes)}
        chosen = np.array(sorted(last.values()), dtype=int)
        self.tile_of_rows, place = chosen, {int(nodes[tile]): k for k, tile in enumerate(chosen)}
        self.rows_of_tile = np.array([place[int(node)] for node in nodes], dtype=int)
        self.rows = (3 * chosen[:, None] + np.arange(3)).ravel()  # of the tiles' numbers
        kinds = np.array([tiles[k].integers[TILE.kinds : TILE.kinds + 3] for k in chosen], dtype=int).ravel()
        self.rotors, self.measured = kinds == ROTOR, (kinds != ROTOR) & (kinds != EMPTY)  # which rows

    @cached_property
    def colors(self) -> Colors:
        return colored(self.mechanism)

    @property
    def notes(self) -> tuple[str, ...]:
        """Of laws whose derivatives are differences."""
        return tuple(law.note for law in (*self.laws, *self.constraint_laws) if law.note)

    def at(self, states: MovingStates) -> ResidualParts:
        """Values (states, size)."""
        return self._parts(self._evaluated(states, 0)[0])

    def slopes(self, states: MovingStates) -> tuple[ResidualParts, ResidualParts, ResidualParts]:
        """Values, and derivatives along q exp(δ) and along velocities, (states, size, 6 bodies)."""
        count, n = len(states.t), self.n
        values, derivatives = self._evaluated(states, count)
        both = derivatives.reshape(count, 2, 2, n, 3, self.size).transpose(1, 0, 5, 3, 2, 4)
        by_pose, by_velocity = both.reshape(2, count, self.size, 6 * n)
        return self._parts(values), self._parts(by_pose), self._parts(by_velocity)

    def columns(self, states: MovingStates) -> tuple[ResidualParts, np.ndarray]:
        """Values, and derivatives of all residuals along q exp(δ) and along velocities, (2, states, bodies, 2, 3,
        size), angular and linear: where they are found, as views."""
        values, derivatives = self._evaluated(states, len(states.t))
        both = derivatives.reshape(len(values), 2, 2, self.n, 3, self.size).transpose(1, 0, 3, 2, 4, 5)
        return self._parts(values), both

    def _evaluated(self, states: MovingStates, differentiated: int) -> tuple[np.ndarray, np.ndarray]:
        count, n, mechanism = len(states.t), self.n, self.mechanism
        values = np.empty((count, self.size))
        derivatives = np.zeros((differentiated, residual_tangent.BLOCKS, n, 3, self.size))
        controls = states.controls if mechanism.inputs else np.zeros((count, 0))
        with self.calling:
            residual_tangent.residuals_of_states(
                *(residual_tangent.residuals_address(), self.integers, mechanism.packed, self.packed, self.acting),
                *(part.ravel() for part in self.colors),
                *(states.t, states.forced, states.angles, controls),
                *(states.q, states.v, states.rate, states.lam, states.zeta),
                *(*self._workspace, values, derivatives),
            )
        return values, derivatives

    @cached_property
    def calling(self) -> Calling:
        """Around calls of laws: those of Python, and differences of those that are not compiled for duals."""
        laws = *self.mechanism.forces.laws, *self.mechanism.laws
        return Calling(laws, bool(self.notes))

    @cached_property
    def force_duals(self) -> np.ndarray:
        """The numbers of forces, on duals."""
        numbers = buffer(len(self.mechanism.forces.values))
        numbers[::WIDTH] = self.mechanism.forces.values
        return numbers

    @cached_property
    def _workspace(self) -> tuple[np.ndarray, ...]:
        """Workspace: motion, then duals of the numbers of forces, of q, V, of work and of the result."""
        work = residual_tangent.RESIDUAL_WORK.size(self.integers)
        return (
            *(np.empty(MOTION.size * self.n), self.force_duals, buffer(7 * self.n), buffer(6 * self.n)),
            *(buffer(work), buffer(self.size)),
        )

    def _parts(self, both: np.ndarray) -> ResidualParts:
        edges = 0, *self.edges, self.size
        parts = [both[:, first:last] for first, last in itertools.pairwise(edges)]
        if len(self.rows) < 3 * len(self.mechanism.tiles):
            parts[2:5] = [part[:, self.rows] for part in parts[2:5]]
        return ResidualParts(*parts)

    def rotations(self, q: np.ndarray) -> np.ndarray:
        """Of the bodies' linear velocities to the axes of space, (states, bodies, 3, 3): on SO(3)xR3 the identity."""
        R = quaternion_to_matrix(q.reshape(len(q), self.n, 7)[..., :4])
        return np.where(self.mechanism._mixed[:, None, None], np.eye(3), R)

    def to_space(self, matrix: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Rows (states, rows, 6 bodies) on velocities in the bodies' spaces as rows on (ω in the body, r' in space)."""
        out = matrix.reshape(*matrix.shape[:-1], self.n, 6).copy()
        out[..., 3:] = np.einsum("srik,sijk->srij", out[..., 3:], R)
        return out.reshape(matrix.shape)

    def inertia(self, R: np.ndarray) -> np.ndarray:
        """∂ motion / ∂V', (states, bodies, 6, 6)."""
        out = np.zeros((len(R), self.n, 6, 6))
        every = np.arange(3)
        out[:, :, every, every] = self.mechanism.moments
        out[:, :, 3:, 3:] = self.masses[:, None, None] * R
        return out

    def metric(self, name: str) -> np.ndarray:
        """The inverse of the metric in which positions are corrected, (bodies, 6)."""
        if name == "unit":
            return np.ones((self.n, 6))
        return np.concatenate([1 / self.mechanism.moments, np.repeat(1 / self.masses[:, None], 3, axis=1)], axis=1)

    @property
    def masses(self) -> np.ndarray:
        return np.array([body.mass for body in self.mechanism.system.bodies])


def made_states(mechanism: AbsoluteMechanism, count: int, **given: Any) -> MovingStates:
    """States with what is not given: zeros, and forces that act."""
    n, tiles = mechanism.n, len(mechanism.tiles)
    sizes = {"angles": mechanism.angles_counted, "controls": mechanism.joint_tables.nv, "q": 7 * n, "v": 6 * n}
    sizes |= {"rate": 6 * n, "lam": 3 * tiles, "zeta": 3 * tiles}
    parts: dict[str, np.ndarray] = {"t": np.zeros(count), "forced": np.ones(count, dtype=np.int64)}
    for name, size in sizes.items():
        parts[name] = np.zeros((count, size))
    for name, value in given.items():
        parts[name] = np.ascontiguousarray(np.reshape(np.array(value, dtype=parts[name].dtype), parts[name].shape))
    return MovingStates(**parts)
