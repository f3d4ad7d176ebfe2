"""Gradients in absolute coordinates by parameters that change every number of a system: frames, axes, pitches, springs,
laws, constraints of every kind; against differences of whole runs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.lie import so3
from chasles.model.joint import Joint
from tests.absolute.implicit.test_fours import tops
from tests.absolute.test_constraints import a_custom_link, a_distance, a_line, a_plane
from tests.absolute.test_constraints import held as held_by
from tests.absolute.test_joint_forces import MOVING, start_of, system_with
from tests.simulation.test_gradient_bodies import ARM_START, OF_BODY, Case, Loop, alpha, arm, linkage, with_numbers
from tests.simulation.test_sensitivities_closed import rolling

AMOUNTS = {"places": 0.0, "turns": 0.0, "springs": 0.0, "laws": 0.0, "axes": 0.0, "centers": 0.0}


def moved(frame: Any, rng: np.random.Generator, turns: float, places: float) -> np.ndarray:
    return pose_group.compose(np.array(frame), pose_group.exp(np.repeat([turns, places], 3) * rng.normal(size=6)))


def shaken_joint(joint: Joint, rng: np.random.Generator, given: dict[str, float]) -> Joint:
    changes: dict[str, Any] = {
        name: moved(getattr(joint, name), rng, given["turns"], given["places"])
        for name in ("parent_frame", "child_frame")
    }
    for name in ("damping", "stiffness", "rest", "armature", "friction", "friction_speed", "stop_stiffness", "lower"):
        changes[name] = np.array(getattr(joint, name)) * (1.0 + given["springs"] * rng.uniform(0.5, 1.0))
    screws, turn, pitch = np.array(joint.screws), so3.exp(given["axes"] * rng.normal(size=3)), 1.0 + given["axes"]
    if joint.kind in ("helical", "general"):
        turning = screws[:, :3].any(axis=1)
        screws[turning, 3:] *= pitch
        screws[~turning, 3:] = screws[~turning, 3:] @ turn.T
    elif joint.kind == "universal":
        screws[1, :3] = turn @ screws[1, :3]
    return replace(joint, screws=screws, **changes) if len(screws) else replace(joint, **changes)


def shaken_force(force: Any, rng: np.random.Generator, given: dict[str, float]) -> Any:
    more, changes = 1.0 + given["springs"] * rng.uniform(0.5, 1.0), {}
    if isinstance(force, ch.JointForce):
        if force.parameters:
            changes["parameters"] = np.array(force.parameters) * (1.0 + given["laws"])
        else:
            changes["value"] = np.array(force.value) * more
    elif isinstance(force, ch.Bushing):
        changes["frames"] = [moved(frame, rng, given["turns"], given["places"]) for frame in force.frames]
        changes["stiffness"], changes["damping"] = np.array(force.stiffness) * more, np.array(force.damping) * more
    elif isinstance(force, ch.Spring):
        changes = {"stiffness": force.stiffness * more, "length": force.length * more}
        changes["points"] = np.array(force.points) + given["places"] * rng.normal(size=(2, 3))
    return replace(force, **changes)


def shaken_constraint(item: Any, rng: np.random.Generator, given: dict[str, float]) -> Any:
    if isinstance(item, ch.CustomConstraint):
        return replace(item, parameters=np.array(item.parameters) * (1.0 + given["laws"] * rng.normal(size=7)))
    changes: dict[str, Any] = {"points": np.array(item.points) + given["places"] * rng.normal(size=(2, 3))}
    turn = so3.exp(given["axes"] * rng.normal(size=3))
    if isinstance(item, ch.Distance):
        changes["length"] = item.length * (1.0 + given["springs"])
    elif isinstance(item, ch.PointOnLine):
        changes["direction"] = turn @ np.array(item.direction)
    else:
        changes["normal"] = turn @ np.array(item.normal)
    return replace(item, **changes)


def shaken(system: ch.System, **given: float) -> ch.System:
    """With all numbers changed, each in its own way."""
    rng = np.random.default_rng(5)
    bodies = [replace(body, com=np.array(body.com) + given["centers"] * rng.normal(size=3)) for body in system.bodies]
    joints = [shaken_joint(joint, rng, given) for joint in system.joints]
    forces = [shaken_force(force, rng, given) for force in system.forces]
    constraints = [shaken_constraint(item, rng, given) for item in system.constraints]
    return replace(system, bodies=bodies, joints=joints, forces=forces, constraints=constraints)


def changing(system: ch.System) -> tuple[str, ...]:
    """The amounts that change something."""
    same = shaken(system, **AMOUNTS)
    return tuple(name for name in AMOUNTS if shaken(system, **AMOUNTS | {name: 0.01}) != same)


def agree_on_kind(kind: str, rotor: bool, method: Any, apart: bool) -> None:
    system = system_with(kind, rotor)
    more = {"method": method, "space": ("SE3", "SO3xR3")[len(kind) % 2], "span": 0.06, "size": 3e-3}
    case = Case(lambda **given: shaken(system, **given), *start_of(system), AMOUNTS, **more)
    case.agree(changing(system), apart)


@pytest.mark.parametrize(("kind", "method"), [("cylindrical", "rk4"), ("spherical", alpha())])
def test_numbers_of_a_joint(kind, method):
    agree_on_kind(kind, kind == "cylindrical", method, False)


@pytest.mark.study
@pytest.mark.parametrize("rotor", [False, True])
@pytest.mark.parametrize("kind", MOVING)
@pytest.mark.parametrize("method", ["rk4", alpha()])
def test_numbers_of_every_joint(kind, rotor, method):
    if rotor and kind in ("general", "spherical", "free"):
        pytest.skip("has no armature in absolute coordinates")
    agree_on_kind(kind, rotor, method, True)


@pytest.mark.study
@pytest.mark.parametrize("method", ["rk4", alpha()])
@pytest.mark.parametrize("constraint", [a_distance, a_custom_link, a_line, a_plane])
def test_numbers_of_constraints(constraint, method):
    system, poses, twists = held_by(constraint)
    mechanism = system.compile()
    q = mechanism.assemble(poses.ravel())
    v = mechanism.consistent_velocities(q, twists.ravel())
    given = {"method": method, "span": 0.05, "size": 3e-3}
    Loop(lambda **x: shaken(system, **x), q, v, AMOUNTS, **given).agree(changing(system), apart=True)


@pytest.mark.study
@pytest.mark.parametrize("method", ["rk4", alpha()])
def test_numbers_of_bushings(method):
    system = tops(3)
    more = {"method": method, "step": 0.002, "span": 0.02, "v": [1.0, 20.0, -2.0] * 3, "size": 1e-3}
    Case(lambda **given: shaken(system, **given), parameters=AMOUNTS, **more).agree(changing(system), apart=True)


def beam(E: float = 1e7, width: float = 0.02, density: float = 1000.0, damping: float = 0.01) -> ch.System:
    section, material = ch.rods.Rectangle(width, 0.01), ch.rods.Material(E=E, density=density)
    rod = ch.Rod("rod", ch.rods.Line((0, 0, 0), (1.0, 0, 0)), section, material, elements=3, damping=damping)
    return ch.System(rods=[rod], gravity=(0, 0, -9.81))


@pytest.mark.study
@pytest.mark.parametrize("method", [alpha(), alpha(3)])
def test_numbers_of_rods(method):
    values = {"E": 1e7, "width": 0.02, "density": 1000.0, "damping": 0.01}
    v = np.linspace(-0.3, 0.4, beam().compile().nv)
    Case(beam, parameters=values, method=method, step=0.002, span=0.02, v=v).agree(tuple(values), apart=True)


def seeing(k: float = 2.0, at: float = 0.4, length: float = 0.5) -> ch.System:
    """Two hinges; laws along one and between two points see the other, and how far two frames are from each other."""
    bodies = [ch.Body(name, 1.0, (0.02, 0, -length / 2), (0.02, 0.03, 0.01)) for name in ("upper", "lower")]
    joints = [
        ch.revolute("A", "ground", "upper", axis=(0, 1, 0)),
        ch.revolute("B", "upper", "lower", axis=(1, 0, 0), at=(0, 0, -length)),
    ]
    frames = [ch.Frame("tip", "lower", (0, 0.1, -at)), ch.Frame("hook", "ground", (0.3, 0, at))]
    law, pull = "-k * q('B') * v('B') + 3 * distance('tip', 'hook')", "k * distance - speed + q('B')"
    given: Any = {"parameters": {"k": k}}
    forces = [
        ch.JointForce("law", "A", law, **given),
        ch.TwoPointForce("pull", ("upper", "ground"), pull, points=((0, 0, at), (1, 0, 0)), **given),
    ]
    return ch.System(bodies, joints, frames, forces=forces)


@pytest.mark.parametrize("method", ["rk4", pytest.param(alpha(), marks=pytest.mark.study)])
def test_numbers_of_what_laws_see(method):
    values = {"k": 2.0, "at": 0.4, "length": 0.5}
    Case(seeing, [0.4, -0.3], [1.0, 2.0], values, method=method, span=0.06).agree(tuple(values), apart=True)


@pytest.mark.parametrize("method", ["rk4", alpha()])
def test_bodies_of_a_loop(method):
    """The tree moves as the center of mass does, but what it shows, and the closing of the loop, stay."""
    given = linkage()
    system = replace(given, bodies=[replace(body, inertia=(0.04, 0.05, 0.06)) for body in given.bodies])
    mechanism = system.compile()
    q = mechanism.assemble(None)
    v = mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))

    def build(change):
        return with_numbers(system, change, system.gravity)

    case = Loop(build, q, v, {"change": np.zeros((3, 10))}, method=method, span=0.05)
    found, by = case.agree(("change",)), ch.gradient(case.run(), case.total, by="bodies")["bodies"]
    assert np.abs(OF_BODY * by - found["change"]).max() < 1e-11 * np.abs(found["change"]).max()


@pytest.mark.parametrize("method", ["rk4", alpha()])
def test_dampers_and_friction_that_come_from_zero(method):
    """Compared with the gradient beside zero, where there is a table for them."""

    def build(damping=0.0, friction=0.0):
        system = arm(damping=0.05)
        first, second = system.joints
        return replace(system, joints=[first, replace(second, damping=damping, friction=friction, friction_speed=1.0)])

    at, beside = (
        ch.gradient(case.run(), case.total, by=tuple(case.parameters), system=build, parameters=case.parameters)
        for case in (
            Case(build, *ARM_START, {"damping": x, "friction": x}, method=method, control=[0.4]) for x in (0.0, 1e-9)
        )
    )
    for name in ("damping", "friction"):
        assert at[name] == pytest.approx(beside[name], rel=1e-7)
        assert at[name] != 0.0


def test_rotors_that_come_from_zero():
    def build(armature):
        system = arm()
        return replace(system, joints=[system.joints[0], replace(system.joints[1], armature=armature)])

    case = Case(build, *ARM_START, {"armature": 0.0}, method="rk4", control=[0.4])
    with pytest.raises(ValueError, match="changes the structure of the system"):
        ch.gradient(case.run(), case.total, by="armature", system=build, parameters=case.parameters)


@pytest.mark.parametrize("stabilization", ["projection", pytest.param("baumgarte", marks=pytest.mark.study)])
@pytest.mark.parametrize("space", ["SE3", pytest.param("SO3xR3", marks=pytest.mark.study)])
@pytest.mark.parametrize("step", [0.05, pytest.param(0.01, marks=pytest.mark.study)])
def test_rolling(step, space, stabilization):
    """A disc with a pendulum: places follow the gap alone, velocities all three rows."""
    values = {"radius": 0.2, "slope": 0.3}
    mechanism = rolling(**values).compile()
    q = mechanism.assemble(mechanism.neutral())
    v = mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))
    more = {"stabilization": stabilization, "space": space, "size": 3e-3, "bar": 3e-12}
    case = Loop(rolling, q, v, values, method="rk4", span=0.2, step=step, **more)
    case.agree(("q", "v", *values))


def test_rolling_by_an_implicit_method():
    mechanism = rolling().compile()
    q, v = mechanism.assemble(mechanism.neutral()), np.zeros(mechanism.nv)
    run = ch.simulate(rolling(), (0.0, 0.02), q, v, coordinates="absolute", method=alpha(), step=0.01)
    with pytest.raises(ValueError, match="with rolling and constraints of velocities alone, methods are explicit"):
        ch.gradient(run, ch.objective.end(lambda t, q, v: q[:, 0]))
