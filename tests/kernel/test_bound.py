"""Loops bound to their arrays: the same results as called through Numba, and errors nowhere."""

import numpy as np

from chasles.integrate import blocks, table
from chasles.integrate.space import Space
from chasles.kernel.bound import PLAIN_CALLS, Bound
from chasles.kernel.direct import available


def test_a_bound_loop_sees_what_its_arrays_hold_now():
    space, rng = Space("s3", "r2", side="right"), np.random.default_rng(0)
    y, x, out = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(5), np.empty(6)
    bound = Bound(blocks.move_point, space.table, space.operations(blocks.MOVE), y, x, out)
    for k in range(PLAIN_CALLS + 4):
        x[:] = rng.normal(size=5)
        bound.call()
        assert np.array_equal(out, space.move(y, x, table.EXP)), k
    assert bool(bound._places) == available()
