"""What acts on a mechanism, whether or not it moves: the sizes of energies, speeds and momenta below which what is
found is rounding of the loads. A mechanism that is held still has no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.certificate.movement import LOADS, ROUNDING, STILL
from chasles.model.scale import length_of, velocity_sizes
from chasles.simulation.laws.samples import items_with_laws, may_depend_on_time
from chasles.simulation.nonsmooth.set_valued import problem_at

BALANCED = 1e-12  # of what loads would accelerate a mechanism by: what is left of it if they are in balance


@dataclass(frozen=True)
class Rest:
    """Size [m], energy [J], speed [m/s] and momentum [N s] of a motion that is none."""

    size: float
    energy: float
    speed: float
    momentum: float

    @classmethod
    def of(cls, run: Any, span: float, resting: bool) -> Rest:
        """Of a run: what its loads would do if a billionth of them were not held, or rounding, over a span [s]; of one
        that is `resting` (`pull_of`) a thousandth of the speed at which they would let it swing."""
        system = run.mechanism.system
        size, mass = length_of(system), sum(body.mass for body in system.bodies)
        weight = mass * float(np.linalg.norm(system.gravity)) * size
        work = LOADS * (weight + float(_loads(run, size).max(initial=0.0)))
        rounding = ROUNDING * size / span
        if not mass > 0:
            return cls(size, work, rounding, 0.0)
        speed = work / (mass * size) * span + rounding
        if resting:
            speed = max(speed, STILL * float(np.sqrt(work / LOADS / mass)))
            work = max(work, mass * speed**2)
        return cls(size, work + mass * rounding**2, speed, mass * speed)


def pull_of(run: Any) -> tuple[float, bool]:
    """What the loads at the start would accelerate a mechanism by, were they not in balance [m/s²]; and whether they
    are, to rounding, and nothing moves or depends on time: then it stays where it is. Else gravity alone counts."""
    system, task = run.mechanism.system, run.task
    gravity, mass = float(np.linalg.norm(system.gravity)), sum(body.mass for body in system.bodies)
    speeds = np.ravel(task.dynamics.split(task.state)[1])
    timed = task.controller is not None or any(may_depend_on_time(law) for _, law in items_with_laws(system))
    if timed or speeds.any() or not mass > 0:
        return gravity, False
    size = length_of(system)
    pull = gravity + float(_loads(run, size).max(initial=0.0)) / (mass * size)
    problem = problem_at(task.dynamics, task.span[0], task.state, task.u)
    rate = problem.rate(task.span[0], task.state)
    velocities = slice(len(speeds), 2 * len(speeds))
    fastest = size * float(np.abs(rate[velocities] / task.dynamics.units[velocities]).max(initial=0.0))
    return (pull, True) if fastest <= BALANCED * pull else (gravity, False)


def _loads(run: Any, size: float) -> np.ndarray:
    """The work of all forces but gravity over 1 rad, or the size of the mechanism, at the states of a run [J]."""
    mechanism, controls = run.mechanism, run.acting
    if run.coordinates == "absolute":
        central, velocity, _ = run.dynamics.split(run.solution.y)
        angles = run.dynamics.angles(run.solution.y)
        along, wrenches = 0.0, mechanism.applied_forces(central, velocity, controls, run.t, angles)[0]
    else:
        acting = mechanism.applied_forces(run.q, run.v, run.t)
        sizes = velocity_sizes(mechanism.tree.joints, {joint.name: size for joint in mechanism.tree.joints})
        along = (np.abs(acting.tau) + (0.0 if controls is None else np.abs(controls))) @ sizes
        wrenches = acting.wrenches.reshape(len(run.t), -1, 6)
    return along + (np.abs(wrenches) @ np.array([1.0, 1.0, 1.0, size, size, size])).sum(axis=-1)
