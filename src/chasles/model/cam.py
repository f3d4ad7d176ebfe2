"""Cams: a point of one body, the center of a roller on it, or its flat face stays on a planar curve of another.

The curve is a cubic spline through points, c(u), with the length of the chords as its parameter: periodic if it is
closed, natural if it is open. For a point r in its plane, u is that of the nearest place, so it is no state: it is
found anew wherever the constraint is evaluated, and there is no seam. With the tangent e and the normal n there, the
distance φ = n·(r - c) has the gradient n and the second derivative -κ/(1 - φ κ) e eᵀ, κ = n·c''/|c'|².

A flat face through r with the normal m, away from the cam, touches where m·c(u) is largest, m·c' = 0. So φ = m·(r - c)
changes with m and r alone, φ' = m·r' + m'·(r - c), and m·c'' u' = -m'·c'.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chasles.kernel.algebra import cross, dot, mat_mul, mul, mul_t, sub, transpose
from chasles.kernel.lanes import primal, sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, store3
from chasles.lie import pose as pose_group
from chasles.lie import quaternion
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.law import Law
from chasles.model.placement import (
    ORIGIN,
    Pose,
    as_numbers,
    as_pose,
    check_name,
    frame_with_z,
    two_bodies,
    unit_vector,
)

MOST = 2000  # points of a profile
FINE = 4  # places of each piece at which a profile is checked
ITERATIONS = 40
SAME_PLACE = 4e-16  # step to the nearest place, of the whole length, at which it is found
BEYOND = 1e-9  # of the whole length: nearer to an end a point is not beyond it
# parameters of the law; behind them the places of the points on the curve, and four coefficients of x and y each
CURVE = layout("CURVE", pieces=1, closed=1, radius=1, side=1, length=1)
NOT_A_NUMBER = float("nan")


@kernel
def on_curve(p: Any, u: Any) -> Any:
    """Place, first and second derivative of the curve at u."""
    pieces, low = int(p[CURVE.pieces]), 0
    high = pieces
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if p[CURVE.size + middle] <= u else (low, middle)
    s, at = u - p[CURVE.size + low], CURVE.size + pieces + 1 + 8 * low
    x = p[at] + s * (p[at + 1] + s * (p[at + 2] + s * p[at + 3]))
    y = p[at + 4] + s * (p[at + 5] + s * (p[at + 6] + s * p[at + 7]))
    dx = p[at + 1] + s * (2.0 * p[at + 2] + s * 3.0 * p[at + 3])
    dy = p[at + 5] + s * (2.0 * p[at + 6] + s * 3.0 * p[at + 7])
    return x, y, dx, dy, 2.0 * p[at + 2] + 6.0 * s * p[at + 3], 2.0 * p[at + 6] + 6.0 * s * p[at + 7]


@kernel
def first_guess(p: Any, x: Any, y: Any) -> Any:
    """The nearest of the points that the curve goes through, and of the middles between them."""
    pieces, best, least = int(p[CURVE.pieces]), 0.0, -1.0
    for k in range(2 * pieces + 1):
        u = p[CURVE.size + k // 2]
        if k % 2:
            u = 0.5 * (u + p[CURVE.size + k // 2 + 1])
        cx, cy, _, _, _, _ = on_curve(p, u)
        square = (cx - x) ** 2 + (cy - y) ** 2
        if least < 0.0 or square < least:
            best, least = u, square
    return best


@kernel
def nearest(p: Any, x: Any, y: Any) -> Any:
    """Parameter of the place of the curve nearest to (x, y); NaN if that would be beyond an end."""
    length, u, longest = p[CURVE.length], first_guess(p, x, y), p[CURVE.length] / p[CURVE.pieces]
    closed = p[CURVE.closed] != 0.0
    for _ in range(ITERATIONS):
        cx, cy, dx, dy, ddx, ddy = on_curve(p, u)
        ex, ey = cx - x, cy - y
        slope, square = ex * dx + ey * dy, dx * dx + dy * dy
        bend = square + ex * ddx + ey * ddy
        if bend < 0.25 * square:  # far away: Newton's step would lead to a place that is farthest
            bend = square
        step = max(-longest, min(longest, -slope / bend))
        before, u = u, u + step
        if closed:
            u -= length * np.floor(u / length)
        else:
            u = max(0.0, min(length, u))
            if u == before and abs(step) > BEYOND * length:
                return NOT_A_NUMBER
        if not abs(step) > SAME_PLACE * length:
            break
    return u


def on_profile(t: Any, poses: Any, twists: Any, p: Any, out: Any) -> None:
    """The equation of a cam as that of a `CustomConstraint`: the first frame has the profile, the second the point."""
    RA = quaternion.to_matrix((poses[0], poses[1], poses[2], poses[3]))
    RB = quaternion.to_matrix((poses[7], poses[8], poses[9], poses[10]))
    r = mul_t(RA, (poses[11] - poses[4], poses[12] - poses[5], poses[13] - poses[6]))
    place = nearest(p, primal(r[0]), primal(r[1]))
    if not place >= 0.0:
        out[0], out[39] = NOT_A_NUMBER, NOT_A_NUMBER
        return
    cx, cy, dx, dy, ddx, ddy = on_curve(p, place)
    slope, square = (cx - r[0]) * dx + (cy - r[1]) * dy, dx * dx + dy * dy
    u = place - slope / (square + primal((cx - r[0]) * ddx + (cy - r[1]) * ddy))  # a last step, for dual numbers too
    cx, cy, dx, dy, ddx, ddy = on_curve(p, u)
    speed, side = sqrt(dx * dx + dy * dy), p[CURVE.side]
    e, n = (dx / speed, dy / speed, 0.0), (-side * dy / speed, side * dx / speed, 0.0)
    distance = n[0] * (r[0] - cx) + n[1] * (r[1] - cy)
    bend = (n[0] * ddx + n[1] * ddy) / (speed * speed)
    R = mat_mul(transpose(RA), RB)  # of the second frame in the first
    wA, uA = (twists[0], twists[1], twists[2]), (twists[3], twists[4], twists[5])
    wB, uB = (twists[6], twists[7], twists[8]), (twists[9], twists[10], twists[11])
    moving = mul(R, uB)
    rate = sub(sub(moving, uA), cross(wA, r))
    out[0] = distance - p[CURVE.radius]
    store3(out, 3, cross(n, r))
    store3(out, 6, (-n[0], -n[1], 0.0))
    store3(out, 24, mul_t(R, n))
    along = dot(e, rate)
    more = sub(mul(R, cross(wB, uB)), cross(wA, (moving[0] + rate[0], moving[1] + rate[1], moving[2] + rate[2])))
    out[39] = bend / (1.0 - distance * bend) * along * along - dot(n, more)


@kernel
def farthest(p: Any, mx: Any, my: Any) -> Any:
    """Parameter of the place of a closed convex curve that is farthest along (mx, my)."""
    length, pieces, u, most = p[CURVE.length], int(p[CURVE.pieces]), 0.0, 0.0
    for k in range(pieces):
        cx, cy, _, _, _, _ = on_curve(p, p[CURVE.size + k])
        if k == 0 or mx * cx + my * cy > most:
            u, most = p[CURVE.size + k], mx * cx + my * cy
    for _ in range(ITERATIONS):
        _, _, dx, dy, ddx, ddy = on_curve(p, u)
        longest = length / pieces
        step = max(-longest, min(longest, -(mx * dx + my * dy) / min(mx * ddx + my * ddy, -1e-300)))
        u += step
        u -= length * np.floor(u / length)
        if not abs(step) > SAME_PLACE * length:
            break
    return u


def on_face(t: Any, poses: Any, twists: Any, p: Any, out: Any) -> None:
    """The same for a flat face: the plane x, y of the second frame, whose z points away from the cam."""
    RA = quaternion.to_matrix((poses[0], poses[1], poses[2], poses[3]))
    RB = quaternion.to_matrix((poses[7], poses[8], poses[9], poses[10]))
    r = mul_t(RA, (poses[11] - poses[4], poses[12] - poses[5], poses[13] - poses[6]))
    R = mat_mul(transpose(RA), RB)  # of the second frame in the first
    m = (R[2], R[5], R[8])
    place = farthest(p, primal(m[0]), primal(m[1]))
    _, _, dx, dy, ddx, ddy = on_curve(p, place)
    u = place - (m[0] * dx + m[1] * dy) / primal(m[0] * ddx + m[1] * ddy)  # a last step, for dual numbers too
    cx, cy, dx, dy, ddx, ddy = on_curve(p, u)
    wA, uA = (twists[0], twists[1], twists[2]), (twists[3], twists[4], twists[5])
    wB, uB = mul(R, (twists[6], twists[7], twists[8])), mul(R, (twists[9], twists[10], twists[11]))
    off, turn = (r[0] - cx, r[1] - cy, r[2]), sub(wB, wA)
    rate, change = sub(sub(uB, uA), cross(wA, r)), cross(turn, m)
    out[0] = dot(m, off)
    store3(out, 3, cross(m, (cx, cy, 0.0 * cx)))
    store3(out, 6, (-m[0], -m[1], -m[2]))
    store3(out, 21, mul_t(R, cross(m, off)))
    store3(out, 24, mul_t(R, m))
    # accelerations that velocities alone make: of r, of m, and of the place of contact
    of_r = sub(cross(turn, uB), cross(wA, rate))
    of_m = sub(cross(turn, change), cross(cross(wA, wB), m))
    slide = change[0] * dx + change[1] * dy
    out[39] = -dot(m, of_r) - 2.0 * dot(change, rate) - dot(of_m, off) - slide * slide / (m[0] * ddx + m[1] * ddy)


LAW, FACE_LAW = Law(on_profile), Law(on_face)


@dataclass(frozen=True)
class ProfileCurve:
    """A spline through points: parameters of the law, but for the roller's radius, and fine places on it."""

    parameters: tuple[float, ...]
    fine: np.ndarray  # (places, 2)
    bends: np.ndarray  # κ at these, positive toward the side on which a point is that is away from the curve
    size: float


@functools.lru_cache(maxsize=64)
def curve_through(profile: tuple[tuple[float, float], ...], closed: bool) -> ProfileCurve:
    """The curve through points; a ValueError without a place says what is wrong with them."""
    from scipy.interpolate import CubicSpline

    points = np.array(profile)
    if closed:
        points = np.vstack([points, points[:1]])
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    if not (chords > 1e-12 * size).all():
        k = int(np.argmin(chords))
        if closed and k == len(profile) - 1:
            raise ValueError("profile ends where it begins; leave out the last point: a closed curve goes back itself")
        raise ValueError(f"profile has the point {points[k].tolist()} twice, numbers {k} and {k + 1}")
    u = np.concatenate([[0.0], np.cumsum(chords)])
    spline = CubicSpline(u, points, bc_type="periodic" if closed else "natural")
    fine = (u[:-1, None] + chords[:, None] * np.arange(FINE) / FINE).ravel()
    places = spline(fine if closed else [*fine, u[-1]])
    if (crossing := _crossing(np.vstack([places, places[:1]]) if closed else places)) is not None:
        raise ValueError(f"profile crosses itself near {np.round(crossing, 12).tolist()} m")
    x, y = points[:-1].T
    area = 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    side = -1.0 if closed and area > 0 else 1.0
    first, second = spline(fine, 1), spline(fine, 2)
    speed = np.linalg.norm(first, axis=1)
    bends = side * (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / speed**3
    rows = spline.c[::-1].transpose(1, 2, 0).reshape(len(chords), 8)
    head = (float(len(chords)), float(closed), 0.0, side, float(u[-1]))
    return ProfileCurve((*head, *u.tolist(), *rows.ravel().tolist()), places, bends, size)


def _crossing(places: np.ndarray) -> np.ndarray | None:
    """Where a polygon through places crosses itself, or nothing."""
    start, way = places[:-1], np.diff(places, axis=0)
    for k in range(len(way) - 2):
        others = slice(k + 2, len(way) - int(k == 0 and np.array_equal(places[0], places[-1])))
        apart = start[others] - start[k]
        turn = way[k, 0] * way[others, 1] - way[k, 1] * way[others, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            s = (apart[:, 0] * way[others, 1] - apart[:, 1] * way[others, 0]) / turn
            r = (apart[:, 0] * way[k, 1] - apart[:, 1] * way[k, 0]) / turn
        met = (s >= 0) & (s <= 1) & (r >= 0) & (r <= 1)
        if met.any():
            found: np.ndarray = start[k] + s[np.argmax(met)] * way[k]
            return found
    return None


@dataclass(frozen=True)
class Cam:
    """A point of the second body stays on a planar curve of the first, or a roller or flat face there does.

    profile: points [m] (n, 2) in the plane x, y of the frame `at` on the first body, joined by a cubic spline: a closed
    curve goes back to its first point, an open one has two ends, where a run is over. The follower may move along z.
    point: of the second body, in its frame [m]. radius: of a roller about it [m], outside of a closed curve, left of
    an open one; negative: on the other side. face: the normal of a flat face through the point, away from the cam, in
    the frame of the second body; the profile is then closed and nowhere hollow, and the face as wide as it need be. The
    contact stays closed: it can pull, which reactions show.
    """

    name: str
    bodies: tuple[str, str]
    profile: Any
    point: Any = (0.0, 0.0, 0.0)
    at: Pose = ORIGIN
    closed: bool = True
    radius: float = 0.0
    face: Any = None
    rows: int = field(default=1, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name("Cam", self.name)
        where = f"cam {self.name!r}"
        put = functools.partial(object.__setattr__, self)
        put("bodies", two_bodies(where, self.bodies))
        try:
            count = len(self.profile)
        except TypeError:
            raise ValueError(f"{where}: profile is {self.profile!r}; expected points (n, 2) [m]") from None
        least = 3 if self.closed else 2
        if not least <= count <= MOST:
            raise ValueError(f"{where}: profile has {count} points; expected {least} to {MOST}")
        profile = as_numbers(where, "profile", self.profile, (count, 2), example="[[0.03, 0], [0, 0.02], ...]")
        put("profile", tuple(map(tuple, profile.tolist())))
        put("point", tuple(as_numbers(where, "point", self.point, (3,)).tolist()))
        put("at", as_pose(where, "at", self.at))
        put("radius", float(as_numbers(where, "radius", self.radius, ())))
        try:
            curve = self.curve
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        if self.face is not None:
            put("face", tuple(unit_vector(where, "face", self.face).tolist()))
            self._check_face(where)
        room = 1.0 - self.radius * curve.bends
        if not room.min() > 0.0:
            k = int(np.argmin(room))
            raise ValueError(
                f"{where}: radius is {self.radius:g} m, but the profile is hollow with a radius of "
                f"{1 / abs(curve.bends[k]):.3g} m near {np.round(curve.fine[k], 12).tolist()}; take a smaller roller"
            )

    def _check_face(self, where: str) -> None:
        if self.radius or not self.closed:
            what = f"radius = {self.radius:g} m" if self.radius else "closed = false"
            raise ValueError(f"{where}: {what} and a flat face exclude each other; leave out one of them")
        if self.curve.bends.max() >= 0.0:
            k = int(np.argmax(self.curve.bends))
            raise ValueError(
                f"{where}: the profile is hollow or straight near {np.round(self.curve.fine[k], 12).tolist()} m, where "
                "a flat face would touch it elsewhere; take a rounder profile, or a roller"
            )

    @property
    def curve(self) -> ProfileCurve:
        """The spline through the profile."""
        return curve_through(self.profile, bool(self.closed))

    @property
    def law(self) -> Law:
        """The equation of the cam, as that of a `CustomConstraint` on its `frames`."""
        return LAW if self.face is None else FACE_LAW

    @property
    def parameters(self) -> tuple[float, ...]:
        """Numbers for the law: the spline and the roller."""
        own = list(self.curve.parameters)
        own[CURVE.radius] = self.radius
        return tuple(own)

    @property
    def frames(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the profile on the first body and of the point on the second; z of the latter is the normal of a face."""
        turn = (1.0, 0.0, 0.0, 0.0) if self.face is None else frame_with_z(np.array(self.face))
        return np.array(self.at), np.array([*turn, *self.point])

    @property
    def places(self) -> np.ndarray:
        """Places on the curve, in the frame of the first body [m], (places, 3)."""
        flat = np.column_stack([self.curve.fine, np.zeros(len(self.curve.fine))])
        turned: np.ndarray = flat @ quaternion_to_matrix(np.array(self.at)[:4]).T + np.array(self.at)[4:]
        return turned


def framed(cam: Cam, poses: np.ndarray, twists: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Poses (n, 14) and twists (n, 12) of the frames of a cam, from those of its bodies."""
    x, y = [], []
    for k, frame in enumerate(cam.frames):
        x.append(pose_group.compose(poses[:, 7 * k : 7 * k + 7], frame))
        y.append(pose_group.Ad_apply(pose_group.inverse(frame), twists[:, 6 * k : 6 * k + 6]))
    return np.hstack(x), np.hstack(y)
