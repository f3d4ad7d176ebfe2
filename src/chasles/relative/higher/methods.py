"""What a `Mechanism` can say about its motion beyond accelerations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.relative.algorithm import Algorithm
from chasles.relative.higher import christoffel, inverse_rates, inverse_series, jacobian_partials, series
from chasles.relative.higher import jacobian_series as jacobians
from chasles.relative.kinematics import REPRESENTATIONS
from chasles.relative.tables import FREE, LINK, SPHERICAL, VELOCITIES, link_table
from chasles.relative.tree import Tree
from chasles.screw.representation import check_representation

EMPTY = np.empty(0)
Frames = Iterable[str] | str | None


class HigherOrder:
    """The part of `Mechanism` for higher derivatives. Arrays have any leading axes, which broadcast.

    Derivatives of v are those of its numbers; for a spherical or free joint these are components in the child's joint
    frame. Where derivatives are given as a list, results have one more axis, the first, for the orders.
    """

    if TYPE_CHECKING:  # what `Mechanism` has
        tree: Tree
        topology: np.ndarray
        numbers: np.ndarray
        sizes: dict[str, int]
        threads: int
        nv: int
        links: int

        def check_q(self, function: str, q: ArrayLike) -> np.ndarray: ...
        def check_v(self, function: str, name: str, value: ArrayLike) -> np.ndarray: ...
        def _wrenches(self, function: str, wrenches: ArrayLike | None) -> np.ndarray: ...
        def _places(self, function: str, frames: Iterable[str] | str | None) -> tuple[np.ndarray, np.ndarray]: ...
        def _run(
            self,
            function: str,
            algorithm: Algorithm,
            arrays: dict[str, np.ndarray],
            sizes: dict[str, int] | None = None,
        ) -> tuple[list[np.ndarray], tuple[int, ...]]: ...

        forward_dynamics: Callable[..., np.ndarray]
        gravity_forces: Callable[[ArrayLike], np.ndarray]

    # ------------------------------------------------------------ kinematics

    def _given(self, function: str, derivatives: Sequence[ArrayLike]) -> list[np.ndarray]:
        """Derivatives of the coordinates, at least one, checked."""
        given = list(derivatives)
        if not given:
            raise ValueError(f"{function}: derivatives is empty; expected [v, a, ...], (..., {self.nv}) each")
        return [self.check_v(function, f"derivatives[{k}]", value) for k, value in enumerate(given)]

    def _on_frames(self, function: str, frames: Frames, representation: str, orders: int):
        """For kernels that look at frames: representation, orders and links; places on the links; shape of results."""
        check_representation(function, representation)
        single = isinstance(frames, str)
        links, offset = self._places(function, [frames] if isinstance(frames, str) else frames)
        where = np.concatenate([[REPRESENTATIONS.index(representation), orders], links])
        return where, offset, () if single else (len(links),)

    def twist_derivatives(
        self,
        q: ArrayLike,
        derivatives: Sequence[ArrayLike],
        frames: Frames = None,
        *,
        representation: str = "body",
    ) -> np.ndarray:
        """Twists of frames or bodies and their time derivatives, (orders, ..., frames, 6), from [v, a, jerk, ...].

        V, V', V'', ...: as many as derivatives are given, of the six numbers of a twist in the representation; O(n k²)
        for k of them. Up to order two they are those of mueller2018 eqs. (6), (13), (17), (21), (29), (31) and (33),
        corrected.
        """
        name = "twist_derivatives"
        given = self._given(name, derivatives)
        orders = len(given)
        where, offset, shape = self._on_frames(name, frames, representation, orders)
        arrays = {"q": self.check_q(name, q), "rates": _in_row(name, given, taylor=True)}
        sizes = {"orders": orders, "places": len(where) - 2}
        (twist,), batch = self._run(name, series.twist_series, {**arrays, "where": where, "offset": offset}, sizes)
        return _by_order(twist, batch, orders, (*shape, 6))

    def jacobian_derivatives(
        self,
        q: ArrayLike,
        derivatives: Sequence[ArrayLike],
        frames: Frames = None,
        *,
        representation: str = "body",
    ) -> np.ndarray:
        """Time derivatives J', J'', ... of `jacobian`, (orders, ..., frames, 6, nv), from [v, a, ...].

        The k-th needs the first k derivatives of the coordinates: J' is that of `jacobian_rate`, and the second needs
        [v, a]. With them V'' = J a' + 2 J' a + J'' v, and so on.
        """
        name = "jacobian_derivatives"
        given = self._given(name, derivatives)
        orders = len(given)
        where, offset, shape = self._on_frames(name, frames, representation, orders + 1)
        places = len(where) - 2
        arrays = {"q": self.check_q(name, q), "rates": _in_row(name, given, taylor=True)}
        sizes = {"orders": orders + 1, "given": orders, "columns": places * self.nv}
        every = {**arrays, "where": where, "offset": offset}
        (matrix,), batch = self._run(name, jacobians.jacobian_series, every, sizes)
        return _by_order(matrix, batch, orders, (*shape, 6, self.nv), first=1)

    def jacobian_partials(
        self, q: ArrayLike, frames: Frames = None, *, order: int = 1, representation: str = "body"
    ) -> np.ndarray:
        """Derivatives of `jacobian` with respect to the coordinates, (..., frames, 6, nv, nv, ...), of one order.

        Entry [..., j, k, r] is column j differentiated first along freedom k, then along freedom r, that is along
        q exp(δ e_k) and q exp(δ e_r). For joints with axes these are partial derivatives, and their order does not
        matter; the freedoms of a spherical or free joint do not commute. mueller2018 eqs. (5), (12), (14), (15), (20),
        (23), (25), the last one completed. The result has 6 nv^(order + 1) numbers a frame.
        """
        name = "jacobian_partials"
        if not isinstance(order, int | np.integer) or order < 1:
            raise ValueError(f"{name}: order is {order!r}; expected an integer, 1 or more")
        where, offset, shape = self._on_frames(name, frames, representation, int(order))
        way = [np.array([len(way), *way], dtype=np.int64) for way in map(self._way, where[2:])]
        every = {"q": self.check_q(name, q), "where": where, "offset": offset}
        every["way"] = np.concatenate([*way, np.zeros(1, dtype=np.int64)])
        size = 6 * self.nv ** (int(order) + 1) * (len(where) - 2)
        (tensor,), batch = self._run(name, jacobian_partials.jacobian_partials, every, {"size": size})
        return tensor.reshape(*batch, *shape, 6, *(self.nv,) * (int(order) + 1))

    def _way(self, link: int) -> list[int]:
        """The velocities that move a link, from the ground outward."""
        table = link_table(self.topology)
        way: list[int] = []
        while link >= 0:
            first = int(table[link, LINK.velocity])
            way += reversed(range(first, first + VELOCITIES[table[link, LINK.kind]]))
            link = int(table[link, LINK.parent])
        return way[::-1]

    # ------------------------------------------------------------ dynamics

    def inverse_dynamics_rates(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        jerk: ArrayLike,
        snap: ArrayLike | None = None,
        *,
        wrenches: Sequence[ArrayLike] | None = None,
        representation: str = "body",
    ) -> np.ndarray:
        """Generalized forces of a motion and their time derivatives: (tau, tau'), with `snap` (tau, tau', tau'').

        (2 or 3, ..., nv), O(n): mueller2018 section 6.3. wrenches: [W], [W, W'] or [W, W', W''], the wrenches on the
        bodies as in `inverse_dynamics` and the derivatives of their components in the bodies' frames; those left out
        are zero. representation: of the recursion, body or hybrid; to rounding the results are the same.
        """
        name = "inverse_dynamics_rates"
        if representation not in ("body", "hybrid"):
            check_representation(name, representation)
            raise ValueError(
                f"{name}: there is no recursion in {representation!r} representation; body and hybrid have one"
            )
        motion = {"v": v, "a": a, "jerk": jerk} | ({} if snap is None else {"snap": snap})
        given = [self.check_v(name, key, value) for key, value in motion.items()]
        return self._force_derivatives(name, q, given, wrenches, representation)

    def inverse_dynamics_time_derivatives(
        self, q: ArrayLike, derivatives: Sequence[ArrayLike], *, wrenches: Sequence[ArrayLike] | None = None
    ) -> np.ndarray:
        """tau, tau', tau'', ... of a motion, (orders - 1, ..., nv), from [v, a, jerk, ...], two or more; O(n k²).

        Of any order; wrenches as in `inverse_dynamics_rates`, which is faster for the first two derivatives.
        """
        name = "inverse_dynamics_time_derivatives"
        given = self._given(name, derivatives)
        if len(given) < 2:
            raise ValueError(f"{name}: derivatives has only v; expected [v, a, ...]")
        return self._force_derivatives(name, q, given, wrenches, "hybrid")

    def _force_derivatives(
        self,
        name: str,
        q: ArrayLike,
        given: list[np.ndarray],
        wrenches: Sequence[ArrayLike] | None,
        representation: str,
    ) -> np.ndarray:
        hybrid, results = representation == "hybrid", len(given) - 1
        loads = [self._wrenches(name, value) for value in (wrenches if wrenches is not None else ())]
        if len(loads) > results:
            raise ValueError(f"{name}: {len(loads)} wrenches are given; expected at most {results}: [W, W', ...]")
        arrays = {"q": self.check_q(name, q), "rates": _in_row(name, given, taylor=hybrid)}
        arrays["wrenches"] = _in_row(name, loads, taylor=hybrid) if loads else EMPTY
        arrays["counts"] = np.array([results, len(loads)])
        sizes = {"results": results, "orders": results + 1, "loads": len(loads)}
        algorithm = inverse_series.inverse_series if hybrid else inverse_rates.inverse_rates
        (tau,), batch = self._run(name, algorithm, arrays, sizes)
        tau = tau.reshape(*batch, tau.shape[-1])[..., : results * self.nv]
        return _by_order(tau, batch, results, (self.nv,), scaled=hybrid)

    def forward_dynamics_rates(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        tau_rate: ArrayLike,
        tau_second: ArrayLike | None = None,
        *,
        wrenches: Sequence[ArrayLike] | None = None,
    ) -> np.ndarray:
        """Accelerations and their time derivatives under generalized forces: (a, a'), with tau'' also a''; O(n).

        (2 or 3, ..., nv). From M a' = tau' - (tau' of the motion with a' = 0), and so on; wrenches as in
        `inverse_dynamics_rates`.
        """
        name = "forward_dynamics_rates"
        forces = {"tau": tau, "tau_rate": tau_rate} | ({} if tau_second is None else {"tau_second": tau_second})
        wanted = [self.check_v(name, key, value) for key, value in forces.items()]
        loads = [] if wrenches is None else list(wrenches)
        if len(loads) > len(wanted):
            raise ValueError(f"{name}: {len(loads)} wrenches are given; expected at most {len(wanted)}: [W, W', ...]")
        still = np.zeros(self.nv)
        motion = [self.check_v(name, "v", v), self.forward_dynamics(q, v, tau, loads[0] if loads else None)]
        held = self.gravity_forces(q)  # with them, forces at rest are solved by the mass matrix alone
        for order, value in enumerate(wanted[1:], start=1):
            without = self._force_derivatives(name, q, [*motion, still], loads[: order + 1], "body")[order]
            motion.append(self.forward_dynamics(q, still, value - without + held))
        return np.stack(np.broadcast_arrays(*motion[1:]))

    def christoffel_symbols(self, q: ArrayLike) -> np.ndarray:
        """Γ_ijk = ½ (∂M_ik/∂q_j + ∂M_ij/∂q_k - ∂M_jk/∂q_i), (..., nv, nv, nv): the velocity terms are Σ Γ_ijk v_j v_k.

        mueller2018 eqs. (85)-(87), (86) and (87) corrected. Σ_k Γ_ijk v_k is the matrix of `coriolis(q, v, skew=True)`.
        Only for mechanisms without spherical and free joints, whose velocities are not derivatives of coordinates.
        """
        name = "christoffel_symbols"
        table = link_table(self.topology)
        turning = np.isin(table[:, LINK.kind], (SPHERICAL, FREE))
        if turning.any():
            joint = self.tree.joint_of_link[int(np.argmax(turning))]
            raise ValueError(
                f"{name}: the velocities of joint {joint!r} are not the derivatives of coordinates, so there are no "
                "Christoffel symbols; use coriolis(q, v, skew=True), which has the same properties"
            )
        (symbols,), batch = self._run(name, christoffel.christoffel, {"q": self.check_q(name, q)})
        return symbols.reshape(*batch, self.nv, self.nv, self.nv)


def _in_row(function: str, arrays: Sequence[np.ndarray], taylor: bool) -> np.ndarray:
    """Arrays whose leading axes broadcast, one after the other on the last axis; as Taylor coefficients if asked."""
    try:
        together = list(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape[:-1]) for array in arrays)
        raise ValueError(f"{function}: leading axes of the derivatives do not broadcast: {shapes}") from None
    if taylor:
        together = [array / math.factorial(k) for k, array in enumerate(together)]
    return np.concatenate(together, axis=-1)


def _by_order(
    result: np.ndarray, batch: tuple[int, ...], orders: int, shape: tuple[int, ...], first: int = 0, scaled: bool = True
) -> np.ndarray:
    """Results (count, orders x ...) with the orders as the first axis, from Taylor coefficients to derivatives."""
    split = np.moveaxis(result.reshape(*batch, orders, *shape), len(batch), 0)
    factors = [math.factorial(first + k) if scaled else 1 for k in range(orders)]
    return split * np.array(factors, dtype=float).reshape(orders, *(1,) * (split.ndim - 1))
