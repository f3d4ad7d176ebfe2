"""Coordinates x loops x inputs x starts x methods: each way to say the same run gives the same motion."""

import functools

import numpy as np
import pytest

import chasles as ch

SPAN, TORQUE = (0.0, 0.2), 0.8
METHODS = {
    "adaptive": {"rtol": 1e-10, "atol": 1e-12},
    "rk4": {"method": "rk4", "step": 0.002},
    "generalized_alpha": {"method": "generalized_alpha", "step": 0.002},
    "radau5": {"method": "radau5", "step": 0.01},
}
EXPLICIT = ("adaptive", "rk4")
# of the turns of bodies; generalized alpha is of second order
ERRORS = {"adaptive": 1e-8, "rk4": 1e-8, "generalized_alpha": 2e-4, "radau5": 1e-7}


def rod(name, length):
    return ch.Body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))


def chain():
    joints = [
        ch.revolute("crank", "ground", "one", axis=(0, 0, 1), damping=0.1),
        ch.revolute("knee", "one", "two", axis=(0, 0, 1), at=(0.3, 0, 0), stiffness=2.0),
    ]
    return ch.System([rod("one", 0.3), rod("two", 0.5)], joints), {"crank": 0.4, "knee": -0.3}


def four_bar(last):
    """With revolute joints all around, three of its equations depend on others; with a spherical one none is too much
    in the plane but that of its axis."""
    joints = [
        ch.revolute("crank", "ground", "one", axis=(0, 0, 1), damping=0.1),
        ch.revolute("knee", "one", "two", axis=(0, 0, 1), at=(0.3, 0, 0)),
        ch.revolute("rocker", "ground", "three", axis=(0, 0, 1), at=(0.6, 0, 0), stiffness=2.0),
        last("tip", "two", "three", at=(0.6, 0, 0), child_at=(0.5, 0, 0)),
    ]
    return ch.System([rod("one", 0.3), rod("two", 0.6), rod("three", 0.5)], joints), {"crank": 0.9}


def geared():
    joints = [
        ch.revolute("crank", "ground", "one", axis=(0, 0, 1), damping=0.1),
        ch.revolute("wheel", "ground", "two", axis=(0, 0, 1), at=(1, 0, 0)),
    ]
    gear = ch.model.gear_pair("gear", ("crank", "wheel"), (20, 31))
    return ch.System([rod("one", 0.3), rod("two", 0.5)], joints, constraints=[gear]), {"crank": 0.4}


SYSTEMS = {
    "chain": chain,
    "four-bar": lambda: four_bar(functools.partial(ch.revolute, axis=(0, 0, 1))),
    "four-bar with a ball": lambda: four_bar(ch.spherical),
    "gears": geared,
}
INPUTS = {
    "list": {"control": [TORQUE]},
    "by name": {"control": {"motor": TORQUE / 2}},
    "controller": {"controller": lambda t, q, v: [TORQUE / 2], "period": 0.1},
    "law": {},
}


@functools.cache
def model(name, given):
    """A system, with the same torque on its crank by an actuator, or by a force; and its start by name."""
    system, start = SYSTEMS[name]()
    system = system.with_gravity((0, -9.81, 0))
    if given == "law":
        return system.with_force(ch.JointForce("torque", "crank", "0.8")), start
    gear = 1.0 if given == "list" else 2.0
    return system.with_actuator(ch.Actuator("motor", "crank", gear=gear)), start


@functools.cache
def reference(name):
    """Poses of the bodies at the start and at the end, and coordinates at the start: with fine steps."""
    system, start = model(name, "law")
    mechanism = system.compile()
    run = ch.simulate(mechanism, SPAN, start, rtol=1e-12, atol=1e-13, certificate=False)
    return run.poses[0], run.poses[-1], run.q[0]


def cases():
    for name in SYSTEMS:
        for given in INPUTS:
            for coordinates in ("relative", "absolute"):
                for start in ("by name", "array", "poses"):
                    for method in METHODS:
                        relative = coordinates == "relative"
                        if not (relative and (start == "poses" or method not in EXPLICIT)):
                            yield name, given, coordinates, start, method


@pytest.mark.sample(1)
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_all_ways_to_say_a_run_agree(name, given, coordinates):
    system, by_name = model(name, given)
    poses, end, q = reference(name)
    starts = {"by name": {"q": by_name}, "array": {"q": q}, "poses": {"poses": poses}}
    for _, _, _, start, method in (case for case in cases() if case[:3] == (name, given, coordinates)):
        run = ch.simulate(
            *(system, SPAN),
            **starts[start],
            **INPUTS[given],
            **METHODS[method],
            coordinates=coordinates,
            certificate=False,
        )
        assert run.success, (start, method, run.message)
        error = np.abs(run.poses[-1] - end).max()
        assert error < ERRORS[method], (start, method, error)
        assert np.abs(end - poses).max() > 0.05
