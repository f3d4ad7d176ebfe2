"""Lanes from rows that lie apart."""

from __future__ import annotations

from chasles.kernel.late import late

gather_rows, lanes_from = late("chasles.kernel.code.gather", "gather_rows", "lanes_from")
