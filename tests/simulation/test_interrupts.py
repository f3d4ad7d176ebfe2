"""Ctrl-C that comes as a Python function is being called from compiled code is never lost."""

import signal
import sys

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.vector_field import PythonField
from chasles.model.law import PythonLaw
from chasles.simulation.laws import scan
from tests.io import result_models as models

ENTRIES = {PythonLaw._evaluate.__code__, PythonField._evaluate.__code__}


def drag(t, pose, twist, parameters, out):
    out[:3] = -0.01 * twist[:3]
    out[2] += 0.01 * np.sin(3.0 * t)


def motion(t, q, v, parameters, out):
    out[0], out[1], out[2] = 0.3 * t, 0.3, 0.0


def arm():
    return models.arm(ch.Wrench("air", "lower", drag))


def driven():
    return models.arm(ch.Drive("bend", "elbow", motion))


JOBS = {
    "adaptive": lambda: ch.simulate(arm(), (0, 0.1), v=models.V, progress=False),
    "absolute": lambda: ch.simulate(arm(), (0, 0.02), v=models.V, coordinates="absolute", progress=False).energies.work,
    "driven": lambda: ch.simulate(driven(), (0, 0.05), v=[*models.V[:3], 0.3], progress=False).energies.work,
    "certificate": lambda: ch.certify(ch.simulate(arm(), (0, 0.02), v=models.V, progress=False)),
    "quantities": lambda: ch.simulate(arm(), (0, 0.1), v=models.V, step=0.01, progress=False).energies.work,
    "driven, absolute": lambda: (
        ch.simulate(
            driven(),
            (0, 0.02),
            v=[*models.V[:3], 0.3],
            coordinates="absolute",
            method=ch.integrate.Rattle(),
            step=1e-3,
            progress=False,
        ).energies.work
    ),
    "event": lambda: ch.simulate(
        models.arm(), (0, 0.1), v=models.V, events=[ch.Event(lambda t, y, p: t - 0.05)], progress=False
    ),
    "between": lambda: ch.simulate(arm(), (0, 0.1), v=models.V, progress=False)(0.037),
    "stepping": lambda: ch.Simulation(arm(), 0.01, v=models.V).step(steps=5).step(np.zeros(4)),
    "linearize": lambda: ch.linearize(arm()),
    "a field": lambda: ch.integrate.solve(
        ch.integrate.LieODE(ch.integrate.Space("so3*"), lambda t, y, p: np.cos(y)),
        ch.integrate.RKMK("dopri5"),
        (0, 1),
        [1.0, 2.0, 0.0],
    ),
}


def called(job, at=None):
    """Calls of Python functions from compiled code; Ctrl-C comes as the one of this number begins."""
    calls = [0]

    def watch(frame, event, argument):
        if event == "call" and frame.f_code in ENTRIES:
            calls[0] += 1
            if calls[0] == at:
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(watch)
    try:
        job()
    finally:
        sys.setprofile(None)
    return calls[0]


@pytest.mark.first(2)
@pytest.mark.parametrize("name", JOBS)
def test_ctrl_c_as_a_python_function_begins(name, monkeypatch):
    monkeypatch.setattr(scan, "SAMPLES_IN_PYTHON", 1 << 8)  # else nearly all calls are of the look before a run
    job = JOBS[name]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        job()  # compiles
        count = called(job)
        assert count
        for at in sorted({1, count // 2, count} - {0}):
            with pytest.raises(KeyboardInterrupt):
                called(job, at)
    finally:
        signal.signal(signal.SIGINT, before)
