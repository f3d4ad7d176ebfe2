"""Rods: slender bodies that bend, twist, stretch and shear, as nodes between which elements act (`force.rod`).

A rod of n elements has nodes "name[0]" to "name[n]", which are bodies: joints, forces and frames may name them, also by
arc length, "name@0.5" (`model.rod_place`). An end that is welded to a body is no node of its own: its mass is added to
that body, and its name is a frame there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from chasles.cached import cached_property
from chasles.lie import pose as pose_group
from chasles.lie import se3
from chasles.model.body import GROUND
from chasles.model.placement import as_numbers, check_name
from chasles.model.rod_curve import ReferenceCurve
from chasles.model.rod_intrinsic import settled
from chasles.model.rod_load import Load, Mass
from chasles.model.rod_section import Material, Section, Stiffness, between, check_taper
from chasles.model.suggestion import meant

FREE_END = "free"
ELEMENTS = ("magnus", "helix")
MASSES = ("gregory", "offset", "trapezoid")
STRAINS = ("twist", "bend_y", "bend_z", "stretch", "shear_y", "shear_z")  # in the order of twists and wrenches
MOST_TURN = 3.0  # [rad] in an element; its logarithm is that of less than half a turn
FEWEST = 8  # elements from which on Gregory's weights are used
SAME_PLACE = 1e-6  # of the length of a rod: arc lengths are given with so many digits
MOST_TRIED = 100  # up to which a number is looked for that has a node at a place
MOST = 100_000  # elements
UNIFORM = 1e-9  # of the strain of a reference: less is rounding
# Gauss' points in an element and their weights
POINTS, WEIGHTS = (np.polynomial.legendre.leggauss(4)[k] / 2.0 for k in range(2))


class RodMesh(NamedTuple):
    """A rod as its elements are made: arc lengths and frames of the nodes in that of its curve, and of the elements
    length, X₀, F₀, compliance, the number c (`force.rod`), and what multiplies X' of damping; masses, inertia
    about their centers (3x3) and these centers of the nodes."""

    s: np.ndarray
    poses: np.ndarray
    lengths: np.ndarray
    rest: np.ndarray
    flexibility: np.ndarray
    compliance: np.ndarray
    bend: np.ndarray
    damping: np.ndarray
    mass: np.ndarray
    moments: np.ndarray
    offset: np.ndarray


@dataclass(frozen=True)
class Rod:
    """A slender elastic body along a reference curve, in which it has no stress.

    curve: `rods.Line`, `Arc`, `Helix` or `Spline`, in the frame of the body that its first end is welded to, or in
    space. section: one of `rods`, or two of one kind for a rod that is tapered. ends: what each end is welded to, a
    body, "ground" or a node of a rod before this one, "mast[8]" or "mast@0.5"; "free" ends may be held by joints to
    the nodes. up: direction near which the sections' z axis is at the start; twist: by how much sections turn about
    the curve along it [rad].

    elements: their number; each should turn by less than 1 rad. element: "magnus", of order 4, or "helix", of order 2
    and the one of most codes; with strains but no modes the order is 2. damping [s]: stresses that follow the rate of
    strain, 2 ζ/ω for a part ζ of critical damping at ω. masses: how mass is given to the nodes, "gregory" (of order 4;
    "offset" with few elements), "offset" or "trapezoid". loads: `rods.Load` along all of it; what is on a welded end
    acts on the body there. added: `rods.Mass` at places along it.

    strains: those it has, if not all: of "twist", "bend_y", "bend_z", "stretch", "shear_y" and "shear_z". Its elements
    are then joints with a spring for each, for joint coordinates. modes: how many polynomials each of these strains is
    along all of the rod, whose coordinates are then the only ones; None: each element has its own.

    intrinsic: strains that it takes without stress beside those of its curve, by their names: numbers, or expressions
    of t and of the arc length s [m], such as {"bend_z": "3 * smooth(t, 0, 1) * s"}. Twist and bends are in 1/m.
    """

    name: str
    curve: ReferenceCurve
    section: Any
    material: Material | None = None
    ends: tuple[str, str] = (FREE_END, FREE_END)
    elements: int = 16
    damping: float = 0.0
    up: Any = None
    twist: float = 0.0
    element: str = "magnus"
    masses: str = "gregory"
    loads: Sequence[Load] = ()
    strains: Sequence[str] = ()
    modes: int | None = None
    intrinsic: Any = ()
    added: Sequence[Mass] = ()

    def __post_init__(self) -> None:
        check_name("Rod", self.name)
        where = f"rod {self.name!r}"
        if not isinstance(self.curve, ReferenceCurve):
            raise ValueError(f"{where}: curve is {self.curve!r}; expected one such as chasles.rods.Line(...)")
        sections = (self.section,) if isinstance(self.section, Section) else self.section
        if not (isinstance(sections, tuple | list) and all(isinstance(one, Section) for one in sections)):
            raise ValueError(f"{where}: section is {self.section!r}; expected one such as chasles.rods.Circle(...)")
        if len(sections) > 2 or len({type(one) for one in sections}) != 1:
            raise ValueError(f"{where}: has sections {sections!r}; expected one, or two of a kind for a tapered rod")
        check_taper(where, sections[0], sections[-1])
        object.__setattr__(self, "section", sections[0] if sections[0] == sections[-1] else tuple(sections))
        if not isinstance(self.material, Material | None) or (self.material is None and not self._stiff):
            raise ValueError(f"{where}: material is {self.material!r}; expected chasles.rods.Material(E=..., ...)")
        for name in ("damping", "twist"):
            object.__setattr__(self, name, float(as_numbers(where, name, getattr(self, name), ())))
        if self.damping < 0.0:
            raise ValueError(f"{where}: damping is {self.damping:g}; expected zero or more [s]")
        if self.up is not None:
            object.__setattr__(self, "up", tuple(as_numbers(where, "up", self.up, (3,)).tolist()))
        for name, known in (("element", ELEMENTS), ("masses", MASSES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{where}: {name} is {getattr(self, name)!r}; expected one of {', '.join(known)}")
        if not isinstance(self.elements, int | np.integer) or not 1 <= self.elements <= MOST or self.elements is True:
            raise ValueError(f"{where}: elements is {self.elements!r}; expected 1 or more, at most {MOST}")
        object.__setattr__(self, "elements", int(self.elements))
        for name, kind in (("loads", Load), ("added", Mass)):
            given = getattr(self, name)
            items = tuple(given) if isinstance(given, Sequence) else (given,)
            if not all(isinstance(item, kind) for item in items):
                expected = f"a list of chasles.rods.{kind.__name__}(...)"
                raise ValueError(f"{where}: {name} is {items!r}; expected {expected}")
            object.__setattr__(self, name, items)
        self._check_ends(where)
        self._check_strains(where)
        object.__setattr__(self, "intrinsic", settled(where, self.intrinsic, self.strains, STRAINS))
        if not self.curve.length > 0.0:
            raise ValueError(f"{where}: its curve has length {self.curve.length:g}; expected a positive length [m]")
        if self.element == "helix" and self._stiff and np.isinf(np.array(self._sections[0].matrix)).any():
            raise ValueError(f"{where}: shear stiffness is infinite, which elements {self.element!r} cannot be; magnus")

    def _check_ends(self, where: str) -> None:
        ends = (self.ends,) if isinstance(self.ends, str) else tuple(self.ends)
        if len(ends) != 2 or not all(isinstance(end, str) for end in ends):
            raise ValueError(f'{where}: ends is {self.ends!r}; expected two of a body, "ground" and "free"')
        object.__setattr__(self, "ends", ends)
        if any(end.startswith((f"{self.name}[", f"{self.name}@")) for end in ends):
            raise ValueError(f"{where}: ends is {self.ends!r}: it cannot be welded to itself; use a weld joint")
        if self.elements == 1 and ends == (GROUND, GROUND):
            raise ValueError(
                f"{where}: both ends are welded to the ground, with no node between; expected two elements or more"
            )

    def _check_strains(self, where: str) -> None:
        """Which strains it has, in the order of `STRAINS`, and their modes."""
        given = (self.strains,) if isinstance(self.strains, str) else tuple(self.strains)
        for name in given:
            if name not in STRAINS:
                raise ValueError(
                    f"{where}: strains has {name!r}; {meant(str(name), STRAINS)}expected some of {', '.join(STRAINS)}"
                )
        object.__setattr__(self, "strains", tuple(name for name in STRAINS if name in given))
        if self.modes is None:
            return
        if not self.strains:
            raise ValueError(f"{where}: modes are for a rod with some strains; give strains too, as ['bend_z']")
        count = self.modes
        if not (isinstance(count, int | np.integer) and 1 <= count <= self.elements) or count is True:
            raise ValueError(
                f"{where}: modes is {count!r}; expected 1 to {self.elements}, no more than there are elements"
            )
        object.__setattr__(self, "modes", int(count))

    @property
    def _sections(self) -> tuple[Any, Any]:
        return self.section if isinstance(self.section, tuple) else (self.section, self.section)

    @property
    def _stiff(self) -> bool:
        return all(isinstance(one, Stiffness) for one in self._sections)

    # ------------------------------------------------------------ places

    @property
    def length(self) -> float:
        """Along its reference curve [m]."""
        return self.curve.length

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes."""
        return tuple(f"{self.name}[{k}]" for k in range(self.elements + 1))

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the nodes that are bodies: all but ends that are welded."""
        return self.nodes[int(self.ends[0] != FREE_END) : self.elements + int(self.ends[1] == FREE_END)]

    def at(self, s: float, where: str = "") -> str:
        """The name of the node at an arc length s [m]; ValueError, which begins with `where`, if there is none."""
        where = where or f"rod {self.name!r}"
        s = float(as_numbers(where, "the arc length", s, ()))
        n, length = self.elements, self.length
        if not -SAME_PLACE <= s / length <= 1.0 + SAME_PLACE:
            raise ValueError(f"{where}: there is no place at {s:g} m; rod {self.name!r} goes from 0 to {length:g} m")
        k = round(s / length * n)
        if abs(k / n - s / length) <= SAME_PLACE:
            return self.nodes[k]
        before = int(s / length * n)
        near = " and ".join(f"{self.nodes[k]!r} at {k * length / n:.6g} m" for k in (before, before + 1))
        part = Fraction(s / length).limit_denominator(MOST_TRIED)
        enough = -(-n // part.denominator) * part.denominator
        advice = f"elements = {enough} puts one there (now {n})"
        if abs(float(part) - s / length) > SAME_PLACE:
            advice = f"no number of elements up to {MOST_TRIED} puts one there: take one of these"
        raise ValueError(f"{where}: there is no node at {s:g} m; the nearest are {near}; {advice}")

    def poses(self, s: Any) -> np.ndarray:
        """Frames of the sections at arc lengths, (..., 7), in the frame of the curve, without stress."""
        s = np.asarray(s, dtype=float)
        found = self.curve.poses(s, f"rod {self.name!r}", self.up)
        if self.twist:
            turn = np.zeros((*s.shape, 6))
            turn[..., 0] = self.twist * s / self.length
            found = pose_group.compose(found, pose_group.exp(turn))
        return found

    # ------------------------------------------------------------ elements

    def outline(self, s: float) -> tuple[float, float]:
        """Half of the extent of its section along y and z at an arc length [m]."""
        return self._section_at(s).outline

    def stiffness_along(self, s: np.ndarray) -> np.ndarray:
        """K of the strains that it has at arc lengths, (places, strains), of sections that do not couple them."""
        own = [STRAINS.index(name) for name in self.strains]
        if isinstance(self.section, Section):
            return np.tile(1.0 / self.section.compliance(self.material)[own, own], (len(s), 1))
        return np.array([1.0 / self._section_at(float(x)).compliance(self.material)[own, own] for x in s])

    def _section_at(self, s: float) -> Section:
        return between(*self._sections, s / self.length)

    @cached_property
    def mesh(self) -> RodMesh:
        """All that its elements and nodes are made of."""
        n, L = self.elements, self.length / self.elements
        s = np.linspace(0.0, self.length, n + 1)
        inner = s[:-1, None] + L * (0.5 + POINTS)
        every = self.poses(np.concatenate([s[:-1, None], inner], axis=1).ravel()).reshape(n, -1, 7)
        poses = np.concatenate([every[:, 0], self.poses(s[-1:])])
        ahead = np.concatenate([every, poses[1:, None]], axis=1)
        self._check_turns(ahead)
        rest = pose_group.log(pose_group.compose(pose_group.inverse(poses[:-1]), poses[1:]))
        same = isinstance(self.section, Section)
        if same:
            compliance = np.broadcast_to(self.section.compliance(self.material), (n, len(POINTS), 6, 6))
        else:
            compliance = np.array([[self._section_at(x).compliance(self.material) for x in row] for row in inner])
        mean = np.einsum("p,npij->nij", WEIGHTS, compliance)
        bend = np.full(n, L / 12.0 if self.element == "magnus" else 0.0)
        flexibility = L * mean
        change = np.abs(np.diff(rest, axis=0)) / L
        if self.element == "magnus" and not (same and (change <= UNIFORM * np.abs(rest).max() / L).all()):
            flexibility = self._flexibilities(ahead, rest, compliance, mean, bend)
        ad = se3.ad(rest)
        at_rest = flexibility + bend[:, None, None] * ad @ mean @ ad.transpose(0, 2, 1)
        damping = self.damping * np.linalg.inv(at_rest) if self.damping else np.zeros((n, 6, 6))
        return RodMesh(s, poses, np.full(n, L), rest, flexibility, mean, bend, damping, *self._lumped(s, L))

    def _flexibilities(
        self, ahead: np.ndarray, rest: np.ndarray, compliance: np.ndarray, mean: np.ndarray, bend: np.ndarray
    ) -> np.ndarray:
        """F₀ so that elements whose section or curvature changes along them are exact for small deformations: there
        F = dexpinv_{-X} (∫ Ad M Adᵀ ds) dexpinv_{-X}ᵀ, Ad from each section to the second node."""
        L, found = self.length / self.elements, []
        for k in range(self.elements):
            to_end = pose_group.compose(pose_group.inverse(ahead[k, -1]), ahead[k, 1:-1])
            carried = pose_group.Ad(to_end)
            total = L * np.einsum("p,pij,pjk,plk->il", WEIGHTS, carried, compliance[k], carried)
            back, ad = se3.dexpinv(-rest[k]), se3.ad(rest[k])
            found.append(back @ total @ back.T - bend[k] * ad @ mean[k] @ ad.T)
        return np.array(found)

    def _check_turns(self, ahead: np.ndarray) -> None:
        """ahead: frames of each element, in their order."""
        steps = pose_group.log(pose_group.compose(pose_group.inverse(ahead[:, :-1]), ahead[:, 1:]))
        turns = np.linalg.norm(steps[..., :3], axis=-1).sum(axis=1)
        if turns.max() > MOST_TURN:
            more = int(np.ceil(self.elements * turns.max()))
            raise ValueError(
                f"rod {self.name!r}: element {int(np.argmax(turns))} turns by {turns.max():.3g} rad in the reference; "
                f"expected at most {MOST_TURN:g}, better 1: {more} elements"
            )

    @property
    def _by_gregory(self) -> bool:
        return self.masses == "gregory" and self.elements >= FEWEST

    @property
    def weights(self) -> np.ndarray:
        """What share of the length of an element each node has of what is along the rod."""
        weights = np.ones(self.elements + 1)
        weights[[0, -1]] = 0.5
        if self._by_gregory:
            weights[:3] += np.array([-3.0, 4.0, -1.0]) / 24.0
            weights[-3:] += np.array([-1.0, 4.0, -3.0]) / 24.0
        return weights

    def _lumped(self, s: np.ndarray, L: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Masses, inertia and centers of the nodes (along x). The rotary inertia is that of the section alone: with
        that of the piece, m L²/12, the order would be 2."""
        weights, offset = self.weights, np.zeros(self.elements + 1)
        if self.masses != "trapezoid" and not self._by_gregory:
            offset[[0, -1]] = L / 6.0, -L / 6.0
        if isinstance(self.section, Section):
            mass, moments = self.section.mass(self.material)
            return mass * L * weights, (L * weights)[:, None, None] * moments, offset
        own = [self._section_at(x).mass(self.material) for x in s]
        masses = np.array([mass for mass, _ in own])
        return masses * L * weights, np.array([moments for _, moments in own]) * (L * weights)[:, None, None], offset
