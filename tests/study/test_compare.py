"""The comparison of spaces, methods and stabilisations."""

import numpy as np
import pytest

import chasles as ch
from chasles.gallery.source_000 import example
from chasles.study.compare import compare, explicit_methods


@pytest.fixture(scope="module")
def found():
    top = example("heavy_top")
    steps = [2e-3, 1e-3, 5e-4]
    return compare(top.system, (0.0, 0.1), poses=top.poses, twists=top.twists, methods=["rk4", "cf4"], steps=steps)


def test_every_combination_has_a_row(found):
    assert len(found.rows) == 2 * 2 * 2 * 3
    assert {row.space for row in found.rows} == {"SE3", "SO3xR3"}
    assert all(not row.message for row in found.rows)


def test_what_the_group_buys(found):
    """Source 000: SE(3) satisfies the joint by itself, and that is all; with projection both do."""
    assert found.ratio("none", "position violation").high < 1e-6
    assert 0.1 < found.ratio("projection", "position violation").mean < 10.0
    for row in found.rows:
        if row.stabilization == "projection" or row.space == "SE3":
            assert row.position < 1e-14
        else:
            assert row.position > 1e-9


def test_orders_are_observed(found):
    for space in ("SE3", "SO3xR3"):
        for stabilization in ("none", "projection"):
            assert abs(found.order("rk4", space, stabilization) - 4) < 0.4


def test_it_can_be_saved_and_shown(found, tmp_path):
    files = found.save(tmp_path)
    assert {path.suffix for path in files} == {".csv", ".png"}
    lines = next(path for path in files if path.suffix == ".csv").read_text().splitlines()
    assert len(lines) == 1 + len(found.rows)
    assert found.table().row_count == 8
    assert found.summary().row_count > 0


def test_bad_input():
    top = example("heavy_top")
    start = {"poses": top.poses, "twists": top.twists}
    with pytest.raises(ValueError, match="no explicit method 'rk5'"):
        compare(top.system, (0.0, 0.1), methods="rk5", **start)
    with pytest.raises(ValueError, match="space 'S3'"):
        compare(top.system, (0.0, 0.01), spaces=["S3"], steps=[0.01], **start)
    with pytest.raises(ValueError, match="positive numbers"):
        compare(top.system, (0.0, 0.1), steps=[-1.0], **start)
    assert np.isfinite([method.order for method in explicit_methods().values()]).all()


def test_public_name():
    assert ch.compare is compare
