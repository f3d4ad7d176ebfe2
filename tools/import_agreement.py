"""How far an imported model is from what Pinocchio (URDF) or MuJoCo (MJCF) makes of the same file.

Both have other coordinates and velocities for some joints: v_peer = V(q) v, so a_peer = V a + V' v; the mass matrix is
then Vᵀ M V and the bias Vᵀ (bias + M V' v).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

import chasles as ch
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.mimic import as_couplings
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism

FREE = 0  # mujoco.mjtJoint


class Peer(NamedTuple):
    """Of another library, in its coordinates: V, V' v, mass matrix, bias, what springs and dampers do, acceleration."""

    V: np.ndarray
    rate: np.ndarray
    mass: np.ndarray
    bias: np.ndarray
    passive: np.ndarray | None
    acceleration: np.ndarray


class Agreement(NamedTuple):
    """Largest differences, each as a part of the largest entry; None where there is nothing to compare."""

    mass: float
    bias: float
    passive: float | None
    forward: float
    closed: float | None


def relative(ours: np.ndarray, theirs: np.ndarray, least: float = 0.0) -> float:
    """The largest difference as a part of the largest entry, or of `least` if that is more."""
    size = max(least, float(np.abs(theirs).max(initial=0.0)), float(np.abs(ours).max(initial=0.0)))
    return float(np.abs(ours - theirs).max(initial=0.0)) / size if size else 0.0


def without_friction(system: System) -> System:
    """Dry friction is smooth here and a constraint there."""
    from dataclasses import replace

    return replace(system, joints=[replace(joint, friction=0.0) for joint in system.joints])


def compare(system: System, peer: Any, seed: int = 0, states: int = 3) -> Agreement:
    """Compare at random states with `peer(mechanism, q, v, tau)`, a `Peer`; constraints by `peer.rows`. Joints that
    follow others are compared as constraints, which are closed mechanisms, and as they are."""
    cut = {"cut": peer.cut} if peer.cut else {}
    closed = as_couplings(without_friction(system)).compile("relative", **cut)
    tree = closed.spanning if isinstance(closed, ClosedMechanism) else closed
    own = without_friction(system).compile("relative", **cut)
    depends = own.tree.dependence
    rng = np.random.default_rng(seed)
    worst = dict.fromkeys(Agreement._fields, 0.0)
    has_passive = False
    for _ in range(states):
        q, v, tau = tree.random(rng), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
        if depends is not None:
            place, speed = own.random(rng), rng.normal(size=own.nv)
            q, v = depends.coordinates(place), depends.velocities(speed)
        theirs: Peer = peer(tree, q, v, tau)
        V = theirs.V
        bias = V.T @ (theirs.bias + theirs.mass @ theirs.rate)
        acceleration = np.linalg.solve(V, theirs.acceleration - theirs.rate)
        mass, still = V.T @ theirs.mass @ V, np.zeros(tree.nv)
        found = {
            "mass": relative(tree.mass_matrix(q), mass),
            "bias": relative(tree.inverse_dynamics(q, v, still, applied=False), bias, np.abs(mass).max(initial=0.0)),
            "forward": relative(tree.forward_dynamics(q, v, tau), acceleration),
        }
        if theirs.passive is not None:
            has_passive = True
            found["passive"] = relative(tree.applied_forces(q, v).tau, V.T @ theirs.passive)
        if isinstance(closed, ClosedMechanism) and (rows := peer.rows(tree)) is not None:
            # Gauss: of all accelerations that the rows allow, the one nearest to the free one
            inverse = np.linalg.inv(mass)
            push = np.linalg.pinv(rows @ inverse @ rows.T) @ (rows @ acceleration)
            held = acceleration - inverse @ rows.T @ push
            found["closed"] = relative(closed.forward_dynamics(q, v, tau), held)
            if depends is not None:
                followed = own.forward_dynamics(place, speed, depends.reduced(tau, 0))
                found["closed"] = max(found["closed"], relative(depends.velocities(followed), held))
        worst = {key: max(value, found.get(key, 0.0)) for key, value in worst.items()}
    is_closed = closed is not tree and peer.rows(tree) is not None
    return Agreement(
        worst["mass"],
        worst["bias"],
        worst["passive"] if has_passive else None,
        worst["forward"],
        worst["closed"] if is_closed else None,
    )


class PinocchioPeer:
    """A URDF file in Pinocchio. Its planar joint has the velocity in the axes of the child."""

    cut = ()

    def __init__(self, file: Path, base: str = "fixed"):
        import pinocchio as pin

        free = [pin.JointModelFreeFlyer()] if base == "floating" else []
        self.pin, self.file = pin, file
        self.model = pin.buildModelFromUrdf(str(file), *free)
        self.model.armature[:] = 0.0
        self.data = self.model.createData()

    def rows(self, tree: Any) -> np.ndarray | None:
        """Rows of mimic joints, read by a reader of its own."""
        joints = {joint.get("name"): joint for joint in ElementTree.parse(self.file).getroot().findall("joint")}
        rows = []
        for name, joint in joints.items():
            mimic = joint.find("mimic")
            if mimic is None or joint.get("type") == "fixed":
                continue
            row = np.zeros(tree.nv)
            row[tree.tree.velocities[name].start] = 1.0
            other = tree.tree.velocities[mimic.get("joint")]
            if other.stop > other.start:
                row[other.start] = -float(mimic.get("multiplier", "1"))
            rows.append(row)
        return np.array(rows) if rows else None

    def __call__(self, tree: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Peer:
        pin, model = self.pin, self.model
        q_pin, V, rate = pin.neutral(model), np.zeros((model.nv, tree.nv)), np.zeros(model.nv)
        for joint, name in zip(list(model.joints)[1:], list(model.names)[1:], strict=True):
            ours = name if name in tree.tree.coordinates else tree.tree.joints[0].name  # the root
            x, w = q[tree.tree.coordinates[ours]], tree.tree.velocities[ours]
            iq, iv, iw = joint.idx_q, joint.idx_v, w.start
            if joint.nq == 7:
                q_pin[iq : iq + 7] = [*x[4:], *x[1:4], x[0]]
                V[iv : iv + 3, iw + 3 : iw + 6] = V[iv + 3 : iv + 6, iw : iw + 3] = np.eye(3)
            elif joint.nq == 4:
                c, s = np.cos(x[2]), np.sin(x[2])
                q_pin[iq : iq + 4] = x[0], x[1], c, s
                V[iv : iv + 3, iw : iw + 3] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
                rate[iv : iv + 2] = v[iw + 2] * np.array([[-s, c], [-c, -s]]) @ v[iw : iw + 2]
            else:
                q_pin[iq : iq + joint.nq] = [np.cos(x[0]), np.sin(x[0])] if joint.nq == 2 else x
                V[iv, iw] = 1.0
        v_pin = V @ v
        mass = pin.crba(model, self.data, q_pin)
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = pin.nonLinearEffects(model, self.data, q_pin, v_pin).copy()
        acceleration = pin.aba(model, self.data, q_pin, v_pin, np.linalg.solve(V.T, tau)).copy()
        return Peer(V, rate, mass, bias, None, acceleration)


class MujocoPeer:
    """A MJCF file in MuJoCo, without what is not imported: the armature of free and ball joints, tendons."""

    def __init__(self, file: Path, system: System):
        import mujoco

        mujoco.set_mju_user_warning(lambda text: None)  # else they go to a file in the working folder
        self.mujoco, self.model = mujoco, mujoco.MjModel.from_xml_path(str(file))
        model = self.model
        for j in range(model.njnt):
            if model.jnt_type[j] <= 1:
                first = model.jnt_dofadr[j]
                model.dof_armature[first : first + (6, 3)[model.jnt_type[j]]] = 0.0
        for other in ("tendon_armature", "tendon_stiffness", "tendon_damping", "actuator_armature", "actuator_damping"):
            if hasattr(model, other):
                getattr(model, other)[:] = 0.0
        self.data = mujoco.MjData(model)
        mujoco.mj_setConst(model, self.data)  # it keeps inertias of simple bodies, with their armature
        first = {joint.child: joint.name for joint in reversed(system.joints)}  # a second one closes a loop
        self.cut = [joint.name for joint in system.joints if joint.name != first[joint.child]]

    def rows(self, tree: Any) -> None:
        return None

    def __call__(self, tree: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Peer:
        model, data = self.model, self.data
        V, rate = np.eye(model.nv), np.zeros(model.nv)
        data.qpos[:] = q
        for j in range(model.njnt):
            if model.jnt_type[j] == FREE:
                iq, iv = model.jnt_qposadr[j], model.jnt_dofadr[j]
                turn = quaternion_to_matrix(q[iq : iq + 4])
                data.qpos[iq : iq + 7] = [*q[iq + 4 : iq + 7], *q[iq : iq + 4]]
                V[iv : iv + 6, iv : iv + 6] = 0.0
                V[iv : iv + 3, iv + 3 : iv + 6], V[iv + 3 : iv + 6, iv : iv + 3] = turn, np.eye(3)
                rate[iv : iv + 3] = turn @ np.cross(v[iv : iv + 3], v[iv + 3 : iv + 6])
        data.qvel[:] = V @ v
        self.mujoco.mj_forward(model, data)
        mass = np.empty((model.nv, model.nv))
        for row, direction in zip(mass, np.eye(model.nv), strict=True):
            self.mujoco.mj_mulM(model, data, row, direction)
        bias = data.qfrc_bias.copy()
        force = np.linalg.solve(V.T, tau)
        acceleration = np.empty((1, model.nv))
        if model.nv:
            self.mujoco.mj_solveM(model, data, acceleration, (force - bias)[None])
        return Peer(V, rate, mass, bias, data.qfrc_spring + data.qfrc_damper, acceleration[0])


def agreement(file: Path, **options: Any) -> Agreement:
    """Load a file and compare it."""
    study = ch.load(file, **options)
    system, report = study.system, study.report
    if report.form == "URDF":
        return compare(system, PinocchioPeer(file, options.get("base", "fixed")))
    return compare(system, MujocoPeer(file, system))
