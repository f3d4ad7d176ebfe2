"""A compiled loop bound to its arrays, for loops in Python that call it again and again.

Numba's way into a compiled function looks at each argument and takes each array apart, a quarter of a microsecond an
array: of a loop with twenty of them more than a step takes. Bound, all this is done once: a small function made with
LLVM, one for each form of the arguments, reads them from a table and calls the machine code. The interpreter's lock is
released meanwhile.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from chasles.kernel.direct import available
from chasles.kernel.machine_code import Compiled, kind_of

WORD, NUMBER = ir.IntType(64), ir.DoubleType()
_MADE: list[Any] = []  # what the addresses of functions belong to


PLAIN_CALLS = 8  # calls that go the ordinary way, which makes the machine code; few of them are not worth more


class Bound:
    """`bound = Bound(loop, *arguments)`: bound.call() is loop(*arguments), and bound[k] = x sets a number among these.

    The arrays are those that were given: what is written to them counts.
    """

    call: Callable[[], None]

    def __init__(self, loop: Any, *arguments: Any):
        self._loop, self._given, self._left = loop, list(arguments), PLAIN_CALLS
        self._places: list[int] = []
        self.call = self._plain

    def __setitem__(self, k: int, value: float) -> None:
        if not self._places:
            self._given[k] = value
        elif isinstance(value, float):
            self._numbers[self._places[k]] = value
        else:
            self._words[self._places[k]] = value

    def _plain(self) -> None:
        self._loop(*self._given)
        self._left -= 1
        if not self._left and available() and isinstance(self._loop, Compiled):
            self._bind()

    def _bind(self) -> None:
        words, kinds = list[int](), ""
        for one in self._given:
            self._places.append(len(words))
            if isinstance(one, np.ndarray):
                words += [0, 0, one.size, one.itemsize, one.ctypes.data, *one.shape, *one.strides]
            else:
                words.append(int(np.array(one).view(np.int64)))
            kinds += "d" if isinstance(one, float) else "w" * (len(words) - len(kinds))
        self._words = np.array(words, dtype=np.int64)
        self._numbers = self._words.view(float)
        code = self._loop.code(tuple(kind_of(one, []) for one in self._given))
        self.call = functools.partial(_front(kinds), code.function, self._words.ctypes.data)


@functools.cache
def _front(kinds: str) -> Any:
    """The function of C that calls another with the words of a table: whole ones (w) and floating-point numbers (d)."""
    module = ir.Module("bound")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [WORD, WORD]), "bound")
    builder = ir.IRBuilder(function.append_basic_block())
    types = [WORD if kind == "w" else NUMBER for kind in kinds]
    words = [
        builder.load(builder.inttoptr(builder.add(function.args[1], WORD(8 * k)), kind.as_pointer()))
        for k, kind in enumerate(types)
    ]
    spare = [builder.ptrtoint(builder.alloca(WORD), WORD) for _ in range(2)]  # for its result, none, and its error
    called = builder.inttoptr(function.args[0], ir.FunctionType(ir.IntType(32), [WORD, WORD, *types]).as_pointer())
    builder.call(called, [*spare, *words])
    builder.ret_void()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    _MADE.append(engine)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("bound"))
