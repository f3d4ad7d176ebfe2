"""`BatchSimulation`: many copies of a system advanced together, one step at a time, on SIMD lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import engine
from chasles.integrate.explicit_layout import REAL, SET, STATE, TALLY
from chasles.integrate.lane_march import LaneMarch
from chasles.integrate.status import RUNNING
from chasles.integrate.vector_field import call
from chasles.kernel.bound import Bound
from chasles.kernel.lanes import WIDTH, buffer, lanes_of
from chasles.kernel.policy import kernel
from chasles.simulation.lane_runs import refusal
from chasles.simulation.motion import motion_stepper
from chasles.simulation.simulate import plan
from chasles.simulation.tree_lanes import LaneTables, lanes_address
from chasles.simulation.variants import Made, Variants, as_values, tree_tables

CALLER = "BatchSimulation"
FAR = 1e9  # steps to an end that never comes


@kernel(entry=True, allocates=True)  # a view counts as an array that is made
def march_blocks(
    table, addresses, settings, real, a, b, c, extra, program, states, counts, y, f0, x_sum, records, memory, address,
    p, control, at, stale, limit,
):  # fmt: skip
    """`march_lanes` for blocks of four, one after the other. p: the tables of each block, or one for all; their inputs
    begin at `at`. stale: whether the field at the present points is to be found first."""
    z = lanes_of(0.0)
    for k in range(y.shape[0]):
        own = p[k if p.shape[0] > 1 else 0]
        for m in range(control.shape[1]):
            own[at + m] = control[k, m]
        if stale:
            call(address, states[k, STATE.t], y[k], own, f0[k], 0, settings[SET.point], settings[SET.algebra], z)
        arrays = (table, addresses, settings, real, a, b, c, extra, program, states[k], counts[k])
        engine.march(*arrays, y[k], f0[k], x_sum[k], records, memory, address, own, limit, z)


class BatchSimulation:
    """Many copies of a system, `members` of them, advanced together by steps of fixed size: `batch.step(u)`.

    `q` (members, nq) and `v` (members, nv) are the present states, which `reset` sets. All members share the time `t`.
    Four members are in the lanes of one register, so systems are trees in joint coordinates, without laws in Python,
    rigid limits and friction that sticks. A member has the same bits in any company. parameters: other numbers of the
    system in each member, (members, ...), as in `simulate_batch`.
    """

    def __init__(
        self,
        system: Made,
        step: float,
        members: int,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        method: Any = "rk4",
    ):
        if isinstance(members, bool) or not isinstance(members, int | np.integer) or members < 1:
            raise ValueError(f"{CALLER}: members is {members!r}; expected a positive whole number")
        values = as_values(parameters)
        for name, value in values.items():
            if value.ndim == 0 or len(value) != members:
                raise ValueError(f"{CALLER}: parameter {name!r} has shape {value.shape}; expected ({members}, ...)")
        self._given = system, step, members, dict(parameters or {}), method
        self.members, self.size, variants = int(members), float(step), Variants(system, values)
        task = plan(variants.model(0), (0.0, FAR * self.size), method=method, step=self.size, save="final")
        if reason := refusal(task):
            raise ValueError(f"{CALLER}: this system cannot be stepped on lanes: {reason}; take Simulation")
        self.dynamics = task.dynamics
        self.mechanism, self.actuation = task.dynamics.mechanism, task.dynamics.actuation()
        with self.dynamics.calling():
            self._lead = motion_stepper(task.dynamics, task.method, task.span, task.state, step=self.size, save="final")
        tables = tree_tables(variants, self.mechanism, np.tile(self.mechanism.neutral(), (self.members, 1)))
        if tables is None:
            raise ValueError(f"{CALLER}: the systems of the members differ in more than their numbers")
        for i, error in tables.wrong.items():
            raise ValueError(f"{CALLER}: member {i}: {error}") from error
        self._neutral = np.concatenate([self.mechanism.neutral(), np.zeros(self.mechanism.nv + 1)])
        self._make(tables.numbers, tables.values)
        self.reset(q, v)

    def _make(self, numbers: np.ndarray, values: np.ndarray) -> None:
        """The arrays of all blocks of four, and the loops on them."""
        lead, march, space = self._lead, LaneMarch(self._lead, lanes_address()), self._lead.space
        tables = LaneTables(self.mechanism, self.dynamics.free is not None)
        blocks = -(-self.members // WIDTH)
        index = np.minimum(np.arange(WIDTH * blocks), self.members - 1).reshape(blocks, WIDTH)
        nothing = np.zeros((WIDTH, self.mechanism.nv))
        alike = (numbers == numbers[0]).all() and (values == values[0]).all()
        packed = [tables.packed(numbers[four], values[four], nothing) for four in (index[:1] if alike else index)]
        p = _room(len(packed), packed[0].size)  # with workspace: one for all that are alike stays in the cache
        p[:] = packed
        self._y, self._f0 = _room(blocks, space.size * WIDTH), _room(blocks, space.dimension * WIDTH)
        self._control, x_sum = _room(blocks, self.mechanism.nv * WIDTH), _room(blocks, space.dimension * WIDTH)
        self._inputs = self._control.reshape(blocks, -1, WIDTH)  # a view
        self._state, self._counts = np.zeros((blocks, STATE.size)), np.zeros((blocks, TALLY.size), dtype=np.int64)
        march.real[REAL.step] = self.size
        method = (march.settings, march.real, *lead.arrays()[2:])
        memory = (self._state, self._counts, self._y, self._f0, x_sum, march.records, march.memory)
        head, last = (space.table, march.addresses, *method), (march.address, p, self._control, tables.edges[2])
        self._march = Bound(march_blocks, *head, *memory, *last, 1, 1)

    def __getstate__(self) -> dict[str, Any]:
        # the tables hold addresses of this process
        return {"given": self._given, "rows": (self._y, self._state, self._counts, self._control)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        system, step, members, parameters, method = state["given"]
        self.__init__(system, step, members, parameters=parameters, method=method)  # type: ignore[misc]
        for own, kept in zip((self._y, self._state, self._counts, self._control), state["rows"], strict=True):
            own[:] = kept

    # ------------------------------------------------------------ states

    @property
    def t(self) -> float:
        """The time [s], which all members share."""
        return float(self._state[0, STATE.t])

    def _states(self) -> np.ndarray:
        """A copy of the states of all members, (members, numbers)."""
        blocks = len(self._y)
        return self._y.reshape(blocks, -1, WIDTH).transpose(0, 2, 1).reshape(blocks * WIDTH, -1)[: self.members]

    @property
    def q(self) -> np.ndarray:
        """Coordinates of all joints, (members, nq)."""
        return self.coordinates()[0]

    @property
    def v(self) -> np.ndarray:
        """Velocities of all joints, (members, nv)."""
        return self.coordinates()[1]

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """q and v."""
        q, v, _ = self.dynamics.split(self._states())
        return q, v

    @property
    def work(self) -> np.ndarray:
        """Work that forces which are not conservative have done since the start of each member [J], (members,)."""
        return self._states()[:, -1]

    def reset(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, *, members: ArrayLike | None = None
    ) -> BatchSimulation:
        """Set the states of some members (their numbers, or a mask; default: all, at time 0) to q and v: one state for
        all of them, or a row for each. By default neutral and at rest. Their inputs are zero then."""
        blocks, states = len(self._y), self._y.reshape(len(self._y), -1, WIDTH)
        if members is None:
            chosen = np.arange(self.members)
        else:
            chosen = np.asarray(members)
            chosen = np.flatnonzero(chosen) if chosen.dtype == bool else self._numbers(chosen)
        rows = self._checked(len(chosen), q, v)
        if members is None:
            self._state[:], self._counts[:] = 0.0, 0
            self._state[:, STATE.h], self._state[:, STATE.old_error] = self.size, 1.0
            beyond = np.repeat(rows[-1:], WIDTH * blocks - self.members, axis=0)
            chosen, rows = np.arange(WIDTH * blocks), np.concatenate([rows, beyond])
        block, lane = np.divmod(chosen, WIDTH)
        states[block, :, lane], self._inputs[block, :, lane] = rows, 0.0
        self._stale = True
        return self

    def _numbers(self, chosen: np.ndarray) -> np.ndarray:
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or ((chosen < 0) | (chosen >= self.members)).any():
            raise ValueError(
                f"{CALLER}.reset: members is {chosen}; expected numbers from 0 to {self.members - 1}, or a mask"
            )
        return chosen

    def _checked(self, count: int, q: ArrayLike | None, v: ArrayLike | None) -> np.ndarray:
        """States (count, numbers) of q and v."""
        nq, nv, free, tables = self.mechanism.nq, self.mechanism.nv, self.dynamics.free, self.mechanism.tables
        rows = np.tile(self._neutral, (count, 1))
        for name, value, at in (("q", q, slice(nq)), ("v", v, slice(nq, nq + nv))):
            if value is not None:
                found = np.asarray(value, dtype=float)
                if found.shape not in ((at.stop - (at.start or 0),), rows[:, at].shape):
                    raise ValueError(
                        f"{CALLER}: {name} has shape {found.shape}; expected one state, or {rows[:, at].shape}"
                    )
                rows[:, at] = found
        if q is None and v is None:
            return rows
        if count and (nq != nv or not np.isfinite(rows).all()):  # quaternions, or an error
            tables.check_q(CALLER, rows[:, :nq])
            tables.check_v(CALLER, "v", rows[:, nq : nq + nv])
        if free:
            rows[:, nq : nq + nv] = free.from_body(rows[:, :nq], rows[:, nq : nq + nv])
        return rows

    # ------------------------------------------------------------ going

    def step(self, u: ArrayLike | None = None, steps: int = 1) -> BatchSimulation:
        """Take steps under inputs u, (members, inputs) or (inputs,) for all, held; as before if they are not given."""
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
            raise ValueError(f"{CALLER}.step: steps is {steps!r}; expected a positive whole number")
        if u is not None:
            self._put(np.asarray(u, dtype=float))
        with self.dynamics.calling():
            self._march[-2], self._march[-1] = int(self._stale), int(steps)
            self._march.call()
            self._stale = False
        if (self._counts[:, TALLY.status] != RUNNING).any():
            self._refuse()
        return self

    def _put(self, u: np.ndarray) -> None:
        shape = (self.members, self.actuation.inputs)
        if u.shape not in (shape, shape[1:]):
            raise ValueError(f"{CALLER}.step: the input has shape {u.shape}; expected {shape} or {shape[1:]}")
        if not np.isfinite(u).all():
            bad = np.argwhere(~np.isfinite(np.broadcast_to(u, shape)))[0]
            raise ValueError(f"{CALLER}.step: input {bad[1]} of member {bad[0]} is not finite")
        forces = self.actuation.along(u)
        if forces.ndim == 1:
            forces = np.broadcast_to(forces, (self.members, self.mechanism.nv))
        blocks = len(self._y)
        if self.members == blocks * WIDTH:
            self._inputs[:] = forces.reshape(blocks, WIDTH, -1).transpose(0, 2, 1)
        else:
            at = np.arange(self.members)
            self._inputs[at // WIDTH, :, at % WIDTH] = forces
        self._stale = True

    def _refuse(self) -> None:
        """Name the four among which one cannot go on."""
        block = int(np.argmax(self._counts[:, TALLY.status] != RUNNING))
        last, t = min(WIDTH * block + WIDTH, self.members) - 1, self._state[block, STATE.t]
        raise RuntimeError(
            f"{CALLER}: one of the members {WIDTH * block} to {last} cannot go on at t = {t:.6g}: "
            "its state is not finite, or a step turns it too far; reset it, or take a shorter step"
        )


def _room(blocks: int, size: int) -> np.ndarray:
    """Rows of numbers of lanes, (blocks, size), each aligned."""
    return buffer(blocks * (size // WIDTH)).reshape(blocks, size)
