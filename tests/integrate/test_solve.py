"""The driver: saving, interpolation, events, resuming, batches, backwards time, and what happens to bad input."""

import pickle

import numpy as np
import pytest

from chasles.integrate import stepper as integration
from chasles.integrate.event import Event
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.gauss import LieMidpoint
from chasles.integrate.method import RKMK, CommutatorFree
from chasles.integrate.problem import LieODE
from chasles.integrate.solver import solve
from chasles.integrate.space import Space
from chasles.integrate.stepper import Interrupted
from chasles.integrate.tableau import Tableau
from chasles.integrate.vector_field import field
from tests.integrate.problems import PARAMETERS, problem, tangle_in_python

EQUATION, START = problem("ts2")
METHODS = [RKMK("rk4"), RKMK("dopri5"), RKMK("rk4", coordinates="cay"), CommutatorFree("cf4")]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_saving_rules_agree(method):
    every = solve(EQUATION, method, (0, 1), START, step=1 / 64)
    third = solve(EQUATION, method, (0, 1), START, step=1 / 64, save=3)
    final = solve(EQUATION, method, (0, 1), START, step=1 / 64, save="final")
    assert every.t.shape == (65,)
    np.testing.assert_array_equal(every.t, np.arange(65) / 64)
    np.testing.assert_array_equal(third.t[:-1], every.t[:64:3])
    np.testing.assert_array_equal(third.y[:-1], every.y[:64:3])
    np.testing.assert_array_equal(final.y[-1], every.y[-1])
    np.testing.assert_array_equal(third.y[-1], every.y[-1])
    assert every.success
    assert every.message == "reached the end"


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("save", ["all", 2])
def test_interpolation_between_saved_points_has_order_at_least_three(method, save):
    times = np.linspace(0.03, 0.97, 41)
    exact = solve(EQUATION, RKMK("dop853"), (0, 1), START, step=1 / 2000, save="all")
    truth = exact(times)
    found = [
        abs(solve(EQUATION, method, (0, 1), START, step=1 / n, save=save)(times) - truth).max() for n in (16, 32, 64)
    ]
    assert (np.log2(found[:-1]) - np.log2(found[1:]) > 2.8).all(), found
    curve = solve(EQUATION, method, (0, 1), START, step=1 / 16, save=save)(times)
    assert abs(np.linalg.norm(curve[:, :3], axis=1) - 1).max() < 1e-15 * 8  # on the sphere
    assert abs((curve[:, :3] * curve[:, 3:]).sum(axis=1)).max() < 1e-14


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_given_times_are_reached_by_steps_of_their_own(method):
    """So they are as good as the method, however short the way there, and the run does not depend on them."""
    times = np.array([0.0, 0.013, 0.02, 1 / 32, 0.5, 0.777, 1.0])
    at_times = solve(EQUATION, method, (0, 1), START, step=1 / 32, save=times)
    steps = solve(EQUATION, method, (0, 1), START, step=1 / 32)
    np.testing.assert_array_equal(at_times.t, times)
    np.testing.assert_array_equal(at_times.y[[3, 4, 6]], steps.y[[1, 16, 32]])
    for time, point in zip(times[[1, 2, 5]], at_times.y[[1, 2, 5]], strict=True):
        k = int(32 * time)
        alone = solve(EQUATION, method, (k / 32, time), steps.y[k], step=time - k / 32)
        np.testing.assert_allclose(point, alone.y[-1], rtol=0, atol=2e-16)
    with pytest.raises(ValueError, match="cannot be interpolated"):
        at_times(0.5)


def test_given_times_of_an_adaptive_run_have_its_accuracy():
    """A cubic through the steps of a method of order eight would be off by 1e-6 here."""
    times = np.linspace(0, 1, 100)
    run = solve(EQUATION, RKMK("dop853"), (0, 1), START, rtol=1e-12, atol=1e-12, save=times)
    truth = solve(EQUATION, RKMK("dop853"), (0, 1), START, step=1 / 990, save=10)
    np.testing.assert_allclose(run.y, truth.y, rtol=0, atol=1e-11)
    plain = solve(EQUATION, RKMK("dop853"), (0, 1), START, rtol=1e-12, atol=1e-12)
    assert run.steps == plain.steps < 50
    np.testing.assert_array_equal(run.y[-1], plain.y[-1])


def test_thousands_of_times_within_one_step():
    times = np.linspace(0, 1, 5000)
    run = solve(EQUATION, RKMK("rk4"), (0, 1), START, step=0.5, save=times)
    np.testing.assert_array_equal(run.t, times)
    assert abs(np.diff(run.y, axis=0)).max() < 1e-3


def test_interpolation_over_large_turns_is_right_or_refused():
    fast = LieODE(Space("s2"), circle, [10.0])
    one_step = solve(fast, RKMK("rk4"), (0, 0.4), EAST, step=0.4)  # a turn of 4 rad in one step
    np.testing.assert_allclose(one_step(0.31), [np.cos(3.1), np.sin(3.1), 0], atol=1e-14)
    seldom = solve(fast, RKMK("rk4"), (0, 1), EAST, step=0.01, save=50)  # 5 rad between saved points
    with pytest.raises(ValueError, match="save more often"):
        seldom(0.2)
    often = solve(fast, RKMK("rk4"), (0, 1), EAST, step=0.01, save=25)
    np.testing.assert_allclose(often(0.2), [np.cos(2), np.sin(2), 0], atol=1e-13)


def test_backwards_time_returns_to_the_start():
    forward = solve(EQUATION, RKMK("dop853"), (0, 2), START, rtol=1e-11, atol=1e-12)
    back = solve(EQUATION, RKMK("dop853"), (2, 0), forward.y[-1], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(back.y[-1], START, rtol=0, atol=1e-9)
    assert (np.diff(back.t) < 0).all()
    fixed = solve(EQUATION, RKMK("rk4"), (1, 0), START, step=0.25)
    np.testing.assert_array_equal(fixed.t, [1, 0.75, 0.5, 0.25, 0])
    np.testing.assert_allclose(back(1.0), forward(1.0), atol=1e-5)


def test_the_last_step_ends_exactly_and_time_does_not_drift():
    run = solve(EQUATION, RKMK("euler"), (0, 1), START, step=0.3)
    np.testing.assert_array_equal(run.t, [0, 0.3, 2 * 0.3, 3 * 0.3, 1])
    many = solve(EQUATION, RKMK("euler"), (0, 100), START, step=0.1, save=100)
    np.testing.assert_array_equal(many.t, np.arange(11) * 100 * 0.1)


def test_a_run_of_very_many_pieces_knows_a_bound(monkeypatch):
    """Each full buffer ends a piece early; the steps wanted of the next must not grow without end."""
    asked = []
    advance = ExplicitStepper.advance

    def recording(self, limit):
        asked.append(limit)
        return advance(self, limit)

    monkeypatch.setattr(ExplicitStepper, "advance", recording)
    monkeypatch.setattr(integration.time, "perf_counter", lambda: 0.0)  # pieces that take no time at all
    assert solve(EQUATION, RKMK("rk4"), (0, 1), START, step=1 / 100000).success
    assert len(asked) > 10
    assert max(asked) <= integration.MOST_STEPS


def test_a_python_field_gives_the_same_numbers():
    compiled = solve(EQUATION, RKMK("dopri5"), (0, 1), START, step=1 / 50)
    plain = solve(LieODE(EQUATION.space, tangle_in_python, PARAMETERS), RKMK("dopri5"), (0, 1), START, step=1 / 50)
    np.testing.assert_allclose(plain.y, compiled.y, rtol=0, atol=1e-14)


def test_counters_count():
    run = solve(EQUATION, RKMK("rk4"), (0, 1), START, step=0.1)
    assert (run.steps, run.rejections, run.evaluations, run.exponentials, run.commutators) == (10, 0, 41, 40, 0)
    pair = solve(EQUATION, RKMK("dopri5"), (0, 1), START, step=0.1)
    assert pair.evaluations == 61  # the last stage is the first of the next step
    assert solve(EQUATION, RKMK("rk4", "minimal"), (0, 1), START, step=0.1).commutators == 20


@pytest.mark.parametrize(
    "method", [RKMK("dopri5"), RKMK("tsit5"), RKMK("bs32"), RKMK("dop853"), CommutatorFree("cf43")], ids=str
)
def test_tolerances_are_proportional_to_errors(method):
    truth = solve(EQUATION, RKMK("dop853"), (0, 2), START, step=1 / 2000, save="final").y[-1]
    found = [
        abs(solve(EQUATION, method, (0, 2), START, rtol=tol, atol=tol, save="final").y[-1] - truth).max()
        for tol in (1e-4, 1e-6, 1e-8)
    ]
    for tol, error in zip((1e-4, 1e-6, 1e-8), found, strict=True):
        assert 1e-4 * tol < error < 100 * tol, found


# ---------------------------------------------------------------- resuming


@pytest.mark.parametrize("options", [{"step": 1 / 100}, {"rtol": 1e-7, "atol": 1e-8}], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("method", [RKMK("dopri5"), CommutatorFree("cf43")], ids=str)
def test_a_stopped_run_continues_to_the_same_bits(method, options):
    whole = solve(EQUATION, method, (0, 3), START, **options)
    first = solve(EQUATION, method, (0, 3), START, max_steps=17, **options)
    assert first.message == "stopped after 17 steps"
    assert not first.success
    stored = pickle.loads(pickle.dumps(first.checkpoint))
    rest = solve(EQUATION, method, (0, 3), START, resume=stored, **options)
    np.testing.assert_array_equal(np.concatenate([first.t, rest.t]), whole.t)
    np.testing.assert_array_equal(np.concatenate([first.y, rest.y]), whole.y)


def test_a_checkpoint_of_another_problem_is_refused():
    other, start = problem("so3")
    checkpoint = solve(other, RKMK("rk4"), (0, 1), start, step=0.1, max_steps=3).checkpoint
    with pytest.raises(ValueError, match="does not fit"):
        solve(EQUATION, RKMK("rk4"), (0, 1), START, step=0.1, resume=checkpoint)


# ---------------------------------------------------------------- events


@field
def circle(t, y, p, out):
    """Rotation about the third axis with angular velocity p[0]."""
    out[0], out[1], out[2] = 0.0, 0.0, p[0]


CIRCLE = LieODE(Space("s2"), circle, [2.0])
EAST = np.array([1.0, 0.0, 0.0])


def northward(t, y, p):
    return y[1]


@field
def northward_compiled(t, y, p, out):
    out[0] = y[1]


@pytest.mark.parametrize("function", [northward, northward_compiled], ids=["python", "compiled"])
@pytest.mark.parametrize("method", [RKMK("rk4"), RKMK("rk4", coordinates="cay"), CommutatorFree("cf4")], ids=str)
def test_events_are_located_to_the_last_bits(function, method):
    run = solve(CIRCLE, method, (0, 10), EAST, step=0.11, events=[Event(function)])
    found = [e.t for e in run.events]
    # with the exponential a constant field is integrated exactly; the Cayley map has the error of its order 4
    tolerance = 2e-5 if getattr(method, "coordinates", "exp") == "cay" else 1e-13
    np.testing.assert_allclose(found, np.arange(1, 7) * np.pi / 2, rtol=0, atol=tolerance)
    assert all(abs(e.y[1]) < 1e-13 for e in run.events)
    undisturbed = solve(CIRCLE, method, (0, 10), EAST, step=0.11)
    np.testing.assert_array_equal(run.y, undisturbed.y)


def test_direction_and_terminal_events():
    rising = solve(CIRCLE, RKMK("rk4"), (0, 10), EAST, step=0.1, events=[Event(northward, direction=1)])
    np.testing.assert_allclose([e.t for e in rising.events], [np.pi, 2 * np.pi, 3 * np.pi], rtol=1e-14)
    stop = Event(northward, direction=-1, terminal=True, name="west")
    run = solve(CIRCLE, RKMK("dopri5"), (0, 10), EAST, rtol=1e-8, atol=1e-8, events=[stop])
    assert run.success
    assert "west" in run.message
    assert run.t[-1] == pytest.approx(np.pi / 2, rel=1e-14)
    np.testing.assert_allclose(run.y[-1], [-1, 0, 0], atol=1e-14)
    np.testing.assert_allclose(run(run.t[-1] * (1 - 1e-6)), run.y[-1], atol=1e-5)  # dense to the end


def test_a_terminal_event_hides_later_ones_of_the_same_step():
    west = Event(lambda t, y, p: t - 0.42, terminal=True, name="first")
    later = Event(lambda t, y, p: t - 0.45, name="later")
    early = Event(lambda t, y, p: t - 0.41, name="early")
    run = solve(CIRCLE, RKMK("rk4"), (0, 1), EAST, step=0.1, events=[later, west, early])
    assert [e.event.name for e in run.events] == ["early", "first"]


def test_events_backwards_in_time():
    run = solve(CIRCLE, RKMK("rk4"), (0, -4), EAST, step=0.1, events=[Event(northward)])
    np.testing.assert_allclose([e.t for e in run.events], [-np.pi / 2, -np.pi], rtol=1e-14)


def test_an_event_that_is_not_a_number_is_named():
    broken = Event(lambda t, y, p: np.nan if t > 0.45 else 1.0, name="broken")
    with pytest.raises(ValueError, match=r"event 'broken' is nan at t = 0\.5"):
        solve(CIRCLE, RKMK("rk4"), (0, 1), EAST, step=0.1, events=[broken])


# ---------------------------------------------------------------- bad input


def plain(f):
    return LieODE(Space("s2"), f)


@pytest.mark.parametrize(
    ("problem_", "options", "message"),
    [
        (CIRCLE, {"rtol": -1.0}, "rtol -1.0"),
        (CIRCLE, {"atol": 0.0}, "atol > 0"),
        (CIRCLE, {"step": 0.0}, "positive"),
        (CIRCLE, {"step": np.nan}, "positive"),
        (CIRCLE, {"step": 2.0}, "longer than the span"),
        (CIRCLE, {"save": "some"}, "save 'some'"),
        (CIRCLE, {"save": [0.5, 0.2]}, "in the order"),
        (CIRCLE, {"save": [2.0]}, "after the end of the span"),
        (CIRCLE, {"step_control": "magic"}, "step_control"),
        (CIRCLE, {"first_step": 3.0}, "first_step"),
        (CIRCLE, {"step": 0.1, "rtol": 1e-6}, "give one"),
        (plain(lambda t, y, p: np.zeros(2)), {}, r"returned shape \(2,\).*expected \(3,\)"),
        (plain(lambda t, y, p: np.full(3, np.nan)), {}, "not finite at the start"),
    ],
)
def test_bad_input_is_refused_with_a_reason(problem_, options, message):
    with pytest.raises(ValueError, match=message):
        solve(problem_, RKMK("dopri5"), (0, 1), EAST, **options)


@pytest.mark.parametrize(
    ("y0", "message"),
    [([1.0, 0, 0.1], "off the space"), ([1.0, 0], "3 numbers"), ([np.nan, 0, 1], "not finite")],
)
def test_a_start_off_the_space_is_refused(y0, message):
    with pytest.raises(ValueError, match=message):
        solve(CIRCLE, RKMK("rk4"), (0, 1), y0, step=0.1)


def test_spans():
    alone = solve(CIRCLE, RKMK("rk4"), (1, 1), EAST, step=0.1)
    assert alone.success
    np.testing.assert_array_equal(alone.y, [EAST])
    for span in ((0, np.inf), (0,), "ab"):
        with pytest.raises(ValueError, match="span"):
            solve(CIRCLE, RKMK("rk4"), span, EAST, step=0.1)


def test_a_method_without_a_pair_needs_a_step():
    with pytest.raises(ValueError, match="no embedded estimate"):
        solve(CIRCLE, RKMK("rk4"), (0, 1), EAST)


def test_an_exception_in_a_python_field_comes_out_as_it_is():
    def fails(t, y, p):
        if t > 0.5:
            raise RuntimeError("out of fuel")
        return np.zeros(3)

    with pytest.raises(RuntimeError, match="out of fuel"):
        solve(plain(fails), RKMK("rk4"), (0, 1), EAST, step=0.1)


def test_a_field_that_turns_to_nan_ends_the_run_and_keeps_what_was_computed():
    def turns(t, y, p):
        return np.full(3, np.nan if t > 0.55 else 0.1)

    with pytest.warns(RuntimeWarning, match=r"not finite \(t = 0\.5"):
        run = solve(plain(turns), RKMK("rk4"), (0, 1), EAST, step=0.1)
    assert not run.success
    assert len(run.t) == 6
    assert np.isfinite(run.y).all()


def test_step_underflow_has_its_own_reason():
    def singular(t, y, p):
        return np.array([0, 0, 1 / max(1e-300, (0.5 - t))]) if t < 0.5 else np.full(3, np.nan)

    with pytest.warns(RuntimeWarning, match="too small"):
        run = solve(plain(singular), RKMK("dopri5"), (0, 1), EAST, rtol=1e-6, atol=1e-6)
    assert not run.success
    assert run.t[-1] == pytest.approx(0.5, abs=1e-6)


def test_a_step_near_the_pole_is_refused_or_shortened():
    fast = LieODE(Space("s2"), circle, [70.0])
    with pytest.warns(RuntimeWarning, match="pole"):
        assert not solve(fast, RKMK("rk4"), (0, 1), EAST, step=0.1).success
    assert solve(fast, RKMK("dopri5"), (0, 1), EAST, first_step=0.5).success


def test_ctrl_c_raises_with_what_there_is():
    count = 0

    def interrupts(t, y, p):
        nonlocal count
        count += 1
        if count == 50:
            raise KeyboardInterrupt
        return np.zeros(3)

    with pytest.raises(Interrupted, match="interrupted at t = ") as stop:
        solve(plain(interrupts), RKMK("rk4"), (0, 100), EAST, step=0.1)
    run = stop.value.result
    assert "interrupted at t = " in run.message
    assert not run.success
    assert 5 < len(run.t) < 20


def test_a_slow_python_field_gets_a_hint_and_a_quick_one_none(monkeypatch, caplog):
    """The hint is on the solution and in the log, not a warning, so that strict users are not stopped."""

    def lazy(t, y, p):
        return np.zeros(3)

    quick = solve(plain(lazy), RKMK("rk4"), (0, 1), EAST, step=0.1)
    assert quick.hints == ()
    monkeypatch.setattr(integration, "PATIENCE", 0.0)
    slow = solve(plain(lazy), RKMK("rk4"), (0, 1), EAST, step=0.1)
    assert "'lazy' is a plain Python function; compiled with @chasles.integrate.field" in slow.hints[0]
    assert [(r.name, r.levelname) for r in caplog.records] == [("chasles", "WARNING")]
    assert slow.hints[0] in caplog.text
    assert solve(CIRCLE, RKMK("rk4"), (0, 1), EAST, step=0.1).hints == ()
    assert "lazy" in solve(plain(lazy), LieMidpoint(), (0, 1), EAST, step=0.1).hints[0]


@pytest.mark.parametrize(("save", "reason"), [("final", "keeps no curve"), ([0.5, 1.0], "save every step instead")])
def test_why_there_is_no_curve(save, reason):
    with pytest.raises(ValueError, match=reason):
        solve(CIRCLE, RKMK("rk4"), (0, 1), EAST, step=0.1, save=save)(0.5)


def test_progress_line_shows_time_and_rate(capsys, monkeypatch):
    import time

    monkeypatch.setattr("chasles.display.progress.PATIENCE", 0.05)

    def slow(t, y, p):
        time.sleep(0.004)
        return np.zeros(3)

    solve(plain(slow), RKMK("euler"), (0, 10), EAST, step=0.1, progress=True)
    shown = capsys.readouterr().err
    assert "s left" in shown
    assert "of 10 s" in shown


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RKMK("rk5"), "unknown tableau"),
        (lambda: RKMK("rk4", 9), "number of terms"),
        (lambda: RKMK("dopri5", "minimal"), "kutta3, rk4 only"),
        (lambda: RKMK("rk4", coordinates="polar"), "coordinates"),
        (lambda: RKMK("rk4", 2, "cay"), "exponential coordinates only"),
        (lambda: CommutatorFree("cf9"), "unknown method"),
        (lambda: Tableau("mine", 2, ((), (0.5,)), (0.5, 0.6)), "sum to"),
        (lambda: Tableau("mine", 2, ((), (0.5, 0.1)), (0.5, 0.5)), "i entries"),
        (lambda: Space("sphere"), "unknown"),
        (lambda: Space(), "expected names"),
        (lambda: Space("s2", 0), "at least once"),
        (lambda: Space("so3", side="up"), "side"),
        (lambda: Event(northward, direction=2), "direction"),
    ],
)
def test_bad_data_is_refused_when_it_is_made(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_fields_made_inside_of_functions_are_not_kept_on_disk():
    """Two fields of the same name and text can differ by what they close over."""

    def make(rate):
        def turn(t, y, p, out):
            out[0], out[1], out[2] = 0.0, 0.0, rate

        turn.__module__ = "chasles.gallery.made_up"
        return field(turn)

    ends = [solve(LieODE(Space("s2"), make(rate)), RKMK("rk4"), (0, 1), EAST, step=0.1).y[-1] for rate in (1.0, 2.0)]
    np.testing.assert_allclose(ends[0], [np.cos(1), np.sin(1), 0], atol=1e-14)
    np.testing.assert_allclose(ends[1], [np.cos(2), np.sin(2), 0], atol=1e-14)
