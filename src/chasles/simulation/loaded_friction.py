"""Friction in proportion to the load of a joint: bearings and guides.

A joint carries N = sum |c + D x|, sums of lengths of vectors that are affine in the forces x along the coordinates: the
radial force of a bearing times its radius, the forces across the axis at the ends of a guide. Friction is at most mu N,
and N depends on friction. Where it slips, x = -s (F + mu N(x)), which Newton's method solves; there is one solution
while friction changes its own load by less than itself. If not, Painlevé's paradox is near, and an error says so.

The wrench through a joint is what a free joint in its place would have to give: inverse dynamics of the opened tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.joint import Joint, free
from chasles.model.system import System
from chasles.relative.forward import forward_dynamics
from chasles.relative.inverse import inverse_dynamics
from chasles.relative.loop.assembly import LoopEquations, smallest_of
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.reaction import closing_wrenches
from chasles.relative.mechanism import Mechanism

ITERATIONS = 50
CONVERGED = 1e-14  # of the largest force


class FrictionLoadError(ArithmeticError):
    """Friction that changes its own load by more than itself: the motion is not unique, or there is none."""


class Response(NamedTuple):
    """What forces x along some coordinates do at a state: accelerations a + W x of these coordinates, and vectors
    c + D x, (terms, 3), whose lengths are the load of each coordinate of `whose`."""

    a: np.ndarray
    W: np.ndarray
    c: np.ndarray
    D: np.ndarray
    whose: np.ndarray

    def loads(self, x: np.ndarray) -> np.ndarray:
        """The load of each coordinate."""
        lengths = np.linalg.norm(self.c + self.D @ x, axis=1)
        return np.bincount(self.whose, lengths, len(self.a))


def slipping_forces(
    response: Response, stuck: np.ndarray, slip: np.ndarray, force: np.ndarray, coefficient: np.ndarray, names: Any
) -> np.ndarray:
    """Forces x where `slip` (-1 to 1) has -slip (force + coefficient N(x)), and what is stuck does not accelerate."""
    base = -slip * force
    through = np.diag(-slip * coefficient)  # all forces, of the loads
    if stuck.any():
        hold = np.linalg.pinv(response.W[np.ix_(stuck, stuck)])
        others = response.W[np.ix_(stuck, ~stuck)]
        base[stuck] = -hold @ (response.a[stuck] + others @ base[~stuck])
        through[stuck] = -hold @ (others @ through[~stuck])
    if not len(response.whose):
        return base
    c, D = response.c + response.D @ base, response.D @ through
    sums = (response.whose == np.arange(len(slip))[:, None]).astype(float)
    loads = np.zeros(len(slip))
    for _ in range(ITERATIONS):
        vectors = c + D @ loads
        lengths = np.sqrt((vectors * vectors).sum(axis=1))
        along = vectors / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        rates = sums @ (along[:, None] @ D)[:, 0]
        step = np.linalg.solve(np.eye(len(slip)) - rates, sums @ lengths - loads)
        loads += step
        if np.abs(step).max() <= CONVERGED * np.abs(loads).max():
            break
    else:
        _refuse(slip, names, "has no solution that could be found")
    if np.abs(rates).sum(axis=1).max() >= 1.0 and np.abs(np.linalg.eigvals(rates)).max() >= 1.0:
        _refuse(slip, names, "changes its load by more than itself")
    return base + through @ loads


def _refuse(slip: np.ndarray, names: Any, what: str) -> None:
    listed = ", ".join(repr(name) for name, moves in zip(names, slip, strict=True) if moves)
    raise FrictionLoadError(
        f"simulate: friction in proportion to the load of {listed} {what} (Painlevé's paradox): the motion is not "
        "unique, or there is none. Look at friction_coefficient, bearing_radius and guide_length, or give friction"
    )


class Loads:
    """What joints with a coefficient of friction carry; `names` are those of all coordinates that are looked at."""

    def __init__(self, mechanism: Mechanism | ClosedMechanism, names: tuple[str, ...]):
        self.mechanism = mechanism
        self.closed = mechanism if isinstance(mechanism, ClosedMechanism) else None
        tree = mechanism.spanning if isinstance(mechanism, ClosedMechanism) else mechanism
        self.loaded = [joint for joint in tree.tree.joints if joint.is_loaded]
        opened = [_opened(joint) if joint.is_loaded else joint for joint in tree.system.joints]
        self.tree, self.opened = tree, Mechanism(System(tree.system.bodies, opened, gravity=tree.system.gravity))
        terms = [(k, term) for k, joint in enumerate(self.loaded) for term in _terms(joint)]
        self.joint_of_term = np.array([k for k, _ in terms])
        self.whose = np.array([names.index(self.loaded[k].name) for k, _ in terms])
        self.pick = np.array([term for _, term in terms])
        self.frames = self._link_frames()

    def _link_frames(self) -> np.ndarray:
        """Frames of the links of the opened tree in those of the tree."""
        found = np.tile(pose_group.identity(), (self.tree.tables.links, 1))
        for body, link in enumerate(self.tree.tree.link_of_body):
            if link >= 0:
                here, there = self.tree.tree.body_in_link[body], self.opened.tree.body_in_link[body]
                found[link] = pose_group.compose(here, pose_group.inverse(there))
        return found

    def response(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float, columns: np.ndarray, scale: np.ndarray
    ) -> Response:
        """The response at a state under u; forces are in units of `scale`, accelerations times these."""
        forces = np.tile(u, (len(columns) + 1, 1))
        forces[np.arange(len(columns)) + 1, columns] += scale
        states = [np.tile(x, (len(forces), 1)) for x in (q, v)]
        acting = self.mechanism.applied_forces(q, v, t)
        on_links = np.tile(acting.wrenches, (len(forces), 1))
        wrenches = on_links.reshape(len(forces), -1, 6)
        arrays = {"q": states[0], "v": states[1], "tau": forces + acting.tau}
        if self.closed is None:
            (found,), _ = self.tree.tables.run("simulate", forward_dynamics, arrays | {"wrenches": on_links})
            a = found.reshape(len(forces), -1)
        else:
            motion = self.closed.motion_on_links("simulate", arrays, on_links, t, smallest=False)
            a, multipliers = motion.accelerations, smallest_of(LoopEquations(self.closed, t), q, motion.multipliers)
            wrenches = wrenches + closing_wrenches(
                self.closed, states[0], states[1], np.full(len(forces), t), multipliers
            )
        vectors = np.einsum("tij,rtj->rti", self.pick, self._through(q, v, a, wrenches)[:, self.joint_of_term])
        W = scale[:, None] * (a[1:, columns] - a[0, columns]).T
        return Response(scale * a[0, columns], W, vectors[0], np.moveaxis(vectors[1:] - vectors[0], 0, -1), self.whose)

    def _through(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
        """The wrenches through the loaded joints, in their frames on the children, (rows, joints, 6), for accelerations
        (rows, nv) and wrenches on the links (rows, links, 6)."""
        tree, opened = self.tree.tree, self.opened.tree
        at, speed, rate = np.zeros(self.opened.nq), np.zeros(self.opened.nv), np.zeros((len(a), self.opened.nv))
        for joint in tree.joints:
            places, columns = tree.coordinates[joint.name], tree.velocities[joint.name]
            into = opened.velocities[joint.name]
            if joint.is_loaded:
                screw = np.array(joint.screws[0])
                at[opened.coordinates[joint.name]] = pose_group.exp(q[places] * screw)
                speed[into], rate[:, into] = v[columns] * screw, a[:, columns] * screw
            else:
                at[opened.coordinates[joint.name]] = q[places]
                speed[into], rate[:, into] = v[columns], a[:, columns]
        rows = [np.tile(x, (len(a), 1)) for x in (at, speed)]
        on_links = pose_group.AdT_apply(self.frames, wrenches).reshape(len(a), -1)
        arrays = {"q": rows[0], "v": rows[1], "a": rate, "wrenches": on_links}
        (tau,), _ = self.opened.tables.run("simulate", inverse_dynamics, arrays)
        tau = tau.reshape(len(a), -1)
        return np.stack([tau[:, opened.velocities[joint.name]] for joint in self.loaded], axis=1)


def _opened(joint: Joint) -> Joint:
    return free(joint.name, joint.parent, joint.child, at=joint.parent_frame, child_at=joint.child_frame)


def _terms(joint: Joint) -> list[np.ndarray]:
    """Maps (3, 6) from the wrench through a joint to the vectors whose lengths are its load."""
    screw = np.array(joint.screws[0])
    axis = screw[:3] if screw[:3].any() else screw[3:]
    across, none = np.eye(3) - np.outer(axis, axis), np.zeros((3, 3))
    if screw[:3].any():
        return [np.hstack([none, joint.bearing_radius * across])]
    if not joint.guide_length:
        return [np.hstack([none, across])]
    turn = np.cross(axis, np.eye(3), axisb=0, axisc=0) / joint.guide_length
    return [np.hstack([sign * turn, 0.5 * across]) for sign in (1.0, -1.0)]
