"""Magnus methods and the exponential of a matrix."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from chasles.integrate.magnus import CommutatorFreeMagnus, LinearODE, Magnus
from chasles.integrate.matrix import expm
from chasles.integrate.solver import solve

METHODS = [Magnus(2), Magnus(4), Magnus(6), CommutatorFreeMagnus()]
RNG = np.random.default_rng(5)
PARTS = RNG.normal(size=(3, 5, 5))


def generic(t):
    """No two values commute."""
    return PARTS[0] + np.sin(3 * t) * PARTS[1] + np.exp(-t) * PARTS[2]


def skew(t):
    a = generic(t)[:4, :4]
    return a - a.T


def unitary(t):
    a = generic(t)[:3, :3] + 1j * generic(2 * t)[1:4, 1:4]
    return a - a.conj().T


def hamiltonian(t):
    """In sp(4): J times a symmetric matrix."""
    a = generic(t)[:4, :4]
    return SYMPLECTIC @ (a + a.T)


SYMPLECTIC = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])


def reference(a, span, y0):
    y0 = np.asarray(y0, dtype=np.result_type(np.asarray(a(0.0)), float))

    def rate(t, y):
        return (a(t) @ y.reshape(y0.shape)).ravel()

    return solve_ivp(rate, span, y0.ravel(), method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1].reshape(y0.shape)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("a", [generic, unitary], ids=["real", "complex"])
def test_order_and_end_point(method, a):
    n = len(a(0.0))
    end = reference(a, (0, 1), np.eye(n))
    counts = (5, 10, 20) if method.order == 6 else (10, 20, 40, 80)
    errors = [
        abs(solve(LinearODE(a), method, (0, 1), np.eye(n), step=1 / k, save="final").y[-1] - end).max() / abs(end).max()
        for k in counts
    ]
    assert min(errors) > 1e-12
    assert np.polyfit(np.log(1 / np.array(counts)), np.log(errors), 1)[0] > method.order - 0.2
    assert errors[-1] < {2: 1e-2, 4: 1e-5, 6: 1e-7}[method.order]


def test_order_of_the_factors_matters():
    """Control: with the factors exchanged the commutator-free method has order 2."""

    class Exchanged(CommutatorFreeMagnus):
        def exponents(self, h, a):
            return super().exponents(h, a)[::-1]

    end = reference(generic, (0, 1), np.eye(5))
    errors = [
        abs(solve(LinearODE(generic), Exchanged(), (0, 1), np.eye(5), step=1 / k).y[-1] - end).max()
        for k in (20, 40, 80)
    ]
    assert np.polyfit(np.log([1 / 20, 1 / 40, 1 / 80]), np.log(errors), 1)[0] < 2.2


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_groups_are_kept(method):
    y = solve(LinearODE(skew), method, (0, 20), np.eye(4), step=0.1).y
    assert abs(y @ np.swapaxes(y, 1, 2) - np.eye(4)).max() < 1e-13
    np.testing.assert_allclose(np.linalg.det(y), 1, atol=1e-13)
    y = solve(LinearODE(unitary), method, (0, 20), np.eye(3), step=0.1).y
    assert abs(y @ np.swapaxes(y, 1, 2).conj() - np.eye(3)).max() < 1e-13
    y = solve(LinearODE(hamiltonian), method, (0, 1), np.eye(4), step=0.1).y
    scale = np.linalg.norm(y[-1], 2) ** 2
    assert abs(np.swapaxes(y, 1, 2) @ SYMPLECTIC @ y - SYMPLECTIC).max() < 1e-14 * scale


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_vectors_and_columns(method):
    y0 = RNG.normal(size=(5, 2))
    both = solve(LinearODE(generic), method, (0, 1), y0, step=0.1)
    matrix = solve(LinearODE(generic), method, (0, 1), np.eye(5), step=0.1)
    assert both.y.shape == (11, 5, 2)
    np.testing.assert_allclose(both.y, matrix.y @ y0, rtol=1e-12, atol=1e-12)
    for k in range(2):
        one = solve(LinearODE(generic), method, (0, 1), y0[:, k], step=0.1)
        assert one.y.shape == (11, 5)
        np.testing.assert_allclose(one.y, both.y[:, :, k], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_methods_are_symmetric(method):
    there = solve(LinearODE(skew), method, (0, 2), np.eye(4), step=0.1)
    back = solve(LinearODE(skew), method, (2, 0), there.y[-1], step=0.1)
    np.testing.assert_allclose(back.y[::-1], there.y, atol=1e-13)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_constant_matrix_is_solved_exactly(method):
    solution = solve(LinearODE(lambda t: PARTS[0]), method, (0, 1), np.eye(5), step=0.3)
    np.testing.assert_allclose(solution.y[-1], expm(PARTS[0]), rtol=1e-12, atol=1e-12)
    assert solution.t.tolist() == pytest.approx([0, 0.3, 0.6, 0.9, 1.0])
    assert solution.t[-1] == 1.0
    assert solution.steps == 4
    assert solution.evaluations == 1 + 4 * len(method.nodes)  # one to see whether it is complex
    assert solution.exponentials == 4 * (2 if isinstance(method, CommutatorFreeMagnus) else 1)


def test_saving():
    every, some, final = (
        solve(LinearODE(skew), Magnus(), (0, 1), np.eye(4), step=0.1, save=save) for save in ("all", 4, "final")
    )
    np.testing.assert_array_equal(some.y, every.y[[0, 4, 8, 10]])
    np.testing.assert_array_equal(final.y, every.y[[0, 10]])
    assert solve(LinearODE(skew), Magnus(), (1, 1), np.eye(4), step=0.1).y.shape == (1, 4, 4)


# ---------------------------------------------------------------- the exponential


@pytest.mark.sample(1)
@pytest.mark.parametrize("norm", [1e-10, 0.01, 0.2, 0.9, 2.0, 5.0, 5.5, 30.0, 100.0])
@pytest.mark.parametrize("kind", ["real", "complex", "skew"])
def test_exponential_against_many_digits(norm, kind):
    a = np.random.default_rng(8).normal(size=(5, 5)).astype(complex if kind == "complex" else float)
    if kind == "complex":
        a += 1j * a[::-1]
    if kind == "skew":
        a = a - a.T
    a *= norm / abs(a).sum(axis=0).max()
    with mpmath.workdps(40):
        exact = np.array(mpmath.expm(mpmath.matrix(a.tolist())).tolist(), dtype=complex)
    assert abs(expm(a) - exact).max() < 2e-15 * max(1.0, norm) * abs(exact).max()
    assert np.iscomplexobj(expm(a)) == (kind == "complex")


def test_exponential_of_special_matrices():
    np.testing.assert_array_equal(expm(np.zeros((3, 3))), np.eye(3))
    np.testing.assert_allclose(expm(np.array([[1]])), [[np.e]], rtol=1e-15)
    np.testing.assert_allclose(expm(np.array([[0, 1], [0, 0]])), [[1, 1], [0, 1]], atol=1e-15)
    with pytest.raises(ValueError, match="not finite"):
        expm(np.array([[np.nan]]))


# ---------------------------------------------------------------- failures


def test_bad_arguments():
    problem = LinearODE(skew)
    with pytest.raises(ValueError, match="expected 2, 4 or 6"):
        Magnus(8)
    with pytest.raises(ValueError, match=r"A has shape \(4, 4\) at t = .*; expected \(3, 3\)"):
        solve(problem, Magnus(), (0, 1), np.eye(3), step=0.1)
    with pytest.raises(ValueError, match="A is not finite at t = 0"):
        solve(LinearODE(lambda t: [[np.inf]]), Magnus(), (0, 1), [1.0], step=0.1)
    for y0 in (np.zeros((2, 2, 2)), 1.0, ["a"], []):
        with pytest.raises(ValueError, match="Y has shape"):
            solve(problem, Magnus(), (0, 1), y0, step=0.1)
    with pytest.raises(ValueError, match="not finite at the start"):
        solve(problem, Magnus(), (0, 1), [np.nan] * 4, step=0.1)
    with pytest.raises(ValueError, match="solve: step -1"):
        solve(problem, Magnus(), (0, 1), np.eye(4), step=-1.0)
    with pytest.raises(ValueError, match="solve: save"):
        solve(problem, Magnus(), (0, 1), np.eye(4), step=0.1, save="none")
