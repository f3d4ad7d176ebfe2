"""Calls of compiled loops that take tuples, again and again.

The front of a loop takes the elements of tuples. `Compiled` finds their kinds by name at each call, which takes longer
than a small step. Here they go to the fronts as they are; a front that they do not fit says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chasles.kernel.machine_code import FAILED, MISFIT, Compiled


def flat_call(loop: Callable, *given: Any) -> Any:
    """loop(*given), whose arguments are numbers, arrays, and tuples of them."""
    if isinstance(loop, Compiled):
        flat = [x for one in given for x in (one if isinstance(one, tuple) else (one,))]
        for front in loop._fronts:
            result = front(*flat)
            if result is not MISFIT:
                return result if result is not FAILED else loop._fail()
    return loop(*given)
