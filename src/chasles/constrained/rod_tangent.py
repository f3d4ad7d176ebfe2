"""Derivatives of elements of rods for Newton's matrix: compiled only for systems that have rods."""

from __future__ import annotations

import functools

from chasles.constrained.bushing_tangent import element_tiles, place_elements
from chasles.constrained.tangent_job import job_of
from chasles.constrained.workspace import FORCE_CALL
from chasles.force.bushing import Mount, four_motions, four_of, run_of_elements
from chasles.force.rod import bent, four_elements, law_of
from chasles.force.table import FORCE, FORCES, MOVING, ROD
from chasles.kernel.address import address_of
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference


@kernel
def rod_tiles(job, k, count):
    """Tiles of up to four elements of rods from row k on."""
    table, states = job.forces.table, job.states
    element = four_elements(table, k, count, job.forces.values)
    first = four_motions(four_of(table, k, count, FORCE.first), states, MOVING.size)
    second = four_motions(four_of(table, k, count, FORCE.second), states, MOVING.size)
    at, law = bent(element, first, second, table[FORCES.size + k * FORCE.size + FORCE.fourth])
    mount = Mount(element.first, element.second, law_of(element, at.X, law), element.damping)
    element_tiles(job, k, count, mount, at, first, second)


@native
def add_rod_tangents(call):
    """Add s ∂(-Q)/∂d of all elements of rods to the blocks of the bodies, and couplings to the matrix."""
    job, k = by_reference(job_of(call)), 0
    table = job.forces.table
    while k < table[FORCES.count]:
        count = 1
        if table[FORCES.size + k * FORCE.size + FORCE.kind] == ROD:
            count = run_of_elements(table, k)
            rod_tiles(job, k, count)
            place_elements(job, k, count)
        k += count


@functools.cache
def rod_tangent_address() -> int:
    """Address of `add_rod_tangents`, compiled now or loaded from the cache."""
    return address_of(add_rod_tangents, FORCE_CALL)
