"""Families of the board: attacks invented for it, and right runs beside them that look as strange."""

import numpy as np

import chasles as ch
from tests.certificate import models
from tests.certificate.board import case, family
from tests.certificate.models import ABSOLUTE, ROD, chain, push, slider
from tests.certificate.truth import chain_rates, exact

PLANE = {"gravity": (0, 0, 0)}
MOTOR = [ch.Actuator("m", "s")]


def turned(k, moment=1.0, **more):
    """A wheel on a torsion spring."""
    axle = ch.revolute("w", "ground", "wheel", axis=(0, 0, 1), stiffness=k, **more)
    return ch.System([ch.Body("wheel", 1.0, inertia=(moment, moment, moment))], [axle], **PLANE)


def tumbling(spin, end, moments=(1.0, 2.0, 3.0)):
    """Attitude (as a quaternion) and spin of a free body, by Euler's equations."""
    inertia = np.array(moments)

    def rates(t, y):
        q, w = y[:4], y[4:]
        turn = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return [*turn, *(-np.cross(w, inertia * w) / inertia)]

    return exact(rates, (0, end), [1, 0, 0, 0, *spin])[-1]


def free_body(moments=(1.0, 2.0, 3.0)):
    return ch.System([ch.Body("b", 1.0, inertia=moments)], [], **PLANE)


def apart(q, truth):
    """The angle between attitudes [rad], whatever the signs of their quaternions."""
    return 2 * min(np.linalg.norm(q - truth), np.linalg.norm(q + truth))


@ch.law
def two_tones(t, q, v, p, out):  # force, two frequencies
    out[0] = p[0] * np.sin(2 * np.pi * p[1] * t) ** 2 * np.sin(2 * np.pi * p[2] * t) ** 2


@ch.law
def kick_on_body(t, pose, twist, p, out):  # a wrench: impulse along x, time, width
    for i in range(6):
        out[i] = 0.0
    out[3] = p[0] / (p[2] * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((t - p[1]) / p[2]) ** 2)


@ch.law
def wobble_on_body(t, pose, twist, p, out):  # a wrench: torque about z, frequency
    for i in range(6):
        out[i] = 0.0
    out[2] = p[0] * np.sin(2 * np.pi * p[1] * t) ** 2


@ch.law
def ring(t, pose, twist, p, out):  # a wrench: force outwards within a thin ring, radii
    for i in range(6):
        out[i] = 0.0
    r = np.sqrt(pose[4] ** 2 + pose[5] ** 2)
    if p[1] < r < p[2]:
        out[3] = p[0] * pose[4] / r
        out[4] = p[0] * pose[5] / r


@ch.law
def step_drive(t, q, v, p, out):  # a drive: height, begin, length of a smooth step
    x = min(max((t - p[1]) / p[2], 0.0), 1.0)
    out[0] = p[0] * x**3 * (10 - 15 * x + 6 * x**2)
    out[1] = p[0] * 30 * x**2 * (1 - x) ** 2 / p[2]
    out[2] = p[0] * 60 * x * (1 - x) * (1 - 2 * x) / p[2] ** 2


@ch.law
def wrong_rate(t, q, v, p, out):  # a drive whose rate is not the derivative of its place
    out[0] = np.sin(t)
    out[1] = 0.5 * np.cos(t)
    out[2] = -0.5 * np.sin(t)


@ch.law
def late_motor(t, q, v, p, out):  # force, frequency, onset
    out[0] = p[0] * np.sin(2 * np.pi * p[1] * t) ** 2 if t > p[2] else 0.0


@ch.law
def spark(t, q, v, p, out):  # negative damping in a thin band of speeds
    out[0] = p[0] if p[1] < v[0] < p[2] else 0.0


# ------------------------------------------------------------ attacks


@family
def late():
    """Something happens at the very end, long after all was quiet."""
    for when, width in ((99.95, 0.01), (99.999, 1e-4), (99.5, 1e-3)):
        run = ch.simulate(slider(forces=[push(models.gauss, 5.0, when, width)]), (0, 100.0), v=[1.0])
        yield case(f"push at {when} of 100 s", run, (6.0, run.v[-1, 0], 6.0))
    run = ch.simulate(slider(forces=[push(late_motor, 200.0, 50.0, 95.0)]), (0, 100.0), method="rk4", step=0.02)
    yield case("an alias in the last part alone", run, (500.0, run.v[-1, 0], 500.0))
    truth = exact(chain_rates(1), (0, 16.0), [np.pi - 1e-8, 0], tolerance=1e-13)[-1, 0]
    for how in ({"method": "rk4", "step": 0.04}, {"rtol": 1e-5, "atol": 1e-8}):
        run = ch.simulate(chain(1), (0, 16.0), q=[np.pi - 1e-8], **how)
        yield case(f"a rod that falls at last, {how}", run, (truth, run.q[-1, 0], 1.0))


@family
def far_times():
    """The clock does not start at zero, or runs backwards."""
    for start in (1e6, -1e5):
        system = slider(forces=[push(models.gauss, 5.0, start + 7.0, 1e-3)])
        run = ch.simulate(system, (start, start + 10.0), v=[1.0])
        yield case(f"a push after {start:g} s", run, (6.0, run.v[-1, 0], 6.0))
        run = ch.simulate(slider(k=1.0), (start, start + 10.0), q=[1.0])
        yield case(f"an oscillator after {start:g} s", run, (np.cos(10.0), run.q[-1, 0], 1.0))
    run = ch.simulate(slider(forces=[push(models.gauss, 5.0, -7.0, 1e-3)]), (0, -10.0), v=[1.0])
    yield case("a push, backwards", run, (-4.0, run.v[-1, 0], 6.0))
    run = ch.simulate(chain(1), (0, -5.0), q=[1.0])
    truth = exact(chain_rates(1), (0, 5.0), [1.0, 0.0])[-1, 0]
    yield case("a rod backwards", run, (truth, run.q[-1, 0], 1.0))


@family
def stroboscope():
    """Right where it is looked at, wrong in between; or the other way round."""
    w = 2 * np.pi
    for method, step in (("rk4", 0.25), ("lie_midpoint", 0.25), ("gauss", 0.5)):
        run = ch.simulate(slider(k=w * w), (0, 40.0), q=[1.0], method=method, step=step, save=4)
        yield case(f"each period saved, {method}", run, (np.cos(w * run.t), run.q[:, 0], 1.0))
    pair = [push(models.gauss, 40.0, 4.0, 1e-3), push(models.gauss, -40.0, 4.1, 1e-3, name="back")]
    run = ch.simulate(slider(forces=pair), (0, 10.0), v=[1.0])
    yield case("there and back within a step", run, (14.0, run.q[-1, 0], 10.0))
    three = [push(models.gauss, j, 5.0 + x, 2e-3, name=f"p{x}") for j, x in ((9.0, -0.2), (-18.0, 0.0), (9.0, 0.2))]
    run = ch.simulate(slider(forces=three), (0, 10.0), v=[1.0], save=np.linspace(4.5, 5.5, 101))
    truth = exact(
        lambda t, y: [y[1], sum(
            j / (2e-3 * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((t - 5 - x) / 2e-3) ** 2)
            for j, x in ((9, -0.2), (-18, 0), (9, 0.2))
        )],
        (0, 10), [0, 1.0], run.t, [4.78, 4.8, 4.82, 4.98, 5, 5.02, 5.18, 5.2, 5.22],
    )  # fmt: skip
    yield case("an excursion that leaves no trace", run, (truth[:, 0], run.q[:, 0], 10.0))


@family
def more_aliases():
    """Frequencies that divide the steps, in every kind of law."""
    run = ch.simulate(slider(forces=[push(two_tones, 400.0, 50.0, 75.0)]), (0, 4.0), method="rk4", step=0.02)
    truth = exact(
        lambda t, y: [y[1], 400 * np.sin(100 * np.pi * t) ** 2 * np.sin(150 * np.pi * t) ** 2], (0, 4.0), [0, 0]
    )[-1, 1]
    yield case("two tones", run, (truth, run.v[-1, 0], truth))
    plain = ch.JointForce("push", "s", lambda t, q, v, p, out: out.__setitem__(0, 100 * np.sin(100 * np.pi * t) ** 2))
    run = ch.simulate(slider(forces=[plain]), (0, 2.0), method="rk4", step=0.02)
    yield case("a law in Python", run, (100.0, run.v[-1, 0], 100.0))
    body = ch.System(
        [ch.Body("b", 1.0, inertia=(1.0,) * 3)],
        forces=[ch.Wrench("w", "b", wobble_on_body, "body", [10.0, 20.0])],
        **PLANE,
    )
    for how in ({}, ABSOLUTE):
        run = ch.simulate(body, (0, 4.0), method="rk4", step=0.05, **how)
        yield case(f"a torque on a free body, {how}", run, (20.0, run["b"].twist[-1, 2], 20.0))
    for method in ("generalized_alpha", "rattle", "energy_momentum", "bliedf", "half_explicit"):
        system = slider(k=1.0, forces=[push(models.motor, 100.0, 50.0, 0.0, -1.0)])
        run = ch.simulate(system, (0, 4.0), method=method, step=0.02, **ABSOLUTE)
        truth = exact(lambda t, y: [y[1], 100 * np.sin(100 * np.pi * t) ** 2 - y[0]], (0, 4.0), [0, 0])[-1, 0]
        yield case(f"an alias under {method}", run, (truth, run["b"].position[-1, 0], 50.0))
    truth = exact(lambda t, y: [y[1], -100 * y[0] + 1000 * np.sin(40 * np.pi * t) ** 2], (0, 5.0), [0, 0])[-1, 0]
    system = slider(k=100.0, forces=[push(models.motor, 1000.0, 20.0, 0.0, -1.0)])
    run = ch.simulate(system, (0, 5.0), method="cf4", step=0.05)
    yield case("cf4 beside a resonance", run, (truth, run.q[-1, 0], 10.0))


@family
def small_beside_large():
    """What moves little, slowly or seldom beside what moves much."""
    for size, method, step in ((1e-8, "rk4", 0.15), (1e-6, "lie_midpoint", 0.1), (1e-9, "gauss", 0.3)):
        run = ch.simulate(turned(100.0), (0, 6.0), q=[size], method=method, step=step)
        yield case(f"{size} rad, {method}", run, (size * np.cos(60.0), run.q[-1, 0], size))
    rods = chain(1)
    leaf = ch.Body("leaf", 1e-3, inertia=(1e-7,) * 3)
    tip = ch.revolute("t", "r0", "leaf", axis=(0, 1, 0), at=(0, 0, -1), stiffness=1e-3)
    system = ch.System([*rods.bodies, leaf], [*rods.joints, tip])
    truth = ch.simulate(system, (0, 3.0), q=[1.0, 0.0], v=[0.0, 1e-3], rtol=1e-12, atol=1e-16, **ABSOLUTE)
    size = np.abs(truth.joint("t").q).max()
    for how in ({"method": "rk4", "step": 0.015}, {"method": "lie_midpoint", "step": 0.01}):
        run = ch.simulate(system, (0, 3.0), q=[1.0, 0.0], v=[0.0, 1e-3], **how)
        yield case(f"a leaf on a rod, {how}", run, (truth.joint("t").q[-1, 0], run.joint("t").q[-1, 0], size))
    orbit, speed = 7e6, 7500.0
    body = ch.System([ch.Body("b", 10.0, inertia=(1.0, 2.0, 3.0))], [], **PLANE)
    spin = (0.3, 2.0, 0.1)
    truth = tumbling(spin, 60.0)[:4]
    start = {"q": [1, 0, 0, 0, orbit, 0, 0], "v": [*spin, 0, speed, 0]}
    for how in ({"method": "rk4", "step": 0.5}, {"method": "heun", "step": 0.05}, {"rtol": 1e-8, "atol": 1e-8}):
        run = ch.simulate(body, (0, 60.0), **start, space="SO3xR3", **how, **ABSOLUTE)
        yield case(f"attitude far from home, {how}", run, (0.0, apart(run["b"].orientation[-1], truth), 1.0))
    slow = ch.System(
        [ch.Body("fast", 1.0, inertia=(0.1,) * 3), ch.Body("slow", 1.0, inertia=(0.1,) * 3)],
        [
            ch.prismatic("f", "ground", "fast", axis=(1, 0, 0), stiffness=1e4),
            ch.prismatic("s", "ground", "slow", axis=(0, 1, 0), stiffness=4.0),
        ],
        **PLANE,
    )
    run = ch.simulate(slow, (0, 10.0), q=[1.0, 1e-5], rtol=1e-3, atol=1e-4)
    truth = (np.cos(1000.0), run.q[-1, 0], 1.0), (1e-5 * np.cos(20.0), run.q[-1, 1], 1e-5)
    yield case("loose for one, nothing for the other", run, *truth)


@family
def tumblers():
    """Free bodies: energy and momentum are kept, the attitude is not."""
    spin = (0.1, 3.0, 0.1)
    truth = tumbling(spin, 30.0)[:4]
    ways = [{"method": "lie_midpoint", "step": 0.05}, {"method": "rk4", "step": 0.1}, {"method": "gauss", "step": 0.3}]
    ways += [{"method": "rk4", "step": 0.002}, {}]
    for how in ways:
        run = ch.simulate(free_body(), (0, 30.0), v=[*spin, 0, 0, 0], **how)
        yield case(f"flipping, {how}", run, (0.0, apart(run["b"].orientation[-1], truth), 1.0))
    for method, step in (("rattle", 0.05), ("energy_momentum", 0.05), ("generalized_alpha", 0.02), ("bliedf", 0.01)):
        run = ch.simulate(
            free_body(), (0, 30.0), v=[*spin, 0, 0, 0], method=method, step=step, space="SO3xR3", **ABSOLUTE
        )
        yield case(f"flipping, {method}", run, (0.0, apart(run["b"].orientation[-1], truth), 1.0))
    fast = (1.0, 2.0, 2e3)
    truth = tumbling(fast, 1.0, (1.0, 1.0, 1.8))[:4]
    for how in ({"method": "rk4", "step": 2e-3}, {"method": "cg3", "step": 1e-4}, {}):
        run = ch.simulate(free_body((1.0, 1.0, 1.8)), (0, 1.0), v=[*fast, 0, 0, 0], **how)
        yield case(f"a fast spin, {how}", run, (0.0, apart(run["b"].orientation[-1], truth), 1.0))


@family
def regions():
    """Thin places in space and in speed."""
    run = ch.simulate(slider(forces=[push(spark, -200.0, 0.5, 0.501)]), (0, 10.0), v=[0.4995])
    truth = 0.4995
    yield case("a band of speeds beside the motion", run, (truth, run.v[-1, 0], truth))
    system = slider(c=0.1, forces=[push(spark, 50.0, 0.500, 0.5002)])
    run = ch.simulate(system, (0, 10.0), v=[1.0], method="rk4", step=0.1)
    # speed decays by damping until the band holds it: 0.1 v < 50 there, so it stays at the upper edge
    yield case("a band of speeds that holds", run, (0.5002, run.v[-1, 0], 1.0))
    body = ch.System(
        [ch.Body("b", 1.0, inertia=(0.1,) * 3)],
        forces=[ch.Wrench("r", "b", ring, "hybrid", [3000.0, 5.0, 5.002])],
        **PLANE,
    )
    speed = np.sqrt(1 + 2 * 3000.0 * 0.002)
    for how in ({}, {**ABSOLUTE, "space": "SO3xR3"}, {"method": "rk4", "step": 0.05}):
        run = ch.simulate(body, (0, 10.0), v=[0, 0, 0, 1.0, 0, 0], **how)
        yield case(f"a ring, {how}", run, (speed, run["b"].twist[-1, 3], speed))
    stop = ch.revolute("w", "ground", "wheel", axis=(0, 0, 1), upper=2.0, stop_stiffness=1e7)
    system = ch.System([ch.Body("wheel", 1.0, inertia=(1.0,) * 3)], [stop], **PLANE)
    for how in ({"method": "rk4", "step": 1e-3}, {"method": "rk4", "step": 1e-5}, {}, ABSOLUTE):
        run = ch.simulate(system, (0, 3.0), v=[1.0], **how)
        yield case(f"a hard stop, {how}", run, (-1.0, run.joint("w").v[-1, 0], 1.0))


@family
def bodies_kicked():
    for how in ({}, {**ABSOLUTE, "space": "SE3"}, {**ABSOLUTE, "space": "SO3xR3"}, {"method": "cf4", "step": 0.1}):
        body = ch.System(
            [ch.Body("b", 2.0, inertia=(0.1,) * 3)],
            forces=[ch.Wrench("k", "b", kick_on_body, "hybrid", [8.0, 3.3, 1e-3])],
            **PLANE,
        )
        run = ch.simulate(body, (0, 10.0), v=[0, 0, 0, 1.0, 0, 0], **how)
        yield case(f"a kick, {how}", run, (5.0, run.frame("b", "hybrid").twist[-1, 3], 5.0))


@family
def drives():
    """Motion that is imposed."""
    for where in ({}, ABSOLUTE):
        for begin, length in ((3.0, 0.05), (7.0, 1e-3)):
            system = models.on_a_cart(step_drive, 0.3, begin, length)

            def rates(t, y, begin=begin, length=length):
                load = 9.81 * np.sin(y[0]) + np.cos(y[0]) * _push(t, begin, length)
                return [y[1], -0.5 / 0.35 * load]

            pushed = exact(rates, (0, 10.0), [0.0, 0.0], None, (begin, begin + length), 1e-11)[-1, 0]
            run = ch.simulate(system, (0, 10.0), **where)
            found = float(run.joint("j").q[-1, 0])
            yield case(
                f"a shove of {length} s, {where}", run, (min(pushed, -pushed, key=lambda x: abs(x - found)), found, 0.5)
            )
    run = ch.simulate(models.on_a_cart(wrong_rate), (0, 5.0), v=[0.5, 0.0])
    yield case("a drive whose rate is wrong", run, (np.sin(5.0), run.joint("x").q[-1, 0] + 10.0, 1.0))
    turning = ch.System(
        [ch.Body("disc", 1.0, inertia=(1.0,) * 3), ch.Body("r0", **ROD)],
        [ch.revolute("d", "ground", "disc", axis=(0, 0, 1)), ch.revolute("j", "disc", "r0", axis=(0, 1, 0))],
        constraints=[ch.Drive("turn", "d", models.shaker, parameters=[0.3, 25.0])],
    )
    start = {"q": [0.0, 0.5], "v": [0.3 * 2 * np.pi * 25.0, 0.0]}
    truth = (
        ch.simulate(turning, (0, 2.0), **start, rtol=1e-11, atol=1e-13, max_step=1e-3, **ABSOLUTE).joint("j").q[-1, 0]
    )
    for how in ({"method": "rk4", "step": 0.04}, {"method": "rk4", "step": 0.02}, {}):
        run = ch.simulate(turning, (0, 2.0), **start, **how)
        yield case(f"a disc that shakes, {how}", run, (truth, run.joint("j").q[-1, 0], 0.5))


def _push(t, begin, length):
    """Acceleration of a cart that is shoved."""
    x = (t - begin) / length
    return 0.3 * 60 * x * (1 - x) * (1 - 2 * x) / length**2 if 0 < x < 1 else 0.0


@family
def loops():
    """Mechanisms with loops, in joint coordinates and with all bodies, by steps from fine to far too long."""
    system = models.four_bar()
    q = system.compile().assemble([1.4, -1.3, 1.2])
    fine = ch.simulate(system, (0, 4.0), q=q, rtol=1e-11, atol=1e-12, **ABSOLUTE)["crank"].pose[-1]
    for method, step in (("rk4", 0.1), ("rk4", 0.02), ("heun", 0.01), ("rk4", 0.002), ("euler", 1e-3)):
        run = ch.simulate(system, (0, 4.0), q=q, method=method, step=step)
        yield case(f"joints, {method}, {step}", run, (fine, run["crank"].pose[-1], 1.0))
    for method, step in (
        ("rk4", 0.1),
        ("generalized_alpha", 0.02),
        ("rattle", 0.02),
        ("half_explicit", 0.05),
        ("bliedf", 0.01),
    ):
        run = ch.simulate(system, (0, 4.0), q=q, method=method, step=step, **ABSOLUTE)
        yield case(f"bodies, {method}, {step}", run, (fine, run["crank"].pose[-1], 1.0))
    for way in ("baumgarte", None):
        run = ch.simulate(system, (0, 4.0), q=q, stabilization=way, method="rk4", step=0.02)
        yield case(f"stabilization {way}", run, (fine, run["crank"].pose[-1], 1.0))


@family
def families_of_methods():
    """The same rod by every family, with steps that do and that do not."""
    truth = exact(chain_rates(1), (0, 10.0), [2.5, 0.0])[-1, 0]
    for method in ("lie_euler", "cf4", "cg3", "cg4", "heun", "kutta3", "rk4", "gauss", "butcher6", "lie_midpoint"):
        for step in (0.2, 0.02, 0.002):
            try:
                run = ch.simulate(chain(1), (0, 10.0), q=[2.5], method=method, step=step)
            except ValueError:
                break  # a name that there is not
            yield case(f"{method}, {step}", run, (truth, run.q[-1, 0], 1.0))
    for method in ("generalized_alpha", "rattle", "energy_momentum", "half_explicit", "bliedf"):
        for step in (0.1, 0.02, 0.002):
            try:
                run = ch.simulate(chain(1), (0, 10.0), q=[2.5], method=method, step=step, space="SO3xR3", **ABSOLUTE)
            except ArithmeticError:
                continue  # Newton's iteration says so
            yield case(f"{method}, {step}", run, (truth, run.joint("j0").q[-1, 0], 1.0))
    for method, tolerance in (
        ("generalized_alpha", 1e-7),
        ("half_explicit", 1e-6),
        ("half_explicit", 1e-2),
        ("dopri5", 1e-3),
    ):
        run = ch.simulate(chain(1), (0, 10.0), q=[2.5], method=method, rtol=tolerance, atol=tolerance, **ABSOLUTE)
        yield case(f"{method}, rtol {tolerance}", run, (truth, run.joint("j0").q[-1, 0], 1.0))


@family
def stiff():
    """Fast parts that an implicit method damps, hides, or follows."""
    for k, c, kind in ((1e8, 2e4, "overdamped"), (1e6, 20.0, "weakly damped")):
        for method, step in (("generalized_alpha", 1e-2), ("bliedf", 5e-3), ("lie_midpoint", 1e-2), ("rk4", 1e-5)):
            more = ABSOLUTE if method in ("generalized_alpha", "bliedf") else {}
            run = ch.simulate(slider(1.0, k, c), (0, 1.0), q=[1e-3], method=method, step=step, **more)
            truth = exact(lambda t, y, k=k, c=c: [y[1], -k * y[0] - c * y[1]], (0, 1.0), [1e-3, 0.0], run.t)
            largest = np.sqrt(k) * 1e-3
            yield case(
                *(f"{kind}, {method}, {step}", run, (truth[:, 0], run["b"].position[:, 0], 1e-3)),
                (truth[:, 1], run["b"].twist[:, 3], largest),
            )
    system = ch.System(
        [ch.Body("a", **ROD), ch.Body("b", 1e-4, inertia=(1e-6,) * 3)],
        [
            ch.revolute("A", "ground", "a", axis=(0, 1, 0)),
            ch.revolute("B", "a", "b", axis=(0, 1, 0), at=(0, 0, -1), stiffness=10.0, damping=1e-3),
        ],
    )
    fine = ch.simulate(system, (0, 5.0), q=[1.0, 0.0], rtol=1e-12, atol=1e-14)
    size, speed = np.abs(fine.q[:, 1]).max(), np.abs(fine.v[:, 1]).max()
    for how in ({"method": "generalized_alpha", "step": 2e-3, **ABSOLUTE}, {}):
        at = np.linspace(0.002, 5.0, 500)
        run = ch.simulate(system, (0, 5.0), q=[1.0, 0.0], save=at, **how)
        states, tip = fine(at), run.joint("B")
        rod = (states.q[:, 0], run.joint("A").q[:, 0], 1.0)
        own = (states.q[:, 1], tip.q[:, 0], size), (states.v[:, 1], tip.v[:, 0], speed)
        yield case(f"a rod with a stiff light tip, {how}", run, rod, *own)


@family
def chaos():
    """Motions that forget their start, and what lies before the horizon."""
    swing = ch.System(chain(1).bodies, chain(1).joints, forces=[push(models.motor, 12.0, 0.4, 0.0, -1.0, joint="j0")])
    drive = lambda t, q, v: np.array([12.0 * np.sin(0.8 * np.pi * t) ** 2])  # noqa: E731
    for end, how in ((5.0, {}), (60.0, {"rtol": 1e-5, "atol": 1e-7}), (60.0, {"method": "rk4", "step": 0.02})):
        truth = exact(chain_rates(1, drive), (0, end), [1.0, 0.0], tolerance=1e-13)[-1, 0]
        run = ch.simulate(swing, (0, end), q=[1.0], **how)
        yield case(f"a driven rod, {end} s, {how}", run, (truth, run.q[-1, 0], 1.0))
    for n, end in ((2, 3.0), (2, 50.0), (3, 30.0)):
        truth = exact(chain_rates(n), (0, end), [2.5] * n + [0.0] * n, tolerance=1e-13)[-1, :n]
        run = ch.simulate(chain(n), (0, end), q=[2.5] * n, **ABSOLUTE)
        found = [run.joint(f"j{i}").q[-1, 0] for i in range(n)]
        yield case(f"{n} rods, {end} s", run, (truth, found, 1.0))


@family
def controllers():
    """Loops closed by functions, with a memory, by chance, and unstable ones."""

    def by_steps(law, k, end, period=0.05):
        y, t = np.array([1.0, 0.0]), 0.0
        w = np.sqrt(k)
        while t < end - 1e-9:
            u = law(t, y)
            c, s = np.cos(w * period), np.sin(w * period)
            x = y[0] - u / k
            y, t = np.array([u / k + x * c + y[1] / w * s, -x * w * s + y[1] * c]), t + period
        return y

    for k, method, step in (
        (400.0, "rk4", 0.05),
        (400.0, "lie_midpoint", 0.05),
        (400.0, "rk4", 0.001),
        (4.0, None, None),
    ):
        truth = by_steps(lambda t, y: -2.0 * y[1], k, 5.0)
        how = {} if method is None else {"method": method, "step": step}
        run = ch.simulate(
            slider(k=k, actuators=MOTOR), (0, 5.0), q=[1.0], controller=lambda t, q, v: -2.0 * v[0], period=0.05, **how
        )
        yield case(f"a damper in steps, {how}", run, (truth[0], run.q[-1, 0], 1.0))
        sign = lambda t, y: -np.sign(y[1])  # noqa: E731
        truth = by_steps(sign, k, 5.0)
        run = ch.simulate(
            slider(k=k, actuators=MOTOR),
            (0, 5.0),
            q=[1.0],
            controller=lambda t, q, v: -np.sign(v[0]),
            period=0.05,
            **how,
        )
        yield case(f"bang-bang, {how}", run, (truth[0], run.q[-1, 0], 1.0))
        total, again = [0.0], [0.0]

        def adding(x, store):
            store[0] += x
            return -0.3 * store[0]

        truth = by_steps(lambda t, y, total=total: adding(y[0], total), k, 5.0)
        run = ch.simulate(
            slider(k=k, actuators=MOTOR),
            (0, 5.0),
            q=[1.0],
            controller=lambda t, q, v, again=again: adding(q[0], again),
            period=0.05,
            **how,
        )
        yield case(f"an integrator, {how}", run, (truth[0], run.q[-1, 0], 1.0))
    system = ch.System(chain(1).bodies, chain(1).joints, actuators=[ch.Actuator("m", "j0")])
    hold = lambda t, q, v: -40.0 * (q[0] - np.pi) - 8.0 * v[0]  # noqa: E731
    run = ch.simulate(system, (0, 5.0), q=[3.0], controller=hold, period=0.01)
    yield case("an upright rod that is held", run, (np.pi, run.q[-1, 0], 0.1))


@family
def strange_but_right():
    """Right runs of unusual size, place or rest."""
    both = [
        ch.Spring(name, ("ground", "b"), ((x, 0, 0), (0, 0, 0)), stiffness=1e6, length=0.5)
        for name, x in (("left", -1.0), ("right", 1.0))
    ]
    run = ch.simulate(slider(forces=both), (0, 1.0))
    yield case("held between two loaded springs", run, (0.0, run.q[-1, 0], 1e-6))
    run = ch.simulate(slider(), (0, 5.0))
    yield case("a body that nothing moves", run, (0.0, run.q[-1, 0], 1e-9))
    run = ch.simulate(slider(1e12, 1e12), (0, 10.0), q=[1e6])
    yield case("a mountain on a spring", run, (1e6 * np.cos(10.0), run.q[-1, 0], 1e6))
    run = ch.simulate(slider(1e-20, 1e-20), (0, 10.0), q=[1e-12], rtol=1e-9, atol=1e-22)
    yield case("an atom on a spring", run, (1e-12 * np.cos(10.0), run.q[-1, 0], 1e-12))
    high = ch.System([ch.Body("r0", **ROD)], [ch.revolute("j0", "ground", "r0", axis=(0, 1, 0), at=(0, 0, 1e5))])
    truth = exact(chain_rates(1), (0, 5.0), [1.0, 0.0])[-1, 0]
    for how in ({}, ABSOLUTE, {"method": "rattle", "step": 1e-3, **ABSOLUTE}):
        run = ch.simulate(high, (0, 5.0), q=[1.0], **how)
        yield case(f"a rod 100 km up, {how}", run, (truth, run.joint("j0").q[-1, 0], 1.0))
    hang = ch.simulate(chain(3), (0, 2.0))
    yield case("rods that hang still", hang, (np.zeros(3), hang.q[-1], 1e-6))
    for how in ({}, ABSOLUTE):
        run = ch.simulate(slider(c=50.0), (0, 20.0), v=[1.0], **how)
        yield case(f"a body that comes to rest, {how}", run, (1 / 50.0, run["b"].position[-1, 0], 1 / 50.0))
    spin = ch.simulate(turned(0.0), (0, 1000.0), v=[100.0])
    yield case("a wheel that turns for long", spin, (1e5, spin.q[-1, 0], 1.0))
    falls = ch.simulate(ch.System([ch.Body("b", 1.0, inertia=(1.0,) * 3)], []), (0, 10.0), v=[0, 0, 0, 30.0, 0, 0])
    yield case("a throw", falls, ([300.0, -0.5 * 9.81 * 100], falls["b"].position[-1, [0, 2]], 100.0))
    event = ch.Event(lambda t, y, p: y[0] - 0.5, terminal=True, name="half")
    run = ch.simulate(slider(k=1.0), (0, 10.0), q=[1.0], events=[event])
    yield case("ended by an event", run, (np.pi / 3, run.t[-1], 1.0))
    gears = ch.System(
        [ch.Body(name, 1.0, inertia=(1.0,) * 3) for name in ("one", "two")],
        [
            ch.revolute("A", "ground", "one", axis=(0, 0, 1), stiffness=4.0),
            ch.revolute("B", "ground", "two", axis=(0, 0, 1), at=(1, 0, 0)),
        ],
        constraints=[ch.Coupling("mesh", ("A", "B"), (2.0, 1.0))],
        **PLANE,
    )
    for how in ({}, ABSOLUTE, {"method": "generalized_alpha", "step": 1e-3, **ABSOLUTE}):
        run = ch.simulate(gears, (0, 5.0), q=[1.0, -2.0], **how)  # 5 a'' = -4 a
        yield case(f"gears, {how}", run, (np.cos(np.sqrt(0.8) * 5.0), run.joint("A").q[-1, 0], 1.0))


@family
def events():
    """Zeros that are passed between two steps: the states are right, the events are not."""
    w = 2.0
    for level, zeros in ((0.999, 2), (0.5, 2)):
        seen = ch.Event(lambda t, y, p, level=level: y[0] - level, name="level")
        run = ch.simulate(slider(k=w * w), (0, 1.5 * np.pi), v=[w], events=[seen], rtol=1e-7, atol=1e-9)
        expected = 2 * zeros
        yield case(
            f"passing {level}",
            run,
            (np.sin(w * run.t[-1]), run.q[-1, 0], 1.0),
            (expected, len(run.solution.events), 1.0),
        )
