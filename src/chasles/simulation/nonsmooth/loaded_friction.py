"""Friction in proportion to the load of a joint: bearings, guides and threads.

A joint carries N = sum |c + D x|, sums of lengths of vectors that are affine in the forces x along the coordinates: the
radial force of a bearing times its radius, the forces across the axis at the ends of a guide. Friction is at most mu N,
and N depends on friction. Where it slips, x = -s (F + mu N(x)), which Newton's method solves; there is one solution
while friction changes its own load by less than itself. If not, Painlevé's paradox is near, and an error says so.

The wrench through a joint is what a free joint in its place would have to give: inverse dynamics of the opened tree.

A thread of mean radius r and pitch h (per radian) has the lead angle tan l = h / r. Its flanks push with N, and mu N
acts along the thread, which is mu N r / cos l of torque along the coordinate. The axial force F is that of both, so
N = F / cos l - x sin l / r with the torque x of friction: N depends on x by itself too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.joint import Joint, free
from chasles.model.system import System
from chasles.relative.forward import forward_dynamics
from chasles.relative.inverse import inverse_dynamics
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.closing_pushes import ClosingPushes

ITERATIONS = 50
CONVERGED = 1e-14  # of the largest force


class FrictionLoadError(ArithmeticError):
    """Friction changes its own load too strongly: the motion is not unique, or does not exist (Painlevé's paradox)."""


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
        left = sums @ lengths - loads
        step = left / (1.0 - rates[0, 0]) if len(slip) == 1 else np.linalg.solve(np.eye(len(slip)) - rates, left)
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
        "unique, or there is none. Look at friction_coefficient, bearing_radius, guide_length and thread_radius, or "
        "give friction"
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
        leads = [np.dot(joint.screws[0][:3], joint.screws[0][3:]) for joint in self.loaded]
        self.own = np.array([-leads[k] / (self.loaded[k].thread_radius or 1.0) for k, _ in terms])  # of threads
        self.frames = self._link_frames()
        self.pushes = None if self.closed is None else ClosingPushes(self.closed)
        self._place_joints()

    def _place_joints(self) -> None:
        """Where coordinates and velocities of joints that stay are in those of the opened tree."""
        here, there = self.tree.tree, self.opened.tree
        stay = [joint.name for joint in here.joints if not joint.is_loaded]

        def numbers(of: dict[str, slice]) -> np.ndarray:
            return np.array([k for name in stay for k in range(of[name].start, of[name].stop)], dtype=int)

        self.places = numbers(there.coordinates), numbers(here.coordinates)
        self.columns = numbers(there.velocities), numbers(here.velocities)
        self.screws = np.array([joint.screws[0] for joint in self.loaded])
        self.own_q = np.array([here.coordinates[joint.name].start for joint in self.loaded])
        self.own_v = np.array([here.velocities[joint.name].start for joint in self.loaded])
        self.free_q = np.array([there.coordinates[joint.name].start for joint in self.loaded])[:, None] + np.arange(7)
        self.free_v = np.array([there.velocities[joint.name].start for joint in self.loaded])[:, None] + np.arange(6)

    def _link_frames(self) -> np.ndarray:
        """What takes wrenches on the links of the tree to the frames of those of the opened tree, (links, 6, 6)."""
        found = np.tile(np.eye(6), (self.tree.tables.links, 1, 1))
        for body, link in enumerate(self.tree.tree.link_of_body):
            if link >= 0:
                here, there = self.tree.tree.body_in_link[body], self.opened.tree.body_in_link[body]
                frame = pose_group.compose(here, pose_group.inverse(there))
                found[link] = pose_group.AdT_apply(frame, np.eye(6)).T
        return found

    def response(
        self, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float, columns: np.ndarray, scale: np.ndarray
    ) -> Response:
        """The response at a state under u; forces are in units of `scale`, accelerations times these."""
        forces = np.tile(u, (len(columns) + 1, 1))
        forces[np.arange(len(columns)) + 1, columns] += scale
        acting = self.mechanism.applied_forces(q, v, t)
        on_links = np.tile(acting.wrenches, (len(forces), 1))
        wrenches = on_links.reshape(len(forces), -1, 6)
        tau = forces + acting.tau
        if self.pushes is None:
            arrays = {"q": np.tile(q, (len(tau), 1)), "v": np.tile(v, (len(tau), 1)), "tau": tau, "wrenches": on_links}
            (found,), _ = self.tree.tables.run("simulate", forward_dynamics, arrays)
            a = found.reshape(len(forces), -1)
        else:
            a, closing = self.pushes.motion(q, v, t, tau, on_links)
            wrenches = wrenches + closing
        vectors = np.einsum("tij,rtj->rti", self.pick, self._through(q, v, a, wrenches)[:, self.joint_of_term])
        W = scale[:, None] * (a[1:, columns] - a[0, columns]).T
        D = (vectors[1:] - vectors[0]).transpose(1, 2, 0)
        D[np.arange(len(D)), 0, self.whose] += self.own * scale[self.whose]
        return Response(scale * a[0, columns], W, vectors[0], D, self.whose)

    def _through(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
        """The wrenches through the loaded joints, in their frames on the children, (rows, joints, 6), for accelerations
        (rows, nv) and wrenches on the links (rows, links, 6)."""
        at, speed, rate = np.zeros(self.opened.nq), np.zeros(self.opened.nv), np.zeros((len(a), self.opened.nv))
        at[self.places[0]], speed[self.columns[0]] = q[self.places[1]], v[self.columns[1]]
        rate[:, self.columns[0]] = a[:, self.columns[1]]
        at[self.free_q] = pose_group.exp(q[self.own_q, None] * self.screws)
        speed[self.free_v] = v[self.own_v, None] * self.screws
        rate[:, self.free_v] = a[:, self.own_v, None] * self.screws
        rows = [np.tile(x, (len(a), 1)) for x in (at, speed)]
        on_links = (self.frames @ wrenches[..., None]).reshape(len(a), -1)
        arrays = {"q": rows[0], "v": rows[1], "a": rate, "wrenches": on_links}
        (tau,), _ = self.opened.tables.run("simulate", inverse_dynamics, arrays)
        return tau.reshape(len(a), -1)[:, self.free_v]


def _opened(joint: Joint) -> Joint:
    return free(joint.name, joint.parent, joint.child, at=joint.parent_frame, child_at=joint.child_frame)


def _terms(joint: Joint) -> list[np.ndarray]:
    """Maps (3, 6) from the wrench through a joint to the vectors whose lengths are its load."""
    screw = np.array(joint.screws[0])
    axis = screw[:3] if screw[:3].any() else screw[3:]
    across, none = np.eye(3) - np.outer(axis, axis), np.zeros((3, 3))
    if joint.thread_radius:
        radius, lead = joint.thread_radius, float(screw[3:] @ axis)
        along = np.zeros((3, 3))
        along[0] = (radius + lead**2 / radius) * axis
        return [np.hstack([none, along])]
    if screw[:3].any():
        return [np.hstack([none, joint.bearing_radius * across])]
    if not joint.guide_length:
        return [np.hstack([none, across])]
    turn = np.cross(axis, np.eye(3), axisb=0, axisc=0) / joint.guide_length
    return [np.hstack([sign * turn, 0.5 * across]) for sign in (1.0, -1.0)]
