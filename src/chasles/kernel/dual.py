"""Dual numbers: a value and its derivatives in three directions, so one kernel source also gives exact derivatives.

A kernel written for float64 and lanes compiles for `Dual` as it stands. A dual number lies in memory as lanes do, four
doubles in a row: the value, then the three tangents. So buffers, loads, stores and loops of lanes serve duals too.
Comparisons look at values alone and give an ordinary boolean, so branches on values work as well as `select`.

A branch that is selected away leaves no trace, NaN or not. At 0, where the square root has no derivative, its tangents
are set to zero: the length of a vector that vanishes is treated as constant there, as `maximum(s, TINY)` does.
"""

from __future__ import annotations

from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import late
from chasles.kernel.policy import COMPILED

if not COMPILED:
    raise ImportError("chasles.kernel.dual needs the compiler: unset NUMBA_DISABLE_JIT")

TANGENTS = WIDTH - 1  # directions that one pass differentiates in
dual_of, as_duals = late("chasles.kernel.code.dual", "dual_of", "as_duals")
