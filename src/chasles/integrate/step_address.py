"""A step of each family of explicit methods, compiled once and called by address (see `kernel.address`): the loops do
not compile it again, and a method of one family does not compile the other."""

from __future__ import annotations

from functools import cache
from typing import Any

from chasles.integrate.blocks import MODULES, OPERATION_NAMES
from chasles.integrate.explicit_layout import EXPONENTIALS, MUNTHE_KAAS, SET, scratch
from chasles.integrate.explicit_step import exponentials, munthe_kaas
from chasles.integrate.scalar import ON_SCALARS, WIDTHS, ZEROS
from chasles.integrate.table import COLUMNS
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, NUMBERS, address_of, invoke
from chasles.kernel.face import compile_text
from chasles.kernel.lanes import load, store
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native

FAMILIES = {MUNTHE_KAAS: munthe_kaas, EXPONENTIALS: exponentials}
FAR = 1 << 30  # length of arrays that are only read, where the loops know how far
_TEXT = """
def {name}(table, blocks, addresses, settings, a, b, c, extra, rows, program, t, h, y, f0, memory, size, address, p, n):
    spaces = carray(table, (blocks, {columns})), carray(addresses, ({algebras}, {operations}))
    chosen = carray(settings, {settings})
    parts = scratch(carray(memory, size), chosen, {width})
    weights = carray(a, {far}), carray(b, {far}), carray(c, {far})
    others = carray(extra, (rows, 4)), carray(program, ({far}, 3))
    point, value = carray(y, {width} * chosen[{point}]), carray(f0, {width} * chosen[{algebra}])
    angle = step(*spaces, chosen, *weights, *others, {when}, point, value, parts, address, carray(p, n), zero())
    store(parts[6], 0, angle)
"""


_OWN = "load(carray(t, {width}), 0, zero()), load(carray(h, {width}), 0, zero())"  # times and steps of each lane


@cache
def step_address(family: int, on: str = ON_SCALARS, own: bool = False) -> int:
    """Address of a step; compiled on first use, or loaded from the cache. own: lanes have each their time and step."""
    name = f"{FAMILIES[family].py_func.__name__}_{on}" + ("_own" if own else "")
    scope: dict[str, Any] = {"__name__": __name__, "carray": carray, "step": FAMILIES[family], "store": store}
    scope |= {"scratch": scratch, "zero": ZEROS[on]}
    sizes = {"columns": COLUMNS, "algebras": len(MODULES) + 1, "operations": len(OPERATION_NAMES), "settings": SET.size}
    places = {"point": SET.point, "algebra": SET.algebra, "far": FAR, "width": WIDTHS[on]}
    places["when"] = _OWN.format(width=WIDTHS[on]) if own else "t, h"
    scope["load"] = load
    function = native(compile_text(_TEXT.format(name=name, **sizes, **places), name, scope))
    long, when = INTEGER, NUMBERS if own else NUMBER
    space = (INTEGERS, long, INTEGERS, INTEGERS)
    method = (NUMBERS, NUMBERS, NUMBERS, NUMBERS, long, INTEGERS)
    return address_of(function, *space, *method, when, when, *(NUMBERS,) * 3, long, long, NUMBERS, long)


@kernel
def take_step(table, addresses, settings, a, b, c, extra, program, t, h, y, f0, memory, parts, address, p, z):
    """A step of the method in use, its result in the parts of the scratch space; returns the largest angle. t and h are
    numbers, or arrays where lanes have their own."""
    rows, size, n = extra.shape[0], memory.shape[0], p.shape[0]
    method = settings[SET.step]
    invoke(
        *(method, table, table.shape[0], addresses, settings, a, b, c, extra, rows, program),
        *(t, h, y, f0, memory, size, address, p, n),
    )
    return load(parts[6], 0, z)
