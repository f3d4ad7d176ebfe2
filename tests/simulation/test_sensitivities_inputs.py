"""Sensitivities to inputs that are held for a period each: against differences of runs, and the gradient, which goes
backward."""

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.slopes import CENTRAL

STEPS = {"method": "rk4", "step": 0.01}
PERIOD, SPAN = 0.03, (0.2, 0.3)  # the last period is shorter
START = {"q": [0.9, 0.1, 0.3, 0.3, 0.4], "v": [1.0, -2.0, 0.5, 1.5]}


def arm(length: float = 0.5, gear: float = 2.0) -> ch.System:
    """A ball joint and a hinge with a motor that has limits."""
    bodies = [ch.Body(name, 1.0, (0, 0.01, -length / 2), (0.02, 0.025, 0.01)) for name in ("upper", "lower")]
    joints = [
        ch.spherical("pivot", "ground", "upper", damping=0.1),
        ch.revolute("elbow", "upper", "lower", axis=(0.1, 1, 0), at=(0, 0, -length), stiffness=2.0),
    ]
    return ch.System(bodies, joints, actuators=[ch.Actuator("motor", "elbow", gear=gear, lower=-0.5, upper=0.5)])


def differences(of, size: float = 0.01) -> np.ndarray:
    return np.tensordot(CENTRAL, [of(k * size) - of(-k * size) for k in range(1, 5)], 1) / size


def test_a_sequence_of_inputs():
    """One of them is beyond the motor's limit."""
    inputs = np.array([[0.3], [-0.2], [0.9], [0.1]])
    given = {"parameters": {"length": 0.5, "gear": 2.0}, "control": inputs, "period": PERIOD, **START, **STEPS}
    found = ch.sensitivities(arm, SPAN, **given, wrt=("v", "control", "gear", "length"))
    assert found["control"].shape == (len(found.t), 8, 4, 1)
    assert not found["control"][:, :, 2].any()
    run, rng = found.run, np.random.default_rng(1)
    along, changed = rng.normal(size=(4, 1)), rng.normal(size=4)

    def state_at(s: float) -> np.ndarray:
        table = inputs + s * along

        def held(t, q, v):
            return table[round((t - 0.2) / PERIOD)]

        system = arm(0.5 + 0.1 * s, 2.0 + 0.3 * s)
        other = ch.simulate(
            system, SPAN, START["q"], np.add(START["v"], s * changed), controller=held, period=PERIOD, **STEPS
        )
        turned = system.compile().difference(other.q, run.q)
        work = other.solution.y[:, -1:]
        return np.concatenate([turned, other.v, work], axis=1)

    wanted = differences(state_at, 0.02)
    along_all = found["control"][..., 0] @ along[:, 0] + found["v"] @ changed
    along_all += 0.1 * found["length"] + 0.3 * found["gear"]
    assert np.abs(along_all - wanted[:, :-1]).max() < 1e-10 * np.abs(wanted).max()
    work = found.work[:, found.columns["control"]] @ along[:, 0] + found.work[:, found.columns["v"]] @ changed
    work += 0.1 * found.work[:, found.columns["length"]][:, 0] + 0.3 * found.work[:, found.columns["gear"]][:, 0]
    assert np.abs(work - wanted[:, -1]).max() < 1e-10 * np.abs(wanted).max()
    few = ch.sensitivities(arm, SPAN, **given, wrt=("v", "control"), save=4)
    assert np.array_equal(few.t, found.t[[0, 4, 8, 10]])
    assert np.abs(few["control"] - found["control"][[0, 4, 8, 10]]).max() < 1e-13


def test_a_controller_that_answers():
    """Against the gradient."""

    def controller(t, q, v):
        return [0.05 * q[1] - 0.2 * q[4] - 0.02 * v[3]]

    def slopes(t, q, v):
        return [[0.0, 0.05, 0.0, 0.0, -0.2]], [[0.0, 0.0, 0.0, -0.02]]

    more = {"parameters": {"length": 0.5}, "controller": controller, "period": PERIOD, "slopes": slopes}
    found = ch.sensitivities(arm, SPAN, **START, **STEPS, **more, wrt=("q", "v", "control", "length"))
    end = ch.objective.end(lambda t, q, v: v[:, 0] + 2.0 * v[:, 3])
    back = ch.gradient(
        found.run, end, by=("q", "v", "control", "length"), system=arm, parameters={"length": 0.5}, slopes=slopes
    )
    for name in ("q", "v", "control", "length"):
        ahead = found[name][-1, 4] + 2.0 * found[name][-1, 7]
        assert np.abs(ahead - back[name]).max() < 1e-12 * np.abs(back[name]).max(), name
    del more["slopes"]
    deaf = ch.sensitivities(arm, SPAN, **START, **STEPS, **more, wrt="v")
    assert np.abs(deaf["v"][-1] - found["v"][-1]).max() > 1e-5
    with pytest.raises(ValueError, match="sensitivities: slopes are not the derivatives of the controller"):
        ch.sensitivities(
            arm,
            SPAN,
            **START,
            **STEPS,
            **more,
            slopes=lambda t, q, v: ([[0.0, 0.05, 0.0, 0.0, 0.2]], slopes(t, q, v)[1]),
        )


def linkage() -> ch.System:
    bodies = [
        ch.Body("crank", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01)),
        ch.Body("rod", 0.8, (0.45, 0, 0), (0.01, 0.05, 0.06)),
        ch.Body("rocker", 1.2, (0.25, 0, 0), (0.01, 0.02, 0.03)),
    ]
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 0, 1), damping=0.1),
        ch.spherical("B", "crank", "rod", at=(0.2, 0, 0)),
        ch.spherical("C", "rod", "rocker", at=(0.9, 0, 0), child_at=(0.5, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=(0, 1, 0), at=(0.8, 0.1, 0.0)),
    ]
    return ch.System(bodies, joints, actuators=[ch.Actuator("motor", "A")], gravity=(0.3, -9.81, 1.0))


def test_a_loop():
    """Against the gradient."""
    mechanism = linkage().compile()
    q = mechanism.assemble(None)
    v = mechanism.consistent_velocities(q, np.random.default_rng(3).normal(size=mechanism.nv))
    inputs = np.array([[0.3], [-0.2], [0.9], [0.4]])
    found = ch.sensitivities(linkage(), (0.0, 0.1), q, v, control=inputs, period=PERIOD, wrt=("v", "control"), **STEPS)
    for k in range(2):
        end = ch.objective.end(lambda t, q, v, k=k: v[:, k])
        back = ch.gradient(found.run, end, by=("v", "control"))
        for name in ("v", "control"):
            ahead = found[name][-1, mechanism.nv + k]
            assert np.abs(ahead - back[name]).max() < 1e-11 * np.abs(back[name]).max(), name


def test_one_period_is_a_constant_input():
    given = {**START, **STEPS, "wrt": ("v", "control")}
    one = ch.sensitivities(arm(), (0, 0.05), control=[[0.3]], period=0.05, **given)
    same = ch.sensitivities(arm(), (0, 0.05), control=[0.3], **given)
    assert one["control"].shape == (6, 8, 1, 1)
    assert np.abs(one["control"][..., 0] - same["control"]).max() < 1e-15
    assert np.abs(one["v"] - same["v"]).max() < 1e-14


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"control": [[0.1]] * 3, "period": PERIOD}, r"control has shape \(3, 1\); expected \(4, inputs\)"),
        ({"control": [0.1], "period": PERIOD}, r"control has shape \(1,\); expected \(4, inputs\)"),
        ({"control": [[0.1], [np.nan], [0], [0]], "period": PERIOD}, "the input of period 1 is not finite"),
        ({"control": [[0.1]] * 4, "period": -1.0}, "period is -1.0; expected the time that each input is held"),
        ({"period": PERIOD}, "period is that of control"),
        ({"slopes": lambda t, q, v: 0}, "slopes are for sampled controllers"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=f"sensitivities: {message}"):
        ch.sensitivities(arm(), SPAN, **START, **STEPS, **given)
