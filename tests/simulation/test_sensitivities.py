"""Sensitivities of trajectories: derivatives of what was computed, against extrapolated differences of simulations."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import chasles as ch
from tests.relative import models

BAR = 1e-9  # relative; found: below 3e-12
METHODS = {
    "rk4": ch.integrate.RKMK("rk4"),
    "cf4": ch.integrate.CommutatorFree("cf4"),
    "cg3": ch.integrate.CrouchGrossman("cg3"),
    "dopri5": ch.integrate.RKMK("dopri5"),
}
STEPS = {"step": 0.005}


def extrapolated(function, h: float = 0.04, levels: int = 5) -> np.ndarray:
    """Derivative at 0 by central differences and Richardson's extrapolation: of order 2 levels."""
    row = [(function(h / 2**k) - function(-h / 2**k)) / (2 * h / 2**k) for k in range(levels)]
    for j in range(1, levels):
        row = [(4**j * fine - coarse) / (4**j - 1) for coarse, fine in pairwise(row)]
    return row[0]


def off(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def states_from(run: ch.Run, base: ch.Run) -> np.ndarray:
    """The states of a run in coordinates about another: (δ, v), (times, 2 nv)."""
    return np.concatenate([base.mechanism.difference(run.q, base.q), run.v], axis=1)


def state_of(mechanism, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return models.coordinates(mechanism, rng), rng.normal(size=mechanism.nv)


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", models.MODELS)
def test_initial_state(model, method):
    mechanism = models.system_of(models.MODELS[model]()).compile()
    q, v = state_of(mechanism, 5)
    options = {"method": METHODS[method], **STEPS}
    found = ch.sensitivities(mechanism, (0.0, 0.2), q, v, **options)
    base, nv = ch.simulate(mechanism, (0.0, 0.2), q, v, **options), mechanism.nv
    assert np.abs(found.run.solution.y - base.solution.y).max() == 0.0
    assert found.state.shape == (41, 2 * nv, 2 * nv)
    assert np.abs(found.state[0] - np.eye(2 * nv)).max() < 1e-15
    along = np.random.default_rng(6).normal(size=2 * nv)

    def moved(s: float) -> np.ndarray:
        start = mechanism.retract(q, s * along[:nv]), v + s * along[nv:]
        return states_from(ch.simulate(mechanism, (0.0, 0.2), *start, **options), base)

    assert off(found.state @ along, extrapolated(moved)) < BAR
    some = ch.sensitivities(mechanism, (0.0, 0.2), q, v, directions=np.stack([along, -2 * along], 1), **options)
    assert off(some["directions"][..., 0], found.state @ along) < 1e-13
    assert off(some["directions"][..., 1], -2 * found.state @ along) < 1e-13


# ---------------------------------------------------------------- forces, input and parameters


@ch.law
def drag(t, pose, twist, parameters, out):
    """Quadratic drag, and a pull toward the origin that depends on the time."""
    speed = np.sqrt(twist[3] ** 2 + twist[4] ** 2 + twist[5] ** 2)
    for k in range(3):
        out[k] = -0.1 * parameters[0] * twist[k]
        out[3 + k] = -parameters[0] * speed * twist[3 + k] - parameters[1] * np.cos(t) * pose[4 + k]


@ch.law
def motor(t, q, v, parameters, out):
    out[0] = parameters[0] * np.sin(q[0]) - 0.2 * v[0] ** 3


def machine(
    mass=1.3,
    com=(0.1, 0.05, -0.3),
    inertia=0.05,
    place=0.45,
    stiffness=60.0,
    factor=0.4,
    g=9.81,
    gear=2.0,
    damping=0.0,
) -> ch.System:
    """A floating base on springs with three limbs: every kind of force."""
    solid: Any = {"mass": 0.8, "com": (0.0, 0.1, -0.2), "inertia": (0.03, 0.04, 0.02)}
    knee: Any = {"axis": (0.2, 1.0, 0.0), "at": (0.0, 0.0, -place), "damping": damping}
    knee |= {"stiffness": 5.0, "rest": 0.3, "friction": 0.4, "friction_speed": 0.5}
    stops: Any = {"lower": -0.1, "upper": 0.15, "stop_stiffness": 30.0, "stop_damping": 0.3}
    hung: Any = {"points": ((0.3, 0.2, 1.0), (0.0, 0.1, 0.2)), "damping": 1.0, "length": 0.4}
    band: Any = {"points": ((0.0, 0.0, -0.2), (0.1, 0.0, 0.0)), "stiffness": 20.0, "length": 0.2}
    return ch.System(
        [
            ch.Body("base", 3.0, (0.02, 0.0, 0.01), (0.2, 0.25, 0.3)),
            ch.Body("arm", mass, com, (inertia, 1.2 * inertia, 0.8 * inertia)),
            ch.Body("leg", **solid),
            ch.Body("slider", **solid),
        ],
        [
            ch.free("float", "ground", "base"),
            ch.spherical("shoulder", "base", "arm", at=(0.2, 0.0, place), stiffness=3.0, damping=0.3),
            ch.revolute("knee", "arm", "leg", **knee),
            ch.prismatic("rail", "base", "slider", axis=(1.0, 0.3, place), **stops),
        ],
        [ch.Frame("tip", "leg", (0.0, 0.0, -place))],
        forces=[
            ch.Spring("spring", ("ground", "base"), stiffness=stiffness, **hung),
            ch.Spring("band", ("arm", "slider"), **band),
            ch.Bushing("mount", ("leg", "ground"), ((0, 0, -place), com), np.eye(6) + stiffness / 60, 0.1 * np.eye(6)),
            ch.Wrench("push", "arm", (0.1, 0.0, 0.2, 1.0, -2.0, 0.5), representation="hybrid"),
            ch.Wrench("drag", "leg", drag, parameters=(factor, 0.7)),
            ch.JointForce("motor", "knee", motor, parameters=(1.5,)),
        ],
        actuators=[ch.Actuator("bend", "knee", gear=gear, upper=4.0), ch.Actuator("push", "rail", upper=0.5)],
        gravity=(0.0, 0.3, -g),
    )


PARAMETERS: dict[str, Any] = {
    "mass": 1.3,
    "com": (0.1, 0.05, -0.3),
    "inertia": 0.05,
    "place": 0.45,
    "stiffness": 60.0,
    "factor": 0.4,
    "g": 9.81,
    "gear": 2.0,
    "damping": 0.0,
}
CONTROL = np.array([0.6, 0.9])  # the second is beyond its limit


def start() -> tuple[np.ndarray, np.ndarray]:
    mechanism = machine().compile()
    rng = np.random.default_rng(31)
    q = mechanism.retract(mechanism.neutral(), 0.3 * rng.normal(size=mechanism.nv))
    q[mechanism.tree.coordinates["rail"]] = 0.9  # against its stop, all the time: contact itself has no derivative
    return q, 0.7 * rng.normal(size=mechanism.nv)


@pytest.fixture(scope="module")
def found() -> ch.results.Sensitivities:
    wrt = ("q", "v", "control", *PARAMETERS)
    options = {"method": METHODS["rk4"], "step": 0.004, "control": CONTROL}
    return ch.sensitivities(machine, (0.0, 0.2), *start(), parameters=PARAMETERS, wrt=wrt, **options)


def simulated(found, s, along, control=CONTROL, **changed) -> ch.Run:
    mechanism = machine(**changed).compile()
    q, v = start()
    start_at = mechanism.retract(q, s * along[: mechanism.nv]), v + s * along[mechanism.nv :]
    return ch.simulate(mechanism, (0.0, 0.2), *start_at, method=METHODS["rk4"], step=0.004, control=control)


def states_and_tip(run: ch.Run, base: ch.Run) -> np.ndarray:
    return np.concatenate([states_from(run, base), run.solution.y[:, -1:], run["tip"].position], axis=1)


def test_the_place_of_a_frame():
    """Which a parameter moves by itself, too. The whole system of the next test takes as long as all its tables."""
    q, v = start()
    names, along = ("q", "place"), np.random.default_rng(12).normal(size=12)

    def run(s: float) -> ch.Run:
        mechanism = machine(place=0.45 + s * along[11]).compile()
        at = mechanism.retract(q, s * along[:11])
        return ch.simulate(mechanism, (0.0, 0.02), at, v, method=METHODS["rk4"], step=0.004, control=CONTROL)

    options = {"method": METHODS["rk4"], "step": 0.004, "control": CONTROL, "wrt": names}
    found = ch.sensitivities(machine, (0.0, 0.02), q, v, parameters={"place": 0.45}, **options)
    assert off(found.position("tip") @ along, extrapolated(lambda s: run(s)["tip"].position, 0.01)) < BAR


@pytest.fixture(scope="module")
def derivatives(found) -> np.ndarray:
    """Those of state, work and position of the tip, (times, 26, columns)."""
    return np.concatenate([found.state, found.work[:, None], found.position("tip")], axis=1)


def test_a_system_with_every_force_along_one_direction_of_all_that_varies(found):
    """Start, input and all parameters at once: a wrong derivative by one of them is wrong here. Damping stays: there is
    none below zero."""
    rng = np.random.default_rng(10)
    values = {name: np.asarray(value, dtype=float) for name, value in PARAMETERS.items() if name != "damping"}
    values["control"] = CONTROL
    along = {name: np.abs(value).max() * rng.normal(size=value.shape) for name, value in values.items()}
    state = rng.normal(size=22)

    def moved(s):
        run = simulated(found, s, state, **{name: value + s * along[name] for name, value in values.items()})
        return np.concatenate([states_from(run, found.run), run.solution.y[:, -1:]], axis=1)

    derivatives = np.concatenate([found.state, found.work[:, None]], axis=1)
    columns = np.r_[found.columns["q"], found.columns["v"], *(np.r_[found.columns[name]] for name in along)]
    direction = np.concatenate([state, *map(np.ravel, along.values())])
    assert off(derivatives[..., columns] @ direction, extrapolated(moved, 0.005)) < BAR
    assert all(found[name].shape == (51, 22, *value.shape) for name, value in values.items())
    assert found.notes == ()


@pytest.mark.study
def test_the_initial_state_of_a_system_with_every_force(found, derivatives):
    along = np.random.default_rng(8).normal(size=22)

    def moved(s):
        return states_and_tip(simulated(found, s, along), found.run)

    expected = extrapolated(moved, 0.005)
    columns = np.r_[found.columns["q"], found.columns["v"]]
    assert off(derivatives[..., columns] @ along, expected) < BAR
    assert found.notes == ()


@pytest.mark.study
@pytest.mark.parametrize("name", [*PARAMETERS, "control"])
def test_parameters_and_input(found, derivatives, name):
    value = np.asarray(CONTROL if name == "control" else PARAMETERS[name], dtype=float)
    direction = np.random.default_rng(9).normal(size=value.shape) if value.ndim else np.ones(())

    def moved(s):
        return states_and_tip(simulated(found, 0.0, np.zeros(22), **{name: value + s * direction}), found.run)

    if name == "damping":  # there is none below zero: differences to one side, of order seven
        points = [moved(0.01 * k) - moved(0.0) for k in range(1, 8)]
        weights = (7.0, -21 / 2, 35 / 3, -35 / 4, 21 / 5, -7 / 6, 1 / 7)
        expected = np.tensordot(weights, points, 1) / 0.01
    else:
        expected = extrapolated(moved, 0.02 * np.abs(value).max())
    got = derivatives[..., found.columns[name]] @ direction.reshape(-1)
    assert off(got, expected) < BAR
    assert found[name].shape == (51, 22, *value.shape)


def test_the_same_law_in_python_and_compiled(found):
    """Differences of a law that is not compiled, where the compiled one is exact."""
    sliding = ch.Body("block", 1.0, inertia=(0.1, 0.1, 0.1))

    def made(law) -> ch.System:
        return ch.System([sliding], forces=[ch.Wrench("drag", "block", law, parameters=(0.4, 0.7))])

    both = [
        ch.sensitivities(made(law), (0.0, 0.5), v=[0.1, 0.2, 0.3, 1.0, 2.0, 3.0], step=0.02)
        for law in (drag, drag.function)
    ]
    assert not both[0].notes
    assert len(both[1].notes) == 1
    assert 0 < off(both[1].state, both[0].state) < 1e-9


# ---------------------------------------------------------------- adaptive steps, pieces, what is saved


def test_adaptive_steps_are_held():
    """The derivative of the steps that were taken, taken again with these sizes from other starts."""
    mechanism = models.system_of(models.MODELS["all kinds"]()).compile()
    q, v = state_of(mechanism, 12)
    found = ch.sensitivities(mechanism, (0.0, 0.15), q, v, rtol=1e-5, atol=1e-7)
    times, nv = found.run.t, mechanism.nv
    assert np.ptp(np.diff(times)) > 1e-3
    assert found.notes == ("the steps of the adaptive method are held constant",)
    along = np.random.default_rng(13).normal(size=2 * nv)

    def moved(s: float) -> np.ndarray:
        at, speed = mechanism.retract(q, s * along[:nv]), v + s * along[nv:]
        for first, last in pairwise(times):
            piece = ch.simulate(mechanism, (first, last), at, speed, step=last - first, save="final")
            at, speed = piece.q[-1], piece.v[-1]
        return np.concatenate([mechanism.difference(at, found.run.q[-1]), speed])

    assert off(found.state[-1] @ along, extrapolated(moved)) < BAR


def test_pieces_follow_each_other():
    mechanism = models.system_of(models.MODELS["all kinds"]()).compile()
    q, v = state_of(mechanism, 14)
    whole = ch.sensitivities(mechanism, (0.0, 0.2), q, v, save=10, **STEPS)
    assert np.allclose(whole.t, [0.0, 0.05, 0.1, 0.15, 0.2], atol=1e-15)
    first = ch.sensitivities(mechanism, (0.0, 0.1), q, v, save="final", **STEPS)
    rest = (first.run.q[-1], first.run.v[-1])
    second = ch.sensitivities(mechanism, (0.1, 0.2), *rest, save="final", threads=1, **STEPS)
    assert first.state.shape[0] == second.state.shape[0] == 1
    assert off(first.state[-1], whole.state[2]) == 0.0
    assert off(second.state[-1] @ first.state[-1], whole.state[-1]) < 1e-12


def test_an_empty_span_and_a_backward_one():
    rod = ch.System([ch.Body("rod", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))], [ch.spherical("pivot", "ground", "rod")])
    v = [0.3, 1.0, 2.0]
    assert np.array_equal(ch.sensitivities(rod, (1.0, 1.0), v=v, step=0.1).state, np.eye(6)[None])
    there = ch.sensitivities(rod, (0.0, 0.5), v=v, step=0.001)
    back = ch.sensitivities(rod, (0.5, 0.0), there.run.q[-1], there.run.v[-1], step=0.001)
    assert np.abs(back.state[-1] @ there.state[-1] - np.eye(6)).max() < 1e-12


# ---------------------------------------------------------------- what is refused


def swing(length=0.5, pitch=0.0, friction=0.0) -> ch.System:
    hinge = ch.helical if pitch else ch.revolute
    more = {"pitch": pitch} if pitch else {}
    joint = hinge("hinge", "ground", "bob", axis=(0, 1, 0), friction=friction, **more)
    return ch.System([ch.Body("bob", 1.0, (0, 0, -length), (0.01, 0.01, 0.01))], [joint])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": {"pitch": 0.0}}, "'pitch' changes the structure"),
        ({"parameters": {"friction": 0.0}}, "brings in the friction of joint 'hinge' from zero"),
        ({"parameters": {"length": np.nan}}, "'length' is nan; expected finite"),
        ({"wrt": ("q", "mass")}, "wrt 'mass' is unknown; expected some of 'q', 'v', 'control'"),
        ({"wrt": ()}, "wrt is empty"),
        ({"save": [0.1, 0.2]}, '"all", "final" or a number of steps'),
        ({"method": ch.integrate.Gauss()}, "is not an explicit one"),
        ({"directions": np.ones((3, 1))}, "directions"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ch.sensitivities(swing, (0.0, 0.1), **{"step": 0.01, **options})


def test_a_method_may_be_given_by_its_name():
    by_name, by_class = (
        ch.sensitivities(swing, (0.0, 0.1), [0.4], method=method, step=0.01, parameters={"length": 0.3})
        for method in ("rk4", ch.integrate.RKMK("rk4"))
    )
    assert np.array_equal(by_name.state, by_class.state)
    with pytest.raises(ValueError, match="sensitivities: method is 'rk5'"):
        ch.sensitivities(swing, (0.0, 0.1), method="rk5", step=0.01)


def test_a_parameter_that_jumps_is_found_out():
    with pytest.raises(ValueError, match="does not depend smoothly on parameter 'length'"):
        ch.sensitivities(
            lambda length: swing(0.5 if length < 0.5 else 0.7), (0.0, 0.1), parameters={"length": 0.5}, step=0.01
        )
    with pytest.raises(ValueError, match="must be a function"):
        ch.sensitivities(swing(), (0.0, 0.1), parameters={"length": 0.5}, step=0.01)
    with pytest.raises(TypeError, match="expected a System, a Mechanism, or a function"):
        ch.sensitivities("pendulum", (0.0, 0.1), step=0.01)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="with respect to 'mass'"):
        ch.sensitivities(swing(), (0.0, 0.1), step=0.01)["mass"]


def test_a_kink_is_found_out_and_a_strong_curve_is_not_one():
    """A kink between two points; a sine whose curve takes a smaller step to see, by the chain rule."""
    with pytest.raises(ValueError, match="does not depend smoothly on parameter 'length'"):
        ch.sensitivities(
            lambda length: swing(max(length, 0.5015)), (0.0, 0.1), [0.4], parameters={"length": 0.5}, step=0.01
        )
    curved, plain = (
        ch.sensitivities(system, (0.0, 0.1), [0.4], parameters={name: value}, step=0.01)[name]
        for system, name, value in (
            (lambda phase: swing(0.5 + 0.1 * np.sin(phase)), "phase", 14.0),
            (swing, "length", 0.5 + 0.1 * np.sin(14.0)),
        )
    )
    np.testing.assert_allclose(curved, 0.1 * np.cos(14.0) * plain, rtol=1e-7, atol=1e-10)


def test_a_parameter_in_the_code_of_a_law_is_refused():
    def system(strength):
        @ch.law
        def push(t, q, v, parameters, out):
            out[0] = strength * q[0]

        return ch.System(
            [ch.Body("bob", 1.0, (0, 0, -1))],
            [ch.revolute("pin", "ground", "bob", axis=(0, 1, 0))],
            forces=[ch.JointForce("push", "pin", push)],
        )

    with pytest.raises(ValueError, match="'strength' is a constant in the code of law 'push'"):
        ch.sensitivities(system, (0.0, 0.1), parameters={"strength": 2.0}, step=0.05)


class Push:
    def __init__(self, strength):
        self.strength = strength

    def __call__(self, t, q, v, parameters, out):
        out[0] = self.strength * q[0]


def test_a_parameter_in_an_object_that_is_called_as_a_law_is_refused():
    """Its derivative was zero."""

    def system(strength):
        joint = ch.revolute("pin", "ground", "bob", axis=(0, 1, 0))
        return ch.System([ch.Body("bob", 1.0, (0, 0, -1))], [joint], forces=[ch.JointForce("p", "pin", Push(strength))])

    with pytest.raises(ValueError, match="'strength' is a constant in the code of law 'Push'"):
        ch.sensitivities(system, (0.0, 0.1), parameters={"strength": 2.0}, step=0.05)


def test_an_error_in_a_law_is_raised():
    def broken(t, q, v, parameters, out):
        raise ZeroDivisionError("not today")

    system = ch.System(
        [ch.Body("bob", 1.0, (0, 0, -0.5))],
        [ch.revolute("hinge", "ground", "bob", axis=(0, 1, 0))],
        forces=[ch.JointForce("bad", "hinge", broken)],
    )
    with pytest.raises(ZeroDivisionError, match="not today"):
        ch.linearize(system)


@ch.law
def stiff_for_a_moment(t, q, v, p, out):
    """A spring that is there for 10 ms."""
    out[0] = -400.0 * q[0] if 5.0 <= t < 5.01 else 0.0


@pytest.mark.parametrize("options", [{}, {"stops": [5.0, 5.01], "max_step": 1.0}], ids=["found", "given"])
def test_no_step_over_what_a_law_does_in_between(options):
    """A slider flies, meets a spring for a moment and flies on: both parts in closed form."""
    joint = ch.prismatic("s", "ground", "b", axis=(1, 0, 0))
    push = ch.JointForce("push", "s", stiff_for_a_moment)
    system = ch.System([ch.Body("b", 1.0, inertia=(0.01,) * 3)], [joint], gravity=(0, 0, 0), forces=[push])
    found = ch.sensitivities(system, (0.0, 10.0), q=[1.0], v=[0.1], rtol=1e-10, atol=1e-12, save="final", **options)
    c, s = np.cos(20.0 * 0.01), np.sin(20.0 * 0.01)

    def flight(t):
        return np.array([[1.0, t], [0.0, 1.0]])

    exact = flight(4.99) @ np.array([[c, s / 20.0], [-20.0 * s, c]]) @ flight(5.0)
    assert np.abs(found.run.q[-1] - (exact @ [1.0, 0.1])[:1]).max() < 1e-6
    assert np.abs(found.state[-1] - exact).max() < 1e-6 * np.abs(exact).max()
    if options:
        assert np.diff(found.run.t).max() <= 1.0 + 1e-12
        assert {5.0, 5.01} <= set(found.run.t)


def test_a_parameter_that_cannot_be_varied_is_named():
    def block(mass):
        slide = ch.prismatic("slide", "ground", "block", axis=(1, 0, 0))
        return ch.System([ch.Body("block", 1.0 if mass == 2.0 else -1.0)], [slide])

    with pytest.raises(ValueError, match=r"parameter 'mass' cannot be varied by 0\.01\d*: .*mass"):
        ch.sensitivities(block, (0.0, 0.1), parameters={"mass": 2.0})
