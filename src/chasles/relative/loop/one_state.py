"""Accelerations of one state of a mechanism with loops, called again and again: a builtin (`kernel.direct`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.kernel.address import INTEGER_ARRAY, NUMBER_ARRAY, invoke
from chasles.kernel.direct import Form, available, builtin
from chasles.kernel.policy import kernel
from chasles.relative.direct_calls import MANY_LINKS, OFTEN, UNIT_TOLERANCE, Direct
from chasles.relative.loop.tables import HEAD

FORM = Form((*("fixed",) * 3, *("in",) * 3, "fixed", "fixed", "out"), 2 * UNIT_TOLERANCE, True, False)


@kernel(entry=True)
def accelerations_of_state(integers, p, times, q, v, tau, wrenches, work, a):
    """Accelerations of one state at the first of the times."""
    invoke(integers[HEAD.accelerations], integers, p, p.shape[0], times[0], q, v, tau, wrenches, work, a)


class DirectAccelerations:
    """The builtin of one mechanism, made after some calls; it takes q, v and tau, without wrenches and at time 0. It
    gives None for all that is not as it should be."""

    def __init__(self, mechanism: Any):
        self.call: Direct | None = None
        self._mechanism, self._asked = mechanism, 0

    def again(self) -> None:
        """Accelerations of one state were asked for."""
        self._asked += 1
        if self._asked == OFTEN and self._possible():
            self.call = self._made()

    def _possible(self) -> bool:
        tables = self._mechanism.tables
        simple = tables.tree.dependence is None and not self._mechanism.laws
        return available() and simple and tables.links <= MANY_LINKS and self._mechanism.nv > 0

    def _made(self) -> Direct:
        one, packed = self._mechanism, self._mechanism.packed
        accelerations_of_state.compile((INTEGER_ARRAY, *(NUMBER_ARRAY,) * 8))
        tables = packed.parameters.view(np.int64), packed.parameters, np.zeros(1)
        spare = np.zeros(6 * one.tables.links), np.empty(packed.work)
        arrays = (*tables, one.nq, one.nv, one.nv, *spare, one.nv)
        return builtin(accelerations_of_state, FORM, arrays, (one.nv,), one.tables.quaternions)
