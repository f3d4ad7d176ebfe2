"""Pictures, the 3D page and the report of a run."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
