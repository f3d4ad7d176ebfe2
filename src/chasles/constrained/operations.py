"""Large parts of a step that methods share: compiled once, however many methods call them through their addresses.

Compiled into each method they were most of its code: 20 to 80 s for each of six. A call costs some nanoseconds, so what
is called is large: a sweep over all bodies, a factorization. What a sweep consists of is inlined into it.

An operation is a kernel `name`, which methods call, and a function `name_apart`, which it calls through its address in
the table `workspace.operations`. The function takes the address of the workspace first, and begins with a copy of it.
A loop is given the operations that it uses, found by their names. In place of the others is one that says so if it is
called: then the run ends with an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from chasles.constrained import correction, error_estimate, position, saddle, steps, velocity
from chasles.constrained.workspace import OPERATIONS, loop_address, workspace_at
from chasles.kernel.address import INTEGER, NUMBER, NUMBERS, address_of, kind_in
from chasles.kernel.policy import native

STEP = kind_in("chasles.constrained.call_types", "STEP")
ITERATION = kind_in("chasles.constrained.call_types", "ITERATION")


class Operation(NamedTuple):
    """A function, and of what kinds its arguments are after the workspace."""

    function: Any
    kinds: tuple[str, ...]


TABLE = {
    "set_state": Operation(steps.set_state_apart, (NUMBERS, NUMBERS)),
    "correction": Operation(correction.correction_apart, (*[NUMBERS] * 4, STEP, ITERATION)),
    "solve_equations": Operation(saddle.solve_equations_apart, (INTEGER,)),
    "keep_rows": Operation(position.keep_rows_apart, (NUMBER,)),
    "factorize": Operation(velocity.factorize_apart, (NUMBERS,)),
    "onto_velocities": Operation(velocity.onto_velocities_apart, (NUMBERS, INTEGER, NUMBER)),
    "finish_angles": Operation(steps.finish_angles_apart, (NUMBERS, NUMBERS)),
    "leave_tangent": Operation(error_estimate.leave_tangent_apart, (NUMBERS, NUMBERS)),
    "error_size": Operation(error_estimate.error_size_apart, (*[NUMBERS] * 3, *[NUMBER] * 3)),
}


@cache
def used_by(loop: Any) -> frozenset[str]:
    """The operations that a loop calls: those whose places in the table are named by it, or by kernels that it uses."""
    seen: set[Callable] = set()
    open_ends, names = [loop], set()
    while open_ends:
        function = getattr(open_ends.pop(), "py_func", None)
        if function is None or function in seen:
            continue
        seen.add(function)
        known = function.__code__.co_names
        if "OPERATIONS" in known:
            names |= {*known} & {*TABLE}
        open_ends += [function.__globals__.get(name) for name in known]
    return frozenset(names)


@cache
def operation_address(name: str) -> int:
    """Where an operation is, compiled now or loaded from the cache."""
    function, kinds = TABLE[name]
    return address_of(function, INTEGER, *kinds)


def addresses(loop: Any, unused: frozenset[str]) -> np.ndarray:
    """The table of the operations of a loop; `unused`: what this run will not call."""
    table = np.zeros(OPERATIONS.size, dtype=np.int64)
    table[OPERATIONS.loop] = loop_address(loop)
    given = used_by(loop) - unused
    for name in TABLE:
        table[getattr(OPERATIONS, name)] = operation_address(name) if name in given else missing_address()
    return table


@native
def missing_operation(at):
    """In the place of operations that a loop is not given: says so if one is called all the same."""
    workspace_at(at).operations[OPERATIONS.missing] = 1


@cache
def missing_address() -> int:
    return address_of(missing_operation, INTEGER)


def refuse_missing(loop: Any, table: np.ndarray) -> None:
    """An error if a loop called an operation that it was not given: its results are worth nothing."""
    if table[OPERATIONS.missing]:
        left_out = sorted(name for name in TABLE if table[getattr(OPERATIONS, name)] == missing_address())
        raise RuntimeError(
            f"{loop.__name__} called one of the operations that it was not given ({', '.join(left_out)}): "
            "`operations.used_by` did not see the call, or it was held to be unused; report this as a defect"
        )
