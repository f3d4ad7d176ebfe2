"""Rods whose strains are polynomials along all of them (`modes`): one coordinate for each strain and mode.

The coordinate of a mode is the joint of a link without mass at the start, which has its spring. What moves the rod are
revolute and prismatic joints that follow it (`mimic`), each by the value of the polynomial at its place. With elements
"helix" there is one for each strain in the middle of an element: the midpoint rule of g' = g ξ, of order two. With
"magnus" there are more: g is a product of motions along the reference, which are exact, and of exponentials of single
strains. Their places and weights are those of a splitting of order four, with no part outside of its element.
Commutator-free Magnus steps, which are as accurate, have exponentials of all strains together: no product of joints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.body import GROUND
from chasles.model.expression import used_names
from chasles.model.expression_law import Expression, put_in
from chasles.model.rod import POINTS, WEIGHTS, Rod
from chasles.model.rod_intrinsic import ARC_LENGTH
from chasles.model.rod_joints import ElasticJoint, joint_kind, order_of_factors, stiffness_of, strain_screw

# Omelyan, Mryglod, Folk, Computer Physics Communications 146 (2002) 188, the optimized method of order four with four
# stages: A(ξ) B(½ - λ) A(χ) B(λ) A(1 - 2(χ + ξ)) B(λ) A(χ) B(½ - λ) A(ξ)
XI, LAMBDA, CHI = 0.1786178958448091, -0.2123418310626054, -0.06626458266981849

ROUNDING = 1e-12  # of the parts of a sum


def _composition() -> list[float]:
    """The same method as steps of first order and their adjoints in turn, for any number of operators (McLachlan)."""
    steps = [XI]
    for b, a in ((0.5 - LAMBDA, CHI), (LAMBDA, 1.0 - 2.0 * (CHI + XI))):
        steps.append(b - steps[-1])
        steps.append(a - steps[-1])
    half = steps[:4]
    return [*half, *half[::-1]]


STEPS = _composition()


class Factor(NamedTuple):
    """An exponential of one strain: at which place of its element, from 0 to 1, which strain, and of what length."""

    place: float
    strain: int
    length: float


class Quadrature(NamedTuple):
    """Where stiffness is integrated: arc lengths (points,), weights [m], stiffness of the strains (points, strains)."""

    s: np.ndarray
    weights: np.ndarray
    stiffness: np.ndarray


def factors(rod: Rod, k: int) -> list[Factor]:
    """The factors of element k, in their order."""
    if rod.element == "helix":
        return [Factor(0.5, strain, 1.0) for strain in order_of_factors(rod, k)]
    strains = list(range(len(rod.strains)))
    along = min(1, len(strains) - 1)  # the motion along the reference comes after so many strains
    found: list[Factor] = []
    at = 0.0
    for turn, length in enumerate(STEPS):
        operators: list[int | None] = [*strains[:along], None, *strains[along:]]
        for strain in operators[::-1] if turn % 2 else operators:
            if strain is None:
                at += length
            elif found and found[-1].strain == strain and abs(found[-1].place - at) < 1e-12:
                found[-1] = Factor(at, strain, found[-1].length + length)
            else:
                found.append(Factor(at, strain, length))
    return found


def quadrature(rod: Rod) -> Quadrature:
    """Points of Gauss in all elements; with "helix" their middles, as their joints are."""
    mesh, stiffness = rod.mesh, stiffness_of(rod)
    if rod.element == "helix":
        return Quadrature(0.5 * (mesh.s[:-1] + mesh.s[1:]), mesh.lengths, stiffness)
    s = (0.5 * (mesh.s[:-1] + mesh.s[1:])[:, None] + mesh.lengths[:, None] * POINTS).ravel()
    weights = (mesh.lengths[:, None] * WEIGHTS).ravel()
    return Quadrature(s, weights, rod.stiffness_along(s))


def shapes(rod: Rod, s: np.ndarray) -> np.ndarray:
    """Values of the modes of each strain at arc lengths, (strains, modes, places): 1 at the start of the rod.

    They are orthogonal with the stiffness as weight, so that the energy has no mixed terms.
    """
    assert rod.modes is not None
    points = quadrature(rod)

    def powers(where: np.ndarray) -> np.ndarray:
        return np.polynomial.legendre.legvander(2.0 * where / rod.length - 1.0, int(rod.modes or 0) - 1)

    at_points, at_start, wanted, found = powers(points.s), powers(np.zeros(1)), powers(s), []
    for stiffness in points.stiffness.T:
        triangle = np.linalg.qr(np.sqrt(points.weights * stiffness)[:, None] * at_points, mode="r")
        own = np.linalg.inv(triangle)
        found.append(((wanted @ own) / (at_start @ own)).T)
    values = np.array(found)
    values[np.abs(values) < ROUNDING] = 0.0  # a joint that does not move is one for all values of parameters
    return values


def mode_stiffness(rod: Rod) -> np.ndarray:
    """Of the coordinates of the modes, (strains, modes)."""
    points = quadrature(rod)
    values = shapes(rod, points.s)
    weights = points.weights / (rod.length / rod.elements) ** 2
    found: np.ndarray = np.einsum("smp,p,ps->sm", values**2, weights, points.stiffness)
    return found


def modal_joints(rod: Rod, places: Sequence[tuple[str, tuple[float, ...]]], back: bool) -> Iterator[ElasticJoint]:
    """The joints that have the coordinates, then those of all elements, which follow them; as `elastic_joints`."""
    assert rod.modes is not None
    springs, still, (start, at) = mode_stiffness(rod), pose_group.identity(), places[-1 if back else 0]
    for strain in range(len(rod.strains)):
        for mode, spring in enumerate(springs[strain].tolist()):
            name, more = mode_name(rod, strain, mode), {"stiffness": spring, "damping": rod.damping * spring}
            screws = [strain_screw(rod, strain)]
            yield ElasticJoint(name, start, name, joint_kind(rod, strain), screws, np.array(at), still, more)
    L, every = rod.length / rod.elements, [factors(rod, k) for k in range(rod.elements)]
    s = np.array([L * (k + factor.place) for k, own in enumerate(every) for factor in own])
    count = len(every[0])
    at_factors = rod.poses(np.clip(s, 0.0, rod.length)), shapes(rod, s)
    for k, own in enumerate(every):
        here = slice(k * count, (k + 1) * count)
        poses, values = at_factors[0][here], at_factors[1][:, :, here]
        ends = [
            pose_group.compose(np.array(frame), pose_group.compose(pose_group.inverse(node), pose))
            for (_, frame), node, pose in zip(places[k : k + 2], rod.mesh.poses[k : k + 2], poses[[0, -1]], strict=True)
        ]
        bodies, chain, sign = [places[k][0], places[k + 1][0]], list(enumerate(own)), 1.0
        if back or bodies[1] == GROUND:  # which no joint can carry
            bodies, ends, chain, sign = bodies[::-1], ends[::-1], chain[::-1], -1.0
        links = [(j, factor, mode) for j, factor in chain for mode in range(rod.modes)]
        parent, parent_frame, before = bodies[0], ends[0], None
        for j, factor, mode in links:
            if before is not None:  # the motion along the reference from the last factor
                parent_frame = pose_group.compose(pose_group.inverse(poses[before]), poses[j]) if before != j else still
            name = f"{rod.nodes[k]} {j} {rod.strains[factor.strain]} {mode}"
            last = (j, mode) == (links[-1][0], links[-1][2])
            child, child_frame = (bodies[1], ends[1]) if last else (name, still)
            ratio = sign * factor.length * float(values[factor.strain, mode, j])
            more = {"mimic": mode_name(rod, factor.strain, mode), "mimic_ratio": ratio}
            screws = [strain_screw(rod, factor.strain)]
            kind = joint_kind(rod, factor.strain)
            yield ElasticJoint(name, parent, child, kind, screws, parent_frame, child_frame, more)
            parent, before = name, j


def modal_forces(rod: Rod) -> Iterator[tuple[str, list[float | str]]]:
    """What the intrinsic strain pushes the coordinates of the modes with: ∫ K φ times it."""
    assert rod.modes is not None
    laws, points, L = dict(rod.intrinsic), quadrature(rod), rod.length / rod.elements
    values = shapes(rod, points.s)
    for strain, name in enumerate(rod.strains):
        law = laws.get(name, 0.0)
        for mode in range(rod.modes) if name in laws else ():
            parts = points.weights * points.stiffness[:, strain] * values[strain, mode] / L
            if isinstance(law, float) or ARC_LENGTH not in used_names(law):  # the same all along
                whole = float(parts.sum())
                if abs(whole) > ROUNDING * np.abs(parts).sum():
                    yield (
                        mode_name(rod, strain, mode),
                        [whole * law if isinstance(law, float) else f"{whole!r} * ({law})"],
                    )
                continue
            at = [
                f"{part!r} * ({put_in(law, {ARC_LENGTH: s})})" for part, s in zip(parts.tolist(), points.s, strict=True)
            ]
            yield mode_name(rod, strain, mode), [" + ".join(at)]


def mode_name(rod: Rod, strain: int, mode: int) -> str:
    """The joint whose coordinate is that of a mode: its strain at the start of the rod, times the length of an
    element."""
    return f"{rod.name} {rod.strains[strain]} {mode}"


def strains_along(rod: Rod, q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Strains (..., places, strains) at arc lengths, of coordinates of the modes (..., strains, modes)."""
    found: np.ndarray = np.einsum("smp,...sm->...ps", shapes(rod, s), q) / (rod.length / rod.elements)
    return found


def carried_over(before: Rod, rod: Rod, q: np.ndarray) -> np.ndarray:
    """Coordinates (strains, modes) of a rod that is bent as the same one with other elements is at q."""
    points = quadrature(rod)
    wanted, values = strains_along(before, q, points.s), shapes(rod, points.s)
    L = rod.length / rod.elements
    return np.array([np.linalg.lstsq(own.T, L * wanted[:, k], rcond=None)[0] for k, own in enumerate(values)])


def intrinsic_along(rod: Rod, times: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Intrinsic strains of those that a rod has, (..., places, strains), at times and arc lengths."""
    found, laws = np.zeros((*times.shape, len(s), len(rod.strains))), dict(rod.intrinsic)
    for k, name in enumerate(rod.strains):
        law: Any = laws.get(name, 0.0)
        if isinstance(law, float):
            found[..., k] = law
            continue
        same = ARC_LENGTH not in used_names(law)
        for place, at in enumerate(s[:1] if same else s):
            own = Expression(law, names={ARC_LENGTH: float(at)}).over(times)[..., 0]
            found[..., slice(None) if same else place, k] = own[..., None] if same else own
    return found
