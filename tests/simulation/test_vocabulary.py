"""The same names mean the same on mechanisms of all coordinates."""

import re
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.constraint.results import TREE_GROUPS
from chasles.gallery.overconstrained import parallelogram

NAMES = (
    *("system", "bodies", "joints", "constraint_names", "poses", "twists", "accelerations", "forward_dynamics"),
    *("inverse_dynamics", "accelerations_under", "applied_forces", "constraint_violation", "assemble", "project"),
    *("mobility", "reactions", "derivatives"),
)


EVERYDAY = {
    *("system", "bodies", "joints", "nq", "nv", "threads", "tree", "tables", "constraint_names"),
    *("neutral", "random", "retract", "difference", "interpolate"),
    *("poses", "twists", "accelerations", "jacobian", "inverse_kinematics", "energy", "momentum", "center_of_mass"),
    *("inverse_dynamics", "forward_dynamics", "mass_matrix", "accelerations_under", "applied_forces"),
    *("constraint_violation", "assemble", "project", "mobility", "reactions", "limits"),
}


def arm() -> ch.System:
    bodies = [ch.Body(name, 2.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.2, 0.25)) for name in "ab"]
    joints = [ch.spherical("A", "ground", "a"), ch.revolute("B", "a", "b", axis=(0, 1, 0), at=(0.5, 0, 0))]
    return ch.System(bodies, joints, forces=[ch.Spring("s", ("ground", "b"), ((1, 0, 0), (0, 0, 1)), 50.0)])


@pytest.mark.parametrize("coordinates", ["tree", "closed", "absolute"])
def test_all_names_are_on_all_mechanisms(coordinates):
    system = parallelogram().system if coordinates == "closed" else arm()
    mechanism = system.compile("absolute" if coordinates == "absolute" else "relative")
    for name in NAMES:
        assert hasattr(mechanism, name), name


def test_a_tree_has_everyday_names_and_groups():
    """What `dir` shows is what the table in docs/mechanisms.md lists, and every name of a group is a method."""
    mechanism = arm().compile()
    assert {name for name in dir(mechanism) if name[0] != "_"} == EVERYDAY | set(TREE_GROUPS)
    page = (Path(__file__).parents[2] / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    for group in TREE_GROUPS:
        methods = [name for name in dir(getattr(mechanism, group)) if name[0] != "_"]
        assert methods
        assert group == "raw" or all(callable(getattr(getattr(mechanism, group), name)) for name in methods)
        (row,) = (line for line in page.split("\n") if line.startswith(f"| `{group}` |"))
        assert sorted(re.findall(r"`(\w+)`", row.split("|")[2])) == sorted(methods)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_groups_that_are_for_trees_only_say_so(coordinates):
    mechanism = parallelogram().system.compile(coordinates)
    assert hasattr(mechanism, "derivatives")
    for group in TREE_GROUPS:
        if group == "derivatives":
            continue
        with pytest.raises(AttributeError, match=rf"has no attribute '{group}'; yet it is for trees"):
            getattr(mechanism, group)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        mechanism.nothing  # noqa: B018


@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_dynamics_in_absolute_coordinates_are_those_in_joint_coordinates(space):
    """Forward dynamics under wrenches, and the wrenches that give a motion: -Jᵀ λ of them is left to the joints."""
    system, rng = arm(), np.random.default_rng(0)
    tree, bodies = system.compile(), system.compile("absolute", space=space)
    q, v = tree.retract(tree.neutral(), rng.normal(size=tree.nv)), rng.normal(size=tree.nv)
    wrenches = rng.normal(size=(2, 6))
    state = bodies.state(tree.poses(q), tree.twists(q, v))
    for found, a in (
        (bodies.forward_dynamics(*state, wrenches), tree.forward_dynamics(q, v, np.zeros(tree.nv), wrenches)),
        (bodies.accelerations_under(*state), tree.accelerations_under(q, v)),
    ):
        expected = tree.accelerations(q, v, a)
        np.testing.assert_allclose(bodies.accelerations(*state, found), expected, rtol=0, atol=1e-11)
        for applied in (True, False):
            needed = bodies.inverse_dynamics(*state, found, applied=applied)  # those of joints too
            tau = sum(tree.jacobian(q, name).T @ wrench for name, wrench in zip(tree.bodies, needed, strict=True))
            wanted = tree.inverse_dynamics(q, v, a, applied=applied)
            np.testing.assert_allclose(tau, wanted, rtol=0, atol=1e-11)


def test_a_tree_has_no_constraints():
    tree = arm().compile()
    q = tree.neutral()
    assert tree.constraint_violation(q).position.shape == (0,)
    assert np.array_equal(tree.assemble(q), q)
    assert (tree.mobility().freedoms, tree.mobility().redundant, tree.constraint_names) == (4, 0, ())


def test_mobility_is_one_kind_of_record():
    linkage = parallelogram()
    bodies, closed = linkage.system.compile("absolute"), linkage.system.compile()
    found = bodies.mobility(linkage.poses)
    assert (found.freedoms, found.redundant, found.nearby) == (1, 3, None)
    q = closed.assemble(np.full(closed.nv, 0.4))
    assert (closed.mobility(q).freedoms, closed.mobility(q).redundant) == (1, 3)
    assert ch.mobility(linkage.system, poses=linkage.poses).generic.freedoms == 1


def test_no_states_give_no_results_in_absolute_coordinates():
    bodies = arm().compile("absolute")
    none = np.empty((0, 2, 7)), np.empty((0, 2, 6))
    assert bodies.accelerations_under(*none).shape == (0, 2, 6)
    assert bodies.constraint_violation(*none).position.shape == (0, 2)
    assert bodies.jacobians(none[0]).shape == (0, len(bodies.tiles), 2, 3, 6)
    assert bodies.reactions("B", *none).shape == (0, 6)
