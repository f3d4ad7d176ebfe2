"""Steps that a run backward takes again, so that a symmetric method keeps what it keeps with equal steps.

A step that follows the error of the step before it sees the past alone: with it the energy of RATTLE drifts. Here a
density ρ of steps, h = ε/ρ, follows a rate U of the state that does not change if the motion is reversed:

    ρ_{n+1/2} + ρ_{n-1/2} = 2 U(z_n)

This is the rule of the adaptive Verlet method (huang1997), for constrained systems in barth1999; compare hairer2006,
section VIII.3. It reads the same backward: a run that is turned round at z_n, with the density of the step before,
takes the steps of before again. So the method stays symmetric, and nearly keeps the energy as with equal steps.

How near ρ is to U. In the fictitious time τ with dt = dτ/ρ steps have length ε. With a smooth ρ(τ) the rule reads
ρ(τ + ε/2) + ρ(τ - ε/2) = 2 U(τ), so that by Taylor's series

    ρ = U - ε²/8 U'' + O(ε⁴), and at the middle of a step ρ_{n+1/2} = (U_n + U_{n+1})/2 - ε²/4 U'' + O(ε⁴)

The equation without U has the solution (-1)^n c, neither growing nor damped. The first density, that of U at the start,
makes c = -ε/2 U' there: zero where a motion begins at rest or at a point of symmetry.

U is how fast the motion changes, with accelerations a and their rates a' relative to the size of each body's island
(angles to 1 rad), and a rate U_0 that keeps a body at rest from unlimited steps:

    U⁶ = Σ |a'|² + (Σ |a|²)^(3/2) + U_0⁶

All terms are powers of 1/s. RATTLE takes x + h v + h²/2 a for the position and the mean of two accelerations for the
velocity: it leaves out h³/6 a' of the one, and h³/12 a'' of the other. With h = ε/U, h³ |a'| <= ε³, so that the error
of a step is ε³/6 of the size of the island at most, and that of a run, U/ε steps a second, is of order ε². The term of
a keeps the step where a' passes through zero.
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.kkt import POSE
from chasles.absolute.tables import BODY, SE3, bodies_of
from chasles.constrained.body_sizes import lengths_of
from chasles.constrained.chart import move_body
from chasles.constrained.index1 import body_motion, with_workspace
from chasles.constrained.problem import BodyProblem
from chasles.constrained.structure import islands
from chasles.kernel.address import invoke
from chasles.kernel.algebra import add, add_scaled, cross, dot, scale, sub
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6

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


@kernel
def evaluate(address, t, y, p, out):
    """The field at this address: velocities, V' and the rest."""
    invoke(address, t, y, p, out, y.shape[0], p.shape[0], out.shape[0])


@kernel
def accelerations_at(on_se3, slope, n, i):
    """Angular acceleration of body i and acceleration of its center, on SE(3) in the axes of the body."""
    (spin, velocity), (angular, linear) = load6(slope, 6 * i, 0.0), load6(slope, 6 * (n + i), 0.0)
    return angular, add(linear, cross(spin, velocity)) if on_se3 else linear


@kernel
def displaced(bodies, n, y, d, slope, out):
    """The state y moved by d times its slope."""
    for i in range(n):
        (spin, velocity), on_se3 = load6(slope, 6 * i, 0.0), bodies[i * BODY.size + BODY.space] == SE3
        move_body(on_se3, y, i, (scale(d, spin), scale(d, velocity)), out)
    for k in range(POSE * n, y.shape[0]):
        out[k] = y[k] + d * slope[k - n]


@kernel(entry=True, allocates=True)
def changes_of(address, t, y, p, sizes, least, slopes, near):
    """U⁶ of a state; least: U_0. slopes and near: workspace, slopes of three states and a state nearby."""
    (bodies, n), slope = bodies_of(p), slopes[0]
    evaluate(address, t, y, p, slope)
    spins, size, change = 0.0, 0.0, 0.0
    for i in range(n):
        angular, linear = accelerations_at(bodies[i * BODY.size + BODY.space] == SE3, slope, n, i)
        spin = load3(slope, 6 * i, 0.0)
        spins += dot(spin, spin)
        size += dot(angular, angular) + dot(linear, linear) / sizes[i] ** 2
    short = DIFFERENCE / (least + sqrt(sqrt(size)) + sqrt(spins))
    for side in range(2):
        d = (2 * side - 1) * short
        displaced(bodies, n, y, d, slope, near)
        evaluate(address, t + d, near, p, slopes[1 + side])
    for i in range(n):
        on_se3 = bodies[i * BODY.size + BODY.space] == SE3
        before, after = accelerations_at(on_se3, slopes[1], n, i), accelerations_at(on_se3, slopes[2], n, i)
        bend, jerk = sub(after[0], before[0]), sub(after[1], before[1])
        if on_se3:
            turned = cross(load3(slope, 6 * i, 0.0), accelerations_at(on_se3, slope, n, i)[1])
            jerk = add_scaled(jerk, 2.0 * short, turned)
        change += (dot(bend, bend) + dot(jerk, jerk) / sizes[i] ** 2) / (4.0 * short * short)
    return change + size * sqrt(size) + least**6


class Rate:
    """U of the states of a run."""

    def __init__(self, problem: BodyProblem, y: np.ndarray, least: float):
        mechanism = problem.mechanism
        self.least, self.parameters = least, with_workspace(mechanism)
        if problem.held is not None:
            self.parameters[problem.control] = problem.held
        self.sizes = sizes_of(problem, y)
        self.slopes, self.near = np.zeros((3, problem.space.dimension)), np.zeros(y.size)

    def __call__(self, t: float, y: np.ndarray) -> float:
        if not self.sizes.size:
            return self.least
        work = self.sizes, self.least, self.slopes, self.near
        return float(changes_of(body_motion.address, t, y, self.parameters, *work) ** (1 / 6))


def too_sparse(rate: float, density: float) -> bool:
    """Whether a step of this density led to a state with a U that it cannot have followed: forces changed on the way
    and are not smooth, or have no number there, so that the step is tried again with half its length."""
    return not density >= (1.0 - APART) * rate  # NaN is too sparse


def next_density(rate: float, density: float) -> float:
    """The density after a state with this U, and after a step of a density."""
    after = 2.0 * rate - density
    return after if abs(after - rate) <= APART * rate else rate
