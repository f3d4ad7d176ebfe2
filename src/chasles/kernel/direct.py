"""Compiled functions as builtins of Python: called on arrays of one state in a fraction of a microsecond.

Numba's way into a compiled function looks at each argument's type, takes each array apart and puts each back together,
and what checks the arguments in Python costs ten times as much again. Here the arguments are looked at where they lie:
a small function made with LLVM, one for each number of arguments, has the form of a function of C that Python calls
(METH_FASTCALL). It compares class, type, shape and layout of each array, sees that all numbers are finite and that
quaternions have unit length, makes the array of the result and calls the compiled loop with pointers.

It never complains: whatever is not as it should be gives None, and the caller takes the thorough way, which says what
is wrong or converts. The interpreter's lock is held all the time, so that all calls share one workspace.

The layout of arrays is the one that NumPy promises to functions of C. It is looked at once, and on an interpreter or a
NumPy where it is another one there are no direct calls.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from chasles.kernel.address import NUMBER_ARRAY
from chasles.kernel.array_layout import ARRAY_FLAGS, CLASS, DATA, DIMENSIONS, READABLE, SHAPE, TYPE, WRITEABLE, known
from chasles.kernel.machine_code import builtin_at, kind_of
from chasles.kernel.policy import CHECKED, COMPILED, PLAIN
from chasles.kernel.workspace import layout

WORD, HALF = ir.IntType(64), ir.IntType(32)
NEW_ARRAY, DOUBLE = 93, 12  # numbers of NumPy's interface: PyArray_New, NPY_DOUBLE
EXPONENT, ONE_MORE = 0x7FF0000000000000, 0x0010000000000000  # a number is not finite if its exponent is all ones
MOST_AXES = 3
WRITTEN = {"vector": 1, "square": 2}  # roles of arrays that are given to be written to, and how many axes they have
GIVEN = ("in", *WRITTEN)
OF_ARRAY = 7  # arguments that Numba makes of an array: owner, parent, numbers, bytes of one, pointer, shape, strides

# what the builtin of one function on one mechanism finds; after it a pointer and a length for each array
TABLE = layout(
    "TABLE",
    **dict.fromkeys(("array", "number", "none", "new", "keep", "drop", "function", "axes"), 1),
    shape=MOST_AXES,
    quaternions=1,
    places=1,
)


@dataclass(frozen=True)
class Form:
    """What a compiled loop over states takes, and what is looked at.

    roles: of each of its arguments, "fixed", "count", "in", "out" for a new array, "vector" or "square" for one that is
    given and written to. tolerance: how far the square of a quaternion's length may be from one; None if the numbers
    are not looked at. Whether a new array that is not finite is refused; whether results must be zero before.
    """

    roles: tuple[str, ...]
    tolerance: float | None
    finite_result: bool
    clear: bool


class _Table(np.ndarray):
    """What a builtin reads; it keeps alive what it points to."""

    keeps: Any = None


@functools.cache
def available() -> bool:
    """Whether arrays lie in memory as is assumed here, under a lock that lets one thread compute at a time."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    return COMPILED and not (CHECKED or PLAIN) and locked and known()


@functools.cache
def _interface() -> dict[str, int]:
    """Addresses that every table has."""
    python = ctypes.pythonapi
    numpy: Any = np  # its private parts have no types
    capsule = numpy._core.multiarray._ARRAY_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", python))
    functions = pointer(capsule, None)
    return {
        "array": id(np.ndarray),
        "number": id(np.dtype(float)),
        "none": id(None),
        "new": ctypes.c_void_p.from_address(functions + 8 * NEW_ARRAY).value or 0,
        "keep": ctypes.cast(python.Py_IncRef, ctypes.c_void_p).value or 0,
        "drop": ctypes.cast(python.Py_DecRef, ctypes.c_void_p).value or 0,
    }


def builtin(
    loop: Any, form: Form, arrays: Sequence[np.ndarray | int], shape: tuple[int, ...], quaternions: np.ndarray
) -> Callable[..., np.ndarray | None]:
    """The function of Python that calls a compiled `loop` on one state.

    arrays: for each argument but the count, an array that is passed as it is or, for what is given and for the result,
    how many numbers it has. shape: of a new array. quaternions: where they begin in what is given first. It gives the
    new array, or the last that was given.
    """
    places = np.ascontiguousarray(quaternions, dtype=np.int64)
    table = np.zeros(TABLE.size + 2 * len(arrays), dtype=np.int64).view(_Table)
    table.keeps = arrays, places, loop
    values = _interface() | {"axes": len(shape), "quaternions": len(places), "places": places.ctypes.data}
    values["function"] = loop.code(_kinds(form, arrays)).function
    for key, value in values.items():
        table[getattr(TABLE, key)] = value
    table[TABLE.shape : TABLE.shape + len(shape)] = shape
    for k, array in enumerate(arrays):
        passed = (array.ctypes.data, array.size) if isinstance(array, np.ndarray) else (0, array)
        table[TABLE.size + 2 * k : TABLE.size + 2 * k + 2] = passed
    return builtin_at(_written(form), "direct", table)


def _kinds(form: Form, arrays: Sequence[np.ndarray | int]) -> tuple[str, ...]:
    """The kinds of all arguments."""
    left = iter(arrays)
    passed = [1 if role == "count" else next(left) for role in form.roles]
    return tuple(
        NUMBER_ARRAY if role in (*GIVEN, "out") else kind_of(one, [])
        for role, one in zip(form.roles, passed, strict=True)
    )


_MADE: list[Any] = []  # what the addresses of functions belong to


@functools.cache
def _written(form: Form) -> int:
    """The function of C in front of loops of a form."""
    module = ir.Module("direct")
    _write(module, form)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3, jit=True)
    parsed = llvm.parse_assembly(str(module))
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(parsed, passes)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    _MADE.append(engine)
    return engine.get_function_address("direct")


# ---------------------------------------------------------------- the function of C


def _at(builder: ir.IRBuilder, address: Any, offset: int, kind: ir.Type = WORD) -> Any:
    """What lies at an address."""
    place = builder.add(address, ir.Constant(WORD, offset))
    return builder.load(builder.inttoptr(place, kind.as_pointer()))


def _all(builder: ir.IRBuilder, conditions: Sequence[Any], otherwise: Any) -> None:
    """Go on if all conditions hold."""
    on = builder.append_basic_block()
    builder.cbranch(functools.reduce(builder.and_, conditions), on, otherwise)
    builder.position_at_end(on)


def _loop(builder: ir.IRBuilder, count: Any, start: Any, step: Callable[[Any, Any], Any]) -> Any:
    """Fold: value = step(index, value) for each index below the count."""
    before, head = builder.block, builder.append_basic_block()
    body, after = builder.append_basic_block(), builder.append_basic_block()
    builder.branch(head)
    builder.position_at_end(head)
    index, value = builder.phi(WORD), builder.phi(start.type)
    index.add_incoming(ir.Constant(WORD, 0), before)
    value.add_incoming(start, before)
    builder.cbranch(builder.icmp_signed("<", index, count), body, after)
    builder.position_at_end(body)
    new = step(index, value)
    index.add_incoming(builder.add(index, ir.Constant(WORD, 1)), builder.block)
    value.add_incoming(new, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return value


def _finite(builder: ir.IRBuilder, data: Any, count: Any) -> Any:
    """Whether all numbers are finite: adding one to an exponent of all ones runs over into the sign. The numbers are
    elements of one array, not places that are computed: so LLVM looks at several at a time."""
    numbers = builder.inttoptr(data, WORD.as_pointer())

    def step(index, seen):
        exponent = builder.and_(builder.load(builder.gep(numbers, [index])), ir.Constant(WORD, EXPONENT))
        return builder.or_(seen, builder.add(exponent, ir.Constant(WORD, ONE_MORE)))

    return builder.icmp_signed(">=", _loop(builder, count, ir.Constant(WORD, 0), step), ir.Constant(WORD, 0))


def _unit(builder: ir.IRBuilder, table: Any, q: Any, tolerance: float) -> Any:
    """Whether all quaternions have unit length."""
    number, places = ir.DoubleType(), _at(builder, table, 8 * TABLE.places)

    def step(index, good):
        place = _at(builder, builder.add(places, builder.shl(index, ir.Constant(WORD, 3))), 0)
        first, square = builder.add(q, builder.shl(place, ir.Constant(WORD, 3))), ir.Constant(number, -1.0)
        for k in range(4):
            x = _at(builder, first, 8 * k, number)
            square = builder.fadd(square, builder.fmul(x, x))
        near = builder.fcmp_ordered("<=", square, ir.Constant(number, tolerance))
        return builder.and_(
            good, builder.and_(near, builder.fcmp_ordered(">=", square, ir.Constant(number, -tolerance)))
        )

    count = _at(builder, table, 8 * TABLE.quaternions)
    return _loop(builder, count, ir.Constant(ir.IntType(1), 1), step)


def _call(builder: ir.IRBuilder, table: Any, name: str, result: ir.Type, *arguments: Any) -> Any:
    """Call the function that a table has the address of."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    address = _at(builder, table, 8 * getattr(TABLE, name))
    return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)


def _write(module: ir.Module, form: Form) -> None:
    """direct(self, arguments, count): what is given as addresses of objects."""
    function = ir.Function(module, ir.FunctionType(WORD, [WORD] * 3), "direct")
    builder = ir.IRBuilder(function.append_basic_block())
    refuse = function.append_basic_block()
    table = _at(builder, function.args[0], DATA)
    given = [(k, role) for k, role in enumerate(role for role in form.roles if role != "count") if role in GIVEN]
    _all(builder, [builder.icmp_signed("==", function.args[2], ir.Constant(WORD, len(given)))], refuse)
    data = {}
    for place, (k, role) in enumerate(given):
        one, size = _at(builder, function.args[1], 8 * place), _at(builder, table, 8 * (TABLE.size + 2 * k + 1))
        _fits(builder, table, one, size, role, refuse)
        data[k] = _at(builder, one, DATA)
        if role == "in" and form.tolerance is not None:
            _all(builder, [_finite(builder, data[k], size)], refuse)
    written = [k for k, role in given if role in WRITTEN]
    pairs = [(k, j) for k in written for j, _ in given if j not in written or j < k]
    if pairs:
        _all(builder, [_apart(builder, table, data, *pair) for pair in pairs], refuse)
    if form.tolerance is not None:
        _all(builder, [_unit(builder, table, data[given[0][0]], form.tolerance)], refuse)

    if "out" in form.roles:
        result = _new(builder, table)
        pointer = _at(builder, result, DATA)
    else:
        result, pointer = _at(builder, function.args[1], 8 * (len(given) - 1)), ir.Constant(WORD, 0)
        _call(builder, table, "keep", ir.VoidType(), result)
    passed = _passed(builder, form, table, data, pointer)
    give_back = function.append_basic_block()
    spare = [builder.ptrtoint(builder.alloca(WORD), WORD) for _ in range(2)]  # for its result, none, and its error
    code = _call(builder, table, "function", HALF, *spare, *passed)
    _all(builder, [builder.icmp_signed("==", code, ir.Constant(code.type, 0))], give_back)
    if form.finite_result:
        out = OF_ARRAY * form.roles.index("out")
        out += (1 - OF_ARRAY) * ("count" in form.roles[: form.roles.index("out")])
        _all(builder, [_finite(builder, passed[out + 4], passed[out + 2])], give_back)
    builder.ret(result)
    builder.position_at_end(give_back)
    _call(builder, table, "drop", ir.VoidType(), result)
    builder.branch(refuse)
    builder.position_at_end(refuse)
    none = _at(builder, table, 8 * TABLE.none)
    _call(builder, table, "keep", ir.VoidType(), none)
    builder.ret(none)


def _fits(builder: ir.IRBuilder, table: Any, one: Any, size: Any, role: str, refuse: Any) -> None:
    """Go on if what is given is an array of this size that has one axis, or for a square two, and can be written to if
    it is."""
    array, number = _at(builder, table, 8 * TABLE.array), _at(builder, table, 8 * TABLE.number)
    _all(builder, [builder.icmp_signed("==", _at(builder, one, CLASS), array)], refuse)
    needed = ir.Constant(HALF, READABLE | (WRITEABLE if role in WRITTEN else 0))
    flags = builder.and_(_at(builder, one, ARRAY_FLAGS, HALF), needed)
    axes = ir.Constant(HALF, WRITTEN.get(role, 1))
    dimensions = builder.icmp_signed("==", _at(builder, one, DIMENSIONS, HALF), axes)
    kind = builder.icmp_signed("==", _at(builder, one, TYPE), number)
    _all(builder, [dimensions, kind, builder.icmp_signed("==", flags, needed)], refuse)
    shape = _at(builder, one, SHAPE)
    rows, alike = _at(builder, shape, 0), []
    if role == "square":
        columns = _at(builder, shape, 8)
        rows, alike = builder.mul(rows, columns), [builder.icmp_signed("==", rows, columns)]
    _all(builder, [*alike, builder.icmp_signed("==", rows, size)], refuse)


def _apart(builder: ir.IRBuilder, table: Any, data: dict[int, Any], one: int, other: int) -> Any:
    """Whether two arrays that are given share no memory: a result must not be written over what is read yet."""

    def end(k: int) -> Any:
        size = _at(builder, table, 8 * (TABLE.size + 2 * k + 1))
        return builder.add(data[k], builder.shl(size, ir.Constant(WORD, 3)))

    before = builder.icmp_unsigned("<=", end(one), data[other])
    return builder.or_(before, builder.icmp_unsigned("<=", end(other), data[one]))


def _new(builder: ir.IRBuilder, table: Any) -> Any:
    """A new array for the result."""
    zero, flag, double = ir.Constant(WORD, 0), ir.Constant(HALF, 0), ir.Constant(HALF, DOUBLE)
    array, axes = _at(builder, table, 8 * TABLE.array), builder.trunc(_at(builder, table, 8 * TABLE.axes), HALF)
    shape = builder.add(table, ir.Constant(WORD, 8 * TABLE.shape))
    made = _call(builder, table, "new", WORD, array, axes, shape, double, zero, zero, flag, flag, zero)
    failed, on = builder.append_basic_block(), builder.append_basic_block()
    builder.cbranch(builder.icmp_signed("==", made, zero), failed, on)
    builder.position_at_end(failed)
    builder.ret(zero)  # Python has the error: no memory
    builder.position_at_end(on)
    return made


def _passed(builder: ir.IRBuilder, form: Form, table: Any, data: dict[int, Any], result: Any) -> list[Any]:
    """The arguments of the loop, arrays as Numba takes them apart."""
    zero, eight, passed, k = ir.Constant(WORD, 0), ir.Constant(WORD, 8), [], 0
    for role in form.roles:
        if role == "count":
            passed.append(ir.Constant(WORD, 1))
            continue
        size = _at(builder, table, 8 * (TABLE.size + 2 * k + 1))
        fixed = 8 * (TABLE.size + 2 * k)
        pointer = data[k] if k in data else result if role == "out" else _at(builder, table, fixed)
        if form.clear and role in ("out", *WRITTEN):

            def clear(index, value, pointer=pointer):
                at = builder.add(pointer, builder.shl(index, ir.Constant(WORD, 3)))
                builder.store(zero, builder.inttoptr(at, WORD.as_pointer()))
                return value

            _loop(builder, size, zero, clear)
        passed += [zero, zero, size, eight, pointer, size, eight]
        k += 1
    return passed
