"""Laws in Python that are no functions of their arguments are found, whatever the method: a run of them is that of
nobody's model, and the companion may share the mistake."""

import numpy as np
import pytest

import chasles as ch
from tests.certificate.models import ABSOLUTE, slider


def holding():
    """Samples a cosine ten times a second, and holds it; it counts on being called in the order of time."""
    last, held = -1.0, 0.0

    def law(t, q, v, p, out):
        nonlocal last, held
        if t >= last + 0.1:
            last, held = t, np.cos(t)
        out[0] = held

    return law


def counting():
    calls = 0

    def law(t, q, v, p, out):
        nonlocal calls
        calls += 1
        out[0] = -4 * q[0] + (1.0 if calls % 2 else -1.0)

    return law


def delayed():
    last = 0.0

    def law(t, q, v, p, out):
        nonlocal last
        out[0], last = -4 * last, q[0]

    return law


def caching():
    """A memory that does no harm."""
    known = {}

    def law(t, q, v, p, out):
        out[0] = known.setdefault((t, q[0]), np.cos(t) - q[0])

    return law


WAYS = {
    "adaptive": {},
    "fixed": {"method": "rk4", "step": 0.05},
    "implicit": {"method": "gauss", "step": 0.05},
    "absolute": {"method": "generalized_alpha", "step": 0.05, **ABSOLUTE},
}


@pytest.mark.parametrize("make", [counting, delayed])
def test_a_law_with_a_memory_fails(make):
    system = slider(forces=[ch.JointForce("law", "s", make())])
    found = ch.simulate(system, (0, 1.0), q=[1.0], **WAYS["fixed"]).certificate
    assert found.status == "failed", str(found)
    assert not found["repetition"].passed
    assert "'law'" in found["repetition"].note
    assert any("function of its arguments" in line for line in found.advice)


@pytest.mark.parametrize("how", WAYS)
def test_a_law_that_samples_and_holds_does_not_pass(how):
    """After a first look at all times it holds its last number for good, for the run and its companion alike."""
    run = ch.simulate(slider(forces=[ch.JointForce("law", "s", holding())]), (0, 2.0), **WAYS[how])
    truth = 0.1 * np.cos(0.1 * np.arange(20)).sum()
    assert abs(run["b"].twist[-1, 3] - truth) > 1e-3 * truth
    assert run.certificate.status == "failed", str(run.certificate)


def test_a_law_with_a_memory_fails_under_a_controller_too():
    system = slider(forces=[ch.JointForce("law", "s", counting())], actuators=[ch.Actuator("m", "s")])
    run = ch.simulate(system, (0, 1.0), q=[1.0], controller=lambda t, q, v: [-v[0]], period=0.1, method="rk4", step=0.1)
    assert not run.certificate["repetition"].passed


def test_a_law_that_keeps_what_it_found_passes():
    """Against x'' = cos t - x, whose solution from rest at 1 is cos t + t/2 sin t."""
    run = ch.simulate(slider(forces=[ch.JointForce("law", "s", caching())]), (0, 2.0), q=[1.0])
    assert run.q[-1, 0] == pytest.approx(np.cos(2.0) + np.sin(2.0), rel=1e-6)
    assert run.certificate.passed, str(run.certificate)


@ch.law
def counting_in_its_parameters(t, q, v, p, out):
    p[0] += 1.0
    out[0] = -v[0] if p[0] % 2 else v[0]


def lift(*forces):
    """Two levels of scissors, whose loops have dependent equations."""
    half = {"mass": 1.0, "inertia": (1e-3, 1 / 12, 1 / 12)}
    bodies, across = [ch.Body("slide", 1.0, inertia=(0.1, 0.1, 0.1))], {"axis": (0, -1, 0)}
    joints = [ch.prismatic("rail", "ground", "slide", axis=(1, 0, 0), at=(1, 0, 0))]
    for i, (left, right) in enumerate([("ground", "slide"), ("b0", "a0")]):
        bodies += [ch.Body(f"a{i}", com=(0.5, 0, 0), **half), ch.Body(f"b{i}", com=(-0.5, 0, 0), **half)]
        joints.append(ch.revolute(f"left {i}", left, f"a{i}", at=(-i, 0, 0), **across))
        joints.append(ch.revolute(f"right {i}", right, f"b{i}", at=(i, 0, 0), **across))
        joints.append(ch.revolute(f"middle {i}", f"a{i}", f"b{i}", at=(0.5, 0, 0), child_at=(-0.5, 0, 0), **across))
    return ch.System(bodies, joints, forces=forces, name="lift")


@pytest.mark.parametrize("law", [None, "-0.1 * v", counting_in_its_parameters])
def test_loops_that_choose_among_dependent_equations_are_no_fault_of_a_law(law):
    """Closed on itself the lift turns as one, through singular configurations: there the projection before a step
    chooses other equations than it does for a step taken alone. A law with a memory is found all the same."""
    own = {"parameters": (0.0,)} if law is counting_in_its_parameters else {}
    forces = [] if law is None else [ch.JointForce("law", "left 0", law, **own)]
    found = ch.simulate(lift(*forces), (0.0, 2.0), q={"rail": -1.0}, method="rk4", step=1e-3).certificate
    if law is counting_in_its_parameters:
        assert not found["repetition"].passed
        assert "'law' is not a function" in found["repetition"].note
    else:
        assert found.passed, str(found)
        assert "law" not in found["repetition"].note
