"""Addresses of the loops, and the one entry through which Python runs them."""

from __future__ import annotations

import functools

from chasles.absolute.implicit.bliedf import bliedf
from chasles.absolute.implicit.energy_momentum import energy_momentum
from chasles.absolute.implicit.generalized_alpha import generalized_alpha
from chasles.absolute.implicit.half_explicit import half_explicit
from chasles.absolute.implicit.layout import CALL
from chasles.absolute.implicit.rattle import rattle
from chasles.kernel.address import address_of, invoke
from chasles.kernel.policy import kernel
from chasles.kernel.reference import by_reference

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
    return address_of(LOOPS[name], CALL)


@kernel(entry=True)
def run_loop(address, call):
    """Let a loop go on."""
    invoke(address, by_reference(call))
