"""All computations on a closed mechanism on dual numbers: the parts of `steps` and `entry`, with numbers of the
mechanism, of its constraints and of its forces as duals too.

The packed mechanism then is two arrays of one layout (`tables`): its integers, with the addresses found here, and its
numbers as duals.
"""

from __future__ import annotations

import functools

from chasles.constraint import duals as duals  # integers of duals
from chasles.constraint.special import special_tangent
from chasles.force.law_tangent import DUALS
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, address_of
from chasles.kernel.late import carray
from chasles.kernel.policy import native
from chasles.relative.force import act
from chasles.relative.loop import entry, steps
from chasles.relative.loop.entry import onto_rows
from chasles.relative.loop.tables import HEAD, loop_work_size

SWEEPS = 4  # beyond those of values; each leaves of the derivatives' error a share as large as the step was off


@native
def project_tangents(integers_at, p_at, p_size, t, q_at, v_at, work_at, report_at):
    """`entry.project` with derivatives, which need sweeps where the values are there already."""
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    work, report = carray(work_at, (loop_work_size(integers),)), carray(report_at, (4,))
    q, v = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (integers[HEAD.n_v],))
    onto_rows(integers, p, t, q, v, work, report, SWEEPS)


@functools.cache
def addresses() -> dict[str, int]:
    """Addresses as of `entry.addresses`, of the functions on duals."""
    size, real, i, n = INTEGER, NUMBER, INTEGERS, DUALS
    return {
        "articulate": address_of(steps.articulate, i, n, size, *(n,) * 6),
        "evaluate": address_of(steps.evaluate, i, n, size, real, *(n,) * 3),
        "factor": address_of(steps.factor, i, n, size, size, size, n),
        "respond": address_of(steps.respond, i, n, size, real, n),
        "accelerations": address_of(entry.accelerations, i, n, size, real, *(n,) * 6),
        "derivative": address_of(entry.derivative, real, i, n, size, *(n,) * 3),
        "project": address_of(project_tangents, i, n, size, real, *(n,) * 4),
    }


@functools.cache
def special_address() -> int:
    """Address of the special rows with numbers of the constraints as duals."""
    size = INTEGER
    return address_of(special_tangent, size, INTEGERS, DUALS, size, DUALS, DUALS, size)


@functools.cache
def act_address() -> int:
    """Address of `act` on duals."""
    return address_of(act, NUMBER, INTEGERS, DUALS, INTEGERS, *(DUALS,) * 8, INTEGERS)
