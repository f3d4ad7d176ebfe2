"""How to look at a scene, as a row of numbers for the kernels."""

from __future__ import annotations

from chasles.kernel.workspace import layout

LOOK = layout(
    "LOOK",
    eye=3,  # [m]
    right=3,  # unit vectors of the image, and into it
    down=3,
    ahead=3,
    focus=1,  # samples
    middle=2,  # of the image, in samples
    sun=3,  # toward it
    up=3,
    shadow=12,  # rows: place on the shadow map, right and down, and height toward the sun, from (x, y, z, 1)
    offset=1,  # along the normal, before a place is looked up there [m]
    ground=1,  # height along `up` [m]; NaN: none
    center=3,  # of the ground
    across=3,  # directions of the grid
    along=3,
    grid=1,  # distance of its lines [m]
    fade=1,  # distance at which the ground is gone [m]
    samples=1,  # per pixel, in each direction
)
FLAT, OUTLINED = 1, 2  # flags of a triangle: drawn in its color as it is; with an outline
