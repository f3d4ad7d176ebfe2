"""Power, the reciprocal product, reciprocal systems, and rates of screws and wrenches in moving frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import se3
from chasles.lie.arrays import real_array
from chasles.screw.axis import Screw
from chasles.screw.frames import check_batches, dot, halves


def power(wrench: ArrayLike, twist: ArrayLike) -> np.ndarray:
    """Power Wᵀ V [W] of wrenches on twists, both (..., 6) and both in the same representation."""
    w = real_array("power", "wrench", wrench, (6,))
    v = real_array("power", "twist", twist, (6,))
    check_batches("power", wrench=w, twist=v)
    return dot(w, v)


def reciprocal_product(first: Screw | ArrayLike, second: Screw | ArrayLike) -> np.ndarray:
    """Reciprocal product ξ₁·η₂ + η₁·ξ₂ of two screws (ξ, η), given as `Screw` or as twists (..., 6).

    It is zero if a wrench on the one does no work on a twist about the other. For unit screws of finite pitch it is
    (h₁ + h₂) cos α - a sin α with the distance a and the angle α of the axes. Source: mueller2018 appendix B.2.
    """
    xi, eta = _ray("first", first)
    other_xi, other_eta = _ray("second", second)
    check_batches("reciprocal_product", first=xi, second=other_xi)
    return dot(xi, other_eta) + dot(eta, other_xi)


def _ray(name, screw):
    return halves("reciprocal_product", name, screw.twist() if isinstance(screw, Screw) else screw)


def reciprocal(system: ArrayLike, tolerance: float = 1e-10) -> np.ndarray:
    """Basis of the reciprocal system: wrenches (..., 6 - r, 6) that do no work on any of the twists (..., k, 6).

    The pairing is symmetric, so wrenches give the twists they do no work on. r is the rank of the system, which must
    be the same in a batch; singular values below `tolerance` times the largest count as zero, after lengths are divided
    by a length of the system and each row is scaled to length one: the rank does not depend on the unit of length. The
    basis is orthonormal as vectors of six numbers, which does.
    """
    rows = real_array("reciprocal", "system", system, (6,))
    if rows.ndim < 2:
        raise ValueError(f"reciprocal: system has shape {rows.shape}; expected (..., k, 6), one screw a row")
    turning, sliding = (np.linalg.norm(rows[..., part], axis=-1) for part in (slice(0, 3), slice(3, 6)))
    both = (turning > 0) & (sliding > 0)  # else the unit of length changes but the length of the row
    ratios = np.where(both, sliding / np.where(both, turning, 1.0), 0.0).max(axis=-1, initial=0.0)
    far = np.where(ratios > 0, ratios, 1.0)[..., None, None]
    units = np.concatenate([np.ones_like(far)] * 3 + [far] * 3, axis=-1)
    rows = rows / units
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    rows = rows / np.where(length > 0, length, 1.0)
    if rows.shape[-2] == 0:
        return np.broadcast_to(np.eye(6), (*rows.shape[:-2], 6, 6)).copy()
    _, values, directions = np.linalg.svd(rows)
    ranks = np.sum(values > tolerance * np.maximum(values[..., :1], 1e-300), axis=-1)
    found = np.unique(ranks)
    if len(found) > 1:
        raise ValueError(
            f"reciprocal: the systems of the batch have different ranks: {found.tolist()}; pass them singly"
        )
    rank = int(found[0]) if len(found) else min(rows.shape[-2], 6)
    basis = np.linalg.qr(np.swapaxes(directions[..., rank:, :] / units, -1, -2))[0]
    return np.ascontiguousarray(np.swapaxes(basis, -1, -2))


def screw_rate(screw: ArrayLike, rate: ArrayLike, frame_twist: ArrayLike) -> np.ndarray:
    """Rate of a screw (twist) that is known in a moving frame: X' + [V, X], resolved in that frame.

    screw, rate: X and the derivative of its six numbers in the frame. frame_twist: body twist V of the frame.
    Ad of the frame's pose takes the result to the world. Source: mueller2018 eq. (117).
    """
    x, rate = real_array("screw_rate", "screw", screw, (6,)), real_array("screw_rate", "rate", rate, (6,))
    v = real_array("screw_rate", "frame_twist", frame_twist, (6,))
    check_batches("screw_rate", screw=x, rate=rate, frame_twist=v)
    return rate + se3.bracket(v, x)


def wrench_rate(wrench: ArrayLike, rate: ArrayLike, frame_twist: ArrayLike) -> np.ndarray:
    """Rate of a wrench or momentum that is known in a moving frame: W' - ad_Vᵀ W, resolved in that frame.

    The dual of `screw_rate`: the power Wᵀ X has the rate wrench_rateᵀ X + Wᵀ screw_rate. Source: mueller2018 eq. (41).
    """
    w, rate = real_array("wrench_rate", "wrench", wrench, (6,)), real_array("wrench_rate", "rate", rate, (6,))
    v = real_array("wrench_rate", "frame_twist", frame_twist, (6,))
    check_batches("wrench_rate", wrench=w, rate=rate, frame_twist=v)
    return rate - se3.adT_apply(v, w)
