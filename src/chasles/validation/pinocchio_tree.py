"""Trees as models of Pinocchio, built from the system: one joint of Pinocchio an axis. Needs the package `pin`."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.lie import pose, s3
from chasles.relative.mechanism import Mechanism

SWAP = [3, 4, 5, 0, 1, 2]  # (angular, linear) and (linear, angular)


class PinocchioTree:
    """A model of Pinocchio with the joints in the same order, and the maps of coordinates.

    `inverse_dynamics`, `forward_dynamics`, `mass_matrix` and `motion` take and give numbers in the order of chasles.
    """

    def __init__(self, mechanism: Mechanism, bodies: bool = False):
        """bodies: whether each of them has a frame, after those of the system."""
        import pinocchio as pin

        self.pin, self.mechanism = pin, mechanism
        self.model = pin.Model()
        self.model.gravity.linear = np.array(mechanism.system.gravity)
        self.model.gravity.angular = np.zeros(3)
        identity = pose.identity()
        # joint of Pinocchio that carries a body, and the body's pose on it
        self.carried = carried = {"ground": (0, identity)}
        self.rows: list[int] = []  # coordinate of chasles for each of Pinocchio
        self.columns: list[int] = []  # and velocity
        for joint in mechanism.tree.joints:
            parent, place = carried[joint.parent]
            place = pose.compose(place, np.array(joint.parent_frame))
            iq, iv = mechanism.tree.coordinates[joint.name].start, mechanism.tree.velocities[joint.name].start
            if joint.traits.quaternion and joint.nv == 3:
                parent = self._add(parent, pin.JointModelSpherical(), place)
                self.rows += [iq + 1, iq + 2, iq + 3, iq]
                self.columns += [iv, iv + 1, iv + 2]
                place = identity
            elif joint.traits.quaternion:
                parent = self._add(parent, pin.JointModelFreeFlyer(), place)
                self.rows += [iq + 4, iq + 5, iq + 6, iq + 1, iq + 2, iq + 3, iq]
                self.columns += [iv + k for k in SWAP]
                place = identity
            for k, screw in enumerate(joint.screws):
                parent, place = self._add_axis(parent, place, np.array(screw))
                self.rows.append(iq + k)
                self.columns.append(iv + k)
            place = pose.compose(place, pose.inverse(np.array(joint.child_frame)))
            carried[joint.child] = parent, place
            body = mechanism.system.body(joint.child)
            inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
            self.model.appendBodyToJoint(parent, inertia, self._se3(place))
            self.model.armature[len(self.columns) - joint.nv :] = joint.armature
        for frame in mechanism.system.frames:
            parent, place = carried[frame.body]
            where = self._se3(pose.compose(place, np.array(frame.pose)))
            self.model.addFrame(pin.Frame(frame.name, parent, 0, where, pin.FrameType.OP_FRAME))
        for name in mechanism.bodies if bodies else ():
            parent, place = carried[name]
            self.model.addFrame(pin.Frame(name, parent, 0, self._se3(place), pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def _se3(self, g: np.ndarray) -> Any:
        matrix = pose.to_matrix(g)
        return self.pin.SE3(matrix[:3, :3], matrix[:3, 3])

    def _add(self, parent: int, joint: Any, place: np.ndarray) -> int:
        return int(self.model.addJoint(parent, joint, self._se3(place), f"joint {self.model.njoints}"))

    def _add_axis(self, parent: int, place: np.ndarray, screw: np.ndarray) -> tuple[int, np.ndarray]:
        """A joint about or along the axis of a screw, through its point; where the joint's frame is on it."""
        w, v = screw[:3], screw[3:]
        if not w.any():
            return self._add(parent, self.pin.JointModelPrismaticUnaligned(v), place), pose.identity()
        through = np.concatenate([[1.0, 0, 0, 0], np.cross(w, v)])
        pitch = float(w @ v)
        kind = (
            self.pin.JointModelRevoluteUnaligned(w)
            if abs(pitch) < 1e-14
            else self.pin.JointModelHelicalUnaligned(w, pitch)
        )
        return self._add(parent, kind, pose.compose(place, through)), pose.inverse(through)

    def q(self, q: np.ndarray) -> np.ndarray:
        return q[self.rows]

    def v(self, v: np.ndarray) -> np.ndarray:
        return v[self.columns]

    def back(self, matrix: np.ndarray) -> np.ndarray:
        """Columns of a matrix of Pinocchio in the order of chasles."""
        result = np.empty_like(matrix)
        result[..., self.columns] = matrix
        return result

    def _forces(self, wrenches: np.ndarray | None) -> Any:
        """Wrenches (bodies, 6) in the frames of the bodies, as forces on Pinocchio's joints."""
        found = self.pin.StdVec_Force()
        found.extend([self.pin.Force.Zero() for _ in range(self.model.njoints)])
        for name, wrench in zip(
            self.mechanism.bodies, () if wrenches is None else wrenches, strict=wrenches is not None
        ):
            joint, place = self.carried[name]
            found[joint] += self._se3(place).act(self.pin.Force(wrench[3:], wrench[:3]))
        return found

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: np.ndarray | None = None
    ) -> np.ndarray:
        given = self.q(np.asarray(q)), self.v(np.asarray(v)), self.v(np.asarray(a))
        return self.back(np.array(self.pin.rnea(self.model, self.data, *given, self._forces(wrenches))))

    def forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: np.ndarray | None = None
    ) -> np.ndarray:
        given = self.q(np.asarray(q)), self.v(np.asarray(v)), self.v(np.asarray(tau))
        return self.back(np.array(self.pin.aba(self.model, self.data, *given, self._forces(wrenches))))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        half = np.triu(self.pin.crba(self.model, self.data, self.q(np.asarray(q))))
        return self.back(self.back(half + np.triu(half, 1).T).T).T

    def motion(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities at times, from the first: Pinocchio's accelerations integrated by SciPy."""
        from scipy.integrate import solve_ivp

        nq, none = len(q), np.zeros(len(v))

        def slope(_: float, y: np.ndarray) -> np.ndarray:
            q, v = self._normalized(y[:nq]), y[nq:]
            return np.concatenate([self._rates(q, v), self.forward_dynamics(q, v, none)])

        options: dict[str, Any] = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
        found = solve_ivp(slope, (t[0], t[-1]), np.concatenate([q, v]), t_eval=t, **options)
        return np.array([self._normalized(one) for one in found.y[:nq].T]), found.y[nq:].T

    def _turning(self) -> list[tuple[int, int, bool]]:
        """Where quaternions and angular velocities are, and whether a position follows."""
        tree = self.mechanism.tree
        return [
            (tree.coordinates[joint.name].start, tree.velocities[joint.name].start, joint.nv == 6)
            for joint in tree.joints
            if joint.traits.quaternion
        ]

    def _normalized(self, q: np.ndarray) -> np.ndarray:
        q = np.array(q)
        for iq, _, _ in self._turning():
            q[iq : iq + 4] /= np.linalg.norm(q[iq : iq + 4])
        return q

    def _rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Rates of the coordinates: those of quaternions are half their product with the angular velocity."""
        found, plain = np.empty(len(q)), np.ones(len(q), dtype=bool)
        other = np.ones(len(v), dtype=bool)
        for iq, iv, free in self._turning():
            turn = q[iq : iq + 4]
            spin = v[iv : iv + 3]
            found[iq] = -0.5 * turn[1:] @ spin
            found[iq + 1 : iq + 4] = 0.5 * (turn[0] * spin + np.cross(turn[1:], spin))
            if free:
                found[iq + 4 : iq + 7] = s3.act(turn, v[iv + 3 : iv + 6])
            plain[iq : iq + 4 + 3 * free], other[iv : iv + 3 + 3 * free] = False, False
        found[plain] = v[other]
        return found
