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
    """Simulate a system over a span [s] from coordinates q and velocities v (default: neutral, at rest).

    Steps are fixed with `step` [s]; else they follow rtol (1e-8) and atol, and none is longer than `max_step` [s]. A
    number is taken for atol as it is, for angles [rad], lengths [m] and velocities; by default it is 1e-10 of 1 rad and
    of the size of the bodies, so that units and sizes change nothing. `stops` are times [s] at which a step ends and
    the next begins anew, for forces that jump there. Steps that follow the error also end where laws jump or change
    fast with time, which is found out before. `max_evaluations` ends a run that takes too long. `save` and `events` as
    in `solve`; an event sees the state y, which is (q, v, work) in joint coordinates. With `every` [s] the points are
    at the start and at each such time after it, whatever the steps are, with the accuracy of the method.

    `control` is a constant input; `controller(t, q, v)` returns the input at every `period` [s], and it is held until
    the next: a sampled controller. An input has one number for each actuator of the system, or, if it has none, a
    generalized force for each velocity; or some by name, of actuators or joints, {"motor": 0.5}, and the others are
    zero. q and v are joint coordinates and velocities, in both kinds of coordinates: of all joints, or of some by name,
    {"elbow": 0.3}; loops and further constraints close the tree of `system.compile()`.

    coordinates="absolute" (the poses of all bodies, joints as constraints): `space` is "SE3", "SO3xR3", a mapping of
    bodies to these, or "auto". The start is q and v in joint coordinates, or `poses` (bodies, 7) and body `twists`
    (bodies, 6). In joint coordinates `space` is that in which free joints are integrated: "auto" is "SO3xR3", where
    their positions move by themselves; on "SE3" they move along screws. q and v are the same in both.

    With constraints, in either coordinates: `stabilization` is "projection" onto the constraints after each step,
    "baumgarte", g'' = -2 alpha g' - beta² g with `baumgarte` = (alpha, beta) [1/s] (constants of the model, default
    20 1/s each: below a tenth of 1/step, and never tied to it, which would spoil the order), or None. In absolute
    coordinates trivialization="right" takes spatial velocities in place of those in the bodies, and moves poses by exp
    on the left.

    Of a start by name, what is given is held to the last bit. The rest is found so that all constraints are satisfied,
    if need be from several guesses. An AssemblyError says which values contradict each other. If nothing is
    given, all is found. Arrays and poses have to satisfy the constraints, unless assemble=True projects them there.
    `held` names the joints (or bodies, of poses) whose values stay, or {"q": [...], "v": [...]}; other values are
    guesses then. mode: which of the configurations that a linkage has with these values (`assembly_modes`), 1 for the
    nearest to neutral. assemble=False refuses all that is off. What was changed or found is in `start_changes` of the
    run, and a StartChangedWarning says so of values that were given.

    With `file` the run is written to a result file while it goes on, and comes back as that file opened (`open`);
    ended early, by Ctrl-C or however, `resume` continues it to the same bits. Ctrl-C raises `Interrupted`, a
    KeyboardInterrupt whose `result` is the run so far.

    `run.certificate` judges the run when it is asked for, and at the end of a run with a `file`; certificate=False
    switches this off, and the verdict is "not judged"; certificate=10 lets it take ten times as long as usual.
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
