"""Events, accelerations and reactions are judged, or said not to be, on every kind of run."""

import numpy as np
import pytest

import chasles as ch
from tests.certificate import models
from tests.certificate.models import chain, slider

ABSOLUTE = {"coordinates": "absolute"}
EQUAL = {"step": 0.01}


def passing(t, y, p):
    return y[0] - 0.95


def late(t, y, p):
    return t - 0.53


def controlled(**how):
    system = slider(k=4.0, actuators=[ch.Actuator("m", "s")])
    return ch.simulate(
        system, (0, 1), q=[1.0], controller=lambda t, q, v: [-v[0]], period=0.1, events=[ch.Event(late)], **how
    )


def free(**how):
    return ch.simulate(chain(1), (0, 1), q=[1.0], events=[ch.Event(late)], **how)


def looped(**how):
    system = models.four_bar()
    q = system.compile().assemble([1.4, -1.3, 1.2])
    return ch.simulate(system, (0, 1), q=q, events=[ch.Event(late)], **how)


KINDS = {
    "tree, adaptive": lambda: free(),
    "tree, fixed": lambda: free(method="rk4", **EQUAL),
    "tree, implicit": lambda: free(method="gauss", **EQUAL),
    "tree, stiff": lambda: ch.simulate(slider(k=1e5, c=1e5), (0, 0.3), q=[1.0], events=[ch.Event(passing)]),
    "tree, stiff, implicit": lambda: ch.simulate(
        slider(k=1e10, c=1e7), (0, 4), q=[1.0], events=[ch.Event(passing)], method="gauss", step=1e-3
    ),
    "absolute, adaptive": lambda: free(**ABSOLUTE),
    "absolute, implicit": lambda: free(method="generalized_alpha", **EQUAL, **ABSOLUTE),
    "absolute, multistep": lambda: free(method="bliedf", **EQUAL, **ABSOLUTE),
    "loop, adaptive": lambda: looped(),
    "loop, absolute, fixed": lambda: looped(method="rattle", **EQUAL, **ABSOLUTE),
    "sampled, adaptive": lambda: controlled(),
    "sampled, fixed": lambda: controlled(method="rk4", **EQUAL),
    "sampled, implicit, absolute": lambda: controlled(method="generalized_alpha", **EQUAL, **ABSOLUTE),
    "broke off": lambda: free(max_evaluations=100),
    "never begun": lambda: ch.simulate(slider(), (0, 0), v=[1.0], events=[ch.Event(late)]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_judged_is_said(kind):
    found = KINDS[kind]().certificate
    lines = {finding.name: finding for finding in found.findings}
    if kind == "never begun":
        assert found.status == "not judged"
        return
    assert "not judged" in lines["accelerations, reactions"].note
    assert not lines["accelerations, reactions"].judged
    events = lines["events"]
    assert events.judged or "not judged" in events.note, str(found)
    if kind not in ("broke off", "tree, stiff, implicit"):
        assert events.judged, str(found)
        assert events.value == 0
        assert found.passed, str(found)


@pytest.mark.parametrize("how", [{}, ABSOLUTE], ids=["relative", "absolute"])
def test_events_that_are_missed_fail_in_both_coordinates(how):
    """Twice through a level within a step, five times over."""
    peak = ch.Event(lambda t, y, p: np.sin(2 * np.pi * (t - 0.1)) - 0.999)
    run = ch.simulate(chain(1), (0, 5), q=[0.01], events=[peak], method="rk4", step=0.1, **how)
    assert len(run.events) < 10
    assert not run.certificate["events"].passed, str(run.certificate)
