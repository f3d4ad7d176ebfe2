"""Mechanical systems on T*SO(3), for symplectic methods.

A state is that of Space("t*so3"): the unit quaternion of the rotation Q and the right-trivialized momentum pi, the
angular momentum in space axes (celledoni2022 section 3.4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from chasles.integrate.problem import LieODE
from chasles.integrate.space import Space
from chasles.integrate.vector_field import Field, call
from chasles.kernel.algebra import cross, mul, sub
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store3
from chasles.lie import quaternion

SPACE = Space("t*so3")
HAMILTONIAN, RIGID_BODY = range(2)  # problems

# ---------------------------------------------------------------- problems


@dataclass(frozen=True)
class HamiltonianOnSO3:
    """A Hamiltonian H(Q, pi) on T*SO(3), right-trivialized, by its field (celledoni2022 eq. (14)).

    `field` gives, at the state (quaternion of Q, pi), six numbers: omega = dH/dpi and nu = -R_Q^* dH/dQ, the latter at
    FIXED pi. For the heavy top nu is the torque minus omega x pi, not the torque alone. It is called as other fields
    are (see `LieODE`).
    """

    field: Field | Callable
    parameters: Sequence[float] | np.ndarray = ()

    @property
    def ode(self) -> LieODE:
        """The same problem for the methods of `solve`."""
        return LieODE(SPACE, self.field, self.parameters)


@dataclass(frozen=True)
class RigidBodyOnSO3:
    """A rigid body about a fixed point (or its center of mass), in a potential.

    `inertia` is that about the point, in body axes: three principal moments or a symmetric matrix [kg m²]. `torque`
    gives the torque in body axes [N m] at a time and a unit quaternion of four numbers, called as other fields are:
    torque(t, q, p, out), or torque(t, q, p) that returns it. States are (quaternion, pi) with pi the angular momentum
    in space axes.
    """

    inertia: Sequence[float] | np.ndarray
    torque: Field | Callable
    parameters: Sequence[float] | np.ndarray = ()

    @property
    def matrix(self) -> np.ndarray:
        """The inertia as a matrix, checked."""
        given = np.array(self.inertia, dtype=float)
        matrix = np.diag(given) if given.shape == (3,) else given
        good = matrix.shape == (3, 3) and np.isfinite(matrix).all()
        if not good or abs(matrix - matrix.T).max() > 1e-12 * abs(matrix).max():
            raise ValueError("RigidBodyOnSO3: inertia must be three numbers or a symmetric matrix of shape (3, 3)")
        moments = np.linalg.eigvalsh(matrix)
        if not moments[0] > 0:
            raise ValueError(f"RigidBodyOnSO3: principal moments {moments}; expected positive numbers")
        return 0.5 * (matrix + matrix.T)


# ---------------------------------------------------------------- states and fields


@kernel
def load4(y, at):
    return y[at], y[at + 1], y[at + 2], y[at + 3]


@kernel
def store_state(y, q, momentum):
    for k in range(4):
        y[k] = q[k]
    store3(y, 4, momentum)


@kernel
def back(q, v):
    """R(q)^T v."""
    return quaternion.rotate(quaternion.conjugate(q), v)


@kernel
def hamiltonian_field(source, t, y, f):
    """f = (omega, nu) of celledoni2022 eq. (14) at a state (Q, pi): the field itself, or that of a rigid body from its
    torque T,

    omega = Q I^-1 Q^T pi, nu = Q T - omega x pi. The second term is there because nu = -R_Q^* dH/dQ at fixed pi.
    """
    problem, inverse, torque, address, p = source
    if problem == HAMILTONIAN:
        call(address, t, y, p, f, 0, 7, 6, 0.0)
    else:
        call(address, t, y, p, torque, 0, 4, 3, 0.0)
        q, momentum = load4(y, 0), load3(y, 4, 0.0)
        w = quaternion.rotate(q, mul(load9(inverse, 0, 0.0), back(q, momentum)))
        store3(f, 0, w)
        store3(f, 3, sub(quaternion.rotate(q, load3(torque, 0, 0.0)), cross(w, momentum)))


@kernel(entry=True)
def field_value(problem, inverse, torque, address, p, t, y, f):
    """`hamiltonian_field` for callers in Python."""
    hamiltonian_field((problem, inverse, torque, address, p), t, y, f)
