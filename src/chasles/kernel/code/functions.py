"""Sine and cosine together, and polynomials, for float64 and lanes (`kernel.functions`)."""

from __future__ import annotations

import math

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.code.lanes import (
    DOUBLE,
    FLOAT,
    INDEX,
    LANES,
    VECTOR,
    WIDTH,
    call_llvm,
    declined,
    llvm_function,
    splat,
)

# Minimax polynomials on [-pi/4, pi/4]: sin r = r + r z S(z), cos r = 1 - z/2 + z^2 C(z), z = r^2 (Cephes' constants).
SINE = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
COSINE = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)
# pi/2 in three parts; with fused operations the reduced argument is good to 1 ulp for |x| <= REDUCTION_LIMIT.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
REDUCTION_LIMIT = 1e8


def _fast_sincos(builder, x):
    """Quadrant by rounding, remainder by three fused steps, polynomials, and selects for the quadrant."""
    lanes = x.type == VECTOR
    integer = ir.VectorType(ir.IntType(32), WIDTH) if lanes else ir.IntType(32)

    def real(value):
        return ir.Constant(VECTOR, [value] * WIDTH) if lanes else ir.Constant(DOUBLE, value)

    def whole(value):
        return ir.Constant(integer, [value] * WIDTH) if lanes else ir.Constant(integer, value)

    def multiply_add(a, b, c):
        return call_llvm(builder, "fma", a, b, c)

    def horner(coefficients, z):
        value = real(coefficients[0])
        for coefficient in coefficients[1:]:
            value = multiply_add(value, z, real(coefficient))
        return value

    quadrants = call_llvm(builder, "rint", builder.fmul(x, real(2 / math.pi)))
    r = x
    for part in HALF_PI:
        r = multiply_add(builder.fneg(quadrants), real(part), r)
    z = builder.fmul(r, r)
    sine = multiply_add(builder.fmul(horner(SINE, z), z), r, r)
    cosine = multiply_add(builder.fmul(z, z), horner(COSINE, z), multiply_add(real(-0.5), z, real(1.0)))
    quadrant = builder.fptosi(quadrants, integer)

    def bit(value, mask):
        return builder.icmp_signed("!=", builder.and_(value, whole(mask)), whole(0))

    odd = bit(quadrant, 1)
    s, c = builder.select(odd, cosine, sine), builder.select(odd, sine, cosine)
    s = builder.select(bit(quadrant, 2), builder.fneg(s), s)
    return s, builder.select(bit(builder.add(quadrant, whole(1)), 2), builder.fneg(c), c)


def _library_sincos(builder, x):
    """Sine and cosine of the C library, lane by lane: slow, right for any finite argument."""
    sin = llvm_function(builder, "llvm.sin.f64", DOUBLE, [DOUBLE])
    cos = llvm_function(builder, "llvm.cos.f64", DOUBLE, [DOUBLE])
    if x.type != VECTOR:
        return builder.call(sin, [x]), builder.call(cos, [x])
    results = []
    for function in (sin, cos):
        vector = ir.Constant(VECTOR, ir.Undefined)
        for index in range(WIDTH):
            position = ir.Constant(INDEX, index)
            value = builder.call(function, [builder.extract_element(x, position)])
            vector = builder.insert_element(vector, value, position)
        results.append(vector)
    return results


def sincos_of(builder, angle):
    """Sine and cosine of a double or of a vector. Beyond 1e8 (in any lane) the C library takes over; a block no
    ordinary run enters."""
    lanes = angle.type == VECTOR
    limit = ir.Constant(VECTOR, [REDUCTION_LIMIT] * WIDTH) if lanes else ir.Constant(DOUBLE, REDUCTION_LIMIT)
    far = builder.fcmp_ordered(">", call_llvm(builder, "fabs", angle), limit)
    if lanes:
        bits = builder.bitcast(far, ir.IntType(WIDTH))
        far = builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
    fast = _fast_sincos(builder, angle)
    near = builder.block
    with builder.if_then(far, likely=False):
        slow = _library_sincos(builder, angle)
        beyond = builder.block
    results = []
    for quick, library in zip(fast, slow, strict=True):
        phi = builder.phi(quick.type)
        phi.add_incoming(quick, near)
        phi.add_incoming(library, beyond)
        results.append(phi)
    return results


@intrinsic
def sincos(typing_context, x):
    """(sin x, cos x)."""
    if declined(x):
        return None
    kind = LANES if x == LANES else FLOAT

    def generate(context, builder, sig, args):
        return context.make_tuple(builder, sig.return_type, sincos_of(builder, args[0]))

    return signature(types.UniTuple(kind, 2), kind), generate


@intrinsic
def polynomial(typing_context, x, coefficients):
    """Horner's rule with fused operations; `coefficients` is a tuple of floats, highest power first."""
    if declined(x):
        return None
    kind = LANES if x == LANES else FLOAT

    def generate(context, builder, sig, args):
        point, constants = args
        values = [builder.extract_value(constants, k) for k in range(coefficients.count)]
        values = [splat(builder, value) if kind == LANES else value for value in values]
        total = values[0]
        for value in values[1:]:
            total = call_llvm(builder, "fma", total, point, value)
        return total

    return signature(kind, kind, coefficients), generate
