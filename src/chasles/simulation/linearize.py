"""The linear system about a state: `linearize(system, q, v)`, with its eigenvalues and modes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.space import SE3_NAME
from chasles.cached import cached_property
from chasles.model.system import System
from chasles.registry import service
from chasles.relative.loop.closed import ClosedMechanism, in_joint_coordinates
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.closed.allowed import Allowed, require_on_constraints
from chasles.simulation.closed.dynamics import dynamics_of
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.start.values import Values
from chasles.simulation.tree.statics import Statics
from chasles.simulation.tree.tangent import TangentTables
from chasles.simulation.tree.tangent import slopes as slopes_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from chasles.simulation.run import Run

# errors of A relative to its size, once it is balanced: by rounding, and with laws that were differenced
ROUNDED, DIFFERENCED = 1e-14, 1e-11
CLOSED = 1e-13  # the same of a closed mechanism, whose rows may be nearly dependent
UNMOVED = 1e-6  # of the largest acceleration in play, for motions that constraints do not allow
AT_REST = 1e-8  # acceleration that counts as none, relative to what the forces in play can do


@dataclass(frozen=True)
class Mode:
    """A solution exp(λt) of the linear system; a complex one stands for the pair.

    frequency: |λ|/2π [Hz], that without damping; zero for a real eigenvalue. damping: -Re λ/|λ|, 1 for a decay without
    swinging. shape: of the coordinates (nv), those of loops included, complex, its largest number 1. joints, bodies:
    their shares of the kinetic energy, those of joints by the momenta along them.
    """

    eigenvalue: complex
    frequency: float
    damping: float
    shape: np.ndarray
    joints: dict[str, float] = field(default_factory=dict)
    bodies: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.frequency:
            return f"{self.frequency:.4g} Hz, damping {self.damping:.3g}"
        return f"eigenvalue {self.eigenvalue.real:.4g} 1/s, without swinging"


@dataclass(frozen=True)
class Linearization:
    """x' = A x + B u + (0, a) with x = (δ, δv) about (q, v): δ along q exp(δ), u the change of the input.

    A (2 nv, 2 nv), B (2 nv, inputs); acceleration: a, what the motion does about this state to order zero. It vanishes
    at an equilibrium. About a motion the linear system holds for an instant only.

    With loops or constraints x has those of (δ, δv) alone that determine all others, x = (δ, δv)[states] and
    (δ, δv) = basis x: twice as many as there are freedoms, or fewer if velocities are held that no place depends on.
    """

    A: np.ndarray
    B: np.ndarray
    q: np.ndarray
    v: np.ndarray
    acceleration: np.ndarray
    notes: tuple[str, ...]
    scale: np.ndarray  # acceleration of each coordinate to compare with
    basis: np.ndarray  # (2 nv, states); the identity for a tree
    states: np.ndarray  # which of (δ, δv) x has; all for a tree
    precision: float  # errors of A relative to its size, once it is balanced
    dynamics: Any = field(repr=False)  # of the mechanism in joint coordinates
    t: float = 0.0

    @property
    def tree(self) -> Mechanism:
        """The mechanism, without what closes its loops."""
        mechanism = self.dynamics.mechanism
        found: Mechanism = mechanism.spanning if isinstance(mechanism, ClosedMechanism) else mechanism
        return found

    @property
    def at_equilibrium(self) -> bool:
        """Whether the system stays where it is."""
        return not self.v.any() and bool((np.abs(self.acceleration) <= AT_REST * self.scale).all())

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues, eigenvectors, and how far each eigenvalue can be off.

        To first order that is the error of the balanced matrix times the condition |x| |y|/|yᴴx| of the eigenvalue.
        A double eigenvalue at zero, as rigid-body motions have, is computed to half of the digits only.
        """
        if not len(self.A):
            return np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex), np.zeros(0)
        import scipy.linalg  # a third of a second, and nothing else needs it

        # not matrix_balance: it makes integers of the factors, which overflow where entries of A are rounding
        balanced, _, _, scaling, _ = scipy.linalg.lapack.dgebal(self.A, scale=True, permute=False)
        values, left, right = scipy.linalg.eig(balanced, left=True)
        with np.errstate(divide="ignore"):
            condition = 1.0 / np.abs(np.einsum("ik,ik->k", left.conj(), right))  # columns have length 1
        error = self.precision * np.linalg.norm(balanced) * condition
        sizes = np.abs(values)
        digits = [float(f"{size:.8e}") for size in sizes]  # as many as decide about the order
        share = np.round(np.divide(values.real, sizes, out=np.zeros(len(sizes)), where=sizes > 0), 9)
        order = np.lexsort((-values.imag, share, digits))
        return values[order], (scaling[:, None] * right)[:, order], error[order]

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of A [1/s], by increasing size, complex pairs side by side."""
        return self._pairs[0]

    @property
    def modes(self) -> list[Mode]:
        """One for each real eigenvalue and for each complex pair, by increasing size."""
        found = []
        values, vectors, errors = self._pairs
        for value, vector, error in zip(values, vectors.T, errors, strict=True):
            swings = abs(value.imag) > error
            if swings and value.imag < 0:
                continue
            size = abs(value)
            shape = self.basis[: len(self.v)] @ vector
            pivot = shape[np.argmax(np.abs(shape))] if len(shape) else 1.0
            shape = shape / pivot if pivot else shape
            damping = 0.0 if size <= error else float(-value.real / size)
            frequency = float(size / (2 * np.pi)) if swings else 0.0
            found.append(Mode(complex(value), frequency, damping, shape, *self._shares(shape)))
        return found

    def _shares(self, shape: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
        """Shares of the kinetic energy in a motion along a shape, by joint and by body."""
        tree, parts = self.tree, (shape.real.copy(), shape.imag.copy())
        momenta = self._mass @ shape
        along = {name: (shape[at].conj() @ momenta[at]).real for name, at in tree.tree.velocities.items()}
        twists = [tree.twists(self.q, part) for part in parts]
        of_bodies = {
            name: sum(float(twist[k] @ tree.system.body(name).spatial @ twist[k]) for twist in twists)
            for k, name in enumerate(tree.bodies)
        }
        joints, bodies = (
            {name: float(x / total) if (total := sum(all_of.values())) else 0.0 for name, x in all_of.items()}
            for all_of in (along, of_bodies)
        )
        return joints, bodies

    @cached_property
    def _mass(self) -> np.ndarray:
        return self.tree.mass_matrix(self.q)

    def motion(self, mode: int = 1, amplitude: float | None = None) -> Run:
        """A mode as a motion to be looked at, about the state; a period lasts two seconds. mode: its number from 1 on;
        amplitude: of its largest coordinate [rad or m], by default so that it can be seen. With loops each place is on
        the constraints. It is no solution: it has no energies worth looking at, and no certificate."""
        from chasles.simulation.mode_motion import mode_run

        return mode_run(self, mode, amplitude)

    def show(self, *modes: int) -> None:
        """Show modes in 3D side by side, by their numbers from 1 on: see `chasles.show`."""
        service("show")(*(self.motion(mode) for mode in modes or (1,)))

    def animate(self, file: str | Path, mode: int = 1, amplitude: float | None = None, **options: Any) -> Path:
        """Write a mode as .gif or .mp4; options as of `run.animate`."""
        path: Path = self.motion(mode, amplitude).animate(file, **options)
        return path

    def plot(self, file: str | Path | None = None) -> Figure:
        """Draw the eigenvalues in the complex plane, and what moves in each mode."""
        figure: Figure = service("plot modes")(self, file)
        return figure

    @property
    def stability(self) -> str:
        """What the eigenvalues say about the equilibrium: "asymptotically stable", "unstable", or "undecided": some
        are on the imaginary axis, as far as their errors tell, and the linear system cannot tell. Where constraints
        and drives leave nothing to move: "no degrees of freedom left"."""
        if not len(self.A):
            return "no degrees of freedom left"
        if not self.at_equilibrium:
            return "not an equilibrium"
        values, _, errors = self._pairs
        if (values.real > errors).any():
            return "unstable"
        return "asymptotically stable" if (values.real < -errors).all() else "undecided"

    def __str__(self) -> str:
        lines = [f"{len(self.A)} states, {self.B.shape[1]} inputs; {self.stability}"]
        lines += [" frequency [Hz]  damping  λ [1/s]"]
        lines += [f" {m.frequency:14.6g}  {m.damping:7.4f}  {m.eigenvalue:.6g}" for m in self.modes]
        return "\n".join([*lines, *self.notes])


def linearize(
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    q: Values | None = None,
    v: Values | None = None,
    control: ArrayLike | None = None,
    t: float = 0.0,
) -> Linearization:
    """The linear system about a state (default: neutral, at rest) under a constant input, with all forces.

    δ' = δv - [v, δ] and δv' = ∂a/∂q δ + ∂a/∂v δv + ∂a/∂u δu; the derivatives of the accelerations are exact, by dual
    numbers (laws that do not compile for them are differenced, and `notes` says so). With loops or constraints the
    state, in joint coordinates of `system.compile()`, has to be on them (default: near neutral), and x has independent
    coordinates.
    """
    mechanism, t = in_joint_coordinates("linearize", system), float(t)
    refuse_sticking("linearize", mechanism.system)
    closed = mechanism if isinstance(mechanism, ClosedMechanism) else None
    dynamics = dynamics_of(mechanism, space=SE3_NAME)  # where states are (q, v)
    at, speed, _ = dynamics.split(dynamics.state(q if q is not None or closed is None else closed.assemble(None, t), v))
    if closed is not None:
        require_on_constraints("linearize", closed, at, speed, t)
    dynamics.start(t, at, speed, assemble=False)
    actuation, nv = Actuation.of_tree(mechanism), dynamics.nv
    u = np.zeros(actuation.inputs) if control is None else np.atleast_1d(np.asarray(control, dtype=float))
    forces = actuation.forces(u)
    tree, states, basis, push, free = dynamics.mechanism, np.arange(2 * nv), np.eye(2 * nv), forces, None
    if closed is not None:
        tree, allowed, motion = closed.spanning, Allowed(closed, at, t), closed.constrained_motion(at, speed, forces, t)
        push, free = forces - motion.multipliers @ closed.constraint_jacobian(at, t), allowed.velocities.free
        states, basis = allowed.states(speed)
    assert isinstance(tree, Mechanism)
    tables = TangentTables(tree)
    with dynamics.calling(tangents=True):
        acceleration, slopes = slopes_of(tables, t, at, speed, push, basis, actuation.matrix(u))
    if closed is not None:
        acceleration = motion.accelerations
        slopes = allowed.accelerations(speed, acceleration, motion.multipliers, basis, slopes)
    count = basis.shape[1]
    rates = np.concatenate([basis[nv:] - mechanism.tables.configuration.ad(speed) @ basis[:nv], slopes[:, :count]])
    B = np.concatenate([np.zeros((nv, actuation.inputs)), slopes[:, count:]])[states]
    notes = tuple(law.note for law in tables.laws if law.note)
    notes += closed.derivatives.notes if closed is not None else ()
    scale = _accelerations_in_play(tree, t, at, forces, slopes, states, free)
    precision = DIFFERENCED if notes else ROUNDED if closed is None else CLOSED
    return Linearization(
        *(rates[states], B, at.copy(), speed.copy(), acceleration, notes, scale, basis, states, precision, dynamics, t)
    )


def _accelerations_in_play(
    tree: Mechanism,
    t: float,
    q: np.ndarray,
    u: np.ndarray,
    slopes: np.ndarray,
    states: np.ndarray,
    free: np.ndarray | None,
) -> np.ndarray:
    """For each coordinate what the forces in play, and what displacements of 1 rad or of a length of the model change
    of them, can accelerate it by, along motions that are free if not all are."""
    statics, mass = Statics(tree, u, t), tree.mass_matrix(q)
    moves = states[states < tree.nv]
    forces = statics.in_play(q) + np.abs(mass @ slopes[:, : len(moves)]) @ statics.sizes[moves]
    every = np.abs(np.linalg.inv(mass)) @ forces
    if free is None:
        return every
    rounding = UNMOVED * statics.sizes * (every / statics.sizes).max(initial=0.0)
    return np.abs(free @ free.T) @ forces + rounding
