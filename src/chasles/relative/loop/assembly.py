"""What is done once for a state of a closed mechanism, dense and careful: assembly, rank, inverse dynamics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from chasles.constraint.alignment import described
from chasles.constraint.errors import AssemblyError, RedundantConstraintsError
from chasles.constraint.results import Mobility
from chasles.model.scale import joint_lengths, length_of, velocity_sizes
from chasles.relative import inverse
from chasles.relative.loop import entry
from chasles.relative.loop.triangle import DEPENDENT

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism, ConstraintRows

FARTHEST = 0.5  # in one iteration of an assembly [rad, or times the size of the mechanism]
ITERATIONS = 200
# residuals are in radians, and lengths in sizes of bodies
ASSEMBLED = 1e-10  # residual of an assembly that succeeded
SMALL = 1e-13  # residual at which the projection of the steps takes over
CUT_OFF = 1e-8  # of singular values in an assembly: on the way there dependent rows are not quite dependent
NUDGE = 1e-3  # [rad, or sizes of a body] displacement by which a configuration is told from a singular one
CONSISTENT = 1e-7  # of accelerations that must satisfy the constraints, relative
AT_REST = 1.0  # [rad, or sizes of a body, per second, or its square]: slower motions are not known better


def scaled(mechanism: ClosedMechanism, q: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F = J L⁻ᵀ with M = L Lᵀ, and L⁻ᵀ: in the velocities Lᵀ v kinetic energy is half a sum of squares."""
    root = np.linalg.inv(np.linalg.cholesky(mechanism.mass_matrix(q))).T
    return J @ root, root


def reaches(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> np.ndarray:
    """The reach of each row (`response`), the scale of F against which a row counts as zero; 1 for a row without."""
    packed, still, where = mechanism.packed, np.zeros((1, mechanism.nv)), np.array(q, ndmin=2)
    work, p, wrenches = np.empty(packed.work), packed.parameters, np.zeros((1, 6 * mechanism.spanning.links))
    entry.accelerations_of_states(
        *(p.view(np.int64), p, np.array([float(t)]), where, still, still, wrenches, work, packed.multipliers_at),
        *(np.empty_like(still), np.empty((1, mechanism.rows)), np.empty(1)),
    )
    scales = work[packed.scales_at : packed.scales_at + mechanism.rows]
    return 1.0 / np.where(scales > 0.0, scales, 1.0)


def decomposed(F: np.ndarray, reach: np.ndarray, tolerance: float = DEPENDENT) -> tuple[np.ndarray, np.ndarray, int]:
    """Singular vectors of F with rows divided by their reach (left, right), and the rank.

    A tolerance above `DEPENDENT` is one of rows of length one, without those that move nothing.
    """
    left, sizes, right = np.linalg.svd(F / reach[:, None])
    rank = int(np.count_nonzero(sizes > min(tolerance, DEPENDENT)))
    if tolerance > DEPENDENT:
        lengths = np.linalg.norm(F, axis=1)
        moving = lengths > DEPENDENT * reach
        own = np.linalg.svd(F[moving] / lengths[moving, None], compute_uv=False)
        rank = min(rank, int(np.count_nonzero(own > tolerance)))
    return left, right, rank


def shortest(F: np.ndarray, scales: np.ndarray, b: np.ndarray, cut_off: float = DEPENDENT) -> np.ndarray:
    """The shortest x with F x = b, as near as it goes; rows divided by scales whose singular values tell zero."""
    left, sizes, right = np.linalg.svd(F / scales[:, None], full_matrices=False)
    used = sizes > cut_off
    return right[used].T @ ((left[:, used].T @ (b / scales)) / sizes[used])


def mobility(mechanism: ClosedMechanism, q: np.ndarray, t: float, tolerance: float = DEPENDENT) -> Mobility:
    """Rank, freedoms, and what depends on each other: `ClosedMechanism.mobility`."""
    F, _ = scaled(mechanism, q, mechanism.constraint_rows(q, None, t).jacobian)
    left, _, rank = decomposed(F, reaches(mechanism, q, t), tolerance)
    share = np.linalg.norm(left[:, rank:], axis=1)
    dependent = {mechanism.constraint_names[k]: None for k in mechanism.constraint_of_row[share > 1e-6]}
    return Mobility(mechanism.rows, rank, mechanism.nv - rank, tuple(dependent))


def smallest(mechanism: ClosedMechanism, function: str, q, v, a, multipliers, t: float) -> np.ndarray:
    """The smallest multipliers that push as these do; an error if dependent rows ask for different accelerations."""
    found = mechanism.constraint_rows(q, v, t)
    off, limit = _inconsistent(mechanism, found, a)
    reach = reaches(mechanism, q, t)
    left, _, rank = decomposed(scaled(mechanism, q, found.jacobian)[0], reach)
    if not off.max(initial=0.0) <= limit:
        by = mechanism.largest(found.jacobian @ a - found.right)
        listed = violated(mechanism, mechanism.largest(off), limit, "[m/s² or rad/s²]", by)
        raise RedundantConstraintsError(
            f"{function}: {mechanism.rows - rank} of {mechanism.rows} constraint equations depend on others and "
            f"contradict them: {listed} cannot be "
            "satisfied. Remove a constraint, or look whether the state satisfies all of them"
        )
    weighted = multipliers * reach
    return (weighted - left[:, rank:] @ (left[:, rank:].T @ weighted)) / reach


def _large(mechanism: ClosedMechanism) -> np.ndarray:
    """What is large for each velocity: 1 rad, or a length of its joint."""
    return velocity_sizes(mechanism.tree.joints, joint_lengths(mechanism.system, mechanism.tree.joints))


def _inconsistent(mechanism: ClosedMechanism, rows: ConstraintRows, a: np.ndarray) -> tuple[np.ndarray, float]:
    """By how much accelerations miss each row, and what may be; in radians and sizes of bodies."""
    units = mechanism.row_units
    largest = np.abs(a / _large(mechanism)).max(initial=0.0) + np.abs(rows.right / units).max(initial=0.0)
    return np.abs(rows.jacobian @ a - rows.right) / units, CONSISTENT * (AT_REST + largest)


def violated(
    mechanism: ClosedMechanism, amounts: np.ndarray, limit: float, unit: str, shown: np.ndarray | None = None
) -> str:
    """The constraints that are off by more than a limit, worst first; `shown`: what is said of each."""
    order = np.argsort(-np.nan_to_num(amounts, nan=np.inf))
    said = amounts if shown is None else shown
    found = [f"{mechanism.constraint_names[k]!r} by {said[k]:.3g}" for k in order if not amounts[k] <= limit]
    return f"{'; '.join([*found[:8], '...'][: len(found)])} {unit}"


def assemble(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> np.ndarray:
    """Coordinates on the constraints, from rough ones: `ClosedMechanism.assemble`."""
    found = _iterate(mechanism, q, t)
    amounts = mechanism.constraint_violation(found, t=t, scaled=True).position
    if amounts.max(initial=0.0) <= ASSEMBLED:  # to rounding
        rank = mobility(mechanism, found, t).rank
        nearer = mechanism.project(found, np.zeros(mechanism.nv), t, rank)[0]
        better = mechanism.constraint_violation(nearer, t=t, scaled=True).position
        if better.max(initial=0.0) <= amounts.max(initial=0.0):
            return nearer
    if not amounts.max(initial=0.0) <= ASSEMBLED:
        listed = violated(
            mechanism, amounts, ASSEMBLED, "[m or rad]", mechanism.constraint_violation(found, t=t).position
        )
        raise AssemblyError(
            f"assemble: no coordinates near the given ones satisfy all constraints; the nearest found violate "
            f"{listed}{described(mechanism.turned(found))}. Start from "
            "other coordinates, or look for joints that contradict each other"
        )
    return found


def _on_the_group(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> ConstraintRows:
    """The rows, with those that align axes as rotation vectors: a half turn does not satisfy them."""
    rows = mechanism.constraint_rows(q, None, t)
    mechanism.aligned.replace(q, rows.residual, rows.jacobian)
    return rows


def _iterate(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> np.ndarray:
    """Gauss-Newton steps in the metric of the masses, no longer than `FARTHEST` and shortened until they help."""
    length, units = length_of(mechanism.system), mechanism.row_units
    size = 1.0 + np.abs(mechanism.poses(q)[:, 4:]).max(initial=0.0) / length
    large = velocity_sizes(mechanism.tree.joints, {joint.name: length for joint in mechanism.tree.joints})
    for _ in range(ITERATIONS):
        rows = _on_the_group(mechanism, q, t)
        if np.abs(rows.residual / units).max(initial=0.0) < SMALL * size:
            return q
        F, root = scaled(mechanism, q, rows.jacobian)
        reach = reaches(mechanism, q, t)
        step = root @ shortest(F, reach, -rows.residual, CUT_OFF)
        longest, before = np.abs(step / large).max(initial=0.0), np.linalg.norm(rows.residual / reach)
        scale = min(1.0, FARTHEST * size / longest) if longest > 0 else 1.0
        while True:
            trial = mechanism.retract(q, scale * step)
            after = np.linalg.norm(_on_the_group(mechanism, trial, t).residual / reach)
            if after < (1.0 - 1e-4 * scale) * before:
                break
            scale *= 0.5
            if scale < 1e-6:
                return q  # no direction helps
        q = trial
    return q


def consistent_velocities(
    mechanism: ClosedMechanism, q: np.ndarray, v: np.ndarray, t: float, held: Iterable[str]
) -> np.ndarray:
    """Velocities on the constraints: `ClosedMechanism.consistent_velocities`."""
    rows, given = mechanism.constraint_rows(q, v, t), v
    held = (held,) if isinstance(held, str) else tuple(held)
    fixed = _velocities(mechanism, "consistent_velocities: held", held)
    amounts = mechanism.constraint_violation(q, t=t, scaled=True).position
    if not amounts.max(initial=0.0) <= 1e-8:
        listed = violated(mechanism, amounts, 1e-8, "[m or rad]", mechanism.constraint_violation(q, t=t).position)
        raise AssemblyError(f"consistent_velocities: the coordinates violate {listed}; assemble them first")
    F, root = scaled(mechanism, q, np.concatenate([rows.jacobian, np.eye(mechanism.nv)[fixed]]))
    lengths = np.concatenate([reaches(mechanism, q, t), np.linalg.norm(F[mechanism.rows :], axis=1)])
    for _ in range(2):  # the second takes away the rounding of the first
        off = np.concatenate([rows.speed, (v - given)[fixed]])
        v = v - root @ shortest(F, lengths, off)
        rows = mechanism.constraint_rows(q, v, t)
    speed, large = mechanism.largest(rows.speed / mechanism.row_units), _large(mechanism)
    limit = 1e-10 * (AT_REST + max(np.abs(v / large).max(initial=0.0), np.abs(given / large).max(initial=0.0)))
    if not speed.max(initial=0.0) <= limit or not np.abs((v - given) / large)[fixed].max(initial=0.0) <= limit:
        kept = f" with {', '.join(map(repr, held))} as given" if len(fixed) else ""
        found = violated(mechanism, speed, limit, "[m/s or rad/s]", mechanism.largest(rows.speed))
        bad = "all constraints" if speed.max(initial=0.0) <= limit else found
        raise AssemblyError(f"consistent_velocities: no velocities{kept} satisfy {bad}")
    v[fixed] = given[fixed]
    return v


def check_regular(mechanism: ClosedMechanism, q: np.ndarray, t: float) -> int:
    """The rank at a configuration on the constraints; RedundantConstraintsError if it is larger nearby.

    There the mechanism could move on in several ways, or in none that its velocities promise.
    """
    here = mobility(mechanism, q, t)
    if here.freedoms == 0 or here.rank == here.equations:
        return here.rank
    F, root = scaled(mechanism, q, mechanism.constraint_rows(q, None, t).jacobian)
    free = root @ decomposed(F, reaches(mechanism, q, t))[1][here.rank :].T
    large = _large(mechanism)
    for direction in free.T[: 2 * mechanism.nv]:
        step = NUDGE * direction / np.abs(direction / large).max()
        for sign in (1.0, -1.0):
            moved = _iterate(mechanism, mechanism.retract(q, sign * step), t)
            if mechanism.constraint_violation(moved, t=t, scaled=True).position.max(initial=0.0) > ASSEMBLED:
                continue
            nearby = mobility(mechanism, moved, t)
            if nearby.rank > here.rank:
                raise RedundantConstraintsError(
                    f"{mechanism.system.name!r} is in a singular configuration: {here.rank} of {here.equations} "
                    f"constraint equations are independent here and {nearby.rank} nearby; involved: "
                    f"{', '.join(map(repr, here.dependent[:12]))}. Where it goes from here is not determined; start "
                    "from another configuration"
                )
    return here.rank


def inverse_dynamics(
    mechanism: ClosedMechanism, q, v, a, on_links: np.ndarray, actuated: Iterable[str] | None, t: float
) -> np.ndarray:
    """Forces in actuated joints: `ClosedMechanism.inverse_dynamics`.

    The motion takes the tree's forces τ; the constraints give what has no power in motions N that they allow, so that
    Nᵀ B u = Nᵀ τ for forces u in the actuated freedoms, B their columns of the identity.
    """
    name, where = "inverse_dynamics", _actuated(mechanism, actuated)
    rows = mechanism.constraint_rows(q, v, t)
    off, limit = _inconsistent(mechanism, rows, a)
    if not off.max(initial=0.0) <= limit:
        by = mechanism.largest(rows.jacobian @ a - rows.right)
        listed = violated(mechanism, mechanism.largest(off), limit, "[m/s² or rad/s²]", by)
        raise ValueError(f"{name}: the accelerations violate {listed}; take those of a motion on the constraints")
    arrays = {"q": q, "v": v, "a": a, "wrenches": on_links}
    (tau,), _ = mechanism.spanning._run(name, inverse.inverse_dynamics, arrays)
    F, root = scaled(mechanism, q, rows.jacobian)
    _, right, rank = decomposed(F, reaches(mechanism, q, t))
    free = root @ right[rank:].T
    mobility = free.shape[1]
    joints = ", ".join(dict.fromkeys(mechanism.spanning.joint_of_velocity(int(k)) for k in where))
    if len(where) < mobility:
        raise ValueError(
            f"{name}: the mechanism has mobility {mobility}, the actuated joints ({joints or 'none'}) have "
            f"{len(where)} freedoms; name more of them: {', '.join(mechanism.joints[:12])}"
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
        forces[where] = np.linalg.lstsq(reach, free.T @ tau.reshape(-1), rcond=None)[0]
    return forces


def _actuated(mechanism: ClosedMechanism, names: Iterable[str] | None) -> np.ndarray:
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
    for name in (names,) if isinstance(names, str) else names:
        if name not in mechanism.tree.velocities:
            mechanism.system.joint(name, where)
            raise ValueError(
                f"{where}: joint {name!r} is cut and has no coordinates; cut another one "
                f"(compile(cut=[...])), or name joints of the tree: {', '.join(mechanism.joints[:12])}"
            )
        part = mechanism.tree.velocities[name]
        found += range(part.start, part.stop)
    return np.unique(np.array(found, dtype=int))
