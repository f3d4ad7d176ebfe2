"""Frames of bodies far from the bodies, as assemblies of CAD programs have them: as with frames on the bodies."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix

SIZE = 0.5  # of the bodies


def tree() -> ch.System:
    """All kinds of joints with axes, a weld, a spring and a wrench on bodies of half a meter."""
    rng = np.random.default_rng(5)
    names = ("column", "slide", "arm", "cross", "hand", "plate")
    bodies = [
        ch.Body(name, rng.uniform(0.5, 2.0), rng.uniform(-0.3, 0.3, 3), rng.uniform(0.02, 0.03, 3)) for name in names
    ]

    def ends():
        turn = rng.normal(size=(2, 4))
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        at = rng.uniform(-0.5, 0.5, (2, 3))
        return {"at": (*turn[0], *at[0]), "child_at": (*turn[1], *at[1])}

    joints = [
        ch.revolute("turn", "ground", "column", axis=(0, 0, 1), damping=0.2, **ends()),
        ch.prismatic("lift", "column", "slide", axis=(0.6, 0.0, 0.8), stiffness=30.0, **ends()),
        ch.helical("screw", "slide", "arm", axis=(0, 1, 0), pitch=0.1, **ends()),
        ch.universal("wrist", "arm", "cross", armature=0.05, **ends()),
        ch.spherical("ball", "cross", "hand", **ends()),
        ch.weld("glue", "hand", "plate", **ends()),
    ]
    frames = [ch.Frame("tool", "plate", (0.1, 0.2, 0.3))]
    forces = [ch.Spring("pull", ("ground", "arm"), ((1.0, 0.0, 0.0), (0.1, 0.0, 0.2)), 20.0, 1.0, 0.5)]
    return ch.System(bodies, joints, frames, forces=forces)


def with_frames_away(system: ch.System, distance: float) -> ch.System:
    """The same mechanism with the frame of every body turned, and a distance away from where it was."""
    rng = np.random.default_rng(6)
    moves = {}
    for body in system.bodies:
        turn, away = rng.normal(size=4), rng.normal(size=3)
        moves[body.name] = np.array([*(turn / np.linalg.norm(turn)), *(distance * away / np.linalg.norm(away))])

    def moved(body, pose):
        return pose_group.compose(moves[body], np.array(pose)) if body in moves else pose

    bodies = []
    for body in system.bodies:
        R = quaternion_to_matrix(moves[body.name][:4])
        inertia = R @ np.array(body.inertia) @ R.T
        com = pose_group.act(moves[body.name], np.array(body.com))
        bodies.append(ch.Body(body.name, body.mass, com, (inertia + inertia.T) / 2))
    joints = [
        replace(j, parent_frame=moved(j.parent, j.parent_frame), child_frame=moved(j.child, j.child_frame))
        for j in system.joints
    ]
    frames = [replace(frame, pose=moved(frame.body, frame.pose)) for frame in system.frames]
    forces = [
        replace(
            spring,
            points=[moved(b, (1.0, 0.0, 0.0, 0.0, *p))[4:] for b, p in zip(spring.bodies, spring.points, strict=True)],
        )
        for spring in system.forces
    ]
    return replace(system, bodies=bodies, joints=joints, frames=frames, forces=forces)


@pytest.mark.parametrize("distance", [1e3, 1e6])
def test_dynamics_do_not_lose_more_than_the_places_do(distance):
    near = tree()
    here, there = near.compile(), with_frames_away(near, distance).compile()
    rng = np.random.default_rng(7)
    allowed = 20 * 2e-16 * distance / SIZE  # rounding of the places that are given, and some operations
    for _ in range(5):
        q, v, a = here.random(rng), rng.normal(size=here.nv), rng.normal(size=here.nv)
        for what in (
            lambda m, q=q: m.mass_matrix(q),
            lambda m, q=q, v=v, a=a: m.inverse_dynamics(q, v, a),
            lambda m, q=q, v=v: m.terms.coriolis(q, v),
            lambda m, q=q, v=v: np.array(m.energy(q, v))[:1],
            lambda m, q=q: m.center_of_mass(q),
            lambda m, q=q, v=v: m.momentum(q, v),
            lambda m, q=q: m.poses(q, "tool")[4:],
            lambda m, q=q, v=v: m.twists(q, v, "tool"),
        ):
            expected, found = what(here), what(there)
            assert np.abs(found - expected).max() < allowed * np.abs(expected).max()
        expected, found = here.accelerations_under(q, v), there.accelerations_under(q, v)
        M = here.mass_matrix(q)
        condition = np.linalg.cond(M / np.sqrt(np.outer(np.diag(M), np.diag(M))))
        assert np.abs(found - expected).max() < condition * allowed * np.abs(expected).max()


def test_simulations_and_reactions():
    """Runs end in the same state, and joints transmit the same."""
    near, distance = tree(), 1e3
    rng = np.random.default_rng(8)
    q, v = near.compile().random(rng), rng.normal(size=near.compile().nv)
    more = {"q": q, "v": v, "method": "rk4", "step": 2e-3, "progress": False}
    here, there = (ch.simulate(s, (0.0, 0.1), **more) for s in (near, with_frames_away(near, distance)))
    assert np.abs(there.q - here.q).max() < 1e-9
    assert np.abs(there["tool"].position - here["tool"].position).max() < 1e-9
    for joint in ("turn", "screw", "ball"):
        expected = here.reactions(joint)
        assert np.abs(there.reactions(joint) - expected).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("distance", [1e3, 1e6])
def test_inertia_of_far_shapes(distance):
    """Two boxes far from the body's frame have the moments that they have about their center."""
    offsets = np.array([[0.0, 0.0, 0.0], [0.25, 0.5, 0.0]])
    away = np.array([distance, -2 * distance, distance])  # whole numbers: the places are exact
    shapes = [[ch.shapes.Box((0.5, 0.25, 0.125), pose=tuple(at + o)) for o in offsets] for at in (np.zeros(3), away)]
    near, far = (ch.Body("b", shapes=some, density=1000.0) for some in shapes)
    assert np.abs(np.array(far.inertia) - near.inertia).max() < 1e-15 * distance * np.trace(near.inertia)
    assert np.abs(np.array(far.com) - away - near.com).max() < 4e-16 * distance * 4


def test_frames_on_the_bodies_change_nothing():
    """Where frames are near, the tables have the bits that they would have from the inertia about the frame."""
    from chasles.relative.tree import inertias_on_links
    from chasles.screw import inertia as spatial

    system = tree()
    mechanism = system.compile()
    ten, _ = inertias_on_links(system, mechanism.tree.body_in_link)
    moved = spatial.transform(np.array([body.spatial for body in system.bodies]), mechanism.tree.body_in_link)
    assert np.array_equal(ten, spatial.to_parameters(moved))
