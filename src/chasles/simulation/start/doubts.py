"""What is allowed in a model and its start, and yet looks like a mistake."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.model.body import Body
from chasles.model.joint import Joint
from chasles.model.rod_parts import own_parts
from chasles.model.scale import body_sizes
from chasles.model.system import System
from chasles.simulation.rod_motion import strange_elements

if TYPE_CHECKING:
    from chasles.simulation.run_task import Task

TURN = 2 * math.pi
DENSE, THIN = 1e6, 1e-3  # [kg/m³] of a ball with the mass and the radius of gyration of a body: no material is so
GAS = 25.0  # [kg/m³]: hardly a solid is so light, and the heaviest metals have 23 g/cm³
FASTEST = 3e4  # [m/s]: sound along a rod of any solid is slower; in diamond it has 18 km/s
MASSIVE = 1e6  # [kg]: more than a part by its shapes, but a cubic centimeter of plastic if mm are read as m
FAR, REMOTE = 20.0, 100.0  # [m], and radii of gyration, between places on one body: its lengths have two units
SOFT = 1e3  # [Pa]: gelatin has about that
HEAVY_FIELD = 300.0  # [m/s²]: the Sun has 274, and 9810 mm/s² is meant


def doubts(system: System, initial: Mapping[str, Any], task: Task | None = None) -> list[str]:
    """Lines on what may have been meant otherwise: values of a file's [initial], and of the run that is to be done."""
    found = [*_degrees(system, initial), *_loose(system), *_units(system)]
    if task is not None:
        found += [*_beyond(task), *strange_elements(task.begin.rods)]
    return found


def _degrees(system: System, initial: Mapping[str, Any]) -> Iterator[str]:
    """Angles of more than a turn that are round numbers."""
    for joint in system.joints:
        names = ("rest", "lower", "upper") if joint.nq == joint.nv else ()
        given = {f"{name} of joint {joint.name!r}": getattr(joint, name) for name in names}
        if joint.name in initial.get("q", {}):
            given[f"initial.q.{joint.name}"] = np.ravel(initial["q"][joint.name])
        for where, values in given.items():
            for value, unit in zip(np.ravel(values), joint.coordinate_units, strict=False):
                if unit == "rad" and math.isfinite(value) and abs(value) > TURN and round(value, 2) == value:
                    yield f'{where} is {value:g} rad, {value / TURN:.3g} turns; for degrees write "{value:g} deg"'


def _loose(system: System) -> Iterator[str]:
    held = {name for joint in system.joints for name in (joint.parent, joint.child)}
    for constraint in system.constraints:
        held.update(getattr(constraint, "bodies", ()))
    for body in system.bodies:
        if body.name not in held:
            yield f"body {body.name!r} has no joint: it moves freely; if so, give it a joint of kind free"


def _units(system: System) -> Iterator[str]:
    for rod in system.rods:
        where, of = f"rod {rod.name!r}", rod.material
        if of is None:
            continue
        if of.E < SOFT:
            yield f'{where}: E is {of.E:g} Pa, softer than any solid; for GPa write "{of.E:g} GPa"'
        if 0.0 < of.density < GAS and not SOFT < of.E < FASTEST**2 * of.density:  # published examples scale both
            yield f'{where}: its density is {of.density:g} kg/m³, as of a gas; for g/cm³ write "{of.density:g} g/cm^3"'
        if (thick := 2.0 * max(rod.outline(0.0))) > rod.length:
            yield f"{where} is {thick:.3g} m thick and {rod.length:.3g} m long; rods are slender, and lengths are in m"
    if (gravity := float(np.linalg.norm(system.gravity))) > HEAVY_FIELD:
        yield f'gravity is {gravity:g} m/s²; for mm/s² write "{gravity:g} mm/s^2"'
    sizes = body_sizes(system)
    for body in own_parts(system.bodies):
        if body.density is not None and body.density >= GAS and body.mass > MASSIVE:
            yield (
                f"body {body.name!r} has {body.mass:.3g} kg by its shapes and density, and a radius of gyration of "
                f'{_gyration(body):.3g} m; lengths are in m: for others write "25 mm"'
            )
        elif sizes[body.name] > max(FAR, REMOTE * (_gyration(body) or np.inf)):
            yield (
                f"body {body.name!r} has places {sizes[body.name]:.3g} m apart, and a radius of gyration of "
                f'{_gyration(body):.3g} m; lengths are in m: for others write "25 mm"'
            )
        if body.density is not None and body.density < GAS:
            yield (
                f"body {body.name!r} has a density of {body.density:g} kg/m³, as of a gas; for g/cm³ write "
                f'"{body.density:g} g/cm^3"'
            )
        density = _density(body)
        if density is not None and not THIN <= density <= DENSE:
            yield (
                f"body {body.name!r} has {body.mass:g} kg and a radius of gyration of {_gyration(body):.3g} m: no "
                f"material is so {'dense' if density > DENSE else 'thin'}; mass is in kg, inertia in kg m²"
            )


def _gyration(body: Body) -> float:
    return math.sqrt(0.5 * float(np.trace(np.array(body.inertia))) / body.mass) if body.mass > 0 else 0.0


def _density(body: Body) -> float | None:
    """Of a ball as large as the radius of gyration; None of a point, which has no size."""
    radius = _gyration(body)
    return None if not radius or body.density is not None else body.mass / (4 / 3 * math.pi * radius**3)


def _beyond(task: Task) -> Iterator[str]:
    begin = task.begin
    for joint in begin.moving_joints:
        if joint.nq != joint.nv:
            continue
        for value, low, high in zip(np.ravel(begin.joint(joint.name).q), joint.lower, joint.upper, strict=True):
            if not low <= value <= high:
                yield _outside(joint, value, low, high)


def _outside(joint: Joint, value: float, low: float, high: float) -> str:
    stops = "which are data only"
    if joint.stop_stiffness:
        stops = "its stops push at once"
    return f"joint {joint.name!r} starts at {value:.6g}, beyond its limits {low:.6g} to {high:.6g}; {stops}"
