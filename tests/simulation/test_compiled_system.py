"""A system is compiled at its first run, and its mechanism serves the next ones."""

import pickle

import numpy as np
import pytest

import chasles as ch
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.model.mimic import as_couplings
from chasles.model.scale import length_of
from chasles.once import once
from chasles.relative.loop.closed import compiled
from chasles.simulation.compiled_system import in_absolute_coordinates
from tests.simulation.test_batch_loops import linkage

STRENGTH = 1.0


@ch.law
def push(t, x, y, p, out):
    out[0] = STRENGTH


def pendulum(**more):
    rod = ch.Body("rod", 1.0, (0.0, 0.0, -0.5), (0.1, 0.1, 0.01))
    return ch.System([rod], [ch.revolute("pin", "ground", "rod", axis=(0, 1, 0))], **more)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_the_next_run_takes_the_mechanism_of_the_first(coordinates):
    system = pendulum()
    first, second = (ch.simulate(system, (0, 0.1), {"pin": 0.3}, coordinates=coordinates) for _ in range(2))
    assert first.mechanism is second.mechanism
    assert np.array_equal(first.q, second.q)
    fresh = ch.simulate(pendulum(), (0, 0.1), {"pin": 0.3}, coordinates=coordinates)
    assert np.array_equal(first.q, fresh.q)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_constants_of_laws_that_changed_are_seen(coordinates, monkeypatch):
    system = pendulum(forces=[ch.JointForce("push", "pin", push)])
    weak = ch.simulate(system, (0, 0.1), coordinates=coordinates)
    monkeypatch.setitem(globals(), "STRENGTH", 2.0)
    strong = ch.simulate(system, (0, 0.1), coordinates=coordinates)
    assert strong.mechanism is not weak.mechanism
    assert np.allclose(strong.a[0], 2 * weak.a[0], rtol=1e-12, atol=0)


def test_options_of_absolute_coordinates_have_mechanisms_of_their_own():
    system = pendulum()
    spaces = [
        ch.simulate(system, (0, 0.01), coordinates="absolute", space=space).mechanism for space in ("SE3", "SO3xR3")
    ]
    assert [mechanism.spaces["rod"] for mechanism in spaces] == ["SE3", "SO3xR3"]


def test_a_system_is_pickled_without_what_was_computed():
    system = pendulum()
    before = pickle.dumps(system)
    ch.simulate(system, (0, 0.01))
    assert pickle.dumps(system) == before
    assert length_of(pickle.loads(before)) == length_of(system)


def test_once_keeps_a_result_for_each_object():
    calls = []

    @once
    def found(owner):
        calls.append(owner)
        return len(calls)

    one, other = pendulum(), pendulum()
    assert [found(one), found(one), found(other), found(one)] == [1, 1, 2, 1]


def bar(mass=1.0, **more):
    """A four-bar, whose masses say nothing of the tables but themselves."""
    bodies, joints = linkage()
    heavy = ch.Body("two", mass, bodies[1].com, bodies[1].inertia)
    return ch.System([bodies[0], heavy, bodies[2]], joints, gravity=(0, -9.8, 0), **more)


def test_equal_systems_and_those_with_other_masses_take_over_what_is_known():
    options = "auto", True, (0.0, 0.0), False
    first, second, heavy = (in_absolute_coordinates(one, *options) for one in (bar(), bar(), bar(2.0)))
    assert second is first
    assert heavy.tiles is first.tiles
    own = AbsoluteMechanism(bar(2.0), *options)
    assert np.array_equal(own.packed.view(np.int64), heavy.packed.view(np.int64))
    for other in (bar(2.0, name="other"), bar(2.0, frames=[ch.Frame("tip", "one", (1, 0, 0, 0, 0.1, 0, 0))])):
        assert in_absolute_coordinates(other, *options).tiles is not first.tiles


def test_trees_of_the_same_form_share_their_analysis():
    rod = ch.Body("rod", 2.0, (0.1, 0.0, -0.4), (0.2, 0.15, 0.1))
    joints = [ch.revolute("pin", "ground", "rod", axis=(0, 1, 0), damping=0.3)]
    base = compiled(ch.System([rod], [joints[0]]))
    other = ch.System([ch.Body("rod", 1.0, (0.0, 0.0, -0.5), (0.1, 0.1, 0.01))], joints, gravity=(1, 2, 3))
    found, own = compiled(other), ch.Mechanism(other)
    assert found.tables.configuration is base.tables.configuration
    assert np.array_equal(found.tree.numbers, own.tree.numbers)
    assert np.array_equal(found.tables.acting.values, own.tables.acting.values)
    q, v = [0.3], [0.5]
    assert found.forward_dynamics(q, v, [0.0]) == own.forward_dynamics(q, v, [0.0])


def test_followers_are_no_couplings_of_a_mechanism_that_was_compiled_before():
    """A system with followers alone is a tree, also after its like with couplings, whose tables would fit."""
    bodies = [ch.Body(name, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)) for name in ("a", "b")]
    joints = [
        ch.revolute("first", "ground", "a", axis=(0, 1, 0)),
        ch.revolute("second", "a", "b", axis=(0, 1, 0), at=(1, 0, 0), mimic="first", mimic_ratio=-2.0),
    ]
    system = ch.System(bodies, joints)
    coupled = as_couplings(system).compile()
    assert coupled.nv == 2
    assert system.compile().nv == 1


@pytest.mark.parametrize("text", ["-5 * q('{}')", "-5 * distance('{}', 'ground')"])
def test_laws_that_see_other_joints_or_bodies_are_others(text):
    """Their programs are equal, for they count what they see; a mechanism that was compiled before does not fit."""
    bodies = [ch.Body(name, 1.0, (0, 0, -0.2), (0.02, 0.03, 0.025)) for name in ("a", "b")]
    joints = [
        ch.revolute("a", "ground", "a", axis=(0, 1, 0)),
        ch.revolute("b", "a", "b", axis=(0, 1, 0), at=(0, 0, -0.4)),
    ]
    one, other = (
        ch.System(bodies, joints, forces=[ch.JointForce("motor", "b", text.format(name))]) for name in ("a", "b")
    )
    assert one != other
    forces = [system.compile().applied_forces([0.3, -0.2], [0.0, 0.0]).tau[1] for system in (one, other)]
    if "distance" not in text:
        assert forces == pytest.approx([-5 * 0.3, 5 * 0.2])
    assert forces[0] != forces[1]
