"""Symplectic methods on T*SO(3) with fixed steps, for long runs: the theta family, variational methods, compositions.

A state is that of Space("t*so3"): the unit quaternion of the rotation Q and the right-trivialised momentum pi, the
angular momentum in space axes (004 section 3.4.1). Two kinds of problems:

- `HamiltonianOnSO3`: any Hamiltonian, given by its field (14). Solved by `SymplecticTheta`.
- `RigidBodyOnSO3`: kinetic energy of a rigid body and a torque that depends on Q (and time). Solved by `LieVerlet` and
  `MoserVeselov` too, which need one torque a step and no more than a cubic equation in three unknowns.

`Composition` raises the order of the symmetric ones to 4, 6 or 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as data_field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.field import Field, PythonField, call
from chasles.integrate.implicit import (
    COUNTS,
    DONE,
    NO_CONVERGENCE,
    NOT_FINITE,
    REMAINDER,
    RUNNING,
    SINGULAR,
    STUCK,
    TIMES,
    FixedRun,
    clock,
    newton,
    record,
    schedule,
)
from chasles.integrate.solution import Solution
from chasles.integrate.solve import LieODE
from chasles.integrate.space import Space
from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    mat_add,
    mat_scale,
    mul,
    outer,
    scale,
    skew,
    skew_mul,
    sub,
)
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load9, store3
from chasles.lie import pose, quaternion, s3, so3
from chasles.lie.coefficients import dexpinv_coefficients, half_angle

SPACE = Space("t*so3")
THETA, VERLET_EXP, VERLET_CAY, MOSER_VESELOV = range(4)  # methods
HAMILTONIAN, RIGID_BODY = range(2)  # problems
CHOICE = layout("CHOICE", method=1, problem=1, count=1, every=1)

# ---------------------------------------------------------------- states


@kernel
def load4(y, at):
    return y[at], y[at + 1], y[at + 2], y[at + 3]


@kernel
def store_state(y, q, momentum):
    for k in range(4):
        y[k] = q[k]
    store3(y, 4, momentum)


@kernel
def turned(a, b):
    """Quaternion product, its norm kept at 1 against rounding (the correction is below one unit in the last place)."""
    q = quaternion.product(a, b)
    r = 1.5 - 0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] * r, q[1] * r, q[2] * r, q[3] * r


@kernel
def back(q, v):
    """R(q)^T v."""
    return quaternion.rotate(quaternion.conjugate(q), v)


# ---------------------------------------------------------------- fields


@kernel(entry=True)
def hamiltonian_field(source, t, y, f):
    """f = (omega, nu) of 004 eq. (14) at a state (Q, pi): the field itself, or that of a rigid body from its torque T,

    omega = Q I^-1 Q^T pi, nu = Q T - omega x pi. The second term is there because nu = -R_Q^* dH/dQ at fixed pi.
    """
    problem, inverse, torque, address, p = source
    if problem == HAMILTONIAN:
        call(address, t, y, 0, p, f, 0, 7, 6)
    else:
        call(address, t, y, 0, p, torque, 0, 4, 3)
        q, momentum = load4(y, 0), load3(y, 4, 0.0)
        w = quaternion.rotate(q, mul(load9(inverse, 0, 0.0), back(q, momentum)))
        store3(f, 0, w)
        store3(f, 3, sub(quaternion.rotate(q, load3(torque, 0, 0.0)), cross(w, momentum)))


# ---------------------------------------------------------------- the theta family


@kernel
def theta_residual(context, z, r):
    """Equations (15), (16) of 004 for (xi, n), both in the axes of the body at the start of the step.

    In those axes Newton's matrix changes little from step to step. On so(3) dexp*_u = dexp_{-u} and Ad*_exp(u) n =
    exp(u)^T n.
    """
    theta, t, h, y, point, f, source = context
    q, momentum = load4(y, 0), load3(y, 4, 0.0)
    xi, n = quaternion.rotate(q, load3(z, 0, 0.0)), quaternion.rotate(q, load3(z, 3, 0.0))
    part = scale(theta, xi)
    e = quaternion.exp(part)
    pulled = back(e, n)
    middle = add_scaled(so3.dexp_apply(xi, add(momentum, pulled)), -theta, so3.dexp_apply(part, pulled))
    store_state(point, quaternion.product(e, q), middle)
    hamiltonian_field(source, t + theta * h, point, f)
    store3(r, 0, add_scaled(load3(z, 0, 0.0), -h, back(q, load3(f, 0, 0.0))))
    store3(r, 3, add_scaled(load3(z, 3, 0.0), -h, back(q, load3(f, 3, 0.0))))


@kernel
def theta_update(theta, y, z):
    """Equation (17) of 004."""
    q, momentum = load4(y, 0), load3(y, 4, 0.0)
    xi, n = quaternion.rotate(q, load3(z, 0, 0.0)), quaternion.rotate(q, load3(z, 3, 0.0))
    e = quaternion.exp(xi)
    moved = add(quaternion.rotate(e, momentum), quaternion.rotate(quaternion.exp(scale(1.0 - theta, xi)), n))
    store_state(y, turned(e, q), moved)


@kernel
def theta_guess(context, z):
    """Take the field at the start of the step."""
    _, t, h, y, _, f, source = context
    hamiltonian_field(source, t, y, f)
    q = load4(y, 0)
    store3(z, 0, scale(h, back(q, load3(f, 0, 0.0))))
    store3(z, 3, scale(h, back(q, load3(f, 3, 0.0))))


@kernel
def theta_step(theta, k, t, h, y, solver, source, memory, counts, history):
    """One part of a step; its own unknowns and Newton's matrix are the k-th ones of `solver`."""
    z, lu, pivots, valid, groups = solver
    point, f, base, sizes = memory[:7], memory[7:13], memory[13:15], memory[15:17]
    r, work = memory[17:23], memory[23:35]
    unknowns, usable = z[6 * k : 6 * k + 6], valid[k : k + 1]
    matrix = lu[36 * k : 36 * k + 36], pivots[6 * k : 6 * k + 6], usable
    context = theta, t, h, y, point, f, source
    base[0], base[1] = 1.0, max(abs(y[4]), abs(y[5]), abs(y[6]))
    status = NO_CONVERGENCE
    first = counts[COUNTS.step] == 0
    for attempt in range(1 if first else 2):
        if first or attempt == 1:  # else the solution of the step before is the guess
            theta_guess(context, unknowns)
            counts[COUNTS.evaluations] += 1
            usable[0] = 0
        status = newton(theta_residual, context, unknowns, r, matrix, groups, base, sizes, counts, history, work, 6)
        if status == DONE:
            break
    if status == DONE:
        theta_update(theta, y, unknowns)
    return status


# ---------------------------------------------------------------- variational methods


@kernel
def mapped(method, w):
    """Quaternion of the turn in a step: exp(w), or that of the Rodrigues vector w."""
    if method == VERLET_EXP:
        return quaternion.exp(w)
    return s3.cay(w)


@kernel
def exp_equation(inertia, a, w):
    """(dexpinv_w)^* I w = a and its derivative; (dexpinv_w)^* v = v + w x v/2 + g2 w x (w x v)."""
    v = mul(inertia, w)
    (_, _, g), (_, _, dg), _ = dexpinv_coefficients(half_angle(w))
    wv = cross(w, v)
    wwv = cross(w, wv)
    residual = sub(add_scaled(add_scaled(v, 0.5, wv), g, wwv), a)
    first = mat_scale(0.5, mat_add(skew_mul(w, inertia), skew(scale(-1.0, v))))
    s = dot(w, v)
    diagonal = (s, 0.0, 0.0, 0.0, s, 0.0, 0.0, 0.0, s)
    second = mat_add(mat_add(diagonal, outer(w, v)), mat_scale(-2.0, outer(v, w)))
    second = mat_add(second, skew_mul(w, skew_mul(w, inertia)))
    return residual, mat_add(mat_add(inertia, first), mat_add(mat_scale(g, second), outer(scale(2.0 * dg, wwv), w)))


@kernel
def cay_equation(inertia, a, c):
    """(dcay^-1_u)^* I u = a, u = 2 c: I c + c x I c + c (c . I c) = a/2, and its derivative."""
    v = mul(inertia, c)
    s = dot(c, v)
    residual = add_scaled(add(add(v, cross(c, v)), scale(s, c)), -0.5, a)
    diagonal = (s, 0.0, 0.0, 0.0, s, 0.0, 0.0, 0.0, s)
    matrix = mat_add(mat_add(inertia, skew_mul(c, inertia)), skew(scale(-1.0, v)))
    return residual, mat_add(matrix, mat_add(diagonal, outer(scale(2.0, c), v)))


@kernel
def moser_equation(inertia, a, c):
    """a~ = F Jd - Jd F^T with F = cay(c), Jd = tr(I)/2 - I: I c + c x I c = a (1 + |c|^2)/2, and its derivative."""
    v = mul(inertia, c)
    residual = add_scaled(add(v, cross(c, v)), -0.5 * (1.0 + dot(c, c)), a)
    matrix = mat_add(mat_add(inertia, skew_mul(c, inertia)), skew(scale(-1.0, v)))
    return residual, mat_add(matrix, outer(scale(-1.0, a), c))


@kernel
def solve3(m, b):
    """Solution of a system of three equations, by the adjoint matrix."""
    x, y, z = (m[0], m[3], m[6]), (m[1], m[4], m[7]), (m[2], m[5], m[8])
    yz = cross(y, z)
    r = 1.0 / dot(x, yz)
    return scale(r, (dot(b, yz), dot(b, cross(z, x)), dot(b, cross(x, y))))


@kernel
def size(v):
    return sqrt(dot(v, v))


@kernel(entry=True)
def solve_turn(method, inertia, inverse, a, history, counts):
    """The turn w of a step from h times the momentum, a, by Newton's method; (status, w)."""
    matrix = load9(inertia, 0, 0.0)
    w = scale(1.0 if method == VERLET_EXP else 0.5, mul(load9(inverse, 0, 0.0), a))
    before = 0.0
    for k in range(history.shape[1]):
        if method == VERLET_EXP:
            residual, derivative = exp_equation(matrix, a, w)
        elif method == VERLET_CAY:
            residual, derivative = cay_equation(matrix, a, w)
        else:
            residual, derivative = moser_equation(matrix, a, w)
        counts[COUNTS.iterations] += 1
        counts[COUNTS.tried] = k + 1
        history[0, k] = size(residual) / (size(a) + 1e-300)
        delta = solve3(derivative, residual)
        correction = size(delta) / (size(w) + size(delta) + 1e-300)
        history[1, k] = correction
        if not np.isfinite(history[0, k]):
            return NOT_FINITE, w
        if not np.isfinite(correction):
            return SINGULAR, w
        w = sub(w, delta)
        fast = correction < 0.5 * before
        if correction <= REMAINDER or (fast and correction * correction <= REMAINDER * before):
            return DONE, w
        if not fast and correction <= STUCK:
            return DONE, w
        before = correction
    return NO_CONVERGENCE, w


@kernel
def variational_step(method, t, h, y, inertia, source, counts, history):
    """P + h T/2, a turn F with that momentum, F^T (P + h T/2) + h T1/2; y holds the body momentum P here.

    The torque kept in `source` is T(t, Q) and becomes T1.
    """
    _, inverse, torque, address, p = source
    q = load4(y, 0)
    half = add_scaled(load3(y, 4, 0.0), 0.5 * h, load3(torque, 0, 0.0))
    status, w = solve_turn(method, inertia, inverse, scale(h, half), history, counts)
    if status != DONE:
        return status
    e = mapped(method, w)
    q = turned(q, e)
    for k in range(4):
        y[k] = q[k]
    call(address, t + h, y, 0, p, torque, 0, 4, 3)
    counts[COUNTS.evaluations] += 1
    store3(y, 4, add_scaled(back(e, half), 0.5 * h, load3(torque, 0, 0.0)))
    return DONE if np.isfinite(y[4] + y[5] + y[6]) else NOT_FINITE


# ---------------------------------------------------------------- the loop


@kernel
def save_state(method, t, y, source, memory, counts, saved):
    """Save a state in space axes, with its field value."""
    point, f = memory[:7], memory[7:13]
    q, momentum = load4(y, 0), load3(y, 4, 0.0)
    if method != THETA:
        momentum = quaternion.rotate(q, momentum)
    store_state(point, q, momentum)
    hamiltonian_field(source, t, point, f)
    counts[COUNTS.evaluations] += 1
    saved_t, saved_y, saved_f, saved_x = saved
    record(counts[COUNTS.rows], t, point, f, f, saved_t, saved_y, saved_f, saved_x)
    counts[COUNTS.rows] += 1


@kernel
def copy(source, target, count):
    for i in range(count):
        target[i] = source[i]


@kernel(entry=True)
def advance(
    choice,
    times,
    theta,
    parts,
    y,
    z,
    lu,
    pivots,
    valid,
    torque,
    groups,
    counts,
    history,
    memory,
    inertia,
    inverse,
    saved_t,
    saved_y,
    saved_f,
    saved_x,
    address,
    p,
    limit,
):
    """Take up to `limit` steps, each in `parts` (fractions of it, in turn).

    y, z, lu, pivots, valid, torque and counts are the whole memory of a run. The methods for rigid bodies keep the body
    momentum in y, and in `torque` its value at the point.
    """
    method, count, every = choice[CHOICE.method], choice[CHOICE.count], choice[CHOICE.every]
    scratch, old_y, old_torque, spare = memory[:35], memory[35:42], memory[42:45], memory[45:48]
    solver = z, lu, pivots, valid, groups
    saved = saved_t, saved_y, saved_f, saved_x
    kept = choice[CHOICE.problem], inverse, torque, address, p
    source = choice[CHOICE.problem], inverse, spare, address, p
    for _ in range(limit):
        if counts[COUNTS.step] >= count:
            counts[COUNTS.status] = DONE
            return
        t, target, h, last = clock(counts, times, count)
        copy(y, old_y, 7)
        copy(torque, old_torque, 3)
        if last:
            for i in range(z.shape[0]):
                z[i] *= h / times[TIMES.step]
        elapsed, status = 0.0, DONE
        for k in range(parts.shape[0]):
            now, part = t + elapsed * h, parts[k] * h
            if method == THETA:
                status = theta_step(theta, k, now, part, y, solver, source, scratch, counts, history)
            else:
                status = variational_step(method, now, part, y, inertia, kept, counts, history)
            if status != DONE:
                break
            elapsed += parts[k]
        if status != DONE:
            copy(old_y, y, 7)
            copy(old_torque, torque, 3)
            counts[COUNTS.status] = status
            return
        counts[COUNTS.step] += 1
        if last or (every > 0 and counts[COUNTS.step] % every == 0):
            save_state(method, target, y, source, scratch, counts, saved)
    counts[COUNTS.status] = RUNNING


# ---------------------------------------------------------------- problems


@dataclass(frozen=True)
class HamiltonianOnSO3:
    """A Hamiltonian H(Q, pi) on T*SO(3), right-trivialised, by its field (004 eq. (14)).

    `field` gives, at the state (quaternion of Q, pi), six numbers: omega = dH/dpi and nu = -R_Q^* dH/dQ, the latter at
    FIXED pi. For the heavy top nu is the torque minus omega x pi, not the torque alone. It is called as other fields
    are (see `LieODE`).
    """

    field: Field | Callable
    parameters: Sequence[float] | np.ndarray = ()

    @property
    def ode(self) -> LieODE:
        """The same problem for the methods of `solve`."""
        return LieODE(SPACE, self.field, self.parameters)


@dataclass(frozen=True)
class RigidBodyOnSO3:
    """A rigid body about a fixed point (or its centre of mass), in a potential.

    `inertia` is that about the point, in body axes: three principal moments or a symmetric matrix [kg m²]. `torque`
    gives the torque in body axes [N m] at a time and a unit quaternion of four numbers, called as other fields are:
    torque(t, q, p, out), or torque(t, q, p) that returns it. States are (quaternion, pi) with pi the angular momentum
    in space axes.
    """

    inertia: Sequence[float] | np.ndarray
    torque: Field | Callable
    parameters: Sequence[float] | np.ndarray = ()

    @property
    def matrix(self) -> np.ndarray:
        """The inertia as a matrix, checked."""
        given = np.array(self.inertia, dtype=float)
        matrix = np.diag(given) if given.shape == (3,) else given
        good = matrix.shape == (3, 3) and np.isfinite(matrix).all()
        if not good or abs(matrix - matrix.T).max() > 1e-12 * abs(matrix).max():
            raise ValueError("RigidBodyOnSO3: inertia must be three numbers or a symmetric matrix of shape (3, 3)")
        moments = np.linalg.eigvalsh(matrix)
        if not moments[0] > 0:
            raise ValueError(f"RigidBodyOnSO3: principal moments {moments}; expected positive numbers")
        return 0.5 * (matrix + matrix.T)


# ---------------------------------------------------------------- methods


@dataclass(frozen=True)
class SymplecticTheta:
    """The symplectic methods (15)-(17) of 004; theta = 1/2 is symmetric and of order 2, others are of order 1."""

    theta: float = 0.5

    def __post_init__(self):
        if not np.isfinite(self.theta):
            raise ValueError(f"SymplecticTheta: theta {self.theta}; expected a finite number")

    @property
    def order(self) -> int:
        return 2 if self.theta == 0.5 else 1


@dataclass(frozen=True)
class LieVerlet:
    """The variational Stoermer-Verlet method with steps exp(h xi) or cay(h xi), for rigid bodies; of order 2.

    (dtau^-1_{h xi})^* I xi = P + h T/2, Q1 = Q tau(h xi), P1 = (dtau^-1_{-h xi})^* I xi + h T1/2 with the torque T in
    body axes. In space axes the momentum changes by the torques alone: pi1 = pi + h (Q T + Q1 T1)/2.
    """

    map: str = "exp"

    def __post_init__(self):
        if self.map not in ("exp", "cay"):
            raise ValueError(f'LieVerlet: map {self.map!r}; expected "exp" or "cay"')

    @property
    def order(self) -> int:
        return 2


@dataclass(frozen=True)
class MoserVeselov:
    """The discrete rigid body of Moser and Veselov with a torque (RATTLE on SO(3)), for rigid bodies; of order 2.

    h (P + h T/2)~ = F Jd - Jd F^T, Q1 = Q F, P1 = F^T (P + h T/2) + h T1/2, with Jd = tr(I)/2 - I. There is no such F
    if the step turns the body by about 1 rad or more.
    """

    @property
    def order(self) -> int:
        return 2


_CUBE = 2 ** (1 / 3)
_FIFTH = 4 ** (1 / 3)
# symmetric compositions of symmetric methods (Hairer, Lubich, Wanner, V.3.2): order, first half and middle
SCHEMES = {
    "triple_jump": (4, (1 / (2 - _CUBE),), -_CUBE / (2 - _CUBE)),
    "suzuki": (4, (1 / (4 - _FIFTH),) * 2, -_FIFTH / (4 - _FIFTH)),
    "kahan_li": (
        6,
        (
            *(0.39216144400731413927925056, 0.33259913678935943859974864),
            *(-0.70624617255763935980996482, 0.08221359629355080023149045),
        ),
        0.79854399093482996339895035,
    ),
    "suzuki_umeno": (
        8,
        (
            *(0.74167036435061295344822780, -0.40910082580003159399730010),
            *(0.19075471029623837995387626, -0.57386247111608226665638773),
            *(0.29906418130365592384446354, 0.33462491824529818378495798, 0.31529309239676659663205666),
        ),
        -0.79688793935291635401978884,
    ),
}


@dataclass(frozen=True)
class Composition:
    """A symmetric method of order 2, done in several parts of a step, some backwards, for order 4, 6 or 8.

    Schemes: "triple_jump" (order 4, 3 parts), "suzuki" (order 4, 5 parts, smaller error), "kahan_li" (order 6, 9
    parts), "suzuki_umeno" (order 8, 15 parts).
    """

    base: SymplecticTheta | LieVerlet | MoserVeselov = data_field(default_factory=SymplecticTheta)
    scheme: str = "suzuki"

    def __post_init__(self):
        if self.scheme not in SCHEMES:
            raise ValueError(f"Composition: scheme {self.scheme!r}; expected one of {', '.join(SCHEMES)}")
        if getattr(self.base, "order", 0) != 2 or isinstance(self.base, Composition):
            raise ValueError(f"Composition: {self.base} is not a symmetric method of order 2")

    @property
    def order(self) -> int:
        return SCHEMES[self.scheme][0]

    @property
    def parts(self) -> tuple[float, ...]:
        """The fractions of a step, in turn."""
        _, half, middle = SCHEMES[self.scheme]
        return (*half, middle, *half[::-1])


Symplectic = SymplecticTheta | LieVerlet | MoserVeselov | Composition


# ---------------------------------------------------------------- runs


class SymplecticRun(FixedRun):
    """A run of a symplectic method; see `solve_symplectic`."""

    name = "solve_symplectic"
    memory_names = ("counts", "y", "z", "lu", "pivots", "valid", "torque")

    def __init__(
        self, problem: HamiltonianOnSO3 | RigidBodyOnSO3, method: Symplectic, span, y0, *, step: float, save: str | int
    ):
        self._check(problem, method)
        rigid = isinstance(problem, RigidBodyOnSO3)
        given: Any = problem.torque if isinstance(problem, RigidBodyOnSO3) else problem.field
        function = given if isinstance(given, Field) else PythonField(given, 3 if rigid else 6)
        super().__init__(SPACE, method, function, schedule(self.name, span, step), save)
        base = method.base if isinstance(method, Composition) else method
        codes = {"exp": VERLET_EXP, "cay": VERLET_CAY}
        code = codes[base.map] if isinstance(base, LieVerlet) else MOSER_VESELOV
        code = THETA if isinstance(base, SymplecticTheta) else code
        self.theta = float(base.theta) if isinstance(base, SymplecticTheta) else 0.5
        self.parts = np.array(method.parts if isinstance(method, Composition) else (1.0,))
        self.choice = np.array(
            [code, RIGID_BODY if rigid else HAMILTONIAN, self.plan.steps, self.every], dtype=np.int64
        )
        matrix = problem.matrix if isinstance(problem, RigidBodyOnSO3) else np.eye(3)
        self.inertia, self.inverse = matrix.reshape(-1), np.linalg.inv(matrix).reshape(-1)
        self.p = np.array(problem.parameters, dtype=float).reshape(-1)
        m = len(self.parts)
        self.z, self.lu = np.zeros(6 * m), np.zeros(36 * m)
        self.pivots, self.valid = np.zeros(6 * m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        self.groups = np.array([0, 0, 0, 1, 1, 1], dtype=np.int64)
        self.torque, self.memory = np.zeros(3), np.zeros(48)
        self.address = self.field.address
        self.y = SPACE.check(y0)
        self._first_point(code)

    def _check(self, problem, method):
        if not isinstance(problem, HamiltonianOnSO3 | RigidBodyOnSO3):
            raise TypeError(f"{self.name}: {problem!r}; expected HamiltonianOnSO3 or RigidBodyOnSO3")
        if not isinstance(method, Symplectic):
            raise TypeError(
                f"{self.name}: {method!r}; expected SymplecticTheta, LieVerlet, MoserVeselov or a Composition of them"
            )
        base = method.base if isinstance(method, Composition) else method
        if isinstance(problem, HamiltonianOnSO3) and not isinstance(base, SymplecticTheta):
            raise TypeError(f"{self.name}: {base} needs the inertia and the torque of a RigidBodyOnSO3")

    def _first_point(self, code: int) -> None:
        f = np.empty(6)
        source = int(self.choice[CHOICE.problem]), self.inverse, self.torque, self.address, self.p
        hamiltonian_field(source, self.plan.start, self.y, f)
        self.start_with(self.y, f)
        if code != THETA:
            self.y[4:] = s3.AdT_apply(self.y[:4], self.y[4:])

    def take(self, limit: int) -> None:
        advance(
            *(self.choice, self.times, self.theta, self.parts),
            *(self.y, self.z, self.lu, self.pivots, self.valid, self.torque),
            *(self.groups, self.counts, self.history, self.memory, self.inertia, self.inverse),
            *(self.saved_t, self.saved_y, self.saved_f, self.saved_x, self.address, self.p, limit),
        )

    def evaluations(self) -> int:
        residuals = self.counts[COUNTS.iterations] + 6 * self.counts[COUNTS.matrices]
        return int(self.counts[COUNTS.evaluations] + (residuals if self.choice[CHOICE.method] == THETA else 0))

    def dense(self) -> bool:
        """Every step is saved, and none turns so far that the logarithm of its move would be another one."""
        rows = slice(int(self.counts[COUNTS.rows]))
        turn = abs(self.plan.step) * np.linalg.norm(self.saved_f[rows, :3], axis=1).max(initial=0.0)
        return self.every == 1 and bool(turn < 0.9 * np.pi)

    def solution(self, success: bool, message: str) -> Solution:
        rows = slice(int(self.counts[COUNTS.rows]))
        y = self.saved_y[rows]
        if len(y) > 1 and self.dense():
            self.saved_x[rows][1:] = pose.log(pose.compose(y[1:], pose.inverse(y[:-1])))
            self.saved_x[0] = 0.0
        return super().solution(success, message)


def solve_symplectic(
    problem: HamiltonianOnSO3 | RigidBodyOnSO3,
    method: Symplectic,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    step: float,
    save: str | int = "all",
    max_steps: int | None = None,
    resume: dict[str, np.ndarray] | None = None,
    progress: bool | None = None,
) -> Solution:
    """Integrate a mechanical system on T*SO(3) with a symplectic method and fixed steps.

    `y0` is (quaternion, pi) with the angular momentum pi in space axes, whatever the method. `save` is "all" steps,
    "final", or every so many steps. A step that does not end the span exactly is shortened, which ends the good
    behaviour of the energy there: take a span of whole steps. Equations are solved to rounding; if that fails,
    `StepError` tells where. `max_steps` stops early; the `checkpoint` of that solution given as `resume` continues to
    the same bits. `progress` shows a line for long runs; by default on a terminal.
    """
    run = SymplecticRun(problem, method, span, y0, step=step, save=save)
    if resume is not None:
        run.restore(resume)
    return run.finish(max_steps, progress)
