"""What a model file can hold: the kinds of things, their fields, types and units.

One table for reading, writing, the JSON Schema and the documentation. A number may be written as an expression of
parameters in quotes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chasles.io.units import Units, alternatives
from chasles.model import constraint, force, joint, rod_curve, rod_section, transmission
from chasles.model.actuator import Actuator
from chasles.model.body import Body, Frame
from chasles.model.cam import Cam
from chasles.model.joint_kind import JOINT_KINDS, JointKind
from chasles.model.reduced import ReducedBody
from chasles.model.rod import STRAINS, Rod
from chasles.model.rod_polygon import Polygon
from chasles.screw import shape


@dataclass(frozen=True)
class Entry:
    """A field in a file: its type (a name in `types`), what it is, and whether it must be there."""

    type: str
    what: str  # with its unit in brackets; of two, the first is for what slides, the second for what turns
    required: bool = False
    apart: tuple[str, ...] = ()  # units of each of several numbers, where these differ

    @property
    def units(self) -> Units:
        """Units that it can be in; none: it has none."""
        return [(unit,) for unit in self.apart] or alternatives(self.what)


@dataclass(frozen=True)
class KindSpec:
    """A kind of thing: what makes it, its fields, and what they are called by the maker if it is something else."""

    make: Callable[..., Any]
    what: str
    fields: dict[str, Entry]
    freedoms: tuple[str, ...] = ()  # of a joint: "rad" or "m" for each velocity, if they are the same for all of a kind


NAME = Entry("name", "its name", required=True)
PLACES = {
    "at": Entry("pose", "the joint's frame on the parent"),
    "child_at": Entry("pose", "the joint's frame on the child"),
}
ENDS = {
    "name": NAME,
    "parent": Entry("body", 'the body it starts from, or "ground"', required=True),
    "child": Entry("body", "the body that moves", required=True),
}
DRIVEN = {
    "damping": Entry("each", "[N s/m or N m s/rad]"),
    "stiffness": Entry("each", "[N/m or N m/rad] about rest"),
    "rest": Entry("each", "coordinates at which the spring is relaxed [m or rad]"),
    "armature": Entry("each", "inertia of a rotor [kg or kg m²]"),
    "friction": Entry("each", "dry friction [N or N m]"),
    "friction_speed": Entry("number", "speed at which smooth dry friction reaches 76 %; 0: stick-slip [m/s or rad/s]"),
    "static_friction": Entry("each", "largest load that stick-slip friction holds, by default as friction [N or N m]"),
    "friction_coefficient": Entry("number", "coefficient of friction in proportion to the load of the joint"),
    "static_friction_coefficient": Entry("number", "the same while sticking, by default friction_coefficient"),
    "bearing_radius": Entry("number", "radius of the bearing of a revolute joint, for friction_coefficient [m]"),
    "guide_length": Entry("number", "length of the guide of a prismatic joint, for friction_coefficient [m]"),
    "thread_radius": Entry("number", "mean radius of the thread of a helical joint, for friction_coefficient [m]"),
    "lower": Entry("limits", "lower limits of the coordinates [m or rad]"),
    "upper": Entry("limits", "upper limits of the coordinates [m or rad]"),
    "velocity_limit": Entry("limits", "largest speeds; stored, without effect [m/s or rad/s]"),
    "effort_limit": Entry("limits", "largest motor forces; stored, without effect [N or N m]"),
    "stop_stiffness": Entry("number", "of elastic stops at the limits [N/m or N m/rad]; 0: limits exert no force"),
    "stop_damping": Entry("number", "of the stops at the limits [N s/m or N m s/rad]"),
    "restitution": Entry("each", "rigid limits: speed after an impact divided by speed before it, 0 to 1"),
    "mimic": Entry("name", "a joint that it follows: q = mimic_ratio q_other + mimic_offset"),
    "mimic_ratio": Entry("number", "ratio of mimic, by default 1 [m/rad or m or rad/m]"),
    "mimic_offset": Entry("number", "offset of mimic [m or rad]"),
}


def _joint(kind: JointKind) -> KindSpec:
    own = {one.name: Entry(one.type, one.what, one.required) for one in kind.parameters}
    driven = {} if kind.nv == 0 else DRIVEN
    freedoms = tuple(freedom.unit for freedom in kind.freedoms or ())
    return KindSpec(getattr(joint, kind.name), kind.what, {**ENDS, **own, **PLACES, **driven}, freedoms)


JOINT_SPECS = {
    **{name: _joint(kind) for name, kind in JOINT_KINDS.items()},
    "denavit_hartenberg": KindSpec(
        joint.denavit_hartenberg,
        "modified Denavit-Hartenberg parameters",
        {
            **ENDS,
            "a": Entry("number", "[m]"),
            "alpha": Entry("number", "[rad]"),
            "d": Entry("number", "[m]"),
            "theta": Entry("number", "[rad]"),
            "sliding": Entry("flag", "whether d moves instead of theta"),
            **DRIVEN,
        },
        ("rad",),
    ),
}
BODIES = {
    "name": NAME,
    "mass": Entry("number", "[kg]"),
    "com": Entry("vector", "center of mass in the body's frame [m]"),
    "inertia": Entry(
        "inertia", "about the center of mass, in the body's axes [kg m²]: 3 numbers, 6 (xx, xy, xz, ...) or 3x3"
    ),
    "density": Entry("number", "[kg/m³]: mass, center and inertia then follow from the shapes"),
    "shapes": Entry("shapes", "solids, for drawing and for mass properties with a density"),
    "physical": Entry("flag", "false: accept an unphysical inertia"),
}
DRAWN = {
    "pose": Entry("pose", "of the shape on the body"),
    "color": Entry("numbers", "red, green, blue, opacity"),
}
SHAPE_SPECS = {
    "box": KindSpec(shape.Box, "a box", {"size": Entry("vector", "full edge lengths [m]", True), **DRAWN}),
    "sphere": KindSpec(shape.Sphere, "a ball", {"radius": Entry("number", "[m]", True), **DRAWN}),
    "cylinder": KindSpec(
        shape.Cylinder,
        "a cylinder along z",
        {"radius": Entry("number", "[m]", True), "length": Entry("number", "[m]", True), **DRAWN},
    ),
    "capsule": KindSpec(
        shape.Capsule,
        "a cylinder along z with hemispherical caps",
        {
            "radius": Entry("number", "[m]", True),
            "length": Entry("number", "without the caps [m]", True),
            **DRAWN,
        },
    ),
    "ellipsoid": KindSpec(shape.Ellipsoid, "an ellipsoid", {"radii": Entry("vector", "semi-axes [m]", True), **DRAWN}),
    "mesh": KindSpec(
        shape.Mesh,
        "a surface in a file, for drawing only",
        {"path": Entry("path", "of the file", True), "scale": Entry("vector", "along x, y and z"), **DRAWN},
    ),
}
FRAMES = {
    "name": NAME,
    "body": Entry("body", "the body it is on", required=True),
    "pose": Entry("pose", "on the body"),
}
BODY_PAIR = {
    "name": NAME,
    "bodies": Entry("bodies", "two bodies", required=True),
    "points": Entry("vectors", "a point on each, in its frame [m]"),
}
ELASTIC, VISCOUS = (("N m/rad",) * 3 + ("N/m",) * 3, ("N m s/rad",) * 3 + ("N s/m",) * 3)
LAW = {"parameters": Entry("numbers", "numbers for the law")}
FORCE_SPECS = {
    "spring": KindSpec(
        force.Spring,
        "a spring with damper between two points",
        {
            **BODY_PAIR,
            "stiffness": Entry("number", "[N/m]"),
            "damping": Entry("number", "[N s/m]"),
            "length": Entry("number", "free length, at which it exerts no force [m]"),
        },
    ),
    "two_point": KindSpec(
        force.TwoPointForce,
        "a force between two points by a law of their distance and its rate",
        {
            **BODY_PAIR,
            "value": Entry("pull or law", "pulls them together [N]: an expression of distance, speed and t", True),
            **LAW,
        },
    ),
    "bushing": KindSpec(
        force.Bushing,
        "an elastic mount between two frames, relaxed where they coincide",
        {
            "name": NAME,
            "bodies": Entry("bodies", "two bodies", required=True),
            "frames": Entry("two poses", "a frame on each"),
            "stiffness": Entry(
                "six by six", "rotations [N m/rad], then translations [N/m]: 6 numbers, or 6x6", apart=ELASTIC
            ),
            "damping": Entry(
                "six by six", "rotations [N m s/rad], then translations [N s/m]: 6 numbers, or 6x6", apart=VISCOUS
            ),
        },
    ),
    "wrench": KindSpec(
        force.Wrench,
        "a wrench (torque [N m], force [N]) on a body",
        {
            "name": NAME,
            "body": Entry("body", "the body it acts on", required=True),
            "value": Entry("numbers or law", "six numbers, or a law", True, ("N m",) * 3 + ("N",) * 3),
            "representation": Entry("name", "body (turns with it, the default), hybrid (world axes), spatial or mixed"),
            **LAW,
        },
    ),
    "joint_force": KindSpec(
        force.JointForce,
        "generalized forces on a joint",
        {
            "name": NAME,
            "joint": Entry("name", "the joint it acts on", required=True),
            "value": Entry("numbers or law", "one number for each velocity [N or N m], or a law", required=True),
            **LAW,
        },
    ),
}
CONSTRAINT_SPECS = {
    "distance": KindSpec(
        constraint.Distance, "a massless rigid link", {**BODY_PAIR, "length": Entry("number", "[m]", True)}
    ),
    "point_on_line": KindSpec(
        constraint.PointOnLine,
        "a point of the second body stays on a line of the first",
        {**BODY_PAIR, "direction": Entry("vector", "of the line, in the first body")},
    ),
    "point_on_plane": KindSpec(
        constraint.PointOnPlane,
        "a point of the second body stays in a plane of the first",
        {**BODY_PAIR, "normal": Entry("vector", "of the plane, in the first body")},
    ),
    "coupling": KindSpec(
        constraint.Coupling,
        "Σ c_i q_i = offset, of two or more coordinates",
        {
            "name": NAME,
            "joints": Entry("names", "two joints or more", required=True),
            "ratios": Entry("numbers", "c_i of each", required=True),
            "offset": Entry("number", "[m or rad]"),
            "coordinates": Entry("wholes", "which coordinate of each"),
        },
    ),
    "gear_pair": KindSpec(
        transmission.gear_pair,
        "two gears in mesh",
        {
            "name": NAME,
            "joints": Entry("names", "those that carry the gears", required=True),
            "teeth": Entry("numbers", "of both", required=True),
            "internal": Entry("flag", "whether one is an internal gear"),
            "offset": Entry("number", "angle of the first gear when the second is at zero [rad]"),
        },
    ),
    "planetary_gear": KindSpec(
        transmission.planetary_gear,
        "a planetary set: sun, ring and carrier by Willis' equation",
        {
            "name": NAME,
            "sun": Entry("name", "its joint", required=True),
            "carrier": Entry("name", "its joint", required=True),
            "teeth": Entry("numbers", "of the sun and the ring", required=True),
            "ring": Entry("name", "its joint; without it the ring is fixed"),
            "offset": Entry("number", "of z_s (q_sun - q_carrier) + z_r (q_ring - q_carrier) [rad]"),
        },
    ),
    "rack_and_pinion": KindSpec(
        transmission.rack_and_pinion,
        "a rack that a pinion moves",
        {
            "name": NAME,
            "pinion": Entry("name", "its joint", required=True),
            "rack": Entry("name", "its joint", required=True),
            "radius": Entry("number", "of the pitch circle [m]; negative: the rack moves back", required=True),
            "offset": Entry("number", "of the rack when the pinion is at zero [m]"),
        },
    ),
    "lead_screw": KindSpec(
        transmission.lead_screw,
        "a screw that moves a nut",
        {
            "name": NAME,
            "joints": Entry("names", "joint of the angle and joint of the distance, or one cylindrical", required=True),
            "lead": Entry("number", "distance in one turn [m]; negative: left-handed", required=True),
            "offset": Entry("number", "of the nut when the screw is at zero [m]"),
        },
    ),
    "drive": KindSpec(
        constraint.Drive,
        "a joint coordinate follows a function of time, or is constant",
        {
            "name": NAME,
            "joint": Entry("name", "the joint", required=True),
            "value": Entry("number or law", "constant coordinate [m or rad], or a law", required=True),
            "coordinate": Entry("whole", "which coordinate"),
            **LAW,
        },
    ),
    "rolling": KindSpec(
        constraint.Rolling,
        "a sphere or thin disc of the second body rolls on a plane of the first",
        {
            **BODY_PAIR,
            "radius": Entry("number", "[m]", required=True),
            "normal": Entry("vector", "of the plane, toward the center"),
            "axis": Entry("vector", "of the disc; a sphere has none"),
        },
    ),
    "cam": KindSpec(
        Cam,
        "a point, a roller or a flat face of the second body stays on a planar curve of the first",
        {
            "name": NAME,
            "bodies": Entry("bodies", "the cam and the follower", required=True),
            "profile": Entry("profile", "points of the curve [m], or two columns of a CSV file", required=True),
            "point": Entry("vector", "of the follower, or the center of its roller [m]"),
            "at": Entry("pose", "the frame of the profile on the cam"),
            "closed": Entry("flag", "false: the curve has two ends"),
            "radius": Entry("number", "of the roller [m]"),
            "face": Entry("vector", "normal of a flat face through the point, away from the cam, on the follower"),
        },
    ),
    "custom": KindSpec(
        constraint.CustomConstraint,
        "up to three equations written by the user",
        {
            "name": NAME,
            "bodies": Entry("bodies", "two bodies", required=True),
            "law": Entry("law", "the law", required=True),
            "rows": Entry("whole", "number of equations"),
            **LAW,
        },
    ),
}
ACTUATORS = {
    "name": NAME,
    "joint": Entry("name", "the joint it drives", required=True),
    "coordinate": Entry("whole", "which coordinate of it"),
    "gear": Entry("number", "force = gear * input"),
    "lower": Entry("limit", "of the input"),
    "upper": Entry("limit", "of the input"),
}
POINT = Entry("vector", "[m]", required=True)
ABOUT = {
    "start": POINT,
    "center": POINT,
    "axis": Entry("vector", "its direction", required=True),
}
CURVE_SPECS = {
    "line": KindSpec(rod_curve.Line, "a straight line", {"start": POINT, "end": POINT}),
    "arc": KindSpec(rod_curve.Arc, "an arc about an axis", {**ABOUT, "angle": Entry("number", "[rad]", required=True)}),
    "helix": KindSpec(
        rod_curve.Helix,
        "a helix about an axis",
        {
            **ABOUT,
            "pitch": Entry("number", "advance along the axis per turn [m]", required=True),
            "turns": Entry("number", "number of turns", required=True),
        },
    ),
    "function": KindSpec(
        rod_curve.Spline.of_formulas,
        "a smooth curve given by a function",
        {
            "point": Entry("formulas of u", "x, y and z: expressions of u, from 0 to 1 [m]", required=True),
            "samples": Entry("whole", "number of points that the curve is computed at, by default 257"),
        },
    ),
    "spline": KindSpec(
        rod_curve.Spline, "a smooth curve", {"points": Entry("several vectors", "two or more [m]", required=True)}
    ),
}
SHEAR = Entry("each", "shear correction factors along y and z")
SECTION_SPECS = {
    "circle": KindSpec(rod_section.Circle, "a full circle", {"radius": Entry("number", "[m]", required=True)}),
    "tube": KindSpec(
        rod_section.Tube,
        "a ring",
        {
            "radius": Entry("number", "outer radius [m]", required=True),
            "inner": Entry("number", "inner radius [m]", required=True),
        },
    ),
    "rectangle": KindSpec(
        rod_section.Rectangle,
        "a full rectangle",
        {
            "width": Entry("number", "along y [m]", required=True),
            "height": Entry("number", "along z [m]", required=True),
            "shear": SHEAR,
        },
    ),
    "polygon": KindSpec(
        Polygon,
        "a full polygon",
        {
            "points": Entry(
                "points", "corners (y, z) of the outline in their order, about any origin [m]", required=True
            ),
            "J": Entry("number", "torsion constant, by default computed [m^4]"),
            "shear": SHEAR,
        },
    ),
    "constants": KindSpec(
        rod_section.Constants,
        "any section, by its constants",
        {
            "area": Entry("number", "[m²]", required=True),
            "Iy": Entry("number", "second moment about y [m^4]", required=True),
            "Iz": Entry("number", "second moment about z [m^4]", required=True),
            "J": Entry("number", "torsion constant [m^4]", required=True),
            "shear": SHEAR,
        },
    ),
    "stiffness": KindSpec(
        rod_section.Stiffness,
        "a section by its stiffness; it needs no material",
        {
            "matrix": Entry(
                "six by six",
                "GJ, EIy, EIz [N m²], then EA, kGAy, kGAz [N]: 6 numbers, or 6x6",
                required=True,
                apart=("N m²",) * 3 + ("N",) * 3,
            ),
            "density": Entry("number", "mass per unit length [kg/m]"),
            "moments": Entry("vector", "moments of inertia about x, y and z per unit length [kg m]"),
        },
    ),
}
MATERIAL = {
    "E": Entry("number", "Young's modulus [Pa]", required=True),
    "nu": Entry("number", "Poisson's ratio"),
    "G": Entry("number", "shear modulus, instead of nu [Pa]"),
    "density": Entry("number", "[kg/m³]"),
    "strain_limit": Entry("number", "largest fiber strain, checked by the certificate"),
}
LOADS = {
    "value": Entry("load or law", "six numbers or expressions of t and s", True, ("N",) * 3 + ("N/m",) * 3),
    "representation": Entry("name", "hybrid (world axes) or body (turns with the sections)"),
}
MASSES = {
    "at": Entry("number", "arc length [m]", required=True),
    "mass": Entry("number", "[kg]", required=True),
    "com": Entry("vector", "center of mass, in the axes of the section [m]"),
    "inertia": Entry("inertia", "about the center of mass, in these axes [kg m²]"),
}
INTRINSIC = {
    **{name: Entry("strain or law", "[1/m]") for name in STRAINS[:3]},
    **{name: Entry("strain or law", "relative") for name in STRAINS[3:]},
}
RODS = {
    "name": NAME,
    "curve": Entry("curve", "unstressed centerline: a line, arc, helix, spline or function", required=True),
    "section": Entry("sections", "cross section; a list of two of the same kind for a tapered rod", required=True),
    "material": Entry("material", "elastic constants and density"),
    "ends": Entry("bodies", 'what each end is welded to: a body, a node of an earlier rod, "ground" or "free"'),
    "elements": Entry(
        "elements", 'number of elements, or the `accuracy` of node positions in equilibrium: { accuracy = "0.1 mm" }'
    ),
    "damping": Entry("number", "damping divided by stiffness [s]"),
    "up": Entry("vector", "direction of the z axis of the first section, approximately"),
    "twist": Entry("number", "rotation of the sections from the start to the end [rad]"),
    "element": Entry("name", "magnus (order 4, the default) or helix (order 2)"),
    "masses": Entry("name", "how mass is lumped at the nodes: gregory (the default), offset or trapezoid (for rings)"),
    "loads": Entry("loads", "distributed torques and forces per unit length"),
    "added": Entry("masses", "masses fixed to sections"),
    "strains": Entry(
        "names", "strains of a rod in joint coordinates: some of twist, bend_y, bend_z, stretch, shear_y, shear_z"
    ),
    "modes": Entry("whole", "number of polynomials along the rod for each of these strains"),
    "intrinsic": Entry("intrinsic", "strains that cause no stress (actuation): numbers or expressions of t and s"),
}
REDUCED = {
    "name": NAME,
    "file": Entry("matrices", "an .npz file with the arrays mass, stiffness and interfaces"),
    "mass": Entry("matrix", "mass matrix, six rows for each interface, then the modes: a Matrix Market file, or rows"),
    "stiffness": Entry("matrix", "stiffness matrix of the same coordinates: a Matrix Market file, or rows"),
    "interfaces": Entry("poses", "positions or poses of the interfaces in the body's frame [m]"),
    "order": Entry("name", "which rows come first at an interface: translation or rotation"),
    "damping": Entry("number", "damping divided by stiffness [s]"),
    "shapes": Entry("whole", "number of elastic shapes to keep, those of the lowest frequencies"),
}
# sections of a file: with a `kind` in each entry, or all of one kind
SECTIONS: dict[str, dict[str, KindSpec] | KindSpec] = {
    "bodies": KindSpec(Body, "a rigid body", BODIES),
    "joints": JOINT_SPECS,
    "frames": KindSpec(Frame, "a named point with axes on a body", FRAMES),
    "forces": FORCE_SPECS,
    "actuators": KindSpec(Actuator, "converts an input into a force on a joint", ACTUATORS),
    "constraints": CONSTRAINT_SPECS,
    "rods": KindSpec(Rod, "a slender flexible body", RODS),
    "reduced": KindSpec(ReducedBody.of_file, "an elastic body given by mass and stiffness matrices", REDUCED),
}
INITIAL = {
    "q": Entry("by joint", "coordinates of joints by name; a quaternion (w, x, y, z) or a pose where it has one"),
    "v": Entry("by joint", "velocities of joints by name"),
    "poses": Entry("poses by body", "poses of bodies by name, for absolute coordinates"),
    "twists": Entry("by body", "body twists by name"),
    "assemble": Entry("flag", "true: project the initial state onto the constraints; false: a violation is an error"),
    "held": Entry(
        "held", "names of joints (or bodies) whose values are kept, or a table of q and v; by default all given values"
    ),
    "mode": Entry("whole", "which assembly mode of a linkage with these values: 1 is the nearest to neutral"),
}
ENSEMBLE = {
    "set": Entry("ranges", 'values by parameter: "0.4:0.6:21" (first, last, number), "1:100:5:log", or a list'),
    "sample": Entry("texts by name", 'distributions by parameter, such as "normal(1, 0.1)"'),
    "points": Entry("names", "CSV files with a column for each parameter, in the folder of the model"),
    "n": Entry("whole", "number of samples"),
    "seed": Entry("whole", "seed of the random samples"),
    "design": Entry("name", "random, latin, sobol, halton, or saltelli for sensitivity indices"),
    "quantities": Entry("names", 'quantities to store of each run, such as "max(joints.elbow)"'),
}
SIMULATION = {
    "span": Entry("numbers", "start and end [s]"),
    "coordinates": Entry("name", "relative or absolute"),
    "space": Entry("spaces", "SE3, SO3xR3 (in joint coordinates of free joints), auto, or a table of these by body"),
    "method": Entry("method", "integrator, such as rk4, dopri5, cf4, or a table with its name and options"),
    "step": Entry("number", "fixed step [s]"),
    "rtol": Entry("number", "relative tolerance of adaptive steps"),
    "atol": Entry("number", "absolute tolerance of adaptive steps; by default 1e-10 of 1 rad and of the bodies' sizes"),
    "max_step": Entry("number", "longest adaptive step [s]"),
    "stops": Entry("numbers", "times at which steps end and the integration restarts [s]"),
    "max_evaluations": Entry("whole", "number of evaluations after which the run stops"),
    "stabilization": Entry("name", "projection, baumgarte or none"),
    "baumgarte": Entry("numbers", "alpha and beta [1/s]"),
    "control": Entry("numbers", "a constant input"),
    "save": Entry("save", "all, final, a number n (every n-th step), or a list of times [s]"),
    "every": Entry("number", "time between saved points, independent of the steps [s]"),
    "certificate": Entry("flag or number", "whether to compute the certificate; 10: with ten times the usual budget"),
    "cut": Entry("names", "joints at which loops are cut, in joint coordinates"),
    "trivialization": Entry("name", "left or right: body or spatial velocities, in absolute coordinates"),
}
