"""Tiles of 3x3 numbers in arrays, worked on in registers."""

from __future__ import annotations

from chasles.kernel.late import late

add_tile, subtract_tile = late("chasles.kernel.code.tile_memory", "add_tile", "subtract_tile")
store_product, subtract_product = late("chasles.kernel.code.tile_memory", "store_product", "subtract_product")
