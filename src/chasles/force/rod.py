"""Elements of rods: an energy of the relative pose of two nodes, of fourth order.

Between nodes with frames A and B, X = log(A⁻¹B) and X₀ in the reference, an element of length L stores
1/2 (X - X₀)ᵀ F⁻¹ (X - X₀) with its flexibility

    F(X) = F₀ + c ad_X M ad_Xᵀ,    c = L/12,    M the compliance of the section (6x6), F₀ = L M for a uniform element

In an element the wrench is constant in space, so the stress s obeys s' = ad_ξᵀ s and the strain is not constant; the
second term is what Magnus' expansion makes of that. With c = 0 the strain is constant: the element is a helix, of
second order. With the stress s = F⁻¹ (X - X₀) the energy has

    gradient  g = s + c ad_yᵀ s,   y = M ad_Xᵀ s
    second derivatives  H = Bᵀ F⁻¹ B + c C M C,   B = 1 + c (ad_y - ad_X M C),   C = [m~ f~; f~ 0] of s = (m, f)

The reference may change with time (swelling, actuation): X₀ follows an intrinsic strain ε(t), added to the strain ξ₀ of
the curve. With both at the two points of Gauss, Magnus' expansion of g' = g (ξ₀ + ε) gives, beside what ξ₀ alone does,

    L/2 (ε₁ + ε₂) + (√3/12) L² ([ξ₁, ε₂] + [ε₁, ξ₂] + [ε₁, ε₂])

Damping then follows X' - X₀', and the power of what changes the reference is -(s + drag)ᵀ X₀'.

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
from chasles.force.table import FORCE, FORCES, FRAME, motion_at, vector_at
from chasles.kernel.address import invoke
from chasles.kernel.algebra import (
    add,
    add_scaled,
    dot,
    force_cross,
    mat_add,
    mat_scale,
    motion_cross,
    neg,
    scale,
    skew,
    skew_mul,
    sub,
    transpose,
)
from chasles.kernel.dense import inverse6_symmetric
from chasles.kernel.gather import gather_rows
from chasles.kernel.lanes import primal
from chasles.kernel.policy import kernel
from chasles.kernel.rows import store_rows
from chasles.kernel.tiles import mat_sub, mul_skew, symmetric_times, t_mul, tiles_t_times, times_tiles
from chasles.kernel.workspace import layout, load6, store6

# rows have both bodies, in `third` whether there is damping, and in `fourth` which stress is taken.
# Numbers: frames on both bodies, tiles of F₀, M and the damping of X', then X₀, the stress if given, c, and X₀'
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
    rate=6,
)
# an element whose reference changes has these behind: X₀ of the curve, ξ₀ at both points, the length, what share of the
# strain is taken (statics), and where the programs of the six strains at both points begin and how long they are
ACTUATED = layout("ACTUATED", rest=6, first=6, second=6, length=1, share=1, first_programs=12, second_programs=12)
MAGNUS = 3.0**0.5 / 12.0
TWO, NINES, LAST = 2 * FRAME.size, SYMMETRIC.size, 19  # literals, as `gather_rows` takes them; the last from `rest` on
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
    rate: Any


class Bending(NamedTuple):
    """The law of an element at a state: ad_X M (four tiles), F⁻¹ (three), the stress of X and the one that is taken,
    y, and the gradient at the latter."""

    carried: Any
    stiffness: Any
    elastic: Any
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
        (vector_at(values, at + RODS.rate), vector_at(values, at + RODS.rate + 3)),
    )


@kernel
def intrinsic_strain(t, law, values, at, programs, share, scratch):
    """A share of six strains and their rates, by programs whose places are in the numbers of an element."""
    x, out, found = scratch[0:1], scratch[1:4], scratch[4:16]
    for k in range(6):
        begin, count = at + int(primal(values[programs + 2 * k])), int(primal(values[programs + 2 * k + 1]))
        out[0], out[1] = 0.0, 0.0
        if count > 0:
            invoke(law, t, x, x, values[begin : begin + count], out, 1, 1, count, 3)
        found[k], found[6 + k] = share * out[0], share * out[1]
    return load6(found, 0, 0.0), load6(found, 6, 0.0)


@kernel
def magnus_sum(L, first, second, a, b, da, db):
    """L/2 (da + db) + c L² ([first, db] + [da, second] + [da, b] + [a, db])."""
    c = MAGNUS * L * L
    u, w = motion_cross(first, db), motion_cross(da, second)
    x, y = motion_cross(da, b), motion_cross(a, db)
    angular = add(add(u[0], w[0]), add(x[0], y[0]))
    linear = add(add(u[1], w[1]), add(x[1], y[1]))
    return (
        add_scaled(scale(0.5 * L, add(da[0], db[0])), c, angular),
        add_scaled(scale(0.5 * L, add(da[1], db[1])), c, linear),
    )


@kernel
def reference_at(t, table, row, values, at, scratch):
    """X₀ and its rate of an element whose reference changes, at a time."""
    own, law = at + RODS.size, table[row + FORCE.law]
    first, second = load6(values, own + ACTUATED.first, 0.0), load6(values, own + ACTUATED.second, 0.0)
    rest, L = load6(values, own + ACTUATED.rest, 0.0), values[own + ACTUATED.length]
    share = values[own + ACTUATED.share]
    a, da = intrinsic_strain(t, law, values, at, own + ACTUATED.first_programs, share, scratch)
    b, db = intrinsic_strain(t, law, values, at, own + ACTUATED.second_programs, share, scratch)
    half = scale(0.5, a[0]), scale(0.5, a[1])  # [a, b] stands twice in the sum
    other = scale(0.5, b[0]), scale(0.5, b[1])
    more = magnus_sum(L, first, second, half, other, a, b)
    return (add(rest[0], more[0]), add(rest[1], more[1])), magnus_sum(L, first, second, a, b, da, db)


@kernel
def refer(t, table, k, count, values, scratch):
    """Put X₀ at a time and its rate into the numbers of up to four elements from row k on, where they change."""
    for r in range(count):
        row = FORCES.size + (k + r) * FORCE.size
        if table[row + FORCE.law] != 0:
            at = table[row + FORCE.numbers]
            rest, rate = reference_at(t, table, row, values, at, scratch)
            store6(values, at + RODS.rest, rest)
            store6(values, at + RODS.rate, rate)


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
    return ElementNumbers(
        *frames, flexibility, compliance, damping, (x[0:3], x[3:6]), (x[6:9], x[9:12]), x[12], (x[13:16], x[16:19])
    )


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
    elastic = symmetric_times(stiffness, (sub(X[0], rest[0]), sub(X[1], rest[1])))
    stress = elastic if given == OWN_STRESS else element.stress
    t, f = force_cross(X, stress)
    y = symmetric_times(element.compliance, (neg(t), neg(f)))
    t, f = force_cross(y, stress)
    gradient = sub(stress[0], scale(c, t)), sub(stress[1], scale(c, f))
    return Bending(carried, stiffness, elastic, stress, y, gradient)


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
    law, rate = bending(element, moved[2], given), moved[7]
    drag = symmetric_times(element.damping, (sub(rate[0], element.rate[0]), sub(rate[1], element.rate[1])))
    return Deflection(*moved, law.gradient, drag), law  # type: ignore[call-arg]  # eight of them


@kernel
def actuation(element, law):
    """How fast the energy grows because the reference changes: -sᵀ X₀'."""
    return -dot(law.elastic[0], element.rate[0]) - dot(law.elastic[1], element.rate[1])


@kernel
def pushed(element, at, law, given):
    """Wrenches on both bodies, power of the damping and of what changes the reference, and energy."""
    if given == GIVEN_STRESS:
        off = sub(law.elastic[0], law.stress[0]), sub(law.elastic[1], law.stress[1])
        more = tiles_t_times(strain_map(element, law), off)
        pull = add(law.gradient[0], more[0]), add(law.gradient[1], more[1])
        known = at.frame, at.pose, at.X, at.map, at.coefficients, at.twist, at.carried, at.rate
        at = Deflection(*known, pull, at.drag)
    on_first, on_second, power = wrenches_of((element.first, element.second), at)
    power = power + actuation(element, law)
    apart = sub(at.X[0], element.rest[0]), sub(at.X[1], element.rest[1])
    return on_first, on_second, power, 0.5 * (dot(apart[0], law.elastic[0]) + dot(apart[1], law.elastic[1]))


@kernel
def add_rod(t, table, row, values, at, states, stride, wrenches, scratch):
    """An element of a rod; returns (power of its damping and actuation, stored energy)."""
    i, j, element = table[row + FORCE.first], table[row + FORCE.second], element_at(values, at)
    if table[row + FORCE.law] != 0:
        rest, rate = reference_at(t, table, row, values, at, scratch)
        known = element.first, element.second, element.flexibility, element.compliance, element.damping
        element = ElementNumbers(*known, rest, element.stress, element.bend, rate)
    moved, law = bent(element, motion_at(states, stride, i), motion_at(states, stride, j), OWN_STRESS)
    on_first, on_second, power, energy = pushed(element, moved, law, OWN_STRESS)
    push_two(table, row, wrenches, on_first, on_second)
    return power, energy


@kernel
def add_rods(t, table, k, count, values, states, stride, wrenches, scratch):
    """Up to four elements of rods, from row k on; returns (power of their damping and actuation, stored energy)."""
    refer(t, table, k, count, values, scratch)
    first, second = four_of(table, k, count, FORCE.first), four_of(table, k, count, FORCE.second)
    element, given = four_elements(table, k, count, values), four_of(table, k, count, FORCE.fourth)[0]
    at, law = bent(element, four_motions(first, states, stride), four_motions(second, states, stride), given)
    on_first, on_second, power, energy = pushed(element, at, law, given)
    store_rows(scratch, 0, PUSH.size, (*on_first[0], *on_first[1], *on_second[0], *on_second[1], power, energy))
    return push_four(table, k, count, wrenches, scratch)
