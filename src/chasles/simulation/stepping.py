"""`Simulation`: a system advanced one step at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import STATE, TALLY
from chasles.integrate.method import RKMK
from chasles.integrate.method_name import named_method
from chasles.integrate.options import Options
from chasles.integrate.solution import Solution
from chasles.integrate.status import RUNNING
from chasles.kernel.bound import Bound
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Input
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.closed.energy_jumps import dead_point
from chasles.simulation.fixed_steps import step_one
from chasles.simulation.motion import spoken_by
from chasles.simulation.prepare import prepare
from chasles.simulation.runaway import runs_away
from chasles.simulation.start.values import StartChange, Values, warn_of
from chasles.simulation.states import States

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
        if not isinstance(method, ExplicitStepper.methods):
            known = ", ".join(kind.__name__ for kind in ExplicitStepper.methods)
            raise ValueError(f"Simulation: {method!r} cannot be stepped from outside; expected one of {known}")
        self.dynamics, state = prepare("Simulation", system, start, q, v, coordinates, inputs=True, **options)
        self.size = float(step)
        if not (np.isfinite(self.size) and self.size > 0):
            raise ValueError(f"Simulation: step is {step!r}; expected a positive number [s]")
        self._given: np.ndarray | None = None  # the input
        self._assembly = {name: options.get(name) for name in ("assemble", "held", "mode")}
        self._begin(method, start, state)

    def _begin(self, method: Any, start: float, state: np.ndarray) -> None:
        self._begun: dict[str, Any] = {"span": (start,), "state": state.copy()}
        end, parameters = start + 1e9 * self.size, np.array(self.dynamics.problem().parameters)
        before: ExplicitStepper | None = getattr(self, "_stepper", None)
        with spoken_by("Simulation"), self.dynamics.calling():
            if before is not None and before.p.shape == parameters.shape:
                before.p[:], before.y[:] = parameters, state
                before.begin(start, end, self.size)
                return
            how = Options(step=self.size, save="final")
            self._stepper = ExplicitStepper(self.dynamics.problem(), method, (start, end), state, how)
        self.actuation, self._calling = self.dynamics.actuation(), self.dynamics.calling()
        self._control = self._stepper.p[self.dynamics.control]
        self._hold = self.actuation.holder(self._control)
        self._loop, self._count = None if self._stepper.needs_more else self._bound(self._stepper), 1
        self._quick = self._loop is not None and self._calling.idle

    @staticmethod
    def _bound(of: ExplicitStepper) -> Bound:
        """The loop of steps that need no corrections."""
        state = (of.state, of.counts, of.y, of.f0, of.memory)
        return Bound(step_one, of.space.table, of.addresses, *of.arrays(), *state, of.address, of.p, 1)

    def __getstate__(self) -> dict[str, Any]:
        stepper, first = self._stepper, self.dynamics.control.start
        # of the parameters the input and what follows it, the workspace: before are addresses of this process
        return {
            "dynamics": self.dynamics,
            "size": self.size,
            "given": self._given,
            "assembly": self._assembly,
            "run": (stepper.method, stepper.start, stepper.y.copy(), stepper.checkpoint(), stepper.p[first:].copy()),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.dynamics, self.size, self._given = state["dynamics"], state["size"], state["given"]
        self._assembly = state["assembly"]
        method, start, y, checkpoint, workspace = state["run"]
        self._begin(method, start, y)
        self._stepper.restore(checkpoint)
        self._stepper.p[self.dynamics.control.start :] = workspace

    @property
    def mechanism(self) -> Mechanism | ClosedMechanism | AbsoluteMechanism:
        """The system, compiled."""
        return self.dynamics.mechanism

    @property
    def start_changes(self) -> tuple[StartChange, ...]:
        """What assemble=True changed of the start."""
        return self.dynamics.start_changes

    @property
    def t(self) -> float:
        """The time [s]."""
        return float(self._stepper.state[STATE.t])

    @property
    def state(self) -> States:
        """All that a run shows of a motion, at the present time: q, v, a, poses, twists, energies, reactions, ..."""
        now = Solution(self.dynamics.space, None, np.array(self.t), self._stepper.y.copy(), True, "")
        return States(self.dynamics, now, self._given)

    @property
    def q(self) -> np.ndarray:
        """The coordinates of all joints."""
        return self.dynamics.coordinates(self._stepper.y)[0].copy()

    @property
    def v(self) -> np.ndarray:
        """The velocities of all joints."""
        return self.dynamics.coordinates(self._stepper.y)[1].copy()

    @property
    def poses(self) -> np.ndarray:
        """Poses of all bodies, (bodies, 7)."""
        return self.state.poses

    @property
    def twists(self) -> np.ndarray:
        """Body twists of all bodies, (bodies, 6)."""
        return self.state.twists

    @property
    def work(self) -> float:
        """Work that forces which are not conservative have done since the start [J]."""
        return float(self._stepper.y[-1])

    def step(self, u: Input | None = None, steps: int = 1) -> Simulation:
        """Take steps under the input u (held; as before if it is not given). An input as in `simulate`."""
        if type(steps) is not int or steps < 1:
            steps = whole("Simulation.step", steps)
        stepper = self._stepper
        if u is not None:
            given = self._hold(u)
            if given is None:
                given = self.actuation.read(u)
                self._control[:] = self.actuation.along(given)
            self._given = given
        if steps != self._count and self._loop is not None:
            self._loop[-1] = self._count = steps
        if self._quick:
            self._loop.call()  # type: ignore[union-attr]
        else:
            with self._calling:
                if self._loop is not None:
                    self._loop.call()
                else:
                    if u is not None:  # the input changed, and so the field here
                        stepper.loops.refresh.call()
                    stepper.loops.take(steps, stepper.needs_more)
        if stepper.counts[TALLY.status] == RUNNING:
            return self
        ending = stepper.attend()
        if ending is not None and not ending.success:
            begun = SimpleNamespace(dynamics=self.dynamics, u=None, **self._begun, more={"step": self.size})
            ended = stepper.solution(False, ending.message)
            told = dead_point(self.dynamics, ended) or runs_away(begun, ended)
            raise RuntimeError(f"Simulation: {ending.message}" + (f"; {told}" if told else ""))
        return self

    def reset(self, q: Values | None = None, v: Values | None = None, *, t: float | None = None) -> Simulation:
        """Begin anew from coordinates q and velocities v (default: neutral, at rest), at the time t [s] (default: that
        of the start). No input is held any more. Starts are looked at as in `simulate`: values by name are held."""
        start = float(self._begun["span"][0] if t is None else t)
        if not np.isfinite(start):
            raise ValueError(f"Simulation.reset: t is {t!r}; expected a time [s]")
        dynamics, absolute = self.dynamics, isinstance(self.dynamics, BodyDynamics)
        dynamics.start_changes = ()
        state = dynamics.start(start, q, v, **self._assembly, **({"poses": None, "twists": None} if absolute else {}))
        if self._assembly["held"] is None:
            warn_of("Simulation.reset", dynamics.start_changes)
        self._given = None
        self._begin(self._stepper.method, start, state)
        return self


def whole(where: str, steps: Any) -> int:
    """A number of steps; ValueError if it is none."""
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
        raise ValueError(f"{where}: steps is {steps!r}; expected a positive whole number")
    return int(steps)
