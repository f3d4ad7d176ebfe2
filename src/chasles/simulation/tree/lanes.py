"""The motion of four trees at once, on lanes: the same field as `tree_motion`, with tables that differ lane by lane.

State, numbers of the mechanism and control are lanes. The forces are computed one lane after the other, by the function
that single runs call: so every law works, and their formulas have one home.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from chasles.force.table import SCRATCH
from chasles.kernel.address import INTEGER, INTEGERS, MANY_LANES, NUMBER, NUMBERS, address_of, as_integer_array, invoke
from chasles.kernel.lane_view import as_lanes
from chasles.kernel.lanes import WIDTH, buffer, lanes_of
from chasles.kernel.late import carray
from chasles.kernel.policy import native
from chasles.relative.by_lane import gather, scatter
from chasles.relative.force import act_address
from chasles.relative.mechanism import Mechanism
from chasles.simulation.tree.motion import PART, array_sizes, rates, work_size


@native
def act_by_lane(t, topology, numbers, table, values, q, v, tau, wrenches, states, scratch, result, sizes):
    """`relative.force.act` on lanes. `values` has what each lane needs for itself: see `own_size`; before it, as the
    bits of a number, the address of `act`, and what the time of each lane is later than t."""
    n = carray(sizes, (8,))
    links, forces = carray(topology, (n[0],)), carray(table, (n[2],))
    width = n[1] + n[3] + n[4] + 2 * n[5] + n[6] + n[7] + SCRATCH + 2
    own = carray(values, (2 * WIDTH + WIDTH * width,))
    address = as_integer_array(own)[0]
    coordinates, velocities = carray(q, (WIDTH * n[4],)), carray(v, (WIDTH * n[5],))
    sums, on_links = carray(tau, (WIDTH * n[5],)), carray(wrenches, (WIDTH * n[6],))
    power = carray(result, (2 * WIDTH,))
    for lane in range(WIDTH):
        at = 2 * WIDTH + lane * width
        lane_numbers = own[at : at + n[1]]
        at += n[1]
        lane_values = own[at : at + n[3]]
        at += n[3]
        lane_q, lane_v = own[at : at + n[4]], own[at + n[4] : at + n[4] + n[5]]
        at += n[4] + n[5]
        lane_tau, lane_wrenches = own[at : at + n[5]], own[at + n[5] : at + n[5] + n[6]]
        at += n[5] + n[6]
        lane_states, room = own[at : at + n[7]], own[at + n[7] : at + n[7] + SCRATCH]
        lane_result = own[at + n[7] + SCRATCH : at + n[7] + SCRATCH + 2]
        gather(coordinates, lane, lane_q)
        gather(velocities, lane, lane_v)
        gather(sums, lane, lane_tau)
        invoke(
            *(address, t + own[WIDTH + lane], links, lane_numbers, forces, lane_values, lane_q, lane_v),
            *(lane_tau, lane_wrenches, lane_states, room, lane_result, n),
        )
        scatter(lane_tau, lane, sums)
        scatter(lane_wrenches, lane, on_links)
        power[lane], power[WIDTH + lane] = lane_result[0], lane_result[1]


@native
def tree_on_lanes(t, y, p, out, y_size, p_size, out_size):
    """`tree_motion` on lanes; p as `LaneTables` packs it, behind the times of each lane (`kernel.own_time`)."""
    packed = carray(p, WIDTH * p_size)
    bits = as_integer_array(packed)
    integers = bits[WIDTH:]
    topology = integers[PART.size : integers[PART.table] - WIDTH]
    table = bits[integers[PART.table] : integers[PART.numbers]]
    numbers = as_lanes(packed[integers[PART.numbers] : integers[PART.values]])
    own = packed[integers[PART.values] : integers[PART.control]]
    if own.shape[0] > 0:
        for lane in range(WIDTH):
            own[WIDTH + lane] = packed[lane]
    control = as_lanes(packed[integers[PART.control] : integers[PART.work]])
    space = as_lanes(packed[integers[PART.work] :])
    tables = (topology, numbers, table, own, control)
    free = integers[PART.free] != 0
    rates(t, integers, tables, space, free, carray(y, y_size), carray(out, out_size), lanes_of(0.0))


@cache
def lanes_address() -> int:
    """Address of `tree_on_lanes`, compiled now or loaded from the cache."""
    return address_of(tree_on_lanes, NUMBER, MANY_LANES, NUMBERS, MANY_LANES, *(INTEGER,) * 3)


@cache
def lanes_act_address() -> int:
    """Address of `act_by_lane`."""
    return address_of(act_by_lane, NUMBER, INTEGERS, NUMBERS, INTEGERS, *(NUMBERS,) * 8, INTEGERS)


def own_size(mechanism: Mechanism) -> int:
    """Numbers that forces need in each lane: tables, state, sums, motions of links, scratch and result."""
    _, numbers, _, values, nq, nv, wrenches, states = array_sizes(mechanism)
    return numbers + values + nq + 2 * nv + wrenches + states + SCRATCH + 2


class LaneTables:
    """The parameters of `tree_on_lanes` for mechanisms with the structure of one.

    What the time of each lane is later than the one that is told; integers (head, topology, table of forces); then,
    from an aligned place on, the numbers as lanes, what the forces need lane by lane, control and workspace as lanes.
    `free`: whether free joints have the velocities of their positions.
    """

    correction = 0  # address of what corrects points after each step

    def __init__(self, mechanism: Mechanism, free: bool):
        acting = mechanism.tables.acting
        integers = np.concatenate([np.zeros(PART.size, dtype=np.int64), mechanism.tree.topology, acting.table])
        self.width = 0 if acting.empty else own_size(mechanism)
        own = 0 if acting.empty else 2 + self.width  # in lanes; the first has the address, the second the times
        counts = [len(mechanism.tree.numbers), own, mechanism.nv, work_size(mechanism)]
        start = -(-(WIDTH + len(integers)) // 8) * 8
        edges = start + WIDTH * np.cumsum([0, *counts])
        head = {"coordinates": mechanism.nq, "velocities": mechanism.nv, "links": mechanism.tables.links, "free": free}
        head |= {"numbers": edges[0], "values": edges[1], "control": edges[2], "work": edges[3]}
        head |= {
            "table": WIDTH + PART.size + len(mechanism.tree.topology),
            "act": 0 if acting.empty else lanes_act_address(),
        }
        for name, value in head.items():
            integers[getattr(PART, name)] = value
        integers[PART.sizes : PART.size] = array_sizes(mechanism)
        self.integers, self.edges = integers, edges.tolist()
        self.address = lanes_address()

    def packed(self, numbers: np.ndarray, values: np.ndarray, control: np.ndarray) -> np.ndarray:
        """A buffer with the tables of four mechanisms, (4, ...) each."""
        p = buffer(-(-self.edges[-1] // WIDTH))
        p[:WIDTH] = 0.0
        p[WIDTH : WIDTH + len(self.integers)] = self.integers.view(float)
        if self.width:
            p[self.edges[1] : self.edges[1] + 1].view(np.int64)[:] = act_address()
        for lane in range(WIDTH):
            self.put(p, lane, numbers[lane], values[lane])
        self.put_control(p, control)
        return p

    @property
    def inputs(self) -> int:
        """Where inputs begin in such a buffer."""
        return int(self.edges[2])

    @property
    def remembered(self) -> slice:
        """What is remembered from step to step: nothing."""
        return slice(0, 0)

    @staticmethod
    def places(p: np.ndarray) -> tuple[slice, slice]:
        """Where numbers and values are in the parameters of a single run."""
        head = p.view(np.int64)
        return slice(head[PART.numbers], head[PART.table]), slice(head[PART.values], head[PART.control])

    @staticmethod
    def forget(p: np.ndarray) -> None:
        """Make the parameters of a single run those of one that begins: it remembers nothing."""

    def put(self, p: np.ndarray, lane: int, numbers: np.ndarray, values: np.ndarray) -> None:
        """Put the numbers of another mechanism into a lane of such a buffer."""
        first, own, last = self.edges[:3]
        p[first:own].reshape(-1, WIDTH)[:, lane] = numbers
        if self.width:
            row = p[own + 2 * WIDTH : last].reshape(WIDTH, self.width)[lane]
            row[: len(numbers)], row[len(numbers) : len(numbers) + len(values)] = numbers, values

    def put_control(self, p: np.ndarray, control: np.ndarray) -> None:
        """Put other inputs (4, nv) into such a buffer."""
        p[self.edges[2] : self.edges[3]].reshape(-1, WIDTH)[:] = control.T

    def put_control_of(self, p: np.ndarray, lane: int, control: np.ndarray) -> None:
        """Put other inputs (nv,) into a lane."""
        p[self.edges[2] : self.edges[3]].reshape(-1, WIDTH)[:, lane] = control
