"""Equilibria of systems with rods, in absolute coordinates: Newton's method with exact derivatives and sparse matrices.

Unknowns are a rotation in each body and a displacement in space of its center, which are taken along screws,
multipliers of the constraints, and the stresses of the elements of rods. The latter cost nothing: they are condensed in
each element. Newton's method in poses alone fails on slender rods: after a step nodes have moved on straight lines, and
the axial forces of that spoil the next one. With stresses as iterates of their own (magisano2017)
the number of iterations depends neither on the slenderness nor on the number of elements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from chasles.absolute import entry
from chasles.absolute.forces import forces_on_states
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.rods import GivenStresses, element_states
from chasles.absolute.space import SO3XR3_NAME
from chasles.absolute.tables import FORCE_WORK, MECHANISM
from chasles.cached import cached_property
from chasles.constrained import structure as structures
from chasles.constrained.force_tangent import force_tangent_addresses
from chasles.constrained.tables import BLOCK, STRUCTURE
from chasles.constrained.workspace import NO_ROW, WORKSPACE, ForceCall, run_loop
from chasles.force.table import FORCE, FORCES, FRAME, MOVING, WRENCH
from chasles.kernel.flat_call import flat_call
from chasles.kernel.undisturbed import Calling
from chasles.lie import pose as pose_group
from chasles.lie import so3
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.rod import Rod
from chasles.model.rod_parts import RodNode
from chasles.model.rod_section import Section, Stiffness
from chasles.model.system import System
from chasles.screw.representation import REPRESENTATIONS
from chasles.simulation.bodies.linear_equations import Pattern, StaticEquations

TILES = ((0, 0), (0, 3), (3, 0), (3, 3))  # where the tiles of a block begin
LITTLE = 1e-12  # of the lightest body: the mass of rods that have none
UNHELD = 1e-9  # of stiffness, the part that is rounding
HAT = np.concatenate([so3.hat(axis).reshape(1, 9) for axis in np.eye(3)])  # of a vector a: (a @ HAT), row by row
DIFFERENCE = 1e-6  # [rad] for how reactions turn with the bodies


class StaticIterate(NamedTuple):
    """Central poses (bodies, 7), multipliers (tiles, 3), stresses of the elements (elements, 6)."""

    q: np.ndarray
    multipliers: np.ndarray
    stresses: np.ndarray | None


def weightless_as_heavy(system: System) -> System:
    """The system with some mass in rods that have none, so that it can be compiled. It is so little that centers of
    mass, at which weight acts, stay where they are."""
    little = LITTLE * min((body.mass for body in system.bodies if body.mass > 0.0), default=1.0)

    def heavy(rod: Rod, density: float) -> Rod:
        def section_of(section: Section) -> Section:
            if not isinstance(section, Stiffness):
                return section
            moments = tuple(moment or density for moment in section.moments)
            return replace(section, density=section.density or density, moments=moments)

        one = isinstance(rod.section, Section)
        section = section_of(rod.section) if one else tuple(section_of(section) for section in rod.section)
        material = None if rod.material is None else replace(rod.material, density=rod.material.density or density)
        return replace(rod, section=section, material=material)

    rods = []
    for rod in system.rods:
        if not rod.mesh.mass.all() or not np.einsum("nii->ni", rod.mesh.moments).all():
            rod = heavy(rod, little / float(heavy(rod, 1.0).mesh.mass.sum()))
        rods.append(rod)
    return replace(system, rods=rods) if any(isinstance(body, RodNode) for body in system.bodies) else system


class BodyStatics:
    """Forces on a system at rest at a time, and their derivatives; gravity and constant wrenches times `load`."""

    def __init__(self, system: System, t: float = 0.0):
        self.system, self.t, self.load = system, t, 1.0
        self.mechanism = AbsoluteMechanism(weightless_as_heavy(system), SO3XR3_NAME)
        mechanism, n = self.mechanism, self.mechanism.n
        self.given = GivenStresses(mechanism)
        masses = np.array([body.mass for body in system.bodies])
        self.weight = np.concatenate([np.zeros((n, 3)), np.outer(masses, np.array(system.gravity))], axis=1)
        self._constants = self._constant_wrenches()
        self.structure = structures.build(mechanism, np.zeros((len(mechanism.tiles), 3), dtype=np.int64))
        packed = self.structure.packed
        self._work = np.zeros(WORKSPACE.size(packed))
        self._shared = WORKSPACE.split(self._work, packed)
        if self.mechanism.forces.table[FORCES.count]:  # the ground, which comes first
            self._shared.force_work[MOVING.rotation : MOVING.position] = np.eye(3).ravel()
        self._places()
        self._pattern = Pattern(self._rows, self._columns, 6 * n)
        self._still = np.zeros(6 * n)
        self._q = np.zeros(7 * n)  # of the iterate at which derivatives are taken
        self._call = ForceCall(
            *(t, 1.0, 0.0, mechanism.packed, packed, self._q, self._still),
            *(self._shared.blocks, self._shared.matrix, self._shared.law_wrenches, self._shared.element_tiles),
            *(self._shared.force_work, self._shared.wrenches, self._shared.acted, NO_ROW),
        )
        self._tangents = force_tangent_addresses(mechanism.forces.table)
        self._turned: tuple[Any, Any] = (None, None)  # poses, and their rotations
        self._act_work = np.empty(FORCE_WORK.size(mechanism.packed.view(np.int64)))

    def _constant_wrenches(self) -> list[tuple[int, str, np.ndarray, np.ndarray]]:
        """Body, representation, frame and numbers (a view) of wrenches that are no laws."""
        packed, found = self.mechanism.packed, []
        values = MECHANISM.part(packed, "values")
        table = MECHANISM.part(packed.view(np.int64), "table")
        for row in table[FORCES.size :][: table[FORCES.count] * FORCE.size].reshape(-1, FORCE.size):
            if row[FORCE.kind] == WRENCH and not row[FORCE.law]:
                numbers = values[row[FORCE.numbers] :]
                at = FRAME.size
                found.append(
                    (int(row[FORCE.first]), REPRESENTATIONS[row[FORCE.second]], numbers[:at], numbers[at : at + 6])
                )
        self._full = [numbers.copy() for *_, numbers in found]
        return found

    def put_load(self, load: float, share: float = 1.0) -> None:
        """Gravity and constant wrenches times a factor, and a share of the intrinsic strain of rods."""
        self.load = load
        self.given.put_share(share)
        for (*_, numbers), full in zip(self._constants, self._full, strict=True):
            numbers[:] = load * full

    @property
    def has_loads(self) -> bool:
        """Whether there is something that a factor multiplies."""
        return bool(self.weight.any() or any(full.any() for full in self._full) or self.given.shares)

    def _places(self) -> None:
        """Rows and columns of the numbers that the kernels give: blocks of the bodies, then couplings."""
        n, packed = self.mechanism.n, self.structure.packed
        slots, pairs = STRUCTURE.part(packed, "slots"), {}
        rows = structures.force_rows(self.mechanism)
        for k, at in enumerate(STRUCTURE.part(packed, "coupled")):
            if at >= 0:
                i, j = int(rows[k][FORCE.first]), int(rows[k][FORCE.second])
                for side, (a, b) in enumerate(((i, j), (j, i))):
                    for m, (row, column) in enumerate(TILES):
                        pairs[int(slots[at + 4 * side + m])] = (6 * a + row, 6 * b + column)
        self._slots = np.array(list(pairs), dtype=int)
        corners = [(6 * i + row, 6 * i + column) for i in range(n) for row, column in TILES] + list(pairs.values())
        first = np.array(corners, dtype=int).reshape(-1, 2)
        grid = np.indices((3, 3)).reshape(2, -1)
        self._rows, self._columns = ((first[:, k, None] + grid[k]).ravel() for k in range(2))

    # ------------------------------------------------------------ forces and derivatives

    def forces(self, at: StaticIterate, alone: bool = False) -> np.ndarray:
        """What is left on the bodies but for reactions, (bodies, 6): torque in the body, force in space. alone: without
        what the misfit of stresses adds."""
        self.given.give(at.stresses, alone)
        mechanism, n = self.mechanism, self.mechanism.n
        wrenches = np.zeros((n, 6))
        if not mechanism.forces.empty:
            act, packed, q = entry.act_address(), mechanism.packed, np.ascontiguousarray(at.q).reshape(1, -1)
            angles = mechanism.angles(at.q[None])
            with Calling(mechanism.forces.laws):
                forces_on_states(
                    *(act, packed.view(np.int64), np.array([self.t]), angles, np.zeros((1, 0)), packed, q),
                    *(self._still[None], wrenches.reshape(1, -1), self._act_work, np.zeros((1, 2))),
                )
        return wrenches + self.load * self.weight

    def _stiffness(self, at: StaticIterate, reactions: np.ndarray | float) -> np.ndarray:
        """Minus the derivative of the forces, along screws of the bodies, as numbers of the pattern: with these turns
        what is left of the forces, of the stresses that are taken."""
        turning = self.forces(at, alone=True) - reactions
        shared, mechanism = self._shared, self.mechanism
        shared.blocks[:], shared.matrix[:], self._q[:] = 0.0, 0.0, at.q.ravel()
        with Calling(mechanism.forces.laws, bool(mechanism.forces.laws)):
            for address in self._tangents:
                flat_call(run_loop, address, self._call)
        rotations = self._rotations(at.q)
        for body, representation, frame, numbers in self._constants:
            self._add_wrench(body, representation, frame, numbers, rotations[body], at.q[body, 4:])
        blocks = shared.blocks.reshape(-1, 4, 3, 3)
        blocks[:, 2] -= (turning[:, 3:] @ HAT).reshape(-1, 3, 3) @ rotations
        tiles = shared.matrix.reshape(-1, 9)[self._slots]
        return np.concatenate([shared.blocks.ravel(), tiles.ravel()])

    def _rotations(self, q: np.ndarray) -> np.ndarray:
        """Of the bodies (bodies, 3, 3): the same array of poses is asked for some times in an iteration."""
        if self._turned[0] is not q:
            self._turned = q, quaternion_to_matrix(q[:, :4])
        return self._turned[1]

    def _add_wrench(
        self, body: int, representation: str, frame: np.ndarray, numbers: np.ndarray, R: np.ndarray, r: np.ndarray
    ) -> None:
        """How a constant wrench changes as its body, at (R, r), turns and moves; motions leave this out, statics needs
        it."""
        X, x = frame[:9].reshape(3, 3), frame[9:]
        block = self._shared.blocks[body * BLOCK.size : (body + 1) * BLOCK.size].reshape(4, 3, 3)
        torque, force = numbers[:3], numbers[3:]
        if representation == "body":
            block[2] += R @ _skew(X @ force)
            return
        in_body = R.T @ force
        block[0] -= _skew(x) @ _skew(in_body)
        if representation == "spatial":
            place = r + R @ x
            block[0] -= _skew(R.T @ (torque - np.cross(place, force))) - R.T @ _skew(force) @ R @ _skew(x)
            block[1] -= R.T @ _skew(force)
        elif representation == "hybrid":
            block[0] -= _skew(R.T @ torque)

    def equations(self, at: StaticIterate) -> StaticEquations:
        """K d + Jᵀ dλ = forces - Jᵀ λ, J d = -g."""
        left = self.forces(at)
        if not self.mechanism.tiles:
            return StaticEquations(self._pattern, self._stiffness(at, 0.0), left.ravel(), self.mechanism.n)
        import scipy.sparse as sparse  # slow to load

        residual, _ = self.mechanism.rows(at.q, np.zeros((self.mechanism.n, 6)), self.t)
        jacobian = self._jacobian(at.q)
        used = np.flatnonzero(np.abs(jacobian).max(axis=1).toarray().ravel() > 0.0)
        J = jacobian[used]
        reactions = (J.T @ at.multipliers.ravel()[used]).reshape(-1, 6)
        K = self._pattern.sparse(self._stiffness(at, reactions)) + self._turning(at)
        remaining = (left - reactions).ravel()
        J = sparse.vstack([J, self._unheld(K, J, remaining)])
        matrix = sparse.bmat([[K, J.T], [J, None]], format="coo")
        right = np.zeros(matrix.shape[0])
        right[: K.shape[0]], right[K.shape[0] :][: len(used)] = remaining, -residual.ravel()[used]
        return StaticEquations(Pattern(matrix.row, matrix.col, len(right)), matrix.data, right, self.mechanism.n, used)

    def _unheld(self, K: Any, J: Any, left: np.ndarray) -> Any:
        """Spins of rods about their axes that neither stiffness nor constraints nor loads have anything to do with, as
        of a round cable between ball joints: these do not move, as any place is as good."""
        found = []
        for spin in self._spins:
            held = spin @ (K @ spin) > UNHELD * (np.abs(spin) @ (abs(K) @ np.abs(spin)))
            pushed = abs(spin @ left) > UNHELD * (np.abs(spin) @ (abs(K) @ np.abs(spin)))
            if not (held or pushed or (np.abs(J @ spin) > UNHELD).any()):
                found.append(spin)
        import scipy.sparse as sparse

        return sparse.csr_matrix(np.array(found).reshape(-1, K.shape[0]))

    @cached_property
    def _spins(self) -> list[np.ndarray]:
        """For each rod, a turn of all its nodes about their x axes, along screws of the bodies."""
        n, names = self.mechanism.n, [body.name for body in self.system.bodies]
        central = np.tile(pose_group.identity(), (n, 1))
        axes = quaternion_to_matrix(self.mechanism.poses(central)[:, :4])[:, :, 0]
        spins = []
        for rod in self.system.rods:
            spin = np.zeros((n, 6))
            nodes = [names.index(node) for node in rod.bodies]
            spin[nodes, :3] = axes[nodes]
            spins.append(spin.ravel())
        return spins

    def _jacobian(self, q: np.ndarray) -> Any:
        """Rows of all tiles (3 tiles, 6 bodies), sparse."""
        import scipy.sparse as sparse

        found, tiles = self.mechanism.jacobians(q, t=self.t), self.mechanism.tiles
        parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for k, tile in enumerate(tiles):
            for side, body in enumerate((tile.first, tile.second)):
                if body >= 0:
                    i, j = np.indices((3, 6))
                    for part, more in zip(parts, (3 * k + i, 6 * body + j, found[k, side]), strict=True):
                        part.append(more.ravel())
        rows, columns, numbers = (np.concatenate(part) for part in parts)
        return sparse.csr_matrix((numbers, (rows, columns)), shape=(3 * len(tiles), 6 * self.mechanism.n))

    def _turning(self, at: StaticIterate) -> Any:
        """How Jᵀ λ changes as bodies turn, by differences of the bodies that constraints hold."""
        import scipy.sparse as sparse

        n, multipliers = self.mechanism.n, at.multipliers.ravel()
        held = sorted({body for tile in self.mechanism.tiles for body in (tile.first, tile.second) if body >= 0})
        columns, found = [], []
        for body in held if multipliers.any() else ():
            for k in range(3):
                pushes = []
                for sign in (1.0, -1.0):
                    turn = np.zeros(6)
                    turn[k] = sign * DIFFERENCE
                    q = at.q.copy()
                    q[body] = pose_group.compose(q[body], pose_group.exp(turn))
                    pushes.append(self._jacobian(q).T @ multipliers)
                columns.append(6 * body + k)
                found.append((pushes[0] - pushes[1]) / (2.0 * DIFFERENCE))
        if not columns:
            return sparse.csc_matrix((6 * n, 6 * n))
        numbers = np.array(found)
        which, rows = np.nonzero(numbers)
        return sparse.csc_matrix((numbers[which, rows], (rows, np.array(columns)[which])), shape=(6 * n, 6 * n))

    def moved(self, at: StaticIterate, equations: StaticEquations, change: np.ndarray) -> StaticIterate:
        """The iterate after a change of all unknowns."""
        n = self.mechanism.n
        d = change[: 6 * n].reshape(n, 6)
        stresses = None if at.stresses is None else element_states(self.mechanism, at.q, d, self.t).ahead
        R = self._rotations(at.q)
        screws = np.concatenate([d[:, :3], np.einsum("nji,nj->ni", R, d[:, 3:])], axis=1)
        q = pose_group.compose(at.q, pose_group.exp(screws))
        multipliers = at.multipliers.copy()
        multipliers.ravel()[equations.rows] += change[6 * n :][: len(equations.rows)]
        return StaticIterate(q, multipliers, stresses)


def _skew(a: np.ndarray) -> np.ndarray:
    return np.asarray((a @ HAT).reshape(3, 3))
