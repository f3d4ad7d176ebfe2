"""The type of dual numbers (`kernel.dual`), its operators and functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, register_model

from chasles.kernel.code import functions, lanes
from chasles.kernel.code.lanes import DOUBLE, FLAGS, FLOAT, INDEX, VECTOR, WIDTH, call_llvm, splat
from chasles.kernel.dual import TANGENTS
from chasles.kernel.numba_private import AbstractTemplate, ConcreteTemplate, Conversion, infer_global


class DualType(types.Type):
    """Numba type of a value with its derivatives in `TANGENTS` directions."""

    def __init__(self):
        super().__init__(name=f"Dual{TANGENTS}")

    def can_convert_from(self, typing_context, other):
        """A float, where a dual is wanted, is a constant."""
        return Conversion.safe if other == FLOAT else None


DUAL = DualType()
ZERO, SHUFFLE = ir.Constant(VECTOR, [0.0] * WIDTH), ir.VectorType(INDEX, WIDTH)


@register_model(DualType)
class _DualModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, VECTOR)


# ---------------------------------------------------------------- LLVM fragments


def value_of(builder, dual):
    return builder.extract_element(dual, ir.Constant(INDEX, 0))


def spread(builder, dual):
    """The value in every place."""
    return builder.shuffle_vector(dual, ZERO, ir.Constant(SHUFFLE, [0] * WIDTH))


def tangents_of(builder, dual):
    """The dual with value zero."""
    return builder.shuffle_vector(dual, ZERO, ir.Constant(SHUFFLE, [WIDTH, *range(1, WIDTH)]))


def with_value(builder, dual, value):
    return builder.insert_element(dual, value, ir.Constant(INDEX, 0))


def constant(builder, value):
    """The dual of a number that does not vary."""
    return with_value(builder, ZERO, value)


def as_dual(builder, numba_type, value):
    return value if numba_type == DUAL else constant(builder, value)


def scaled(builder, slope, dual):
    """Tangents times a number; the value becomes zero."""
    return builder.fmul(splat(builder, slope), tangents_of(builder, dual), flags=FLAGS)


def composed(builder, value, slope, dual):
    """f(x) from f and f' at the value of x."""
    return with_value(builder, scaled(builder, slope, dual), value)


# ---------------------------------------------------------------- operators


def _accept(function, cases):
    """Let a function that Numba knows have further signatures."""
    template = type("DualTemplate", (ConcreteTemplate,), {"key": function, "cases": cases})
    infer_global(function, types.Function(template))


def _binary(function, result, lower):
    """Type and lower a function for (dual, dual), (dual, float) and (float, dual); `lower` gets types and values."""
    pairs = [(DUAL, DUAL), (DUAL, FLOAT), (FLOAT, DUAL)]
    _accept(function, [signature(result, *pair) for pair in pairs])

    def implement(context, builder, sig, args):
        return lower(builder, sig.args, *args)

    for pair in pairs:
        lower_builtin(function, *pair)(implement)


def _linear(name):
    """Sum or difference; a float counts as a constant."""

    def lower(builder, kinds, x, y, flags=FLAGS):
        return getattr(builder, name)(as_dual(builder, kinds[0], x), as_dual(builder, kinds[1], y), flags=flags)

    return lower


def _multiply(builder, kinds, x, y):
    if kinds[0] != DUAL:
        return builder.fmul(splat(builder, x), y, flags=FLAGS)
    if kinds[1] != DUAL:
        return builder.fmul(x, splat(builder, y), flags=FLAGS)
    rest = builder.fmul(tangents_of(builder, x), spread(builder, y), flags=FLAGS)
    return builder.fadd(builder.fmul(spread(builder, x), y, flags=FLAGS), rest, flags=FLAGS)


def _divide(builder, kinds, x, y):
    """x'/y - (x/y) y'/y: the value is rounded once, as without tangents."""
    if kinds[1] != DUAL:
        return builder.fdiv(x, splat(builder, y), flags=FLAGS)
    x = as_dual(builder, kinds[0], x)
    quotient = builder.fdiv(value_of(builder, x), value_of(builder, y), flags=FLAGS)
    left = builder.fsub(x, scaled(builder, quotient, y), flags=FLAGS)
    return with_value(builder, builder.fdiv(left, spread(builder, y), flags=FLAGS), quotient)


def _compare(symbol, how):
    def lower(builder, kinds, x, y):
        x, y = (value_of(builder, v) if kind == DUAL else v for kind, v in zip(kinds, (x, y), strict=True))
        return getattr(builder, how)(symbol, x, y)

    return lower


def _first_if(symbol):
    """The smaller or greater of two, with its tangents; NaN if either is, the first if they are equal."""

    def lower(builder, kinds, x, y):
        x, y = as_dual(builder, kinds[0], x), as_dual(builder, kinds[1], y)
        a, b = value_of(builder, x), value_of(builder, y)
        first = builder.or_(builder.fcmp_ordered(symbol, a, b), builder.fcmp_unordered("uno", a, a))
        return builder.select(first, x, y)

    return lower


_ARITHMETIC = {"add": _linear("fadd"), "sub": _linear("fsub"), "mul": _multiply, "truediv": _divide}
for _word, _lower in _ARITHMETIC.items():
    for _form in (_word, f"i{_word}"):
        _binary(getattr(operator, _form), DUAL, _lower)
for _word, _symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    _how = "fcmp_unordered" if _word == "ne" else "fcmp_ordered"
    _binary(getattr(operator, _word), types.boolean, _compare(_symbol, _how))
for _function in (lanes.minimum, min):
    _binary(_function, DUAL, _first_if("<="))
for _function in (lanes.maximum, max):
    _binary(_function, DUAL, _first_if(">="))
# the value must be rounded by itself, so that error-free transformations stay so
_binary(lanes.exact_add, DUAL, lambda builder, kinds, x, y: _linear("fadd")(builder, kinds, x, y, flags=()))
_binary(lanes.exact_sub, DUAL, lambda builder, kinds, x, y: _linear("fsub")(builder, kinds, x, y, flags=()))


def _copysign(builder, kinds, x, y):
    """|x| with the sign of y: x or -x."""
    x, y = as_dual(builder, kinds[0], x), as_dual(builder, kinds[1], y)
    value = value_of(builder, x)
    signed = call_llvm(builder, "copysign", value, value_of(builder, y))
    return builder.select(builder.fcmp_ordered("==", signed, value), x, builder.fneg(x))


_binary(lanes.copysign, DUAL, _copysign)


def _unary(function, lower, result=DUAL):
    _accept(function, [signature(result, DUAL)])
    lower_builtin(function, DUAL)(lower)


def _lower_root(context, builder, sig, args):
    root = call_llvm(builder, "sqrt", value_of(builder, args[0]))
    zero = ir.Constant(DOUBLE, 0.0)
    slope = builder.fdiv(ir.Constant(DOUBLE, 0.5), root)
    slope = builder.select(builder.fcmp_ordered("==", root, zero), zero, slope)
    return composed(builder, root, slope, args[0])


def _lower_absolute(context, builder, sig, args):
    negative = builder.fcmp_ordered("<", value_of(builder, args[0]), ir.Constant(DOUBLE, 0.0))
    return builder.select(negative, builder.fneg(args[0]), args[0])


def _lower_rint(context, builder, sig, args):
    return constant(builder, call_llvm(builder, "rint", value_of(builder, args[0])))


def _lower_sincos(context, builder, sig, args):
    sine, cosine = functions.sincos_of(builder, value_of(builder, args[0]))
    both = [
        composed(builder, sine, cosine, args[0]),
        composed(builder, cosine, builder.fneg(sine), args[0]),
    ]
    return context.make_tuple(builder, sig.return_type, both)


_unary(operator.neg, lambda context, builder, sig, args: builder.fneg(args[0]))
_unary(lanes.sqrt, _lower_root)
_unary(lanes.absolute, _lower_absolute)
_unary(lanes.rint, _lower_rint)
_unary(functions.sincos, _lower_sincos, types.UniTuple(DUAL, 2))
for _value in (lanes.primal, lanes.first_of):
    _unary(_value, lambda context, builder, sig, args: value_of(builder, args[0]), FLOAT)


@lower_cast(FLOAT, DUAL)
def _float_to_dual(context, builder, from_type, to_type, value):
    return constant(builder, value)


# ---------------------------------------------------------------- functions of several kinds of arguments


def _generic(function: Any, choose: Callable, lower: Callable, count: int) -> None:
    """Let `function` accept duals: `choose(*kinds)` gives a signature or None, `lower` the code."""

    class Template(AbstractTemplate):
        key = function

        def generic(self, args, kws):
            return choose(*args) if len(args) == count and not kws else None

    infer_global(function, types.Function(Template))
    lower_builtin(function, *(types.Any,) * count)(lower)


def _plain(kind):
    return DUAL if kind == DUAL else FLOAT


def _some(*kinds):
    """A dual out of floats and duals, with one dual at least."""
    return signature(DUAL, *map(_plain, kinds)) if DUAL in kinds else None


def _lower_fma(context, builder, sig, args):
    """The value with one rounding; tangents by the product rule."""
    x, y, z = (as_dual(builder, kind, value) for kind, value in zip(sig.args, args, strict=True))
    total = _linear("fadd")(builder, (DUAL, DUAL), _multiply(builder, (DUAL, DUAL), x, y), z)
    return with_value(builder, total, call_llvm(builder, "fma", *(value_of(builder, v) for v in (x, y, z))))


def _lower_select(context, builder, sig, args):
    x, y = (as_dual(builder, kind, value) for kind, value in zip(sig.args[1:], args[1:], strict=True))
    return builder.select(args[0], x, y)


def _choose_select(mask, x, y):
    return signature(DUAL, types.boolean, _plain(x), _plain(y)) if DUAL in (x, y) else None


def _lower_like(context, builder, sig, args):
    return as_dual(builder, sig.args[0], args[0])


def _lower_chain(context, builder, sig, args):
    """A function's value; tangents: slope times those of x (and a second slope times those of y)."""
    total = scaled(builder, args[1], as_dual(builder, sig.args[2], args[2]))
    if len(args) == 5:
        more = scaled(builder, args[3], as_dual(builder, sig.args[4], args[4]))
        total = builder.fadd(total, more, flags=FLAGS)
    return with_value(builder, total, args[0])


def _lower_polynomial(context, builder, sig, args):
    """Horner's rule for the polynomial and, beside it, for its derivative."""
    point = value_of(builder, args[0])
    values = [builder.extract_value(args[1], k) for k in range(sig.args[1].count)]
    total, slope = values[0], ir.Constant(DOUBLE, 0.0)
    for value in values[1:]:
        slope = call_llvm(builder, "fma", slope, point, total)
        total = call_llvm(builder, "fma", total, point, value)
    return composed(builder, total, slope, args[0])


_generic(lanes.fma, _some, _lower_fma, 3)
_generic(lanes.select, _choose_select, _lower_select, 3)
_generic(lanes.like, lambda value, pattern: _some(value, pattern), _lower_like, 2)
_generic(lanes.chain, lambda f, slope, x: signature(DUAL, FLOAT, FLOAT, DUAL) if x == DUAL else None, _lower_chain, 3)
_generic(
    lanes.chain2,
    lambda f, a, x, b, y: signature(DUAL, FLOAT, FLOAT, _plain(x), FLOAT, _plain(y)) if DUAL in (x, y) else None,
    _lower_chain,
    5,
)
_generic(
    functions.polynomial,
    lambda x, coefficients: signature(DUAL, DUAL, coefficients) if x == DUAL else None,
    _lower_polynomial,
    2,
)


@intrinsic
def dual_of(typing_context, value):
    """A float as a constant."""
    return signature(DUAL, FLOAT), lambda context, builder, sig, args: constant(builder, args[0])


# ---------------------------------------------------------------- memory


def _holds_duals(array) -> bool:
    """An array whose elements are duals; it gives duals whatever the pattern."""
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C" and array.dtype == DUAL


def _pointer(context, builder, sig, args, what):
    if _holds_duals(sig.args[0]):
        return lanes.address_in(context, builder, sig.args[0], args[0], args[1], 1, 1, what)
    place = lanes.address_in(context, builder, sig.args[0], args[0], args[1], WIDTH, WIDTH, what)
    return builder.bitcast(place, VECTOR.as_pointer())


def _lower_load(context, builder, sig, args):
    return builder.load(_pointer(context, builder, sig, args, "load"), align=8 * WIDTH)


def _lower_store(context, builder, sig, args):
    value = as_dual(builder, sig.args[2], args[2])
    builder.store(value, _pointer(context, builder, sig, args, "store"), align=8 * WIDTH)
    return context.get_dummy_value()


def _choose_load(array, index, pattern):
    if _holds_duals(array) or (lanes.flat_float64(array) and pattern == DUAL):
        return signature(DUAL, array, types.intp, pattern)
    return None


def _choose_store(array, index, value):
    if _holds_duals(array) or (lanes.flat_float64(array) and value == DUAL):
        return types.void(array, types.intp, _plain(value))
    return None


_generic(lanes.load, _choose_load, _lower_load, 3)
_generic(lanes.store, _choose_store, _lower_store, 3)


@intrinsic
def as_duals(typing_context, array):
    """The duals in an aligned array of numbers: a view that owns nothing, so the array must live longer."""

    def generate(context, builder, sig, args):
        old, view = (
            context.make_array(sig.args[0])(context, builder, args[0]),
            context.make_array(sig.return_type)(context, builder),
        )
        long = ir.IntType(64)
        count = builder.udiv(builder.extract_value(old.shape, 0), ir.Constant(long, WIDTH))
        view.data = builder.bitcast(old.data, VECTOR.as_pointer())
        view.nitems, view.itemsize = count, ir.Constant(long, 8 * WIDTH)
        view.shape = builder.insert_value(old.shape, count, 0)
        view.strides = builder.insert_value(old.strides, ir.Constant(long, 8 * WIDTH), 0)
        view.meminfo, view.parent = (ir.Constant(x.type, None) for x in (old.meminfo, old.parent))
        return view._getvalue()

    return signature(types.Array(DUAL, 1, "C"), array), generate
