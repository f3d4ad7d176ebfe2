"""The lower triangle of the mass matrix, and products with it, against the whole matrix."""

import numpy as np
import pytest

import chasles as ch
from tests.relative import models


@pytest.mark.parametrize("name", ["branching", "all kinds"])
@pytest.mark.parametrize("count", [(), (3,), (18,)])
def test_triangle_and_products_are_those_of_the_matrix(name, count):
    mechanism = models.system_of(models.MODELS[name]()).compile()
    rng = np.random.default_rng(3)
    q, x = mechanism.random(rng, count), rng.normal(size=(*count, mechanism.nv))
    matrix = mechanism.mass_matrix(q)
    lower = matrix[..., *np.tril_indices(mechanism.nv)]
    np.testing.assert_allclose(mechanism.terms.packed_mass_matrix(q), lower, rtol=0, atol=1e-15 * np.abs(lower).max())
    product = (matrix @ x[..., None])[..., 0]
    np.testing.assert_allclose(mechanism.terms.mass_product(q, x), product, rtol=0, atol=1e-13 * np.abs(product).max())
    out = np.full(lower.shape, np.nan)
    for _ in range(2):  # the second time with known arrays
        assert mechanism.raw.packed_mass_matrix(q, out) is out
    np.testing.assert_array_equal(out, mechanism.terms.packed_mass_matrix(q))


def test_joints_that_follow_others():
    bodies = [ch.Body(name, 1.0, (0.1, 0, 0), (0.1, 0.2, 0.3)) for name in "ab"]
    joints = [
        ch.revolute("first", "ground", "a", axis=(0, 1, 0)),
        ch.revolute("second", "a", "b", axis=(0, 1, 0), at=(1, 0, 0), mimic="first", mimic_ratio=-2.0),
    ]
    hand = ch.System(bodies, joints).compile()
    matrix = hand.mass_matrix([0.3])
    assert hand.terms.packed_mass_matrix([0.3]) == matrix[0]
    assert hand.terms.mass_product([0.3], [2.0]) == pytest.approx(2 * matrix[0])
