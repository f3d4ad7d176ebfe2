"""Log-Cholesky coordinates: there and back, physical everywhere, with the right derivative."""

import numpy as np
import pytest

from chasles.fit.inertia_chart import chart_of, derivative, ten_of
from chasles.screw import inertia


def test_there_and_back():
    box = inertia.to_parameters(
        inertia.spatial_inertia(1.7, (0.1, -0.2, 0.3), (0.02, 0.001, -0.002, 0.03, 0.003, 0.025))
    )
    chart = chart_of(box, "box")
    assert np.allclose(ten_of(chart), box, rtol=1e-13)
    assert np.allclose(chart[7:], (0.1, -0.2, 0.3))  # the center of mass
    assert np.isclose(np.exp(2 * chart[0]), 1.7)


def test_any_numbers_are_physical():
    for chart in np.random.default_rng(0).normal(size=(100, 10)):
        inertia.check(inertia.from_parameters(ten_of(chart)))


def test_derivative():
    chart, h = np.random.default_rng(1).normal(size=10), 1e-6
    wanted = [(ten_of(chart + h * e) - ten_of(chart - h * e)) / (2 * h) for e in np.eye(10)]
    assert np.allclose(derivative(chart), np.transpose(wanted), atol=1e-8)


def test_a_thin_rod_has_no_coordinates():
    with pytest.raises(ValueError, match="'rod' has no full distribution"):
        chart_of(np.array([1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.0]), "rod")
