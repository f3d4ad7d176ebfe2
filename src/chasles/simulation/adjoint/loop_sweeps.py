"""The sweeps of `relative.loop.entry.onto_rows` taken again, each kept at a spot of its own (`loop_projection`)."""

from __future__ import annotations

from chasles.constraint.projection import (
    SPEED_ROUNDING,
    SPEED_SWEEPS,
    SWEEPS,
    goes_on,
    is_poor,
    is_slow,
    is_stuck,
    worse,
)
from chasles.constraint.rows import ROWS
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.policy import kernel
from chasles.relative.loop.entry import farthest, fastest, has_factor, largest_residual
from chasles.relative.loop.rows import size_of_row, speed_of, value_of
from chasles.relative.loop.steps import retract
from chasles.relative.loop.tables import HEAD, part
from chasles.relative.loop.triangle import solve
from chasles.simulation.adjoint.loop_memory import LOOP, loop_spot_size, loop_spot_views
from chasles.simulation.adjoint.pull_state import set_to
from chasles.simulation.adjoint.steps import clear

LOOP_SPOTS = SWEEPS + 1 + SPEED_SWEEPS  # sweeps of positions and where they end, then those of velocities
SMALL = 1e-8  # a share that is off by this is no rounding; what is less, has no square that counts


@kernel(allocates=True)
def spot_at(memory, integers, k):
    at, size = as_integer_array(memory)[LOOP.spots], loop_spot_size(integers)
    return loop_spot_views(memory[at + k * size : at + (k + 1) * size], integers)


@kernel(allocates=True, shared=True)
def factorize(integers, p, q, space):
    """The factor at q; the rows that are there are others afterwards, if they were not those at q."""
    clear(space.pushes)
    clear(space.tau)
    clear(space.still)
    return has_factor(
        integers, p, q, space.still, space.tau, space.pushes, p[integers[HEAD.end] :], space.change, space.report
    )


@kernel(allocates=True, shared=True)
def look_at(t, integers, p, q, v):
    """Motion, rows and Jacobians of all tiles at a state."""
    invoke(integers[HEAD.evaluate], integers, p, p.shape[0], t, q, v, p[integers[HEAD.end] :])


@kernel(allocates=True, shared=True)
def solve_rows(integers, space):
    """S⁻¹ x in place."""
    m, nv = integers[HEAD.n_rows], integers[HEAD.n_v]
    solve(space.matrix, space.scales, space.order, int(space.report[0]), m, nv, space.x)


@kernel(allocates=True)
def sweep_positions(t, integers, p, memory, space, q, v):
    """The sweeps of `onto_rows`, each at a spot of its own: how many, at which of these the factor is in the end (-1:
    there is none), how far links are from the origin, and how far off positions are, relative."""
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, topology = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.topology)
    m, links = integers[HEAD.n_rows], integers[HEAD.n_links]
    look_at(t, integers, p, q, v)
    far, sweeps, stale, owner = farthest(space.states, part(p, integers, HEAD.levers), links), 0, True, -1
    _, share = largest_residual(tiles, groups, equations, space.rows, m, far)
    while True:
        here = spot_at(memory, integers, sweeps)
        set_to(here.q, q)
        clear(here.bar)
        if stale:
            if not factorize(integers, p, q, space):
                return sweeps, -1, far, share
            owner = sweeps
        if not goes_on(share, sweeps):
            break
        for r in range(m):
            space.x[r] = value_of(groups, equations, space.rows, r, ROWS.residual)
        solve_rows(integers, space)
        invoke(integers[HEAD.respond], integers, p, p.shape[0], -1.0, p[integers[HEAD.end] :])
        for r in range(m):
            here.x[r] = space.x[r]
        set_to(here.change, space.change)
        here.info[0], here.info[1], fresh = share, float(owner), owner == sweeps
        retract(topology, q, v, space.change)
        look_at(t, integers, p, q, v)
        sweeps += 1
        before = share
        _, share = largest_residual(tiles, groups, equations, space.rows, m, far)
        stale = is_slow(share, before)
        if is_stuck(share, before, sweeps, fresh):
            there = spot_at(memory, integers, sweeps)
            set_to(there.q, q)
            clear(there.bar)
            break
    return sweeps, owner, far, share


@kernel(allocates=True)
def sweep_velocities(t, integers, p, memory, space, q, v, end, owner, far):
    """The sweeps of velocities at the spot `end`, each at a spot of its own: how many, and whether they came to
    rounding."""
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, constants = part(integers, integers, HEAD.rows), part(p, integers, HEAD.constants)
    m, nv, share = integers[HEAD.n_rows], integers[HEAD.n_v], 0.0
    for sweep in range(SPEED_SWEEPS):
        spin, fast = fastest(space.motion, far)
        before, speed, share = share, 0.0, 0.0
        for r in range(m):
            space.x[r] = speed_of(tiles, groups, equations, constants, space.rows, r, space.motion)
            size = abs(space.x[r])
            if size != 0.0:
                whole_row = size_of_row(tiles, groups, equations, space.rows, r, spin, fast)
                speed, share = worse(size, whole_row, speed, share)
        if not share > SPEED_ROUNDING:
            return sweep, True
        if sweep == 1 and is_poor(share, before) and owner != end:
            factorize(integers, p, q, space)
            owner = end
        here = spot_at(memory, integers, SWEEPS + 1 + sweep)
        set_to(here.v, v)
        solve_rows(integers, space)
        invoke(integers[HEAD.respond], integers, p, p.shape[0], -1.0, p[integers[HEAD.end] :])
        set_to(here.x, space.x)
        set_to(here.change, space.change)
        here.info[1] = float(owner)
        for k in range(nv):
            v[k] += space.change[k]
        look_at(t, integers, p, q, v)
    return SPEED_SWEEPS, share < SMALL
