"""Steps that a run backward takes again, so that a symmetric method keeps what it keeps with equal steps.

A step that follows the error of the step before it sees the past alone: with it the energy of RATTLE drifts. Here a
density ρ of steps, h = ε/ρ, follows a rate U of the state that does not change if the motion is reversed
(hairer2006, section VIII.3):

    ρ_{n+1/2} + ρ_{n-1/2} = 2 U(z_n)

which reads the same backward. U is how fast the motion changes, with accelerations a and their rates a' relative to the
size of each body's island (angles to 1 rad), and a rate U_0 that keeps a body at rest from unlimited steps:

    U⁶ = Σ |a'|² + (Σ |a|²)^(3/2) + U_0⁶

The error of a step of order 2 is of the size of h³ a', so that h = ε/U makes it ε³ at most.
"""

from __future__ import annotations

import numpy as np

from chasles.constrained.body_sizes import lengths_of
from chasles.constrained.group import on_se3
from chasles.constrained.index1 import body_motion, with_workspace
from chasles.constrained.problem import BodyProblem
from chasles.constrained.structure import islands

DIFFERENCE = 1e-3  # of the time in which a motion changes: over which its accelerations are differenced
LONGEST = 0.1  # step, of the span, of a motion that does not change
APART = 0.5  # of U: a density farther from it is that of forces that are not smooth, and begins anew


def sizes_of(problem: BodyProblem, y: np.ndarray) -> np.ndarray:
    """How far the island of each body spreads at a state, (bodies,)."""
    mechanism, places = problem.mechanism, problem.split(y)[0].reshape(-1, 7)[:, 4:]
    masses, island = np.array([body.mass for body in mechanism.system.bodies]), islands(mechanism)
    shares = masses / np.bincount(island, masses)[island]
    center = np.stack([np.bincount(island, shares * places[:, k])[island] for k in range(3)], axis=-1)
    spread = ((places - center) ** 2).sum(axis=1) + lengths_of(mechanism) ** 2
    largest = np.zeros(island.max(initial=-1) + 1)
    np.maximum.at(largest, island, spread)
    return np.asarray(np.sqrt(largest[island]))


class Rate:
    """U of the states of a run."""

    def __init__(self, problem: BodyProblem, y: np.ndarray, least: float):
        mechanism = problem.mechanism
        self.space, self.least, self.n = problem.space, least, mechanism.n
        self.parameters = with_workspace(mechanism)
        if problem.held is not None:
            self.parameters[problem.control] = problem.held
        self.turning = on_se3(mechanism)[:, None]
        self.sizes = sizes_of(problem, y)[:, None]

    def _slope(self, t: float, y: np.ndarray) -> np.ndarray:
        """The derivative of y: velocities, V' and the rest."""
        out = np.zeros(self.space.dimension)
        body_motion(t, y, self.parameters, out)
        return out

    def _accelerations(self, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Angular velocities and accelerations, and accelerations of the centers, on SE(3) in the axes of the body."""
        v, rates = slope[: 6 * self.n].reshape(-1, 6), slope[6 * self.n : 12 * self.n].reshape(-1, 6)
        return v[:, :3], rates[:, :3], rates[:, 3:] + self._turned(v[:, :3], v[:, 3:])

    def _turned(self, spin: np.ndarray, x: np.ndarray) -> np.ndarray:
        """ω × x of bodies on SE(3), zero of others."""
        return np.where(self.turning, np.cross(spin, x), 0.0)

    def __call__(self, t: float, y: np.ndarray) -> float:
        if not self.n:
            return self.least
        slope = self._slope(t, y)
        spin, turning, linear = self._accelerations(slope)
        size = self._size(turning, linear)
        short = DIFFERENCE / (self.least + size**0.25 + float(np.sqrt(np.sum(spin**2))))
        before, after = (
            self._accelerations(self._slope(t + d, self.space.move(y, d * slope))) for d in (-short, short)
        )
        bend, jerk = ((after[k] - before[k]) / (2 * short) for k in (1, 2))
        change = self._size(bend, jerk + self._turned(spin, linear))
        return float((change + size**1.5 + self.least**6) ** (1 / 6))

    def _size(self, angular: np.ndarray, linear: np.ndarray) -> float:
        return float(np.sum(angular**2) + np.sum((linear / self.sizes) ** 2))


def next_density(rate: float, density: float) -> float:
    """The density after a state with this U, and after a step of a density."""
    after = 2.0 * rate - density
    return after if abs(after - rate) <= APART * rate else rate
