"""Meshes of collocation that are refined: where a motion is none of the system between nodes, intervals are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.plan.account import Account, always_of, names_of
from chasles.plan.quantities import CALLER
from chasles.plan.terms import MotionLimit
from chasles.relative.loop.closed import ClosedMechanism

if TYPE_CHECKING:
    from chasles.plan.collocation_program import Collocation


def polynomials(points: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values (..., points) at places of the polynomials that are one at one of the points and zero at the others."""
    powers = np.arange(len(points))
    found: np.ndarray = at[..., None] ** powers @ np.linalg.inv(points[:, None] ** powers)
    return found


class Refined:
    """A motion with some intervals cut in two: a search on the finer mesh begins with it. Accelerations and inputs are
    the polynomials of the interval, and states in the middle follow from them."""

    def __init__(self, task: Collocation, z: np.ndarray, cut: np.ndarray):
        task.place(z)
        interval, h, count = task.interval, task.h[:, None], task.count
        parent = np.repeat(np.arange(count), 1 + cut)
        second = np.diff(parent, prepend=-1) == 0  # half of an interval
        width = np.where(cut[parent], 0.5, 1.0)
        self.mesh = np.append(task.mesh[:-1][parent] + 0.5 * second * task.shares[parent], 1.0)
        powers = np.arange(1, task.stages + 1)
        middle = 0.5**powers / powers @ np.linalg.inv(interval.c[:, None] ** (powers - 1))  # integrals to the middle
        way, rise = (h * np.einsum("j,kjn->kn", middle, x) for x in (interval.w, interval.alpha))
        halves = task.mechanism.retract(task.q[:-1], way), task.v[:-1] + rise
        if isinstance(task.mechanism, ClosedMechanism):  # as far off the constraints as the error of half an interval
            times = task.t[:-1] + 0.5 * task.h
            for k in np.flatnonzero(cut):
                halves[0][k] = task.mechanism.assemble(halves[0][k], float(times[k]))
        self.q, self.v = (
            np.concatenate([np.where(second[:, None], half[parent], x[:-1][parent]), x[-1:]])
            for half, x in zip(halves, (task.q, task.v), strict=True)
        )
        values = polynomials(interval.c, 0.5 * second[:, None] + width[:, None] * interval.c)
        parts = (np.einsum("cij,cjn->cin", values, x[parent]) for x in (interval.alpha, task.u))
        self.inner = np.concatenate([x.reshape(len(parent), -1) for x in parts], axis=1)
        self.rest = z[task.time :]


def require_refinement(refine: Any) -> None:
    """Refuse a largest defect that means nothing."""
    wrong = isinstance(refine, bool) or not isinstance(refine, int | float | np.number) or not 0 < refine < 1
    if refine is not None and wrong:
        raise ValueError(f"{CALLER}: refine is {refine!r}; expected the largest defect between 0 and 1, such as 1e-3")


def require_between(account: Account, refine: float | None) -> None:
    """ValueError for what is given at each node alone: there is no cost between nodes, and other meshes have others."""
    for wish in account.wishes:
        if always_of(wish) and np.ndim(getattr(wish.quantity, "target", ())) == 2:
            raise ValueError(
                f"{CALLER}: {wish.quantity.name} has a target for each node, and collocate tracks between nodes too; "
                "give a function of time, or the nodes by when="
            )
    for one in account.restraints:
        given = (getattr(one.limit.quantity, "target", ()), one.limit.low, one.limit.high)
        if refine is not None and always_of(one.limit) and max(map(np.ndim, given)) == 2:
            raise ValueError(
                f"{CALLER}: {one.limit.quantity.name} is limited by numbers for each node, and refine adds nodes; "
                "give one number, a function of time, or the nodes by when="
            )


def always_limits(account: Account) -> list[tuple[str, MotionLimit]]:
    """Limits that hold along the whole motion, with their names; not those of numbers for each node."""
    every = [(name, one.limit) for name, one in zip(names_of(account.restraints), account.restraints, strict=True)]
    return [
        (name, limit)
        for name, limit in every
        if always_of(limit) and max(map(np.ndim, (getattr(limit.quantity, "target", ()), limit.low, limit.high))) < 2
    ]
