"""Reactions and accelerations of a tree are those of the same system in absolute coordinates."""

import numpy as np
import pytest

import chasles as ch

KINDS = {
    "revolute": lambda *ends, **more: ch.revolute(*ends, axis=(0.3, 1, 0.2), **more),
    "prismatic": lambda *ends, **more: ch.prismatic(*ends, axis=(0.3, 1, 0.2), **more),
    "cylindrical": lambda *ends, **more: ch.cylindrical(*ends, axis=(0.3, 1, 0.2), **more),
    "universal": lambda *ends, **more: ch.universal(*ends, axes=((1, 0, 0), (0, 1, 0)), **more),
    "planar": lambda *ends, **more: ch.planar(*ends, normal=(0.1, 0.2, 1), **more),
    "spherical": ch.spherical,
}


def chain(kind):
    """A joint of a kind between two others, with springs, a wrench, damping and a body that is welded on."""
    turned = np.array([0.9, 0.1, -0.3, 0.2]) / np.sqrt(0.95)
    return ch.System(
        [
            ch.Body("one", 2.0, (0.1, 0, -0.2), (0.03, 0.032, 0.01)),
            ch.Body("two", 1.0, (0.01, 0.05, -0.15), (0.012, 0.012, 0.004)),
            ch.Body("three", 0.5, (0, 0.02, -0.1), (0.003, 0.003, 0.001)),
        ],
        [
            ch.revolute("base", "ground", "one", axis=(1, 0, 0), at=(0, 0, 1.0)),
            KINDS[kind]("middle", "one", "two", at=(*turned, 0, 0.1, -0.4), child_at=(0.02, 0, 0), damping=0.3),
            ch.revolute("last", "two", "three", axis=(0, 1, 1), at=(0, 0, -0.3), damping=0.01),
        ],
        [ch.Frame("hand", "three", (*turned, 0.0, 0.1, -0.2))],
        [
            ch.Spring(
                "cord", ("ground", "three"), ((0.5, 0, 1), (0, 0, -0.1)), stiffness=30.0, damping=0.5, length=0.2
            ),
            ch.Wrench("load", "two", (0.1, 0.2, 0, 1.0, 0, -2.0)),
        ],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_reactions_are_those_of_absolute_coordinates(kind):
    system = chain(kind)
    mechanism = system.compile()
    v = np.linspace(1.0, 2.0, mechanism.nv)
    options = {"v": v, "method": ch.integrate.RKMK("rk4"), "step": 1e-3, "save": 10}
    tree = ch.simulate(system, (0, 0.1), **options)
    bodies = ch.simulate(system, (0, 0.1), coordinates="absolute", **options)
    for joint in ("base", "middle", "last"):
        size = np.abs(bodies.reactions(joint)).max()
        assert size > 0.5
        np.testing.assert_allclose(tree.reactions(joint), bodies.reactions(joint), atol=1e-7 * size)
    for representation in ("body", "spatial", "hybrid", "mixed"):
        expected = tree.frame("hand", representation).acceleration
        found = bodies.frame("hand", representation).acceleration
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_reaction_holds_a_pendulum_at_rest():
    system = ch.System(
        [ch.Body("bob", 2.0, (0, 0, -0.5), (0.1, 0.1, 0.1)), ch.Body("tag", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))],
        [ch.revolute("pin", "ground", "bob", axis=(0, 1, 0)), ch.weld("glue", "bob", "tag", at=(0.3, 0, 0))],
    )
    run = ch.simulate(system, (0, 1e-3), step=1e-3, q=[0.0])
    weight = 9.81 * run.mechanism.system.bodies[1].mass
    np.testing.assert_allclose(
        run.reactions("glue")[0, 3:], (run.a[0, 0] * 0, 0, weight + -0.3 * run.a[0, 0]), atol=1e-12
    )
    assert run.joint("glue").q.shape == (len(run), 0)
    assert run.joint("glue").a.shape == (len(run), 0)
    assert run.joint("pin").angle.shape == (len(run),)
    with pytest.raises(ValueError, match="there is no joint 'pen'"):
        run.joint("pen")
