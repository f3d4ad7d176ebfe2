"""Coordinates of a tree some of whose joints follow others: q and v hold those of the others, all of them are

    q_all = r q + o,   v_all = G v,   a_all = G a                          G: a ratio in each row

with a constant G. So forces on the independent coordinates are Gᵀ of those on all, and the mass matrix is GᵀMG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from chasles.cached import cached_property
from chasles.model.mimic import Following, followers, with_followers
from chasles.model.placement import ORIGIN
from chasles.model.rod_parts import RodLink
from chasles.relative.tables import HEAD, LINK, link_table

if TYPE_CHECKING:
    from chasles.model.joint import Joint
    from chasles.model.system import System
    from chasles.relative.tree import Tree

FEW = 64  # joints for which the matrix of the ratios is the fastest way


@dataclass(frozen=True)
class Dependence:
    """How the coordinates of all joints depend on the independent ones."""

    every: Tree  # all joints, each with coordinates of its own
    following: dict[str, Following]  # by joint
    place: np.ndarray  # for each of all coordinates, which of q it depends on
    scale: np.ndarray  # and r,
    offset: np.ndarray  # and o
    column: np.ndarray  # for each of all velocities, which of v it depends on
    ratio: np.ndarray  # and the ratio
    own: np.ndarray  # for each velocity of v, where it is among all
    own_coordinates: np.ndarray  # for each coordinate of q
    light: np.ndarray  # for each link, whether it is one between joints of an element of a rod: without mass, always
    repeated: np.ndarray  # for each link, whether its joint has the axis of the joint before it

    @property
    def numbers(self) -> np.ndarray:
        """Ratios of all velocities, and scales and offsets of all coordinates, for kernels."""
        return np.concatenate([self.ratio, self.scale, self.offset])

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        """Coordinates of all joints, (..., all), of q (..., nq)."""
        return self.scale * q[..., self.place] + self.offset

    def velocities(self, v: np.ndarray) -> np.ndarray:
        """Velocities, accelerations or other rates of all joints, (..., all), of those of v (..., nv)."""
        return self.ratio * v[..., self.column]

    def on_leaders(self, forces: np.ndarray) -> np.ndarray:
        """Forces on all joints, (..., all), that do the same as forces (..., nv): on the leaders only."""
        found = np.zeros((*forces.shape[:-1], len(self.column)))
        found[..., self.own] = forces
        return found

    def reduced(self, array: np.ndarray, axis: int) -> np.ndarray:
        """Gᵀ along one axis of an array: forces on all joints as forces on the independent coordinates."""
        if len(self.column) <= FEW:
            return np.moveaxis(np.moveaxis(array, axis, -1) @ self.matrix, -1, axis)
        moved, depends = np.moveaxis(array, axis, 0), self._followers
        found = moved[self.own]
        for k in depends.tolist():
            found[self.column[k]] += self.ratio[k] * moved[k]
        return np.moveaxis(found, 0, axis)

    @cached_property
    def matrix(self) -> np.ndarray:
        """G, (all, nv)."""
        return self.velocities(np.eye(len(self.own))).T

    @cached_property
    def _followers(self) -> np.ndarray:
        """Which of all velocities are those of followers."""
        return np.setdiff1d(np.arange(len(self.column)), self.own)


def dependent_tree(system: System, every: Tree) -> Tree:
    """The tree of a system with followers, from that in which all joints have coordinates of their own."""
    following = followers(system.joints)
    by_name = {joint.name: joint for joint in every.joints}
    led: dict[str, list[tuple[Joint, Following]]] = {}
    for name, rule in following.items():
        led.setdefault(rule.leader, []).append((by_name[name], rule))
    joints = tuple(
        with_followers(joint, led[joint.name]) if joint.name in led else joint
        for joint in every.joints
        if joint.name not in following
    )
    coordinates, velocities = _packed(joints, "nq"), _packed(joints, "nv")
    place, scale, offset = _rows(every.coordinates, coordinates, following)
    column, ratio, _ = _rows(every.velocities, velocities, following)
    own = [_places(joints, places) for places in (every.velocities, every.coordinates)]
    dependence = Dependence(
        *(every, following, place, scale, offset, column, ratio, own[0], own[1]),
        *(light_links(system, every), repeated_axes(every)),
    )
    return replace(
        every,
        joints=joints,
        coordinates=coordinates,
        velocities=velocities,
        independent=_independent(every, following, place, column),
        dependence=dependence,
    )


def light_links(system: System, every: Tree) -> np.ndarray:
    """Which links are between joints of one element of a rod, for all values of parameters."""
    light = np.bincount(every.link_of_body[every.link_of_body >= 0], minlength=len(every.joint_of_link)) > 0
    for body, link in zip(system.bodies, every.link_of_body.tolist(), strict=True):
        if link >= 0 and not isinstance(body, RodLink):
            light[link] = False
    return light


def repeated_axes(every: Tree) -> np.ndarray:
    """Which links turn or slide with the same screw as the link before them, at the same place, as those of modes."""
    by_name = {joint.name: joint for joint in every.joints}
    joints = [by_name[name] for name in every.joint_of_link]
    found = np.zeros(len(joints), dtype=bool)
    for i, above in enumerate(link_table(every.topology)[:, LINK.parent].tolist()):
        one, other = joints[i], joints[above] if above >= 0 else None
        if other is not None and one.has_one_axis and one.screws == other.screws and one.parent == other.child:
            found[i] = one.parent_frame == other.child_frame == ORIGIN
    return found


def _packed(joints: Sequence[Joint], size: str) -> dict[str, slice]:
    """Where the numbers of each joint are, one after the other."""
    found, at = {}, 0
    for joint in joints:
        found[joint.name] = slice(at, at + getattr(joint, size))
        at += getattr(joint, size)
    return found


def _places(joints: Sequence[Joint], every: dict[str, slice]) -> np.ndarray:
    """Where the numbers of joints are among all."""
    return np.array([k for joint in joints for k in range(every[joint.name].start, every[joint.name].stop)], dtype=int)


def _rows(
    every: dict[str, slice], own: dict[str, slice], following: dict[str, Following]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each number of all joints which it depends on, the ratio, and the offset."""
    size = max((part.stop for part in every.values()), default=0)
    index, ratios, offsets = np.zeros(size, dtype=np.int64), np.ones(size), np.zeros(size)
    for name, part in every.items():
        if name in following:
            leader, ratio, offset = following[name]
            index[part], ratios[part], offsets[part] = own[leader].start, ratio, offset
        else:
            index[part] = np.arange(own[name].start, own[name].stop)
    return index, ratios, offsets


def _independent(every: Tree, following: dict[str, Following], place: np.ndarray, column: np.ndarray) -> np.ndarray:
    """A topology of the links whose joints have coordinates in q: what spaces and groups of configurations look at. It
    knows no ways to the ground."""
    table = link_table(every.topology)
    table = table[[name not in following for name in every.joint_of_link]].copy()
    table[:, LINK.coordinate], table[:, LINK.velocity] = (
        place[table[:, LINK.coordinate]],
        column[table[:, LINK.velocity]],
    )
    head = every.topology[: HEAD.size].copy()
    head[HEAD.links] = len(table)
    head[HEAD.coordinates], head[HEAD.velocities] = place.max(initial=-1) + 1, column.max(initial=-1) + 1
    return np.concatenate([head, table.ravel()])
