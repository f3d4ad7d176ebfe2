"""Reactions of joints against Newton's and Euler's equations in joint coordinates."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from tests.absolute.systems import JOINTS, SPACES, bodies, frame, joined


def held_wrench(system, body, q, v):
    """The wrench that a body's motion needs besides gravity and springs, in its frame (Newton and Euler)."""
    tree = system.compile()
    i = tree.bodies.index(body)
    a = tree.accelerations(q, v, tree.accelerations_under(q, v))[i]
    twist, pose, M = tree.twists(q, v)[i], tree.poses(q)[i], system.body(body).spatial
    down = np.zeros(6)
    back = pose_group.inverse(np.array([*pose[:4], 0.0, 0.0, 0.0]))
    down[3:] = pose_group.act(back, np.array(system.gravity))
    momentum = M @ twist
    gyroscopic = np.concatenate([
        np.cross(twist[:3], momentum[:3]) + np.cross(twist[3:], momentum[3:]),
        np.cross(twist[:3], momentum[3:]),
    ])  # fmt: skip
    return M @ (a - down) + gyroscopic


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("between", [False, True], ids=["to ground", "between bodies"])
@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind != "free"])
def test_reactions_are_what_the_motion_needs(kind, between, space):
    """The last body gets the reaction of its joint, gravity, and nothing else."""
    made = joined(kind, between)
    system = ch.System(made.bodies, made.joints, gravity=made.gravity)
    tree = system.compile()
    rng = np.random.default_rng(4)
    q, v = tree.random(rng), rng.uniform(-2.0, 2.0, tree.nv)
    last = made.bodies[-1].name
    needed = held_wrench(system, last, q, v)
    mechanism = system.compile("absolute", space=space)
    found = mechanism.reactions("joint", *mechanism.state(tree.poses(q), tree.twists(q, v)))
    in_joint = pose_group.AdT_apply(np.array(system.joint("joint").child_frame), needed)
    assert np.abs(found - in_joint).max() < 1e-10 * (1.0 + np.abs(needed).max())
    freedoms = np.array(system.joint("joint").screws)
    if kind in ("revolute", "prismatic", "helical", "cylindrical"):  # no work along the joint's own motion
        assert np.abs(freedoms @ found).max() < 1e-11 * (1.0 + np.abs(needed).max())


def test_both_joints_of_a_double_pendulum():
    """The first body gets the reaction of its own joint and the opposite of the next one's."""
    rng = np.random.default_rng(9)
    joints = [
        ch.revolute("first", "ground", "one", axis=(0.2, 1.0, 0.1), at=frame(rng), child_at=frame(rng)),
        ch.spherical("second", "one", "two", at=frame(rng), child_at=frame(rng)),
    ]
    system = ch.System(bodies(rng, "one", "two"), joints)
    tree = system.compile()
    q, v = tree.random(rng), rng.uniform(-2.0, 2.0, tree.nv)
    mechanism = system.compile("absolute")
    state = mechanism.state(tree.poses(q), tree.twists(q, v))
    on_one, on_two = (
        pose_group.AdT_apply(
            pose_group.inverse(np.array(system.joint(name).child_frame)), mechanism.reactions(name, *state)
        )
        for name in ("first", "second")
    )
    poses = tree.poses(q)
    relative = pose_group.compose(pose_group.inverse(poses[1]), poses[0])
    total = on_one - pose_group.AdT_apply(relative, on_two)
    needed = held_wrench(system, "one", q, v)
    assert np.abs(total - needed).max() < 1e-10


def test_a_hanging_weight_pulls_at_its_joint():
    """At rest: the joint holds m g upwards, in the axes of the child; the run has it at all times."""
    turn = pose_group.exp([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0])[:4]
    weight = ch.Body("weight", 2.0, (0.0, 0.0, -1.0), (0.1, 0.1, 0.1))
    system = ch.System([weight], [ch.spherical("hook", "ground", "weight", child_at=(*turn, 0.0, 0.0, 0.0))])
    start = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    run = ch.simulate(
        system, (0.0, 0.1), poses=start, coordinates="absolute", step=0.05, method=ch.integrate.RKMK("rk4")
    )
    up = pose_group.act(pose_group.inverse(np.array([*turn, 0.0, 0.0, 0.0])), np.array([0.0, 0.0, 2.0 * 9.81]))
    assert np.abs(run.reactions("hook") - np.array([0.0, 0.0, 0.0, *up])).max() < 1e-12
    with pytest.raises(ValueError, match="there is no joint or constraint 'hinge'; there are hook"):
        run.reactions("hinge")


def test_reactions_of_a_link():
    """A rigid link pulls along itself with what a pendulum needs: m g cos(angle) + m speed² / length."""
    ball = ch.Body("ball", 3.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    link = ch.Distance("link", ("ground", "ball"), length=2.0)
    system = ch.System([ball], constraints=[link])
    angle, speed = 0.6, 1.5
    along = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    poses, twists = np.array([[1.0, 0.0, 0.0, 0.0, *(2.0 * along)]]), np.zeros((1, 6))
    twists[0, 3:] = speed * np.array([np.cos(angle), 0.0, np.sin(angle)])
    mechanism = system.compile("absolute")
    found = mechanism.reactions("link", *mechanism.state(poses, twists))
    pull = 3.0 * 9.81 * np.cos(angle) + 3.0 * speed**2 / 2.0
    assert np.abs(found - np.array([0.0, 0.0, 0.0, *(-pull * along)])).max() < 1e-12
