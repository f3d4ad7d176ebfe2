"""The motion of a tree on dual numbers: the same field as `tree_motion`, with derivatives in three directions.

State, numbers of the mechanism, numbers of the forces and control are all duals, so a direction may be any mixture of
initial state, control and parameters. Laws of forces are compiled for duals where they can be, else differenced.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from chasles.force.law_tangent import DUALS, LawTangent
from chasles.force.table import FORCE, FORCES
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, NUMBERS, address_of, as_integer_array
from chasles.kernel.dual import TANGENTS, as_duals, dual_of
from chasles.kernel.lanes import WIDTH, buffer
from chasles.kernel.late import carray
from chasles.kernel.policy import native
from chasles.model.law import Law
from chasles.relative.force import act
from chasles.relative.mechanism import Mechanism
from chasles.simulation.tree import dependent_motion
from chasles.simulation.tree.motion import PART, array_sizes, rates, work_size

_POINTER, _INTEGER = ctypes.POINTER(ctypes.c_double), ctypes.c_int64
_FIELD = ctypes.CFUNCTYPE(None, ctypes.c_double, *(_POINTER,) * 3, *(_INTEGER,) * 3)


@native
def tree_tangent(t, y, p, out, y_size, p_size, out_size):
    """`tree_motion` on duals; p as `TangentTables` packs it."""
    packed = carray(p, WIDTH * p_size)
    integers = as_integer_array(packed)
    topology, table = (
        integers[PART.size : integers[PART.table]],
        integers[integers[PART.table] : integers[PART.numbers]],
    )
    numbers = as_duals(packed[integers[PART.numbers] : integers[PART.values]])
    values = as_duals(packed[integers[PART.values] : integers[PART.control]])
    control = as_duals(packed[integers[PART.control] : integers[PART.work]])
    space = as_duals(packed[integers[PART.work] :])
    tables = (topology, numbers, table, values, control)
    free = integers[PART.free] != 0
    rates(t, integers, tables, space, free, carray(y, y_size), carray(out, out_size), dual_of(0.0))


@native
def dependent_tangent(t, y, p, out, y_size, p_size, out_size):
    """`dependent_motion` on duals."""
    packed = carray(p, WIDTH * p_size)
    integers = as_integer_array(packed)
    numbers = as_duals(packed[integers[PART.numbers] : integers[PART.values]])
    table = integers[integers[PART.table] : integers[PART.numbers]]
    values = as_duals(packed[integers[PART.values] : integers[PART.control]])
    control = as_duals(packed[integers[PART.control] : integers[PART.work]])
    space = as_duals(packed[integers[PART.work] :])
    tables = (*dependent_motion.integer_tables(integers), numbers, table, values, control)
    free = integers[PART.free] != 0
    dependent_rates(t, integers, tables, space, free, carray(y, y_size), carray(out, out_size), dual_of(0.0))


dependent_rates = dependent_motion.rates


@cache
def tangent_address(dependent: bool = False) -> int:
    """Address of `tree_tangent` or `dependent_tangent`, compiled now or loaded from the cache."""
    function = dependent_tangent if dependent else tree_tangent
    return address_of(function, NUMBER, DUALS, NUMBERS, DUALS, *(INTEGER,) * 3)


@cache
def _act_address() -> int:
    """Address of `act` on duals."""
    return address_of(act, NUMBER, INTEGERS, DUALS, INTEGERS, *(DUALS,) * 8, INTEGERS)


def put_tangents(rows: np.ndarray, laws: Sequence[Law], tangents: Sequence[LawTangent]) -> None:
    """Call the derivatives of laws where a table of forces calls the laws; several forces may share one."""
    by_address = {law.address: tangent.address for law, tangent in zip(laws, tangents, strict=True)}
    with_law = rows[:, FORCE.law] != 0
    rows[with_law, FORCE.law] = [by_address[int(address)] for address in rows[with_law, FORCE.law]]


class TangentTables:
    """The parameters of `tree_tangent` for a mechanism, or of `dependent_tangent` if joints follow others.

    Integers first (head, topology, table of forces), then duals (numbers, values of forces, control, workspace), from
    an aligned place on. `laws`: the derivatives of the forces' laws, kept alive here. `free`: whether free
    joints have the velocities of their positions.
    """

    def __init__(self, mechanism: Mechanism, free: bool = False):
        acting, table = mechanism.tables.acting, mechanism.tables.acting.table.copy()
        self.laws = [LawTangent(law) for law in acting.laws]
        rows = table[FORCES.size :].reshape(-1, FORCE.size)
        put_tangents(rows, acting.laws, self.laws)
        self.dependent = mechanism.tree.dependence is not None
        head_size, sizes, work, parts = (
            PART.size,
            array_sizes(mechanism),
            work_size(mechanism),
            [mechanism.tree.topology],
        )
        if self.dependent:
            head_size, parts = (
                dependent_motion.DEPENDENT_PART.size,
                [*parts, *dependent_motion.integer_parts(mechanism)],
            )
            sizes, work = dependent_motion.array_sizes(mechanism), dependent_motion.work_size(mechanism)
        numbers, ends = mechanism.tables.all_numbers, head_size + np.cumsum([len(part) for part in parts])
        integers = np.concatenate([np.zeros(head_size, dtype=np.int64), *parts, table])
        counts = [len(numbers), len(acting.values), mechanism.nv, work]
        start = -(-len(integers) // 8) * 8
        edges = start + WIDTH * np.cumsum([0, *counts])
        head = {"coordinates": mechanism.nq, "velocities": mechanism.nv, "links": mechanism.tables.links, "free": free}
        head |= {"numbers": edges[0], "values": edges[1], "control": edges[2], "work": edges[3]}
        head |= {"table": ends[-1], "act": 0 if acting.empty else _act_address()}
        for name, value in head.items():
            integers[getattr(PART, name)] = value
        integers[PART.sizes : PART.size] = sizes
        integers[PART.size : head_size] = ends if self.dependent else ()
        self.integers, self.start, self.length = integers, start, int(edges[-1])
        self.constants = np.concatenate([numbers, acting.values])
        self.configuration = mechanism.tables.configuration

    @property
    def address(self) -> int:
        """Of the field on duals."""
        return tangent_address(self.dependent)

    def packed(self, control: np.ndarray, tangents: np.ndarray) -> np.ndarray:
        """A buffer with the tables. tangents: of (numbers, values, control), (count, 3)."""
        p = buffer(-(-self.length // WIDTH))
        p[: len(self.integers)] = self.integers.view(float)
        duals = p[self.start : self.start + WIDTH * len(tangents)].reshape(-1, WIDTH)
        duals[:, 0], duals[:, 1:] = np.concatenate([self.constants, control]), tangents
        return p


def slopes(
    tables: TangentTables,
    t: float,
    q: np.ndarray,
    v: np.ndarray,
    forces: np.ndarray,
    basis: np.ndarray,
    inputs: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations of a tree, and their derivatives along columns of (δ, δv) (2 nv, k) and of forces (nv, inputs)."""
    nq, nv, count = len(q), len(v), basis.shape[1]
    inputs = np.zeros((nv, 0)) if inputs is None else inputs
    state, constants = np.concatenate([q, v, [0.0]]), len(tables.constants)
    seeds, shifts = np.zeros((len(state), count + inputs.shape[1])), np.zeros((constants + nv, count + inputs.shape[1]))
    seeds[:nq, :count] = tables.configuration.lift(q, basis[:nv].T).T
    seeds[nq : nq + nv, :count] = basis[nv:]
    shifts[constants:, count:] = inputs
    rates = evaluated(tables, tables.address, t, state, forces, seeds, shifts, len(state))
    return rates[nv : 2 * nv, 0], rates[nv : 2 * nv, 1:]


class Tables(Protocol):
    """What the fields on duals read."""

    def packed(self, control: np.ndarray, tangents: np.ndarray) -> np.ndarray: ...


def evaluated(
    tables: Tables,
    address: int,
    t: float,
    state: np.ndarray,
    control: np.ndarray,
    seeds: np.ndarray,
    shifts: np.ndarray,
    size: int,
) -> np.ndarray:
    """A field of so many numbers with its derivatives along changes of the state (size, k) and of tables and control
    (count, k): (size, 1 + k)."""
    count = seeds.shape[1]
    parts = [
        _field(tables, address, t, state, control, seeds[:, k : k + TANGENTS], shifts[:, k : k + TANGENTS], size)
        for k in range(0, max(count, 1), TANGENTS)
    ]
    return np.concatenate([parts[0][:, :1], *(part[:, 1:] for part in parts)], axis=1)


def _field(
    tables: Tables,
    address: int,
    t: float,
    state: np.ndarray,
    control: np.ndarray,
    seeds: np.ndarray,
    shifts: np.ndarray,
    size: int,
) -> np.ndarray:
    """The field with its derivatives along up to three directions, (size, 1 + directions)."""
    count = seeds.shape[1]
    y, out, shift = buffer(len(state)), buffer(size), np.zeros((len(shifts), TANGENTS))
    y.reshape(-1, WIDTH)[:, 0], y.reshape(-1, WIDTH)[:, 1 : 1 + count] = state, seeds
    shift[:, :count] = shifts
    p = tables.packed(control, shift)
    pointers = (array.ctypes.data_as(_POINTER) for array in (y, p, out))
    _FIELD(address)(t, *pointers, len(state), p.size // WIDTH, size)
    return out.reshape(-1, WIDTH)[:, : 1 + count].copy()
