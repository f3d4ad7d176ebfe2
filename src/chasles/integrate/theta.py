"""The symplectic theta methods (15)-(17) of celledoni2022 on T*SO(3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.integrate.cotangent import back, hamiltonian_field, load4, store_state
from chasles.integrate.newton import COUNTS, newton
from chasles.integrate.status import DONE, NO_CONVERGENCE
from chasles.kernel.algebra import add, add_scaled, scale
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, store3
from chasles.lie import quaternion, so3


@dataclass(frozen=True)
class SymplecticTheta:
    """The symplectic methods (15)-(17) of celledoni2022; theta = 1/2 is symmetric and of order 2, others are of
    order 1.
    """

    theta: float = 0.5

    def __post_init__(self):
        if not np.isfinite(self.theta):
            raise ValueError(f"SymplecticTheta: theta {self.theta}; expected a finite number")

    @property
    def order(self) -> int:
        return 2 if self.theta == 0.5 else 1


@kernel
def theta_residual(context, z, r):
    """Equations (15), (16) of celledoni2022 for (xi, n), both in the axes of the body at the start of the step.

    In those axes Newton's matrix changes little from step to step. On so(3) dexp*_u = dexp_{-u} and Ad*_exp(u) n =
    exp(u)^T n.
    """
    theta, t, h, y, point, f, source = context
    q, momentum = load4(y, 0), load3(y, 4, 0.0)
    xi, n = quaternion.rotate(q, load3(z, 0, 0.0)), quaternion.rotate(q, load3(z, 3, 0.0))
    part = scale(theta, xi)
    e = quaternion.exp(part)
    pulled = back(e, n)
    middle = add_scaled(so3.dexp_apply(xi, add(momentum, pulled)), -theta, so3.dexp_apply(part, pulled))
    store_state(point, quaternion.product(e, q), middle)
    hamiltonian_field(source, t + theta * h, point, f)
    store3(r, 0, add_scaled(load3(z, 0, 0.0), -h, back(q, load3(f, 0, 0.0))))
    store3(r, 3, add_scaled(load3(z, 3, 0.0), -h, back(q, load3(f, 3, 0.0))))


@kernel
def theta_update(theta, y, z):
    """Equation (17) of celledoni2022."""
    q, momentum = load4(y, 0), load3(y, 4, 0.0)
    xi, n = quaternion.rotate(q, load3(z, 0, 0.0)), quaternion.rotate(q, load3(z, 3, 0.0))
    e = quaternion.exp(xi)
    moved = add(quaternion.rotate(e, momentum), quaternion.rotate(quaternion.exp(scale(1.0 - theta, xi)), n))
    store_state(y, quaternion.keep_unit(quaternion.product(e, q)), moved)


@kernel
def theta_guess(context, z):
    """Take the field at the start of the step."""
    _, t, h, y, _, f, source = context
    hamiltonian_field(source, t, y, f)
    q = load4(y, 0)
    store3(z, 0, scale(h, back(q, load3(f, 0, 0.0))))
    store3(z, 3, scale(h, back(q, load3(f, 3, 0.0))))


@kernel
def theta_step(theta, k, t, h, y, solver, source, memory, counts, history):
    """One part of a step; its own unknowns and Newton's matrix are the k-th ones of `solver`."""
    z, lu, pivots, valid, groups = solver
    point, f, base, sizes = memory[:7], memory[7:13], memory[13:15], memory[15:17]
    r, work = memory[17:23], memory[23:35]
    unknowns, usable = z[6 * k : 6 * k + 6], valid[k : k + 1]
    matrix = lu[36 * k : 36 * k + 36], pivots[6 * k : 6 * k + 6], usable
    context = theta, t, h, y, point, f, source
    base[0], base[1] = 1.0, max(abs(y[4]), abs(y[5]), abs(y[6]))
    status = NO_CONVERGENCE
    first = counts[COUNTS.step] == 0
    for attempt in range(1 if first else 2):
        if first or attempt == 1:  # else the solution of the step before is the guess
            theta_guess(context, unknowns)
            counts[COUNTS.evaluations] += 1
            usable[0] = 0
        status = newton(theta_residual, context, unknowns, r, matrix, groups, base, sizes, counts, history, work, 6)
        if status == DONE:
            break
    if status == DONE:
        theta_update(theta, y, unknowns)
    return status
