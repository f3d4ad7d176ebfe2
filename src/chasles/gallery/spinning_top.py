"""The heavy top of celledoni2022, section 3.4, in its three formulations. Not the top of mueller2013 (`heavy_top`).

A body turns about a fixed point O in gravity. With the attitude Q, the body momentum Π and the spatial one π = Q Π:

- "cotangent", y = (Q, π) on T*SO(3), right-trivialized: eqs. (12), (21)-(22);
- "lie_poisson", y = (Π, Γ) on se(3)*, Γ = Q⁻¹ Γ0: eqs. (23)-(24);
- "quadratic", y = (Q, π, q, p) on T*(SO(3) × R³), the Kaluza-Klein form: eqs. (29)-(32).

Everywhere Γ0 contains the acceleration of gravity [m/s²] and points up, against it; the paper's separate factor g is
dropped. With s = M l X [kg m] the torque about O is then Γ0 × Q s.

Two sets of data. "physical" is the top of Géradin and Cardona (geradin2001) that the paper means to take from its
reference [4]: its inertia there is about the center of mass at l = 1 m, so about O it is diag(15.234375, 0.46875,
15.234375) kg m², and Γ0 = (0, 0, 9.81) m/s². "as_printed" takes the numbers of section 3.4.4 to the letter (l = 2 m,
the inertia about the center of mass used about O, Γ0 = (0, 0, -9.81)): no real body has it, and its gravity lifts, but
it is what the paper states for its figures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.gallery.rigid_body import Invariants, checked
from chasles.integrate.solver import LieODE
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field
from chasles.kernel.algebra import cross, neg, sub
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, store3
from chasles.lie import s3
from chasles.lie.quaternion import conjugate, rotate

P = layout("P", lightness=3, moment=3, gravity=3)  # 1/I, s = M l X, Γ0


@kernel
def attitude(y):
    return (y[0], y[1], y[2], y[3])


@kernel
def body_rates(p, momentum):
    """I⁻¹ Π in principal axes."""
    return (p[P.lightness] * momentum[0], p[P.lightness + 1] * momentum[1], p[P.lightness + 2] * momentum[2])


@kernel
def spatial_rates(p, q, momentum):
    """ω = Q I⁻¹ Qᵀ π (eq. (22))."""
    return rotate(q, body_rates(p, rotate(conjugate(q), momentum)))


@field
def cotangent_field(t, y, p, out):
    """(ω, Γ0 × Q s - ω × π): the field of (21)-(22) in the form of (12), where -ad*_ω π = ω × π is in the action."""
    q, momentum = attitude(y), load3(y, 4, 0.0)
    w = spatial_rates(p, q, momentum)
    torque = cross(load3(p, P.gravity, 0.0), rotate(q, load3(p, P.moment, 0.0)))
    store3(out, 0, w)
    store3(out, 3, sub(torque, cross(w, momentum)))


@field
def lie_poisson_field(t, y, p, out):
    """-(I⁻¹ Π, s): (23)-(24) for the action Ad*_{g⁻¹}; the sign is that of left invariance in (18)."""
    store3(out, 0, neg(body_rates(p, load3(y, 0, 0.0))))
    store3(out, 3, neg(load3(p, P.moment, 0.0)))


@field
def quadratic_field(t, y, p, out):
    """(ω, -Γ0 × Q p - ω × π, p - Q⁻¹ Γ0, 0): (29)-(32); p = -s is part of the point."""
    q, momentum, conjugated = attitude(y), load3(y, 4, 0.0), load3(y, 10, 0.0)
    gravity = load3(p, P.gravity, 0.0)
    w = spatial_rates(p, q, momentum)
    store3(out, 0, w)
    store3(out, 3, sub(cross(rotate(q, conjugated), gravity), cross(w, momentum)))
    store3(out, 6, sub(conjugated, rotate(conjugate(q), gravity)))
    store3(out, 9, (0.0, 0.0, 0.0))


FORMULATIONS = {
    "cotangent": (Space("t*so3"), cotangent_field),
    "lie_poisson": (Space("se3*"), lie_poisson_field),
    "quadratic": (Space("t*so3", "r6"), quadratic_field),
}
DATA = {
    "physical": {
        "inertia": (15.234375, 0.46875, 15.234375),
        "moment": (0.0, 15.0, 0.0),
        "gravity": (0.0, 0.0, 9.81),
    },
    "as_printed": {
        "inertia": (0.234375, 0.46875, 0.234375),
        "moment": (0.0, 30.0, 0.0),
        "gravity": (0.0, 0.0, -9.81),
    },
}


@dataclass(frozen=True)
class SpinningTop:
    """A top with the principal moments `inertia` about its fixed point [kg m²], starting at Q = 1.

    `moment` is s = M l X, mass times the center of mass in the body frame [kg m]; `gravity` is Γ0 [m/s²], pointing up;
    `angular_velocity` is that at t = 0, in the body frame [rad/s]. `SpinningTop.of("physical")` and
    `SpinningTop.of("as_printed")` have the data of the module's description; the first is the default.
    """

    formulation: str = "cotangent"
    inertia: tuple[float, float, float] = DATA["physical"]["inertia"]
    moment: tuple[float, float, float] = DATA["physical"]["moment"]
    gravity: tuple[float, float, float] = DATA["physical"]["gravity"]
    angular_velocity: tuple[float, float, float] = (0.0, 150.0, -4.61538)

    def __post_init__(self):
        if self.formulation not in FORMULATIONS:
            raise ValueError(
                f"SpinningTop: formulation {self.formulation!r}; expected one of {', '.join(FORMULATIONS)}"
            )
        checked("SpinningTop: inertia", self.inertia, (3,), positive=True)
        for name in ("moment", "gravity", "angular_velocity"):
            checked(f"SpinningTop: {name}", getattr(self, name), (3,))

    @classmethod
    def of(cls, data: str, formulation: str = "cotangent") -> SpinningTop:
        """The top with the data "physical" or "as_printed"."""
        if data not in DATA:
            raise ValueError(f"SpinningTop: data {data!r}; expected one of {', '.join(DATA)}")
        return cls(formulation, **DATA[data])

    def problem(self) -> LieODE:
        space, function = FORMULATIONS[self.formulation]
        light = (1 / moment for moment in self.inertia)
        return LieODE(space, function, (*light, *self.moment, *self.gravity))

    def initial(self) -> np.ndarray:
        momentum = np.array(self.inertia) * self.angular_velocity  # Q = 1: body and spatial momentum coincide
        if self.formulation == "lie_poisson":
            return np.concatenate([momentum, self.gravity])
        start = np.concatenate([[1.0, 0, 0, 0], momentum])
        if self.formulation == "cotangent":
            return start
        return np.concatenate([start, np.zeros(3), -np.array(self.moment)])

    # ------------------------------------------------------------ quantities of points y (..., n)

    def body_momentum(self, y: ArrayLike) -> np.ndarray:
        """Π, in body axes [kg m²/s]."""
        y = np.asarray(y, dtype=float)
        return y[..., :3] if self.formulation == "lie_poisson" else s3.act(s3.inverse(y[..., :4]), y[..., 4:7])

    def vertical(self, y: ArrayLike) -> np.ndarray:
        """Γ = Q⁻¹ Γ0, in body axes [m/s²]."""
        y = np.asarray(y, dtype=float)
        return y[..., 3:] if self.formulation == "lie_poisson" else s3.act(s3.inverse(y[..., :4]), self.gravity)

    def body_angular_velocity(self, y: ArrayLike) -> np.ndarray:
        """I⁻¹ Π, in body axes [rad/s]."""
        return self.body_momentum(y) / np.array(self.inertia)

    def energy(self, y: ArrayLike) -> np.ndarray:
        """H = Π·I⁻¹Π/2 + s·Γ [J]; in the quadratic form with p for -s, where it is that of 3.4.3 less |p|²/2."""
        y = np.asarray(y, dtype=float)
        moment = -y[..., 10:] if self.formulation == "quadratic" else np.array(self.moment)
        kinetic = 0.5 * (self.body_momentum(y) * self.body_angular_velocity(y)).sum(axis=-1)
        return kinetic + (moment * self.vertical(y)).sum(axis=-1)

    def vertical_momentum(self, y: ArrayLike) -> np.ndarray:
        """Π·Γ = π·Γ0, constant as gravity has no torque about the vertical [kg m³/s³]."""
        return (self.body_momentum(y) * self.vertical(y)).sum(axis=-1)

    def vertical_norm(self, y: ArrayLike) -> np.ndarray:
        """|Γ| [m/s²], the other Casimir function of se(3)*."""
        return np.linalg.norm(self.vertical(y), axis=-1)

    def invariants(self) -> Invariants:
        return {"energy": self.energy, "vertical momentum": self.vertical_momentum, "vertical norm": self.vertical_norm}
