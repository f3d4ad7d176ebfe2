"""Named tuples that kernels pass on by reference (`kernel.code.reference`)."""

from __future__ import annotations

from chasles.kernel.late import late

by_reference, value_of, address = late("chasles.kernel.code.reference", "by_reference", "value_of", "address")
