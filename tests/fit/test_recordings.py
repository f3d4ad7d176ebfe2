"""What recordings are like in practice: other headers, gaps, outliers, columns that no one knows, inputs."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.fit.recording import recording
from tests.fit.models import PENDULUM

HOW = {"method": "rk4", "step": 0.02, "starts": 1}
T = np.round(np.arange(0.0, 1.2, 0.02), 6)


def pendulum(length=0.6, damping=0.05):
    return ch.System(
        [ch.Body("bob", 1.0, (0, 0, -length), (0.01, 0.01, 0.001))],
        [ch.revolute("pivot", "ground", "bob", axis=(0, 1, 0), damping=damping)],
        [ch.Frame("mark", "bob", (0, 0, -length))],
    )


def angles(t=T, length=0.6, damping=0.05, begin=0.8):
    """By the equation of the pendulum, without this package."""

    def rates(t, y):
        return [y[1], (-9.81 * length * np.sin(y[0]) - damping * y[1]) / (0.01 + length**2)]

    return solve_ivp(rates, (0, t[-1]), [begin, 0], t_eval=t, rtol=1e-10, atol=1e-10).y[0]


def begun(data):
    return ch.fit.Experiment(data, set={"initial.q.pivot": 0.8})


def written(path, text):
    path.write_text(text, encoding="utf-8-sig")
    return path


def test_tables_of_european_programs_are_read(tmp_path):
    """Semicolons, decimal commas, a mark of the byte order, another header, empty cells and nan."""
    plain = written(tmp_path / "plain.csv", "t,joints.pivot [deg]\n0,1.5\n0.5,\n1,-2e1\n")
    for name, text in {
        "commas": "Time [s];joints.pivot [deg]\n0;1,5\n0,5;\n1;-2e1\n",
        "tabs": "TIME\tjoints.pivot (deg)\n0\t1,5\n0,5\tNaN\n1\t-2,0e1\n",
    }.items():
        one, other = recording(written(tmp_path / f"{name}.csv", text)), recording(plain)
        assert np.array_equal(one.t, other.t)
        assert np.array_equal(one.columns["joints.pivot"], other.columns["joints.pivot"], equal_nan=True)


def test_commas_that_group_digits_are_not_read_as_points(tmp_path):
    file = written(tmp_path / "grouped.csv", "t;joints.pivot\n0.1;1,234\n0.2;1\n")
    with pytest.raises(ValueError, match="row 2 has '1,234'"):
        recording(file)


def test_columns_that_no_one_takes_are_named():
    data = {"t": T, "joints.pivot": angles(), "input.pivot": T, "joint.pivot.velocity": T, "heat": T}
    fit = ch.fit.to_data(pendulum, begun(data), ["length"], **HOW)
    (note,) = (one for one in fit.notes if "not used" in one)
    assert "'input.pivot' (did you mean 'inputs.pivot'?)" in note
    assert "'heat': not used" in note
    assert "(did you mean 'joints.pivot.velocity'?)" in note
    camera = ch.fit.Sensor("bodies.mark.position", {"u": "x"})
    data = {"t": T, "u": -0.6 * np.sin(angles()), "bodies.mark.position.z": T}
    fit = ch.fit.to_data(pendulum, begun(data), ["length"], sensors={"camera": camera}, **HOW)
    assert "data 1: column 'bodies.mark.position.z': not used" in fit.notes


def test_columns_that_were_measured_at_different_times_all_count():
    q, rng = angles(), np.random.default_rng(0)
    x, z = -0.6 * np.sin(q) + 1e-3 * rng.normal(size=len(T)), -0.6 * np.cos(q) + 1e-3 * rng.normal(size=len(T))
    x[1::2], z[::2] = np.nan, np.nan
    data = {"t": T, "bodies.mark.position.x": x, "bodies.mark.position.z": z}
    fit = ch.fit.to_data(pendulum, begun(data), ["length", "damping"], **HOW)
    assert [len(r) for r in fit.residuals[0]] == [len(T) // 2] * 2
    assert abs(fit["length"] - 0.6) < 4 * fit.deviations["length"] < 0.004
    whole = ch.fit.Sensor("bodies.mark.position")
    z[0] = -0.6 * np.cos(0.8)
    z[2] = -0.6 * np.cos(q[2])
    fit = ch.fit.to_data(pendulum, begun(data), ["length"], sensors=[whole], **HOW)
    assert any("58 rows with some of its columns only are left out" in note for note in fit.notes)


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_outliers_do_not_count_as_noise(loss):
    """With a robust loss, the estimated noise is that of the good values; values are as good as without outliers."""
    rng = np.random.default_rng(1)
    data = {"t": T, "joints.pivot": angles() + 4e-3 * rng.normal(size=len(T))}
    plain = ch.fit.to_data(pendulum, begun(data), ["length", "damping"], **HOW)
    data["joints.pivot"][[7, 20, 21, 40, 55]] += [0.5, -0.3, 0.4, 0.3, -0.6]
    fit = ch.fit.to_data(pendulum, begun(data), ["length", "damping"], loss=loss, **HOW)
    assert 0.6 < fit.noise[0][0] / plain.noise[0][0] < 1.6
    assert abs(fit["length"] - plain["length"]) < 2 * plain.deviations["length"]
    assert fit.deviations["length"] < 2 * plain.deviations["length"]


def test_a_model_fitted_under_recorded_inputs_is_saved_without_them(tmp_path):
    """The file loads; it keeps its comments, and starts that it did not mention have lines."""
    file = tmp_path / "pendulum.toml"
    file.write_text(PENDULUM)
    data = {"t": T, "joints.pivot": angles(length=0.5), "inputs.pivot": 0.1 * np.cos(T)}
    fit = ch.fit.to_data(file, data, ["damping", "initial.q.pivot", "initial.v.pivot"], max_iterations=3, **HOW)
    text = fit.save(tmp_path / "fitted.toml").read_text()
    study = ch.load(tmp_path / "fitted.toml")
    assert "# from the pivot to the mark" in text
    assert not study.system.forces
    assert study.parameters["damping"] == fit["damping"]
    assert study.start()["v"] == {"pivot": fit["initial.v.pivot"]}
    assert study.run(span=(0, 0.1)).success


def test_starts_are_written_at_the_end_of_their_section(tmp_path):
    """Also where there is no such section, and for names that are no bare keys."""
    for k, (old, new) in enumerate([("q.pivot", "q.pivot"), ('[initial]\nq.pivot = "angle"\n', ""), ("pivot", "a b")]):
        file = tmp_path / f"{k}.toml"
        file.write_text(PENDULUM.replace(old, new).replace("q.a b", 'q."a b"'))
        joint = "a b" if k == 2 else "pivot"
        data = {"t": T, f"joints.{joint}": angles(length=0.5)}
        fit = ch.fit.to_data(file, data, [f"initial.v.{joint}"], max_iterations=3, **HOW)
        text = fit.save(tmp_path / "fitted.toml").read_text()
        assert "to the mark" in text
        assert ch.load(tmp_path / "fitted.toml").start()["v"] == {joint: fit[f"initial.v.{joint}"]}


def test_functions_and_systems_take_starts_by_name():
    data = {"t": T, "joints.pivot": angles()}
    for model, name in ((pendulum, "damping"), (pendulum(), "joints.pivot.damping")):
        fit = ch.fit.to_data(model, begun(data), [name], **HOW)
        assert abs(fit[name] - 0.05) < 1e-3
    with pytest.raises(ValueError, match="no argument 'lenght'; did you mean 'length'"):
        ch.fit.to_data(pendulum, data, ["lenght"], **HOW)
    with pytest.raises(ValueError, match=r"'joints\.pivot\.damping'; it takes length, damping"):
        ch.fit.to_data(pendulum, data, ["joints.pivot.damping"], **HOW)
    with pytest.raises(ValueError, match=r"'initial\.w\.pivot' is not a start"):
        ch.fit.to_data(pendulum, ch.fit.Experiment(data, set={"initial.w.pivot": 1}), ["length"], **HOW)


def test_fits_that_have_not_settled_say_what_to_do():
    data = {"t": T, "joints.pivot": angles()}
    fit = ch.fit.to_data(pendulum, begun(data), ["length", "damping"], max_iterations=1, **HOW)
    assert not fit.success
    assert "values still change after 1 evaluations; give more (max_iterations)" in fit.message
