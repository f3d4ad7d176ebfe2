"""`simulate`: from a system and a span to a run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.integrate.event import Event
from chasles.integrate.method import RKMK
from chasles.integrate.run import check_span
from chasles.integrate.solution import Solution
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.body_run import BodyRun
from chasles.simulation.motion import solve_motion
from chasles.simulation.run import Run
from chasles.simulation.start import DEFAULT_BAUMGARTE, prepare

DEFAULT_METHOD, DEFAULT_RTOL, DEFAULT_ATOL = RKMK("dopri5"), 1e-8, 1e-10
Controller = Callable[[float, np.ndarray, np.ndarray], ArrayLike]


@overload
def simulate(
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    span: tuple[float, float],
    q: ArrayLike | None = ...,
    v: ArrayLike | None = ...,
    *,
    coordinates: Literal["absolute"],
    **options: Any,
) -> BodyRun: ...
@overload
def simulate(
    system: System | Mechanism | ClosedMechanism,
    span: tuple[float, float],
    q: ArrayLike | None = ...,
    v: ArrayLike | None = ...,
    *,
    coordinates: Literal["relative"] = ...,
    **options: Any,
) -> Run: ...
@overload
def simulate(
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    span: tuple[float, float],
    q: ArrayLike | None = ...,
    v: ArrayLike | None = ...,
    **options: Any,
) -> Run | BodyRun: ...
def simulate(  # type: ignore[misc]  # the overloads sum up what has no part in the type of the result
    system: System | Mechanism | ClosedMechanism | AbsoluteMechanism,
    span: tuple[float, float],
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    coordinates: str = "relative",
    method: Any = DEFAULT_METHOD,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save: Any = "all",
    events: Sequence[Event] = (),
    controller: Controller | None = None,
    period: float | None = None,
    control: ArrayLike | None = None,
    space: str | Mapping[str, str] = "auto",
    stabilization: str | None = "projection",
    baumgarte: tuple[float, float] = DEFAULT_BAUMGARTE,
    poses: ArrayLike | None = None,
    twists: ArrayLike | None = None,
    assemble: bool = False,
    trivialization: str = "left",
    progress: bool | None = None,
) -> Run | BodyRun:
    """Simulate a system over a span [s] from coordinates q and velocities v (default: neutral, at rest).

    Steps are fixed with `step` [s]; else they follow rtol (1e-8) and atol (1e-10). `save` and `events` as in `solve`;
    an event sees the state y, which is (q, v, work) in joint coordinates.

    `control` is a constant input; `controller(t, q, v)` returns the input at every `period` [s], and it is held until
    the next: a sampled controller. An input has one number for each actuator of the system, or, if it has none, a
    generalised force for each velocity. q and v are joint coordinates and velocities, in both kinds of coordinates;
    loops and further constraints close the tree of `system.compile()`.

    coordinates="absolute" (the poses of all bodies, joints as constraints): `space` is "SE3", "SO3xR3", a mapping of
    bodies to these, or "auto". The start is q and v in joint coordinates, or `poses` (bodies, 7) and body `twists`
    (bodies, 6).

    With constraints, in either coordinates: `stabilization` is "projection" onto the constraints after each step,
    "baumgarte", g'' = -2 alpha g' - beta² g with `baumgarte` = (alpha, beta) [1/s] (constants of the model, default
    20 1/s each: below a tenth of 1/step, and never tied to it, which would spoil the order), or None. With
    assemble=True the start is projected onto the constraints first, else it must satisfy them. In absolute coordinates
    trivialization="right" takes spatial velocities in place of those in the bodies, and moves poses by exp on the left.
    """
    start, end = check_span(span)
    if step is None:
        rtol, atol = DEFAULT_RTOL if rtol is None else rtol, DEFAULT_ATOL if atol is None else atol
    options: dict[str, Any] = {"step": step, "rtol": rtol, "atol": atol}
    more = {**options, "save": save, "events": events}
    dynamics, state, make = prepare(
        *("simulate", system, start, q, v, coordinates),
        inputs=controller is not None or control is not None,
        space=space,
        stabilization=stabilization,
        baumgarte=baumgarte,
        poses=poses,
        twists=twists,
        assemble=assemble,
        trivialization=trivialization,
    )
    actuation = dynamics.actuation()
    if controller is None:
        if period is not None:
            raise ValueError("simulate: period is the sampling period of a controller; give controller=... too")
        u = None if control is None else actuation.forces(control)
        solution = solve_motion(dynamics, method, (start, end), state, u, **more, progress=progress)
        held = None if u is None else np.broadcast_to(u, (len(solution.t), len(u)))
        return make(dynamics, dynamics.explained(solution), options, controls=held)
    if control is not None:
        raise ValueError("simulate: give either control=... (constant) or controller=... (sampled)")
    if period is None or not period > 0:
        raise ValueError(f"simulate: period is {period!r}; expected the controller's sampling period [s], positive")
    pieces = _sampled(dynamics, actuation, controller, period, (start, end), state, method, more)
    return make(dynamics, dynamics.explained(_joined(pieces[0])), options, controls=_held(*pieces))


def _sampled(
    dynamics, actuation, controller, period, span, state, method, more
) -> tuple[list[Solution], list[np.ndarray]]:
    """A run in pieces, each with the input that the controller gave at its begin."""
    start, end = span
    direction = 1.0 if end >= start else -1.0
    if direction < 0:
        raise ValueError("simulate: a sampled controller runs forwards in time; the end is before the start")
    if not isinstance(more["save"], str) and not isinstance(more["save"], int | np.integer):
        raise ValueError('simulate: with a controller, save is "all", "final" or a number of steps')
    count = max(1, int(np.ceil((end - start) / period * (1 - 1e-12))))
    edges = np.minimum(start + period * np.arange(count + 1), end)
    pieces: list[Solution] = []
    inputs: list[np.ndarray] = []
    for first, last in itertools.pairwise(edges):
        q, v = dynamics.coordinates(state)
        u = actuation.forces(controller(float(first), q.copy(), v.copy()))
        piece = dict(more, step=min(more["step"], last - first) if more["step"] else None)
        solution = solve_motion(dynamics, method, (first, last), state, u, **piece, progress=False)
        pieces.append(solution)
        inputs.append(u)
        state = solution.y[-1]
        if not solution.success or solution.t[-1] != last:
            break
    return pieces, inputs


def _joined(pieces: list[Solution]) -> Solution:
    """One solution of pieces that follow each other; where two meet, the point of the earlier is kept."""
    keep = [slice(0, None)] + [slice(1, None)] * (len(pieces) - 1)
    last = pieces[-1]
    total = {
        name: sum(getattr(piece, name) for piece in pieces)
        for name in ("steps", "rejections", "evaluations", "exponentials", "commutators", "seconds")
    }
    return replace(
        last,
        t=np.concatenate([piece.t[k] for piece, k in zip(pieces, keep, strict=True)]),
        y=np.concatenate([piece.y[k] for piece, k in zip(pieces, keep, strict=True)]),
        events=[event for piece in pieces for event in piece.events],
        slopes=None,
        moves=None,
        no_curve="the input of a sampled controller jumps between the points",
        **total,
    )


def _held(pieces: list[Solution], inputs: list[np.ndarray]) -> np.ndarray:
    rows = [
        np.broadcast_to(u, (len(piece.t) - (k > 0), len(u)))
        for k, (piece, u) in enumerate(zip(pieces, inputs, strict=True))
    ]
    return np.concatenate(rows)
