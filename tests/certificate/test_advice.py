"""What a verdict advises is what helps; and what no check run can tell is not judged, with a word on what to do."""

import re

import numpy as np
import pytest

import chasles as ch
from chasles.certificate import companion
from tests.certificate.models import chain
from tests.certificate.truth import FORGETFUL, chain_rates, exact, forgetful

BROKE = companion.CompanionError("at t = 0.3 s the mechanism is near a singular configuration", 10, broke=True)


def test_errors_that_fall_with_the_tolerance_are_not_called_chaos():
    """Two rods for 8 s: the error grows a million times, and with the tolerances that are advised it is right."""
    run = ch.simulate(chain(2), (0.0, 8.0), q=[2.5, 1.0], rtol=1e-6, atol=1e-8)
    found = run.certificate
    assert found.status == "failed"
    rtol, atol = map(float, re.search(r"rtol=(\S+), atol=(\S+)", found.advice[0]).groups())
    better = ch.simulate(chain(2), (0.0, 8.0), q=[2.5, 1.0], rtol=rtol, atol=atol)
    truth = exact(chain_rates(2), (0, 8.0), [2.5, 1.0, 0.0, 0.0], np.array([0.0, 8.0]), tolerance=1e-11)[-1, :2]
    assert np.abs(run.q[-1] - truth).max() > 1e-3
    assert np.abs(better.q[-1] - truth).max() < 1e-3
    assert better.certificate.passed, str(better.certificate)


@pytest.mark.study
def test_a_motion_that_forgets_its_start_says_until_when_tolerances_help():
    """The estimate is that of the tightest tolerances: a run with nearly these parts from the truth about then."""
    run = ch.simulate(chain(2), (0.0, 30.0), q=[2.5, 1.0])
    (line,) = run.certificate.advice
    assert "amplifies small errors" in line
    best = float(re.search(r"until about t = (\S+) s", line).group(1))
    fine = ch.simulate(chain(2), (0.0, 30.0), q=[2.5, 1.0], rtol=1e-12, atol=1e-13, method="dop853", save=FORGETFUL)
    parted = FORGETFUL[np.argmax(np.abs(fine.q - forgetful()).max(axis=1) > 1e-2)]
    assert run.certificate.horizon < best < 30.0
    assert 0.6 * best < parted < 1.8 * best


def swing(**more):
    return ch.simulate(chain(1), (0.0, 2.0), q=[1.0], method="rk4", **more)


def broken(*_, **__):
    raise BROKE


def test_equal_steps_judge_where_steps_that_follow_the_error_come_to_no_end(monkeypatch):
    monkeypatch.setattr(companion, "companion", broken)
    found = swing(step=0.01).certificate
    assert found.passed, str(found)
    assert "equal steps of order 8" in found["error"].note
    assert not swing(step=0.2).certificate.passed  # wrong by some per cent


def test_what_no_check_run_can_tell_is_not_judged(monkeypatch):
    for name in ("companion", "equal", "own_method"):
        monkeypatch.setattr(companion, name, broken)
    found = swing(step=0.01).certificate
    assert found.status == "not judged"
    assert (
        "a check run with other steps did not reach the end: at t = 0.3 s the mechanism is near a singular"
        in found.reason
    )
    assert any("absolute" in line for line in found.advice)
