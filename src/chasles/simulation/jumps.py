"""Whether a motion with redundant constraints came through its singular configurations: its energy tells.

There a method that takes reactions from one configuration and constraints from the next can get any reaction. So the
balance of the energy is looked at between saved points: an error that is far larger than those around it is a jump.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chasles.absolute.assembly import dependence
from chasles.integrate.solution import Solution
from chasles.simulation.bodies import BodyDynamics
from chasles.simulation.body_run import BodyRun

LARGEST = 1e-6  # change of the balance between saved points, of the largest kinetic energy, that is not looked into
SUDDEN = 100.0  # times larger than around it
AROUND = 12  # saved points on each side
NEARLY_SINGULAR = 1e-2  # of singular values of rows of length one


def without_jumps(dynamics: BodyDynamics, solution: Solution) -> Solution:
    """The solution, or one without success that says when the energy jumped and which joints were near singular."""
    if len(solution.t) <= 2 * AROUND:
        return solution  # too few to compare
    energy = BodyRun(dynamics, solution, {}).energy
    change = np.abs(np.diff(energy.balance))
    for k in np.flatnonzero(~(change <= LARGEST * energy.kinetic.max())):
        near = np.concatenate([change[max(k - AROUND, 0) : max(k - 2, 0)], change[k + 3 : k + 1 + AROUND]])
        if not change[k] <= SUDDEN * np.median(near) and (names := _nearly_singular(dynamics, solution, int(k))):
            return _jumped(solution, float(solution.t[k]), names, change[k] / energy.kinetic.max())
    return solution


def _nearly_singular(dynamics: BodyDynamics, solution: Solution, k: int) -> tuple[str, ...]:
    """Whose equations nearly depend on others at the saved point k or the next, if more do than always."""
    mechanism = dynamics.mechanism
    for point in (k, k + 1):
        central = dynamics.split(solution.y[point])[0]
        (equations, rank), names, _ = dependence(mechanism, central, float(solution.t[point]), NEARLY_SINGULAR)
        if equations - rank > mechanism.redundant_equations:
            return names
    return ()


def _jumped(solution: Solution, t: float, names: tuple[str, ...], size: float) -> Solution:
    return replace(
        solution,
        success=False,
        message=f"{solution.message}, but at t = {t:.6g} s the energy jumps by {size:.1e} of the largest kinetic one: "
        f"a singular configuration was not passed well (involved: {', '.join(map(repr, names[:8]))}). The motion from "
        "there on is not to be trusted; take RKMK with projection or Rattle, or other steps",
    )
