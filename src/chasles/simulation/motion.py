"""The motion of a system by any method: one for its equations, or one for constrained systems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.space import SE3_NAME
from chasles.constraint.rows import HELIX, TILE
from chasles.integrate.constrained_method import CONSTRAINED_METHODS, EnergyMomentum, Rattle
from chasles.integrate.event import Event
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.options import Options
from chasles.integrate.solution import Solution
from chasles.integrate.solver import start
from chasles.integrate.stepper import Sink
from chasles.kernel.undisturbed import Undisturbed
from chasles.simulation.bodies.dynamics import BodyDynamics

ATOL = 1e-10  # of 1 rad and of a length of the model, and of these per second


@contextmanager
def spoken_by(function: str, instead_of: str = "solve") -> Iterator[None]:
    """Errors of `solve`, or of another function, inside the block are those of one that the user called."""
    try:
        yield
    except Exception as error:
        said = [re.sub(rf"\A{instead_of}(?=: )", function, x) if isinstance(x, str) else x for x in error.args]
        error.args = tuple(said)
        raise


def solve_motion(
    dynamics: Any,
    method: Any,
    span: tuple[float, float],
    y0: np.ndarray,
    u: np.ndarray | None = None,
    *,
    progress: bool | None = None,
    resume: dict[str, np.ndarray] | None = None,
    sink: Sink | None = None,
    made: Any = None,
    **more: Any,
) -> Solution:
    """The motion of a system under constant forces u, by a method for its equations or one for constrained systems;
    `more` are options of `motion_stepper`; `made`: what that gave, under way."""
    if dynamics.set_valued is not None:
        carry = partial(solve_motion, progress=progress)
        more |= {"resume": resume, "sink": sink}
        whole: Solution = dynamics.set_valued.solve(dynamics, method, span, y0, u, carry, **more)
        return whole
    with dynamics.calling():
        stepper = motion_stepper(dynamics, method, span, y0, u, **more) if made is None else made
        if resume is not None:
            stepper.restore(resume)
        found: Solution = stepper.finish(progress=progress, sink=sink)
        return found


def motion_stepper(
    dynamics: Any,
    method: Any,
    span: tuple[float, float],
    y0: np.ndarray,
    u: np.ndarray | None = None,
    *,
    step: float | None = None,
    rtol: float | None = None,
    atol: Any = None,
    save: Any = "all",
    events: Sequence[Event] = (),
    max_step: float | None = None,
    stops: Any = None,
    breaks: Any = None,
    max_evaluations: int | None = None,
) -> Any:
    """What takes the steps; to be made and used inside of dynamics.calling(). `breaks` are more stops,
    found by a scan of the laws, for methods that take them. Without `atol` it is ATOL of what is large in the model."""
    if breaks is not None and np.size(breaks) and (step is None or isinstance(method, ExplicitStepper.methods)):
        stops = np.concatenate([np.ravel(() if stops is None else stops), np.ravel(breaks)])
    if step is None and atol is None:
        atol = ATOL * dynamics.units
    constrained = isinstance(method, CONSTRAINED_METHODS)
    if constrained and not isinstance(dynamics, BodyDynamics):
        raise ValueError(f'simulate: {method} is for coordinates="absolute"; in joint coordinates use RKMK or Gauss')
    options = Options(
        *(step, rtol, atol, save, events), max_step=max_step, stops=stops, max_evaluations=max_evaluations
    )
    if not constrained:
        floor = dynamics.energy_scale(np.asarray(y0))
        problem = replace(dynamics.problem(u), floor=floor, units=dynamics.units)
        # Ctrl-C as a Python event begins would be lost; without events it need not wait for all that is compiled
        with Undisturbed() if events else nullcontext():
            return start(problem, method, span, y0, options)
    _refuse_unsupported(dynamics, method)
    # all of these methods take as long to load as a short run
    from chasles.constrained.run import ConstrainedStepper
    from chasles.constrained.step_control import AdaptiveStepper

    make = AdaptiveStepper if step is None else ConstrainedStepper
    return make(dynamics.under(u), method, span, y0, options)


def _refuse_unsupported(dynamics: BodyDynamics, method: Any) -> None:
    """Spatial velocities and feedback of violations are for the methods of the index-1 form."""
    for joint in dynamics.mechanism.system.joints:
        if isinstance(method, Rattle | EnergyMomentum) and any(joint.armature):
            raise ValueError(
                f"simulate: joint {joint.name!r} has an armature, an inertia that depends on the poses, which "
                f"{type(method).__name__} does not know; take GeneralizedAlpha, or make the rotor a body of its own"
            )
    if isinstance(method, EnergyMomentum):
        _refuse_energy_momentum(dynamics.mechanism)
    if dynamics.spatial or any(dynamics.mechanism.baumgarte):
        what = 'trivialization="right"' if dynamics.spatial else 'stabilization="baumgarte"'
        raise ValueError(f"simulate: {what} is for methods such as RKMK; {type(method).__name__} does without")


def _refuse_energy_momentum(mechanism: AbsoluteMechanism) -> None:
    """It is for rotations and positions, and equations that are at most bilinear in them."""
    on_se3 = [name for name, space in mechanism.spaces.items() if space == SE3_NAME]
    if on_se3:
        raise ValueError(
            f'simulate: EnergyMomentum is for SO(3) x R3, and body {on_se3[0]!r} is on SE(3); give space="SO3xR3"'
        )
    for tile in mechanism.tiles:
        if max(tile.integers[TILE.kinds : TILE.kinds + 3]) >= HELIX:
            raise ValueError(
                f"simulate: EnergyMomentum takes joints and constraints whose equations are at most bilinear in "
                f"rotations and positions; {tile.joint!r} is not; take Rattle"
            )
