"""Machine code that runs without Numba: found on disk, loaded with LLVM, called from Python or through its address.

Of each function two things are kept: its code, and a front in the same code (`kernel.code.front`). The front of a loop
is a builtin of Python: it looks at the arguments where they lie, calls the code with the interpreter's lock released
and makes the result; if an argument is not of the kind that the code is for, it gives back MISFIT. The front of a
native function takes the arguments as a function of C does.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from chasles.cached import cached_property
from chasles.kernel.undisturbed import COMPILING

MISFIT, FAILED = object(), object()  # what a front gives if an argument is of another kind, or the code raised
FASTCALL = 0x80  # METH_FASTCALL
DTYPES = {name: np.dtype(name) for name in ("float64", "int64", "float32", "int32", "bool")}
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child that began while another thread compiles would wait for it for ever
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
BEGAN = time.time()  # before any module of kernels was loaded

# what the table has that fronts read, by place
OBJECTS = {
    "array": np.ndarray,
    **DTYPES,
    "integer": int,
    "number": float,
    "numpy_number": np.float64,
    "true": True,
    "false": False,
    "none": None,
    "misfit": MISFIT,
    "failed": FAILED,
}
FUNCTIONS = {
    "keep": "Py_IncRef",
    "as_integer": "PyLong_AsLongLong",
    "as_number": "PyFloat_AsDouble",
    "of_integer": "PyLong_FromLongLong",
    "of_number": "PyFloat_FromDouble",
    "error": "PyErr_Occurred",
    "new_tuple": "PyTuple_New",
    "set_item": "PyTuple_SetItem",
    "release": "PyEval_SaveThread",
    "acquire": "PyEval_RestoreThread",
}
PLACES = {name: place for place, name in enumerate((*OBJECTS, *FUNCTIONS))}


@functools.cache
def table() -> np.ndarray:
    """Addresses in this process that fronts need."""
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in FUNCTIONS.values()]
    return np.array([*map(id, OBJECTS.values()), *functions], dtype=np.int64)


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METHODS: list[_Method] = []  # must live as long as the builtins


def builtin_at(address: int, name: str, first: Any) -> Callable:
    """The builtin of Python that a function of C is; `first` is what it gets as its module."""
    method = _Method(name.encode(), address, FASTCALL, None)
    _METHODS.append(method)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(("PyCFunction_NewEx", ctypes.pythonapi))(ctypes.addressof(method), first, None)


# ---------------------------------------------------------------- kinds of arguments


def kind_of(value: Any, flat: list[Any]) -> str:
    """The kind of an argument, as Numba calls it. What a front takes for it is added to `flat`: of tuples their
    elements, of subclasses of arrays the array."""
    if isinstance(value, np.ndarray):
        name = value.dtype.name
        if name not in DTYPES or not value.dtype.isnative or not value.flags.aligned:
            raise TypeError(f"compiled functions take no arrays of {value.dtype}, or none that are not aligned")
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        flat.append(value.view(np.ndarray) if value.dtype is DTYPES[name] else value.view(DTYPES[name], np.ndarray))
        return f"{'' if value.flags.writeable else 'readonly '}array({name}, {value.ndim}d, {layout})"
    if isinstance(value, bool | np.bool_):
        flat.append(bool(value))
        return "boolean"
    if isinstance(value, int | np.integer):
        flat.append(int(value))
        return "int64"
    if isinstance(value, float | np.floating):
        flat.append(float(value))
        return "float64"
    if isinstance(value, tuple):
        return f"{type(value).__name__}({', '.join(kind_of(one, flat) for one in value)})"
    raise TypeError(f"compiled functions take numbers, arrays of numbers and tuples of them, not {type(value)}")


# ---------------------------------------------------------------- loading


@functools.cache
def _engine() -> Any:
    """The engine that all code is loaded into."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


class Code:
    """Machine code of one function for some kinds of arguments: where it begins, and its front."""

    def __init__(self, function: int, front: int):
        self.function, self.front = function, front

    @cached_property
    def call(self) -> Callable:
        """The front of a loop, as a builtin."""
        return builtin_at(self.front, "compiled", table())


# what Numba brings along and code calls, by a function of C that does the same; nothing is freed, as nothing that is
# kept allocates: calls of these are left over where references to arrays are counted
_INSTEAD = {"numba_nextafter": "nextafter", "NRT_MemInfo_call_dtor": "abort", "NRT_Free": "abort"}


def _there(name: str) -> bool:
    """Whether there is a function of this name, or another one in its place."""
    if llvm.address_of_symbol(name):
        return True
    found = llvm.address_of_symbol(_INSTEAD[name]) if name in _INSTEAD else None
    if found:
        llvm.add_symbol(name, found)
    return bool(found)


def load(code: bytes, function: str, front: str, outside: tuple[str, ...]) -> Code | None:
    """Code from disk; None if it calls what is not there (`outside`: the functions that it calls), and so has to be
    compiled by Numba, which has it."""
    if not all(_there(name) for name in outside) or any("alloc" in name.lower() for name in outside):
        return None
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Code(engine.get_function_address(function), engine.get_function_address(front))


class Compiled:
    """A function of the package that is compiled by itself. Its code is loaded, or made, when it is first asked for;
    Numba's object is there if code has to be made."""

    py_func: Callable

    def __init__(self, function: Callable, allocates: bool = False, native: bool = False, vectorized: bool = True):
        functools.update_wrapper(self, function)
        self.py_func, self._allocates, self._native = function, allocates, native
        self._vectorized = vectorized
        self.found = 0  # how many of its codes were on disk
        self._codes: dict[tuple[str, ...], Code] = {}
        self._absent: set[tuple[str, ...]] = set()  # kinds for which there was nothing on disk
        self._fronts: list[Callable] = []  # what to try, one after the other

    def __call__(self, *given: Any) -> Any:
        for front in self._fronts:
            result = front(*given)
            if result is not MISFIT:
                return result if result is not FAILED else self._fail()
        return self._thorough(given)

    def _thorough(self, given: tuple[Any, ...]) -> Any:
        """A call with arguments of a kind that is new, or that have to be taken apart."""
        flat: list[Any] = []
        kinds = tuple(kind_of(one, flat) for one in given)
        result = self.code(kinds, given).call(*flat)
        if result is MISFIT:
            raise TypeError(f"{self.__name__} was compiled for {kinds}, but does not take such arguments")
        return result if result is not FAILED else self._fail()

    def _fail(self) -> Any:
        raise RuntimeError(f"{self.__name__} failed; CHASLES_CHECK=1 says where")

    @property
    def signatures(self) -> list[tuple[str, ...]]:
        """The kinds of arguments that there is code for."""
        return list(self._codes)

    def compile(self, kinds: tuple[str, ...]) -> None:
        """Make or load the code for some kinds of arguments now."""
        self.code(kinds)

    def address(self, kinds: tuple[str, ...]) -> int:
        """Address of the C form of a native function."""
        return self.code(kinds).front

    def code(self, kinds: tuple[str, ...], given: tuple[Any, ...] | None = None) -> Code:
        """The machine code for some kinds of arguments, from disk or compiled now."""
        found = self._codes.get(kinds)
        if found is None:
            with COMPILING, _LOCK:
                if kinds in self._codes:  # another thread was quicker
                    return self._codes[kinds]
                found = self._loaded(kinds) or self._keep(kinds, self._make(kinds, given))
        return found

    def at_hand(self, kinds: tuple[str, ...]) -> bool:
        """Whether there is code for some kinds of arguments without compiling; loads it from disk."""
        if kinds in self._codes or kinds in self._absent:
            return kinds in self._codes
        with COMPILING, _LOCK:
            if kinds not in self._codes and not self._loaded(kinds):
                self._absent.add(kinds)
        return kinds in self._codes

    def _loaded(self, kinds: tuple[str, ...]) -> Code | None:
        """Code from disk."""
        found = self.store.load(kinds)
        self.found += found is not None
        return found and self._keep(kinds, found)

    def _keep(self, kinds: tuple[str, ...], code: Code) -> Code:
        self._codes[kinds] = code
        if not self._native:
            self._fronts = [one.call for one in self._codes.values()]
        return code

    @cached_property
    def store(self) -> Any:
        """Its code on disk."""
        return importlib.import_module("chasles.kernel.code_store").CodeStore(self.py_func)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object."""
        compiling = importlib.import_module("chasles.kernel.compiling")
        return compiling.kept(self.py_func, self._allocates, self._native, self._vectorized)

    def _make(self, kinds: tuple[str, ...], given: tuple[Any, ...] | None) -> Code:
        compiling = importlib.import_module("chasles.kernel.compiling")
        compiled = compiling.compiled(self.dispatcher, kinds, given)
        front = importlib.import_module("chasles.kernel.code.front").name_of(compiled.fndesc, self._native)
        self.store.save(kinds, compiled, front)
        pointer = compiled.library.get_pointer_to_function
        return Code(pointer(compiled.fndesc.llvm_func_name), pointer(front))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python looks for what is not there
            raise AttributeError(name)
        return getattr(self.dispatcher, name)
