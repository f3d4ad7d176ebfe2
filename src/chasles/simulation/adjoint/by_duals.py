"""Cotangents through a field, or what corrects a point, from its values on dual numbers: three numbers of the point, or
three directions of what it depends on besides, in one evaluation."""

from __future__ import annotations

from functools import cache

import numpy as np

from chasles.integrate.scalar import dual_zero
from chasles.integrate.vector_field import call
from chasles.kernel.address import INTEGERS, NUMBER, NUMBERS, address_of, as_integer_array
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH, buffer
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout

# where things are in the memory: the address of the field on duals, how many numbers of the point it depends on and of
# all, numbers of the result, then parts: what the field reads; directions of the duals in it, m of them, as numbers by
# rows: where each direction begins, where its duals are, and how far these go along it; which cotangent each number of
# the result counts for along each of these; the point and the result; places of the last duals, forces that are held,
# how many these are, and where in what the field itself reads
PART = layout(
    "PART", address=1, used=1, point=1, result=1, p=1, p_end=1, m=1, begins=1, places=1, steps=1, owners=1, y=1, out=1,
    held=1, held_count=1, control=1,
)  # fmt: skip


@kernel(allocates=True)
def point(integers, memory, p, first, last, on):
    """Duals of the field's numbers along some directions (on 1.0), or without any again (0.0)."""
    begins, places, steps = integers[PART.begins], integers[PART.places], integers[PART.steps]
    for k in range(first, last):
        for i in range(integers[begins + k], integers[begins + k + 1]):
            p[integers[places + i] + 1 + k - first] = on * memory[steps + i]


@kernel
def pull(t, y, bar, y_bar, g, memory):
    """Add to the cotangents of the point and of the directions what that of the result makes of them."""
    integers = as_integer_array(memory)
    address, used, n, size = (
        integers[PART.address],
        integers[PART.used],
        integers[PART.point],
        integers[PART.result],
    )
    p = memory[integers[PART.p] : integers[PART.p_end]]
    Y, out = memory[integers[PART.y] : integers[PART.out]], memory[integers[PART.out] :]
    for k in range(n):
        Y[WIDTH * k] = y[k]
        for j in range(1, WIDTH):
            Y[WIDTH * k + j] = 0.0
    for first in range(0, used, TANGENTS):
        last = min(first + TANGENTS, used)
        for k in range(first, last):
            Y[WIDTH * k + 1 + k - first] = 1.0
        call(address, t, Y, p, out, 0, n, size, dual_zero())
        for k in range(first, last):
            Y[WIDTH * k + 1 + k - first] = 0.0
            total = 0.0
            for i in range(size):
                total += bar[i] * out[WIDTH * i + 1 + k - first]
            y_bar[k] += total
    m, owners = integers[PART.m], integers[PART.owners]
    for first in range(0, m, TANGENTS):
        last = min(first + TANGENTS, m)
        point(integers, memory, p, first, last, 1.0)
        call(address, t, Y, p, out, 0, n, size, dual_zero())
        point(integers, memory, p, first, last, 0.0)
        for k in range(first, last):
            for i in range(size):
                g[integers[owners + k * size + i]] += bar[i] * out[WIDTH * i + 1 + k - first]


@native
def pull_by_duals(t, y, f, bar, y_bar, g, p, memory, sizes):
    """`pull` through pointers; sizes: of y, bar, g, p and memory."""
    n = carray(sizes, (5,))
    numbers, room = carray(p, (n[3],)), carray(memory, (n[4],))
    integers = as_integer_array(room)
    for k in range(integers[PART.held_count]):  # what is held in this step
        room[integers[PART.p] + integers[integers[PART.held] + k]] = numbers[integers[PART.control] + k]
    pull(t, carray(y, (n[0],)), carray(bar, (n[1],)), carray(y_bar, (n[0],)), carray(g, (n[2],)), room)


@cache
def pull_address() -> int:
    """Address of `pull_by_duals`, compiled now or loaded from the cache."""
    return address_of(pull_by_duals, NUMBER, *(NUMBERS,) * 7, INTEGERS)


def memory_of(
    address: int,
    sizes: tuple[int, int, int],
    p: np.ndarray,
    places: np.ndarray,
    shifts: np.ndarray,
    room: int = 0,
    held: tuple[int, int] = (0, 0),
    owners: np.ndarray | None = None,
) -> np.ndarray:
    """The memory for a field: (used, point, result), the buffer that it reads, places of duals in it, and directions of
    these (count, m); behind it are `room` further numbers. held: how many of the places, the last ones, are forces that
    are held, and where they are among the numbers that the field reads. owners: the cotangent that each number of the
    result counts for along each direction, (m, result); by default there is one for each direction."""
    used, point, result = sizes
    if owners is None:
        owners = np.repeat(np.arange(shifts.shape[1])[:, None], result, axis=1)
    which, along = np.nonzero(shifts.T)
    begins = np.searchsorted(which, np.arange(shifts.shape[1] + 1))
    steps, last = shifts[along, which], places[len(places) - held[0] :]
    edges = np.cumsum([PART.size, *(len(part) for part in (begins, along, steps)), owners.size, len(last)])
    first = -(-int(edges[-1]) // 8) * 8
    y = first + -(-len(p) // WIDTH) * WIDTH
    out = y + WIDTH * point
    memory = buffer(out // WIDTH + result + -(-room // WIDTH))
    integers = memory.view(np.int64)
    directions = shifts.shape[1], *edges[:4]
    integers[: PART.size] = address, used, point, result, first, y, *directions, y, out, edges[4], *held
    for k, part in ((0, begins), (1, places[along]), (3, owners.ravel()), (4, last)):
        integers[edges[k] : edges[k + 1]] = part
    memory[edges[2] : edges[3]] = steps
    memory[first : first + len(p)] = p
    return memory
