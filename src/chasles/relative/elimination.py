"""In which order forward dynamics with followers solves for accelerations: `relative.forward_dependent` follows it.

The articulated-body algorithm solves for each joint's acceleration at its own link. The acceleration of a leader acts
at several links, and is solved for where all of them have met: at the one of these links that carries the others, else
at the link that carries all, or at the ground. From a link of the group up to there it is *open*: the link's equation
has a term for it. This is block elimination along the tree: exact, and O(n w²) if at most w accelerations are open at
a link.

Links without mass between the joints of an element of a rod, whose joints all follow, need no equations of their own.
They are one *segment*, of which the last link has the terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from chasles.kernel.workspace import layout
from chasles.relative.dependence import Dependence
from chasles.relative.tables import HELICAL, LINK, PRISMATIC, REVOLUTE, link_table

# the head: numbers of groups (a leader and its followers), of places (open at a link) and of pairs of open ones that
# have a common coefficient; where the steps at the ground are, and how many
PLAN = layout("PLAN", groups=1, places=1, pairs=1, ground=1, grounded=1)
# of each link: its group (or ORDINARY, or HELD if it follows with ratio zero); how many are open at its joint and where
# the list of them is; steps before its joint, and where they are; the step after it (0: none). Of the last link of a
# segment how many links that has, of the others INNER; in a segment the first link of the same group, in whose room the
# column of the group is, at the last link how many such columns there are, and whether the axis is that of the joint
# before
IN_SEGMENT = {"segment": 1, "column": 1, "columns": 1, "repeated": 1}
LINK_PLAN = layout("LINK_PLAN", group=1, open=1, open_at=1, before=1, before_at=1, after_at=1, **IN_SEGMENT)
OPEN = layout("OPEN", place=1, group=1, up=1)  # up: its place at the parent (-1: none, it is solved for)
# a step solves for a group; then follow an OTHER for each group that it has a coefficient with, and the pairs of these.
# end, back: how long the step is, and the one before it at this link
GROUP_STEP = layout("GROUP_STEP", group=1, place=1, pivot=1, others=1, end=1, back=1)
OTHER = layout("OTHER", group=1, place=1, pair=1)
ORDINARY, HELD = -1, -2
INNER = -1


class GroupElimination(NamedTuple):
    """The plan as a table for kernels, and the numbers of what it needs room for."""

    table: np.ndarray
    sizes: dict[str, int]


class _Planner:
    """Walks from the tips to the ground and notes what is open where."""

    def __init__(self, dependence: Dependence):
        links = link_table(dependence.every.topology)
        self.parents, first = links[:, LINK.parent].tolist(), links[:, LINK.velocity]
        columns, ratios = dependence.column[first], dependence.ratio[first]
        follows = [name in dependence.following for name in dependence.every.joint_of_link]
        led = set(columns[np.array(follows, dtype=bool) & (ratios != 0.0)].tolist())
        self.numbers = {column: k for k, column in enumerate(sorted(led))}
        self.group = [
            (HELD if ratio == 0.0 else self.numbers[column]) if follows[i] else self.numbers.get(column, ORDINARY)
            for i, (column, ratio) in enumerate(zip(columns.tolist(), ratios.tolist(), strict=True))
        ]
        self.total = [self.group.count(k) for k in range(len(self.numbers))]
        self.light, self.repeated = dependence.light.tolist(), dependence.repeated.tolist()
        self.kinds = links[:, LINK.kind].tolist()
        self.children = np.bincount(links[:, LINK.parent] + 1, minlength=len(links) + 1)[1:].tolist()
        self.places: dict[tuple[int, int], int] = {}
        self.pairs: dict[tuple[int, int], int] = {}

    def place(self, link: int, group: int) -> int:
        return self.places.setdefault((link, group), len(self.places))

    def pair(self, one: int, other: int) -> int:
        return self.pairs.setdefault((min(one, other), max(one, other)), len(self.pairs))

    def step(self, link: int, group: int, among: Iterable[int]) -> list[int]:
        """Solve for a group at a link: the others that are open there and have a coefficient with it."""
        others = [k for k in among if k != group and (min(k, group), max(k, group)) in self.pairs]
        found = [group, self.place(link, group), self.pair(group, group), len(others), 0, 0]
        for k in others:
            found += [k, self.place(link, k), self.pair(group, k)]
        for i, k in enumerate(others):
            found += [self.pair(k, m) for m in others[: i + 1]]
        found[GROUP_STEP.end] = len(found)
        return found

    def solve(self, link: int, which: list[int], here: dict[int, int]) -> list[int]:
        """Steps for groups that have met at a link; they are open no longer."""
        found: list[int] = []
        back = 0
        for group in which:
            step = self.step(link, group, here)
            step[GROUP_STEP.back], back = back, len(step)
            found += step
            del here[group]
        return found

    def segment(self, last: int, here: dict[int, int]) -> range:
        """The links of the segment that ends with a link, or this one alone; here: links of each group met so far."""
        first, met = last, dict(here)
        while self.follows(first):
            own = self.group[first]
            met[own] = met.get(own, 0) + 1
            if own >= 0 and met[own] == self.total[own]:  # it is solved for here
                break
            above = self.parents[first]
            if above < 0 or not (self.light[above] and self.children[above] == 1 and self.follows(above)):
                return range(first, last + 1)
            first = above
        return range(last, last + 1)

    def follows(self, link: int) -> bool:
        return self.group[link] != ORDINARY and self.kinds[link] in (REVOLUTE, PRISMATIC, HELICAL)

    def joints(self, segment: range, here: dict[int, int]) -> list[int]:
        """What is open at a segment, its own groups first, with the pairs that its joints give coefficients to."""
        own = list(dict.fromkeys(self.group[i] for i in segment if self.group[i] >= 0))
        listed, found = [*own, *(k for k in here if k not in own)], []
        for k in listed:
            found += [self.place(segment[-1], k), k, -1]
        for i, k in enumerate(own):
            found += [self.pair(k, m) for m in listed[i:]]
        return found

    def joint(self, link: int, here: dict[int, int]) -> list[int]:
        """What is open at a joint, its own group first, with the pairs that the joint gives coefficients to."""
        own, rest = self.group[link], [k for k in here if k != self.group[link]]
        listed = [own, *rest] if own >= 0 else rest
        found: list[int] = []
        for k in listed:
            found += [self.place(link, k), k, -1]
        if own >= 0:
            found += [self.pair(own, k) for k in listed]
        elif own == ORDINARY:
            found += [self.pair(k, m) for i, k in enumerate(listed) for m in listed[: i + 1]]
        return found


def planned(dependence: Dependence) -> GroupElimination:
    """The plan for a tree."""
    planner = _Planner(dependence)
    count = len(planner.parents)
    gathered: list[dict[int, int]] = [{} for _ in range(count + 1)]  # links of each group met so far; last: the ground
    rows, parts, at = np.zeros((count, LINK_PLAN.size), dtype=np.int64), [], PLAN.size + count * LINK_PLAN.size

    def append(part: list[int]) -> int:
        nonlocal at
        parts.extend(part)
        at += len(part)
        return at - len(part)

    for i in range(count - 1, -1, -1):
        if rows[i, LINK_PLAN.segment] == INNER:
            continue
        here, own = gathered[i], planner.group[i]
        met = [k for k, links in here.items() if links == planner.total[k]]
        before_at = append(planner.solve(i, met, here))
        segment = planner.segment(i, here)
        for k in segment:
            if (group := planner.group[k]) >= 0:
                here[group] = here.get(group, 0) + 1
        opened = len(here)
        listed = planner.joint(i, here) if len(segment) == 1 else planner.joints(segment, here)
        after: list[int] = []
        if len(segment) == 1 and own >= 0 and here[own] == planner.total[own]:
            after = planner.solve(i, [own], here)
        parent = planner.parents[segment[0]]
        for k in range(opened):
            if listed[OPEN.size * k + OPEN.group] in here:
                listed[OPEN.size * k + OPEN.up] = planner.place(parent, listed[OPEN.size * k + OPEN.group])
        open_at = append(listed)
        row = own, opened, open_at, len(met), before_at, append(after) if after else 0
        rows[i, : len(row)] = row
        if len(segment) > 1:
            first: dict[int, int] = {}
            for k in segment:
                rows[k, LINK_PLAN.group], rows[k, LINK_PLAN.segment] = planner.group[k], INNER
                rows[k, LINK_PLAN.column] = first.setdefault(planner.group[k], k)
                rows[k, LINK_PLAN.repeated] = k > segment[0] and planner.repeated[k]
            rows[i, [LINK_PLAN.segment, LINK_PLAN.columns]] = len(segment), len(first.keys() - {HELD})
        for k, links in here.items():
            above = gathered[parent]
            above[k] = above.get(k, 0) + links
    left = gathered[-1]
    ground_at, grounded = at, len(left)
    append(planner.solve(-1, list(left), left))
    sizes = {"groups": len(planner.numbers), "places": len(planner.places), "pairs": len(planner.pairs)}
    head = [*sizes.values(), ground_at, grounded]
    table = np.concatenate([np.array(head), rows.ravel(), np.array(parts, dtype=np.int64)]).astype(np.int64)
    return GroupElimination(table, sizes)
