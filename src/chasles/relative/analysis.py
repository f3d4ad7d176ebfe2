"""What a `Mechanism` can say about its motion besides the dynamics: Jacobians, matrices, energies, momenta."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.system import System
from chasles.relative import coriolis, jacobian, joint_rates, kinematics, momentum, momentum_form
from chasles.relative.algorithm import Algorithm
from chasles.relative.configuration import Configuration
from chasles.relative.reach import Reach, reach
from chasles.relative.tables import CONSTANT, GRAVITY
from chasles.relative.tree import Tree
from chasles.screw.representation import check_representation

EMPTY = np.empty(0)


class Analysis:
    """The part of `Mechanism` that needs no forces. Arrays have any leading axes."""

    if TYPE_CHECKING:  # what `Mechanism` has
        system: System
        tree: Tree
        topology: np.ndarray
        numbers: np.ndarray
        bodies: tuple[str, ...]
        nq: int
        nv: int
        links: int

        neutral: Callable[[], np.ndarray]
        configuration: Configuration

        def check_q(self, function: str, q: ArrayLike) -> np.ndarray: ...
        def check_v(self, function: str, name: str, value: ArrayLike) -> np.ndarray: ...
        def mass_matrix(self, q: ArrayLike) -> np.ndarray: ...
        def poses(self, q: ArrayLike, frames: Iterable[str] | str | None = None) -> np.ndarray: ...
        def accelerations(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray: ...
        def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray: ...
        def forward_dynamics(
            self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None
        ) -> np.ndarray: ...
        def _why_not_finite(
            self, function: str, a: np.ndarray, batch: tuple[int, ...], arrays: dict[str, Any]
        ) -> str: ...
        def _wrenches(self, function: str, wrenches: ArrayLike | None) -> np.ndarray: ...
        def _places(self, function: str, frames: Iterable[str] | str | None) -> tuple[np.ndarray, np.ndarray]: ...
        def _run(
            self,
            function: str,
            algorithm: Algorithm,
            arrays: dict[str, np.ndarray],
            sizes: dict[str, int] | None = None,
        ) -> tuple[list[np.ndarray], tuple[int, ...]]: ...

    # ------------------------------------------------------------ Jacobians

    def _jacobians(self, function: str, frames: Any, representation: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
        check_representation(function, representation)
        single = isinstance(frames, str)
        links, offset = self._places(function, [frames] if single else frames)
        where = np.concatenate([[kinematics.REPRESENTATIONS.index(representation)], links])
        rates = "v" in arrays
        every = {"q": arrays["q"], "v": arrays.get("v", EMPTY), "where": where, "offset": offset}
        columns = len(links) * self.nv
        sizes = {"columns": 0 if rates else columns, "rates": columns if rates else 0}
        results, batch = self._run(function, jacobian.jacobians, every, sizes)
        return results[rates].reshape(*batch, *(() if single else (len(links),)), 6, self.nv)

    def jacobian(
        self, q: ArrayLike, frames: Iterable[str] | str | None = None, *, representation: str = "body"
    ) -> np.ndarray:
        """J with twist = J v of frames or bodies, (..., frames, 6, nv); one name gives (..., 6, nv)."""
        return self._jacobians("jacobian", frames, representation, {"q": self.check_q("jacobian", q)})

    def jacobian_rate(
        self, q: ArrayLike, v: ArrayLike, frames: Iterable[str] | str | None = None, *, representation: str = "body"
    ) -> np.ndarray:
        """Time derivative of `jacobian` along v: acceleration = J a + J' v in the same representation."""
        arrays = {"q": self.check_q("jacobian_rate", q), "v": self.check_v("jacobian_rate", "v", v)}
        return self._jacobians("jacobian_rate", frames, representation, arrays)

    def velocities_from_twists(self, q: ArrayLike, twists: ArrayLike, *, representation: str = "body") -> np.ndarray:
        """v (..., nv) from the twists (..., bodies, 6) of all bodies; least squares if they do not fit the joints."""
        return joint_rates.joint_rates(self, "velocities_from_twists", q, twists, None, representation)[0]

    def accelerations_from_twists(
        self, q: ArrayLike, twists: ArrayLike, accelerations: ArrayLike, *, representation: str = "body"
    ) -> np.ndarray:
        """a (..., nv) from the twists of all bodies and their time derivatives, both in the representation."""
        name = "accelerations_from_twists"
        return joint_rates.joint_rates(self, name, q, twists, accelerations, representation)[1]

    def inverse_kinematics(
        self,
        frame: str,
        target: ArrayLike,
        q0: ArrayLike | None = None,
        *,
        weights: ArrayLike = (1.0, 1.0),
        tolerance: float = 1e-10,
        iterations: int = 100,
        restarts: int = 100,
        seed: int = 0,
    ) -> Reach:
        """Coordinates within the joints' limits that bring a frame or body to a pose; tries random starts if need be.

        target: in space, a pose, a 4x4 matrix or a position [m]. weights: of rotation [1/rad] and of position [1/m];
        (0, 1) asks for the position only, (1, 0) for the orientation only. q0: where to start (default: neutral).
        tolerance: of the length of the weighted error, with positions in units of the longest body on the way from the
        ground to the frame. Angles are those within half a turn of q0, where the limits let them. The result is true if
        it was reached.
        """
        return reach(self, frame, target, q0, weights, tolerance, iterations, restarts, seed)

    # ------------------------------------------------------------ parts of the equations of motion

    def bias(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """C v + g, (..., nv): the generalized forces of a motion without acceleration."""
        return self.inverse_dynamics(self.check_q("bias", q), self.check_v("bias", "v", v), np.zeros(self.nv))

    def gravity_forces(self, q: ArrayLike) -> np.ndarray:
        """g(q), (..., nv): the generalized forces that hold the mechanism at rest."""
        return self.inverse_dynamics(self.check_q("gravity_forces", q), np.zeros(self.nv), np.zeros(self.nv))

    def coriolis(self, q: ArrayLike, v: ArrayLike, *, skew: bool = False) -> np.ndarray:
        """A matrix C(q, v), (..., nv, nv), with C v the velocity terms: that of mueller2018 eq. (84), or with M'
        - 2C skew.
        """
        arrays = {"q": self.check_q("coriolis", q), "v": self.check_v("coriolis", "v", v)}
        arrays["weights"] = np.array([0.5, 0.5] if skew else [1.0, 0.0])
        (matrix,), batch = self._run("coriolis", coriolis.coriolis_matrix, arrays)
        return matrix.reshape(*batch, self.nv, self.nv)

    # ------------------------------------------------------------ energy and momentum

    def _totals(self, function: str, q: ArrayLike, v: ArrayLike | None) -> list[np.ndarray]:
        arrays = {"q": self.check_q(function, q), "v": EMPTY if v is None else self.check_v(function, "v", v)}
        results, batch = self._run(function, momentum.totals, arrays)
        return [result.reshape(*batch, result.shape[-1]) for result in results]

    def _check_mass(self, function: str) -> None:
        if not self.numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)[:, CONSTANT.mass].any():
            raise ValueError(f"{function}: nothing of {self.system.name!r} that moves has a mass: there is no center")

    def energy(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy [J], (...) each; the latter is zero with the center of mass at the origin."""
        both = self._totals("energy", q, v)[0]
        return both[..., 0], both[..., 1]

    def momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Total momentum (angular, linear) about the origin of space, in its axes, (..., 6) [N m s, N s]."""
        return self._totals("momentum", q, v)[1]

    def center_of_mass(self, q: ArrayLike) -> np.ndarray:
        """Center of mass in space of all that moves, (..., 3) [m]."""
        self._check_mass("center_of_mass")
        return self._totals("center_of_mass", q, None)[2][..., :3]

    def center_of_mass_velocity(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Velocity of the center of mass, (..., 3) [m/s]."""
        self._check_mass("center_of_mass_velocity")
        return self._totals("center_of_mass_velocity", q, v)[2][..., 3:]

    def centroidal_momentum_matrix(self, q: ArrayLike) -> np.ndarray:
        """A(q), (..., 6, nv): A v is the momentum (angular, linear) about the center of mass, in world axes."""
        name = "centroidal_momentum_matrix"
        self._check_mass(name)
        (matrix,), batch = self._run(name, momentum.centroidal_matrix, {"q": self.check_q(name, q)})
        return matrix.reshape(*batch, 6, self.nv)

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Momentum (angular, linear) about the center of mass, in world axes, (..., 6)."""
        speeds = self.check_v("centroidal_momentum", "v", v)
        return (self.centroidal_momentum_matrix(q) @ speeds[..., None])[..., 0]

    # ------------------------------------------------------------ first-order forms

    def twist_rates(
        self, q: ArrayLike, twists: ArrayLike, tau: ArrayLike | None = None, wrenches: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """v and the rates of the body twists (..., bodies, 6), of a state (q, twists): mueller2018 eqs. (78), (111)."""
        v = self.velocities_from_twists(q, twists)
        a = self.forward_dynamics(q, v, np.zeros(self.nv) if tau is None else tau, wrenches)
        return v, self.accelerations(q, v, a)

    def momenta(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Momenta p (..., nv) of the joints as in `relative.momentum_form`: for a free joint the spatial momentum."""
        arrays = {"q": self.check_q("momenta", q), "v": self.check_v("momenta", "v", v)}
        (p,), batch = self._run("momenta", momentum_form.momenta, arrays)
        return p.reshape(*batch, self.nv)

    def momentum_rates(
        self, q: ArrayLike, p: ArrayLike, tau: ArrayLike | None = None, wrenches: ArrayLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """v and p', (..., nv) each, of a state (q, p): mueller2018 eq. (79). Forces as in `forward_dynamics`."""
        name = "momentum_rates"
        arrays = {"q": self.check_q(name, q), "p": self.check_v(name, "p", p)}
        arrays["tau"] = EMPTY if tau is None else self.check_v(name, "tau", tau)
        arrays["wrenches"], arrays["still"] = self._wrenches(name, wrenches), self.numbers.copy()
        arrays["still"][GRAVITY.vector : GRAVITY.vector + 3] = 0.0
        (v, rate, _), batch = self._run(name, momentum_form.momentum_rates, arrays)
        if not np.isfinite(v).all():
            still = np.zeros(self.nv)
            state = {"q": arrays["q"], "v": still, "tau": still, "wrenches": EMPTY}
            raise ValueError(self._why_not_finite(name, v, batch, state))
        return v.reshape(*batch, self.nv), rate.reshape(*batch, self.nv)

    def velocities_from_momenta(self, q: ArrayLike, p: ArrayLike) -> np.ndarray:
        """v (..., nv) of the momenta p of `momenta`, O(n)."""
        return self.momentum_rates(q, p)[0]
