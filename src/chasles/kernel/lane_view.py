"""Arrays of numbers seen as arrays of lanes."""

from __future__ import annotations

from chasles.kernel.late import late

as_lanes = late("chasles.kernel.code.lane_view", "as_lanes")
