"""Which group for which body: SE(3), where the pose moves along screws, or SO(3)xR3, where the center moves by itself.

mueller2013 concludes that SE(3) is right for bodies whose motion lies in a subgroup: a lower pair to the ground is then
satisfied to rounding without any stabilization. With projection, both spaces satisfy all constraints; then SO(3)xR3 is
the cheaper one, and on a fast spinning top the more accurate one, because forces and velocities need not turn with the
body. On other mechanisms SE(3) can be more accurate: `chasles compare` tells.
"""

from __future__ import annotations

from collections.abc import Mapping

from chasles.constraint.joints import subgroup_of
from chasles.model.body import GROUND
from chasles.model.suggestion import meant
from chasles.model.system import System

SE3_NAME, SO3XR3_NAME = "SE3", "SO3xR3"
SPACE_NAMES = (SE3_NAME, SO3XR3_NAME)


def choose_spaces(
    system: System, space: str | Mapping[str, str], stabilized: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """The space of every body, and why."""
    names = [body.name for body in system.bodies]
    if isinstance(space, Mapping):
        space = {system.named(name, "space"): value for name, value in space.items()}
        unknown = [name for name in space if name not in names]
        if unknown:
            near = meant(unknown[0], names)
            raise ValueError(f"space: there is no body {unknown[0]!r}; {near}bodies: {', '.join(names[:12])}")
        chosen = {name: space.get(name, SO3XR3_NAME) for name in names}
        reasons = {name: "as asked" if name in space else "not mentioned, so the default" for name in names}
    elif space == "auto":
        chosen, reasons = _automatic(system, stabilized)
    else:
        chosen, reasons = dict.fromkeys(names, space), dict.fromkeys(names, "as asked")
    for name, value in chosen.items():
        if value not in SPACE_NAMES:
            raise ValueError(
                f'space {value!r} of body {name!r}; expected "SE3", "SO3xR3", "auto" or a mapping of bodies'
            )
    return chosen, reasons


def _automatic(system: System, stabilized: bool) -> tuple[dict[str, str], dict[str, str]]:
    to_ground = {joint.child: joint for joint in system.joints if joint.parent == GROUND}
    chosen, reasons = {}, {}
    for body in system.bodies:
        joint = to_ground.get(body.name)
        if joint is None or not subgroup_of(joint):
            chosen[body.name] = SO3XR3_NAME
            reasons[body.name] = "no lower pair holds it to the ground, so its motion is in no subgroup of SE(3)"
        elif stabilized:
            chosen[body.name] = SO3XR3_NAME
            reasons[body.name] = (
                f"the {joint.kind} joint {joint.name!r} holds it to the ground, but with stabilization both spaces "
                "satisfy it, and on SO(3)xR3 forces and velocities need not turn with the body"
            )
        else:
            chosen[body.name] = SE3_NAME
            reasons[body.name] = (
                f"the {joint.kind} joint {joint.name!r} holds it to the ground: its motion lies in a subgroup of SE(3) "
                "and the joint is satisfied to rounding without stabilization"
            )
    return chosen, reasons
