"""What a mechanism is: bodies, frames, joints and forces in a `System`. Immutable, without state."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
