"""What a `Mechanism` can say about its motion beyond accelerations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from chasles.relative.group import Group
from chasles.relative.higher import inverse_rates, inverse_series, series
from chasles.relative.higher import jacobian_series as jacobians
from chasles.screw.representation import check_representation

EMPTY = np.empty(0)
Frames = Iterable[str] | str | None


class Rates(Group):
    """Time derivatives of a motion, `mechanism.rates`. Arrays have any leading axes, which broadcast.

    Derivatives of v are those of its numbers; for a spherical or free joint these are components in the child's joint
    frame. Where derivatives are given as a list, results have one more axis, the first, for the orders.
    """

    __slots__ = ()

    # ------------------------------------------------------------ kinematics

    def jacobian(
        self, q: ArrayLike, v: ArrayLike, frames: Iterable[str] | str | None = None, *, representation: str = "body"
    ) -> np.ndarray:
        """Time derivative of `jacobian` along v: acceleration = J a + J' v in the same representation."""
        arrays = self._tables.checked("rates.jacobian", q, v=v)
        return self._tables.jacobians("rates.jacobian", frames, representation, arrays)

    def _given(self, function: str, derivatives: Sequence[ArrayLike]) -> list[np.ndarray]:
        """Derivatives of the coordinates, at least one, checked."""
        given = list(derivatives)
        if not given:
            raise ValueError(f"{function}: derivatives is empty; expected [v, a, ...], (..., {self._tables.nv}) each")
        return [self._tables.check_v(function, f"derivatives[{k}]", value) for k, value in enumerate(given)]

    def twists(
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
        name = "rates.twists"
        given = self._given(name, derivatives)
        orders = len(given)
        where, offset, shape = self._tables.on_frames(name, frames, representation, orders)
        arrays = {"q": self._tables.check_q(name, q), "rates": _in_row(name, given, taylor=True)}
        sizes = {"orders": orders, "places": len(where) - 2}
        (twist,), batch = self._tables.run(
            name, series.twist_series, {**arrays, "where": where, "offset": offset}, sizes
        )
        return _by_order(twist, batch, orders, (*shape, 6))

    def jacobians(
        self,
        q: ArrayLike,
        derivatives: Sequence[ArrayLike],
        frames: Frames = None,
        *,
        representation: str = "body",
    ) -> np.ndarray:
        """Time derivatives J', J'', ... of `jacobian`, (orders, ..., frames, 6, nv), from [v, a, ...].

        The k-th needs the first k derivatives of the coordinates: J' is that of `rates.jacobian`, and the second needs
        [v, a]. With them V'' = J a' + 2 J' a + J'' v, and so on.
        """
        name = "rates.jacobians"
        given = self._given(name, derivatives)
        orders = len(given)
        where, offset, shape = self._tables.on_frames(name, frames, representation, orders + 1)
        places = len(where) - 2
        arrays = {"q": self._tables.check_q(name, q), "rates": _in_row(name, given, taylor=True)}
        sizes = {"orders": orders + 1, "given": orders, "columns": places * self._tables.nv}
        every = {**arrays, "where": where, "offset": offset}
        (matrix,), batch = self._tables.run(name, jacobians.jacobian_series, every, sizes)
        return _by_order(matrix, batch, orders, (*shape, 6, self._tables.nv), first=1)

    # ------------------------------------------------------------ dynamics

    def inverse_dynamics(
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
        name = "rates.inverse_dynamics"
        if representation not in ("body", "hybrid"):
            check_representation(name, representation)
            raise ValueError(
                f"{name}: there is no recursion in {representation!r} representation; body and hybrid have one"
            )
        motion = {"v": v, "a": a, "jerk": jerk} | ({} if snap is None else {"snap": snap})
        given = [self._tables.check_v(name, key, value) for key, value in motion.items()]
        return self._force_derivatives(name, q, given, wrenches, representation)

    def inverse_dynamics_series(
        self, q: ArrayLike, derivatives: Sequence[ArrayLike], *, wrenches: Sequence[ArrayLike] | None = None
    ) -> np.ndarray:
        """tau, tau', tau'', ... of a motion, (orders - 1, ..., nv), from [v, a, jerk, ...], two or more; O(n k²).

        Of any order; wrenches as in `rates.inverse_dynamics`, which is faster for the first two derivatives.
        """
        name = "rates.inverse_dynamics_series"
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
        loads = [self._tables.wrenches(name, value) for value in (wrenches if wrenches is not None else ())]
        if len(loads) > results:
            raise ValueError(f"{name}: {len(loads)} wrenches are given; expected at most {results}: [W, W', ...]")
        arrays = {"q": self._tables.check_q(name, q), "rates": _in_row(name, given, taylor=hybrid)}
        arrays["wrenches"] = _in_row(name, loads, taylor=hybrid) if loads else EMPTY
        arrays["counts"] = np.array([results, len(loads)])
        sizes = {"results": results, "orders": results + 1, "loads": len(loads)}
        algorithm = inverse_series.inverse_series if hybrid else inverse_rates.inverse_rates
        (tau,), batch = self._tables.run(name, algorithm, arrays, sizes)
        tau = tau.reshape(*batch, tau.shape[-1])[..., : results * self._tables.nv]
        return _by_order(tau, batch, results, (self._tables.nv,), scaled=hybrid)

    def forward_dynamics(
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
        `rates.inverse_dynamics`.
        """
        name = "rates.forward_dynamics"
        forces = {"tau": tau, "tau_rate": tau_rate} | ({} if tau_second is None else {"tau_second": tau_second})
        wanted = [self._tables.check_v(name, key, value) for key, value in forces.items()]
        loads = [] if wrenches is None else list(wrenches)
        if len(loads) > len(wanted):
            raise ValueError(f"{name}: {len(loads)} wrenches are given; expected at most {len(wanted)}: [W, W', ...]")
        still = np.zeros(self._tables.nv)
        motion = [
            self._tables.check_v(name, "v", v),
            self._mechanism.forward_dynamics(q, v, tau, loads[0] if loads else None),
        ]
        held = self._mechanism.terms.gravity(q)  # with them, forces at rest are solved by the mass matrix alone
        for order, value in enumerate(wanted[1:], start=1):
            without = self._force_derivatives(name, q, [*motion, still], loads[: order + 1], "body")[order]
            motion.append(self._mechanism.forward_dynamics(q, still, value - without + held))
        return np.stack(np.broadcast_arrays(*motion[1:]))


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
