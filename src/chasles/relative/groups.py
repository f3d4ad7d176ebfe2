"""Groups of a `Mechanism`: terms of the equations of motion, the center of mass, first-order forms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.relative import coriolis, inverse, joint_rates, momentum, momentum_form
from chasles.relative import mass as crba
from chasles.relative.derivative import mass
from chasles.relative.forward import forward_dynamics
from chasles.relative.group import Group
from chasles.relative.tables import GRAVITY

EMPTY = np.empty(0)


class Terms(Group):
    """Parts of the equations of motion M a + C v + g = τ, `mechanism.terms`."""

    __slots__ = ()

    def bias(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """C v + g, (..., nv): the generalized forces of a motion without acceleration."""
        given = self._tables.check_q("terms.bias", q), self._tables.check_v("terms.bias", "v", v)
        return self._mechanism.inverse_dynamics(*given, np.zeros(self._tables.nv), applied=False)

    def gravity(self, q: ArrayLike) -> np.ndarray:
        """g(q), (..., nv): the generalized forces that hold the mechanism at rest."""
        still = np.zeros(self._tables.nv)
        return self._mechanism.inverse_dynamics(self._tables.check_q("terms.gravity", q), still, still, applied=False)

    def coriolis(self, q: ArrayLike, v: ArrayLike, *, skew: bool = False) -> np.ndarray:
        """A matrix C(q, v), (..., nv, nv), with C v the velocity terms: that of mueller2018 eq. (84), or with M'
        - 2C skew.
        """
        arrays = self._tables.checked("terms.coriolis", q, v=v)
        arrays["weights"] = np.array([0.5, 0.5] if skew else [1.0, 0.0])
        (matrix,), batch = self._tables.run("terms.coriolis", coriolis.coriolis_matrix, arrays)
        return matrix.reshape(*batch, self._tables.nv, self._tables.nv)

    def inverse_mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """M(q)⁻¹, (..., nv, nv)."""
        name, still = "terms.inverse_mass_matrix", np.zeros(self._tables.nv)
        arrays = {"q": self._tables.check_q(name, q), "v": still, "tau": still, "wrenches": EMPTY}
        # where a singular inertia shows itself to the last bit
        (a,), batch = self._tables.run(name, forward_dynamics, arrays)
        if not np.isfinite(a).all():
            raise ValueError(self._tables.why_not_finite(name, a, batch, arrays))
        results, batch = self._tables.run(
            name, mass.inverse_mass_matrix, {"q": arrays["q"], "ends": self._tables.subtree_ends}
        )
        return results[0].reshape(*batch, self._tables.nv, self._tables.nv)

    def packed_mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """The lower triangle of M(q), row by row, (..., nv (nv + 1) / 2): M_rs is at r (r + 1) / 2 + s for s <= r.

        Batches of large matrices wait for memory; this is half of it.
        """
        name, nv = "terms.packed_mass_matrix", self._tables.nv
        if self._mechanism.tree.dependence is not None:
            return self._mechanism.mass_matrix(q)[..., *np.tril_indices(nv)]
        packed = nv * (nv + 1) // 2
        arrays = {"q": self._tables.check_q(name, q)}
        (triangle,), batch = self._tables.run(name, crba.packed_mass_matrix, arrays, {"packed": packed})
        return triangle.reshape(*batch, packed)

    def mass_product(self, q: ArrayLike, x: ArrayLike) -> np.ndarray:
        """M(q) x, (..., nv), in O(n): the forces of the accelerations x at rest and without gravity."""
        name, nv = "terms.mass_product", self._tables.nv
        given = self._tables.check_q(name, q), self._tables.check_v(name, "x", x)
        if self._mechanism.tree.dependence is not None:
            return (self._mechanism.mass_matrix(given[0]) @ given[1][..., None])[..., 0]
        arrays = {"q": given[0], "v": np.zeros(nv), "a": given[1], "wrenches": EMPTY}
        (tau,), batch = self._tables.without_gravity.run(name, inverse.inverse_dynamics, arrays)
        return tau.reshape(*batch, nv)

    def static_forces(self, q: ArrayLike, link_wrenches: np.ndarray | None = None) -> np.ndarray:
        """Generalized forces (..., nv) that hold the mechanism at rest against gravity and wrenches on the links."""
        still = np.zeros(self._tables.nv)
        arrays = {"q": self._tables.check_q("terms.static_forces", q), "v": still, "a": still}
        arrays["wrenches"] = EMPTY if link_wrenches is None else link_wrenches
        (tau,), batch = self._tables.run("terms.static_forces", inverse.inverse_dynamics, arrays)
        return tau.reshape(*batch, self._tables.nv)


class Centroidal(Group):
    """The center of mass and the momentum about it, `mechanism.centroidal`."""

    __slots__ = ()

    def velocity(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Velocity of the center of mass, (..., 3) [m/s]."""
        self._tables.check_mass("centroidal.velocity")
        return self._tables.totals("centroidal.velocity", q, v)[2][..., 3:]

    def matrix(self, q: ArrayLike) -> np.ndarray:
        """A(q), (..., 6, nv): A v is the momentum (angular, linear) about the center of mass, in world axes."""
        name = "centroidal.matrix"
        self._tables.check_mass(name)
        (matrix,), batch = self._tables.run(name, momentum.centroidal_matrix, self._tables.checked(name, q))
        return matrix.reshape(*batch, 6, self._tables.nv)

    def momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Momentum (angular, linear) about the center of mass, in world axes, (..., 6)."""
        speeds = self._tables.check_v("centroidal.momentum", "v", v)
        return (self.matrix(q) @ speeds[..., None])[..., 0]


class TwistForm(Group):
    """The state as (q, twists of all bodies), `mechanism.twist_form`."""

    __slots__ = ()

    def velocities(self, q: ArrayLike, twists: ArrayLike, *, representation: str = "body") -> np.ndarray:
        """v (..., nv) from the twists (..., bodies, 6) of all bodies; least squares if they do not fit the joints."""
        return joint_rates.joint_rates(self._mechanism, "twist_form.velocities", q, twists, None, representation)[0]

    def accelerations(
        self, q: ArrayLike, twists: ArrayLike, accelerations: ArrayLike, *, representation: str = "body"
    ) -> np.ndarray:
        """a (..., nv) from the twists of all bodies and their time derivatives, both in the representation."""
        name = "twist_form.accelerations"
        return joint_rates.joint_rates(self._mechanism, name, q, twists, accelerations, representation)[1]

    def rates(
        self, q: ArrayLike, twists: ArrayLike, tau: ArrayLike | None = None, wrenches: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """v and the rates of the body twists (..., bodies, 6), of a state (q, twists): mueller2018 eqs. (78), (111)."""
        v = self.velocities(q, twists)
        a = self._mechanism.forward_dynamics(q, v, np.zeros(self._tables.nv) if tau is None else tau, wrenches)
        return v, self._mechanism.accelerations(q, v, a)


class MomentumForm(Group):
    """The state as (q, momenta of the joints), `mechanism.momentum_form`."""

    __slots__ = ()

    def momenta(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Momenta p (..., nv) of the joints as in `relative.momentum_form`: for a free joint the spatial momentum."""
        arrays = self._tables.checked("momentum_form.momenta", q, v=v)
        (p,), batch = self._tables.run("momentum_form.momenta", momentum_form.momenta, arrays)
        return p.reshape(*batch, self._tables.nv)

    def rates(
        self, q: ArrayLike, p: ArrayLike, tau: ArrayLike | None = None, wrenches: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """v and p', (..., nv) each, of a state (q, p): mueller2018 eq. (79). Forces as in `forward_dynamics`."""
        name = "momentum_form.rates"
        arrays = self._tables.checked(name, q, p=p)
        arrays["tau"] = EMPTY if tau is None else self._tables.check_v(name, "tau", tau)
        arrays["wrenches"], arrays["still"] = self._tables.wrenches(name, wrenches), self._tables.numbers.copy()
        arrays["still"][GRAVITY.vector : GRAVITY.vector + 3] = 0.0
        (v, rate, _), batch = self._tables.run(name, momentum_form.momentum_rates, arrays)
        if not np.isfinite(v).all():
            still = np.zeros(self._tables.nv)
            state = {"q": arrays["q"], "v": still, "tau": still, "wrenches": EMPTY}
            raise ValueError(self._tables.why_not_finite(name, v, batch, state))
        return v.reshape(*batch, self._tables.nv), rate.reshape(*batch, self._tables.nv)

    def velocities(self, q: ArrayLike, p: ArrayLike) -> np.ndarray:
        """v (..., nv) of the momenta p of `momentum_form.momenta`, O(n)."""
        return self.rates(q, p)[0]
