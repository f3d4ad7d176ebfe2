"""Functions called by address, arrays of lanes, and inlined kernels without machine code."""

import gc

import numba
import numpy as np
import pytest

from chasles.kernel.lanes import WIDTH, buffer, load, store
from chasles.kernel.policy import COMPILED, kernel, native

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
if COMPILED:
    from numba.core import event

    from chasles.kernel.address import INTEGER, MANY_LANES, NUMBER, NUMBERS, address_of, invoke
    from chasles.kernel.code import numpy_on_lanes as numpy_on_lanes
    from chasles.kernel.compiler import InlinedLibrary, PackageCompiler
    from chasles.kernel.compiling import type_of
    from chasles.kernel.late import carray


@kernel
def weighted(x, w, out):
    """The same source for numbers and lanes: sums, products, functions, a float as a result."""
    total = 0.0
    for k in range(x.shape[0]):
        total += w * np.sin(x[k])
    total -= 1.0
    out[0] = total
    out[1] = np.sqrt(abs(x[0])) / np.cos(load(x, 0, 0.0))
    store(out, 2, 2.5)
    out[3] = 0.5
    out[3] *= x[1]


@native
def through_pointers(x, count, w, out):
    weighted(carray(x, count), w, carray(out, 4))


@kernel(entry=True)
def invoke_it(address, x, count, w, out):
    invoke(address, x, count, w, out)


def expected(x, w):
    return np.array([w * np.sin(x).sum() - 1.0, np.sqrt(abs(x[0])) / np.cos(x[0]), 2.5, 0.5 * x[1]])


def test_a_function_is_called_through_its_address():
    address = address_of(through_pointers, NUMBERS, INTEGER, NUMBER, NUMBERS)
    x, out = np.array([0.3, -0.7, 1.1]), np.empty(4)
    invoke_it(address, x, 3, 1.7, out)
    np.testing.assert_allclose(out, expected(x, 1.7), rtol=0, atol=1e-15)


@pytest.mark.parametrize(("kind", "on_lanes"), [(NUMBERS, False), (MANY_LANES, True)] if COMPILED else [])
def test_only_loops_on_lanes_look_for_cheaper_addresses(kind, on_lanes, monkeypatch):
    """Others do without LLVM's loop strength reduction; what is compiled later by somebody else has it again."""
    said = []
    monkeypatch.setattr("chasles.kernel.compiler.llvm.set_option", lambda name, option: said.append(option))
    function = numba.njit(pipeline_class=PackageCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True)(
        through_pointers.py_func
    )
    function.compile(tuple(map(type_of, (kind, INTEGER, NUMBER, kind))))
    assert said == ([] if on_lanes else ["-disable-lsr=1", "-disable-lsr=0"])


def test_the_same_function_on_lanes():
    address = address_of(through_pointers, MANY_LANES, INTEGER, NUMBER, MANY_LANES)
    x, out = buffer(3), buffer(4)
    x[:] = np.random.default_rng(2).normal(size=x.size)
    invoke_it(address, x, 3, 1.7, out)
    for lane in range(WIDTH):
        np.testing.assert_allclose(
            out.reshape(4, WIDTH)[:, lane], expected(x.reshape(3, WIDTH)[:, lane], 1.7), rtol=1e-14, atol=1e-15
        )


def test_inlined_kernels_have_no_machine_code():
    libraries = [result.library for result in weighted.overloads.values()]
    assert libraries
    assert all(isinstance(library, InlinedLibrary) for library in libraries)
    assert all(library.get_pointer_to_function("anything") == 0 for library in libraries)


def test_the_collector_rests_only_while_something_is_compiled():
    seen = []

    class Look(event.Listener):
        def on_start(self, event):
            seen.append(gc.isenabled())

        def on_end(self, event):
            pass

    was = gc.isenabled()
    with event.install_listener("numba:compile", Look()):
        numba.njit(lambda x: x + 1.0)(2.0)
    assert seen[0] is False
    assert gc.isenabled() is was
