"""Inertia of rigid bodies as 6x6 matrices on twists (angular, linear), and as ten parameters.

    M = [[Θ, h~], [-h~, m I]],   h = m d

with the mass m [kg], the center of mass d [m] and the rotational inertia Θ [kg m²] about the origin of the frame
(mueller2018 eq. (40)). The ten parameters are (m, h, Θxx, Θxy, Θxz, Θyy, Θyz, Θzz).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.lie import se3
from chasles.lie.arrays import real_array
from chasles.screw.frames import check_batches, rotate, rotation_and_position

_ROWS, _COLUMNS = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)
# the 24 entries of the 6x6 matrix that are not zero: row, column, which parameter, sign
_INTO, _ONTO, _FROM, _SIGN = np.array(
    [
        *[(0, 0, 4, 1), (0, 1, 5, 1), (0, 2, 6, 1), (1, 0, 5, 1), (1, 1, 7, 1), (1, 2, 8, 1)],
        *[(2, 0, 6, 1), (2, 1, 8, 1), (2, 2, 9, 1), (3, 3, 0, 1), (4, 4, 0, 1), (5, 5, 0, 1)],
        *[(0, 4, 3, -1), (0, 5, 2, 1), (1, 3, 3, 1), (1, 5, 1, -1), (2, 3, 2, -1), (2, 4, 1, 1)],
        *[(4, 0, 3, -1), (5, 0, 2, 1), (3, 1, 3, 1), (5, 1, 1, -1), (3, 2, 2, -1), (4, 2, 1, 1)],
    ]
).T
STRUCTURE_TOLERANCE = 1e-9  # relative to the largest entry
ZERO_MOMENT = 1e-13  # relative to the largest entry of the rotational inertia: what rounding leaves of a moment 0


def spatial_inertia(mass: ArrayLike, center: ArrayLike, rotational: ArrayLike, *, strict: bool = True) -> np.ndarray:
    """6x6 inertia of a body from mass [kg], center of mass [m] and rotational inertia about it [kg m²].

    rotational: (..., 3, 3), or the six numbers (xx, xy, xz, yy, yz, zz), in the axes of the frame. The result is
    physical (`check`); `strict=False` allows massless bodies, point masses and thin rods.
    """
    m = real_array("spatial_inertia", "mass", mass, ())[..., None]
    d = real_array("spatial_inertia", "center", center, (3,))
    theta = _rotational_matrix("spatial_inertia", rotational)
    check_batches("spatial_inertia", mass=m, center=d, rotational=theta[..., 0])
    batch = np.broadcast_shapes(m.shape[:-1], d.shape[:-1], theta.shape[:-2])
    parameters = np.empty((*batch, 10))
    parameters[..., :1], parameters[..., 1:4] = m, m * d
    parameters[..., 4:] = (theta + m[..., None] * _steiner(d, d))[..., _ROWS, _COLUMNS]
    matrix = from_parameters(parameters)
    check(matrix, strict=strict)
    return matrix


def _rotational_matrix(function: str, value: ArrayLike) -> np.ndarray:
    """A rotational inertia as symmetric 3x3 matrices, from these or from six numbers."""
    array = real_array(function, "rotational", value)
    if array.shape[-2:] == (3, 3):
        off = np.max(np.abs(array - np.swapaxes(array, -1, -2)), axis=(-1, -2))
        if np.any(bad := off > STRUCTURE_TOLERANCE * np.max(np.abs(array), axis=(-1, -2))):
            found = f"is not symmetric: entries differ by up to {off[bad][0]:.3g}"
            raise ValueError(f"{function}: rotational{_index(bad)} {found}")
        return array
    if array.shape[-1] != 6:
        expected = "(..., 3, 3), or (..., 6) for (xx, xy, xz, yy, yz, zz)"
        raise ValueError(f"{function}: rotational has shape {array.shape}; expected {expected}")
    return _symmetric(array)


def from_parameters(parameters: ArrayLike) -> np.ndarray:
    """6x6 inertia of ten parameters (m, h, Θxx, Θxy, Θxz, Θyy, Θyz, Θzz), Θ about the origin.

    The numbers may come from an identification: that they are physical is a question for `check`.
    """
    p = real_array("from_parameters", "parameters", parameters, (10,))
    matrix = np.zeros((*p.shape[:-1], 6, 6))
    matrix[..., _INTO, _ONTO] = p[..., _FROM] * _SIGN
    return matrix


def to_parameters(inertia: ArrayLike) -> np.ndarray:
    """The ten parameters (..., 10) of 6x6 inertias; ValueError for a matrix that is not an inertia."""
    m = real_array("to_parameters", "inertia", inertia, (6, 6))
    p = np.empty((*m.shape[:-2], 10))
    p[..., 0] = m[..., 5, 5]
    p[..., 1], p[..., 2], p[..., 3] = m[..., 2, 4], m[..., 0, 5], m[..., 1, 3]
    p[..., 4:] = m[..., _ROWS, _COLUMNS]
    off = np.max(np.abs(m - from_parameters(p)), axis=(-1, -2), initial=0.0)
    if np.any(bad := off > STRUCTURE_TOLERANCE * np.max(np.abs(m), axis=(-1, -2), initial=0.0)):
        raise ValueError(
            f"to_parameters: inertia{_index(bad)} is off the form [[Θ, h~], [-h~, m I]] by {off[bad][0]:.3g}; "
            "expected a symmetric matrix for twists (angular, linear)"
        )
    return p


def transform(inertia: ArrayLike, pose: ArrayLike) -> np.ndarray:
    """Inertia in frame a of one given in frame b: Ad⁻ᵀ M Ad⁻¹, with the pose g_ab of b in a. Source: mueller2018 eq.
    (34).

    The parallel axes theorem and the rotation of the axes at once.
    """
    p = to_parameters(inertia)
    r, position = rotation_and_position("transform", pose)
    check_batches("transform", inertia=p, pose=position)
    m, h = p[..., :1], rotate(r, p[..., 1:4])
    theta = r @ _symmetric(p[..., 4:]) @ np.swapaxes(r, -1, -2)
    # about the new origin: -(r~ h~ + h~ r~ + m r~ r~)
    theta = theta + _steiner(position, h) + _steiner(h, position) + m[..., None] * _steiner(position, position)
    moved = np.empty((*theta.shape[:-2], 10))
    moved[..., :1], moved[..., 1:4], moved[..., 4:] = m, h + m * position, theta[..., _ROWS, _COLUMNS]
    return from_parameters(moved)


def combine(inertias: ArrayLike) -> np.ndarray:
    """Inertia (..., 6, 6) of bodies (..., n, 6, 6) that are rigidly connected, all in one frame: their sum."""
    m = real_array("combine", "inertias", inertias, (6, 6))
    if m.ndim < 3:
        raise ValueError(f"combine: inertias has shape {m.shape}; expected (..., n, 6, 6)")
    return np.sum(m, axis=-3)


def pseudo_inertia(inertia: ArrayLike) -> np.ndarray:
    """4x4 pseudo-inertia [[½ tr(Θ) I - Θ, h], [hᵀ, m]]: second moments of mass; semidefinite if physical.

    It is ∫ (x, 1)(x, 1)ᵀ dm, the matrix 𝕁 in the corrected form of mueller2018 eq. (87).
    """
    p = to_parameters(inertia)
    theta = _symmetric(p[..., 4:])
    half = 0.5 * np.trace(theta, axis1=-2, axis2=-1)[..., None, None]
    result = np.empty((*p.shape[:-1], 4, 4))
    result[..., :3, :3] = half * np.eye(3) - theta
    result[..., :3, 3] = result[..., 3, :3] = p[..., 1:4]
    result[..., 3, 3] = p[..., 0]
    return result


class Principal(NamedTuple):
    """Mass [kg], principal moments (..., 3) in rising order [kg m²], pose (..., 7) of the principal frame."""

    mass: np.ndarray
    moments: np.ndarray
    pose: np.ndarray


def principal(inertia: ArrayLike) -> Principal:
    """Principal moments and axes about the center of mass; the axes are those of a right-handed frame there."""
    p = to_parameters(inertia)
    mass = p[..., 0]
    if np.any(bad := ~(mass > 0)):
        raise ValueError(f"principal: the mass of inertia{_index(bad)} is {mass[bad][0]:.6g}: no center of mass")
    center = p[..., 1:4] / mass[..., None]
    moments, axes = np.linalg.eigh(_about_center(p))
    # the frame that is nearest to the given axes among those with this order: first positive diagonals, then det = 1
    axes = axes * np.where(np.diagonal(axes, axis1=-2, axis2=-1) < 0, -1.0, 1.0)[..., None, :]
    axes[..., :, 2] *= np.sign(np.linalg.det(axes))[..., None]
    return Principal(mass, moments, pose_group.from_matrix(se3.from_parts(axes, center)))


def check(inertia: ArrayLike, *, strict: bool = True, tolerance: float = 1e-9, name: str = "inertia") -> None:
    """ValueError, with the numbers, if an inertia is not that of any distribution of mass.

    Required: positive mass, positive definite rotational inertia about the center of mass, and that no principal moment
    exceeds the sum of the others. strict=False also allows zero moments (point mass, thin rod) and a body whose
    parameters are all zero. tolerance: by how much a moment may be negative or too large, as a part of the largest
    entry of Θ; numbers from files are rounded. name: what the message calls the inertia.
    """
    parameters = to_parameters(inertia)
    for index in np.ndindex(parameters.shape[:-1]):
        if found := _violation(parameters[index], strict, tolerance):
            where = f"[{', '.join(map(str, index))}]" if index else ""
            raise ValueError(f"{name}{where} {found}")


def _violation(p: np.ndarray, strict: bool, tolerance: float) -> str | None:
    """What is not physical about ten parameters, if anything."""
    mass = p[0]
    if mass < 0:
        return f"has negative mass: {mass:.6g}"
    if mass == 0:
        if np.any(p != 0):
            rest = f"the first moment {_list(p[1:4])} and the rotational inertia {_list(p[4:])}"
            return f"has no mass, but {rest}; give the mass too"
        return "has no mass; pass strict=False if a massless body is meant" if strict else None
    low, middle, high = moments = np.linalg.eigvalsh(_about_center(p))
    size = np.max(np.abs(p[4:]))
    slack = tolerance * size
    if low < -slack:
        return f"is not positive definite about the center of mass: principal moments {_list(moments)}"
    if low + middle < high - slack:
        return (
            f"violates the triangle inequality: principal moments {_list(moments)} "
            f"({low:.6g} + {middle:.6g} < {high:.6g})"
        )
    if strict and low <= ZERO_MOMENT * size:
        return (
            f"is not positive definite about the center of mass: principal moments {_list(moments)}; "
            "pass strict=False if a point mass or a thin rod is meant"
        )
    return None


def _about_center(p: np.ndarray) -> np.ndarray:
    """Rotational inertia about the center of mass of ten parameters with mass."""
    h = p[..., 1:4]
    return _symmetric(p[..., 4:]) - _steiner(h, h) / p[..., :1, None]


def _list(values: np.ndarray) -> str:
    return ", ".join(f"{v:.6g}" for v in values)


def _index(bad: np.ndarray) -> str:
    """The place of the first bad element, as an index."""
    return f"[{', '.join(str(int(i)) for i in np.argwhere(bad)[0])}]" if bad.ndim else ""


def _symmetric(six: np.ndarray) -> np.ndarray:
    matrix = np.empty((*six.shape[:-1], 3, 3))
    matrix[..., _ROWS, _COLUMNS] = matrix[..., _COLUMNS, _ROWS] = six
    return matrix


def _steiner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """-a~ b~ = (a·b) I - b aᵀ."""
    return np.einsum("...i,...i->...", a, b)[..., None, None] * np.eye(3) - b[..., :, None] * a[..., None, :]
