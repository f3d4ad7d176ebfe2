"""Times at which simulations begin anew, their longest step, and the limit of evaluations."""

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.method import RKMK
from chasles.io.model_file import study_of_text
from chasles.view.model_of_run import repeated
from tests.integrate.test_stops import position


@ch.law
def window(t, q, v, p, out):
    out[0] = 10.0 if p[0] <= t < p[1] else 0.0


def slider():
    joint = ch.prismatic("s", "ground", "b", axis=(1, 0, 0), stiffness=1.0)
    push = ch.JointForce("push", "s", window, parameters=[2.0, 3.1])
    return ch.System([ch.Body("b", 1.0, inertia=(0.01,) * 3)], [joint], gravity=(0, 0, 0), forces=[push])


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("coordinates", "method", "limit"),
    [
        ("relative", RKMK("dopri5"), 2e-7),
        ("absolute", RKMK("dopri5"), 2e-7),
        ("absolute", ch.integrate.HalfExplicit(), 1e-7),
        ("absolute", ch.integrate.GeneralizedAlpha(), 1e-2),
    ],
    ids=str,
)
def test_mechanisms_begin_anew_at_stops(coordinates, method, limit):
    options = {"rtol": 1e-6, "atol": 1e-8} if isinstance(method, ch.integrate.GeneralizedAlpha) else {}
    run = ch.simulate(slider(), (0, 5), coordinates=coordinates, method=method, stops=[2.0, 3.1], **options)
    assert abs(run["b"].position[:, 0] - position(run.t, 2.0, 3.1)).max() < limit
    assert {2.0, 3.1} <= set(run.t)
    short = ch.simulate(slider(), (0, 5), coordinates=coordinates, method=method, max_step=0.02, **options)
    assert np.diff(short.t).max() <= 0.02 * (1 + 1e-12)
    few = ch.simulate(slider(), (0, 5), q=[1.0], coordinates=coordinates, method=method, max_evaluations=50, **options)
    assert "max_evaluations" in few.message
    assert not few.success


def test_methods_of_equal_steps_refuse_stops():
    with pytest.raises(ValueError, match="stops are for"):
        ch.simulate(slider(), (0, 5), coordinates="absolute", method=ch.integrate.Rattle(), step=0.01, stops=[2.0])


def test_a_limit_of_evaluations_holds_for_all_periods_of_a_controller():
    system = ch.System(
        [ch.Body("b", 1.0, inertia=(0.01,) * 3)],
        [ch.prismatic("s", "ground", "b", axis=(1, 0, 0), stiffness=100.0)],
        gravity=(1, 0, 0),
    )
    run = ch.simulate(system, (0, 5), controller=lambda t, q, v: -v, period=0.1, max_evaluations=200)
    assert "max_evaluations" in run.message
    assert run.solution.evaluations <= 215


def test_stops_and_longest_step_are_in_files_of_all_kinds(tmp_path):
    """A result file continues to the same bits, and the model file of a report repeats to them."""
    options = {"stops": [2.0, 3.1], "max_step": 0.3, "max_evaluations": 100000}
    whole = ch.simulate(slider(), (0, 5), **options)
    stop = ch.Event(lambda t, y, p: t - 2.0, terminal=True, name="two")
    file = tmp_path / "run.h5"
    ch.simulate(slider(), (0, 5), file=file, **options, events=[stop])
    header = ch.open(file, laws={"window": window}).task.more
    assert header["max_step"] == 0.3
    assert header["max_evaluations"] == 100000
    np.testing.assert_array_equal(header["stops"], [2.0, 3.1])
    text, _ = repeated(whole)
    study = study_of_text(text, "repeat", {"window": window})
    again = study.run()
    np.testing.assert_array_equal(again.solution.y, whole.solution.y)


@pytest.mark.first(1)
@pytest.mark.parametrize("method", [RKMK("dopri5"), ch.integrate.HalfExplicit()], ids=str)
def test_a_run_goes_on_across_stops(method, tmp_path):
    """Ended at any of its times, on a stop too, it continues to the same bits: stops that are past are not taken again,
    and those to come are not forgotten."""
    options = {"stops": [2.0, 3.1], "coordinates": "absolute", "method": method}
    whole = ch.simulate(slider(), (0, 5), **options)
    second = int(np.searchsorted(whole.t, 2.0))
    for row in (2, second - 1, second, second + 1, int(np.searchsorted(whole.t, 3.1))):
        file, calls = tmp_path / f"{row}.h5", [0]

        def interrupting(t, y, p, calls=calls, last=whole.t[row]):
            calls[0] += t >= last
            if calls[0] == 1:
                calls[0] += 1
                raise KeyboardInterrupt
            return 1.0

        with pytest.raises(ch.errors.Interrupted):
            ch.simulate(slider(), (0, 5), file=file, events=[ch.Event(interrupting)], **options)
        rest = ch.resume(file, laws={"window": window}, events=[ch.Event(interrupting)])
        np.testing.assert_array_equal(rest.t, whole.t)
        np.testing.assert_array_equal(rest.solution.y, whole.solution.y)
