"""Mass and Coriolis matrix of a whole tree in closed form, in three representations. For checking and teaching, O(n²).

With the system Jacobian J = A X of all links (`system_level.factors`), the inertias on the diagonal of M, and diagonal
matrices of the links' ad:

    body     C = Jᵀ (M J' - ad_Vᵀ M J),      J' = -A a (J - X)     mueller2018 eqs. (84), (8): (8) with J - X, see below
    spatial  C = Jᵀ (M J' - ad_Vᵀ M J),      J' = A ad_V X                the same in space, with (16), (18), (36)
    hybrid   C = Jᵀ (M J' + ad_ω M P J),     J' = (A' + A ad_ω) X         with (27) corrected and (55), P = diag(I, 0)

The mass matrix Jᵀ M J (81) is the same in all. The three C are different matrices with the same C v. Of the spatial one
M' - 2C is skew, because there M' = -ad_Vᵀ M - M ad_V for each link; of the others it is not. mueller2018 has the first
and says that similar expressions can be derived for the others.
(8) as printed, with J for J - X, holds for joints with one freedom only: for several columns ad_(X_i v_i) X_i does not
vanish, only its product with v_i does. All is for links, which have one elementary joint each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import se3
from chasles.relative import system_level
from chasles.relative.system_level import Factors
from chasles.relative.tables import CONSTANT, GRAVITY, LINK, link_table

if TYPE_CHECKING:
    from chasles.relative.mechanism import Mechanism

FORMS = ("body", "spatial", "hybrid")


def mass_matrix(mechanism: Mechanism, q: ArrayLike, representation: str = "body") -> np.ndarray:
    """M(q), (nv, nv), as JᵀMJ with the armatures: mueller2018 eq. (81), in a representation."""
    _check("mass_matrix", representation)
    parts = system_level.factors(mechanism, q, representation)
    J, M = parts.jacobian, inertias(mechanism, parts, representation)
    return J.T @ M @ J + np.diag(_armatures(mechanism))


def coriolis(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, representation: str = "body") -> np.ndarray:
    """C(q, v), (nv, nv), of a representation; C v are the velocity terms."""
    _check("coriolis", representation)
    parts, speeds = system_level.factors(mechanism, q, representation), np.asarray(v, dtype=float)
    J, M = parts.jacobian, inertias(mechanism, parts, representation)
    rate = jacobian_rate(parts, speeds, representation)
    twists = (J @ speeds).reshape(-1, 6)
    if representation == "hybrid":
        spins = twists * np.repeat([1.0, 0.0], 3)
        turning = np.kron(np.eye(len(twists)), np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
        return J.T @ (M @ rate + _diagonal(spins) @ M @ turning @ J)
    return J.T @ (M @ rate - _diagonal(twists).T @ M @ J)


def jacobian_rate(parts: Factors, v: ArrayLike, representation: str = "body") -> np.ndarray:
    """Time derivative of the system Jacobian in the representation of the factors, (6n, nv)."""
    _check("jacobian_rate", representation)
    if representation == "body":
        return system_level.jacobian_rate(parts, v)
    twists = (parts.jacobian @ np.asarray(v, dtype=float)).reshape(-1, 6)
    if representation == "spatial":
        return parts.carry @ _diagonal(twists) @ parts.screws
    n = len(twists)
    carried = parts.carry.reshape(n, 6, n, 6)
    change = np.zeros_like(carried)
    for i in range(n):
        for j in range(n):
            if carried[i, :, j].any():  # the translation r_j - r_i, which changes by the difference of velocities
                change[i, :, j] = se3.ad(np.concatenate([np.zeros(3), twists[j, 3:] - twists[i, 3:]]))
    spins = twists * np.repeat([1.0, 0.0], 3)
    return (change.reshape(6 * n, 6 * n) + parts.carry @ _diagonal(spins)) @ parts.screws


def inertias(mechanism: Mechanism, parts: Factors, representation: str = "body") -> np.ndarray:
    """The block diagonal of the links' inertias in a representation, (6n, 6n): mueller2018 eqs. (64), (71a), (76a)."""
    n = len(parts.poses)
    body = system_level.inertias(mechanism).reshape(n, 6, n, 6)
    matrix = np.zeros_like(body)
    for i, pose in enumerate(parts.poses):
        back = np.linalg.inv(system_level.conversion(pose, representation))
        matrix[i, :, i] = back.T @ body[i, :, i] @ back
    return matrix.reshape(6 * n, 6 * n)


def _check(function: str, representation: str) -> None:
    if representation not in FORMS:
        raise ValueError(f"{function}: {representation!r} has no closed form here; it is one of {', '.join(FORMS)}")


def _diagonal(twists: np.ndarray) -> np.ndarray:
    """The block diagonal of ad of twists (n, 6)."""
    n = len(twists)
    matrix = np.zeros((n, 6, n, 6))
    for i, twist in enumerate(twists):
        matrix[i, :, i] = se3.ad(twist)
    return matrix.reshape(6 * n, 6 * n)


def _armatures(mechanism: Mechanism) -> np.ndarray:
    """The rotor inertia that each velocity feels."""
    values = np.zeros(mechanism.nv)
    constants = mechanism.tree.numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)
    for row, constant in zip(link_table(mechanism.tree.topology), constants, strict=True):
        values[row[LINK.velocity]] = constant[CONSTANT.armature]
    return values
