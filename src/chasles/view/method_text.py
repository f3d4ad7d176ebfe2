"""A run in words: where, by which method, with which steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chasles.integrate.method_name import name_of


def words(method: Any, mechanism: Any, options: Mapping[str, Any]) -> tuple[str, str, str]:
    """The space ("" for joint coordinates), the method, and its step or tolerance."""
    try:
        name = name_of(method)
    except ValueError:  # of the user's own kind
        name = str(method)
    spaces = getattr(mechanism, "spaces", {})
    space = " and ".join(sorted(set(spaces.values()))).replace("SO3xR3", "SO(3)×ℝ³").replace("SE3", "SE(3)")
    step, rtol = options.get("step"), options.get("rtol")
    steps = f"h = {step:g} s" if step is not None else f"rtol = {rtol:g}" if rtol is not None else ""
    return space, name if isinstance(name, str) else str(name["name"]), steps


def described(run: Any) -> str:
    """Method, space and steps of a run, for a legend."""
    space, method, steps = words(run.solution.method, run.mechanism, run.options)
    return ", ".join(filter(None, (method, space, steps)))
