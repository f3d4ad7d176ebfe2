"""What `solve` and `simulate` are asked for wrongly is refused, with what to write instead."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.options import Options, check_times, saving


def falling() -> ch.System:
    return ch.System(
        [ch.Body("ball", 1.0, inertia=(0.1, 0.1, 0.1))], [ch.prismatic("z", "ground", "ball", axis=(0, 0, 1))]
    )


def below(t, y, p):
    return y[0]


def test_one_event_is_a_list_of_one():
    hit = np.sqrt(2 * 10.0 / 9.81)
    for events in (ch.Event(below), [ch.Event(below)], (one for one in [ch.Event(below)])):
        run = ch.simulate(falling(), (0, 2), q=[10.0], events=events)
        assert [found.t for found in run.events] == pytest.approx([hit], abs=1e-12)


def test_one_event_to_resume(tmp_path):
    file, hit = tmp_path / "run.h5", ch.Event(below, terminal=True)
    ch.simulate(falling(), (0, 2), q=[10.0], events=hit, file=file, step=0.01, max_evaluations=50)
    with pytest.raises(TypeError, match=r"^resume: events has the function 'below'"):
        ch.resume(file, events=below)
    assert ch.resume(file, events=hit).message.startswith(("stopped", "ended"))


@pytest.mark.parametrize("events", [below, [below], (ch.Event(below), below), 3, ["below"]])
def test_functions_are_no_events(events):
    with pytest.raises(TypeError, match=r"^solve: events has .* write events=\[chasles\.Event\((below|function)\)\]"):
        Options(events=events)
    with pytest.raises(TypeError, match=r"^simulate: events has "):
        ch.simulate(falling(), (0, 2), q=[10.0], events=events)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda y: y[0] < 0, "returns True or False; expected a number that passes through zero"),
        (lambda y: bool(y[0] < 0), "returns True or False"),
        (lambda y: None, r"returned None at t = 0; expected a number"),
        (lambda y: y[:1], r"returned array\(\[10\.\]\) at t = 0; expected a number"),
        (lambda y: "low", "returned 'low' at t = 0; expected a number"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"step": 0.5}])
def test_events_that_are_no_numbers(value, message, options):
    event = ch.Event(lambda t, y, p: value(y), name="low")
    with pytest.raises(TypeError, match=f"^simulate: the event 'low' {message}"):
        ch.simulate(falling(), (0, 2), q=[10.0], events=event, **options)
    for number in (1, np.int64(3), np.float32(2.0), np.array(2.5)):
        assert ch.Event(lambda t, y, p, x=number: x).value(0.0, np.zeros(1), np.empty(0)) == float(number)


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (
            0.1,
            r"save=0\.1 is one time; for every 0\.1 s give save=np\.arange\(0, 5, 0\.1\) or every=0\.1 \(of simulate\)",
        ),
        (2.0, r"save=2\.0 is one time; .* for every n-th step an int"),
        (np.float64(10), r"save=10\.0 is one time"),
        (True, 'save=True; expected "all", "final", a number of steps'),
        (np.bool_(True), 'save=.*True.*; expected "all"'),
        (None, 'save=None; expected "all"'),
        ({"t": 1}, "save=.* expected"),
        (["a"], "save=.* expected"),
        (np.ones((2, 2)), r"save has shape \(2, 2\)"),
        ([], r"save has shape \(0,\)"),
        ([1.0, np.nan], r"save\[1\] is nan"),
        ([0.0, 5.1], r"save\[1\] = 5\.1 is after the end of the span, 5"),
        ([-0.1, 1.0], r"save\[0\] = -0\.1 is before the start of the span, 0"),
        ([1.0, 3.0, 2.0], r"save\[2\] = 2 comes after 3"),
    ],
)
def test_what_is_saved(save, message):
    with pytest.raises(ValueError, match=f"^simulate: {message}"):
        ch.simulate(falling(), (0, 5), save=save)


def test_times_off_the_span_by_their_rounding():
    found = np.arange(0, 0.7 + 0.05, 0.1)
    assert found[-1] > 0.7
    assert check_times(found, 0.0, 0.7)[-1] == 0.7
    assert check_times(-found, 0.0, -0.7)[-1] == -0.7
    late = 1000.0 + np.cumsum(np.full(1000, 0.001))
    assert check_times(late, 1000.0, 1001.0)[-1] == pytest.approx(1001.0, abs=1e-9)
    assert check_times(np.array([0.1, 0.3], dtype=np.float32), 0.0, 0.3)[-1] == 0.3
    with pytest.raises(ValueError, match="after the end"):
        check_times([0.7 + 1e-12], 0.0, 0.7)
    run = ch.simulate(falling(), (0, 0.7), save=found)
    assert (len(run.t), run.t[-1]) == (8, 0.7)
    assert saving(3) == 3


@pytest.mark.parametrize("steps", [-1, 0, 1.5, "3", True, None])
def test_numbers_of_steps(steps):
    stepped = ch.Simulation(falling(), 1e-3)
    with pytest.raises(ValueError, match=r"^Simulation\.step: steps is .*; expected a positive whole number"):
        stepped.step([1.0], steps=steps)
    assert not stepped.state.inputs.any()  # nothing was changed
    assert stepped.step(steps=np.int64(2)).t == pytest.approx(2e-3)


@pytest.mark.parametrize(
    "options",
    [{"step": 9.0}, {"step": -1.0}, {"rtol": -1.0}, {"max_step": 0}, {"stops": ["a"]}, {"max_evaluations": 0}],
)
def test_messages_name_the_function_that_was_called(options):
    with pytest.raises(ValueError, match=r"^simulate: "):
        ch.simulate(falling(), (0, 1), **options)
    with pytest.raises(ValueError, match=r"^simulate: span 5"):
        ch.simulate(falling(), 5.0)


def test_inputs_by_name():
    plain = falling()
    driven = ch.System(plain.bodies, plain.joints, actuators=[ch.Actuator("motor", "z", gear=2.0)])
    for system, name, gear in ((plain, "z", 1.0), (driven, "motor", 2.0)):
        runs = [
            ch.simulate(system, (0, 1), control={name: 3.0}),
            ch.simulate(system, (0, 1), control=[3.0]),
            ch.simulate(system, (0, 1), controller=lambda t, q, v, name=name: {name: 3.0}, period=0.5),
        ]
        assert [run.q[-1, 0] for run in runs] == pytest.approx([(3.0 * gear - 9.81) / 2] * 3, rel=1e-12)
        assert all((run.inputs == 3.0).all() for run in runs)
        assert ch.Simulation(system, 0.1).step({name: 3.0}).state.inputs == pytest.approx([3.0])
        with pytest.raises(ValueError, match=f"the input has 'm', and there is no such .*; there are '{name}'"):
            ch.simulate(system, (0, 1), control={"m": 0.5})
        with pytest.raises(ValueError, match=f"the input has 2 numbers of '{name}'; expected 1"):
            ch.simulate(system, (0, 1), control={name: [0.5, 1.0]})
    with pytest.raises(TypeError, match="simulate: the controller returned None; expected 1 number:"):
        ch.simulate(plain, (0, 1), controller=lambda t, q, v: None, period=0.5)
    with pytest.raises(TypeError, match="simulate: the input is 'much'; expected 1 number:"):
        ch.simulate(plain, (0, 1), control="much")


def test_a_run_is_no_list_of_states():
    run = ch.simulate(falling(), (0, 1))
    for use in (lambda: run[0], lambda: list(run), lambda: run[1:], lambda: run(0.5)[0]):
        with pytest.raises(
            TypeError, match=r"expected the name of a body or frame, run\['ball'\]\. .* zip\(run\.t, run\.q\)"
        ):
            use()
