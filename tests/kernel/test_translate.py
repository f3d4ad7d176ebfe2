"""`kernel.translate`: the same results as Numba's own passes, to the bit, and nothing that is left to them."""

from __future__ import annotations

import linecache
import textwrap

import numba
import numpy as np
import pytest

from chasles.kernel.compiler import PackageCompiler
from chasles.kernel.numba_private import PLAIN
from chasles.kernel.policy import COMPILED, FLAGS
from chasles.kernel.translate import function as translate
from chasles.kernel.translate import syntax
from tests.kernel import translated

pytestmark = pytest.mark.skipif(PLAIN or not COMPILED, reason="Numba alone compiles, or nothing is compiled")
POINTS = [(x, n) for x in (-2.25, -0.3, 0.0, 0.7, 1.9) for n in (0, 1, 2, 5)]


class ByNumba(PackageCompiler):
    """Numba's passes, for comparison."""

    def _translated(self):
        return None


def compiled(function, by=PackageCompiler, signature="float64(float64, int64)"):
    made = numba.njit(pipeline_class=by, _nrt=False, **FLAGS)(function)
    made.compile(signature.partition("(")[2].rstrip(")"))
    return made


@pytest.mark.parametrize("function", translated.KERNELS, ids=lambda f: f.__name__)
def test_the_same_bits_as_numba(function):
    before = len(translate.LEFT)
    mine, theirs = compiled(function), compiled(function, ByNumba)
    assert translate.LEFT[before:] == []
    assert mine.signatures == theirs.signatures
    assert mine.nopython_signatures == theirs.nopython_signatures
    for x, n in POINTS:
        assert np.float64(mine(x, n)).tobytes() == np.float64(theirs(x, n)).tobytes(), (x, n)


def test_arrays():
    kinds = "void(float64[::1], float64, int64)"
    mine, theirs = (compiled(translated.fill.py_func, by, kinds) for by in (PackageCompiler, ByNumba))
    for x, n in POINTS:
        one, other = np.arange(7.0), np.arange(7.0)
        assert mine(one, x, n) == theirs(other, x, n)
        np.testing.assert_array_equal(one, other)


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
    mine = numba.njit(pipeline_class=PackageCompiler, _nrt=False, **FLAGS)(function)
    assert mine(1.5, 2) > 0.0
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
