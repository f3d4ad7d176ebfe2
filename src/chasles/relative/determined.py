"""Whether the masses of a tree determine the accelerations of all its joints.

A motion without kinetic energy leaves every link at rest that has a mass and moments of inertia about all axes. So it
takes place within islands: links without, that hang together, with the joints around them. There the joints must move
so that the links around the island stay at rest, and so that no mass and no moment within it moves. If there is
such a motion, the mass matrix is singular. As islands are few and small, this costs next to nothing; and as it is a
question of ranks alone, a small mass or armature is as good as a large one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.once import once
from chasles.relative.mechanism import Mechanism
from chasles.relative.system_level import joint_screws, link_poses
from chasles.relative.tables import CONSTANT, GRAVITY, LINK, link_table
from chasles.relative.tree_tables import CAN_SPIN

NOTHING = 1e-13  # of a body's largest moment of inertia: smaller ones are rounding
DEPENDENT = 1e-9  # of singular values of columns of length one
INVOLVED = 1e-6  # of a motion's largest velocity: joints with less have no part in it


class Idle(NamedTuple):
    """A motion without kinetic energy: its joints, and the bodies that would have to have more inertia."""

    joints: tuple[str, ...]
    bodies: tuple[str, ...]


class Islands:
    """The links of a tree that lack mass or moments of inertia, in groups that hang together."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism, tree = mechanism, mechanism.tree
        table = link_table(mechanism.tree.topology)
        self.parents = table[:, LINK.parent].tolist()
        self.bodies_of: dict[int, list[int]] = {}
        bodies, full = mechanism.system.bodies, np.zeros(len(table), dtype=bool)
        moments = np.linalg.eigvalsh(np.array([body.inertia for body in bodies]).reshape(-1, 3, 3))
        whole = (np.array([body.mass for body in bodies]) > 0) & (moments[:, 0] > NOTHING * moments[:, 2])
        for k, link in enumerate(tree.link_of_body.tolist()):
            if link >= 0:
                full[link] |= whole[k]
                self.bodies_of.setdefault(link, []).append(k)
        self.children: dict[int, list[int]] = {}
        group: dict[int, list[int]] = {}
        for link, parent in enumerate(self.parents):
            self.children.setdefault(parent, []).append(link)
            if not full[link]:
                group[link] = group.get(parent, [])
                group[link].append(link)
        self.full = full
        self.any_screws = {joint.name for joint in tree.all_joints if joint.traits.any_screws}
        unique = {id(links): links for links in group.values()}.values()
        self.groups = [links for links in unique if not self._within_a_joint(links)]

    def _within_a_joint(self, links: list[int]) -> bool:
        """Whether these are the links between the axes of one joint whose axes never depend on each other."""
        owners = self.mechanism.tree.joint_of_link
        owner = owners[links[0]]
        around = [child for link in links for child in self.children.get(link, ()) if child not in links]
        return (
            owner not in self.any_screws
            and all(owners[link] == owner for link in (*links, *around))
            and not any(self.bodies_of.get(link) for link in links)
        )

    def idle(self, q: np.ndarray) -> Idle | None:
        """A motion without kinetic energy at a configuration, if there is one."""
        if not self.groups:
            return None
        poses = link_poses(self.mechanism, q)
        return next(filter(None, (self._idle_within(links, poses) for links in self.groups)), None)

    def _idle_within(self, links: list[int], poses: np.ndarray) -> Idle | None:
        """Columns are the velocities of the joints of the island and around it, rows what must not move."""
        mechanism, tree, origin = self.mechanism, self.mechanism.tree, poses[links[0], 4:]
        constants = mechanism.tree.numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)
        kinds = link_table(mechanism.tree.topology)[:, LINK.kind].tolist()
        around = [child for link in links for child in self.children.get(link, ()) if self.full[child]]
        moving, screws, owner = [*links, *around], [], []
        every = set(moving)
        for link in moving:
            own = joint_screws(constants[link], kinds[link])
            seen = np.concatenate([poses[link, :4], poses[link, 4:] - origin])  # in space, about the island
            screws.append(np.array([pose_group.Ad_apply(seen, column) for column in own.T]).T)
            owner += [link] * own.shape[1]
        columns, turns, moves, points = np.concatenate(screws, axis=1), [], [], [np.zeros(3)]
        for link in moving:
            way, at = set(), link
            while at in every:
                way.add(at)
                at = self.parents[at]
            twist = columns * np.isin(owner, list(way))
            if link in around:
                points.append(poses[link, 4:] - origin)
                turns.append(twist[:3])
                moves.append(_velocity(twist, points[-1]))
                continue
            for k in self.bodies_of.get(link, ()):
                body, pose = mechanism.system.bodies[k], pose_group.compose(poses[link], tree.body_in_link[k])
                moments, axes = np.linalg.eigh(np.array(body.inertia))
                turns.append((quaternion_to_matrix(pose[:4]) @ axes).T[moments > NOTHING * moments[-1]] @ twist[:3])
                if body.mass > 0:
                    points.append(pose_group.act(pose, np.array(body.com)) - origin)
                    moves.append(_velocity(twist, points[-1]))
        size = np.abs(np.array(points)).max() or 1.0
        lengths = np.sqrt((columns[:3] ** 2).sum(axis=0) + (columns[3:] ** 2).sum(axis=0) / size**2)
        rotors = np.eye(len(owner))[[constants[link, CONSTANT.armature] > 0 for link in owner]]
        felt = np.concatenate([np.concatenate([*turns, *(block / size for block in moves)]) / lengths, rotors])
        return self._named(felt, owner, links)

    def _named(self, felt: np.ndarray, owner: list[int], links: list[int]) -> Idle | None:
        """What moves without being felt, by names."""
        _, sizes, right = np.linalg.svd(felt)
        rank = int(np.count_nonzero(sizes > DEPENDENT))
        if rank == len(owner):
            return None
        share = np.abs(right[rank:]).max(axis=0)
        tree, bodies = self.mechanism.tree, self.mechanism.system.bodies
        joints = dict.fromkeys(tree.joint_of_link[owner[k]] for k in np.flatnonzero(share > INVOLVED * share.max()))
        lacking = [bodies[k].name for link in links for k in self.bodies_of.get(link, ())]
        return Idle(tuple(joints), tuple(lacking))


def require_determined(mechanism: Mechanism, q: np.ndarray | None = None) -> None:
    """ValueError if joints can move without moving any mass: at two random configurations, that is by the structure of
    the model, or at the given one."""
    islands, idle = _examined(mechanism)
    where = "wherever the mechanism is"
    if idle is None and q is not None:
        idle, where = islands.idle(q), "at the start"
    if idle is None:
        return
    if mechanism.tree.dependence is not None and _moves_mass(mechanism, q):
        return
    raise ValueError(f"{mechanism.system.name!r}: {where}, {_described(mechanism, idle)}")


@once
def _examined(mechanism: Mechanism) -> tuple[Islands, Idle | None]:
    """The islands of a mechanism, and a motion without kinetic energy that it has wherever it is."""
    islands, rng = Islands(mechanism), np.random.default_rng(1)
    found = [islands.idle(mechanism.random(rng)) for _ in range(2)] if islands.groups else [None]
    return islands, found[0] if all(found) else None


def _moves_mass(mechanism: Mechanism, q: np.ndarray | None) -> bool:
    """Whether every motion that followers leave moves a mass, though some of all joints would not."""
    matrix = mechanism.mass_matrix(mechanism.random(np.random.default_rng(2)) if q is None else q)
    sizes = np.sqrt(np.diag(matrix))
    return bool(sizes.all()) and bool(np.linalg.eigvalsh(matrix / np.outer(sizes, sizes))[0] > DEPENDENT**1.5)


def _described(mechanism: Mechanism, idle: Idle) -> str:
    """What is wrong, and what to do."""
    joints = [joint for joint in mechanism.tree.all_joints if joint.name in idle.joints]
    several, listed = len(joints) > 1, " or ".join(map(repr, idle.bodies))
    advice = [f"give {listed} a mass and moments of inertia"] if idle.bodies else []
    if any(joint.screws for joint in joints):
        advice.append(f"give {'one of the joints' if several else 'the joint'} an armature")
    advice.append("leave out a joint that adds no motion" if several else "take a joint with fewer freedoms")
    if not several and joints[0].traits.ball:
        advice = [f"{listed} has {CAN_SPIN}"]
    return (
        f"{'joints' if several else 'joint'} {', '.join(map(repr, idle.joints))} can move "
        f"{'against each other ' if several else ''}without moving any mass or moment of inertia, so nothing "
        f"determines {'their accelerations' if several else 'its acceleration'} (the mass matrix is singular): "
        f"{', or '.join(advice)}"
    )


def _velocity(twist: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Velocity of a point from twists about the origin, (3, columns)."""
    return twist[3:] + np.cross(twist[:3].T, point).T
