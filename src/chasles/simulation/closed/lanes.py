"""The motion of four closed mechanisms at once, on lanes: the fields of `closed.motion`, with numbers that differ lane
by lane (`relative.loop.lanes`). Forces are computed one lane after the other, as for trees."""

from __future__ import annotations

from functools import cache

import numpy as np

from chasles.constraint.rows import MOTION
from chasles.force.table import FORCES
from chasles.kernel.address import INTEGER, MANY_LANES, NUMBER, NUMBERS, address_of, invoke
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.lane_view import as_lanes
from chasles.kernel.lanes import WIDTH, buffer, lanes_of
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.relative.force import act_address
from chasles.relative.free_velocity import from_body, rates_from_body, to_body
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.lane_projection import addresses
from chasles.relative.loop.lanes import LANE_PLACE, apart, target_of
from chasles.relative.loop.tables import HEAD, WORK, loop_work_of, loop_work_size, part
from chasles.simulation.tree.lanes import lanes_act_address, own_size


@kernel(allocates=True)
def rates(t, packed, y, v, out):
    """(v, a, power) under the forces and the control; v: velocities of y in the bodies."""
    head, integers, p, work = apart(packed)
    nq, nv, size = integers[HEAD.n_q], integers[HEAD.n_v], loop_work_size(integers)
    _, states, motion, rows, _, _, _, x, _, wrenches, _, tau, _, scratch, report = loop_work_of(
        as_lanes(work)[:size], integers
    )
    control, table = part(p, integers, HEAD.control), part(integers, integers, HEAD.table)
    q, power = y[:nq], lanes_of(0.0)
    for k in range(nv):
        tau[k] = control[k]
        power += control[k] * v[k]
        out[k] = y[nq + k]
    if table[FORCES.count] + table[FORCES.passive] != 0:
        own = packed[head[LANE_PLACE.forces] : head[LANE_PLACE.own]]
        for lane in range(WIDTH):
            own[WIDTH + lane] = packed[lane]
        topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
        sizes = part(integers, integers, HEAD.sizes)
        invoke(
            *(integers[HEAD.act], t, topology, numbers, table, own, q, v),
            *(tau, wrenches, states, scratch, report, sizes),
        )
        power += report[0]
    else:
        for k in range(6 * integers[HEAD.n_links]):
            wrenches[k] = 0.0
    before = flush_denormals()
    invoke(head[LANE_PLACE.accelerate], packed, packed.shape[0], t, q, v, tau, wrenches, out[nv : 2 * nv])
    restore_denormals(before)
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations = part(integers, integers, HEAD.rows)
    for r in range(integers[HEAD.n_rows]):  # constraints that move do work
        power -= x[r] * target_of(packed, head, tiles, groups, equations, rows, r, motion)
    out[2 * nv] = power


@native
def closed_on_lanes(t, y_at, p_at, out_at, y_size, p_size, out_size):
    """`closed_motion` or `motion_of_free_joints` on lanes; p as `ClosedLaneTables` packs it."""
    packed = carray(p_at, WIDTH * p_size)
    y, out, z = carray(y_at, y_size), carray(out_at, out_size), lanes_of(0.0)
    head, integers, _, work = apart(packed)
    nq, nv, topology = integers[HEAD.n_q], integers[HEAD.n_v], part(integers, integers, HEAD.topology)
    if head[LANE_PLACE.free] == 0:
        rates(t, packed, y, y[nq : nq + nv], out)
    else:
        v = as_lanes(work)[loop_work_size(integers) :][:nv]
        to_body(topology, y[:nq], y[nq : nq + nv], v, z)
        rates(t, packed, y, v, out)
        rates_from_body(topology, y[:nq], v, out[nv : 2 * nv], False, z)


@native
def onto_loops_on_lanes(t, y_at, p_at, out_at, y_size, p_size, out_size):
    """`onto_loops` or `free_joints_onto_loops` on lanes. A lane whose own time is NaN is left as it is."""
    packed = carray(p_at, WIDTH * p_size)
    y, out, z = carray(y_at, y_size), carray(out_at, out_size), lanes_of(0.0)
    head, integers, _, _ = apart(packed)
    nq, nv, topology = integers[HEAD.n_q], integers[HEAD.n_v], part(integers, integers, HEAD.topology)
    for k in range(y_size):
        out[k] = y[k]
    q, v = out[:nq], out[nq : nq + nv]
    if head[LANE_PLACE.free] != 0:
        to_body(topology, q, v, v, z)
    before = flush_denormals()
    invoke(head[LANE_PLACE.project], packed, packed.shape[0], t, q, v)
    restore_denormals(before)
    if head[LANE_PLACE.free] != 0:
        from_body(topology, q, v, z)


FIELD = NUMBER, MANY_LANES, NUMBERS, MANY_LANES, *(INTEGER,) * 3


@cache
def closed_lanes_address() -> int:
    """Address of `closed_on_lanes`, compiled now or loaded from the cache."""
    return address_of(closed_on_lanes, *FIELD)


@cache
def onto_loops_lanes_address() -> int:
    """Address of `onto_loops_on_lanes`."""
    return address_of(onto_loops_on_lanes, *FIELD)


class ClosedLaneTables:
    """The parameters of `closed_on_lanes` for closed mechanisms with the structure of one: see `relative.loop.lanes`.

    single: the parameters of a single run of that one; projected: whether steps end on the constraints. The numbers of
    a member are those of its tree and its constraints, its values those of its forces.
    """

    def __init__(self, mechanism: ClosedMechanism, single: np.ndarray, free: bool, projected: bool):
        integers = single[: len(mechanism.packed.parameters)].view(np.int64).copy()
        self.address, self.correction = closed_lanes_address(), onto_loops_lanes_address() if projected else 0
        self.integers, self.count, called = integers, len(integers), addresses()
        acting, self.parts = mechanism.tables.acting, self.places(single)
        self.control = slice(int(integers[HEAD.control]), int(integers[HEAD.end]))
        self.tree = len(mechanism.tree.numbers)
        self.constants = slice(*(integers[[HEAD.constants, HEAD.constants + 1]] - integers[HEAD.numbers]).tolist())
        self.forces = 0 if acting.empty else own_size(mechanism.spanning)
        motion, rows = MOTION.size * int(integers[HEAD.n_touched]), WORK.counts["rows"].of(integers)
        self.own = self.constants.stop - self.constants.start + motion + rows
        work, nq, nv = mechanism.packed.work, mechanism.nq, mechanism.nv
        counts = [self.count, work + nv, work + nq + nv, 2 + self.forces if self.forces else 0, self.own]
        start = -(-(WIDTH + LANE_PLACE.size + self.count) // 8) * 8
        self.edges = (start + WIDTH * np.cumsum([0, *counts])).tolist()
        places = dict(zip(("numbers", "work", "copy", "forces", "own", "end"), self.edges, strict=True))
        places |= {"integers": WIDTH + LANE_PLACE.size, "count": self.count, "width": self.own, "free": int(free)}
        places |= {name: WORK.offset(name, integers) for name in ("matrix", "scales", "order", "x")}
        places["fed"] = int(np.any(single[integers[HEAD.feedback] :][:2]))
        places |= {name: called[name] for name in ("evaluate", "factor", "special", "accelerate", "project")}
        self.head = np.zeros(LANE_PLACE.size, dtype=np.int64)
        for name, value in places.items():
            self.head[getattr(LANE_PLACE, name)] = value
        integers[HEAD.articulate], integers[HEAD.respond] = called["articulate"], called["respond"]
        integers[HEAD.act] = 0 if acting.empty else lanes_act_address()

    @property
    def inputs(self) -> int:
        """Where inputs begin in such a buffer."""
        return int(self.edges[0]) + WIDTH * self.control.start

    @property
    def remembered(self) -> slice:
        """What is remembered from step to step: which rows the last projection did not take."""
        rows = int(self.integers[HEAD.n_rows])
        first = int(self.edges[1]) + WIDTH * (int(self.head[LANE_PLACE.order]) + rows)
        return slice(first, first + WIDTH * rows)

    @staticmethod
    def places(p: np.ndarray) -> tuple[slice, slice]:
        """Where numbers and values are in the parameters of a single run."""
        numbers, values, control = p.view(np.int64)[[HEAD.numbers, HEAD.values, HEAD.control]].tolist()
        return slice(numbers, values), slice(values, control)

    @staticmethod
    def forget(p: np.ndarray) -> None:
        """Make the parameters of a single run those of one that begins: it remembers no choice of rows."""
        p[p.view(np.int64)[HEAD.end] :] = 0.0

    def packed(self, numbers: np.ndarray, values: np.ndarray, control: np.ndarray) -> np.ndarray:
        """A buffer with the tables of four mechanisms, (4, ...) each."""
        p = buffer(-(-self.edges[-1] // WIDTH))
        p[WIDTH : WIDTH + LANE_PLACE.size] = self.head.view(float)
        p[WIDTH + LANE_PLACE.size :][: self.count] = self.integers.view(float)
        if self.forces:
            p[self.edges[3] : self.edges[3] + 1].view(np.int64)[:] = act_address()
        for lane in range(WIDTH):
            self.put(p, lane, numbers[lane], values[lane])
        self.put_control(p, control)
        return p

    def put(self, p: np.ndarray, lane: int, numbers: np.ndarray, values: np.ndarray) -> None:
        """Put the numbers of another mechanism into a lane of such a buffer, which forgets what it chose before."""
        first, work, copy, forces, own, end = self.edges
        table = p[first:work].reshape(-1, WIDTH)
        for place, own_part in zip(self.parts, (numbers, values), strict=True):
            table[place, lane] = own_part
        p[work:copy].reshape(-1, WIDTH)[:, lane] = 0.0
        if self.forces:
            row = p[forces + 2 * WIDTH : own].reshape(WIDTH, self.forces)[lane]
            row[: self.tree], row[self.tree : self.tree + len(values)] = numbers[: self.tree], values
        constants = numbers[self.constants]
        p[own:end].reshape(WIDTH, self.own)[lane, : len(constants)] = constants

    def put_control(self, p: np.ndarray, control: np.ndarray) -> None:
        """Put other inputs (4, nv) into such a buffer."""
        p[self.edges[0] : self.edges[1]].reshape(-1, WIDTH)[self.control] = control.T

    def put_control_of(self, p: np.ndarray, lane: int, control: np.ndarray) -> None:
        """Put other inputs (nv,) into a lane."""
        p[self.edges[0] : self.edges[1]].reshape(-1, WIDTH)[self.control, lane] = control
