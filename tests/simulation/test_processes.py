"""Mechanisms, runs and errors go to other processes and threads, and compute the same bits there."""

import copy
import multiprocessing
import pickle
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import chasles as ch
from chasles.absolute.entry import act_address as absolute_act_address
from chasles.absolute.entry import addresses as absolute_addresses
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import MECHANISM
from chasles.constrained.bushing_tangent import bushing_tangent_address
from chasles.constrained.force_tangent import force_tangent_address
from chasles.constraint.special import special_address
from chasles.kernel import policy
from chasles.lie import so3
from chasles.relative.force import act_address
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.entry import addresses as loop_addresses
from chasles.relative.loop.tables import CLOSED
from tests.io import result_models as models
from tests.io.result_models import CASES
from tests.simulation import work
from tests.simulation.work import MECHANISMS, known, linkage, same, simulated, swept

WAIT = 300.0  # seconds; what hangs is an error


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.fixture(scope="module")
def runs():
    return {kind: simulated(make()) for kind, make in MECHANISMS.items()}


def all_addresses(run):
    """Addresses that the tables of mechanisms hold."""
    laws = [force.value for force in run.mechanism.system.forces if isinstance(force.value, type(models.drag))]
    found = [
        *absolute_addresses(),
        absolute_act_address(),
        *loop_addresses().values(),
        act_address(),
        special_address(),
        force_tangent_address(),
        bushing_tangent_address(),
    ]
    return [*found, *(law.address for law in laws)]


@pytest.mark.parametrize("kind", MECHANISMS)
def test_nothing_that_is_pickled_holds_an_address(kind, runs):
    run = runs[kind]
    things = [run, run.mechanism, run.dynamics, run.dynamics.problem(), run.task, run.solution]
    simulation = ch.Simulation(run.mechanism, 1e-3, **work.options(run.mechanism))
    for thing in [*things, simulation, simulation.step()]:
        data = pickle.dumps(thing)
        for address in all_addresses(run):
            assert struct.pack("<q", address) not in data  # as an integer, or in the bits of a number
            assert struct.pack("<d", address) not in data  # as a number


@pytest.mark.parametrize("kind", MECHANISMS)
def test_tables_declare_all_their_addresses(kind, runs):
    """So what they call portable holds none."""
    mechanism, tables = runs[kind].mechanism, {AbsoluteMechanism: MECHANISM, ClosedMechanism: CLOSED}
    if type(mechanism) not in tables:
        pytest.skip("a tree has no packed table")
    packed = getattr(mechanism.packed, "parameters", mechanism.packed)
    data, whole = tables[type(mechanism)].portable(packed).tobytes(), packed.tobytes()
    addresses = [a for a in all_addresses(runs[kind]) if struct.pack("<q", a) in whole or struct.pack("<d", a) in whole]
    assert addresses
    for address in addresses:
        assert struct.pack("<q", address) not in data
        assert struct.pack("<d", address) not in data


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", [pickled, copy.deepcopy, copy.copy])
@pytest.mark.parametrize("kind", MECHANISMS)
def test_copies_compute_the_same_bits(kind, way, runs):
    run = runs[kind]
    again = way(run)
    same(known(again), known(run))
    assert str(again.certificate) == str(run.certificate)
    same(known(simulated(way(run.mechanism))), known(run))
    solved = ch.integrate.solve(
        way(run.dynamics.problem()), ch.integrate.RKMK("rk4"), (0, 0.02), run.solution.y[0], step=1e-3
    )
    before = ch.integrate.solve(
        run.dynamics.problem(), ch.integrate.RKMK("rk4"), (0, 0.02), run.solution.y[0], step=1e-3
    )
    np.testing.assert_array_equal(solved.y, before.y)


@pytest.mark.first(3)
@pytest.mark.parametrize("case", ["sampled", "implicit", "alpha", "alpha adaptive", "closed"])
def test_runs_of_all_methods_are_pickled(case, tmp_path):
    run = CASES[case](0.02)
    run.save(tmp_path / "run.h5", ())
    for one in (run, ch.open(tmp_path / "run.h5")):
        again = pickled(one)
        np.testing.assert_array_equal(again.solution.y, run.solution.y)
        assert str(again.certificate) == str(one.certificate)
        assert repr(pickled(one.certificate)) == repr(one.certificate)


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("way", [pickled, copy.deepcopy])
def test_a_simulation_goes_on_elsewhere(kind, way):
    mechanism = MECHANISMS[kind]()
    one = ch.Simulation(mechanism, 1e-3, **work.options(mechanism))
    u = 0.1 * np.arange(one.actuation.inputs)
    one.step(u, steps=9)
    two = way(one)
    for simulation in (one, two):
        simulation.step(steps=3)
        simulation.step(-u, steps=3)
    assert one.t == two.t == pytest.approx(0.015)
    same([one.q, one.v, one.poses, [one.work]], [two.q, two.v, two.poses, [two.work]])


def test_a_run_under_way_says_what_to_keep():
    from chasles.integrate.explicit import ExplicitStepper
    from chasles.integrate.options import Options

    dynamics = simulated(MECHANISMS["tree"](), 0.004).dynamics
    run = ExplicitStepper(dynamics.problem(), ch.integrate.RKMK("rk4"), (0, 1), dynamics.state(), Options(step=0.1))
    with pytest.raises(TypeError, match=r"ExplicitStepper that is under way is not pickled.*keep its checkpoint"):
        pickle.dumps(run)


def test_simulate_leaves_the_callers_mechanism_as_it_is():
    mechanism = linkage().compile("absolute")
    before, parameters = mechanism.packed, mechanism.packed.copy()
    run = simulated(mechanism)
    ch.Simulation(mechanism, 1e-3, **work.options(mechanism)).step()
    assert mechanism.redundant == ()
    assert mechanism.packed is before
    np.testing.assert_array_equal(before, parameters)
    assert set(run.mechanism.redundant) == {"A", "B", "C", "D"}
    told = mechanism.examined(run.poses[0])
    assert mechanism.redundant == () != told.redundant
    assert pickled(told).redundant == told.redundant
    np.testing.assert_array_equal(before, parameters)  # who computes with the old ones is not disturbed


# ---------------------------------------------------------------- other processes


def sweep(processes, runs, tmp_path):
    """Shared objects go to processes that are started afresh, and come back."""
    given = [run.mechanism for run in runs.values()]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        jobs = [(given, runs[kind]) for kind in (list(MECHANISMS) * processes)[:processes]]
        for (found, numbers, mechanism), (_, run) in zip(
            pool.map_async(swept, jobs, chunksize=1).get(WAIT * processes), jobs, strict=True
        ):
            same(numbers, known(run))
            for one, kind in zip(found, MECHANISMS, strict=True):
                same(known(one), known(runs[kind]))  # what came back computes here
            np.testing.assert_array_equal(simulated(mechanism).solution.y, run.solution.y)
        file = tmp_path / "wrong.toml"
        file.write_text("[[bodies]]\nname = 3\n")
        with pytest.raises(ch.errors.ModelFileError, match=r"wrong.toml:2: bodies\[0\].name") as error:
            pool.map_async(work.misread, [str(file)]).get(WAIT)
        assert (error.value.line, error.value.path) == (2, "bodies[0].name")


@pytest.mark.parametrize("processes", [1, *(pytest.param(n, marks=pytest.mark.study) for n in (2, 8))])
def test_other_processes(processes, runs, tmp_path):
    sweep(processes, runs, tmp_path)


# ---------------------------------------------------------------- threads


def test_four_threads_on_shared_mechanisms(runs):
    """Each thread runs two of the four, with its own start, and asks for forces and dynamics in between."""
    mechanisms = {kind: run.mechanism for kind, run in runs.items()}
    rng = np.random.default_rng(3)
    tree = mechanisms["tree"]
    states = [(tree.random(rng), *rng.normal(size=(2, tree.nv))) for _ in range(4)]

    def job(k):
        found = []
        for kind in (list(mechanisms) * 2)[k : k + 2]:
            found.append((kind, known(simulated(mechanisms[kind]))))
        q, v, tau = states[k]
        for _ in range(50):  # long enough for the threads to meet
            a = tree.raw.forward_dynamics(q, v, tau, np.empty(tree.nv))
            b = tree.forward_dynamics(q, v, tau)
            c = tree.applied_forces(q, v).tau
        return found, [a, b, c]

    alone = [[x.forward_dynamics(q, v, tau), x.applied_forces(q, v).tau] for x in [tree] for q, v, tau in states]
    with ThreadPoolExecutor(4) as pool:
        for (found, numbers), (a, forces) in zip(pool.map(job, range(4)), alone, strict=True):
            for kind, one in found:
                same(one, known(runs[kind]))
            same(numbers, [a, a, forces])


def test_an_error_of_a_law_is_raised_in_its_own_thread():
    def breaks(t, q, v, parameters, out):
        if q[0] > 10.0:
            raise ZeroDivisionError("too far")
        out[0] = -q[0]

    mechanism = models.arm().with_force(ch.JointForce("b", "elbow", breaks)).compile()
    good, bad = mechanism.neutral(), mechanism.neutral()
    bad[-1] = 11.0

    def job(k):
        for _ in range(100):
            if k % 2:
                with pytest.raises(ZeroDivisionError, match="too far"):
                    mechanism.applied_forces(bad, np.zeros(4))
            else:
                assert mechanism.applied_forces(good, np.zeros(4)).tau[-1] == 0.0
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(job, range(4)))


def test_a_law_is_compiled_once_whoever_asks_first():
    law = ch.law(models.drag.function)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: law.address, range(8)))) == 1


def test_functions_in_other_threads_do_not_act_as_kernels():
    """A thread that runs kernels in plain Python, as messages of errors do, says so for itself alone."""
    with policy.Interpreted(), ThreadPoolExecutor(1) as pool:
        assert policy.INTERPRETED.depth == 1
        assert pool.submit(lambda: policy.INTERPRETED.depth).result(WAIT) == 0
        np.testing.assert_array_equal(pool.submit(lambda: so3.exp(np.zeros(3))).result(WAIT), np.eye(3))
    assert policy.INTERPRETED.depth == 0
