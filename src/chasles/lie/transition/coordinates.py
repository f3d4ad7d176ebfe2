"""The two kinds of coordinates of a rigid body by name: absolute ones, which models are written in, and local ones, in
which a step of an integrator moves. Source: mueller2022 table 1; Euler angles, screws and the second-order Cayley map
beyond.
"""

from __future__ import annotations

from dataclasses import dataclass

from chasles.lie.rotation import SEQUENCES

# charts, as kernels know them; Euler angles follow: one code a sequence, about the moving axes and then about the fixed
QUATERNION, ROTATION_VECTOR, ROTATION_VECTOR_2PI, SCREW, EULER = range(5)
SE3, SO3XR3 = "SE3", "SO3xR3"


@dataclass(frozen=True)
class Absolute:
    """Absolute coordinates of a body: a name, the code in kernels, and how many numbers they are.

    quaternion          (w, x, y, z, position), unit norm; no singularity
    rotation_vector     (ρ, position), |ρ| <= π: the sign of the quaternion is flipped where w < 0
    rotation_vector:2pi (ρ, position), continued to |ρ| <= 2π, where it is singular
    euler:ZYX, ...      (three angles, position), any of the twelve sequences; lower case about the fixed axes. Singular
                        at gimbal lock: a middle angle of ±π/2, or 0 and π if the first and third axis are the same
    screw               (x, y), the pose exp(x, y), |x| <= π
    """

    name: str
    code: int
    size: int = 6

    @property
    def sequence(self) -> str:
        """The sequence of Euler angles; empty for other coordinates."""
        return self.name.partition(":")[2] if self.code >= EULER else ""


@dataclass(frozen=True)
class Local:
    """Local coordinates of a motion: a name, the group, and the coordinate map ("exp", "cay" or "cay2").

    screw                      SE(3), exp: a twist, so that bodies move along screws
    rotation_vector            SO(3)xR3, exp: rotation vector and displacement
    rodrigues                  SO(3)xR3, cay: Rodrigues vector tan(φ/2) n, φ < π, and displacement
    extended_rodrigues         SE(3), cay
    wiener_milenkovic          SO(3)xR3, cay2: a quarter of the Wiener-Milenkovic vector, tan(φ/4) n, φ < 2π
    extended_wiener_milenkovic SE(3), cay2
    """

    name: str
    group: str
    map: str


_FIXED = (
    Absolute("quaternion", QUATERNION, 7),
    Absolute("rotation_vector", ROTATION_VECTOR),
    Absolute("rotation_vector:2pi", ROTATION_VECTOR_2PI),
    Absolute("screw", SCREW),
)
_EULER = tuple(
    Absolute(f"euler:{name}", EULER + k)
    for k, name in enumerate((*SEQUENCES, *(sequence.lower() for sequence in SEQUENCES)))
)
ABSOLUTE = {chart.name: chart for chart in (*_FIXED, *_EULER)}
LOCAL = {
    local.name: local
    for local in (
        Local("screw", SE3, "exp"),
        Local("rotation_vector", SO3XR3, "exp"),
        Local("rodrigues", SO3XR3, "cay"),
        Local("extended_rodrigues", SE3, "cay"),
        Local("wiener_milenkovic", SO3XR3, "cay2"),
        Local("extended_wiener_milenkovic", SE3, "cay2"),
    )
}


def absolute_names() -> tuple[str, ...]:
    """Names of the absolute coordinates."""
    return tuple(ABSOLUTE)


def local_names() -> tuple[str, ...]:
    """Names of the local coordinates."""
    return tuple(LOCAL)


def absolute_of(function: str, name: str | Absolute) -> Absolute:
    """Absolute coordinates by name; ValueError lists the names."""
    if isinstance(name, Absolute):
        return name
    if name not in ABSOLUTE:
        known = ", ".join((*(chart.name for chart in _FIXED), "euler:ZYX (any sequence; lower case: fixed axes)"))
        raise ValueError(f"{function}: absolute coordinates {name!r}; expected one of {known}")
    return ABSOLUTE[name]


def local_of(function: str, name: str | Local) -> Local:
    """Local coordinates by name; ValueError lists the names."""
    if isinstance(name, Local):
        return name
    if name not in LOCAL:
        raise ValueError(f"{function}: local coordinates {name!r}; expected one of {', '.join(LOCAL)}")
    return LOCAL[name]
