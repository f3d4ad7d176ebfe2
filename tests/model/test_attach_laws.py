"""Systems put together: laws follow the joints and frames of their own copy."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.model.expression import evaluate_all

LINK = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.1, 0.1)}
Z = (0.0, 0.0, 1.0)
BLOCK = ch.Body("block", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def arm():
    """An arm on a block, whose second joint and tip follow the first joint and a distance."""
    bodies = [BLOCK, ch.Body("upper", **LINK), ch.Body("lower", **LINK)]
    joints = [
        ch.revolute("crank", "block", "upper", axis=Z),
        ch.revolute("follow", "upper", "lower", axis=Z, at=(1.0, 0.0, 0.0)),
    ]
    frames = [ch.Frame("tip", "lower", (1.0, 0.0, 0.0))]
    forces = [
        ch.JointForce("law", "follow", ["-20 * q('crank') + v('crank')"]),
        ch.Wrench("push", "lower", [0.0, 0.0, 0.0, "3 * t", "distance('tip', 'ground')", 0.0], "body"),
    ]
    return ch.System(bodies, joints, frames=frames, forces=forces, gravity=(0, 0, 0))


def test_each_copy_sees_its_own_joints():
    both = ch.System([], [], gravity=(0, 0, 0))
    for prefix, x in (("", 0.0), ("B ", 5.0)):
        both = both.attach(arm(), ch.weld(f"{prefix}bolt", "ground", "block", at=(x, 0.0, 0.0)), prefix)
    mechanism = both.compile()
    q, v = np.zeros(4), np.zeros(4)
    for name, value in (("crank", 0.5), ("B crank", -0.4)):
        q[mechanism.tree.coordinates[name]] = value
    v[mechanism.tree.velocities["B crank"]] = 2.0
    tau = mechanism.applied_forces(q, v).tau
    assert tau[mechanism.tree.velocities["follow"]] == pytest.approx(-10.0)
    assert tau[mechanism.tree.velocities["B follow"]] == pytest.approx(8.0 + 2.0)
    wrenches = mechanism.applied_forces(q, v, 2.0).wrenches.reshape(-1, 6)
    for name, x, angle in (("lower", 0.0, 0.5), ("B lower", 5.0, -0.4)):
        link = mechanism.tree.link_of_body[mechanism.bodies.index(name)]
        far = np.hypot(x + 2 * np.cos(angle), 2 * np.sin(angle))
        np.testing.assert_allclose(wrenches[link, 3:5], (6.0, far), rtol=1e-12)


def test_laws_are_copied():
    push = arm().forces[1]
    assert replace(push, name="other").value == push.value
    with pytest.raises(ValueError, match="value has 1 expressions; expected 6"):
        replace(push, value=arm().forces[0].value)


def test_long_chains_of_parameters_have_values():
    names = {f"p{k}": f"p{k + 1} + 1" for k in range(3000)} | {"p3000": 0.5}
    assert evaluate_all(names)["p0"] == 3000.5
    with pytest.raises(ValueError, match=r"in a circle: (a -> b -> a|b -> a -> b)"):
        evaluate_all({"a": "b", "b": "a + 1"})
