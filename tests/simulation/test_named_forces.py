"""Forces by name against their formulas, in both kinds of coordinates; events of friction; both in tables and pages."""

import csv

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose, se3
from chasles.view.plot_quantities import names as plot_names
from chasles.view.report import report
from chasles.view.series import series_of
from tests.simulation.work import judge_at_few_times

STIFFNESS = (3.0, 4.0, 5.0, 60.0, 70.0, 80.0)
DAMPING = (0.1, 0.2, 0.3, 1.0, 2.0, 3.0)


def arm(name, mass=1.2):
    return ch.Body(name, mass, (0.2, 0.0, 0.0), (0.01, 0.03, 0.03))


@pytest.fixture(scope="module", params=["relative", "absolute"])
def run(request):
    """A loop of two arms on the ground, whose ends a point constraint joins, with one force of each kind."""
    joints = [
        ch.revolute("left", "ground", "a", axis=(0, 1, 0), damping=0.3, stiffness=2.0, rest=0.1, friction=0.05),
        ch.revolute("right", "ground", "b", axis=(0, 1, 0), at=(1.0, 0, 0), upper=0.2, stop_stiffness=30.0),
        ch.revolute("tip", "b", "c", axis=(0, 1, 0), at=(0.4, 0, 0)),
    ]
    forces = [
        ch.Spring("spring", ("a", "c"), ((0.3, 0, 0), (0.1, 0, 0)), stiffness=40.0, damping=0.5, length=0.3),
        ch.TwoPointForce("law", ("ground", "a"), "7 * distance + 2 * speed + t", ((0, 0, 1.0), (0.4, 0, 0))),
        ch.Bushing("mount", ("c", "ground"), ((0.1, 0, 0), (1.2, 0.1, 0.0)), STIFFNESS, DAMPING),
        ch.Wrench("wind", "a", (0.1, 0.2, 0.3, 1.0, "2 * t", 3.0), "hybrid"),
        ch.JointForce("motor", "tip", "0.4 * sin(3 * t) - 0.1 * q"),
    ]
    drive = ch.Drive("crank", "right", "0.3 * sin(2 * t)")
    system = ch.System([arm("a"), arm("b"), arm("c")], joints, forces=forces, constraints=[drive])
    start = {"q": {"left": -0.5, "tip": 0.7}, "v": {"left": 0.2, "right": 0.6, "tip": -0.4}}
    return ch.simulate(system, (0.0, 0.6), **start, coordinates=request.param, certificate=False)


def points(run, body, point):
    """A point of a body, and its velocity."""
    if body == "ground":
        return np.array(point), np.zeros(3)
    found = run.frame(body, "hybrid")
    place = pose.act(run[body].pose, np.array(point))
    spin, speed = found.twist[:, :3], found.twist[:, 3:]
    return place, speed + np.cross(spin, place - run[body].position)


def line(run, bodies, ends):
    (p, u), (r, w) = (points(run, body, end) for body, end in zip(bodies, ends, strict=True))
    distance = np.linalg.norm(r - p, axis=-1)
    return distance, np.einsum("ti,ti->t", r - p, w - u) / distance


def test_between_points(run):
    distance, speed = line(run, ("a", "c"), ((0.3, 0, 0), (0.1, 0, 0)))
    np.testing.assert_allclose(run.force("spring")[:, 0], 40.0 * (distance - 0.3) + 0.5 * speed, atol=1e-10)
    distance, speed = line(run, ("ground", "a"), ((0, 0, 1.0), (0.4, 0, 0)))
    np.testing.assert_allclose(run.force("law")[:, 0], 7 * distance + 2 * speed + run.t, atol=1e-10)
    assert run.force_columns("law") == (("pull", "N"),)


def test_a_bushing_on_its_second_body(run):
    """Its power on both bodies is minus the rate of its energy, minus what it dissipates."""
    on_c, on_ground = np.array([1, 0, 0, 0, 0.1, 0, 0]), np.array([1, 0, 0, 0, 1.2, 0.1, 0.0])
    C = pose.compose(pose.inverse(pose.compose(run["c"].pose, on_c)), on_ground)
    X = pose.log(C)
    at_frame = pose.Ad_apply(pose.inverse(on_c), run.frame("c").twist)
    relative = -pose.Ad_apply(pose.inverse(C), at_frame)  # twist of the second frame, in itself
    rate = se3.dexpinv_apply(-X, relative)
    power = np.einsum("ti,ti->t", run.force("mount"), relative)
    expected = -np.einsum("ti,ti->t", X * STIFFNESS + rate * DAMPING, rate)
    np.testing.assert_allclose(power, expected, atol=1e-10)


def test_along_coordinates_and_on_bodies(run):
    q, v = run.joint("left").q[:, 0], run.joint("left").v[:, 0]
    expected = np.stack([-2.0 * (q - 0.1), -0.3 * v, -0.05 * np.tanh(v / 1e-2)], axis=1)
    np.testing.assert_allclose(run.force("left"), expected, atol=1e-12)
    assert [column.part for column in run.force_columns("left")] == ["spring", "damper", "friction"]
    beyond = np.maximum(run.joint("right").q - 0.2, 0.0)
    assert beyond.max() > 0.05
    np.testing.assert_allclose(run.force("right"), -30.0 * beyond, atol=1e-12)
    tip = run.joint("tip").q
    np.testing.assert_allclose(run.force("motor"), 0.4 * np.sin(3 * run.t)[:, None] - 0.1 * tip, atol=1e-12)
    wind = np.tile([0.1, 0.2, 0.3, 1.0, 0.0, 3.0], (len(run), 1))
    wind[:, 4] = 2 * run.t
    np.testing.assert_allclose(run.force("wind"), wind, atol=1e-12)
    np.testing.assert_array_equal(run.force("crank"), run.coordinate_forces("crank"))
    with pytest.raises(ValueError, match="there is no force 'sprin'; did you mean 'spring'"):
        run.force("sprin")


@pytest.mark.first(1)
def test_in_tables_plots_page_and_report(run, tmp_path):
    run.export(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    for name in run.force_names:
        for column, values in zip(run.force_columns(name), run.force(name).T, strict=True):
            table = [float(row[f"{name}.{column.part} [{column.unit}]"]) for row in rows]
            np.testing.assert_array_equal(table, values)
    assert {f"forces.{name}" for name in run.force_names} <= set(plot_names(run))
    axes = ch.plot(run, "forces.mount").axes
    assert [one.get_ylabel() for one in axes] == ["torque [N m]", "force [N]"]
    shown = {(one.joint, one.name) for one in series_of(run) if one.chart == "exerted"}
    assert {("spring", "pull"), ("left", "friction"), ("mount", "tx")} <= shown
    assert "<td>left</td><td>damper</td><td>N m</td>" in report(run)


def stick_slip():
    """A block on a belt, pulled by a spring: it sticks and slips."""
    slide = ch.prismatic(
        "slide", "ground", "block", axis=(1, 0, 0), friction=1.0, static_friction=2.0, friction_speed=0
    )
    pull = ch.JointForce("pull", "slide", "20 * (0.3 * t - q)")
    return ch.System([ch.Body("block", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))], [slide], forces=[pull])


def test_sticking_and_slipping_are_events(tmp_path, monkeypatch):
    """It slips where the spring has static friction, k V t = S; its speed V (1 - cos w τ) + (S - F)/k w sin w τ, a time
    τ later, is zero again where it sticks; then the spring has to grow by 2 (S - F)."""
    k, V, F, S = 20.0, 0.3, 1.0, 2.0
    w = np.sqrt(k)
    judge_at_few_times(monkeypatch.setattr)
    run = ch.simulate(stick_slip(), (0.0, 3.0), rtol=1e-11, atol=1e-12, file=tmp_path / "run.h5")
    names = [one.event.name for one in run.events]
    assert names[:4] == ["slide slips", "slide sticks"] * 2
    first, stops, again = (one.t for one in run.events[:3])
    assert first == pytest.approx(S / (k * V), abs=1e-9)
    slips = 2 * np.pi / w - 2 * np.arctan2((S - F) * w, k * V) / w
    assert stops - first == pytest.approx(slips, abs=1e-8)
    assert again - stops == pytest.approx(2 * (S - F) / (k * V), abs=1e-8)
    held = np.abs(run.force("slide")[:, -1])
    assert held.max() <= S * (1 + 1e-9)
    reread = ch.open(tmp_path / "run.h5")
    assert [(one.event.name, one.t) for one in reread.events] == [(one.event.name, one.t) for one in run.events]
    reread.export(tmp_path / "run.events.csv")
    with (tmp_path / "run.events.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["event"] for row in rows] == names
    assert [float(row["t [s]"]) for row in rows] == [one.t for one in run.events]
    (axes,) = ch.plot(run, "events").axes
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["slide slips", "slide sticks"]
    assert axes.get_yscale() == "linear"
    line = axes.get_lines()[1]
    assert line.get_xdata()[np.argmax(line.get_ydata() > 0)] == stops
    assert "<td>slide sticks</td>" in report(run)
