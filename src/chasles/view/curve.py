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
EVEN = 1e-11  # by how much of a piece samples may be off equal distances to share the polynomials of these
# the matrix of the product with a quaternion from the left: its entries and their signs
PRODUCT = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
SIGNS = np.array([[1.0, -1.0, -1.0, -1.0], [1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 1.0, -1.0], [1.0, -1.0, 1.0, 1.0]])
HEAD = "<IIIdd"  # edges, bodies, terms, quantum of quaternions, quantum of positions


class Samples(NamedTuple):
    """Poses (times, bodies, 7) of a stretch of a motion, times rising; breaks: where a curve may have a kink, cuts:
    where its pieces end in any case."""

    t: np.ndarray
    poses: np.ndarray
    breaks: np.ndarray  # (times,) of bool
    cuts: np.ndarray | None = None  # the same


class Hinge(NamedTuple):
    """A joint that holds a point of a body on a point of its parent (-1: the ground): it gives the body's position."""

    parent: int
    on_parent: np.ndarray
    on_child: np.ndarray


@dataclass
class Track:
    """Pieces of the orientation or position of a body: what each begins with (a quaternion or a position; one more
    than there are pieces), where they begin and end among the samples, and whole coefficients (terms, 3) of each."""

    begins: list[np.ndarray]
    edges: list[int]
    whole: list[np.ndarray]

    def __call__(self, times: np.ndarray, edge_times: np.ndarray, quantum: float) -> np.ndarray:
        """Quaternions or positions at times."""
        edges, whole = edge_times[self.edges], np.stack(self.whole) * quantum
        at = np.clip(np.searchsorted(edges, times, "right") - 1, 0, len(edges) - 2)
        first, last = edges[at], edges[at + 1]
        basis = chebyshev((2 * times - first - last) / (last - first), TERMS)
        return moved(np.stack(self.begins)[at], np.einsum("tk,tkc->tc", basis, whole[at]))


def moved(begin: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Where a piece that begins with a quaternion (..., 4) or position (..., 3) is, p (..., 3) further."""
    if begin.shape[-1] == 3:
        return begin + p
    w, a, b, c = (begin[..., k] for k in range(4))
    x, y, z = (p[..., k] for k in range(3))
    turned = np.empty((*np.broadcast_shapes(begin.shape[:-1], p.shape[:-1]), 4))
    turned[..., 0] = w - a * x - b * y - c * z
    turned[..., 1] = a + w * x + b * z - c * y
    turned[..., 2] = b + w * y + c * x - a * z
    turned[..., 3] = c + w * z + a * y - b * x
    return unit(turned)


def move(begin: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The p (tracks, times, 3) that lead from quaternions (tracks, 4) to others (tracks, times, 4), less than half a
    turn away, or from positions to others."""
    if begin.shape[-1] == 3:
        return there - begin[:, None]
    turned = there @ (begin[:, PRODUCT] * SIGNS)  # by the inverse of where it begins
    return turned[..., 1:] / np.maximum(turned[..., :1], STRAIGHT)


def ahead(begin: np.ndarray, p: np.ndarray) -> np.ndarray:
    """As `moved`, of a few tracks (tracks, 4 or 3), in few operations."""
    if begin.shape[-1] == 3:
        return begin + p
    product = begin[:, PRODUCT] * SIGNS
    turned = product[:, :, 0] + (product[:, :, 1:] @ p[:, :, None])[:, :, 0]
    return turned / np.sqrt((turned * turned).sum(axis=1, keepdims=True))


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
            parts += [track.begins[0].astype("<f8").tobytes() for track in tracks]
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
        self.t, self.breaks = samples.t, np.flatnonzero(samples.breaks)
        self.cuts = np.empty(0, dtype=int) if samples.cuts is None else np.flatnonzero(samples.cuts)
        self.known: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        self.even: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        # how far samples are off equal distances, in these; half as much again for the rounding of what is computed
        span = self.t[-1] - self.t[0]
        equal = np.linspace(self.t[0], self.t[-1], len(self.t))
        self.off = 1.5 * float(abs(self.t - equal).max()) * (len(self.t) - 1) / span if span > 0 else np.inf

    def tracks(
        self, values: np.ndarray, quantum: float, drawn: np.ndarray | None = None, bodies: list[int] | None = None
    ) -> tuple[list[Track], np.ndarray]:
        """Tracks of quaternions (times, tracks, 4) or positions (times, tracks, 3), and what they give at the samples;
        positions are written to `drawn` for these bodies."""
        count = values.shape[1]
        tracks = [Track([values[0, k]], [0], []) for k in range(count)]
        begins, by_track = values[0].copy(), np.ascontiguousarray(values.transpose(1, 0, 2))
        everything, turning = np.arange(count), values.shape[-1] == 4
        last, begin, length = len(self.t) - 1, 0, LONGEST
        while begin < last:
            end, longest = min(begin + length, last), 0
            waiting = [(begin, end, everything)]
            while waiting:  # from left to right
                first, stop, active = waiting.pop()
                cut = int(self.cuts.searchsorted(first, "right")) if len(self.cuts) else 0
                if cut < len(self.cuts) and self.cuts[cut] < stop:
                    longest, middle = max(longest, 1), int(self.cuts[cut])
                    waiting += [(middle, stop, active), (first, middle, active)]
                    continue
                there = by_track[:, first : stop + 1] if active is everything else by_track[active, first : stop + 1]
                p = move(begins[active], there)
                whole, good = self._piece(first, stop, p, quantum, WIDEST if turning and stop - first > 1 else np.inf)
                done = active[good]
                if len(done):
                    longest = max(longest, stop - first)
                    found = whole[good]
                    begins[done] = reached = ahead(begins[done], found.sum(axis=1) * quantum)
                    for k, piece, ends in zip(done.tolist(), found, reached, strict=True):
                        tracks[k].edges.append(stop)
                        tracks[k].whole.append(piece)
                        tracks[k].begins.append(ends)
                if len(done) < len(active):
                    middle = self._middle(first, stop)
                    waiting += [(middle, stop, active[~good]), (first, middle, active[~good])]
            begin, length = end, min(max(2 * longest, SHORTEST), LONGEST)
        again = np.stack([track(self.t, self.t, quantum) for track in tracks], axis=1)
        if drawn is not None:
            drawn[:, bodies, 4:] = again
        return tracks, again

    def _piece(
        self, first: int, stop: int, p: np.ndarray, quantum: float, widest: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Whole coefficients (tracks, terms, 3) of p (tracks, times, 3), and which tracks they suffice for."""
        near = _largest(p) < widest
        whole = np.zeros((len(p), TERMS, 3), dtype=np.int64)
        if not near.any() and stop - first > 1:
            return whole, near
        basis, solver = self._polynomials(first, stop)
        rounded = np.rint(solver @ p / quantum)
        whole[:, : basis.shape[1]] = rounded
        if stop - first == 1:
            return whole, np.ones(len(p), dtype=bool)
        off = _largest(basis @ (rounded * quantum) - p)
        return whole, near & (off <= PARTS * quantum * (1 - 1e-9))

    def _polynomials(self, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """The polynomials at the samples of a piece, and the matrix that fits them. Samples at equal distances, but for
        the rounding of times, share those of their number."""
        if (first, stop) in self.known:
            return self.known[first, stop]
        n = stop - first
        if n not in self.even:
            even = np.linspace(-1.0, 1.0, n + 1)
            self.even[n] = even, *_solved(even)
        even, basis, solver = self.even[n]
        if 4 * self.off / n > EVEN:  # else they are: two ends and a sample are off, each by that much of half a piece
            t = self.t[first : stop + 1]
            x = (t - 0.5 * (t[0] + t[-1])) * (2 / (t[-1] - t[0]))
            if abs(x - even).max() > EVEN:
                basis, solver = _solved(x)
        self.known[first, stop] = basis, solver
        return basis, solver

    def _middle(self, first: int, stop: int) -> int:
        """Where a piece is cut: at the break next to its middle, if there is one inside."""
        middle = first + (stop - first) // 2
        at = int(self.breaks.searchsorted(middle))
        near = [int(k) for k in self.breaks[max(at - 1, 0) : at + 1] if first < k < stop]
        return min(near, key=lambda k: abs(k - middle), default=middle)


def _largest(values: np.ndarray) -> np.ndarray:
    """The largest size of each (tracks, times, 3): along one axis, which NumPy finds quicker than along two."""
    return np.asarray(np.abs(values).reshape(len(values), -1).max(axis=1))


def _solved(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The polynomials at places x from -1 to 1, and the matrix that fits them."""
    n = len(x) - 1
    basis = chebyshev(x, 1 + (n if n <= EXACT else min(TERMS - 1, 4 + n // 3)))
    return basis, np.linalg.solve(basis.T @ basis, basis.T)


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
