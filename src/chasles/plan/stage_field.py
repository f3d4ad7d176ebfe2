"""Accelerations at many states at once with their derivatives, with springs, dampers, laws, joints that follow others
and closed loops: the field of `simulate` on dual numbers.

Next to the constraints of a loop it is a smooth continuation of the accelerations that they allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH, buffer
from chasles.plan.held_loops import field_tangents
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.closed.tangent import ClosedTangentTables, tangent_addresses
from chasles.simulation.slopes import CENTRAL
from chasles.simulation.tree.dynamics import TreeDynamics
from chasles.simulation.tree.tangent import TangentTables

STRETCH = 1e-2  # of an interval, over which the field is differenced by its time


class FieldOnDuals:
    """Accelerations at states, arrays of which have any shape in front."""

    tables: TangentTables | ClosedTangentTables
    dynamics: TreeDynamics

    def __init__(self, mechanism: Any, rank: int = -1):
        """rank: how many rows of the constraints of loops are independent."""
        self.mechanism, self.nq, self.nv = mechanism, mechanism.nq, mechanism.nv
        self.laws = tuple(mechanism.tables.acting.laws)
        if isinstance(mechanism, ClosedMechanism):
            self.dynamics = ClosedDynamics(mechanism)
            self.dynamics.rank = rank
            self.tables = ClosedTangentTables(mechanism, self.dynamics.parameters, False)
            self.address, self.laws = tangent_addresses()[0], (*self.laws, *mechanism.laws)
        else:
            self.dynamics, self.tables = TreeDynamics(mechanism), TangentTables(mechanism)
            self.address = self.tables.address
        self.count, self.size = len(self.tables.constants), self.nq + self.nv + 1  # of the tables, of a point
        if isinstance(self.tables, ClosedTangentTables):
            self.places = self.tables.places.astype(np.int64)
        else:
            self.places = self.tables.start + WIDTH * np.arange(self.count + self.nv)
        self.p = self.tables.packed(np.zeros(self.nv), np.zeros((self.count + self.nv, TANGENTS)))
        self.rooms = buffer(self.size), buffer(self.size)

    def _along(
        self,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        forces: np.ndarray,
        seeds: np.ndarray,
        shifts: np.ndarray,
        forced: np.ndarray,
    ) -> np.ndarray:
        """Accelerations and their derivatives, (states, nv, 1 + columns), of states one after the other."""
        nv, points = self.nv, np.concatenate([q, v, np.zeros((len(q), 1))], axis=1)
        found = np.empty((len(points), 2 * nv, 1 + seeds.shape[2]))
        numbers = t, points, forces, seeds, shifts, forced
        with self.dynamics.calling(tangents=True):
            field_tangents(*map(np.ascontiguousarray, numbers), found, *self.rooms, self.address, self.p, self.places)
        return found[:, nv:]

    def accelerations(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """At states under forces (..., nv)."""
        one, two, three = (x.reshape(-1, x.shape[-1]) for x in (q, v, forces))
        none = np.zeros((t.size, self.size, 0)), np.zeros((self.count, 0)), np.zeros((t.size, self.nv, 0))
        return self._along(t.ravel(), one, two, three, *none)[..., 0].reshape(v.shape)

    def slopes(
        self,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        forces: np.ndarray,
        forced: np.ndarray,
        h: float,
        shifts: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives by (δ, δv), (..., nv, 2 nv), along changes (..., nv, columns) of the forces with shifts (count,
        columns) of the tables, and by the time, (..., nv): differences over a part of h, where there are laws."""
        nv, nq, batch = self.nv, self.nq, t.shape
        one, two, three = (x.reshape(-1, x.shape[-1]) for x in (q, v, forces))
        columns = forced.shape[-1]
        seeds = np.zeros((t.size, self.size, 2 * nv + columns))
        along, pushed = np.zeros((self.count, 2 * nv + columns)), np.zeros((t.size, nv, 2 * nv + columns))
        turned = self.tables.configuration.lift(one[:, None], np.eye(nv)[None])
        seeds[:, :nq, :nv] = turned.transpose(0, 2, 1)
        seeds[:, nq : nq + nv, nv : 2 * nv] = np.eye(nv)
        along[:, 2 * nv :] = 0.0 if shifts is None else shifts
        pushed[..., 2 * nv :] = forced.reshape(-1, nv, columns)
        found = self._along(t.ravel(), one, two, three, seeds, along, pushed)[..., 1:].reshape(*batch, nv, -1)
        rate = np.zeros(v.shape)
        if self.laws:
            size = STRETCH * h
            for k, weight in enumerate(CENTRAL, 1):
                pair = (self.accelerations(t + side * k * size, q, v, forces) for side in (1, -1))
                rate += weight / size * np.subtract(*pair)
        return found[..., : 2 * nv], found[..., 2 * nv :], rate
