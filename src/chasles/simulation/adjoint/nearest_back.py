"""Cotangents through the nearest state on the constraints (`AbsoluteMechanism.project`), where rows depend on others.

Poses go there by sweeps q ← q ⊕ a with M a + J(q)ᵀ μ = 0, J(q) a = -g(q), each with a factor of its own; then
velocities are projected. The last sweep moves nothing but derivatives.
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates, made_states
from chasles.constrained.group import on_se3
from chasles.lie import so3
from chasles.lie.rotation import quaternion_to_matrix
from chasles.lie.s3 import compose
from chasles.model.scale import length_of
from chasles.simulation.adjoint.velocity_back import VelocitiesBack
from chasles.simulation.adjoint.weights import Weighed

SWEEPS, NOTHING = 8, 1e-13  # at most; turns [rad], and displacements relative to the model, that are none


class NearestBack:
    """The projection of one state, ready to be taken backward."""

    def __init__(self, residuals: BodyResiduals, t: float, q: np.ndarray, v: np.ndarray, angles: np.ndarray):
        self.residuals, self.t, self.angles = residuals, t, angles
        self.turning, self.given = on_se3(residuals.mechanism), v.reshape(1, -1)
        self.sweeps: list[tuple[VelocitiesBack, np.ndarray]] = []
        at = q.reshape(-1, 7).copy()
        far = max(length_of(residuals.mechanism.system), float(np.abs(at[:, 4:]).max(initial=0.0)))
        for sweep in range(SWEEPS):
            states = self._at(at)
            move = self._move(states)
            moved = (np.abs(move) > NOTHING * np.repeat([1.0, far], 3)).any()
            move = move if moved and sweep + 1 < SWEEPS else np.zeros_like(move)
            own = self._own(at, move)
            self.sweeps.append((VelocitiesBack(residuals, states, np.zeros_like(own), own, True), move))
            if not move.any():
                break
            at = displaced(at, move)
        self.q = at
        on = residuals.mechanism.project(at, v.reshape(-1, 6), t, angles)[1].reshape(1, -1)
        self.velocities, self.v = VelocitiesBack(residuals, self._at(at), self.given, on), on[0]

    def _at(self, q: np.ndarray) -> MovingStates:
        given = {"t": self.t, "angles": self.angles, "q": q}
        return made_states(self.residuals.mechanism, 1, forced=0, **given)

    def _move(self, states: MovingStates) -> np.ndarray:
        """(bodies, 6): rotations in the bodies, displacements in space."""
        nothing = np.zeros((1, 6 * self.residuals.n))
        found = VelocitiesBack(self.residuals, states, nothing, nothing, True)
        residual = self.residuals.at(states).place[0, found.held]
        impulse = found.factors.solve(0, np.where(found.rotors, 0.0, residual))
        return -found.inverse * (found.jacobian[0] @ impulse)

    def _own(self, q: np.ndarray, move: np.ndarray) -> np.ndarray:
        """A move in the axes of the bodies' velocities, (1, 6 bodies)."""
        out, R = move.copy(), quaternion_to_matrix(q[:, :4])
        back = np.einsum("ikj,ik->ij", R, move[:, 3:])
        out[self.turning, 3:] = back[self.turning]
        return out.reshape(1, -1)

    def back(self, turn: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents (6 bodies) of the poses and velocities that were projected, from those of the nearest ones."""
        v_bar, more = self.velocities.back(0, v)
        bar = turn.reshape(-1, 6) + more
        for sweep, move in reversed(self.sweeps):
            before, of_move = self._through(sweep, move, bar)
            bar = before + sweep.back(0, of_move)[1]
        return bar.ravel(), v_bar.ravel()

    def _through(self, sweep: VelocitiesBack, move: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Through q ⊕ a: cotangents of the poses before, and of the move in the axes of the bodies' velocities. The
        rotation is Cayley's."""
        a, begin = move[:, :3], sweep.moving.q.reshape(-1, 7)
        R, there = quaternion_to_matrix(begin[:, :4]), quaternion_to_matrix(displaced(begin, move)[:, :4])
        onto = np.einsum("ikj,ikl->ijl", R, there)  # of the turn
        before, of_move = np.empty_like(bar), np.empty_like(bar)
        before[:, :3] = np.einsum("ijk,ik->ij", onto, bar[:, :3])
        slope = (np.eye(3) - 0.5 * so3.hat(a)) / (1.0 + 0.25 * (a * a).sum(axis=1))[:, None, None]
        of_move[:, :3] = np.einsum("ikj,ik->ij", slope, bar[:, :3])
        turned = np.where(self.turning[:, None, None], onto, np.eye(3))
        before[:, 3:] = of_move[:, 3:] = np.einsum("ijk,ik->ij", turned, bar[:, 3:])
        own = self._own(begin, move).reshape(-1, 6)[:, 3:]  # turns with the body
        before[self.turning, :3] += np.cross(own, of_move[:, 3:])[self.turning]
        return before, of_move

    @property
    def account(self) -> list[Weighed]:
        return [*self.velocities.account, *(one for sweep, _ in self.sweeps for one in sweep.account)]


def displaced(q: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Poses (bodies, 7) moved as in a sweep."""
    turn = np.concatenate([np.ones((len(q), 1)), 0.5 * move[:, :3]], axis=1)
    out = q.copy()
    out[:, :4] = compose(q[:, :4], turn / np.linalg.norm(turn, axis=1, keepdims=True))
    out[:, 4:] += move[:, 3:]
    return out
