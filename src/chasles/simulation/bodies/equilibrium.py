"""Equilibria of systems with rods, how stable they are, and the loads under which they buckle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chasles.absolute.rods import element_states
from chasles.model.rod_parts import own_parts
from chasles.model.scale import length_of
from chasles.model.system import System
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.bodies.linear_equations import StaticEquations
from chasles.simulation.bodies.statics import BodyStatics, StaticIterate
from chasles.simulation.bodies.tree_order import tree_order
from chasles.simulation.rod_motion import RodMotion, rod_motion, strange_elements
from chasles.simulation.start.values import Values

MOVED = 1e-12  # the last correction, in 1 rad and lengths of the model
ROUNDED = 1e-7  # a correction from which on one that does not shrink any more is rounding
FAST = 1e-3  # the ratio of two corrections below which the next one is foreseen: the ratio is squared each time
LONGEST = 20.0  # a correction that is larger is going astray
ATTEMPTS = (1, 4, 16, 64)  # load steps that are tried, if none are asked for
LOCATED = 1e-10  # of a critical load


@dataclass(frozen=True)
class BodyEquilibrium:
    """Where a system with rods stays at rest.

    poses: of the bodies, nodes of rods among them, (bodies, 7); q: the same in joint coordinates. residual: the largest
    force or torque left [N or N m]. iterations: of Newton's method, for each load step. unstable: how many independent
    small displacements lower the energy.
    """

    poses: np.ndarray
    q: np.ndarray
    residual: float
    iterations: tuple[int, ...]
    unstable: int
    energy: float  # of all rods [J]
    system: System = field(repr=False)
    statics: BodyStatics = field(repr=False, compare=False)
    iterate: StaticIterate = field(repr=False, compare=False)

    @property
    def stability(self) -> str:
        """ "stable" if all small displacements raise the energy, else "unstable"."""
        return "unstable" if self.unstable else "stable"

    @property
    def joints(self) -> dict[str, slice]:
        """Where in q the coordinates of each joint are."""
        found, at = {}, 0
        for joint in tree_order(self.statics.mechanism).joints:
            found[joint.name] = slice(at, at + joint.nq)
            at += joint.nq
        return found

    @property
    def stable(self) -> bool:
        """Whether no small displacement lowers the energy."""
        return not self.unstable

    def pose(self, body: str) -> np.ndarray:
        """Pose of a body or node by its name."""
        return self.poses[[one.name for one in self.system.bodies].index(self.system.body(body).name)]

    def rod(self, name: str) -> RodMotion:
        """A rod by its name: nodes, strains, stresses, curve."""
        mechanism = self.statics.mechanism
        still = np.zeros((mechanism.n, 6))
        return rod_motion(mechanism, name, self.poses, still, self.statics.t, lambda: still)

    def __str__(self) -> str:
        own = [body.name for body in own_parts(self.system.bodies)]
        tips = [*own, *(name for rod in self.system.rods for name in rod.bodies[-1:])]
        lines = [f"{self.stability} equilibrium, iterations in each load step: {', '.join(map(str, self.iterations))}"]
        lines += [f" {name}: {', '.join(f'{x:.9g}' for x in self.pose(name)[4:])}" for name in tips]
        if self.unstable:
            lines.append("the least push makes it leave; another start, or a damped run, may find a stable one")
        return "\n".join([*lines, f"largest force left: {self.residual:.2g} N or N m"])

    __repr__ = __str__


class NotFoundError(RuntimeError):
    """No equilibrium was found."""


class Solver:
    """Newton's method for the equilibria of a system with rods under loads times a factor."""

    def __init__(self, system: System, t: float, iterations: int):
        if jointed := [repr(rod.name) for rod in system.rods if rod.strains]:
            raise ValueError(
                f"rod {jointed[0]} has some strains only: that is for systems all of whose rods do, and for "
                "`equilibrium`; leave `strains` out"
            )
        self.statics, self.most = BodyStatics(system, t), iterations
        self.length = max(length_of(system), *(rod.length for rod in system.rods))

    def start(self, q: Values | None) -> StaticIterate:
        """The iterate at joint coordinates, assembled if need be."""
        mechanism = self.statics.mechanism
        dynamics = BodyDynamics(mechanism, "auto", True)
        central = dynamics.split(dynamics.start(self.statics.t, q, None, None, None, None))[0]
        self.statics.given.put_share(0.0 if q is None else 1.0)  # without stress, or near the place that is looked for
        states = element_states(mechanism, central, np.zeros((mechanism.n, 6)), self.statics.t)
        return StaticIterate(np.array(central), np.zeros((len(mechanism.tiles), 3)), states.stress)

    def solve(self, at: StaticIterate, load: float, share: float = 1.0) -> tuple[StaticIterate, int, StaticEquations]:
        """The equilibrium under a load near an iterate, iterations, and the equations there."""
        self.statics.put_load(load, share)
        n, last = 6 * self.statics.mechanism.n, np.inf
        units = np.tile([1.0] * 3 + [self.length] * 3, n // 6)
        for k in range(self.most):
            equations = self.statics.equations(at)
            if not np.isfinite(equations.left).all():
                raise ValueError(f"forces are not finite at t = {self.statics.t:g} s; a law has no value there")
            try:
                change = equations.solve(equations.left)
            except RuntimeError:  # the factor is exactly singular
                raise NotFoundError("the stiffness is singular: something must hold every degree of freedom") from None
            size = float(np.abs(change[:n] / units).max(initial=0.0))
            if not size < LONGEST:
                raise NotFoundError(f"a correction of {size:.3g} (in 1 rad and {self.length:.3g} m) leads astray")
            at = self.statics.moved(at, equations, change)
            foreseen = size * (size / last) ** 2 if size < FAST * last < np.inf else size
            if foreseen < MOVED or (size < ROUNDED and size > 0.1 * last):
                return at, k + 1, equations
            last = size
        raise NotFoundError(f"not found after {self.most} iterations; the last correction is {size:.3g}")

    def path(self, at: StaticIterate, steps: int) -> tuple[StaticIterate, tuple[int, ...], StaticEquations]:
        """The equilibrium under the full load, by load steps."""
        counts = []
        for load in np.linspace(0.0, 1.0, steps + 1)[1:]:
            at, count, equations = self.solve(at, float(load), float(load))
            counts.append(count)
        return at, tuple(counts), equations


def lowering(equations: StaticEquations) -> int:
    """How many independent displacements that the constraints allow lower the energy: the negative pivots of the
    symmetric part, of which each constraint has one (Sylvester's law)."""
    import scipy.sparse as sparse
    from scipy.sparse.linalg import splu

    matrix = (equations.matrix + equations.matrix.T) / 2.0
    scale = 1.0 / np.sqrt(np.maximum(np.abs(matrix).max(axis=1).toarray().ravel(), 1e-300))
    matrix = sparse.diags(scale) @ matrix @ sparse.diags(scale)
    if equations.constraints:
        return int((np.linalg.eigvalsh(matrix.toarray()) < 0.0).sum()) - equations.constraints
    factors = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return int((factors.U.diagonal() < 0.0).sum())


def body_equilibrium(system: System, q: Values | None, t: float, steps: int | None, iterations: int) -> BodyEquilibrium:
    """The equilibrium of a system with rods, from joint coordinates q: in one load step, or in more if that fails."""
    solver = Solver(system, t, iterations)
    start = solver.start(q)
    tries = ATTEMPTS if steps is None else (steps,)
    for attempt in tries if solver.statics.has_loads else tries[:1]:
        try:
            found, counts, equations = solver.path(start, attempt)
            break
        except NotFoundError as error:
            reason = error
    else:
        mechanism, still = solver.statics.mechanism, np.zeros((solver.statics.mechanism.n, 6))
        poses = mechanism.poses(start.q)
        rods = [rod_motion(mechanism, rod.name, poses, still, t) for rod in system.rods]
        if strange := next(strange_elements(rods), ""):
            raise RuntimeError(f"equilibrium: none was found from a start at which {strange}")
        raise RuntimeError(
            f"equilibrium: with {attempt} load steps {reason}. Is there an equilibrium at all? If so, take more "
            "steps=..., start nearer (q=...; what hangs on a hinge has no stiffness before it hangs), or let the rod "
            "move there with damping"
        )
    return _described(solver, found, counts, equations)


def _described(
    solver: Solver, at: StaticIterate, counts: tuple[int, ...], equations: StaticEquations
) -> BodyEquilibrium:
    statics, mechanism = solver.statics, solver.statics.mechanism
    left = solver.statics.equations(at._replace(stresses=None)).left[: 6 * mechanism.n]
    dynamics = BodyDynamics(mechanism, "auto", True)
    still = np.zeros((mechanism.n, 6))
    joints = dynamics.coordinates(dynamics.state(at.q, still, mechanism.angles(at.q)))[0]
    return BodyEquilibrium(
        *(
            mechanism.poses(at.q),
            joints,
            float(np.abs(left).max(initial=0.0)),
            counts,
            lowering(equations),
        ),
        *(float(element_states(mechanism, at.q, still, statics.t).energy.sum()), statics.system, statics, at),
    )


def buckling(system: System, most: float = 1.0, *, t: float = 0.0, steps: int = 8, iterations: int = 40) -> float:
    """The load factor, up to `most`, at which a system with rods buckles: its equilibrium under gravity and constant
    wrenches, followed from zero load in `steps`, becomes unstable."""
    solver = Solver(system, t, iterations)
    at, low = solver.start(None), 0.0
    for load in np.linspace(0.0, most, steps + 1)[1:]:
        then, _, equations = solver.solve(at, float(load))
        if lowering(equations):
            break
        at, low = then, float(load)
    else:
        raise RuntimeError(f"buckling: none up to {most:g} times the loads; give a larger factor")
    high = float(load)
    while high - low > LOCATED * high:
        middle = 0.5 * (low + high)
        then, _, equations = solver.solve(at, middle)
        if lowering(equations):
            high = middle
        else:
            at, low = then, middle
    return 0.5 * (low + high)


def system_of(given: Any) -> System | None:
    """The system, if it has rods with all strains."""
    system = given if isinstance(given, System) else getattr(given, "system", None)
    return system if isinstance(system, System) and any(not rod.strains for rod in system.rods) else None
