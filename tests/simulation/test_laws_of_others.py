"""Forces between two points by a law of distance and speed, and laws that see other joints and frames."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.io.model_writer import model_text
from chasles.model.program import values_at
from tests.assembly.test_held import slider_crank

Z = (0.0, 0.0, 1.0)
POINTS = ((0.2, 1.5, 0.0), (0.7, 0.1, 0.0))
START = {"q": {"A": 0.3, "B": 0.4}, "v": {"B": 2.0}}
HOW = {"step": 0.01, "progress": False, **START}


def arm(*forces):
    rods = [ch.Body(name, 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1)) for name in ("a", "b")]
    joints = [
        ch.revolute("A", "ground", "a", axis=Z),
        ch.revolute("B", "a", "b", axis=Z, at=(1, 0, 0)),
    ]
    frames = [ch.Frame("tip", "b", (1.0, 0.0, 0.0, 0.0, 1.0, 0.2, 0.0)), ch.Frame("hook", "ground", (0.5, 2.0, 0.0))]
    return ch.System(rods, joints, frames, forces=forces, gravity=(0, -9.81, 0))


def spring_law(t, x, y, parameters, out):
    out[0] = parameters[0] * (x[0] - 0.9) + 3.0 * y[0]


SPRINGS = {
    "spring": ch.Spring("s", ("ground", "b"), POINTS, stiffness=40.0, damping=3.0, length=0.9),
    "expression": ch.TwoPointForce("s", ("ground", "b"), "k * (distance - 0.9) + 3 * speed", POINTS, {"k": 40.0}),
    "python": ch.TwoPointForce("s", ("ground", "b"), spring_law, POINTS, (40.0,)),
}


@pytest.mark.parametrize("how", ["relative", "absolute", "generalized_alpha"])
def test_a_linear_law_between_points_is_a_spring(how):
    """To rounding; with an implicit method in as many evaluations, since its tangents are exact."""
    method = {"method": how, "coordinates": "absolute"} if how == "generalized_alpha" else {"coordinates": how}
    runs = {name: ch.simulate(arm(force), (0.0, 0.5), **method, **HOW) for name, force in SPRINGS.items()}
    for run in runs.values():
        assert np.abs(run.q - runs["spring"].q).max() < 1e-13
        assert run.solution.evaluations == runs["spring"].solution.evaluations
    work = runs["expression"].energies
    assert not work.springs.any()
    stored = runs["spring"].energies.springs
    lost = work.work - (runs["spring"].energies.work - stored + stored[0])  # it stores nothing: all is work
    assert np.abs(lost).max() < (1e-6 if how != "generalized_alpha" else 1e-2) * np.abs(stored).max()


def test_a_bump_stop_against_scipy():
    """A block falls on a stop that only pushes, with a damper that depends on how far it is pressed."""
    text = "-(2e4 * max(0.1 - distance, 0) ** 1.5 - 300 * max(0.1 - distance, 0) * speed)"
    block = ch.Body("block", 2.0, inertia=(0.1, 0.1, 0.1))
    slide = ch.prismatic("slide", "ground", "block", axis=Z)
    system = ch.System([block], [slide], forces=[ch.TwoPointForce("stop", ("ground", "block"), text)])

    def rates(t, y):
        deep = max(0.1 - y[0], 0.0)
        return [y[1], -9.81 + (2e4 * deep**1.5 - 300 * deep * y[1]) / 2.0]

    exact = solve_ivp(rates, (0.0, 0.6), [0.3, 0.0], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    for coordinates in ("relative", "absolute"):
        how = {
            "rtol": 1e-11,
            "atol": 1e-12,
            "max_step": 0.01,
        }  # free fall is exact with any step
        run = ch.simulate(system, (0.0, 0.6), {"slide": 0.3}, coordinates=coordinates, **how)
        assert run.joint("slide").q[:, 0].min() < 0.1
        assert run.joint("slide").q[-1, 0] == pytest.approx(exact[0], abs=1e-8)
        assert run.joint("slide").v[-1, 0] == pytest.approx(exact[1], abs=1e-7)
        assert np.ptp(run.energies.balance) < 1e-7 * np.abs(run.energies.gravity).max()


OTHERS = "-5 * v - 2 * q('B') * v('B') + 3 * distance('tip', 'hook') ** 2 - speed('hook', 'tip') + 0.1 * t"


def others(t, q, v):
    """The same by hand: the tip of the second rod and the hook."""
    a, b = q[0], q[0] + q[1]
    tip = np.array([np.cos(a) + np.cos(b) - 0.2 * np.sin(b), np.sin(a) + np.sin(b) + 0.2 * np.cos(b)])
    w, u = v[0], v[0] + v[1]
    moving = np.array(
        [-w * np.sin(a) - u * (np.sin(b) + 0.2 * np.cos(b)), w * np.cos(a) + u * (np.cos(b) - 0.2 * np.sin(b))]
    )
    apart = tip - [0.5, 2.0]
    far = np.linalg.norm(apart)
    return -5 * v[0] - 2 * q[1] * v[1] + 3 * far**2 - apart @ moving / far + 0.1 * t


def both_ways(system):
    how = {"rtol": 1e-11, "atol": 1e-12, **START}
    return [ch.simulate(system, (0.0, 0.1), coordinates=c, **how) for c in ("relative", "absolute")]


def test_forces_see_other_joints_and_frames():
    """Of a joint and on a body, in both kinds of coordinates: what is computed by hand."""
    q, v, t = np.array([0.3, 0.4]), np.array([0.5, 2.0]), 1.3
    force = ch.JointForce("f", "A", OTHERS)
    assert arm(force).compile().applied_forces(q, v, t).tau == pytest.approx([others(t, q, v), 0.0], rel=1e-14)
    runs = both_ways(arm(force))
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() < 1e-9
    implicit = ch.simulate(arm(force), (0.0, 0.1), coordinates="absolute", method="generalized_alpha", **HOW)
    assert np.abs(implicit.q[-1] - runs[0].q[-1]).max() < 1e-2  # of second order, with this step
    turn = ch.Wrench("w", "b", [0, 0, "3 * sin(q('A')) - 0.2 * v('B')", 0, 0, 0])
    torque = 3 * np.sin(q[0]) - 0.2 * v[1]
    system = arm(turn)
    push = system.compile().applied_forces(q, v, t).wrenches
    assert np.ravel(push)[8] == pytest.approx(torque, rel=1e-14)
    one, two = both_ways(system)
    assert np.abs(one.q[-1] - two.q[-1]).max() < 1e-9
    both = ch.TwoPointForce("p", ("ground", "b"), "4 * distance + q('A')", POINTS)
    pair = both_ways(arm(both))
    assert np.abs(pair[0].q[-1] - pair[1].q[-1]).max() < 1e-9


def test_of_a_joint_that_closes_a_loop():
    """The angle of the wrist pin, which is cut, by the triangle."""
    system = slider_crank()
    seen = ch.JointForce("f", "D", "-7 * q('C') - 0.5 * v('C')")
    system = ch.System(system.bodies, system.joints, forces=[seen])
    runs = [
        ch.simulate(system, (0.0, 0.2), {"A": 1.0}, {"A": 2.0}, coordinates=c, rtol=1e-10, atol=1e-11)
        for c in ("relative", "absolute")
    ]
    assert np.abs(runs[0].joint("A").q[-1] - runs[1].joint("A").q[-1]).max() < 1e-8
    balance = runs[0].energies.balance
    assert np.ptp(balance) < 1e-7 * np.abs(runs[0].energies.kinetic).max()


def test_derivatives_of_laws_that_see_others():
    """Of a linearized motion against differences of the accelerations."""
    system = arm(ch.JointForce("f", "A", OTHERS), SPRINGS["expression"])
    q, v = np.array([0.3, 0.4]), np.array([0.5, 2.0])
    A = ch.linearize(system, q, v).A
    mechanism, h = system.compile(), 1e-6
    for k in range(4):
        step = h * np.eye(4)[k]
        ahead, behind = (
            mechanism.accelerations_under(q + s * step[:2], v + s * step[2:], None, 0.0) for s in (1.0, -1.0)
        )
        assert A[2:, k] == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-6)


def test_slopes_are_exact():
    text = "20 * sin(t) * distance ** 3 + speed * abs(speed) / distance"
    first, second = ch.TwoPointForce("f", ("a", "b"), text).value.slopes()
    t, far, rate = 0.7, 1.3, -0.4
    assert values_at(first, far, [t], [rate])[1] == pytest.approx(60 * np.sin(t) * far**2 - rate * abs(rate) / far**2)
    assert values_at(second, rate, [t], [far])[1] == pytest.approx(2 * abs(rate) / far)


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (lambda: ch.JointForce("f", "A", "q('Z')"), "there is no joint 'Z'"),
        (lambda: ch.JointForce("f", "A", "q('B', 1)"), "uses coordinate 1 of 'B', which has 1 of them"),
        (lambda: ch.JointForce("f", "A", "q('B', t)"), "takes the name of a joint, and which of its coordinates"),
        (lambda: ch.JointForce("f", "A", "distance('tip', 'top')"), "there is no body or frame 'top'"),
        (lambda: ch.JointForce("f", "A", "distance"), "'distance' is unknown here"),
        (lambda: ch.JointForce("f", "A", " + ".join(f"q('j{k}')" for k in range(17))), "more than 16"),
        (lambda: ch.TwoPointForce("f", ("a", "b"), ["distance"]), "expected one expression, a number or a law"),
        (lambda: ch.TwoPointForce("f", ("a", "b"), None), "expected an expression of distance"),
        (lambda: ch.TwoPointForce("f", ("a", "a"), "speed"), "two different bodies"),
        (lambda: ch.TwoPointForce("f", ("a", "b"), "q"), "'q' is unknown here"),
        (lambda: ch.TwoPointForce("f", ("a", "c"), "speed"), "there is no body 'c'"),
        (lambda: ch.Drive("f", "A", "q('B')"), "is for forces; here a law depends on time alone"),
    ],
)
def test_bad_laws_are_named(force, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        arm(force())


def test_a_compiled_law_that_goes_beyond_its_arrays_is_named():
    @ch.law
    def wide(t, x, y, parameters, out):
        out[1] = x[0]

    with pytest.raises(ValueError, match="two-point force 'f': law 'wide' goes beyond its arrays"):
        arm(ch.TwoPointForce("f", ("a", "b"), wide))


def test_a_quaternion_is_no_coordinate():
    ball = ch.System([ch.Body("a", 1.0)], [ch.spherical("S", "ground", "a")])
    with pytest.raises(ValueError, match="a spherical joint, whose coordinates are a quaternion"):
        ch.System(ball.bodies, ball.joints, forces=[ch.Wrench("w", "a", [0, 0, "q('S')", 0, 0, 0])])


def test_in_files(tmp_path):
    system = arm(SPRINGS["expression"], ch.JointForce("f", "A", OTHERS))
    file = tmp_path / "arm.toml"
    file.write_text(model_text(system))
    assert ch.load(file).system == system
    text = """
[parameters]
speed = 3
[[forces]]
name = "damper"
kind = "two_point"
bodies = ["a", "b"]
value = "{}"
"""
    system = arm()
    file.write_text(model_text(system) + text.format("-5 * speed"))
    with pytest.raises(ValueError, match=r"forces\[0\]\.value: uses 'speed', which is a parameter and"):
        ch.load(file)
    file.write_text(model_text(system) + text.format("2 kN"))
    found = ch.load(file).system.forces[-1]
    assert found.value.at(0.0)[0] == 2000.0
    file.write_text(model_text(system) + text.format("2 m"))
    with pytest.raises(ValueError, match=r"forces\[0\]\.value: is '2 m', a length; expected a force \[N\]"):
        ch.load(file)
