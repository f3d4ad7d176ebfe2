"""Matrix exponential for small dense matrices: Pade approximation of order 13 with scaling and squaring."""

from __future__ import annotations

import numpy as np

# coefficients of the [13/13] Pade approximant (higham2005)
_PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
)
_LARGEST = 5.371920351148152  # norm up to which the approximant is exact to double precision


def expm(a: np.ndarray) -> np.ndarray:
    """exp(a) of a square matrix; exactly the identity for a = 0."""
    norm = float(np.abs(a).sum(axis=0).max(initial=0.0))
    if norm == 0.0:
        return np.eye(len(a), dtype=np.result_type(a, float))
    if not np.isfinite(norm):
        raise ValueError("expm: the matrix is not finite")
    squarings = max(0, int(np.ceil(np.log2(norm / _LARGEST)))) if norm > _LARGEST else 0
    a = a / 2.0**squarings
    one = np.eye(len(a))
    a2 = a @ a
    a4, b = a2 @ a2, _PADE
    a6 = a2 @ a4
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        result = result @ result
    return result
