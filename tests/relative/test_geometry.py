"""One mechanism given in the ways that users have it: mueller2018 section 4.4, and Denavit-Hartenberg parameters."""

import numpy as np
import pytest

from chasles import lie
from chasles.model import joint as make
from chasles.model.body import Body
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from chasles.screw import inertia as spatial
from tests.relative import models

TOLERANCE = 1e-13  # of the largest entry: the ways differ by rounding


def on_both_bodies(parts) -> System:
    """(a) The joint's frame on each of the two bodies, found here with matrices; its orientation is anything."""
    rng = np.random.default_rng(8)
    places = {"ground": np.eye(4)} | {part.name: lie.pose.to_matrix(np.array(part.reference)) for part in parts}
    joints = []
    for part in parts:
        turn = part.turn if part.kind in ("spherical", "free", "planar") else models.random_pose(rng)[:4]
        origin = (0.0, 0.0, 0.0) if part.kind in ("general", "weld") else part.point
        J = lie.pose.to_matrix(np.array([*turn, *origin]))
        screws = [lie.se3.Ad(np.linalg.inv(J)) @ screw for screw in models.screws_of(part).astype(float)]
        ends = {
            "parent_frame": np.linalg.inv(places[part.parent]) @ J,
            "child_frame": np.linalg.inv(places[part.name]) @ J,
        }
        more = {"armature": part.armature} if part.armature else {}
        kind = part.kind if part.kind in ("spherical", "free", "weld") else "general"
        joints.append(Joint(f"to {part.name}", part.parent, part.name, kind, screws, **ends, **more))
    return System([models.body_of(part) for part in parts], joints, gravity=models.GRAVITY)


def moved_to_space(part) -> Body:
    """The body with its frame at the inertial frame: its center of mass and axes as they are in the assembly."""
    R = lie.rotation.quaternion_to_matrix(np.array(part.reference[:4]))
    body = models.body_of(part)
    return Body(part.name, part.mass, R @ body.com + part.reference[4:], R @ np.array(body.inertia) @ R.T)


def in_space(parts) -> System:
    """(c) A_i = I: all numbers as a drawing of the assembly gives them."""
    joints = [models.joint_of(part) for part in parts]
    return System.from_assembly([moved_to_space(part) for part in parts], joints, gravity=models.GRAVITY)


def dynamics(mechanism: Mechanism, wrenches) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(21)
    q = models.coordinates(mechanism, rng, 5)
    v, a, tau = rng.normal(size=(3, 5, mechanism.nv))
    return {
        "mass": mechanism.mass_matrix(q),
        "inverse": mechanism.inverse_dynamics(q, v, a, wrenches),
        "forward": mechanism.forward_dynamics(q, v, tau, wrenches),
        "spatial twists": mechanism.twists(q, v, representation="spatial"),
        "spatial accelerations": mechanism.accelerations(q, v, a, representation="spatial"),
    }


def same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, x in expected.items():
        off = np.abs(found[name] - x).max() / np.abs(x).max()
        assert off < TOLERANCE, f"{name}: {off:.1e}"


@pytest.mark.parametrize("name", models.MODELS)
def test_frames_on_both_bodies(name):
    parts = models.MODELS[name]()
    wrenches = np.random.default_rng(6).normal(size=(len(parts), 6))
    assembly, frames = Mechanism(models.system_of(parts)), Mechanism(on_both_bodies(parts))
    same(dynamics(frames, wrenches), dynamics(assembly, wrenches))
    q = models.coordinates(assembly, np.random.default_rng(1))
    np.testing.assert_allclose(
        lie.pose.to_matrix(frames.poses(q)), lie.pose.to_matrix(assembly.poses(q)), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("name", models.MODELS)
def test_all_frames_at_the_inertial_frame(name):
    """The same wrench acts at the other frame: Ad⁻ᵀ of the reference pose."""
    parts = models.MODELS[name]()
    wrenches = np.random.default_rng(6).normal(size=(len(parts), 6))
    poses = np.array([part.reference for part in parts])
    there = np.array([np.linalg.inv(lie.pose.Ad(g)).T @ w for g, w in zip(poses, wrenches, strict=True)])
    assembly, drawn = Mechanism(models.system_of(parts)), Mechanism(in_space(parts))
    same(dynamics(drawn, there), dynamics(assembly, wrenches))


def test_modified_denavit_hartenberg():
    """An arm of six joints, one sliding: parameters, and the product of elementary transforms written out here."""
    rng = np.random.default_rng(4)
    rows = [
        {"a": float(a), "alpha": float(alpha), "d": float(d), "theta": float(theta), "sliding": k == 2}
        for k, (a, alpha, d, theta) in enumerate(rng.uniform(-1, 1, (6, 4)))
    ]
    names = ["ground", *"abcdef"]
    bodies = [Body(name, **models.random_body(rng)) for name in names[1:]]
    parameters = System(
        bodies,
        [make.denavit_hartenberg(f"to {names[k + 1]}", names[k], names[k + 1], **row) for k, row in enumerate(rows)],
    )

    def step(row, q):
        theta, d = (row["theta"], row["d"] + q) if row["sliding"] else (row["theta"] + q, row["d"])
        ca, sa, ct, st = np.cos(row["alpha"]), np.sin(row["alpha"]), np.cos(theta), np.sin(theta)
        return np.array(
            [
                [ct, -st, 0, row["a"]],
                [st * ca, ct * ca, -sa, -d * sa],
                [st * sa, ct * sa, ca, d * ca],
                [0, 0, 0, 1],
            ]
        )

    mechanism, q = Mechanism(parameters), rng.normal(size=6)
    expected = np.eye(4)
    for k, row in enumerate(rows):
        expected = expected @ step(row, q[k])
        found = lie.pose.to_matrix(mechanism.poses(q, names[k + 1]))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)

    # the same arm from its reference assembly
    place, reference, joints = np.eye(4), {}, []
    for k, row in enumerate(rows):
        place = place @ step(row, 0.0)
        reference[names[k + 1]] = place
        made = make.prismatic if row["sliding"] else make.revolute
        joints.append(made(f"to {names[k + 1]}", names[k], names[k + 1], axis=place[:3, 2], at=place[:3, 3]))
    assembly = System.from_assembly(bodies, joints, reference)
    wrenches = rng.normal(size=(6, 6))
    same(dynamics(Mechanism(assembly), wrenches), dynamics(mechanism, wrenches))


def test_welds_and_locked_joints_are_one_body():
    """A joint locked at q is the mechanism held there."""
    parts = models.all_kinds()
    system, rng = models.system_of(parts), np.random.default_rng(9)
    whole = Mechanism(system)
    q, (v, a) = models.coordinates(whole, rng), rng.normal(size=(2, whole.nv))
    held = ["to hip", "to odd", "to table", "to slide"]
    locked = system
    for name in held:
        locked = locked.lock(name, q[whole.tree.coordinates[name]])
        v[whole.tree.velocities[name]] = a[whole.tree.velocities[name]] = 0.0
    part = Mechanism(locked)
    kept = [j for j in whole.joints if j not in held]
    assert list(part.joints) == kept
    columns = np.concatenate([np.arange(whole.nv)[whole.tree.velocities[j]] for j in kept])
    rows = np.concatenate([np.arange(whole.nq)[whole.tree.coordinates[j]] for j in kept])
    found = part.inverse_dynamics(q[rows], v[columns], a[columns])
    expected = whole.inverse_dynamics(q, v, a)[columns]
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())
    np.testing.assert_allclose(part.twists(q[rows], v[columns]), whole.twists(q, v), rtol=0, atol=1e-13)


def test_an_attached_system_is_part_of_the_tree():
    """Two hands on an arm, the second with another prefix; as if all had been written at once."""
    rng = np.random.default_rng(10)
    body = {name: models.random_body(rng) for name in ("arm", "palm", "finger")}
    hand = System(
        [Body("palm", **body["palm"]), Body("finger", **body["finger"])],
        [make.revolute("knuckle", "palm", "finger", axis=(1, 2, 0), at=(0, 0, 0.1))],
    )
    arm = System([Body("arm", **body["arm"])], [make.revolute("shoulder", "ground", "arm", axis=(0, 1, 0))])
    for side in ("left ", "right "):
        wrist = make.spherical(f"{side}wrist", "arm", "palm", at=(0.3, 0, 0.2))
        arm = arm.attach(hand, wrist, prefix=side)
    names = ["arm", "left palm", "left finger", "right palm", "right finger"]
    assert [b.name for b in arm.bodies] == names
    written = System(
        [Body(name, **body[name.split()[-1]]) for name in names],
        [
            make.revolute("shoulder", "ground", "arm", axis=(0, 1, 0)),
            *(make.spherical(f"{s} wrist", "arm", f"{s} palm", at=(0.3, 0, 0.2)) for s in ("left", "right")),
            *(
                make.revolute(f"{s} knuckle", f"{s} palm", f"{s} finger", axis=(1, 2, 0), at=(0, 0, 0.1))
                for s in ("left", "right")
            ),
        ],
    )
    one, two = Mechanism(arm), Mechanism(written)
    assert one.joints == two.joints == ("shoulder", "left wrist", "left knuckle", "right wrist", "right knuckle")
    q, (v, a) = models.coordinates(one, rng), rng.normal(size=(2, one.nv))
    np.testing.assert_array_equal(one.inverse_dynamics(q, v, a), two.inverse_dynamics(q, v, a))


def test_mass_properties_do_not_depend_on_the_way():
    parts = models.all_kinds()
    for part in parts:
        moved = spatial.transform(models.body_of(part).spatial, np.array(part.reference))
        np.testing.assert_allclose(moved_to_space(part).spatial, moved, rtol=0, atol=1e-14 * np.abs(moved).max())
