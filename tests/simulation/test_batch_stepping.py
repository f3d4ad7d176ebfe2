"""Batches that are stepped: beside `simulate_batch` and `Simulation`, resets of some, other masses, bad input."""

import numpy as np
import pytest

import chasles as ch
from tests.simulation.systems import arm


def test_steps_of_a_batch_are_those_of_runs_to_the_bit():
    mechanism, rng, count, steps = arm().compile(), np.random.default_rng(0), 6, 12
    q, v = np.tile(mechanism.neutral(), (count, 1)), rng.normal(size=(count, mechanism.nv))
    inputs = rng.normal(size=(count, steps, mechanism.nv))
    batch = ch.BatchSimulation(mechanism, 1e-3, count, q, v)
    for k in range(steps):
        batch.step(inputs[:, k])
    run = ch.simulate_batch(mechanism, (0, steps * 1e-3), q, v, control=inputs, period=1e-3, method="rk4", step=1e-3)
    assert np.array_equal(batch.q, run.ends.q)
    assert np.array_equal(batch.v, run.ends.v)
    assert batch.t == pytest.approx(steps * 1e-3)
    single = ch.Simulation(mechanism, 1e-3, q[4], v[4])
    for k in range(steps):
        single.step(inputs[4, k])
    assert np.abs(single.v - batch.v[4]).max() < 1e-13
    assert single.work == pytest.approx(batch.work[4], abs=1e-13)


def test_some_begin_anew_and_masses_differ():
    system, densities = arm(), np.array([500.0, 1000.0, 2000.0, 3000.0, 4000.0])
    name, v = f"bodies.{system.bodies[-1].name}.density", [1.0, 0.5, 2.0, 0.3]
    batch = ch.BatchSimulation(system, 1e-3, 5, v=v, parameters={name: densities}).step(steps=5)
    before = batch.v
    batch.reset(v=v, members=np.array([False, True, False, False, True]))
    assert np.array_equal(batch.v[[0, 2, 3]], before[[0, 2, 3]])
    batch.step(steps=5)
    run = ch.simulate_batch(system, (0, 5e-3), v=v, parameters={name: densities}, method="rk4", step=1e-3)
    assert np.abs(batch.v[[1, 4]] - run.ends.v[[1, 4]]).max() < 1e-14


def test_what_is_wrong_is_said_at_once():
    system = arm()
    for given, said in [((0.0, 2), "step"), ((1e-3, 0), "members is 0"), ((1e-3, 2, np.zeros(3)), "q has shape")]:
        with pytest.raises(ValueError, match=said):
            ch.BatchSimulation(system, *given)
    with pytest.raises(ValueError, match=r"did you mean|no number 'bodies.x.mass'"):
        ch.BatchSimulation(system, 1e-3, 2, parameters={"bodies.x.mass": [1.0, 2.0]})
    batch = ch.BatchSimulation(system, 1e-3, 2)
    for wrong, said in [(np.zeros((3, 4)), "has shape"), (np.full((2, 4), np.nan), "input 0 of member 0")]:
        with pytest.raises(ValueError, match=said):
            batch.step(wrong)
    with pytest.raises(ValueError, match="expected numbers from 0 to 1"):
        batch.reset(members=[2])


def test_one_that_cannot_go_on_leaves_the_others_alone_and_one_that_is_held_stays():
    system, rng = arm(), np.random.default_rng(2)
    v, u = rng.normal(size=(6, 4)), rng.normal(size=(6, 4))
    fine = ch.BatchSimulation(system, 1e-3, 6, v=v).step(u, 3)
    v[2] = 1e200
    batch = ch.BatchSimulation(system, 1e-3, 6, v=v)
    with pytest.raises(RuntimeError, match=r"member 2 cannot go on at t = 0\.003: its state is not finite"):
        batch.step(u, 3)
    others = [0, 1, 3, 4, 5]
    assert np.array_equal(batch.q[others], fine.q[others])
    assert np.array_equal(batch.v[2], v[2])
    before, held = fine.v, np.array([True, False, False, True, False, False])
    fine.step(u, held=held)
    assert np.array_equal((fine.v == before).all(axis=1), held)
