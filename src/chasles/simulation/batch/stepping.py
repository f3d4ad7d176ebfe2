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
from chasles.simulation.batch.lane_runs import lane_tables, refusal
from chasles.simulation.batch.schedule import structure
from chasles.simulation.batch.variants import Made, MemberTables, Variants, as_values, tree_tables
from chasles.simulation.closed.dynamics import START_TOLERANCE, ClosedDynamics
from chasles.simulation.fixed_steps import step_blocks
from chasles.simulation.motion import motion_stepper
from chasles.simulation.run_task import Task
from chasles.simulation.simulate import plan
from chasles.simulation.stepping import whole

CALLER = "BatchSimulation"
FAR = 1e9  # steps to an end that never comes


class BatchSimulation:
    """Many copies of a system, `members` of them, advanced together by steps of fixed size: `batch.step(u)`.

    `q` (members, nq) and `v` (members, nv) are the current states, which `reset` sets. All members share the time `t`.
    Four members are in the lanes of one register, so systems are in joint coordinates, without laws in Python, rigid
    limits and friction that sticks. With loops, states have to satisfy the constraints, and each step ends on them;
    by default a member starts where `simulate` would. The result of a member does not depend on the
    others. parameters: other
    numbers of the system in each member, (members, ...), as in `simulate_batch`.
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
        if not (np.isfinite(step) and step > 0):
            raise ValueError(f"{CALLER}: step is {step!r}; expected a positive number [s]")
        values = as_values(parameters)
        for name, value in values.items():
            if value.ndim == 0 or len(value) != members:
                raise ValueError(f"{CALLER}: parameter {name!r} has shape {value.shape}; expected ({members}, ...)")
        self._given = system, step, members, dict(parameters or {}), method
        self.members, self.size, variants = int(members), float(step), Variants(system, values)
        task = plan(variants.model(0), (0.0, FAR * self.size), method=method, step=self.size, save="final")
        if reason := refusal(task):
            raise ValueError(f"{CALLER}: this system cannot run on SIMD lanes: {reason}; take Simulation")
        self.dynamics = task.dynamics
        self.mechanism, self.actuation = task.dynamics.mechanism, task.dynamics.actuation()
        with self.dynamics.calling():
            self._lead = motion_stepper(task.dynamics, task.method, task.span, task.state, step=self.size, save="final")
        tables = self._closed(task, variants) if isinstance(self.dynamics, ClosedDynamics) else self._trees(variants)
        if tables is None:
            raise ValueError(f"{CALLER}: the systems of the members differ in more than their numbers")
        for i, error in tables.wrong.items():
            raise ValueError(f"{CALLER}: member {i}: {error}") from error
        self._calling = self.dynamics.calling()
        self._make(tables.numbers, tables.values)
        self.reset(q, v)

    def _trees(self, variants: Variants) -> MemberTables | None:
        """The tables of trees."""
        neutral = self.mechanism.neutral()
        self._neutral = np.concatenate([neutral, np.zeros(self.mechanism.nv + 1)])[None]
        return tree_tables(variants, self.mechanism, np.tile(neutral, (self.members, 1)))

    def _closed(self, lead: Task, variants: Variants) -> MemberTables | None:
        """The tables of mechanisms with loops, each with its start on the constraints."""
        tasks, form = [lead], structure(lead)
        if variants.values:
            given = {"method": lead.method, "step": self.size, "save": "final"}
            for i in range(1, self.members):
                try:
                    tasks.append(plan(variants.model(i), lead.span, **given))
                except (ValueError, ArithmeticError) as error:
                    return MemberTables(np.empty(0), np.empty(0), {i: error})
                if structure(tasks[-1]) != form:
                    return None
        self._neutral = np.array([task.state for task in tasks])
        self._mechanisms = [task.dynamics.mechanism for task in tasks]
        places = lane_tables(lead.dynamics).places(lead.dynamics.parameters)
        parts = (np.array([task.dynamics.parameters[place] for task in tasks]) for place in places)
        numbers, values = (part if len(tasks) > 1 else np.repeat(part, self.members, axis=0) for part in parts)
        return MemberTables(numbers, values, {})

    def _make(self, numbers: np.ndarray, values: np.ndarray) -> None:
        """The arrays of all members, and the loop on them. Beyond the last member, blocks of four repeat it."""
        tables = lane_tables(self.dynamics)
        march = LaneMarch(self._lead, tables.address, correction=tables.correction)
        space, nv, memory = self._lead.space, self.mechanism.nv, tables.remembered
        index = np.minimum(np.arange(-(-self.members // WIDTH) * WIDTH), self.members - 1)
        nothing = np.zeros((WIDTH, nv))
        alike = (numbers == numbers[0]).all() and (values == values[0]).all() and memory.start == memory.stop
        fours = index[:WIDTH] if alike else index
        packed = [tables.packed(numbers[four], values[four], nothing) for four in fours.reshape(-1, WIDTH)]
        size = packed[0].size
        p = buffer(len(packed) * (size // WIDTH))  # with workspace: one for all that are alike stays in the cache
        p.reshape(-1, size)[:] = packed
        self._states, self._forces = np.zeros((space.size, len(index))), np.zeros((nv, len(index)))
        self._held, self._status = np.zeros(len(index), dtype=bool), np.zeros(len(index), dtype=np.int64)
        self._done, self._given_shape = 0, (self.members, self.actuation.inputs)
        method = (space.table, march.addresses, march.settings, march.real, *self._lead.arrays()[2:])
        room = (self._states, self._forces, self._held, self._status, march.y, march.f0, march.memory)
        self._remembered, kept = p.reshape(-1, size)[:, memory], np.zeros(memory.stop - memory.start)
        self._loop = Bound(step_blocks, *method, *room, march.address, p, size, tables.inputs, memory.start, kept, 0, 1)

    def _forget(self, members: np.ndarray) -> None:
        """Let members begin as others do, without what steps before left."""
        if self._remembered.shape[1]:
            for member in members.tolist():
                self._remembered[member // WIDTH, member % WIDTH :: WIDTH] = 0.0

    def __getstate__(self) -> dict[str, Any]:
        # the tables hold addresses of this process
        return {"given": self._given, "arrays": self._arrays, "done": self._done}

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._states, self._forces, self._remembered

    def __setstate__(self, state: dict[str, Any]) -> None:
        system, step, members, parameters, method = state["given"]
        self.__init__(system, step, members, parameters=parameters, method=method)  # type: ignore[misc]
        for own, given in zip(self._arrays, state["arrays"], strict=True):
            own[:] = given
        self._done = state["done"]

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
            self._states[:, : self.members] = self._checked(np.arange(self.members), q, v).T
            self._states[:, self.members :] = self._states[:, self.members - 1, None]
            self._forces[:], self._done = 0.0, 0
            self._remembered[:] = 0.0
            return self
        chosen = np.asarray(members)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else self._numbers(chosen)
        self._states[:, chosen], self._forces[:, chosen] = self._checked(chosen, q, v).T, 0.0
        self._forget(chosen)
        return self

    def _numbers(self, chosen: np.ndarray) -> np.ndarray:
        good = chosen.dtype.kind in "iu" and chosen.ndim == 1
        if not good or (chosen.size and chosen.astype(np.uint64).max() >= self.members):  # those below 0 are large
            raise ValueError(
                f"{CALLER}.reset: members is {chosen}; expected numbers from 0 to {self.members - 1}, or a mask"
            )
        return chosen

    def _checked(self, chosen: np.ndarray, q: ArrayLike | None, v: ArrayLike | None) -> np.ndarray:
        """States (members, numbers) of q and v of some members."""
        nq, nv, free, tables = self.mechanism.nq, self.mechanism.nv, self.dynamics.free, self.mechanism.tables
        count = len(chosen)
        rows = np.empty((self._neutral.shape[1], count)).T  # as the states are
        rows[:] = self._neutral if len(self._neutral) == 1 else self._neutral[chosen]
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
        self._require_constraints(chosen, np.ascontiguousarray(rows[:, :nq]), np.ascontiguousarray(rows[:, nq:-1]))
        if free:
            rows[:, nq : nq + nv] = free.from_body(rows[:, :nq], rows[:, nq : nq + nv])
        return rows

    def _require_constraints(self, chosen: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """ValueError for a state that does not satisfy the constraints of its member."""
        if not isinstance(self.dynamics, ClosedDynamics) or not len(chosen):
            return
        off = [np.empty(0)] * 2
        if len(self._mechanisms) == 1:
            off = list(self.mechanism.constraint_violation(q, v, scaled=True)[:2])
        else:
            own = [self._mechanisms[i] for i in chosen.tolist()]
            each = [one.constraint_violation(*row, scaled=True) for one, *row in zip(own, q, v, strict=True)]
            off = [np.array([one[level] for one in each]) for level in range(2)]
        for what, amounts in zip(("q", "v"), off, strict=True):
            if not (amounts <= START_TOLERANCE).all():
                k, worst = np.unravel_index(np.argmax(np.nan_to_num(amounts, nan=np.inf)), amounts.shape)
                name = self.mechanism.constraint_names[int(worst)]
                raise ValueError(
                    f"{CALLER}: {what} of member {chosen[k]} violates {name!r} by {amounts[k, worst]:.3g} of its size; "
                    "system.compile().assemble(q) gives coordinates that satisfy all constraints, and "
                    "consistent_velocities(q, v) such velocities"
                )

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
