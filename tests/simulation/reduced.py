"""Mechanisms of one freedom by one coordinate, with many digits: an own reduction, for natural frequencies.

Kinetic energy m(x) x'²/2 and potential V(x) of bodies whose places are functions of x; all derivatives by differences
of mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

mp.mp.dps = 35


@dataclass
class Piece:
    """A body: its mass, moments of inertia about its center, and where center and rotation are."""

    mass: float
    inertia: tuple[float, float, float]
    place: Callable  # x -> (rotation 3x3, center 3)


def turn(axis, angle):
    """Rotation about an axis, by Rodrigues' formula."""
    x, y, z = (mp.mpf(a) / mp.sqrt(sum(mp.mpf(b) ** 2 for b in axis)) for a in axis)
    c, s = mp.cos_sin(angle)
    u, v, w = (1 - c) * x, (1 - c) * y, (1 - c) * z
    return mp.matrix(  # number by number: products of such matrices would take most of the time
        [
            [c + u * x, u * y - s * z, u * z + s * y],
            [u * y + s * z, c + v * y, v * z - s * x],
            [u * z - s * y, v * z + s * x, c + w * z],
        ]
    )


def rate(function, x):
    """Derivative of a matrix that depends on x, of fourth order."""
    h = mp.mpf(10) ** -8
    near, far = function(x + h) - function(x - h), function(x + 2 * h) - function(x - 2 * h)
    return (8 * near - far) / (12 * h)


def kinetic(pieces: list[Piece], x):
    """m(x): twice the kinetic energy for x' = 1."""
    total = mp.mpf(0)
    for piece in pieces:
        velocity = rate(lambda s, piece=piece: piece.place(s)[1], x)
        spin = piece.place(x)[0].T * rate(lambda s, piece=piece: piece.place(s)[0], x)
        omega = (spin[2, 1], spin[0, 2], spin[1, 0])
        total += piece.mass * sum(v * v for v in velocity)
        total += sum(moment * w * w for moment, w in zip(piece.inertia, omega, strict=True))
    return total


def swing(pieces: list[Piece], potential: Callable, dampers: list[tuple[float, Callable]], x: float):
    """Equilibrium near x, and the coefficients of m y'' + d y' + k y = 0 about it; dampers: c and their length."""
    h = mp.mpf(10) ** -6
    at = mp.findroot(lambda s: rate(potential, s), (x, x + 1e-4), tol=mp.mpf(10) ** -50)
    d = sum(c * rate(length, at) ** 2 for c, length in dampers)
    near, far = (potential(at + s * h) + potential(at - s * h) - 2 * potential(at) for s in (1, 2))
    return at, kinetic(pieces, at), d, (16 * near - far) / (12 * h**2)


# ---------------------------------------------------------------- the planar four-bar of `tests.absolute.loops`


def four_bar_angles(lengths, x):
    """Directions of crank, coupler and rocker."""
    crank, coupler, rocker, base = map(mp.mpf, lengths)
    elbow = mp.matrix([crank * mp.cos(x), crank * mp.sin(x)])
    gap = mp.matrix([base, 0]) - elbow
    d = mp.norm(gap)
    along = (coupler**2 - rocker**2 + d**2) / (2 * d)
    across = mp.sqrt(coupler**2 - along**2)
    knee = elbow + along / d * gap + across / d * mp.matrix([-gap[1], gap[0]])
    arm, swing = knee - elbow, knee - mp.matrix([base, 0])
    return x, mp.atan2(arm[1], arm[0]), mp.atan2(swing[1], swing[0])


def four_bar_pieces(lengths, masses) -> list[Piece]:
    """Slender rods, as `tests.absolute.loops.rod` has them."""

    def place(k):
        def found(x):
            angles = four_bar_angles(lengths, x)
            start = [(0, 0), (lengths[0] * mp.cos(x), lengths[0] * mp.sin(x)), (mp.mpf(lengths[3]), 0)][k]
            half, angle = mp.mpf(lengths[k]) / 2, angles[k]
            return turn((0, 0, 1), angle), mp.matrix(
                [start[0] + half * mp.cos(angle), start[1] + half * mp.sin(angle), 0]
            )

        return found

    moments = [m * mp.mpf(length) ** 2 / 12 for m, length in zip(masses, lengths, strict=False)]
    return [Piece(m, (0, 0, i), place(k)) for k, (m, i) in enumerate(zip(masses, moments, strict=True))]
