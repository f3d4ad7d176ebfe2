"""Batches that are stepped: beside `simulate_batch` and `Simulation`, resets of some, other masses, bad input."""

import pickle

import numpy as np
import pytest

import chasles as ch
from tests.simulation.systems import arm
from tests.simulation.test_batch_loops import planar


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
    for given, said in [
        ((0.0, 2), "step is 0.0"),
        ((np.nan, 2), "step is nan"),
        ((1e-3, 0), "members is 0"),
        ((1e-3, 2, np.zeros(3)), "q has shape"),
    ]:
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


def linkages(count):
    """Four-bars whose states are on the constraints."""
    mechanism, angles = planar().compile(), np.linspace(0.8, 1.1, count)
    q = np.array([mechanism.assemble([angle, *mechanism.neutral()[1:]], held=["crank"]) for angle in angles])
    v = np.array([mechanism.consistent_velocities(one, [0.5, 0, 0], held=["crank"]) for one in q])
    return mechanism, q, v


def test_steps_of_loops_are_those_of_runs_to_the_bit():
    count, steps, h = 6, 8, 2e-3
    mechanism, q, v = linkages(count)
    inputs = np.random.default_rng(0).normal(size=(count, steps, 3))
    batch = ch.BatchSimulation(mechanism, h, count, q, v)
    for k in range(steps):
        batch.step(inputs[:, k])
    run = ch.simulate_batch(mechanism, (0, steps * h), q, v, control=inputs, period=h, method="rk4", step=h)
    assert run.reason == ""
    np.testing.assert_allclose(batch.v, run.ends.v, rtol=0, atol=1e-13)  # where each period begins anew
    single = ch.simulate(
        mechanism, (0, steps * h), q[4], v[4], controller=lambda t, q, v: inputs[4, round(t / h)], period=h,
        method="rk4", step=h, save="final", progress=False,
    )  # fmt: skip
    assert np.array_equal(run.ends.v[4], single.v[-1])
    still = ch.BatchSimulation(mechanism, h, count, q, v).step(steps=steps)
    alone = ch.simulate_batch(mechanism, (0, steps * h), q, v, method="rk4", step=h)
    assert np.array_equal(still.q, alone.ends.q)
    assert np.array_equal(still.v, alone.ends.v)
    assert mechanism.constraint_violation(still.q, still.v).position.max() < 1e-14


def test_loops_in_any_company_held_reset_and_pickled():
    h = 2e-3
    mechanism, q, v = linkages(6)
    batch = ch.BatchSimulation(mechanism, h, 6, q, v).step(steps=3)
    before, held = batch.v, np.arange(6) == 2
    batch.step(held=held)
    assert np.array_equal((batch.v == before).all(axis=1), held)
    again = pickle.loads(pickle.dumps(batch)).step(steps=2)
    batch.step(steps=2)
    assert np.array_equal(again.v, batch.v)
    few = ch.BatchSimulation(mechanism, h, 2, q[[2, 5]], v[[2, 5]]).step(steps=5)
    assert np.array_equal(few.v[0], batch.v[2])
    few.step()
    assert np.array_equal(few.v[1], batch.v[5])
    batch.reset(q[0], v[0], members=[1]).step(steps=3)
    one = ch.BatchSimulation(mechanism, h, 1, q[3], v[3]).step(steps=6).reset(q[0], v[0], members=[0]).step(steps=3)
    assert np.array_equal(batch.v[1], one.v[0])


def test_masses_of_loops_and_states_off_the_constraints():
    system, mass = planar(), np.array([0.5, 1.0, 2.0])
    batch = ch.BatchSimulation(system, 2e-3, 3, parameters={"bodies.two.mass": mass}).step(steps=5)
    run = ch.simulate_batch(system, (0, 0.01), parameters={"bodies.two.mass": mass}, method="rk4", step=2e-3)
    assert np.array_equal(batch.q, run.ends.q)
    with pytest.raises(ValueError, match=r"q of member 1 violates 'tip' by .*assemble"):
        batch.reset([0.8, 0.1, 0.2], members=[1])
    with pytest.raises(ValueError, match="v of member 0 violates 'tip'"):
        batch.reset(v=[1.0, 0, 0])
