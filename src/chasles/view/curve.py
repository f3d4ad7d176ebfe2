"""Motions as piecewise polynomials in few bytes, with a stated error that was checked.

The orientation of each body and, where a joint does not give it, its position go on from where the piece of time before
ended: a position by r + p(τ), an orientation by q (1, p(τ)) made unit, with three polynomials p that begin at zero, as
sums of Chebyshev polynomials. Pieces are halved until the rounded coefficients give all sampled poses back to the
tolerance; each body has its own. Coefficients are whole numbers of a quantum, and the first one, which the others
nearly give, takes few bits.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chasles.lie.rotation import quaternion_to_matrix

TERMS = 12  # coefficients of a piece
LONGEST, SHORTEST = 512, 16  # sampled intervals with which the search for pieces begins
EXACT = 6  # so few intervals are fitted by a polynomial through all their samples
# of positions [m], or of the extent of the mechanism if that is below 1 m, and of the entries of rotation matrices
TOLERANCE = 1e-6
QUATERNION = TOLERANCE / 4  # an error e of each component of p turns by at most 2 sqrt(3) e
PARTS = 4.0  # quanta in a tolerance
STRAIGHT = 1e-6  # cosine of half the angle between samples beyond which they are taken as nearer
WIDEST = 0.6  # tangent of half the angle that a piece may turn
HEAD = "<IIIdd"  # edges, bodies, terms, quantum of quaternions, quantum of positions


class Samples(NamedTuple):
    """Poses (times, bodies, 7) of a stretch of a motion, times rising; breaks: where a curve may have a kink."""

    t: np.ndarray
    poses: np.ndarray
    breaks: np.ndarray  # (times,) of bool


class Hinge(NamedTuple):
    """A joint that holds a point of a body on a point of its parent (-1: the ground): it gives the body's position."""

    parent: int
    on_parent: np.ndarray
    on_child: np.ndarray


@dataclass
class Track:
    """Pieces of the orientation or position of a body: what it begins with, where pieces begin and end among the
    samples, and whole coefficients (terms, 3) of each."""

    start: np.ndarray  # a quaternion or a position
    edges: list[int]
    whole: list[np.ndarray]

    def __call__(self, times: np.ndarray, edge_times: np.ndarray, quantum: float) -> np.ndarray:
        """Quaternions or positions at times."""
        edges, whole = edge_times[self.edges], np.stack(self.whole) * quantum
        begins = [self.start]
        for piece in whole[:-1]:
            begins.append(moved(begins[-1], piece.sum(axis=0)))
        at = np.clip(np.searchsorted(edges, times, "right") - 1, 0, len(edges) - 2)
        first, last = edges[at], edges[at + 1]
        basis = chebyshev((2 * times - first - last) / (last - first), TERMS)
        return moved(np.stack(begins)[at], np.einsum("tk,tkc->tc", basis, whole[at]))


def moved(begin: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Where a piece that begins with a quaternion (..., 4) or position (..., 3) is, p (..., 3) further."""
    if begin.shape[-1] == 3:
        return begin + p
    w, a, b, c = np.moveaxis(begin, -1, 0)
    x, y, z = np.moveaxis(p, -1, 0)
    turned = (
        w - a * x - b * y - c * z,
        a + w * x + b * z - c * y,
        b + w * y + c * x - a * z,
        c + w * z + a * y - b * x,
    )
    return unit(np.stack(turned, axis=-1))


def move(begin: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The p that leads from one to another quaternion, less than half a turn away, or position."""
    if begin.shape[-1] == 3:
        return there - begin
    w, a, b, c = np.moveaxis(begin, -1, 0)
    h, x, y, z = np.moveaxis(there, -1, 0)
    cosine = np.maximum(w * h + a * x + b * y + c * z, STRAIGHT)
    sines = (w * x - h * a - b * z + c * y, w * y - h * b - c * x + a * z, w * z - h * c - a * y + b * x)
    return np.stack([sine / cosine for sine in sines], axis=-1)


@dataclass(frozen=True)
class Curve:
    """The motion of all bodies over a stretch of time. positions: None where the hinge of a body gives it."""

    t: np.ndarray  # of the samples, which the edges of pieces are among
    orientations: list[Track]
    positions: list[Track | None]
    hinges: list[Hinge | None]
    order: list[int]  # of the bodies, such that parents come first
    quanta: tuple[float, float]
    error: tuple[float, float]  # largest of quaternion components and positions at the samples
    unchecked: list[tuple[float, float]]  # pieces with no sample between those that fix them

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Poses (times, bodies, 7), as the page computes them."""
        poses = np.empty((len(times), len(self.order), 7))
        for k in self.order:
            poses[:, k, :4] = self.orientations[k](times, self.t, self.quanta[0])
            track, hinge = self.positions[k], self.hinges[k]
            if track is not None:
                poses[:, k, 4:] = track(times, self.t, self.quanta[1])
            else:
                assert hinge is not None
                poses[:, k, 4:] = hung(hinge, poses, k)
        return poses

    def packed(self) -> bytes:
        """The curve as compressed bytes: a head, times of edges, which edges each track has, and planes of bytes of
        the coefficients, of orientations and of positions."""
        own = [track for track in self.positions if track is not None]
        used = np.unique(np.concatenate([track.edges for track in (*self.orientations, *own)]))
        parts = [
            struct.pack(HEAD, len(used), len(self.order), TERMS, *self.quanta),
            self.t[used].astype("<f8").tobytes(),
            np.array([track is not None for track in self.positions], dtype=np.uint8).tobytes(),
        ]
        for tracks in (self.orientations, own):
            parts += [track.start.astype("<f8").tobytes() for track in tracks]
            parts.append(np.array([len(track.whole) for track in tracks], "<u4").tobytes())
            places = [np.searchsorted(used, track.edges) for track in tracks]
            parts += [np.diff(place, prepend=0).astype("<u2").tobytes() for place in places]
            if tracks:
                parts.append(_planes(np.concatenate([np.stack(track.whole) for track in tracks])))
        press = zlib.compressobj(9, zlib.DEFLATED, -15)
        return press.compress(b"".join(parts)) + press.flush()


def _planes(whole: np.ndarray) -> bytes:
    """Whole numbers (pieces, terms, 3) as bytes: how many each term and component needs, then lowest bytes of all
    pieces, next bytes, ... In place of the first coefficient stands the value at the begin, which is nearly zero."""
    left = whole.copy()
    left[:, 0] = np.einsum("k,pkc->pc", (-1) ** np.arange(TERMS), whole)
    coded = (left << 1) ^ (left >> 63)  # small numbers of either sign become small positive ones
    rows = np.ascontiguousarray(coded.transpose(1, 2, 0)).reshape(TERMS * 3, -1)
    sizes = np.array([(int(row.max()).bit_length() + 7) // 8 for row in rows], dtype=np.uint8)
    planes = [
        ((row >> (8 * byte)) & 255).astype(np.uint8).tobytes()
        for row, size in zip(rows, sizes, strict=True)
        for byte in range(size)
    ]
    return sizes.tobytes() + b"".join(planes)


def quanta(extent: float) -> tuple[float, float]:
    """The quanta of quaternions and of positions of a mechanism of an extent [m]."""
    return QUATERNION / PARTS, TOLERANCE * min(1.0, extent) / PARTS


def fitted(samples: Samples, quantum: tuple[float, float], hinges: list[Hinge | None], order: list[int]) -> Curve:
    """The curve through samples, at each of them to the tolerance."""
    poses = continuous(samples.poses)
    fit = Fit(samples)
    orientations, turned = fit.tracks(poses[..., :4], quantum[0])
    drawn = np.concatenate([turned, poses[..., 4:]], axis=-1)
    positions: list[Track | None] = [None] * len(order)
    free = [k for k in order if hinges[k] is None]
    if free:
        for k, track in zip(free, fit.tracks(poses[:, free, 4:], quantum[1], drawn, free)[0], strict=True):
            positions[k] = track
    for k in order:
        hinge = hinges[k]
        if hinge is None:
            continue
        drawn[:, k, 4:] = hung(hinge, drawn, k)
        if not (np.abs(drawn[:, k, 4:] - poses[:, k, 4:]) <= PARTS * quantum[1]).all():
            positions[k] = fit.tracks(poses[:, [k], 4:], quantum[1], drawn, [k])[0][0]
    off = np.abs(turned - poses[..., :4]).max(initial=0.0), np.abs(drawn - poses)[..., 4:].max(initial=0.0)
    used = [track for track in (*orientations, *positions) if track is not None]
    pieces = {
        (a, b) for track in used for a, b in zip(track.edges[:-1], track.edges[1:], strict=True) if b - a <= EXACT
    }
    unchecked = [(samples.t[a], samples.t[b]) for a, b in pieces]
    return Curve(samples.t, orientations, positions, hinges, order, quantum, (float(off[0]), float(off[1])), unchecked)


class Fit:
    """Fits of columns of samples; polynomials over a piece are made once for all of them."""

    def __init__(self, samples: Samples):
        self.t, self.breaks = samples.t, samples.breaks
        self.known: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    def tracks(
        self, values: np.ndarray, quantum: float, drawn: np.ndarray | None = None, bodies: list[int] | None = None
    ) -> tuple[list[Track], np.ndarray]:
        """Tracks of quaternions (times, tracks, 4) or positions (times, tracks, 3), and what they give at the samples;
        positions are written to `drawn` for these bodies."""
        count = values.shape[1]
        tracks = [Track(values[0, k], [0], []) for k in range(count)]
        begins = values[0].copy()
        again = np.empty_like(values)
        last, begin, length = len(self.t) - 1, 0, LONGEST
        while begin < last:
            end, longest = min(begin + length, last), 0
            waiting = [(begin, end, np.arange(count))]
            while waiting:  # from left to right
                first, stop, active = waiting.pop()
                p = move(begins[active], values[first : stop + 1, active])
                whole, here, good = self._piece(first, stop, p, quantum)
                if stop - first > 1 and values.shape[-1] == 4:
                    good &= np.abs(p).max(axis=(0, 2)) < WIDEST
                for k in np.flatnonzero(good):
                    tracks[active[k]].edges.append(stop)
                    tracks[active[k]].whole.append(whole[:, k])
                done = active[good]
                again[first : stop + 1, done] = moved(begins[done], here[:, good])
                begins[done] = moved(begins[done], whole[:, good].sum(axis=0) * quantum)
                if good.any():
                    longest = max(longest, stop - first)
                if not good.all():
                    middle = self._middle(first, stop)
                    waiting += [(middle, stop, active[~good]), (first, middle, active[~good])]
            begin, length = end, min(max(2 * longest, SHORTEST), LONGEST)
        if drawn is not None:
            drawn[:, bodies, 4:] = again
        return tracks, again

    def _piece(self, first: int, stop: int, p: np.ndarray, quantum: float):
        """Whole coefficients (terms, tracks, 3) of p (times, tracks, 3), what they give, and which tracks suffice."""
        basis, solver = self._polynomials(first, stop)
        flat = p.reshape(len(p), -1)
        whole = np.zeros((TERMS, flat.shape[1]), dtype=np.int64)
        whole[: basis.shape[1]] = np.rint(solver @ flat / quantum)
        again = (basis @ (whole[: basis.shape[1]] * quantum)).reshape(p.shape)
        good = np.abs(again - p).max(axis=(0, 2)) <= PARTS * quantum * (1 - 1e-9)
        if stop - first == 1:
            good[:] = True
        return whole.reshape(TERMS, *p.shape[1:]), again, good

    def _polynomials(self, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """The polynomials at the samples of a piece, and the matrix that fits them."""
        if (first, stop) not in self.known:
            t, n = self.t[first : stop + 1], stop - first
            degree = n if n <= EXACT else min(TERMS - 1, 4 + n // 3)
            basis = chebyshev((2 * t - t[0] - t[-1]) / (t[-1] - t[0]), degree + 1)
            self.known[first, stop] = basis, np.linalg.solve(basis.T @ basis, basis.T)
        return self.known[first, stop]

    def _middle(self, first: int, stop: int) -> int:
        """Where a piece is cut: at the break next to its middle, if there is one inside."""
        inside = np.flatnonzero(self.breaks[first + 1 : stop])
        middle = (stop - first) // 2
        if not len(inside):
            return first + middle
        return first + 1 + int(inside[np.argmin(np.abs(inside + 1 - middle))])


def hung(hinge: Hinge, poses: np.ndarray, body: int) -> np.ndarray:
    """Positions (times, 3) of a body whose point is held by a point of its parent."""
    place = np.broadcast_to(hinge.on_parent, (len(poses), 3))
    if hinge.parent >= 0:
        parent = poses[:, hinge.parent]
        place = parent[:, 4:] + np.einsum("tij,j->ti", quaternion_to_matrix(parent[:, :4]), hinge.on_parent)
    return place - np.einsum("tij,j->ti", quaternion_to_matrix(poses[:, body, :4]), hinge.on_child)


def continuous(poses: np.ndarray) -> np.ndarray:
    """Poses whose quaternions do not jump to the opposite sign."""
    turn = np.sign(np.einsum("tbc,tbc->tb", poses[1:, :, :4], poses[:-1, :, :4]))
    signs = np.cumprod(np.where(turn < 0, -1.0, 1.0), axis=0)
    result = poses.copy()
    result[1:, :, :4] *= signs[..., None]
    return result


def chebyshev(x: np.ndarray, count: int) -> np.ndarray:
    """T_0(x) ... T_{count-1}(x) along a new last axis."""
    terms = [np.ones_like(x), x]
    while len(terms) < count:
        terms.append(2 * x * terms[-1] - terms[-2])
    return np.stack(terms[:count], axis=-1)


def unit(quaternions: np.ndarray) -> np.ndarray:
    return quaternions / np.sqrt(np.einsum("...c,...c->...", quaternions, quaternions))[..., None]
