"""Friction in proportion to what a joint carries: against closed forms and models with multipliers of their own."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import chasles as ch
from chasles.errors import FrictionLoadError
from tests.simulation.test_rigid_limits import ReducedSliderCrank, slider_crank
from tests.simulation.work import judge_at_few_times

G = 9.81
STICKS = {"friction_speed": 0.0}


def slope(coefficient, angle, mass=2.0, size=1.0, **more):
    joint = ch.prismatic(
        "slide", "ground", "block", axis=(np.cos(angle), 0, -np.sin(angle)), friction_coefficient=coefficient, **more
    )
    body = ch.Body("block", mass, (0, 0, 0), tuple(0.1 * mass * size**2 * np.ones(3)))
    return ch.System([body], [joint], gravity=(0, 0, -G * size))


@pytest.mark.parametrize(("mass", "size"), [(2.0, 1.0), (3e-5, 1e-3)])
def test_a_block_on_a_slope_holds_to_the_last_bit_or_slides(mass, size):
    angle = np.deg2rad(20.0)
    just = np.tan(angle)
    holds = ch.simulate(slope(1.0001 * just, angle, mass, size, **STICKS), (0, 10.0), q=[0.3 * size])
    assert np.all(holds.q == 0.3 * size)
    assert holds.acting[-1, 0] == pytest.approx(-mass * G * size * np.sin(angle), rel=1e-12)
    slides = ch.simulate(slope(0.9999 * just, angle, mass, size, **STICKS), (0, 10.0))
    down = G * size * (np.sin(angle) - 0.9999 * just * np.cos(angle))
    assert slides.q[-1, 0] == pytest.approx(50.0 * down, rel=1e-9)
    static = slope(0.2, angle, mass, size, static_friction_coefficient=0.4, **STICKS)
    assert not ch.simulate(static, (0, 1.0)).q.any()
    speed = -1.0 * size
    up = ch.simulate(static, (0, 1.0), v=[speed])
    assert up.q[-1, 0] == pytest.approx(-(speed**2) / (2 * G * size * (np.sin(angle) + 0.2 * np.cos(angle))), rel=1e-9)
    assert up.v[-1, 0] == 0.0


M, L, R, MU, MOMENT = 1.5, 0.6, 0.05, 0.3, 0.02


def pendulum(speed):
    joint = ch.revolute(
        "hinge", "ground", "rod", axis=(0, 1, 0), friction_coefficient=MU, bearing_radius=R, friction_speed=speed
    )
    return ch.System([ch.Body("rod", M, (0, 0, -L), (MOMENT, MOMENT, 0.01))], [joint])


def bearing_acceleration(angle, rate, part):
    """The acceleration at which the torque of friction is that of the reaction it makes."""
    radial = M * (G * np.cos(angle) + L * rate**2)

    def off(a):
        return (
            (MOMENT + M * L**2) * a
            + M * G * L * np.sin(angle)
            + part * MU * R * np.hypot(radial, M * (L * a + G * np.sin(angle)))
        )

    return brentq(off, -1e3, 1e3, xtol=1e-15, rtol=1e-15)


def test_a_pendulum_in_a_smooth_bearing_as_scipy_has_it():
    speed, end = 0.05, 0.4
    run = ch.simulate(pendulum(speed), (0, end), q=[1.2], rtol=1e-10, save="final")
    found = solve_ivp(
        lambda t, y: [y[1], bearing_acceleration(y[0], y[1], np.tanh(y[1] / speed))],
        (0, end), [1.2, 0.0], method="DOP853", rtol=1e-11, atol=1e-12,
    )  # fmt: skip
    assert run.q[-1, 0] == pytest.approx(found.y[0, -1], abs=1e-8)
    assert run.v[-1, 0] == pytest.approx(found.y[1, -1], abs=1e-8)


def test_a_pendulum_in_a_bearing_comes_to_rest_as_scipy_has_it():
    end, start = 1.8, np.array([0.09, 0.0])
    run = ch.simulate(pendulum(0.0), (0, end), q=[start[0]], rtol=1e-10)
    t, y, part = 0.0, start, -1.0
    while t < end:

        def stops(t, y):
            return y[1]

        stops.terminal, stops.direction = True, -part
        found = solve_ivp(
            lambda t, y, part=part: [y[1], bearing_acceleration(y[0], y[1], part)],
            (t, end), y, method="DOP853", rtol=1e-11, atol=1e-13, events=stops,
        )  # fmt: skip
        t, y, part = found.t[-1], np.array([found.y[0, -1], 0.0]), -part
        if abs(M * G * L * np.sin(y[0])) < MU * R * M * G:
            break
    assert t < end
    assert run.q[-1, 0] == pytest.approx(y[0], abs=1e-8)
    assert run.v[-1, 0] == 0.0
    assert run.energies.balance[-1] == pytest.approx(run.energies.balance[0], abs=1e-9)


def test_the_load_is_the_reaction_of_the_joint():
    """In the middle of a tree too, and with the moment over the length of a guide."""
    length = 0.3
    guide = {"friction_coefficient": 0.2, "guide_length": length, "friction_speed": 0.01}
    pin = {"friction_coefficient": 0.1, "bearing_radius": 0.02, "friction_speed": 0.02}
    bodies = [ch.Body(n, 1.0 + k, (0.1, 0.05 * k, -0.2), (0.02, 0.03, 0.04)) for k, n in enumerate("abc")]
    joints = [
        ch.revolute("first", "ground", "a", axis=(0, 0.6, 0.8), **pin),
        ch.prismatic("middle", "a", "b", axis=(1, 0, 0), at=(0.4, 0, 0), **guide),
        ch.revolute("last", "b", "c", axis=(0, 1, 0), at=(0.2, 0.1, 0), **pin),
    ]
    system = ch.System(bodies, joints, forces=[ch.Spring("s", ("ground", "c"), ((1, 0, 0), (0, 0, 0)), 30.0, 0.0, 0.5)])
    run = ch.simulate(system, (0, 0.05), q=[0.2, 0.1, -0.3], v=[1.0, -0.4, 0.7], save="final")
    through = {name: run.reactions(name)[-1] for name in ("first", "middle", "last")}
    acting, v = run.acting[-1], run.v[-1]
    for k, axis in ((0, np.array([0, 0.6, 0.8])), (2, np.array([0, 1.0, 0]))):
        force = through[joints[k].name][3:]
        radial = np.linalg.norm(force - axis * (axis @ force))
        assert acting[k] == pytest.approx(-0.1 * 0.02 * radial * np.tanh(v[k] / 0.02), rel=1e-11)
    torque, force = through["middle"][:3], through["middle"][3:] * [0, 1, 1]
    turn = np.cross([1, 0, 0], torque) / length
    load = np.linalg.norm(0.5 * force + turn) + np.linalg.norm(0.5 * force - turn)
    assert acting[1] == pytest.approx(-0.2 * load * np.tanh(v[1] / 0.01), rel=1e-11)
    energy = ch.simulate(system, (0, 0.1), q=[0.2, 0.1, -0.3], v=[1.0, -0.4, 0.7], save="final").energies
    assert energy.balance[-1] == pytest.approx(energy.balance[0], abs=1e-7)
    assert energy.work[-1] < 0.0


def with_multipliers(t, y, mu, speed, r=0.3, length=0.8):
    """The slider-crank in (crank angle, rod angle, slider) with two constraints; friction by the guide's force."""
    (a, b, _), v = y[:3], y[3:]
    ca, sa, cb, sb = np.cos(a), np.sin(a), np.cos(b), np.sin(b)
    M = np.zeros((3, 3))
    M[0, 0] = 0.01 + 1.0 * (r / 2) ** 2 + 0.7 * r**2
    M[0, 1] = M[1, 0] = 0.7 * r * length / 2 * np.cos(a - b)
    M[1, 1] = 0.04 + 0.7 * (length / 2) ** 2
    M[2, 2] = 2.0
    h = 0.7 * r * length / 2 * np.sin(a - b) * np.array([v[1] ** 2, -(v[0] ** 2), 0.0])
    weight = G * np.array([(0.5 + 0.7) * r * ca, 0.7 * length / 2 * cb, 0.0])
    J = np.array([[-r * sa, -length * sb, -1.0], [r * ca, length * cb, 0.0]])
    bias = np.array([-r * ca * v[0] ** 2 - length * cb * v[1] ** 2, -r * sa * v[0] ** 2 - length * sb * v[1] ** 2])
    saddle = np.block([[M, J.T], [J, np.zeros((2, 2))]])
    normal = 0.0
    for _ in range(100):
        force = np.array([0.0, 0.0, -mu * abs(normal) * np.tanh(v[2] / speed)])
        found = np.linalg.solve(saddle, np.concatenate([force - h - weight, -bias]))
        before, normal = normal, 2.0 * G - found[4]
        if abs(normal - before) < 1e-14 * abs(normal):
            break
    return np.concatenate([v, found[:3]])


def test_a_slider_crank_with_friction_in_its_guide_as_scipy_has_it():
    mu, speed, end, start = 0.3, 0.05, 0.15, np.deg2rad(70.0)
    system = slider_crank(friction_coefficient=mu, friction_speed=speed)
    rod = -np.arcsin(0.3 * np.sin(start) / 0.8)
    rates = np.array([-3.0, 3.0 * 0.3 * np.cos(start) / (0.8 * np.cos(rod)), 0.0])
    rates[2] = -0.3 * np.sin(start) * rates[0] - 0.8 * np.sin(rod) * rates[1]
    place = 0.3 * np.cos(start) + 0.8 * np.cos(rod)
    found = solve_ivp(
        with_multipliers, (0, end), [start, rod, place, *rates],
        args=(mu, speed), method="DOP853", rtol=1e-10, atol=1e-11,
    )  # fmt: skip
    run = ch.simulate(system, (0, end), q={"A": -start}, v={"A": 3.0}, rtol=1e-10, save="final")
    assert run.joint("A").q[-1, 0] == pytest.approx(-found.y[0, -1], abs=1e-8)
    assert run.joint("A").v[-1, 0] == pytest.approx(-found.y[3, -1], abs=1e-8)
    assert run.joint("guide").q[-1, 0] == pytest.approx(found.y[2, -1], abs=1e-8)


def test_a_slider_crank_with_friction_spring_and_motor_as_scipy_has_it():
    """Dry friction and a spring in the guide, a motor on the crank: it turns back and forth, and sticks."""
    friction, stiffness, rest, torque, end = 4.0, 400.0, 0.8, 3.0, 2.0
    model = ReducedSliderCrank()
    system = slider_crank(friction=friction, friction_speed=0.0, stiffness=stiffness, rest=rest)
    start = np.deg2rad(40.0)
    run = ch.simulate(system, (0, end), q={"A": -start}, control={"A": -torque}, rtol=1e-11, save="final")

    def slide(angle):
        h = 1e-30
        return np.imag(model.place(angle + 1j * h)) / h

    def load(angle):
        return model.parts(angle)[2] + torque - stiffness * (model.place(angle) - rest) * slide(angle)

    def field(t, y, part):
        J, dJ, _ = model.parts(y[0])
        return [y[1], (load(y[0]) - part * friction * abs(slide(y[0])) - 0.5 * dJ * y[1] ** 2) / J]

    def stops(t, y, part):
        return y[1]

    stops.terminal = True
    t, y, turns = 0.0, np.array([start, 0.0]), 0
    while t < end:
        pull = load(y[0])
        if abs(pull) <= friction * abs(slide(y[0])):
            break
        part = np.sign(pull)
        stops.direction = -part
        found = solve_ivp(field, (t, end), y, method="DOP853", rtol=1e-12, atol=1e-13, events=stops, args=(part,))
        t, y, turns = found.t[-1], found.y[:, -1].copy(), turns + 1
        if found.status == 1:
            y[1] = 0.0
    assert turns >= 3
    assert run.joint("A").q[-1, 0] == pytest.approx(-y[0], abs=1e-8)
    assert run.joint("A").v[-1, 0] == pytest.approx(-y[1], abs=1e-8)


def test_paradoxes_and_what_is_refused():
    joint = ch.revolute(
        "hinge", "ground", "rod", axis=(0, 1, 0), friction_coefficient=2.0, bearing_radius=0.8, **STICKS
    )
    system = ch.System([ch.Body("rod", 1.0, (0, 0, -1.0), (0.01, 0.01, 0.01))], [joint])
    with pytest.raises(FrictionLoadError, match=r"'hinge' .*Painlev"):
        ch.simulate(system, (0, 1.0), q=[1.0], v=[1.0])
    with pytest.raises(ValueError, match="depends on its load"):
        ch.linearize(slope(0.3, 0.2))
    with pytest.raises(ValueError, match="applied=False"):
        slope(0.3, 0.2).compile().inverse_dynamics([0.0], [0.0], [0.0])
    kinds = {"name": "j", "parent": "ground", "child": "b"}
    with pytest.raises(ValueError, match="needs its bearing_radius"):
        ch.revolute(**kinds, axis=(0, 0, 1), friction_coefficient=0.1)
    with pytest.raises(ValueError, match="guide_length is for a prismatic joint"):
        ch.revolute(**kinds, axis=(0, 0, 1), friction_coefficient=0.1, bearing_radius=0.1, guide_length=1.0)
    with pytest.raises(ValueError, match="is for revolute joints about their frame, prismatic and helical ones"):
        ch.cylindrical(**kinds, axis=(0, 0, 1), friction_coefficient=0.1)
    with pytest.raises(ValueError, match="set friction_speed = 0 too"):
        ch.prismatic(**kinds, axis=(0, 0, 1), friction_coefficient=0.1, static_friction_coefficient=0.2)
    with pytest.raises(ValueError, match="no less than"):
        ch.prismatic(
            **kinds, axis=(0, 0, 1), friction_coefficient=0.3, static_friction_coefficient=0.2, friction_speed=0
        )


def screw(coefficient, pitch, **more):
    """A nut of 10 kg that turns up and down a vertical thread."""
    thread = {"pitch": pitch, "friction_coefficient": coefficient, "thread_radius": 0.012, "friction_speed": 0.0}
    nut = ch.Body("nut", 10.0, (0, 0, 0), (0.01, 0.01, 0.02))
    return ch.System([nut], [ch.helical("thread", "ground", "nut", axis=(0, 0, 1), **thread, **more)])


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("pitch", [0.003, -0.006])
def test_a_thread_takes_the_torque_of_a_power_screw(pitch, coordinates):
    """Raising takes F r tan(l + f), lowering F r tan(f - l), tan l = h / r, tan f = mu; F accelerates too."""
    mu, r, up = 0.15, 0.012, np.sign(pitch)
    lead, angle, inertia = np.arctan(abs(pitch) / r), np.arctan(mu), 0.02
    for way, tangent in ((up, np.tan(angle + lead)), (-up, np.tan(angle - lead))):
        torque = way * 3.0
        run = ch.simulate(
            screw(mu, pitch), (0, 0.1), v=[way * 2.0], control=[torque], coordinates=coordinates, save="final"
        )
        # the torque on the nut: I a = torque - way r tan(..) m (g + pitch a)
        expected = (torque - way * r * tangent * 10.0 * G) / (inertia + way * r * tangent * 10.0 * pitch)
        assert run.joint("thread").v[-1, 0] == pytest.approx(way * 2.0 + 0.1 * expected, rel=1e-9)


def test_a_thread_locks_itself_if_its_lead_is_less_than_its_friction():
    for pitch, locks in ((0.15 * 0.012 * 0.999, True), (0.15 * 0.012 * 1.001, False)):
        run = ch.simulate(screw(0.15, pitch), (0, 1.0))
        assert (run.v[-1, 0] == 0.0) == locks
        assert (run.q[-1, 0] == 0.0) == locks
    with pytest.raises(ValueError, match="helical joint needs its thread_radius"):
        ch.helical("thread", "ground", "nut", axis=(0, 0, 1), pitch=0.01, friction_coefficient=0.1)
    with pytest.raises(ValueError, match=r"of a thread and rigid limits .* exclude each other"):
        screw(0.1, 0.01, lower=0.0, restitution=0.5)


def blow(speed, bounce, coordinates="relative"):
    """A weight drops onto a sledge."""
    joints = [
        ch.prismatic("guide", "ground", "sledge", axis=(1, 0, 0), friction_coefficient=MU, friction_speed=0.0),
        ch.prismatic("drop", "sledge", "weight", axis=(0, 0, 1), lower=0.0, restitution=bounce),
    ]
    bodies = [ch.Body(name, mass, inertia=(0.1, 0.1, 0.1)) for name, mass in (("sledge", 2.0), ("weight", 1.0))]
    options = {"q": [0.0, 0.05], "v": [speed, 0.0], "coordinates": coordinates, "rtol": 1e-10}
    return ch.simulate(ch.System(bodies, joints), (0, 0.12), **options)


@pytest.mark.parametrize("closely", [False, pytest.param(True, marks=pytest.mark.study)])
def test_a_blow_is_judged(closely, monkeypatch):
    if not closely:
        judge_at_few_times(monkeypatch.setattr)
    run = blow(2.0, 0.5)
    assert run.certificate.status == "passed", str(run.certificate)


@pytest.mark.sample(1)
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize(("speed", "bounce"), [(2.0, 0.5), (-0.3, 0.5), (-3.0, 0.0), (0.0, 0.2)])
def test_a_blow_loads_the_guide_and_rubs(speed, bounce, coordinates):
    """A weight drops onto a sledge: its impulse goes through the guide, which takes mu times as much of the slip."""
    mu, sledge, weight, high, run = MU, 2.0, 1.0, 0.05, blow(speed, bounce, coordinates)
    falls, fast = np.sqrt(2 * high / G), np.sqrt(2 * high * G)
    strike = next(one for one in run.strikes if "drop" in one.names[0])
    assert strike.t == pytest.approx(falls, rel=1e-9)
    # while the weight falls the guide carries the sledge alone, and rubs on both
    slip = np.sign(speed) * max(abs(speed) - mu * sledge * G * falls / (sledge + weight), 0.0)
    after = np.sign(slip) * max(abs(slip) - mu * weight * (1 + bounce) * fast / (sledge + weight), 0.0)
    assert strike.before[0] == pytest.approx(slip, abs=1e-9)
    assert strike.after[0] == pytest.approx(after, abs=1e-9)
    assert (after == 0.0) == (strike.after[0] == 0.0)
    assert strike.after[1] == pytest.approx(bounce * fast, rel=1e-9)
    lost = 0.5 * weight * (1 - bounce**2) * fast**2 + 0.5 * (sledge + weight) * (slip**2 - after**2)
    assert strike.lost == pytest.approx(lost, rel=1e-8)


@pytest.mark.parametrize(("static", "slides"), [(0.5, True), (1.5, False)])
def test_a_blow_that_static_friction_does_not_hold_slides(static, slides):
    """A weight strikes a sledge at rest along a slope. Where the static coefficient does not hold it, the other one
    acts: m u cos(slope) less mu times the impulse m u sin(slope) that the guide carries."""
    slope, mu, u = np.deg2rad(50), 0.2, 3.0
    guide = {"friction_coefficient": mu, "static_friction_coefficient": static, "friction_speed": 0.0}
    joints = [
        ch.prismatic("guide", "ground", "sledge", axis=(1, 0, 0), **guide),
        ch.prismatic("drop", "sledge", "weight", axis=(np.cos(slope), 0, np.sin(slope)), lower=0.0, restitution=0.0),
    ]
    bodies = [ch.Body(name, mass, inertia=(1.0, 1.0, 1.0)) for name, mass in (("sledge", 2.0), ("weight", 1.0))]
    system = ch.System(bodies, joints, gravity=(0, 0, 0))
    run = ch.simulate(system, (0, 0.01), q=[0.0, 0.01], v=[0.0, -u], rtol=1e-10)
    after = -(u * np.cos(slope) - mu * u * np.sin(slope)) / 3.0 if slides else 0.0
    assert run.strikes[0].after == pytest.approx([after, 0.0], abs=1e-12)
