"""Model files of the gallery are the systems that Python builds."""

import functools

import numpy as np
import pytest

import chasles as ch
from chasles.gallery import andrews, boxes, model_files, overconstrained
from chasles.gallery.pendulum import Pendulum
from chasles.gallery.quadrotors import Quadrotors
from chasles.gallery.rigid_body import RigidBody
from chasles.gallery.spinning_top import SpinningTop
from chasles.io.load import load
from chasles.lie.rotation import quaternion_to_matrix

LINKAGES = ("four_bars", "parallelogram", "bricard", "bennett")
EQUATIONS = ("rigid_body", "spinning_top", "chain", "quadrotors")
MECHANISMS = ("excavator", "gate", "gear_train", "gripper", "slider_crank", "suspension")  # in test_mechanisms
RODS = ("flying_spaghetti", "right_angle_frame", "cantilever_bend", "roll_up")  # in tests/rods
ELASTIC = ("cable_with_load", "flexible_slider_crank", "helicopter_blade", "slinky", "tendon_finger")


@functools.cache
def study_of(name):
    return load(model_files()[name])


def test_every_file_is_compared():
    assert set(model_files()) == {*boxes.EXAMPLES, "andrews", *LINKAGES, *EQUATIONS, *MECHANISMS, *RODS, *ELASTIC}
    for name in model_files():
        assert study_of(name).description, name
        assert model_files()[name].read_text().startswith("#"), name


# verdicts that take longest; of a rod that of the tendon stays, of loops those of the others
LONG = {*RODS, *ELASTIC, "suspension", "four_bars", "parallelogram"} - {"tendon_finger"}


@pytest.mark.parametrize("name", sorted(LONG))
def test_every_file_runs_to_its_end(name):
    run = study_of(name).run(progress=False, certificate=False)
    assert run.success, run.message
    assert np.isfinite(run.poses).all()


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.study] * (n in LONG)) for n in sorted(model_files())]
)
def test_every_file_runs_to_its_end_and_passes(name):
    """But for the double pendulum, which is chaotic: it is right for a second and a half, then one motion of many."""
    study = study_of(name)
    run = study.run(progress=False)
    if name != "double_pendulum":
        assert run.certificate.passed, run.certificate
        return
    assert run.certificate["energy balance"].passed
    assert run.certificate.status == "failed"
    assert "amplifies small errors" in run.certificate.advice[0]
    tighter = study.run(progress=False, rtol=1e-12, atol=1e-14, save=[0.9 * run.certificate.horizon, 10.0])
    looser = study.run(progress=False, save=tighter.t)
    off = np.abs(tighter.poses - looser.poses).max(axis=(1, 2))
    assert off[0] < 1e-2 < 1e-1 < off[1]
    assert study.run(progress=False, span=(0.0, 1.0)).certificate.passed


@pytest.mark.parametrize("name", [*boxes.EXAMPLES, *LINKAGES])
def test_the_same_system_and_start(name):
    make = getattr(overconstrained, name) if name in LINKAGES else boxes.EXAMPLES[name]
    study, expected = study_of(name), make()
    poses, twists = study.poses()
    assert study.system == expected.system
    np.testing.assert_allclose(poses, expected.poses, rtol=0, atol=3e-16)
    np.testing.assert_allclose(twists, expected.twists, rtol=0, atol=1e-14)


def test_andrews_squeezer():
    study = study_of("andrews")
    poses, twists = study.poses()
    assert study.system == andrews.system()
    np.testing.assert_allclose(poses, andrews.poses(), rtol=0, atol=1e-15)
    assert not twists.any()
    assert study.options["span"] == (0.0, andrews.DURATION)


def test_parameters_of_the_parallelogram():
    changed = {f"parameters.{key}": value for key, value in {"crank": 0.7, "base": 1.1, "angle": -0.4}.items()}
    study = load(model_files()["parallelogram"], set={**changed, "parameters.speed": 2.0})
    expected = overconstrained.parallelogram(0.7, 1.1, -0.4, 2.0)
    poses, twists = study.poses()
    np.testing.assert_allclose(poses, expected.poses, rtol=0, atol=3e-16)
    np.testing.assert_allclose(twists, expected.twists, rtol=0, atol=1e-15)
    for one, other in zip(study.system.bodies, expected.system.bodies, strict=True):
        np.testing.assert_allclose(one.spatial, other.spatial, rtol=1e-15, atol=1e-17)


# ---------------------------------------------------------------- systems that Python has as equations only

TIGHT = {"rtol": 1e-11, "atol": 1e-12, "progress": False}


def moved(name, end, equations):
    """The run of a file, and the solution of the equations at its end."""
    run = study_of(name).run(span=(0.0, end), **TIGHT)
    problem, start = equations.problem(), equations.initial()
    return run, ch.integrate.solve(problem, ch.integrate.RKMK("dopri5"), (0.0, end), start, save="final", **TIGHT).y[-1]


def test_rigid_body():
    run = study_of("rigid_body").run(span=(0.0, 5.0), **TIGHT)
    expected = RigidBody().reference(5.0)
    np.testing.assert_allclose(run.v[-1] * np.array(RigidBody().inertia), expected, rtol=0, atol=2e-10)


def test_spinning_top():
    run, y = moved("spinning_top", 0.1, SpinningTop())
    np.testing.assert_allclose(quaternion_to_matrix(run.q[-1]), quaternion_to_matrix(y[:4]), rtol=0, atol=1e-8)


def test_chain():
    chain = Pendulum.uniform(2, gravity=9.81, directions=(1.0, 0.0, 0.0), velocities=(0.0, 0.0, 1.0))
    run, y = moved("chain", 1.0, chain)
    np.testing.assert_allclose(run.poses[-1, :, 4:], chain.positions(y), rtol=0, atol=1e-8)


def test_quadrotors():
    flying = Quadrotors(
        controlled=False,
        velocity=(0.0, 0.0, -6.0),
        angular_velocities=((0.0, 2.0, 0.0), (0.0, -2.0, 0.0)),
        rates=((1.0, 2.0, 0.0), (0.0, 2.0, 1.0)),
    )
    run, y = moved("quadrotors", 1.0, flying)
    np.testing.assert_allclose(run["load"].position[-1], y[:3], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.poses[-1, 1:, 4:], flying.rotor_positions(y), rtol=0, atol=1e-8)
    for k, at in ((1, 6), (2, 13)):
        turned = quaternion_to_matrix(run.poses[-1, k, :4])
        np.testing.assert_allclose(turned, quaternion_to_matrix(y[at : at + 4]), rtol=0, atol=1e-8)
