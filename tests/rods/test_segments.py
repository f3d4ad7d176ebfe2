"""Forward dynamics along elements of rods, as segments, against inverse dynamics, which goes link by link."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.relative.elimination import INNER, LINK_PLAN, PLAN

RUBBER = rods.Material(1e7, 0.3, 1000.0)
BENDING = ("twist", "bend_y", "bend_z")
LINE, ROUND = rods.Line((0.1, 0, 0), (1, 0, 0)), rods.Circle(0.02)
HUB, TIP = ch.Body("hub", 1.0, inertia=(0.01,) * 3), ch.Body("tip", 0.3, inertia=(1e-3,) * 3)
PUSH = (0.1, 0.2, 0.3, 1.0, 2.0, 3.0)


def arm(**more) -> ch.Rod:
    return ch.Rod("a", LINE, ROUND, RUBBER, ("hub", "free"), 4, **{"strains": BENDING, "modes": 2, **more})


def branched(element: str, inner: bool) -> ch.System:
    """Behind a universal joint, a rod with a rod on one of its nodes and a body on its tip; loads at a node, and
    perhaps at links inside of an element."""
    second = ch.Rod("b", LINE, ROUND, RUBBER, ("a[2]", "free"), 3, element=element, strains="bend_y", modes=2)
    joints = [ch.universal("u", "ground", "hub"), ch.revolute("h", "a[4]", "tip", axis=(0, 1, 0), armature=0.2)]
    loads = [ch.Wrench("load", "a[2]", PUSH, "hybrid")]
    system = ch.System([HUB, TIP], joints, rods=[arm(element=element), second], forces=loads)
    links = [body.name for body in system.bodies if body.name.startswith("a[1] ")]
    more = [ch.Wrench(f"on {name}", name, PUSH, "body") for name in links[1::2]] if inner else []
    return replace(system, forces=[*system.forces, *more]) if inner else system


def states(mechanism, count: int):
    """Bent, moving and pushed."""
    rng = np.random.default_rng(3)
    q = np.zeros((count, mechanism.nq))
    for joint in mechanism.tree.joints:
        part = q[:, mechanism.tree.coordinates[joint.name]]
        part[:] = 0.1 * rng.normal(size=part.shape)
        if joint.kind == "free":
            part[:, :4] = 0.5
    return q, rng.normal(size=(count, mechanism.nv)), rng.normal(size=(count, mechanism.nv))


SYSTEMS = {
    "one strain": lambda: ch.System([HUB], [ch.weld("w", "ground", "hub")], rods=[arm(strains="bend_z", modes=3)]),
    "all strains": lambda: ch.System([HUB], [ch.weld("w", "ground", "hub")], rods=[arm(strains=rods.STRAINS)]),
    "floating": lambda: ch.System([HUB], rods=[arm()]),
    "branched": lambda: branched("magnus", False),
    "branched, midpoint rule": lambda: branched("helix", False),
    "loads inside": lambda: branched("magnus", True),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_accelerations_are_those_of_inverse_dynamics(name):
    mechanism = SYSTEMS[name]().compile()
    q, v, tau = states(mechanism, 8)
    a = mechanism.accelerations_under(q, v, tau)
    size = np.abs(mechanism.mass_matrix(q) @ np.abs(a)[..., None]).max()
    np.testing.assert_allclose(mechanism.inverse_dynamics(q, v, a), tau, atol=1e-13 * size)
    np.testing.assert_array_equal(a[0], mechanism.accelerations_under(q[0], v[0], tau[0]))


def test_an_element_is_one_segment():
    """So the plan has one step for an element, and no terms at the links inside."""
    rod = ch.Rod("a", LINE, ROUND, RUBBER, ("ground", "free"), 4, strains=BENDING, modes=2)
    tables = ch.System(rods=[rod]).compile().tables
    rows = tables.lifted.elimination.table[PLAN.size :][: LINK_PLAN.size * tables.links]
    links = rows.reshape(-1, LINK_PLAN.size)
    segments = links[:, LINK_PLAN.segment]
    assert sorted(segments[segments > 0]) == [34] * 4  # 17 factors, two modes
    assert (segments == INNER).sum() == 4 * 33
