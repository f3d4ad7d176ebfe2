"""`to_torques`: inertial parameters from measured torques, by linear regression of inverse dynamics.

    τ = Y(q, v, a) π + noise

Only combinations of π leave a trace in τ, the base parameters; least squares finds these, with the noise of each joint
estimated from its residuals. Parameters of all bodies that have them, stay near those of the model and are physical
follow by least squares within the physical ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.fit.inertia_cone import TEN, require_body
from chasles.fit.physical import Region
from chasles.fit.torque_fit import TorqueFit
from chasles.lie.arrays import real_array
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.relative.parameter.identifiability import Identifiability, identify
from chasles.relative.parameter.inertial import check_terms

ROUNDS = 3  # in which the noise of each joint is estimated


@dataclass(frozen=True)
class Regression:
    """Regressors of a motion as triangles: for each velocity R of the decomposition Q R of its rows, (nv, rows, n)."""

    told: Identifiability
    triangles: np.ndarray

    def solved(self, torques: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Base parameters, their covariance, and the noise of each velocity; torques: Qᵀ τ, (nv, rows), of which the
        last is the length of what is outside of all columns; times: at how many they were measured."""
        own, rank = self.told.columns(self.triangles), self.told.rank
        sigma, base, root = np.ones(len(own)), np.zeros(rank), np.eye(rank)
        largest = np.abs(torques).max(axis=1, initial=0.0)
        for _ in range(ROUNDS):
            weighed = own / sigma[:, None, None]
            Q, R = np.linalg.qr(weighed.reshape(-1, rank))
            base = np.linalg.solve(R, Q.T @ (torques / sigma[:, None]).ravel())
            root = np.linalg.inv(R)
            left = own @ base - torques
            # the parameters take freedoms from each velocity as far as its rows determine them
            taken = np.sum((weighed @ root) ** 2, axis=(1, 2))
            sigma = np.sqrt(np.sum(left * left, axis=1) / np.maximum(times - taken, 1.0))
            sigma = np.maximum(sigma, 1e-14 * largest.max(initial=0.0))
        return base, root @ root.T, sigma


def triangles_of(matrix: np.ndarray, torques: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R of each velocity's rows of the regressor (times, nv, n), and Qᵀ τ of its torques."""
    times, nv, n = matrix.shape
    rows = min(times, n + 1)
    whole, one = np.zeros((nv, rows, n + 1)), np.empty((times, n + 1))
    for k in range(nv):
        one[:, :n], one[:, n] = matrix[:, k], torques[:, k]
        whole[k] = np.linalg.qr(one, mode="r")
    return whole[..., :n], whole[..., n]


def to_torques(
    system: System | Mechanism | ClosedMechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    torques: ArrayLike,
    *,
    joint_terms: Iterable[str] | str = (),
    tolerance: float = 1e-9,
) -> TorqueFit:
    """Estimate inertial parameters of a tree from measured motion and generalized forces.

    q (times, nq), v, a and torques (times, nv): measured at the same times. joint_terms: "armature", "damping" and
    "friction" are unknown too, if they are named. tolerance: how much of a column of unit length must be independent of
    the others for its parameter to be told; above the noise of q, v and a if these have any.
    """
    mechanism = system.compile() if isinstance(system, System) else system
    if not isinstance(mechanism, Mechanism):
        raise ValueError(
            "to_torques: the torques of closed mechanisms are not unique; cut the loops and measure a tree"
        )
    terms = check_terms("to_torques", joint_terms)
    motion = [
        _rows(name, x, n) for name, x, n in (("q", q, mechanism.nq), ("v", v, mechanism.nv), ("a", a, mechanism.nv))
    ]
    given = _rows("torques", torques, mechanism.nv)
    if len({len(x) for x in (*motion, given)}) > 1:
        sizes = ", ".join(f"{name} {len(x)}" for name, x in zip("qva", motion, strict=True))
        raise ValueError(f"to_torques: {sizes} and torques {len(given)} times; expected equally many")
    _refuse_other_forces(mechanism)
    names, order = mechanism.parameters.inertial_names(terms), mechanism.parameters.inertial_order(terms)
    triangles, along = triangles_of(mechanism.parameters.regressor(motion[0], motion[1], motion[2], terms), given)
    told = identify(triangles, names, order, tolerance)
    if not told.rank:
        raise ValueError("to_torques: no parameter has an influence on the torques of this motion")
    if given.size <= told.rank:
        raise ValueError(f"to_torques: {len(given)} times were measured, for {told.rank} combinations; measure more")
    base, covariance, noise = Regression(told, triangles).solved(along, len(given))
    return TorqueFit(mechanism, terms, told, base, covariance, noise, given.size - told.rank)


def _rows(name: str, given: ArrayLike, width: int) -> np.ndarray:
    found = real_array("to_torques", name, given, (width,))
    if found.ndim != 2:
        raise ValueError(f"to_torques: {name} has shape {found.shape}; expected (times, {width})")
    return found


def _refuse_other_forces(mechanism: Mechanism) -> None:
    """Forces that are no parameters would be taken for those of masses."""
    system = mechanism.system
    if system.forces:
        raise ValueError(
            f"to_torques: force {system.forces[0].name!r} acts too; subtract what it does from the torques, and leave "
            "it out of the system"
        )
    for joint in system.joints:
        if joint.nv and np.any(np.asarray(joint.stiffness, dtype=float)):
            raise ValueError(f"to_torques: joint {joint.name!r} has a spring; subtract its torque and leave it out")


def completed(fit: Any, prior: np.ndarray, weight: float) -> np.ndarray:
    """Parameters of all bodies with the base parameters found, near prior ones, physical by construction.

    weight: what a change by all of a number counts, in standard deviations; by all of its mass and size for a body.
    """
    told, bodies = fit.told, fit.mechanism.system.bodies
    n = TEN * len(bodies)
    parts = [slice(TEN * k, TEN * (k + 1)) for k in range(len(bodies))]
    joints = np.where(prior[n:] > 0, prior[n:], np.abs(prior[n:]).max(initial=0.0) or 1.0)
    low, high = np.r_[np.full(n, -np.inf), 0.0 * joints], np.full(len(prior), np.inf)
    start = np.r_[prior[:n], np.maximum(prior[n:], 1e-6 * joints)]
    whole = np.zeros((told.rank, len(prior)))
    whole[:, told.kept], whole[:, told.grouped] = np.eye(told.rank), told.combinations
    for body, part in zip(bodies, parts, strict=True):
        require_body(prior[part], body.name)
    region = Region.about(start, np.r_[np.ones(n), joints], (low, high), parts, flat=1.0)
    root = np.linalg.inv(np.linalg.cholesky(fit.covariance))
    matrix = np.concatenate([root @ whole @ np.linalg.inv(region.matrix), weight * np.eye(len(prior))])
    wanted = np.r_[root @ (fit.base - whole @ start), np.zeros(len(prior))]
    Q, R = np.linalg.qr(matrix)
    return np.asarray(start + np.linalg.solve(region.matrix, region.least(R, -Q.T @ wanted, np.inf)))
