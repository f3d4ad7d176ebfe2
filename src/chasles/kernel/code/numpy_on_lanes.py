"""np.sqrt, np.sin, np.cos and abs on lanes, so that functions written for numbers compile for lanes too."""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from chasles.kernel.code.lanes import LANES, absolute, sqrt
from chasles.kernel.functions import sincos


def _on_lanes(function, implementation):
    """Let `function` of lanes be `implementation`."""

    def choose(x):
        return implementation if x == LANES else None

    overload(function, inline="always")(choose)


_on_lanes(np.sqrt, lambda x: sqrt(x))
_on_lanes(np.sin, lambda x: sincos(x)[0])
_on_lanes(np.cos, lambda x: sincos(x)[1])
_on_lanes(abs, lambda x: absolute(x))
