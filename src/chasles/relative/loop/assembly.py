"""What is done once for a state of a closed mechanism, dense and careful: assembly, rank, inverse dynamics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.assembly import search
from chasles.assembly.equations import Equations, Linear, names_of
from chasles.assembly.rank import DEPENDENT, decomposed, rank_of, shortest
from chasles.constraint.errors import AssemblyError, RedundantConstraintsError
from chasles.relative import inverse
from chasles.relative.loop.survey import Survey, Surveyor
from chasles.relative.velocity_scale import sizes_of_velocities, sliding_velocities

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism

CONSISTENT = 1e-7  # of accelerations that must satisfy the constraints, relative
ROUNDING = 5e-15  # of the accelerations of rows by single constraint forces: their sum is not known better


class LoopEquations(Equations):
    """The rows that close a tree, in its joint coordinates q and velocities v."""

    what = "coordinates"
    cut_off = 1e-8

    def __init__(self, mechanism: ClosedMechanism, t: float, held: Iterable[str] | np.ndarray = ()):
        """held: names of joints, or which velocities."""
        which = held if isinstance(held, np.ndarray) else _velocities(mechanism, "held", held)
        super().__init__(mechanism, t, which)
        self._at = b""  # the configuration that was looked at last, and what was seen there
        self._seen: Survey | None = None
        self.units, self.constraint_of_row = mechanism.row_units, mechanism.constraint_of_row
        self.sliding = sliding_velocities(mechanism)
        self._survey = Surveyor(mechanism, self.free)

    def seen(self, x: np.ndarray, v: np.ndarray | None = None) -> Survey:
        """All rows at a state; those at the configuration that was looked at last, at rest, are known."""
        if v is not None:
            return self._survey(x, v, self.t)
        if self._at != (key := x.tobytes()):
            self._at, self._seen = key, self._survey(x, None, self.t)
        assert self._seen is not None
        return self._seen

    def linear(self, x: np.ndarray, on_group: bool = False) -> Linear:
        seen = self.seen(x)
        return Linear(self.jacobian(x, on_group) @ seen.root, seen.reach, seen.root.__matmul__)

    def jacobian(self, x: np.ndarray, on_group: bool) -> np.ndarray:
        """J of all rows."""
        return self.seen(x).group_jacobian if on_group else self.seen(x).jacobian

    def residual(self, x: np.ndarray) -> np.ndarray:
        return self.seen(x).group_residual

    def moved(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        return self.mechanism.retract(x, step)

    def extent(self, x: np.ndarray) -> float:
        return float(np.abs(self.mechanism.poses(x)[:, 4:]).max(initial=0.0))

    def sizes(self, far: float = 1.0) -> np.ndarray:
        return far * super().sizes()  # an angle of a long tree may have to turn more than those of single bodies

    def violation(self, x: np.ndarray, scaled: bool = True) -> np.ndarray:
        return self.seen(x).position if scaled else self.mechanism.constraint_violation(x, t=self.t).position

    def speeds(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.seen(x, v).speed

    def fastest(self, v: np.ndarray) -> float:
        return float(np.abs(v / sizes_of_velocities(self.mechanism)).max(initial=0.0))

    def project(self, x: np.ndarray) -> np.ndarray:
        return self.returned(x, rank_of(*self.linear(x)[:2]))

    def returned(self, x: np.ndarray, rank: int) -> np.ndarray:
        return self.mechanism.project(x, np.zeros(self.mechanism.nv), self.t, rank)[0]


def smallest(mechanism: ClosedMechanism, function: str, q, v, a, multipliers, t: float) -> np.ndarray:
    """The smallest multipliers that push as these do; an error if dependent rows ask for different accelerations."""
    equations = LoopEquations(mechanism, t)
    refuse_contradictions(equations, function, q, v, a, multipliers)
    return smallest_of(equations, q, multipliers)


def refuse_contradictions(
    equations: LoopEquations, function: str, q: np.ndarray, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray
) -> None:
    """RedundantConstraintsError if accelerations do not satisfy all rows, of which some depend on others."""
    if (listed := _inconsistent(equations, q, v, a, multipliers)) is not None:
        rows, rank = len(equations.units), rank_of(*equations.linear(q)[:2])
        raise RedundantConstraintsError(
            f"{function}: {rows - rank} of {rows} constraint equations depend on others and contradict them: {listed} "
            "cannot be satisfied. Remove a constraint, or look whether the state satisfies all of them"
        )


def smallest_of(equations: LoopEquations, q: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """The smallest multipliers that push as these do, (..., rows), all of one configuration."""
    rows, reach, _ = equations.linear(q)
    left, _, rank = decomposed(rows, reach)
    weighted = multipliers * reach
    return (weighted - (weighted @ left[:, rank:]) @ left[:, rank:].T) / reach


def _inconsistent(
    equations: LoopEquations, q: np.ndarray, v: np.ndarray, a: np.ndarray, multipliers: np.ndarray | None = None
) -> str | None:
    """The constraints that accelerations do not satisfy, and by how much; None if they satisfy all. Multipliers: by
    which the accelerations were found. On light bodies their forces alone would give huge accelerations."""
    rows, units = equations.mechanism.constraint_rows(q, v, equations.t), equations.units
    off = rows.jacobian @ a - rows.right
    limit = CONSISTENT * (search.AT_REST + equations.fastest(a) + np.abs(rows.right / units).max(initial=0.0))
    if multipliers is not None:
        response = np.abs(equations.linear(q).rows)
        limit += ROUNDING * (response @ (response.T @ np.abs(multipliers)) / units).max(initial=0.0)
    amounts = equations.by_constraint(off / units)
    if amounts.max(initial=0.0) <= limit:
        return None
    return equations.listed(amounts, limit, "[m/s² or rad/s²]", equations.by_constraint(off))


def consistent_accelerations(
    mechanism: ClosedMechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike, t: float, held: Iterable[str]
) -> np.ndarray:
    """`ClosedMechanism.consistent_accelerations`."""
    name, held = "consistent_accelerations", names_of(held)
    at = mechanism._one(name, q)
    speed, rates = (mechanism.tables.check_v(name, what, x) for what, x in (("v", v), ("a", a)))
    if speed.ndim != 1 or rates.ndim != 1:
        raise ValueError(f"{name}: v and a have shapes {speed.shape} and {rates.shape}; one state at a time")
    equations = LoopEquations(mechanism, t, held)
    if (off := equations.off(at, search.SATISFIED)) is not None:
        raise AssemblyError(f"{name}: the coordinates violate {off}; assemble them first")
    linear, rows = equations.linear(at), mechanism.constraint_rows(at, speed, t)
    for _ in range(2):  # the second takes away the rounding of the first
        rates = rates + linear.step(shortest(linear.rows, linear.reach, rows.right - rows.jacobian @ rates))
    if (listed := _inconsistent(equations, at, speed, rates)) is not None:
        kept = f" with those of {', '.join(map(repr, held))} as given" if held else ""
        raise AssemblyError(f"{name}: no accelerations{kept} satisfy {listed}; the velocities may violate constraints")
    return rates


def inverse_dynamics(
    mechanism: ClosedMechanism, actuated: Iterable[str] | None, q, v, a, on_links: np.ndarray, pushes, t: float
) -> np.ndarray:
    """Forces in actuated joints, besides wrenches on links and pushes along coordinates:
    `ClosedMechanism.inverse_dynamics`.

    The motion takes the tree's forces τ; the constraints give what has no power in motions N that they allow, so that
    Nᵀ B u = Nᵀ τ for forces u in the actuated freedoms, B their columns of the identity.
    """
    name, where = "inverse_dynamics", actuated_velocities(mechanism, actuated)
    equations = LoopEquations(mechanism, t)
    if (listed := _inconsistent(equations, q, v, a)) is not None:
        raise ValueError(f"{name}: the accelerations violate {listed}; take those of a motion on the constraints")
    arrays = {"q": q, "v": v, "a": a, "wrenches": on_links}
    (tau,), _ = mechanism.tables.run(name, inverse.inverse_dynamics, arrays)
    rows, scales, step = equations.linear(q)
    _, right, rank = decomposed(rows, scales)
    root, free = step(np.eye(mechanism.nv)), step(right[rank:].T)
    mobility = free.shape[1]
    joints = ", ".join(dict.fromkeys(mechanism.tables.joint_of_velocity(int(k)) for k in where))
    if len(where) < mobility:
        raise ValueError(
            f"{name}: the mechanism has mobility {mobility}, the actuated joints ({joints or 'none'}) have "
            f"{len(where)} degree{'' if len(where) == 1 else 's'} of freedom; name more of them: "
            f"{', '.join(mechanism.joints[:12])}"
        )
    # rows of length one: what a force in each actuated freedom can do, in the metric of the masses
    reach = free.T[:, where]
    lengths = np.linalg.norm(root[where], axis=1)
    if mobility and np.linalg.svd(reach / lengths, compute_uv=False).min() <= DEPENDENT:
        raise ValueError(
            f"{name}: the actuated joints ({joints}) cannot control the motion here: there is a motion on the "
            "constraints in which none of them moves; actuate other joints, or leave this singular configuration"
        )
    forces = np.zeros(mechanism.nv)
    if mobility:
        forces[where] = np.linalg.lstsq(reach, free.T @ (tau.reshape(-1) - pushes), rcond=None)[0]
    return forces


def actuated_velocities(mechanism: ClosedMechanism, names: Iterable[str] | None) -> np.ndarray:
    """The velocities of the actuated joints."""
    if names is None:
        actuators = mechanism.system.actuators
        if not actuators:
            return np.arange(mechanism.nv)
        velocities = mechanism.tree.velocities
        return np.unique([velocities[actuator.joint].start + actuator.coordinate for actuator in actuators])
    return _velocities(mechanism, "inverse_dynamics: actuated", names)


def _velocities(mechanism: ClosedMechanism, where: str, names: Iterable[str]) -> np.ndarray:
    """Which velocities are those of the named joints."""
    found: list[int] = []
    for name in names_of(names):
        if name not in mechanism.tree.velocities:
            mechanism.system.joint(name, where)
            raise ValueError(
                f"{where}: joint {name!r} is cut and has no coordinates; cut another one "
                f"(compile(cut=[...])), or name joints of the tree: {', '.join(mechanism.joints[:12])}"
            )
        part = mechanism.tree.velocities[name]
        found += range(part.start, part.stop)
    return np.unique(np.array(found, dtype=int))
