"""Numbers near zero, which processors are slow with: taken as zero while a loop runs."""

from __future__ import annotations

from chasles.kernel.late import late

flush_denormals, restore_denormals = late("chasles.kernel.code.denormals", "flush_denormals", "restore_denormals")
