"""Functions of mechanisms with their derivatives, ready for bridges."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.bridges.function import Differentiable
from chasles.kernel.undisturbed import Calling
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.system import System
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism, in_joint_coordinates
from chasles.relative.loop.derivatives import motions
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.adjoint.gradient import gradient
from chasles.simulation.adjoint.objective import end
from chasles.simulation.closed.allowed import Allowed
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.sensitivities import sensitivities
from chasles.simulation.simulate import simulate
from chasles.simulation.tree.tangent import TangentTables
from chasles.simulation.tree.tangent import slopes as tree_slopes

Made = System | Mechanism | ClosedMechanism
FAR = 1e6  # condition of independent coordinates that are chosen badly


def _by_numbers(mechanism: Mechanism | ClosedMechanism, q: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Derivatives (m, nq) by the numbers q, of those along q exp(δ), (m, nv)."""
    if mechanism.nq == mechanism.nv:
        return slope
    lower = mechanism.tables.configuration.lower(q, np.eye(mechanism.nq))  # (nq, nv)
    return slope @ lower.T


def _unit(mechanism: Mechanism | ClosedMechanism, q: np.ndarray) -> np.ndarray:
    """q with unit quaternions: an optimizer leaves them a little off."""
    if mechanism.nq == mechanism.nv:
        return q
    configuration, found = mechanism.tables.configuration, q.copy()
    for (places, _), _group in configuration._parts:
        found[places[:, :4]] /= np.linalg.norm(found[places[:, :4]], axis=1, keepdims=True)
    return found


def forward_dynamics(system: Made, *, applied: bool = False) -> Differentiable:
    """Accelerations (nv,) of q, v and generalized forces tau, at time 0. applied: whether springs, dampers, laws and
    other forces of the system act too.

    With loops, q and v are those of all joints of the tree. On the constraints these are the accelerations that they
    allow; next to them a smooth continuation.
    """
    mechanism = in_joint_coordinates("forward_dynamics", system)
    if applied:
        refuse_sticking("forward_dynamics", mechanism.system)
    act = mechanism.accelerations_under if applied else mechanism.forward_dynamics

    def slopes(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        at = _unit(mechanism, q)
        found = _under_forces(mechanism, at, v, tau) if applied else mechanism.derivatives.forward_dynamics(at, v, tau)
        return _by_numbers(mechanism, q, found[0]), found[1], found[2]

    inputs = {"q": mechanism.nq, "v": mechanism.nv, "tau": mechanism.nv}
    value = lambda q, v, tau: act(_unit(mechanism, q), v, tau)  # noqa: E731
    second = None
    if isinstance(mechanism, Mechanism) and mechanism.nq == mechanism.nv and not applied:
        second = partial(_second_of_accelerations, mechanism)
    return Differentiable("forward_dynamics", inputs, mechanism.nv, value, slopes, curvature=second)


def _under_forces(
    mechanism: Mechanism | ClosedMechanism, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Derivatives of `accelerations_under` by q, v and tau, with all forces on dual numbers."""
    nv = mechanism.nv
    if isinstance(mechanism, ClosedMechanism):
        tree, motion = mechanism.spanning, mechanism.constrained_motion(q, v, tau)
        push = tau - motion.multipliers @ mechanism.constraint_jacobian(q, 0.0)
    else:
        tree, push = mechanism, tau
    tables = TangentTables(tree)
    with Calling(tree.tables.acting.laws, True):
        _, found = tree_slopes(tables, 0.0, q, v, push, np.eye(2 * nv), np.eye(nv))
    if not isinstance(mechanism, ClosedMechanism):
        return found[:, :nv], found[:, nv : 2 * nv], found[:, 2 * nv :]
    # M δa + Jᵀ δλ = M found - (δJ)ᵀ λ, J δa = δc - δJ a
    rows, (free, least) = mechanism.derivatives.constraint_rows(q, v), motions(LoopEquations(mechanism, 0.0), q)
    forces = tree.mass_matrix(q) @ found[:, : 2 * nv] - np.einsum("rik,r->ik", rows.jacobian, motion.multipliers)
    asked = rows.right - np.einsum("rik,i->rk", rows.jacobian, motion.accelerations)
    change = least @ asked + free @ (free.T @ forces)
    return change[:, :nv], change[:, nv:], free @ free.T


def inverse_dynamics(system: Made, *, actuated: Iterable[str] | None = None) -> Differentiable:
    """Generalized forces (nv,) of q, v and accelerations a; what springs, dampers and laws do is not in it.

    With loops these are the forces in the `actuated` joints, zero elsewhere, as of `ClosedMechanism.inverse_dynamics`;
    the motion has to satisfy the constraints.
    """
    mechanism = in_joint_coordinates("inverse_dynamics", system)
    more: dict[str, Any] = {}
    if isinstance(mechanism, ClosedMechanism):
        more = {"actuated": None if actuated is None else tuple(actuated)}
    elif actuated is not None:
        raise ValueError("inverse_dynamics: actuated is for loops; in a tree all joints have forces")

    def slopes(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        found = mechanism.derivatives.inverse_dynamics(_unit(mechanism, q), v, a, **more)
        return _by_numbers(mechanism, q, found.dq), found.dv, found.da

    inputs = {"q": mechanism.nq, "v": mechanism.nv, "a": mechanism.nv}
    value = lambda q, v, a: mechanism.inverse_dynamics(_unit(mechanism, q), v, a, applied=False, **more)  # noqa: E731
    second = None
    if isinstance(mechanism, Mechanism) and mechanism.nq == mechanism.nv:
        second = partial(_second_of_forces, mechanism)
    return Differentiable("inverse_dynamics", inputs, mechanism.nv, value, slopes, curvature=second)


def _second_of_forces(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Of the generalized forces Q, by (q, v, a) in one row; Q is linear in a."""
    n, found = mechanism.nv, mechanism.derivatives.inverse_dynamics_second(q, v, a)
    second, (at_q, at_v, at_a) = np.zeros((n, 3 * n, 3 * n)), (slice(k * n, (k + 1) * n) for k in range(3))
    second[:, at_q, at_q], second[:, at_v, at_v] = found.dq_dq, found.dv_dv
    second[:, at_q, at_v], second[:, at_a, at_q] = found.dq_dv, found.da_dq
    second[:, at_v, at_q], second[:, at_q, at_a] = (np.swapaxes(x, 1, 2) for x in (found.dq_dv, found.da_dq))
    return second


def _second_of_accelerations(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """By (q, v, tau) in one row: Q(q, v, a) = tau is differentiated twice."""
    n, a = mechanism.nv, mechanism.forward_dynamics(q, v, tau)
    first = mechanism.derivatives.forward_dynamics(q, v, tau)
    along = np.zeros((3 * n, 3 * n))  # how (q, v, a) follow (q, v, tau)
    along[: 2 * n, : 2 * n] = np.eye(2 * n)
    along[2 * n :] = np.concatenate([first.dq, first.dv, first.dtau], axis=1)
    bent = np.einsum("kij,il,jm->klm", _second_of_forces(mechanism, q, v, a), along, along)
    return -np.einsum("rk,klm->rlm", first.dtau, bent)


def frame_pose(system: Made, frame: str) -> Differentiable:
    """The pose (7,) of a body or frame, a unit quaternion (w, x, y, z) and a position [m], of q; with loops, of the
    coordinates of all joints of the tree."""
    mechanism = in_joint_coordinates("frame_pose", system)
    mechanism.system.frame(frame)  # says which there are

    def slopes(q: np.ndarray) -> tuple[np.ndarray, ...]:
        at = _unit(mechanism, q)
        pose, twist = mechanism.poses(at, frame), mechanism.jacobian(at, frame)
        w, x = pose[0], pose[1:4]
        turn = np.vstack([-0.5 * x @ twist[:3], 0.5 * (w * twist[:3] + np.cross(x, twist[:3], axisb=0).T)])
        moved = np.vstack([turn, quaternion_to_matrix(pose[:4]) @ twist[3:]])
        return (_by_numbers(mechanism, q, moved),)

    value = lambda q: mechanism.poses(_unit(mechanism, q), frame)  # noqa: E731
    return Differentiable("frame_pose", {"q": mechanism.nq}, 7, value, slopes)


def simulation_end(
    system: Made,
    span: tuple[float, float],
    *,
    step: float,
    method: Any = "rk4",
    independent: Iterable[str] | None = None,
    near: ArrayLike | None = None,
) -> Differentiable:
    """The state (q, v) at the end of a span, of q and v at the start and a constant input `control`.

    With loops, q and v at the start are those of the `independent` joints, in this order, as many as the mechanism has
    degrees of freedom. The others follow: the mechanism is assembled `near` the coordinates of all joints (default:
    neutral). The state at the end is that of all joints of the tree.

    Steps are fixed and the method is explicit, so derivatives are those of what is computed, to rounding. Gradients go
    backward (`gradient`), at a cost that does not depend on the number of inputs; Jacobians go forward.
    """
    mechanism = in_joint_coordinates("simulation_end", system)
    start: TreeStart | LoopStart
    if isinstance(mechanism, ClosedMechanism):
        start = LoopStart(mechanism, float(span[0]), independent, near)
    elif independent is not None or near is not None:
        raise ValueError("simulation_end: independent and near are for loops; a tree takes q and v of all joints")
    else:
        start = TreeStart(mechanism)
    nq, nv, count = mechanism.nq, mechanism.nv, Actuation.of_tree(mechanism).inputs
    how: dict[str, Any] = {"method": method, "step": step}
    configuration = mechanism.tables.configuration

    def run(q: np.ndarray, v: np.ndarray, control: np.ndarray) -> Any:
        found = simulate(mechanism, span, *start.state(q, v), control=control, progress=False, **how)
        if not found.success:
            raise RuntimeError(f"simulation_end: the simulation did not get to the end: {found.message}")
        return found

    def value(q: np.ndarray, v: np.ndarray, control: np.ndarray) -> np.ndarray:
        found = run(q, v, control)
        return np.concatenate([found.q[-1], found.v[-1]])

    def slopes(q: np.ndarray, v: np.ndarray, control: np.ndarray) -> tuple[np.ndarray, ...]:
        begin = start.state(q, v)
        found = sensitivities(mechanism, span, *begin, control=control, wrt=("q", "v", "control"), save="final", **how)
        state = found.state[-1]
        last = configuration.lift(found.run.q[-1], state[:nv].T).T
        whole = np.vstack([last, state[nv:]])
        by_q, by_v, by_u = (whole[:, found.columns[name]] for name in ("q", "v", "control"))
        return *start.by_given(q, *begin, by_q, by_v), by_u

    def backward(w: np.ndarray, q: np.ndarray, v: np.ndarray, control: np.ndarray) -> tuple[np.ndarray, ...]:
        def weighed(t: np.ndarray, qs: np.ndarray, vs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            ones = np.ones((len(qs), 1))
            return qs @ w[:nq] + vs @ w[nq:], ones * w[:nq], ones * w[nq:]

        done = run(q, v, control)
        found = gradient(done, end(weighed), by=("q", "v", "control"))
        by_q, by_v = start.by_given(q, done.q[0], done.v[0], found["q"][None], found["v"][None])
        return by_q[0], by_v[0], found["control"]

    inputs = {"q": start.nq, "v": start.nv, "control": count}
    return Differentiable("simulation_end", inputs, nq + nv, value, slopes, backward)


class TreeStart:
    """The start of a tree: q and v of all joints."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism, self.nq, self.nv = mechanism, mechanism.nq, mechanism.nv

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _unit(self.mechanism, q), v

    def by_given(
        self, given: np.ndarray, q: np.ndarray, v: np.ndarray, by_q: np.ndarray, by_v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (m, nq) and (m, nv) by the numbers given, from those by the start."""
        return _by_numbers(self.mechanism, given, by_q), by_v


class LoopStart:
    """The start of a mechanism with loops: q and v of some joints; the others follow."""

    def __init__(self, mechanism: ClosedMechanism, t: float, independent: Iterable[str] | None, near: ArrayLike | None):
        self.mechanism, self.t = mechanism, t
        tables, caller = mechanism.tables.tree, "simulation_end"
        self.near = mechanism.assemble(near, t)
        states, _ = Allowed(mechanism, self.near, t).states(np.zeros(mechanism.nv))
        freedom = sum(states < mechanism.nv)
        if independent is None:
            raise ValueError(
                f"{caller}: this system has loops or constraints; say which joints are `independent`, with "
                f"{freedom} coordinates, of {', '.join(map(repr, tables.velocities))}"
            )
        self.names = (independent,) if isinstance(independent, str) else tuple(independent)
        for name in self.names:
            if name not in tables.velocities:
                raise ValueError(f"{caller}: independent joint {name!r} is not one of {', '.join(tables.velocities)}")
        places = [np.arange(mechanism.nq)[tables.coordinates[name]] for name in self.names]
        speeds = [np.arange(mechanism.nv)[tables.velocities[name]] for name in self.names]
        if any(len(place) != len(speed) for place, speed in zip(places, speeds, strict=True)):
            raise ValueError(
                f"{caller}: independent joints need as many coordinates as velocities; ball joints have more"
            )
        self.places, self.speeds = (np.concatenate([*part, np.zeros(0, dtype=int)]) for part in (places, speeds))
        self.nq = self.nv = len(self.speeds)
        if self.nv != freedom or 2 * freedom != len(states) or np.linalg.cond(self._follow(self.near, 0.0)) > FAR:
            raise ValueError(
                f"{caller}: the joints {', '.join(map(repr, self.names))} do not determine the others: there are "
                f"{freedom} independent coordinates, and {len(states) - freedom} independent velocities"
            )

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        guess, speed = self.near.copy(), np.zeros(self.mechanism.nv)
        guess[self.places], speed[self.speeds] = q, v
        found = self.mechanism.assemble(guess, self.t, held=self.names)
        return found, self.mechanism.consistent_velocities(found, speed, self.t, held=self.names)

    def _follow(self, q: np.ndarray, v: np.ndarray | float) -> np.ndarray:
        """How the numbers given follow those that derivatives are taken by, (2 nv, 2 nv) of the given ones."""
        _, basis = Allowed(self.mechanism, q, self.t).states(np.zeros(self.mechanism.nv) + v)
        return basis[np.concatenate([self.speeds, self.mechanism.nv + self.speeds])]

    def by_given(
        self, given: np.ndarray, q: np.ndarray, v: np.ndarray, by_q: np.ndarray, by_v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (m, nv) by the numbers given, from those by the independent ones of the start."""
        both = np.linalg.solve(self._follow(q, v).T, np.concatenate([by_q, by_v], axis=1).T).T
        return both[:, : self.nv], both[:, self.nv :]
