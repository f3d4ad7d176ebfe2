"""Rigid limits with restitution: against closed forms and independent models, and refused where they are not known."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from tests.simulation.work import judge_at_few_times

G = 9.81
INERTIA = (0.1, 0.1, 0.1)
TINY = 1e-6  # moments of inertia of what is nearly a point


def body(name, mass=1.0, size=1.0):
    return ch.Body(name, mass, (0, 0, 0), tuple(mass * size**2 * x for x in INERTIA))


def ball(restitution, mass=2.0, size=1.0, g=G, **more):
    joint = ch.prismatic("slide", "ground", "ball", axis=(0, 0, 1), restitution=restitution, **({"lower": 0.0} | more))
    return ch.System([body("ball", mass, size)], [joint], gravity=(0, 0, -g))


@pytest.mark.first(1)
@pytest.mark.parametrize(("e", "size", "mass"), [(0.5, 1.0, 2.0), (0.8, 1e-3, 1e-6), (0.3, 1e4, 7e5)])
def test_a_bouncing_slider_comes_to_rest(e, size, mass):
    """It strikes at t1 (1 + 2 e + 2 e² + ...), and rests after t1 (1 + e) / (1 - e), whatever the units."""
    g, first = G * size, np.sqrt(2 / G)
    last = first * (1 + e) / (1 - e)
    strikes = np.cumsum(first * np.concatenate([[1.0], 2 * e ** np.arange(1, 12)]))
    tops = 0.5 * (strikes[1:] + strikes[:-1])
    times = np.concatenate([tops, [last + 0.1, last + 0.2]])
    system = ball(e, mass, size, g)
    run = ch.simulate(system, (0, last + 0.2), q=[size], save=times, rtol=1e-12, atol=1e-14 * size)
    *bounces, rests = run.events
    found = np.array([one.t for one in bounces])
    assert np.abs(found[:12] - strikes).max() < 1e-9
    assert last - 1e-5 < found[-1] < last
    heights = size * e ** (2 * np.arange(1, 12))
    assert np.abs(run.q[:-2, 0] - heights).max() < 1e-9 * size
    assert not run.q[-2:].any()
    assert not run.v[-2:].any()
    assert run.energies.work[-1] == pytest.approx(-mass * g * size, rel=1e-12)
    assert {one.event.name for one in bounces} == {"slide strikes its lower limit"}
    assert rests.event.name == "slide rests at its lower limit"
    assert rests.t == found[-1]
    assert run.certificate.status == "passed"


def test_a_pendulum_loses_the_same_share_at_every_strike():
    """Against a stop at the bottom the next swing has 1 - cos = e² (1 - cos) of the one before."""
    e, start = 0.6, 1.2
    joint = ch.revolute("hinge", "ground", "rod", axis=(0, 1, 0), lower=0.0, restitution=e)
    system = ch.System([ch.Body("rod", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))], [joint])
    turn = ch.Event(lambda t, y, p: y[1], -1)
    run = ch.simulate(system, (0, 3.0), q=[start], events=[turn], rtol=1e-12, save="final")
    tops = [one.y[0] for one in run.events if one.event is turn]
    expected = [np.arccos(1 - e ** (2 * n) * (1 - np.cos(start))) for n in range(1, len(tops) + 1)]
    assert len(tops) >= 3
    assert np.abs(np.array(tops) - expected).max() < 1e-9


def test_two_masses_exchange_momentum():
    m1, m2, speed, gap, e = 2.0, 3.0, 1.5, 0.4, 0.7
    joints = [
        ch.prismatic("first", "ground", "a", axis=(1, 0, 0)),
        ch.prismatic("second", "a", "b", axis=(1, 0, 0), lower=-gap, upper=gap, restitution=e),
    ]
    system = ch.System([body("a", m1), body("b", m2)], joints, gravity=(0, 0, 0))
    run = ch.simulate(system, (0, 2.5), v=[0.0, speed])
    mean = m2 * speed / (m1 + m2)
    relative = speed * (-e) ** np.arange(1, 4)
    times = gap / speed * np.cumsum([1.0, *(2.0 / e ** np.arange(1, 3))])
    assert [one.event.name.split()[-2] for one in run.events] == ["upper", "lower", "upper"]
    assert np.abs([one.t for one in run.events] - times).max() < 1e-9
    share = m2 / (m1 + m2)
    assert run.v[-1] == pytest.approx([mean - share * relative[-1], relative[-1]], rel=1e-12)
    each = 0.5 * m1 * m2 / (m1 + m2) * speed**2 * e ** (2 * np.arange(3)) * (1 - e**2)
    assert [one.lost for one in run.strikes] == pytest.approx(each, rel=1e-9)
    assert [one.after[1] for one in run.strikes] == pytest.approx(relative, rel=1e-9)
    lost = 0.5 * m1 * m2 / (m1 + m2) * speed**2 * (1 - e**6)
    assert run.energies.work[-1] == pytest.approx(-lost, rel=1e-12)


def stack(lower_e, upper_e, m1=2.0, m2=3.0):
    """A mass on the ground, and one above it that falls on it."""
    joints = [
        ch.prismatic("low", "ground", "a", axis=(0, 0, 1), lower=0.0, restitution=lower_e),
        ch.prismatic("high", "a", "b", axis=(0, 0, 1), lower=0.0, restitution=upper_e),
    ]
    return ch.System([body("a", m1), body("b", m2)], joints)


def test_a_mass_at_rest_on_a_limit_holds_one_that_falls_on_it():
    e = 0.5
    run = ch.simulate(stack(0.3, e), (0, 0.9), q=[0.0, 1.0], rtol=1e-12)
    first = np.sqrt(2 / G)
    assert np.all(run.q[:, 0] == 0.0)
    assert run.events[0].t == pytest.approx(first, abs=1e-9)
    t = 0.9 - first
    second = e * G * first * t - 0.5 * G * t**2
    assert run.q[-1, 1] == pytest.approx(second, abs=1e-9)
    assert run.acting[-1] == pytest.approx([5.0 * G - 3.0 * G, 0.0])  # what the ground gives while the other flies


def test_several_strikes_at_once():
    """Both masses strike at the same instant: each limit gives back its share, and no energy comes in."""
    run = ch.simulate(stack(0.4, 0.6), (0, 0.46), q=[1.0, 0.0], rtol=1e-12)
    before, after = run.events[0].y, run.v[np.searchsorted(run.t, run.events[0].t)]
    assert before[3] == 0.0
    assert after[0] == -0.4 * before[2]  # both go up together
    assert after[1] == 0.0
    assert np.abs(np.diff(run.energies.balance)).max() < 1e-12 * run.energies.gravity[0]
    assert np.all(np.diff(run.energies.work) <= 0.0)


@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 0.0), (3.0, 0.5)])
def test_a_limit_only_pushes(friction, restitution):
    """A force that grows lifts a mass off its limit when it carries the weight, and what friction holds."""
    m, k = 2.0, 30.0
    rubs = {"friction": friction, "friction_speed": 0.0} if friction else {}
    joint = ch.prismatic("slide", "ground", "ball", axis=(0, 0, 1), lower=0.0, restitution=restitution, **rubs)
    pull = ch.JointForce("pull", "slide", f"{k} * t")
    system = ch.System([body("ball", m)], [joint], forces=[pull])
    leaves = (m * G + friction) / k
    run = ch.simulate(system, (0, leaves + 0.5), save=[0.9 * leaves, leaves + 0.2, leaves + 0.5], rtol=1e-12)
    assert run.q[0, 0] == 0.0
    assert run.acting[0, 0] == pytest.approx(m * G - k * 0.9 * leaves if not friction else 0.0, abs=friction + 1e-9)
    assert run.q[1:, 0] == pytest.approx(k / m * np.array([0.2, 0.5]) ** 3 / 6, rel=1e-9)
    (lifted,) = run.events
    assert lifted.event.name == "slide leaves its lower limit"
    assert lifted.t == pytest.approx(leaves, abs=1e-9)


def double_pendulum(t, y, m=1.0, g=G):
    """Two rods of length 1 as point masses at their ends; angles of the first, and of the second to the first."""
    a, b, u, w = y
    c, s = np.cos(b), np.sin(b)
    M = np.array([[m * (3 + 2 * c) + 2 * TINY, m * (1 + c) + TINY], [m * (1 + c) + TINY, m + TINY]])
    h = np.array([-m * s * (2 * u * w + w * w), m * s * u * u])
    k = m * g * np.array([2 * np.sin(a) + np.sin(a + b), np.sin(a + b)])
    return np.concatenate([[u, w], np.linalg.solve(M, -h - k)]), M


def test_a_double_pendulum_with_a_stop_at_its_elbow_as_scipy_has_it():
    e, low, high, end = 0.6, -0.4, 0.5, 3.0
    rods = [ch.Body(name, 1.0, (0, 0, -1.0), (TINY, TINY, TINY)) for name in ("upper", "lower")]
    joints = [
        ch.revolute("shoulder", "ground", "upper", axis=(0, 1, 0)),
        ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -1), lower=low, upper=high, restitution=e),
    ]
    start = np.array([1.3, 0.1, 0.0, 0.0])
    run = ch.simulate(ch.System(rods, joints), (0, end), q=start[:2], rtol=1e-12, save="final")

    strikes = [lambda t, y: y[1] - low, lambda t, y: y[1] - high]
    for event, direction in zip(strikes, (-1, 1), strict=True):
        event.terminal, event.direction = True, direction
    t, y, count = 0.0, start, 0
    while t < end:
        found = solve_ivp(
            lambda t, y: double_pendulum(t, y)[0], (t, end), y, method="DOP853", rtol=1e-12, atol=1e-13, events=strikes
        )
        t, y = found.t[-1], found.y[:, -1].copy()
        if found.status == 1:
            M, d = double_pendulum(t, y)[1], np.array([0.0, 1.0])
            x = np.linalg.solve(M, d)
            y[2:] -= (1 + e) * y[3] / x[1] * x
            count += 1
    assert count >= 3
    assert len(run.events) == count
    assert np.abs(np.concatenate([run.q[-1], run.v[-1]]) - y).max() < 1e-8
    assert run.certificate.status == "passed"


def slider_crank(r=0.3, length=0.8, **guide):
    crank = ch.Body("crank", 1.0, (r / 2, 0, 0), (1e-3, 0.01, 0.01))
    rod = ch.Body("rod", 0.7, (length / 2, 0, 0), (1e-3, 0.04, 0.04))
    slider = ch.Body("slider", 2.0, (0, 0, 0), (0.01, 0.01, 0.01))
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 1, 0)),
        ch.revolute("B", "crank", "rod", axis=(0, 1, 0), at=(r, 0, 0)),
        ch.revolute("C", "rod", "slider", axis=(0, 1, 0), at=(length, 0, 0)),
        ch.prismatic("guide", "ground", "slider", axis=(1, 0, 0), **guide),
    ]
    return ch.System([crank, rod, slider], joints)


class ReducedSliderCrank:
    """The slider-crank in its crank angle alone (positive about -y, upward): kinetic energy J(θ) θ'² / 2."""

    def __init__(self, r=0.3, length=0.8):
        self.r, self.length = r, length

    def place(self, angle):
        return self.r * np.cos(angle) + np.sqrt(self.length**2 - (self.r * np.sin(angle)) ** 2)

    def parts(self, angle):
        """Inertia, its derivative by the angle, and the torque of gravity; derivatives by complex steps."""

        def inertia(x):
            r = self.r
            root = np.sqrt(self.length**2 - (r * np.sin(x)) ** 2)
            turn = -r * np.cos(x) / root  # of the rod, by the angle
            slide = -r * np.sin(x) + turn * r * np.sin(x)  # x' = -r s - r s r c / root
            middle = (-r * np.sin(x) + 0.5 * turn * r * np.sin(x), 0.5 * r * np.cos(x))
            own = 1.0 * (r / 2) ** 2 + 0.01 + 0.04 * turn**2
            return own + 0.7 * (middle[0] ** 2 + middle[1] ** 2) + 2.0 * slide**2

        h = 1e-30
        gravity = -(1.0 + 0.7) * G * self.r / 2 * np.cos(angle)
        return inertia(angle), np.imag(inertia(angle + 1j * h)) / h, gravity


def test_a_slider_crank_with_a_stop_as_scipy_has_it():
    """The slider strikes a limit through the loop."""
    e, end, model = 0.5, 4.0, ReducedSliderCrank()
    low = 0.75
    system = slider_crank(lower=low, restitution=e)
    start = np.deg2rad(80.0)
    run = ch.simulate(system, (0, end), q={"A": -start}, rtol=1e-12, save="final")
    assert "guide" in run.joints

    def field(t, y):
        J, dJ, torque = model.parts(y[0])
        return [y[1], (torque - 0.5 * dJ * y[1] ** 2) / J]

    def strike(t, y):
        return model.place(y[0]) - low

    strike.terminal, strike.direction = True, -1
    t, y, times = 0.0, np.array([start, 0.0]), []
    while t < end:
        found = solve_ivp(field, (t, end), y, method="DOP853", rtol=1e-12, atol=1e-13, events=strike)
        t, y = found.t[-1], found.y[:, -1].copy()
        if found.status == 1:
            y[1] *= -e
            times.append(t)
    assert len(times) >= 2
    assert len(run.events) == len(times)
    assert np.abs(np.array([one.t for one in run.events]) - times).max() < 1e-8
    assert run.joint("A").q[-1, 0] == pytest.approx(-y[0], abs=1e-8)
    assert run.joint("A").v[-1, 0] == pytest.approx(-y[1], abs=1e-8)
    assert np.abs(run.violations.velocity).max() < 1e-12


def test_a_loop_rests_on_a_limit_to_the_last_bit(monkeypatch):
    judge_at_few_times(monkeypatch.setattr)
    system, start = slider_crank(lower=0.75, restitution=0.2), {"q": {"A": -np.deg2rad(80.0)}, "v": {"A": 4.0}}
    run = ch.simulate(system, (0, 3.1), **start, stops=[2.9, 3.0])
    rest = run.t >= 2.9
    assert run.certificate.status == "passed"
    assert rest.sum() >= 3
    assert np.all(run.joint("guide").q[rest] == 0.75)
    assert not run.joint("guide").v[rest].any()
    assert np.abs(run.v[rest]).max() < 1e-15
    assert np.abs(run.energies.balance - run.energies.balance[0]).max() < 1e-7


def test_free_bodies_and_other_methods_strike_too():
    """A body in free flight carries a slider that strikes: momentum is kept."""
    joints = [
        ch.free("float", "ground", "box"),
        ch.prismatic("slide", "box", "ball", axis=(1, 0, 0), lower=-0.2, upper=0.2, restitution=0.9),
    ]
    system = ch.System([body("box", 3.0), body("ball", 1.0)], joints, gravity=(0, 0, 0))
    run = ch.simulate(system, (0, 2.0), v=[0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0])
    assert len(run.events) > 2
    momentum = system.compile().momentum(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-7
    for method in ("rk4", "lie_midpoint"):
        fixed = ch.simulate(ball(0.5), (0, 0.8), q=[1.0], method=method, step=1e-3, save="final")
        t = 0.8 - np.sqrt(2 / G)
        assert fixed.q[-1, 0] == pytest.approx(0.5 * np.sqrt(2 * G) * t - 0.5 * G * t**2, abs=1e-9)


def test_in_files(tmp_path):
    text = """
[[bodies]]
name = "ball"
mass = 2.0
inertia = [0.1, 0.1, 0.1]

[[joints]]
name = "slide"
kind = "prismatic"
parent = "ground"
child = "ball"
axis = [0, 0, 1]
lower = "0 mm"
restitution = 0.5

[initial]
q.slide = "1 m"

[simulation]
span = [0, 1.0]
"""
    (tmp_path / "ball.toml").write_text(text)
    study = ch.load(tmp_path / "ball.toml")
    run = study.run(file=tmp_path / "run.h5")
    again = ch.open(tmp_path / "run.h5")
    assert [one.t for one in again.events] == [one.t for one in run.events]
    assert len(again.events) == 2
    assert again.events[0].event.name == "slide strikes its lower limit"
    np.testing.assert_array_equal(again.q, run.q)
    assert again.certificate.status == "passed"
    bad = text.replace("restitution = 0.5", "restitution = 1.5")
    (tmp_path / "bad.toml").write_text(bad)
    with pytest.raises(ValueError, match="restitution is"):
        ch.load(tmp_path / "bad.toml")


def test_what_is_refused():
    with pytest.raises(ValueError, match="set lower or upper too"):
        ball(0.5, lower=-np.inf)
    with pytest.raises(ValueError, match="from 0 to 1"):
        ball(-0.1)
    with pytest.raises(ValueError, match=r"rigid .* or compliant .*, not both"):
        ball(0.5, stop_stiffness=1.0)
    with pytest.raises(ValueError, match="equal rigid limits"):
        ball(0.5, upper=0.0)
    with pytest.raises(ValueError, match=r"starts at -0\.1, beyond its rigid lower limit 0"):
        ch.simulate(ball(0.5), (0, 1.0), q=[-0.1])
    with pytest.raises(ValueError, match="cannot run backward in time"):
        ch.simulate(ball(0.5), (1.0, 0.0), q=[1.0])
    for function in (ch.linearize, ch.equilibrium):
        with pytest.raises(ValueError, match=r": joint 'slide' has rigid limits"):
            function(ball(0.5))


BROKEN = []


def breaks_off(t, y, p):
    if BROKEN and t > BROKEN[0]:
        raise RuntimeError("the power went off")
    return y[0] - 100.0


@pytest.mark.first(1)
@pytest.mark.parametrize("save", ["all", "final", [0.0, 0.3, 0.7, 1.0, 1.2]])
def test_a_run_that_broke_off_goes_on_to_the_same_bits(tmp_path, save):
    """With friction and impacts: rests, bounces and the events are the same as if nothing had happened."""
    joint = ch.prismatic(
        "slide", "ground", "ball", axis=(0, 0, 1), lower=0.0, restitution=0.6, friction=1.0, friction_speed=0.0
    )
    system = ch.System([body("ball", 2.0)], [joint])
    options = {"q": [0.5], "v": [1.0], "save": save, "events": [ch.Event(breaks_off)]}
    whole = ch.simulate(system, (0, 1.2), **options)
    BROKEN[:] = [0.8]
    try:
        with pytest.raises(RuntimeError, match="power"):
            ch.simulate(system, (0, 1.2), **options, file=tmp_path / "run.h5")
    finally:
        BROKEN.clear()
    part = ch.open(tmp_path / "run.h5")
    assert not part.success
    again = ch.resume(tmp_path / "run.h5", events=options["events"])
    for one in (again, ch.open(tmp_path / "run.h5")):
        assert one.success
        np.testing.assert_array_equal(one.t, whole.t)
        np.testing.assert_array_equal(one.solution.y, whole.solution.y)
        assert [found.t for found in one.events] == [found.t for found in whole.events]
        assert one.solution.steps == whole.solution.steps
        assert one.solution.evaluations == whole.solution.evaluations


def test_a_strike_has_one_name_in_all_coordinates():
    """The limit of a follower is its own, on whichever side of its leader it lies."""
    bodies = [ch.Body(name, 1.0, (0, 0, -0.3), (0.1, 0.1, 0.1)) for name in ("a", "b")]
    limits = {"lower": -0.2, "upper": 0.1, "restitution": 0.5, "mimic": "leader", "mimic_ratio": -1.0}
    joints = [
        ch.revolute("leader", "ground", "a", axis=(0, 1, 0)),
        ch.revolute("follower", "a", "b", axis=(0, 1, 0), at=(0, 0, -0.5), **limits),
    ]
    found = []
    for coordinates in ("relative", "absolute"):
        run = ch.simulate(
            ch.System(bodies, joints), (0, 0.12), v={"leader": 3.0}, coordinates=coordinates, certificate=False
        )
        found.append([event.event.name for event in run.events])
    assert found[0] == found[1] == ["follower strikes its lower limit"]
