"""Systems and runs for the tests of implicit methods."""

import functools

import numpy as np

import chasles as ch
from chasles.constrained.run import ConstrainedStepper
from chasles.integrate.options import Options
from chasles.lie import pose as pose_group
from chasles.simulation.bodies.dynamics import BodyDynamics
from tests.absolute.systems import double_pendulum, slow_top

BRULS_SPIN = np.array([0.0, 150.0, -4.61538])


def bruls_top() -> ch.System:
    """The heavy top of bruels2010: the pivot is a meter from the center of mass."""
    body = ch.Body("top", 15.0, (0.0, 0.0, 0.0), (0.234375, 0.46875, 0.234375))
    return ch.System([body], [ch.spherical("pivot", "ground", "top", child_at=(0.0, -1.0, 0.0))], name="top")


SLOW_TURN = pose_group.exp([0.4, 0.2, -0.3, 0.0, 0.0, 0.0])[:4]
SLOW_SPIN = np.array([1.0, 8.0, -2.0])
SPINS = np.array([[10.0, 0.0, 0.0], [10 * np.pi, 10 * np.pi, 20 * np.pi]])  # of the double pendulum
STARTS = {
    "slow": (slow_top, SLOW_TURN, SLOW_SPIN, 0.5),
    "pendulum": (double_pendulum, None, np.concatenate([SPINS[0], SPINS[1] - SPINS[0]]), 0.1),
}


def run(system, end, space, method, step, q=None, v=None, save="final", **more):
    return ch.simulate(
        system, (0.0, end), q, v, coordinates="absolute", space=space, method=method, step=step, save=save, **more
    )


def run_of(name, space, method, steps, save="final"):
    make, q, v, end = STARTS[name]
    return run(make(), end, space, method, end / steps, q, v, save)


@functools.cache
def exact(name):
    """Poses and body twists at the end: joint coordinates, other equations and another method."""
    make, q, v, end = STARTS[name]
    found = ch.simulate(
        make(), (0.0, end), q, v, method=ch.integrate.RKMK("dop853"), rtol=1e-14, atol=1e-14, save="final"
    )
    return found.mechanism.poses(found.q[-1]), found.mechanism.twists(found.q[-1], found.v[-1])


def errors(found, name):
    """Largest errors of poses and of twists at the end."""
    poses, twists = exact(name)
    off = pose_group.log(pose_group.compose(pose_group.inverse(poses), found.poses[-1]))
    return np.abs(off).max(), np.abs(found.twists[-1] - twists).max()


def stepper(system, end, space, method, step, q=None, v=None, save="final") -> ConstrainedStepper:
    """A run that is advanced by hand, to see what the method itself has."""
    dynamics = BodyDynamics(system, space, projected=True)
    state = dynamics.start(0.0, q, v, None, None, False)
    return ConstrainedStepper(dynamics, method, (0.0, end), state, Options(step=step, save=save))


def multiplier_defect(name, space, method, steps) -> float:
    """Largest difference between the method's multipliers and those of the index-1 equations, from the first step."""
    make, q, v, end = STARTS[name]
    going = stepper(make(), end, space, method, end / steps, q, v)
    worst = 0.0
    while going.steps < going.plan.steps:
        going.advance(1)
        if going.steps < getattr(method, "k", 1):
            continue  # the first steps of a multistep method are not its own
        at, speed, _ = going.problem.split(going.point())
        best = going.mechanism.constrained_motion(at, speed, t=going.time).multipliers
        worst = max(worst, np.abs(going.multipliers - best).max() / np.abs(best).max())
    return worst
