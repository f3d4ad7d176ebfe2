"""Derivatives of forward dynamics with respect to q, v and the forces.

The accelerations a(q, v, τ) solve Q(q, v, a) = τ, so with the derivatives of inverse dynamics at these accelerations

    ∂a/∂q = -M⁻¹ ∂Q/∂q        ∂a/∂v = -M⁻¹ ∂Q/∂v        ∂a/∂τ = M⁻¹

(carpentier2018), solved with the factors of M that have entries along the ways to the ground only.
"""

from __future__ import annotations

from chasles.kernel.lanes import like, store
from chasles.kernel.policy import kernel
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.derivative.factor import COLUMNS, factor, invert, solve_negative
from chasles.relative.derivative.gather import LOADED, SCREW_NUMBERS
from chasles.relative.derivative.inverse import inverse_derivatives
from chasles.relative.forward import LIMB, forward_dynamics
from chasles.relative.tables import HEAD, links_of

LINKS = max(LIMB.size, LOADED.size)  # the two algorithms use the same workspace one after the other
accelerate, differentiate = forward_dynamics.kernel, inverse_derivatives.kernel


@kernel
def clear(matrix, nv, z):
    for k in range(nv * nv):
        store(matrix, k, like(0.0, z))


@algorithm(
    work=f"{LINKS}*slots+{SCREW_NUMBERS + COLUMNS}*nv+4",
    q="nq",
    v="nv",
    tau="nv",
    wrenches="6*links",
    ends=fixed(whole=True),
    a=out("nv"),
    dq=out("nv*nv"),
    dv=out("nv*nv"),
    dtau=out("nv*nv"),
)
def forward_derivatives(topology, numbers, q, v, tau, wrenches, ends, a, dq, dv, dtau, work, z):
    """a and ∂a/∂q, ∂a/∂v, ∂a/∂τ by rows. `wrenches` on the links, in their frames at their origins, may be empty.

    `ends` is from `subtree_ends`.
    """
    nv = topology[HEAD.velocities]
    place = LINKS * (links_of(topology) + 1) + SCREW_NUMBERS * nv
    accelerate(topology, numbers, q, v, tau, wrenches, a, work, z)
    clear(dq, nv, z)  # what inverse dynamics does not write
    clear(dv, nv, z)
    differentiate(topology, numbers, q, v, a, wrenches, dq, dv, dtau, work, z)
    factor(topology, dtau, z)
    solve_negative(topology, ends, dtau, dq, dv, work, place, z)
    invert(topology, ends, dtau, work, place, z)
