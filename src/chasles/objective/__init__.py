"""Scalars of trajectories, for `chasles.gradient`."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
