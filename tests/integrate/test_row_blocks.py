"""Quaternions of many bodies, four at a time: the same bits as one after the other."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate import blocks, row_blocks
from chasles.integrate.method import RKMK
from chasles.integrate.space import Space
from chasles.integrate.table import CAYLEY, CAYLEY2, EXP, SECOND_KIND, SERIES
from chasles.kernel.policy import COMPILED, kernel
from chasles.lie import s3

pytestmark = pytest.mark.skipif(not COMPILED, reason="a matter of compiled code")


@kernel(entry=True)
def pull(table, addresses, terms, x, f, out):
    blocks.pullback(table, addresses, terms, x, f, out, 0, 0.0)


def addresses(space, fewest, monkeypatch, mapping=EXP):
    monkeypatch.setattr(row_blocks, "FEWEST", fewest)
    return space.operations(blocks.MOVE, blocks.PULLBACK, mapping=mapping)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("mapping", [EXP, CAYLEY, CAYLEY2, SECOND_KIND, SERIES])
def test_same_bits_as_one_after_the_other(monkeypatch, mapping, side):
    rng = np.random.default_rng(5)
    for count in (8, 9, 10, 11, 41):
        space = Space(*["r2", "s3"] * count, "r5", side=side)
        y, x, f = (rng.normal(size=size) for size in (6 * count + 5, 5 * count + 5, 5 * count + 5))
        at = 6 * np.arange(count)[:, None] + np.arange(2, 6)
        y[at] /= np.linalg.norm(y[at], axis=1, keepdims=True)
        x *= np.resize([1e-9, 1e-3, 0.3, 1.5], len(x))
        four, one = (addresses(space, fewest, monkeypatch, mapping) for fewest in (8, 1000))
        assert (four != one).sum() == (1 if mapping in (CAYLEY, CAYLEY2) else 2)
        found = {}
        for name, used in (("four", four), ("one", one)):
            own, pulled = y.copy(), np.empty_like(x)
            blocks.move_point(space.table, used, own, x, own)  # the result is the point itself
            pull(space.table, used, 4, x, f, pulled)
            found[name] = own, pulled
        for a, b in zip(found["four"], found["one"], strict=True):
            assert np.isfinite(a).all()
            assert a.tobytes() == b.tobytes()
        if mapping == EXP:
            turns = s3.exp(x[5 * np.arange(count)[:, None] + np.arange(2, 5)])
            wanted = s3.compose(turns, y[at]) if side == "left" else s3.compose(y[at], turns)
            assert np.abs(found["four"][0][at] - wanted).max() < 1e-15


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("mapping", [EXP, CAYLEY, CAYLEY2, SECOND_KIND, SERIES])
def test_same_bits_for_many_turns(monkeypatch, mapping, side):
    """Which product is fused with a sum shows in one number of ten to a thousand."""
    rng, count = np.random.default_rng(6), 4003
    space = Space(*["s3"] * count, side=side)
    four, one = (addresses(space, fewest, monkeypatch, mapping) for fewest in (8, 10**9))
    y = rng.normal(size=(count, 4))
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    for size in (1e-6, 0.03, 1.0, 3.0):
        x, f = size * rng.normal(size=3 * count), rng.normal(size=3 * count)
        moved = [y.copy().reshape(-1) for _ in range(2)]
        for used, own in zip((four, one), moved, strict=True):
            blocks.move_point(space.table, used, own, x, own)
        np.testing.assert_array_equal(*moved)
        for terms in (0, 1, 2, 4, 6):
            found = np.empty((2, len(x)))
            for used, out in zip((four, one), found, strict=True):
                pull(space.table, used, terms, x, f, out)
            np.testing.assert_array_equal(*found)


def test_an_ensemble_has_the_bits_of_single_runs():
    """Free bodies that turn far in a step: on lanes one body after the other, alone four at a time."""
    bodies = [ch.Body(f"b{k}", 1.0, (0.02, 0, -0.5), (0.1, 0.12, 0.05)) for k in range(9)]
    system = ch.System(bodies, [ch.free(f"j{k}", "ground", f"b{k}") for k in range(9)])
    v = 60 * np.random.default_rng(9).normal(size=(4, 54))
    for coordinates in ("exp", "cay", "cay2"):
        how = {"method": RKMK("rk4", coordinates=coordinates), "step": 0.01}
        together = ch.simulate_batch(system, (0.0, 0.05), v=v, **how)
        for start, one in zip(v, together, strict=True):
            alone = ch.simulate(system, (0.0, 0.05), v=start, certificate=False, progress=False, **how)
            np.testing.assert_array_equal(one.solution.y[-1], alone.solution.y[-1])


def test_which_spaces_have_them(monkeypatch):
    def many(*parts, side="left"):
        table = Space(*parts, side=side).table
        return [row_blocks.in_rows(table, algebra) for algebra in range(len(blocks.MODULES) + 1)]

    assert many(*["s3"] * 8).count(True) == 1
    for parts in (
        ["s3"] * 7,
        ["so3"] * 9,
        ["pose"] * 9,
        ["s3"] * 8 + ["so3"],
        ["s3"],
        ["r3"],
        ["s3"] * 8 + ["r1", "s3"],
    ):
        assert not any(many(*parts)), parts
