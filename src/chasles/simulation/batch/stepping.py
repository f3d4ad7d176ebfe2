"""`BatchSimulation`: many copies of a system advanced together, one step at a time, on SIMD lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.lane_march import LaneMarch
from chasles.integrate.status import NOT_FINITE, RUNNING
from chasles.kernel.bound import Bound
from chasles.kernel.lanes import WIDTH, buffer
from chasles.simulation.batch.lane_runs import refusal
from chasles.simulation.batch.variants import Made, Variants, as_values, tree_tables
from chasles.simulation.fixed_steps import step_blocks
from chasles.simulation.motion import motion_stepper
from chasles.simulation.simulate import plan
from chasles.simulation.stepping import whole
from chasles.simulation.tree.lanes import LaneTables, lanes_address

CALLER = "BatchSimulation"
FAR = 1e9  # steps to an end that never comes


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
        self._calling = self.dynamics.calling()
        self._neutral = np.concatenate([self.mechanism.neutral(), np.zeros(self.mechanism.nv + 1)])
        self._make(tables.numbers, tables.values)
        self.reset(q, v)

    def _make(self, numbers: np.ndarray, values: np.ndarray) -> None:
        """The arrays of all members, and the loop on them. Beyond the last member, blocks of four repeat it."""
        march, space, nv = LaneMarch(self._lead, lanes_address()), self._lead.space, self.mechanism.nv
        tables = LaneTables(self.mechanism, self.dynamics.free is not None)
        index = np.minimum(np.arange(-(-self.members // WIDTH) * WIDTH), self.members - 1)
        nothing = np.zeros((WIDTH, nv))
        alike = (numbers == numbers[0]).all() and (values == values[0]).all()
        fours = index[:WIDTH] if alike else index
        packed = [tables.packed(numbers[four], values[four], nothing) for four in fours.reshape(-1, WIDTH)]
        size = packed[0].size
        p = buffer(len(packed) * (size // WIDTH))  # with workspace: one for all that are alike stays in the cache
        p.reshape(-1, size)[:] = packed
        self._states, self._forces = np.zeros((space.size, len(index))), np.zeros((nv, len(index)))
        self._held, self._status = np.zeros(len(index), dtype=bool), np.zeros(len(index), dtype=np.int64)
        self._done, self._given_shape = 0, (self.members, self.actuation.inputs)
        method = (space.table, march.addresses, march.settings, march.real, *self._lead.arrays()[2:])
        memory = (self._states, self._forces, self._held, self._status, march.y, march.f0, march.memory)
        self._loop = Bound(step_blocks, *method, *memory, march.address, p, size, tables.edges[2], 0, 1)

    def __getstate__(self) -> dict[str, Any]:
        # the tables hold addresses of this process
        return {"given": self._given, "arrays": (self._states, self._forces), "done": self._done}

    def __setstate__(self, state: dict[str, Any]) -> None:
        system, step, members, parameters, method = state["given"]
        self.__init__(system, step, members, parameters=parameters, method=method)  # type: ignore[misc]
        (self._states[:], self._forces[:]), self._done = state["arrays"], state["done"]

    # ------------------------------------------------------------ states

    @property
    def t(self) -> float:
        """The time [s], which all members share."""
        return self._done * self.size

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
        q, v, _ = self.dynamics.split(self._states[:, : self.members].copy().T)
        return q, v

    @property
    def work(self) -> np.ndarray:
        """Work that forces which are not conservative have done since the start of each member [J], (members,)."""
        return self._states[-1, : self.members].copy()

    def reset(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, *, members: ArrayLike | None = None
    ) -> BatchSimulation:
        """Set the states of some members (their numbers, or a mask; default: all, at time 0) to q and v: one state for
        all of them, or a row for each. By default neutral and at rest. Their inputs are zero then."""
        if members is None:
            self._states[:, : self.members] = self._checked(self.members, q, v).T
            self._states[:, self.members :] = self._states[:, self.members - 1, None]
            self._forces[:], self._done = 0.0, 0
            return self
        chosen = np.asarray(members)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else self._numbers(chosen)
        self._states[:, chosen], self._forces[:, chosen] = self._checked(len(chosen), q, v).T, 0.0
        return self

    def _numbers(self, chosen: np.ndarray) -> np.ndarray:
        good = chosen.dtype.kind in "iu" and chosen.ndim == 1
        if not good or (chosen.size and chosen.astype(np.uint64).max() >= self.members):  # those below 0 are large
            raise ValueError(
                f"{CALLER}.reset: members is {chosen}; expected numbers from 0 to {self.members - 1}, or a mask"
            )
        return chosen

    def _checked(self, count: int, q: ArrayLike | None, v: ArrayLike | None) -> np.ndarray:
        """States (count, numbers) of q and v."""
        nq, nv, free, tables = self.mechanism.nq, self.mechanism.nv, self.dynamics.free, self.mechanism.tables
        rows = np.empty((len(self._neutral), count)).T  # as the states are
        rows[:] = self._neutral
        for name, value, first, size in (("q", q, 0, nq), ("v", v, nq, nv)):
            if value is not None:
                found = np.asarray(value, dtype=float)
                if found.shape not in ((count, size), (size,)):
                    raise ValueError(f"{CALLER}: {name} has shape {found.shape}; expected one state, or {count, size}")
                rows[:, first : first + size] = found
        if q is None and v is None:
            return rows
        if count and (nq != nv or not np.isfinite(rows).all()):  # quaternions, or an error
            tables.check_q(CALLER, rows[:, :nq])
            tables.check_v(CALLER, "v", rows[:, nq : nq + nv])
        if free:
            rows[:, nq : nq + nv] = free.from_body(rows[:, :nq], rows[:, nq : nq + nv])
        return rows

    # ------------------------------------------------------------ going

    def step(self, u: ArrayLike | None = None, steps: int = 1, *, held: np.ndarray | None = None) -> BatchSimulation:
        """Take steps under inputs u, (members, inputs) or (inputs,) for all, held; as before if they are not given.
        held: a mask of members that stay where they are meanwhile."""
        if type(steps) is not int or steps < 1:
            steps = whole(f"{CALLER}.step", steps)
        if u is not None:
            self._put(np.asarray(u, dtype=float))
        self._held[: self.members] = False if held is None else held
        loop = self._loop
        loop[-2], loop[-1] = self._done, steps
        with self._calling:
            loop.call()
        self._done += steps
        if self._status.any():
            self._refuse()
        return self

    def _put(self, u: np.ndarray) -> None:
        if u.shape not in (self._given_shape, self._given_shape[1:]):
            shape = self._given_shape
            raise ValueError(f"{CALLER}.step: the input has shape {u.shape}; expected {shape} or {shape[1:]}")
        if not np.isfinite(u).all():
            bad = np.argwhere(~np.isfinite(np.broadcast_to(u, self._given_shape)))[0]
            raise ValueError(f"{CALLER}.step: input {bad[1]} of member {bad[0]} is not finite")
        self._forces.T[: self.members] = self.actuation.along(u)

    def _refuse(self) -> None:
        """Name the first member that cannot go on."""
        member = int(np.argmax(self._status != RUNNING))
        what = "its state is not finite" if self._status[member] == NOT_FINITE else "a step turns it too far"
        raise RuntimeError(
            f"{CALLER}: member {member} cannot go on at t = {self.t:.6g}: {what}; it is where it was before that step, "
            "and the others went on: reset it, or take a shorter step"
        )
