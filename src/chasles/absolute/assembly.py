"""Finding states on the constraints, and whether these are independent: dense and careful, for starts, not steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.constraint.alignment import described
from chasles.constraint.errors import AssemblyError, RedundantConstraintsError
from chasles.constraint.rows import EMPTY, ROTOR, TILE
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.model.scale import body_sizes, length_of

if TYPE_CHECKING:
    from chasles.absolute.mechanism import AbsoluteMechanism

DENSE = 3000  # equations up to which the Jacobian is looked at as a whole
DEPENDENT = 1e-9  # of singular values of rows of length one
FARTHEST = 0.5  # in one iteration of an assembly [rad, or times the size of the mechanism]
ITERATIONS = 200
# residuals are in radians, and lengths in sizes of bodies
ASSEMBLED = 1e-10  # residual of an assembly that succeeded
NEAR = 1e-6  # from here on the projection of the steps takes over
REACHED = 1e-13  # residual of configurations nearby: equations that depend on each other do so to this
NEARBY = (
    0.03,
    0.1,
)  # [rad, or times the size of the mechanism], by which the mechanism is moved to look at its neighborhood
SATISFIED = 1e-8  # residual of poses on the constraints
CONTRADICTING = 1e-6  # of accelerations, relative to squares of velocities
AT_REST = 1.0  # [rad, or sizes of a body, per second]: slower motions are not known better


def scaled_jacobian(
    mechanism: AbsoluteMechanism, central: np.ndarray, t: float = 0.0, blocks: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """J M^(-1/2) of all rows that are not empty, (rows, 6 bodies), and the node and row (0, 1, 2) of each.

    blocks: J of every tile, if it is not that of `AbsoluteMechanism.jacobians`.
    """
    blocks = mechanism.jacobians(central, t=t) if blocks is None else blocks
    nodes = np.array(mechanism._node, dtype=int)
    J = np.zeros((nodes.max(initial=-1) + 1, 3, 6 * mechanism.n))
    roots = [inverse_root(body) for body in mechanism.system.bodies]
    used = np.zeros(J.shape[:2], dtype=bool)
    for k, tile in enumerate(mechanism.tiles):
        kinds = tile.integers[TILE.kinds : TILE.kinds + 3]
        used[nodes[k]] = (kinds != EMPTY) & (kinds != ROTOR)
        for side, body in enumerate((tile.first, tile.second)):
            if body >= 0:
                J[nodes[k], :, 6 * body : 6 * body + 6] += blocks[k, side] @ roots[body]
    return J[used], np.argwhere(used)


def inverse_root(body) -> np.ndarray:
    """M^(-1/2) of a body about its center."""
    sizes, axes = np.linalg.eigh(np.array(body.inertia))
    root = np.zeros((6, 6))
    root[:3, :3] = axes @ np.diag(sizes**-0.5) @ axes.T
    root[3:, 3:] = np.eye(3) / np.sqrt(body.mass)
    return root


def dependence(
    mechanism: AbsoluteMechanism, central: np.ndarray, t: float = 0.0, below: float = DEPENDENT
) -> tuple[tuple[int, int], tuple[str, ...], np.ndarray]:
    """(Equations, their rank), the names of those that depend on others, and the motions (6 n, freedoms) they allow."""
    if not mechanism.tiles:
        return (0, 0), (), np.eye(6 * mechanism.n)
    J, places = scaled_jacobian(mechanism, central, t)
    lengths = np.linalg.norm(J, axis=1)
    left, sizes, right = np.linalg.svd(J / np.where(lengths > 0, lengths, 1.0)[:, None])
    rank = int(np.count_nonzero(sizes > below))
    share = np.linalg.norm(left[:, rank:], axis=1)
    names: dict[str, None] = {}
    for k, tile in enumerate(mechanism.tiles):
        if share[places[:, 0] == mechanism._node[k]].max(initial=0.0) > 1e-6:
            names[tile.joint] = None
    roots = np.array([inverse_root(body) for body in mechanism.system.bodies])
    free = np.einsum("bij,fbj->bif", roots, right[rank:].reshape(-1, mechanism.n, 6))
    return (len(J), rank), tuple(names), free.reshape(6 * mechanism.n, -1)


def nearby(mechanism: AbsoluteMechanism, central: np.ndarray, t: float, free: np.ndarray, seed: int = 0):
    """((equations, rank), names) of configurations nearby, reached along random motions that the constraints allow."""
    rng = np.random.default_rng(seed)
    for size in NEARBY if free.shape[1] else ():
        step = free @ rng.normal(size=free.shape[1])
        step = step.reshape(-1, 6)
        longest = max(np.abs(step[:, :3]).max(), np.abs(step[:, 3:]).max() / length_of(mechanism.system))
        near = moved(central, step * (size / longest))
        near = iterate(mechanism, near, t, REACHED)
        if (
            mechanism.constraint_violation(near, np.zeros((mechanism.n, 6)), t, scaled=True)[0].max(initial=0.0)
            > 10 * REACHED
        ):
            continue  # the motion ends before it is there
        yield dependence(mechanism, near, t)[:2]


def may_depend(mechanism: AbsoluteMechanism) -> bool:
    """Whether rows can depend on each other: never those of a tree; more than `DENSE` are not looked at."""
    system = mechanism.system
    children = [joint.child for joint in system.joints if not joint.traits.holds_nothing]
    tree = len(set(children)) == len(children) and not system.constraints and _acyclic(system)
    return not tree and sum(tile.rows for tile in mechanism.tiles) <= DENSE


def prepared(mechanism: AbsoluteMechanism, central: np.ndarray, t: float = 0.0):
    """The mechanism that computes with the equations that depend on others here; (equations, their rank), and the
    motions that are free."""
    if not may_depend(mechanism):
        return mechanism, (0, 0), np.empty((6 * mechanism.n, 0))
    rows, names, free = dependence(mechanism, central, t)
    return mechanism.with_redundant(names, rows[0] - rows[1]), rows, free


def examined(mechanism: AbsoluteMechanism, central: np.ndarray, t: float = 0.0) -> AbsoluteMechanism:
    """The mechanism prepared for a configuration: `AbsoluteMechanism.examined`."""
    mechanism, (equations, rank), free = prepared(mechanism, central, t)
    if rank == equations:
        return mechanism
    names = mechanism.redundant
    what = f"{mechanism.system.name!r}: {equations - rank} of {equations} constraint equations depend on others"
    listed = ", ".join(map(repr, names[:12]))
    amounts = mechanism.constraint_violation(central, np.zeros((mechanism.n, 6)), t, scaled=True)[0]
    if not amounts.max(initial=0.0) <= SATISFIED:
        raise RedundantConstraintsError(
            f"{what}, and contradict each other: involved: {listed}; at these poses the violation is "
            f"{_in_meters(mechanism, central, t, amounts, SATISFIED)}"
        )
    best = max((other for (_, other), _ in nearby(mechanism, central, t, free)), default=rank)
    if best > rank:
        raise RedundantConstraintsError(
            f"{what}, but {equations - best} nearby: the configuration is singular, with {6 * mechanism.n - rank} "
            f"instantaneous freedoms instead of {6 * mechanism.n - best}, so that the motion from here is not "
            f"determined; involved: {listed}. Start beside it"
        )
    return mechanism


def refuse_contradictions(
    mechanism: AbsoluteMechanism, central: np.ndarray, velocity: np.ndarray, t: float, angles: np.ndarray
) -> None:
    """RedundantConstraintsError if no accelerations satisfy rows that depend on each other."""
    off, scaled = mechanism.contradictions(central, velocity, t, angles)
    limit = CONTRADICTING * (AT_REST + _fastest(mechanism, velocity)) ** 2
    if not scaled.max(initial=0.0) <= limit:
        raise RedundantConstraintsError(
            f"{mechanism.system.name!r}: constraint equations that depend on each other contradict each other: no "
            f"accelerations satisfy {violated(mechanism, scaled, limit, '[m/s² or rad/s²]', off)}"
        )


def _fastest(mechanism: AbsoluteMechanism, velocity: np.ndarray) -> float:
    """The largest velocity [rad, or sizes of its body, per second]."""
    sizes = body_sizes(mechanism.system)
    lengths = np.array([sizes[name] or length_of(mechanism.system) for name in mechanism.bodies])
    spin, linear = (np.abs(part).max(axis=1, initial=0.0) for part in np.split(velocity.reshape(-1, 6), 2, axis=1))
    return float(np.maximum(spin, linear / lengths).max(initial=0.0))


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


def violated(
    mechanism: AbsoluteMechanism, amounts: np.ndarray, limit: float, unit: str, shown: np.ndarray | None = None
) -> str:
    """The joints that violate their equations by more than a limit, worst first; `shown`: what is said of each."""
    order = np.argsort(-np.nan_to_num(amounts, nan=np.inf))
    said = amounts if shown is None else shown
    found = [f"{mechanism.constraint_names[k]!r} by {said[k]:.3g}" for k in order if not amounts[k] <= limit]
    return f"{'; '.join([*found[:8], '...'][: len(found)])} {unit}"


def _in_meters(mechanism: AbsoluteMechanism, central: np.ndarray, t: float, amounts: np.ndarray, limit: float) -> str:
    """The joints whose scaled violations are above a limit, with the violations as they are."""
    return violated(
        mechanism,
        amounts,
        limit,
        "[m or rad]",
        mechanism.constraint_violation(central, np.zeros((mechanism.n, 6)), t)[0],
    )


def assemble(mechanism: AbsoluteMechanism, poses: ArrayLike, t: float = 0.0) -> np.ndarray:
    """Poses of all bodies' frames on the constraints, from rough ones: `AbsoluteMechanism.assemble`."""
    given = real_array("assemble", "poses", poses, (mechanism.n, 7))
    lengths = np.linalg.norm(given[:, :4], axis=1, keepdims=True)
    if not (lengths > 0.1).all():
        raise ValueError("assemble: a quaternion of the poses has no length; expected unit quaternions (w, x, y, z)")
    central = mechanism.state(np.concatenate([given[:, :4] / lengths, given[:, 4:]], axis=1))[0]
    still = np.zeros((mechanism.n, 6))
    if sum(tile.rows for tile in mechanism.tiles) <= DENSE:
        central = iterate(mechanism, central, t)
    mechanism = prepared(mechanism, central, t)[0]
    amounts = mechanism.constraint_violation(central, still, t, scaled=True)[0]
    if amounts.max(initial=0.0) <= NEAR or sum(tile.rows for tile in mechanism.tiles) > DENSE:  # to rounding
        central = mechanism.project(central, still, t)[0]
        amounts = mechanism.constraint_violation(central, still, t, scaled=True)[0]
    if not amounts.max(initial=0.0) <= ASSEMBLED:
        listed = _in_meters(mechanism, central, t, amounts, ASSEMBLED)
        raise AssemblyError(
            f"assemble: no poses near the given ones satisfy all constraints; the nearest found violate "
            f"{listed}{described(mechanism.turned(central))}. Start "
            "from other poses, or look for joints that contradict each other"
        )
    return mechanism.poses(central)


def _residual(mechanism: AbsoluteMechanism, central: np.ndarray, t: float, places: np.ndarray) -> np.ndarray:
    """Residuals of the rows at `places` (node, row); those that align axes are rotation vectors, which a half turn does
    not satisfy."""
    found = mechanism.rows(central, np.zeros((mechanism.n, 6)), t)[0]
    found[mechanism.alignment.tiles] = mechanism.alignment.rows(mechanism.rotations(central))[0]
    nodes = np.zeros((max(mechanism._node, default=-1) + 1, 3))
    for k, node in enumerate(mechanism._node):
        nodes[node] = found[k]  # of tiles that share a node, the later has the residual
    return nodes[places[:, 0], places[:, 1]]


def _units(mechanism: AbsoluteMechanism, places: np.ndarray) -> np.ndarray:
    """What is large for the rows at `places` (node, row)."""
    nodes = np.ones((max(mechanism._node, default=-1) + 1, 3))
    nodes[list(mechanism._node)] = mechanism.row_units
    return nodes[places[:, 0], places[:, 1]]


def iterate(mechanism: AbsoluteMechanism, central: np.ndarray, t: float, goal: float = 0.1 * NEAR) -> np.ndarray:
    """Gauss-Newton steps in the metric of the masses, no longer than `FARTHEST` and shortened until they help."""
    roots = [inverse_root(body) for body in mechanism.system.bodies]
    size = length_of(mechanism.system) + np.abs(central[:, 4:]).max(initial=0.0)
    for _ in range(ITERATIONS):
        blocks = mechanism.jacobians(central, t=t)
        blocks[mechanism.alignment.tiles, :, :, :3] = mechanism.alignment.rows(mechanism.rotations(central))[1]
        J, places = scaled_jacobian(mechanism, central, t, blocks)
        units = _units(mechanism, places)
        J, g = J / units[:, None], _residual(mechanism, central, t, places) / units
        if np.abs(g).max(initial=0.0) < goal:
            return central
        step = np.linalg.lstsq(J, -g, rcond=1e-10)[0].reshape(-1, 6)
        step = np.einsum("bij,bj->bi", np.array(roots), step)
        longest = max(np.abs(step[:, :3]).max(), np.abs(step[:, 3:]).max() / size)
        scale, before = min(1.0, FARTHEST / longest) if longest > 0 else 1.0, np.linalg.norm(g)
        while True:
            trial = moved(central, scale * step)
            after = np.linalg.norm(_residual(mechanism, trial, t, places) / units)
            if after < (1.0 - 1e-4 * scale) * before:
                break
            scale *= 0.5
            if scale < 1e-6:
                return central  # no direction helps
        central = trial
    return central


def moved(central: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Poses moved by rotation vectors in the bodies and displacements in space."""
    turn = pose_group.exp(np.concatenate([step[:, :3], np.zeros_like(step[:, :3])], axis=1))
    at = np.concatenate([central[:, :4], np.zeros_like(central[:, 4:])], axis=1)
    return np.concatenate([pose_group.compose(at, turn)[:, :4], central[:, 4:] + step[:, 3:]], axis=1)


def consistent_velocities(
    mechanism: AbsoluteMechanism, poses: ArrayLike, twists: ArrayLike, t: float = 0.0
) -> np.ndarray:
    """Body twists on the constraints: `AbsoluteMechanism.consistent_velocities`."""
    central, velocity = mechanism.state(poses, twists)
    amounts = mechanism.constraint_violation(central, velocity, t, scaled=True)[0]
    if not amounts.max(initial=0.0) <= 1e-8:
        listed = _in_meters(mechanism, central, t, amounts, 1e-8)
        raise AssemblyError(f"consistent_velocities: the poses violate {listed}; assemble them first")
    mechanism = prepared(mechanism, central, t)[0]
    at, velocity = mechanism.project(central, velocity, t)
    speed = mechanism.constraint_violation(at, velocity, t, scaled=True)[1]
    limit = 1e-10 * (AT_REST + _fastest(mechanism, velocity))
    if not speed.max(initial=0.0) <= limit:
        shown = mechanism.constraint_violation(at, velocity, t)[1]
        listed = violated(mechanism, speed, limit, "[m/s or rad/s]", shown)
        raise AssemblyError(f"consistent_velocities: no velocities satisfy {listed}")
    return mechanism.twists(at, velocity)
