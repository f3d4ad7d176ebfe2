"""No step jumps over what a law does in time: pushes however short, drives, torques, in all coordinates."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.simulation.closed.dynamics import dynamics_of
from chasles.simulation.laws.samples import CalledLaw, reads_time
from chasles.simulation.laws.scan import _KNOWN, SAMPLES, scan
from chasles.simulation.tree.dynamics import TreeDynamics

ROOT = np.sqrt(2 * np.pi)


@ch.law
def gauss(t, q, v, p, out):
    """Pushes of momentum 10 p[2] and 10 p[3]."""
    out[0] = p[2] * 10.0 / (p[1] * ROOT) * np.exp(-0.5 * ((t - p[0]) / p[1]) ** 2)
    out[0] += p[3] * 10.0 / (p[1] * ROOT) * np.exp(-0.5 * ((t - p[0] - 4.0) / p[1]) ** 2)


@ch.law
def box(t, q, v, p, out):
    out[0] = p[2] if p[0] <= t < p[0] + p[1] else 0.0


@ch.law
def stiffer(t, q, v, p, out):
    out[0] = -q[0] * (100.0 if 5.0 <= t < 5.1 else 0.0)


@ch.law
def steady(t, q, v, p, out):
    out[0] = -q[0]


@ch.law
def bump(t, q, v, p, out):
    """Of a drive: a bump of the road, 50 mm high, from p[0] to p[0] + p[1]."""
    x = (t - p[0]) / p[1]
    if 0.0 < x < 1.0:
        w = 2 * np.pi / p[1]
        out[0] = 0.025 * (1 - np.cos(w * (t - p[0])))
        out[1] = 0.025 * w * np.sin(w * (t - p[0]))
        out[2] = 0.025 * w * w * np.cos(w * (t - p[0]))


def slider(law, *parameters, **more):
    joint = ch.prismatic("s", "ground", "b", axis=(1, 0, 0))
    force = ch.JointForce("push", "s", law, parameters=parameters)
    return ch.System([ch.Body("b", 1.0, inertia=(0.01,) * 3)], [joint], gravity=(0, 0, 0), forces=[force], **more)


@pytest.mark.parametrize("width", [0.02, 1e-3, 1e-4, 2e-5])
def test_a_push_however_short_is_not_missed(width):
    run = ch.simulate(slider(gauss, 5.0, width, 1.0, 0.0), (0, 10), v=[1.0])
    assert run.v[-1, 0] == pytest.approx(11.0, rel=1e-7)
    assert run.solution.steps < 400


@pytest.mark.parametrize("weak", [1e-4, 1e-7])
def test_a_weak_push_after_a_strong_one(weak):
    run = ch.simulate(slider(gauss, 2.0, 0.01, 1.0, weak), (0, 10), rtol=1e-11, atol=1e-13)
    after = np.flatnonzero((run.t > 3.0) & (run.t < 5.0))[0]
    assert run.v[-1, 0] - run.v[after, 0] == pytest.approx(10 * weak, rel=1e-2)


@pytest.mark.parametrize(("start", "end"), [(0.0, 10.0), (10.0, 0.0), (-3.0, 1000.0)])
def test_boxes_are_cut_at_their_jumps(start, end):
    run = ch.simulate(slider(box, 5.0, 0.01, 1000.0), (start, end), v=[1.0])
    change = 10.0 if end > start else -10.0
    assert run.v[-1, 0] == pytest.approx(1.0 + change, rel=1e-9)
    jumps = scan(run.dynamics, (start, end), start, run.solution.y[0]).jumps
    np.testing.assert_array_equal(np.sort(jumps)[:1], [5.0] if end > start else [np.nextafter(5.0, 0)])
    assert run.solution.steps < 60


def test_a_drive_takes_the_bump_of_the_road():
    """A car on a spring over a bump, at rest before, against SciPy begun at the bump."""

    def car(t, y):
        out = np.zeros(3)
        bump.function(t, None, None, (5.0, 0.1), out)
        return y[1], (20000.0 * (out[0] - y[0]) + 1500.0 * (out[1] - y[1])) / 300.0

    up = solve_ivp(car, (5.0, 5.1), (0.0, 0.0), rtol=1e-10, atol=1e-12, dense_output=True)
    down = solve_ivp(car, (5.1, 5.5), up.y[:, -1], rtol=1e-10, atol=1e-12, dense_output=True)
    times = np.linspace(4.9, 5.5, 601)
    truth = np.where(times < 5.0, 0.0, np.where(times < 5.1, up.sol(times)[0], down.sol(times)[0]))
    bodies = [ch.Body("road", 1.0, inertia=(0.1,) * 3), ch.Body("car", 300.0, inertia=(1.0,) * 3)]
    joints = [
        ch.prismatic("lift", "ground", "road", axis=(0, 0, 1)),
        ch.prismatic("susp", "road", "car", axis=(0, 0, 1), stiffness=20000.0, damping=1500.0),
    ]
    drive = ch.Drive("input", "lift", bump, parameters=[5.0, 0.1])
    system = ch.System(bodies, joints, constraints=[drive], gravity=(0, 0, 0))
    for coordinates in ("relative", "absolute"):
        run = ch.simulate(system, (0, 10), coordinates=coordinates, save=times)
        assert np.abs(run["car"].position[:, 2] - truth).max() < 1e-7
        assert np.abs(run["road"].position[:, 2]).max() == pytest.approx(0.05, abs=1e-6)


def test_a_stiffness_that_changes_shows_only_off_the_start():
    """F = -k(t) q is zero at q = 0, where the scan begins; exact: cos in the short time, then a straight line."""
    run = ch.simulate(slider(stiffer), (0, 10), q=[0.0], v=[1e-3])
    x, v, w = 5e-3, 1e-3, 10.0
    x, v = x * np.cos(w * 0.1) + v / w * np.sin(w * 0.1), -x * w * np.sin(w * 0.1) + v * np.cos(w * 0.1)
    assert run.q[-1, 0] == pytest.approx(x + 4.9 * v, rel=1e-7)


def test_wrenches_and_own_constraints_are_scanned():
    @ch.law
    def torque(t, pose, twist, p, out):
        for k in range(6):
            out[k] = 0.0
        out[2] = 100.0 if 5.0 <= t < 5.01 else 0.0

    body = ch.Body("b", 1.0, inertia=(1.0, 1.0, 2.0))
    run = ch.simulate(ch.System([body], gravity=(0, 0, 0), forces=[ch.Wrench("spin", "b", torque)]), (0, 10))
    assert run["b"].twist[-1, 2] == pytest.approx(0.5, rel=1e-9)


def test_plain_python_laws_are_scanned_and_may_fail_where_the_run_never_comes():
    def push(t, q, v, p, out):
        if t > 8.0:
            raise RuntimeError("no data after 8 s")
        out[0] = 500.0 if 5.0 <= t < 5.02 else 0.0

    def far(t, y, p):
        return t - 7.0

    system = slider(push)
    run = ch.simulate(system, (0, 7), v=[1.0])
    assert run.v[-1, 0] == pytest.approx(11.0, rel=1e-9)
    ended = ch.simulate(system, (0, 10), v=[1.0], events=[ch.Event(far, terminal=True)], max_step=0.3)
    assert ended.t[-1] == pytest.approx(7.0)

    def stop(t, q, v, p, out):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan(TreeDynamics(slider(lambda t, q, v, p, out: stop(t, q, v, p, out))), (0, 1), 0.0, np.zeros(3))


def test_declared_breaks_are_stops():
    @ch.law(breaks=[2.5])
    def late(t, q, v, p, out):
        out[0] = 1.0 if t >= 2.5 else 0.0

    @ch.law(breaks=lambda p: (p[0], p[0] + p[1]))
    def window(t, q, v, p, out):
        out[0] = 1.0 if p[0] <= t < p[0] + p[1] else 0.0

    assert 2.5 in ch.simulate(slider(late), (0, 5)).t
    run = ch.simulate(slider(window, 1.5, 2.0), (0, 5))
    assert {1.5, 3.5} <= set(run.t)
    assert run.q[-1, 0] == pytest.approx(0.5 * 4 + 2 * 1.5, rel=1e-9)


def test_nothing_is_scanned_if_no_law_reads_the_time():
    run = ch.simulate(slider(steady), (0, 1), q=[1.0])
    assert not len(run.task.more["breaks"])
    assert not reads_time(steady)
    assert reads_time(box)
    assert reads_time(ch.law(lambda t, q, v, p, out: [t for _ in q]))
    assert "breaks" not in ch.simulate(slider(box, 0.5, 0.1, 1.0), (0, 1), step=0.1, method="rk4").task.more


def test_the_same_bits_again_and_after_an_interruption(tmp_path):
    system = slider(box, 5.0, 0.01, 1000.0)
    first = ch.simulate(system, (0, 10), v=[1.0])
    file = tmp_path / "run.h5"
    ch.simulate(system, (0, 10), v=[1.0], file=file, max_evaluations=80)
    stored = ch.open(file, laws={"box": box}).task.more
    np.testing.assert_array_equal(stored["breaks"], first.task.more["breaks"])
    np.testing.assert_array_equal(ch.simulate(system, (0, 10), v=[1.0]).solution.y, first.solution.y)


def six(widths) -> ch.System:
    """Six sliders, each pushed at its own time."""
    bodies = [ch.Body(f"b{k}", 1.0, inertia=(0.01,) * 3) for k in range(6)]
    joints = [ch.prismatic(f"s{k}", "ground", f"b{k}", axis=(1, 0, 0)) for k in range(6)]
    pushes = [
        ch.JointForce(f"push {k}", f"s{k}", gauss, parameters=(1.0 + k, width, 1.0, 0.0))
        for k, width in enumerate(widths)
    ]
    return ch.System(bodies, joints, gravity=(0, 0, 0), forces=pushes)


def test_laws_share_the_samples_and_are_not_looked_at_twice(monkeypatch):
    calls, changes = [], CalledLaw.changes

    def counted(self, times, *more):
        calls.append(len(times))
        return changes(self, times, *more)

    monkeypatch.setattr(CalledLaw, "changes", counted)
    _KNOWN.clear()
    system = six([2e-4] * 6)
    run = ch.simulate(system, (0, 10), certificate=False)
    assert run.v[-1] == pytest.approx(np.full(6, 10.0), rel=1e-7)  # the momentum of each push
    assert SAMPLES / 2 < sum(calls) <= 1.1 * SAMPLES
    calls.clear()
    again = ch.simulate(system, (0, 10), certificate=False)
    assert calls == []
    assert np.array_equal(again.solution.y, run.solution.y)
    other = ch.simulate(six([2e-4] * 5 + [3e-4]), (0, 10), certificate=False)  # one law has other parameters
    assert 0 < sum(calls) < SAMPLES / 4
    assert other.v[-1] == pytest.approx(np.full(6, 10.0), rel=1e-7)


def test_drives_with_several_numbers_share_too():
    """A drive writes three numbers, of which the second derivative changes most; its bump is found all the same."""
    joint = ch.prismatic("s", "ground", "b", axis=(0, 0, 1))
    system = ch.System(
        [ch.Body("b", 1.0, inertia=(0.01,) * 3)],
        [joint],
        constraints=[ch.Drive("d", "s", bump, parameters=(5.0, 1e-3))],
    )
    found = scan(dynamics_of(system), (0.0, 10.0), 0.0, np.zeros((1, 3)))
    assert found.timed == ("d",)
    inside = found.breaks[(found.breaks > 5.0) & (found.breaks < 5.001)]
    assert len(inside) >= 3
