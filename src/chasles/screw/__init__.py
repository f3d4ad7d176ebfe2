"""Screws, twists and wrenches in four representations, inertia of rigid bodies, and solid shapes.

`axis` (a screw as line, pitch and magnitude; the theorems of Chasles and Poinsot), `reciprocity` (power, reciprocal
systems, rates in moving frames), `representation` (conversions), `newton_euler` (the wrench that a motion needs),
`inertia`, `shape`. The names people use most are here as well. Arrays broadcast over leading axes.
"""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
