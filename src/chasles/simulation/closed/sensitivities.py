"""Sensitivities of closed mechanisms: differences of runs that take the same steps.

Each number that is differentiated with respect to takes eight runs, by a central difference of eighth order of what was
computed with a fixed step. Starts stay on the constraints: independent coordinates and velocities are as given, the
others follow, of systems with other parameters too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.assembly import search
from chasles.lie.arrays import real_array
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.closed.allowed import Allowed
from chasles.simulation.parameter_family import CENTRAL, Family
from chasles.simulation.run import Run
from chasles.simulation.simulate import simulate
from chasles.simulation.statics import Statics

OFFSETS = np.concatenate([np.arange(1, 5), -np.arange(1, 5)])  # of central differences of eighth order
SPACING = 2.0**-7  # of what turns a link by 1 rad: errors are those of rounding
NOTE = "of a closed mechanism: differences of eighth order of runs with the same steps, good to about ten digits"


class ClosedSensitivities:
    """The runs about one, and their differences at chosen points of it."""

    def __init__(self, run: Run, chosen: np.ndarray, options: dict[str, Any]):
        self.run, self.chosen, self.options = run, chosen, options
        self.mechanism: ClosedMechanism = run.dynamics.mechanism
        self.t, self.q, self.v = float(run.t[0]), run.q[0], run.v[0]
        self.u = options.pop("control")
        allowed = Allowed(self.mechanism, self.q, self.t)
        self.held = allowed.places.chosen, allowed.velocities.chosen
        self.basis = allowed.states(self.v)[1]
        self.turns = allowed._turns

    def start(self, mechanism: ClosedMechanism, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A state of a mechanism on its constraints, with the independent numbers as given."""
        of_places, of_velocities = (LoopEquations(mechanism, self.t, held) for held in self.held)
        at = search.assemble(of_places, q)
        return at, search.consistent_velocities(of_velocities, at, v, ())

    def motion(self, mechanism: ClosedMechanism, q: np.ndarray, v: np.ndarray, u: ArrayLike | None) -> np.ndarray:
        """(δ, v, work) of a run at the chosen points, and numbers of their size that do not change."""
        span = self.t, float(self.run.t[-1])
        run = simulate(mechanism, span, *self.start(mechanism, q, v), control=u, **self.options)
        if not run.success or len(run.t) != len(self.run.t):
            raise RuntimeError(f"sensitivities: a run nearby did not get to the end: {run.message}")
        delta, k = self.mechanism.difference(run.q[self.chosen], self.run.q[self.chosen]), self.chosen
        return np.concatenate([delta, run.v[k], run.solution.y[k, -1:], self.run.q[k]], axis=1)

    def along(self, function: Callable[[float], np.ndarray], size: float) -> np.ndarray:
        """Derivative at 0 of a function of a number that is large at `size`."""
        h = SPACING * size
        found = np.array([function(h * s) for s in OFFSETS])
        return np.tensordot(CENTRAL, found[:4] - found[4:], 1) / h

    def moved(self, column: np.ndarray) -> np.ndarray:
        """Derivative along a change (2 nv) of the start."""
        nv, turned = self.mechanism.nv, (self.turns(part[None])[0] for part in np.split(column, 2))
        by_place, by_rate = turned
        now = self.turns(self.v[None])[0]
        size = max(by_place, by_rate / now if now > 0.0 else by_rate)

        def run(s: float) -> np.ndarray:
            q = self.mechanism.retract(self.q, s * column[:nv])
            return self.motion(self.mechanism, q, self.v + s * column[nv:], self.u)

        return self.along(run, 1.0 / size)

    def pushed(self, k: int) -> np.ndarray:
        """Derivative with respect to number k of the input."""
        actuation = Actuation.of_tree(self.mechanism)
        u = np.zeros(actuation.inputs) if self.u is None else np.array(self.u, dtype=float)
        play, column = Statics(self.mechanism.spanning, np.zeros(self.mechanism.nv)).in_play(self.q), np.eye(len(u))[k]
        gear = float(np.abs(actuation.matrix(u) @ column).max(initial=0.0))
        size = abs(u[k]) or (float(play.max(initial=0.0)) / gear if gear and play.any() else 1.0)
        return self.along(lambda s: self.motion(self.mechanism, self.q, self.v, u + s * column), size)

    def columns(
        self, family: Family | None, wrt: Sequence[str] | None, directions: ArrayLike | None
    ) -> tuple[dict[str, slice], np.ndarray]:
        """Names of columns, and derivatives of (δ, δv, work) at the chosen points, (points, 2 nv + 1, columns)."""
        names, nv = tuple(family.values) if family else (), self.mechanism.nv
        if wrt is None:
            wrt = (*(("q", "v") if directions is None else ()), *names)
        elif isinstance(wrt, str):
            wrt = (wrt,)
        first, found = len(self.held[0]), dict[str, list[np.ndarray]]()
        if directions is not None:
            given = real_array("sensitivities", "directions", np.asarray(directions, dtype=float).T, (2 * nv,)).T
            found["directions"] = [self.moved(self.allowed(x)) for x in given.reshape(2 * nv, -1).T]
        for name in wrt:
            if family is not None and name in names:
                found[name] = [
                    family.derivative(name, k, lambda m: self.motion(m, self.q, self.v, self.u))
                    for k in range(family.values[name].size)
                ]
            elif name in ("q", "v"):
                part = self.basis[:, :first] if name == "q" else self.basis[:, first:]
                found[name] = [self.moved(x) for x in part.T]
            elif name == "control":
                found[name] = [self.pushed(k) for k in range(Actuation.of_tree(self.mechanism).inputs)]
            else:
                expected = ", ".join(map(repr, ("q", "v", "control", *names)))
                raise ValueError(f"sensitivities: wrt {name!r} is unknown; expected some of {expected}")
        edges = np.cumsum([0, *map(len, found.values())]).tolist()
        columns = {name: slice(a, b) for name, a, b in zip(found, edges[:-1], edges[1:], strict=True)}
        every = [column[:, : 2 * nv + 1] for part in found.values() for column in part]
        if not columns:
            raise ValueError("sensitivities: nothing to differentiate with respect to; wrt is empty")
        return columns, np.array(every).reshape(-1, len(self.chosen), 2 * nv + 1).transpose(1, 2, 0)

    def allowed(self, direction: np.ndarray) -> np.ndarray:
        """The change (2 nv) of the start that constraints allow with the independent numbers of a direction."""
        nv = self.mechanism.nv
        return self.basis @ direction[np.concatenate([self.held[0], nv + self.held[1]])]
