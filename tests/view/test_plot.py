"""Figures of runs: what is drawn is what was computed."""

import io
import os
import subprocess
import sys
from dataclasses import replace
from unittest import mock

import h5py
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import chasles as ch
from chasles.cli.plot import plot as command
from chasles.display import style
from chasles.display.formulas import written
from chasles.display.style import plain
from chasles.io.model_file import Study
from chasles.io.model_writer import model_text
from chasles.io.result import layout
from chasles.view import reduce
from chasles.view.method_text import described
from chasles.view.plot_panel import BARS
from chasles.view.plot_quantities import names, panels
from chasles.view.reduce import gather, kept, pieces_of
from tests.io.result_models import CASES, top
from tests.relative import closed


@pytest.fixture(scope="module")
def runs():
    return {case: CASES[case](0.5) for case in ("fixed", "adaptive", "absolute", "sampled", "closed")}


def lines(axes):
    return [np.array(line.get_data()) for line in axes.lines if len(line.get_xdata())]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_energies_are_those_of_the_run(runs):
    run = runs["adaptive"]  # with drag, so with work
    (axes,) = run.plot("energy").axes
    expected = [run.energies.kinetic, run.energies.gravity, run.energies.work, run.energies.balance]
    for (t, drawn), values in zip(lines(axes), expected, strict=True):  # no springs, so no line of them
        np.testing.assert_array_equal(t, run.t)
        np.testing.assert_array_equal(drawn, values)
    assert (axes.get_xlabel(), axes.get_ylabel()) == (written("time $t$ [s]"), "energy [J]")
    assert legend(axes) == [
        written(name) for name in ("kinetic $T$", "gravity $V_1$", "work $W$", "balance $E = T + V - W$")
    ]


def test_each_quantity_is_that_of_the_run(runs):
    run = runs["absolute"]
    figure = run.plot("energy.drift", "drift", "phase.elbow", "bodies.hand.path")
    balance, drift, phase, path = figure.axes
    np.testing.assert_array_equal(lines(balance)[0][1], run.energies.balance - run.energies.balance[0])
    violations = run.violations[0]
    for k in range(violations.shape[1]):
        sizes, largest = (one[1] for one in lines(drift)[2 * k : 2 * k + 2])
        seen = violations[:, k] > 0
        np.testing.assert_array_equal(sizes[seen], violations[seen, k])
        np.testing.assert_array_equal(largest[-1], violations[:, k].max())
    np.testing.assert_array_equal(lines(phase)[0], np.stack([run.joint("elbow").angle, run.joint("elbow").v[:, 0]]))
    np.testing.assert_array_equal(np.array(path.lines[0].get_data_3d()).T, run["hand"].position)
    speeds, pulls = (lines(axes) for axes in run.plot("bodies.hand.velocity", "bodies.hand.acceleration").axes)
    slopes = [np.gradient(curve[1], run.t, axis=0)[1:-1] for curve in speeds[:3]]
    moved = np.gradient(run["hand"].position, run.t, axis=0)[1:-1]
    for k in range(3):  # in world axes: differences of positions, of the second order in the saved steps
        np.testing.assert_allclose(speeds[k][1][1:-1], moved[:, k], atol=2e-3 * np.abs(moved).max())
        np.testing.assert_allclose(pulls[k][1][1:-1], slopes[k], atol=2e-3 * np.abs(slopes).max())
    np.testing.assert_allclose(speeds[3][1] ** 2, sum(curve[1] ** 2 for curve in speeds[:3]))
    assert phase.get_xlabel() == written("angle $q$ [rad]")
    assert phase.get_ylabel() == r"angular velocity $\dot q$ [rad/s]"


@pytest.mark.parametrize("case", ["fixed", "adaptive", "absolute", "sampled", "closed"])
def test_all_that_is_offered_can_be_drawn(runs, case):
    run = runs[case]
    offered = list(names(run))
    assert len(set(offered)) == len(offered)
    for name in offered:
        for panel in panels(run, name):
            assert "[" in panel.label or panel.label in ("quaternion", "value / tolerance")
            values = panel.values(run)
            if panel.kind != BARS:
                assert values.shape == (len(run), len(panel.series) + (panel.kind == "curve"))
                if name != "steps":
                    assert np.isfinite(values).all()
    named = {joint.name for joint in run.mechanism.system.joints}
    assert {f"joints.{name}" for name in named} <= set(offered)


def test_units_of_joints_with_several_coordinates():
    joints = [
        ch.cylindrical("slide", "ground", "a", axis=(0, 0, 1)),
        ch.planar("table", "ground", "b", normal=(0, 0, 1)),
        ch.free("loose", "ground", "c"),
    ]
    bodies = [ch.Body(name, 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1)) for name in "abc"]
    run = ch.simulate(ch.System(bodies, joints), (0.0, 0.05), v=np.linspace(0.1, 1, 11), progress=False)
    figure = run.plot("joints.slide", "joints.table.velocity", "joints.loose")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels[:2] == [written("angle $q$ [rad]"), written("displacement $q$ [m]")]
    assert labels[2:4] == ["velocity [m/s]", r"angular velocity $\dot q$ [rad/s]"]
    assert labels[4:] == ["quaternion [1]", "displacement [m]"]
    np.testing.assert_array_equal(lines(figure.axes[4])[2][1], run.joint("loose").q[:, 2])
    with pytest.raises(ValueError, match="has no phase plane"):
        run.plot("phase.loose")


def test_names_that_there_are_not_are_said_with_near_ones(runs):
    with pytest.raises(
        ValueError, match=r"no 'joints.elbwo' in this run; did you mean 'joints.elbow'.*There are: energy"
    ):
        runs["absolute"].plot("joints.elbwo")
    for name in ("", "joints.", "bodies.upper.color", "reactions", "phase.", "energy.heat"):
        with pytest.raises(ValueError, match="There are: energy"):
            runs["absolute"].plot(name)
    with pytest.raises(ValueError, match="cannot violate the joints of a tree"):
        runs["fixed"].plot("drift")


# ------------------------------------------------------------ long runs


def test_few_points_keep_all_extremes():
    rng = np.random.default_rng(3)
    t = np.sort(rng.uniform(0, 10, 200_000))
    values = rng.standard_normal((len(t), 2))
    values[12345, 0], values[54321, 1] = 80.0, -70.0
    pieces = pieces_of(t, 0.0, 10.0)
    chosen = kept(pieces, values)
    assert len(chosen) <= 6 * reduce.PIECES
    for k in (0, 1):
        for piece in (0, 17, 1234, reduce.PIECES - 1):
            inside = pieces == piece
            left = chosen[inside[chosen]]
            assert values[left, k].max() == values[inside, k].max()
            assert values[left, k].min() == values[inside, k].min()
    assert {0, len(t) - 1, 12345, 54321} <= set(chosen.tolist())
    np.testing.assert_array_equal(chosen, np.unique(chosen))


@pytest.mark.parametrize("part", [7, 100])
def test_parts_of_a_run_give_the_curve_of_the_whole(runs, monkeypatch, part):
    system = ch.System(
        [ch.Body("wheel", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))], [ch.revolute("hub", "ground", "wheel", axis=(0, 1, 0))]
    )
    run = ch.simulate(system, (0.0, 0.5), v=[60.0], step=1e-3, coordinates="absolute", progress=False)
    assert run.joint("hub").angle[-1] > 8 * np.pi  # turns that each part counts from its own start
    monkeypatch.setattr(reduce, "ROWS_AT_ONCE", part)
    wanted = [(p.values, p.kind != "time") for name in ("joints.hub", "steps") for p in panels(run, name)]
    (angle,), (steps,) = gather(run, wanted)
    np.testing.assert_allclose(angle[1][:, 0], run.joint("hub").angle, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(steps[1][1:, 0], np.diff(run.t))
    monkeypatch.setattr(reduce, "FEW", 10)
    monkeypatch.setattr(reduce, "PIECES", 20)
    ((t, values),) = gather(run, wanted[:1])[0]
    assert len(t) < 20 * 4 + 2 * len(run) / part + 4
    assert values.max() == pytest.approx(run.joint("hub").angle.max(), abs=1e-12)


# ------------------------------------------------------------ files, several runs, odd runs


def test_files_by_their_ending(runs, tmp_path):
    heads = {"a.pdf": b"%PDF", "a.svg": b"<?xml", "a.png": b"\x89PNG"}
    figure = runs["fixed"].plot("energy.drift")
    for name, head in heads.items():
        style.write(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(head)
    first = (tmp_path / "a.svg").read_bytes()
    runs["fixed"].plot("energy.drift", file=str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_bytes() == first
    with pytest.raises(ValueError, match=r"'a.txt': expected a name that ends in .pdf"):
        runs["fixed"].plot("energy", file=tmp_path / "a.txt")
    with pytest.raises(ValueError, match="cannot be written"):
        runs["fixed"].plot("energy", file=tmp_path / "no folder" / "a.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(heads)


def test_nothing_global_is_touched(runs):
    before = dict(mpl.rcParams)
    figure = runs["fixed"].plot("energy")
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert dict(mpl.rcParams) == before
    assert figure.axes[0].get_title("left") == "energy"  # an ordinary figure to go on with


# red, green, blue as they are seen by most, in deuteranopia and in protanopia: machado2009
SIGHT = (
    np.eye(3),
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
)
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


@pytest.mark.parametrize("sight", SIGHT)
def test_colors_can_be_told_apart(sight):
    shown = np.array([[int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)] for color in style.COLORS])
    linear = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(np.clip(linear @ np.transpose(sight), 1e-3, 1) @ XYZ.T / [0.9505, 1.0, 1.089]).T
    lab = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
    apart = np.linalg.norm(lab[:, None] - lab, axis=2)[np.triu_indices(len(lab), 1)]
    assert apart.min() > 16


def test_several_runs_share_axes(runs):
    other = CASES["absolute"](0.5)
    figure = ch.plot({"one": runs["absolute"], "two $x$": other}, "energy.drift", "energy", "certificate")
    balance, energy, _ = figure.axes
    assert balance.get_ylabel() == written("$|E(t) - E(0)|$ [J]")
    assert legend(balance) == ["one", r"two \$x\$"]
    assert [line.get_linestyle() for line in energy.lines[:6]] == ["-"] * 3 + ["--"] * 3
    figure.savefig(os.devnull, format="png")
    both = ch.plot([runs["absolute"], other], "drift")
    assert legend(both.axes[0])[-2:] == [f"{described(other)} (1)", f"{described(other)} (2)"]
    assert "h = 0.001 s" in described(other)
    with pytest.raises(ValueError, match="another system than the first run"):
        ch.plot([runs["absolute"], runs["fixed"]], "joints")
    with pytest.raises(ValueError, match="no run is given"):
        ch.plot([], "energy")


def test_runs_of_different_systems_are_refused(runs):
    for wanted in ((), ("drift",)):
        with pytest.raises(ValueError, match="'closed' is another system than the first run, or in other coordinates"):
            ch.plot({"absolute": runs["absolute"], "closed": runs["closed"]}, *wanted)


def test_names_with_signs_of_mathematics():
    assert plain("_x") == " _x"
    assert plain("a$b_$") == r"a\$b_\$"
    system = ch.System([ch.Body("_a$\\frac{$", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))], [])
    run = ch.simulate(system, (0.0, 0.02), progress=False)
    run.plot("bodies._a$\\frac{$.position", "joints").savefig(os.devnull, format="png")


def test_overview(runs):
    for case, last in (("absolute", "violation of the joints"), ("adaptive", "steps")):
        figure = runs[case].plot()
        titles = [axes.get_title("left") for axes in figure.axes]
        assert titles == [written("$t = 0.25$ s"), "energy", "drift of the energy balance", last]
        assert figure.get_suptitle().startswith("arm: dopri5")
        assert figure.axes[0].images[0].get_array().shape == (750, 780, 4)


def test_the_overview_says_which_run_is_dashed_and_why_one_failed(runs):
    run = runs["absolute"]
    why = "the step became too small to advance the time; the solution diverges " * 3
    failed = replace(run, solution=replace(run.solution, success=False, message=why))
    heading = ch.plot({"one": run, "two": failed}).get_suptitle()
    assert heading.startswith("arm; energies: one solid, two dashed\ntwo: the step became")
    assert heading.replace("\n", " ").endswith(why.strip())
    assert max(map(len, heading.splitlines())) <= 140


def test_long_names_are_shortened_unless_they_would_be_the_same():
    assert plain("x" * 70) == "x" * 30 + "…" + "x" * 30
    assert style.shortened(["a" * 50, "b"], 20) == ["a" * 10 + "…" + "a" * 10, "b"]
    alike = ["left " + "x" * 40 + " end", "left " + "y" * 40 + " end"]
    assert len(set(style.shortened(alike, 10))) == 2
    assert plain("\u202eabc") == "[U+202E]abc"


def test_an_energy_that_is_zero_throughout_is_not_drawn_and_none_is_hidden():
    system = ch.System([ch.Body("b", 1.0, inertia=(0.1, 0.2, 0.3))], gravity=(0, 0, 0))
    run = ch.simulate(system, (0.0, 0.02), v=[1, 2, 3, 0, 0, 0], progress=False)
    (axes,) = run.plot("energy").axes
    kinetic, balance = axes.lines
    assert legend(axes) == [written("kinetic $T$"), written("balance $E = T + V - W$")]
    assert kinetic.get_zorder() > balance.get_zorder()
    assert kinetic.get_linewidth() < balance.get_linewidth()
    assert axes.get_ylim()[0] <= 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("case", ["fixed", "absolute"])
def test_runs_with_hardly_a_point(runs, case, rows):
    run = runs[case].part(slice(0, rows))
    figure = run.plot("energy", "energy.drift", "joints", "steps", "bodies.top.path" if case == "fixed" else "drift")
    assert [len(line[0]) for line in lines(figure.axes[0])] == [rows] * 3 * (rows > 0)
    if rows < 2 and case == "fixed":
        figure._repr_png_()
    if rows == 0:
        assert run.plot().get_suptitle().startswith("heavy top: " if case == "fixed" else "arm: ")


def test_a_run_that_was_killed(tmp_path):
    file = tmp_path / "run.h5"
    whole = CASES["absolute"](0.5, file=file)
    with h5py.File(file, "r+") as h5:
        counts = h5["counts"][()]
        counts[layout.FILE_COUNTS.index("rows")], counts[layout.FILE_COUNTS.index("ended")] = 60, 0
        h5["counts"][()] = counts
    run = ch.open(file)
    assert len(run) == 60
    (axes,) = run.plot("energy", file=tmp_path / "a.svg").axes
    np.testing.assert_allclose(lines(axes)[0][1], whole.energies.kinetic[:60], rtol=1e-14)


# ------------------------------------------------------------ work and precision


def test_work_precision(tmp_path):
    def run(step):
        return ch.simulate(top(), (0, 0.2), v=[1, 0, 30.0], method=ch.integrate.RKMK("rk4"), step=step, progress=False)

    runs = {f"{step:g}": run(step) for step in (4e-3, 2e-3, 1e-3, 1e-4)}
    figure = ch.view.work_precision(runs, file=tmp_path / "w.pdf")
    ((work, error),) = lines(figure.axes[0])
    assert work.tolist() == [one.solution.evaluations for one in list(runs.values())[:3]]  # the finest is exact
    order = np.log2(error[:-1] / error[1:])
    assert (abs(order - 4) < 0.6).all()
    same = ch.view.work_precision({"a": runs["0.001"]}, runs["0.0001"], against="steps")
    assert lines(same.axes[0])[0].tolist() == [[200.0], [error.min()]]
    with pytest.raises(ValueError, match="one run alone"):
        ch.view.work_precision(runs["0.001"])
    with pytest.raises(ValueError, match=r"ends at t = 0.1 s, not as the reference at 0.2 s"):
        ch.view.work_precision({"short": runs["0.001"].part(slice(0, 101))}, runs["0.0001"])
    with pytest.raises(ValueError, match="against 'money'"):
        ch.view.work_precision(runs, against="money")


# ------------------------------------------------------------ the command


def test_the_command_without_a_screen(tmp_path):
    file = tmp_path / "run.h5"
    CASES["absolute"](0.2, file=file)
    code = (
        "import sys\nfrom chasles.cli import make_app\napp = make_app('plot')\n"
        "app('plot run.h5 energy -o a.pdf joints.elbow', result_action='return_value')\n"
        "app('plot run.h5 --frame 0.1 --size 64x48', result_action='return_value')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "MPLBACKEND")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["wrote", "a.pdf", "wrote", "run.png"]
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_figures_of_a_size(runs, tmp_path, monkeypatch):
    assert tuple(runs["fixed"].plot("energy", size=(4, 3)).get_size_inches()) == (4, 3)
    assert tuple(runs["fixed"].plot(size=(12, 7)).get_size_inches()) == (12, 7)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    CASES["fixed"](0.1, file="folder/run.h5")
    command("folder/run.h5", "energy", size="600x300")
    with Image.open(tmp_path / "folder/run.png") as image:  # beside the run that it shows
        assert image.size == (600, 300)


def test_what_the_command_refuses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CASES["fixed"](0.1, file="run.h5")
    for words, message in (
        (["none.h5"], "there is no result file 'none.h5'"),
        (["run.h5", "energy", "run.h5"], "give runs before what to draw"),
        (["run.h5", "other.h5"], "and there is no such file"),
        (["run.h5", "work-precision", "energy"], "cannot be combined with other quantities"),
        (["nothing"], "no file 'nothing', and no such system in the gallery"),
        ([], "no run is given"),
    ):
        with pytest.raises(ValueError, match=message):
            command(*words)
    with pytest.raises(ValueError, match="--size 10: expected pixels"):
        command("run.h5", frame=0.0, size="10")
    with pytest.raises(ValueError, match="--frame draws the mechanism of one run"):
        command("run.h5", "energy", frame=0.0)
    for options, message in (
        ({"azimuth": 3.0}, "--azimuth is for --frame"),
        ({"reference": "run.h5"}, "--reference is for work-precision"),
        ({"size": "100x100"}, r"size is 0.667 x 0.667; .* 1.5 to 60 inches \(225 to 9000 pixels\)"),
    ):
        with pytest.raises(ValueError, match=message):
            command("run.h5", "energy", **options)
    with pytest.raises(ValueError, match="--set changes models"):
        command("run.h5", change=["a=1"])
    command("run.h5", "run.h5", "energy.drift")
    assert (tmp_path / "run.png").is_file()


def test_curves_in_a_plane_keep_their_shape():
    """A circle that is gone round many times: no chord cuts through it."""
    angle = np.linspace(0.0, 400.0, 200_001)
    circle = np.stack([np.cos(angle), 3.0 * np.sin(angle)], axis=1)
    rows = reduce.apart(circle)
    kept_part = circle[rows] / [1.0, 3.0]
    middles = 0.5 * (kept_part[1:] + kept_part[:-1])
    assert len(rows) < len(circle)
    assert np.linalg.norm(middles, axis=1).min() > 1 - 1e-4
    assert (rows[0], rows[-1]) == (0, len(circle) - 1)


def test_a_picture_is_drawn_once_and_is_the_same(runs):
    """As matplotlib by itself makes it, which draws everything twice; the layout stays for the next time."""
    figure, times = runs["adaptive"].plot("energy", "steps"), []
    engine, draw = figure.get_layout_engine(), Figure.draw
    with mock.patch.object(Figure, "draw", lambda self, renderer: (times.append(1), draw(self, renderer))[1]):
        ours, theirs = io.BytesIO(), io.BytesIO()
        figure.savefig(ours, format="png")
        assert len(times) == 1
    with style.drawing():
        Figure.savefig(figure, theirs, format="png")
    assert ours.getvalue() == theirs.getvalue()
    assert figure.get_layout_engine() is engine


def test_forces_of_drives_and_sizes_of_reactions():
    crank = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (1e-3, 0.1, 0.1)}
    system = ch.System(
        [ch.Body("crank", **crank)],
        [ch.revolute("pin", "ground", "crank", axis=(0, 0, 1))],
        constraints=[ch.Drive("motor", "pin", "2 * t")],
        gravity=(0, -9.81, 0),
    )
    run = ch.simulate(system, (0.0, 0.5), v={"pin": 2.0}, certificate=False)
    (axes,) = ch.plot(run, "forces.motor").axes
    (line,) = axes.get_lines()
    np.testing.assert_allclose(line.get_ydata(), 9.81 * 0.5 * np.cos(2 * line.get_xdata()), rtol=1e-6)
    assert axes.get_ylabel() == "torque [N m]"
    force = ch.plot(run, "reactions.pin").axes[1]
    size = force.get_lines()[3]
    np.testing.assert_allclose(size.get_ydata(), np.linalg.norm(run.reactions("pin")[:, 3:], axis=1), rtol=1e-9)
    with pytest.raises(ValueError, match=r"did you mean 'forces\.motor'"):
        ch.plot(run, "forces.moto")


def test_designs_in_one_plot(tmp_path):
    with mock.patch("chasles.view.plot.plot") as drawn, mock.patch("rich.console.Console.print"):
        command(
            "gate", "joints.hinge", output=tmp_path / "x.png", vary="parameters.counterweight=30 kg, 36 kg", end=0.02
        )
    runs = drawn.call_args.args[0]
    assert list(runs) == ["counterweight = 30 kg", "counterweight = 36 kg"]
    assert [run.system.body("counterweight").mass for run in runs.values()] == [30.0, 36.0]
    linkage = tmp_path / "linkage.toml"
    linkage.write_text(model_text(Study(closed.four_bar(), {"q": {"A": 1.4}})))
    with (
        mock.patch("chasles.view.plot.plot"),
        pytest.warns(RuntimeWarning, match=r"with initial\.q\.A = 2.5 the linkage"),
    ):
        command(str(linkage), "joints.A", output=tmp_path / "x.png", vary="initial.q.A=1.4, 1.5, 2.5", end=0.01)
    with pytest.raises(ValueError, match=r"--vary parameters\.arm=1: expected one model, and a path with values"):
        command("gate", vary="parameters.arm=1", output=tmp_path / "x.png")


def test_formulas_in_letters_of_unicode_look_as_before():
    assert written("time $t$ [s]") == "time \N{MATHEMATICAL ITALIC SMALL T} [s]"
    assert written("$E = T - W$").translate({0x1D438: "E", 0x1D447: "T", 0x1D44A: "W"}) == "E = T − W"
    assert written(r"$\mathdefault{10^{-14}}$") == "10⁻¹⁴"
    assert written(r"$\times\mathdefault{10^{−12}}\mathdefault{}$") == "×10⁻¹²"
    assert written("$V_1$") == "\N{MATHEMATICAL ITALIC CAPITAL V}₁"
    for unknown in (r"$\dot q$", "$q_w$", r"two \$x\$", "plain", r"$\frac{1}{2}$", "$x$ and $q_w$"):
        assert written(unknown) == unknown


def test_the_usual_figure_needs_no_reader_of_mathematics(runs):
    with mock.patch("matplotlib.mathtext.MathTextParser.parse", side_effect=AssertionError):
        runs["absolute"].plot().savefig(os.devnull, format="png")


@pytest.mark.first(1)
@pytest.mark.parametrize("size", [None, (9.0, 8.0), (20.0, 9.0)])
def test_texts_of_a_grid_do_not_overlap_and_stay_inside(runs, size):
    """Against what matplotlib draws, after the layout was made from one measurement."""
    figure = runs["absolute"].plot("energy", "drift", "joints", "certificate", "steps", size=size)
    figure.savefig(io.BytesIO(), format="png")
    renderer = figure.canvas.get_renderer()
    boxes = [one.get_tightbbox(renderer) for one in figure.axes]
    whole = figure.bbox
    for k, box in enumerate(boxes):
        assert min(box.x0, box.y0) >= -1
        assert box.x1 <= whole.x1 + 12
        assert box.y1 <= whole.y1 + 1
        for other in boxes[:k]:
            across = min(box.x1, other.x1) - max(box.x0, other.x0)
            down = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert across < 12 or down < 2  # a number at the end of an axis may reach beyond it


def test_a_figure_too_small_for_its_texts_is_drawn_all_the_same(runs):
    figure = runs["absolute"].plot("energy", "drift", "joints", "certificate", "steps", size=(1.5, 1.5))
    figure.savefig(io.BytesIO(), format="png")
    assert all(one.get_position().width > 0 for one in figure.axes)


def test_inputs_are_drawn_as_they_are_held():
    """Each is held until its point in the run; the drawn corners are the times of the samples."""
    body = ch.Body("block", 1.0)
    block = ch.System([body], [ch.prismatic("slide", "ground", "block", axis=(1, 0, 0))], gravity=(0, 0, 0))
    told = [1.0, -2.0, 3.0]
    how = {"controller": lambda t, q, v: [told[round(t / 0.1)]], "period": 0.1, "step": 0.1, "method": "rk4"}
    run = ch.simulate(block, (0.0, 0.3), **how)
    (line,) = run.plot("inputs").axes[0].lines
    assert line.get_drawstyle() == "steps-pre"
    assert np.array_equal(line.get_ydata()[1:], told)
    assert np.allclose(line.get_xdata(), [0.0, 0.1, 0.2, 0.3])


def test_orientations_have_no_jumps_and_seven_joints_seven_looks():
    """A body that turns twice about x: w = cos(t / 2), below zero too."""
    ball = ch.System(
        [ch.Body("ball", 1.0, inertia=(1, 1, 1))], [ch.spherical("pivot", "ground", "ball")], gravity=(0, 0, 0)
    )
    run = ch.simulate(ball, (0.0, 12.0), v=[1.0, 0.0, 0.0], save=np.linspace(0, 12, 400))
    w, x = (line.get_ydata() for line in run.plot("bodies.ball.orientation").axes[0].lines[:2])
    assert np.abs(w - np.cos(run.t / 2)).max() < 1e-6
    assert np.abs(x - np.sin(run.t / 2)).max() < 1e-6
    bodies = [ch.Body(f"b{k}", 1.0, (0, 0, -0.1), (0.1, 0.1, 0.1)) for k in range(7)]
    parents = ["ground", *(body.name for body in bodies)]
    joints = [ch.revolute(f"j{k}", parents[k], f"b{k}", axis=(0, 1, 0)) for k in range(7)]
    lines = ch.simulate(ch.System(bodies, joints), (0.0, 0.1)).plot("joints").axes[0].lines
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 7
