"""Derivatives of bushings for Newton's matrix: compiled only for systems that have bushings."""

from __future__ import annotations

import functools

from chasles.constrained.element_tangent import add_element_tangents, element_tiles, is_diagonal
from chasles.constrained.workspace import FORCE_CALL
from chasles.force.bushing import deflection, four_bushings
from chasles.force.table import BUSHING
from chasles.kernel.address import address_of
from chasles.kernel.policy import kernel, native


@kernel
def bushing_tiles(job, k, count, first, second):
    """Tiles of up to four bushings from row k on."""
    bushing = four_bushings(job.forces.table, k, count, job.forces.values)
    diagonal = is_diagonal(bushing.stiffness) and is_diagonal(bushing.damping)
    element_tiles(job, k, count, bushing, deflection(bushing, first, second), (first, second), diagonal, 0.0)


@native
def add_bushing_tangents(call):
    """Add s ∂(-Q)/∂d of all bushings to the blocks of the bodies, and couplings to the matrix."""
    add_element_tangents(call, BUSHING, bushing_tiles)


@functools.cache
def bushing_tangent_address() -> int:
    """Address of `add_bushing_tangents`, compiled now or loaded from the cache."""
    return address_of(add_bushing_tangents, FORCE_CALL)
