"""Problems for the tests of integrators: smooth fields that make every commutator count, on every kind of space."""

import numpy as np

from chasles.integrate.problem import LieODE
from chasles.integrate.space import Space
from chasles.integrate.vector_field import field
from chasles.lie import pose, s3, se2, se3, so2, so3


@field
def tangle(t, y, p, out):
    """Each component of the algebra element is a different smooth function of time and of all of the point."""
    size = out.shape[0]
    for i in range(size):
        total = 0.0
        for j in range(y.shape[0]):
            total += p[(i * 7 + j * 3) % p.shape[0]] * np.sin(y[j] + 0.3 * j + 0.5 * t)
        out[i] = total


def tangle_in_python(t, y, p):
    """The same field with NumPy."""
    size = SIZES[y.size]
    i, j = np.mgrid[:size, : y.size]
    return (p[(i * 7 + j * 3) % p.size] * np.sin(y[j] + 0.3 * j + 0.5 * t)).sum(axis=1)


SIZES = {6: 6, 9: 3, 7: 6}
PARAMETERS = np.random.default_rng(7).normal(size=11) * 0.6


def start(name: str) -> np.ndarray:
    """A starting point of a space."""
    rng = np.random.default_rng(3)
    if name in ("s2", "so3*"):
        return np.array([0.6, 0.0, 0.8])
    if name in ("ts2", "t*s2"):
        return np.array([0.6, 0.0, 0.8, 0.8, 0.5, -0.6])
    if name == "se3*":
        return rng.normal(size=6)
    if name.startswith("r"):
        return rng.normal(size=int(name[1:]))
    group = {"so2": so2, "so3": so3, "s3": s3, "se2": se2, "se3": se3, "pose": pose, "t*so3": pose}[name]
    return group.random(rng).reshape(-1)


def problem(*names: str, side: str = "left") -> tuple[LieODE, np.ndarray]:
    """The tangle on a product of spaces, and a starting point."""
    return LieODE(Space(*names, side=side), tangle, PARAMETERS), np.concatenate([start(n) for n in names])
