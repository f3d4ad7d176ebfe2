"""Arrays of the page as text."""

from __future__ import annotations

import base64
import zlib

import numpy as np


def packed(array: np.ndarray, kind: str) -> str:
    """An array as compressed bytes in base64, its bytes sorted into planes, which compress better."""
    with np.errstate(over="ignore"):  # beyond 1e38: a gap in a curve
        data = np.ascontiguousarray(array, dtype=kind)
    planes = np.ascontiguousarray(data.reshape(-1).view(np.uint8).reshape(-1, data.itemsize).T)
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(press.compress(planes.tobytes()) + press.flush()).decode()
