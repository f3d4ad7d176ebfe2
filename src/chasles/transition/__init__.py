"""Models in absolute coordinates, of any origin, on Lie group integrators: mueller2022, and adapters for libraries."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
