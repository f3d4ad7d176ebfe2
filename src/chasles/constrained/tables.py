"""The structure of the equations of a step as one packed array (`structure` makes it), and the sizes of workspaces."""

from __future__ import annotations

from chasles.kernel.memory import Packed
from chasles.kernel.workspace import layout

# a body: whether it is explicit, then its nodes; its first place in the table of slots; what its block looks like
PLACE = layout("PLACE", explicit=1, angular=1, linear=1, slots=1, kind=1)
# blocks: angular and linear part do not meet and the linear one is a number; the angular motion pushes the linear one;
# anything
SEPARATE, LOWER, FULL = range(3)
# tiles of an element between two bodies: angular ones of both, and across (row of the first, row of the second); the
# others are the same, with the other sign, in the column of the other body. Nine numbers of twelve: read in the vectors
# in which they are written
ELEMENT = layout(
    "ELEMENT",
    **dict.fromkeys(("first", "second", "across", "back", "al_first", "al_second", "la_first", "la_second", "ll"), 12),
)
# of Newton's matrix, what each body has on the diagonal: angular or linear row, angular or linear column
BLOCK = layout("BLOCK", aa=9, al=9, la=9, ll=9)
# the packed structure, with the sizes of workspaces and states: bodies, tiles, counted angles, nodes and lower tiles of
# the matrix here, nodes of the mechanism's own matrix, slots for states of bodies if forces act; and elements of rods
STRUCTURE = Packed(
    "STRUCTURE",
    {
        **dict.fromkeys(("places", "nodes", "slots", "column", "row", "first", "operations"), int),
        **dict.fromkeys(("coupled", "unmeasured", "islands"), int),
    },
    ("n_bodies", "n_tiles", "n_angles", "n_nodes", "n_lower", "n_row_nodes", "n_states", "n_rods"),
)
SIZES = STRUCTURE.sizes
plan_of = STRUCTURE.parts("Plan", *STRUCTURE.elements, n_nodes="n_nodes", n_lower="n_lower", n_rods="n_rods")
