"""Optimal control on the group: `chasles.plan.optimize`, with costs and limits by name."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
