"""Lie groups, their coordinate maps and conversions. Every group module has the same function names.

`so2`, `so3`, `s3`, `se2`, `se3`, `pose` (SE(3) as quaternion and position), `so3xr3`, `s3xr3`, `rn`, and `product`
for finite products; `rotation` converts between descriptions of rotations; `transition` has the maps that move absolute
coordinates by local ones; `phi_ad` evaluates any analytic function of ad. Arrays broadcast over leading axes; inside
compiled kernels the same functions take tuples.
"""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
