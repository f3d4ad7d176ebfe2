"""What processes and threads do in the tests: functions that are found by their names."""

from dataclasses import replace

import numpy as np

import chasles as ch
from chasles.certificate import budget, checkpoints, companion, features
from tests.absolute.test_mobility import four_bar
from tests.io import result_models as models


def slows(t, q, v, parameters, out):
    out[0] = -parameters[0] * v[0] ** 3


@ch.law
def pulls(t, q, v, parameters, out):
    out[0] = parameters[0] * np.sin(3.0 * t) - 0.1 * v[0]


def balance(t, q, v):
    return [-0.5 * v[-1]]


def arm():
    """A tree under compiled laws and one in Python, with an actuator."""
    forces = [models.AIR, ch.JointForce("slow", "elbow", slows, [0.02]), ch.JointForce("pull", "elbow", pulls, [0.3])]
    return replace(models.arm(), forces=forces, actuators=[ch.Actuator("motor", "elbow", gear=2.0)], name="driven arm")


def linkage():
    """A loop under a compiled law; in absolute coordinates some of its equations depend on others."""
    return four_bar(1.3).with_force(ch.Wrench("air", "coupler", models.drag, parameters=[0.05]))


MECHANISMS = {
    "tree": lambda: arm().compile(),
    "closed": lambda: linkage().compile(cut=["C"]),
    "absolute": lambda: arm().compile("absolute", space="SO3xR3"),
    "redundant": lambda: linkage().compile("absolute"),
}


def options(mechanism):
    """How to start a mechanism."""
    if mechanism.system.actuators:
        return {"v": models.V}
    if isinstance(mechanism, ch.ClosedMechanism):
        return {"assemble": True, "q": mechanism.assemble([1.4, -1.3, 1.9])}
    tree = four_bar(1.3).compile()
    return {"assemble": True, "poses": tree.poses(tree.assemble([1.4, -1.3, 1.2]))}


def simulated(mechanism, end=0.1):
    """A short run of a mechanism, that is judged with little effort: its bits are compared, whatever they are."""
    given = {"control": [0.2] if mechanism.system.actuators else None, "certificate": 0.1}
    return ch.simulate(mechanism, (0.0, end), step=2e-3, progress=False, **given, **options(mechanism))


def known(run):
    """Numbers that need the equations of motion: through tables, laws and integrator."""
    energy = run.energies
    found = [run.solution.y, energy.kinetic, energy.springs, np.array([f.value for f in run.certificate.findings])]
    found += [run.accelerations, run.poses, run(run.t[3:6]).a]
    if run.coordinates == "absolute":
        name = run.mechanism.system.joints[0].name
        found.append(run.mechanism.reactions(name, *run.dynamics.split(run.solution.y)[:2], t=run.t))
    return found


def look_quickly(patch=setattr):
    """Let certificates call laws seldom: a million times to see where each changes takes seconds."""
    patch(budget, "CALLS", 1 << 14)
    patch(features, "ALONG", 1 << 13)


def judge_at_few_times(patch=setattr):
    """Let certificates begin anew and compare seldom: where friction depends on loads, an evaluation of the second
    motion takes a millisecond."""
    times = checkpoints.checkpoint_times
    for module, name, value in (
        (checkpoints, "checkpoint_times", lambda start, end, rng, count=8: times(start, end, rng, min(count, 8))),
        (checkpoints, "EARLY", 3),
        (companion, "LEAST_PIECES", 4),
        (companion, "PIECES", 4),
        (features, "LEAST_POINTS", 4),
        (features, "POINTS", 4),
        (features, "STEEPEST", 1),
    ):
        patch(module, name, value)


def swept(given):
    """One job of a sweep: mechanisms and a run came from another process."""
    look_quickly()
    mechanisms, run = given
    return [simulated(mechanism) for mechanism in mechanisms], known(run), run.mechanism


def misread(file):
    return ch.load(file)


def same(one, two):
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
