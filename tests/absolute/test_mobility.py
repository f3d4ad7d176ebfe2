"""Freedoms and redundant constraints against what is known of mechanisms."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.absolute.mobility import mobility_at
from chasles.gallery import andrews, boxes
from tests.relative.zoo import MOVING, state

ROD = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.001, 0.1, 0.1)}


def four_bar(ground: float) -> ch.System:
    """Links of 1 m on parallel axes."""
    z = (0, 0, 1)
    return ch.System(
        [ch.Body(name, **ROD) for name in ("crank", "coupler", "rocker")],
        [
            ch.revolute("A", "ground", "crank", axis=z),
            ch.revolute("B", "crank", "coupler", axis=z, at=(1, 0, 0)),
            ch.revolute("C", "coupler", "rocker", axis=z, at=(1, 0, 0), child_at=(1, 0, 0)),
            ch.revolute("D", "ground", "rocker", axis=z, at=(ground, 0, 0)),
        ],
    )


@pytest.mark.parametrize(
    ("name", "freedoms"), [("heavy_top", 3), ("double_pendulum", 6), ("floating_bodies", 9), ("three_bar", 3)]
)
def test_regular_mechanisms(name, freedoms):
    example = boxes.EXAMPLES[name]()
    found = ch.mobility(example.system, poses=example.poses)
    assert (found.freedoms, found.generic.freedoms, found.redundant, found.singular) == (freedoms, freedoms, 0, False)
    assert found.dependent == ()


def test_andrews_squeezer_has_one_freedom():
    found = ch.mobility(andrews.system(), poses=andrews.poses())
    assert (found.equations, found.freedoms, found.redundant) == (41, 1, 0)


def test_a_planar_linkage_with_revolute_joints_has_three_redundant_equations():
    found = four_bar(1.3).mobility([1.4, -1.3, 1.2])
    assert (found.generic.freedoms, found.redundant, found.singular) == (1, 3, False)
    assert set(found.generic.dependent) == {"A", "B", "C", "D"}
    assert "3 of them are redundant; involved: 'A', 'B', 'C', 'D'" in str(found)


def test_a_flat_parallelogram_is_singular():
    """It can go on as a parallelogram or as an antiparallelogram: two instantaneous freedoms, one nearby."""
    found = four_bar(1.0).mobility([0.0, 0.0, 0.0])
    assert (found.freedoms, found.generic.freedoms, found.redundant, found.singular) == (2, 1, 3, True)
    assert "singular: 2 instantaneous degrees of freedom" in str(found)


@pytest.mark.parametrize("name", MOVING)
def test_equations_of_trees_are_counted_as_their_rank_shows(name):
    """Of a tree they are counted from its joints; here their rank is computed, in absolute coordinates."""
    system = MOVING[name].system
    q = state(MOVING[name], 1)[0]
    found = system.mobility(q)
    by_rank = mobility_at(system, MOVING[name].poses(q))
    assert found == replace(by_rank, nearby=None)
    assert found == replace(by_rank.generic, nearby=None)
    assert found == system.mobility(poses=MOVING[name].poses(q))
    with pytest.raises(ValueError, match="mobility: poses"):
        system.mobility(poses=np.zeros((3, 7)))
    with pytest.raises(ValueError, match="mobility: a quaternion of the poses has no length"):
        system.mobility(poses=np.zeros((len(system.bodies), 7)))


def test_bodies_without_constraints():
    found = ch.System([ch.Body("a", 1.0, inertia=(1, 1, 1)), ch.Body("b", 1.0, inertia=(1, 1, 1))]).mobility()
    assert (found.freedoms, found.equations, found.redundant) == (12, 0, 0)
    with pytest.raises(ValueError, match="q or poses, not both"):
        four_bar(1.0).mobility([0, 0, 0], poses=np.zeros((3, 7)))
