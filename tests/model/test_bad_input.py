"""What is wrong with a model is said with the name of the body or joint, what was found, and what is expected."""

import numpy as np
import pytest

from chasles.model import joint as make
from chasles.model.body import Body, Frame
from chasles.model.force import Bushing, JointForce, Spring, Wrench
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.screw.shape import Box, Cylinder

A, B = (Body(name, 1.0, inertia=(1.0, 1.0, 1.0)) for name in "ab")
HINGE = make.revolute("hinge", "ground", "a", axis=(0, 0, 1))
POST = make.revolute("post", "ground", "b", axis=(0, 0, 1))
LINK = make.revolute("link", "a", "b", axis=(0, 0, 1))

BODIES = {
    "negative mass": (lambda: Body("arm", -1.0), "body 'arm': inertia has negative mass: -1"),
    "mass is a word": (lambda: Body("arm", "heavy"), "body 'arm': mass is 'heavy'; expected a number"),
    "mass is nan": (lambda: Body("arm", np.nan), "body 'arm': mass is not finite"),
    "mass is a list": (lambda: Body("arm", [1.0, 2.0]), r"body 'arm': mass has shape \(2,\)"),
    "inertia without mass": (lambda: Body("arm", 0.0, inertia=(1, 1, 1)), "body 'arm': inertia has no mass"),
    "triangle": (lambda: Body("arm", 1.0, inertia=(1, 1, 3)), "body 'arm': inertia violates the triangle inequality"),
    "negative moment": (lambda: Body("arm", 1.0, inertia=(1, 1, -0.1)), "body 'arm': .* not positive definite"),
    "not symmetric": (
        lambda: Body("arm", 1.0, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
        "body 'arm': inertia is not symmetric",
    ),
    "four moments": (lambda: Body("arm", 1.0, inertia=(1, 1, 1, 1)), r"body 'arm': inertia has shape \(4,\)"),
    "com of two": (lambda: Body("arm", 1.0, com=(0, 0)), r"body 'arm': com has shape \(2,\)"),
    "no name": (lambda: Body("", 1.0), "Body: name is ''"),
    "name is a number": (lambda: Body(3, 1.0), "Body: name is 3"),
    "ground": (lambda: Body("ground", 1.0), "body 'ground': the name is taken"),
    "density and mass": (
        lambda: Body("arm", 1.0, shapes=[Box((1, 1, 1))], density=1.0),
        "body 'arm': has a density and",
    ),
    "density alone": (lambda: Body("arm", density=1.0), "body 'arm': has a density but no shapes"),
    "no mass of shapes": (lambda: Body("arm", shapes=[Box((1, 1, 5e-324))], density=0.1), "its shapes are too small"),
    "endless mass of shapes": (
        lambda: Body("arm", shapes=[Cylinder(0.1, 1e200)], density=1.0),
        "its shapes are too large",
    ),
    "negative density": (lambda: Body("arm", shapes=[Box((1, 1, 1))], density=-1.0), "body 'arm': density is -1"),
    "not a shape": (lambda: Body("arm", 1.0, shapes=["box"]), "body 'arm': shapes holds 'box'"),
    "frame off the group": (lambda: Frame("tool", "a", (2, 0, 0, 0, 0, 0, 0)), "frame 'tool': the quaternion of pose"),
}

JOINTS = {
    "no axis": (lambda: make.revolute("elbow", "a", "b", axis=(0, 0, 0)), "joint 'elbow': axis .* has no length"),
    "axis by name": (
        lambda: make.revolute("elbow", "a", "b", axis="z"),
        r"joint 'elbow': axis is 'z'; expected \(3,\), such as \(0, 0, 1\)",
    ),
    "axis of two": (lambda: make.revolute("elbow", "a", "b", axis=(0, 1)), r"joint 'elbow': axis has shape \(2,\)"),
    "no normal": (lambda: make.planar("elbow", "a", "b", normal=(0, 0, 0)), "joint 'elbow': normal .* has no length"),
    "nan axis": (lambda: make.prismatic("elbow", "a", "b", axis=(0, np.nan, 1)), "joint 'elbow': axis is not finite"),
    "parallel axes": (
        lambda: make.universal("elbow", "a", "b", axes=((1, 0, 0), (-2, 0, 0))),
        "joint 'elbow': its two axes .* are parallel",
    ),
    "to itself": (lambda: make.spherical("elbow", "a", "a"), "joint 'elbow': joins body 'a' to itself"),
    "kind": (lambda: Joint("elbow", "a", "b", "hinge"), "joint 'elbow': kind 'hinge' is unknown"),
    "screws not unit": (
        lambda: make.general("elbow", "a", "b", screws=[[1, 0, 1, 0, 1, 0]]),
        "joint 'elbow': screw 0 .* is not normalized",
    ),
    "no screws": (lambda: make.general("elbow", "a", "b", screws=[]), r"joint 'elbow': screws has shape \(0,\)"),
    "screws of five": (lambda: make.general("elbow", "a", "b", screws=[[1.0] * 5]), r"joint 'elbow': screws has shape"),
    "frame": (
        lambda: make.weld("elbow", "a", "b", at=(1, 1, 0, 0, 0, 0, 0)),
        "joint 'elbow': the quaternion of at has length 1.41421356; expected 1",
    ),
    "frame is no pose": (lambda: make.weld("elbow", "a", "b", at=2 * np.eye(4)), "joint 'elbow': at is not a pose"),
    "damping": (lambda: make.spherical("elbow", "a", "b", damping=-1.0), "joint 'elbow': damping is .* zero or more"),
    "two dampings": (
        lambda: make.revolute("elbow", "a", "b", axis=(0, 0, 1), damping=(1, 2)),
        r"joint 'elbow': damping has shape \(2,\); expected a number or 1 numbers",
    ),
    "stiffness nan": (
        lambda: make.revolute("elbow", "a", "b", axis=(0, 0, 1), stiffness=np.nan),
        "joint 'elbow': stiffness is nan; expected finite numbers",
    ),
    "limits": (
        lambda: make.revolute("elbow", "a", "b", axis=(0, 0, 1), lower=1, upper=-1),
        "joint 'elbow': lower limit 1 of coordinate 0 is above",
    ),
    "limits of a ball": (lambda: make.spherical("elbow", "a", "b", lower=0), "joint 'elbow': limits are for"),
    "rotor of a ball": (lambda: make.spherical("elbow", "a", "b", armature=1), "joint 'elbow': armature is for"),
    "friction speed": (
        lambda: make.revolute("elbow", "a", "b", axis=(0, 0, 1), friction_speed=-1),
        "joint 'elbow': friction_speed is -1",
    ),
    "bearing of a ball": (
        lambda: make.spherical("elbow", "a", "b", friction_coefficient=0.1),
        "joint 'elbow': friction_coefficient is for",
    ),
}

SYSTEMS = {
    "body twice": (lambda: System([A, A]), "bodies and frames: the name 'a' is used 2 times"),
    "frame named as a body": (lambda: System([A], frames=[Frame("a", "a")]), "the name 'a' is used 2 times"),
    "joint twice": (
        lambda: System([A, B], [HINGE, make.weld("hinge", "a", "b")]),
        "joints and constraints: the name 'hinge' is used 2 times",
    ),
    "force twice": (
        lambda: System([A], forces=[Wrench("push", "a", np.zeros(6)), Wrench("push", "a", np.zeros(6))]),
        "forces: the name 'push' is used 2 times",
    ),
    "unknown body": (lambda: System([A], [LINK]), "joint 'link': there is no body 'b'; bodies: a"),
    "unknown body of a frame": (lambda: System([A], frames=[Frame("f", "x")]), "frame 'f': there is no body 'x'"),
    "unknown body of a spring": (lambda: System([A], forces=[Spring("s", ("a", "x"))]), "spring 's': there is no body"),
    "unknown body of a bushing": (
        lambda: System([A], forces=[Bushing("m", ("a", "x"))]),
        "bushing 'm': there is no body",
    ),
    "unknown joint": (
        lambda: System([A], [HINGE], forces=[JointForce("motor", "hinges", [1.0])]),
        r"joint force 'motor': there is no joint 'hinges'; did you mean 'hinge'\? joints: hinge",
    ),
    "too many numbers": (
        lambda: System([A], [HINGE], forces=[JointForce("motor", "hinge", [1.0, 2.0])]),
        "joint force 'motor': has 2 numbers; joint 'hinge' .* has 1 velocities",
    ),
    "the ground moves": (
        lambda: System([A], [make.revolute("hinge", "a", "ground", axis=(0, 0, 1))]),
        "joint 'hinge': its child is 'ground'",
    ),
    "wrench on the ground": (lambda: System([A], forces=[Wrench("w", "ground", np.zeros(6))]), "acts on the ground"),
    "gravity": (lambda: System([A], gravity=-9.81), r"System: gravity has shape \(\).* such as \(0, 0, -9\.81\)"),
    "no gravity": (lambda: System([A], gravity=None), r"gravity is None; expected \(3,\), .* or \(0, 0, 0\) for none"),
    "a joint among bodies": (lambda: System([HINGE]), "System: bodies holds .* a Joint"),
    "lookup of a body": (lambda: System([A]).body("x"), "there is no body 'x'; bodies: a"),
    "lookup of a joint": (lambda: System([A], [HINGE]).joint("x"), "there is no joint 'x'; joints: hinge"),
    "lookup of a frame": (lambda: System([A], [HINGE]).frame("x"), "there is no body or frame 'x'"),
    "lock what is not there": (lambda: System([A]).lock("x"), "there is no joint 'x'; joints: none"),
    "lock off the group": (
        lambda: System([A], [make.spherical("ball", "ground", "a")]).lock("ball", [2, 0, 0, 0]),
        "joint 'ball': the quaternion of q has length 2",
    ),
    "lock with too many": (lambda: System([A], [HINGE]).lock("hinge", [1, 2]), r"joint 'hinge': q has shape \(2,\)"),
    "lock a driven joint": (
        lambda: System([A], [HINGE], forces=[JointForce("motor", "hinge", [1.0])]).lock("hinge"),
        "joint 'hinge' cannot be locked: joint force 'motor' acts on it",
    ),
    "attach twice": (
        lambda: System([A], [HINGE]).attach(System([A]), make.weld("w", "a", "a2")),
        "the name 'a' is used 2 times",
    ),
    "attach what turns on its ground": (
        lambda: System([A]).attach(System([B], [POST]), make.weld("w", "a", "b")),
        "attach: joint 'post' of 'system' is connected to its ground; 'w' can replace only a weld or a free joint",
    ),
    "assembly with a child frame": (
        lambda: System.from_assembly([A], [make.weld("post", "ground", "a", child_at=(1, 0, 0))]),
        "joint 'post': child_at has no meaning in an assembly",
    ),
    "assembly with an unknown body": (
        lambda: System.from_assembly([A], [HINGE], {"x": (0, 0, 0)}),
        "reference has a pose for 'x', which is not a body",
    ),
}


@pytest.mark.parametrize(("make_it", "message"), BODIES.values(), ids=BODIES)
def test_bodies(make_it, message):
    with pytest.raises(ValueError, match=message):
        make_it()


@pytest.mark.parametrize(("make_it", "message"), JOINTS.values(), ids=JOINTS)
def test_joints(make_it, message):
    with pytest.raises(ValueError, match=message):
        make_it()


@pytest.mark.parametrize(("make_it", "message"), SYSTEMS.values(), ids=SYSTEMS)
def test_systems(make_it, message):
    with pytest.raises(ValueError, match=message):
        make_it()


def test_a_model_cannot_be_changed():
    for thing in (A, HINGE, Frame("f", "a"), System([A])):
        with pytest.raises(AttributeError):
            thing.name = "other"
    with pytest.raises(ValueError, match="read-only"):
        A.spatial[0, 0] = 2.0
