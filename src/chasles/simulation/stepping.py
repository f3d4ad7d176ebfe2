"""`Simulation`: a system advanced one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.integrate import engine
from chasles.integrate.explicit import ExplicitRun
from chasles.integrate.explicit_layout import STATE
from chasles.integrate.method import RKMK
from chasles.integrate.method_name import named_method
from chasles.integrate.run import Options
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.start import prepare
from chasles.simulation.start_values import StartChange, Values

STEPPING_METHOD = RKMK("rk4")


class Simulation:
    """A system advanced one step of fixed size at a time: `sim.step(u)`, for controllers and co-simulation.

    `t`, `q`, `v` are the present time and state; `work` the work of all forces but gravity and springs. With
    coordinates="absolute" q and v are the joints' as well, found from `poses` and `twists` of the bodies; `options` are
    space, stabilization, baumgarte, poses, twists, assemble and trivialization of `simulate`.
    """

    def __init__(
        self,
        system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
        step: float,
        q: Values | None = None,
        v: Values | None = None,
        *,
        start: float = 0.0,
        method: Any = STEPPING_METHOD,
        coordinates: str = "relative",
        **options: Any,
    ):
        method = named_method("Simulation", method)
        if not isinstance(method, ExplicitRun.methods):
            known = ", ".join(kind.__name__ for kind in ExplicitRun.methods)
            raise ValueError(f"Simulation: {method!r} cannot be stepped from outside; expected one of {known}")
        self.dynamics, state, _ = prepare("Simulation", system, start, q, v, coordinates, inputs=True, **options)
        self.size = float(step)
        if not (np.isfinite(self.size) and self.size > 0):
            raise ValueError(f"Simulation: step is {step!r}; expected a positive number [s]")
        self._begin(method, start, state)

    def _begin(self, method: Any, start: float, state: np.ndarray) -> None:
        self.actuation = self.dynamics.actuation()
        span = (start, start + 1e9 * self.size)
        how = Options(step=self.size, save="final")
        with self.dynamics.laws_may_raise():
            self._run = ExplicitRun(self.dynamics.problem(), method, span, state, how)
        self._control = self._run.p[self.dynamics.control]

    def __getstate__(self) -> dict[str, Any]:
        run, first = self._run, self.dynamics.control.start
        # of the parameters the input and what follows it, the workspace: before are addresses of this process
        return {
            "dynamics": self.dynamics,
            "size": self.size,
            "run": (run.method, run.start, run.y.copy(), run.checkpoint(), run.p[first:].copy()),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.dynamics, self.size = state["dynamics"], state["size"]
        method, start, y, checkpoint, workspace = state["run"]
        self._begin(method, start, y)
        self._run.restore(checkpoint)
        self._run.p[self.dynamics.control.start :] = workspace

    @property
    def mechanism(self) -> Mechanism | ClosedMechanism | AbsoluteMechanism:
        return self.dynamics.mechanism

    @property
    def start_changes(self) -> tuple[StartChange, ...]:
        """What assemble=True changed of the start."""
        return self.dynamics.start_changes

    @property
    def t(self) -> float:
        return float(self._run.state[STATE.t])

    @property
    def q(self) -> np.ndarray:
        return self.dynamics.coordinates(self._run.y)[0].copy()

    @property
    def v(self) -> np.ndarray:
        return self.dynamics.coordinates(self._run.y)[1].copy()

    @property
    def poses(self) -> np.ndarray:
        """Poses of all bodies, (bodies, 7)."""
        if isinstance(self.mechanism, AbsoluteMechanism):
            return self.mechanism.poses(self.dynamics.split(self._run.y)[0])
        return self.mechanism.poses(self.q)

    @property
    def twists(self) -> np.ndarray:
        """Body twists of all bodies, (bodies, 6)."""
        if isinstance(self.mechanism, AbsoluteMechanism):
            return self.mechanism.twists(*self.dynamics.split(self._run.y)[:2])
        return self.mechanism.twists(self.q, self.v)

    @property
    def work(self) -> float:
        return float(self._run.y[-1])

    def step(self, u: ArrayLike | None = None, steps: int = 1) -> Simulation:
        """Take steps under the input u (held; as before if it is not given). An input as in `simulate`."""
        run = self._run
        if u is not None:
            self._control[:] = self.actuation.forces(u)
            engine.evaluate(run.address, self.t, run.y, run.p, run.f0)  # the input changed, and so the field here
        with self.dynamics.laws_may_raise():
            ending = run.advance(steps)
        if ending is not None and not ending.success:
            raise RuntimeError(f"Simulation: {ending.message}")
        return self
