"""The gradient of scalars of trajectories by the adjoint: against sensitivities, which go forward on dual numbers."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import chasles as ch
from chasles.relative.parameter.inertial import parameters_of, system_with
from chasles.simulation.adjoint.objective import quadrature
from tests.relative import models
from tests.simulation.test_mimic import gripper
from tests.simulation.test_sensitivities import CONTROL, METHODS, PARAMETERS, extrapolated, machine, start, state_of
from tests.simulation.test_sensitivities_closed import LOOPS, start_of

BAR = 1e-12  # relative


class Measured:
    """A function of the state with derivatives in every direction, and its derivatives along a trajectory's."""

    def __init__(self, mechanism):
        rng = np.random.default_rng(0)
        self.mechanism, self.on_q, self.on_v = mechanism, rng.normal(size=mechanism.nq), rng.normal(size=mechanism.nv)

    def __call__(self, t, q, v):
        return np.sin(q @ self.on_q) + 0.1 * (v @ self.on_v) ** 2 + t

    def along(self, found: ch.results.Sensitivities) -> np.ndarray:
        """(times, columns)."""
        nv, lift, run = self.mechanism.nv, self.mechanism.tables.configuration.lift, found.run
        turned = np.moveaxis(lift(run.q[:, None], np.moveaxis(found.state[:, :nv], 1, 2)), 1, 2)
        by_q = np.cos(run.q @ self.on_q)[:, None] * np.einsum("i,tik->tk", self.on_q, turned)
        return by_q + 0.2 * (run.v @ self.on_v)[:, None] * np.einsum("i,tik->tk", self.on_v, found.state[:, nv:])


def agree(gradient: ch.results.Gradient, found: ch.results.Sensitivities, measured: Measured, bar: float = BAR) -> None:
    """Of an integral and the end."""
    weights = quadrature(found.t)  # which has a test of its own
    weights[-1] += 1.0
    wanted = weights @ measured.along(found)
    for name, part in found.columns.items():
        off = np.abs(np.ravel(gradient[name]) - wanted[part]).max() / np.abs(wanted[part]).max()
        assert off < bar, name


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", models.MODELS)
def test_initial_state_and_input(model, method):
    mechanism = models.system_of(models.MODELS[model]()).compile()
    q, v = state_of(mechanism, 5)
    options = {"method": METHODS[method], "step": 0.01, "control": np.linspace(-1.0, 1.0, mechanism.nv)}
    found = ch.sensitivities(mechanism, (0.0, 0.1), q, v, wrt=("q", "v", "control"), **options)
    measured = Measured(mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    agree(ch.gradient(found.run, total, by=("q", "v", "control")), found, measured)


@pytest.mark.parametrize(
    "names", [("place", "factor", "gear"), pytest.param(tuple(PARAMETERS), marks=pytest.mark.study)], ids=["few", "all"]
)
def test_every_force_and_parameters(names):
    """Few of them: a place of joints, frames and forces, a law's and an actuator's. Bodies have a test of their own."""
    values = {name: PARAMETERS[name] for name in names}
    options = {"parameters": values, "control": CONTROL, "wrt": ("q", "v", "control", *names), "step": 0.01}
    found = ch.sensitivities(machine, (0.0, 0.1), *start(), **options)
    measured = Measured(found.run.mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    got = ch.gradient(found.run, total, by=tuple(found.columns), system=machine, parameters=values)
    agree(got, found, measured)


@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.study)], ids=["few", "all"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name, few):
    """By the first of its parameters, or by all of them."""
    build, values = LOOPS[name]
    first = dict(list(values.items())[:1])
    build, values = (partial(build, **values), first) if few else (build, values)
    q, v = start_of(build(**values).compile(), name)
    found = ch.sensitivities(
        build, (0.0, 0.2), q, v, parameters=values, wrt=("q", "v", "control", *values), method="rk4", step=0.01
    )
    measured = Measured(found.run.mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    agree(ch.gradient(found.run, total, by=tuple(found.columns), system=build, parameters=values), found, measured)


def bare_four_bar(mass: float, pull: float = 0.0) -> ch.System:
    """A four-bar whose joints have neither springs nor dampers; with `pull` a spring between two bodies."""
    ends = [("crank", 0.3, "ground", 0.0), ("coupler", 0.8, "crank", 0.3), ("rocker", 0.6, "ground", 0.0)]
    bodies = [ch.Body(name, mass, (size / 2, 0, 0), (1e-3, 0.01, 0.01)) for name, size, _, _ in ends]
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("B", "crank", "coupler", axis=(0, 0, 1), at=(0.3, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=(0, 0, 1), at=(0.7, 0, 0)),
        ch.revolute("C", "coupler", "rocker", axis=(0, 0, 1), at=(0.8, 0, 0), child_at=(0.6, 0, 0)),
    ]
    points: Any = ((0.1, 0, 0), (0.2, 0, 0))
    forces = [ch.Spring("pull", ("crank", "rocker"), points, stiffness=pull)] if pull else []
    return ch.System(bodies, joints, forces=forces, gravity=(0, -9.81, 0))


@pytest.mark.parametrize("values", [{"mass": 1.0}, {"mass": 1.0, "pull": 40.0}])
def test_loops_without_springs_in_joints(values):
    def run(**values):
        return ch.simulate(bare_four_bar(**values), (0.0, 0.2), {"A": 0.8}, method="rk4", step=0.01)

    by = list(values)
    found = ch.gradient(run(**values), ch.objective.end(kinetic), by, system=bare_four_bar, parameters=values)
    for name in by:
        h = 1e-3 * values[name]
        ends = [
            ch.gradient(run(**values | {name: values[name] + k * h}), ch.objective.end(kinetic)).value
            for k in (1, -1, 2, -2)
        ]
        assert found[name] == pytest.approx((8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * h), rel=1e-9)


def test_bodies_and_gravity_along_one_direction():
    """Ten numbers of each body, and gravity, all at once: a wrong derivative by one of them is wrong here."""
    system = models.system_of(models.MODELS["branching"]())
    tree, rng = system.compile().tree, np.random.default_rng(7)
    numbers, gravity = parameters_of(system, tree, ()), np.array(models.GRAVITY)
    along, turn = 0.1 * np.abs(numbers).max() * rng.normal(size=numbers.shape), rng.normal(size=3)

    def build(amount):
        return replace(system_with(system, tree, numbers + amount * along, ()), gravity=gravity + amount * turn)

    options = {"parameters": {"amount": 0.0}, "wrt": ("amount",), "method": "rk4", "step": 0.02}
    found = ch.sensitivities(build, (0.0, 0.1), *state_of(system.compile(), 5), **options)
    measured = Measured(found.run.mechanism)
    got = ch.gradient(found.run, ch.objective.end(measured), by=("bodies", "gravity"))
    wanted = measured.along(found)[-1]
    assert got["bodies"].ravel() @ along + got["gravity"] @ turn == pytest.approx(wanted[0], rel=10 * BAR)


@pytest.mark.study
@pytest.mark.parametrize("model", ["chain", "branching", "all kinds"])
def test_bodies_and_gravity(model):
    """Ten numbers of each body, and gravity, as parameters of a function that makes the system."""
    parts = models.MODELS[model]()
    system = models.system_of(parts)
    tree = system.compile().tree

    def build(bodies, gravity):
        return replace(system_with(system, tree, np.ravel(bodies), ()), gravity=gravity)

    values = {"bodies": parameters_of(system, tree, ()).reshape(-1, 10), "gravity": np.array(models.GRAVITY)}
    q, v = state_of(system.compile(), 5)
    found = ch.sensitivities(build, (0.0, 0.1), q, v, parameters=values, wrt=tuple(values), method="rk4", step=0.02)
    measured = Measured(found.run.mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    # forward, a parameter of the function goes through differences of tables, which are good to 1e-13
    agree(ch.gradient(found.run, total, by=("bodies", "gravity")), found, measured, 10 * BAR)


def test_joints_that_follow_others():
    found = ch.sensitivities(gripper(), (0.0, 0.2), [0.2, -0.1, 0.3], [1.0, 0.5, -2.0], step=0.02, method="rk4")
    measured = Measured(found.run.mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    agree(ch.gradient(found.run, total), found, measured)
    with pytest.raises(ValueError, match="'bodies' is for trees"):
        ch.gradient(found.run, total, by="bodies")


def pendulum(mass: float = 2.0) -> ch.System:
    bodies = [
        ch.Body("upper", 1.0, (0, 0, -0.25), (0.02, 0.02, 0.001)),
        ch.Body("lower", mass, (0, 0, -0.25), (0.01, 0.01, 0.01)),
    ]
    joints = [
        ch.universal("pivot", "ground", "upper"),
        ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.5)),
    ]
    return ch.System(bodies, joints, actuators=[ch.Actuator("motor", "elbow", gear=3.0, lower=-1.0, upper=1.0)])


def test_a_sequence_of_inputs():
    """Inputs of a sampled controller, given from outside; one of them is beyond its limit."""
    sequence = np.array([0.3, -0.5, 2.0, 0.1])

    def moved(inputs: np.ndarray) -> ch.Run:
        held = iter(inputs)
        return ch.simulate(
            *(pendulum(), (0.0, 0.2), {"elbow": 0.3}, {"pivot": (1.0, 0.5)}),
            controller=lambda t, q, v: [next(held)],
            period=0.05,
            method="rk4",
            step=0.01,
        )

    def value(run: ch.Run) -> float:
        return float(ch.gradient(run, total, by="q").value)

    total = ch.objective.end(lambda t, q, v: np.cos(q[:, 2]) + v[:, 0] * v[:, 2])
    found = ch.gradient(moved(sequence), total, by=("control", "inputs"))
    assert found["control"].shape == (4, 1)
    assert found["inputs"].shape == (20, 1)
    assert np.abs(found["inputs"].reshape(4, 5).sum(axis=1) - found["control"][:, 0]).max() < 1e-14
    for k in range(4):
        wanted = extrapolated(lambda s, k=k: value(moved(sequence + s * np.eye(4)[k])), 0.02, 4)
        assert abs(found["control"][k, 0] - wanted) < 1e-10
    assert found["control"][2, 0] == 0.0


def test_adaptive_steps_and_stops():
    options = {"rtol": 1e-6, "stops": [0.1, 0.3]}
    found = ch.sensitivities(
        pendulum, (0.0, 0.5), [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], parameters={"mass": 2.0}, **options
    )
    measured = Measured(found.run.mechanism)
    got = ch.gradient(
        *(found.run, ch.objective.samples([0.1, 0.3], measured), ("q", "v", "mass")),
        system=pendulum,
        parameters={"mass": 2.0},
    )
    chosen = np.isin(found.t, [0.1, 0.3])
    wanted = measured.along(found)[chosen].sum(axis=0)
    both = np.concatenate([np.ravel(got[name]) for name in ("q", "v", "mass")])
    assert np.abs(both - wanted).max() < BAR * np.abs(wanted).max()
    assert "held constant" in got.notes[0]


def test_a_smooth_maximum():
    found = ch.sensitivities(pendulum(), (0.0, 0.3), v=[1.0, 2.0, 3.0], step=0.01)
    measured = Measured(found.run.mechanism)
    got = ch.gradient(found.run, ch.objective.smooth_maximum(measured, 20.0))
    values, weights = measured(found.t, found.run.q, found.run.v), np.full(31, 1 / 30)
    weights[[0, -1]] *= 0.5
    powers = weights * np.exp(20.0 * values)
    assert got.value == pytest.approx(np.log(powers.sum()) / 20.0, rel=1e-13)
    wanted = powers / powers.sum() @ measured.along(found)
    assert np.abs(np.concatenate([got["q"], got["v"]]) - wanted).max() < BAR * np.abs(wanted).max()
    assert values.max() - 0.2 < got.value < values.max()


@pytest.mark.parametrize("model", models.MODELS)
def test_nothing_is_undefined_at_rest(model):
    """All angles zero, at rest, without gravity: nothing moves, and everything has a derivative."""
    mechanism = models.system_of(models.MODELS[model](), (0.0, 0.0, 0.0)).compile()
    found = ch.sensitivities(mechanism, (0.0, 0.1), method="rk4", step=0.05)
    measured = Measured(mechanism)
    total = ch.objective.integral(measured) + ch.objective.end(measured)
    agree(ch.gradient(found.run, total), found, measured)


def test_derivatives_given_with_the_function():
    run = ch.simulate(pendulum(), (0.0, 0.1), v=[1.0, 2.0, 3.0], step=0.01)

    def speed(t, q, v):
        return np.abs(v[:, 0]), np.zeros_like(q), np.sign(v) * [1.0, 0.0, 0.0]

    given, found = (ch.gradient(run, ch.objective.end(f)) for f in (speed, lambda t, q, v: np.sqrt(v[:, 0] * v[:, 0])))
    assert np.abs(given["v"] - found["v"]).max() < 1e-14


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": "mass"}, "by 'mass' is unknown; expected some of 'q', 'v', 'control'"),
        ({"by": ()}, "nothing to differentiate by"),
        ({"objective": lambda t, q, v: q[:, 0]}, "expected terms of chasles.objective"),
        ({"objective": ch.objective.end(lambda t, q, v: np.abs(v[:, 0]))}, "has other derivatives by complex steps"),
        ({"objective": ch.objective.end(lambda t, q, v: q)}, r"returned shape \(11, 3\); expected \(11,\)"),
        (
            {"objective": ch.objective.samples([0.05, 0.033], lambda t, q, v: q[:, 0])},
            "t = 0.033 is not a point of the run",
        ),
        ({"parameters": {"mass": 3.0}, "by": "mass"}, "parameters need `system`"),
        ({"parameters": {"mass": 3.0}, "by": "mass", "system": pendulum}, "is not the system of the run"),
    ],
)
def test_what_is_refused(change, message):
    run = ch.simulate(pendulum(), (0.0, 0.1), v=[1.0, 2.0, 3.0], step=0.01)
    given = {"objective": ch.objective.end(lambda t, q, v: q[:, 0]), **change}
    with pytest.raises((TypeError, ValueError), match=message):
        ch.gradient(run, **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"save": "final", "step": None}, 'simulate with save="all"'),
        ({"save": [0.05]}, 'simulate with save="all"'),
        ({"method": ch.integrate.Gauss()}, "in joint coordinates it is for explicit methods, not Gauss"),
    ],
)
def test_runs_without_gradient(options, message):
    run = ch.simulate(pendulum(), (0.0, 0.1), v=[1.0, 2.0, 3.0], **{"step": 0.01} | options)
    with pytest.raises(ValueError, match=message):
        ch.gradient(run, ch.objective.end(lambda t, q, v: q[:, 0]))


@pytest.mark.parametrize(("seconds", "told"), [(2.0, None), (20.0, "note"), (420.0, "error")])
def test_motions_that_depend_strongly_on_their_start(seconds, told):
    """A rod that is driven away from upright by a spring: exp(2 t)."""
    rod = ch.System([ch.Body("rod", 1.0)], [ch.prismatic("way", "ground", "rod", axis=(1, 0, 0))], gravity=(0, 0, 0))
    away = ch.JointForce("away", "way", "4 * q")
    run = ch.simulate(replace(rod, forces=[away]), (0.0, seconds), [1e-280], method="rk4", step=0.05)
    last = ch.objective.end(lambda t, q, v: q[:, 0])
    if told == "error":
        with pytest.raises(RuntimeError, match=r"grows beyond all numbers before t = \d+.* take a shorter one"):
            ch.gradient(run, last)
        return
    found = ch.gradient(run, last)
    assert found["q"][0] == pytest.approx(np.cosh(2 * seconds), rel=1e-3)
    assert [note[:19] for note in found.notes] == (["derivatives grow by"] if told else [])


def test_only_points_that_count_need_values():
    """At the start, at rest and at zero, the function is infinite, or its derivative is."""
    rod = ch.System(
        [ch.Body("rod", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))], [ch.revolute("pin", "ground", "rod", axis=(0, 1, 0))]
    )
    run = ch.simulate(rod, (0.0, 0.1), method="rk4", step=0.01)
    of, last = ch.objective, run.q[-1, 0]
    plain = ch.gradient(run, of.end(lambda t, q, v: q[:, 0]))
    found = ch.gradient(run, of.end(lambda t, q, v: 1 / q[:, 0]) + of.samples([0.05], lambda t, q, v: np.log(v[:, 0])))
    assert found.value == pytest.approx(1 / last + np.log(run.v[5, 0]))
    one = ch.gradient(run, of.end(lambda t, q, v: 1 / q[:, 0]))
    assert np.allclose(one["v"], -plain["v"] / last**2, rtol=1e-12)
    for term in (of.integral, lambda f: of.smooth_maximum(f, 10.0)):
        with pytest.raises(ValueError, match="is not finite at t = 0 s; is there a norm, or 1/x"):
            ch.gradient(run, term(lambda t, q, v: 1 / q[:, 0]))
    with pytest.raises(ValueError, match=r"has derivatives that are not finite at t = 0\.1 s"):
        ch.gradient(run, of.end(lambda t, q, v: (q[:, 0], np.full_like(q, np.nan), v)))


def slider_crank(k: float = 1.0, c: float = 1.0) -> ch.System:
    """That of the examples of SUNDIALS (idasSlCrank): a crank, and a rod on a slider, which is its center of mass; a
    spring with damper between the middles of the crank and of the rod's first half, a force on the rod's end."""
    bodies = [ch.Body("crank", 1.0, inertia=(1, 1, 1.0)), ch.Body("rod", 1.0, (-1, 0, 0), (2, 2, 2.0))]
    joints = [
        ch.revolute("pin", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("elbow", "crank", "rod", axis=(0, 0, 1), at=(0.5, 0, 0), child_at=(-2, 0, 0)),
    ]
    points: Any = ((0.25, 0, 0), (-1.5, 0, 0))
    forces = [
        ch.Wrench("push", "rod", (0, 0, 0, 1.0, 0, 0), representation="hybrid"),
        ch.Spring("spring", ("crank", "rod"), points, stiffness=k, damping=c, length=1.0),
    ]
    guide = ch.PointOnPlane("guide", ("ground", "rod"), ((0, 0, 0), (-1, 0, 0)), normal=(0, 1, 0))
    return ch.System(bodies, joints, forces=forces, constraints=[guide], gravity=(0, 0, 0), name="slider-crank")


def kinetic(t, q, v):
    turn, rate = q[:, 0] + q[:, 1], v[:, 0] + v[:, 1]
    slide = -0.5 * np.sin(q[:, 0]) * v[:, 0] - np.sin(turn) * rate
    return 0.5 * (v[:, 0] ** 2 + 2.0 * rate**2 + slide**2)


def reduced(k: float, c: float) -> float:
    """The integral of the kinetic energy by Lagrange's equation in the crank's angle, with SciPy."""

    def places(q):
        """Slider, rod, and the rod's end; the vector of the spring."""
        p = -np.arcsin(0.5 * np.sin(q))
        x = np.cos(p) + 0.5 * np.cos(q)
        span = x - 0.5 * np.cos(p) - 0.25 * np.cos(q), -0.5 * np.sin(p) - 0.25 * np.sin(q)
        return x, p, x + np.cos(p), np.sqrt(span[0] ** 2 + span[1] ** 2)

    def slopes(q):
        return [np.imag(one) / 1e-30 for one in places(q + 1e-30j)]

    def inertia(q):
        x, p, _, _ = slopes(q)
        return 1.0 + x * x + 2.0 * p * p

    def rates(t, y):
        q, speed, _ = y
        length, (_, _, end, stretch) = places(q)[3], slopes(q)
        force = end - (k * (length - 1.0) + c * stretch * speed) * stretch
        bend = (inertia(q + 1e-4) - inertia(q - 1e-4)) / 2e-4
        bend = (4 * (inertia(q + 5e-5) - inertia(q - 5e-5)) / 1e-4 - bend) / 3
        mass = inertia(q)
        return [speed, (force - 0.5 * bend * speed**2) / mass, 0.5 * mass * speed**2]

    done = scipy.integrate.solve_ivp(rates, (0, 10), [np.pi / 2, 0.0, 0.0], method="DOP853", rtol=1e-10, atol=1e-12)
    return float(done.y[2, -1])


def test_the_slider_crank_of_sundials():
    """Its output at rtol 1e-6: G = 3.3366157997761721, dG/dp = (0.33346, -0.36375). The errors of that are 1e-5, as its
    own program with steps of at most 5 ms shows, and the reduced equation, which SciPy solves with another method."""
    run = ch.simulate(slider_crank(), (0.0, 10.0), [np.pi / 2, np.arcsin(-0.5) - np.pi / 2], method="rk4", step=0.005)
    values = {"k": 1.0, "c": 1.0}
    found = ch.gradient(run, ch.objective.integral(kinetic), ("k", "c"), system=slider_crank, parameters=values)
    assert abs(found.value - 3.3366157997761721) < 2e-5
    assert abs(found.value - 3.3366068975) < 5e-7  # version 7.5, steps of at most 5 ms
    assert abs(found["k"] - 0.33346) < 2e-5
    assert abs(found["c"] + 0.36375) < 1e-5
    assert found.value == pytest.approx(reduced(1.0, 1.0), abs=1e-10)
    h = 1e-2  # along one direction of both: the numbers above tell them apart
    pairs = [reduced(1.0 + k * h, 1.0 + 0.5 * k * h) - reduced(1.0 - k * h, 1.0 - 0.5 * k * h) for k in (1, 2)]
    assert found["k"] + 0.5 * found["c"] == pytest.approx((8 * pairs[0] - pairs[1]) / (12 * h), abs=1e-8)


def test_integrals_are_of_order_six():
    """Against the exponential; steps that are equal, that differ, and that grow a thousandfold in one step."""
    rng = np.random.default_rng(0)
    errors = []
    for count in (40, 80):
        even = np.linspace(0.0, 3.0, count + 1)
        uneven = even.copy()
        uneven[1:-1] += 0.3 * 3.0 / count * rng.uniform(-1, 1, count - 1)
        errors.append([abs(quadrature(t) @ np.exp(t) - np.expm1(3.0)) for t in (even, uneven)])
    assert (np.array(errors[0]) > 2**5.5 * np.array(errors[1])).all()
    assert max(errors[1]) < 1e-9
    grown = np.concatenate([1e-6 * np.arange(6), 1e-3 * np.arange(1, 3001)])
    assert quadrature(grown) @ np.exp(grown) == pytest.approx(np.expm1(3.0), abs=1e-9)
    assert np.abs(quadrature(grown)).max() < 4e-3
    bent, middle = np.linspace(0.0, 2.0, 21), np.array([10])
    assert quadrature(bent, middle) @ np.abs(bent - 1.0) == pytest.approx(1.0, abs=1e-14)
    assert quadrature(np.zeros(1)).tolist() == [0.0]


@pytest.mark.parametrize(
    ("method", "span"),
    [
        (ch.integrate.RKMK("rk4", dexpinv="minimal"), (0.0, 0.05)),  # with commutators
        (ch.integrate.RKMK("rk4", coordinates="cay"), (0.0, 0.05)),
        ("carpenter_kennedy", (0.0, 0.05)),
        ("rk4", (0.05, 0.0)),
        ("rk4", (0.0, 0.0)),
    ],
)
def test_other_methods_and_spans(method, span):
    mechanism = models.system_of(models.MODELS["branching"]()).compile()
    found = ch.sensitivities(mechanism, span, *state_of(mechanism, 5), method=method, step=0.01)
    measured = Measured(mechanism)
    got, wanted = ch.gradient(found.run, ch.objective.end(measured)), measured.along(found)[-1]
    assert np.abs(np.concatenate([got["q"], got["v"]]) - wanted).max() < BAR * np.abs(wanted).max()


def balanced(gains, speed=0.3, slopes_of=None, wrong_at=None):
    """A pole on a spherical joint under a sampled controller, what it costs, and its gradient."""
    pole = ch.System([ch.Body("pole", 1.0, (0, 0, 0.4), (0.2, 0.3, 0.2))], [ch.spherical("foot", "ground", "pole")])

    def control(t, q, v):
        return -gains[0] * q[1:] * (1 + q[0]) - gains[1] * v

    def slopes(t, q, v):
        by_q = np.concatenate([-gains[0] * q[1:, None], -gains[0] * (1 + q[0]) * np.eye(3)], axis=1)
        return by_q + (wrong_at is not None and np.isclose(t, wrong_at)), -gains[1] * np.eye(3)

    start = ch.lie.s3.exp([0.1, 0.05, -0.2])
    run = ch.simulate(
        pole, (0, 0.6), start, [speed, 0.0, 0.1], controller=control, period=0.05, step=0.01, method="rk4"
    )
    cost = ch.objective.integral(lambda t, q, v: (q[:, 1:] ** 2).sum(axis=1) + 0.1 * (v * v).sum(axis=1))
    return run, ch.gradient(run, cost, ("v", "control", "inputs"), slopes=slopes_of or slopes)


def test_a_controller_that_answers():
    """Against differences of whole runs: by the initial velocity, and by the gains, through the inputs."""
    gains, h = np.array([6.0, 0.6]), 1e-5
    run, found = balanced(gains)
    values = [balanced(gains + s * h * e)[1].value for e in np.eye(2) for s in (1, -1)]
    first = np.searchsorted(run.t, run.task.edges()[:-1] - 1e-9)
    q, v = run.q[first], run.v[first]
    by_gains = np.stack([-q[:, 1:] * (1 + q[:, :1]), -v])
    wanted = np.array([(values[0] - values[1]), (values[2] - values[3])]) / (2 * h)
    assert np.allclose(np.einsum("gkm,km->g", by_gains, found["control"]), wanted, rtol=1e-8)
    assert np.allclose(found["inputs"].reshape(len(first), -1, 3).sum(axis=1), found["control"], rtol=1e-12)
    ahead, behind = (balanced(gains, speed=0.3 + s * h)[1].value for s in (1, -1))
    assert np.isclose(found["v"][0], (ahead - behind) / (2 * h), rtol=1e-8)
    assert not found.notes
    cost = ch.objective.end(lambda t, q, v: (v * v).sum(axis=1))
    assert "held constant; give slopes=" in ch.gradient(run, cost).notes[0]
    assert not ch.gradient(run, cost, "control").notes


def test_slopes_of_a_controller_that_are_wrong():
    with pytest.raises(ValueError, match="slopes are not the derivatives of the controller"):
        balanced(np.array([6.0, 0.6]), slopes_of=lambda t, q, v: (np.ones((3, 4)), np.eye(3)))
    with pytest.raises(ValueError, match=r"derivatives of the controller: at t = 0.3 s"):  # in the midst of the run
        balanced(np.array([6.0, 0.6]), wrong_at=0.3)
    with pytest.raises(ValueError, match=r"slopes returned shapes \(3, 3\) and \(3, 3\); expected \(3, 4\)"):
        balanced(np.array([6.0, 0.6]), slopes_of=lambda t, q, v: (np.eye(3), np.eye(3)))


@pytest.mark.parametrize("save", [7, 1000, "final"])
@pytest.mark.parametrize("build", [pendulum, bare_four_bar])
def test_points_that_were_kept_are_checkpoints(build, save):
    """The same gradient, where steps between are taken again; also with a time at which steps end."""
    q, v = ({"elbow": 0.3}, {"pivot": (1.0, 0.5)}) if build is pendulum else ({"A": 0.8}, {"A": 3.0})
    mass = {"mass": 2.0}
    control = [0.4] if build is pendulum else [0.1, 0.2, -0.1]
    options = {"method": "rk4", "step": 0.01, "control": control, "stops": [0.3]}
    runs = [ch.simulate(build(**mass), (0.0, 0.6), q, v, save=which, **options) for which in ("all", save)]
    of = ch.objective
    total = of.integral(lambda t, q, v: (q * q).sum(axis=1) + t) + of.end(lambda t, q, v: v[:, 0])
    total = total + of.samples([0.3, 0.6], lambda t, q, v: q[:, 1]) + of.smooth_maximum(lambda t, q, v: v[:, 1], 5.0)
    by = ("q", "v", "control", "inputs", "mass")
    wanted, found = (ch.gradient(run, total, by=by, system=build, parameters=mass) for run in runs)
    assert found.value == pytest.approx(wanted.value, rel=1e-13)
    for name in by:
        assert found[name].shape == wanted[name].shape, name
        assert np.abs(found[name] - wanted[name]).max() < 1e-11 * np.abs(wanted[name]).max(), name
