"""Named workspaces, and the checked mode that guards raw loads and stores."""

import os
import subprocess
import sys

import numpy as np
import pytest

from chasles.kernel.lanes import WIDTH, buffer, lanes_of
from chasles.kernel.policy import COMPILED, kernel
from chasles.kernel.workspace import add3, layout, load3, load6, load9, store3, store6, store9

LINK = layout("LINK", rotation=9, twist=6, force=3)


def test_offsets_follow_the_order_of_the_fields():
    assert (LINK.rotation, LINK.twist, LINK.force, LINK.size) == (0, 9, 15, 18)


@pytest.mark.parametrize("fields", [{"size": 3}, {"a": 0}, {"a": -1}, {"a": 1.5}])
def test_bad_layouts_are_refused(fields):
    with pytest.raises(ValueError, match="layout BAD"):
        layout("BAD", **fields)


@kernel
def fill(work, bodies, pattern):
    for i in range(bodies):
        at = i * LINK.size
        value = pattern + float(i)
        store9(work, at + LINK.rotation, (value, value, value, value, value, value, value, value, value))
        store6(work, at + LINK.twist, ((value, value, value), (value, value, value)))
        store3(work, at + LINK.force, (value, value, value))
        add3(work, at + LINK.force, load3(work, at + LINK.force, pattern))
        add3(work, at + LINK.twist, load6(work, at + LINK.twist, pattern)[1])
        m = load9(work, at + LINK.rotation, pattern)
        store3(work, at + LINK.rotation, (m[8], m[7] + m[6], m[0]))


@kernel(entry=True)
def fill_floats(work, bodies):
    fill(work, bodies, 1.0)


@kernel(entry=True)
def fill_lanes(work, bodies):
    fill(work, bodies, lanes_of(1.0))


@pytest.mark.skipif(not COMPILED, reason="needs compiled lanes")
def test_one_source_fills_workspaces_of_floats_and_of_lanes():
    floats, lanes = np.zeros(3 * LINK.size), buffer(3 * LINK.size)
    fill_floats(floats, 3)
    fill_lanes(lanes, 3)
    one = np.array([1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2.0])
    np.testing.assert_array_equal(floats.reshape(3, -1), np.outer([1, 2, 3], one))
    np.testing.assert_array_equal(lanes.reshape(-1, WIDTH), np.tile(floats[:, None], (1, WIDTH)))


CHECKED = """
import numpy as np
from chasles.kernel.lanes import buffer, lanes_of, load
from chasles.kernel.policy import CHECKED, kernel
from chasles.kernel.rows import load_rows, store_rows

assert CHECKED

@kernel(entry=True)
def read(work, i):
    return load(work, i, 0.0)

@kernel(entry=True)
def read_lanes(work, i):
    total = load(work, i, lanes_of(0.0))
    return 0

@kernel(entry=True)
def rows(x, out):
    store_rows(out, 0, 6, load_rows(x, 0, 6, 6))

def refused(error, function, *args):
    try:
        function(*args)
    except error:
        return True
    return False

work = buffer(2)
assert read(work, 7) == 0.0
assert refused(IndexError, read, work, 8), "one past the end"
assert refused(IndexError, read, work, -1), "before the beginning"
assert not refused(IndexError, read_lanes, work, 1)
assert refused(IndexError, read_lanes, work, 2), "lanes past the end"
assert refused(ValueError, read_lanes, np.zeros(17)[1:] if np.zeros(17).ctypes.data % 32 == 0 else np.zeros(17), 0)
assert not refused(IndexError, rows, np.zeros(24), np.zeros(24))
assert refused(IndexError, rows, np.zeros(23), np.zeros(24)), "rows past the end of the input"
assert refused(IndexError, rows, np.zeros(24), np.zeros(23)), "rows past the end of the output"

print("checked")
"""


# batches of all lengths: every tail of a loop on lanes
GROUPS = """
import numpy as np
from chasles import lie
rng = np.random.default_rng(0)
for n in range(1, 10):  # every tail of a batch
    X = 0.5 * rng.normal(size=(n, 6))
    assert np.abs(lie.se3.log(lie.se3.exp(X)) - X).max() < 1e-13
    assert np.abs(lie.se3.dexpinv(X) @ lie.se3.dexp(X) - np.eye(6)).max() < 1e-13
    assert lie.pose.compose(lie.pose.random(rng, (n,)), lie.pose.identity()).shape == (n, 7)
print("checked")
"""


@pytest.mark.skipif(not COMPILED, reason="bounds are Python's own when the compiler is switched off")
@pytest.mark.parametrize("code", [CHECKED, pytest.param(GROUPS, marks=pytest.mark.study)], ids=["buffers", "groups"])
def test_checked_mode_catches_every_access_outside_of_a_buffer(code, tmp_path):
    script = tmp_path / "checked.py"
    script.write_text(code)
    environment = os.environ | {"CHASLES_CHECK": "1"}
    result = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.stdout.strip() == "checked", result.stderr
