"""A run as samples for the page: poses at the saved times, and on the curve between them where they are far apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.view.curve import Curve, Hinge, Samples, fitted, quanta
from chasles.view.scene import Scene, poses_at, poses_of_states, turning, unknown

NUMBERS = 40_000_000  # of poses that are looked at; of a longer run, only every so many saved times
INSIDE = (0.05, 0.2, 0.6)  # motion [rad, sizes] between saved times from which more points between them are looked at
JUMP = 1e-3  # part of the time between saved times in which bodies jump to the next, if it is not known how they moved
MOST = 15  # points between two saved times
ANGLE = 0.25  # radians from point to point where bodies turn far
MANY = 16383  # points between two saved times there, at most
WORK = 8_000_000  # numbers of poses between saved times that are looked at in one go, for that


def stride_of(run: Any, rows: int) -> int:
    """Every how many saved times are looked at."""
    bodies = max(len(run.mechanism.bodies), 1)
    return max(1, -(-rows * bodies * 7 // NUMBERS))


def rows_of(run: Any, first: int, last: int, stride: int) -> np.ndarray:
    """Rows first ... last that are looked at, both included, in rising time, up to numbers that are not finite."""
    rows = np.unique(np.append(np.arange(first, last, stride), last))
    rows = rows[np.concatenate([[True], np.diff(np.asarray(run.t)[rows]) != 0])]
    finite = np.isfinite(run.solution.y[rows]).all(axis=1)
    rows = rows if finite.all() else rows[: int(np.argmin(finite))]
    return rows[::-1] if len(rows) > 1 and run.t[rows[0]] > run.t[rows[-1]] else rows


def curve_of(run: Any, scene: Scene, rows: np.ndarray, extent: float, dense: bool) -> tuple[Curve, int, int]:
    """The curve of the motion at rows of a run and, if `dense`, between them; at how many times it was checked, and
    between how many saved times bodies turn too far to be followed: there they stay at the saved pose, and jump."""
    if dense:  # only what is near is looked at, in memory
        low, high = int(rows.min()), int(rows.max())
        run, rows = run.part(slice(low, high + 1)), rows - low
    t = np.asarray(run.t)[rows]
    saved = poses_of_states(run, run.solution.y[rows])
    # in the order of the run, which may go backwards in time
    ends = np.minimum(rows[:-1], rows[1:]), np.maximum(rows[:-1], rows[1:])
    turns = turning(run, *ends)
    if dense:
        inside, lost = _inside(scene, saved, turns)
        lost |= unknown(run, *ends)
    else:
        inside, lost = np.zeros(len(rows) - 1, dtype=int), ~(turns < np.pi)
    inside[lost] = 1
    samples = _sampled(run, t, saved, inside, lost)
    hinges, order = hinges_of(scene)
    curve = fitted(samples, quanta(extent), hinges, order)
    if dense:
        # a piece through all its samples was not checked between them: look closer there
        closer = np.zeros(len(inside), dtype=bool)
        for first, last in curve.unchecked:
            closer[np.searchsorted(t, first, "right") - 1 : np.searchsorted(t, last, "left")] = True
        closer &= ~lost
        if (closer & (inside < MOST)).any():
            samples = _sampled(run, t, saved, np.where(closer, np.maximum(inside, MOST), inside), lost)
            curve = fitted(samples, quanta(extent), hinges, order)
    return curve, len(samples.t) - int(lost.sum()), int(lost.sum())


def hinges_of(scene: Scene) -> tuple[list[Hinge | None], list[int]]:
    """For each body a joint that gives its position, if there is one, and the bodies in an order with parents first."""
    hinges: list[Hinge | None] = [None] * len(scene.bodies)
    for joint in scene.joints:
        if joint.traits.holds_point and hinges[joint.child] is None and not _carries(hinges, joint.child, joint.parent):
            hinges[joint.child] = Hinge(joint.parent, np.array(joint.parent_frame[4:]), np.array(joint.child_frame[4:]))
    order: list[int] = []
    seen: set[int] = set()
    for k in range(len(hinges)):
        way = []
        while k >= 0 and k not in seen:
            way.append(k)
            seen.add(k)
            hinge = hinges[k]
            k = -1 if hinge is None else hinge.parent
        order += reversed(way)
    return hinges, order


def _carries(hinges: list[Hinge | None], body: int, other: int) -> bool:
    """Whether a body carries another: hinges would go round in a circle."""
    while other >= 0:
        if other == body:
            return True
        hinge = hinges[other]
        other = -1 if hinge is None else hinge.parent
    return False


def _inside(scene: Scene, saved: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many points between saved times are looked at: 1, 3, 7, 15, and more where bodies turn far; and where that
    would be too many."""
    alike = np.abs(np.einsum("tbc,tbc->tb", saved[1:, :, :4], saved[:-1, :, :4])).clip(max=1.0)
    turned = 2 * np.arccos(alike)
    moved = np.linalg.norm(np.diff(saved[..., 4:], axis=0), axis=-1) / scene.size
    motion = np.maximum(turned, moved).max(axis=1, initial=0.0)
    points = 2 ** (1 + np.searchsorted(INSIDE, motion)) - 1
    room = min(max(MOST, WORK // max(1, 7 * len(scene.bodies) * len(points))), MANY)
    followed = turns < 2 * ANGLE * room  # of a run that went out of bounds, no number of points would do
    wanted = 2 ** np.ceil(np.log2(np.where(followed, turns, 0.0) / ANGLE + 1)).astype(int) - 1
    return np.maximum(points, np.minimum(wanted, room)), ~followed


def _sampled(run: Any, t: np.ndarray, saved: np.ndarray, inside: np.ndarray, lost: np.ndarray) -> Samples:
    """The motion at saved times and at so many between them. Where it is lost, there is one more, just before the next
    saved time, with the pose of the one before."""
    counts = inside + 1
    first = np.concatenate([[0], np.cumsum(counts)])  # where the saved ones are
    total = int(first[-1]) + 1
    breaks = np.zeros(total, dtype=bool)
    breaks[first] = True
    step = np.concatenate([np.arange(total - 1) - np.repeat(first[:-1], counts), [0]])
    interval = np.concatenate([np.repeat(np.arange(len(inside)), counts), [len(inside)]])
    length = np.append(np.diff(t) / counts, 0.0)
    times = t[interval] + step * length[interval]
    poses = np.empty((total, *saved.shape[1:]))
    poses[first] = saved
    between = ~breaks
    cuts = np.zeros(total, dtype=bool)
    at = first[:-1][lost]
    times[at + 1], poses[at + 1] = t[1:][lost] - JUMP * np.diff(t)[lost], saved[:-1][lost]
    cuts[at] = cuts[at + 1] = cuts[at + 2] = True
    between[at + 1] = False
    if between.any():
        poses[between] = poses_at(run, times[between])
    return Samples(times, poses, breaks, cuts)
