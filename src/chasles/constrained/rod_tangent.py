"""Derivatives of elements of rods for Newton's matrix: compiled only for systems that have rods."""

from __future__ import annotations

import functools

from chasles.constrained.element_tangent import add_element_tangents, element_tiles
from chasles.constrained.workspace import FORCE_CALL
from chasles.force.bushing import Mount
from chasles.force.rod import actuation, bent, four_elements, law_of, refer
from chasles.force.table import FORCE, FORCES, ROD
from chasles.kernel.address import address_of
from chasles.kernel.policy import kernel, native


@kernel
def rod_tiles(job, k, count, first, second):
    """Tiles of up to four elements of rods from row k on."""
    table = job.forces.table
    refer(job.t, table, k, count, job.forces.values, job.scratch)
    element = four_elements(table, k, count, job.forces.values)
    at, law = bent(element, first, second, table[FORCES.size + k * FORCE.size + FORCE.fourth])
    mount = Mount(element.first, element.second, law_of(element, at.X, law), element.damping)
    element_tiles(job, k, count, mount, at, (first, second), False, actuation(element, law))


@native
def add_rod_tangents(call):
    """Add s ∂(-Q)/∂d of all elements of rods to the blocks of the bodies, and couplings to the matrix."""
    add_element_tangents(call, ROD, rod_tiles)


@functools.cache
def rod_tangent_address() -> int:
    """Address of `add_rod_tangents`, compiled now or loaded from the cache."""
    return address_of(add_rod_tangents, FORCE_CALL)
