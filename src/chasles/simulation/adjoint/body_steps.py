"""Gradients of runs in absolute coordinates by explicit methods.

The steps go back as in joint coordinates (`steps`), where the field and the projection are functions at addresses: here
those of `body_pull`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chasles.absolute.body_residuals import MovingStates
from chasles.absolute.tables import FIELD, HEAD
from chasles.constraint.projection import SPEED_SWEEPS, SWEEPS
from chasles.integrate.explicit_layout import SET
from chasles.simulation.adjoint.answer import Answer
from chasles.simulation.adjoint.bodies import BodyGradient, slipping_rows
from chasles.simulation.adjoint.body_pull import pull_addresses
from chasles.simulation.adjoint.projection_pull import FURTHER
from chasles.simulation.adjoint.pull_memory import pull_memory
from chasles.simulation.adjoint.pull_state import PULL
from chasles.simulation.adjoint.steps import OF_CORRECTION, OF_FIELD
from chasles.simulation.adjoint.sweep import EVERY, BackwardSweep, RetakenStep, Through
from chasles.simulation.adjoint.tree_start import numbers_of, product
from chasles.simulation.parameter_family import Family
from chasles.simulation.run import Run

STEPS = 8  # whose states are in the account at once
# states that a step adds to the account beside its stages, at most: of sweeps, of their factors, of velocities
MOST = 3 * SWEEPS + 4 * (SPEED_SWEEPS + FURTHER) + 3


class BodySteps(BodyGradient, BackwardSweep):
    """A run of an explicit method in absolute coordinates, ready to be taken backward."""

    def __init__(self, run: Run, family: Family | None, names: Sequence[str], each: bool):
        BodyGradient.__init__(self, run, family, names)
        BackwardSweep.__init__(self, run, self.actuation, self.mechanism.joint_tables.nv, each)
        if run.task.more["step"] is None:
            self.notes = ("the steps of the adaptive method are held constant", *self.notes)
        self.chunk = None if self.pull is None else STEPS

    def of_inputs(self, name: str, held: np.ndarray) -> np.ndarray:
        return BackwardSweep.of_inputs(self, name, held)

    def find(self, by_q: np.ndarray, by_v: np.ndarray, answer: Answer | None) -> None:
        """Cotangents of the start and of inputs, and what residuals are multiplied with."""
        kicks = self.kicks(by_q, by_v)
        with self.residuals.calling:
            first, self.forces, _ = self.back(kicks, answer)
        self.turn, self.v = self._cotangents(self.saved.q[0], first)

    def kicks(self, by_q: np.ndarray, by_v: np.ndarray, at: slice = EVERY) -> np.ndarray:
        """Cotangents of the numbers of points."""
        if at == EVERY:
            turn, v = self.observe(self.points(), by_q, by_v.copy())
        else:  # what a controller sees
            turn, v = self.answered(at.start, by_q, by_v)
        states = MovingStates(*(part[at] for part in self.saved))
        found, count, n = np.zeros_like(self.run.solution.y[at]), len(states.t), self.n
        found[:, : 7 * n] = numbers_of(self.residuals, states.q.reshape(count, n, 7), turn)
        found[:, 7 * n : 13 * n] = v
        return found

    def _cotangents(self, q: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents by q exp(δ) and V from those of the numbers of a point."""
        n = self.n
        poses, own = bar[: 7 * n].reshape(n, 7), q.reshape(n, 7)[:, :4] * [1, -1, -1, -1]
        spin = 0.5 * product(own, poses[:, :4])[:, 1:]
        shift = np.einsum("ikj,ik->ij", self.residuals.rotations(q[None])[0], poses[:, 4:])
        return np.concatenate([spin, shift], axis=1).ravel(), bar[7 * n : 13 * n].copy()

    # ------------------------------------------------------------ the sweep

    def through(self, step: RetakenStep) -> Through:
        """Addresses of what is compiled, and its memory."""
        mechanism, head = self.mechanism, step.stepper.p.view(np.int64)
        refined = step.stepper.p[head[HEAD.gravity] + FIELD.regularization] > 0.0
        staged = bool(mechanism.tiles and refined and not any(mechanism.baumgarte))
        stages = int(step.stepper.settings[SET.stages])
        rows = 0 if self.pull is None else STEPS * (stages * (1 + MOST * staged) + MOST)
        self.memory, addresses = pull_memory(self.residuals, staged, rows, slipping_rows(self.run)), pull_addresses()
        integers = self.memory.view(np.int64)
        integers[PULL.sweeps], integers[PULL.differentiate] = addresses.sweeps, addresses.differentiate
        pulls = np.zeros(2, dtype=np.int64)
        pulls[OF_FIELD] = addresses.motion
        if self.dynamics.corrected and mechanism.tiles:
            pulls[OF_CORRECTION] = addresses.projection
        return Through(pulls, self.memory, self.memory, 0)

    def passed(self) -> None:
        """Take what the steps left in the account."""
        if self.pull is not None:
            integers = self.memory.view(np.int64)
            count, size, at = (int(integers[place]) for place in (PULL.used, PULL.row, PULL.account))
            self.pull.add_rows(self.memory[at : at + count * size].reshape(count, size))
            integers[PULL.used] = 0
