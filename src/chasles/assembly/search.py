"""Finding a configuration on the constraints from a rough one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from chasles.assembly.equations import Equations
from chasles.assembly.rank import shortest
from chasles.constraint.alignment import described
from chasles.constraint.errors import AssemblyError

FARTHEST = 0.5  # in one iteration [rad, or times the size of the mechanism]
ITERATIONS = 200
RESTARTS = 40  # where values are not given, or not near
# residuals are in radians, and lengths in sizes of bodies
ASSEMBLED = 1e-10  # residual of an assembly that succeeded
NEAR = 1e-6  # residual from which on a projection is tried
SMALL = 1e-13  # residual, times the size of the mechanism, that is as good as none
SATISFIED = 1e-8  # residual of configurations on the constraints
AT_REST = 1.0  # [rad, or sizes of a body, per second]: slower motions are not known better


def approach(equations: Equations, x: np.ndarray, goal: float | None = None) -> np.ndarray:
    """Gauss-Newton steps in the metric of the masses, no longer than `FARTHEST` and shortened until they help."""
    size = equations.size(x)
    goal = SMALL * size if goal is None else goal
    residual = equations.residual(x)
    for _ in range(ITERATIONS):
        if np.abs(residual / equations.units).max(initial=0.0) < goal:
            break
        rows, reach, step_of = equations.linear(x, on_group=True)
        step, before = step_of(shortest(rows, reach, -residual, equations.cut_off)), np.linalg.norm(residual / reach)
        scale = 1.0 / max(1.0, np.abs(step / (FARTHEST * equations.sizes(size))).max(initial=0.0))
        while True:
            trial = equations.moved(x, scale * step)
            residual = equations.residual(trial)
            if np.linalg.norm(residual / reach) < (1.0 - 1e-4 * scale) * before:
                break
            scale *= 0.5
            if scale < 1e-6:
                return x  # no direction helps
        x = trial
    return x


def assemble(equations: Equations, x: np.ndarray, held: Sequence[str] = (), restarts: int = 0) -> np.ndarray:
    """A configuration on the constraints near a rough one, or if need be near other guesses of what is not held;
    AssemblyError if none is found. held: names of what is held, for the message."""
    first = attempt(equations, x)
    for found in chain((first,), (attempt(equations, guess) for guess in _guesses(equations, x, restarts))):
        if equations.off(found, ASSEMBLED) is None:
            return found
    what, kept = equations.what, f", with {', '.join(map(repr, held[:12]))} held," if held else ""
    raise AssemblyError(
        f"assemble: no {what} near the given ones{kept} satisfy all constraints; the nearest found violate "
        f"{equations.off(first, ASSEMBLED)}{described(equations.mechanism.turned(first))}. Start from other {what}, or "
        "check the lengths and the positions of the joints"
    )


def attempt(equations: Equations, x: np.ndarray) -> np.ndarray:
    """What is found from one guess, to rounding if it is on the constraints."""
    if len(equations.held):
        return approach(equations, x)  # a projection would move what is held
    found = approach(equations, x, equations.goal) if equations.dense else x
    before = equations.violation(found).max(initial=0.0)
    if before <= NEAR or not equations.dense:
        nearer = equations.project(found)
        if equations.violation(nearer).max(initial=0.0) <= before:
            return nearer
    return found


def _guesses(equations: Equations, x: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """Configurations moved at random in what is not held, farther and farther, up to half a turn."""
    rng = np.random.default_rng(0)
    for k in range(count):
        step = rng.uniform(-1.0, 1.0, len(equations.sliding)) * equations.sizes() * min(np.pi, 0.3 * (k + 1))
        step[equations.held] = 0.0
        yield equations.moved(x, step)


def consistent_velocities(equations: Equations, x: np.ndarray, given: np.ndarray, held: Sequence[str]) -> np.ndarray:
    """The velocities that satisfy all constraints at x, nearest in the metric of the masses to given ones, of which
    some may be held; AssemblyError if there are none."""
    name = "consistent_velocities"
    if (off := equations.off(x, SATISFIED)) is not None:
        raise AssemblyError(f"{name}: the {equations.what} violate {off}; assemble them first")
    v = equations.nearest_velocities(x, given)
    rows = equations.speeds(x, v)
    speed = equations.by_constraint(rows / equations.units)
    limit = 1e-10 * (AT_REST + max(equations.fastest(v), equations.fastest(given)))
    if not speed.max(initial=0.0) <= limit:
        kept = f" with {', '.join(map(repr, held))} as given" if held else ""
        listed = equations.listed(speed, limit, "[m/s or rad/s]", equations.by_constraint(rows))
        raise AssemblyError(f"{name}: no velocities{kept} satisfy all constraints; the nearest violate {listed}")
    return v
