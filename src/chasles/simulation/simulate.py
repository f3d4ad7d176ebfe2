"""`simulate`: from a system and a span to a run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.integrate.event import Event, as_events
from chasles.integrate.method import RKMK
from chasles.integrate.method_name import named_method
from chasles.integrate.options import check_span, check_stops, check_times, saving, uniform_times
from chasles.model.system import System
from chasles.model.user_function import check_arguments
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Input
from chasles.simulation.laws.drive_check import check_drives
from chasles.simulation.laws.scan import scan, turns
from chasles.simulation.motion import spoken_by
from chasles.simulation.prepare import DEFAULT_BAUMGARTE, prepare
from chasles.simulation.run import Run
from chasles.simulation.run_task import Controller, Task, as_given
from chasles.simulation.start.held import Holding
from chasles.simulation.start.values import Values

DEFAULT_METHOD, DEFAULT_RTOL = RKMK("dopri5"), 1e-8


def simulate(
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    span: tuple[float, float],
    q: Values | None = None,
    v: Values | None = None,
    *,
    coordinates: str = "relative",
    method: Any = DEFAULT_METHOD,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    stops: ArrayLike | None = None,
    max_evaluations: int | None = None,
    save: Any = "all",
    every: float | None = None,
    events: Event | Sequence[Event] = (),
    controller: Controller | None = None,
    period: float | None = None,
    control: Input | None = None,
    space: str | Mapping[str, str] = "auto",
    stabilization: str | None = "projection",
    baumgarte: tuple[float, float] = DEFAULT_BAUMGARTE,
    poses: ArrayLike | None = None,
    twists: ArrayLike | None = None,
    assemble: bool | None = None,
    held: Holding | None = None,
    mode: int | None = None,
    trivialization: str = "left",
    progress: bool | None = None,
    file: str | Path | None = None,
    certificate: bool | float = True,
) -> Run:
    """Simulate a system over a span (begin, end) [s], and return a `Run`.

    Initial state. q and v are joint coordinates and velocities, in the order of `system.compile()` or by name:
    {"elbow": 0.3}. By default q is neutral (zero; quaternions are the identity) and v zero. Values by name are kept
    exactly, and the others are found so that all constraints hold. If there is no solution, an AssemblyError says
    which values contradict each other. Arrays must satisfy the constraints, unless assemble=True projects them.
    assemble=False rejects every initial state that violates them. `held` names the joints (or bodies, of poses) whose
    values stay; the other values are guesses. {"q": [...], "v": [...]} sets it separately. `mode` is the number of an
    assembly mode, 1 for the nearest to neutral. `run.start_changes` lists what was changed or found, and a
    StartChangedWarning names given values that were changed.

    Steps. `step` [s] sets a fixed step. Otherwise steps follow the tolerances rtol (1e-8) and atol, and none is longer
    than `max_step` [s]. By default atol is 1e-10 of 1 rad and of the size of the bodies; a number applies to angles
    [rad], lengths [m] and velocities. Adaptive steps end where laws jump or change fast in time. `stops` are further
    times [s] at which a step ends and the integration restarts. `max_evaluations` ends a run that takes too long.

    Output. `save` and `events` are those of `solve`; an event sees the state y, (q, v, work) in joint coordinates.
    `every` [s] saves points at equal times, independent of the steps, with the accuracy of the method. `file` names a
    result file that is written during the run; `resume` continues it with bit-identical results. Ctrl-C raises
    `Interrupted`, whose `result` is the run so far.

    Inputs. `control` is a constant input. `controller(t, q, v)` returns an input every `period` [s], which stays
    constant until the next one. An input has one number for each actuator or, if there is none, for each velocity. It
    may also be given by name, {"motor": 0.5}; the others are zero.

    Coordinates. "relative" are those of the joints. "absolute" are the poses of all bodies, with joints as constraints;
    then the initial state may also be `poses` (bodies, 7) and body `twists` (bodies, 6). `space` is "SE3", "SO3xR3",
    "auto" or a mapping of bodies to these; in joint coordinates it applies to free joints. In absolute coordinates
    trivialization="right" takes spatial velocities.

    Constraints. `stabilization` is "projection" after each step, "baumgarte", or None. Baumgarte's method is
    g'' = -2 alpha g' - beta² g, with `baumgarte` = (alpha, beta) [1/s]. Keep both below a tenth of 1/step, and do not
    tie them to the step, which would reduce the order.

    `run.certificate` judges the run when you ask for it, and at the end of a run with a `file`. certificate=False
    switches it off, certificate=10 allows ten times the usual effort.
    """
    task = planned(dict(locals()))  # all of them, so that none is forgotten when the run is described
    return task.carry_out(progress, None if file is None else task.recorder(file))


@spoken_by("simulate")
def planned(arguments: dict[str, Any]) -> Task:
    """What is to be done: the arguments of `simulate`, checked and put together."""
    get = arguments.__getitem__
    start, end = check_span(get("span"))
    control, controller, step, rtol, atol = map(get, ("control", "controller", "step", "rtol", "atol"))
    _check_inputs(control, controller, get("period"))
    if not isinstance(get("certificate"), bool) and not get("certificate") > 0:
        raise ValueError(f"simulate: certificate is {get('certificate')!r}; expected True, False, or a positive effort")
    method = named_method("simulate", get("method"))
    if step is None:
        rtol = DEFAULT_RTOL if rtol is None else rtol
    more: dict[str, Any] = {"step": step, "rtol": rtol, "atol": atol}
    more |= {name: get(name) for name in ("save", "max_step", "max_evaluations")}
    more["events"] = as_events(get("events"))
    if get("every") is not None:
        if not (isinstance(get("save"), str) and get("save") == "all"):
            raise ValueError("simulate: every gives the times that are saved; give every or save, not both")
        more["save"] = uniform_times(get("every"), start, end)
    elif saving(get("save")) is None:
        more["save"] = check_times(get("save"), start, end)
    more["stops"] = None if get("stops") is None else check_stops(get("stops"), start, end)
    model = getattr(get("system"), "system", get("system"))
    if isinstance(model, System):  # what else it is, `prepare` refuses
        check_drives(model, start, end)
    how = ("space", "stabilization", "baumgarte", "poses", "twists", "assemble", "held", "mode", "trivialization")
    dynamics, state = prepare(
        *("simulate", get("system"), start, get("q"), get("v"), get("coordinates")),
        inputs=controller is not None or control is not None,
        **{name: get(name) for name in how},
    )
    if dynamics.set_valued is not None:
        dynamics.set_valued.refuse_beyond(dynamics.coordinates(state)[0])
        dynamics.set_valued.refuse_method(method)
    if step is None or dynamics.set_valued is not None:
        found_in_time = scan(dynamics, (start, end), start, state)
        more["breaks"] = found_in_time.breaks if step is None else found_in_time.abrupt
        if step is None and dynamics.set_valued is not None:
            more["breaks"] = np.union1d(more["breaks"], turns(dynamics, (start, end), start, state))
    actuation, u = dynamics.actuation(), None
    if control is not None:
        control = actuation.read(control)
        u = actuation.along(control)
    found = {"span": (start, end), "method": method, "rtol": rtol, "atol": atol, "control": control}
    given = as_given(arguments | found | {"events": more["events"]})
    last = controller, get("period"), get("certificate"), given
    return Task(dynamics, method, (start, end), state, more, u, *last)


def plan(system: Any, span: tuple[float, float], **options: Any) -> Task:
    """What `simulate` would do with these arguments."""
    bound = inspect.signature(simulate).bind(system, span, **options)
    bound.apply_defaults()
    return planned(bound.arguments)


def _check_inputs(control: Input | None, controller: Controller | None, period: float | None) -> None:
    """ValueError unless there is no input, a constant one, or a sampled controller with its period."""
    if controller is None:
        if period is not None:
            raise ValueError("simulate: period is the sampling period of a controller; give controller=... too")
        return
    form = "a controller is f(t, q, v) and returns the input"
    check_arguments("simulate: the controller", controller, form, "t", "q", "v")
    if control is not None:
        raise ValueError("simulate: give either control=... (constant) or controller=... (sampled)")
    if period is None or not period > 0:
        raise ValueError(f"simulate: period is {period!r}; expected the controller's sampling period [s], positive")
