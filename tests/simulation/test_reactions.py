"""Reactions of joints on which everything acts at once: against Newton's and Euler's equations written out here."""

from dataclasses import dataclass

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix

E = np.array([0.36, 0.48, 0.8])
F = np.array([0.8, -0.6, 0.0])  # across E
TILTED = np.array([0.6, 0.0, 0.8])


@dataclass(frozen=True)
class Units:
    """How many of a unit are in one meter, kilogram and second."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    @property
    def force(self) -> float:
        return self.mass * self.length / self.time**2

    @property
    def torque(self) -> float:
        return self.force * self.length


Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
COORDINATES = ("relative", "absolute")
SI, OTHER = Units(), Units(1e3, 1e6, 60.0)
MOTION = np.array([0.3, -0.2, 0.25])  # q and v of the joint in SI, as many as it has
SPEED = np.array([1.5, -0.8, 0.9])


def joint_of(kind, units, **more):
    """The joint, and for each coordinate whether it is a length."""
    L, turn, slide = units.length, False, True
    places = {"at": (0.3 * L, 0.1 * L, 0.0), "child_at": (*(np.array([0.9, 0.3, -0.3, 0.1])), 0.0, 0.2 * L, 0.1 * L)}
    names, more = ("j", "a", "b"), places | more
    if kind.startswith("general"):
        made = screws(kind, L)
        return ch.general(*names, screws=made, **more), [not any(screw[:3]) for screw in made]
    if kind == "helical":
        return ch.helical(*names, axis=E, pitch=0.2 * L, **more), [turn]
    how, freedoms = {
        "revolute": ({"axis": E}, [turn]),
        "prismatic": ({"axis": E}, [slide]),
        "cylindrical": ({"axis": E}, [turn, slide]),
        "universal": ({"axes": (E, TILTED)}, [turn, turn]),
        "planar": ({"normal": E}, [slide, slide, turn]),
        "spherical": ({}, [turn] * 3),
    }[kind]
    return getattr(ch, kind)(*names, **how, **more), freedoms


def screws(kind, L):
    return {
        "general": [(*E, *(L * np.array([0.1, 0.2, -0.3])))],
        "general turns twice": [(*E, *(L * np.array([0.1, 0.2, -0.3]))), (*TILTED, *(L * np.array([0.05, -0.1, 0.2])))],
        "general slides": [(*E, *(L * 0.3 * F)), (0.0, 0.0, 0.0, *TILTED)],
        "general parallel": [(*E, 0.0, 0.0, 0.0), (*E, *(0.4 * L * F))],
    }[kind]


KINDS = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "general")
SCREWS = ("general turns twice", "general slides", "general parallel")


def loaded(kind, units):
    """Two bodies: a revolute joint and the joint of the kind, each with spring, damper, friction, stop and motor."""
    L, M, T = units.length, units.mass, units.time
    slides = joint_of(kind, units)[1]
    scale = np.where(slides, units.force, units.torque)  # of a force along each coordinate
    size = np.where(slides, L, 1.0)
    count, ball = len(slides), kind == "spherical"
    loads = {
        "stiffness": 3.0 * scale / size,
        "damping": 0.5 * scale / size * T,
        "friction": 0.2 * scale,
        "friction_speed": 0.7 * (size / T)[0] if len(set(slides)) == 1 else 0.7,
    }
    if len(set(slides)) > 1:  # one speed for angles and lengths has no unit
        del loads["friction"], loads["friction_speed"]
    if not ball:
        loads |= {"rest": 0.1 * size, "lower": -0.1 * size, "upper": 0.1 * size}
        loads["stop_stiffness"] = 11.0 * (scale / size)[0] if len(set(slides)) == 1 else 0.0
        if not kind.startswith("general"):
            loads["armature"] = 0.05 * np.where(slides, M, M * L * L)
    inertias = (np.diag([0.3, 0.2, 0.25]), np.array([[0.1, 0.01, 0.0], [0.01, 0.2, 0.02], [0.0, 0.02, 0.15]]))
    bodies = [
        ch.Body("a", 2.0 * M, L * np.array([0.1, 0.2, 0.0]), M * L * L * inertias[0]),
        ch.Body("b", 1.0 * M, L * np.array([0.0, 0.1, 0.2]), M * L * L * inertias[1]),
    ]
    base = ch.revolute("r", "ground", "a", axis=(0, 1, 0), stiffness=units.torque, armature=0.1 * M * L * L)
    motors = [ch.JointForce("motor", "j", tuple(2.0 * scale)), ch.JointForce("other", "r", (-1.0 * units.torque,))]
    gravity = (0.0, 2.0 * L / T**2, -9.81 * L / T**2)
    q = [*pose_group.exp(np.array([*MOTION, 0, 0, 0]))[:4]] if ball else [*(MOTION[:count] * size)]
    start = {"q": [0.2, *q], "v": [1.0 / T, *(SPEED[:count] * size / T)]}
    return ch.System(bodies, [base, joint_of(kind, units, **loads)[0]], forces=motors, gravity=gravity), start


def simulated(kind, units, coordinates):
    system, start = loaded(kind, units)
    step = 1e-3 * units.time
    more = {"method": "rk4", "step": step, "coordinates": coordinates, "progress": False}
    return ch.simulate(system, (0.0, step), **start, **more)


def needed(run, body, frame):
    """Newton and Euler at the center of mass: the wrench that a body needs besides its weight, in `frame` of it."""
    item, motion = run.mechanism.system.body(body), run[body]
    twist, rate, turn = motion.twist, motion.acceleration, quaternion_to_matrix(motion.orientation)
    spin, com = twist[:, :3], np.array(item.com)
    of_origin = rate[:, 3:] + np.cross(spin, twist[:, 3:])
    of_com = of_origin + np.cross(rate[:, :3], com) + np.cross(spin, np.cross(spin, com))
    force = item.mass * (of_com - np.einsum("tji,j->ti", turn, np.array(run.mechanism.system.gravity)))
    inertia = np.array(item.inertia)
    torque = rate[:, :3] @ inertia + np.cross(spin, spin @ inertia)
    arm = com - np.array(frame[4:])
    axes = quaternion_to_matrix(np.array(frame[:4]))
    return np.concatenate([(torque + np.cross(arm, force)) @ axes, force @ axes], axis=1)


def along_universal(axes, q, tau):
    """The torque in the plane of both axes that does tau along their angles."""
    back = quaternion_to_matrix(pose_group.exp(np.array([*(-q[1] * axes[1]), 0, 0, 0]))[:4])
    both = np.array([back @ axes[0], axes[1]])
    return np.array([*(both.T @ np.linalg.solve(both @ both.T, tau)), 0.0, 0.0, 0.0])


def along_the_joint(kind, q, tau, L):
    """The wrench of generalized forces in the joint's frame on the child, written out for each kind."""
    none = np.zeros(3)
    if kind in ("revolute", "helical", "general"):
        return np.array([*(tau[0] * E), *none])
    if kind == "prismatic":
        return np.array([*none, *(tau[0] * E)])
    if kind == "cylindrical":
        return np.array([*(tau[0] * E), *(tau[1] * E)])
    if kind == "spherical":
        return np.array([*tau, *none])
    if kind in ("universal", "general turns twice"):  # a torque in the plane of both axes
        return along_universal((E, TILTED), q, tau)
    if kind == "planar":
        made = ch.planar("p", "a", "b", normal=E)
        x, y = (np.array(screw[3:]) for screw in made.screws[:2])
        back = quaternion_to_matrix(pose_group.exp(np.array([*(-q[2] * E), 0, 0, 0]))[:4])
        return np.array([*(tau[2] * E), *(back @ (tau[0] * x + tau[1] * y))])
    if kind == "general slides":  # the force along the slide does work on the turn as well
        # screw 1 seen beyond the slide: its linear part is v - (q TILTED) x E
        linear = L * 0.3 * F - np.cross(q[1] * TILTED, E)
        force = tau[1] * TILTED
        return np.array([*((tau[0] - linear @ force) * E), *force])
    # two parallel axes: as much along the difference as it can slide, the rest turns about the second axis
    v2 = 0.4 * L * F
    point = np.cross(E, v2)  # of the second axis; the first one turned back about it
    turn = quaternion_to_matrix(pose_group.exp(np.array([*(-q[1] * E), 0, 0, 0]))[:4])
    v1 = np.cross(turn @ (0.0 - point) + point, E)
    slide = v1 - v2
    force = (tau[0] - tau[1]) * slide / (slide @ slide)
    return np.array([*((tau[1] - v2 @ force) * E), *force])


@pytest.mark.parametrize("kind", [*KINDS, *SCREWS])
def test_reactions_of_loaded_joints_are_those_of_newton_and_euler(kind):
    """Both joints, in both coordinates and two systems of units."""
    found = {}
    for units in (SI, OTHER):
        size = np.repeat([units.torque, units.force], 3)
        for coordinates in ("relative", "absolute"):
            run = simulated(kind, units, coordinates)
            joint, base = (run.mechanism.system.joint(name) for name in "jr")
            total = needed(run, "b", joint.child_frame)
            reaction = run.reactions("j")
            through = total - reaction  # what acts along the coordinates, as a wrench
            q = run.joint("j").q
            for k in range(len(run)):
                J = screws_in_child(joint, q[k])
                tau = J.T @ total[k]  # by virtual work
                expected = along_the_joint(kind, q[k] if kind != "spherical" else np.zeros(1), tau, units.length)
                assert np.abs((through[k] - expected) / size).max() < 1e-10 * np.abs(total[k] / size).max()
            found[units, coordinates] = reaction / size
            # the base carries both bodies, and its own torque is about its axis
            poses = [run[name].pose for name in "ab"]
            b_in_a = pose_group.compose(pose_group.inverse(poses[0]), poses[1])
            both = needed(run, "a", base.child_frame) + pose_group.AdT_apply(
                pose_group.inverse(b_in_a), needed(run, "b", pose_group.identity())
            )
            both[:, 1] = 0.0
            assert np.abs((run.reactions("r") - both) / size).max() < 1e-10 * np.abs(both / size).max()
    first = found[SI, "relative"]
    for other in found.values():
        assert np.abs(other - first).max() < 1e-9 * np.abs(first).max()


def screws_in_child(joint, q):
    """Twists of the joint's velocities in its frame on the child, (6, velocities), by differences of exponentials."""
    if joint.kind == "spherical":
        return np.eye(6)[:, :3]
    columns = []
    for k in range(len(joint.screws)):
        after = pose_group.identity()
        for screw, value in zip(joint.screws[k + 1 :], q[k + 1 :], strict=True):
            after = pose_group.compose(after, pose_group.exp(np.array(screw) * value))
        columns.append(pose_group.Ad_apply(pose_group.inverse(after), np.array(joint.screws[k])))
    return np.array(columns).T


def loop(units):
    """A spatial four-bar that is closed at q = 0, with springs, dampers and a motor on the joints of its tree."""
    L, M, T = units.length, units.mass, units.time
    points = L * np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.3], [0.5, 0.0, 0.4], [0.6, 0.1, 0.0]])
    inertia = M * L * L * np.array([0.01, 0.02, 0.015])
    bodies = [ch.Body(name, M, 0.1 * L * np.ones(3), inertia) for name in ("crank", "coupler", "rocker")]
    soft = {"stiffness": 0.4 * units.torque, "damping": 0.1 * units.torque * T}
    joints = [
        ch.revolute(
            "A", "ground", "crank", axis=E, at=points[0], child_at=points[0], armature=0.02 * M * L * L, **soft
        ),
        ch.spherical("B", "crank", "coupler", at=points[1], child_at=points[1], **soft),
        ch.universal("C", "coupler", "rocker", axes=(E, F), at=points[2], child_at=points[2], **soft),
        ch.revolute("D", "ground", "rocker", axis=TILTED, at=points[3], child_at=points[3]),
    ]
    motor = ch.JointForce("motor", "A", (1.5 * units.torque,))
    return ch.System(bodies, joints, forces=[motor], gravity=(0.0, 0.0, -9.81 * L / T**2))


def test_reactions_of_the_joint_that_closes_a_loop():
    """The rocker gets the reactions of both of its joints and what acts along one; the cut joint's is the same in both
    coordinates and in other units."""
    found = []
    for units in (SI, OTHER):
        system, size = loop(units), np.repeat([units.torque, units.force], 3)
        step = 2e-3 * units.time
        run = ch.simulate(system, (0.0, 10 * step), method="rk4", step=step, progress=False)
        absolute = system.compile("absolute")
        state = absolute.state(run.mechanism.poses(run.q), run.mechanism.twists(run.q, run.v))
        at_D, at_C = (absolute.reactions(name, *state) for name in "DC")
        assert np.abs((run.reactions("D") - at_D) / size).max() < 1e-8 * np.abs(at_D / size).max()
        C, D = system.joint("C"), system.joint("D")
        total = needed(run, "rocker", C.child_frame)
        moved = pose_group.compose(pose_group.inverse(np.array(D.child_frame)), np.array(C.child_frame))
        through = total - at_C - pose_group.AdT_apply(moved, at_D)
        q, v = run.joint("C").q, run.joint("C").v
        tau = -0.4 * units.torque * q - 0.1 * units.torque * units.time * v
        for k in range(len(run)):
            expected = along_universal((E, F), q[k], tau[k])
            assert np.abs((through[k] - expected) / size).max() < 1e-8 * np.abs(total[k] / size).max()
        found.append(at_D / size)
    assert np.abs(found[1] - found[0]).max() < 1e-8 * np.abs(found[0]).max()


def on_a_stand(closed):
    """A crank on a base and a post that are welded to the ground and to each other, with a plate welded to it, all
    loaded; closed, a four-bar whose last pin is on the post."""
    link = {"mass": 1.0, "com": (0.5, 0.1, 0.0), "inertia": (0.01, 0.1, 0.1)}
    names = ("base", "post", "crank", "plate", *(("coupler", "rocker") if closed else ()))
    pin = {"axis": Z}
    joints = [
        ch.weld("stand", "ground", "base", at=(0.1, 0.0, 0.2)),
        ch.weld("bolt", "base", "post", at=(1.3, 0.0, 0.0)),
        ch.revolute("A", "base", "crank", **pin, stiffness=3.0),
        ch.weld("rivet", "crank", "plate", at=(0.4, 0.3, 0.1)),
    ]
    if closed:
        joints += [
            ch.spherical("B", "crank", "coupler", at=(1.0, 0.0, 0.0)),  # so that no reaction is redundant
            ch.universal("C", "coupler", "rocker", axes=(Y, Z), at=(1.0, 0.0, 0.0), child_at=(1.0, 0.0, 0.0)),
            ch.revolute("D", "post", "rocker", **pin),
        ]
    forces = [
        ch.Spring("between", ("base", "plate"), ((0.0, 0.0, 0.5), (0.3, 0.0, 0.0)), 10.0),
        ch.Bushing("mount", ("ground", "post"), ((0.0, 0.0, 1.0), (0.0, 0.0, 0.3)), (1, 1, 1, 100, 100, 100)),
        ch.Wrench("push", "plate", (0.2, 0.0, 0.1, 1.0, -2.0, 3.0)),
    ]
    return ch.System([ch.Body(name, **link) for name in names], joints, forces=forces, gravity=(0.0, -9.81, 0.0))


@pytest.mark.parametrize("closed", [False, True])
def test_reactions_of_welds_do_not_depend_on_coordinates(closed):
    """Also of welds to the ground, where all that acts on the bodies before the first joint ends."""
    how = {"v": {"A": 2.0}, "certificate": False, "method": "rk4", "step": 0.01}
    runs = [ch.simulate(on_a_stand(closed), (0, 0.02), {"A": 1.4}, coordinates=c, **how) for c in COORDINATES]
    for name in ("stand", "bolt", "rivet", "A"):
        ours, expected = (run.reactions(name) for run in runs)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-8 * np.abs(expected).max(), err_msg=name)


def test_the_weld_of_all_carries_the_whole_mechanism():
    """Newton: the stand carries the weight and the outer loads, less what the masses gain of momentum."""
    system = on_a_stand(True)
    run = ch.simulate(system, (0, 0.02), {"A": 1.4}, certificate=False, method="rk4", step=0.01)
    mechanism = run.mechanism
    momentum = mechanism.momentum(run.q, run.v)[:, 3:]
    rate = np.gradient(momentum, run.t, axis=0)[1]
    turn = quaternion_to_matrix(run["base"].pose[1, :4])
    outer = 6 * np.array([0.0, -9.81, 0.0]) + quaternion_to_matrix(run["plate"].pose[1, :4]) @ [1.0, -2.0, 3.0]
    bushing = -100 * (run["post"].position[1] + [0.0, 0.0, 0.3] - [0.0, 0.0, 1.0])
    np.testing.assert_allclose(turn @ run.reactions("stand")[1, 3:], rate - outer - bushing, atol=1e-2)
