"""Rows of arrays to lanes and back: four rows at a time, transposed in registers."""

from __future__ import annotations

from chasles.kernel.late import late

load_rows, load_rows_at, store_rows = late("chasles.kernel.code.rows", "load_rows", "load_rows_at", "store_rows")
