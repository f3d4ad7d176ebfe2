"""Implicit Lie group methods: orders on all kinds of spaces, invariants, Newton's method, failures, resuming."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from chasles.integrate import engine
from chasles.integrate.fixed_step import StepError
from chasles.integrate.gauss import Gauss, LieMidpoint, gauss_rule
from chasles.integrate.implicit import ImplicitStepper
from chasles.integrate.method import RKMK
from chasles.integrate.newton import COUNTS
from chasles.integrate.options import Options
from chasles.integrate.poisson import LiePoisson, LiePoissonMidpoint
from chasles.integrate.problem import LieODE
from chasles.integrate.solver import solve
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field
from chasles.lie import so3

METHODS = [LieMidpoint(), Gauss(), Gauss(3)]


# ---------------------------------------------------------------- problems


@field
def mixture(t, y, p, out):
    """Every component a different smooth function of the time and of the whole point: no commutator vanishes."""
    for i in range(out.shape[0]):
        total = 0.3 * np.cos(t + i)
        for j in range(y.shape[0]):
            total += 0.25 * np.sin(0.7 * y[j] + 1.1 * i + 0.4 * j * j + 0.5 * t)
        out[i] = total * p[0]


def mixture_in_python(t, y, p, size):
    i, j = np.mgrid[:size, : y.size]
    values = 0.25 * np.sin(0.7 * y[j] + 1.1 * i + 0.4 * j * j + 0.5 * t)
    return p[0] * (0.3 * np.cos(t + np.arange(size)) + values.sum(axis=1))


def quaternion_rate(q, w, side):
    """Half of w q or q w, by the definition of the product."""
    scalar, v = q[0], q[1:]
    return 0.5 * np.concatenate([[-w @ v], scalar * w + side * np.cross(w, v)])


def rotated(q, v):
    """Vector turned by a quaternion."""
    t = 2 * np.cross(q[1:], v)
    return v + q[0] * t + np.cross(q[1:], t)


RATES = {  # velocity of a point of each kind of block, written out
    "t*so3": lambda y, x: np.concatenate([quaternion_rate(y[:4], x[:3], 1), x[3:] + np.cross(x[:3], y[4:])]),
    "pose-right": lambda y, x: np.concatenate([quaternion_rate(y[:4], x[:3], -1), rotated(y[:4], x[3:])]),
    "se3*": lambda y, x: np.concatenate([np.cross(x[:3], y[:3]) + np.cross(x[3:], y[3:]), np.cross(x[:3], y[3:])]),
    "ts2": lambda y, x: np.concatenate([np.cross(x[:3], y[:3]), np.cross(x[:3], y[3:]) + np.cross(x[3:], y[:3])]),
    "so3": lambda y, x: (so3.hat(x) @ y.reshape(3, 3)).ravel(),
    "so3-right": lambda y, x: (y.reshape(3, 3) @ so3.hat(x)).ravel(),
    "r2": lambda y, x: x,
}
STARTS = {
    "t*so3": [0.5, 0.5, -0.5, 0.5, 0.3, -1.0, 0.4],
    "pose-right": [0.5, 0.5, -0.5, 0.5, 0.3, -1.0, 0.4],
    "se3*": [0.4, -0.2, 0.9, 0.1, 0.8, -0.5],
    "ts2": [0.6, 0.0, 0.8, 0.8, 0.5, -0.6],
    "so3": [0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    "so3-right": [0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    "r2": [0.2, -0.7],
}
ALGEBRA = {"t*so3": 6, "pose-right": 6, "se3*": 6, "ts2": 6, "so3": 3, "so3-right": 3, "r2": 2}


def embedding_reference(names, t_end):
    """End point by DOP853 on the numbers of the point, with the velocities written out."""
    y0 = np.concatenate([STARTS[n] for n in names])
    size = sum(ALGEBRA[n] for n in names)

    def rate(t, y):
        x = mixture_in_python(t, y, [1.0], size)
        parts, iy, ix = [], 0, 0
        for n in names:
            ny, nx = len(STARTS[n]), ALGEBRA[n]
            parts.append(RATES[n](y[iy : iy + ny], x[ix : ix + nx]))
            iy, ix = iy + ny, ix + nx
        return np.concatenate(parts)

    solution = solve_ivp(rate, (0, t_end), y0, method="DOP853", rtol=1e-13, atol=1e-13)
    return y0, solution.y[:, -1]


LEFT, RIGHT = ("t*so3", "se3*", "ts2", "so3", "r2"), ("pose-right", "so3-right", "r2")


def mixed_problem(names):
    side = "right" if names is RIGHT else "left"
    return LieODE(Space(*(n.removesuffix("-right") for n in names), side=side), mixture, [1.0])


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


# ---------------------------------------------------------------- orders and end points


@pytest.fixture(scope="module", params=[LEFT, RIGHT], ids=["left", "right"])
def mixed(request):
    y0, end = embedding_reference(request.param, 1.0)
    return mixed_problem(request.param), y0, end


@pytest.mark.parametrize(
    ("method", "counts"),
    [(LieMidpoint(), (16, 32, 64, 128)), (Gauss(), (8, 16, 32, 64)), (Gauss(1), (16, 32, 64)), (Gauss(3), (3, 6, 12))],
    ids=str,
)
def test_order_and_end_point(mixed, method, counts):
    problem, y0, end = mixed
    errors = [abs(solve(problem, method, (0, 1), y0, step=1 / n).y[-1] - end).max() for n in counts]
    assert min(errors) > 1e-12  # above the rounding
    assert slope([1 / n for n in counts], errors) > method.order - 0.2
    assert errors[-1] < {2: 1e-3, 4: 1e-6, 6: 1e-7}[method.order]


def test_gauss_coefficients_are_the_known_ones():
    a, b, c = gauss_rule(2)
    r = np.sqrt(3) / 6
    np.testing.assert_allclose(a, [0.25, 0.25 - r, 0.25 + r, 0.25], atol=1e-16)
    np.testing.assert_allclose(b, 0.5, atol=1e-16)
    np.testing.assert_allclose(c, [0.5 - r, 0.5 + r], atol=1e-16)
    a, b, c = gauss_rule(3)
    for k in range(1, 4):  # order conditions C(3), B(6)
        np.testing.assert_allclose(a.reshape(3, 3) @ c ** (k - 1), c**k / k, atol=1e-16)
    for k in range(1, 7):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-15)


def test_midpoint_satisfies_its_equation():
    problem = mixed_problem(LEFT)
    y0 = np.concatenate([STARTS[n] for n in LEFT])
    solution = solve(problem, LieMidpoint(), (0.3, 0.5), y0, step=0.2)
    s = solution.moves[1]
    middle = problem.space.move(y0, 0.5 * s)
    np.testing.assert_allclose(s, 0.2 * mixture_in_python(0.4, middle, [1.0], 23), atol=2e-15)
    np.testing.assert_allclose(solution.y[1], problem.space.move(y0, s), atol=1e-15)


def test_one_gauss_stage_is_the_midpoint_rule(mixed):
    problem, y0, _ = mixed
    one, other = (solve(problem, m, (0, 1), y0, step=0.1).y for m in (LieMidpoint(), Gauss(1)))
    np.testing.assert_allclose(one, other, atol=1e-13)


def test_midpoint_is_symmetric(mixed):
    problem, y0, _ = mixed
    there = solve(problem, LieMidpoint(), (0, 1), y0, step=0.1)
    back = solve(problem, LieMidpoint(), (1, 0), there.y[-1], step=0.1)
    np.testing.assert_allclose(back.y[::-1], there.y, atol=5e-14)
    assert back.t[-1] == 0.0


def test_stiff_equation_is_no_problem():
    """y' = -1e6 (y - cos t) with h = 0.1: fixed-point iteration would need h < 2e-6."""
    problem = LieODE(Space("r1"), lambda t, y, p: -1e6 * (y - np.cos(t)))
    for method in METHODS:
        solution = solve(problem, method, (0, 2), [1.0], step=0.1)
        assert abs(solution.y[-1] - np.cos(2.0)).max() < 2e-3
        assert solution.evaluations < 60 * solution.steps


def test_end_point_does_not_depend_on_how_the_equations_were_solved():
    """A new matrix in each step gives the same points to rounding."""
    problem, (y0, _) = mixed_problem(LEFT), embedding_reference(LEFT, 0.1)
    usual = solve(problem, Gauss(), (0, 1), y0, step=0.05)
    run = ImplicitStepper(problem, Gauss(), (0, 1), y0, Options(step=0.05))
    for _ in range(20):
        run.valid[0] = 0
        run.advance(1)
    np.testing.assert_allclose(run.solution(True, "").y, usual.y, atol=5e-14)
    assert run.counts[COUNTS.matrices] >= 20


def test_matrix_is_kept_from_step_to_step():
    problem, (y0, _) = mixed_problem(LEFT), embedding_reference(LEFT, 0.1)
    run = ImplicitStepper(problem, LieMidpoint(), (0, 1), y0, Options(step=1 / 200, save="final"))
    run.finish()
    assert run.counts[COUNTS.matrices] < 20
    assert run.counts[COUNTS.iterations] < 10 * 200


# ---------------------------------------------------------------- the heavy top on se(3)*

INERTIA = np.array([15.234375, 0.46875, 15.234375])
FIRST_MOMENT = 15.0 * np.array([0.0, 1.0, 0.0])
TOP_START = np.concatenate([INERTIA * [0, 150, -4.61538], [0, 0, 9.81]])


@field
def top_gradient(t, y, p, out):
    """dH = (I^-1 Pi, M l X) with H = Pi . I^-1 Pi/2 + M l Gamma . X."""
    for k in range(3):
        out[k] = y[k] / p[k]
        out[3 + k] = p[3 + k]


TOP = LiePoisson(Space("se3*"), top_gradient, [*INERTIA, *FIRST_MOMENT])


def top_energy(y):
    return 0.5 * (y[..., :3] ** 2 / INERTIA).sum(axis=-1) + y[..., 3:] @ FIRST_MOMENT


def top_rate(t, y):
    """Equations (23), (24) of celledoni2022."""
    w = y[:3] / INERTIA
    return np.concatenate([np.cross(y[:3], w) + np.cross(y[3:], FIRST_MOMENT), np.cross(y[3:], w)])


@pytest.fixture(scope="module")
def top_end():
    return solve_ivp(top_rate, (0, 0.1), TOP_START, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


@pytest.mark.parametrize(
    "method", [LieMidpoint(), Gauss(), Gauss(3), LiePoissonMidpoint(), LiePoissonMidpoint(3)], ids=str
)
def test_heavy_top_order_and_end_point(method, top_end):
    counts = (10, 20, 40) if method.order == 6 else (40, 80, 160, 320)
    errors = [
        (abs(solve(TOP, method, (0, 0.1), TOP_START, step=0.1 / n, save="final").y[-1] - top_end)).max() for n in counts
    ]
    assert min(errors) > 1e-10
    assert slope([1 / n for n in counts], errors) > method.order - 0.2
    assert errors[-1] < {2: 0.3, 4: 1e-6, 6: 1e-5}[method.order]


def casimirs(y):
    return (y[:, :3] * y[:, 3:]).sum(axis=1), (y[:, 3:] ** 2).sum(axis=1)


def deviation(values):
    return abs(values / values[0] - 1).max()


def test_lie_poisson_midpoint_keeps_energy_and_casimirs():
    solution = solve(TOP, LiePoissonMidpoint(), (0, 10), TOP_START, step=1e-3)
    assert solution.steps == 10_000
    assert deviation(top_energy(solution.y)) < 1e-14
    for casimir in casimirs(solution.y):
        assert deviation(casimir) < 1e-14


@pytest.mark.study
def test_lie_poisson_midpoint_does_not_drift_in_a_million_steps():
    solution = solve(TOP, LiePoissonMidpoint(), (0, 1000), TOP_START, step=1e-3, save=1000)
    assert deviation(top_energy(solution.y)) < 1e-14
    for casimir in casimirs(solution.y):
        assert deviation(casimir) < 1e-13


def test_lie_poisson_midpoint_is_the_scheme_it_says():
    """mu1 = mu0 + h ad*_{dH(m)} m with m the mean; ad* as in celledoni2022 section 3.4.2."""
    h = 1e-3
    y0, y1 = solve(TOP, LiePoissonMidpoint(), (0, h), TOP_START, step=h).y
    pi, gamma = np.split(0.5 * (y0 + y1), 2)
    xi, u = pi / INERTIA, FIRST_MOMENT
    increment = np.concatenate([-np.cross(xi, pi) - np.cross(u, gamma), -np.cross(xi, gamma)])
    np.testing.assert_allclose(y1 - y0, h * increment, rtol=0, atol=5e-14)


def test_group_methods_keep_the_casimirs_but_not_the_energy():
    solution = solve(TOP, LieMidpoint(), (0, 1), TOP_START, step=1e-3)
    assert all(deviation(casimir) < 1e-13 for casimir in casimirs(solution.y))
    assert 1e-9 < deviation(top_energy(solution.y)) < 1e-3


@field
def quartic_gradient(t, y, p, out):
    """Of H = sum a_i mu_i^4/4 + b mu_1 mu_2^2 on so(3)*."""
    out[0] = p[0] * y[0] ** 3 + p[3] * y[1] ** 2
    out[1] = p[1] * y[1] ** 3 + 2 * p[3] * y[0] * y[1]
    out[2] = p[2] * y[2] ** 3


def test_more_nodes_keep_the_energy_of_polynomials():
    p = np.array([0.3, 1.1, 0.6, 0.4])
    problem, y0 = LiePoisson(Space("so3*"), quartic_gradient, p), np.array([0.9, -0.5, 0.7])

    def energy(y):
        return y**4 @ p[:3] / 4 + p[3] * y[:, 0] * y[:, 1] ** 2

    kept = {}
    for nodes in (1, 2, 3):
        solution = solve(problem, LiePoissonMidpoint(nodes), (0, 100), y0, step=0.1)
        kept[nodes] = deviation(energy(solution.y))
        assert deviation((solution.y**2).sum(axis=1)) < 1e-14
    assert kept[1] > 1e-6
    assert kept[2] < 1e-14
    assert kept[3] < 1e-14


def test_sign_of_invariance(top_end):
    """Right invariance is left invariance with the time reversed."""
    right = LiePoisson(TOP.space, top_gradient, TOP.parameters, invariance="right")
    y = solve(right, Gauss(3), (0, -0.1), TOP_START, step=1e-3).y[-1]
    np.testing.assert_allclose(y, top_end, atol=1e-9)


@field
def top_field(t, y, p, out):
    for k in range(3):
        out[k] = -y[k] / p[k]
        out[3 + k] = -p[3 + k]


def test_the_same_problem_as_a_field(top_end):
    """mu' = -ad*_f mu with f = -dH (celledoni2022 section 3.4.2, sign of (18)): the form that explicit methods take."""
    ode = LieODE(TOP.space, top_field, TOP.parameters)
    explicit = solve(ode, RKMK("rk4"), (0, 0.1), TOP_START, step=1e-4, save="final")
    np.testing.assert_allclose(explicit.y[-1], top_end, atol=1e-4)
    for method in (LieMidpoint(), LiePoissonMidpoint()):
        a, b = (solve(problem, method, (0, 0.1), TOP_START, step=1e-3).y for problem in (ode, TOP))
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_products_of_duals():
    """Two free bodies and a top side by side do not see one another."""

    def gradient(t, y, p):
        return np.concatenate([y[:3] / [1.0, 2.0, 3.0], y[3:6] / INERTIA, FIRST_MOMENT])

    problem = LiePoisson(Space("so3*", "se3*"), gradient)
    y0 = np.concatenate([[0.5, -0.4, 0.3], TOP_START])
    both = solve(problem, LiePoissonMidpoint(), (0, 0.1), y0, step=1e-3)
    alone = solve(TOP, LiePoissonMidpoint(), (0, 0.1), TOP_START, step=1e-3)
    np.testing.assert_allclose(both.y[:, 3:], alone.y, atol=1e-12)


# ---------------------------------------------------------------- saving, resuming, interpolation


@pytest.mark.parametrize("method", [*METHODS, LiePoissonMidpoint()], ids=str)
def test_a_run_continues_to_the_same_bits(method):
    whole = solve(TOP, method, (0, 0.1), TOP_START, step=1e-3)
    first = solve(TOP, method, (0, 0.1), TOP_START, step=1e-3, max_steps=37)
    assert not first.success
    assert "37 steps" in first.message
    rest = solve(TOP, method, (0, 0.1), TOP_START, step=1e-3, resume=first.checkpoint)
    np.testing.assert_array_equal(np.concatenate([first.y, rest.y]), whole.y)
    np.testing.assert_array_equal(np.concatenate([first.t, rest.t]), whole.t)
    assert rest.success
    with pytest.raises(ValueError, match="checkpoint does not fit"):
        solve(TOP, Gauss(3 if method == Gauss() else 2), (0, 0.1), TOP_START, step=1e-3, resume=first.checkpoint)


def test_saving():
    every = solve(TOP, LieMidpoint(), (0, 0.1), TOP_START, step=1e-3)
    some = solve(TOP, LieMidpoint(), (0, 0.1), TOP_START, step=1e-3, save=7)
    final = solve(TOP, LieMidpoint(), (0, 0.1), TOP_START, step=1e-3, save="final")
    rows = [*range(0, 101, 7), 100]
    np.testing.assert_array_equal(some.y, every.y[rows])
    np.testing.assert_array_equal(some.t, every.t[rows])
    np.testing.assert_array_equal(final.y, every.y[[0, -1]])
    assert every.t[-1] == 0.1
    assert every.steps == some.steps == final.steps == 100


def test_last_step_is_shortened():
    solution = solve(TOP, Gauss(3), (0, 0.1), TOP_START, step=0.0015)
    assert solution.steps == 67
    assert solution.t[-1] == 0.1
    assert solution.t[-2] == pytest.approx(66 * 0.0015)
    np.testing.assert_allclose(solution.y[-1], solve(TOP, Gauss(3), (0, 0.1), TOP_START, step=1e-3).y[-1], atol=1e-8)


def test_empty_span():
    solution = solve(TOP, LieMidpoint(), (2, 2), TOP_START, step=0.1)
    np.testing.assert_array_equal(solution.y, [TOP_START])
    assert solution.success


def test_interpolation(mixed):
    problem, y0, _ = mixed
    coarse, fine = (solve(problem, Gauss(3), (0, 1), y0, step=h) for h in (1 / 16, 1 / 64))
    errors = [abs(coarse(fine.t) - fine.y).max()]
    errors.append(
        abs(fine((fine.t[1:] + fine.t[:-1]) / 2) - solve(problem, Gauss(3), (0, 1), y0, step=1 / 128).y[1::2]).max()
    )
    assert errors[0] < 1e-4
    assert errors[1] < errors[0] / 4**3.5


def test_lie_poisson_points_are_not_interpolated():
    solution = solve(TOP, LiePoissonMidpoint(), (0, 0.01), TOP_START, step=1e-3)
    with pytest.raises(ValueError, match=r"moves points by no group element; .*save=times"):
        solution(0.005)


@pytest.mark.parametrize("method", [*METHODS, LiePoissonMidpoint(2)], ids=str)
def test_python_fields_and_the_count_of_evaluations(method):
    calls = []

    def gradient(t, y, p):
        calls.append(t)
        return np.concatenate([y[:3] / p[:3], p[3:]])

    slow = solve(LiePoisson(TOP.space, gradient, TOP.parameters), method, (0, 0.05), TOP_START, step=1e-3)
    quick = solve(TOP, method, (0, 0.05), TOP_START, step=1e-3)
    np.testing.assert_allclose(slow.y, quick.y, atol=1e-11)
    assert slow.evaluations == len(calls)


# ---------------------------------------------------------------- difficult points


def test_rest_is_no_problem():
    """Unknowns that are zero but for rounding: a pendulum body that hangs at rest, a point at the origin at rest."""

    @field
    def hanging(t, y, p, out):
        """T*SO(3): omega = pi, torque from gravity at a point below the pivot, and a resting vector."""
        w, x, v, z = y[0], y[1], y[2], y[3]
        gx, gy = 2 * (x * z + w * v), 2 * (v * z - w * x)
        for k in range(3):
            out[k] = y[4 + k]
            out[6 + k] = 1e-3 * y[7 + k]
        out[3], out[4], out[5] = gy, -gx, 0.0

    q = np.array([np.cos(0.35), 0.0, 0.0, np.sin(0.35)])  # turned about the vertical: torque zero to rounding
    y0 = np.concatenate([q, np.zeros(6)])
    problem = LieODE(Space("t*so3", "r3"), hanging)
    for method in METHODS:
        solution = solve(problem, method, (0, 10), y0, step=0.1)
        np.testing.assert_allclose(solution.y, np.tile(y0, (101, 1)), atol=1e-14)


def test_start_from_zero_with_tiny_and_huge_numbers():
    """Sizes of blocks differ by 1e20."""
    problem = LieODE(
        Space("r1", "r1", "so3*"), lambda t, y, p: np.array([1e-10 * np.cos(t), 1e10 * np.cos(t), 0, 0, np.cos(t)])
    )
    y0 = np.array([0.0, 0.0, 1e10, 0.0, 0.0])
    y = solve(problem, Gauss(3), (0, 1), y0, step=0.1).y[-1]
    s = np.sin(1.0)
    np.testing.assert_allclose(y, [1e-10 * s, 1e10 * s, 1e10 * np.cos(s), 1e10 * np.sin(s), 0], rtol=1e-9)


# ---------------------------------------------------------------- failures


def test_equation_without_solution():
    """z = h (y + z/2)^2 has no real solution for h y > 1/2; y' = y^2 passes that before it blows up at t = 1."""
    problem = LieODE(Space("r1"), lambda t, y, p: y**2)
    with pytest.raises(
        StepError, match=r"did not converge in step \d+ of 20, t = 0\.\d+, h = 0\.1, LieMidpoint"
    ) as caught:
        solve(problem, LieMidpoint(), (0, 2), [1.0], step=0.1)
    error = caught.value
    assert "relative residuals" in str(error)
    assert "try a shorter step" in str(error)
    assert len(error.residuals) == len(error.corrections) > 5
    assert min(error.residuals) > 1e-6
    assert error.step == 0.1
    saved = error.solution
    assert not saved.success
    assert saved.t[-1] == pytest.approx(error.time)
    y = saved.y[:, 0]
    np.testing.assert_allclose(np.diff(y), 0.1 * ((y[1:] + y[:-1]) / 2) ** 2, rtol=1e-12)


def test_field_that_ceases_to_be_finite():
    @field
    def broken(t, y, p, out):
        out[0] = np.sqrt(0.5 - t)

    with pytest.raises(StepError, match=r"not finite in step 6 of 10, t = 0\.5") as caught:
        solve(LieODE(Space("r1"), broken), LieMidpoint(), (0, 1), [0.0], step=0.1)
    assert len(caught.value.solution.t) == 6
    with pytest.raises(ValueError, match="not finite at the start"):
        solve(LieODE(Space("r1"), broken), LieMidpoint(), (1, 2), [0.0], step=0.1)


def test_error_in_a_python_field():
    def broken(t, y, p):
        if t > 0.5:
            raise ZeroDivisionError("no")
        return y

    with pytest.raises(ZeroDivisionError, match="no"):
        solve(LieODE(Space("r1"), broken), Gauss(), (0, 1), [1.0], step=0.1)


def test_pole_of_dexpinv():
    problem = LieODE(Space("so3"), lambda t, y, p: np.array([6.2, 0.0, 0.0]))
    with pytest.raises(StepError, match="pole of dexpinv"):
        solve(problem, Gauss(), (0, 3), np.eye(3), step=1.0)
    solution = solve(problem, LieMidpoint(), (0, 3), np.eye(3), step=1.0)  # has none
    np.testing.assert_allclose(solution.y[-1].reshape(3, 3), so3.exp([18.6, 0, 0]), atol=1e-14)


def test_singular_matrix():
    """y' = a y: the equation of the midpoint rule is singular at h a = 2."""
    problem = LieODE(Space("r1"), lambda t, y, p: 2.0 * y)
    with pytest.raises(StepError, match=r"singular|did not converge"):
        solve(problem, LieMidpoint(), (0, 3), [1.0], step=1.0)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"step": 0.0}, "expected a positive number"),
        ({"step": np.nan}, "expected a positive number"),
        ({"step": None}, "expected a positive number"),
        ({"step": 2.0}, "longer than the span"),
        ({"span": (0, np.inf)}, "not finite"),
        ({"span": 3.0}, r"expected \(start, end\)"),
        ({"save": "some"}, 'expected "all", "final"'),
        ({"save": 0}, "expected at least 1"),
        ({"save": np.array([2.0])}, "after the end of the span"),
        ({"rtol": 1e-6}, "takes fixed steps, so rtol=1e-06 means nothing"),
        ({"first_step": 0.1}, "takes fixed steps, so first_step"),
        ({"y0": [1.0, 2.0]}, "6 numbers"),
    ],
)
def test_bad_arguments(change, expected):
    arguments = {"span": (0, 1), "y0": TOP_START, "step": 0.1, "save": "all"} | change
    span, y0 = arguments.pop("span"), arguments.pop("y0")
    with pytest.raises(ValueError, match=expected):
        solve(TOP, LieMidpoint(), span, y0, **arguments)


def test_bad_methods_and_problems():
    with pytest.raises(ValueError, match="expected 1, 2 or 3"):
        Gauss(4)
    with pytest.raises(ValueError, match="expected 1 to 16"):
        LiePoissonMidpoint(0)
    with pytest.raises(ValueError, match="not the dual of an algebra"):
        LiePoisson(Space("pose"), top_gradient)
    with pytest.raises(ValueError, match='expected "left" or "right"'):
        LiePoisson(Space("se3*"), top_gradient, invariance="both")
    with pytest.raises(ValueError, match="not the dual of an algebra"):
        solve(mixed_problem(LEFT), LiePoissonMidpoint(), (0, 1), np.zeros(30), step=0.1)


def test_a_new_field_compiles_no_loop():
    from chasles.integrate import implicit

    @field
    def other(t, y, p, out):
        out[0] = -y[0]

    solve(TOP, LieMidpoint(), (0, 1e-3), TOP_START, step=1e-3)
    before = len(implicit.advance.signatures), len(engine.evaluate.signatures)
    solve(LieODE(Space("r1"), other), Gauss(3), (0, 1), [1.0], step=0.1)
    solve(LiePoisson(Space("so3*"), quartic_gradient, np.ones(4)), LiePoissonMidpoint(), (0, 1), [1.0, 0, 0], step=0.1)
    after = len(implicit.advance.signatures), len(engine.evaluate.signatures)
    assert before == after
    assert after[0] == 1
