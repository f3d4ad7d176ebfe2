"""What is said of a start that is off the constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

WHAT_TO_DO = (
    "Correct it, or let it be projected: assemble=True in Python, assemble = true under [initial] in a model file, "
    "--set initial.assemble=true with `chasles run`"
)


def refuse_start(
    names: Sequence[str], position: np.ndarray, speed: np.ndarray, velocity: np.ndarray, limit: float
) -> None:
    """ValueError if joints or constraints are violated: `position` and `speed` of each, for velocities of this size."""
    size = 1.0 + np.abs(velocity).max(initial=0.0)
    bad = [
        f"{name!r} by {g:.3g} in position and {r:.3g} in velocity"
        for name, g, r in zip(names, position, speed, strict=True)
        if not (g <= limit and r <= limit * size)
    ]
    if bad:
        listed = "; ".join([*bad[:8], "..."][: len(bad)])
        raise ValueError(f"simulate: the start violates {len(bad)} joints or constraints: {listed}. {WHAT_TO_DO}")
