"""Closed mechanisms for tests: random ones with every kind of cut joint, linkages with known motions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.model.system import placement
from tests.absolute import loops
from tests.relative import zoo

# of a chain on a floating base, and of joints that close it: those for which absolute coordinates have rows
CHAIN = ("spherical", "universal", "cylindrical", "planar", "revolute", "helical", "spherical", "prismatic")
CUT = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "weld")
BETWEEN = (("ground", "b6"), ("b2", "b8"), ("b0", "b4"))
Z = (0.0, 0.0, 1.0)


def perpendicular(joint: ch.model.Joint, rng: np.random.Generator) -> ch.model.Joint:
    """A universal joint with perpendicular axes in place of one with any."""
    if joint.kind != "universal":
        return joint
    first = rng.normal(size=3)
    second = np.cross(first, rng.normal(size=3))
    ends = {"at": joint.parent_frame, "child_at": joint.child_frame}
    return ch.universal(joint.name, joint.parent, joint.child, axes=(first, second), **ends)


def closing(system: ch.System, q: np.ndarray, joint: ch.model.Joint, at: np.ndarray) -> ch.model.Joint:
    """A joint with its frame on the child where it must be for the joint to be closed, with coordinates `at`."""
    tree = system.compile()
    parent = pose_group.identity() if joint.parent == "ground" else tree.poses(q, joint.parent)
    frame = pose_group.compose(pose_group.compose(parent, np.array(joint.parent_frame)), placement(joint, at))
    return replace(joint, child_frame=pose_group.compose(pose_group.inverse(tree.poses(q, joint.child)), frame))


def random_closed(seed: int, cut: tuple[str, ...]) -> tuple[ch.System, np.ndarray]:
    """A chain on a floating base, closed by joints of these kinds; coordinates of the chain."""
    rng = np.random.default_rng(seed)
    system = zoo.tree(seed, ("free", *rng.permutation(CHAIN)), chain=True)
    system = replace(system, joints=[perpendicular(joint, rng) for joint in system.joints])
    q = system.compile().random(rng)
    joints = []
    for k, (kind, ends) in enumerate(zip(cut, BETWEEN, strict=False)):
        joint = perpendicular(zoo.joint(rng, kind, f"cut {k}", *ends), rng)
        at = rng.uniform(-1.0, 1.0, joint.nq)
        joints.append(closing(system, q, joint, at / np.linalg.norm(at) if kind == "spherical" else at))
    spring = ch.Spring("spring", ("b1", "b4"), ((0.1, 0.2, 0.3), (0.0, -0.1, 0.2)), 30.0, 2.0, 0.2)
    return system.with_joint(*joints).with_force(spring), q


# ---------------------------------------------------------------- the planar four-bar


def four_bar(kinds=("revolute", "revolute", "revolute", "revolute"), **more) -> ch.System:
    """All axes along z: one loop equation in the plane is enough, and there are three too many."""
    rods = [loops.rod(name, length, loops.MASSES[name]) for name, length in loops.LENGTHS.items()]
    made = [
        ch.revolute("A", "ground", "crank", axis=Z, **more),
        ch.revolute("B", "crank", "coupler", axis=Z, at=(loops.CRANK, 0.0, 0.0), **more),
        ch.revolute(
            "C", "coupler", "rocker", axis=Z, at=(loops.COUPLER, 0.0, 0.0), child_at=(loops.ROCKER, 0.0, 0.0), **more
        ),
        ch.revolute("D", "ground", "rocker", axis=Z, at=(loops.BASE, 0.0, 0.0), **more),
    ]
    return ch.System(rods, made, gravity=loops.FOUR_BAR_GRAVITY, name="four-bar")


def four_bar_state(mechanism: ch.ClosedMechanism, crank: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of the four-bar, whichever joints form its tree."""
    a, b, c = loops.four_bar_angles(crank)
    angles: dict = dict(zip("ABCD", (a, b - a, c - b, c), strict=True))
    x, y, z = speed * loops.four_bar_rates(crank)
    rates: dict = dict(zip("ABCD", (x, y - x, z - y, z), strict=True))
    q, v = np.zeros(mechanism.nq), np.zeros(mechanism.nv)
    for k, body in enumerate(mechanism.bodies):  # one without a joint that carries it moves freely
        angles[f"free {body}"] = loops.four_bar_poses(crank)[k]
        rates[f"free {body}"] = loops.four_bar_twists(crank, speed)[k]
    for name in mechanism.joints:
        q[mechanism.tree.coordinates[name]] = angles[name]
        v[mechanism.tree.velocities[name]] = rates[name]
    return q, v


def four_bar_torque(crank: float, speed: float, acceleration: float) -> float:
    """Torque on the crank, from Lagrange's equation in its angle: 2 K α'' + K' α'² + V'."""
    h = 1e-3
    at = {k: loops.four_bar_energy(crank + k * h) for k in (-3, -2, -1, 1, 2, 3)}
    weights = {1: 45.0, 2: -9.0, 3: 1.0}  # differences of sixth order
    slopes = [sum(w * (at[k][n] - at[-k][n]) for k, w in weights.items()) / (60 * h) for n in range(2)]
    return 2 * loops.four_bar_energy(crank)[0] * acceleration + slopes[0] * speed**2 + slopes[1]


# ---------------------------------------------------------------- spatial linkages


def rssr() -> ch.System:
    """A crank and a rocker with skew axes, joined by a rod with two spherical joints: two freedoms, one of them the
    spin of the rod."""
    rods = [loops.rod("crank", 0.2, 1.0), loops.rod("rod", 0.9, 0.8), loops.rod("rocker", 0.5, 1.2)]
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0.0, 0.3, 1.0)),
        ch.spherical("B", "crank", "rod", at=(0.2, 0.0, 0.0)),
        ch.revolute("D", "ground", "rocker", axis=(1.0, 0.2, 0.1), at=(0.3, 0.7, 0.1)),
        ch.spherical("C", "rod", "rocker", at=(0.9, 0.0, 0.0), child_at=(0.0, 0.1, 0.5)),
    ]
    return ch.System(rods, joints, name="RSSR")


def bennett() -> ch.System:
    """Bennett's linkage: four skew axes, overconstrained, and yet it moves: a / sin α = b / sin β."""
    alpha, beta = 0.6, 1.1
    a = 0.5
    b = a * np.sin(beta) / np.sin(alpha)
    bodies, joints = [], []
    sides = [(a, alpha), (b, beta), (a, alpha), (b, beta)]
    places = ["ground", "one", "two", "three"]
    for k in range(4):
        length, twist = sides[k - 1]
        turn = [np.cos(twist / 2), np.sin(twist / 2), 0.0, 0.0]
        at = pose_group.identity() if k == 0 else np.array([*turn, length, 0.0, 0.0])
        if k < 3:
            body = places[k + 1]
            bodies.append(ch.Body(body, 1.0, (0.5 * sides[k][0], 0.0, 0.0), (0.02, 0.1, 0.09)))
            joints.append(ch.revolute(f"J{k}", places[k], body, axis=Z, at=at))
        else:
            # the fourth axis closes the loop: on the ground it is one side before the first
            length, twist = sides[3]
            there = pose_group.inverse(np.array([np.cos(twist / 2), np.sin(twist / 2), 0.0, 0.0, length, 0.0, 0.0]))
            joints.append(ch.revolute("J3", "ground", "three", axis=Z, at=there, child_at=at))
    return ch.System(bodies, joints, gravity=(0.0, -9.81, 0.0), name="Bennett")
