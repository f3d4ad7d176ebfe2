"""The rows of a closed mechanism on dual numbers: exact derivatives of g, J v - target, J and c along any directions.

The kernels are those of `entry`, compiled for duals; numbers of the mechanism and of constraints do not vary. Laws are
compiled for duals where they can be, else differenced.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from chasles.constraint.duals import on_duals
from chasles.constraint.rows import MOTION
from chasles.constraint.tile_work import rows_size
from chasles.force.law_tangent import DUALS
from chasles.kernel.address import INTEGER, NUMBER, address_of, as_integers
from chasles.kernel.address import NUMBERS as REALS
from chasles.kernel.dual import TANGENTS, dual_of
from chasles.kernel.dual_memory import DualRegions
from chasles.kernel.lanes import WIDTH, buffer
from chasles.kernel.late import carray
from chasles.kernel.policy import native
from chasles.kernel.undisturbed import Calling
from chasles.model.constraint import Drive
from chasles.relative.kinematics import STATE, move_links
from chasles.relative.loop.entry import collect
from chasles.relative.loop.rows import evaluate_tiles, set_clock, set_motion
from chasles.relative.loop.tables import CLOSED, HEAD, SIZES, part

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism, ConstraintRows

_POINTER, _INTEGER = ctypes.POINTER(ctypes.c_double), ctypes.c_int64
_ROWS = ctypes.CFUNCTYPE(None, _POINTER, _INTEGER, ctypes.c_double, *(_POINTER,) * 4)

# workspace of `rows_tangent`, of duals
WORK = DualRegions(
    "RowTangentWork",
    states=STATE.size * (SIZES.n_links + 1),
    motion=MOTION.size * SIZES.n_touched,
    rows=rows_size(SIZES.n_tiles, SIZES.n_counted),
    wrenches=6 * SIZES.n_links,
    still=SIZES.n_v,
)
work_of, work_size = WORK.views, WORK.total


@native
def rows_tangent(p_at, p_size, t, q_at, v_at, work_at, out_at):
    """`entry.linearize` on duals; out: residuals, speeds, right sides and J, one after the other."""
    integers, p = carray(as_integers(p_at), (p_size,)), carray(p_at, (p_size,))
    nv, m, nt = integers[HEAD.n_v], integers[HEAD.n_rows], integers[HEAD.n_tiles]
    touched, counted = part(integers, integers, HEAD.touched), part(integers, integers, HEAD.counted)
    q, v, out = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (nv,)), carray(out_at, (m * (3 + nv),))
    states, motion, rows, wrenches, still = work_of(carray(work_at, (work_size(integers),)), integers)
    z = dual_of(0.0)
    move_links(part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers), q, v, q[0:0], states, z)
    set_motion(touched, integers[HEAD.n_touched], states, motion)
    set_clock(t, counted, integers[HEAD.n_counted], q, rows)
    evaluate_tiles(part(integers, integers, HEAD.tiles), part(p, integers, HEAD.constants), nt, motion, rows)
    residual, speed, right, J = out[:m], out[m : 2 * m], out[2 * m : 3 * m], out[3 * m :]
    collect(integers, p, q, v, still, states, motion, rows, wrenches, residual, speed, right, J, z)


@cache
def _rows_address() -> int:
    """Address of `rows_tangent`, compiled now or loaded from the cache."""
    return address_of(rows_tangent, REALS, INTEGER, NUMBER, *(DUALS,) * 4)


class RowTangents:
    """Derivatives of the rows of a closed mechanism. `notes`: of laws whose derivatives are differences."""

    def __init__(self, mechanism: ClosedMechanism):
        closing, self.parameters = mechanism.closing, mechanism.packed.parameters.copy()
        self.configuration, self.laws = mechanism.tables.configuration, mechanism.laws
        constants, self.tangents = on_duals(closing.constants, closing.tiles, closing.laws)
        CLOSED.part(self.parameters, "constants")[:] = constants
        in_time = [one.value for one in mechanism.system.constraints if isinstance(one, Drive)]  # nothing to difference
        noted = [tangent for tangent in self.tangents if tangent.note]
        self.in_python = bool(noted)
        self.notes = tuple(one.note for one in noted if not any(one.law is law for law in in_time))
        self.m, self.nv, integers = mechanism.rows, mechanism.nv, self.parameters.view(np.int64)
        self.work = WORK.size(integers)

    def along(self, q: np.ndarray, v: np.ndarray, t: float, moves: np.ndarray, changes: np.ndarray) -> ConstraintRows:
        """Derivatives along columns (nv, k) of displacements q exp(δ) and of changes of v: (rows, k), of J (rows, nv,
        k)."""
        from chasles.relative.loop.closed import ConstraintRows

        m, nv, count = self.m, self.nv, moves.shape[1]
        found = np.empty((m * (3 + nv), count))
        at, speed, out, work = (buffer(size) for size in (len(q), nv, m * (3 + nv), self.work))
        places, speeds, results = (x.reshape(-1, WIDTH) for x in (at, speed, out))
        places[:, 0], speeds[:, 0] = q, v
        lifted = self.configuration.lift(q, moves.T).T
        function, pointers = _ROWS(_rows_address()), [x.ctypes.data_as(_POINTER) for x in (at, speed, work, out)]
        with Calling(self.laws, self.in_python):
            for k in range(0, count, TANGENTS):
                width = min(TANGENTS, count - k)
                places[:, 1:], speeds[:, 1:] = 0.0, 0.0
                places[:, 1 : 1 + width], speeds[:, 1 : 1 + width] = lifted[:, k : k + width], changes[:, k : k + width]
                function(self.parameters.ctypes.data_as(_POINTER), len(self.parameters), t, *pointers)
                found[:, k : k + width] = results[:, 1 : 1 + width]
        residual, speed, right = found[: 3 * m].reshape(3, m, count)
        return ConstraintRows(residual, speed, right, found[3 * m :].reshape(m, nv, count), np.empty(0))
