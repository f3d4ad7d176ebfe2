"""The stopping rule of Newton's method on iterations whose errors are known: what it says is left, is."""

import numpy as np
import pytest

from chasles.integrate import stopping

converged, at_rounding = (getattr(rule, "py_func", rule) for rule in (stopping.converged, stopping.at_rounding))
LEFT = 1e-8


def stopped(errors, least=0.0, goal=0.0):
    """After which correction the rule ends an iteration with these errors, and whether by corrections at rounding."""
    sizes = np.linalg.norm(np.diff(errors, axis=0), axis=1)
    for k in range(1, len(sizes)):
        contraction = sizes[k] / sizes[k - 1]
        if converged(sizes[k], contraction, least, goal, LEFT):
            return k, False
        if at_rounding(sizes[k], contraction, 1e-12):
            return k, True
    return None


@pytest.mark.parametrize("rates", [(1e-3,), (0.1, -0.05), (0.3, 0.29, -0.3), (0.45, 0.01)])
def test_what_is_left_of_a_linear_iteration_is_below_twice_the_next_correction(rates):
    """Errors C^k e of a matrix with known eigenvalues; one correction fewer would have left more."""
    rng = np.random.default_rng(1)
    frame = np.linalg.qr(rng.normal(size=(len(rates), len(rates))))[0]
    C = frame @ np.diag(rates) @ frame.T
    first = rng.normal(size=len(rates))
    errors = np.array([np.linalg.matrix_power(C, k) @ first for k in range(60)])
    k, rounding = stopped(errors)
    assert not rounding
    assert np.linalg.norm(errors[k + 1]) <= 2 * LEFT
    assert np.linalg.norm(errors[k]) > 0.5 * LEFT


def test_a_slow_part_hidden_under_a_fast_one_is_expected_by_least():
    """The second contraction is that of the large, fast part; the small, slow one would be left."""
    errors = np.array([[5e-3**k, 3e-6 * 0.4**k] for k in range(60)])
    early, late = stopped(errors)[0], stopped(errors, least=0.1)[0]
    assert np.linalg.norm(errors[early + 1]) > 2 * LEFT
    assert np.linalg.norm(errors[late + 1]) < 2 * LEFT
    assert late > early


def test_newton_s_method_leaves_less_than_the_rule_says():
    """Quadratic convergence, to a known root."""
    x, errors = 3.0, []
    for _ in range(8):
        errors.append([x - np.sqrt(2.0)])
        x -= (x * x - 2.0) / (2.0 * x)
    k, _ = stopped(np.array(errors))
    assert abs(errors[k + 1][0]) < 1e-2 * LEFT


def test_corrections_that_do_not_shrink_end_it_at_rounding_only():
    noise = np.random.default_rng(2).normal(size=(200, 1))
    slow = 0.8 ** np.arange(200.0)[:, None]
    assert stopped(slow)[1]
    assert stopped(slow + 1e-13 * noise)[1]
    assert stopped(1.1 ** np.arange(60.0)[:, None]) is None, "growing"


def test_a_correction_below_the_goal_ends_it_however_it_contracts():
    assert converged(1e-9, np.inf, 0.0, 1e-8, 0.0)
    assert not converged(1e-7, np.inf, 0.0, 1e-8, 1.0), "nothing is known about the next one"
