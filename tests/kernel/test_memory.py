"""Declared memory: offsets in Python and in kernels come from one declaration."""

import os
import subprocess
import sys

import numpy as np
import pytest

from chasles.kernel.memory import Packed, Regions, joined
from chasles.kernel.policy import COMPILED, kernel

TABLE = Packed("TABLE", {"rows": int, "values": float}, ("n_rows", "n_odd", "call"), addresses=("call",))
SIZES = TABLE.sizes
table_of = TABLE.parts("Table", "values", "rows", n="n_rows")
WORK = Regions("Work", x=6 * SIZES.n_rows, odd=2 * (SIZES.n_rows + 3 * SIZES.n_odd) + 1, four=4)
work_of, work_size = WORK.views, WORK.total
at_hand = joined("AtHand", "t table", WORK)


def packed() -> np.ndarray:
    return TABLE.pack(rows=np.arange(6).reshape(3, 2), values=[0.5, 1.5], n_rows=3, n_odd=2, call=1 << 60)


@kernel(entry=True)
def fill_regions(array, work):
    table = table_of(array)
    mine = at_hand((0.25, table), work_of(work, array))
    for k in range(mine.x.shape[0]):
        mine.x[k] = 1.0
    for k in range(mine.odd.shape[0]):
        mine.odd[k] = mine.table.values[1]
    mine.four[3] = mine.t
    total = 0
    for k in range(table.rows.shape[0]):
        total += table.rows[k]
    return total, table.n, work_size(array)


def test_kernels_and_python_see_the_same_regions():
    array = packed()
    work = np.zeros(18 + 2 * (3 + 6) + 1 + 4)
    assert fill_regions(array, work) == (15, 3, len(work))
    expected = np.concatenate([np.ones(18), np.full(19, 1.5), [0, 0, 0, 0.25]])
    np.testing.assert_array_equal(work, expected)
    regions, head = WORK.split(work, array.view(np.int64)), array.view(np.int64)
    assert [len(region) for region in regions] == [18, 19, 4]
    assert regions.odd.base is not None
    assert (regions.odd == 1.5).all()
    assert (WORK.offset("x", head), WORK.offset("odd", head), WORK.offset("four", head)) == (0, 18, 37)
    assert WORK.size(head) == 41
    assert WORK.nbytes(head) == work.nbytes


def test_packed_parts_keep_their_values_and_types():
    array = packed()
    assert array.dtype == np.float64
    np.testing.assert_array_equal(TABLE.part(array, "rows"), np.arange(6))
    np.testing.assert_array_equal(TABLE.part(array, "values"), [0.5, 1.5])
    head = array.view(np.int64)
    assert (head[TABLE.head.n_rows], head[TABLE.head.call]) == (3, 1 << 60)
    assert Packed("INTEGERS", {"a": int}, ("n",)).pack(a=[4], n=1).dtype == np.int64


def test_what_may_leave_a_process_has_no_addresses():
    array = packed()
    moved = TABLE.portable(array)
    assert moved.view(np.int64)[TABLE.head.call] == 0
    moved.view(np.int64)[TABLE.head.call] = 1 << 60
    assert moved.tobytes() == array.tobytes()
    parts = Packed("PARTS", {"rows": int, "laws": float}, ("n",), addresses=("laws",))
    moved = parts.portable(parts.pack(rows=[1, 2], laws=[3.0, 4.0], n=2))
    assert (parts.part(moved, "rows").tolist(), parts.part(moved, "laws").tolist()) == ([1, 2], [0.0, 0.0])


def test_filled_by_name():
    head = packed().view(np.int64)
    array = WORK.filled(head, odd=2.0, four=np.arange(4.0).reshape(2, 2))
    np.testing.assert_array_equal(array, [*[0.0] * 18, *[2.0] * 19, 0, 1, 2, 3])
    with pytest.raises(ValueError, match="broadcast"):
        WORK.filled(head, four=[1.0, 2.0])
    with pytest.raises(AttributeError):
        WORK.filled(head, five=1.0)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="Work: 40 numbers; expected 41"):
        WORK.split(np.zeros(40), packed().view(np.int64))
    with pytest.raises(ValueError, match=r"TABLE: expected \['rows', 'values', 'n_rows', 'n_odd', 'call'\]"):
        TABLE.pack(rows=[1], n_rows=1, n_odd=0, call=0)


CHECKED = """
import numpy as np
from chasles.kernel.address import address_of, INTEGER, NUMBERS, invoke
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from tests.kernel.test_memory import packed, work_of
import sys

@kernel(entry=True)
def read(array, work, k):
    return work_of(work, array).odd[k]

@native
def write_view(at, k):
    view = carray(at, (3,))
    view[k] = 1.0

@kernel(entry=True)
def call(address, array, k):
    invoke(address, array, k)

def refused(function, *args):
    try:
        function(*args)
    except IndexError:
        return True
    return False

array = packed()
assert not refused(read, array, np.zeros(41), 18)
assert refused(read, array, np.zeros(41), 19), "past a region, within the array"
assert refused(read, array, np.zeros(40), 0), "regions that do not fit"
seen = []
sys.unraisablehook = lambda error: seen.append(error.exc_type)
place, address = np.zeros(8), address_of(write_view, NUMBERS, INTEGER)
call(address, place, 2)
assert not seen and place[2] == 1.0
call(address, place, 3)
assert seen == [IndexError] and place[3] == 0.0, (seen, place)
print("checked")
"""


@pytest.mark.skipif(not COMPILED, reason="bounds are Python's own when the compiler is switched off")
def test_checked_mode_refuses_what_is_outside_of_a_region(tmp_path):
    script = tmp_path / "checked.py"
    script.write_text(CHECKED)
    path = os.pathsep.join(p for p in sys.path if p)
    environment = os.environ | {"CHASLES_CHECK": "1", "PYTHONPATH": path}
    result = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.stdout.strip() == "checked", result.stderr
