"""Time stepping on Lie groups and homogeneous spaces. Knows nothing of bodies."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
