"""All links at once: the system Jacobian as a product of block matrices. For checking and for teaching, O(n²).

    J = A X,   J' = -A a (J - X),   V' = J a - A a V                                  mueller2018 eqs. (112), (8), (10)

X holds the joint screws (block diagonal), A carries them to the links further out (block triangular), a = diag(ad of
each joint's twist); (8) has J instead of J - X, which is the same only for joints with one freedom. With b = diag(ad_V)
and the inertias on the diagonal of M follow the mass matrix JᵀMJ (81) and C = Jᵀ(M J' - bᵀ M J) (84). All is for links,
which have one elementary joint each: there the body screws X are constant. A body is a frame on a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.lie import se3
from chasles.relative.kinematics import REPRESENTATIONS
from chasles.relative.tables import CONSTANT, FREE, GRAVITY, LINK, PRISMATIC, SPHERICAL, VELOCITIES, link_table
from chasles.screw import inertia as spatial
from chasles.screw.representation import check_representation

if TYPE_CHECKING:
    from chasles.relative.mechanism import Mechanism


@dataclass(frozen=True)
class Factors:
    """J = carry @ screws: carry (6n, 6n) and screws (6n, nv), with the poses (n, 7) of the n links."""

    carry: np.ndarray
    screws: np.ndarray
    poses: np.ndarray

    @property
    def jacobian(self) -> np.ndarray:
        """Jacobian of all links, (6n, nv)."""
        return self.carry @ self.screws


def link_poses(mechanism: Mechanism, q: ArrayLike) -> np.ndarray:
    """Poses of the links in space, (links, 7), as products of the placements of their joints (mueller2018 eq. (92))."""
    coordinates = np.asarray(q, dtype=float)
    if mechanism.tree.dependence is not None:
        coordinates = mechanism.tree.dependence.coordinates(coordinates)
    table = link_table(mechanism.tree.topology)
    constants = mechanism.tree.numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)
    poses = np.empty((len(table), 7))
    for k, (row, constant) in enumerate(zip(table, constants, strict=True)):
        start = np.eye(4)
        start[:3, :3], start[:3, 3] = constant[:9].reshape(3, 3), constant[CONSTANT.position : CONSTANT.mass]
        at, kind = int(row[LINK.coordinate]), int(row[LINK.kind])
        if kind == FREE:
            motion = coordinates[at : at + 7]
        elif kind == SPHERICAL:
            motion = np.concatenate([coordinates[at : at + 4], np.zeros(3)])
        else:
            motion = pose_group.exp(joint_screws(constant, kind)[:, 0] * coordinates[at])
        here = pose_group.compose(pose_group.from_matrix(start), motion)
        parent = int(row[LINK.parent])
        poses[k] = here if parent < 0 else pose_group.compose(poses[parent], here)
    return poses


def joint_screws(constant: np.ndarray, kind: int) -> np.ndarray:
    """Screws of an elementary joint in its link's frame, (6, freedoms)."""
    if kind in (SPHERICAL, FREE):
        return np.eye(6)[:, : VELOCITIES[kind]]
    screw = np.zeros((6, 1))
    screw[2], screw[5] = (0.0, 1.0) if kind == PRISMATIC else (1.0, constant[CONSTANT.pitch])
    return screw


def factors(mechanism: Mechanism, q: ArrayLike, representation: str = "body") -> Factors:
    """The system Jacobian of the links at q in a representation, factorized: mueller2018 eq. (112).

    The blocks of A from link j to link i that it carries: body Ad of the pose of j in i; spatial I, with the screws
    Ad_Cj Xj; hybrid Ad of the translation r_j - r_i, with Ad_Rj Xj; mixed as body, with the linear parts in world axes.
    """
    check_representation("factors", representation)
    table = link_table(mechanism.tree.topology)
    constants = mechanism.tree.numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)
    poses, n = link_poses(mechanism, q), len(table)
    to_representation = [conversion(pose, representation) for pose in poses]
    carry, screws = np.zeros((n, 6, n, 6)), np.zeros((n, 6, mechanism.nv))
    for i in range(n):
        kind, iv = int(table[i, LINK.kind]), int(table[i, LINK.velocity])
        screws[i, :, iv : iv + VELOCITIES[kind]] = to_representation[i] @ joint_screws(constants[i], kind)
        j = i
        while j >= 0:
            seen = pose_group.Ad(pose_group.compose(pose_group.inverse(poses[i]), poses[j]))
            carry[i, :, j] = to_representation[i] @ seen @ np.linalg.inv(to_representation[j])
            j = int(table[j, LINK.parent])
    return Factors(carry.reshape(6 * n, 6 * n), screws.reshape(6 * n, mechanism.nv), poses)


def conversion(pose: np.ndarray, representation: str) -> np.ndarray:
    """The 6x6 matrix from a body twist to another representation: mueller2018 eqs. (98)-(100)."""
    matrix, R = np.eye(6), pose_group.to_matrix(pose)[:3, :3]
    if representation == REPRESENTATIONS[1]:
        return pose_group.Ad(pose)
    if representation == REPRESENTATIONS[2]:
        matrix[:3, :3] = R
    if representation in REPRESENTATIONS[2:]:
        matrix[3:, 3:] = R
    return matrix


def body_rates(parts: Factors, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The block matrices a = diag(ad of X_i v_i), mueller2018 eq. (9), and b = diag(ad of V_i), (82), of body
    factors.
    """
    speeds, n = np.asarray(v, dtype=float), len(parts.poses)
    a, b = np.zeros((n, 6, n, 6)), np.zeros((n, 6, n, 6))
    for i, (joint, twist) in enumerate(
        zip((parts.screws @ speeds).reshape(n, 6), (parts.jacobian @ speeds).reshape(n, 6), strict=True)
    ):
        a[i, :, i], b[i, :, i] = se3.ad(joint), se3.ad(twist)
    return a.reshape(6 * n, 6 * n), b.reshape(6 * n, 6 * n)


def jacobian_rate(parts: Factors, v: ArrayLike) -> np.ndarray:
    """Time derivative of the body Jacobian of all links, mueller2018 eq. (8) for joints with any number of freedoms."""
    return -parts.carry @ body_rates(parts, v)[0] @ (parts.jacobian - parts.screws)


def inertias(mechanism: Mechanism) -> np.ndarray:
    """The block diagonal of the links' inertias in their frames, (6n, 6n)."""
    n = mechanism.tables.links
    constants = mechanism.tree.numbers[GRAVITY.size :].reshape(n, CONSTANT.size)
    matrix = np.zeros((n, 6, n, 6))
    for i, constant in enumerate(constants):
        matrix[i, :, i] = spatial.from_parameters(constant[CONSTANT.mass : CONSTANT.mass + 10])
    return matrix.reshape(6 * n, 6 * n)
