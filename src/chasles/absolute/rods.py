"""The rods of a mechanism in absolute coordinates: where their elements are in its tables, and their state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.rod_states import STATE, states_of_rods
from chasles.absolute.tables import FORCE_WORK, MECHANISM
from chasles.force.rod import ACTUATED, GIVEN_STRESS, OWN_STRESS, RODS, STRESS_ALONE
from chasles.force.table import FORCE, FORCES, ROD
from chasles.kernel.lanes import WIDTH
from chasles.model.rod_parts import RodElement


class ElementStates(NamedTuple):
    """Of elements of rods, (..., elements, ...) each: X, X₀, the rate of X, the stress (torque, moments, axial and
    shear forces) of each, those in the sections at its ends, the stress if X goes on by its rate, and the energy
    [J]."""

    X: np.ndarray
    rest: np.ndarray
    rate: np.ndarray
    stress: np.ndarray
    first: np.ndarray
    second: np.ndarray
    ahead: np.ndarray
    energy: np.ndarray


def elements_of(mechanism: AbsoluteMechanism) -> tuple[RodElement, ...]:
    """The elements of all rods, in the order of the tables."""
    return tuple(force for force in mechanism.system.forces if isinstance(force, RodElement))


def element_states(
    mechanism: AbsoluteMechanism, central: np.ndarray, velocity: np.ndarray, t: ArrayLike = 0.0
) -> ElementStates:
    """The elements of all rods at times t and states (..., bodies, 7) and (..., bodies, 6)."""
    count, batch = len(elements_of(mechanism)), central.shape[:-2]
    q = np.ascontiguousarray(central, dtype=float).reshape(-1, 7 * mechanism.n)
    v = np.ascontiguousarray(velocity, dtype=float).reshape(-1, 6 * mechanism.n)
    integers, out = mechanism.packed.view(np.int64), np.empty((len(q), count * STATE.size))
    work, four = np.empty(FORCE_WORK.size(integers)), np.empty(WIDTH * STATE.size)
    times = np.ascontiguousarray(np.broadcast_to(np.asarray(t, dtype=float), batch).ravel())
    states_of_rods(integers, mechanism.packed, times, q, v, work, four, out)
    rows = out.reshape(*batch, count, STATE.size)
    begins = (STATE.X, STATE.rest, STATE.rate, STATE.stress, STATE.first, STATE.second, STATE.ahead)
    return ElementStates(*(rows[..., at : at + 6] for at in begins), rows[..., STATE.energy])  # type: ignore[call-arg]


class GivenStresses:
    """Stresses of all elements as numbers of their own, in the tables of a mechanism: (elements, 6)."""

    def __init__(self, mechanism: AbsoluteMechanism):
        table = MECHANISM.part(mechanism.packed.view(np.int64), "table")
        rows = table[FORCES.size :][: table[FORCES.count] * FORCE.size].reshape(-1, FORCE.size)
        self.rows = [row for row in rows if row[FORCE.kind] == ROD]
        values = MECHANISM.part(mechanism.packed, "values")
        actuated = [row[FORCE.numbers] + RODS.size for row in self.rows if row[FORCE.law]]
        self.shares = [values[at + ACTUATED.share :][:1] for at in actuated]
        self.places = [values[row[FORCE.numbers] + RODS.stress :][:6] for row in self.rows]

    def put_share(self, share: float) -> None:
        """Take a part of the intrinsic strain."""
        for number in self.shares:
            number[:] = share

    def give(self, stresses: np.ndarray | None, alone: bool = False) -> None:
        """Take these; None: those that belong to the poses. alone: their misfit adds nothing to the forces."""
        for k, row in enumerate(self.rows):
            row[FORCE.fourth] = OWN_STRESS if stresses is None else STRESS_ALONE if alone else GIVEN_STRESS
            if stresses is not None:
                self.places[k][:] = stresses[k]
