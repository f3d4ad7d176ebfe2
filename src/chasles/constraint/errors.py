"""What can be wrong with constraints."""

from __future__ import annotations


class AssemblyError(ValueError):
    """No state near the given one satisfies all constraints."""


class RedundantConstraintsError(ValueError):
    """Constraints that depend on each other."""
