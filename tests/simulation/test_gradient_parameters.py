"""Gradients by many parameters of trees, and by numbers of a system by name."""

from dataclasses import fields, replace

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.adjoint.objective import quadrature
from tests.simulation.test_gradient import BAR, Measured, agree, bare_four_bar, pendulum
from tests.simulation.test_sensitivities import CONTROL, PARAMETERS, machine, start


def scaled(factors) -> ch.System:
    """`machine` with each number of its forces, springs of joints, places and masses times a factor of its own, and a
    spring that sees another joint."""
    left = iter(np.ravel(factors).tolist())
    system = machine()
    forces = []
    for force in system.forces:
        for name in ("stiffness", "damping", "length", "points", "parameters"):
            if name in {field.name for field in fields(force)} and np.any(getattr(force, name)):
                force = replace(force, **{name: np.array(getattr(force, name)) * next(left)})
        forces.append(force)
    joints = []
    for joint in system.joints:
        for name in ("stiffness", "damping", "rest", "friction", "lower", "stop_stiffness", "stop_damping"):
            if np.isfinite(getattr(joint, name)).all() and np.any(getattr(joint, name)):
                joint = replace(joint, **{name: np.array(getattr(joint, name)) * next(left)})
        if np.any(joint.parent_frame[4:]):
            place = (*joint.parent_frame[:4], *(np.array(joint.parent_frame[4:]) * next(left)))
            joint = replace(joint, parent_frame=place)
        joints.append(joint)
    bodies = [replace(body, mass=body.mass * next(left)) for body in system.bodies]
    assert not list(left)
    seeing = ch.JointForce("seeing", "knee", "k * q('rail') * q", parameters={"k": 0.3})
    return replace(system, forces=(*forces, seeing), joints=joints, bodies=bodies)


FACTORS = 25  # of `scaled`


def test_more_parameters_than_numbers():
    """Hundreds, which all forces and places depend on, along two directions of them."""
    rng, count = np.random.default_rng(3), 120
    mixed = rng.normal(size=(FACTORS, count)) / np.sqrt(count)
    along = rng.normal(size=(2, count)) / np.sqrt(count)

    def build(many):
        return scaled(1.0 + mixed @ many)

    def build_along(one, two):
        return build(one * along[0] + two * along[1])

    options = {"wrt": ("one", "two"), "parameters": {"one": 0.0, "two": 0.0}, "control": CONTROL, "step": 0.02}
    found = ch.sensitivities(build_along, (0.0, 0.1), *start(), method="rk4", **options)
    measured = Measured(found.run.mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    got = ch.gradient(found.run, total, by="many", system=build, parameters={"many": np.zeros(count)})
    weights = quadrature(found.t)
    weights[-1] += 1.0
    wanted = weights @ measured.along(found)
    assert np.abs(along @ got["many"] - wanted).max() < BAR * np.abs(wanted).max()


def test_numbers_of_the_system_by_name():
    """The same as parameters of a function; poses along pose exp(δ)."""
    values = {name: PARAMETERS[name] for name in ("mass", "stiffness", "gear", "damping")}
    options = {"control": CONTROL, "method": "rk4", "step": 0.02}
    run = ch.simulate(machine(), (0.0, 0.1), *start(), certificate=False, **options)
    total = ch.objective.end(Measured(run.mechanism))
    wanted = ch.gradient(run, total, by=tuple(values), system=machine, parameters=values)
    names = ["bodies.arm.mass", "forces.spring.stiffness", "actuators.bend.gear", "joints.knee.damping"]
    moved = ["joints.knee.parent_frame", "frames.tip.pose", "bodies.leg.inertia"]
    found = ch.gradient(run, total, by=[*names, *moved])
    assert found["bodies.leg.inertia"].shape == (6,)
    assert found["frames.tip.pose"].tolist() == [0.0] * 6
    forward = ch.sensitivities(machine(), (0.0, 0.1), *start(), wrt=[*names[:1], *moved[:1], "gravity"], **options)
    measured = Measured(run.mechanism)
    along = measured.along(forward)[-1]
    for name, parameter in zip(names, values, strict=True):
        if parameter != "stiffness":  # the bushing depends on it, too
            assert np.ravel(found[name])[0] == pytest.approx(wanted[parameter], rel=1e-11), name
    found.parts["gravity"] = ch.gradient(run, total, by="gravity")["gravity"]
    for name in (names[0], moved[0], "gravity"):
        assert np.ravel(found[name]) == pytest.approx(along[forward.columns[name]], rel=1e-10, abs=1e-13), name
    with pytest.raises(ValueError, match=r"no number 'bodies\.arn\.mass'; did you mean 'bodies\.arm\.mass'"):
        ch.gradient(run, total, by="bodies.arn.mass")


@pytest.mark.parametrize("end", [0.08, 0.0705])
def test_behind_the_last_checkpoint_there_may_be_one_short_step(end):
    kept, every = (
        ch.simulate(pendulum(), (0.0, end), {"elbow": 0.3}, method="rk4", step=0.01, save=save) for save in (7, "all")
    )
    total = ch.objective.end(lambda t, q, v: q[:, 0] + v[:, 1])
    assert len(every.t) == 9
    for name in ("q", "v"):
        assert ch.gradient(kept, total, name)[name] == pytest.approx(ch.gradient(every, total, name)[name], rel=1e-11)


@pytest.mark.parametrize("build", [pendulum, bare_four_bar])
def test_the_first_spring_and_damper(build):
    """By a damping and a stiffness that are zero, as all others are."""
    system = build(mass=2.0)
    q, v = ({"elbow": 0.3}, {"pivot": (1.0, 0.5)}) if build is pendulum else ({"A": 0.8}, {"A": 3.0})
    by = ["joints.elbow.damping", "joints.pivot.stiffness"] if build is pendulum else ["joints.B.damping"]
    found = ch.sensitivities(system, (0.0, 0.2), q, v, wrt=by, method="rk4", step=0.01)
    measured = Measured(found.run.mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    run = ch.simulate(system, (0.0, 0.2), q, v, method="rk4", step=0.01)
    assert not run.mechanism.tables.sprung
    agree(ch.gradient(run, total, by=by), found, measured, 10 * BAR)
    with pytest.raises(ValueError, match="brings in the friction of joint"):
        ch.gradient(run, total, by=by[0].replace("damping", "friction"))


def test_indices_are_no_numbers_to_vary():
    run = ch.simulate(pendulum(), (0.0, 0.1), v=[1.0, 2.0, 3.0], step=0.01)
    with pytest.raises(ValueError, match=r"no number 'actuators\.motor\.coordinate'"):
        ch.gradient(run, ch.objective.end(lambda t, q, v: q[:, 0]), by="actuators.motor.coordinate")
