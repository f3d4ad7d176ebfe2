"""Accelerations at many states at once with their derivatives, with springs, dampers, laws, joints that follow others
and closed loops: the field of `simulate` on dual numbers.

Next to the constraints of a loop it is a smooth continuation of the accelerations that they allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.closed.tangent import ClosedTangentTables, tangent_addresses
from chasles.simulation.slopes import CENTRAL
from chasles.simulation.tree.dynamics import TreeDynamics
from chasles.simulation.tree.tangent import TangentTables, evaluated

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
        self.count = len(self.tables.constants) + self.nv  # numbers of the tables, forces last

    def _along(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, forces: np.ndarray, seeds: np.ndarray, shifts: np.ndarray
    ) -> np.ndarray:
        """Accelerations and their derivatives, (states, nv, 1 + columns), of states one after the other."""
        found, nv, y = np.empty((len(t), self.nv, 1 + seeds.shape[2])), self.nv, np.zeros(self.nq + self.nv + 1)
        with self.dynamics.calling(tangents=True):
            for k in range(len(t)):
                y[: self.nq], y[self.nq : -1] = q[k], v[k]
                rates = evaluated(self.tables, self.address, float(t[k]), y, forces[k], seeds[k], shifts[k], len(y))
                found[k] = rates[nv : 2 * nv]
        return found

    def accelerations(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """At states under forces (..., nv)."""
        one, two, three = (x.reshape(-1, x.shape[-1]) for x in (q, v, forces))
        none = np.zeros((t.size, self.nq + self.nv + 1, 0)), np.zeros((t.size, self.count, 0))
        return self._along(t.ravel(), one, two, three, none[0], none[1])[..., 0].reshape(v.shape)

    def slopes(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, forces: np.ndarray, shifts: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives by (δ, δv), (..., nv, 2 nv), along shifts (..., count, columns) of the tables and the forces, and
        by the time, (..., nv): differences over a part of h, where there are laws."""
        nv, nq, batch = self.nv, self.nq, t.shape
        one, two, three = (x.reshape(-1, x.shape[-1]) for x in (q, v, forces))
        columns = shifts.shape[-1]
        seeds, along = (
            np.zeros((t.size, nq + nv + 1, 2 * nv + columns)),
            np.zeros((t.size, self.count, 2 * nv + columns)),
        )
        turned = self.tables.configuration.lift(one[:, None], np.eye(nv)[None])
        seeds[:, :nq, :nv] = turned.transpose(0, 2, 1)
        seeds[:, nq : nq + nv, nv : 2 * nv] = np.eye(nv)
        along[..., 2 * nv :] = shifts.reshape(-1, self.count, columns)
        found = self._along(t.ravel(), one, two, three, seeds, along)[..., 1:].reshape(*batch, nv, -1)
        rate = np.zeros(v.shape)
        if self.laws:
            size = STRETCH * h
            for k, weight in enumerate(CENTRAL, 1):
                pair = (self.accelerations(t + side * k * size, q, v, forces) for side in (1, -1))
                rate += weight / size * np.subtract(*pair)
        return found[..., : 2 * nv], found[..., 2 * nv :], rate
