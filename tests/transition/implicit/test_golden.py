"""The digits of `tests/absolute/implicit/test_golden.py`, of independent implementations, from a model of a user."""

import numpy as np
import pytest

from tests.absolute.implicit.test_golden import DIGITS, METHODS, MULTIPLIERS
from tests.transition.implicit.models import run, top

CASES = [
    *(("SO3xR3", name) for name in ("index 3", "BLieDF5", "index 2", "BLieDF3 first")),
    *(("SE3", name) for name in ("index 2", "BLieDF4")),
]


@pytest.mark.first(1)
@pytest.mark.parametrize(("space", "name"), CASES)
def test_digits(space, name):
    case = top("fast", "quaternion", *(("screw", "body") if space == "SE3" else ("rotation_vector", "mixed")))
    going = run(case, "fast", METHODS[name], 200)
    (q,), (twist,) = case.split(going.point())
    position, spin = DIGITS[space][name]
    assert np.abs(q[4:] - position).max() < 1.01e-10
    assert np.abs(twist[:3] - spin).max() < 2e-11 * 150.0
    if (space, name) in MULTIPLIERS:
        digits, tolerance = MULTIPLIERS[space, name]
        assert np.abs(going.multipliers - digits).max() < tolerance
