"""Gradients of runs in absolute coordinates by explicit methods.

The steps go back as in joint coordinates (`steps`), where the field and the projection are functions at addresses: here
they call back to Python, which has the exact derivatives of the bodies' equations (`constrained_back`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.absolute.body_residuals import MovingStates, made_states
from chasles.absolute.tables import FIELD, HEAD
from chasles.constrained.index1 import multipliers_of
from chasles.integrate.explicit_layout import SET
from chasles.simulation.adjoint.answer import Answer
from chasles.simulation.adjoint.bodies import BodyGradient
from chasles.simulation.adjoint.body_projection import ProjectionBack, product, projects_stages
from chasles.simulation.adjoint.constrained_back import ConstrainedBack, gathered
from chasles.simulation.adjoint.steps import OF_CORRECTION, OF_FIELD
from chasles.simulation.adjoint.sweep import EVERY, BackwardSweep, RetakenStep, Through
from chasles.simulation.parameter_family import Family
from chasles.simulation.run import Run

_NUMBERS, _INTEGERS = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int64)
_PULL = ctypes.CFUNCTYPE(None, ctypes.c_double, *(_NUMBERS,) * 7, _INTEGERS)


class BodySteps(BodyGradient, BackwardSweep):
    """A run of an explicit method in absolute coordinates, ready to be taken backward."""

    step: RetakenStep

    def __init__(self, run: Run, family: Family | None, each: bool):
        BodyGradient.__init__(self, run, family)
        BackwardSweep.__init__(self, run, self.actuation, self.mechanism.joint_tables.nv, each)
        if run.task.more["step"] is None:
            self.notes = ("the steps of the adaptive method are held constant", *self.notes)
        y, n = run.solution.y, self.n
        given = {"t": run.t, "angles": y[:, 13 * n : -1], "q": y[:, : 7 * n], "v": y[:, 7 * n : 13 * n]}
        self.points = made_states(self.mechanism, len(y), **given)
        self.through_bodies = ConstrainedBack(self.residuals)
        alpha, beta = self.mechanism.baumgarte
        self.feedback = 2.0 * alpha, beta * beta
        self.error: BaseException | None = None

    def of_inputs(self, name: str, held: np.ndarray) -> np.ndarray:
        return BackwardSweep.of_inputs(self, name, held)

    def find(self, by_q: np.ndarray, by_v: np.ndarray, answer: Answer | None) -> None:
        """Cotangents of the start and of inputs, and what residuals are multiplied with."""
        first, self.forces, _ = self.back(self.kicks(by_q, by_v), answer)
        if self.error is not None:
            raise self.error
        self.turn, self.v = self._cotangents(self.points.q[0], first)
        rest = MovingStates(*(part[:1] for part in self.points))
        self.through_bodies.weigh(rest)  # so that there are some
        self.states, self.weights = gathered(self.through_bodies.account)

    def kicks(self, by_q: np.ndarray, by_v: np.ndarray, at: slice = EVERY) -> np.ndarray:
        """Cotangents of the numbers of points."""
        states = MovingStates(*(part[at] for part in self.points))
        if at == EVERY:
            turn, v = self.observe(states, by_q, by_v.copy())
        else:  # what a controller sees
            turns = self._on_joints(by_q, at)
            self.by_turns[at] += turns
            self.by_speeds[at] += by_v
            turn, v = self._kicks(states, turns, by_v)
        found = np.zeros_like(self.run.solution.y[at])
        for k, row in enumerate(found):
            self._add(states.q[k], turn[k], v[k], row)
        return found

    # ------------------------------------------------------------ cotangents of numbers

    def _linear(self, q: np.ndarray) -> np.ndarray:
        """Of linear velocities to the axes of space, (bodies, 3, 3)."""
        return self.residuals.rotations(q.reshape(1, -1))[0]

    def _add(self, q: np.ndarray, turn: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
        """Add cotangents by q exp(δ) and V to those of the numbers of a point."""
        n, spin = self.n, turn.reshape(-1, 6)
        poses = out[: 7 * n].reshape(n, 7)
        around = np.concatenate([np.zeros((n, 1)), spin[:, :3]], axis=1)
        poses[:, :4] += 2.0 * product(q.reshape(n, 7)[:, :4], around)
        poses[:, 4:] += np.einsum("ijk,ik->ij", self._linear(q), spin[:, 3:])
        out[7 * n : 13 * n] += v

    def _cotangents(self, q: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents by q exp(δ) and V from those of the numbers of a point."""
        n = self.n
        poses, own = bar[: 7 * n].reshape(n, 7), q.reshape(n, 7)[:, :4] * [1, -1, -1, -1]
        spin = 0.5 * product(own, poses[:, :4])[:, 1:]
        shift = np.einsum("ikj,ik->ij", self._linear(q), poses[:, 4:])
        return np.concatenate([spin, shift], axis=1).ravel(), bar[7 * n : 13 * n].copy()

    # ------------------------------------------------------------ the sweep

    def through(self, step: RetakenStep) -> Through:
        """Addresses of functions of Python, which need no memory."""
        self.step, self.owed = step, np.zeros(6 * self.n)
        integers = step.stepper.p.view(np.int64)
        refined = bool(step.stepper.p[integers[HEAD.gravity] + FIELD.regularization] > 0.0)
        self.at_projected = projects_stages(self.mechanism, refined) and bool(self.mechanism.tiles)
        self.projection = ProjectionBack(self.through_bodies, refined)
        # kept, as the addresses are theirs
        self._functions = [_PULL(self._guarded(pull)) for pull in (self._pull_field, self._pull_projection)]
        pulls = np.zeros(2, dtype=np.int64)
        for row, function in zip((OF_FIELD, OF_CORRECTION), self._functions, strict=True):
            pulls[row] = ctypes.cast(function, ctypes.c_void_p).value or 0
        if not (self.dynamics.corrected and self.mechanism.tiles):
            pulls[OF_CORRECTION] = 0
        return Through(pulls, np.zeros(1), np.zeros(1), 0)

    def _guarded(self, pull: Callable[..., None]) -> Callable[..., None]:
        """A function that a compiled loop calls: what it raises is kept."""

        def called(t: float, y: Any, f: Any, bar: Any, y_bar: Any, g: Any, p: Any, memory: Any, sizes: Any) -> None:
            if self.error is None:
                try:
                    n, d, m, size, _ = sizes[:5]
                    lengths = (y, n), (f, d), (bar, d), (y_bar, n), (g, m), (p, size)
                    own = [np.ctypeslib.as_array(at, (count,)).view(float) for at, count in lengths]
                    own[0] = own[0].copy()  # what is kept of the point must not change with it
                    pull(t, *own)
                except BaseException as error:
                    self.error = error

        return called

    def _pull_field(self, t: float, y: Any, f: Any, bar: Any, y_bar: Any, g: Any, p: Any) -> None:
        """Through velocities and accelerations of a stage."""
        n, mechanism = self.n, self.mechanism
        q, v, angles = y[: 7 * n], y[7 * n : 13 * n], y[13 * n : -1]
        at, speed, swept = q, v, None
        if self.at_projected:
            swept = self.projection.sweeps(self.projection.spot(t, q, angles), None)
            end = swept[1]
            at, speed = end.states.q[0], self.projection.speed_sweeps(end, end, v)[1]
        x = multipliers_of(p).reshape(-1, 3)
        lam = x[mechanism.elimination.order[mechanism._node]] if mechanism.tiles else np.zeros(0)
        given = {"t": t, "angles": angles, "q": at, "v": speed, "rate": f[6 * n : 12 * n], "lam": lam}
        if mechanism.inputs:
            given["controls"] = p[mechanism.control]
        states = made_states(mechanism, 1, **given)
        turn, v_bar, forces = self.through_bodies.motion(states, bar[6 * n : 12 * n], self.feedback)
        if swept is not None:
            turn, v_bar, _ = self.projection.back(swept, None, v, turn, v_bar)
        turn, self.owed = turn + self.owed, np.zeros(6 * n)
        self._add(q, turn, v_bar + bar[: 6 * n], y_bar)
        g[: len(forces)] += forces

    def _pull_projection(self, t: float, y: Any, f: Any, bar: Any, y_bar: Any, g: Any, p: Any) -> None:
        """Through the projection at the end of a step; the factor that it began with is that of the last stage, whose
        field comes next."""
        n, step = self.n, self.step
        stages = int(step.stepper.settings[SET.stages])
        last = step.points[step.first + stages - 1]
        k = int(np.argmin(np.abs(step.times - t)))
        then = step.times[k - 1] + step.stepper.c[stages - 1] * step.sizes[k]
        start = self.projection.spot(t, y[: 7 * n], y[13 * n : -1])
        before = None if self.projection.anew else self.projection.spot(then, last[: 7 * n], last[13 * n : -1])
        swept = self.projection.sweeps(start, before)
        turn, v_bar = self._cotangents(swept[1].states.q[0], bar)
        turn, v_bar, self.owed = self.projection.back(swept, before, y[7 * n : 13 * n], turn, v_bar)
        y_bar[13 * n :] += bar[13 * n :]
        self._add(y[: 7 * n], turn, v_bar, y_bar)
