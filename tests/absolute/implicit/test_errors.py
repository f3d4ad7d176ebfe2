"""What is refused, and what failures say."""

import re

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.newton import COUNTS
from tests.absolute.implicit.systems import BRULS_SPIN, SLOW_SPIN, SLOW_TURN, bruls_top, run
from tests.absolute.systems import slow_top


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ch.integrate.GeneralizedAlpha(1.0), "rho is 1, which damps nothing"),
        (lambda: ch.integrate.GeneralizedAlpha(-0.1), r"rho is -0.1; expected a number in \[0, 1\)"),
        (lambda: ch.integrate.GeneralizedAlpha(float("nan")), "rho is nan"),
        (lambda: ch.integrate.GeneralizedAlpha(index=1), "index is 1; expected 2 or 3"),
        (lambda: ch.integrate.GeneralizedAlpha(metric="length"), "metric is 'length'; expected 'mass' or 'unit'"),
        (lambda: ch.integrate.BLieDF(6), "k is 6; expected 2 or 3 or 4 or 5"),
        (lambda: ch.integrate.BLieDF(5, "first"), "first commutators alone give order 4"),
        (lambda: ch.integrate.HalfExplicit(2), "order is 2; expected 3 or 4 or 5"),
        (lambda: ch.integrate.Rattle(0.5), "tolerance is 0.5"),
        (lambda: ch.integrate.GeneralizedAlpha(tolerance=0.011), "tolerance is 0.011; expected a number from 1e-14 to"),
    ],
)
def test_methods_refuse(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", ["GeneralizedAlpha", "BLieDF", "Rattle", "EnergyMomentum", "RadauIIA"])
def test_methods_take_the_limits_that_their_messages_name(name):
    method = getattr(ch.integrate, name)
    with pytest.raises(ValueError, match=r"tolerance is 0\.5; expected a number from") as refused:
        method(tolerance=0.5)
    low, high = (float(text) for text in re.findall(r"1e-\d+", str(refused.value)))
    assert (method(tolerance=low).tolerance, method(tolerance=high).tolerance) == (low, high)


@pytest.mark.parametrize("method", [ch.integrate.GeneralizedAlpha(index=3), ch.integrate.Rattle()], ids=str)
def test_nonholonomic_constraints_need_velocities(method):
    ball = ch.Body("ball", 2.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    system = ch.System([ball], constraints=[ch.Rolling("roll", ("ground", "ball"), 0.3)])
    start = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3]])
    with pytest.raises(ValueError, match=r"'roll' is nonholonomic.*take GeneralizedAlpha\(index=2\)"):
        run(system, 1.0, "SO3xR3", method, 0.01, poses=start)


def test_a_start_off_the_velocity_constraints_is_refused():
    start = {"poses": np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]]), "twists": np.array([[0, 0, 1.0, 0, 0, 0]])}
    with pytest.raises(
        ValueError, match="violates 1 joints or constraints: 'pivot' by 0 in position and 1 in velocity"
    ):
        run(bruls_top(), 1.0, "SO3xR3", ch.integrate.GeneralizedAlpha(), 0.01, **start)


def test_a_step_too_long_says_where_and_what_to_try():
    with pytest.raises(ch.errors.StepError) as caught:
        run(bruls_top(), 1.0, "SO3xR3", ch.integrate.GeneralizedAlpha(0.9), 0.05, v=BRULS_SPIN)
    message = str(caught.value)
    assert re.search(r"in step \d+ of 20, t = [\d.]+, h = 0.05", message)
    assert "'pivot'" in message
    assert "try a shorter step, or more damping (rho = 0.5)" in message
    assert len(caught.value.corrections) > 3
    assert caught.value.solution.t[0] == 0.0


@pytest.mark.parametrize(
    ("joint", "more", "message"),
    [
        ({"armature": 0.1}, {}, "'pivot' has an armature"),
        ({}, {"trivialization": "right"}, 'trivialization="right" is for methods such as RKMK'),
        ({}, {"stabilization": "baumgarte"}, 'stabilization="baumgarte" is for methods such as RKMK'),
    ],
)
def test_what_these_methods_do_not_know(joint, more, message):
    body = ch.Body("rod", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))
    system = ch.System([body], [ch.revolute("pivot", "ground", "rod", axis=(0.0, 1.0, 0.0), **joint)])
    with pytest.raises(ValueError, match=message):
        run(system, 1.0, "SO3xR3", ch.integrate.Rattle(), 0.01, **more)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            ch.integrate.HalfExplicit(),
            r"rtol=1e-06 has no part in them; give step alone, or rtol and atol without step",
        ),
        (ch.integrate.GeneralizedAlpha(), r"step=0.1 the steps of GeneralizedAlpha.* are fixed.*without step"),
        (ch.integrate.Rattle(), r"rtol=1e-06 has no part in them; give step alone"),
    ],
)
def test_a_step_and_tolerances_at_once(method, message):
    with pytest.raises(ValueError, match=f"^simulate: .*{message}"):
        run(bruls_top(), 1.0, "SO3xR3", method, 0.1, v=BRULS_SPIN, rtol=1e-6)


def test_methods_are_for_absolute_coordinates():
    with pytest.raises(ValueError, match="is for coordinates="):
        ch.simulate(slow_top(), (0.0, 1.0), SLOW_TURN, SLOW_SPIN, method=ch.integrate.Rattle(), step=0.1)


@pytest.mark.parametrize(
    "method",
    [ch.integrate.GeneralizedAlpha(), ch.integrate.BLieDF(3), ch.integrate.Rattle(), ch.integrate.HalfExplicit()],
    ids=str,
)
def test_ends_saves_events_and_certificate(method):
    """The last step is shorter; points at times and events lie between the steps."""
    start = (slow_top(), 0.513, "SO3xR3", method, 0.005, SLOW_TURN, SLOW_SPIN)
    every = run(*start, save="all")
    assert every.t[-1] == 0.513
    assert len(every) == 104
    exact = ch.simulate(
        slow_top(), (0.0, 0.513), SLOW_TURN, SLOW_SPIN, method=ch.integrate.RKMK("dop853"), rtol=1e-12, atol=1e-12
    )
    assert np.abs(every["top"].position[-1] - exact["top"].position[-1]).max() < 1e-3
    times = run(*start, save=[0.1, 0.2525, 0.513])
    assert np.abs(times.poses[1] - every.poses[50:52].mean(axis=0)).max() < 1e-3
    level = every["top"].position[60, 2]
    event = ch.Event(lambda t, y, p: y[6] - level, terminal=True, name="down")
    ended = run(*start, save="all", events=[event])
    assert abs(ended.poses[-1, 0, 6] - level) < 1e-9
    found = every.certificate
    assert found["joints, position"].passed
    assert found["joints, velocity"].passed
    assert found["error estimate"].value < 1e-2
    assert found["error estimate"].value > 1e-12


def test_counts_are_those_of_all_runs():
    from chasles.constrained import workspace

    assert workspace.COUNTS[:7] == COUNTS[:7]
