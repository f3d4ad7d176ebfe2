"""A system is compiled at its first run, and its mechanism serves the next ones."""

import pickle

import numpy as np
import pytest

import chasles as ch
from chasles.model.scale import length_of
from chasles.once import once

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
