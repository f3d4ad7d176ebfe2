"""Rows that come in pieces are one table, and what was handed out stays as it was."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate import growing
from chasles.integrate.growing import GrowingRows


def test_rows_in_pieces_of_any_size():
    rng = np.random.default_rng(1)
    pieces = [rng.normal(size=(count, 3)) for count in (1, 0, 2, 1024, 7, 5000, 1)]
    table = GrowingRows(3)
    for piece in pieces:
        table.add(piece)
    np.testing.assert_array_equal(table.rows, np.concatenate(pieces))
    first, second = table.columns(1, 2)
    np.testing.assert_array_equal(np.hstack([first, second]), table.rows)
    table.clear()
    assert len(table.rows) == 0
    table.add(pieces[0])
    np.testing.assert_array_equal(table.rows, pieces[0])
    np.testing.assert_array_equal(np.hstack([first, second]), np.concatenate(pieces))


@pytest.mark.parametrize("small", [0, 1 << 26])
def test_what_was_handed_out_stays(small, monkeypatch):
    monkeypatch.setattr(growing, "SMALL", small)
    table = GrowingRows(2)
    table.add(np.arange(20.0).reshape(10, 2))
    (held,) = table.columns(2)
    assert np.shares_memory(held, table.rows) == (small == 0)
    for _ in range(20):
        table.add(np.full((100, 2), -1.0))
    np.testing.assert_array_equal(held, np.arange(20.0).reshape(10, 2))
    (more,) = table.columns(2)
    np.testing.assert_array_equal(more[:10], held)
    table.clear()
    table.add(np.zeros((2000, 2)))
    assert (more[10:] == -1).all()


def test_a_large_run_is_kept_once(monkeypatch):
    """Its columns are views of one table, with the numbers of a run whose columns are copies."""

    def fall():
        system = ch.System(
            [ch.Body("b", 1.0, (0.1, 0, 0), (1, 1, 1))], [ch.revolute("r", "ground", "b", axis=(0, 1, 0))]
        )
        return ch.simulate(system, (0, 1), v=[1.0], method="rk4", step=1e-3)

    small = fall()
    monkeypatch.setattr(growing, "SMALL", 1000)
    large = fall()
    arrays = [large.solution.t, large.solution.y, large.solution.slopes, large.solution.moves]
    assert all(np.shares_memory(x.base, arrays[0].base) for x in arrays)
    for name in ("t", "y", "slopes", "moves"):
        np.testing.assert_array_equal(getattr(large.solution, name), getattr(small.solution, name))
    np.testing.assert_array_equal(large(0.4567).q, small(0.4567).q)
    np.testing.assert_array_equal(large.energies.total, small.energies.total)
    np.testing.assert_array_equal(large["b"].acceleration, small["b"].acceleration)
    assert large.certificate.passed == small.certificate.passed
