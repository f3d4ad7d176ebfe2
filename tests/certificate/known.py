"""Families of the board: the attacks that were known, and right runs that a certificate must not refuse."""

import numpy as np
from scipy.linalg import expm

import chasles as ch
from chasles.gallery import boxes
from tests.certificate import models
from tests.certificate.board import case, family
from tests.certificate.models import ABSOLUTE, ROD, arm, beside_a_wheel, chain, push, slider
from tests.certificate.truth import chain_rates, exact

MOTOR = [ch.Actuator("m", "s")]


@family
def pulses():
    for impulse, when, width in ((10.0, 5.0, 0.1), (10.0, 7.3, 1e-3), (3.0, 9.9, 1e-2), (3.0, 1.0, 1e-4)):
        system = slider(forces=[push(models.gauss, impulse, when, width)])
        for how in ({}, ABSOLUTE, {"method": "rk4", "step": 0.05}):
            run = ch.simulate(system, (0, 10.0), v=[1.0], **how)
            yield case(f"push of {width} s, {how}", run, (1 + impulse, run["b"].twist[-1, 3], 1 + impulse))
    pair = [push(models.box, 500.0, 3.0, 3.01), push(models.box, -500.0, 3.5, 3.51, name="back")]
    run = ch.simulate(slider(forces=pair), (0, 8.0), v=[1.0])
    yield case("two pushes that cancel", run, (10.5, run.q[-1, 0], 8.0))
    run = ch.simulate(slider(forces=[push(models.box, 1e6, 4.1, 4.10001)]), (0, 10.0), v=[1.0])
    yield case("a box of a millionth of the span", run, (11.0, run.v[-1, 0], 11.0))
    for how in ({}, {"method": "rk4", "step": 0.1}):
        run = ch.simulate(slider(forces=[push(models.train, 1000.0, 1.0, 1e-3)]), (0.5, 20.5), v=[1.0], **how)
        yield case(f"twenty pulses, {how}", run, (21.0, run.v[-1, 0], 21.0))


@family
def aliases():
    pairs = ((100.0, 0.02, "rk4"), (100.0, 0.02, "lie_midpoint"), (50.0, 0.02, "dopri5"), (25.0, 0.04, "gauss"))
    for frequency, step, method in (*pairs, (10.0, 0.1, "kutta3")):
        system = slider(forces=[push(models.motor, 100.0, frequency, 0.0, -1.0)])
        run = ch.simulate(system, (0, 10.0), v=[1.0], method=method, step=step)
        yield case(f"{frequency} Hz, {method}, {step} s", run, (501.0, run.v[-1, 0], 501.0))
    system = slider(forces=[push(models.motor, 100.0, 100.0, 0.3, 2.5)])
    run = ch.simulate(system, (0, 10.0), v=[1.0], method="rk4", step=0.01)
    yield case("motor switched on", run, (376.0, run.v[-1, 0], 376.0))
    run = ch.simulate(slider(forces=[push(models.chirp, 20.0, 50.0)]), (0, 5.0), method="rk4", step=0.02)
    truth = exact(lambda t, y: [y[1], 20 * np.sin(np.pi * 50 * t * t) ** 2], (0, 5.0), [0, 0])[-1, 1]
    yield case("chirp beyond the step", run, (truth, run.v[-1, 0], truth))


@family
def tiny():
    for size in (1e-6, 1e-9, 1e-11):
        for method, step in (("lie_midpoint", 0.1), ("gauss", 0.3), ("rk4", 0.15)):
            run = ch.simulate(slider(k=100.0), (0, 6.0), q=[size], method=method, step=step)
            yield case(f"{size} m, {method}", run, (size * np.cos(60.0), run.q[-1, 0], size))
    for size in (1e-8, 1e-9, 1e-10, 1e-11):
        run = ch.simulate(slider(1e-9, 0.1), (0, 0.1), q=[size])
        yield case(f"{size} m by default tolerances", run, (size * np.cos(1e3), run.q[-1, 0], size))
    bodies = [ch.Body("train", 1e5, inertia=(1e4,) * 3), ch.Body("probe", 1e-3, inertia=(1e-6,) * 3)]
    rail = ch.prismatic("rail", "ground", "train", axis=(1, 0, 0))
    system = ch.System(
        bodies, [rail, ch.prismatic("probe", "train", "probe", axis=(0, 1, 0), stiffness=0.1)], gravity=(0, 0, 0)
    )
    methods = ({"method": "lie_midpoint", "step": 0.1}, {"method": "rk4", "step": 0.15})
    for how in (*methods, {"method": "rattle", "step": 0.1, **ABSOLUTE}):
        run = ch.simulate(system, (0, 6.0), q=[0, 1e-6], v=[50.0, 0], **how)
        yield case(f"a micrometer on a train, {how}", run, (1e-6 * np.cos(60.0), run["probe"].position[-1, 1], 1e-6))
    system, size, w = slider(1e-9, 1e-1), 1e-6, 1e4
    for method in ("lie_midpoint", "gauss", "rk4"):
        run = ch.simulate(system, (0, 0.02), q=[size], method=method, step=1e-4)
        yield case(f"nanogram, {method}", run, (size * np.cos(w * 0.02), run.q[-1, 0], size))
    for method in ("rattle", "energy_momentum", "generalized_alpha"):
        run = ch.simulate(system, (0, 0.02), q=[size], method=method, step=1e-4, **ABSOLUTE)
        yield case(f"nanogram, {method}", run, (size * np.cos(w * 0.02), run["b"].position[-1, 0], size))


@family
def saved():
    turns = 2 * np.pi * np.arange(200)
    for save, end in (([1000.0], 1000.0), ([0.0], 1000.0), ("final", 1000.0), (turns, 200 * 2 * np.pi)):
        run = ch.simulate(slider(k=1.0), (0, end), q=[1.0], save=save, method="rk4", step=0.5)
        late = exact(lambda t, y: [y[1], -y[0]], (0, 1.0), [1.0, 0.0])  # not needed: all are wrong at the end
        truth = np.cos(run.t[-1]) if run.t[-1] > 0 else late[-1, 0] + 2.0
        yield case(f"save {str(save)[:10]}", run, (truth, run.q[-1, 0], 1.0))

    def road(t):
        w = 2 * np.pi / 0.1
        if not 5.0 < t < 5.1:
            return 0.0, 0.0
        return 0.025 * (1 - np.cos(w * (t - 5))), 0.025 * w * np.sin(w * (t - 5))

    def rates(t, y):
        z, speed = road(t)
        return [y[1], (20000 * (z - y[0]) + 1500 * (speed - y[1])) / 300]

    peak = np.abs(exact(rates, (0, 10), [0, 0], np.linspace(5.0, 6.0, 201), (5.0, 5.1))[:, 0]).max()
    fixed = [{"step": step, "method": "rk4"} for step in (0.02, 0.01)]
    for where in ({}, ABSOLUTE):
        for how in ({}, {"rtol": 1e-12, "atol": 1e-14}, {"save": np.linspace(0, 10, 1001)}, {"save": [10.0]}, *fixed):
            run = ch.simulate(models.car(models.bump, 0.05, 5.0, 0.1), (0, 10), **where, **how)
            truth = exact(rates, (0, 10), [0, 0], run.t, (5.0, 5.1))[:, 0]
            yield case(f"road bump {list(how)}", run, (truth, run["car"].position[:, 2], peak))


@family
def sampled():
    for method in ("lie_midpoint", "gauss", "rk4", "heun"):
        run = ch.simulate(
            slider(k=1.0, actuators=MOTOR), (0, 50.0), q=[1.0], method=method, step=1.0,
            controller=lambda t, q, v: 0.0, period=1.0,
        )  # fmt: skip
        yield case(f"one step a period, {method}", run, (np.cos(50.0), run.q[-1, 0], 1.0))
    bodies = [ch.Body("b", 1.0, inertia=(0.01,) * 3), ch.Body("t", 1e-4, inertia=(1e-6,) * 3)]
    rails = [ch.prismatic("s", "ground", "b", axis=(1, 0, 0))]
    rails.append(ch.prismatic("x", "ground", "t", axis=(0, 1, 0), stiffness=1.0))
    system = ch.System(bodies, rails, actuators=MOTOR, gravity=(0, 0, 0))
    for method in ("lie_midpoint", "rk4", "gauss"):
        run = ch.simulate(
            system, (0, 2.0), q=[1.0, 1e-3], controller=lambda t, q, v: -4 * q[0] - 4 * v[0], period=0.01,
            method=method, step=0.01,
        )  # fmt: skip
        yield case(f"light mass beside, {method}", run, (1e-3 * np.cos(200.0), run.q[-1, 1], 1e-3))
    for how in ({"method": "rk4", "step": 0.01}, {}):
        system = slider(actuators=MOTOR, forces=[push(models.motor, 100.0, 100.0, 0.0, -1.0)])
        run = ch.simulate(system, (0, 1.0), controller=lambda t, q, v: 0.0, period=0.01, **how)
        yield case(f"alias within periods, {how}", run, (50.0, run.v[-1, 0], 50.0))


@family
def sensitive():
    for n, end, q in ((2, 60.0, [2.5, 1.0]), (2, 40.0, [3.0, 0.5]), (3, 25.0, [2.0, 1.0, 1.0])):
        truth = exact(chain_rates(n), (0, end), [*q, *[0] * n], tolerance=1e-13)[-1]
        run = ch.simulate(chain(n), (0, end), q=q)
        yield case(f"chaos of {n} rods", run, (truth[:n], run.q[-1], 1.0))
    truth = exact(chain_rates(1), (0, 12.0), [np.pi - 1e-6, 0], tolerance=1e-13)[-1, 0]
    loose = ({"method": "rk4", "step": 0.05}, {"rtol": 1e-4, "atol": 1e-6}, {"method": "lie_midpoint", "step": 0.02})
    for how in loose:
        run = ch.simulate(chain(1), (0, 12.0), q=[np.pi - 1e-6], **how)
        yield case(f"upright rod, {how}", run, (truth, run.q[-1, 0], 1.0))
    for step in (0.02, 0.05, 0.1):
        run = ch.simulate(beside_a_wheel(1), (0, 12.0), q=[0, np.pi - 1e-6], v=[1e4, 0], method="rk4", step=step)
        yield case(f"upright rod beside a wheel, {step}", run, (truth, run.q[-1, 1], 1.0))
    for q, speed, end in (([0, np.pi, 1e-3], 1e4, 20.0), ([0, np.pi - 1e-9, 0], 1e3, 30.0)):
        truth = exact(chain_rates(2), (0, end), [*q[1:], 0, 0], tolerance=1e-13)[-1, 0]
        for step in (0.01, 0.05):
            run = ch.simulate(beside_a_wheel(2), (0, end), q=q, v=[speed, 0, 0], method="rk4", step=step)
            yield case(f"two rods beside a wheel, {step}", run, (truth, run.q[-1, 1], 1.0))


@family
def large_steps():
    truth = exact(chain_rates(1), (0, 20.0), [2.0, 0.0])[-1, 0]
    for method, step in (("rattle", 0.05), ("energy_momentum", 0.05), ("generalized_alpha", 0.05), ("bliedf", 0.02)):
        run = ch.simulate(chain(1), (0, 20.0), q=[2.0], method=method, step=step, **ABSOLUTE)
        yield case(f"rod, {method}", run, (truth, run.joint("j0").q[-1, 0], 1.0))
    fixed = (("lie_midpoint", 0.1), ("gauss", 0.3), ("heun", 0.02), ("euler", 0.001), ("kutta3", 0.1))
    for method, step in fixed:
        run = ch.simulate(chain(1), (0, 20.0), q=[2.0], method=method, step=step)
        yield case(f"rod, {method}", run, (truth, run.q[-1, 0], 1.0))
    for method in ("generalized_alpha", "bliedf"):
        for step in (0.05, 0.01):
            run = ch.simulate(slider(k=100.0), (0, 20.0), q=[0.1], method=method, step=step, **ABSOLUTE)
            yield case(f"damped by {method}, {step}", run, (0.1 * np.cos(200.0), run["b"].position[-1, 0], 0.1))
    run = ch.simulate(slider(k=1.0), (0, 2000.0), q=[1.0], rtol=1e-4, atol=1e-6)
    yield case("loose tolerance, 300 periods", run, (np.cos(2000.0), run.q[-1, 0], 1.0))
    run = ch.simulate(slider(k=1.0), (0, -500.0), q=[1.0], method="lie_midpoint", step=0.2)
    yield case("backwards", run, (np.cos(500.0), run.q[-1, 0], 1.0))
    for k, step in ((1e12, 1e-2), (1e14, 1e-2), (1e12, 1.0)):
        for method in ("lie_midpoint", "gauss"):
            w, size, end = np.sqrt(k), 1e-3, 1000 * step
            run = ch.simulate(slider(1.0, k), (0, end), q=[size], method=method, step=step)
            truth = -size * w * np.sin(w * end)
            yield case(f"alternating, {method}, k = {k:g}", run, (truth, run.v[-1, 0], size * w))
    for step in (2e-5, 3e-5, 5e-5):
        run = ch.simulate(slider(1e-9, 0.1), (0, 2.0), q=[1e-6], method="rk4", step=step)
        yield case(f"20000 rad by rk4, {step}", run, (1e-6 * np.cos(2e4), run.q[-1, 0], 1e-6))


@family
def driven():
    def truth(size, frequency, end, start, upright=False):
        w = 2 * np.pi * frequency

        def rates(t, y):
            a = -size * w * w * np.sin(w * t)
            load = (9.81 + a) * np.sin(y[0]) if upright else 9.81 * np.sin(y[0]) - a * np.cos(y[0])
            return [y[1], -0.5 / 0.35 * load]

        return exact(rates, (0, end), [start, 0.0])[-1, 0]

    cases = ((0.1, 1.0, 10.0, "rk4", 0.2), (0.1, 1.0, 10.0, "heun", 0.05), (0.3, 10.0, 5.0, "rk4", 0.1))
    for size, frequency, end, method, step in (*cases, (0.02, 50.0, 5.0, "rk4", 0.02)):
        system = models.on_a_cart(models.shaker, size, frequency)
        for where in ({}, ABSOLUTE):
            start = {"q": [0, 0.5], "v": [2 * np.pi * frequency * size, 0]}
            run = ch.simulate(system, (0, end), **start, method=method, step=step, **where)
            found, known = float(run.joint("j").q[-1, 0]), [truth(s * size, frequency, end, 0.5) for s in (1, -1)]
            nearest = min(known, key=lambda x, found=found: abs(found - x))  # whichever way the cart counts
            yield case(f"rod on a cart, {frequency} Hz, {step}", run, (nearest, found, 1.0))
    for step in (0.02, 0.01):
        system = models.on_a_cart(models.shaker, 0.05, 50.0, upright=True)
        start = {"q": [0, 3.0], "v": [2 * np.pi * 50 * 0.05, 0]}
        run = ch.simulate(system, (0, 2.0), **start, method="rk4", step=step)
        found = float(run.joint("j").q[-1, 0])
        yield case(f"Kapitza's pendulum, {step}", run, (truth(0.05, 50.0, 2.0, 3.0, upright=True), found, 1.0))


@family
def thin():
    for force, a, b, how in ((4000.0, 3.0, 3.001, {}), (400.0, 6.0, 6.01, {"method": "rk4", "step": 0.05})):
        run = ch.simulate(slider(forces=[push(models.region, force, a, b)]), (0, 10.0), v=[1.0], **how)
        speed = np.sqrt(1 + 2 * force * (b - a))
        yield case(f"thin region of {b - a:g} m, {how}", run, (speed, run.v[-1, 0], speed))
    for speed in (2.222, 3.3217, 4.1, 6.543):
        run = ch.simulate(models.held_by_a_band(speed), (0, 10.0))
        yield case(f"held at {speed} m/s", run, (speed, run.v[-1, 0], 10.0))
    fixed = [{"method": "rk4", "step": step} for step in (1e-3, 2e-3, 3e-3)]
    for how in (*fixed, {}, {"rtol": 1e-3, "atol": 1e-5}):
        run = ch.simulate(slider(forces=[push(models.wall, 1e6, 1.0)]), (0, 2), v=[1.0], **how)
        yield case(f"wall, {how}", run, (-1.0, run.v[-1, 0], 1.0))
    stop = ch.prismatic("s", "ground", "b", axis=(1, 0, 0), lower=-1, upper=1.0, stop_stiffness=1e6)
    system = ch.System([ch.Body("b", 1.0, inertia=(0.01,) * 3)], [stop], gravity=(0, 0, 0))
    for how in (*fixed, {}, {"method": "rk4", "step": 2e-3, "save": "final"}):
        run = ch.simulate(system, (0, 1.5), v=[1.0], **how)
        yield case(f"stop, {how}", run, (-1.0, run.v[-1, 0], 1.0))


@family
def stiff_tip():
    tip = ch.prismatic("B", "a", "b", axis=(1, 0, 0), at=(0, 0, -1), stiffness=1e4)
    bodies = [ch.Body("a", **ROD), ch.Body("b", 0.01, inertia=(1e-4,) * 3)]
    system = ch.System(bodies, [ch.revolute("A", "ground", "a", axis=(0, 1, 0)), tip])
    reference = ch.simulate(system, (0, 3), q=[1.0, 1e-4], rtol=1e-12, atol=1e-14)
    size = np.ptp(reference.q[np.searchsorted(reference.t, 2.5) :, 1])
    for method in ("generalized_alpha", "bliedf", "half_explicit", "rattle"):
        for step in (1e-3, 5e-3):
            try:
                run = ch.simulate(system, (0, 3), q=[1.0, 1e-4], method=method, step=step, **ABSOLUTE)
            except ArithmeticError:
                continue  # the method does not get through
            yield case(f"{method}, {step}", run, (reference.q[-1, 1], run.joint("B").q[-1, 0], size))


# ------------------------------------------------------------ right runs


@family
def right_pendulums():
    rng = np.random.default_rng(1)
    ways = ({}, ABSOLUTE, {"method": "rk4", "step": 0.002}, {"method": "dop853", "rtol": 1e-10, "atol": 1e-12})
    for n, end in ((1, 10.0), (1, 30.0), (2, 3.0), (2, 5.0), (3, 2.0), (4, 1.0)):
        q, v = rng.uniform(-1.5, 1.5, n), rng.normal(size=n)
        truth = exact(chain_rates(n), (0, end), [*q, *v])[-1, :n]
        for how in (*ways, {"method": "gauss", "step": 0.005}, {"save": "final"}):
            run = ch.simulate(chain(n), (0, end), q=q, v=v, **how)
            found = [float(run.joint(f"j{i}").q[-1, 0]) for i in range(n)]
            yield case(f"{n} rods, {how}", run, (truth, found, 1.0))


@family
def right_rest():
    for n in (2, 3, 4, 6):
        system = arm(n)
        mechanism = system.compile()
        for seed in range(8):
            q = np.random.default_rng(seed).uniform(-1, 1, n)
            for end in (0.1, 0.3, 0.5, 1.0):
                run = ch.simulate(system, (0, end), q, control=mechanism.terms.gravity(q))
                yield case(f"arm of {n} held for {end} s, {seed}", run, (q, run.q[-1], 1e-6))


@family
def right_oscillators():
    ways = [(1.0, 1.0, 1.0, {}), (1e-9, 0.1, 1e-6, {"rtol": 1e-8, "atol": 1e-18}), (1e6, 1e6, 100.0, {})]
    ways += [(1.0, 1e8, 1e-3, {}), (1.0, 1e8, 1e-3, {"method": "rk4", "step": 1e-6})]
    ways += [(1.0, 1.0, 1e-3, {"method": "lie_midpoint", "step": 2e-3})]
    for method, step in (("generalized_alpha", 2e-3), ("rattle", 5e-3), ("bliedf", 2e-3), ("half_explicit", 0.02)):
        ways.append((1.0, 1.0, 1.0, {"method": method, "step": step, **ABSOLUTE}))
    ways.append((1.0, 1.0, 1.0, {"method": "energy_momentum", "step": 5e-3, "space": "SO3xR3", **ABSOLUTE}))
    for m, k, size, how in ways:
        run = ch.simulate(slider(m, k), (0, 20 / np.sqrt(k / m)), q=[size], **how)
        yield case(f"m = {m:g}, k = {k:g}, {how}", run, (size * np.cos(20.0), run["b"].position[-1, 0], size))
    for method, step in (("rk4", 0.01), ("dopri5", 0.02), ("gauss", 0.02)):
        system = slider(forces=[push(models.gauss, 10.0, 5.0, 0.1)])
        run = ch.simulate(system, (0, 10.0), v=[1.0], method=method, step=step)
        yield case(f"resolved push, {method}", run, (11.0, run.v[-1, 0], 11.0))
    for frequency in (1.0, 10.0):
        run = ch.simulate(slider(forces=[push(models.motor, 100.0, frequency, 0.0, -1.0)]), (0, 10.0), v=[1.0])
        yield case(f"resolved motor, {frequency} Hz", run, (501.0, run.v[-1, 0], 501.0))


def held_input(law, end=3.0, period=0.01):
    """The state of a unit mass from x = 1 under inputs law(y) that are held, by the matrix exponential."""
    block = np.zeros((3, 3))
    block[0, 1] = block[1, 2] = 1.0
    step, y = expm(block * period), np.array([1.0, 0.0])
    for _ in range(round(end / period)):
        y = step[:2, :2] @ y + step[:2, 2] * law(y)
    return y


@family
def right_sampled():
    truth = held_input(lambda y: -4 * y[0] - 4 * y[1])
    for how in ({}, {"method": "rk4", "step": 0.01}, {"method": "rk4", "step": 0.002}):
        run = ch.simulate(
            slider(actuators=MOTOR), (0, 3.0), q=[1.0], controller=lambda t, q, v: -4 * q[0] - 4 * v[0], period=0.01,
            **how,
        )  # fmt: skip
        yield case(f"sampled control, {how}", run, (truth[0], run.q[-1, 0], 1.0))

    def with_memory():
        total = [0.0]

        def law(x, v):
            total[0] += 0.01 * x
            return -4 * x - 4 * v - 0.5 * total[0]

        return law

    law, again = with_memory(), with_memory()
    truth = held_input(lambda y: law(*y))
    run = ch.simulate(
        slider(actuators=MOTOR), (0, 3.0), q=[1.0], controller=lambda t, q, v: again(q[0], v[0]), period=0.01
    )
    yield case("a controller with a memory", run, (truth[0], run.q[-1, 0], 1.0))
    truth = held_input(lambda y: -1e4 * y[0] - y[1], end=1.0)
    run = ch.simulate(
        slider(actuators=MOTOR), (0, 1), q=[1.0], controller=lambda t, q, v: -1e4 * q[0] - v[0], period=0.01
    )
    yield case("unstable by sampling, and right", run, (truth[0], run.q[-1, 0], abs(truth[0])))


@family
def right_loops():
    for name in ("three_bar", "heavy_top", "double_pendulum", "floating_bodies"):
        example = getattr(boxes, name)()
        start = {"poses": example.poses, "twists": example.twists, **ABSOLUTE}
        fine = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13, "space": "SE3"}
        truth = ch.simulate(example.system, (0, 0.2), **start, **fine).poses[-1]
        for how in ({}, {"method": "rk4", "step": 2e-4}, {"space": "SO3xR3"}):
            run = ch.simulate(example.system, (0, 0.2), **start, **how)
            yield case(f"{name}, {how}", run, (truth, run.poses[-1], 1.0))
    system = models.four_bar()
    q = system.compile().assemble([1.4, -1.3, 1.2])
    truth = ch.simulate(system, (0, 2.0), q=q, rtol=1e-11, atol=1e-12, **ABSOLUTE)["crank"].pose[-1]
    for how in ({}, {"method": "rk4", "step": 2e-3}):
        run = ch.simulate(system, (0, 2.0), q=q, **how)
        yield case(f"four-bar, {how}", run, (truth, run["crank"].pose[-1], 1.0))


@family
def right_satellite():
    gravity, radius = 3.986004418e14, 6.878e6
    body = ch.Body("sat", 100.0, inertia=(10.0, 12.0, 15.0))
    force = ch.Wrench("g", "sat", models.attraction, "hybrid", [100.0 * gravity])
    speed = np.sqrt(gravity / radius)
    angle = speed / radius * 5400
    for save in ("all", "final", 1000):
        run = ch.simulate(
            ch.System([body], forces=[force], gravity=(0, 0, 0)), (0, 5400.0), q=[1, 0, 0, 0, radius, 0, 0],
            v=[0.01, 0.02, 0.03, 0, speed, 0], space="SO3xR3", rtol=1e-6, atol=1e-6, save=save, **ABSOLUTE,
        )  # fmt: skip
        truth = [radius * np.cos(angle), radius * np.sin(angle)]
        yield case(f"satellite, save={save}", run, (truth, run["sat"].position[-1, :2], radius))
