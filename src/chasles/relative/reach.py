"""Coordinates that bring a frame to a pose: `Mechanism.inverse_kinematics` and its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.model.body import GROUND
from chasles.model.placement import as_pose
from chasles.model.scale import length_of, own_lengths, velocity_sizes
from chasles.relative.approach import Approach
from chasles.relative.inverse_kinematics import CONVERGED, SQUARE, approach
from chasles.relative.limits import joint_limits

if TYPE_CHECKING:
    from chasles.relative.mechanism import Mechanism

ROUNDING = 4 * np.finfo(float).eps  # of the moment of a screw: a pitch below is none


@dataclass(frozen=True)
class Reach:
    """How near a frame came to its target.

    residual: length of the weighted error (rotation [rad], position [m]); iterations of the best start, which was the
    given one if `restarts` is 0, else that one of the random ones.
    """

    q: np.ndarray
    success: bool
    residual: float
    iterations: int
    restarts: int
    message: str

    def __bool__(self) -> bool:
        return self.success


def limits_of(mechanism: Mechanism) -> np.ndarray:
    """Lower limits of all velocities' coordinates, then upper ones; infinite for spherical and free joints."""
    return np.concatenate(joint_limits(mechanism.tree.joints)[:2])


def random_start(mechanism: Mechanism, rng: np.random.Generator, limits: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Coordinates within their limits, where infinite within π of `near`, angles or lengths of the mechanism; rotations
    uniform, positions near."""
    q, sizes = near.copy(), limits[2 * mechanism.nv :]
    for joint in mechanism.tree.joints:
        at, along = mechanism.tree.coordinates[joint.name], mechanism.tree.velocities[joint.name]
        if joint.traits.quaternion:
            unit = rng.normal(size=4)
            q[at.start : at.start + 4] = unit / np.linalg.norm(unit)
            q[at.start + 4 : at.stop] += sizes[along][3:] * rng.normal(size=at.stop - at.start - 4)
        else:
            low, high = limits[: mechanism.nv][along], limits[mechanism.nv : 2 * mechanism.nv][along]
            half = math.pi * sizes[along]
            low = np.maximum(low, np.minimum(high, near[at] + half) - 2 * half)
            q[at] = rng.uniform(low, np.minimum(high, low + 2 * half))
    return q


class Aim(NamedTuple):
    """What inverse kinematics is asked for, checked: the frame on its link, its target, and how near to come."""

    frame: str
    link: int
    offset: np.ndarray
    goal: np.ndarray
    weights: np.ndarray  # as given, of rotation [1/rad] and position [1/m]
    inner: np.ndarray  # with positions in lengths of the mechanism
    limits: np.ndarray  # lower and upper ones of all velocities' coordinates, then what is large for each
    start: np.ndarray
    tolerance: float
    iterations: int
    restarts: int
    seed: int


def aim(
    mechanism: Mechanism,
    frame: str,
    target: ArrayLike,
    q0: ArrayLike | None,
    weights: ArrayLike,
    tolerance: float,
    iterations: int,
    restarts: int,
    seed: int,
) -> Aim:
    """The arguments of `Mechanism.inverse_kinematics`, checked."""
    name = "inverse_kinematics"
    goal = np.array(as_pose(name, "target", target))
    scales = real_array(name, "weights", weights, (2,))
    if scales.shape != (2,) or not (scales >= 0).all() or not scales.any():
        raise ValueError(f"{name}: weights is {scales.tolist()}; expected two numbers, of rotation and of position")
    if not tolerance > 0 or iterations < 1 or restarts < 0:
        raise ValueError(f"{name}: expected tolerance > 0, iterations >= 1 and restarts >= 0")
    (link,), offset = mechanism.tables.places(name, [frame])
    if link < 0:
        raise ValueError(f"{name}: frame {frame!r} is fixed to the ground: no coordinate moves it")
    length, sizes = _scales(mechanism, frame)
    limits = np.concatenate([limits_of(mechanism), sizes])
    start, inner = _start(mechanism, name, limits, q0), scales * (1.0, 1.0 / length)
    given = float(tolerance), iterations, restarts, seed
    return Aim(frame, link, offset, goal, scales, inner, limits, start, *given)


def reach(mechanism: Mechanism, aim: Aim) -> Reach:
    """See `Mechanism.inverse_kinematics`."""
    if mechanism.tree.dependence is not None:
        attempt: Callable[[np.ndarray], tuple[int, int, float, np.ndarray]] = Approach(mechanism, aim)
    else:
        attempt = _compiled(mechanism, aim)
    best = best_of(mechanism, aim, attempt)
    best = replace(best, q=nearest_turns(mechanism, best.q, aim))
    return replace(best, residual=error_of(mechanism, aim, best.q))


def _compiled(mechanism: Mechanism, aim: Aim) -> Callable[[np.ndarray], tuple[int, int, float, np.ndarray]]:
    """An attempt from a start in compiled code."""
    work = np.empty(SQUARE + 25 * mechanism.nv + mechanism.nq)

    def attempt(q: np.ndarray) -> tuple[int, int, float, np.ndarray]:
        found = approach(
            *(mechanism.tree.topology, mechanism.tree.numbers, aim.link, aim.offset, aim.goal, aim.inner, aim.limits),
            *(aim.tolerance, aim.iterations, q, work),
        )
        return *found, q

    return attempt


def best_of(
    mechanism: Mechanism, aim: Aim, attempt: Callable[[np.ndarray], tuple[int, int, float, np.ndarray]]
) -> Reach:
    """The best of what is found from the given start, and if that does not do from random ones."""
    rng, best = np.random.default_rng(aim.seed), Reach(aim.start, False, math.inf, 0, 0, "")
    for k in range(aim.restarts + 1):
        q = aim.start.copy() if k == 0 else random_start(mechanism, rng, aim.limits, aim.start)
        ended, count, residual, q = attempt(q)
        if residual < best.residual:
            message = (
                "converged",
                "no step lowers the error: out of reach, or a local minimum",
                "more iterations are needed",
            )[ended]
            best = Reach(q, ended == CONVERGED, residual, count, k, message)
        if ended == CONVERGED:
            break
    return best


def nearest_turns(mechanism: Mechanism, q: np.ndarray, aim: Aim) -> np.ndarray:
    """The same configuration with the angles of revolute axes within half a turn of the start, where their limits let
    them: steps and random starts may have added whole turns. The pitch of a screw makes a turn count."""
    q, start, depends = q.copy(), aim.start, mechanism.tree.dependence
    led = set() if depends is None else {rule.leader for rule in depends.following.values()}  # a turn moves others
    low, high = aim.limits[: mechanism.nv], aim.limits[mechanism.nv : 2 * mechanism.nv]
    for joint in mechanism.tree.joints:
        at, along = mechanism.tree.coordinates[joint.name].start, mechanism.tree.velocities[joint.name].start
        for k, screw in enumerate(np.array(() if joint.name in led else joint.screws).reshape(-1, 6)):
            if screw[:3].any() and abs(screw[:3] @ screw[3:]) <= ROUNDING * np.linalg.norm(screw[3:]):
                turns = np.round((q[at + k] - start[at + k]) / (2 * math.pi))
                wrapped = q[at + k] - 2 * math.pi * turns
                q[at + k] = wrapped if low[along + k] <= wrapped <= high[along + k] else q[at + k]
    return q


def error_of(mechanism: Mechanism, aim: Aim, q: np.ndarray) -> float:
    """Length of the weighted error, rotation [rad] and position [m]."""
    pose = mechanism.poses(q, aim.frame)
    turn = pose_group.log(pose_group.compose(pose_group.inverse(pose), aim.goal))[:3]
    return math.hypot(*(aim.weights[0] * turn), *(aim.weights[1] * (aim.goal[4:] - pose[4:])))


def _scales(mechanism: Mechanism, frame: str) -> tuple[float, np.ndarray]:
    """The largest length of a body on the way from the ground to a frame, to compare its position with [m], and what is
    large for each coordinate: 1 rad, or this length. Sliding joints have none of their own but for their limits."""
    tree, system = mechanism.tree, mechanism.system
    inbound = {joint.child: joint for joint in tree.all_joints}
    place, length = system.frame(frame), 0.0
    body, at = place.body, np.array(place.pose[4:])
    while body != GROUND:
        joint = inbound[body]
        length = max(length, float(np.linalg.norm(at - np.array(joint.child_frame[4:]))), *own_lengths(joint))
        body, at = joint.parent, np.array(joint.parent_frame[4:])
    length = length or length_of(system)
    return length, velocity_sizes(tree.joints, {joint.name: length for joint in tree.joints})


def _start(mechanism: Mechanism, name: str, limits: np.ndarray, q0: ArrayLike | None) -> np.ndarray:
    """The given coordinates, or neutral ones moved into the limits; ValueError for coordinates outside of them."""
    q = mechanism.neutral() if q0 is None else mechanism.tables.check_q(name, q0)
    if q.shape != (mechanism.nq,):
        raise ValueError(f"{name}: q0 has shape {q.shape}; expected ({mechanism.nq},)")
    for joint in mechanism.tree.joints:
        if not joint.screws:
            continue
        at, along = mechanism.tree.coordinates[joint.name], mechanism.tree.velocities[joint.name]
        inside = np.clip(q[at], limits[: mechanism.nv][along], limits[mechanism.nv : 2 * mechanism.nv][along])
        if q0 is not None and np.any(inside != q[at]):
            raise ValueError(f"{name}: q0 of joint {joint.name!r} is {q[at].tolist()}, outside of its limits")
        q[at] = inside
    return q
