"""Steps under inputs that are held, one for each step: as numbers, under feedback, and on dual numbers.

All steps of a motion are taken in one call. They are those of `simulate` with a sampled controller: the field is found
anew at the start of each step, because the input has changed.
"""

from __future__ import annotations

from chasles.integrate.explicit_layout import SET, scratch
from chasles.integrate.explicit_step import copy
from chasles.integrate.replay import correct
from chasles.integrate.scalar import dual_zero
from chasles.integrate.step_address import take_step
from chasles.integrate.vector_field import call
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH
from chasles.kernel.policy import kernel


@kernel
def held_step(space, method, t, h, y, f0, memory, parts, address, p, z):
    """A step from y, its result in parts[4]."""
    table, addresses = space
    settings, a, b, c, extra, program = method
    call(address, t, y, p, f0, 0, settings[SET.point], settings[SET.algebra], z)
    take_step(table, addresses, settings, a, b, c, extra, program, t, h, y, f0, memory, parts, address, p, z)
    correct(settings, t + h, parts, p, z)


@kernel(entry=True)
def roll(space, method, times, h, points, results, forces, follow, f0, memory, address, p, control):
    """Steps under forces (steps, nv) from points (steps + 1, n), each from its own; with `follow` each from the result
    of the one before, which becomes its point."""
    settings = method[0]
    parts, n = scratch(memory, settings, 1), settings[SET.point]
    for k in range(forces.shape[0]):
        for m in range(forces.shape[1]):
            p[control + m] = forces[k, m]
        held_step(space, method, times[k], h, points[k], f0, memory, parts, address, p, 0.0)
        copy(parts[4], 0, results[k], 0, n, 0.0)
        if follow:
            copy(parts[4], 0, points[k + 1], 0, n, 0.0)


@kernel(entry=True)
def roll_feedback(
    space, method, times, h, points, inputs, old, given, feedforward, gains, share, moved, bounds, effect, f0, memory,
    address, p, control,
):  # fmt: skip
    """Steps under u = given + share feedforward + gains (x - old), held within bounds (2, inputs). For points that are
    vectors: x are their first numbers, behind them those of `moved`, which are constant. effect: forces of inputs."""
    settings = method[0]
    parts, n, width = scratch(memory, settings, 1), settings[SET.point], gains.shape[2] - moved.shape[0]
    for k in range(inputs.shape[0]):
        for m in range(inputs.shape[1]):
            u = given[k, m] + share * feedforward[k, m]
            for i in range(width):
                u += gains[k, m, i] * (points[k, i] - old[k, i])
            for i in range(moved.shape[0]):
                u += gains[k, m, width + i] * moved[i]
            inputs[k, m] = min(max(u, bounds[0, m]), bounds[1, m])
        for i in range(effect.shape[0]):
            force = 0.0
            for m in range(inputs.shape[1]):
                force += effect[i, m] * inputs[k, m]
            p[control + i] = force
        held_step(space, method, times[k], h, points[k], f0, memory, parts, address, p, 0.0)
        copy(parts[4], 0, points[k + 1], 0, n, 0.0)


@kernel(entry=True)
def roll_tangents(space, method, times, h, points, forces, seeds, shifts, tangents, y, f0, memory, address, p, places):
    """Derivatives of steps from points (steps, n) along seeds (steps, n, m) of the point and shifts (count, m) of what
    the field reads, whose duals are at `places`, forces last: tangents (steps, n, m) of the results."""
    settings, z = method[0], dual_zero()
    parts, n, nv = scratch(memory, settings, WIDTH), settings[SET.point], forces.shape[1]
    count, m = places.shape[0], seeds.shape[2]
    for first in range(0, m, TANGENTS):
        width = min(TANGENTS, m - first)
        for i in range(count):
            for j in range(TANGENTS):
                p[places[i] + 1 + j] = shifts[i, first + j] if j < width else 0.0
        for k in range(points.shape[0]):
            for i in range(nv):
                p[places[count - nv + i]] = forces[k, i]
            for i in range(n):
                y[WIDTH * i] = points[k, i]
                for j in range(TANGENTS):
                    y[WIDTH * i + 1 + j] = seeds[k, i, first + j] if j < width else 0.0
            held_step(space, method, times[k], h, y, f0, memory, parts, address, p, z)
            for i in range(n):
                for j in range(width):
                    tangents[k, i, first + j] = parts[4][WIDTH * i + 1 + j]


@kernel(entry=True)
def field_tangents(times, points, forces, seeds, shifts, forced, found, y, out, address, p, places):
    """A field at points (states, n) under forces (states, nv) in found[..., 0], and behind it its derivatives along
    seeds (states, n, m) of the points, shifts (count, m) of what it reads, and changes (states, nv, m) of the forces.
    Duals of what it reads are at `places`, forces last; y and out are rooms."""
    z, n, nv = dual_zero(), points.shape[1], forces.shape[1]
    count, m = shifts.shape[0], seeds.shape[2]
    for first in range(0, max(m, 1), TANGENTS):
        width = min(TANGENTS, m - first)
        for i in range(count):
            for j in range(TANGENTS):
                p[places[i] + 1 + j] = shifts[i, first + j] if j < width else 0.0
        for k in range(points.shape[0]):
            for i in range(nv):
                p[places[count + i]] = forces[k, i]
                for j in range(TANGENTS):
                    p[places[count + i] + 1 + j] = forced[k, i, first + j] if j < width else 0.0
            for i in range(n):
                y[WIDTH * i] = points[k, i]
                for j in range(TANGENTS):
                    y[WIDTH * i + 1 + j] = seeds[k, i, first + j] if j < width else 0.0
            call(address, times[k], y, p, out, 0, n, n, z)
            for i in range(found.shape[1]):
                found[k, i, 0] = out[WIDTH * i]
                for j in range(width):
                    found[k, i, 1 + first + j] = out[WIDTH * i + 1 + j]
