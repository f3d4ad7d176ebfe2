"""Errors and warnings of chasles, to catch them by name."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
