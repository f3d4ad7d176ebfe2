"""What functions of chasles return, to name the types."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
