"""What a mechanism computes beside the everyday, in groups one level down: `mechanism.derivatives` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasles.relative.mechanism import Mechanism


class Group:
    """Methods of one mechanism. Arrays have any leading axes, as everywhere."""

    __slots__ = ("_mechanism", "_tables")

    def __init__(self, mechanism: Mechanism):
        self._mechanism, self._tables = mechanism, mechanism.tables

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._mechanism!r}>"
