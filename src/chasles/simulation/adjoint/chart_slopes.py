"""Derivatives of the coordinates of a step of generalized alpha (`constrained.alpha_formulas`), all bodies at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.lie import se3


def ad_of(turning: np.ndarray, x: np.ndarray) -> np.ndarray:
    """ad of the algebra of each body, (..., bodies, 6, 6)."""
    out = se3.ad(x)
    out[..., ~turning, 3:, :] = 0.0
    return out


def onward_of(turning: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dexp_{-x} of each body."""
    out = se3.dexp(-x)
    out[..., ~turning, 3:, :3], out[..., ~turning, 3:, 3:] = 0.0, np.eye(3)
    return out


def back_of(turning: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Ad of exp(-x) of each body."""
    out = se3.Ad(se3.exp(-x))
    out[..., ~turning, 3:, :3], out[..., ~turning, 3:, 3:] = 0.0, np.eye(3)
    return out


class ChartSlopes(NamedTuple):
    """Derivatives of V, V' and of a - V' by x*, x' and x'' or a (bodies, 6, 6), of the displacement by x, and of where
    it leads by where it begins."""

    v_star: np.ndarray
    v_first: np.ndarray
    rate_star: np.ndarray
    rate_first: np.ndarray
    rate_second: np.ndarray
    a_star: np.ndarray
    a_off: np.ndarray
    onward: np.ndarray
    back: np.ndarray


def chart_of(turning: np.ndarray, local: bool, *given: np.ndarray) -> ChartSlopes:
    """Of `alpha_formulas.trial_state` and `carry_on`, at x, x*, x', x'' and a - x''."""
    x, star, first, second, off = given
    one = np.broadcast_to(np.eye(6), (*x.shape, 6))
    none = np.zeros_like(one)
    onward, back = onward_of(turning, x), back_of(turning, x)
    if not local:
        return ChartSlopes(none, one, none, none, one, none, one, onward, back)

    def along(y: np.ndarray) -> np.ndarray:
        """∂ lift(x*, y) / ∂x*."""
        ad_y, inner = ad_of(turning, y), (ad_star @ y[..., None])[..., 0]
        return 0.5 * ad_y - (ad_of(turning, inner) + ad_star @ ad_y) / 6

    ad_star, ad_first = ad_of(turning, star), ad_of(turning, first)
    lift = one - 0.5 * ad_star + ad_star @ ad_star / 6
    inner = (ad_star @ first[..., None])[..., 0]
    rate_star = along(second) - ad_first @ ad_first / 6
    rate_first = (ad_first @ ad_star - ad_of(turning, inner)) / 6
    return ChartSlopes(along(first), lift, rate_star, rate_first, lift, along(off), lift, onward, back)


def times(block: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Blocks (bodies, 6, 6), transposed, times (6 bodies)."""
    return np.einsum("ijk,ij->ik", block, y.reshape(-1, 6)).ravel()


def lifted(turning: np.ndarray, local: bool, star: np.ndarray, first: np.ndarray) -> np.ndarray:
    """V from x* and x', (..., bodies, 6)."""
    if not local:
        return first
    inner = (ad_of(turning, star) @ first[..., None])[..., 0]
    return first - 0.5 * inner + (ad_of(turning, star) @ inner[..., None])[..., 0] / 6
