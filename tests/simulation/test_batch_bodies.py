"""Batches of generalized alpha in absolute coordinates: on lanes, with the bits of `simulate`, wherever a member is."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.constrained import lane_run
from chasles.simulation.batch.lane_runs import refusal
from chasles.simulation.simulate import plan

COUNT, SPAN, STEP = 6, (0.0, 0.0415), 0.002  # the last step is shorter


def mechanism():
    """Hinges, a ball, a universal joint, a slider and a rigid link, with a loop in space; nothing acts but gravity."""
    bodies = [ch.Body(name, 1.0, (0.1, 0.02, 0), (0.01, 0.02, 0.03)) for name in "abcde"]
    joints = [
        ch.revolute("one", "ground", "a", axis=(0, 1, 0)),
        ch.spherical("two", "a", "b", at=(0.3, 0, 0)),
        ch.universal("three", "ground", "c", axes=((0, 1, 0), (0, 0, 1)), at=(0, 0.5, 0)),
        ch.prismatic("four", "c", "d", axis=(1, 0, 0), at=(0.3, 0, 0)),
        ch.revolute("five", "a", "e", axis=(0, 0, 1), at=(0.2, 0, 0.1)),
    ]
    return ch.System(bodies, joints, constraints=[ch.Distance("link", ("b", "d"), ((0.3, 0, 0), (0.1, 0, 0)))])


def members(system, rng):
    masses = {f"bodies.{body.name}.mass": rng.uniform(0.5, 2.0, COUNT) for body in system.bodies}
    v = {"one": rng.normal(size=COUNT), "five": 3.0 * rng.normal(size=COUNT)}
    return masses, v


def alone(system, masses, v, k, **how):
    bodies = [replace(body, mass=float(masses[f"bodies.{body.name}.mass"][k])) for body in system.bodies]
    start = {name: float(value[k]) for name, value in v.items()}
    return ch.simulate(replace(system, bodies=bodies), SPAN, v=start, progress=False, **how)


@pytest.mark.first(2)
@pytest.mark.parametrize(("space", "index"), [("SE3", 2), ("SO3xR3", 3), ("SO3xR3", 2), ("SE3", 3)])
def test_members_have_the_bits_of_single_runs(space, index):
    system = mechanism()
    masses, v = members(system, np.random.default_rng(3))
    method = ch.integrate.GeneralizedAlpha(index=index)
    how = {"coordinates": "absolute", "space": space, "method": method, "step": STEP, "save": 3}
    batch = ch.simulate_batch(system, SPAN, v=v, parameters=masses, threads=2, **how)
    assert batch.reason == ""
    for k in range(COUNT):
        run, one = batch[k], alone(system, masses, v, k, **how)
        assert np.array_equal(run.t, one.t)
        assert run.solution.y.tobytes() == one.solution.y.tobytes()
        assert (run.solution.evaluations, run.solution.steps) == (one.solution.evaluations, one.solution.steps)
    order = [4, 1, 0]
    other = ch.simulate_batch(
        system, SPAN, v={name: x[order] for name, x in v.items()}, threads=1,
        parameters={name: x[order] for name, x in masses.items()}, **how,
    )  # fmt: skip
    assert other.ends.q.tobytes() == batch.ends.q[order].tobytes()


def test_steps_that_lanes_do_not_share_and_members_that_fail(monkeypatch):
    """One member turns so fast that it needs new factors where others do not, one cannot be solved at all."""
    taken = []

    def goes_on(run, limit, before=lane_run.goes_on):
        taken.append(limit)
        return before(run, limit)

    monkeypatch.setattr(lane_run, "goes_on", goes_on)
    system = mechanism()
    masses, v = members(system, np.random.default_rng(4))
    v["five"][1], v["five"][2] = 60.0, 1e7
    how = {"coordinates": "absolute", "method": "generalized_alpha", "step": STEP, "save": "final"}
    batch = ch.simulate_batch(system, SPAN, v=v, parameters=masses, threads=1, **how)
    assert taken
    assert batch.reason == ""
    assert list(batch.success) == [True, True, False, True, True, True]
    with pytest.raises(ArithmeticError) as error:
        alone(system, masses, v, 2, **how)
    assert str(error.value) in batch.messages[2]
    for k in (0, 1, 3):
        assert batch[k].solution.y.tobytes() == alone(system, masses, v, k, **how).solution.y.tobytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"method": "rattle"}, "GeneralizedAlpha"),
        ({"method": "rk4"}, "GeneralizedAlpha"),
        ({"step": None, "rtol": 1e-4}, "follow the error"),
        ({"method": ch.integrate.GeneralizedAlpha(index=2, project_velocity=True)}, "projected"),
        ({"every": 0.0041}, "between steps"),
    ],
)
def test_what_lanes_cannot_do_says_so(change, reason):
    how = {"coordinates": "absolute", "method": "generalized_alpha", "step": STEP} | change
    found = refusal(plan(mechanism(), SPAN, **how))
    assert reason in found
    assert bool(reason) == bool(found)


@pytest.mark.parametrize("reason", ["forces", "depend", "coupled"])
def test_mechanisms_that_are_not_on_lanes_say_so(reason):
    system = mechanism()
    if reason == "forces":
        system = replace(system, joints=[replace(system.joints[0], damping=0.1), *system.joints[1:]])
    elif reason == "depend":
        twice = [ch.Distance("again", ("b", "d"), ((0.3, 0, 0), (0.1, 0, 0))), *system.constraints]
        system = replace(system, constraints=twice)
    else:
        system = replace(system, constraints=[ch.Coupling("gear", ("one", "five"), (1.0, -2.0)), *system.constraints])
    task = plan(system, SPAN, coordinates="absolute", method="generalized_alpha", step=STEP)
    assert reason in refusal(task)
