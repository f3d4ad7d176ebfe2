"""Elements of rods: an energy of the relative pose of two nodes, of fourth order.

Between nodes with frames A and B, X = log(A⁻¹B) and X₀ in the reference, an element of length L stores
1/2 (X - X₀)ᵀ F⁻¹ (X - X₀) with its flexibility

    F(X) = F₀ + c ad_X M ad_Xᵀ,    c = L/12,    M the compliance of the section (6x6), F₀ = L M for a uniform element

In an element the wrench is constant in space, so the stress s obeys s' = ad_ξᵀ s and the strain is not constant; the
second term is what Magnus' expansion makes of that. With c = 0 the strain is constant: the element is a helix, of
second order. With the stress s = F⁻¹ (X - X₀) the energy has

    gradient  g = s + c ad_yᵀ s,   y = M ad_Xᵀ s
    second derivatives  H = Bᵀ F⁻¹ B + c C M C,   B = 1 + c (ad_y - ad_X M C),   C = [m~ f~; f~ 0] of s = (m, f)

In statics s may be an iterate of its own (Newton's method then needs fewer steps by far): the gradient is that of it
and Bᵀ (F⁻¹ (X - X₀) - s) more, and H is taken at the iterate. The formulas take one element or, as lanes, four.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from chasles.force.bushing import (
    PUSH,
    SYMMETRIC,
    Deflection,
    four_motions,
    four_of,
    frame_at,
    further,
    push_four,
    push_two,
    relative_motion,
    symmetric_at,
    wrenches_of,
)
from chasles.force.table import FORCE, FRAME, motion_at, vector_at
from chasles.kernel.algebra import (
    add,
    dot,
    force_cross,
    mat_add,
    mat_scale,
    neg,
    scale,
    skew,
    skew_mul,
    sub,
    transpose,
)
from chasles.kernel.gather import gather_rows
from chasles.kernel.policy import kernel
from chasles.kernel.rows import store_rows
from chasles.kernel.tiles import (
    inverse6_symmetric,
    mat_sub,
    mul_skew,
    symmetric_times,
    t_mul,
    tiles_t_times,
    times_tiles,
)
from chasles.kernel.workspace import layout

# rows have both bodies, in `third` whether there is damping, and in `fourth` which stress is taken.
# Numbers: frames on both bodies, tiles of F₀, M and the damping of X', then X₀, the stress if given, and c
RODS = layout(
    "RODS",
    first=FRAME.size,
    second=FRAME.size,
    flexibility=SYMMETRIC.size,
    compliance=SYMMETRIC.size,
    damping=SYMMETRIC.size,
    rest=6,
    stress=6,
    bend=1,
)
TWO, NINES, LAST = 2 * FRAME.size, SYMMETRIC.size, 13  # literals, as `gather_rows` takes them; the last from `rest` on
# which stress is taken: that of X, a given one, or the latter without what its misfit adds to the forces
OWN_STRESS, GIVEN_STRESS, STRESS_ALONE = range(3)


class ElementNumbers(NamedTuple):
    """The numbers of an element; pairs and tiles."""

    first: Any
    second: Any
    flexibility: Any
    compliance: Any
    damping: Any
    rest: Any
    stress: Any
    bend: Any


class Bending(NamedTuple):
    """The law of an element at a state: ad_X M (four tiles), F⁻¹ (three), the stress of X and the one that is taken,
    y, and the gradient at the latter."""

    carried: Any
    stiffness: Any
    own: Any
    stress: Any
    y: Any
    gradient: Any


@kernel
def element_at(values, at):
    """The numbers of one element."""
    return ElementNumbers(
        frame_at(values, at + RODS.first),
        frame_at(values, at + RODS.second),
        symmetric_at(values, at + RODS.flexibility),
        symmetric_at(values, at + RODS.compliance),
        symmetric_at(values, at + RODS.damping),
        (vector_at(values, at + RODS.rest), vector_at(values, at + RODS.rest + 3)),
        (vector_at(values, at + RODS.stress), vector_at(values, at + RODS.stress + 3)),
        values[at + RODS.bend],
    )


@kernel
def three_tiles(m):
    return m[0:9], m[9:18], m[18:27]


@kernel
def four_elements(table, k, count, values):
    """The numbers of up to four elements from row k on, as lanes."""
    places = four_of(table, k, count, FORCE.numbers)
    f = gather_rows(values, places, TWO)
    flexibility = three_tiles(gather_rows(values, further(places, RODS.flexibility), NINES))
    compliance = three_tiles(gather_rows(values, further(places, RODS.compliance), NINES))
    damping = three_tiles(gather_rows(values, further(places, RODS.damping), NINES))
    x = gather_rows(values, further(places, RODS.rest), LAST)
    frames = (f[0:9], f[9:12]), (f[12:21], f[21:24])
    return ElementNumbers(*frames, flexibility, compliance, damping, (x[0:3], x[3:6]), (x[6:9], x[9:12]), x[12])


@kernel
def ad_times(X, m):
    """ad_X times a symmetric matrix: four tiles."""
    (w, v), (aa, al, ll) = X, m
    la = mat_add(skew_mul(v, aa), skew_mul(w, transpose(al)))
    return skew_mul(w, aa), skew_mul(w, al), la, mat_add(skew_mul(v, al), skew_mul(w, ll))


@kernel
def flexibility_at(element, X, carried):
    """F(X); carried: ad_X M."""
    (w, v), (aa, al, ll), c, (n, o, p, q) = X, element.flexibility, element.bend, carried
    return (
        mat_sub(aa, mat_scale(c, mul_skew(n, w))),
        mat_sub(al, mat_scale(c, mat_add(mul_skew(n, v), mul_skew(o, w)))),
        mat_sub(ll, mat_scale(c, mat_add(mul_skew(p, v), mul_skew(q, w)))),
    )


@kernel
def bending(element, X, given):
    """The law of an element at X, with the stress that belongs to it, or a given one."""
    carried = ad_times(X, element.compliance)
    stiffness = inverse6_symmetric(flexibility_at(element, X, carried))
    rest, c = element.rest, element.bend
    own = symmetric_times(stiffness, (sub(X[0], rest[0]), sub(X[1], rest[1])))
    stress = own if given == OWN_STRESS else element.stress
    t, f = force_cross(X, stress)
    y = symmetric_times(element.compliance, (neg(t), neg(f)))
    t, f = force_cross(y, stress)
    gradient = sub(stress[0], scale(c, t)), sub(stress[1], scale(c, f))
    return Bending(carried, stiffness, own, stress, y, gradient)


@kernel
def strain_map(element, law):
    """B: how the misfit X - X₀ - F(X) s changes with X, as four tiles."""
    c, (n, o, p, q), (m, f), (a, b) = element.bend, law.carried, law.stress, law.y
    turn = skew(scale(c, a))
    turn = (turn[0] + 1.0, *turn[1:4], turn[4] + 1.0, *turn[5:8], turn[8] + 1.0)
    return (
        mat_sub(turn, mat_scale(c, mat_add(mul_skew(n, m), mul_skew(o, f)))),
        mat_scale(-c, mul_skew(n, f)),
        mat_sub(skew(scale(c, b)), mat_scale(c, mat_add(mul_skew(p, m), mul_skew(q, f)))),
        mat_sub(turn, mat_scale(c, mul_skew(p, f))),
    )


@kernel
def law_of(element, X, law):
    """H: the second derivatives of the energy, three tiles."""
    B, (m, f), (aa, al, ll) = strain_map(element, law), law.stress, element.compliance
    (a, b, c, d), (e, g, h, i) = B, times_tiles(law.stiffness, B)
    ma = mat_add(mul_skew(aa, m), mul_skew(al, f))  # M C
    mb, mc, md = mul_skew(aa, f), mat_add(mul_skew(transpose(al), m), mul_skew(ll, f)), mul_skew(transpose(al), f)
    more = (
        mat_add(skew_mul(m, ma), skew_mul(f, mc)),
        mat_add(skew_mul(m, mb), skew_mul(f, md)),
        skew_mul(f, mb),
    )
    return (
        mat_add(mat_add(t_mul(a, e), t_mul(c, h)), mat_scale(element.bend, more[0])),
        mat_add(mat_add(t_mul(a, g), t_mul(c, i)), mat_scale(element.bend, more[1])),
        mat_add(mat_add(t_mul(b, g), t_mul(d, i)), mat_scale(element.bend, more[2])),
    )


@kernel
def bent(element, first, second, given):
    """An element between bodies with these motions, and its law."""
    moved = relative_motion((element.first, element.second), first, second)
    law, drag = bending(element, moved[2], given), symmetric_times(element.damping, moved[7])
    return Deflection(*moved, law.gradient, drag), law  # type: ignore[call-arg]  # eight of them


@kernel
def pushed(element, at, law, given):
    """Wrenches on both bodies, power of the damping and energy."""
    if given == GIVEN_STRESS:
        off = sub(law.own[0], law.stress[0]), sub(law.own[1], law.stress[1])
        more = tiles_t_times(strain_map(element, law), off)
        pull = add(law.gradient[0], more[0]), add(law.gradient[1], more[1])
        known = at.frame, at.pose, at.X, at.map, at.coefficients, at.twist, at.carried, at.rate
        at = Deflection(*known, pull, at.drag)
    on_first, on_second, power = wrenches_of((element.first, element.second), at)
    apart = sub(at.X[0], element.rest[0]), sub(at.X[1], element.rest[1])
    return on_first, on_second, power, 0.5 * (dot(apart[0], law.own[0]) + dot(apart[1], law.own[1]))


@kernel
def add_rod(table, row, values, at, states, stride, wrenches):
    """An element of a rod; returns (power of its damping, stored energy)."""
    i, j, element = table[row + FORCE.first], table[row + FORCE.second], element_at(values, at)
    moved, law = bent(element, motion_at(states, stride, i), motion_at(states, stride, j), OWN_STRESS)
    on_first, on_second, power, energy = pushed(element, moved, law, OWN_STRESS)
    push_two(table, row, wrenches, on_first, on_second)
    return power, energy


@kernel
def add_rods(table, k, count, values, states, stride, wrenches, scratch):
    """Up to four elements of rods, from row k on; returns (power of their damping, stored energy)."""
    first, second = four_of(table, k, count, FORCE.first), four_of(table, k, count, FORCE.second)
    element, given = four_elements(table, k, count, values), four_of(table, k, count, FORCE.fourth)[0]
    at, law = bent(element, four_motions(first, states, stride), four_motions(second, states, stride), given)
    on_first, on_second, power, energy = pushed(element, at, law, given)
    store_rows(scratch, 0, PUSH.size, (*on_first[0], *on_first[1], *on_second[0], *on_second[1], power, energy))
    return push_four(table, k, count, wrenches, scratch)
