"""Numbers too small for full precision (below 1e-308) cost some fifty times the time of others. In a long chain motion
decays exponentially along the bodies and is full of them, so loops over bodies take them as zero.

On processors other than x86 nothing is done: results are right, only slower.
"""

from __future__ import annotations

import platform

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

X86 = platform.machine().lower() in ("x86_64", "amd64")
FLUSH = 0x8040  # results and arguments


@intrinsic
def flush_denormals(typing_context):
    """Take denormal numbers as zero from here on; returns what `restore_denormals` needs."""

    def generate(context, builder, sig, args):
        old = _read(builder)
        _write(builder, builder.or_(old, ir.Constant(old.type, FLUSH)))
        return old

    return signature(types.int32), generate


@intrinsic
def restore_denormals(typing_context, old):
    """Back to what it was before `flush_denormals`."""

    def generate(context, builder, sig, args):
        _write(builder, args[0])
        return context.get_dummy_value()

    return signature(types.void, types.int32), generate


def _control(builder, name):
    pointer = ir.IntType(8).as_pointer()
    return builder.module.declare_intrinsic(
        f"llvm.x86.sse.{name}", (), ir.FunctionType(ir.VoidType(), [pointer])
    ), pointer


def _place(builder):
    with builder.goto_entry_block():
        return builder.alloca(ir.IntType(32))


def _read(builder):
    if not X86:
        return ir.Constant(ir.IntType(32), 0)
    place = _place(builder)
    function, pointer = _control(builder, "stmxcsr")
    builder.call(function, [builder.bitcast(place, pointer)])
    return builder.load(place)


def _write(builder, value):
    if X86:
        place = _place(builder)
        builder.store(value, place)
        function, pointer = _control(builder, "ldmxcsr")
        builder.call(function, [builder.bitcast(place, pointer)])
