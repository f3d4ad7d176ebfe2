"""Which body moves on which group."""

import numpy as np
import pytest

import chasles as ch
from tests.absolute.systems import double_pendulum, joined


def test_spaces_can_be_chosen_for_each_body():
    system = double_pendulum()
    mixed = system.compile("absolute", space={"one": "SE3"})
    assert mixed.spaces == {"one": "SE3", "two": "SO3xR3"}
    assert mixed.explain_spaces()["one"] == "SE3: as asked"
    assert "not mentioned" in mixed.explain_spaces()["two"]


def test_a_mixture_of_spaces_gives_the_same_motion():
    system = double_pendulum()
    v = [3.0, 1.0, -2.0, 0.5, -4.0, 2.0]
    options = {
        "coordinates": "absolute",
        "method": ch.integrate.RKMK("dop853"),
        "rtol": 1e-12,
        "atol": 1e-12,
        "save": "final",
    }
    every = [
        ch.simulate(system, (0.0, 0.3), v=v, space=space, **options)
        for space in ("SE3", "SO3xR3", {"one": "SE3"}, {"two": "SE3"})
    ]
    for run in every[1:]:
        assert np.abs(run.poses[-1] - every[0].poses[-1]).max() < 1e-10
        assert np.abs(run.twists[-1] - every[0].twists[-1]).max() < 1e-9


def test_the_automatic_choice_says_why():
    system = double_pendulum()
    plain = system.compile("absolute", space="auto", stabilized=False)
    assert plain.spaces == {"one": "SE3", "two": "SO3xR3"}
    assert "spherical joint 'base' holds it to the ground" in plain.explain_spaces()["one"]
    assert "no lower pair" in plain.explain_spaces()["two"]
    stabilized = system.compile("absolute", space="auto", stabilized=True)
    assert set(stabilized.spaces.values()) == {"SO3xR3"}
    assert "need not turn with the body" in stabilized.explain_spaces()["one"]
    universal = joined("universal", False).compile("absolute", space="auto", stabilized=False)
    assert universal.spaces == {"one": "SO3xR3"}  # two axes are no subgroup


def test_unknown_spaces_are_refused():
    with pytest.raises(ValueError, match="there is no body 'three'; bodies: one, two"):
        double_pendulum().compile("absolute", space={"three": "SE3"})
    with pytest.raises(ValueError, match="space 'SE2' of body 'one'"):
        double_pendulum().compile("absolute", space="SE2")
