"""What a verdict may cost: at most twice the run, or a fifth of a second for a short one.

It is counted in evaluations of the equations and in calls of laws, not by the clock: so a verdict is the same on every
machine, however busy it is. What an evaluation takes is a rough figure that depends on the model alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chasles.integrate.constrained_method import CONSTRAINED_METHODS, HalfExplicit
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.solution import Solution
from chasles.model.law import PythonLaw
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.laws.samples import items_with_laws
from chasles.simulation.run_task import Task

LEAST = 0.1e6  # [µs] for second motions: with all else, a fifth of a second
TIMES = 0.6  # the evaluations of the run, where that is more: as many again if its steps were not saved
PERIOD = 250.0  # [µs] that a period of a sampled controller takes beside its evaluations
STEP, HALF_EXPLICIT = 4.0, 8.0  # evaluations that a step is worth of methods for constrained systems
IMPLICIT = 3.0  # and a stage of a step of other methods that solve equations
IN_PYTHON = 100.0  # [µs] that a step takes which follows the error of such a method
CALLS, CALLS_IN_PYTHON = 3 << 19, 1 << 13  # of laws, to see where they change: shared among them
MOST_CALLS = 1 << 20  # of one law
CALL, CALL_IN_PYTHON = 0.03, 4.0  # [µs] that a call takes
SHARE = 0.2  # of the cost of the run that calls of laws may take
RESTART = 14  # evaluations that it takes to begin anew, at least
ANEW = 30  # and about: the first steps are short


def evaluation(dynamics: Any) -> float:
    """What an evaluation of the equations of motion takes, very roughly [µs]."""
    system, n = dynamics.mechanism.system, len(dynamics.mechanism.bodies)
    python = CALL_IN_PYTHON * sum(isinstance(law, PythonLaw) for _, law in items_with_laws(system))
    if isinstance(dynamics, BodyDynamics):
        return 0.4 + (5.0 if dynamics.mechanism.redundant_equations else 0.8) * n + python
    return 0.5 + (0.8 if isinstance(dynamics.mechanism, ClosedMechanism) else 0.12) * n + python


def spent(task: Task, solution: Solution) -> int:
    """What a run took, in evaluations, nearly: by its steps, as evaluations for saved points depend on `save`."""
    method = task.method
    if isinstance(method, RKMK):
        corrected = task.dynamics.corrected  # then no stage is used twice
        each = float(method.table.stages - (method.table.first_same_as_last and not corrected))
    elif isinstance(method, HalfExplicit | Exponentials):
        each = float(len(method.stages) if isinstance(method, Exponentials) else HALF_EXPLICIT)
    elif isinstance(method, CONSTRAINED_METHODS):
        each = STEP if task.more["step"] is not None else max(STEP, IN_PYTHON / evaluation(task.dynamics))
    else:
        each = IMPLICIT * getattr(method, "stages", 1)
    return int(each * (solution.steps + solution.rejections)) + 1


@dataclass
class Budget:
    """Evaluations that may be spent in all, and those that are."""

    run: int  # what the run took
    total: int
    cost: float  # of an evaluation [µs]
    counted: int = 0  # evaluations that the run itself counted
    used: int = 0
    again: int = 0  # of these none: to compute the run once more, whose steps were not saved. So `save` does not matter

    @classmethod
    def of(cls, task: Task, solution: Solution, effort: float) -> Budget:
        cost, run = evaluation(task.dynamics), spent(task, solution)
        if task.controller is not None:
            run += int(PERIOD / cost) * (len(task.edges()) - 1)
        return cls(run, int(effort * max(TIMES * run, LEAST / cost)), cost, solution.evaluations)

    @property
    def of_least(self) -> float:
        """What the run took, as a part of what a verdict may take however short the run was."""
        return self.run * self.cost / LEAST

    @property
    def left(self) -> int:
        return max(self.total - self.used, 1)

    def most(self, wanted: int, share: float, least: int, each: int = ANEW) -> int:
        """How many times the second motion may do what takes `each` evaluations, by default begin anew: as often as is
        wanted, or for a share of what there is."""
        return max(min(wanted, int(share * self.total / each)), least)

    def calls(self, laws: int, python: bool) -> int:
        """How often each of so many laws may be called."""
        least, each = (CALLS_IN_PYTHON, CALL_IN_PYTHON) if python else (CALLS, CALL)
        return int(min(max(least, SHARE * self.run * self.cost / each) / max(laws, 1), MOST_CALLS))
