"""Elastic bodies of any shape, reduced to interface frames and modes, as finite element codes give them (craig1968).

The matrices M and K are of the coordinates x: six for each interface, then one for each mode. With the motion V of the
first interface, which carries the corotated frame, x = R V + E y: R are the rigid motions, y all other coordinates.
Shapes diagonalize K and M of y (first interface held); their amplitudes are coordinates, each with a spring.

The mass is given to points that move with the shapes. N has rows of the points' rigid motions and Φ of their shapes,
both times the root of their masses. They must obey NᵀN = RᵀMR, NᵀΦ = RᵀME and ΦᵀΦ = EᵀME. The first holds for points on
the axes of the ellipsoid of inertia. Then Φ = N (NᵀN)⁻¹ RᵀME + W, where W is orthogonal to N and WᵀW is what is left
of ΦᵀΦ: there are enough of such W if there are enough points. The one is taken that is nearest to
shapes that follow the interfaces. So mass, momentum and energy are those of M for small deformations, in any rigid
motion. What spin adds to the shapes (gyroscopic coupling, centrifugal stiffening) is not in M and K.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chasles.cached import cached_property
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.placement import as_numbers, as_pose, check_name

ORDERS = ("translation", "rotation")
RIGID = (
    "rotation about x",
    "rotation about y",
    "rotation about z",
    "motion along x",
    "motion along y",
    "motion along z",
)
SYMMETRIC = 1e-6  # by how much matrices from files, which are rounded, may be off, beside their diagonals
HELD = 1e-6  # of the stiffness: what it may do against rigid motions
LEAST = 1e-12  # of the largest eigenvalue: what is positive
MOVES = 1e-9  # of the largest displacement of a shape: what is no motion


class ElasticShapes(NamedTuple):
    """Of each shape, in the frame of the first interface: spring [N/m] of its amplitude [m], displacements of the mass
    points (shapes, points, 3), twists of the other interfaces in their frames (shapes, interfaces - 1, 6)."""

    springs: np.ndarray
    points: np.ndarray
    interfaces: np.ndarray


@dataclass(frozen=True)
class ReducedBody:
    """An elastic body by its mass and stiffness matrices, of interface frames and modes (Craig-Bampton, Guyan).

    mass, stiffness: symmetric, for a free body: six coordinates for each interface, then one for each mode. Those of an
    interface are its small displacement along the axes of the body, rotation [rad] and translation [m]; order: which of
    the two comes first. interfaces: their places [m] or poses in the body's frame. They become bodies "name[0]",
    "name[1]", ..., for joints and forces; the first carries the corotated frame. damping [s]: as of a `Rod`. shapes:
    how many, of the lowest frequencies with the first interface held; None: all.
    """

    name: str
    mass: Any
    stiffness: Any
    interfaces: Any
    order: str = "translation"
    damping: float = 0.0
    shapes: int | None = None

    def __post_init__(self) -> None:
        check_name("ReducedBody", self.name)
        where = self.where
        if self.order not in ORDERS:
            raise ValueError(f"{where}: order is {self.order!r}; expected one of {', '.join(ORDERS)}")
        given = self.interfaces
        if isinstance(given, str) or not np.shape(given) or not len(given):
            raise ValueError(f"{where}: interfaces is {given!r}; expected a list of places or poses")
        poses = tuple(as_pose(where, f"interfaces[{k}]", one) for k, one in enumerate(given))
        object.__setattr__(self, "interfaces", poses)
        for name in ("mass", "stiffness"):
            object.__setattr__(self, name, self._matrix(name))
        if np.shape(self.mass) != np.shape(self.stiffness):
            raise ValueError(
                f"{where}: mass is {len(self.mass)} x {len(self.mass)} and stiffness {len(self.stiffness)} x "
                f"{len(self.stiffness)}; expected the same coordinates"
            )
        object.__setattr__(self, "damping", float(as_numbers(where, "damping", self.damping, ())))
        if self.damping < 0.0:
            raise ValueError(f"{where}: damping is {self.damping:g}; expected zero or more [s]")
        most = len(self.mass) - 6
        if self.shapes is not None and not (isinstance(self.shapes, int | np.integer) and 1 <= self.shapes <= most):
            raise ValueError(f"{where}: shapes is {self.shapes!r}; expected 1 to {most}, or None for all")
        self.parts  # noqa: B018  # what is wrong is said now

    @classmethod
    def load(cls, name: str, file: str | Path, **more: Any) -> ReducedBody:
        """From an .npz file with the arrays mass, stiffness and interfaces."""
        return cls(name, **{**arrays_of(file), **more})

    @classmethod
    def of_file(cls, name: str, file: dict[str, Any] | None = None, **more: Any) -> ReducedBody:
        """As model files give it: arrays of an .npz file, and others in their place."""
        given = {**(file or {}), **more}
        for key in ("mass", "stiffness", "interfaces"):
            if key not in given:
                raise ValueError(f'reduced body {name!r}: has no {key}; expected it, or file = "name.npz"')
        return cls(name, **given)

    @property
    def where(self) -> str:
        return f"reduced body {self.name!r}"

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the interfaces."""
        return tuple(f"{self.name}[{k}]" for k in range(len(self.interfaces)))

    def _matrix(self, name: str) -> tuple[tuple[float, ...], ...]:
        where, given, least = self.where, getattr(self, name), 6 * len(self.interfaces)
        if isinstance(given, str | Path):
            given = matrix_of(given)
        size = np.shape(given)
        if len(size) != 2 or size[0] != size[1] or size[0] < least or size[0] == 6:
            raise ValueError(
                f"{where}: {name} has shape {size}; expected a square matrix of {least} rows for "
                f"{len(self.interfaces)} interfaces, and one more for each mode"
            )
        matrix = as_numbers(where, name, given, size)
        diagonal = np.diag(matrix)
        if (diagonal < 0.0).any():
            k = int(np.argmin(diagonal))
            raise ValueError(
                f"{where}: {name} has {diagonal[k]:g} in row {k} on its diagonal; expected none below zero"
            )
        unit = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
        scaled = matrix * np.outer(unit, unit)
        off = np.abs(scaled - scaled.T)
        if off.max() > SYMMETRIC:
            i, j = np.unravel_index(np.argmax(off), off.shape)
            raise ValueError(
                f"{where}: {name} is not symmetric: {matrix[i, j]:g} in row {i}, column {j}, but {matrix[j, i]:g} in "
                f"row {j}, column {i}"
            )
        lowest = np.linalg.eigvalsh(0.5 * (scaled + scaled.T)).min()
        if lowest < -SYMMETRIC:
            raise ValueError(
                f"{where}: {name} has a negative eigenvalue ({lowest:.2g} with its diagonal scaled to 1); expected none"
            )
        return tuple(map(tuple, (0.5 * (matrix + matrix.T)).tolist()))

    # ------------------------------------------------------------ rigid and elastic

    @cached_property
    def _blocks(self) -> tuple[np.ndarray, ...]:
        """RᵀMR, RᵀME, EᵀME, EᵀKE in the axes of the body, rotations first, about the first interface."""
        n, poses = len(self.mass), np.array(self.interfaces)
        swap = np.arange(n)
        if self.order == "translation":
            swap[: 6 * len(poses)] = (swap[: 6 * len(poses)].reshape(-1, 6)[:, [3, 4, 5, 0, 1, 2]]).ravel()
        M, K = (np.array(one)[np.ix_(swap, swap)] for one in (self.mass, self.stiffness))
        R = np.zeros((n, 6))
        for k, place in enumerate(poses[:, 4:] - poses[0, 4:]):
            R[6 * k : 6 * k + 6] = np.eye(6)
            R[6 * k + 3 : 6 * k + 6, :3] = -_skew(place)
        self._check_rigid(K, R)
        return R.T @ M @ R, (R.T @ M)[:, 6:], M[6:, 6:], K[6:, 6:]

    def _check_rigid(self, K: np.ndarray, R: np.ndarray) -> None:
        held = np.einsum("ij,ik,kj->j", R, K, R) / np.maximum(np.einsum("ij,i->j", R**2, np.diag(K)), 1e-300)
        if held.max() > HELD:
            raise ValueError(
                f"{self.where}: stiffness holds it against {RIGID[int(np.argmax(held))]} (by {held.max():.2g} of its "
                "diagonal); expected none against rigid motions: was something held in the finite element model, are "
                f"the interfaces at other places, or is the order not {self.order!r} first?"
            )

    @cached_property
    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Masses (points,) and places (points, 3) about the first interface, axes of the body, with RᵀMR."""
        inertia, _, flexible, _ = self._blocks
        m = float(np.trace(inertia[3:, 3:])) / 3.0
        moment = inertia[:3, 3:] / m if m > 0.0 else np.zeros((3, 3))
        center = np.array([moment[2, 1], moment[0, 2], moment[1, 0]])
        about = inertia[:3, :3] + m * _skew(center) @ _skew(center)
        size = np.abs(inertia[:3, :3]).max()
        off = max(
            np.abs(inertia[3:, 3:] - m * np.eye(3)).max() / max(m, 1e-300),
            np.abs(moment + moment.T).max() * m / max(np.sqrt(m * size), 1e-300),
        )
        if not m > 0.0 or off > HELD:
            raise ValueError(
                f"{self.where}: mass is not that of a free body: moving along x, y and z it has "
                f"{', '.join(f'{x:.6g}' for x in np.diag(inertia[3:, 3:]))} kg; are the interfaces at other places, or "
                f"is the order not {self.order!r} first?"
            )
        spread, axes = np.linalg.eigh(0.5 * np.trace(about) * np.eye(3) - about)
        if spread.min() < -HELD * size:
            raise ValueError(f"{self.where}: its moments of inertia {np.linalg.eigvalsh(about)} are of no body")
        layers = -(-(len(flexible) + 6) // 18)
        radii = np.sqrt((2.0 * np.arange(layers) + 1.0) / layers)  # whose squares have the mean 1
        reach = np.sqrt(3.0 * np.maximum(spread, 0.0) / m) * axes
        places = [center + sign * radius * reach[:, k] for radius in radii for k in range(3) for sign in (1.0, -1.0)]
        return np.full(6 * layers, m / (6 * layers)), np.array(places)

    @cached_property
    def parts(self) -> ElasticShapes:
        """Its shapes and how they move points and interfaces."""
        from scipy.linalg import eigh  # slow to load

        rigid, mixed, M, K = self._blocks
        masses, places = self.points
        scale = np.sqrt(np.maximum(np.diag(M), 1e-300))
        if np.linalg.eigvalsh(M / np.outer(scale, scale)).min() < LEAST:
            raise ValueError(f"{self.where}: mass leaves a motion without mass (first interface held); condense it")
        squares, Y = eigh(K, M)
        if squares[0] < LEAST * squares[-1]:
            raise ValueError(
                f"{self.where}: stiffness leaves a motion free with the first interface held; expected none"
            )
        count = len(squares) if self.shapes is None else self.shapes
        Y = Y[:, :count]
        moved = self._point_shapes(rigid, mixed @ Y, Y, masses, places)
        largest = np.linalg.norm(moved, axis=2).max(axis=1)
        turn = quaternion_to_matrix(np.array(self.interfaces[0][:4]))
        others = [Y[6 * k : 6 * k + 6].T for k in range(len(self.interfaces) - 1)]
        frames = [quaternion_to_matrix(np.array(pose[:4])) for pose in self.interfaces[1:]]
        twists = [np.concatenate([x[:, :3] @ R, x[:, 3:] @ R], axis=1) for x, R in zip(others, frames, strict=True)]
        inner = np.array(twists).reshape(-1, count, 6).transpose(1, 0, 2) / largest[:, None, None]
        return ElasticShapes(squares[:count] / largest**2, moved @ turn / largest[:, None, None], inner)

    def _point_shapes(
        self, rigid: np.ndarray, mixed: np.ndarray, Y: np.ndarray, masses: np.ndarray, places: np.ndarray
    ) -> np.ndarray:
        """Displacements of the points by shapes Y of unit mass, (shapes, points, 3)."""
        roots = np.sqrt(masses)[:, None, None]
        N = (roots * np.array([np.concatenate([-_skew(c), np.eye(3)], axis=1) for c in places])).reshape(-1, 6)
        along = N @ np.linalg.pinv(rigid, rcond=1e-12, hermitian=True) @ mixed
        left, V = np.linalg.eigh(np.eye(Y.shape[1]) - along.T @ along)
        root = V * np.sqrt(np.maximum(left, 0.0)) @ V.T
        basis = np.linalg.svd(N)[0][:, np.linalg.matrix_rank(N) :]
        guess = (roots * self._followed(Y, places)).reshape(-1, Y.shape[1])
        U, _, Vt = np.linalg.svd(basis.T @ (guess - along) @ root, full_matrices=False)
        moved = along + basis @ (U @ Vt) @ root
        return np.asarray((moved.reshape(-1, 3, Y.shape[1]) / roots).transpose(2, 0, 1))

    def _followed(self, Y: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Displacements of places that follow the interfaces, the nearer the more, (points, 3, shapes)."""
        sites = np.array(self.interfaces)[:, 4:] - np.array(self.interfaces[0][4:])
        apart, reach = np.linalg.norm(places[:, None] - sites, axis=2), np.ptp(sites, axis=0).max()
        near = 1.0 / (apart**2 + 1e-6 * reach**2 + 1e-300)
        near /= near.sum(axis=1, keepdims=True)
        found = np.zeros((len(places), 3, Y.shape[1]))
        for k, site in enumerate(sites[1:]):
            own = Y[6 * k : 6 * k + 6]
            lever = np.array([-_skew(place - site) for place in places])
            found += near[:, k + 1, None, None] * (lever @ own[:3] + own[3:])
        return found

    @property
    def point_frames(self) -> np.ndarray:
        """Poses of the mass points in the frame of the first interface, (points, 7)."""
        turn = quaternion_to_matrix(np.array(self.interfaces[0][:4]))
        places = self.points[1] @ turn
        return np.concatenate([np.tile(pose_group.identity()[:4], (len(places), 1)), places], axis=1)

    def place(self, k: int) -> np.ndarray:
        """The frame of an interface in that of the first one, without stress."""
        first = pose_group.inverse(np.array(self.interfaces[0]))
        return np.asarray(pose_group.compose(first, np.array(self.interfaces[k])))


def _skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def arrays_of(file: str | Path) -> dict[str, Any]:
    """mass, stiffness and interfaces of an .npz file."""
    try:
        with np.load(file, allow_pickle=False) as found:
            names = {"mass", "stiffness", "interfaces"}
            if missing := sorted(names - set(found.files)):
                raise ValueError(f"{Path(file).name} has no {missing[0]!r}; expected mass, stiffness and interfaces")
            return {name: found[name] for name in sorted(names)}
    except (OSError, AttributeError) as error:
        raise ValueError(f"{Path(file).name} cannot be read as .npz: {error}") from None


def matrix_of(file: str | Path) -> np.ndarray:
    """A matrix of a Matrix Market file."""
    from scipy.io import mmread  # slow to load

    try:
        found = mmread(file)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{Path(file).name} cannot be read as Matrix Market: {error}") from None
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)
