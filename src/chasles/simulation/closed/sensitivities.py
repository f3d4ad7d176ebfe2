"""What changes with the start of a closed mechanism, and with its parameters: states stay on the constraints.

Independent coordinates and velocities are as given, the others follow, of systems with other parameters too: there a
projection on dual numbers says how a state gets back onto the constraints, and motions that they allow take back what
it does to the independent numbers.
"""

from __future__ import annotations

import numpy as np

from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.closed.allowed import Allowed
from chasles.simulation.closed.tangent import ClosedTangentTables, tangent_addresses
from chasles.simulation.tree.tangent import evaluated


class ClosedStart:
    """Changes (δ, δv) of a start (q, v) that the constraints allow, by its independent numbers."""

    def __init__(self, mechanism: ClosedMechanism, t: float, q: np.ndarray, v: np.ndarray):
        allowed = Allowed(mechanism, q, t)
        self.t, self.nv = t, mechanism.nv
        self.states, self.basis = allowed.states(v)
        self.first = len(allowed.places.chosen)

    def columns(self, name: str) -> np.ndarray:
        """Those of independent coordinates ("q") or velocities ("v"), (2 nv, k)."""
        return self.basis[:, : self.first] if name == "q" else self.basis[:, self.first :]

    def along(self, directions: np.ndarray) -> np.ndarray:
        """Those with the independent numbers of directions (2 nv, k)."""
        return self.basis @ directions[self.states]

    def followed(self, changes: np.ndarray) -> np.ndarray:
        """Of changes (2 nv, k) from systems with other parameters, what leaves the independent numbers alone."""
        return changes - self.along(changes)

    def projected(
        self, tables: ClosedTangentTables, y: np.ndarray, control: np.ndarray, shift: np.ndarray
    ) -> np.ndarray:
        """Derivatives of the point y along changes of the tables (count, k), projected onto the constraints."""
        still = np.zeros((len(y), shift.shape[1]))
        return evaluated(tables, tangent_addresses()[1], self.t, y, control, still, shift, len(y))[:, 1:]
