"""Model files, import of other formats, result files. Loading never runs code."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
