"""Families of the board: what is seen through something else only, or seldom, or at the limits of size, time and
tolerances; with every family of methods."""

import itertools

import numpy as np

import chasles as ch
from tests.certificate import models
from tests.certificate.board import case, family
from tests.certificate.models import ABSOLUTE, chain, push, slider
from tests.certificate.truth import chain_rates, exact

PLANE = {"gravity": (0, 0, 0)}
MOTOR = [ch.Actuator("m", "s")]
CONSTRAINED = ("generalized_alpha", "rattle", "energy_momentum", "half_explicit", "bliedf")


@ch.law
def tone(t, q, v, p, out):  # force, frequency [rad/s], phase
    out[0] = p[0] * np.sin(p[1] * t + p[2])


@ch.law
def dead_zone(t, q, v, p, out):  # stiffness, gap
    if q[0] > p[1]:
        out[0] = -p[0] * (q[0] - p[1])
    elif q[0] < -p[1]:
        out[0] = -p[0] * (q[0] + p[1])
    else:
        out[0] = 0.0


@ch.law
def friction(t, q, v, p, out):  # force, speed below which it is viscous
    out[0] = -p[0] * np.tanh(v[0] / p[1])


@ch.law
def pumped(t, q, v, p, out):  # stiffness that swings: mean, part, frequency
    out[0] = -p[0] * (1 + p[1] * np.cos(p[2] * t)) * q[0]


@ch.law
def cubic(t, q, v, p, out):  # of Duffing: stiffness of q³, force, frequency
    out[0] = -p[0] * q[0] ** 3 + p[1] * np.cos(p[2] * t)


@ch.law
def spin_up(t, q, v, p, out):  # a drive: rate and the time constant of its growth
    out[0] = p[0] * (t - p[1] * (1 - np.exp(-t / p[1])))
    out[1] = p[0] * (1 - np.exp(-t / p[1]))
    out[2] = p[0] / p[1] * np.exp(-t / p[1])


def bell(t, impulse, when, width):
    return impulse / (width * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((t - when) / width) ** 2)


def around(when, width):
    return [when - 8 * width, when - 2 * width, when, when + 2 * width, when + 8 * width]


def sampled_truth(rates, law, end, period, start, breaks=()):
    """By SciPy, with the input held in each period."""
    y, edges = np.array(start, dtype=float), np.minimum(period * np.arange(round(end / period) + 1), end)
    for a, b in itertools.pairwise(edges):
        u = law(a, y)
        y = exact(lambda t, x, u=u: rates(t, x, u), (a, b), y, None, breaks)[-1]
    return y


@family
def through_controllers():
    """A push that the controller alone answers, and an input whose rhythm is that of the samples."""
    law = lambda t, q, v: -30.0 * q[0] - 6.0 * v[0]  # noqa: E731
    for when, width in ((1.73, 2e-3), (1.913, 1e-4)):
        truth = sampled_truth(
            lambda t, y, u, when=when, width=width: [y[1], u + bell(t, 3.0, when, width)],
            *(lambda t, y: law(t, y[:1], y[1:]), 2.0, 0.05, [0.0, 0.0], around(when, width)),
        )
        for how in ({}, {"method": "rk4", "step": 0.05}, {"method": "rk4", "step": 1e-5}, ABSOLUTE):
            system = slider(actuators=MOTOR, forces=[push(models.gauss, 3.0, when, width)])
            run = ch.simulate(system, (0, 2.0), controller=law, period=0.05, **how)
            yield case(f"a push of {width} s, {how}", run, (truth[0], run["b"].position[-1, 0], 0.3))
    w = 2 * np.pi / 0.1
    for how in ({}, {"method": "heun", "step": 0.1}, {"method": "lie_midpoint", "step": 0.05}):
        system = slider(k=4.0, actuators=MOTOR, forces=[push(tone, 50.0, w, 0.4)])
        damp = lambda t, q, v: -1.0 * v[0]  # noqa: E731
        truth = sampled_truth(
            lambda t, y, u: [y[1], u - 4 * y[0] + 50 * np.sin(w * t + 0.4)],
            *(lambda t, y: -1.0 * y[1], 4.0, 0.1, [0.3, 0.0]),
        )
        run = ch.simulate(system, (0, 4.0), q=[0.3], controller=damp, period=0.1, **how)
        yield case(f"a tone of the samples' rhythm, {how}", run, (truth[0], run.q[-1, 0], 0.5))


@family
def through_drives():
    """A bump of the road late in the drive, seen by the car alone."""
    for begin, length in ((9.7, 0.02), (9.9, 1e-3), (4.0, 2e-4)):
        w = 2 * np.pi / length

        def rates(t, y, begin=begin, length=length, w=w):
            on = begin < t < begin + length
            z = 0.025 * (1 - np.cos(w * (t - begin))) if on else 0.0
            rate = 0.025 * w * np.sin(w * (t - begin)) if on else 0.0
            return [y[1], (20000 * (z - y[0]) + 1500 * (rate - y[1])) / 300]

        times = np.linspace(begin, 10.0, 101)
        truth = exact(rates, (0, 10), [0, 0], times, (begin, begin + length))
        size = np.abs(truth[:, 0]).max()
        ways = (
            {},
            {"save": times},
            {"method": "rk4", "step": 0.01},
            ABSOLUTE,
            {"method": "rattle", "step": 5e-3, **ABSOLUTE},
        )
        for how in ways:
            run = ch.simulate(models.car(models.bump, 0.05, begin, length), (0, 10), **how)
            at = exact(rates, (0, 10), [0, 0], run.t, (begin, begin + length))
            yield case(f"a bump of {length} s, {how}", run, (at[:, 0], run["car"].position[:, 2], size))


@family
def small_and_fast():
    """A grain that trembles beside a slow heavy body, or is hit once."""
    bodies = [ch.Body("b", 1e3, inertia=(10.0,) * 3), ch.Body("grain", 1e-6, inertia=(1e-12,) * 3)]
    rails = [ch.prismatic("s", "ground", "b", axis=(1, 0, 0), stiffness=1e3)]
    rails.append(ch.prismatic("g", "ground", "grain", axis=(0, 0, 1), stiffness=1e-6 * 300.0**2))
    system = ch.System(bodies, rails, **PLANE)
    for how in ({"method": "rk4", "step": 0.01}, {"method": "dopri5", "step": 0.004}, {"rtol": 1e-4, "atol": 1e-5}, {}):
        run = ch.simulate(system, (0, 3.0), q=[1.0, 1e-7], **how)
        yield case(f"trembling, {how}", run, (1e-7 * np.cos(900.0), run.q[-1, 1], 1e-7), (np.cos(3.0), run.q[-1, 0], 1))
    hit = push(models.gauss, 1e-9, 2.2, 1e-4, joint="g", name="hit")
    system = ch.System(bodies, rails, forces=[hit], **PLANE)
    truth = 1e-3 / 300.0 * np.sin(300 * 0.8) * np.exp(-0.5 * (300 * 1e-4) ** 2)
    for how in ({}, {"method": "rk4", "step": 1e-3}, ABSOLUTE):
        run = ch.simulate(system, (0, 3.0), q=[1.0, 0.0], **how)
        yield case(f"hit once, {how}", run, (truth, run["grain"].position[-1, 2], 1e-3 / 300))


@family
def stops_and_gaps():
    """Bodies between stops: each contact is short."""
    for k, end in ((1e4, 8.0), (1e6, 8.0)):
        rail = ch.prismatic("s", "ground", "b", axis=(1, 0, 0), lower=-1.0, upper=1.0, stop_stiffness=k)
        system = ch.System([ch.Body("b", 1.0, inertia=(0.1,) * 3)], [rail], **PLANE)
        w = np.sqrt(k)
        contact, flight = np.pi / w, 2.0  # without damping, at 1 m/s

        def state(t, w=w, contact=contact, flight=flight):
            if t < 1.0:
                return t, 1.0
            n, s = divmod(t - 1.0, contact + flight)
            side = 1 if n % 2 == 0 else -1
            x, v = (1 + np.sin(w * s) / w, np.cos(w * s)) if s < contact else (1 - (s - contact), -1.0)
            return side * x, side * v

        times = np.unique(
            np.concatenate(
                [
                    np.linspace(0.1, end, 40),
                    *(1 + n * (contact + 2) + contact * np.linspace(0.1, 0.9, 9) for n in range(4)),
                ]
            )
        )
        times = times[times <= end]
        truth = np.array([state(t) for t in times])
        ways = (
            {},
            ABSOLUTE,
            {"rtol": 1e-11, "atol": 1e-13},
            {"method": "rk4", "step": 0.02},
            {"method": "rk4", "step": 2e-5},
            {"rtol": 1e-3, "atol": 1e-3},
        )
        for how in ways:
            run = ch.simulate(system, (0, end), v=[1.0], save=times, **how)
            n = len(run.t)
            found = (truth[:n, 0], run["b"].position[:, 0], 1.0), (truth[:n, 1], run["b"].twist[:, 3], 1.0)
            yield case(f"stops of {k:g} N/m, {how}", run, *found, (len(times), n, 1.0))
    system = slider(forces=[push(dead_zone, 400.0, 0.5)])
    rates = lambda t, y: [y[1], -400 * (max(y[0] - 0.5, 0) + min(y[0] + 0.5, 0))]  # noqa: E731
    half = 0.5 + np.pi / 20 + 0.5  # from the middle to the middle
    truth = exact(
        rates, (0, 12.0), [0, 1.0], None, np.sort(np.add.outer(np.arange(12) * half, [0.5, 0.5 + np.pi / 20]).ravel())
    )
    for how in ({}, {"method": "rk4", "step": 0.1}, {"method": "gauss", "step": 0.05}, {"method": "rk4", "step": 1e-4}):
        run = ch.simulate(system, (0, 12.0), v=[1.0], **how)
        yield case(f"a dead zone, {how}", run, (truth[-1, 0], run.q[-1, 0], 1.0))


@family
def springs_across():
    """A body held by springs to the ground on both sides, which turn as it moves."""
    holds = [(-1.0, 0.0), (1.0, 0.2), (0.1, 1.5)]
    springs = [
        ch.Spring(f"s{i}", ("ground", "b"), ((x, 0, z), (0, 0, 0)), stiffness=50.0, length=0.8)
        for i, (x, z) in enumerate(holds)
    ]
    body = ch.Body("b", 1.0, inertia=(0.1,) * 3)
    carriage = ch.Body("c", 0.5, inertia=(0.1,) * 3)
    rails = [ch.prismatic("x", "ground", "c", axis=(1, 0, 0)), ch.prismatic("z", "c", "b", axis=(0, 0, 1))]
    system = ch.System([carriage, body], rails, forces=springs)

    def rates(t, y):
        force = np.array([0.0, -9.81])
        for hold in holds:
            off = np.array(hold) - y[:2]
            length = np.linalg.norm(off)
            force += 50.0 * (length - 0.8) * off / length
        return [y[2], y[3], force[0] / 1.5, force[1]]

    truth = exact(rates, (0, 10.0), [0.3, -0.2, 0, 0])[-1, :2]
    ways = [{}, ABSOLUTE, {"method": "rk4", "step": 0.1}, {"method": "rk4", "step": 2e-3}, {"rtol": 1e-2, "atol": 1e-2}]
    ways += [
        {"method": name, "step": step, "space": "SO3xR3", **ABSOLUTE} for name in CONSTRAINED for step in (0.05, 1e-3)
    ]
    for how in ways:
        try:
            run = ch.simulate(system, (0, 10.0), q=[0.3, -0.2], **how)
        except ArithmeticError:
            continue
        yield case(f"{how}", run, (truth, run["b"].position[-1, [0, 2]], 0.5))


@family
def ensembles():
    """Rods from random starts by random methods and steps."""
    rng = np.random.default_rng(21)
    for n in (1, 1, 1, 1, 2, 2, 2, 1, 2, 1, 2, 1):
        q, end = rng.uniform(-2.5, 2.5, n), rng.uniform(2.0, 6.0)
        truth = exact(chain_rates(n), (0, end), [*q, *np.zeros(n)])[-1, :n]
        method, step = str(rng.choice(["rk4", "heun", "cf4", "kutta3"])), float(10 ** rng.uniform(-3, -0.8))
        run = ch.simulate(chain(n), (0, end), q=q, method=method, step=step, save=str(rng.choice(["all", "final"])))
        yield case(f"{n} rods, {method}, {step:.2g}", run, (truth, run.q[-1], 1.0))


@family
def rhythms():
    """Tones with the period of saved times, of steps, or twice that; at resonance and beside it."""
    for w, step in ((2 * np.pi / 0.05, 0.05), (np.pi / 0.05, 0.05), (2 * np.pi / 0.05, 0.025)):
        system = slider(k=1.0, forces=[push(tone, 40.0, w, 1.0)])
        truth = exact(lambda t, y, w=w: [y[1], -y[0] + 40 * np.sin(w * t + 1.0)], (0, 10.0), [0.2, 0])[-1, 0]
        for method in ("rk4", "lie_midpoint", "gauss", "cf4"):
            run = ch.simulate(system, (0, 10.0), q=[0.2], method=method, step=step, save=[5.0, 10.0])
            yield case(f"{w:.4g} rad/s, {method}, {step}", run, (truth, run.q[-1, 0], 1.0))
        run = ch.simulate(system, (0, 10.0), q=[0.2], save=np.arange(0, 10.01, 0.05))
        yield case(f"{w:.4g} rad/s, saved in its rhythm", run, (truth, run.q[-1, 0], 1.0))
    for method, step, end in (("rk4", 0.3, 100.0), ("rk4", 0.01, 100.0), (None, None, 300.0), ("heun", 0.02, 100.0)):
        how = {} if method is None else {"method": method, "step": step}
        run = ch.simulate(slider(k=1.0, forces=[push(tone, 1.0, 1.0, 0.0)]), (0, end), **how)
        truth = 0.5 * (np.sin(end) - end * np.cos(end))
        yield case(f"resonance, {how}, {end} s", run, (truth, run.q[-1, 0], end / 2))


@family
def parametric():
    """A stiffness that swings: from nothing, from next to nothing, and aliased."""
    for size in (0.0, 1e-9, 1e-3):
        truth = exact(lambda t, y: [y[1], -4 * (1 + 0.5 * np.cos(4 * t)) * y[0]], (0, 20.0), [size or 1.0, 0])[-1, 0]
        for how in ({}, {"method": "rk4", "step": 0.2}, {"method": "rk4", "step": 5e-3}, ABSOLUTE):
            run = ch.simulate(slider(forces=[push(pumped, 4.0, 0.5, 4.0)]), (0, 20.0), q=[size], **how)
            wanted = truth if size else 0.0
            yield case(f"from {size} m, {how}", run, (wanted, run["b"].position[-1, 0], abs(truth) if size else 1e-9))
    fast = 2 * np.pi / 0.02
    truth = exact(lambda t, y: [y[1], -4 * (1 + 40 * np.cos(fast * t)) * y[0]], (0, 4.0), [1.0, 0])[-1, 0]
    run = ch.simulate(slider(forces=[push(pumped, 4.0, 40.0, fast)]), (0, 4.0), q=[1.0], method="rk4", step=0.02)
    yield case("aliased stiffness", run, (truth, run.q[-1, 0], 1.0))


@family
def unstable():
    """Rods exactly upright, or nearly; double rods that keep a symmetry."""
    for end in (1.0, 3.0):
        run = ch.simulate(chain(1), (0, end), q=[np.pi])
        yield case(f"upright for {end} s", run, (np.pi, run.q[-1, 0], 1e-3))
    for off, how in ((1e-5, {}), (1e-5, {"method": "heun", "step": 0.02}), (1e-10, {"method": "rk4", "step": 0.1})):
        end = 4.0 if off > 1e-6 else 7.0
        truth = exact(chain_rates(1), (0, end), [np.pi - off, 0], tolerance=1e-13)[-1, 0]
        run = ch.simulate(chain(1), (0, end), q=[np.pi - off], **how)
        yield case(f"{off} off, {how}", run, (truth, run.q[-1, 0], 1.0))
    truth = exact(chain_rates(2), (0, 2.0), [np.pi - 1e-6, 1e-6, 0, 0], tolerance=1e-13)[-1, :2]
    for how in ({}, {"method": "rk4", "step": 0.05}, ABSOLUTE):
        run = ch.simulate(chain(2), (0, 2.0), q=[np.pi - 1e-6, 1e-6], **how)
        yield case(f"two rods upright, {how}", run, (truth, [run.joint(f"j{i}").q[-1, 0] for i in (0, 1)], 1.0))


@family
def long_runs():
    """Many thousand periods: small errors of phase add up."""
    for end, how in (
        (2e3, {"method": "rk4", "step": 0.1}), (2e3, {"method": "rk4", "step": 0.01}), (2e3, {}), (2e4, {}),
        (2e4, {"rtol": 1e-5, "atol": 1e-7}), (2e3, {"method": "lie_midpoint", "step": 0.05}),
        (2e4, {"method": "gauss", "step": 0.05}), (2e4, {"rtol": 1e-12, "atol": 1e-14}),
    ):  # fmt: skip
        run = ch.simulate(slider(k=1.0), (0, end), q=[1.0], save="final", **how)
        yield case(f"{end:g} s, {how}", run, (np.cos(end), run.q[-1, 0], 1.0))


@family
def satellites():
    """Orbits from round to long, by Kepler's equation."""
    mu, a = 3.986e14, 1.2e7
    pace = np.sqrt(mu / a**3)
    for e, turns, how in (
        (0.05, 3.2, {}), (0.7, 3.2, {}), (0.7, 3.2, {"method": "rk4", "step": 30.0}), (0.9, 2.4, {}),
        (0.7, 10.3, {"rtol": 1e-5, "atol": 1e-3}), (0.05, 3.2, {"method": "rk4", "step": 20.0}),
        (0.3, 2.2, {"space": "SE3"}),
        (0.9, 2.4, {"method": "dopri5", "step": 20.0}), (0.3, 5.2, {"method": "heun", "step": 10.0}),
    ):  # fmt: skip
        body = ch.System(
            [ch.Body("b", 100.0, inertia=(10.0,) * 3)],
            forces=[ch.Wrench("g", "b", models.attraction, "hybrid", [mu * 100.0])],
            **PLANE,
        )
        end = turns * 2 * np.pi / pace
        times = end * np.linspace(0.01, 1.0, 100)
        mean, angle = pace * times, pace * times + e * np.sin(pace * times)
        for _ in range(50):  # Newton's iteration for Kepler's equation
            angle -= np.clip((angle - e * np.sin(angle) - mean) / (1 - e * np.cos(angle)), -0.5, 0.5)
        assert np.abs(angle - e * np.sin(angle) - mean).max() < 1e-12
        truth = a * np.stack([np.cos(angle) - e, np.sqrt(1 - e * e) * np.sin(angle)], axis=1)
        rate = pace / (1 - e * np.cos(angle))
        speed = a * rate[:, None] * np.stack([-np.sin(angle), np.sqrt(1 - e * e) * np.cos(angle)], axis=1)
        fastest = np.sqrt(mu / a * (1 + e) / (1 - e))
        start = {"q": [1, 0, 0, 0, a * (1 - e), 0, 0], "v": [0, 0, 0, 0, fastest, 0]}
        run = ch.simulate(body, (0, end), **start, save=times, **({**ABSOLUTE, "space": "SO3xR3"} | how))
        found = (truth, run["b"].position[:, :2], 2 * a), (speed, run.frame("b", "hybrid").twist[:, 3:5], fastest)
        yield case(f"e = {e}, {turns} turns, {how}", run, *found)


@family
def micrometers():
    """Rods of a micrometer, and of a kilometer, by the same equations on other clocks."""
    for length in (1e-6, 1e3):
        mass, clock = length**3, np.sqrt(length)
        rod = {"mass": mass, "com": (0, 0, -0.5 * length), "inertia": np.array((0.1, 0.1, 0.001)) * mass * length**2}
        system = ch.System(
            [ch.Body(f"r{i}", **rod) for i in range(2)],
            [
                ch.revolute("j0", "ground", "r0", axis=(0, 1, 0)),
                ch.revolute("j1", "r0", "r1", axis=(0, 1, 0), at=(0, 0, -length)),
            ],
        )
        truth = exact(chain_rates(2), (0, 3.0), [1.0, 0.5, 0, 0])[-1, :2]
        ways = ({}, ABSOLUTE, {"method": "rk4", "step": 0.15 * clock}, {"method": "rk4", "step": 2e-3 * clock})
        for how in (*ways, {"method": "rattle", "step": 2e-4 * clock, "space": "SO3xR3", **ABSOLUTE}):
            run = ch.simulate(system, (0, 3.0 * clock), q=[1.0, 0.5], **how)
            yield case(f"{length} m, {how}", run, (truth, [run.joint(f"j{i}").q[-1, 0] for i in (0, 1)], 1.0))


@family
def flywheels():
    """A huge wheel that gears tie to a small one, and a rod beside that is the only thing that goes wrong."""
    wheel = ch.Body("wheel", 1e5, inertia=(1e7, 1e7, 1e7))
    pinion = ch.Body("pinion", 0.1, inertia=(1e-3,) * 3)
    rods = chain(1)
    joints = [
        ch.revolute("W", "ground", "wheel", axis=(0, 0, 1)),
        ch.revolute("P", "ground", "pinion", axis=(0, 0, 1), at=(3, 0, 0)),
    ]
    mesh = [ch.Coupling("mesh", ("W", "P"), (10.0, 1.0))]
    system = ch.System([wheel, pinion, *rods.bodies], [*joints, *rods.joints], constraints=mesh)
    truth = exact(chain_rates(1), (0, 6.0), [2.0, 0.0])[-1, 0]
    ways = ({}, {"method": "rk4", "step": 0.15}, {"method": "rk4", "step": 5e-3}, ABSOLUTE)
    for how in (*ways, {"method": "generalized_alpha", "step": 0.02, **ABSOLUTE}, {"rtol": 1e-2, "atol": 1e-2}):
        run = ch.simulate(system, (0, 6.0), q=[0.0, 0.0, 2.0], v=[30.0, -300.0, 0.0], **how)
        yield case(f"{how}", run, (truth, run.joint("j0").q[-1, 0], 1.0), (180.0, run.joint("W").q[-1, 0], 1.0))


@family
def odd_tolerances():
    """Tolerances that say nothing, contradict each other, or ask for more than there is."""
    truth = exact(chain_rates(1), (0, 10.0), [2.5, 0.0])[-1, 0]
    pairs = ((1e-12, 1.0), (1e-3, 1e-14), (0.5, 0.5), (1e-13, 1e-15), (1e-8, 10.0), (0.1, 1e-9), (1e-6, 1e-6))
    for (rtol, atol), method in itertools.product(pairs, ("dopri5", "dop853", "cf43")):
        try:
            run = ch.simulate(chain(1), (0, 10.0), q=[2.5], rtol=rtol, atol=atol, method=method)
        except ValueError:
            continue
        yield case(f"{method}, rtol {rtol}, atol {atol}", run, (truth, run.q[-1, 0], 1.0))
    for rtol, atol in pairs[:4]:
        run = ch.simulate(slider(k=1e4), (0, 1.0), q=[1e-6], rtol=rtol, atol=atol)
        yield case(f"a micrometer, rtol {rtol}, atol {atol}", run, (1e-6 * np.cos(100.0), run.q[-1, 0], 1e-6))


@family
def python_and_compiled():
    """The same law in both: a driven cubic spring, resolved, aliased, and with a short push that is declared or not."""
    plain = lambda t, q, v, p, out: out.__setitem__(0, -p[0] * q[0] ** 3 + p[1] * np.cos(p[2] * t))  # noqa: E731
    for w in (1.3, 2 * np.pi / 0.04):
        truth = exact(lambda t, y, w=w: [y[1], -(y[0] ** 3) + 30 * np.cos(w * t)], (0, 4.0), [1.0, 0])[-1, 0]
        for law, how in itertools.product(
            (cubic, plain), ({}, {"method": "rk4", "step": 0.04}, {"method": "rk4", "step": 4e-3})
        ):
            run = ch.simulate(slider(forces=[push(law, 1.0, 30.0, w)]), (0, 4.0), q=[1.0], **how)
            yield case(f"{w:.3g} rad/s, {how}, {law}", run, (truth, run.q[-1, 0], 2.0))

    def kick(t, q, v, p, out):
        out[0] = bell(t, 2.0, 1.377, 1e-3)

    for declared in (False, True):
        law = ch.JointForce("kick", "s", kick)
        if declared:
            kick.breaks = (1.377,)
            law = ch.JointForce("kick", "s", kick)
        for how in ({}, {"method": "rk4", "step": 0.02}):
            run = ch.simulate(slider(forces=[law]), (0, 4.0), v=[1.0], **how)
            yield case(f"a push in Python, {declared}, {how}", run, (3.0, run.v[-1, 0], 3.0))


@family
def rubbing():
    """Friction that stops a body: the law is steep at rest."""
    for eps in (1e-2, 1e-4):
        rates = lambda t, y, eps=eps: [y[1], -2.0 * np.tanh(y[1] / eps)]  # noqa: E731
        truth = exact(rates, (0, 2.0), [0, 3.0], None, (1.4, 1.49, 1.4999), 1e-10)[-1, 0]
        for how in (
            {},
            {"method": "rk4", "step": 0.05},
            {"method": "rk4", "step": 1e-5},
            {"method": "lie_midpoint", "step": 0.01},
        ):
            try:
                run = ch.simulate(slider(forces=[push(friction, 2.0, eps)]), (0, 2.0), v=[3.0], **how)
            except ArithmeticError:
                continue
            yield case(f"{eps} m/s, {how}", run, (truth, run.q[-1, 0], 2.25), (0.0, run.v[-1, 0], 3.0))


@family
def moved_constraints():
    """A rod on a wheel that a drive spins up, by every family of methods, in both coordinates and in a loop."""
    rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.001)}
    system = ch.System(
        [ch.Body("hub", 1.0, inertia=(0.1,) * 3), ch.Body("rod", **rod)],
        [
            ch.revolute("h", "ground", "hub", axis=(0, 0, 1)),
            ch.revolute("j", "hub", "rod", axis=(0, 1, 0), at=(0.3, 0, 0)),
        ],
        constraints=[ch.Drive("turn", "h", spin_up, parameters=[6.0, 0.5])],
    )

    ways = [{}, ABSOLUTE, {"method": "rk4", "step": 0.2}, {"method": "rk4", "step": 5e-3}, {"rtol": 0.1, "atol": 0.1}]
    ways += [
        {"method": name, "step": step, "space": "SO3xR3", **ABSOLUTE} for name in CONSTRAINED for step in (0.1, 1e-3)
    ]
    for how in ways:
        try:
            run = ch.simulate(system, (0, 3.0), q=[0.0, 0.2], **how)
        except (ArithmeticError, ValueError):
            continue
        truth = exact(lambda t, y: [y[1], _swing(t, y)], (0, 3.0), [0.2, 0.0], run.t)
        found, fast = run.joint("j"), np.abs(truth[:, 1]).max()
        yield case(f"{how}", run, (truth[:, 0], found.q[:, 0], 1.0), (truth[:, 1], found.v[:, 0], fast))


def _swing(t, y):
    """Acceleration of a rod on the rim of a wheel. By Lagrange: with the mass center at x = 0.3 - 0.5 sin q from the
    axis, T = 0.35 q'²/2 + w² (x² + 0.1 sin² q + 0.001 cos² q)/2 and V = -0.5 g cos q."""
    w = 6.0 * (1 - np.exp(-t / 0.5))
    s, c = np.sin(y[0]), np.cos(y[0])
    return (w * w * (-(0.3 - 0.5 * s) * 0.5 * c + (0.1 - 0.001) * s * c) - 0.5 * 9.81 * s) / 0.35


@family
def ended_too_late():
    """A terminal event that steps jump over: the run goes on where it should have ended."""
    w = 2.0
    for level, how in ((0.999, {"method": "dop853", "step": 0.5}), (0.999, {}), (0.9, {"method": "rk4", "step": 0.4})):
        event = ch.Event(lambda t, y, p, level=level: y[0] - level, terminal=True, name="level")
        run = ch.simulate(slider(k=w * w), (0, 6.0), v=[w], events=[event], **how)
        yield case(f"{level}, {how}", run, (np.arcsin(level) / w, run.t[-1], 1.0))


@family
def beside_a_wheel():
    """A satellite and a cart at rest, beside a wheel that turns fast."""
    wheel = ch.Body("wheel", 1.0, inertia=(0.02, 0.01, 0.01))
    bus = ch.System(
        [ch.Body("bus", 100.0, inertia=(10.0, 12.0, 15.0)), wheel],
        [ch.revolute("w", "bus", "wheel", axis=(1, 0, 0))],
        gravity=(0, 0, 0),
    )
    cart = ch.System(
        [ch.Body("cart", 10.0, inertia=(1.0, 1.0, 1.0)), wheel],
        [ch.prismatic("rail", "ground", "cart", axis=(1, 0, 0)), ch.revolute("w", "cart", "wheel", axis=(1, 0, 0))],
    )
    for system, body in ((bus, "bus"), (cart, "cart")):
        for how in ({}, ABSOLUTE, {"method": "rk4", "step": 0.01}):
            run = ch.simulate(system, (0, 20.0), v={"w": 100.0}, **how)
            place = (0.0, np.abs(run[body].position[-1]).max(), 1e-3)
            yield case(f"{body} beside a wheel, {how}", run, (2000.0, run.joint("w").q[-1, 0], 1.0), place)
