"""Coordinates and velocities in the order and the conventions of Pinocchio and MuJoCo, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.joint import Joint
from chasles.model.suggestion import meant
from chasles.relative.dependence import Dependence
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism

FREE, BALL = 0, 1  # mujoco.mjtJoint
Z_TOLERANCE = 1e-12  # by which the normal of a planar joint may be off z


class _There(NamedTuple):
    """A joint of the other library: its name, what it is, and where its numbers are."""

    name: str
    form: str  # pose, ball, plane, circle (cosine and sine of an angle) or plain
    q: int
    v: int


class _Block(NamedTuple):
    """A joint in both: places of its numbers here and there."""

    form: str
    q: np.ndarray
    v: np.ndarray
    other_q: np.ndarray
    other_v: np.ndarray


@dataclass(frozen=True)
class StateOrder:
    """States of a mechanism in the order and the conventions of another library, and back: arrays (..., nq), (..., nv).

    Made by `pinocchio_order` and `mujoco_order`. quaternion_last: whether the other has quaternions as (x, y, z, w);
    linear_in_space: whether linear velocities of its free joints are along the axes of space.
    """

    library: str
    blocks: tuple[_Block, ...]
    sizes: tuple[int, int, int, int]  # nq and nv here, nq and nv there
    quaternion_last: bool
    linear_in_space: bool
    dependence: Dependence | None = None  # of joints that follow others here; there they may have numbers of their own

    def to(self, q: ArrayLike, v: ArrayLike | None = None) -> Any:
        """q, or (q, v), as the other library has them."""
        own, speeds = self._checked("to", q, v, self.sizes[:2])
        if self.dependence is not None:
            own, speeds = self.dependence.coordinates(own), self.dependence.velocities(speeds)
        there = np.zeros((*own.shape[:-1], self.sizes[2]))
        rates = np.zeros((*own.shape[:-1], self.sizes[3]))
        for block in self.blocks:
            x, u = own[..., block.q], speeds[..., block.v]
            if block.form == "pose":
                u = np.concatenate([self._turned(x[..., :4], u[..., 3:], 1), u[..., :3]], axis=-1)
                x = np.concatenate([x[..., 4:], self._quaternion(x[..., :4], 1)], axis=-1)
            elif block.form == "ball":
                x = self._quaternion(x, 1)
            elif block.form == "plane":
                u = np.concatenate([_in_plane(x[..., 2], u[..., :2], -1), u[..., 2:]], axis=-1)
                x = np.concatenate([x[..., :2], np.cos(x[..., 2:]), np.sin(x[..., 2:])], axis=-1)
            elif block.form == "circle":
                x = np.concatenate([np.cos(x), np.sin(x)], axis=-1)
            there[..., block.other_q], rates[..., block.other_v] = x, u
        return there if v is None else (there, rates)

    def back(self, q: ArrayLike, v: ArrayLike | None = None) -> Any:
        """q, or (q, v), of the mechanism, from those of the other library. Of an angle that it has as cosine and sine
        the one within half a turn of zero is taken."""
        other, speeds = self._checked("back", q, v, self.sizes[2:])
        depends = self.dependence
        here = self.sizes[:2] if depends is None else (len(depends.place), len(depends.column))
        own, rates = (np.zeros((*other.shape[:-1], size)) for size in here)
        for block in self.blocks:
            x, u = other[..., block.other_q], speeds[..., block.other_v]
            if block.form == "pose":
                x = np.concatenate([self._quaternion(x[..., 3:], -1), x[..., :3]], axis=-1)
                u = np.concatenate([u[..., 3:], self._turned(x[..., :4], u[..., :3], -1)], axis=-1)
            elif block.form == "ball":
                x = self._quaternion(x, -1)
            elif block.form == "plane":
                angle = np.arctan2(x[..., 3:], x[..., 2:3])
                u = np.concatenate([_in_plane(angle[..., 0], u[..., :2], 1), u[..., 2:]], axis=-1)
                x = np.concatenate([x[..., :2], angle], axis=-1)
            elif block.form == "circle":
                x = np.arctan2(x[..., 1:], x[..., :1])
            own[..., block.q], rates[..., block.v] = x, u
        if depends is not None:
            own, rates = own[..., depends.own_coordinates], rates[..., depends.own]
        return own if v is None else (own, rates)

    def _checked(
        self, function: str, q: ArrayLike, v: ArrayLike | None, sizes: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        place = np.asarray(q, dtype=float)
        speed = np.zeros((*place.shape[:-1], sizes[1])) if v is None else np.asarray(v, dtype=float)
        for name, given, size in (("q", place, sizes[0]), ("v", speed, sizes[1])):
            if given.shape[-1:] != (size,) or given.shape[:-1] != place.shape[:-1]:
                raise ValueError(f"StateOrder.{function}: {name} has shape {given.shape}; expected (..., {size})")
        return place, speed

    def _quaternion(self, x: np.ndarray, way: int) -> np.ndarray:
        return np.roll(x, -way, axis=-1) if self.quaternion_last else x

    def _turned(self, unit: np.ndarray, linear: np.ndarray, way: int) -> np.ndarray:
        """A linear velocity from the body's axes to those of space, or back."""
        if not self.linear_in_space:
            return linear
        R = quaternion_to_matrix(unit)
        found: np.ndarray = np.einsum("...ij,...j->...i" if way > 0 else "...ji,...j->...i", R, linear)
        return found


def _in_plane(angle: np.ndarray, u: np.ndarray, sign: int) -> np.ndarray:
    c, s = np.cos(angle), sign * np.sin(angle)
    return np.stack([c * u[..., 0] - s * u[..., 1], s * u[..., 0] + c * u[..., 1]], axis=-1)


def pinocchio_order(mechanism: Mechanism | ClosedMechanism, model: Any) -> StateOrder:
    """The order of a `pinocchio.Model` of the same robot: quaternions (x, y, z, w), free joints with the position and
    the linear velocity first, continuous joints as cosine and sine, planar ones with velocities in the child's axes.

    Joints are found by name; one that has another name on each side, as that of the base, goes with the other.
    """
    kinds = {"JointModelFreeFlyer": "pose", "JointModelSpherical": "ball", "JointModelPlanar": "plane"}
    found = []
    for joint, name in zip(list(model.joints)[1:], list(model.names)[1:], strict=True):
        if joint.shortname().startswith("JointModelMimic"):
            continue  # which has no coordinates of its own there either
        kind = kinds.get(joint.shortname(), "plain")
        if kind == "plain" and (joint.nq, joint.nv) == (2, 1):
            kind = "circle"
        if kind == "plain" and (joint.nq, joint.nv) != (1, 1):
            raise ValueError(f"pinocchio_order: joint {name!r} is a {joint.shortname()}, which has no counterpart here")
        found.append(_There(name, kind, joint.idx_q, joint.idx_v))
    return _order("pinocchio", mechanism, found, (model.nq, model.nv), True, False)


def mujoco_order(mechanism: Mechanism | ClosedMechanism, model: Any) -> StateOrder:
    """The order of a `mujoco.MjModel` of the same model: free joints with the position first, and (linear in space,
    angular in the body) as velocity. Joints are found by name, those without one by their number."""
    found = []
    for j in range(model.njnt):
        kind = {FREE: "pose", BALL: "ball"}.get(int(model.jnt_type[j]), "plain")
        name = model.joint(j).name or f"joint {j}"
        found.append(_There(name, kind, int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])))
    return _order("mujoco", mechanism, found, (model.nq, model.nv), False, True)


def _order(
    library: str,
    mechanism: Mechanism | ClosedMechanism,
    found: list[_There],
    sizes: tuple[int, int],
    quaternion_last: bool,
    linear_in_space: bool,
) -> StateOrder:
    where = f"{library}_order"
    depends, names = mechanism.tree.dependence, {there.name for there in found}
    tree = mechanism.tree.every
    optional = set() if depends is None else depends.following.keys() - names
    joints = {joint.name: joint for joint in tree.joints if joint.nv and joint.name not in optional}
    pairs = {there.name: there.name for there in found if there.name in joints}
    left = [there.name for there in found if there.name not in pairs]
    own = [name for name in joints if name not in pairs]
    if len(left) == len(own) == 1:
        pairs[left[0]] = own[0]
    elif left or own:
        missing, known = (left[0], joints) if left else (own[0], [there.name for there in found])
        side = "of the mechanism" if left else f"of the {library} model"
        raise ValueError(f"{where}: joint {missing!r} is not one {side}; {meant(missing, known)}compile the same model")
    blocks = []
    for there in found:
        joint = joints[pairs[there.name]]
        _require_same(where, joint, there)
        q, v = tree.coordinates[joint.name], tree.velocities[joint.name]
        count = {"pose": 7, "ball": 4, "plane": 4, "circle": 2}.get(there.form, 1)
        blocks.append(
            _Block(
                there.form,
                np.arange(q.start, q.stop),
                np.arange(v.start, v.stop),
                there.q + np.arange(count),
                there.v + np.arange(joint.nv),
            )
        )
    every = (mechanism.nq, mechanism.nv, *sizes)
    return StateOrder(library, tuple(blocks), every, quaternion_last, linear_in_space, depends)


def _require_same(where: str, joint: Joint, there: _There) -> None:
    """ValueError unless two joints move alike."""
    form = "plain" if joint.nq == joint.nv == 1 else "plane" if joint.traits.plane else joint.kind
    if joint.traits.quaternion:
        form = "pose" if joint.nv == 6 else "ball"
    if form != there.form and (form, there.form) != ("plain", "circle"):
        raise ValueError(f"{where}: joint {joint.name!r} is {joint.kind} here and {there.form} there")
    if there.form == "plane" and np.abs(np.array(joint.screws[2][:3]) - (0, 0, 1)).max() > Z_TOLERANCE:
        raise ValueError(f"{where}: planar joint {joint.name!r} has another normal than z, which Pinocchio's have")
