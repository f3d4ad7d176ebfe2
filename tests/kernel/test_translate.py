"""`kernel.translate`: the same results as Numba's own passes, to the bit, and nothing that is left to them."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import textwrap

import numba
import numpy as np
import pytest
from numba.core.runtime import rtsys
from numba.core.runtime._nrt_python import memsys_disable_stats, memsys_enable_stats

from chasles.kernel.compiler import InlinedPackageCompiler, PackageCompiler
from chasles.kernel.machine_code import Compiled
from chasles.kernel.policy import COMPILED, COMPILER_FLAGS, PLAIN
from chasles.kernel.translate import function as translate
from chasles.kernel.translate import syntax
from tests.kernel import translated

pytestmark = pytest.mark.skipif(PLAIN or not COMPILED, reason="Numba alone compiles, or nothing is compiled")
POINTS = [(x, n) for x in (-2.25, -0.3, 0.0, 0.7, 1.9) for n in (0, 1, 2, 5)]


class ByNumba(PackageCompiler):
    """Numba's passes, for comparison."""

    def _translated(self):
        return None


def compiled(function, by=PackageCompiler):
    made = Compiled(function)
    made.dispatcher = numba.njit(pipeline_class=by, _nrt=False, no_cfunc_wrapper=True, **COMPILER_FLAGS)(function)
    made.store = NotKept()
    return made


class NotKept:
    """Code that is compiled each time."""

    def load(self, kinds):
        return None

    def save(self, kinds, compiled, front):
        """Nothing to do."""


@pytest.mark.parametrize("function", translated.KERNELS, ids=lambda f: f.__name__)
def test_the_same_bits_as_numba(function):
    before = len(translate.LEFT)
    mine, theirs = compiled(function), compiled(function, ByNumba)
    for x, n in POINTS:
        assert np.float64(mine(x, n)).tobytes() == np.float64(theirs(x, n)).tobytes(), (x, n)
    assert mine.dispatcher.nopython_signatures == theirs.dispatcher.nopython_signatures
    assert translate.LEFT[before:] == []


def test_arrays():
    mine, theirs = (compiled(translated.fill.py_func, by) for by in (PackageCompiler, ByNumba))
    for x, n in POINTS:
        one, other = np.arange(7.0), np.arange(7.0)
        assert mine(one, x, n) == theirs(other, x, n)
        np.testing.assert_array_equal(one, other)


def middle(x, n):
    return x[1:n]


def two_parts(x, n):
    return middle(x, n)[0], (x[n:], middle(x, n))


def doubled(x, n):
    y = np.empty(n)
    y[0] = 2.0 * x[n]
    return y


def counting(function, **names):
    """A kernel whose references Numba would count, with these kernels in its scope."""
    function.__globals__.update(names)
    inlined = {"pipeline_class": InlinedPackageCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(_nrt=True, forceinline=True, **inlined)(function)


def test_views_that_are_given_back_leave_the_counting_of_references_to_numba():
    """A function that counts takes views of its own array from kernels that do not count: the array is freed once, and
    not before its time. What a kernel allocates is freed too: such a kernel is left to Numba."""
    before, view, new = len(translate.LEFT), counting(middle), counting(doubled)
    parts = counting(two_parts, middle=view)

    @numba.njit
    def outer(n):
        total = 0.0
        for k in range(n):
            x = np.empty(8)
            for i in range(8):
                x[i] = i + k
            first, (end, inside) = parts(x, 5)
            total += first + end[2] + inside[3]
            alone = view(x, 5)
            total += alone[0]
            other = np.empty(8)  # would take the place of x, if that were freed with its views
            for i in range(8):
                other[i] = 0.0
            total += x[3] + other[k % 8] + new(x, 3)[0]
        return total

    memsys_enable_stats()
    outer(1)
    assert [name for _, name, _ in translate.LEFT[before:]] == ["doubled"]
    start = rtsys.get_allocation_stats()
    assert outer(50) == sum(2 * (1 + k) + (7 + k) + (4 + k) + 3 * (3 + k) for k in range(50))
    end = rtsys.get_allocation_stats()
    memsys_disable_stats()
    assert end.mi_alloc - start.mi_alloc == end.mi_free - start.mi_free == 150


def made(text):
    """A function of a text, found by its name as those of files are."""
    filename = "<test_translate>"
    text = textwrap.dedent(text)
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    scope = {"__name__": __name__}
    exec(compile(text, filename, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("total = 0.0\n    for y in (x, 2.0 * x):\n        total += y\n    return total", "a range"),
        ("assert n > 0\n    return x", "Assert"),
        ("if n > 1:\n        y = x\n    return y if n > 1 else x", ""),
    ],
)
def test_what_is_not_known_is_left_to_numba(text, reason):
    syntax._definitions.cache_clear()
    before = len(translate.LEFT)
    function = made(f"def f(x, n):\n    {text}\n")
    assert compiled(function)(1.5, 2) > 0.0
    left = translate.LEFT[before:]
    assert [reason in why for *_, why in left] == ([True] if reason else [])


def test_a_source_that_was_edited_is_not_translated(tmp_path):
    file = tmp_path / "edited.py"
    file.write_text("def f(x):\n    return x + 1.0\n")
    scope = {"__name__": __name__}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    assert syntax.tree_of(scope["f"]) is not None
    syntax._definitions.cache_clear()
    file.write_text("def f(x):\n    return x + 2.0\n")
    assert syntax.tree_of(scope["f"]) is None
    file.unlink()
    syntax._definitions.cache_clear()
    assert syntax.tree_of(scope["f"]) is None


RUN = """
import hashlib, sys
import numpy as np
import chasles as ch
from chasles.integrate.method_name import method_from
from chasles.kernel import compiler
from chasles.kernel.translate import function

if sys.argv[2] == "numba":
    compiler._FewerPasses._translated = lambda self: None
solid = {"mass": 1.0, "com": (0.0, 0.0, -0.3), "inertia": (0.1, 0.12, 0.05)}
pair = ch.System(
    [ch.Body("one", **solid), ch.Body("two", **solid)],
    [ch.spherical("first", "ground", "one"), ch.revolute("second", "one", "two", axis=(0, 1, 0), at=(0, 0, -0.6))],
    forces=[ch.Spring("spring", ("ground", "two"), ((1.0, 0.0, 0.0), (0.0, 0.0, -0.3)), stiffness=40.0)],
)
start = {"v": {"first": (0.5, -0.3, 0.2), "second": 1.0}}
run = ch.simulate(pair, (0.0, 0.5), coordinates="absolute", method=method_from(sys.argv[1]), step=0.01,
                  certificate=False, progress=False, **start)
assert run.success and run.t[-1] == 0.5
digest = hashlib.sha256(np.ascontiguousarray(run.q).tobytes())
digest.update(np.ascontiguousarray(run.v).tobytes())
digest.update(np.ascontiguousarray(run["two"].acceleration).tobytes())
print(digest.hexdigest(), len(function.LEFT))
"""


@pytest.mark.study
@pytest.mark.parametrize("method", ["rattle", "hem4", "energy_momentum", "radau5"])
def test_runs_of_constrained_methods_have_the_bits_of_numba(method, tmp_path):
    """All kernels of a run, from an empty cache: minutes."""
    found = {}
    for way in ("translated", "numba"):
        environment = os.environ | {"CHASLES_CACHE_DIR": str(tmp_path / way)}
        command = [sys.executable, "-c", RUN, method, way]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000, check=False)
        assert done.returncode == 0, done.stderr
        found[way] = done.stdout.split()[0]
    assert found["translated"] == found["numba"]
