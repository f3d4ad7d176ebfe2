"""Light bodies between heavy ones, in absolute coordinates: their accelerations are differences of large ones."""

import warnings

import numpy as np
import pytest

import chasles as ch

AXES = ((0.0, 1.0, 0.0), (0.0, 0.3, 1.0))


def arm(light: float, damping: float = 0.0) -> ch.System:
    """Links of 1 kg and of `light` in turn, on revolute joints."""
    masses = [1.0, light, 1.0, light]
    links = [ch.Body(f"link {k}", m, (0.3, 0.0, 0.0), (0.01 * m, 0.05 * m, 0.05 * m)) for k, m in enumerate(masses)]
    before = ["ground", *(link.name for link in links)]
    joints = [
        ch.revolute(
            f"joint {k}", before[k], link.name, axis=AXES[k % 2], at=(0.6 if k else 0.0, 0.0, 0.0), damping=damping
        )
        for k, link in enumerate(links)
    ]
    return ch.System(links, joints)


@pytest.mark.parametrize("light", [1e-3, 1e-6, 1e-8])
def test_a_light_body_between_heavy_ones_costs_no_steps(light):
    """Where the rounding of accelerations was taken for an error, ratios of 1e-7 took a thousand times the steps."""
    given = {"q": np.linspace(0.3, 0.9, 4), "save": "final"}
    joint = ch.simulate(arm(light), (0.0, 0.3), **given)
    bodies = ch.simulate(arm(light), (0.0, 0.3), coordinates="absolute", **given)
    assert bodies.solution.steps < 1.2 * joint.solution.steps
    assert np.abs(bodies.poses[-1] - joint.poses[-1]).max() < 2e-9
    assert bodies.mechanism.redundant == ()


def test_a_body_that_is_too_light_is_named_before_the_run():
    """From 1e-9 on rounding shortens the steps; in joint coordinates it does not."""
    with pytest.warns(RuntimeWarning, match="body 'link 1' has 1e-10 of the mass of 'link 0'") as seen:
        ch.simulate(arm(1e-10), (0.0, 1e-6), coordinates="absolute", max_evaluations=20)
    assert len([one for one in seen if "of the mass of" in str(one.message)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ch.simulate(arm(1e-8), (0.0, 1e-6), coordinates="absolute")
        ch.simulate(arm(1e-10), (0.0, 1e-3))
