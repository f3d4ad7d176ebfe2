"""What a `Mechanism` can say about the derivatives of its equations of motion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.relative.derivative import forward, inverse, inverse_second, mass
from chasles.relative.derivative.factor import subtree_ends
from chasles.relative.forward import forward_dynamics

EMPTY = np.empty(0)


class InverseDerivatives(NamedTuple):
    """Derivatives of the forces Q(q, v, a), (..., nv, nv) each; entry [k, j] is that of Q_k by variable j"""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


class ForwardDerivatives(NamedTuple):
    """Derivatives of the accelerations a(q, v, τ), (..., nv, nv) each: entry [k, j] is that of a_k by variable j."""

    dq: np.ndarray
    dv: np.ndarray
    dtau: np.ndarray


class SecondDerivatives(NamedTuple):
    """Second derivatives of Q(q, v, a), (..., nv, nv, nv) each.

    Entry [k, j, l] is that of Q_k by variable j and then by the second variable l; da_dq is that of M_kj by q_l.
    """

    dq_dq: np.ndarray
    dv_dv: np.ndarray
    dq_dv: np.ndarray
    da_dq: np.ndarray


class Derivatives:
    """The part of `Mechanism` with derivatives of the dynamics. Arrays have any leading axes.

    Derivatives with respect to q are taken along q exp(δ), in the directions of the velocities: a column for each of
    them, for spherical and free joints too. Wrenches on the bodies are constant in the bodies' frames.
    """

    if TYPE_CHECKING:  # what `Mechanism` has
        topology: np.ndarray
        nv: int

        coriolis: Callable[..., np.ndarray]
        check_q: Callable[..., np.ndarray]
        check_v: Callable[..., np.ndarray]
        _wrenches: Callable[..., np.ndarray]
        _run: Callable[..., tuple[list[np.ndarray], tuple[int, ...]]]
        _why_not_finite: Callable[..., str]

    @cached_property
    def subtree_ends(self) -> np.ndarray:
        """For each velocity, the end of the velocities of all that it carries."""
        return subtree_ends(self.topology)

    def _square(self, results: list[np.ndarray], batch: tuple[int, ...], axes: int = 2) -> list[np.ndarray]:
        return [result.reshape(*batch, *(self.nv,) * axes) for result in results]

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: ArrayLike | None = None
    ) -> InverseDerivatives:
        """∂Q/∂q, ∂Q/∂v and ∂Q/∂a = M of `inverse_dynamics`, O(n d) for depth d."""
        name = "inverse_dynamics_derivatives"
        arrays = {"q": self.check_q(name, q), "v": self.check_v(name, "v", v), "a": self.check_v(name, "a", a)}
        arrays["wrenches"] = self._wrenches(name, wrenches)
        return InverseDerivatives(*self._square(*self._run(name, inverse.inverse_derivatives, arrays)))

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None
    ) -> ForwardDerivatives:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ of `forward_dynamics`."""
        name = "forward_dynamics_derivatives"
        arrays = {"q": self.check_q(name, q), "v": self.check_v(name, "v", v), "tau": self.check_v(name, "tau", tau)}
        arrays["wrenches"] = self._wrenches(name, wrenches)
        (a, *results), batch = self._run(name, forward.forward_derivatives, {**arrays, "ends": self.subtree_ends})
        if not np.isfinite(a).all():
            raise ValueError(self._why_not_finite(name, a, batch, arrays))
        return ForwardDerivatives(*self._square(results, batch))

    def inverse_mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """M(q)⁻¹, (..., nv, nv)."""
        name, still = "inverse_mass_matrix", np.zeros(self.nv)
        arrays = {"q": self.check_q(name, q), "v": still, "tau": still, "wrenches": EMPTY}
        (a,), batch = self._run(name, forward_dynamics, arrays)  # where a singular inertia shows itself to the last bit
        if not np.isfinite(a).all():
            raise ValueError(self._why_not_finite(name, a, batch, arrays))
        results, batch = self._run(name, mass.inverse_mass_matrix, {"q": arrays["q"], "ends": self.subtree_ends})
        return self._square(results, batch)[0]

    def mass_matrix_derivative(self, q: ArrayLike, along: ArrayLike | None = None) -> np.ndarray:
        """∂M_rs/∂q_l at [r, s, l], (..., nv, nv, nv), O(n d²) for depth d.

        along: velocities w (..., nv); the result then is Σ_l ∂M/∂q_l w_l, (..., nv, nv), O(n d).
        """
        name = "mass_matrix_derivative"
        if along is not None:
            matrix = self.coriolis(self.check_q(name, q), self.check_v(name, "along", along), skew=True)
            return matrix + np.swapaxes(matrix, -1, -2)
        results, batch = self._run(name, mass.mass_matrix_derivative, {"q": self.check_q(name, q)})
        return self._square(results, batch, 3)[0]

    def inverse_mass_matrix_derivative(self, q: ArrayLike, along: ArrayLike | None = None) -> np.ndarray:
        """∂(M⁻¹)_rs/∂q_l at [r, s, l], (..., nv, nv, nv), that is -M⁻¹ ∂M/∂q_l M⁻¹; `along` as for the mass matrix."""
        inverse, change, n = self.inverse_mass_matrix(q), self.mass_matrix_derivative(q, along), self.nv
        if along is not None:
            return -inverse @ change @ inverse
        rows = (inverse @ change.reshape(*change.shape[:-2], n * n)).reshape(change.shape)
        return -inverse[..., None, :, :] @ rows

    def inverse_dynamics_second_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: ArrayLike | None = None
    ) -> SecondDerivatives:
        """∂²Q/∂q², ∂²Q/∂v², ∂²Q/∂q∂v and ∂²Q/∂a∂q = ∂M/∂q of `inverse_dynamics`, O(n d²) for depth d.

        ∂²Q/∂q² is the derivative along q exp(δ) of ∂Q/∂q. It is symmetric but within spherical and free joints, whose
        displacements do not commute: there dq_dq[k, j, l] - dq_dq[k, l, j] is ∂Q_k/∂q along the bracket [e_l, e_j].
        """
        name = "inverse_dynamics_second_derivatives"
        arrays = {"q": self.check_q(name, q), "v": self.check_v(name, "v", v), "a": self.check_v(name, "a", a)}
        arrays["wrenches"] = self._wrenches(name, wrenches)
        results, batch = self._run(name, inverse_second.inverse_second_derivatives, arrays)
        return SecondDerivatives(*self._square(results, batch, 3))
