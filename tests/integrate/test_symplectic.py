"""Symplectic methods on T*SO(3): orders and end points, the symplectic form, momenta, energy in long runs, failures."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from chasles.integrate.composition import SCHEMES, Composition
from chasles.integrate.cotangent import SPACE, HamiltonianOnSO3, RigidBodyOnSO3
from chasles.integrate.fixed_step import StepError
from chasles.integrate.lie_verlet import LieVerlet
from chasles.integrate.method import RKMK
from chasles.integrate.moser_veselov import MoserVeselov
from chasles.integrate.solver import solve
from chasles.integrate.symplectic import advance
from chasles.integrate.theta import SymplecticTheta
from chasles.integrate.vector_field import field
from chasles.lie import rotation, s3, so3

THETAS = [SymplecticTheta(theta) for theta in (0.0, 0.25, 0.5, 1.0)]
VARIATIONAL = [LieVerlet("exp"), LieVerlet("cay"), MoserVeselov()]
COMPOSITIONS = [
    Composition(SymplecticTheta(), "triple_jump"),
    Composition(SymplecticTheta(), "suzuki"),
    Composition(SymplecticTheta(), "kahan_li"),
    Composition(SymplecticTheta(), "suzuki_umeno"),
    Composition(LieVerlet("exp")),
    Composition(LieVerlet("cay")),
    Composition(MoserVeselov()),
]
ALL = [*THETAS, *VARIATIONAL, *COMPOSITIONS]


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def as_matrix(y):
    return rotation.quaternion_to_matrix(y[..., :4])


def embedded(y):
    """Rotation matrix and momentum as twelve numbers."""
    return np.concatenate([as_matrix(y).reshape(*y.shape[:-1], 9), y[..., 4:]], axis=-1)


def reference(rate, t_end, start):
    """End by DOP853 on (Q, pi), twelve numbers; `rate` gives (omega, pi') of (t, Q, pi)."""

    def full(t, u):
        q = u[:9].reshape(3, 3)
        w, torque = rate(t, q, u[9:])
        return np.concatenate([(so3.hat(w) @ q).ravel(), torque])

    return solve_ivp(full, (0, t_end), embedded(start), method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


# ---------------------------------------------------------------- the heavy top (physical data of the test in
# celledoni2022)

INERTIA = np.array([15.234375, 0.46875, 15.234375])
GAMMA = np.array([0, 0, 9.81])
MOMENT = 15.0 * np.array([0.0, 1.0, 0.0])  # M l X
TOP_START = np.concatenate([[1.0, 0, 0, 0], INERTIA * [0, 150, -4.61538]])


@field
def top_torque(t, q, p, out):
    """M l (Q^T Gamma0) x X in body axes; p = Gamma0, M l X."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    a, b, c = p[0], p[1], p[2]
    g0 = (1 - 2 * (y * y + z * z)) * a + 2 * (x * y + w * z) * b + 2 * (x * z - w * y) * c
    g1 = 2 * (x * y - w * z) * a + (1 - 2 * (x * x + z * z)) * b + 2 * (y * z + w * x) * c
    g2 = 2 * (x * z + w * y) * a + 2 * (y * z - w * x) * b + (1 - 2 * (x * x + y * y)) * c
    out[0] = g1 * p[5] - g2 * p[4]
    out[1] = g2 * p[3] - g0 * p[5]
    out[2] = g0 * p[4] - g1 * p[3]


TOP = RigidBodyOnSO3(INERTIA, top_torque, [*GAMMA, *MOMENT])


def top_rate(t, q, pi):
    """Equations (21), (22) of celledoni2022."""
    return q @ ((q.T @ pi) / INERTIA), np.cross(GAMMA, q @ MOMENT)


def top_energy(y):
    q = as_matrix(y)
    body = np.einsum("nji,nj->ni", q, y[:, 4:])
    return 0.5 * (body**2 / INERTIA).sum(axis=1) + q @ MOMENT @ GAMMA


@pytest.fixture(scope="module")
def top_end():
    return reference(top_rate, 0.1, TOP_START)


def convergence(problem, method, start, end, t_end, counts):
    """Errors of rotation and momentum at the end."""
    ends = [solve(problem, method, (0, t_end), start, step=t_end / n, save="final").y[-1] for n in counts]
    errors = abs(embedded(np.array(ends)) - end)
    return errors[:, :9].max(axis=1), errors[:, 9:].max(axis=1)


COUNTS = {1: (1280, 2560, 5120), 2: (80, 160, 320), 4: (40, 80, 160), 6: (20, 40, 80), 8: (8, 12, 16)}


@pytest.mark.parametrize("method", ALL, ids=str)
def test_heavy_top_order_and_end_point(method, top_end):
    """At the longest steps of order 1 the top turns by 0.01 rad: before, errors of order 2 hide those of order 1."""
    counts = COUNTS[method.order]
    for errors in convergence(TOP, method, TOP_START, top_end, 0.1, counts):
        assert min(errors) > 2e-12
        assert slope(1 / np.array(counts), errors) > method.order - 0.2
        assert errors[-1] < {1: 1e-3, 2: 1e-2, 4: 2e-5, 6: 1e-9, 8: 3e-8}[method.order]


# ---------------------------------------------------------------- a Hamiltonian without symmetry

BODY = np.array([[1.3, 0.2, -0.1], [0.2, 0.9, 0.15], [-0.1, 0.15, 0.6]])
C, D, K, UP = (
    np.array([0.3, -0.2, 0.5]),
    np.array([0.1, 0.9, -0.4]),
    np.array([0.7, 0.2, -0.5]),
    np.array([0.2, 0.4, 1.0]),
)


def generic_hamiltonian(q, pi):
    """Kinetic energy, a linear potential, and a term that couples momentum and rotation."""
    body = q.T @ pi
    return 0.5 * body @ np.linalg.solve(BODY, body) + UP @ q @ K + (UP @ q @ D) * (pi @ C)


def generic_field(t, y, p):
    """omega = dH/dpi and nu = -R_Q^* dH/dQ: with Q' = eta~ Q, dH = eta . (-nu)."""
    q, pi = as_matrix(y), y[4:]
    w0 = q @ np.linalg.solve(BODY, q.T @ pi)
    a = UP @ q @ D
    nu = -np.cross(w0, pi) + np.cross(UP, q @ K) + (pi @ C) * np.cross(UP, q @ D)
    return np.concatenate([w0 + a * C, nu])


GENERIC = HamiltonianOnSO3(generic_field)
GENERIC_START = np.concatenate([[0.5, -0.5, 0.5, 0.5], [0.6, -0.8, 0.9]])


def generic_rate(t, q, pi):
    y = np.concatenate([rotation.matrix_to_quaternion(so3.project(q)), pi])
    f = generic_field(t, y, None)
    return f[:3], f[3:] + np.cross(f[:3], pi)  # (12) of celledoni2022


def test_generic_field_is_that_of_its_hamiltonian():
    q, pi = as_matrix(GENERIC_START), GENERIC_START[4:]
    f, e = generic_field(0, GENERIC_START, None), 1e-5
    for k, axis in enumerate(np.eye(3)):
        in_pi = (generic_hamiltonian(q, pi + e * axis) - generic_hamiltonian(q, pi - e * axis)) / (2 * e)
        turn = so3.exp(e * axis)
        in_q = (generic_hamiltonian(turn @ q, pi) - generic_hamiltonian(turn.T @ q, pi)) / (2 * e)
        assert f[k] == pytest.approx(in_pi, abs=1e-9)
        assert f[3 + k] == pytest.approx(-in_q, abs=1e-9)


@pytest.fixture(scope="module")
def generic_end():
    return reference(generic_rate, 1.0, GENERIC_START)


@pytest.mark.first(2)
@pytest.mark.parametrize("method", [*THETAS[1:3], THETAS[0], THETAS[3], *COMPOSITIONS[:3]], ids=str)
def test_generic_order_and_end_point(method, generic_end):
    counts = {1: (32, 64, 128, 256), 2: (8, 16, 32, 64), 4: (8, 16, 32), 6: (3, 6, 12)}[method.order]
    for errors in convergence(GENERIC, method, GENERIC_START, generic_end, 1.0, counts):
        assert min(errors) > 1e-12
        assert slope(1 / np.array(counts), errors) > method.order - 0.2
        assert errors[-1] < {1: 1e-2, 2: 1e-3, 4: 1e-4, 6: 1e-7}[method.order]


def test_explicit_methods_solve_the_same_problem(generic_end):
    solution = solve(GENERIC.ode, RKMK("butcher6"), (0, 1), GENERIC_START, step=1 / 64)
    np.testing.assert_allclose(embedded(solution.y[-1]), generic_end, atol=1e-9)


# a body without symmetry in a potential that depends on time


def swinging_torque(t, q, p):
    turned = rotation.quaternion_to_matrix(q).T @ (UP * (1 + 0.5 * np.sin(3 * t)))
    return np.cross(turned, K)


SWINGING = RigidBodyOnSO3(BODY, swinging_torque)


@pytest.fixture(scope="module")
def swinging_end():
    def rate(t, q, pi):
        return q @ np.linalg.solve(BODY, q.T @ pi), np.cross(UP * (1 + 0.5 * np.sin(3 * t)), q @ K)

    return reference(rate, 1.0, GENERIC_START)


@pytest.mark.first(4)
@pytest.mark.parametrize("method", [*THETAS, *VARIATIONAL, Composition(LieVerlet("exp")), Composition()], ids=str)
def test_body_without_symmetry_and_with_time(method, swinging_end):
    counts = {1: (64, 128, 256), 2: (16, 32, 64), 4: (8, 16, 32)}[method.order]
    for errors in convergence(SWINGING, method, GENERIC_START, swinging_end, 1.0, counts):
        assert slope(1 / np.array(counts), errors) > method.order - 0.2
        assert errors[-1] < {1: 1e-2, 2: 2e-3, 4: 1e-5}[method.order]


# ---------------------------------------------------------------- the equations of a step


def dexp_matrix(u, terms=40):
    """Sum of ad^k/(k + 1)!."""
    total, power = np.eye(3), np.eye(3)
    for k in range(1, terms):
        power = power @ so3.hat(u) / (k + 1)
        total = total + power
    return total


@pytest.mark.parametrize("theta", [0.0, 0.25, 0.5, 0.8, 1.0])
def test_theta_method_satisfies_its_equations(theta):
    """(15)-(17) of celledoni2022 with matrices: dexp* and Ad* are transposes."""
    h = 0.3
    y0, y1 = solve(GENERIC, SymplecticTheta(theta), (0, h), GENERIC_START, step=h).y
    q0, q1, mu0, mu1 = as_matrix(y0), as_matrix(y1), y0[4:], y1[4:]
    xi = so3.log(q1 @ q0.T)
    e = expm(theta * so3.hat(xi))
    n = expm((theta - 1) * so3.hat(xi)) @ (mu1 - expm(so3.hat(xi)) @ mu0)  # from (17)
    middle = dexp_matrix(-xi).T @ (mu0 + e.T @ n) - theta * dexp_matrix(-theta * xi).T @ e.T @ n
    state = np.concatenate([rotation.matrix_to_quaternion(e @ q0), middle])
    np.testing.assert_allclose(np.concatenate([xi, n]), h * generic_field(0, state, None), atol=3e-15)


@pytest.mark.parametrize("method", VARIATIONAL, ids=str)
def test_variational_methods_satisfy_their_equations(method):
    h = 0.2
    y0, y1 = solve(SWINGING, method, (0, h), GENERIC_START, step=h).y
    q0, q1 = as_matrix(y0), as_matrix(y1)
    p0, p1 = q0.T @ y0[4:], q1.T @ y1[4:]
    half = p0 + h / 2 * swinging_torque(0, y0[:4], None)
    end = p1 - h / 2 * swinging_torque(h, y1[:4], None)
    f = q0.T @ q1
    np.testing.assert_allclose(end, f.T @ half, atol=1e-15)
    if isinstance(method, MoserVeselov):
        jd = np.trace(BODY) / 2 * np.eye(3) - BODY
        np.testing.assert_allclose(h * so3.hat(half), f @ jd - jd @ f.T, atol=1e-15)
    elif method.map == "exp":
        u = so3.log(f)
        np.testing.assert_allclose(half, np.linalg.inv(dexp_matrix(u)).T @ BODY @ u / h, atol=2e-15)
        np.testing.assert_allclose(end, np.linalg.inv(dexp_matrix(-u)).T @ BODY @ u / h, atol=2e-15)
    else:
        u = 2 * so3.cayinv(f)
        v = BODY @ u / h
        np.testing.assert_allclose(half, v + np.cross(u, v) / 2 + u * (u @ v) / 4, atol=2e-15)


def test_rigid_body_as_a_hamiltonian():
    """omega = Q I^-1 Q^T pi and nu = torque - omega x pi give the same run."""

    def hamiltonian(t, y, p):
        q, pi = as_matrix(y), y[4:]
        w = q @ np.linalg.solve(BODY, q.T @ pi)
        return np.concatenate([w, q @ swinging_torque(t, y[:4], p) - np.cross(w, pi)])

    a, b = (
        solve(problem, SymplecticTheta(), (0, 2), GENERIC_START, step=0.1).y
        for problem in (SWINGING, HamiltonianOnSO3(hamiltonian))
    )
    np.testing.assert_allclose(a, b, atol=1e-13)


# ---------------------------------------------------------------- geometry


def form(mu):
    """(13) of celledoni2022 as a matrix on (xi, delta nu)."""
    zero, one = np.zeros((3, 3)), np.eye(3)
    return np.block([[-np.array([[mu @ np.cross(a, b) for b in one] for a in one]), one], [-one, zero]])


def tangent(step, y):
    """Derivative of a map of states in the right-trivialized frame, by central differences of order 4."""
    end, columns, e = step(y), [], 2e-3
    for k in range(6):

        def moved(size, k=k):
            x = np.zeros(6)
            x[k] = size
            q = s3.compose(s3.exp(x[:3]), y[:4])
            new = step(np.concatenate([q, y[4:] + x[3:]]))
            turn = so3.log(as_matrix(new) @ as_matrix(end).T)
            return np.concatenate([turn, new[4:] - end[4:]])

        columns.append((8 * (moved(e) - moved(-e)) - (moved(2 * e) - moved(-2 * e))) / (12 * e))
    return np.array(columns).T


def symplectic_defect(step, y):
    d = tangent(step, y)
    return abs(d.T @ form(step(y)[4:]) @ d - form(y[4:])).max()


@pytest.mark.first(4)
@pytest.mark.sample(1)
@pytest.mark.parametrize("h", [0.2, -0.4])
@pytest.mark.parametrize(
    "method", [pytest.param(one, marks=[pytest.mark.study] * (one in COMPOSITIONS[1:4])) for one in ALL], ids=str
)
def test_steps_are_symplectic(method, h):
    problem = GENERIC if isinstance(getattr(method, "base", method), SymplecticTheta) else SWINGING

    def step(y):
        return solve(problem, method, (0, h), y, step=abs(h), save="final").y[-1]

    assert symplectic_defect(step, GENERIC_START) < 2e-10


def test_explicit_methods_are_not_symplectic():
    """So the test above can fail; and with the other sign in the form the defect is large."""

    def rk(y):
        return solve(GENERIC.ode, RKMK("rk4"), (0, 0.4), y, step=0.4, save="final").y[-1]

    def theta(y):
        return solve(GENERIC, SymplecticTheta(), (0, 0.4), y, step=0.4, save="final").y[-1]

    assert symplectic_defect(rk, GENERIC_START) > 1e-6
    d = tangent(theta, GENERIC_START)
    before, after = form(-GENERIC_START[4:]), form(-theta(GENERIC_START)[4:])
    assert abs(d.T @ after @ d - before).max() > 0.1


@pytest.mark.parametrize("theta", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_adjoint_of_theta_is_one_minus_theta(theta):
    there = solve(GENERIC, SymplecticTheta(theta), (0, 0.3), GENERIC_START, step=0.3).y[-1]
    back = solve(GENERIC, SymplecticTheta(1 - theta), (0.3, 0), there, step=0.3).y[-1]
    np.testing.assert_allclose(back, GENERIC_START, atol=2e-15)


@pytest.mark.first(5)
@pytest.mark.parametrize("method", [SymplecticTheta(), *VARIATIONAL, *COMPOSITIONS], ids=str)
def test_symmetric_methods(method):
    there = solve(SWINGING, method, (0, 1), GENERIC_START, step=0.1)
    back = solve(SWINGING, method, (1, 0), there.y[-1], step=0.1)
    np.testing.assert_allclose(back.y[::-1], there.y, atol=1e-13)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_momentum_along_gravity_is_kept(method):
    h = 1e-3
    solution = solve(TOP, method, (0, 1000 * h), TOP_START, step=h)
    kept = solution.y[:, 4:] @ GAMMA
    assert abs(kept / kept[0] - 1).max() < 1e-13
    body = np.einsum("nji,nj->ni", as_matrix(solution.y), solution.y[:, 4:])
    assert abs(body[:, 1] / body[0, 1] - 1).max() < 2e-13  # along the axis of the top
    assert abs(np.linalg.norm(solution.y[:, :4], axis=1) - 1).max() < 5e-16


@pytest.mark.parametrize("method", [SymplecticTheta(), *VARIATIONAL], ids=str)
def test_free_body_keeps_its_momentum(method):
    free = RigidBodyOnSO3(BODY, lambda t, q, p: np.zeros(3))
    solution = solve(free, method, (0, 20), GENERIC_START, step=0.1)
    np.testing.assert_allclose(solution.y[:, 4:], np.tile(GENERIC_START[4:], (201, 1)), atol=1e-14)


# ---------------------------------------------------------------- long runs


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("method", "bound"),
    [(SymplecticTheta(), 6e-5), (LieVerlet("exp"), 6e-5), (LieVerlet("cay"), 2e-4), (MoserVeselov(), 1e-5)],
    ids=str,
)
def test_energy_does_not_drift_in_a_million_steps(method, bound):
    solution = solve(TOP, method, (0, 1000), TOP_START, step=1e-3, save=100)
    assert solution.steps == 1_000_000
    energy = top_energy(solution.y)
    error = energy / energy[0] - 1
    assert abs(error).max() < bound
    early, late = error[: len(error) // 10], error[-len(error) // 10 :]
    assert abs(late).max() < 1.1 * abs(early).max()
    trend = np.polyfit(solution.t / 1000, error, 1)[0]  # over the whole run
    assert abs(trend) < 1e-3 * abs(error).max()


def test_long_steps_need_few_iterations():
    """At h = 0.01 the top turns by 1.5 rad in a step; fixed-point iteration does not converge there."""
    solution = solve(TOP, SymplecticTheta(), (0, 60), TOP_START, step=0.01)
    assert solution.evaluations < 25 * solution.steps
    error = top_energy(solution.y) / top_energy(solution.y)[0] - 1
    assert abs(error).max() < 1e-2


# ---------------------------------------------------------------- saving, resuming, interpolation


@pytest.mark.parametrize(
    "method", [SymplecticTheta(0.25), LieVerlet("exp"), MoserVeselov(), COMPOSITIONS[0], COMPOSITIONS[4]], ids=str
)
def test_a_run_continues_to_the_same_bits(method):
    options = {"step": 1e-3}
    whole = solve(TOP, method, (0, 0.1), TOP_START, **options)
    first = solve(TOP, method, (0, 0.1), TOP_START, max_steps=41, **options)
    rest = solve(TOP, method, (0, 0.1), TOP_START, resume=first.checkpoint, **options)
    np.testing.assert_array_equal(np.concatenate([first.y, rest.y]), whole.y)
    assert rest.success
    assert not first.success


def test_saving():
    every, some, final = (
        solve(TOP, LieVerlet(), (0, 0.0995), TOP_START, step=1e-3, save=save) for save in ("all", 9, "final")
    )
    rows = [*range(0, 100, 9), 100]
    np.testing.assert_array_equal(some.y, every.y[rows])
    np.testing.assert_array_equal(some.t, every.t[rows])
    np.testing.assert_array_equal(final.y, every.y[[0, -1]])
    assert every.t[-1] == 0.0995
    assert every.space == SPACE


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "method", [Composition(SymplecticTheta(), "kahan_li"), Composition(MoserVeselov(), "kahan_li")], ids=str
)
def test_interpolation(method):
    coarse, fine, finest = (solve(SWINGING, method, (0, 1), GENERIC_START, step=h) for h in (1 / 16, 1 / 32, 1 / 64))
    errors = abs(coarse(fine.t) - fine.y).max(), abs(fine(finest.t) - finest.y).max()
    assert errors[0] < 1e-4
    assert errors[1] < errors[0] / 2**3.5


def test_no_interpolation_where_the_turn_is_lost():
    solution = solve(TOP, SymplecticTheta(), (0, 0.08), TOP_START, step=0.02)
    with pytest.raises(ValueError, match=r"a step turns by 3 rad.* take shorter steps"):
        solution(0.01)


@pytest.mark.parametrize("method", [SymplecticTheta(), LieVerlet("cay"), Composition(LieVerlet("exp"))], ids=str)
def test_count_of_evaluations(method):
    calls = []

    def torque(t, q, p):
        calls.append(t)
        return swinging_torque(t, q, p)

    counted = solve(RigidBodyOnSO3(BODY, torque), method, (0, 1), GENERIC_START, step=0.1)
    assert counted.evaluations == len(calls)
    if not isinstance(method, SymplecticTheta):
        parts = len(method.parts) if isinstance(method, Composition) else 1
        assert len(calls) == 1 + 10 * parts + 10  # the start, the steps, the saved points


# ---------------------------------------------------------------- methods and failures


@pytest.mark.parametrize("scheme", SCHEMES)
def test_compositions_satisfy_the_first_order_conditions(scheme):
    parts = np.array(Composition(scheme=scheme).parts)
    assert parts.sum() == pytest.approx(1, abs=1e-15)
    for k in range(3, Composition(scheme=scheme).order, 2):
        assert abs((parts**k).sum()) < 1e-14
    np.testing.assert_array_equal(parts, parts[::-1])


def test_rest_is_no_problem():
    """A top that hangs at rest, turned about the vertical: all unknowns are rounding errors."""
    down = s3.compose(s3.exp([0, 0, 0.7]), s3.exp([-np.pi / 2, 0, 0]))  # the axis of the top, e2, to -e3
    y0 = np.concatenate([down, np.zeros(3)])
    for method in ALL:
        solution = solve(TOP, method, (0, 0.5), y0, step=0.01)
        np.testing.assert_allclose(solution.y, np.tile(y0, (51, 1)), atol=1e-12)


def test_step_that_is_too_long_for_moser_veselov():
    """At 1.5 rad a step F Jd - Jd F^T cannot be as large as asked for."""
    with pytest.raises(StepError, match=r"solve: .* in step \d+ of 10, t = 0.*, h = 0\.01, MoserVeselov") as caught:
        solve(TOP, MoserVeselov(), (0, 0.1), TOP_START, step=0.01)
    assert "relative residuals" in str(caught.value)
    assert "shorter step" in str(caught.value)
    assert len(caught.value.residuals) > 3
    np.testing.assert_array_equal(caught.value.solution.y[0], TOP_START)


def test_failures_of_fields():
    @field
    def broken(t, q, p, out):
        out[0] = np.sqrt(0.5 - t)
        out[1] = 0.0
        out[2] = 0.0

    for method in (SymplecticTheta(), LieVerlet()):
        with pytest.raises(StepError, match="not finite in step"):
            solve(RigidBodyOnSO3(BODY, broken), method, (0, 1), GENERIC_START, step=0.1)
        with pytest.raises(ValueError, match="not finite at the start"):
            solve(RigidBodyOnSO3(BODY, broken), method, (1, 2), GENERIC_START, step=0.1)

    def wrong(t, q, p):
        return np.zeros(6 if t > 0.5 else 3)

    with pytest.raises(ValueError, match=r"expected \(3,\)"):
        solve(RigidBodyOnSO3(BODY, wrong), LieVerlet(), (0, 1), GENERIC_START, step=0.1)


def test_bad_methods_and_problems():
    with pytest.raises(TypeError, match="needs the inertia and the torque of a RigidBodyOnSO3"):
        solve(GENERIC, Composition(MoserVeselov()), (0, 1), GENERIC_START, step=0.1)
    with pytest.raises(ValueError, match="not a symmetric method"):
        Composition(SymplecticTheta(0.25))
    with pytest.raises(ValueError, match="not a symmetric method"):
        Composition(Composition())
    with pytest.raises(ValueError, match="expected one of triple_jump"):
        Composition(scheme="yoshida")
    with pytest.raises(ValueError, match='expected "exp" or "cay"'):
        LieVerlet("log")
    with pytest.raises(ValueError, match="finite"):
        SymplecticTheta(np.nan)
    with pytest.raises(ValueError, match="norm"):
        solve(TOP, SymplecticTheta(), (0, 1), np.ones(7), step=0.1)
    for inertia in ([1.0, 2.0], np.ones((2, 2)), np.triu(np.ones((3, 3))), [1.0, 2.0, np.nan]):
        with pytest.raises(ValueError, match="three numbers or a symmetric matrix"):
            solve(RigidBodyOnSO3(inertia, top_torque), LieVerlet(), (0, 1), TOP_START, step=0.1)
    with pytest.raises(ValueError, match="expected positive numbers"):
        solve(RigidBodyOnSO3([1.0, 2.0, -1.0], top_torque), LieVerlet(), (0, 1), TOP_START, step=0.1)


def test_a_new_field_compiles_no_loop():
    @field
    def free(t, q, p, out):
        out[0] = out[1] = out[2] = 0.0

    solve(TOP, SymplecticTheta(), (0, 1e-3), TOP_START, step=1e-3)
    for method in ALL:
        solve(RigidBodyOnSO3(BODY, free), method, (0, 0.1), GENERIC_START, step=0.1)
    assert len(advance.signatures) == 1
