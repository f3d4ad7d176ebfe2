"""Mechanisms that stand still are right, in both kinds of coordinates: the truth is that nothing moves. And those that
nearly do are judged by their motion."""

import numpy as np
import pytest

import chasles as ch

BODY = ch.Body("body", 1.0, (0.3, 0, 0), (0.01, 0.03, 0.03))
HINGE = ch.revolute("hinge", "ground", "body", axis=(0, 1, 0))
ROD = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.001, 0.1, 0.1)}
PUSH = ch.Wrench("push", "body", (0, 3.0, 0, 10.0, 0, 5.0))


def held(**more) -> ch.System:
    return ch.System([BODY], [HINGE], constraints=[ch.Drive("hold", "hinge", 0.5)], **more)


def arms() -> ch.System:
    joints = [ch.revolute("A", "ground", "a", axis=(0, 1, 0)), ch.revolute("B", "a", "b", axis=(0, 1, 0), at=(1, 0, 0))]
    drives = [ch.Drive("hold A", "A", 0.3), ch.Drive("hold B", "B", -0.4)]
    return ch.System([ch.Body(name, **ROD) for name in "ab"], joints, constraints=drives)


def truss() -> ch.System:
    rods = [
        ch.Distance("left", ("ground", "node"), ((-1, 0, 1), (-0.2, 0, 0)), np.hypot(0.8, 1)),
        ch.Distance("right", ("ground", "node"), ((1, 0, 1), (0.2, 0, 0)), np.hypot(0.8, 1)),
        ch.Distance("side", ("ground", "node"), ((1, 0, 0), (0.2, 0, 0)), 0.8),
    ]
    plane = ch.planar("plane", "ground", "node", normal=(0, 1, 0))
    return ch.System([ch.Body("node", 5.0, (0, 0, 0), (0.1, 0.1, 0.1))], [plane], constraints=rods)


def four_bar() -> ch.System:
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("B", "crank", "coupler", axis=(0, 0, 1), at=(1, 0, 0)),
        ch.revolute("C", "coupler", "rocker", axis=(0, 0, 1), at=(1, 0, 0), child_at=(1, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=(0, 0, 1), at=(1.3, 0, 0)),
    ]
    bodies = [ch.Body(name, **ROD) for name in ("crank", "coupler", "rocker")]
    return ch.System(bodies, joints, constraints=[ch.Drive("hold", "A", 1.4)], gravity=(0, -9.81, 0))


def satellite() -> ch.System:
    """Floats, and a loaded spring is held inside: nothing outside acts, so momenta are kept."""
    bodies = [ch.Body("hub", 2.0, (0, 0, 0), (0.1, 0.2, 0.3)), BODY]
    joints = [
        ch.free("flight", "ground", "hub"),
        ch.revolute("boom", "hub", "body", axis=(0, 1, 0), at=(0.3, 0, 0), stiffness=40.0),
    ]
    return ch.System(bodies, joints, constraints=[ch.Drive("hold", "boom", 0.5)], gravity=(0, 0, 0))


def welded(**more) -> ch.System:
    return ch.System([BODY], [ch.weld("weld", "ground", "body")], **more)


def sprung(stiffness=50.0, name="sprung") -> ch.System:
    hinge = ch.revolute("hinge", "ground", "body", axis=(0.3, 1, 0.2), stiffness=stiffness)
    return ch.System([ch.Body("body", 1.0, (0.3, 0.1, -0.5), (0.1, 0.1, 0.01))], [hinge], name=name)


STILL = {
    "held by a drive": (held(), [0.5]),
    "held and pushed without gravity": (held(forces=[PUSH], gravity=(0, 0, 0)), [0.5]),
    "two arms": (arms(), [0.3, -0.4]),
    "truss": (truss(), None),
    "four-bar": (four_bar(), "assemble"),
    "satellite": (satellite(), {"boom": [0.5]}),
    "welded": (welded(), []),
}


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("name", STILL)
def test_what_is_held_still_passes(name, coordinates):
    system, q = STILL[name]
    q = system.compile().assemble([1.4, -1.3, 1.2]) if isinstance(q, str) else q
    run = ch.simulate(system, (0.0, 2.0), q=q, coordinates=coordinates)
    first, last = (np.array([run[body.name].position[k] for body in system.bodies]) for k in (0, -1))
    assert np.abs(last - first).max() < 1e-9  # the truth: nothing moves
    assert run.certificate.passed, str(run.certificate)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_feedback_of_violations_may_tremble(coordinates):
    """Steps follow the error, so what feedback holds still trembles by their absolute tolerance."""
    q = four_bar().compile().assemble([1.4, -1.3, 1.2])
    run = ch.simulate(four_bar(), (0.0, 1.0), q=q, coordinates=coordinates, stabilization="baumgarte")
    assert np.abs(run.v).max() < 1e-8
    assert run.certificate.passed, str(run.certificate)


def test_what_is_welded_and_pushed_passes():
    assert ch.simulate(welded(forces=[PUSH], gravity=(0, 0, 0)), (0.0, 2.0), coordinates="absolute").certificate.passed


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("stiffness", [5.0, 50.0, 5000.0])
def test_what_rests_on_a_loaded_spring_passes(stiffness, coordinates):
    """Weight and spring are in balance to rounding, so the truth is that it stays; steps that follow the error let it
    tremble by their absolute tolerance."""
    system = sprung(stiffness)
    rest = ch.equilibrium(system)
    run = ch.simulate(system, (0.0, 20.0), q=rest.q, coordinates=coordinates)
    assert np.abs(run.joint("hinge").q - rest.q).max() < 1e-8
    assert run.certificate.passed, str(run.certificate)


def test_a_small_swing_about_a_loaded_spring_is_judged_by_its_size():
    """It swings as a cosine, whose frequency is that of the stiffness and inertia about the hinge. Coarse steps get its
    phase wrong; that it is small does not excuse this."""
    system = sprung()
    rest = ch.equilibrium(system)
    mass = float(system.compile().mass_matrix(rest.q)[0, 0])
    pace = np.sqrt(rest.stiffness[0, 0] / mass)
    start = rest.q + 1e-7
    good = ch.simulate(system, (0.0, 5.0), q=start, rtol=1e-11, atol=1e-15)
    bad = ch.simulate(system, (0.0, 5.0), q=start, method="heun", step=0.01)
    off = [np.abs(run.q[:, 0] - rest.q - 1e-7 * np.cos(pace * run.t)).max() / 1e-7 for run in (good, bad)]
    assert off[0] < 1e-4
    assert off[1] > 1e-2
    assert good.certificate.passed, str(good.certificate)
    assert bad.certificate.status == "failed"
