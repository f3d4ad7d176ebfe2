"""What is said of a start that is off the constraints, and of a run that left them for another solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chasles.constraint.alignment import described
from chasles.integrate.solution import Solution

WHAT_TO_DO = (
    "Correct it, give less of it, by name, so that the rest can be found, or let it be projected: assemble=True in "
    "Python, assemble = true under [initial] in a model file, --set initial.assemble=true with `chasles run`"
)

NEARLY_SINGULAR = 1e-2  # of singular values of rows of length one: equations below nearly depend on others


def violated(velocity: np.ndarray, limit: float, position: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Which joints or constraints a start with such a velocity violates by more than a limit, in position or in speed;
    lengths are in sizes of bodies."""
    size = 1.0 + np.abs(velocity).max(initial=0.0)
    return ~((position <= limit) & (speed <= limit * size))


def refuse_start(names: Sequence[str], amounts: Callable[[], tuple[Any, Any, Any]], *judged: Any) -> None:
    """ValueError if joints or constraints are violated; `judged` is what `violated` takes. `amounts` are what is told
    then: positions and speeds of each [m or rad], and which are the wrong way round."""
    off = violated(*judged)
    if not off.any():
        return
    position, speed, turned = amounts()
    bad = [
        f"{name!r} by {g:.3g} in position and {r:.3g} in velocity"
        for name, g, r, one in zip(names, position, speed, off, strict=True)
        if one
    ]
    listed = "; ".join([*bad[:8], "..."][: len(bad)])
    raise ValueError(
        f"simulate: the start violates {len(bad)} joints or constraints: {listed}{described(turned)}. {WHAT_TO_DO}"
    )


def refuse_turned(solution: Solution, turned: Callable[[np.ndarray], Mapping[str, float]]) -> Solution:
    """The solution, or one without success if a step that was too long left a joint the wrong way round, where its
    equations hold as well. It stays there, so the last state tells."""
    if not len(solution.t) or not (found := turned(solution.y[-1])):
        return solution
    right, wrong = 0, len(solution.t) - 1
    while wrong - right > 1:
        middle = (right + wrong) // 2
        right, wrong = (right, middle) if turned(solution.y[middle]) else (middle, wrong)
    return replace(
        solution,
        success=False,
        message=f"{solution.message}, but at t = {solution.t[wrong]:.6g} s a joint went over to the other solution of "
        f"its equations{described(found)}. The motion from there on is not to be trusted; take shorter steps",
    )
