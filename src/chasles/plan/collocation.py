"""`collocate`: the best motion with inputs that are polynomials in each interval, by collocation at Gauss points.

In closed loops each node satisfies the constraints (`LoopNodes`), and the accelerations at the Gauss points are those
that the constraints allow. The end of an interval is as far off the constraints as its error, h^(2 s + 1) with s
points. Only its independent coordinates and velocities are those of the next node, so the order stays 2 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.plan.account import Account
from chasles.plan.collocated import CollocatedMotion, warn_between
from chasles.plan.collocation_program import Collocation
from chasles.plan.design import DesignedSystem
from chasles.plan.held_steps import InputRange
from chasles.plan.mesh import Refined, require_between, require_refinement
from chasles.plan.node_program import require_timeless
from chasles.plan.nonlinear import ROUGH, STOPPED, require_solver, rough_iterations, solved
from chasles.plan.outcome import warn_unsettled
from chasles.plan.planner import bounds_of, durations_of, require_ends, require_start, span_of, terms_of
from chasles.plan.quantities import CALLER
from chasles.plan.terms import MotionLimit
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.prepare import prepare
from chasles.simulation.start.values import Values

ROUNDS = 12  # in which intervals are cut in two


def collocate(
    system: Any,
    span: tuple[float, float],
    intervals: int,
    costs: Sequence[Any] | Any,
    q: Values | None = None,
    v: Values | None = None,
    *,
    limits: Sequence[MotionLimit] | MotionLimit = (),
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    guess: ArrayLike | None = None,
    duration: tuple[float, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    stages: int = 2,
    tolerance: float = 1e-9,
    iterations: int = 3000,
    solver: str = "auto",
    hessian: str = "auto",
    refine: float | None = None,
) -> CollocatedMotion:
    """Find the motion that minimizes costs within limits, by collocation at Gauss points.

    Costs, limits and bounds of inputs as in `optimize`; limits hold at the nodes, those of functions of the inputs at
    the Gauss points. guess: coordinates at the nodes (intervals + 1, nq); by default straight to what is to be reached,
    around what is in the way. stages: Gauss points in an interval. solver: "ipopt" (needs the package ipyopt or
    cyipopt), "scipy", or "auto": the first that there is. hessian: for Ipopt, "exact", "approximate" from gradients,
    with more but shorter iterations, or "auto": exact, but in closed loops only if approximate ones do not end soon.
    parameters, bounds: of a design, as in `shoot`.

    Equations of motion hold at Gauss points, limits at nodes. What is between them is looked at afterwards (`defects`,
    `between`), with a warning where the motion is none of the system, or violates limits. refine: the largest defect
    or relative violation that is good enough, such as 1e-3: intervals with larger ones are cut in two, and the motion
    is found again from the last one.
    """
    begin, end = span_of(span, intervals)
    require_ends(tolerance, iterations)
    require_solver(solver)
    if isinstance(stages, bool) or not isinstance(stages, int | np.integer) or stages < 1:
        raise ValueError(f"{CALLER}: stages is {stages!r}; expected a positive whole number")
    design = DesignedSystem(system, parameters, bounds)
    dynamics, state = prepare(CALLER, design.mechanism or system, begin, q, v, "relative", inputs=True)
    refuse_sticking(CALLER, dynamics.mechanism.system)
    require_refinement(refine)
    closed = isinstance(dynamics.mechanism, ClosedMechanism)
    rough = rough_iterations(hessian, bool(design.size), ROUGH if closed else 0)
    actuated, terms = InputRange(dynamics), terms_of(costs, limits)
    first, taken, start = dynamics.split(state)[:2], 0, None
    mesh = np.arange(int(intervals) + 1) / int(intervals)
    for left in range(ROUNDS if refine else 0, -1, -1):
        count = len(mesh) - 1
        how: dict[str, Any] = {"design": design.values, "edges": mesh, "stages": int(stages)}
        account = Account(dynamics.mechanism, count, actuated.inputs, *terms, **how)
        if start is None:
            require_between(account, refine)
            require_start(account, begin, *first)
            length = durations_of(duration, begin, end - begin, account)
            if length[0] < length[2]:
                require_timeless(dynamics.mechanism, first[0], begin, end)
            box = bounds_of(actuated, low, high)
        task = Collocation(account, first, begin, box, design, actuated, int(stages), (q, v))
        task.rank, task.units, task.rough = getattr(dynamics, "rank", -1), dynamics.units, rough
        program, z = task.program(guess, length) if start is None else task.begun(start, length)
        solution = solved(program, z, tolerance, iterations, solver)
        taken += solution.iterations
        motion = replace(task.result(solution, tolerance), iterations=taken)
        if (
            not left
            or solution.problem == STOPPED
            or not (cut := np.maximum(motion.defects, motion.beyond) > refine).any()
        ):
            break
        start = Refined(task, solution.z, cut)
        mesh = start.mesh
    if solution.problem == STOPPED:
        return motion
    if solution.problem:
        warn_unsettled(taken, solution.problem)
    warn_between(motion)
    return motion
