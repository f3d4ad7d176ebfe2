"""Static equilibrium: where a system at rest stays at rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.assembly.mobility import regular
from chasles.model.system import System
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism, in_joint_coordinates
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.bodies.equilibrium import BodyEquilibrium, body_equilibrium, system_of
from chasles.simulation.closed.allowed import running_constraints
from chasles.simulation.closed.statics import ClosedStatics
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.rod_motion import RodMotion, rod_motion
from chasles.simulation.start.values import Values, by_name
from chasles.simulation.tree.statics import ROUNDING, Point, Statics

LONGEST = 0.5  # step of an angle [rad]
DAMPING = 1e-6
FALLS = 5  # steps along the forces, where no other makes them smaller
ROUNDED = 64 * float(np.finfo(float).eps)  # of the largest force: what the sum of them is good to
POLISHING = 3  # steps that bring what is left to rounding
SMALL_MOVE = 1e-5  # in 1 rad, or lengths of the model


@dataclass(frozen=True)
class Equilibrium:
    """A configuration at which no generalized force is left.

    residual: the largest generalized force left [N or N m]; stiffness: minus the derivative of the forces along
    q exp(δ), (nv, nv), whose symmetric part decides about the stability; error: by how much its numbers can be off.
    With loops or constraints these are along the velocities `independent` alone, and all follow by `basis`, (nv,
    independent ones).
    """

    q: np.ndarray
    residual: float
    iterations: int
    stiffness: np.ndarray
    error: np.ndarray
    basis: np.ndarray
    independent: np.ndarray
    joints: dict[str, slice] = field(default_factory=dict)  # where in q the coordinates of each joint are
    units: tuple[str, ...] = ()  # of the numbers in q, "rad", "m", or nothing for quaternions
    running: tuple[str, ...] = ()  # constraints, such as drives, that move at this time
    weakest: str = ""  # the joint that moves most where displacements raise the energy least
    mechanism: Any = field(default=None, compare=False, repr=False)
    t: float = 0.0  # [s], of forces and drives

    @property
    def poses(self) -> np.ndarray:
        """Poses of the bodies, (bodies, 7)."""
        return np.asarray(self.mechanism.poses(self.q))

    def pose(self, body: str) -> np.ndarray:
        """Pose of a body, or of a node of a rod, by its name."""
        system = self.mechanism.system
        return self.poses[[one.name for one in system.bodies].index(system.body(body).name)]

    def rod(self, name: str) -> RodMotion:
        """A rod by its name: nodes, strains, stresses, curve, energy."""
        still = np.zeros((len(self.poses), 6))
        return rod_motion(self.mechanism, name, self.poses, still, self.t, lambda: still)

    def __str__(self) -> str:
        lines = [f"{self.stability} equilibrium, found in {self.iterations} iterations"]
        if not len(self.independent):
            lines = ["no degrees of freedom left: constraints and drives determine all positions"]
        if self.running:
            lines += [f"not at rest: {', '.join(map(repr, self.running))} moves at this time, and what follows with it"]
        if self.stability == "unstable":
            lines += [f"it gives way at {self.weakest!r}; for a stable one start with other coordinates there"]
        units = self.units or ("",) * len(self.q)
        told = [f"{x:.9g} {unit}".rstrip() for x, unit in zip(self.q, units, strict=True)]
        lines += [f" {name}: {', '.join(told[at])}" for name, at in self.joints.items() if at.stop > at.start]
        return "\n".join([*lines, f"largest force left: {self.residual:.2g} N or N m"])

    __repr__ = __str__

    @property
    def stability(self) -> str:
        """What small displacements do to the energy: "stable" if all raise it, "unstable" if one lowers it.

        "undecided" if some change it by less than can be told, such as those of a body that nothing holds.
        """
        values, errors = self._curvatures
        if (values < -errors).any():
            return "unstable"
        return "stable" if (values > errors).all() else "undecided"

    @property
    def stable(self) -> bool:
        """Whether no small displacement is known to lower the energy."""
        return self.stability != "unstable"

    @property
    def _curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of the stiffness in coordinates in which all of its rows are alike, and the error of each.

        Signs of eigenvalues do not depend on the coordinates (Sylvester). What errors do to an eigenvalue is, to first
        order, xᵀ E x with its own eigenvector.
        """
        matrix, error = ((part + part.T) / 2 for part in (self.stiffness, self.error))
        for _ in range(8):
            rows = np.sqrt(np.abs(matrix).max(axis=1, initial=0.0))
            rows[rows == 0.0] = 1.0
            matrix, error = matrix / np.outer(rows, rows), error / np.outer(rows, rows)
        values, vectors = np.linalg.eigh(matrix)
        spread, rounding = np.abs(vectors), len(matrix) * ROUNDING * np.abs(values).max(initial=0.0)
        return values, np.einsum("ik,ij,jk->k", spread, error, spread) + rounding


def equilibrium(
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    q: Values | None = None,
    control: ArrayLike | None = None,
    *,
    t: float = 0.0,
    tolerance: float = 1e-10,
    iterations: int = 100,
    steps: int | None = None,
) -> Equilibrium | BodyEquilibrium:
    """The equilibrium that a damped Newton iteration finds from q (default: neutral), with forces and drives at time t.

    tolerance: of the force left along each coordinate, relative to what acts along it (weight, springs, inputs, and the
    stiffness times 1 rad or a length of the model). Further steps then take what is left down to rounding, where the
    stiffness determines them. RuntimeError with what is left if it is not reached. q is in joint coordinates of
    `system.compile()`, or has those of some joints by name; with loops or constraints it is assembled first, with these
    held, and only motions that the constraints allow count.

    Of a system with rods: by Newton's method in absolute coordinates, whose unknowns are stresses too
    (`BodyEquilibrium`). steps: load steps, in which gravity and constant wrenches grow to their values; by default one,
    and more if it fails.
    """
    if (with_rods := system_of(system)) is not None:
        if control is not None:
            raise ValueError("equilibrium: control is not for systems with rods; give a JointForce instead")
        return body_equilibrium(with_rods, q, float(t), steps, iterations)
    if steps is not None:
        raise ValueError("equilibrium: steps are for systems with rods")
    mechanism, t = in_joint_coordinates("equilibrium", system), float(t)
    refuse_sticking("equilibrium", mechanism.system)
    u = np.zeros(mechanism.nv) if control is None else Actuation.of_tree(mechanism).forces(control)
    given = by_name("equilibrium: q", mechanism, "q", q)
    place = mechanism.neutral() if given is None else mechanism.tables.check_q("equilibrium", given)
    statics: Statics
    if isinstance(mechanism, ClosedMechanism):
        held = tuple(q) if isinstance(q, Mapping) else ()
        place = mechanism.assemble(None if given is None else place, t, held=held)
        regular(LoopEquations(mechanism, t), place)
        statics = ClosedStatics(mechanism, u, t)
    else:
        statics = Statics(mechanism, u, t)
    point, damping, falls = statics.at(place), 0.0, FALLS
    for iteration in range(iterations + 1):
        scale = _compared_with(statics, point, tolerance)
        if (np.abs(point.left) <= tolerance * scale).all():
            point = _polished(statics, point, scale)
            residual = float(np.abs(point.left).max(initial=0.0))
            told = statics.found(point) | {"weakest": _weakest(mechanism, point), "mechanism": mechanism, "t": t}
            if isinstance(mechanism, ClosedMechanism):
                told["running"] = running_constraints(mechanism, point.q, t)
            return Equilibrium(point.q, residual, iteration, point.stiffness, point.error, **told)
        matrix, size = point.stiffness * point.sizes / scale[:, None], len(point.left)
        for _ in range(30):  # damp until the forces get smaller
            rows = np.concatenate([matrix, np.sqrt(damping) * np.eye(size)])
            move = np.linalg.lstsq(
                rows, np.concatenate([point.left / scale, np.zeros(size)]), rcond=statics.negligible
            )[0]
            trial = statics.moved(point, _limited(statics, point, move))
            if trial and np.linalg.norm(trial[1] / scale) < np.linalg.norm(point.left / scale):
                point, damping = statics.at(trial[0]), damping / 10
                break
            damping = max(10 * damping, DAMPING * float(np.abs(matrix).max(initial=0.0)) ** 2)
        else:
            # the forces are largest here, as those on a pendulum held level: go where they push
            push = point.left / scale
            if not falls or (trial := statics.moved(point, _limited(statics, point, push, True))) is None:
                break
            point, damping, falls = statics.at(trial[0]), 0.0, falls - 1
    worst = int(np.argmax(np.abs(point.left) / scale))
    joint = mechanism.tables.joint_of_velocity(int(point.chosen[worst]))
    units = {one.name: set(one.velocity_units) for one in mechanism.system.joints}.get(joint, set())
    unit = {"rad": "N m", "m": "N"}[units.pop()] if len(units) == 1 else "[N m or N]"
    raise RuntimeError(
        f"equilibrium: not found after {iteration} iterations; {abs(point.left[worst]):.3g} {unit} is left at "
        f"joint {joint!r}. Is there an equilibrium at all (does something hold every degree of freedom)? If so, "
        "start nearer"
    )


def _weakest(mechanism: Mechanism | ClosedMechanism, point: Point) -> str:
    """The joint that moves most, in 1 rad and lengths of the model, where displacements raise the energy least."""
    if not len(point.chosen):
        return ""
    scaled = point.stiffness * np.outer(point.sizes, point.sizes)
    _, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    return mechanism.tables.joint_of_velocity(int(point.chosen[np.argmax(np.abs(vectors[:, 0]))]))


def _compared_with(statics: Statics, point: Point, tolerance: float) -> np.ndarray:
    """What forces are compared with, of each coordinate: not less than lets rounding of the largest of them, and of all
    weights, be none. Along a coordinate that nothing holds, rounding is all there is."""
    energy = statics.weight + float((point.scale * point.sizes).max(initial=0.0))
    found = np.maximum(point.scale, ROUNDED / tolerance * energy / point.sizes)
    return np.where(found == 0.0, 1.0, found)  # nothing acts at all


def _limited(statics: Statics, point: Point, move: np.ndarray, full: bool = False) -> np.ndarray:
    """A step of the independent coordinates, given in their sizes, in which no angle turns farther than it may; with
    `full`, the longest such step."""
    step = point.basis @ (point.sizes * move)
    longest = np.abs(step[statics.turns]).max(initial=0.0)
    if full:
        longest = max(longest, np.abs(move).max(initial=0.0))
    return point.sizes * move * (LONGEST / longest if longest > (0.0 if full else LONGEST) else 1.0)


def _polished(statics: Statics, point: Point, scale: np.ndarray) -> Point:
    """A place that is near enough, brought to rounding: a run that starts there stays. Where the stiffness hardly
    determines a step, the place is kept."""
    q, left, start = point.q, point.left, point
    for _ in range(POLISHING):
        move = np.linalg.lstsq(start.stiffness * start.sizes / scale[:, None], left / scale, rcond=statics.negligible)[
            0
        ]
        if not np.abs(move).max(initial=0.0) < SMALL_MOVE:
            break
        trial = statics.moved(point._replace(q=q), start.sizes * move)
        if not trial or not np.abs(trial[1] / scale).max(initial=0.0) < 0.5 * np.abs(left / scale).max(initial=0.0):
            break
        q, left = trial
    return point if q is point.q else statics.at(q)
