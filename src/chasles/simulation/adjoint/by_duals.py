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
# all, numbers of the result, then parts: what the field reads, where in it the duals are that have directions, the
# directions (one after the other), which cotangent each number of the result counts for along each of these, the point
# and the result; how many such duals and directions there are; how many of these duals, the last ones, are forces that
# are held, and where these are in what the field itself reads
PART = layout(
    "PART", address=1, used=1, point=1, result=1, p=1, p_end=1, places=1, count=1, shifts=1, m=1, owners=1, y=1, out=1,
    held=1, control=1,
)  # fmt: skip


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
    count, m, places, shifts = integers[PART.count], integers[PART.m], integers[PART.places], integers[PART.shifts]
    owners = integers[PART.owners]
    for first in range(0, m, TANGENTS):
        last = min(first + TANGENTS, m)
        for k in range(first, last):
            for i in range(count):
                p[integers[places + i] + 1 + k - first] = memory[shifts + k * count + i]
        call(address, t, Y, p, out, 0, n, size, dual_zero())
        for k in range(first, last):
            for i in range(count):
                p[integers[places + i] + 1 + k - first] = 0.0
            for i in range(size):
                g[integers[owners + k * size + i]] += bar[i] * out[WIDTH * i + 1 + k - first]


@native
def pull_by_duals(t, y, f, bar, y_bar, g, p, memory, sizes):
    """`pull` through pointers; sizes: of y, bar, g, p and memory."""
    n = carray(sizes, (5,))
    numbers, room = carray(p, (n[3],)), carray(memory, (n[4],))
    integers = as_integer_array(room)
    held, last = integers[PART.held], integers[PART.places] + integers[PART.count]
    for k in range(held):  # what is held in this step
        room[integers[PART.p] + integers[last - held + k]] = numbers[integers[PART.control] + k]
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
    edges = np.cumsum([PART.size, len(places), shifts.size, owners.size])
    first = -(-int(edges[3]) // 8) * 8
    y = first + -(-len(p) // WIDTH) * WIDTH
    out = y + WIDTH * point
    memory = buffer(out // WIDTH + result + -(-room // WIDTH))
    integers = memory.view(np.int64)
    shape = len(places), edges[1], shifts.shape[1], edges[2]
    integers[: PART.size] = address, used, point, result, first, y, edges[0], *shape, y, out, *held
    integers[edges[2] : edges[3]] = owners.ravel()
    integers[edges[0] : edges[1]] = places
    memory[edges[1] : edges[2]] = shifts.T.reshape(-1)
    memory[first : first + len(p)] = p
    return memory
