"""The cotangents of a run in joint coordinates with loops: what they go through, and what they say of parameters, of
bodies and of the start."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from chasles.kernel.lanes import WIDTH
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.adjoint.by_duals import memory_of
from chasles.simulation.adjoint.force_numbers import ForceNumbers
from chasles.simulation.adjoint.loop_field import linkage_address, loop_address
from chasles.simulation.adjoint.loop_memory import LOOP_SPOT, loop_memory, numbers_in
from chasles.simulation.adjoint.loop_projection import projection_address
from chasles.simulation.adjoint.loop_sweeps import LOOP_SPOTS
from chasles.simulation.adjoint.steps import OF_CORRECTION, OF_FIELD
from chasles.simulation.adjoint.sweep import Through
from chasles.simulation.adjoint.tree import forces_address
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.closed.tangent import ClosedTangentTables
from chasles.simulation.sensitivities import StartTangents
from chasles.simulation.tree.tangent import TangentTables

_POINTER = ctypes.POINTER(ctypes.c_double)
_PULL = ctypes.CFUNCTYPE(None, ctypes.c_double, *(_POINTER,) * 7, ctypes.POINTER(ctypes.c_int64))


class LoopAdjoint:
    """A closed mechanism whose numbers (of the tree, of tiles, of forces) change by `shifts`, (count, m)."""

    of_forces: ForceNumbers | None = None

    def __init__(self, dynamics: ClosedDynamics, tables: ClosedTangentTables, shifts: np.ndarray):
        self.dynamics, self.tables, self.shifts = dynamics, tables, shifts
        self.mechanism: ClosedMechanism = dynamics.mechanism
        self.count = numbers_in(self.mechanism.packed.parameters)  # of the tree and of tiles
        if not self.mechanism.tables.acting.empty:
            self.forces = TangentTables(self.mechanism.spanning, dynamics.free is not None)
            tree = shifts[: len(self.mechanism.tree.numbers)]
            self.of_forces = ForceNumbers(self.mechanism.spanning, np.concatenate([tree, shifts[self.count :]]))

    def through(self) -> Through:
        """What cotangents go through; numbers beside those of inputs are those of tree and tiles, then of forces."""
        pulls = np.zeros(2, dtype=np.int64)
        pulls[OF_FIELD] = loop_address()
        corrected = np.zeros(8)
        if self.dynamics.corrected:
            pulls[OF_CORRECTION], corrected = projection_address(), self._projection()
        if self.of_forces is None:
            return Through(pulls, self._memory(None), corrected, self.count)
        return Through(pulls, self._memory(self._forces(self.of_forces)), corrected, self.count + self.of_forces.size)

    def _memory(self, forces: np.ndarray | None, spots: int = 0, own: np.ndarray | None = None) -> np.ndarray:
        packed, free = self.dynamics.parameters, self.dynamics.free is not None
        return loop_memory(self.mechanism, packed, self.tables, linkage_address(), free, forces, spots, own)

    def _forces(self, own: ForceNumbers) -> np.ndarray:
        """The memory of forces on duals, along directions of their numbers."""
        nv, count = self.mechanism.nv, len(self.forces.constants)
        state, result = self.mechanism.nq + nv, nv + 6 * self.mechanism.tables.links
        p = self.forces.packed(np.zeros(nv), np.zeros((count + nv, 3)))
        places = self.forces.start + WIDTH * np.arange(count)
        return memory_of(forces_address(), (state, state, result), p, places, own.directions, owners=own.owners)

    def _projection(self) -> np.ndarray:
        packed = self.dynamics.parameters
        return self._memory(None, LOOP_SPOTS * LOOP_SPOT.size(packed.view(np.int64)), packed)

    # ------------------------------------------------------------ what is asked for

    def by_parameters(self, g: np.ndarray, start: StartTangents, first: np.ndarray) -> np.ndarray:
        """Derivatives (m,) from the cotangents of the numbers and of the first point."""
        found = self._of_start(start, first) @ self.shifts[: self.count]
        if len(g):  # else nothing was simulated
            found += g[: self.count] @ self.shifts[: self.count]
            if self.of_forces is not None:
                found += self.of_forces.by_parameters(g[self.count :])
        return found

    def _of_start(self, start: StartTangents, first: np.ndarray) -> np.ndarray:
        """Cotangents of the numbers of tree and tiles, on which the start depends (`StartTangents.follow`)."""
        assert start.closed is not None
        nv, y = self.mechanism.nv, start.y
        of_states = first @ start.points(np.eye(2 * nv))
        of_states[start.closed.states] -= of_states @ start.closed.basis
        bar = of_states @ start.states(np.eye(len(y)), start.q[None], start.v[None])
        g, memory, empty = np.zeros(nv + self.count), self._projection(), np.zeros(8)
        sizes = np.array([len(y), len(y), len(g), len(empty), len(memory)], dtype=np.int64)
        arrays = y.copy(), empty, bar, np.zeros(len(y)), g, empty, memory
        pointers = (array.ctypes.data_as(_POINTER) for array in arrays)
        with self.dynamics.calling(tangents=True):
            _PULL(projection_address())(start.closed.t, *pointers, sizes.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)))
        return g[nv:]


def parts_of_bodies(mechanism: Mechanism | ClosedMechanism) -> Iterator[tuple[int, float]]:
    """Of each body of the tree which body of the system it is, and which share of it: some are split in equal parts."""
    bodies = {body.name: k for k, body in enumerate(mechanism.system.bodies)}
    if isinstance(mechanism, Mechanism):
        yield from ((k, 1.0) for k in bodies.values())
        return
    parts = mechanism.split.parts
    whole = {part: name for name, own in parts.items() for part in own}
    for body in mechanism.spanning.system.bodies:
        name = whole.get(body.name, body.name)
        yield bodies[name], 1.0 / (1 + len(parts.get(name, ())))
