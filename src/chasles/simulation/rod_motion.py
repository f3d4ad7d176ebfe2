"""A rod of a run, or of an equilibrium: its nodes, strains, stresses and curve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.rods import ElementStates, element_states, elements_of
from chasles.cached import cached_property
from chasles.lie import pose as pose_group
from chasles.lie import se3
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.expression_law import Expression
from chasles.model.placement import ORIGIN
from chasles.model.rod import MOST_TURN, STRAINS, Rod
from chasles.model.rod_intrinsic import strains_at
from chasles.model.rod_joints import coordinates_of, halves, stiffness_of, strain_screw
from chasles.model.rod_modes import intrinsic_along, mode_name, quadrature, strains_along
from chasles.model.rod_parts import end_inertia

FAR_STRETCHED = 0.3  # of its length


class RodMotion:
    """A rod at times: time is the first axis of all arrays; at a single time there is none.

    Strains and stresses are in the axes of the sections: twist and curvatures about y and z [1/m], extension and
    shears; torque and bending moments [N m], axial and shear forces [N].
    """

    def __init__(
        self,
        rod: Rod,
        mechanism: AbsoluteMechanism,
        poses: np.ndarray,
        twists: np.ndarray,
        t: ArrayLike,
        accelerations: Callable[[], np.ndarray] | None = None,
    ):
        self.rod, self._mechanism, self._poses, self._twists, self._t = rod, mechanism, poses, twists, t
        self._accelerations = accelerations  # of the bodies; None: not known

    @cached_property
    def _states(self) -> ElementStates:
        own = [k for k, element in enumerate(elements_of(self._mechanism)) if element.rod == self.rod.name]
        part = slice(own[0], own[-1] + 1)
        central, velocity = self._mechanism.state(self._poses, self._twists)
        every = element_states(self._mechanism, central, velocity, self._t)
        parts = [one[..., part, :] for one in every[:-1]]
        return ElementStates(*parts, every.energy[..., part])  # type: ignore[call-arg]  # seven of them

    @property
    def s(self) -> np.ndarray:
        """Arc lengths of the nodes without stress [m], (nodes,)."""
        return self.rod.mesh.s

    @cached_property
    def nodes(self) -> np.ndarray:
        """Poses of the sections at all nodes, welded ends too, (times, nodes, 7)."""
        index = {name: k for k, name in enumerate(self._mechanism.bodies)}
        found = np.empty((*self._poses.shape[:-2], self.rod.elements + 1, 7))
        frames = {frame.name: frame for frame in self._mechanism.system.frames}
        for k, name in enumerate(self.rod.nodes):
            if name in index:
                found[..., k, :] = self._poses[..., index[name], :]
            else:
                body, pose = frames[name].body, np.array(frames[name].pose)
                on = pose_group.identity() if body not in index else self._poses[..., index[body], :]
                found[..., k, :] = pose_group.compose(on, pose)
        return found

    @property
    def rest(self) -> np.ndarray:
        """X₀ of the elements, the logarithm of the second node's pose in the first without stress, (times, elements,
        6)."""
        return self._states.rest

    @property
    def strains(self) -> np.ndarray:
        """Mean of each element, beyond those without stress, (times, elements, 6)."""
        return (self._states.X - self._states.rest) / self.rod.mesh.lengths[:, None]

    @property
    def stresses(self) -> np.ndarray:
        """Those of the elastic law in each element, (times, elements, 6); NaN of strains that the rod does not have
        (`strains=`): what holds them is no function of the state, but a reaction, `run.reactions(joint)`."""
        return self._states.stress

    @cached_property
    def sections(self) -> np.ndarray:
        """Stresses in the sections at the nodes, (times, nodes, 6): of order four, or two with `strains=`. At an inner
        node that of the two sides' mean, which differ by what acts there. With modes those of the polynomials."""
        first, second = self._states.first, self._states.second
        found = np.concatenate([first, second[..., -1:, :]], axis=-2)
        found[..., 1:-1, :] = 0.5 * (first[..., 1:, :] + second[..., :-1, :])
        if not self.rod.strains and self._accelerations is not None:
            # the element bears what is lumped at the end, and the end section does not
            accelerations = self._accelerations()
            found[..., 0, :] += self._lumped(0, accelerations)
            found[..., -1, :] -= self._lumped(self.rod.elements, accelerations)
        return found

    def _lumped(self, k: int, accelerations: np.ndarray) -> np.ndarray:
        """Weight, loads and inertia of the end node k, as a wrench in its frame, (times, 6)."""
        name, poses, system = self.rod.nodes[k], self.nodes[..., k, :], self._mechanism.system
        frame, index = system.frame(name), {body: i for i, body in enumerate(self._mechanism.bodies)}
        R = quaternion_to_matrix(poses[..., :4])
        V, A = np.zeros((2, *poses.shape[:-1], 6))
        if frame.body in index:
            back, body = pose_group.inverse(np.array(frame.pose)), index[frame.body]
            V = pose_group.Ad_apply(back, self._twists[..., body, :])
            A = pose_group.Ad_apply(back, accelerations[..., body, :])
        A = A.copy()
        A[..., 3:] -= np.einsum("...ji,j->...i", R, np.array(system.gravity))
        inertia = end_inertia(self.rod, k, ORIGIN)
        found = np.einsum("...ji,...j->...i", se3.ad(V), V @ inertia) - A @ inertia
        share = float(self.rod.weights[k]) * self.rod.length / self.rod.elements
        for load in self.rod.loads:
            wrench = Expression(load.on(float(self.s[k]), share)).over(np.asarray(self._t, dtype=float))
            if load.representation == "hybrid":
                wrench = np.einsum("...ji,...kj->...ki", R, wrench.reshape(*R.shape[:-2], 2, 3)).reshape(wrench.shape)
            found = found + wrench
        return found

    @property
    def ends(self) -> np.ndarray:
        """Stresses in the sections at both ends, (times, 2, 6)."""
        return self.sections[..., [0, -1], :]

    @property
    def energy(self) -> np.ndarray:
        """What it stores [J], (times,)."""
        return self._states.energy.sum(axis=-1)

    def largest_fiber_strain(self) -> float:
        """Of all its fibers at all times, from the axis to the outline."""
        return largest_fiber_strain(self.rod, self.strains)

    def curve(self, pieces: int = 4) -> np.ndarray:
        """Points along it, so many in each element, (times, points, 3)."""
        parts = np.arange(pieces) / pieces
        moved = pose_group.exp(parts[:, None] * self._states.X[..., None, :])
        inner = pose_group.compose(self.nodes[..., :-1, None, :], moved)[..., 4:]
        flat = inner.reshape(*inner.shape[:-3], -1, 3)
        return np.concatenate([flat, self.nodes[..., -1:, 4:]], axis=-2)

    def __repr__(self) -> str:
        return f"<rod {self.rod.name!r}: {self.rod.elements} elements, {self.rod.length:.4g} m>"


class JointedRodMotion(RodMotion):
    """The same of a rod with some strains only. Stresses of those that it does not have are reactions, which its law
    does not know: they are not a number."""

    @cached_property
    def _states(self) -> ElementStates:
        nodes, mesh, rod = self.nodes, self.rod.mesh, self.rod
        X = pose_group.log(pose_group.compose(pose_group.inverse(nodes[..., :-1, :]), nodes[..., 1:, :]))
        own, ends = [STRAINS.index(name) for name in rod.strains], halves(rod)
        first, second = (pose_group.compose(nodes[..., k : k + rod.elements, :], ends[k]) for k in range(2))
        between = coordinates_of(rod, pose_group.compose(pose_group.inverse(first), second))
        grown = mesh.lengths[:, None] * strains_at(rod, np.asarray(self._t, dtype=float), STRAINS)
        between = between - grown[..., own]
        stress = np.full(X.shape, np.nan)
        stress[..., own] = stiffness_of(rod) / mesh.lengths[:, None] * between
        energy = 0.5 * (stress[..., own] * between).sum(axis=-1)
        rest = np.broadcast_to(mesh.rest + grown, X.shape)
        at_ends = with_ends(stress)  # what is in the middles of elements goes on to the ends as a line
        first, second = stress.copy(), stress.copy()
        first[..., 0, :], second[..., -1, :] = at_ends[..., 0, :], at_ends[..., -1, :]
        return ElementStates(X, rest, np.zeros_like(X), stress, first, second, stress, energy)


class ModalRodMotion(RodMotion):
    """The same of a rod whose strains are polynomials: from these, which the links of its modes show."""

    @cached_property
    def coordinates(self) -> np.ndarray:
        """Of the modes, (times, strains, modes): the strain of each at the start, times the length of an element."""
        index, rod = {name: k for k, name in enumerate(self._mechanism.bodies)}, self.rod
        back = self._mechanism.system.joint(mode_name(rod, 0, 0)).parent == rod.ends[1]
        start = self.nodes[..., -1 if back else 0, :]
        found = np.empty((*start.shape[:-1], len(rod.strains), int(rod.modes or 0)))
        for strain in range(len(rod.strains)):
            for mode in range(found.shape[-1]):
                link = self._poses[..., index[mode_name(rod, strain, mode)], :]
                moved = pose_group.log(pose_group.compose(pose_group.inverse(start), link))
                found[..., strain, mode] = moved @ strain_screw(rod, strain)
        return found

    @cached_property
    def _states(self) -> ElementStates:
        nodes, rod, mesh = self.nodes, self.rod, self.rod.mesh
        own, points, times = [STRAINS.index(name) for name in rod.strains], quadrature(rod), np.asarray(self._t, float)
        X = pose_group.log(pose_group.compose(pose_group.inverse(nodes[..., :-1, :]), nodes[..., 1:, :]))
        grown = mesh.lengths[:, None] * strains_at(rod, times, STRAINS)
        beyond = strains_along(rod, self.coordinates, points.s) - intrinsic_along(rod, times, points.s)
        apart = (*beyond.shape[:-2], rod.elements, -1, len(own))  # points of each element
        weights = points.weights.reshape(rod.elements, -1)
        stress = (beyond * points.stiffness).reshape(apart)
        energy = 0.5 * np.einsum("...kps,...kps,kp->...k", stress, beyond.reshape(apart), weights)
        mean, first, second = (np.full(X.shape, np.nan) for _ in range(3))
        mean[..., own] = np.einsum("...kps,kp->...ks", stress, weights) / mesh.lengths[:, None]
        at_nodes = strains_along(rod, self.coordinates, mesh.s) - intrinsic_along(rod, times, mesh.s)
        at_nodes = at_nodes * rod.stiffness_along(mesh.s)
        first[..., own], second[..., own] = at_nodes[..., :-1, :], at_nodes[..., 1:, :]
        rest = np.broadcast_to(mesh.rest + grown, X.shape)
        return ElementStates(X, rest, np.zeros_like(X), mean, first, second, mean, energy)

    def largest_fiber_strain(self) -> float:
        """Of the polynomials at many places: elements may be few and long, and their means miss what is at the ends."""
        rod, times = self.rod, np.asarray(self._t, float)
        s = np.union1d(rod.mesh.s, quadrature(rod).s)
        strains = np.zeros((*self.coordinates.shape[:-2], len(s), len(STRAINS)))
        own = [STRAINS.index(name) for name in rod.strains]
        strains[..., own] = strains_along(rod, self.coordinates, s) - intrinsic_along(rod, times, s)
        return float(_fiber_strains(rod, strains, s).max())


def rod_motion(
    mechanism: Any,
    name: str,
    poses: np.ndarray,
    twists: np.ndarray,
    t: ArrayLike,
    accelerations: Callable[[], np.ndarray] | None = None,
) -> RodMotion:
    """A rod by its name, of a mechanism in either coordinates, at times t."""
    rod = mechanism.system.rod(name)
    if rod.strains:
        return (JointedRodMotion if rod.modes is None else ModalRodMotion)(rod, mechanism, poses, twists, t)
    own = mechanism if isinstance(mechanism, AbsoluteMechanism) else mechanism.system.compile("absolute")
    return RodMotion(rod, own, poses, twists, t, accelerations)


def strange_elements(motions: Iterable[RodMotion]) -> Iterator[str]:
    """What to say of rods whose elements turn or stretch far beyond what they can be right for, at a single time."""
    for motion in motions:
        rod, nodes = motion.rod, motion.nodes
        X = pose_group.log(pose_group.compose(pose_group.inverse(nodes[:-1]), nodes[1:]))
        turns = np.linalg.norm(X[:, :3], axis=1)
        stretch = np.abs(X[:, 3:] - rod.mesh.rest[:, 3:]).max(axis=1) / rod.mesh.lengths
        if turns.max() > MOST_TURN / 2.0:
            k = int(np.argmax(turns))
            yield (
                f"element {k} of rod {rod.name!r} turns by {turns[k]:.2g} rad; expected at most 1: more elements, "
                f"{int(np.ceil(rod.elements * turns[k]))} or so"
            )
        elif stretch.max() > FAR_STRETCHED:
            k = int(np.argmax(stretch))
            yield (
                f"element {k} of rod {rod.name!r} is stretched or sheared by {100 * stretch[k]:.3g} % of its length; "
                "is the rod held where its curve ends?"
            )


def with_ends(means: np.ndarray) -> np.ndarray:
    """Numbers of the elements (..., elements, 6), and before and after them those at the ends, on the line through the
    two nearest middles."""
    if means.shape[-2] < 2:
        return np.concatenate([means, means, means], axis=-2)
    start, end = (1.5 * means[..., [k], :] - 0.5 * means[..., [next_one], :] for k, next_one in ((0, 1), (-1, -2)))
    return np.concatenate([start, means, end], axis=-2)


def largest_fiber_strain(rod: Rod, strains: np.ndarray) -> float:
    """Of all elements and of both ends, where that of a clamped rod is: strains are means of the elements."""
    s = np.concatenate([[0.0], 0.5 * (rod.mesh.s[:-1] + rod.mesh.s[1:]), [rod.length]])
    return float(_fiber_strains(rod, with_ends(strains), s).max())


def fiber_strains(rod: Rod, strains: np.ndarray) -> np.ndarray:
    """|extension| + |curvature| times the distance from the axis + |twist| times it, at most, of each element."""
    return _fiber_strains(rod, strains, 0.5 * (rod.mesh.s[:-1] + rod.mesh.s[1:]))


def _fiber_strains(rod: Rod, strains: np.ndarray, places: np.ndarray) -> np.ndarray:
    y, z = np.array([rod.outline(float(s)) for s in places]).T
    own = np.abs(strains) * [not rod.strains or name in rod.strains for name in STRAINS]
    return np.asarray(own[..., 0] * np.hypot(y, z) + own[..., 3] + own[..., 1] * z + own[..., 2] * y)
