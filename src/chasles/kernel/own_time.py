"""The time that a field is told."""

from __future__ import annotations

from chasles.kernel.late import late

told_time = late("chasles.kernel.code.own_time", "told_time")
