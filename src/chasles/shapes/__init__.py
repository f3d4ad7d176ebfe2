"""Solid shapes: the look of bodies and, with a density, their mass and inertia."""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
