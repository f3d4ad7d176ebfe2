"""Functions called through their address: compiled once, however many loops call them.

Numba compiles the callees of a loop into the loop's own code, again for each loop. A function of numbers and pointers
made with `policy.native` is compiled alone; loops get its address as an integer and call it with `invoke`, at the cost
of an indirect call of a nanosecond or two. Vector fields reach the loops in the same way.
"""

from __future__ import annotations

from typing import Any

from chasles.kernel.late import late
from chasles.kernel.machine_code import Compiled
from chasles.kernel.policy import compiling

# kinds of arguments, as Numba calls them; a star is a pointer
NUMBER, INTEGER = "float64", "int64"
NUMBER_ARRAY, INTEGER_ARRAY = "array(float64, 1d, C)", "array(int64, 1d, C)"
NUMBERS, INTEGERS, MANY_LANES, DUALS = "float64*", "int64*", "Lanes4*", "Dual3*"

invoke, clear, scratch, as_integers, as_integer_array = late(
    "chasles.kernel.code.address", "invoke", "clear", "scratch", "as_integers", "as_integer_array"
)


def kind_in(module: str, name: str) -> str:
    """A kind of argument that a module has under a name, which needs Numba."""
    return f"{module}:{name}"


def address_of(function: Any, *kinds: str) -> int:
    """Address of the C form of a `native` function that returns nothing; compiled now, or loaded from the cache."""
    return function.address(kinds) if isinstance(function, Compiled) else compiling().address(function, kinds)
