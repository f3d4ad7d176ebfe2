"""Finding states on the constraints, and whether these are independent: dense and careful, for starts, not steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.reactions import on_constraints
from chasles.assembly import search
from chasles.assembly.equations import Equations, Linear, names_of
from chasles.assembly.mobility import mobility, regular
from chasles.cached import cached_property
from chasles.constraint.errors import RedundantConstraintsError
from chasles.constraint.results import Mobility
from chasles.constraint.rows import EMPTY, MOTION, ROTOR, ROWS, TILE
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.scale import body_sizes
from chasles.model.suggestion import meant

if TYPE_CHECKING:
    from chasles.absolute.mechanism import AbsoluteMechanism

DENSE = 3000  # equations up to which the Jacobian is looked at as a whole
CONTRADICTING = 1e-6  # of accelerations, relative to squares of velocities


class BodyEquations(Equations):
    """The rows of joints and constraints at central poses (bodies, 7). A step has a rotation vector in the body and a
    displacement in space for each."""

    what = "poses"
    goal = 0.1 * search.NEAR  # `project` goes on, with rows that depend on others too
    cut_off = 1e-10

    def __init__(self, mechanism: AbsoluteMechanism, t: float, held: Iterable[str] = ()):
        columns = np.arange(6 * mechanism.n).reshape(-1, 6)
        super().__init__(mechanism, t, columns[_bodies(mechanism, held)].ravel())
        self.dense = sum(tile.rows for tile in mechanism.tiles) <= DENSE
        self.sliding = np.tile([False] * 3 + [True] * 3, mechanism.n)
        self._nodes = np.array(mechanism._node, dtype=int)
        kinds = np.array([tile.integers[TILE.kinds : TILE.kinds + 3] for tile in mechanism.tiles]).reshape(-1, 3)
        self._used = self._on_nodes((kinds != EMPTY) & (kinds != ROTOR))
        owners = np.repeat(mechanism.constraint_of_tile[:, None], 3, axis=1)
        self.units, self.constraint_of_row = self._rows(mechanism.row_units), self._rows(owners)

    def _on_nodes(self, of_tiles: np.ndarray) -> np.ndarray:
        """Numbers (tiles, 3) by node; of tiles that share one, those of the later."""
        of_nodes = np.zeros((self._nodes.max(initial=-1) + 1, 3), of_tiles.dtype)
        for node, of_tile in zip(self._nodes, of_tiles, strict=True):
            of_nodes[node] = of_tile
        return of_nodes

    def _rows(self, of_tiles: np.ndarray) -> np.ndarray:
        return self._on_nodes(of_tiles)[self._used]

    @cached_property
    def _roots(self) -> np.ndarray:
        """M^(-1/2) of the bodies about their centers, (bodies, 6, 6)."""
        roots, bodies = np.zeros((self.mechanism.n, 6, 6)), self.system.bodies
        sizes, axes = np.linalg.eigh(np.array([body.inertia for body in bodies]).reshape(-1, 3, 3))
        roots[:, :3, :3] = (axes * sizes[:, None] ** -0.5) @ np.swapaxes(axes, 1, 2)
        roots[:, 3:, 3:] = np.eye(3) / np.sqrt([body.mass for body in bodies])[:, None, None]
        return roots

    def _jacobian(self, blocks: np.ndarray) -> np.ndarray:
        """J of all rows, (bodies, rows, 6), from that of every tile and side."""
        J = np.zeros((self.mechanism.n, *self._used.shape, 6))
        for node, tile, sides in zip(self._nodes, self.mechanism.tiles, blocks, strict=True):
            for body, block in zip((tile.first, tile.second), sides, strict=True):
                if body >= 0:
                    J[body, node] += block
        return J[:, self._used]

    def linear(self, x: np.ndarray, on_group: bool = False) -> Linear:
        blocks, alignment = self.mechanism.jacobians(x, t=self.t), self.mechanism.alignment
        if on_group:
            blocks[alignment.tiles, :, :, :3] = alignment.rows(self.mechanism.rotations(x))[1]
        F = np.concatenate(self._jacobian(blocks) @ self._roots, axis=1)[:, self.free]
        lengths = np.linalg.norm(F, axis=1)
        if on_group:  # rows that depend on others and contradict them share what is off, by their units
            lengths = self.units * np.linalg.norm(lengths / self.units)
        return Linear(F, np.where(lengths > 0, lengths, 1.0), self._step)

    def _step(self, y: np.ndarray) -> np.ndarray:
        every = np.zeros((len(self.sliding), *y.shape[1:]))
        every[self.free] = y
        parts = every.reshape(self.mechanism.n, 6, *y.shape[1:])
        return np.einsum("bij,bj...->bi...", self._roots, parts).reshape(every.shape)

    def residual(self, x: np.ndarray) -> np.ndarray:
        mechanism = self.mechanism
        residuals = mechanism.rows(x, np.zeros((mechanism.n, 6)), self.t)[0]
        residuals[mechanism.alignment.tiles] = mechanism.alignment.rows(mechanism.rotations(x))[0]
        return self._rows(residuals)

    def moved(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        return moved(x, step.reshape(-1, 6))

    def extent(self, x: np.ndarray) -> float:
        return float(np.abs(x[:, 4:]).max(initial=0.0))

    def violation(self, x: np.ndarray, scaled: bool = True) -> np.ndarray:
        still = np.zeros((self.mechanism.n, 6))
        return self.mechanism.constraint_violation(x, still, self.t, scaled=scaled).position

    def speeds(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._rows(self.mechanism.rows(x, v, self.t)[1])

    def fastest(self, v: np.ndarray) -> float:
        sizes = body_sizes(self.system)
        lengths = np.array([sizes[name] or self.length for name in self.mechanism.bodies])
        spin, linear = (np.abs(part).max(axis=1, initial=0.0) for part in np.split(v.reshape(-1, 6), 2, axis=1))
        return float(np.maximum(spin, linear / lengths).max(initial=0.0))

    def sped(self, x: np.ndarray, v: np.ndarray, step: np.ndarray) -> np.ndarray:
        return v + self._turned(x, step.reshape(-1, 6), back=True)

    def _turned(self, x: np.ndarray, v: np.ndarray, back: bool) -> np.ndarray:
        """Velocities of the bodies' spaces with r' in space, as the rows take them, or back."""
        turn = np.where(self.mechanism._mixed[:, None, None], np.eye(3), quaternion_to_matrix(x[:, :4]))
        return np.concatenate([v[:, :3], np.einsum("bji,bj->bi" if back else "bij,bj->bi", turn, v[:, 3:])], axis=1)

    def unsatisfied(self, central: np.ndarray, velocity: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """By how much the accelerations of a state miss J a = rate, of all rows."""
        mechanism = self.mechanism
        q, v = on_constraints(mechanism, central, velocity, self.t, angles)
        (a, _), work = mechanism._solved(q, v, self.t, angles, mechanism.applied_forces(q, v, None, self.t, angles)[0])
        rate = work[MOTION.size * mechanism.n :][: ROWS.size * len(mechanism.tiles)].reshape(-1, ROWS.size)
        J = self._jacobian(mechanism.jacobians(q, v, self.t, angles))
        turned = self._turned(q, a, back=False)[:, :, None]
        return (J @ turned).sum(axis=0)[:, 0] - self._rows(rate[:, ROWS.rate : ROWS.rate + 3])

    def nearest_velocities(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        if len(self.held):
            return super().nearest_velocities(x, v)
        return prepared(self.mechanism, x, self.t).project(x, v, self.t)[1]

    def project(self, x: np.ndarray) -> np.ndarray:
        return _projected(prepared(self.mechanism, x, self.t), x, self.t)

    def returned(self, x: np.ndarray, rank: int) -> np.ndarray:
        mechanism = self.mechanism
        if rank < len(self.units) and not mechanism.redundant:
            mechanism = mechanism.with_redundant(mechanism.constraint_names, len(self.units) - rank)
        return _projected(mechanism, x, self.t)


def _projected(mechanism: AbsoluteMechanism, x: np.ndarray, t: float) -> np.ndarray:
    return mechanism.project(x, np.zeros((len(x), 6)), t)[0]


def may_depend(mechanism: AbsoluteMechanism) -> bool:
    """Whether rows can depend on each other: never those of a tree; more than `DENSE` are not looked at."""
    system = mechanism.system
    children = [joint.child for joint in system.joints if not joint.traits.holds_nothing]
    tree = len(set(children)) == len(children) and not system.constraints and _acyclic(system)
    return not tree and sum(tile.rows for tile in mechanism.tiles) <= DENSE


def mobility_of(mechanism: AbsoluteMechanism, central: np.ndarray, t: float, *tolerance: float) -> Mobility:
    """Mobility at central poses."""
    return mobility(BodyEquations(mechanism, t), central, *tolerance)[0]


def prepared(mechanism: AbsoluteMechanism, central: np.ndarray, t: float = 0.0) -> AbsoluteMechanism:
    """The mechanism that computes with the equations that depend on others here."""
    if not may_depend(mechanism):
        return mechanism
    mobility = mobility_of(mechanism, central, t)
    return mechanism.with_redundant(mobility.dependent, mobility.redundant)


def examined(mechanism: AbsoluteMechanism, central: np.ndarray, t: float = 0.0) -> AbsoluteMechanism:
    """The mechanism prepared for a configuration: `AbsoluteMechanism.examined`."""
    if not may_depend(mechanism):
        return mechanism
    equations = BodyEquations(mechanism, t)
    known = mobility(equations, central)
    mechanism = equations.mechanism = mechanism.with_redundant(known[0].dependent, known[0].redundant)
    if mechanism.redundant:
        if (off := equations.off(central, search.SATISFIED)) is not None:
            raise RedundantConstraintsError(
                f"{mechanism.system.name!r}: {mechanism.redundant_equations} constraint equations depend on others, "
                f"and contradict each other: involved: {', '.join(map(repr, mechanism.redundant[:12]))}; at these "
                f"poses the violation is {off}"
            )
        regular(equations, central, known)
    return mechanism


def refuse_contradictions(
    mechanism: AbsoluteMechanism, central: np.ndarray, velocity: np.ndarray, t: float, angles: np.ndarray
) -> None:
    """RedundantConstraintsError if no accelerations satisfy rows that depend on each other."""
    equations = BodyEquations(mechanism, t)
    off = equations.unsatisfied(central, velocity, angles)
    limit = CONTRADICTING * (search.AT_REST + equations.fastest(velocity)) ** 2
    amounts = equations.by_constraint(off / equations.units)
    if not amounts.max(initial=0.0) <= limit:
        listed = equations.listed(amounts, limit, "[m/s² or rad/s²]", equations.by_constraint(off))
        raise RedundantConstraintsError(
            f"{mechanism.system.name!r}: constraint equations that depend on each other contradict each other: no "
            f"accelerations satisfy {listed}"
        )


def _acyclic(system) -> bool:
    """Whether joints, each with a child of its own, reach the ground or a free body: none goes in a circle."""
    parent = {joint.child: joint.parent for joint in system.joints if not joint.traits.holds_nothing}
    safe: set[str] = set()
    for body in parent:
        path, at = [], body
        while at in parent and at not in safe:
            if at in path:
                return False
            path.append(at)
            at = parent[at]
        safe.update(path)
    return True


def _bodies(mechanism: AbsoluteMechanism, names: Iterable[str]) -> list[int]:
    for name in names:
        if name not in mechanism.bodies:
            known = f"{meant(name, mechanism.bodies)}bodies: {', '.join(mechanism.bodies[:12])}"
            raise ValueError(f"held: there is no body {name!r} that moves; {known}")
    return [mechanism.bodies.index(name) for name in names]


def assemble(mechanism: AbsoluteMechanism, poses: ArrayLike, t: float, held: Iterable[str]) -> np.ndarray:
    """Poses of all bodies' frames on the constraints, from rough ones: `AbsoluteMechanism.assemble`."""
    given = real_array("assemble", "poses", poses, (mechanism.n, 7))
    lengths = np.linalg.norm(given[:, :4], axis=1, keepdims=True)
    if not (lengths > 0.1).all():
        raise ValueError("assemble: a quaternion of the poses has no length; expected unit quaternions (w, x, y, z)")
    central = mechanism.state(np.concatenate([given[:, :4] / lengths, given[:, 4:]], axis=1))[0]
    names = names_of(held)
    assembled = search.assemble(BodyEquations(mechanism, t, names), central, names, search.RESTARTS if names else 0)
    return mechanism.poses(assembled)


def moved(central: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Poses moved by rotation vectors in the bodies and displacements in space."""
    turn = pose_group.exp(np.concatenate([step[:, :3], np.zeros_like(step[:, :3])], axis=1))
    at = np.concatenate([central[:, :4], np.zeros_like(central[:, 4:])], axis=1)
    return np.concatenate([pose_group.compose(at, turn)[:, :4], central[:, 4:] + step[:, 3:]], axis=1)


def consistent_velocities(
    mechanism: AbsoluteMechanism, poses: ArrayLike, twists: ArrayLike, t: float, held: Iterable[str]
) -> np.ndarray:
    """Body twists on the constraints: `AbsoluteMechanism.consistent_velocities`."""
    (central, velocity), names = mechanism.state(poses, twists), names_of(held)
    consistent = search.consistent_velocities(BodyEquations(mechanism, t, names), central, velocity, names)
    return mechanism.twists(central, consistent)
