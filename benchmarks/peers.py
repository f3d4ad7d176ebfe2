"""Functions of other libraries, converted to the conventions of chasles, to compare their accuracy.

Only public functions are called, in double precision. The conversions (order of the twist, sign of the argument) are
exact. Libraries that cannot be imported are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.page import version


@dataclass(frozen=True)
class Call:
    """How a library computes a function: the text for the page, the samples it is measured on, the call itself."""

    text: str
    group: str
    function: str
    call: Callable[..., Any]


@dataclass(frozen=True)
class Library:
    """A library with its calls by the name of the function in chasles."""

    name: str
    version: str
    calls: dict[str, Call]


def swap(x: np.ndarray) -> np.ndarray:
    """(angular, linear) to (linear, angular) and back."""
    return np.concatenate([x[3:], x[:3]])


def swap_matrix(m: Any) -> np.ndarray:
    """P m P for the swap P of the two halves."""
    return np.roll(np.asarray(m), (3, 3), axis=(0, 1))


def vee(m: np.ndarray) -> np.ndarray:
    """Vector of a skew matrix."""
    return np.array([m[2, 1], m[0, 2], m[1, 0]])


def pinocchio() -> Library:
    """Pinocchio: elements are matrices, twists (linear, angular), Jacobians ours at -X."""
    import pinocchio as pin

    def pose(g: np.ndarray) -> Any:
        return pin.SE3(g[:3, :3], g[:3, 3])

    calls = {
        "so3.exp": Call("`exp3(x)`", "so3", "exp", pin.exp3),
        "so3.log": Call("`log3(R)`", "so3", "log", pin.log3),
        "so3.dexp": Call("`Jexp3(-x)`", "so3", "dexp", lambda x: pin.Jexp3(-x)),
        "so3.dexpinv": Call("`Jlog3(R)`, R = exp(-x)", "so3", "dexpinv_of_element", pin.Jlog3),
        "se3.exp": Call("`exp6(PX)`", "se3", "exp", lambda x: pin.exp6(pin.Motion(swap(x))).homogeneous),
        "se3.log": Call("P `log6(C)`", "se3", "log", lambda g: swap(pin.log6(pose(g)).vector)),
        "se3.dexp": Call("P `Jexp6(-PX)` P", "se3", "dexp", lambda x: swap_matrix(pin.Jexp6(pin.Motion(swap(-x))))),
        "se3.dexpinv": Call(
            "P `Jlog6(C)` P, C = exp(-X)", "se3", "dexpinv_of_element", lambda g: swap_matrix(pin.Jlog6(pose(g)))
        ),
    }
    return Library("Pinocchio", version("pin"), calls)


def jaxlie() -> Library:
    """jaxlie: elements are quaternions and positions, twists (linear, angular), `jlog` ours at -log; no dexp."""
    import jax
    from jaxlie import SE3, SO3

    jax.config.update("jax_enable_x64", True)

    calls = {
        "so3.exp": Call("`SO3.exp(x)`", "s3", "exp", jax.jit(lambda x: SO3.exp(x).wxyz)),
        "so3.log": Call("`SO3(q).log()`", "s3", "rotation_log", jax.jit(lambda q: SO3(q).log())),
        "so3.dexpinv": Call(
            "`SO3(q).jlog()`, q = exp(-x)", "s3", "dexpinv_of_element", jax.jit(lambda q: SO3(q).jlog())
        ),
        "se3.exp": Call("`SE3.exp(PX)`", "pose", "exp", lambda x: SE3.exp(swap(x)).wxyz_xyz),
        "se3.log": Call("P `SE3(p).log()`", "pose", "log", lambda g: swap(np.asarray(SE3(g).log()))),
        "se3.dexpinv": Call(
            "P `SE3(p).jlog()` P, p = exp(-X)", "pose", "dexpinv_of_element", lambda g: swap_matrix(SE3(g).jlog())
        ),
    }
    return Library("jaxlie", version("jaxlie"), calls)


def scipy() -> Library:
    """SciPy: rotations and rigid motions with exponential coordinates (angular, linear); no differentials."""
    from scipy.spatial.transform import RigidTransform, Rotation

    calls = {
        "so3.exp": Call("`Rotation.from_rotvec(x).as_matrix()`", "so3", "exp", _scipy_exp(Rotation)),
        "so3.log": Call(
            "`Rotation.from_matrix(R).as_rotvec()`", "so3", "log", lambda r: Rotation.from_matrix(r).as_rotvec()
        ),
        "se3.exp": Call(
            "`RigidTransform.from_exp_coords(X).as_matrix()`",
            "se3",
            "exp",
            lambda x: RigidTransform.from_exp_coords(x).as_matrix(),
        ),
        "se3.log": Call(
            "`RigidTransform.from_matrix(C).as_exp_coords()`",
            "se3",
            "log",
            lambda g: RigidTransform.from_matrix(g).as_exp_coords(),
        ),
    }
    return Library("SciPy", version("scipy"), calls)


def _scipy_exp(rotation: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: rotation.from_rotvec(x).as_matrix()


def exudyn() -> Library:
    """Exudyn: the Python functions of `exudyn.lieGroupBasics`; twists (linear, angular), differentials ours at -X."""
    from exudyn import lieGroupBasics as basics  # noqa: N813

    def log(g: np.ndarray) -> np.ndarray:
        m = basics.LogSE3(g)
        return np.concatenate([vee(m[:3, :3]), m[:3, 3]])

    calls = {
        "so3.exp": Call("`ExpSO3(x)`", "so3", "exp", basics.ExpSO3),
        "so3.log": Call("`LogSO3(R)`", "so3", "log", lambda r: vee(basics.LogSO3(r))),
        "so3.dexp": Call("`TExpSO3(-x)`", "so3", "dexp", lambda x: basics.TExpSO3(-x)),
        "so3.dexpinv": Call("`TExpSO3Inv(-x)`", "so3", "dexpinv", lambda x: basics.TExpSO3Inv(-x)),
        "se3.exp": Call("`ExpSE3(PX)`", "se3", "exp", lambda x: basics.ExpSE3(swap(x))),
        "se3.log": Call("`LogSE3(C)`", "se3", "log", log),
        "se3.dexp": Call("P `TExpSE3(-PX)` P", "se3", "dexp", lambda x: swap_matrix(basics.TExpSE3(swap(-x)))),
        "se3.dexpinv": Call(
            "P `TExpSE3Inv(-PX)` P", "se3", "dexpinv", lambda x: swap_matrix(basics.TExpSE3Inv(swap(-x)))
        ),
    }
    return Library("Exudyn", version("exudyn"), calls)


LIBRARIES: dict[str, Callable[[], Library]] = {
    "Pinocchio": pinocchio,
    "jaxlie": jaxlie,
    "SciPy": scipy,
    "Exudyn": exudyn,
}


def installed() -> tuple[list[Library], list[str]]:
    """The libraries that can be imported, and the names of those that cannot."""
    found, missing = [], []
    for name, make in LIBRARIES.items():
        try:
            found.append(make())
        except ImportError:
            missing.append(name)
    return found, missing
