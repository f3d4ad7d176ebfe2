"""Addresses of the loops, and the one entry through which Python runs them."""

from __future__ import annotations

import functools

from numba import types

from chasles.absolute.implicit.bliedf import bliedf
from chasles.absolute.implicit.energy_momentum import energy_momentum
from chasles.absolute.implicit.generalized_alpha import generalized_alpha
from chasles.absolute.implicit.half_explicit import half_explicit
from chasles.absolute.implicit.rattle import rattle
from chasles.kernel.address import INTEGERS, NUMBERS, address_of, invoke
from chasles.kernel.policy import kernel

size = types.int64
SIGNATURE = (
    *(size, NUMBERS, size, INTEGERS, size, NUMBERS, NUMBERS, NUMBERS, INTEGERS, NUMBERS, NUMBERS, size, size),
    *(NUMBERS, NUMBERS),
)
LOOPS = {
    "generalized_alpha": generalized_alpha,
    "bliedf": bliedf,
    "rattle": rattle,
    "half_explicit": half_explicit,
    "energy_momentum": energy_momentum,
}


@functools.cache
def loop_address(name: str) -> int:
    """Address of a loop, compiled now or loaded from the cache."""
    return address_of(LOOPS[name], *SIGNATURE)


@kernel(entry=True)
def run_loop(
    address, limit, p, packed, parameters, memory, work, counts, history, times, total, every, saved_t, saved_y
):
    invoke(
        address, limit, p, p.shape[0], packed, packed.shape[0], parameters, memory, work, counts, history, times, total,
        every, saved_t, saved_y,
    )  # fmt: skip
