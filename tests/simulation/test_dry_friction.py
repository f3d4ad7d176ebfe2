"""Friction that sticks: against closed forms, to the last bit where nothing moves, and refused where it is unknown."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from tests.simulation.work import judge_at_few_times

G = 9.81
INERTIA = (0.1, 0.1, 0.1)


def body(name, mass=1.0):
    return ch.Body(name, mass, (0, 0, 0), INERTIA)


def slope(friction, mass=2.0, angle=np.pi / 9, **more):
    axis = (np.cos(angle), 0, -np.sin(angle))
    normal = mass * G * np.cos(angle)
    joint = ch.prismatic("slide", "ground", "block", axis=axis, friction=friction * normal, friction_speed=0, **more)
    return ch.System([body("block", mass)], [joint])


def oscillator(mass, stiffness, friction, **more):
    options = {"stiffness": stiffness, "friction": friction, "friction_speed": 0.0} | more
    return ch.System([body("block", mass)], [ch.prismatic("slide", "ground", "block", axis=(1, 0, 0), **options)])


def test_a_block_on_a_slope_does_not_move_to_the_last_bit(monkeypatch):
    judge_at_few_times(monkeypatch.setattr)
    run = ch.simulate(slope(0.5), (0, 10.0), q=[0.3])
    assert np.all(run.q == 0.3)
    assert not run.v.any()
    assert not run.a.any()
    assert run.certificate.status == "passed"


def test_a_block_that_is_pushed_up_comes_to_rest_or_slides_back():
    sin, cos = np.sin(np.deg2rad(20.0)), np.cos(np.deg2rad(20.0))
    for friction, speed in itertools.product((0.5, 0.2), (-2.0, -0.01)):
        up, down = G * (sin + friction * cos), G * (sin - friction * cos)
        run = ch.simulate(slope(friction), (0, 3.0), v=[speed])
        top, rest = -(speed**2) / (2 * up), 3.0 - abs(speed) / up
        expected = top + (0.5 * down * rest**2 if down > 0 else 0.0)
        assert run.q[-1, 0] == pytest.approx(expected, rel=1e-12)
        assert run.v[-1, 0] == (0.0 if down < 0 else pytest.approx(down * rest, rel=1e-12))


@pytest.mark.first(1)
@pytest.mark.parametrize(("mass", "stiffness", "friction", "start"), [(1.0, 100.0, 1.5, 0.2), (3e-3, 7.0, 2e-4, -1e-3)])
def test_an_oscillator_loses_the_same_at_every_turn_and_stops(mass, stiffness, friction, start):
    """x turns at x0, -(x0 - 2 d), ... with d = F / k, at equal times, until |x| <= d."""
    half, d = np.pi * np.sqrt(mass / stiffness), friction / stiffness
    turns = [start]
    while abs(turns[-1]) > d:
        turns.append(-(turns[-1] - 2 * d * np.sign(turns[-1])))
    times = half * np.arange(len(turns) + 2)
    run = ch.simulate(
        oscillator(mass, stiffness, friction), (0, times[-1]), q=[start], save=times, rtol=1e-12, atol=1e-16
    )
    expected = np.array([*turns, turns[-1], turns[-1]])
    assert np.abs(run.q[:, 0] - expected).max() < 1e-9 * abs(start)
    assert run.q[-1, 0] == run.q[-2, 0]
    lost = friction * np.abs(np.diff(turns)).sum()
    assert run.energies.work[-1] == pytest.approx(-lost, rel=1e-9)
    assert run.certificate.status == "passed"


def test_it_may_end_by_an_event_and_take_any_method():
    system, stop = oscillator(1.0, 100.0, 1.5), ch.Event(lambda t, y, p: y[0] + 0.1, terminal=True)
    run = ch.simulate(system, (0, 5.0), q=[0.2], events=[stop])
    # the first half swing is a cosine about F / k = 15 mm
    assert run.t[-1] == pytest.approx(np.arccos((-0.1 - 0.015) / (0.2 - 0.015)) / 10.0, rel=1e-7)
    assert run.certificate.status == "passed"
    for method in ("lie_midpoint", "rk4"):
        run = ch.simulate(system, (0, 1.0), q=[0.08], method=method, step=1e-3, save="final")
        assert run.q[-1, 0] == pytest.approx(0.01, abs=1e-9)  # 0.08, -0.05, 0.02, 0.01
        assert run.v[-1, 0] == 0.0


def test_friction_that_only_holds():
    joint = ch.prismatic("slide", "ground", "block", axis=(0, 0, 1), static_friction=20.0, friction_speed=0)
    assert not ch.simulate(ch.System([body("block")], [joint]), (0, 1.0)).q.any()


def belt(k=50.0, kinetic=2.0, static=3.0, speed=0.1, mass=1.0):
    """A block on a belt that moves, held by a spring to the ground."""
    joints = [
        ch.prismatic("belt", "ground", "belt", axis=(1, 0, 0)),
        ch.prismatic(
            "contact", "belt", "block", axis=(1, 0, 0), friction=kinetic, static_friction=static, friction_speed=0
        ),
    ]
    spring = ch.Spring("spring", ("ground", "block"), ((-1.0, 0, 0), (0, 0, 0)), k, 0.0, 1.0)
    drive = ch.Drive("motor", "belt", f"{speed} * t")
    return ch.System(
        [body("belt"), body("block", mass)], joints, forces=[spring], constraints=[drive], gravity=(0, 0, 0)
    )


def test_stick_and_slip_on_a_belt():
    """It sticks until k x = F_static, slips as a harmonic about F / k, and sticks again at the belt's velocity."""
    k, kinetic, static, speed = 50.0, 2.0, 3.0, 0.1
    w, leave, middle = np.sqrt(k), static / k, kinetic / k
    high, rate = leave - middle, speed / w  # x = middle + high cos + rate sin
    slip = 2 * (np.pi - np.arctan2(high, rate)) / w
    again = middle - high
    first = leave / speed
    period = slip + (leave - again) / speed
    times = np.sort(np.concatenate([first + period * np.arange(3) + 0.3 * slip, [0.5 * first, first + period]]))
    run = ch.simulate(belt(), (0, times[-1] + 0.1), v=[speed, 0.0], save=times, rtol=1e-12)

    def exact(t):
        if t < first:
            return speed * t
        t = (t - first) % period
        if t < slip:
            return middle + high * np.cos(w * t) + rate * np.sin(w * t)
        return again + speed * (t - slip)

    found = run["block"].position[:, 0]
    assert np.abs(found - [exact(t) for t in times]).max() < 1e-9


def test_several_joints_hold_each_other():
    """Two links whose joints can hold them stay; with less friction in the first they move, and the other holds."""

    def arm(first, second):
        link = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
        bodies = [ch.Body("upper", **link), ch.Body("lower", **link)]
        joints = [
            ch.revolute("one", "ground", "upper", axis=(0, 1, 0), friction=first, friction_speed=0),
            ch.revolute("two", "upper", "lower", axis=(0, 1, 0), at=(1, 0, 0), friction=second, friction_speed=0),
        ]
        return ch.System(bodies, joints)

    held = ch.simulate(arm(20.0, 5.0), (0, 2.0), q=[0.1, -0.2])
    assert np.all(held.q == [0.1, -0.2])
    needed = -held.mechanism.inverse_dynamics(held.q[0], held.v[0], held.a[0])
    assert np.all(np.abs(needed) < [20.0, 5.0])
    assert np.allclose(held.acting[-1], -needed)
    moves = ch.simulate(arm(10.0, 100.0), (0, 0.3))
    assert np.all(moves.q[:, 1] == 0.0)
    assert moves.q[-1, 0] > 0.05
    rigid = 0.02 + 0.1 * 2 - 0.02 + 0.25 + 2.25  # about the first axis, with the second locked
    assert moves.a[0, 0] == pytest.approx((G * 2.0 - 10.0) / rigid, rel=1e-12)


def test_a_loop_with_friction_in_two_joints_holds():
    """A four-bar with friction in two of its joints: what they give is not unique, and nothing moves."""
    link = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    names, ends = ("crank", "coupler", "rocker"), np.array([[0, 0, 0], [0, 0, 1.0], [1.0, 0, 1.0], [1.0, 0, 0]])
    turns = [-np.pi / 2, np.pi / 2, np.pi / 2]
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 1, 0), friction=4.0, friction_speed=0),
        ch.revolute("B", "crank", "coupler", axis=(0, 1, 0), at=(1, 0, 0), friction=4.0, friction_speed=0),
        ch.revolute("C", "coupler", "rocker", axis=(0, 1, 0), at=(1, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=(0, 1, 0), at=tuple(ends[3]), child_at=(1, 0, 0)),
    ]
    system = ch.System([ch.Body(name, **link) for name in names], joints, gravity=(3.0, 0, -1.0))
    run = ch.simulate(system, (0, 1.0), q=turns, stops=[0.5])
    assert np.all(run.q == turns)
    weak = ch.simulate(
        ch.System(system.bodies, [*(j if j.name in "CD" else _with(j, 0.3) for j in joints)], gravity=(3.0, 0, -1.0)),
        (0, 0.3),
        q=turns,
    )
    assert weak.success
    assert abs(weak.q[-1, 0] - turns[0]) > 0.01
    assert np.abs(weak.violations.position).max() < 1e-12
    energies = weak.energies
    total = energies.kinetic + energies.gravity - energies.work
    assert np.abs(total - total[0]).max() < 1e-7


def _with(joint, friction):
    return replace(joint, friction=friction)


def test_it_is_refused_where_it_is_not_known():
    system = slope(0.5)
    with pytest.raises(ValueError, match="only simulate supports"):
        ch.Simulation(system, 0.01)
    for function in (ch.linearize, ch.equilibrium):
        with pytest.raises(ValueError, match=r": joint 'slide' has stick-slip friction"):
            function(system)
    with pytest.raises(ValueError, match="cannot run backward in time"):
        ch.simulate(system, (1.0, 0.0))
    with pytest.raises(ValueError, match="for coordinates with one axis, not for a spherical joint"):
        ch.spherical("ball", "ground", "block", friction=1.0, friction_speed=0)
    with pytest.raises(ValueError, match="static_friction is for stick-slip friction"):
        ch.prismatic("slide", "ground", "block", axis=(1, 0, 0), friction=1.0, static_friction=2.0)
    with pytest.raises(ValueError, match="expected no less than friction"):
        ch.prismatic("slide", "ground", "block", axis=(1, 0, 0), friction=2.0, static_friction=1.0, friction_speed=0)


def test_in_files_and_under_a_controller(tmp_path):
    system = oscillator(1.0, 100.0, 1.5)
    run = ch.simulate(system, (0, 1.0), q=[0.2], file=tmp_path / "run.h5")
    again = ch.open(tmp_path / "run.h5")
    np.testing.assert_array_equal(again.q, run.q)
    np.testing.assert_array_equal(again.a, run.a)
    assert again.certificate.status == "passed"
    push = ch.simulate(slope(0.5), (0, 1.0), controller=lambda t, q, v: [2.0], period=0.1)
    assert np.all(push.q == 0.0)
    assert push.certificate.status == "passed"
    hard = ch.simulate(slope(0.5), (0, 1.0), control=[30.0])
    free = (30.0 + 2 * G * np.sin(np.deg2rad(20.0)) - 0.5 * 2 * G * np.cos(np.deg2rad(20.0))) / 2
    assert hard.q[-1, 0] == pytest.approx(0.5 * free, rel=1e-12)


def test_points_are_saved_at_the_times_asked_for_and_no_others():
    """Also where nothing changes on the way, and the end was not asked for."""
    rubs = {"friction": 1.0, "friction_speed": 0.0}
    slide = ch.prismatic("slide", "ground", "block", axis=(1, 0, 0), **rubs)
    system = ch.System([ch.Body("block", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))], [slide])
    for speed in (10.0, 0.3):  # it slides all the time, and comes to rest at 0.3 s
        run = ch.simulate(system, (0.0, 0.5), v=[speed], save=[0.1, 0.4])
        assert run.t.tolist() == [0.1, 0.4]
        known = [speed * t - t**2 / 2 if t < speed else speed**2 / 2 for t in (0.1, 0.4)]
        np.testing.assert_allclose(run.q[:, 0], known, rtol=1e-9)
