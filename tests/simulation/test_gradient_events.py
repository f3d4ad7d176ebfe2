"""Gradients of runs that an event ended: against differences of eighth order of whole runs."""

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.slopes import difference

BAR = 3e-10  # the time of an event is found to rounding of its function, here 1e-15 to 1e-14


def thrown(mass=0.7, drag=0.3, g=9.81) -> ch.System:
    """A body that flies with drag, and an arm on it that swings."""
    bodies = [
        ch.Body("base", 2.0, (0.02, 0.0, 0.01), (0.2, 0.25, 0.3)),
        ch.Body("arm", mass, (0.1, 0.05, -0.3), (0.05, 0.06, 0.04)),
    ]
    joints = [
        ch.free("float", "ground", "base"),
        ch.spherical("shoulder", "base", "arm", at=(0.2, 0, 0.4), damping=0.1),
    ]
    pull = ch.Spring("pull", ("ground", "base"), ((0, 0, 0), (0, 0, 0)), stiffness=0.5, damping=drag)
    return ch.System(bodies, joints, forces=[pull], gravity=(0, 0, -g))


def four_bar(coupler=0.8, damping=0.1) -> ch.System:
    ends = [("crank", 0.3), ("coupler", coupler), ("rocker", 0.6)]
    turn = {"axis": (0, 0, 1), "damping": damping}
    return ch.System(
        [ch.Body(name, 1.0, (size / 2, 0, 0), (1e-3, 0.01, 0.01)) for name, size in ends],
        [
            ch.revolute("A", "ground", "crank", **turn),
            ch.revolute("B", "crank", "coupler", at=(0.3, 0, 0), **turn),
            ch.revolute("D", "ground", "rocker", at=(0.7, 0, 0), **turn),
            ch.revolute("C", "coupler", "rocker", at=(coupler, 0, 0), child_at=(0.6, 0, 0), **turn),
        ],
        gravity=(0, -9.81, 0),
    )


def lands(t, y, p):  # the height of the base
    return y[6] - 0.1 * np.sin(3.0 * t)


def passes(t, y, p):  # the crank and its speed
    return y[0] + 0.02 * y[3] - 1.4


CASES = {
    "a throw": (thrown, {"mass": 0.7, "drag": 0.3, "g": 9.81}, lands, {"float": [1, 0, 0, 0, 0, 0, 1.0]}),
    "a loop": (four_bar, {"coupler": 0.8, "damping": 0.1}, passes, {"A": 0.8}),
}
FIXED = {"method": "rk4", "step": 0.01}


def total(which):
    of = ch.objective
    if which == "time":
        return of.end(lambda t, q, v: t)
    return of.end(lambda t, q, v: q[:, 0] * t + v[:, -1]) + of.integral(
        lambda t, q, v: (v * v).sum(axis=1) + q[:, 0] * t
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("which", ["time", "all"])
@pytest.mark.parametrize("name", CASES)
def test_against_differences(name, which):
    """The end must not move over a point of the run: then its discrete steps are other ones."""
    build, values, function, start = CASES[name]
    event, speed = ch.Event(function, terminal=True), np.random.default_rng(3).normal(0.5, 0.2, 9)

    def run(faster=0.0, **changed):
        v = {"A": 6.0 + faster} if name == "a loop" else speed + faster
        return ch.simulate(build(**values | changed), (0.0, 3.0), start, v, events=event, certificate=False, **FIXED)

    def value(**changed):
        done = run(**changed)
        assert done.events[-1].t == done.t[-1] < 3.0
        return ch.gradient(done, total(which), by="v").value

    found = ch.gradient(run(), total(which), by=("v", *values), system=build, parameters=values)
    assert found["v"].sum() == pytest.approx(difference(lambda s: value(faster=s), 2e-4), rel=BAR)
    for parameter, given in values.items():
        wanted = difference(lambda s, one=parameter, at=given: value(**{one: at + s}), 2e-4 * given)
        assert found[parameter] == pytest.approx(wanted, rel=BAR, abs=BAR * abs(found["v"].sum())), parameter


def hinged(push=1.0) -> ch.System:
    body = ch.Body("rod", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    return ch.System([body], [ch.revolute("pin", "ground", "rod", axis=(0, 1, 0))])


def test_a_free_fall():
    """The time and the speed of an impact from a height h: sqrt(2 h / g) and sqrt(2 g h)."""
    ball = ch.System([ch.Body("ball", 1.0)], [ch.prismatic("way", "ground", "ball", axis=(0, 0, 1))])
    ground = ch.Event(lambda t, y, p: y[0], terminal=True)
    run = ch.simulate(ball, (0.0, 2.0), [1.5], method="rk4", step=0.1, events=ground)
    found = ch.gradient(run, ch.objective.end(lambda t, q, v: t), by=("q", "v"))
    assert found.value == pytest.approx(np.sqrt(3.0 / 9.81), rel=1e-12)
    assert found["q"][0] == pytest.approx(1 / np.sqrt(3.0 * 9.81), rel=1e-10)
    assert found["v"][0] == pytest.approx(1 / 9.81, rel=1e-10)
    speed = ch.gradient(run, ch.objective.end(lambda t, q, v: v[:, 0]), by="q")
    assert speed["q"][0] == pytest.approx(-np.sqrt(9.81 / 3.0), rel=1e-10)


def test_controllers_and_adaptive_steps():
    """A controller that answers, and is sampled until the event; steps of an adaptive run are held."""

    def spring(t, q, v):
        return -4.0 * q - 0.5 * v

    def slopes(t, q, v):
        return np.array([[-4.0]]), np.array([[-0.5]])

    event, aim = (
        ch.Event(lambda t, y, p: y[0] - 0.4 - 0.1 * t, terminal=True),
        ch.objective.end(lambda t, q, v: t + v[:, 0]),
    )
    sampled = {"controller": spring, "period": 0.05, "method": "rk4", "step": 0.01}

    def run(speed, **options):
        return ch.simulate(hinged(), (0.0, 3.0), v=[speed], events=event, certificate=False, **options)

    found = ch.gradient(run(1.0, **sampled), aim, by="v", slopes=slopes)
    wanted = difference(lambda s: ch.gradient(run(1.0 + s, **sampled), aim, by="v").value, 1e-4)
    assert found["v"][0] == pytest.approx(wanted, rel=BAR)
    tight = ch.gradient(run(1.0, rtol=1e-11, atol=1e-13), aim, by="v")
    wanted = difference(lambda s: ch.gradient(run(1.0 + s, rtol=1e-11, atol=1e-13), aim, by="v").value, 1e-2)
    assert tight["v"][0] == pytest.approx(wanted, rel=1e-7)


def test_what_has_no_derivative():
    aim = ch.objective.end(lambda t, q, v: t)

    def run(function, **options):
        return ch.simulate(
            hinged(), (0.0, 3.0), v=[1.0], events=ch.Event(function, terminal=True, name="it"), **options
        )

    bodies = run(lambda t, y, p: t - 1.05, coordinates="absolute", method="rk4", step=0.01)
    with pytest.raises(ValueError, match=r"an event ended the run.* in joint coordinates"):
        ch.gradient(bodies, aim)
    loaded = {"method": "rk4", "step": 0.01, "control": [2.0]}
    with pytest.raises(ValueError, match="'it' depends on the work of the inputs"):
        ch.gradient(run(lambda t, y, p: y[-1] - 0.3, **loaded), aim)
