"""Dynamics of random trees against Pinocchio and MuJoCo.

1000 trees of 1 to 60 bodies with joints of every kind (MuJoCo has no helical joint, and free joints at the root only).
Odd trees are asked for one state, even ones for four, which run on lanes. Differences are relative to the largest entry
of a result. 1e-10 is the bar. Where forward dynamics of a tree is ill-conditioned, both sides lose digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from chasles import lie
from chasles.model import joint as make
from chasles.model.body import GROUND, Body
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from tests.relative.models import coordinates, random_body, random_pose

TOLERANCE = 1e-10
TREES, SOME, CHUNK = 1000, 60, 20  # the first sixty have each number of bodies once
SHARE = {"pinocchio": (0, 1), "mujoco": (2, 3)}  # of these sixty, by the remainder after division by four
WITHOUT_HELICAL = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "weld",
    "general",
    "free",
)
EVERY = (*WITHOUT_HELICAL, "helical")


# ---------------------------------------------------------------- random trees


def random_joint(rng: np.random.Generator, kind: str, names: tuple[str, str, str], pitches: bool) -> Joint:
    axis = rng.normal(size=3)
    more: dict[str, Any] = {"at": random_pose(rng), "child_at": random_pose(rng)}
    if kind in ("weld", "spherical", "free"):
        return getattr(make, kind)(*names, **more)
    more["armature"] = rng.choice([0.0, 0.05])
    if kind == "helical":
        return make.helical(*names, axis=axis, pitch=rng.normal() / 3, **more)
    if kind == "planar":
        return make.planar(*names, normal=axis, **more)
    if kind == "universal":
        second = rng.normal(size=3) if rng.random() < 0.5 else np.cross(axis, rng.normal(size=3))
        return make.universal(*names, axes=(axis, second), **more)
    if kind == "general":
        screws = []
        for _ in range(rng.integers(1, 4)):
            e = rng.normal(size=3)
            e /= np.linalg.norm(e)
            pitch = rng.normal() / 3 if pitches and rng.random() < 0.5 else 0.0
            turning = rng.random() < 0.7
            screws.append([*e, *(np.cross(rng.normal(size=3), e) + pitch * e)] if turning else [0.0, 0.0, 0.0, *e])
        return make.general(*names, screws=screws, **more)
    return getattr(make, kind)(*names, axis=axis, **more)


def random_system(number: int, peer: str) -> System:
    """Tree `number`: 1 to 60 bodies; from a chain to a star; from revolute joints alone to all kinds alike."""
    rng = np.random.default_rng([number, len(peer)])
    kinds = EVERY if peer == "pinocchio" else WITHOUT_HELICAL
    bush, plain = rng.random(), rng.random()
    bodies, joints = [], []
    for k in range(number % 60 + 1):
        bodies.append(Body(f"body {k}", **random_body(rng)))
        parent = k - 1 if rng.random() > bush else rng.integers(-1, k) if k else -1
        kind = "revolute" if rng.random() < plain else rng.choice(kinds)
        if peer == "mujoco" and kind == "free":  # at the root, with the body's frame
            joints.append(make.free(f"joint {k}", GROUND, f"body {k}"))
            continue
        names = (f"joint {k}", GROUND if parent < 0 else f"body {parent}", f"body {k}")
        joints.append(random_joint(rng, str(kind), names, peer == "pinocchio"))
    order = rng.permutation(len(bodies))
    return System([bodies[k] for k in order], joints, gravity=(0.3, -0.8, -9.7))


def random_state(number: int, mechanism: Mechanism) -> dict[str, np.ndarray]:
    rng = np.random.default_rng([number, 77])
    count = 1 if number % 2 else 4
    state = {name: rng.normal(size=(count, mechanism.nv)) for name in ("v", "a", "tau")}
    return {
        "q": coordinates(mechanism, rng, count),
        "wrenches": rng.normal(size=(count, len(mechanism.bodies), 6)),
        **state,
    }


def computed(mechanism: Mechanism, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Ours; a single state is given without a leading axis."""
    s = state if len(state["q"]) > 1 else {name: x[0] for name, x in state.items()}
    found = {
        "inverse": mechanism.inverse_dynamics(s["q"], s["v"], s["a"]),
        "inverse, wrenches": mechanism.inverse_dynamics(s["q"], s["v"], s["a"], s["wrenches"]),
        "forward": mechanism.forward_dynamics(s["q"], s["v"], s["tau"]),
        "forward, wrenches": mechanism.forward_dynamics(s["q"], s["v"], s["tau"], s["wrenches"]),
        "mass": mechanism.mass_matrix(s["q"]),
    }
    return found if len(state["q"]) > 1 else {name: x[None] for name, x in found.items()}


def compare(found: dict[str, np.ndarray], k: int, expected: dict[str, np.ndarray], where: str) -> dict[str, float]:
    deviations = {}
    for name, x in expected.items():
        size = np.abs(x).max(initial=1e-300)
        deviations[name] = float(np.abs(found[name][k] - x).max(initial=0.0) / size)
        assert deviations[name] < TOLERANCE, f"{where}: {name} is off by {deviations[name]:.1e}"
    return deviations


# ---------------------------------------------------------------- Pinocchio


def placement(g) -> pin.SE3:
    return pin.SE3(lie.pose.to_matrix(np.array(g)))


def pin_joint(joint: Joint) -> tuple[Any, pin.SE3]:
    """Pinocchio's joint, and the joint's frame on the child seen from where Pinocchio has its frame."""
    here = pin.SE3.Identity()
    if joint.kind in ("spherical", "free"):
        return (pin.JointModelSpherical() if joint.kind == "spherical" else pin.JointModelFreeFlyer()), here
    screws = np.array(joint.screws)
    if joint.kind == "universal" and abs(screws[0, :3] @ screws[1, :3]) < 1e-12:
        return pin.JointModelUniversal(screws[0, :3], screws[1, :3]), here
    if len(screws) == 1 and joint.kind != "general":
        return one_axis(screws[0])[0], here
    composite, tail = pin.JointModelComposite(), here
    for screw in screws:
        model, point = one_axis(screw)
        composite.addJoint(model, tail * pin.SE3(np.eye(3), point))
        tail = pin.SE3(np.eye(3), -point)
    return composite, tail


def one_axis(screw: np.ndarray) -> tuple[Any, np.ndarray]:
    """Pinocchio's joint with this screw, and a point on its axis."""
    w, v = screw[:3], screw[3:]
    if not w.any():
        return pin.JointModelPrismaticUnaligned(v), np.zeros(3)
    if abs(w @ v) < 1e-15:
        return pin.JointModelRevoluteUnaligned(w), np.cross(w, v)
    return pin.JointModelHelicalUnaligned(w, w @ v), np.cross(w, v)


class Pinocchio:
    """The model of a mechanism. Joints are added depth first, as the mechanism has them: the mass matrix needs it."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism, self.model = mechanism, pin.Model()
        self.model.gravity.linear = np.array(mechanism.system.gravity)
        self.places: dict[str, tuple[int, pin.SE3]] = {GROUND: (0, pin.SE3.Identity())}
        self.turning: list[tuple[str, slice, slice]] = []
        armature = np.zeros(mechanism.nv)
        for joint in mechanism.tree.joints:
            on, parent = self.places[joint.parent]
            at = parent * placement(joint.parent_frame)
            tail = placement(joint.child_frame).inverse()
            if joint.kind != "weld":
                model, here = pin_joint(joint)
                on, at = self.model.addJoint(on, model, at, joint.name), here
                velocities = mechanism.tree.velocities[joint.name]
                armature[velocities] = joint.armature
                self.turning.append((joint.kind, mechanism.tree.coordinates[joint.name], velocities))
            body, place = mechanism.system.body(joint.child), at * tail
            if on:
                self.model.appendBodyToJoint(
                    on, pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia)), place
                )
            self.places[joint.child] = on, place
        self.model.armature = armature
        self.data = self.model.createData()

    def q(self, q: np.ndarray) -> np.ndarray:
        out = q.copy()
        for kind, at, _ in self.turning:
            if kind == "spherical":
                out[at] = np.roll(q[at], -1)
            elif kind == "free":
                out[at] = [*q[at][4:], *np.roll(q[at][:4], -1)]
        return out

    def v(self, v: np.ndarray) -> np.ndarray:
        """Velocities, accelerations or forces; the same way there and back."""
        out = v.copy()
        for kind, _, at in self.turning:
            if kind == "free":
                out[at] = np.roll(v[at], 3)
        return out

    def wrenches(self, wrenches: np.ndarray) -> pin.StdVec_Force:
        out = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for name, (torque_force) in zip(self.mechanism.bodies, wrenches, strict=True):
            on, place = self.places[name]
            out[on] += place.act(pin.Force(torque_force[3:], torque_force[:3]))
        return pin.StdVec_Force(out)

    def results(self, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        q, (v, a, tau) = self.q(state["q"]), (self.v(state[name]) for name in ("v", "a", "tau"))
        forces = self.wrenches(state["wrenches"])
        M = pin.crba(self.model, self.data, q).copy()
        M = np.triu(M) + np.triu(M, 1).T
        back = np.argsort(self.v(np.arange(len(v))))
        return {
            "inverse": self.v(pin.rnea(self.model, self.data, q, v, a)),
            "inverse, wrenches": self.v(pin.rnea(self.model, self.data, q, v, a, forces)),
            "forward": self.v(pin.aba(self.model, self.data, q, v, tau)),
            "forward, wrenches": self.v(pin.aba(self.model, self.data, q, v, tau, forces)),
            "mass": M[np.ix_(back, back)],
        }


def check(numbers: Iterable[int], peer: str) -> dict[str, float]:
    """Worst deviation of each result."""
    worst: dict[str, float] = {}
    for number in numbers:
        mechanism = Mechanism(random_system(number, peer))
        state = random_state(number, mechanism)
        found = computed(mechanism, state)
        other = Pinocchio(mechanism) if peer == "pinocchio" else MuJoCo(mechanism)
        for k in range(len(state["q"])):
            expected = other.results({name: x[k] for name, x in state.items()})
            for name, value in compare(found, k, expected, f"tree {number}, state {k}").items():
                worst[name] = max(value, worst.get(name, 0.0))
    return worst


def some(first: int, peer: str) -> list[int]:
    """Each number of bodies is compared with one of the two, in one state and in four with both."""
    return [number for number in range(first, first + CHUNK) if number % 4 in SHARE[peer]]


@pytest.mark.parametrize("first", range(0, SOME, CHUNK))
def test_pinocchio(first):
    check(some(first, "pinocchio"), "pinocchio")


@pytest.mark.study
@pytest.mark.parametrize("first", range(0, TREES, CHUNK))
def test_pinocchio_more(first):
    check(range(first, first + CHUNK), "pinocchio")


# ---------------------------------------------------------------- MuJoCo


class MuJoCo:
    """The model of a mechanism, and the way from our coordinates to MuJoCo's.

    A body there may have several joints, which act one after the other about axes given in the body's frame. A ball's
    coordinates are in the body's axes; a free body has its linear velocity in those of space.
    """

    def __init__(self, mechanism: Mechanism):
        self.mechanism, spec = mechanism, mujoco.MjSpec()
        spec.option.gravity = mechanism.system.gravity
        spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        spec.compiler.balanceinertia = False
        bodies = {GROUND: spec.worldbody}
        for joint in mechanism.tree.joints:
            body = mechanism.system.body(joint.child)
            child = np.array(joint.child_frame)
            at = lie.pose.compose(np.array(joint.parent_frame), lie.pose.inverse(child))
            J = np.array(body.inertia)
            made = bodies[joint.parent].add_body(name=body.name, pos=at[4:], quat=at[:4])
            made.mass, made.ipos, made.explicitinertial = body.mass, body.com, True
            made.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
            bodies[body.name] = made
            if joint.kind == "free":
                made.add_freejoint(name=joint.name)
            if joint.kind == "spherical":
                made.add_joint(name=joint.name, type=mujoco.mjtJoint.mjJNT_BALL, pos=child[4:])
            for k, (screw, armature) in enumerate(zip(np.array(joint.screws), joint.armature, strict=False)):
                w, v = screw[:3], screw[3:]
                kind = mujoco.mjtJoint.mjJNT_HINGE if w.any() else mujoco.mjtJoint.mjJNT_SLIDE
                axis = lie.pose.act(np.array([*child[:4], 0, 0, 0]), w if w.any() else v)
                point = lie.pose.act(child, np.cross(w, v))
                made.add_joint(name=f"{joint.name}.{k}", type=kind, axis=axis, pos=point, armature=armature)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.where = []  # joint, where it is in our q and v, where in MuJoCo's
        for joint in mechanism.tree.joints:
            if joint.nv:
                name = joint.name if joint.kind in ("free", "spherical") else f"{joint.name}.0"
                index = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, name)
                iq, iv = self.model.jnt_qposadr[index], self.model.jnt_dofadr[index]
                ours = mechanism.tree.coordinates[joint.name], mechanism.tree.velocities[joint.name]
                self.where.append((joint, *ours, slice(iq, iq + joint.nq), slice(iv, iv + joint.nv)))

    def maps(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo's coordinates, and the matrix from our velocities to MuJoCo's."""
        out, B = np.empty(self.model.nq), np.zeros((self.model.nv, self.mechanism.nv))
        for joint, from_q, from_v, to_q, to_v in self.where:
            out[to_q], block = q[from_q], np.eye(joint.nv)
            if joint.kind == "spherical":
                turn = np.array(joint.child_frame)[:4]
                block = lie.rotation.quaternion_to_matrix(turn)
                out[to_q] = [q[from_q][0], *(block @ q[from_q][1:])]
            elif joint.kind == "free":
                out[to_q] = np.roll(q[from_q], 3)
                block = np.roll(np.eye(6), 3, axis=0)
                block[:3, 3:] = lie.rotation.quaternion_to_matrix(q[from_q][:4])
            B[to_v, from_v] = block
        return out, B

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """B' v: the derivative of the linear velocity in space, R v, has the part R (w x v)."""
        out = np.zeros(self.model.nv)
        for joint, from_q, from_v, _, to_v in self.where:
            if joint.kind == "free":
                R = lie.rotation.quaternion_to_matrix(q[from_q][:4])
                out[to_v][:3] = R @ np.cross(v[from_v][:3], v[from_v][3:])
        return out

    def results(self, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        data, model = self.data, self.model
        data.qpos[:], B = self.maps(state["q"])
        data.qvel[:], bias = B @ state["v"], self.bias(state["q"], state["v"])
        data.qacc[:] = B @ state["a"] + bias
        mujoco.mj_inverse(model, data)
        results = {"inverse": B.T @ data.qfrc_inverse}
        M = np.eye(model.nv)
        for row in M:  # not mj_fullM, whose arguments differ between versions 3 and 4
            mujoco.mj_mulM(model, data, row, row.copy())
        results["mass"] = B.T @ M @ B
        data.qfrc_applied[:] = B @ state["tau"]  # B is orthogonal
        mujoco.mj_forward(model, data)
        results["forward"] = B.T @ (data.qacc - bias)
        return results


@pytest.mark.parametrize("first", range(0, SOME, CHUNK))
def test_mujoco(first):
    check(some(first, "mujoco"), "mujoco")


@pytest.mark.study
@pytest.mark.parametrize("first", range(0, TREES, CHUNK))
def test_mujoco_more(first):
    check(range(first, first + CHUNK), "mujoco")
