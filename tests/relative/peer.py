"""The mechanisms of the tests as models of Pinocchio, built from the system: one joint of Pinocchio an axis."""

from __future__ import annotations

import numpy as np

from chasles.lie import pose
from chasles.relative.mechanism import Mechanism

SWAP = [3, 4, 5, 0, 1, 2]  # (angular, linear) and (linear, angular)


class Peer:
    """A model of Pinocchio with the joints in the same order, and the maps of coordinates."""

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
            if joint.kind == "spherical":
                parent = self._add(parent, pin.JointModelSpherical(), place)
                self.rows += [iq + 1, iq + 2, iq + 3, iq]
                self.columns += [iv, iv + 1, iv + 2]
                place = identity
            elif joint.kind == "free":
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
        for frame in mechanism.system.frames:
            parent, place = carried[frame.body]
            where = self._se3(pose.compose(place, np.array(frame.pose)))
            self.model.addFrame(pin.Frame(frame.name, parent, 0, where, pin.FrameType.OP_FRAME))
        for name in mechanism.bodies if bodies else ():
            parent, place = carried[name]
            self.model.addFrame(pin.Frame(name, parent, 0, self._se3(place), pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def _se3(self, g: np.ndarray):
        matrix = pose.to_matrix(g)
        return self.pin.SE3(matrix[:3, :3], matrix[:3, 3])

    def _add(self, parent: int, joint, place: np.ndarray) -> int:
        return self.model.addJoint(parent, joint, self._se3(place), f"joint {self.model.njoints}")

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
