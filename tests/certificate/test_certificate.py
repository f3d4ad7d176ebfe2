"""What a certificate says, and on what it does not depend."""

import time
import warnings

import numpy as np
import pytest

import chasles as ch
from chasles.certificate.budget import Budget
from chasles.certificate.loads import pull_of
from chasles.certificate.verdict import Certificate, Finding
from chasles.gallery import model_files
from chasles.io.load import load
from chasles.simulation.laws.drive_check import DriveWarning
from tests.certificate import models
from tests.certificate.models import chain, slider
from tests.certificate.truth import FORGETFUL, chain_rates, exact, forgetful

MOTOR = [ch.Actuator("m", "s")]
SAVES = ["all", "final", 7, [0.5], np.linspace(0.0, 10.0, 41)]


@pytest.mark.parametrize(
    ("status", "how"),
    [("passed", {}), ("failed", {"method": "rk4", "step": 0.25}), ("failed", {"method": "lie_midpoint", "step": 0.1})],
)
def test_the_verdict_does_not_depend_on_what_was_saved(status, how):
    found = [ch.simulate(chain(1), (0.0, 10.0), q=[2.0], save=save, **how).certificate for save in SAVES]
    assert {certificate.status for certificate in found} == {status}
    assert {certificate["error"].value for certificate in found} == {found[0]["error"].value}
    assert {certificate.horizon for certificate in found} == {found[0].horizon}


def test_the_estimate_is_the_error():
    """Of a rod by rk4, against SciPy at the end, where the error is largest."""
    truth = exact(chain_rates(1), (0, 10.0), [2.0, 0.0])[-1]
    for step in (0.1, 0.05, 0.02):
        run = ch.simulate(chain(1), (0.0, 10.0), q=[2.0], method="rk4", step=step)
        off = max(abs(run.q[-1, 0] - truth[0]) / np.ptp(run.q), abs(run.v[-1, 0] - truth[1]) / np.abs(run.v).max())
        assert 0.5 * off < run.certificate["error estimate"].value < 20 * off


def test_what_is_not_judged_does_not_pass():
    empty = ch.simulate(slider(k=1.0), (0.0, 0.0), q=[1.0])
    off = ch.simulate(slider(k=1.0), (0.0, 1.0), q=[1.0], certificate=False)
    for run, why in ((empty, "nothing was computed"), (off, "certificate=False")):
        assert run.certificate.status == "not judged"
        assert not run.certificate.passed
        assert why in run.certificate.reason
    assert ch.certify(off).passed
    assert Certificate("", (), "", True).status == "not judged"
    assert Certificate("", (Finding("energy balance", 0.0, 1e-2),), "", True).status == "not judged"
    missing = Finding("error estimate", 1e-9, 1e-3, "no companion", missing=True)
    assert Certificate("", (missing,), "", True).status == "not judged"
    nothing = Finding("error estimate", float("nan"), 1e-3)
    assert Certificate("", (nothing,), "", True).status == "failed"


@pytest.mark.study
def test_a_motion_that_forgets_its_start_has_a_horizon():
    run = ch.simulate(chain(2), (0.0, 30.0), q=[2.5, 1.0], rtol=1e-6, atol=1e-8, save=FORGETFUL)
    found = run.certificate
    assert found.status == "failed"
    off = np.abs(run.q - forgetful()).max(axis=1)
    assert 1.0 < found.horizon < 29.0
    assert off[run.t <= found.horizon].max() < 1e-2
    assert off[run.t > found.horizon].max() > 0.1
    assert "within the tolerance until" in found.reason
    assert ch.certify(run, span=(0.0, 0.5 * found.horizon)).passed


def test_tolerances_go_by_the_words_of_the_lines():
    run = ch.simulate(chain(1), (0.0, 2.0), q=[1.0], method="rk4", step=0.02)
    assert ch.certify(run, {"error": 1e-3}).passed
    assert ch.certify(run, {"error estimate": 1e-12}).status == "failed"
    assert run.certificate["energy"] is run.certificate["energy balance"]
    with pytest.raises(ValueError, match="unknown tolerance 'speed'"):
        ch.certify(run, {"speed": 1.0})
    with pytest.raises(KeyError, match="no finding 'speed'"):
        run.certificate["speed"]
    with pytest.raises(ValueError, match="no such joint"):
        ch.certify(run, without=["hinge"])


def test_what_one_joint_does_is_not_hidden_by_another():
    """A flywheel of 5 GJ beside a rod that is wrong; without the rod it passes."""
    run = ch.simulate(
        models.beside_a_wheel(1), (0.0, 10.0), q=[0.0, 2.0], v=[1e4, 0.0], method="lie_midpoint", step=0.1
    )
    found = run.certificate
    assert found["energy balance"].value < 1e-6
    assert found.status == "failed"
    assert "'j0'" in found["error"].note
    assert ch.certify(run, without=["j0"]).passed


def test_advice_helps():
    """The step that is advised is enough."""
    bad = ch.simulate(slider(k=1.0), (0.0, 50.0), q=[1.0], method="rk4", step=0.4)
    assert bad.certificate.status == "failed"
    step = float(bad.certificate.advice[0].split("step=")[1].split()[0])
    assert ch.simulate(slider(k=1.0), (0.0, 50.0), q=[1.0], method="rk4", step=0.9 * step).certificate.passed


def test_a_law_that_is_not_a_function_is_found():
    rng = np.random.default_rng(0)
    noise = ch.JointForce("noise", "s", lambda t, q, v, p, out: out.__setitem__(0, rng.normal()))
    found = ch.simulate(slider(forces=[noise]), (0.0, 1.0), v=[1.0], method="rk4", step=0.1).certificate
    assert not found["repetition"].passed
    assert "not a function" in found["repetition"].note
    assert ch.simulate(slider(k=1.0), (0.0, 1.0), q=[1.0], method="rk4", step=0.1).certificate["repetition"].passed


def test_events_that_were_stepped_over_are_found():
    """A peak above the level, passed within one step of half a second, twice."""
    w = 2.0
    seen = ch.Event(lambda t, y, p: y[0] - 0.99, name="level")
    run = ch.simulate(slider(k=w * w), (0.0, 6.0), v=[w], events=[seen], method="dop853", step=0.5)
    assert len(run.solution.events) < 4
    assert not run.certificate["events"].passed
    fine = ch.simulate(slider(k=w * w), (0.0, 6.0), v=[w], events=[seen], max_step=0.05)
    assert len(fine.solution.events) == 4
    assert fine.certificate["events"].passed
    assert fine.certificate.passed


def test_controllers_are_asked_again_unless_not_to():
    calls = []

    def controller(t, q, v):
        calls.append(t)
        return -4 * q[0] - 4 * v[0]

    run = ch.simulate(slider(actuators=MOTOR), (0.0, 1.0), q=[1.0], controller=controller, period=0.05)
    asked = len(calls)
    assert ch.certify(run, ask=False).passed
    assert len(calls) == asked
    assert "called the controller again" in run.certificate["error"].note
    assert len(calls) > asked


def test_points_inside_sampling_periods_are_compared():
    """One step a period of a fast oscillator that is in step with the samples: right at them, wrong between."""
    w = 2 * np.pi / 0.1
    run = ch.simulate(
        slider(k=w * w, actuators=MOTOR), (0.0, 1.0), q=[1.0], controller=lambda t, q, v: 0.0, period=0.1,
        method="dop853", step=0.1, save="final",
    )  # fmt: skip
    for fine, status in ((run, "failed"), (ch.simulate(**_again(run, step=0.002)), "passed")):
        assert fine.certificate.status == status
    t = np.linspace(0.0, 0.1, 11)[1:-1]
    inside = [ch.simulate(slider(k=w * w), (0.0, x), q=[1.0], method="dop853", step=x).q[-1, 0] for x in t]
    assert np.abs(np.array(inside) - np.cos(w * t)).max() > 0.03  # where a step of a period is not resolved


def _again(run, **more):
    given = {name: value for name, value in run.task.given.items() if value is not None}
    return {"system": run.mechanism.system, **given, **more}


def test_what_moves_between_the_checkpoints_alone_does_not_fail_a_right_run():
    """A bump of 1 ms in 10 s: the road is at rest at all checkpoints. A run that misses it is not passed."""
    system = models.car(models.bump, 0.05, 9.9, 1e-3)
    right, wrong = ch.simulate(system, (0, 10)), ch.simulate(system, (0, 10), method="rk4", step=0.01)
    assert right.certificate.passed
    assert wrong.certificate.status == "failed"
    assert abs(wrong.q[-1, 1]) < 1e-2 * abs(right.q[-1, 1])


def test_numbers_without_bound_fail_and_raise_nothing():
    run = ch.simulate(slider(k=1e6), (0.0, 0.8), q=[1e-3], method="rk4", step=0.02)
    assert run.success
    assert np.abs(run.v).max() > 1e150
    assert run.certificate.status == "failed"


COSTS = {
    "failing": lambda: ch.simulate(chain(1), (0.0, 60.0), q=[2.5], method="rk4", step=0.1),
    "loop": lambda: _four_bar(method="rk4", step=0.02),
    "loop, bodies": lambda: _four_bar(method="rattle", step=0.02, coordinates="absolute"),
    "python": lambda: ch.simulate(slider(forces=[_plain()]), (0.0, 2.0), method="rk4", step=0.02),
    "three laws": lambda: ch.simulate(slider(forces=_three()), (0.0, 10.0), v=[1.0], save="final"),
    "long": lambda: ch.simulate(slider(k=1.0), (0.0, 3000.0), q=[1.0], save="final"),
    "stiff": lambda: ch.simulate(slider(k=1e5, c=1e5), (0.0, 3.0), q=[1.0], save="final"),
    "stiff, implicit": lambda: _overdamped("generalized_alpha", 300.0),
    "stiff, multistep": lambda: _overdamped("bliedf", 300.0),
    "singular": lambda: load(model_files()["parallelogram"]).run(),
    "chaotic, long": lambda: ch.simulate(chain(2), (0.0, 300.0), q=[2.5, 1.0], rtol=1e-6, atol=1e-8),
}


def _overdamped(method, end):
    how = {"method": method, "step": 0.01, "coordinates": "absolute", "save": "final"}
    return ch.simulate(slider(k=1e5, c=1e5), (0.0, end), q=[1.0], v=[-1.0], **how)


def _four_bar(**how):
    system = models.four_bar()
    return ch.simulate(system, (0.0, 4.0), q=system.compile().assemble([1.4, -1.3, 1.2]), **how)


def _plain():
    return ch.JointForce("push", "s", lambda t, q, v, p, out: out.__setitem__(0, 100 * np.sin(100 * np.pi * t) ** 2))


def _three():
    return [models.push(models.gauss, 9.0, 4.8 + 0.2 * k, 2e-3, name=f"p{k}") for k in range(3)]


@pytest.mark.study
@pytest.mark.parametrize("kind", COSTS)
def test_a_verdict_costs_no_more_than_the_bar(kind):
    """Twice the run, or 0.2 s. Counted in evaluations, which do not depend on how busy the machine is; the processor
    time, which does by a factor of two or so, has room."""
    run = COSTS[kind]()
    budget = Budget.of(run.task, run.solution, 1.0)
    first = run.certificate
    used = int(first.cost.split()[2])
    again = 0 if run.task.more["save"] == "all" else budget.run
    assert used <= 1.05 * budget.total + again
    assert budget.total <= max(0.9 * budget.run, 1e5 / budget.cost)
    if kind in ("three laws", "stiff", "stiff, multistep", "singular"):
        assert first.passed, str(first)
    begin = time.process_time()
    run.task.carry_out(progress=False)
    limit, taken = 2 * max(0.2, 2 * (time.process_time() - begin)), []
    while not taken or min(taken) > limit:  # another worker may run beside
        assert len(taken) < 5, (taken, limit)
        begin = time.process_time()
        ch.certify(run)
        taken.append(time.process_time() - begin)


def test_a_stiff_run_is_judged_by_an_implicit_method():
    """Overdamped: after 1e-4 s a slow decay is left, whose rate is the small root. Explicit steps are short for
    stability alone; the verdict costs less than the run, and sees a run that is off."""
    fast, slow = (0.5 * (1e5 + sign * np.sqrt(1e10 - 4e5)) for sign in (1, -1))
    for end, save in ((1.0, "all"), (0.5, [0.5])):
        run = ch.simulate(slider(k=1e5, c=1e5), (0.0, end), q=[1.0], save=save)
        assert run.q[-1, 0] == pytest.approx(np.exp(-slow * end), rel=1e-4)
        assert run.certificate.passed, str(run.certificate)
        assert "implicit method" in run.certificate["error"].note or end < 1.0
    wrong = ch.simulate(slider(k=1e5, c=1e5), (0.0, 1.0), q=[1.0], method="rk4", step=2.5e-5)  # just stable
    truth = -fast * slow / (fast - slow) * (np.exp(-slow * wrong.t) - np.exp(-fast * wrong.t))
    assert np.abs(wrong.v[:, 0] - truth).max() > 0.1
    assert not wrong.certificate.passed


def test_what_a_verdict_may_cost_does_not_depend_on_what_was_saved():
    """Saved points take evaluations; else a verdict that just can be afforded would depend on them."""
    for method, step in (("rk4", 0.01), ("gauss", 0.01), ("lie_midpoint", 0.01), (None, None)):
        how = {} if method is None else {"method": method, "step": step}
        runs = [ch.simulate(chain(1), (0.0, 2.0), q=[2.0], save=save, **how) for save in [*SAVES[:3], SAVES[3] * 3]]
        assert len({Budget.of(run.task, run.solution, 1.0).run for run in runs}) == 1


def test_more_effort_may_judge_more():
    """What is too dear to judge within twice the run says so, and with more effort it is judged."""
    run = ch.simulate(chain(2), (0.0, 300.0), q=[2.5, 1.0], rtol=1e-6, atol=1e-8)
    found = run.certificate
    assert found.status == "not judged"
    assert "effort=10" in found.reason
    assert ch.certify(run, effort=10.0).status == "failed"
    with pytest.raises(ValueError, match="effort"):
        ch.certify(run, effort=0)


def test_python_laws_are_not_called_with_ask_false():
    """And otherwise not more often than a fifth of a second allows, though this one does not depend on time."""
    calls = [0]

    def pull(t, q, v, p, out):
        calls[0] += 1
        out[0] = -q[0]

    run = ch.simulate(slider(forces=[ch.JointForce("pull", "s", pull)]), (0.0, 1.0), q=[1.0], method="rk4", step=0.02)
    before = calls[0]
    assert ch.certify(run, ask=False).status == "not judged"
    assert calls[0] == before
    assert run.certificate.passed
    assert calls[0] - before < 1 << 15


def test_a_run_that_broke_off_failed():
    run = ch.simulate(slider(k=1.0), (0.0, 100.0), q=[1.0], max_evaluations=200)
    assert run.certificate.status == "failed"
    assert "did not reach its end" in run.certificate.reason


def test_drives_that_contradict_themselves_are_found():
    @ch.law
    def wrong(t, q, v, p, out):
        out[0] = np.sin(t)
        out[1] = 0.5 * np.cos(t)
        out[2] = -0.5 * np.sin(t)

    found = []
    for law, speed in ((wrong, 0.5), (models.shaker, 2 * np.pi * 0.2)):
        with warnings.catch_warnings():  # `simulate` names it, too
            warnings.simplefilter("ignore", DriveWarning)
            run = ch.simulate(models.on_a_cart(law, 1.0, 0.2), (0.0, 1.0), v=[speed, 0.0], method="rk4", step=0.01)
        found.append(run.certificate["drives"].passed)
    assert found == [False, True]


def test_it_prints_and_shows_itself():
    bad = ch.simulate(slider(k=1.0), (0.0, 5.0), q=[1.0], method="rk4", step=1.0).certificate
    text = str(bad)
    for words in ("error estimate", "FAILED", "verdict: FAILED", "to do: step=", "judged with", "not judged"):
        assert words in text
    assert "verdict: FAILED" in bad._repr_html_()


@ch.law
def shake(t, q, v, p, out):
    out[0] = p[0] * np.sin(p[1] * t)
    out[1] = p[0] * p[1] * np.cos(p[1] * t)
    out[2] = -p[0] * p[1] ** 2 * np.sin(p[1] * t)


def test_many_laws_of_time_can_be_afforded():
    """Sixteen sliders that drives shake, as their laws say: break points of all laws must not eat up what a verdict may
    cost."""
    names, paces = [f"slider {k}" for k in range(16)], 2.0 + 0.37 * np.arange(16)
    system = ch.System(
        [ch.Body(name, 1.0, inertia=(0.01,) * 3) for name in names],
        [ch.prismatic(f"rail {k}", "ground", name, axis=(1, 0, 0)) for k, name in enumerate(names)],
        constraints=[ch.Drive(f"drive {k}", f"rail {k}", shake, parameters=(0.1, w)) for k, w in enumerate(paces)],
    )
    run = ch.simulate(system, (0.0, 1.0), v=0.1 * paces)
    assert np.abs(run.q - 0.1 * np.sin(np.outer(run.t, paces))).max() < 1e-12
    assert run.certificate.passed, str(run.certificate)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_rest_is_seen_in_any_unit_of_length(size):
    """Accelerations that balanced loads leave are rounding of the loads, whatever a meter is called."""
    body = ch.Body("b", 1.0, (size, 0, 0), (size**2, size**2, size**2))
    system = ch.System([body], [ch.prismatic("p", "ground", "b", axis=(0, 0, 1), stiffness=50.0 / size)])
    for coordinates in ("relative", "absolute"):
        rest, swing = ch.equilibrium(system).q, [0.3 * size]
        for start, resting in ((rest, True), (swing, False)):
            run = ch.simulate(system, (0.0, 0.01), q=start, coordinates=coordinates, progress=False)
            assert pull_of(run)[1] is resting


@pytest.mark.parametrize("speed", [4.1, 6.543])
def test_a_second_motion_that_is_given_up_has_a_word(speed):
    """It is held by a thin band of speeds, too stiff to go on there; a coarser one steps over the band as the run
    did."""
    run = ch.simulate(models.held_by_a_band(speed), (0, 10.0))
    assert run.v[-1, 0] == pytest.approx(10.0)
    assert run.certificate.status == "not judged"
    assert "too expensive to finish" in run.certificate.reason
