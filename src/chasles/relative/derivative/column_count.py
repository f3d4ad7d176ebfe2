"""How many columns are solved for at a time, by the scalar type. This needs Numba (see `kernel.late`)."""

from __future__ import annotations

from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.code.lanes import LANES
from chasles.kernel.lanes import WIDTH


@intrinsic
def columns_of(typing_context, z):
    count = 8 if z == LANES else 8 * WIDTH

    def generate(context, builder, sig, args):
        return context.get_constant(types.intp, count)

    return signature(types.intp, z), generate
