"""Unknown numbers from simulated measurements: exact derivatives, recovery, what cannot be told, bad input."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import chasles as ch
from chasles.fit.problem import Experiment, problem_of
from chasles.fit.recording import recording
from tests.commands import chasles
from tests.fit.models import ARM, FOUR_BAR, PENDULUM

T = np.arange(0.0, 1.5, 0.03)


@pytest.fixture
def pendulum(tmp_path):
    file = tmp_path / "pendulum.toml"
    file.write_text(PENDULUM)
    return file


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.toml"
    file.write_text(ARM)
    return file


def track(file, noise=0.0, t=T, **values):
    """What a camera sees of the mark."""
    run = ch.load(file, set={f"parameters.{name}": x for name, x in values.items()}).run(span=(0, t[-1]), stops=t[1:-1])
    rows = np.searchsorted(run.t, t)
    seen = run["mark"].position[rows] + noise * np.random.default_rng(3).normal(size=(len(t), 3))
    return {"t": t, "bodies.mark.position.x": seen[:, 0], "bodies.mark.position.z": seen[:, 2]}


SENSED = (
    *("joints.ball", "joints.elbow", "joints.elbow.velocity", "joints.elbow.acceleration", "bodies.hand.position"),
    *("bodies.hand.orientation", "bodies.hand.velocity", "bodies.hand.gyro", "bodies.hand.accelerometer"),
    *("reactions.elbow.force", "reactions.elbow.torque", "forces.elbow"),
)


def measured_by_arm(file):
    """Everything that can be measured of the arm, a little off."""
    from chasles.fit.measurable import measurable

    study, t = ch.load(file), np.array([0.0, 0.11, 0.2, 0.31])
    run = study.run(span=(0, 0.31), stops=t[1:-1])
    part, rng, data = run.part(slice(None)), np.random.default_rng(0), {"t": t}
    rows = [int(np.argmin(np.abs(run.t - one))) for one in t]
    for name in SENSED:
        one = measurable(study.system, name)
        for component, values in zip(one.components, one.values(part)[rows].T, strict=True):
            data[one.column(component)] = values + 0.01 * rng.normal(size=len(t))
    return data


FEW = ("length", "initial.q.ball")
MANY = (*FEW, "stiffness", "joints.elbow.damping", "bodies.lower", "initial.q.elbow", "initial.v")


@pytest.mark.parametrize("names", [FEW, pytest.param(MANY, marks=pytest.mark.study)], ids=["few", "many"])
def test_derivatives_are_those_of_differences(arm, names):
    """Of all sensors, by a length, a stiffness, an inertia, the start on the group, a delay and a bias."""
    sensors = {"bodies.hand.gyro": ch.fit.Sensor(delay="0:0.1", bias=True)}
    problem = problem_of(arm, [Experiment(measured_by_arm(arm))], dict.fromkeys(names), sensors, None, {})
    x = problem.start
    free = (x == 0) & ~np.array([name.startswith("lower: ") for name in problem.names])
    x = x + 0.01 * np.random.default_rng(1).uniform(0.5, 1.0, len(x)) * free

    def flat(y):
        return np.concatenate([r.ravel() for r in problem.residuals(y)[0]])

    found = np.concatenate([J.reshape(-1, len(x)) for J in problem.jacobian(x)[0]])
    sizes, late = 1e-4 * np.maximum(np.abs(x), 0.1), np.array(["delay" in name for name in problem.names])
    # few of them along one direction, and the delay; many one after the other
    ways = np.stack([~late * np.random.default_rng(2).normal(size=len(x)), late]) if names == FEW else np.eye(len(x))
    for way in ways:
        step = sizes * way
        wanted = (8 * (flat(x + step) - flat(x - step)) - flat(x + 2 * step) + flat(x - 2 * step)) / 12
        bar = 1e-3 if way[late].any() else 1e-7  # other times are other steps, with other errors
        least = 1e-2 * np.abs(step).max()
        assert np.abs(found @ step - wanted).max() < bar * max(np.abs(wanted).max(), least), np.flatnonzero(way)


def test_what_was_simulated_is_found_again(pendulum):
    data = track(pendulum, length=0.6, damping=0.05, angle=0.8)
    fit = ch.fit.to_data(pendulum, data, {"length": "0.1:2", "damping": "0:1", "angle": None}, starts=1)
    assert np.allclose([fit["length"], fit["damping"], fit["angle"]], [0.6, 0.05, 0.8], rtol=1e-8)
    assert fit.unidentified == ""
    assert np.allclose(fit.run().t[-1], T[-1])
    again = pickle.loads(pickle.dumps(fit))
    assert again.values == fit.values


@pytest.mark.study
def test_noise_is_estimated_and_intervals_have_the_right_size(pendulum):
    data = track(pendulum, noise=2e-3, length=0.6, damping=0.05, angle=0.8)
    fit = ch.fit.to_data(pendulum, data, ("length", "damping", "angle"))
    assert abs(fit.noise[0][0] / 2e-3 - 1) < 0.15
    off = np.array([fit["length"] - 0.6, fit["damping"] - 0.05, fit["angle"] - 0.8])
    assert (np.abs(off) < 4 * fit.found.deviations).all()
    assert (fit.found.deviations < 0.02).all()
    half = fit.intervals()["length"][1] - fit["length"]
    assert 1.95 < half / fit.deviations["length"] < 2.0


@pytest.mark.study
def test_outliers_are_borne_by_a_robust_loss(pendulum):
    data = track(pendulum, noise=1e-3, length=0.6, damping=0.05, angle=0.8)
    data["bodies.mark.position.x"][::10] += 0.3
    sensors = {"bodies.mark.position": ch.fit.Sensor(noise="1 mm")}
    plain, robust = (
        ch.fit.to_data(pendulum, data, ("length", "damping", "angle"), sensors=sensors, loss=loss)
        for loss in ("linear", "cauchy")
    )
    wanted = np.array([0.6, 0.05, 0.8])
    assert (np.abs(robust.found.values - wanted) < 5 * robust.found.deviations).all()
    assert np.abs(robust.found.values / wanted - 1).max() < 0.1 * np.abs(plain.found.values / wanted - 1).max()


def test_sensors_may_be_a_list(pendulum):
    data = track(pendulum, noise=1e-3, length=0.6, damping=0.05, angle=0.8)
    own = {"noise": "1 mm"}
    one, two = (
        ch.fit.to_data(pendulum, data, ("length", "damping", "angle"), sensors=sensors)
        for sensors in (
            [ch.fit.Sensor("bodies.mark.position", **own)],
            {"bodies.mark.position": ch.fit.Sensor(**own)},
        )
    )
    assert np.array_equal(one.found.values, two.found.values)
    for wrong in ([ch.fit.Sensor(**own)], ["bodies.mark.position"], {"bodies.mark.position": 0.1}):
        with pytest.raises(TypeError, match="list of sensors that say what they"):
            ch.fit.to_data(pendulum, data, "length", sensors=wrong)


@pytest.mark.study
def test_delay_bias_and_a_prior(pendulum):
    data = track(pendulum, noise=1e-4, length=0.6, damping=0.05, angle=0.8)
    data["bodies.mark.position.x"] += 0.02
    data["t"] = data["t"] + 0.033
    sensors = {"bodies.mark.position": ch.fit.Sensor(delay="0:100 ms", bias=True)}
    unknown = {"length": "normal(0.6, 1 mm)", "damping": None, "angle": None}
    fit = ch.fit.to_data(pendulum, data, unknown, sensors=sensors, span=(0.0, 1.6))
    assert abs(fit["bodies.mark.position: delay"] - 0.033) < 1e-3
    assert abs(fit["bodies.mark.position: bias x"] - 0.02) < 1e-3
    assert abs(fit["bodies.mark.position: bias z"]) < 1e-3
    assert fit.deviations["length"] < 1e-3


@pytest.mark.study
def test_several_experiments_with_starts_of_their_own(pendulum):
    data = [track(pendulum, length=0.6, damping=0.05, angle=one) for one in (0.8, -0.4)]
    given = [ch.fit.Experiment(one, unknown={"initial.q.pivot": None, "initial.v.pivot": None}) for one in data]
    fit = ch.fit.to_data(pendulum, given, ("length", "damping"))
    assert np.isclose(fit["experiment 2: initial.q.pivot"], -0.4, rtol=1e-7)
    assert abs(fit["experiment 1: initial.v.pivot"]) < 1e-7
    assert np.isclose(fit["length"], 0.6, rtol=1e-8)


@pytest.mark.study
def test_parameters_that_cannot_be_identified_are_named(pendulum):
    """An undamped pendulum tells neither its mass nor inertia and distance apart; that it hangs aslant it tells."""
    unknown = ("bodies.bob", "angle")
    data = {"t": T, "joints.pivot": ch.load(pendulum, set={"parameters.damping": 0}).run(span=(0, 1.5), save=T).q[:, 0]}
    pendulum.write_text(PENDULUM.replace("damping = 0.02", "damping = 0"))
    fit = ch.fit.to_data(pendulum, data, unknown)
    assert fit.told.rank == 3
    assert "bob: m: has no influence" in fit.unidentified
    assert "only together: bob: mcz" in fit.unidentified
    assert fit.deviations["bob: Iyy"] == np.inf > fit.deviations["angle"]
    assert "not determined" in str(fit)


def test_a_function_of_parameters_serves_too():
    def system(length):
        return ch.System(
            [ch.Body("bob", 1.0, (length, 0, 0), (0.01, 0.01, 0.01))],
            [ch.revolute("pivot", "ground", "bob", axis=(0, 1, 0))],
        )

    t = np.linspace(0, 1, 30)
    data = {"t": t, "joints.pivot": ch.simulate(system(0.3), (0, 1), save=t, method="rk4", step=0.01).q[:, 0]}
    unknown = {"length": ch.fit.Unknown(0.1, 1.0, start=0.4)}
    assert np.isclose(ch.fit.to_data(system, data, unknown, method="rk4", step=0.01)["length"], 0.3, rtol=1e-6)
    with pytest.raises(ValueError, match="argument 'length' of the function has no default to start from"):
        ch.fit.to_data(system, data, {"length": "0.1:1"})


def test_values_beside_which_there_is_no_model():
    """The data asks for the largest inertia that a body can have: differences are taken to the other side."""

    def system(inertia):
        return ch.System(
            [ch.Body("bob", 1.0, (0.3, 0, 0), (0.01, inertia, 0.01))],
            [ch.revolute("pivot", "ground", "bob", axis=(0, 1, 0))],
        )

    t, how = np.linspace(0, 1, 30), {"method": "rk4", "step": 0.01, "starts": 1}
    true = ch.simulate(system(0.02), (0, 1), save=t, method="rk4", step=0.01).q[:, 0]
    data = {"t": t, "joints.pivot": true + 1e-6 * np.sin(40 * t)}
    unknown = {"inertia": ch.fit.Unknown(0.001, 0.05, start=0.012)}
    fit = ch.fit.to_data(system, data, unknown, **how)
    assert abs(fit["inertia"] - 0.02) < 1e-4


def test_a_system_has_its_places():
    def system(mass):
        return ch.System(
            [ch.Body("bob", mass, (0.3, 0, 0), (0.01, 0.01, 0.01))],
            [ch.revolute("pivot", "ground", "bob", axis=(0, 1, 0), damping=0.1)],
        )

    t = np.linspace(0, 1, 30)
    data = {"t": t, "joints.pivot": ch.simulate(system(0.7), (0, 1), save=t, method="rk4", step=0.01).q[:, 0]}
    unknown = {"bodies.bob.mass": "0.1:2"}
    fit = ch.fit.to_data(system(1.0), data, unknown, method="rk4", step=0.01)
    assert np.isclose(fit["bodies.bob.mass"], 0.7, rtol=1e-6)
    assert fit.success
    assert fit.message == "settled"
    with pytest.raises(ValueError, match=r"no parameter 'bodies\.bob\.mas'"):
        ch.fit.to_data(system(1.0), data, "bodies.bob.mas")
    with pytest.raises(TypeError, match="the model is a Mechanism; expected a model file"):
        ch.fit.to_data(system(1.0).compile(), data, unknown)


@pytest.mark.parametrize(("factor", "unit", "model"), [(1e3, "mm", "m"), (180 / np.pi, "deg", "rad"), (1.0, "", "")])
def test_data_in_other_units(factor, unit, model):
    """They are refused by name, and taken in the unit of the model."""

    def sprung(stiffness: float) -> ch.System:
        """It falls into its spring."""
        body = ch.Body("bob", 1.0, (0, 0.3, 0), (1.0, 1.0, 1.0))
        if model == "rad":
            joint = ch.revolute("slide", "ground", "bob", axis=(1, 0, 0), stiffness=stiffness)
        else:
            joint = ch.prismatic("slide", "ground", "bob", axis=(0, 0, 1), stiffness=stiffness)
        return ch.System([body], [joint])

    t, how = np.arange(0.0, 3.0, 0.05), {"method": "rk4", "step": 0.05}
    true = ch.simulate(sprung(4.0), (0, t[-1]), save=t, **how).q[:, 0]
    seen, how["starts"] = factor * (true + 1e-4 * np.random.default_rng(0).normal(size=len(t))), 1
    unknown = {"joints.slide.stiffness": "3:9"}
    if unit:
        with pytest.raises(ValueError, match=f"joints.slide looks like {unit}, and the model has {model}"):
            ch.fit.to_data(sprung(3.5), {"t": t, "joints.slide": seen}, unknown, **how)
    found = ch.fit.to_data(sprung(3.5), {"t": t, "joints.slide": seen / factor}, unknown, **how)
    assert abs(found["joints.slide.stiffness"] - 4.0) < 0.01


def test_times_in_milliseconds_are_told_by_the_motion():
    """The model says no span, so that only its motion tells."""
    sprung = ch.System(
        [ch.Body("block", 1.0)], [ch.prismatic("slide", "ground", "block", axis=(1, 0, 0), stiffness=3.5, rest=1.0)]
    )
    t = np.arange(0.0, 3.0, 0.05)
    seen = {"t": 1000 * t, "joints.slide": 1 - np.cos(2.0 * t)}
    with pytest.raises(ValueError, match="goes with a simulation of a thousandth of this time: are its times in ms"):
        ch.fit.to_data(sprung, seen, {"joints.slide.stiffness": "3:9"}, starts=1)
    with pytest.raises(ValueError, match="of a millionth of this time: are its times in us"):
        ch.fit.to_data(sprung, {**seen, "t": 1e6 * t}, {"joints.slide.stiffness": "3:9"}, step=0.05, method="rk4")
    noise = {"t": 1e6 * t, "joints.slide": np.random.default_rng(0).normal(size=len(t))}
    with pytest.raises(ValueError, match=r"6e\+07 steps of 0.05 s: are its times in another unit"):
        ch.fit.to_data(sprung, noise, "joints.slide.stiffness", step=0.05, method="rk4")


def test_a_clock_that_is_not_the_model_s_is_refused(pendulum):
    data = {"t": T, "joints.pivot": np.cos(T)}
    with pytest.raises(ValueError, match=r"begins at -0.5 s, before the start of the model at 0 s; give span=\(-0.5, "):
        ch.fit.to_data(pendulum, {**data, "t": T - 0.5}, "length")
    with pytest.raises(ValueError, match=r"is from 100 to 101.47 s, long after .* subtract 100 from its times"):
        ch.fit.to_data(pendulum, {**data, "t": T + 100}, "length")
    with pytest.raises(ValueError, match=r"lasts until 1470 s, and the model .* to 5 s: are its times in ms\?"):
        ch.fit.to_data(pendulum, {**data, "t": 1000 * T}, "length")


def test_a_local_minimum_is_left_or_named():
    def swing(stiffness):
        return ch.System(
            [ch.Body("bob", 1.0, (0.3, 0, 0), (0.01, 0.01, 0.01))],
            [ch.revolute("pivot", "ground", "bob", axis=(0, 1, 0), stiffness=stiffness)],
        )

    t, how = np.arange(0.0, 3.0, 0.05), {"method": "rk4", "step": 0.05}
    angle = ch.simulate(swing(2.0), (0, t[-1]), save=t, **how).q[:, 0]
    data = {"t": t, "joints.pivot": angle + 1e-3 * np.random.default_rng(3).normal(size=len(t))}
    unknown = {"joints.pivot.stiffness": "0.1:20"}
    caught, found = (ch.fit.to_data(swing(12.0), data, unknown, starts=starts, **how) for starts in (1, 4))
    assert not caught.success
    assert "times the scatter of the data; this looks like a local minimum" in caught.message
    assert "not valid" in str(caught)
    assert found.success
    assert "local minimum" in found.message
    assert abs(found["joints.pivot.stiffness"] - 2.0) < 5 * found.deviations["joints.pivot.stiffness"] < 0.05
    assert abs(found.cost / (0.5 * len(t)) - 1) < 0.05  # half a square for each number


@pytest.mark.study
def test_a_model_that_lacks_something_is_no_local_minimum(pendulum):
    data = track(pendulum, noise=1e-4, length=0.6, damping=0.05, angle=0.8)
    data["bodies.mark.position.x"] = data["bodies.mark.position.x"] + 0.05 * np.sin(5 * T)
    fit = ch.fit.to_data(pendulum, data, {"length": "0.1:2", "angle": "0.1:2"})
    assert "the model lacks something" in fit.message
    assert "times the scatter" in fit.message


@pytest.mark.study
def test_the_command_writes_a_model_a_picture_and_a_report(pendulum, tmp_path):
    data = track(pendulum, noise=1e-3, length=0.6, damping=0.05, angle=0.8)
    rows = [f"{t},{1e3 * x},{1e3 * z}" for t, x, z in zip(*data.values(), strict=True)]
    table = tmp_path / "track.csv"
    table.write_text("\n".join(["time [s],u [mm],v [mm]", *rows]))
    new, picture, page = (tmp_path / name for name in ("fitted.toml", "fit.png", "fit.html"))
    columns = ["--column", "u=bodies.mark.position.x", "--column", "v=bodies.mark.position.z"]
    unknown = ["--unknown", "length=0.1:2", "--unknown", "damping=0:1", "--own", "initial.q.pivot"]
    files = ["-o", str(new), "--picture", str(picture), "--report", str(page)]
    found = chasles("fit", str(pendulum), str(table), *columns, *unknown, *files)
    assert found.returncode == 0, found.stderr
    study = ch.load(new)
    assert abs(study.parameters["length"] - 0.6) < 0.01
    assert abs(float(np.ravel(study.start()["q"]["pivot"])[0]) - 0.8) < 0.05
    assert "# from the pivot to the mark; ± " in new.read_text()  # comments stay
    assert study.ensemble["sample"]["length"].startswith("normal(0.")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "None: the data determines all." in page.read_text()


def test_a_whole_inertia_is_written_where_it_stood(pendulum):
    """The file keeps its comments and its parameters."""
    data = track(pendulum, noise=1e-3, length=0.6, damping=0.05, angle=0.8)
    how = {"max_iterations": 2, "starts": 1}
    fit = ch.fit.to_data(pendulum, data, {"bodies.bob": None, "damping": "0:1"}, **how)
    new = fit.save(pendulum.with_name("new.toml"))
    assert "# from the pivot to the mark" in new.read_text()
    assert ch.load(new).system == fit.study(0).system
    assert ch.load(new).parameters["damping"] == fit["damping"]


BAD = {
    "no number": ("t,joints.pivot\n0,1\n1,inf\n", "row 3 has 'inf' in column 'joints.pivot'"),
    "no rise": ("t,joints.pivot\n0,1\n0,2\n1,2\n", "times must rise"),
    "unit": ("t,joints.pivot [mm]\n0,1\n1,2\n", "is 'mm', a length; expected an angle"),
    "unknown unit": ("t,joints.pivot [furlong]\n0,1\n1,2\n", "'furlong' is unknown"),
    "time": ("t [m],joints.pivot\n0,1\n1,2\n", "is not a time"),
    "no time": ("x,joints.pivot\n0,1\n1,2\n", "no columns of times"),
    "short": ("t,joints.pivot\n0,1\n", "at least two rows"),
    "too few": ("t,joints.pivot\n0,\n1,1\n", "1 numbers were measured, for 2 unknowns"),
    "name": ("t,joints.pivott\n0,1\n1,2\n", "did you mean 'joints.pivot'"),
    "nothing": ("t,u\n0,1\n1,2\n", "has no column that the model knows"),
    "cells": ("t,joints.pivot\n0,1\n1\n", "row 3 has 1 cells"),
    "empty": ("t,joints.pivot\n0,\n1,\n", "no row in which all its columns have a value"),
    "twice": ("t,joints.pivot,joints.pivot\n0,1,1\n1,2,2\n", "two columns"),
    "microseconds": (
        "t,joints.pivot\n0,1\n1e6,0\n2e6,-1\n2.1e6,-1\n",
        r"are its times in us\? Name their column t \[us\]",
    ),
    "clock": ("t,joints.pivot\n1.7e9,1\n1700000000.02,1\n", "too late on their clock for steps of 0.02 s; subtract"),
    "date": ("t,joints.pivot\n2024-01-01,1\n2024-01-02,1\n", "give times in seconds, such as 0.02"),
    "unsorted": ("t,joints.pivot\n0,1\n2,1\n1,1\n", "sort the rows by time"),
    "component": ("t,bodies.bob.position\n0,1\n1,1\n", "expected bodies.bob.position.x, bodies.bob.position.y"),
    "no section": ("t,pivot\n0,1\n1,1\n", "did you mean 'joints.pivot'"),
    "decimal commas": ("t,joints.pivot\n0,02,1,1\n1,02,1,2\n", "decimal commas need semicolons between the columns"),
    "row of units": ("t,joints.pivot\ns,rad\n0,1\n1,2\n", r"units belong into the header: t \[s\]"),
    "spaces": ("t joints.pivot\n0 1\n1 1\n", "separate columns by commas, semicolons or tabs"),
    "quaternion": ("t,bodies.bob.orientation.w\n0,1\n1,1\n", "takes four columns"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_data_has_its_own_answer(what, pendulum, tmp_path):
    table, said = BAD[what]
    (tmp_path / "data.csv").write_text(table)
    with pytest.raises(ValueError, match=said):
        ch.fit.to_data(pendulum, tmp_path / "data.csv", ("length", "damping"))


def test_gaps_are_told_and_rows_without_a_value_left_out(pendulum):
    data = track(pendulum)
    keep = (T < 0.4) | (T > 1.1)
    data = {name: column[keep] for name, column in data.items()}
    data["bodies.mark.position.z"][3] = np.nan
    fit = ch.fit.to_data(pendulum, data, ("angle",))
    assert any("nothing was measured between 0.39 and 1.11 s" in note for note in fit.notes)
    assert any("has no value in 1 of" in note for note in fit.notes)


@pytest.mark.parametrize(
    ("unknown", "said"),
    [
        ({"lenght": None}, "did you mean 'length'"),
        ({"length": "2:1"}, "expected a range"),
        ({"length": "1:2"}, r"outside of its bounds .* Unknown\(1, 2, start=1.5\)"),
        ({"length": "0.1:2 normal(5, 0.1)"}, "a prior with mean 5, far outside of its bounds"),
        ({"bodies.bobb": None}, "did you mean 'bodies.bob'"),
        ({"joints.pivot.dampin": None}, "did you mean 'joints.pivot.damping'"),
        ({"length": None, "parameters.length": None}, "'length' is unknown twice"),
        ({"length": "uniform(1, 2)"}, r"expected normal\(mean, deviation\)"),
        ({"length": "normal(1, 0)"}, "its standard deviation is 0"),
        ({"bodies.bob": "0:1"}, "ten numbers"),
        ({"initial.q.knee": None}, "there is no joint 'knee'"),
        ({}, "nothing is unknown"),
    ],
)
def test_bad_unknowns_have_their_own_answer(unknown, said, pendulum):
    with pytest.raises(ValueError, match=said):
        ch.fit.to_data(pendulum, {"t": T, "joints.pivot": 0 * T}, unknown)


def test_parameters_without_influence_are_named(pendulum):
    data = {"t": T, "joints.pivot": track(pendulum)["bodies.mark.position.x"]}
    how = {"max_iterations": 2, "starts": 1}
    fit = ch.fit.to_data(pendulum, data, ("angle", "bodies.bob.mass"), **how)
    assert fit.unidentified == ""
    data["joints.pivot"][:] = 0.0  # at rest where it hangs, nothing depends on its damping
    fit = ch.fit.to_data(pendulum, data, {"damping": "0:1", "angle": ch.fit.Unknown(start=0.0)}, **how)
    assert fit.unidentified == "damping: has no influence on what was measured"
    assert fit.deviations["damping"] == np.inf
    with pytest.raises(ValueError, match="there is no option 'coordinates'"):
        ch.fit.to_data(pendulum, data, ("angle",), coordinates="absolute")
    with pytest.raises(ValueError, match="not an explicit method"):
        ch.fit.to_data(pendulum, data, ("angle",), method="generalized_alpha")


@pytest.mark.study
def test_loops_are_fitted_too(tmp_path):
    """A four-bar: the length of its coupler, which decides how it is assembled, a spring and the start."""
    file, t = tmp_path / "four_bar.toml", np.arange(0.0, 1.0, 0.05)
    file.write_text(FOUR_BAR)
    true = {"parameters.coupler": 0.78, "parameters.stiffness": 6.0, "initial.q.A": 0.85}
    run = ch.load(file, set=true).run(span=(0, 0.95), stops=t[1:-1])
    rows = [int(np.argmin(np.abs(run.t - one))) for one in t]
    data = {"t": t, "joints.A": run.joint("A").q[rows, 0], "bodies.rocker.gyro.z": run["rocker"].twist[rows, 2]}
    fit = ch.fit.to_data(file, data, ("coupler", "stiffness", "initial.q.A"))
    assert np.allclose(fit.found.values, list(true.values()), rtol=1e-9)


def driven(mass=2.0, damping=0.3, gear=3.0):
    return ch.System(
        [ch.Body("arm", mass, (0.2, 0, 0), (0.01, 0.02, 0.02))],
        [ch.revolute("hinge", "ground", "arm", axis=(0, 1, 0), damping=damping)],
        actuators=[ch.Actuator("motor", "hinge", gear=gear, lower=-5, upper=5)],
    )


def recorded(truth, t, rng):
    """What a motor was told from time to time, and the angles that followed, by a sampled controller."""
    told = rng.normal(size=len(t))
    run = ch.simulate(
        truth, (0, t[-1]), controller=lambda now, q, v: told[[round(now / 0.05)]], period=0.05, step=0.01,
        method="rk4",
    )  # fmt: skip
    return {"t": t, "inputs.motor": told, "joints.hinge": run.q[np.searchsorted(run.t, t - 1e-9), 0]}


def test_inputs_are_columns_of_the_data():
    t, rng = 0.05 * np.arange(11), np.random.default_rng(5)
    data = recorded(driven(1.7, 0.21, 2.4), t, rng)
    how = {"method": "rk4", "step": 0.01, "starts": 1}
    fit = ch.fit.to_data(partial(driven, damping=0.21), data, {"mass": "0.5:5", "gear": "0.5:9"}, **how)
    assert [fit["mass"], fit["gear"]] == pytest.approx([1.7, 2.4], rel=1e-7)
    joint = {"t": t, "inputs.hinge": 2.4 * data["inputs.motor"], "joints.hinge": data["joints.hinge"]}

    def plain(mass=2.0):
        return replace(driven(mass, 0.21), actuators=())

    fit = ch.fit.to_data(plain, joint, {"mass": "0.5:5"}, **how)
    assert fit["mass"] == pytest.approx(1.7, rel=1e-7)
    with_lines = ch.fit.Experiment(joint, inputs="linear")  # not what happened, so the fit is worse
    assert abs(ch.fit.to_data(plain, with_lines, {"mass": "0.5:5"}, **how)["mass"] - 1.7) > 1e-3


BAD_INPUTS = {
    "name": ({"inputs.moter": 0.0}, {}, "column 'inputs.moter' is an input of no one; did you mean 'motor'"),
    "start": ({"inputs.motor": [np.nan] * 3 + [0.0] * 4}, {}, "input 'motor' has no value before 0.15 s, and the sim"),
    "empty": ({"inputs.motor": np.nan}, {}, "input 'motor' has no value at any time"),
    "control": ({"inputs.motor": 0.0}, {"control": [1.0]}, "has the input 'motor' in a column, and control is given"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_wrong_inputs(case):
    columns, more, message = BAD_INPUTS[case]
    t = 0.05 * np.arange(7)
    data = {"t": t, "joints.hinge": np.sin(t), **{name: x + 0.0 * t for name, x in columns.items()}}
    with pytest.raises(ValueError, match=message):
        ch.fit.to_data(driven, data, {"mass": "0.5:5"}, **more)
    with pytest.raises(ValueError, match="inputs is 'liniar'; did you mean 'linear'"):
        ch.fit.to_data(driven, ch.fit.Experiment(data, inputs="liniar"), {"mass": "0.5:5"})


@pytest.mark.parametrize(
    ("sensor", "said"),
    [
        (
            {"delay": "0:5"},
            "delay is '0:5', and the data lasts 1.47 s; expected a delay of less than that: is it in ms",
        ),
        ({"delay": "20 mm"}, "a length; expected a time"),
        ({"delay": None}, "delay is None; expected a number"),
        ({"delay": np.nan}, "delay is nan; expected a number or a range"),
        ({"noise": [1, 2]}, r"noise is \[1, 2\]; expected a number"),
        ({"columns": ["u"]}, r"columns is \['u'\]; expected components by column"),
        ({"columns": {"u": ""}}, "no column 'u'"),
    ],
)
def test_wrong_sensors(sensor, said, pendulum):
    with pytest.raises((ValueError, TypeError), match=said):
        ch.fit.to_data(
            pendulum, {"t": T, "joints.pivot": 0 * T}, "length", sensors=[ch.fit.Sensor("joints.pivot", **sensor)]
        )


def test_arrays_of_other_kinds(pendulum):
    """Units in names, clocks, masks; what is no number is refused."""
    seen = np.ma.masked_greater(np.arange(3.0), 1.5)
    found = recording({"time [ms]": [0, 10, 20], "joints.pivot [deg]": [0, 90, 180], "joints.pivot.velocity": seen})
    assert np.allclose(found.t, [0, 0.01, 0.02])
    assert np.allclose(found.columns["joints.pivot"], [0, np.pi / 2, np.pi])
    assert np.array_equal(np.isnan(found.columns["joints.pivot.velocity"]), [False, False, True])
    clock = np.datetime64("2024-01-01T10:00:00") + np.array([0, 20, 40], dtype="timedelta64[ms]")
    assert np.allclose(recording({"t": clock, "joints.pivot": [1, 2, 3]}).t, [0, 0.02, 0.04])
    for wrong, said in (([1j, 1, 1], "has complex numbers"), (["a", "b", "c"], "expected numbers, NaN where")):
        with pytest.raises(ValueError, match=said):
            recording({"t": [0, 1, 2], "joints.pivot": wrong})
    for name, value in (("max_iterations", 0), ("max_iterations", 2.5), ("starts", 0)):
        with pytest.raises(ValueError, match=f"{name} is .*; expected a whole number"):
            ch.fit.to_data(pendulum, {"t": T, "joints.pivot": T}, "length", **{name: value})


def test_the_span_leaves_out_data(pendulum):
    data = track(pendulum, length=0.6)
    data["bodies.mark.position.x"][T > 0.8] = 7.0
    fit = ch.fit.to_data(pendulum, data, {"length": "0.1:2"}, span=(0, 0.8))
    assert np.isclose(fit["length"], 0.6, rtol=1e-7)
    assert any("values of bodies.mark.position are outside of the span" in note for note in fit.notes)
    with pytest.raises(ValueError, match=r"span is \(1, 0\); expected \(start, end\)"):
        ch.fit.to_data(pendulum, data, "length", span=(1, 0))


def test_a_product_is_named(pendulum):
    pendulum.write_text(
        PENDULUM.replace("damping = 0.02", "damping = 0.02\ngain = 2.0").replace('"damping"', '"damping * gain"')
    )
    data = {"t": T, "joints.pivot": ch.load(pendulum).run(span=(0, T[-1]), save=T).q[:, 0]}
    fit = ch.fit.to_data(pendulum, data, {"damping": "0:1", "gain": "0.1:9"}, starts=1)
    assert "gain, as in the product damping * gain" in fit.unidentified
    assert fit.deviations["gain"] == np.inf
