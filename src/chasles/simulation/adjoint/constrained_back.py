"""Cotangents through accelerations and projections of constrained bodies, of generalized alpha's start and of explicit
methods."""

from __future__ import annotations

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates, made_states
from chasles.simulation.adjoint.chart_slopes import times
from chasles.simulation.adjoint.factors import solve_transposed
from chasles.simulation.adjoint.weights import Weighed, Weights

DEPENDENT = 1e-9  # singular values that are smaller, relative, are those of equations that depend on others


class ConstrainedBack:
    """The index-1 equations of a mechanism; `account` has all states that were passed, with the weights of their
    residuals."""

    def __init__(self, residuals: BodyResiduals):
        self.residuals, self.account = residuals, list[Weighed]()
        self.release = np.where(residuals.rotors, -1.0, np.where(residuals.measured, 0.0, 1.0))

    def motion(
        self, states: MovingStates, bar: np.ndarray, feedback: tuple[float, float] = (0.0, 0.0)
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Through the accelerations of a state: cotangents of poses, of velocities and of forces along the joints.
        feedback: factors of speeds and places in Baumgarte's stabilization."""
        _, by_pose, by_velocity = self.residuals.slopes(states)
        motion, change = self.solved(states, by_velocity.speed, bar)
        held = np.where(self.residuals.measured, change, 0.0)  # rotors may turn as they do
        speed, place = feedback[0] * held, feedback[1] * held
        self.weigh(states, motion=motion, change=change, speed=speed, place=place)
        turn = -motion @ by_pose.motion[0] - change @ by_pose.change[0]
        v = -motion @ by_velocity.motion[0] - change @ by_velocity.change[0]
        if any(feedback):
            turn = turn - speed @ by_pose.speed[0] - place @ by_pose.place[0]
            v = v - speed @ by_velocity.speed[0]
        pushed = motion.reshape(-1, 6).copy()
        pushed[:, 3:] = np.einsum("ikj,ik->ij", self.residuals.rotations(states.q)[0], pushed[:, 3:])
        return turn, v, by_velocity.joints[0] @ pushed.ravel()

    def onto(
        self, states: MovingStates, v: np.ndarray, on: np.ndarray, bar: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Through velocities v that are projected onto the constraints, where they are `on`: cotangents of them and of
        the poses. states: of the poses, at rest and without forces."""
        residuals = self.residuals
        moving = states._replace(v=on.reshape(1, -1))
        _, by_pose, by_velocity = residuals.slopes(moving)
        R = residuals.rotations(moving.q)
        in_space = residuals.to_space(by_velocity.speed, R)[0]
        inertia = residuals.inertia(R)[0]
        change_of_v = (on - v).reshape(-1, 6)
        push = np.einsum("ijk,ik->ij", inertia, change_of_v).ravel()
        impulse = np.linalg.lstsq(in_space.T, -push, rcond=None)[0] if len(in_space) else np.zeros(0)
        pushed = states._replace(rate=change_of_v.reshape(1, -1), lam=self.of_tiles(impulse))
        _, by_turn, _ = residuals.slopes(pushed)
        motion, held = self.solved(moving, by_velocity.speed, bar)
        change, speed = np.where(residuals.rotors, held, 0.0), np.where(residuals.rotors, 0.0, held)
        self.weigh(pushed, motion=motion, change=change)
        self.weigh(moving, speed=speed)
        turn = -motion @ by_turn.motion[0] - speed @ by_pose.speed[0] - change @ by_turn.change[0]
        return times(inertia, motion) + change @ by_velocity.speed[0], turn

    def of_tiles(self, multipliers: np.ndarray) -> np.ndarray:
        """Multipliers of the rows, as a state has them: tiles of a coupling share theirs."""
        return multipliers.reshape(-1, 3)[self.residuals.rows_of_tile].reshape(1, -1)

    def solved(self, states: MovingStates, jacobian: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the equations M y + Jᵀ λ = ..., J y = ... whose solution y has a cotangent."""
        residuals, size = self.residuals, 6 * self.residuals.n
        R = residuals.rotations(states.q)
        in_space, inertia = residuals.to_space(jacobian, R)[0], residuals.inertia(R)[0]
        matrix = np.zeros((size + len(in_space), size + len(in_space)))
        for i, block in enumerate(inertia):
            matrix[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = block
        matrix[:size, size:], matrix[size:, :size] = in_space.T, jacobian[0]
        matrix[size:, size:] = np.diag(self.release)
        w = self.solve(matrix, np.concatenate([bar, np.zeros(len(in_space))]))
        return w[:size], w[size:]

    def solve(self, matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Solve matrixᵀ w = right; of equations that depend on others, the smallest weights serve."""
        if not self.residuals.mechanism.redundant:
            return solve_transposed(matrix, right)
        rows = np.abs(matrix).max(axis=1)
        columns = np.abs(matrix / rows[:, None]).max(axis=0)
        balanced = (matrix / rows[:, None] / columns).T
        return np.linalg.lstsq(balanced, right / columns, rcond=DEPENDENT)[0] / rows

    def weigh(self, states: MovingStates, **given: np.ndarray) -> None:
        size, rows = 6 * self.residuals.n, len(self.residuals.rows)
        none = Weights(*(np.zeros((1, k)) for k in (size, size, rows, rows, rows)))
        self.account.append(Weighed(states, none._replace(**{name: value[None] for name, value in given.items()})))


def at_rest(residuals: BodyResiduals, t: float, q: np.ndarray, angles: np.ndarray) -> MovingStates:
    """A state of poses alone: nothing moves, and no forces act."""
    return made_states(residuals.mechanism, 1, t=t, angles=angles, q=q, forced=0)
