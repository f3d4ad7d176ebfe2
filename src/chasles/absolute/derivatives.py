"""Derivatives of the equations of motion in absolute coordinates: `mechanism.derivatives`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.reactions import on_constraints
from chasles.absolute.states import states_of
from chasles.absolute.tables import MECHANISM, WORK
from chasles.cached import cached_property
from chasles.constraint.results import ForwardDerivatives, InverseDerivatives
from chasles.kernel.lanes import WIDTH, buffer
from chasles.kernel.undisturbed import Calling
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.lie.rotation import quaternion_to_matrix
from chasles.lie.so3 import hat
from chasles.model.constraint import Drive

if TYPE_CHECKING:
    from chasles.absolute.mechanism import AbsoluteMechanism
    from chasles.force.law_tangent import LawTangent


class BodyDerivatives:
    """Derivatives with respect to the state, along q exp(δ) and v + δv, with a column for each velocity of each body:
    (..., 6 bodies, 6 bodies).

    They are those of `forward_dynamics` and `inverse_dynamics` without the system's forces, as in joint coordinates;
    wrenches on the bodies are constant in the bodies' frames. Where equations depend on each other, they hold along
    displacements that stay on the constraints.
    """

    def __init__(self, mechanism: AbsoluteMechanism):
        self._mechanism = mechanism

    def __repr__(self) -> str:
        return f"<BodyDerivatives of {self._mechanism!r}>"

    def __getattr__(self, name: str) -> np.ndarray:
        raise AttributeError(
            f"derivatives in absolute coordinates have no {name!r}; there are forward_dynamics and inverse_dynamics"
        )

    @cached_property
    def _on_duals(self) -> tuple[np.ndarray, list[LawTangent]]:
        """The packed mechanism with what computes its constraints on dual numbers, and their laws."""
        from chasles.constraint.duals import on_duals  # needs the compiler

        mechanism, packed = self._mechanism, self._mechanism.packed.copy()
        constants = MECHANISM.part(packed, "constants")
        constants[:], laws = on_duals(constants, mechanism.tiles, mechanism.laws)
        return packed, laws

    @property
    def notes(self) -> tuple[str, ...]:
        """Of laws of constraints whose derivatives are differences, because they do not compile for dual numbers."""
        in_time = [one.value for one in self._mechanism.system.constraints if isinstance(one, Drive)]
        laws = [one for one in self._on_duals[1] if not any(one.law is law for law in in_time)]
        return tuple(one.note for one in laws if one.note)

    def forward_dynamics(
        self,
        central: ArrayLike,
        velocity: ArrayLike,
        wrenches: ArrayLike | None = None,
        t: ArrayLike = 0.0,
        angles: ArrayLike | None = None,
    ) -> ForwardDerivatives:
        """∂a/∂q, ∂a/∂v and (`dtau`) ∂a/∂wrenches of `forward_dynamics`, O(n²) as they are large."""
        name, mechanism, n = "derivatives.forward_dynamics", self._mechanism, self._mechanism.n
        q, v = self._state(name, central, velocity)
        given = real_array(name, "wrenches", np.zeros((n, 6)) if wrenches is None else wrenches, (n, 6))
        q, v = on_constraints(mechanism, q, v, t, angles)
        states = states_of(mechanism, q, v, t, angles, given)
        matrices = np.empty((math.prod(states.batch), 3, 6 * n, 6 * n))
        for k, one in enumerate(zip(states.q, states.v, states.t, states.angles, states.more[0], strict=True)):
            matrices[k] = self._accelerations(*one)
        shaped = matrices.reshape(*states.batch, 3, 6 * n, 6 * n)
        return ForwardDerivatives(*(shaped[..., k, :, :] for k in range(3)))

    def _state(self, name: str, central: ArrayLike, velocity: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        n = self._mechanism.n
        return real_array(name, "central", central, (n, 7)), real_array(name, "velocity", velocity, (n, 6))

    def _accelerations(self, q, v, t, angles, wrenches) -> np.ndarray:
        """The three derivatives of one state, (3, 6 bodies, 6 bodies)."""
        from chasles.absolute import tangent  # needs the compiler

        mechanism, n, plan = self._mechanism, self._mechanism.n, self._mechanism.elimination
        central, (packed, laws) = q.reshape(n, 7), self._on_duals
        in_space = mechanism.central_wrenches(central, wrenches.reshape(n, 6))
        motion, work = mechanism._solved(central, v.reshape(n, 6), t, angles, in_space)
        integers, x = mechanism.packed.view(np.int64), np.zeros((plan.nodes, 3))
        x[plan.order[mechanism._node]] = motion.multipliers
        a = WORK.split(work, integers).a.copy()
        in_body = pose_group.AdT_apply(mechanism.central, wrenches.reshape(n, 6))
        duals = [buffer(len(values)) for values in (q, v, in_body.ravel())]
        for dual, values in zip(duals, (q, v, in_body.ravel()), strict=True):
            dual[::WIDTH] = values
        dual_work, given, out = (
            buffer(tangent.TANGENT_WORK.size(integers)),
            buffer(6 * n + x.size),
            np.empty((n, 6, 3, 6 * n)),
        )
        with Calling(mechanism.laws, any(law.note for law in laws)):
            tangent.acceleration_derivatives(
                *(tangent.equations_address(), integers, mechanism.packed_for_run(), packed, float(t), angles.copy()),
                *(work, a, x.ravel(), *duals, dual_work, given, out),
            )
        if not np.isfinite(out).all():
            raise ArithmeticError(mechanism._singular())
        of_bodies = out.reshape(n, 3, 6, 6 * n).transpose(1, 3, 0, 2)  # (q, v or wrench; number of a; body; direction)
        frames = pose_group.AdT_apply(mechanism.central[:, None], np.eye(6)).transpose(0, 2, 1)
        by_wrench = np.einsum("rik,ikj->rij", of_bodies[2], frames)
        return np.stack([part.reshape(6 * n, 6 * n) for part in (of_bodies[0], of_bodies[1], by_wrench)])

    def inverse_dynamics(self, central: ArrayLike, velocity: ArrayLike, a: ArrayLike) -> InverseDerivatives:
        """∂w/∂q, ∂w/∂v and ∂w/∂a of the wrenches w of `inverse_dynamics` with `applied=False`. A wrench depends on its
        own body alone, so that the matrices have blocks of six on the diagonal."""
        name, mechanism, n = "derivatives.inverse_dynamics", self._mechanism, self._mechanism.n
        q, v = self._state(name, central, velocity)
        rate = real_array(name, "a", a, (n, 6))
        batch = np.broadcast_shapes(q.shape[:-2], v.shape[:-2], rate.shape[:-2])
        back = quaternion_to_matrix(q[..., :4]).swapaxes(-1, -2)
        spin, speed, identity = v[..., :3], v[..., 3:], np.eye(3)
        mass, moments = np.array([body.mass for body in mechanism.system.bodies])[:, None, None], mechanism.moments
        free = np.where(mechanism._mixed[:, None], rate[..., 3:], 0.0) - np.asarray(mechanism.system.gravity)
        blocks, mixed = np.zeros((3, *batch, n, 6, 6)), mechanism._mixed[:, None, None]
        of_q, of_v, of_a = blocks
        of_q[..., 3:, :3] = mass * hat(np.einsum("...ij,...j->...i", back, free))
        of_v[..., :3, :3] = hat(spin) * moments[:, None, :] - hat(moments * spin)
        of_v[..., 3:, :3] = np.where(mixed, 0.0, -mass * hat(speed))
        of_v[..., 3:, 3:] = np.where(mixed, 0.0, mass * hat(spin))
        of_a[..., :3, :3] = moments[:, None, :] * identity
        of_a[..., 3:, 3:] = mass * np.where(mixed, back, identity)
        frames = pose_group.AdT_apply(pose_group.inverse(mechanism.central)[:, None], np.eye(6)).swapaxes(-1, -2)
        matrices = np.zeros((3, *batch, n, 6, n, 6))
        every = np.arange(n)
        matrices[..., every, :, every, :] = np.moveaxis(frames @ blocks, -3, 0)
        return InverseDerivatives(*matrices.reshape(3, *batch, 6 * n, 6 * n))
