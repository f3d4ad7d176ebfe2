"""Gradients of runs in absolute coordinates by generalized alpha."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates, made_states
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.cached import cached_property
from chasles.constrained.run import ConstrainedStepper
from chasles.constrained.start import Start, nonholonomic_rows
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.integrate.options import Options
from chasles.simulation.actuation import Actuation
from chasles.simulation.adjoint.alpha import AlphaAdjoint, Weights, replay
from chasles.simulation.adjoint.body_family import BodyFamily
from chasles.simulation.adjoint.body_start import StartBack, Weighed
from chasles.simulation.bodies.dynamics import BodyDynamics, spanning_tree
from chasles.simulation.parameter_family import Family
from chasles.simulation.run import Run

CHUNK = 64  # points whose derivatives are in memory at once


def refuse_bodies(run: Run, wanted: tuple[str, ...], slopes: Any) -> None:
    """ValueError for a run in absolute coordinates that has no gradient."""
    method, mechanism, instead = run.solution.method, run.dynamics.mechanism, 'or coordinates="relative"'
    if not isinstance(method, GeneralizedAlpha):
        raise ValueError(
            f"gradient: in absolute coordinates it is for GeneralizedAlpha, not {method}; take that, {instead} with an "
            "explicit method"
        )
    if run.task.more["step"] is None:
        raise ValueError(f"gradient: of {method} it is for fixed steps; simulate with step=..., {instead}")
    if method.project_velocity:
        raise ValueError(f"gradient: {method} projects velocities, which is not differentiated; take it without")
    if run.task.controller is not None or slopes is not None:
        raise ValueError(
            f"gradient: sampled controllers are differentiated in joint coordinates; take coordinates="
            f'"relative" with an explicit method, not {type(method).__name__}'
        )
    if mechanism.redundant:
        raise ValueError(
            f"gradient: equations of {', '.join(map(repr, mechanism.redundant))} depend on others; in absolute "
            'coordinates leave out the surplus ones, or take coordinates="relative"'
        )
    if run.dynamics.tree_order.floating:
        raise ValueError(f"gradient: a loop floats that no joint holds to the ground; give it a free joint, {instead}")
    if "bodies" in wanted:
        raise ValueError("gradient: 'bodies' is for joint coordinates; give the numbers as `parameters`")
    if nonholonomic_rows(run.dynamics, run.solution.y[0], float(run.t[0])).any():
        raise ValueError(f"gradient: rolling and constraints of velocities alone need joint coordinates; {instead[3:]}")


class BodyAdjoint:
    """A run of generalized alpha, ready to be taken backward."""

    def __init__(self, run: Run, family: Family | None):
        dynamics: BodyDynamics = run.dynamics
        self.run, self.dynamics, self.family = run, dynamics, family
        self.mechanism, self.n, self.order = dynamics.mechanism, dynamics.n, dynamics.tree_order
        self.residuals, self.tree = BodyResiduals(self.mechanism), spanning_tree(self.mechanism)[0]
        self.notes = self.residuals.notes
        self.actuation = dynamics.actuation()
        self.inputs = np.zeros((1, self.actuation.inputs)) if run.given is None else run.given[:1]

    def back(self, by_q: np.ndarray, by_v: np.ndarray) -> None:
        """Find the cotangents of poses and velocities at the start, and what residuals are multiplied with."""
        run, task, dynamics, method = self.run, self.run.task, self.dynamics, self.run.solution.method
        problem = dynamics.under(task.u)
        with dynamics.calling():
            options = Options(task.more["step"], save="final")
            stepper = ConstrainedStepper(problem, method, task.span, run.solution.y[0], options)
            steps = replay(stepper)
        count = len(steps.q)
        zeta = np.concatenate([steps.zeta, np.zeros((1, steps.zeta.shape[1]))])
        given = {"t": run.t, "angles": steps.angles, "q": steps.q, "v": steps.v, "rate": steps.rate, "lam": steps.lam}
        if task.u is not None:
            given["controls"] = np.broadcast_to(task.u, (count, len(task.u)))
        states = made_states(self.mechanism, count, **given, zeta=zeta)
        # index 3 begins with other velocities than its first point has
        saved = states._replace(v=np.ascontiguousarray(run.solution.y[:, 7 * self.n : 13 * self.n]))
        self.by_turns, self.by_speeds = self._on_joints(by_q), by_v
        kicks = self._kicks(saved)
        found, weights = AlphaAdjoint(self.residuals, method, steps).back(kicks, states)
        start = Start(problem, stepper.structure, float(run.t[0]), stepper.first, run.solution.y[0], False)
        begin = StartBack(self.residuals, start, method)
        turn, v = begin.back(found)
        self.turn, self.v, self.saved = turn + kicks[0][0], v + kicks[1][0], saved
        both = [Weighed(states, weights), *begin.account]
        self.states = MovingStates(
            *(np.concatenate(parts) for parts in zip(*(one.states for one in both), strict=True))
        )
        self.weights = Weights(*(np.concatenate(parts) for parts in zip(*(one.weights for one in both), strict=True)))
        self.forces = self._of_forces(count)

    def _on_joints(self, by_q: np.ndarray) -> np.ndarray:
        """Derivatives along q exp(δ) of the joints, (points, nv), from those by the numbers q."""
        lifted = self.tree.tables.configuration.lift(self.run.q[:, None], np.eye(self.tree.nv))
        return np.einsum("sij,sj->si", lifted, by_q)

    def _kicks(self, states: MovingStates) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents of all points, by q exp(δ) and by V of the bodies."""
        count, every = len(states.t), self.mechanism.joint_tables.nv
        turns, speeds = np.zeros((count, every)), np.zeros((count, every))
        turns[:, self.order.velocities], speeds[:, self.order.velocities] = self.by_turns, self.by_speeds
        turn, v = np.zeros((count, 6 * self.n)), np.zeros((count, 6 * self.n))
        for first in range(0, count, CHUNK):
            part = slice(first, first + CHUNK)
            _, by_pose, by_velocity = self.residuals.slopes(MovingStates(*(x[part] for x in states)))
            v[part] = np.einsum("sj,sji->si", speeds[part], by_velocity.joints)
            # joints turn by the same matrix by which their velocities follow those of the bodies
            turn[part] = np.einsum("sj,sji->si", turns[part], by_velocity.joints)
            turn[part] += np.einsum("sj,sji->si", speeds[part], by_pose.joints)
        return turn, v

    def _of_forces(self, points: int) -> np.ndarray:
        """Cotangents of forces along the joints in each step, (steps, nv of all joints): the power that the weights
        would have as velocities. What is behind the points belongs to the start."""
        states, count = self.states, len(self.states.t)
        velocity = self.weights.motion.reshape(count, self.n, 6).copy()
        velocity[..., 3:] = np.einsum("sikj,sik->sij", self.residuals.rotations(states.q), velocity[..., 3:])
        central = states.q.reshape(count, self.n, 7)
        power = self.mechanism.joint_states(central, velocity, states.angles)[1] * states.forced[:, None]
        found = power[1:points] if points > 1 else np.zeros((1, power.shape[1]))
        found[0] += power[points:].sum(axis=0)
        return found

    def part(self, name: str) -> np.ndarray:
        """The gradient with respect to something."""
        if name in ("q", "v"):
            return self._kinematics.by_start(name)
        if name in ("control", "inputs"):
            held = np.repeat(self.inputs, len(self.forces), axis=0)
            found = self.actuation.back(held, self.forces)
            return found if name == "inputs" else found.sum(axis=0)
        if name == "gravity":
            pushes = self.weights.motion.reshape(-1, self.n, 6)[..., 3:]
            return np.einsum("sij,i,s->j", pushes, self.residuals.masses, self.states.forced)
        assert self.family is not None
        value = self.family.values[name]
        slopes = [self.family.derivative(name, k, self._kinematics.number)[0] for k in range(value.size)]
        return np.array(slopes).reshape(value.shape)

    @cached_property
    def _kinematics(self) -> BodyFamily:
        return BodyFamily(self)

    def actuation_of(self, mechanism: AbsoluteMechanism) -> Actuation:
        """The actuators of the same system with other parameters."""
        tables = mechanism.joint_tables
        return Actuation(mechanism.system, tables.velocities, tables.nv, self.order.velocities)
