"""Solvers for vector spaces on the local model, each step from X = 0."""

import numpy as np
import pytest
import scipy.integrate

import chasles as ch
from chasles.transition.local_model import runge_kutta
from tests.transition.models import initial, matrices, plain_model, problem

PAIRS = [("quaternion", "screw"), ("rotation_vector", "extended_rodrigues"), ("euler:ZYX", "wiener_milenkovic")]


@pytest.mark.parametrize(("absolute", "local"), PAIRS)
def test_a_tableau_in_a_vector_space_is_the_munthe_kaas_method(absolute, local):
    case = problem(absolute, local)
    for tableau, peer in (("rk4", "rk4"), ("dopri5", scipy.integrate.RK45)):
        on_group = ch.integrate.solve(case, ch.integrate.RKMK(tableau), (0.0, 0.3), initial(case), step=0.02)
        locally = ch.transition.solve_locally(case, peer, (0.0, 0.3), initial(case), step=0.02)
        assert locally.steps == 15
        assert np.array_equal(locally.t, on_group.t)
        assert np.abs(locally.y - on_group.y).max() < 2e-14


def test_mixed_twists_on_se3_and_the_left_side():
    for representation in ("mixed", "spatial"):
        case = ch.transition.LGTProblem(plain_model(representation=representation), representation=representation)
        y0 = initial(case, representation)
        on_group = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 0.1), y0, step=0.02)
        assert np.abs(ch.transition.solve_locally(case, "rk4", (0.0, 0.1), y0, step=0.02).y - on_group.y).max() < 2e-14


@pytest.mark.parametrize("solver", ["RK23", "RK45", "DOP853", "Radau"])
def test_adaptive_solvers_of_scipy(solver):
    case = problem("rotation_vector", "rodrigues")
    truth = ch.integrate.solve(
        case, ch.integrate.RKMK("dop853"), (0.0, 0.4), initial(case), rtol=1e-13, atol=1e-13, save="final"
    ).y[-1]
    tolerance = 1e-4 if solver == "RK23" else 1e-6
    options = {"rtol": tolerance, "atol": tolerance}
    found = ch.transition.solve_locally(case, getattr(scipy.integrate, solver), (0.0, 0.4), initial(case), **options)
    assert found.t[-1] == 0.4
    assert np.abs(found.y[-1] - truth).max() < 10 * tolerance


def test_a_stepper_of_your_own():
    case = problem()

    def euler(f, t, z, h):
        return z + h * f(t, z)

    ends = [
        ch.transition.solve_locally(case, euler, (0.0, 0.2), initial(case), step=h).y[-1] for h in (0.02, 0.01, 0.005)
    ]
    assert np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max() == pytest.approx(2, rel=0.1)
    assert (
        np.abs(ends[1] - ch.transition.solve_locally(case, "euler", (0.0, 0.2), initial(case), step=0.01).y[-1]).max()
        < 1e-15
    )


def test_backwards_and_with_a_shorter_last_step():
    case = problem()
    forth = ch.transition.solve_locally(case, "rk4", (0.0, 0.25), initial(case), step=0.02)
    back = ch.transition.solve_locally(case, scipy.integrate.DOP853, (0.25, 0.0), forth.y[-1], rtol=1e-9, atol=1e-9)
    assert forth.t[-1] == 0.25
    assert np.abs(matrices(case, back.y[-1]) - matrices(case, initial(case))).max() < 1e-6


def test_a_step_beyond_the_chart():
    case = ch.transition.LGTProblem(lambda q, twists, t: np.zeros(6), local="rodrigues")
    y0 = case.state([1.0, 0, 0, 0, 0, 0, 0], [0, 0, 40.0, 0, 0, 0])
    for method in ("rk4", "euler"):
        with pytest.raises(
            ch.errors.ChartError, match=r"body 0 turns by 4 rad in the step of 0\.1 from t = 0"
        ) as caught:
            ch.transition.solve_locally(case, method, (0.0, 1.0), y0, step=0.1)
        assert caught.value.solution.steps == 0
    options = {"rtol": 1e-3, "atol": 1e-3, "first_step": 0.1}
    sol = ch.transition.solve_locally(case, scipy.integrate.RK45, (0.0, 1.0), y0, **options)
    assert sol.success
    assert abs(abs(sol.y[-1, 0]) - abs(np.cos(20.0))) < 0.02


def test_bad_input():
    case = problem()
    y0 = initial(case)
    for call, message in (
        (lambda: ch.transition.solve_locally(case, scipy.integrate.BDF, (0, 1), y0), "BDF builds on several steps"),
        (lambda: ch.transition.solve_locally(case, scipy.integrate.LSODA, (0, 1), y0), "LSODA builds on several steps"),
        (lambda: ch.transition.solve_locally(case, "rk4", (0, 1), y0), "give step"),
        (lambda: ch.transition.solve_locally(case, "rk5", (0, 1), y0, step=0.1), "unknown tableau 'rk5'"),
        (lambda: ch.transition.solve_locally(case, "rk4", (0, 1), y0[:5], step=0.1), "13 numbers, not 5"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="rtol are options"):
        ch.transition.solve_locally(case, "rk4", (0, 1), y0, step=0.1, rtol=1e-3)
    with pytest.raises(ValueError, match="no curve"):
        ch.transition.solve_locally(case, runge_kutta("rk4"), (0, 1), y0, step=0.1)(0.5)
