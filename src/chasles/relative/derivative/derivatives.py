"""What a `Mechanism` can say about the derivatives of its equations of motion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.constraint.results import ForwardDerivatives, InverseDerivatives
from chasles.relative.derivative import forward, inverse, inverse_second, mass
from chasles.relative.group import Group
from chasles.relative.higher import christoffel, jacobian_partials
from chasles.relative.tables import FREE, LINK, SPHERICAL, VELOCITIES, link_table


class SecondDerivatives(NamedTuple):
    """Second derivatives of Q(q, v, a), (..., nv, nv, nv) each.

    Entry [k, j, l] is that of Q_k by variable j and then by the second variable l; da_dq is that of M_kj by q_l.
    """

    dq_dq: np.ndarray
    dv_dv: np.ndarray
    dq_dv: np.ndarray
    da_dq: np.ndarray


class Derivatives(Group):
    """Derivatives with respect to the state, `mechanism.derivatives`.

    Derivatives with respect to q are taken along q exp(δ), in the directions of the velocities: a column for each of
    them, for spherical and free joints too. Wrenches on the bodies are constant in the bodies' frames.
    """

    __slots__ = ()

    def _square(self, results: list[np.ndarray], batch: tuple[int, ...], axes: int = 2) -> list[np.ndarray]:
        return [result.reshape(*batch, *(self._tables.nv,) * axes) for result in results]

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: ArrayLike | None = None
    ) -> InverseDerivatives:
        """∂Q/∂q, ∂Q/∂v and ∂Q/∂a = M of `inverse_dynamics`, O(n d) for depth d."""
        name = "derivatives.inverse_dynamics"
        arrays = self._tables.checked(name, q, v=v, a=a)
        arrays["wrenches"] = self._tables.wrenches(name, wrenches)
        return InverseDerivatives(*self._square(*self._tables.run(name, inverse.inverse_derivatives, arrays)))

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None
    ) -> ForwardDerivatives:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ of `forward_dynamics`."""
        name = "derivatives.forward_dynamics"
        arrays = self._tables.checked(name, q, v=v, tau=tau)
        arrays["wrenches"] = self._tables.wrenches(name, wrenches)
        (a, *results), batch = self._tables.run(
            name, forward.forward_derivatives, {**arrays, "ends": self._tables.subtree_ends}
        )
        if not np.isfinite(a).all():
            raise ValueError(self._tables.why_not_finite(name, a, batch, arrays))
        return ForwardDerivatives(*self._square(results, batch))

    def mass_matrix(self, q: ArrayLike, along: ArrayLike | None = None) -> np.ndarray:
        """∂M_rs/∂q_l at [r, s, l], (..., nv, nv, nv), O(n d²) for depth d.

        along: velocities w (..., nv); the result then is Σ_l ∂M/∂q_l w_l, (..., nv, nv), O(n d).
        """
        name = "derivatives.mass_matrix"
        if along is not None:
            matrix = self._mechanism.terms.coriolis(
                self._tables.check_q(name, q), self._tables.check_v(name, "along", along), skew=True
            )
            return matrix + np.swapaxes(matrix, -1, -2)
        results, batch = self._tables.run(name, mass.mass_matrix_derivative, self._tables.checked(name, q))
        return self._square(results, batch, 3)[0]

    def inverse_mass_matrix(self, q: ArrayLike, along: ArrayLike | None = None) -> np.ndarray:
        """∂(M⁻¹)_rs/∂q_l at [r, s, l], (..., nv, nv, nv), that is -M⁻¹ ∂M/∂q_l M⁻¹; `along` as for the mass matrix."""
        inverse, change, n = self._mechanism.terms.inverse_mass_matrix(q), self.mass_matrix(q, along), self._tables.nv
        if along is not None:
            return -inverse @ change @ inverse
        rows = (inverse @ change.reshape(*change.shape[:-2], n * n)).reshape(change.shape)
        return -inverse[..., None, :, :] @ rows

    def inverse_dynamics_second(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: ArrayLike | None = None
    ) -> SecondDerivatives:
        """∂²Q/∂q², ∂²Q/∂v², ∂²Q/∂q∂v and ∂²Q/∂a∂q = ∂M/∂q of `inverse_dynamics`, O(n d²) for depth d.

        ∂²Q/∂q² is the derivative along q exp(δ) of ∂Q/∂q. It is symmetric but within spherical and free joints, whose
        displacements do not commute: there dq_dq[k, j, l] - dq_dq[k, l, j] is ∂Q_k/∂q along the bracket [e_l, e_j].
        """
        name = "derivatives.inverse_dynamics_second"
        arrays = self._tables.checked(name, q, v=v, a=a)
        arrays["wrenches"] = self._tables.wrenches(name, wrenches)
        results, batch = self._tables.run(name, inverse_second.inverse_second_derivatives, arrays)
        return SecondDerivatives(*self._square(results, batch, 3))

    def jacobian(
        self, q: ArrayLike, frames: Iterable[str] | str | None = None, *, order: int = 1, representation: str = "body"
    ) -> np.ndarray:
        """Derivatives of `jacobian` with respect to the coordinates, (..., frames, 6, nv, nv, ...), of one order.

        Entry [..., j, k, r] is column j differentiated first along freedom k, then along freedom r, that is along
        q exp(δ e_k) and q exp(δ e_r). For joints with axes these are partial derivatives, and their order does not
        matter; the freedoms of a spherical or free joint do not commute. mueller2018 eqs. (5), (12), (14), (15), (20),
        (23), (25), the last one completed. The result has 6 nv^(order + 1) numbers a frame.
        """
        name = "derivatives.jacobian"
        if not isinstance(order, int | np.integer) or order < 1:
            raise ValueError(f"{name}: order is {order!r}; expected an integer, 1 or more")
        where, offset, shape = self._tables.on_frames(name, frames, representation, int(order))
        way = [np.array([len(way), *way], dtype=np.int64) for way in map(self._way, where[2:])]
        every = {"q": self._tables.check_q(name, q), "where": where, "offset": offset}
        every["way"] = np.concatenate([*way, np.zeros(1, dtype=np.int64)])
        size = 6 * self._tables.nv ** (int(order) + 1) * (len(where) - 2)
        (tensor,), batch = self._tables.run(name, jacobian_partials.jacobian_partials, every, {"size": size})
        return tensor.reshape(*batch, *shape, 6, *(self._tables.nv,) * (int(order) + 1))

    def _way(self, link: int) -> list[int]:
        """The velocities that move a link, from the ground outward."""
        table = link_table(self._tables.topology)
        way: list[int] = []
        while link >= 0:
            first = int(table[link, LINK.velocity])
            way += reversed(range(first, first + VELOCITIES[table[link, LINK.kind]]))
            link = int(table[link, LINK.parent])
        return way[::-1]

    def christoffel_symbols(self, q: ArrayLike) -> np.ndarray:
        """Γ_ijk = ½ (∂M_ik/∂q_j + ∂M_ij/∂q_k - ∂M_jk/∂q_i), (..., nv, nv, nv): the velocity terms are Σ Γ_ijk v_j v_k.

        mueller2018 eqs. (85)-(87), (86) and (87) corrected. Σ_k Γ_ijk v_k is the matrix of `coriolis(q, v, skew=True)`.
        Only for mechanisms without spherical and free joints, whose velocities are not derivatives of coordinates.
        """
        name = "derivatives.christoffel_symbols"
        table = link_table(self._tables.topology)
        turning = np.isin(table[:, LINK.kind], (SPHERICAL, FREE))
        if turning.any():
            joint = self._tables.tree.joint_of_link[int(np.argmax(turning))]
            raise ValueError(
                f"{name}: the velocities of joint {joint!r} are not the derivatives of coordinates, so there are no "
                "Christoffel symbols; use coriolis(q, v, skew=True), which has the same properties"
            )
        (symbols,), batch = self._tables.run(name, christoffel.christoffel, self._tables.checked(name, q))
        return symbols.reshape(*batch, self._tables.nv, self._tables.nv, self._tables.nv)
