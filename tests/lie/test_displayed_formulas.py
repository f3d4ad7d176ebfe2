"""Formulas as they are displayed in docstrings, in NumPy, against the functions."""

import numpy as np
import pytest

from chasles import lie


def tilde(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


@pytest.mark.parametrize("angle", [0.7, 2.5, 5.0])
def test_dexpinv_of_se3(angle):
    direction = np.array([0.48, -0.6, 0.64])
    x, v = angle * direction, np.array([1.3, -0.4, 2.1])
    u = angle / 2 / np.tan(angle / 2)
    g = (1 - u) / angle**2
    dg = (0.25 * angle**2 / np.sin(angle / 2) ** 2 + u - 2) / (2 * angle**4)
    D = np.eye(3) - tilde(x) / 2 + g * tilde(x) @ tilde(x)
    Q = -tilde(v) / 2 + g * (tilde(x) @ tilde(v) + tilde(v) @ tilde(x)) + 2 * (x @ v) * dg * tilde(x) @ tilde(x)
    expected = np.block([[D, np.zeros((3, 3))], [Q, D]])
    np.testing.assert_allclose(lie.se3.dexpinv([*x, *v]), expected, rtol=0, atol=2e-14 * np.abs(expected).max())
