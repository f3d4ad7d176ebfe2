"""Memory of run-time size, declared once: names of the parts of a flat array, and how many numbers each has.

A declaration gives the offsets in Python and in kernels, so that none is computed by hand. Two kinds:

`Packed` is for tables that are made once: a head of integers (where each part begins, then sizes and addresses), then
the parts, integers as the bits of numbers. Kernels get the parts by name from the array alone.

    TABLE = Packed("TABLE", {"rows": int, "values": float}, ("n_rows", "call"), addresses=("call",))
    array = TABLE.pack(rows=..., values=..., n_rows=3, call=address)        in Python
    table_of = TABLE.parts("Table", "rows", "values", n="n_rows")           in a kernel: table_of(array).n

`Regions` is for workspaces and states: the counts are expressions of the sizes in such a head. They hold numbers alone,
so that a state may be pickled or saved; of a packed array `portable` says what may.

    WORK = Regions("Work", x=6 * TABLE.sizes.n_rows, spare=4)
    WORK.size(array), WORK.split(work, array).x                             in Python
    work_of = WORK.views; work_of(work, array).x                            in a kernel

In kernels a part is an array of its own, made of a pointer and a count: cheaper to compile than a slice. In checked
mode (`CHASLES_CHECK=1`) a part that is not within the array raises, and so does each access outside of a part.
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from chasles.kernel.late import Late, late
from chasles.kernel.policy import COMPILED
from chasles.kernel.workspace import layout

STORED = {float: np.float64, int: np.int64}
PARTS_OF, LANE_PARTS_OF, VIEWS_OF, VIEWS_OF_DUALS, TOTAL_OF, JOIN_INTO = late(
    "chasles.kernel.code.memory", "parts_of", "lane_parts_of", "views_of", "views_of_duals", "total_of", "join_into"
)


class Count:
    """A number of elements: a sum of sizes times factors. `terms` has the place of each size in its head; the constant
    is at place -1."""

    def __init__(self, terms: Mapping[int, int]):
        self.terms = dict(terms)

    def __add__(self, other: Count | int) -> Count:
        total = dict(self.terms)
        for place, factor in count_of(other).terms.items():
            total[place] = total.get(place, 0) + factor
        return Count(total)

    __radd__ = __add__

    def __mul__(self, factor: int) -> Count:
        return Count({place: factor * old for place, old in self.terms.items()})

    __rmul__ = __mul__

    def of(self, head: Any) -> int:
        """The number itself, by the sizes in a head."""
        return sum(factor * (1 if place < 0 else int(head[place])) for place, factor in self.terms.items())


def count_of(count: Count | int) -> Count:
    return count if isinstance(count, Count) else Count({-1: count})


# ---------------------------------------------------------------- declarations


class Packed:
    """Parts of a packed array by name, with the type of their elements; `values`: integers in the head beside them,
    `addresses`: those values, and parts that hold some, which mean nothing in another process."""

    def __init__(
        self, name: str, parts: Mapping[str, type], values: tuple[str, ...] = (), addresses: tuple[str, ...] = ()
    ):
        self.name, self.elements, self.values, self.addresses = name, dict(parts), values, addresses
        self.head = layout(name, **dict.fromkeys((*parts, "end", *values), 1))
        self.sizes = SimpleNamespace(**{value: Count({getattr(self.head, value): 1}) for value in values})

    def pack(self, **given: Any) -> np.ndarray:
        """The array of all parts and values; of integers if all parts are, else of numbers."""
        if missing := {*self.elements, *self.values} ^ {*given}:
            raise ValueError(f"{self.name}: expected {[*self.elements, *self.values]}, not {sorted(missing)}")
        stored = np.int64 if all(kind is int for kind in self.elements.values()) else np.float64
        parts = [
            np.ascontiguousarray(given[name], dtype=STORED[kind]).reshape(-1).view(stored)
            for name, kind in self.elements.items()
        ]
        edges = self.head.size + np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        head = np.array([*edges, *(given[name] for name in self.values)], dtype=np.int64)
        return np.concatenate([head.view(stored), *parts])

    def part(self, array: np.ndarray, name: str) -> np.ndarray:
        """A part of a packed array, in Python."""
        at = getattr(self.head, name)
        begin, end = array.view(np.int64)[at : at + 2]
        return array[begin:end].view(STORED[self.elements[name]])

    def portable(self, array: np.ndarray) -> np.ndarray:
        """A copy that may leave this process: values that are addresses, and parts that hold some, are zero."""
        copy = array.copy()
        for name in self.addresses:
            if name in self.elements:
                self.part(copy, name)[:] = 0
            else:
                copy.view(np.int64)[getattr(self.head, name)] = 0
        return copy

    def parts(self, name: str, *names: str, **values: str) -> Any:
        """A kernel that takes a packed array apart: these parts, and of the head `values` under other names."""
        made: Any = namedtuple  # the type is made at run time
        bundle, head = made(name, [*names, *values]), self.head

        if not COMPILED:

            def in_python(array):
                return bundle(
                    *(self.part(array, part) for part in names),
                    *(int(array.view(np.int64)[getattr(head, value)]) for value in values.values()),
                )

            return in_python

        return Late(
            lambda: PARTS_OF.made({part: self.elements[part] for part in names}, values, head, bundle),
            f"parts of {self.name}",
        )

    def lane_parts(self, name: str, *names: str, **values: str) -> Any:
        """The same for (integers of one, lanes of all) of packed arrays that differ in their numbers alone."""
        made: Any = namedtuple  # the type is made at run time
        bundle, head = made(name, [*names, *values]), self.head
        return Late(
            lambda: LANE_PARTS_OF.made({part: self.elements[part] for part in names}, values, head, bundle),
            f"lanes of {self.name}",
        )


class Regions:
    """Regions of an array of numbers, one after the other; counts are numbers or expressions of the sizes in a head."""

    def __init__(self, name: str, /, **counts: Count | int):
        made: Any = namedtuple  # the type is made at run time
        self.name, self.counts = name, {region: count_of(count) for region, count in counts.items()}
        self.bundle, self.count = made(name, list(counts)), sum(self.counts.values(), Count({}))
        self.views = self._views() if COMPILED else self.split
        self.total = self._total() if COMPILED else self.size  # the size, in kernels

    def size(self, head: Any) -> int:
        """Numbers in all regions."""
        return self.count.of(head)

    def nbytes(self, head: Any) -> int:
        """Bytes of all regions."""
        return np.dtype(float).itemsize * self.size(head)

    def offset(self, region: str, head: Any) -> int:
        """Where a region begins."""
        names = list(self.counts)
        return sum(self.counts[name].of(head) for name in names[: names.index(region)])

    def split(self, array: np.ndarray, head: Any) -> Any:
        """The regions of an array, by name: views."""
        edges = np.concatenate([[0], np.cumsum([count.of(head) for count in self.counts.values()])])
        if edges[-1] > len(array):
            raise ValueError(f"{self.name}: {len(array)} numbers; expected {edges[-1]}")
        return self.bundle(*(array[begin:end] for begin, end in itertools.pairwise(edges)))

    def filled(self, head: Any, **values: Any) -> np.ndarray:
        """An array with values for some regions; the others are zero."""
        array = np.zeros(self.size(head))
        regions = self.split(array, head)
        for name, value in values.items():
            getattr(regions, name)[:] = np.ravel(value)
        return array

    def _views(self) -> Any:
        """A kernel that takes (array, head) and gives the regions."""

        return Late(lambda: VIEWS_OF.made(self.counts, self.bundle), f"views of {self.name}")

    def _total(self) -> Any:
        """A kernel that takes a head and gives how many numbers there are."""

        return Late(lambda: TOTAL_OF.made(self.count), f"size of {self.name}")


def joined(name: str, values: str, *declared: Regions) -> Any:
    """A kernel that makes one named tuple of a tuple of values, with these names, and the regions of declarations:

    at_hand = joined("AtHand", "t h", WORK)     in a kernel: at_hand((t, h), work_of(work, head)).x
    """
    made: Any = namedtuple  # the type is made at run time
    bundle = made(name, [*values.split(), *itertools.chain.from_iterable(regions.counts for regions in declared)])
    if not COMPILED:
        return lambda values, *regions: bundle(*values, *itertools.chain.from_iterable(regions))

    return Late(lambda: JOIN_INTO.made(bundle), f"joined {name}")
