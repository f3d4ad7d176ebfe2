"""Rods in joint coordinates: elements as elastic joints in their middle, for rods that have some strains only.

Each half of an element is rigid, and between the halves is a product of exponentials of the strains that the rod has,
with stiffness K/L on each. That is the midpoint rule of g' = g ξ, of order two; the order of the factors changes from
element to element, so that what they do not commute by cancels. Constant strain in an element is of order two at best;
polynomials along all of the rod are in `rod_modes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.body import GROUND
from chasles.model.expression_law import put_in
from chasles.model.rod import STRAINS, Rod
from chasles.model.rod_intrinsic import ARC_LENGTH

COUPLED = 1e-9  # of the compliances of two strains: what is less does not couple them
NEWTON = 6  # iterations, quadratic, from what is off by the square of the angles


class ElasticJoint(NamedTuple):
    """A joint of an element: its name and bodies, frames on these, kind, screws, and more of `Joint`."""

    name: str
    parent: str
    child: str
    kind: str
    screws: Any
    parent_frame: Any
    child_frame: Any
    more: Mapping[str, Any]


def stiffness_of(rod: Rod) -> np.ndarray:
    """K of the strains that a rod has, in each element, (elements, strains); ValueError if it is no number for each."""
    compliance, own = rod.mesh.compliance, [STRAINS.index(name) for name in rod.strains]
    sizes = np.sqrt(np.einsum("nii->ni", compliance))
    mixed = np.abs(compliance) > COUPLED * sizes[:, :, None] * sizes[:, None, :]
    if (mixed & ~np.eye(6, dtype=bool)).any():
        raise ValueError(f"rod {rod.name!r}: its section couples strains, which it then has to have all; no `strains`")
    found = compliance[:, own, own]
    if not (found > 0.0).all():
        rigid = rod.strains[int(np.argmin(found.min(axis=0)))]
        raise ValueError(f"rod {rod.name!r}: strains has {rigid!r}, of infinite stiffness; leave it out")
    return 1.0 / found


def strain_screw(rod: Rod, strain: int) -> np.ndarray:
    """The unit twist of one of the strains that a rod has."""
    screw: np.ndarray = np.eye(6)[STRAINS.index(rod.strains[strain])]
    return screw


def joint_kind(rod: Rod, strain: int) -> str:
    """The kind of the joint that has one of the strains."""
    return "revolute" if strain_screw(rod, strain)[:3].any() else "prismatic"


def elastic_joints(rod: Rod, places: Sequence[tuple[str, tuple[float, ...]]], back: bool) -> Iterator[ElasticJoint]:
    """The joints of all elements; places: body and frame of each node. Bodies between joints of one element have the
    name of the joint that carries them. back: from the second end to the first."""
    n, mesh, (before, after) = rod.elements, rod.mesh, halves(rod)
    springs = stiffness_of(rod) / mesh.lengths[:, None]
    for k in range(n):
        (first, at), (second, to) = places[k], places[k + 1]
        frames = [pose_group.compose(np.array(at), before[k]), pose_group.compose(np.array(to), after[k])]
        bodies, strains = [first, second], order_of_factors(rod, k)
        if back or second == GROUND:  # which no joint can carry
            bodies.reverse()
            frames.reverse()
            strains.reverse()
        yield _whole(rod, k, strains, springs[k], bodies, frames)


def intrinsic_forces(
    rod: Rod, places: Sequence[tuple[str, tuple[float, ...]]], back: bool
) -> Iterator[tuple[str, list[float | str]]]:
    """Joints with what their springs push with because of the intrinsic strain: its stiffness times it."""
    n, laws, stiffness = rod.elements, dict(rod.intrinsic), stiffness_of(rod)
    middles = 0.5 * (rod.mesh.s[:-1] + rod.mesh.s[1:])
    signs = [
        -1.0 if back or second[0] == GROUND else 1.0 for second in places[1:]
    ]  # as `elastic_joints` turns them round

    def push(k: int, strain: int) -> float | str:
        factor, law = signs[k] * float(stiffness[k, strain]), laws.get(rod.strains[strain], 0.0)
        return factor * law if isinstance(law, float) else f"{factor!r} * ({put_in(law, {ARC_LENGTH: middles[k]})})"

    for k in range(n):
        order = order_of_factors(rod, k)[:: int(signs[k])]
        yield rod.nodes[k + 1], [push(k, strain) for strain in order]


def halves(rod: Rod) -> tuple[np.ndarray, np.ndarray]:
    """Frames of the middle of each element on its first and on its second node, (elements, 7) each."""
    mesh = rod.mesh
    middles = rod.poses(0.5 * (mesh.s[:-1] + mesh.s[1:]))
    back = pose_group.inverse(mesh.poses)
    return pose_group.compose(back[:-1], middles), pose_group.compose(back[1:], middles)


def coordinates_of(rod: Rod, between: np.ndarray) -> np.ndarray:
    """Coordinates (..., elements, strains) of elements whose second half is at poses (..., elements, 7) as seen from
    the first: Newton's method on the product of exponentials, from the logarithm on."""
    found: np.ndarray = pose_group.log(between)[..., [STRAINS.index(name) for name in rod.strains]]
    for _ in range(NEWTON):
        for first in range(min(2, rod.elements)):
            part = np.s_[..., first::2, :]
            order, place = order_of_factors(rod, first), pose_group.identity(between[part].shape[:-1])
            columns = np.zeros((*place.shape[:-1], 6, len(order)))
            for strain in reversed(order):
                columns[..., strain] = pose_group.Ad_apply(pose_group.inverse(place), strain_screw(rod, strain))
                place = pose_group.compose(
                    pose_group.exp(found[part][..., strain, None] * strain_screw(rod, strain)), place
                )
            left = pose_group.log(pose_group.compose(pose_group.inverse(place), between[part]))
            found[part] += (np.linalg.pinv(columns) @ left[..., None])[..., 0]
    return found


def order_of_factors(rod: Rod, k: int) -> list[int]:
    """In which order the strains of element k are the factors of its joint."""
    strains = list(range(len(rod.strains)))
    return strains[::-1] if k % 2 else strains


def _whole(
    rod: Rod, k: int, strains: list[int], springs: np.ndarray, bodies: list[str], frames: list[np.ndarray]
) -> ElasticJoint:
    """One joint with all strains of an element."""
    name = rod.nodes[k + 1]
    kind = joint_kind(rod, 0) if len(strains) == 1 else "general"
    stiffness = springs[strains]
    more = {"stiffness": tuple(stiffness.tolist()), "damping": tuple((rod.damping * stiffness).tolist())}
    screws = [strain_screw(rod, strain) for strain in strains]
    return ElasticJoint(name, bodies[0], bodies[1], kind, screws, frames[0], frames[1], more)
