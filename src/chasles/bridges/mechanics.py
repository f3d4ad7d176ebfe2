"""Functions of mechanisms with their derivatives, ready for bridges."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.bridges.function import Differentiable
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.adjoint.gradient import gradient
from chasles.simulation.adjoint.objective import end
from chasles.simulation.sensitivities import sensitivities
from chasles.simulation.simulate import simulate


def _tree(function: str, system: System | Mechanism | ClosedMechanism) -> Mechanism:
    found = system.compile() if isinstance(system, System) else system
    if not isinstance(found, Mechanism):
        raise ValueError(f"{function}: is for trees; this system has loops or constraints")
    return found


def _by_numbers(mechanism: Mechanism, q: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Derivatives (m, nq) by the numbers q, of those along q exp(δ), (m, nv)."""
    if mechanism.nq == mechanism.nv:
        return slope
    lower = mechanism.tables.configuration.lower(q, np.eye(mechanism.nq))  # (nq, nv)
    return slope @ lower.T


def _unit(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """q with unit quaternions: an optimizer leaves them a little off."""
    if mechanism.nq == mechanism.nv:
        return q
    configuration, found = mechanism.tables.configuration, q.copy()
    for (places, _), _group in configuration._parts:
        found[places[:, :4]] /= np.linalg.norm(found[places[:, :4]], axis=1, keepdims=True)
    return found


def forward_dynamics(system: System | Mechanism | ClosedMechanism) -> Differentiable:
    """Accelerations (nv,) of q, v and generalized forces tau; what springs, dampers and laws do is not in it."""
    mechanism = _tree("forward_dynamics", system)

    def slopes(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        found = mechanism.derivatives.forward_dynamics(_unit(mechanism, q), v, tau)
        return _by_numbers(mechanism, q, found.dq), found.dv, found.dtau

    inputs = {"q": mechanism.nq, "v": mechanism.nv, "tau": mechanism.nv}
    value = lambda q, v, tau: mechanism.forward_dynamics(_unit(mechanism, q), v, tau)  # noqa: E731
    return Differentiable("forward_dynamics", inputs, mechanism.nv, value, slopes)


def inverse_dynamics(system: System | Mechanism | ClosedMechanism) -> Differentiable:
    """Generalized forces (nv,) of q, v and accelerations a; what springs, dampers and laws do is not in it."""
    mechanism = _tree("inverse_dynamics", system)

    def slopes(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        found = mechanism.derivatives.inverse_dynamics(_unit(mechanism, q), v, a)
        return _by_numbers(mechanism, q, found.dq), found.dv, found.da

    inputs = {"q": mechanism.nq, "v": mechanism.nv, "a": mechanism.nv}
    value = lambda q, v, a: mechanism.inverse_dynamics(_unit(mechanism, q), v, a, applied=False)  # noqa: E731
    return Differentiable("inverse_dynamics", inputs, mechanism.nv, value, slopes)


def frame_pose(system: System | Mechanism | ClosedMechanism, frame: str) -> Differentiable:
    """The pose (7,) of a body or frame, a unit quaternion (w, x, y, z) and a position [m], of q."""
    mechanism = _tree("frame_pose", system)
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
    system: System | Mechanism | ClosedMechanism, span: tuple[float, float], *, step: float, method: Any = "rk4"
) -> Differentiable:
    """The state (q, v) at the end of a span, of q and v at the start and a constant input `control`.

    Steps are fixed and the method is explicit, so derivatives are those of what is computed, to rounding. Gradients go
    backward (`gradient`), at a cost that does not depend on the number of inputs; Jacobians go forward.
    """
    mechanism = _tree("simulation_end", system)
    nq, nv, count = mechanism.nq, mechanism.nv, Actuation.of_tree(mechanism).inputs
    how: dict[str, Any] = {"method": method, "step": step}
    configuration = mechanism.tables.configuration

    def run(q: np.ndarray, v: np.ndarray, control: np.ndarray) -> Any:
        found = simulate(mechanism, span, _unit(mechanism, q), v, control=control, progress=False, **how)
        if not found.success:
            raise RuntimeError(f"simulation_end: the simulation did not get to the end: {found.message}")
        return found

    def value(q: np.ndarray, v: np.ndarray, control: np.ndarray) -> np.ndarray:
        found = run(q, v, control)
        return np.concatenate([found.q[-1], found.v[-1]])

    def slopes(q: np.ndarray, v: np.ndarray, control: np.ndarray) -> tuple[np.ndarray, ...]:
        found = sensitivities(
            mechanism, span, _unit(mechanism, q), v, control=control, wrt=("q", "v", "control"), save="final", **how
        )
        state = found.state[-1]
        last = configuration.lift(found.run.q[-1], state[:nv].T).T
        whole = np.vstack([last, state[nv:]])
        by_q, by_v, by_u = (whole[:, found.columns[name]] for name in ("q", "v", "control"))
        return _by_numbers(mechanism, q, by_q), by_v, by_u

    def backward(w: np.ndarray, q: np.ndarray, v: np.ndarray, control: np.ndarray) -> tuple[np.ndarray, ...]:
        def weighed(t: np.ndarray, qs: np.ndarray, vs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            ones = np.ones((len(qs), 1))
            return qs @ w[:nq] + vs @ w[nq:], ones * w[:nq], ones * w[nq:]

        found = gradient(run(q, v, control), end(weighed), by=("q", "v", "control"))
        return _by_numbers(mechanism, q, found["q"][None])[0], found["v"], found["control"]

    inputs = {"q": nq, "v": nv, "control": count}
    return Differentiable("simulation_end", inputs, nq + nv, value, slopes, backward)
