"""Mass matrix and derivatives of the dynamics of trees some of whose joints follow others, as fast as those of trees.

With the constant G of `relative.dependence`, forces on the independent coordinates are Gᵀ of those on all joints, so
their derivatives are Gᵀ ∂Q/∂q G. Each pair of joints on one way to the ground has its numbers (`derivative.inverse`),
times both ratios, added where the two depend on. The mass matrix GᵀMG is factored in the order of
`relative.factoring`, in which it looks like that of a tree: so accelerations have derivatives by the same solver.
"""

from __future__ import annotations

from chasles.kernel.algebra import force_cross
from chasles.kernel.lanes import fma, like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load6
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.coriolis import dot6
from chasles.relative.derivative.factor import COLUMNS, after_run, factor, invert, next_run, solve_negative
from chasles.relative.derivative.gather import (
    DRIFT,
    DRIFT_RATE,
    LOADED,
    SCREW_NUMBERS,
    SWING,
    block_at,
    gather,
    screws_at,
    twice_b,
)
from chasles.relative.forward import LIMB
from chasles.relative.forward_dependent import forward_dynamics_dependent
from chasles.relative.inverse_spatial import add6
from chasles.relative.mass import COMPOSITE, columns_at, composite_momentum, gather_composites
from chasles.relative.open_terms import GROUP_TERM, add_to
from chasles.relative.tables import (
    CONSTANT,
    HEAD,
    constants_of,
    link,
    link_of_velocity,
    links_of,
    velocities_of,
)

accelerate = forward_dynamics_dependent.kernel
LINKS = max(LIMB.size, LOADED.size)  # the two algorithms use the same workspace one after the other
GROUPS = f"{GROUP_TERM.size}*places+pairs+2*groups"


@kernel
def clear(matrix, n, z):
    for k in range(n * n):
        store(matrix, k, like(0.0, z))


@kernel
def add_armatures(topology, numbers, column, ratios, n, matrix, z):
    for r in range(topology[HEAD.velocities]):
        armature, at = numbers[constants_of(link_of_velocity(topology, r)) + CONSTANT.armature], (n + 1) * column[r]
        weight = like(ratios[r] * ratios[r], z)
        store(matrix, at, fma(weight, like(armature, z), load(matrix, at, z)))  # lanes shall have the same bits


@kernel
def add_pairs(topology, r, iv, end, column, ratios, n, vectors, work, dq, dv, da, z):
    """What `derivative.inverse.fill` writes, added where the joints depend on."""
    IS, H, P, C = vectors
    screws, own = screws_at(topology), column[r]
    drifts, rates, swings = block_at(topology, DRIFT), block_at(topology, DRIFT_RATE), block_at(topology, SWING)
    k = end - 1
    while k != -1:
        first, last = next_run(topology, k)
        for s in range(first, last + 1):
            S, other, weight = load6(work, screws + 6 * s, z), column[s], ratios[r] * ratios[s]
            inertia, row = weight * dot6(S, IS), own * n + other
            by_v = dot6(S, H) + dot6(load6(work, swings + 6 * s, z), IS)
            by_q = dot6(load6(work, rates + 6 * s, z), IS) + dot6(load6(work, drifts + 6 * s, z), H)
            add_to(da, row, inertia, z)
            add_to(dv, row, weight * by_v, z)
            add_to(dq, row, weight * by_q, z)
            if s < iv:
                row = other * n + own
                add_to(da, row, inertia, z)
                add_to(dv, row, weight * dot6(S, C), z)
                add_to(dq, row, weight * dot6(S, P), z)
        k = after_run(topology, k, first)


@algorithm(
    work=f"{LOADED.size}*links+{SCREW_NUMBERS}*nv",
    q="nq",
    v="nv",
    a="nv",
    wrenches="6*links",
    column=fixed(whole=True),
    ratios=fixed(),
    dq=out("own*own"),
    dv=out("own*own"),
    da=out("own*own"),
)
def inverse_derivatives_dependent(topology, numbers, q, v, a, wrenches, column, ratios, dq, dv, da, work, z):
    """∂Q/∂q, ∂Q/∂v and ∂Q/∂a = M of the independent coordinates by rows, from q, v and a of all joints. `column` says
    for each velocity which it depends on, and then how many there are."""
    n = column[topology[HEAD.velocities]]
    clear(dq, n, z)
    clear(dv, n, z)
    clear(da, n, z)
    gather(topology, numbers, q, v, a, wrenches, work, z)
    screws, drifts = screws_at(topology), block_at(topology, DRIFT)
    rates, swings = block_at(topology, DRIFT_RATE), block_at(topology, SWING)
    for i in range(links_of(topology)):
        _, kind, _, iv = link(topology, i)
        here, end = i * LOADED.size, iv + velocities_of(kind)
        for r in range(iv, end):
            S, drift = load6(work, screws + 6 * r, z), load6(work, drifts + 6 * r, z)
            IS = composite_momentum(work, here, S, z)
            B, H = twice_b(work, here, S, z)
            C = add6(B, composite_momentum(work, here, load6(work, swings + 6 * r, z), z))
            P = force_cross(S, load6(work, here + LOADED.wrench, z))
            P = add6(P, composite_momentum(work, here, load6(work, rates + 6 * r, z), z))
            P = add6(P, twice_b(work, here, drift, z)[0])
            add_pairs(topology, r, iv, end, column, ratios, n, (IS, H, P, C), work, dq, dv, da, z)
    add_armatures(topology, numbers, column, ratios, n, da, z)


@algorithm(
    work=f"{COMPOSITE.size}*links+6*nv",
    q="nq",
    column=fixed(whole=True),
    ratios=fixed(),
    matrix=out("own*own"),
)
def mass_matrix_dependent(topology, numbers, q, column, ratios, matrix, work, z):
    """The mass matrix of the independent coordinates by rows, from q of all joints; `column` as above."""
    n, columns = column[topology[HEAD.velocities]], columns_at(topology)
    clear(matrix, n, z)
    gather_composites(topology, numbers, q, work, z)
    for r in range(topology[HEAD.velocities]):
        here, own = link_of_velocity(topology, r) * COMPOSITE.size, column[r]
        IS, k = composite_momentum(work, here, load6(work, columns + 6 * r, z), z), r
        while k != -1:
            first, last = next_run(topology, k)
            for s in range(first, last + 1):
                inertia = ratios[r] * ratios[s] * dot6(load6(work, columns + 6 * s, z), IS)
                add_to(matrix, own * n + column[s], inertia, z)
                if s != r:
                    add_to(matrix, column[s] * n + own, inertia, z)
            k = after_run(topology, k, first)
    add_armatures(topology, numbers, column, ratios, n, matrix, z)


differentiate, fill_mass_matrix = inverse_derivatives_dependent.kernel, mass_matrix_dependent.kernel


@algorithm(
    work=f"{COMPOSITE.size}*links+6*nv+{COLUMNS}*own+4",
    q="nq",
    column=fixed(whole=True),
    ratios=fixed(),
    tree=fixed(whole=True),
    ends=fixed(whole=True),
    inverse=out("own*own"),
)
def inverse_mass_matrix_dependent(topology, numbers, q, column, ratios, tree, ends, inverse, work, z):
    """The inverse of the mass matrix by rows, in the order of `tree` and `ends`, those of `relative.factoring`."""
    fill_mass_matrix(topology, numbers, q, column, ratios, inverse, work, z)
    factor(tree, inverse, z)
    invert(tree, ends, inverse, work, columns_at(topology) + 6 * topology[HEAD.velocities], z)


@algorithm(
    work=f"{LINKS}*slots+{GROUPS}+{SCREW_NUMBERS}*nv+{COLUMNS}*own+4",
    q="nq",
    v="nv",
    tau="nv",
    wrenches="6*links",
    plan=fixed(whole=True),
    ratios=fixed(),
    column=fixed(whole=True),
    tree=fixed(whole=True),
    ends=fixed(whole=True),
    a=out("nv"),
    dq=out("own*own"),
    dv=out("own*own"),
    dtau=out("own*own"),
)
def forward_derivatives_dependent(
    topology, numbers, q, v, tau, wrenches, plan, ratios, column, tree, ends, a, dq, dv, dtau, work, z
):
    """a of all joints and ∂a/∂q, ∂a/∂v, ∂a/∂τ of the independent ones by rows, in the order of `tree` and `ends`."""
    place = LINKS * links_of(topology) + SCREW_NUMBERS * topology[HEAD.velocities]
    accelerate(topology, numbers, q, v, tau, wrenches, plan, ratios, a, work, z)
    differentiate(topology, numbers, q, v, a, wrenches, column, ratios, dq, dv, dtau, work, z)
    factor(tree, dtau, z)
    solve_negative(tree, ends, dtau, dq, dv, work, place, z)
    invert(tree, ends, dtau, work, place, z)
