"""What a model file can hold: the kinds of things, their fields, types and units.

One table for reading, writing, the JSON Schema and the documentation. A number may be written as an expression of
parameters in quotes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chasles.model import constraint, force, joint
from chasles.model.actuator import Actuator
from chasles.model.body import Body, Frame
from chasles.model.joint_kind import JOINT_KINDS, JointKind
from chasles.screw import shape


@dataclass(frozen=True)
class Field:
    """A field: its type (a name in `types`), what it is, and whether it must be there."""

    type: str
    what: str
    required: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of thing: what makes it, its fields, and what they are called by the maker if it is something else."""

    make: Callable[..., Any]
    what: str
    fields: dict[str, Field]


NAME = Field("name", "its name", required=True)
PLACES = {
    "at": Field("pose", "the joint's frame on the parent"),
    "child_at": Field("pose", "the joint's frame on the child"),
}
ENDS = {
    "name": NAME,
    "parent": Field("name", 'the body it starts from, or "ground"', required=True),
    "child": Field("name", "the body that moves", required=True),
}
DRIVEN = {
    "damping": Field("each", "[N s/m or N m s/rad]"),
    "stiffness": Field("each", "[N/m or N m/rad] about rest"),
    "rest": Field("each", "coordinates at which the spring is relaxed"),
    "armature": Field("each", "inertia of a rotor [kg or kg m²]"),
    "friction": Field("each", "dry friction [N or N m]"),
    "friction_speed": Field("number", "speed at which dry friction is nearly reached [m/s or rad/s]"),
    "lower": Field("limits", "lower limits of the coordinates"),
    "upper": Field("limits", "upper limits of the coordinates"),
    "stop_stiffness": Field("number", "of the stops at the limits; 0: limits are data only"),
    "stop_damping": Field("number", "of the stops at the limits"),
}


def _joint(kind: JointKind) -> Kind:
    own = {one.name: Field(one.type, one.what, one.required) for one in kind.parameters}
    driven = {} if kind.nv == 0 else DRIVEN
    return Kind(getattr(joint, kind.name), kind.what, {**ENDS, **own, **PLACES, **driven})


JOINTS = {
    **{name: _joint(kind) for name, kind in JOINT_KINDS.items()},
    "denavit_hartenberg": Kind(
        joint.denavit_hartenberg,
        "modified Denavit-Hartenberg parameters",
        {
            **ENDS,
            "a": Field("number", "[m]"),
            "alpha": Field("number", "[rad]"),
            "d": Field("number", "[m]"),
            "theta": Field("number", "[rad]"),
            "sliding": Field("flag", "whether d moves instead of theta"),
            **DRIVEN,
        },
    ),
}
BODIES = {
    "name": NAME,
    "mass": Field("number", "[kg]"),
    "com": Field("vector", "center of mass in the body's frame [m]"),
    "inertia": Field("inertia", "about the center of mass, in the body's axes [kg m²]: 3, 6 (xx, xy, xz, ...) or 3x3"),
    "density": Field("number", "[kg/m³]: mass, center and inertia then follow from the shapes"),
    "shapes": Field("shapes", "solids, for drawing and for mass properties with a density"),
    "physical": Field("flag", "false: the numbers are taken though no distribution of mass has them"),
}
DRAWN = {"pose": Field("pose", "of the shape on the body"), "color": Field("numbers", "red, green, blue, opacity")}
SHAPES = {
    "box": Kind(shape.Box, "a box", {"size": Field("vector", "full edge lengths [m]", True), **DRAWN}),
    "sphere": Kind(shape.Sphere, "a ball", {"radius": Field("number", "[m]", True), **DRAWN}),
    "cylinder": Kind(
        shape.Cylinder,
        "a cylinder along z",
        {"radius": Field("number", "[m]", True), "length": Field("number", "[m]", True), **DRAWN},
    ),
    "capsule": Kind(
        shape.Capsule,
        "a cylinder along z with half balls on its ends",
        {"radius": Field("number", "[m]", True), "length": Field("number", "without the caps [m]", True), **DRAWN},
    ),
    "ellipsoid": Kind(shape.Ellipsoid, "an ellipsoid", {"radii": Field("vector", "semi-axes [m]", True), **DRAWN}),
    "mesh": Kind(
        shape.Mesh,
        "a surface in a file, for drawing only",
        {"path": Field("path", "of the file", True), "scale": Field("vector", "along x, y and z"), **DRAWN},
    ),
}
FRAMES = {
    "name": NAME,
    "body": Field("name", "the body it is on", required=True),
    "pose": Field("pose", "on the body"),
}
BODY_PAIR = {
    "name": NAME,
    "bodies": Field("names", "two bodies", required=True),
    "points": Field("vectors", "a point on each, in its frame [m]"),
}
LAW = {"parameters": Field("numbers", "numbers for the law")}
FORCES = {
    "spring": Kind(
        force.Spring,
        "a spring with damper between two points",
        {
            **BODY_PAIR,
            "stiffness": Field("number", "[N/m]"),
            "damping": Field("number", "[N s/m]"),
            "length": Field("number", "at which it is relaxed [m]"),
        },
    ),
    "wrench": Kind(
        force.Wrench,
        "a wrench (torque [N m], force [N]) on a body",
        {
            "name": NAME,
            "body": Field("name", "the body it acts on", required=True),
            "value": Field("numbers or law", "six numbers, or a law", required=True),
            "representation": Field("name", "body, hybrid, spatial or mixed"),
            **LAW,
        },
    ),
    "joint_force": Kind(
        force.JointForce,
        "generalized forces on a joint",
        {
            "name": NAME,
            "joint": Field("name", "the joint it acts on", required=True),
            "value": Field("numbers or law", "one number for each velocity, or a law", required=True),
            **LAW,
        },
    ),
}
CONSTRAINTS = {
    "distance": Kind(
        constraint.Distance, "a massless rigid link", {**BODY_PAIR, "length": Field("number", "[m]", True)}
    ),
    "point_on_line": Kind(
        constraint.PointOnLine,
        "a point of the second body stays on a line of the first",
        {**BODY_PAIR, "direction": Field("vector", "of the line, in the first body")},
    ),
    "point_on_plane": Kind(
        constraint.PointOnPlane,
        "a point of the second body stays in a plane of the first",
        {**BODY_PAIR, "normal": Field("vector", "of the plane, in the first body")},
    ),
    "coupling": Kind(
        constraint.Coupling,
        "c_1 q_1 + c_2 q_2 = offset",
        {
            "name": NAME,
            "joints": Field("names", "two joints", required=True),
            "ratios": Field("numbers", "c_1 and c_2", required=True),
            "offset": Field("number", "[rad or m]"),
            "coordinates": Field("wholes", "which coordinate of each"),
        },
    ),
    "drive": Kind(
        constraint.Drive,
        "a joint coordinate follows a function of time, or is held",
        {
            "name": NAME,
            "joint": Field("name", "the joint", required=True),
            "value": Field("number or law", "where it is held [rad or m], or a law", required=True),
            "coordinate": Field("whole", "which coordinate"),
            **LAW,
        },
    ),
    "rolling": Kind(
        constraint.Rolling,
        "a sphere or thin disc of the second body rolls on a plane of the first",
        {
            **BODY_PAIR,
            "radius": Field("number", "[m]", required=True),
            "normal": Field("vector", "of the plane, toward the center"),
            "axis": Field("vector", "of the disc; a sphere has none"),
        },
    ),
    "custom": Kind(
        constraint.CustomConstraint,
        "up to three equations written by the user",
        {
            "name": NAME,
            "bodies": Field("names", "two bodies", required=True),
            "law": Field("law", "the law", required=True),
            "rows": Field("whole", "number of equations"),
            **LAW,
        },
    ),
}
ACTUATORS = {
    "name": NAME,
    "joint": Field("name", "the joint it drives", required=True),
    "coordinate": Field("whole", "which coordinate of it"),
    "gear": Field("number", "force = gear input"),
    "lower": Field("limit", "of the input"),
    "upper": Field("limit", "of the input"),
}
# sections of a file: with a `kind` in each entry, or all of one kind
SECTIONS: dict[str, dict[str, Kind] | Kind] = {
    "bodies": Kind(Body, "a rigid body", BODIES),
    "joints": JOINTS,
    "frames": Kind(Frame, "a named place on a body", FRAMES),
    "forces": FORCES,
    "actuators": Kind(Actuator, "what turns an input into a force on a joint", ACTUATORS),
    "constraints": CONSTRAINTS,
}
INITIAL = {
    "q": Field("by joint", "coordinates of joints by name; a quaternion (w, x, y, z) or a pose where it has one"),
    "v": Field("by joint", "velocities of joints by name"),
    "poses": Field("poses by body", "poses of bodies by name, for absolute coordinates"),
    "twists": Field("by body", "body twists by name"),
    "assemble": Field("flag", "whether the start is projected onto the constraints"),
}
SIMULATION = {
    "span": Field("numbers", "start and end [s]"),
    "coordinates": Field("name", "relative or absolute"),
    "space": Field("spaces", "SE3, SO3xR3 (in joint coordinates of free joints), auto, or a table of these by body"),
    "method": Field("method", "integrator, such as rk4, dopri5, cf4, or a table with its name and options"),
    "step": Field("number", "fixed step [s]"),
    "rtol": Field("number", "relative tolerance of adaptive steps"),
    "atol": Field("number", "absolute tolerance of adaptive steps; by default 1e-10 of 1 rad and of the bodies' sizes"),
    "max_step": Field("number", "longest of the adaptive steps [s]"),
    "stops": Field("numbers", "times at which a step ends and the next begins anew [s]"),
    "max_evaluations": Field("whole", "evaluations of the equations after which the run is given up"),
    "stabilization": Field("name", "projection, baumgarte or none"),
    "baumgarte": Field("numbers", "alpha and beta [1/s]"),
    "control": Field("numbers", "a constant input"),
    "save": Field("save", "all, final, every so many steps, or a list of times [s]"),
    "certificate": Field("flag", "whether the run is judged"),
    "cut": Field("names", "joints that are cut to open loops, in joint coordinates"),
    "trivialization": Field("name", "left or right: body or spatial velocities, in absolute coordinates"),
}
