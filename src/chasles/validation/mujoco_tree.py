"""Trees as models of MuJoCo, built from the system. Needs the package `mujoco`."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.lie import pose, s3
from chasles.relative.mechanism import Mechanism

STEP = 2e-4  # the longest step [s]
ORDER = [0, 3, 5, 1, 2, 4]  # (xx, yy, zz, xy, xz, yz) among (xx, xy, xz, yy, yz, zz)


class MujocoTree:
    """A model of MuJoCo with hinges, slides and balls in the order of chasles; NotImplementedError for other joints."""

    def __init__(self, mechanism: Mechanism):
        import mujoco

        self.mujoco, self.mechanism = mujoco, mechanism
        spec = mujoco.MjSpec()
        spec.option.gravity = mechanism.system.gravity
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        bodies = {"ground": spec.worldbody}
        self.rows: list[int] = []  # coordinate of chasles for each of MuJoCo
        self.columns: list[int] = []  # and velocity
        for joint in _depth_first(mechanism):
            on_child = np.array(joint.child_frame)
            place = pose.compose(np.array(joint.parent_frame), pose.inverse(on_child))
            body = mechanism.system.body(joint.child)
            theta = np.array(body.inertia)[np.triu_indices(3)][ORDER]
            part = bodies[joint.parent].add_body(
                name=joint.child, pos=place[4:], quat=place[:4], mass=body.mass, ipos=body.com, fullinertia=theta,
                explicitinertial=True,
            )  # fmt: skip
            bodies[joint.child] = part
            self._add_joints(part, joint, on_child)
        try:
            self.model = spec.compile()
        except ValueError as error:
            raise NotImplementedError(f"MuJoCo: {error}") from None
        self.data = mujoco.MjData(self.model)

    def _add_joints(self, part: Any, joint: Any, on_child: np.ndarray) -> None:
        tree, kinds = self.mechanism.tree, self.mujoco.mjtJoint
        iq, iv = tree.coordinates[joint.name].start, tree.velocities[joint.name].start
        if joint.traits.quaternion and joint.nv == 3 and np.array_equal(on_child[:4], [1, 0, 0, 0]):
            part.add_joint(type=kinds.mjJNT_BALL, pos=on_child[4:])
            self.rows += range(iq, iq + 4)
            self.columns += range(iv, iv + 3)
        elif joint.traits.quaternion:
            raise NotImplementedError(f"MuJoCo: joint {joint.name!r} has no like here")
        for k, screw in enumerate(joint.screws):
            w, v = np.array(screw[:3]), np.array(screw[3:])
            if abs(w @ v) > 1e-14:
                raise NotImplementedError(f"MuJoCo: joint {joint.name!r} is a helical joint")
            kind, axis, point = kinds.mjJNT_HINGE, w, np.cross(w, v)
            if not w.any():
                kind, axis, point = kinds.mjJNT_SLIDE, v, np.zeros(3)
            axis, place = s3.act(on_child[:4], axis), pose.act(on_child, point)
            part.add_joint(type=kind, pos=place, axis=axis, armature=np.broadcast_to(joint.armature, joint.nv)[k])
            self.rows.append(iq + k)
            self.columns.append(iv + k)

    def _set(self, q: np.ndarray, v: np.ndarray) -> None:
        self.data.qpos[:], self.data.qvel[:] = np.asarray(q)[self.rows], np.asarray(v)[self.columns]

    def _back(self, values: np.ndarray, order: list[int]) -> np.ndarray:
        found = np.empty_like(values)
        found[..., order] = values
        return found

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: np.ndarray | None = None
    ) -> np.ndarray:
        _require_none(wrenches)
        self._set(q, v)
        self.data.qacc[:] = np.asarray(a)[self.columns]
        self.mujoco.mj_inverse(self.model, self.data)
        return self._back(self.data.qfrc_inverse.copy(), self.columns)

    def forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: np.ndarray | None = None
    ) -> np.ndarray:
        _require_none(wrenches)
        self._set(q, v)
        self.data.qfrc_applied[:] = np.asarray(tau)[self.columns]
        self.mujoco.mj_forward(self.model, self.data)
        return self._back(self.data.qacc.copy(), self.columns)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        self._set(q, np.zeros(len(self.columns)))
        self.mujoco.mj_forward(self.model, self.data)
        found = np.zeros((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, self.data, found)
        return self._back(self._back(found, self.columns).T, self.columns).T

    def motion(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities at times, from the first, by MuJoCo's own method of order 4."""
        self.mujoco.mj_resetData(self.model, self.data)
        self._set(q, v)
        points = [(np.array(q, dtype=float), np.array(v, dtype=float))]
        for span in np.diff(t):
            count = max(1, int(np.ceil(span / STEP)))
            self.model.opt.timestep = span / count
            self.mujoco.mj_step(self.model, self.data, count)
            place, speed = self.data.qpos.copy(), self.data.qvel.copy()
            points.append((self._back(place, self.rows), self._back(speed, self.columns)))
        places, speeds = zip(*points, strict=True)
        return np.array(places), np.array(speeds)


def _depth_first(mechanism: Mechanism) -> list[Any]:
    """Joints in MuJoCo's order: behind each body all that it carries."""
    carried: dict[str, list[Any]] = {}
    for joint in mechanism.tree.joints:
        carried.setdefault(joint.parent, []).append(joint)
    found, left = [], carried.get("ground", [])[::-1]
    while left:
        found.append(left.pop())
        left += carried.get(found[-1].child, [])[::-1]
    return found


def _require_none(wrenches: np.ndarray | None) -> None:
    if wrenches is not None:
        raise NotImplementedError("MuJoCo: wrenches are not translated")
