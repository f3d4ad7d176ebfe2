"""The motion of a mode, made to be looked at: q exp(a Re(x exp(iωt))) with a shape x, large enough to be seen.

Each place of a closed mechanism is put onto the constraints. A period lasts two seconds, whatever its frequency. A mode
that does not swing goes from the displaced place to the equilibrium, or away from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.integrate.method import RKMK
from chasles.integrate.solution import Solution
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.run import Run

if TYPE_CHECKING:
    from chasles.simulation.linearize import Linearization

PERIOD, PERIODS, FRAMES = 2.0, 2, 48  # seconds that a period is shown for, how many, and points of each
TURN, MOVE = 0.35, 0.12  # rad, and of the size of the mechanism, that nothing turns and moves farther by
CONSTANTS = 4.0  # time constants that a mode without swinging is shown for


def mode_run(linear: Linearization, number: int, amplitude: float | None = None) -> Run:
    """The motion of a mode, by its number from 1 on. amplitude: of its largest coordinate [rad or m]; by default so
    that it can be seen."""
    modes = linear.modes
    if not 1 <= number <= len(modes):
        raise ValueError(f"linearize: there is no mode {number}; expected 1 to {len(modes)}")
    mode = modes[number - 1]
    size = largest_move(linear, mode.shape) if amplitude is None else float(amplitude)
    phase = np.arange(FRAMES) / FRAMES
    if mode.frequency:
        factors, repeats = np.exp(2j * np.pi * phase), PERIODS
    else:
        decay = np.exp(-CONSTANTS * phase)
        factors, repeats = (decay if mode.eigenvalue.real <= 0 else decay[::-1]).astype(complex), 1
    places = [displaced(linear, size * (mode.shape * factor).real) for factor in factors]
    dynamics = linear.dynamics
    states = np.array([dynamics.state(q) for q in places] * repeats)
    if mode.frequency:
        states = np.concatenate([states, states[:1]])
    t = PERIOD / FRAMES * np.arange(len(states))
    why = "it is made of places, to be looked at"
    said = Solution(dynamics.space, RKMK("dopri5"), t, states, True, str(mode), no_curve=why)
    return Run(dynamics, said, None, illustration=f"mode {number}: {mode}")


def displaced(linear: Linearization, move: np.ndarray) -> np.ndarray:
    """The coordinates after a move, on the constraints if there are any."""
    mechanism: Any = linear.dynamics.mechanism
    q = mechanism.tables.configuration.retract(linear.q, move)
    return mechanism.assemble(q, linear.t) if isinstance(mechanism, ClosedMechanism) else q


def largest_move(linear: Linearization, shape: np.ndarray) -> float:
    """The factor of a shape with which nothing turns or moves farther than looks good; coordinates alone do not tell,
    since a small angle may move a long arm."""
    tree: Any = linear.tree
    system, q = tree.system, linear.q
    points = tree.poses(q)[:, 4:]
    extent = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    reach = max([extent, *(float(np.linalg.norm(body.com)) for body in system.bodies)])
    parts = [tree.twists(q, part) for part in (shape.real.copy(), shape.imag.copy())]
    twists = np.hypot(*parts)
    coms = np.array([system.body(name).com for name in tree.bodies])
    centers = np.hypot(*(part[:, 3:] + np.cross(part[:, :3], coms) for part in parts))
    turns, moves = np.linalg.norm(twists[:, :3], axis=1).max(), np.linalg.norm(centers, axis=1).max()
    limits = [TURN / turns if turns else np.inf, MOVE * reach / moves if moves and reach else np.inf]
    found = float(min(limits))
    return found if np.isfinite(found) else 0.0
