"""A tree of the oracle on a path in time: derivatives of any order of poses, twists and generalized forces.

The path has given derivatives v, v', v'', ... of the joints' velocities: q(t) is a polynomial for joints with axes, and
for spherical and free joints the pose g(t) with g⁻¹g' = v(t) is its power series, summed from this definition. What is
differentiated is evaluated at points of time around zero, and the derivatives are those of the polynomial through the
values: with 60 digits and nine points 1e-6 apart, fifth derivatives of poses are good to some 22 digits.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from decimal import Decimal
from math import comb, factorial
from typing import Any

import numpy as np

from tests.oracle.tree import (
    REPRESENTATIONS,
    STEP,
    Array,
    Tree,
    cross,
    exact,
    exponential,
    hat,
    identity,
    inverse,
    pose_matrix,
    precise,
    twist_by_definition,
    zeros,
)

SPACING = Decimal("1e-6")
MANY, FEW = ([k * SPACING for k in range(-half, half + 1)] for half in (4, 2))
TERMS = 12  # of the power series of a pose: the rest is below 1e-60


@functools.cache
def weights(count: int) -> Array:
    """Row m: weights of the values at so many nodes in the m-th derivative at zero, by Lagrange's polynomials."""
    nodes, rows = [k * SPACING for k in range(-(count // 2), count // 2 + 1)], []
    for node in nodes:  # coefficients of the polynomial that is one at a node and zero at the others
        poly, scale = [Decimal(1)], Decimal(1)
        for other in nodes:
            if other != node:
                poly = [a - other * b for a, b in zip([Decimal(0), *poly], [*poly, Decimal(0)], strict=True)]
                scale *= node - other
        rows.append([c / scale for c in poly])
    return np.array([[row[m] * factorial(m) for row in rows] for m in range(count)], dtype=object)


@precise
def derivatives(values: Sequence[Array], count: int) -> list[Array]:
    """The first `count` derivatives at zero, from order 0 on, of a function with these values at the nodes."""
    return [sum(w * x for w, x in zip(row, values, strict=True)) for row in weights(len(values))[:count]]


def taylor(t: Decimal, rates: Sequence[Any]) -> Any:
    """Σ tᵏ/k! x_k."""
    total, power = 0, Decimal(1)
    for k, x in enumerate(rates):
        total, power = total + power * x, power * t / (k + 1)
    return total


class Path:
    """A tree that moves: q as in `Tree`, rates = [v, v', v'', ...], each as v in `Tree`."""

    @precise
    def __init__(self, tree: Tree, q: list, rates: Sequence[list]):
        self.tree, self.q = tree, [exact(x) for x in q]
        self.rates = [[exact(x) for x in rate] for rate in rates]
        self.groups: dict[int, list[Array]] = {}
        for i, link in enumerate(tree.links):
            if link.group is not None:
                start = self.q[i] if link.group == "free" else [*self.q[i], 0, 0, 0]
                self.groups[i] = self._series(pose_matrix(start), [rate[i] for rate in self.rates])

    def _series(self, start: Array, rates: list[Array]) -> list[Array]:
        """Coefficients of g(t) with g' = g hat(v(t)), g(0) = start."""
        hats = [
            hat(rate if len(rate) == 6 else np.concatenate([rate, zeros(3)])) / factorial(k)
            for k, rate in enumerate(rates)
        ]
        series = [start]
        for k in range(TERMS):
            series.append(sum(series[k - m] @ hats[m] for m in range(min(k + 1, len(hats)))) / (k + 1))
        return series

    @precise
    def motions(self, t: Decimal) -> list[Array]:
        """What each joint does in space at time t."""
        return [self.motion(i, t) for i in range(len(self.tree.links))]

    @precise
    def motion(self, i: int, t: Decimal, delta: Array | None = None) -> Array:
        """What joint i does, displaced to q + delta or g exp(delta)."""
        link = self.tree.links[i]
        if link.group is None:
            if not len(link.screws):
                return identity(4)
            return link.motion(taylor(t, [self.q[i], *(rate[i] for rate in self.rates)]), delta)
        g = taylor(t, [factorial(k) * c for k, c in enumerate(self.groups[i])])
        if delta is not None:
            g = g @ exponential(delta if link.group == "free" else np.concatenate([delta, zeros(3)]))
        return link.place @ g @ inverse(link.place)

    @precise
    def twist_derivatives(self, count: int) -> dict[str, Array]:
        """Twists and their derivatives in the four representations, (count, bodies, 6) each."""
        poses = derivatives([self.tree.assemble(self.motions(t)) for t in MANY], count + 1)
        return {name: self._twists(name, poses, count) for name in REPRESENTATIONS}

    def _twists(self, name: str, poses: list[Array], count: int) -> Array:
        """The definition of `twist_by_definition` with the product rule: R'Rᵀ, RᵀR', r', Rᵀr', r' + r × ω."""
        R, r = [C[:, :3, :3] for C in poses], [C[:, :3, 3] for C in poses]
        out = zeros(count, len(self.tree.links), 6)
        for b in range(len(self.tree.links)):
            for k in range(count):
                for m in range(k + 1):
                    c = comb(k, m)
                    turned = R[m][b].T @ R[k - m + 1][b] if name in ("body", "mixed") else R[k - m + 1][b] @ R[m][b].T
                    S = (turned - turned.T) / 2
                    out[k, b, :3] += c * np.array([S[2, 1], S[0, 2], S[1, 0]], dtype=object)
                    if name == "body":
                        out[k, b, 3:] += c * (R[m][b].T @ r[k - m + 1][b])
                if name != "body":
                    out[k, b, 3:] += r[k + 1][b]
            if name == "spatial":
                for k in range(count):
                    for m in range(k + 1):
                        out[k, b, 3:] += comb(k, m) * cross(r[m][b], out[k - m, b, :3])
        return out

    @precise
    def force_derivatives(self, count: int, wrenches: Sequence[Any] = ()) -> Array:
        """Generalized forces and their derivatives, (count, columns). wrenches: W, W', ... in the bodies' frames."""
        tree = self.tree
        higher = derivatives([tree.points(tree.assemble(self.motions(t))) for t in MANY], len(MANY))
        values = []
        for t in FEW:
            needed = ((taylor(t, higher[2:]) - tree.gravity) * tree.masses[:, None]).ravel()
            applied = taylor(t, [exact(W).ravel() for W in wrenches])
            motions, row = self.motions(t), []
            poses = tree.assemble(motions)
            for i, k in tree.columns:
                rate = self.moved(motions, t, i, k)
                value = tree.points(rate).ravel() @ needed
                if len(wrenches):
                    twists = [twist_by_definition(C, D)["body"] for C, D in zip(poses, rate, strict=True)]
                    value = value - np.concatenate(twists) @ applied
                row.append(value)
            values.append(np.array(row, dtype=object))
        tau = np.array(derivatives(values, count), dtype=object)
        for k in range(count):
            tau[k] = tau[k] + tree.armatures * np.concatenate([np.ravel(x) for x in self.rates[k + 1]])
        return tau

    def moved(self, motions: list[Array], t: Decimal, i: int, k: int) -> Array:
        """∂C/∂q of all bodies along freedom k of joint i at time t."""
        sides = []
        for sign in (1, -1):
            delta = zeros(self.tree.links[i].nv)
            delta[k] = sign * STEP
            sides.append(self.tree.assemble([*motions[:i], self.motion(i, t, delta), *motions[i + 1 :]]))
        return (sides[0] - sides[1]) / (2 * STEP)

    @precise
    def column_derivatives(self, i: int, k: int, count: int) -> dict[str, Array]:
        """Derivatives, from order 0 on, of the columns of freedom k of joint i, (count, bodies, 6) each."""
        values: dict[str, list[Array]] = {name: [] for name in REPRESENTATIONS}
        for t in MANY:
            motions = self.motions(t)
            poses = self.tree.assemble(motions)
            columns = [twist_by_definition(C, D) for C, D in zip(poses, self.moved(motions, t, i, k), strict=True)]
            for name, kept in values.items():
                kept.append(np.array([column[name] for column in columns], dtype=object))
        return {name: np.array(derivatives(kept, count), dtype=object) for name, kept in values.items()}
