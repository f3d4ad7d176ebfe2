"""All joints, constraints and forces with the implicit methods, against an explicit method of order 8."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from tests.absolute.implicit.systems import run
from tests.absolute.loops import four_bar, four_bar_poses, four_bar_twists
from tests.absolute.systems import JOINTS, SPACES, bodies, frame, joined
from tests.absolute.test_constraints import (
    AXIS,
    a_custom_link,
    a_distance,
    a_line,
    a_plane,
    disc_on_plate,
    gears,
    held,
    swing,
)

METHODS = {
    "index 2": (ch.integrate.GeneralizedAlpha(0.8), 50),
    "index 3": (ch.integrate.GeneralizedAlpha(0.8, index=3), 50),
    "RATTLE": (ch.integrate.Rattle(), 50),
    "BLieDF3": (ch.integrate.BLieDF(3), 50),
    "HEM4": (ch.integrate.HalfExplicit(4), 10),
    "Radau": (ch.integrate.RadauIIA(), 7),
}


def difference(one, other):
    off = pose_group.log(pose_group.compose(pose_group.inverse(one.poses[-1]), other.poses[-1]))
    return max(np.abs(off).max(), np.abs(one.twists[-1] - other.twists[-1]).max())


def observed_order(method, steps, system, end, space, **start):
    """From runs with `steps` and twice as many; also the finer run."""
    best = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-12, "save": "final"}
    exact = ch.simulate(system, (0.0, end), coordinates="absolute", space=space, **best, **start)
    runs = [run(system, end, space, method, end / n, **start) for n in (steps, 2 * steps)]
    coarse, fine = (difference(found, exact) for found in runs)
    return np.log2(coarse / fine), runs[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind != "weld"])
@pytest.mark.parametrize("name", METHODS)
def test_joints(name, kind):
    method, steps = METHODS[name]
    system = joined(kind, True)
    v = np.random.default_rng(5).normal(size=ch.Mechanism(system).nv)
    space = {"one": "SE3", "two": "SO3xR3"} if kind != "spherical" else "SE3"  # each body on a group of its own
    order, fine = observed_order(method, steps, system, 0.2, space, v=v)
    assert order > method.order - 0.2
    position, speed = fine.violations
    assert position.max() < 1e-13
    # Newton's method stops at 1e-10 of the velocities
    assert speed.max() < (1e-3 if name == "index 3" else 1e-10 * (1.0 + np.abs(fine.twists).max()))


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", [a_distance, a_line, a_plane, a_custom_link, disc_on_plate])
@pytest.mark.parametrize("name", ["index 2", "BLieDF3", "HEM4"])
@pytest.mark.parametrize("space", SPACES)
def test_constraints_between_bodies(space, name, kind):
    method, steps = METHODS[name]
    system, poses, twists = held(kind)
    mechanism = system.compile("absolute")
    twists = mechanism.consistent_velocities(poses, twists)
    order, _ = observed_order(method, 2 * steps, system, 0.2, space, poses=poses, twists=twists)
    assert order > method.order - 0.25


@pytest.mark.parametrize("name", METHODS)
def test_driven_joints_follow_their_laws(name):
    method, steps = METHODS[name]
    rng = np.random.default_rng(11)
    system = ch.System(
        bodies(rng, "one", "two"),
        [
            ch.revolute("hinge", "ground", "one", axis=AXIS, at=frame(rng), child_at=frame(rng)),
            ch.cylindrical("slide", "one", "two", axis=(0.3, 0.1, 0.9), at=frame(rng), child_at=frame(rng)),
        ],
    ).with_constraint(
        ch.Drive("crank", "hinge", swing, parameters=[0.4, 5.0, 8.0]),
        ch.Drive("lift", "slide", swing, coordinate=1, parameters=[0.1, 3.0, 0.0]),
    )
    order, fine = observed_order(method, 2 * steps, system, 0.3, "SO3xR3", v=[0.4 * 5.0 + 8.0, 0.7, 0.1 * 3.0])
    assert order > method.order - 0.2
    assert fine.violations[0].max() < 1e-13


@pytest.mark.parametrize("name", METHODS)
def test_gears_over_many_turns(name):
    """A coupling of 40 rad, counted; (I_1 + I_2/9) q_1'' = torque, which all these methods solve exactly."""
    system = gears((1.0, 3.0))
    found = run(system, 4.0, "SO3xR3", METHODS[name][0], 0.01, q=[0.1, 0.1])
    turns = found.dynamics.angles(found.solution.y)[-1]
    assert turns[0] > 40.0
    assert turns[0] + 3.0 * turns[1] == pytest.approx(0.4, abs=1e-10)
    assert found.violations[0].max() < 1e-13


@pytest.mark.parametrize("name", METHODS)
def test_a_closed_loop(name):
    method, steps = METHODS[name]
    start = {"poses": four_bar_poses(0.5), "twists": four_bar_twists(0.5, 4.0)}
    order, fine = observed_order(method, 2 * steps, four_bar(), 0.2, "SO3xR3", **start)
    assert order > method.order - 0.2
    assert fine.violations[0].max() < 1e-13


def star() -> ch.System:
    """A hub with five arms, which stays in the matrix of the equations."""
    hub = ch.Body("hub", 3.0, (0.1, 0.0, 0.0), (0.5, 0.6, 0.7))
    arms = [ch.Body(f"arm {k}", 1.0, (0.3, 0.1, 0.0), (0.05, 0.06, 0.07)) for k in range(5)]
    joints = [ch.free("hub joint", "ground", "hub")]
    for k in range(5):
        pose = pose_group.exp([0.1 * k, 0.3, 1.2 * k, 0.2, 0.1 * k, 0.0])
        make = ch.spherical if k % 2 else ch.universal
        joints.append(make(f"joint {k}", "hub", f"arm {k}", at=pose))
    return ch.System([hub, *arms], joints, name="star")


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("space", SPACES)
def test_a_hub(space, name):
    method, steps = METHODS[name]
    v = 2.0 * np.random.default_rng(8).normal(size=ch.Mechanism(star()).nv)
    order, _ = observed_order(method, 2 * steps, star(), 0.2, space, v=v)
    assert order > method.order - 0.2
