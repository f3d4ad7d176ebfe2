"""The type of lanes (`kernel.lanes`), its operators and functions, and how they read and write memory."""

from __future__ import annotations

import operator

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, register_model

from chasles.kernel.code.flat_array import field
from chasles.kernel.lanes import WIDTH
from chasles.kernel.numba_private import ConcreteTemplate, Conversion, infer_global
from chasles.kernel.policy import CHECKED, FAST_MATH

DOUBLE, BIT, INDEX = ir.DoubleType(), ir.IntType(1), ir.IntType(32)
VECTOR = ir.VectorType(DOUBLE, WIDTH)
FLAGS = tuple(sorted(FAST_MATH))


class LanesType(types.Type):
    """Numba type of `WIDTH` doubles in one SIMD register (or as many registers as the CPU needs)."""

    def __init__(self):
        super().__init__(name=f"Lanes{WIDTH}")

    def can_convert_from(self, typing_context, other):
        """A float, where lanes are wanted, is the same number in each lane."""
        return Conversion.safe if other == types.float64 else None


class MaskType(types.Type):
    """Numba type of the outcome of a comparison of lanes."""

    def __init__(self):
        super().__init__(name=f"Mask{WIDTH}")


LANES, MASK = LanesType(), MaskType()
FLOAT = types.float64


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, VECTOR)


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, ir.VectorType(BIT, WIDTH))


# ---------------------------------------------------------------- LLVM fragments


def splat(builder, value):
    """The vector whose lanes all are `value`."""
    if isinstance(value, ir.Constant):
        return ir.Constant(VECTOR, [value.constant] * WIDTH)
    undefined = ir.Constant(VECTOR, ir.Undefined)
    vector = builder.insert_element(undefined, value, ir.Constant(INDEX, 0))
    return builder.shuffle_vector(vector, undefined, ir.Constant(ir.VectorType(INDEX, WIDTH), [0] * WIDTH))


def as_lanes(builder, numba_type, value):
    return value if numba_type == LANES else splat(builder, value)


def llvm_function(builder, name, result, arguments):
    """Declare (once a module) and return an LLVM intrinsic."""
    existing = builder.module.globals.get(name)
    return existing or ir.Function(builder.module, ir.FunctionType(result, arguments), name)


def call_llvm(builder, name, *values):
    """Call a floating-point LLVM intrinsic such as `fma` on doubles or on vectors."""
    kind = values[0].type
    suffix = f"v{WIDTH}f64" if kind == VECTOR else "f64"
    return builder.call(llvm_function(builder, f"llvm.{name}.{suffix}", kind, [kind] * len(values)), values)


# ---------------------------------------------------------------- operators


def _binary(python_operator, result, lower):
    """Type and lower an operator for (lanes, lanes), (lanes, float) and (float, lanes)."""
    pairs = [(LANES, LANES), (LANES, FLOAT), (FLOAT, LANES)]
    cases = [signature(result, *pair) for pair in pairs]
    template = type(f"Lanes_{python_operator.__name__}", (ConcreteTemplate,), {"cases": cases})
    infer_global(python_operator)(template)

    def implement(context, builder, sig, args):
        return lower(builder, *(as_lanes(builder, kind, value) for kind, value in zip(sig.args, args, strict=True)))

    for pair in pairs:
        lower_builtin(python_operator, *pair)(implement)


for _operator, _name in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    for _form in (_operator, f"i{_operator}"):  # x + y and x += y
        _binary(
            getattr(operator, _form), LANES, lambda builder, x, y, name=_name: getattr(builder, name)(x, y, flags=FLAGS)
        )
for _operator, _symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    _ordered = "fcmp_unordered" if _operator == "ne" else "fcmp_ordered"  # NaN != NaN is true, everything else false
    _binary(
        getattr(operator, _operator),
        MASK,
        lambda builder, x, y, how=_ordered, symbol=_symbol: getattr(builder, how)(symbol, x, y),
    )


@infer_global(operator.neg)
class _Negate(ConcreteTemplate):
    cases = [signature(LANES, LANES)]  # noqa: RUF012 (Numba's own spelling)


@lower_builtin(operator.neg, LANES)
def _lower_negate(context, builder, sig, args):
    return builder.fneg(args[0])


for _operator, _name in (("and_", "and_"), ("or_", "or_")):
    _template = type(f"Mask_{_operator}", (ConcreteTemplate,), {"cases": [signature(MASK, MASK, MASK)]})
    infer_global(getattr(operator, _operator))(_template)
    lower_builtin(getattr(operator, _operator), MASK, MASK)(
        lambda context, builder, sig, args, name=_name: getattr(builder, name)(*args)
    )


@lower_cast(FLOAT, LANES)
def _float_to_lanes(context, builder, from_type, to_type, value):
    return splat(builder, value)


# ---------------------------------------------------------------- functions


def declined(*kinds) -> bool:
    """Whether a scalar type is among them that this module does not know."""
    return not all(kind == LANES or isinstance(kind, types.Number) for kind in kinds)


def _generic(name, count, lower=None):
    """A function of `count` scalars or lanes; mixed arguments are widened to lanes."""

    def typed(typing_context, *kinds):
        if declined(*kinds):
            return None
        common = LANES if LANES in kinds else FLOAT

        def generate(context, builder, sig, args):
            if common == LANES:
                args = [as_lanes(builder, kind, value) for kind, value in zip(sig.args, args, strict=True)]
            return lower(builder, *args) if lower else call_llvm(builder, name, *args)

        return signature(common, *(LANES if kind == LANES else FLOAT for kind in kinds)), generate

    if count == 1:
        return intrinsic(lambda typing_context, x: typed(typing_context, x))
    if count == 2:
        return intrinsic(lambda typing_context, x, y: typed(typing_context, x, y))
    return intrinsic(lambda typing_context, x, y, z: typed(typing_context, x, y, z))


sqrt = _generic("sqrt", 1)
absolute = _generic("fabs", 1)
rint = _generic("rint", 1)
copysign = _generic("copysign", 2)
fma = _generic("fma", 3)
minimum = _generic("minimum", 2)  # NaN in, NaN out, as in NumPy
maximum = _generic("maximum", 2)


def _exact(name):
    """An operation that the compiler may not fuse with its neighbors: for error-free transformations."""
    return lambda builder, x, y: getattr(builder, name)(x, y)


exact_add = _generic("exact_add", 2, _exact("fadd"))
exact_sub = _generic("exact_sub", 2, _exact("fsub"))


@intrinsic
def select(typing_context, mask, x, y):
    if declined(x, y):
        return None
    lanes = mask == MASK
    common = LANES if lanes or LANES in (x, y) else FLOAT

    def generate(context, builder, sig, args):
        condition, *values = args
        if common == LANES:
            values = [as_lanes(builder, kind, value) for kind, value in zip(sig.args[1:], values, strict=True)]
        return builder.select(condition, *values)

    widened = (LANES if kind == LANES else FLOAT for kind in (x, y))
    return signature(common, MASK if lanes else types.boolean, *widened), generate


@intrinsic
def lanes_of(typing_context, value):
    """All lanes equal to a float."""
    return signature(LANES, FLOAT), lambda context, builder, sig, args: splat(builder, args[0])


@intrinsic
def like(typing_context, value, pattern):
    """`value` in the scalar type of `pattern`: how a kernel makes constants of the type it runs on."""
    if declined(value, pattern):
        return None
    kind = LANES if pattern == LANES else FLOAT

    def generate(context, builder, sig, args):
        return as_lanes(builder, sig.args[0], args[0]) if kind == LANES else args[0]

    return signature(kind, LANES if value == LANES else FLOAT, pattern), generate


@intrinsic
def all_true(typing_context, mask):
    """Whether a comparison holds in every lane."""

    def generate(context, builder, sig, args):
        if sig.args[0] != MASK:
            return args[0]
        bits = builder.bitcast(args[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, 2**WIDTH - 1))

    return signature(types.boolean, mask), generate


@intrinsic
def primal(typing_context, x):
    """A number without its derivatives, if its type has any (see `kernel.dual`)."""
    if declined(x):
        return None
    kind = LANES if x == LANES else FLOAT
    return signature(kind, kind), lambda context, builder, sig, args: args[0]


@intrinsic
def chain(typing_context, value, slope, x):
    """f(x) from its value and its slope at the primal of x: the value, and for types with derivatives theirs."""
    if declined(x):
        return None
    kind = LANES if value == LANES else FLOAT
    return signature(kind, kind, slope, x), lambda context, builder, sig, args: args[0]


@intrinsic
def chain2(typing_context, value, slope_x, x, slope_y, y):
    """f(x, y) from its value and its two slopes."""
    if declined(x, y):
        return None
    kind = LANES if value == LANES else FLOAT
    return signature(kind, kind, slope_x, x, slope_y, y), lambda context, builder, sig, args: args[0]


@intrinsic
def lane(typing_context, lanes, index):
    """One lane as a float."""
    if lanes != LANES or not isinstance(index, types.Integer | types.IntegerLiteral):
        return None

    def generate(context, builder, sig, args):
        return builder.extract_element(args[0], builder.trunc(args[1], INDEX))

    return signature(FLOAT, LANES, types.intp), generate


@intrinsic
def first_of(typing_context, x):
    """The first lane as a float, of what is the same in all lanes; a float is what it is."""
    if declined(x):
        return None

    def generate(context, builder, sig, args):
        return builder.extract_element(args[0], ir.Constant(INDEX, 0)) if x == LANES else args[0]

    return signature(FLOAT, LANES if x == LANES else FLOAT), generate


# ---------------------------------------------------------------- memory: buffers of lanes


def address_in(context, builder, array_type, array, index, step, length, what):
    """Pointer to element `index * step` of a flat float64 array; in checked mode, an IndexError outside of it."""
    data = field(context, builder, array_type, array, "data")
    first = builder.mul(index, ir.Constant(index.type, step))
    if CHECKED:
        last = builder.add(first, ir.Constant(index.type, length - 1))
        size = builder.extract_value(field(context, builder, array_type, array, "shape"), 0)
        outside = builder.or_(
            builder.icmp_signed("<", first, ir.Constant(index.type, 0)), builder.icmp_signed(">=", last, size)
        )
        with builder.if_then(outside, likely=False):
            message = f"{what} of {length} float64 outside of a kernel's buffer"
            context.call_conv.return_user_exc(builder, IndexError, (message,))
        if step == WIDTH:
            bits = builder.and_(builder.ptrtoint(data, ir.IntType(64)), ir.Constant(ir.IntType(64), 8 * WIDTH - 1))
            with builder.if_then(builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0)), likely=False):
                message = f"{what} of lanes from a buffer that is not aligned: make it with kernel.lanes.buffer"
                context.call_conv.return_user_exc(builder, ValueError, (message,))
    return builder.gep(data, [first], inbounds=True)


def flat_float64(array):
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C" and array.dtype == FLOAT


def flat_lanes(array):
    """An array whose elements are lanes: what a field that is compiled for lanes gets (see `integrate.field`)."""
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C" and array.dtype == LANES


@intrinsic
def load(typing_context, array, index, pattern):
    """Element `index` of a buffer of scalars, or of a 64-byte aligned buffer of lanes, by the type of `pattern`.

    An array of lanes gives lanes, whatever the pattern.
    """
    if flat_lanes(array):

        def generate_lanes(context, builder, sig, args):
            return builder.load(address_in(context, builder, sig.args[0], args[0], args[1], 1, 1, "load"))

        return signature(LANES, array, types.intp, pattern), generate_lanes
    if not flat_float64(array) or declined(pattern):
        return None
    lanes = pattern == LANES

    def generate(context, builder, sig, args):
        width = WIDTH if lanes else 1
        pointer = address_in(context, builder, sig.args[0], args[0], args[1], width, width, "load")
        if lanes:
            return builder.load(builder.bitcast(pointer, VECTOR.as_pointer()), align=8 * WIDTH)
        return builder.load(pointer, align=8)

    return signature(LANES if lanes else FLOAT, array, types.intp, pattern), generate


@intrinsic
def store(typing_context, array, index, value):
    if flat_lanes(array):

        def generate_lanes(context, builder, sig, args):
            pointer = address_in(context, builder, sig.args[0], args[0], args[1], 1, 1, "store")
            builder.store(as_lanes(builder, sig.args[2], args[2]), pointer)
            return context.get_dummy_value()

        return types.void(array, types.intp, LANES if value == LANES else FLOAT), generate_lanes
    if not flat_float64(array) or declined(value):
        return None
    lanes = value == LANES

    def generate(context, builder, sig, args):
        width = WIDTH if lanes else 1
        pointer = address_in(context, builder, sig.args[0], args[0], args[1], width, width, "store")
        if lanes:
            builder.store(args[2], builder.bitcast(pointer, VECTOR.as_pointer()), align=8 * WIDTH)
        else:
            builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES if lanes else FLOAT), generate
