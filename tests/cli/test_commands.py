"""The commands, run as a user runs them."""

import importlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import chasles
from chasles import cli
from chasles.cli.check import report as check_report
from chasles.cli.model import find_study, laws_in
from chasles.gallery import model_files
from chasles.io.model_file import Study
from chasles.io.model_writer import model_text
from chasles.simulation.start.doubts import doubts
from chasles.view.report import report as html_report
from tests.commands import chasles as run
from tests.relative import closed, planar
from tests.waiting import limited, wait_for


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """As a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "chasles", *arguments],
        env=os.environ | {"COLUMNS": "160"} | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_version():
    result = run("--version")
    assert result.stdout.strip() == chasles.__version__


def test_run_heavy_top_shows_drift_and_energy_on_both_groups():
    result = run("run", "heavy_top", "--space", "SE3", "--space", "SO3xR3")
    rows = dict(re.findall(r"│ (SE3|SO3xR3) +│ +(\S+) │", result.stdout))
    assert float(rows["SE3"]) < 5e-14
    assert 1e-6 < float(rows["SO3xR3"]) < 5e-5
    assert result.returncode == 3, result.stderr  # the drift on SO(3) x R3, which is not stabilized, does not pass
    assert "verdict: passed" in result.stdout
    assert "verdict: FAILED" in result.stdout


def test_results_for_programs():
    result = run("run", "heavy_top", "--step", "0.002", "--end", "0.1", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["model"] == "heavy_top"
    (only,) = found["runs"]
    assert (only["steps"], only["end"]) == (50, 0.1)
    assert only["kinetic_energy_at_start"] == pytest.approx(13972.398951, rel=1e-9)
    assert only["certificate"]["passed"]


@pytest.mark.parametrize("model", ["double_pendulum", "four_bars"])
def test_systems_of_the_gallery_run(model):
    result = run("run", model, "--end", "0.1")
    assert result.returncode == 0, result.stderr
    assert "verdict: passed" in result.stdout


def test_from_the_gallery_to_a_file_of_ones_own(tmp_path):
    file = tmp_path / "my top.toml"
    result = run("init", "heavy_top", str(file))
    assert result.returncode == 0, result.stderr
    again = run("init", "heavy_top", str(file))
    assert again.returncode == 2
    assert "already exists" in again.stderr
    changed = run(
        "run", str(file), "--set", "parameters.arm=0.25", "--set", "gravity=[0, 0, -9.81]", "--end", "0.05", "--json"
    )
    assert changed.returncode == 0, changed.stderr
    energy = json.loads(changed.stdout)["runs"][0]["kinetic_energy_at_start"]
    spin = np.array([20 * np.pi, 10 * np.pi])
    assert energy == pytest.approx(0.5 * (spin**2 @ (np.array([0.306, 0.09]) + 21.6 * 0.25**2)), rel=1e-12)
    wrong = run("run", str(file), "--set", "bodies.top.mas=3")
    assert wrong.returncode == 2
    assert "bodies[0].mas: is unknown here" in wrong.stderr


def test_init_without_a_system_writes_a_starter_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("init")
    assert result.returncode == 0, result.stderr
    assert "now: chasles run model.toml" in result.stdout
    assert "already exists" in run("init").stderr
    own = run("init", "arm.toml")
    assert own.returncode == 0, own.stderr
    text = (tmp_path / "arm.toml").read_text(encoding="utf-8")
    assert "chasles check arm.toml" in text
    assert "model.toml" not in text
    motor = text[text.index("# [[forces]]") : text.index("[initial]")]
    (tmp_path / "arm.toml").write_text(text.replace(motor, re.sub("(?m)^# ", "", motor)), encoding="utf-8")
    for file in ("model.toml", "arm.toml"):  # as it is, and with the motor that its comments offer
        checked = json.loads(run("check", file, "--json").stdout)
        assert checked["mistakes"] == []
        assert checked["doubts"] == []
        ran = run("run", file, "--end", "0.2")
        assert ran.returncode == 0, ran.stderr
    unknown = run("init", "slider_crnk").stderr
    assert "'slider_crank'" in unknown
    assert "starter model" in unknown


def test_schema_and_the_example_of_the_docs(tmp_path):
    file = tmp_path / "model.schema.json"
    result = run("init", "--schema", str(file))
    assert result.returncode == 0, result.stderr
    assert "bodies" in json.loads(file.read_text(encoding="utf-8"))["properties"]
    assert run("init", "--schema", str(file)).returncode == 2  # it is there already
    page = (Path(__file__).parents[2] / "docs" / "assistants.md").read_text(encoding="utf-8")
    model = tmp_path / "pendulum.toml"
    model.write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    checked = run("check", str(model), "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["freedoms"] == 1


@pytest.mark.parametrize("name", model_files())
def test_check_of_the_whole_gallery(name):
    result = run("check", name, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["mistakes"] == []
    open_ones = [line for line in found["lines"] if "reactions that rigid bodies do not determine" in line]
    assert len(open_ones) == (found["redundant"] > 0)


def test_check_and_list():
    result = run("check", "three_bar", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["freedoms"], found["equations"], found["redundant"], found["singular"]) == (3, 9, 0, False)
    shown = run("check", "three_bar")
    for part in ("mass [kg]", "joint 3", "3 degrees of freedom, 9 constraint equations"):
        assert part in shown.stdout
    listed = run("list", "--json")
    names = json.loads(listed.stdout)
    assert {"heavy_top", "three_bar"} <= set(names["gallery"])
    assert names["methods"]["dopri5"].startswith("order 5, error estimate of order 4")


def test_linearize(tmp_path):
    """Frequencies of a model with a loop, the same in both kinds of coordinates, and what cannot be found."""
    file, system = tmp_path / "linkage.toml", closed.four_bar(stiffness=30.0, damping=0.7)
    file.write_text(model_text(Study(system, {"q": {"A": 0.5}})))
    result = run("linearize", str(file), "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    rest = chasles.equilibrium(system, {"A": 0.5})
    (mode,) = chasles.linearize(system, rest.q).modes
    assert found["modes"][0]["frequency"] == pytest.approx(mode.frequency, rel=1e-10)
    assert found["modes"][0]["shape"]["A"][0][0] == pytest.approx(mode.shape[0].real, abs=1e-10)
    assert found["q"]["A"] == pytest.approx(rest.q[:1], abs=1e-12)
    other = json.loads(run("linearize", str(file), "--json", "--set", "simulation.coordinates=absolute").stdout)
    assert other["modes"][0]["frequency"] == pytest.approx(mode.frequency, rel=1e-10)
    shown = run("linearize", str(file), "--at-start").stdout
    assert "four-bar: about the start; not an equilibrium" in shown
    assert "frequency [Hz]" in shown
    assert "--at-start takes them" not in shown + result.stdout
    turning = tmp_path / "turning.toml"
    turning.write_text(model_text(Study(system, {"q": {"A": 0.5}, "v": {"A": 2.0}})))
    assert (
        "initial velocities of the model are not in it; --at-start takes them" in run("linearize", str(turning)).stdout
    )
    falling = run("linearize", "floating_bodies", "--set", "gravity=[0, 0, -9.81]")
    assert falling.returncode == 2
    assert "or take --at-start" in falling.stderr


def test_check_of_a_robot_that_stands_on_a_link_without_mass(tmp_path):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    (tmp_path / "arm.urdf").write_text(
        f'<robot name="arm"><link name="world"/><link name="base">{inertial}</link><link name="arm">{inertial}</link>'
        '<joint name="fix" type="fixed"><parent link="world"/><child link="base"/></joint>'
        '<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>'
        "</robot>"
    )
    result = run("check", str(tmp_path / "arm.urdf"), "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["freedoms"], found["redundant"]) == (1, 0)
    assert found["lines"][-1].startswith("absolute coordinates: not possible, because body 'world' has mass 0")


def interruptible(*arguments: str) -> subprocess.Popen:
    """A process that listens to Ctrl-C; pytest's may ignore it."""
    listen = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    command, pipe = [sys.executable, "-m", "chasles", *arguments], subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=listen)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_keeps_what_was_computed(tmp_path):
    file = tmp_path / "run.h5"
    with limited(interruptible("run", "heavy_top", "--end", "3000", "-o", str(file))) as process:
        wait_for(file, process)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    spoken = [line for line in said.splitlines() if not line.startswith("chasles: compiling")]  # with an empty cache
    assert "interrupted at t = " in spoken[0]
    assert f"what was computed is above, and in {file}" in said
    assert "certificate of 'heavy_top'" in out
    opened = chasles.open(file)
    assert not opened.success
    assert 1 < len(opened) < 3_000_000


def test_ctrl_c_without_a_certificate_does_not_speak_of_one(tmp_path):
    stopped = [
        "import signal",
        "once = [signal.SIGINT]",
        "def stop(t, q, v, p, out):",
        "    if t > 1.0 and once:",
        "        signal.raise_signal(once.pop())",
    ]
    (tmp_path / "laws.py").write_text("\n".join(stopped))
    file = tmp_path / "rod.toml"
    file.write_text(
        'bodies = [{ name = "rod", mass = 1, com = [0, 0, -0.5], inertia = [0.1, 0.1, 0.01] }]\n'
        'joints = [{ name = "hinge", kind = "revolute", parent = "ground", child = "rod", axis = [0, 1, 0] }]\n'
        'forces = [{ name = "hand", kind = "joint_force", joint = "hinge", value = { law = "stop" } }]\n'
        'simulation = { span = [0, 8], method = "rk4", step = "1 ms" }\n'
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = run("run", str(file), "--law", str(tmp_path / "laws.py"), "--no-certificate")
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.returncode == 130, result.stderr
    assert "interrupted; what was computed is above" in result.stderr
    assert "certificate" not in result.stdout + result.stderr
    assert "FAILED" not in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.study
def test_ctrl_c_is_answered_at_once_and_a_second_one_skips_the_rest(tmp_path):
    """The answer says what is left to do, which is not done then."""
    file = tmp_path / "run.h5"
    with limited(interruptible("run", "heavy_top", "--end", "30000", "-o", str(file))) as process:
        wait_for(file, process)
        time.sleep(4.0)
        process.send_signal(signal.SIGINT)
        lines = [process.stderr.readline(), process.stderr.readline()]  # before the certificate: that takes minutes
        assert "interrupted at t = " in lines[0]
        assert "left to do: the certificate of" in lines[1]
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "without a certificate" in said
    assert "certificate of" not in out
    assert 'resume("run.h5") continues it' in chasles.open(file).message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "heavy_top", "--step", "-1"), "step"),
        (
            ("run", "unknown"),
            "no such system in the gallery; there are andrews, bennett, bricard, cable_with_load",
        ),
        (("run", "heavy-top"), "did you mean 'heavy_top'?"),
        (("run", "heavy_top", "--method", "rk5"), "did you mean 'rk4'?"),
        (("run", "heavy_top", "--set", "bodies.tops.mass=3"), "did you mean 'bodies.top'?"),
        (("run", "heavy_top", "--set", "mass"), "expected path=value"),
        (("run", "heavy_top", "--step", "abc"), "abc"),
        (("reproduce", "mueller22"), "no paper 'mueller22'; did you mean 'mueller2022'"),
        (("reproduce", "celledoni2022", "--figure", "4"), "no numerical figure 4; it has 2, 3, 5"),
        (("reproduce", "celledoni2022", "--figure", "five"), "five"),
        (("compare", "nothing"), "heavy_top"),
        (("compare", "heavy_top", "--method", "rk5", "--end", "0.01"), "compare: method is 'rk5'"),
        (("compare", "heavy_top", "--halvings", "-1"), "halvings"),
        (("nonsense",), "nonsense"),
    ],
)
def test_mistakes_end_with_a_message_and_no_traceback(arguments, message):
    result = (process if arguments == ("run", "heavy-top") else run)(*arguments)
    assert result.returncode != 0
    output = result.stdout + result.stderr
    assert message in output
    assert "Traceback" not in output


def test_reproduce_one_figure(tmp_path):
    result = run("reproduce", "celledoni2022", "--figure", "16", "--output", str(tmp_path / "figures"))
    assert result.returncode == 0, result.stderr
    for part in (
        "paper says",
        "we measure",
        "agrees?",
        "deviation at t = 5 s [m]: 5.12e-05",
        "2 of 2 statements agree",
    ):
        assert part in result.stdout
    names = ["figure_16.json", "figure_16.png", "figure_16_deviation.csv"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == names
    assert (tmp_path / "figures" / "figure_16.png").stat().st_size > 10_000


@pytest.mark.study
def test_reproduce_one_figure_of_mueller2013(tmp_path):
    result = run("reproduce", "mueller2013", "--figure", "13", "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "1 of 3 statements agree" in result.stdout
    names = ["figure_13.json", "figure_13.png", "figure_13_SE3.csv", "figure_13_SO3xR3.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_compare_writes_a_table_and_files(tmp_path):
    options = (
        "--end",
        "0.02",
        "--halvings",
        "1",
        "--method",
        "rk4",
        "--method",
        "cf4",
        "--output",
        str(tmp_path / "new"),
    )
    result = run("compare", "heavy_top", *options)
    assert result.returncode == 0, result.stderr
    for part in ("heavy_top, t = 0 to 0.02 s", "position violation", "energy error", "SE(3) over SO(3)", "16 runs"):
        assert part in result.stdout
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["comparison.csv", "comparison.png"]


def test_reproduce_where_no_folder_can_be(tmp_path):
    (tmp_path / "taken").write_text("")
    result = run("reproduce", "celledoni2022", "--figure", "16", "--output", str(tmp_path / "taken"))
    assert result.returncode == 2
    assert "no folder" in result.stderr
    assert "--output" in result.stderr
    assert "Traceback" not in result.stderr


def test_info_names_what_it_stands_on():
    result = run("info")
    assert result.returncode == 0, result.stderr
    for word in ("numba", "vectors", "4 doubles", "cache", "extra test", "Python"):
        assert word in result.stdout


LOOKED_FOR = """
import sys
from chasles.cli.warm import warm
from chasles.kernel.code_store import CodeStore

warm(clean=True, jobs=1)
looked, load = [], CodeStore.load

def counted(self, kinds):  # called for every signature that this process does not have yet
    looked.append(self._function.__qualname__)
    return load(self, kinds)

CodeStore.load = counted
from chasles.gallery import model_files
from chasles.integrate.method_name import LONG, SHORT, method_from
from chasles.io.load import load as load_model
from chasles.simulation.mobility import mobility

for name, file in model_files().items():
    study = load_model(file)
    study.run(span=(0, 4e-3), progress=False).certificate
    mobility(study.system, poses=study.poses()[0])
    for method in (*SHORT, *LONG):
        try:
            found = study.run(span=(0, 2e-4), coordinates="absolute", method=method_from(method), step=1e-4)
            found.certificate
        except ValueError as error:  # a method that is not for this system, of which it says why
            why = ("does not know", "is for", "takes no correction", "is not; take Rattle", "are for trees")
            assert any(part in str(error) for part in why), (name, method, error)
print("looked for:", *looked, file=sys.stderr)
"""


def test_warm_cleans_up_and_says_where_code_is(tmp_path, monkeypatch, capsys):
    from chasles.kernel import cache

    warm = importlib.import_module("chasles.cli.warm")  # the package has the command by that name
    stale, done = tmp_path / "stale.nbc", []
    stale.touch()
    monkeypatch.setattr(cache, "files", lambda: ([], [stale]))
    monkeypatch.setattr(warm, "all_tasks", lambda: [("one", lambda: done.append(1)), ("two", lambda: done.append(2))])
    warm.warm(clean=True, jobs=1)
    assert done == [1, 2]
    assert not stale.exists()
    assert "2 tasks" in capsys.readouterr().out


@pytest.mark.study
def test_warm_compiles_everything(tmp_path):
    """After `chasles warm` no model of the gallery needs a function that was not compiled, with any method.

    The folder begins as a copy of the ordinary cache, so it costs little when the other tests ran; code of another
    version in it is removed."""
    from chasles.kernel import cache

    tmp_path.chmod(0o700)
    shutil.copytree(cache.folder(), tmp_path / "compiled")
    stale, other = (tmp_path / "compiled" / name for name in (f"x-{'0' * 16}-{'0' * 16}.nbc", "not-ours"))
    stale.touch()
    other.touch()
    result = subprocess.run(
        [sys.executable, "-c", LOOKED_FOR],
        env=os.environ | {"CHASLES_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "removed" in result.stdout
    assert result.stderr.rstrip().endswith("looked for:"), result.stderr
    assert not stale.exists()
    assert other.exists()
    assert list((tmp_path / "compiled").glob("lie.se3.se3_dexpinv*.nbc"))


def test_the_help_of_every_command_shows_its_examples(capsys, monkeypatch):
    """What reads docstrings takes a line "Examples:" for a section of its own, and leaves it out."""
    monkeypatch.setenv("COLUMNS", "500")
    for name in cli.COMMANDS:
        module = cli.MODULES.get(name, name)
        text = inspect.getdoc(getattr(importlib.import_module(f"chasles.cli.{module}"), module))
        cli.make_app(name)([name, "--help"], result_action="return_value", exit_on_error=False)
        said = capsys.readouterr().out
        assert [line for line in re.findall(r"^ *(chasles \w+ .*)$", text, re.MULTILINE) if line not in said] == []


def test_view_changes_models_and_their_end(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("chasles.view.page.Page.save", lambda page, file: shown.append(page) or file.write_text(""))
    view = partial(importlib.import_module("chasles.cli.view").view, ["heavy_top"], output=tmp_path / "a.html")
    view(end="20ms")
    view(end="20ms", change=["arm=0.3"])
    (usual,), (changed,) = (page.data["runs"] for page in shown)
    assert usual["span"] == changed["span"] == [0.0, 0.02]
    assert usual["scene"]["bodies"] != changed["scene"]["bodies"]


def test_examples_of_changes_in_the_help_work():
    said = run("run", "--help").stdout
    examples = re.findall(r"chasles run (\w+) --set (\S+)", said)
    assert examples
    shown = re.search(r"such\s+as\s+(\S+=\S+)\s+or\s+(\S+=\S+);", said)
    assert shown is not None
    for model, change in [*examples, *(("heavy_top", each) for each in shown.groups())]:
        find_study(model, [change])


URDF = """<robot name="arm"><link name="base"/><link name="upper"><inertial><mass value="1"/><origin xyz="0 0 -0.25"/>
<inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/></joint>
</robot>"""


def test_from_urdf_to_a_table(tmp_path):
    model, file, run_file, table = (tmp_path / name for name in ("arm.urdf", "arm.toml", "run.h5", "run.csv"))
    model.write_text(URDF)
    converted = run("convert", str(model), str(file))
    assert converted.returncode == 0, converted.stderr
    assert "base on the ground" in file.read_text()
    changed = ("--set", "initial.q.shoulder=0.5", "--end", "0.1", "--step", "0.01", "--method", "rk4")
    done = run("run", str(file), *changed, "-o", str(run_file), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"][0]["steps"] == 10
    exported = run("export", str(run_file), str(table))
    assert exported.returncode == 0, exported.stderr
    lines = table.read_text().splitlines()
    assert len(lines) == 12
    assert lines[0].startswith("t [s],shoulder.q0 [rad],")
    same = run("export", str(run_file), "-o", str(tmp_path / "same.csv"))
    assert same.returncode == 0, same.stderr
    assert (tmp_path / "same.csv").read_text() == table.read_text()
    for files in ((), (str(table), "-o", str(table))):
        wrong = run("export", str(run_file), *files)
        assert (wrong.returncode, "give the file to write, once" in wrong.stderr) == (2, True)
    for command in (("run", str(tmp_path)), ("run", "--resume", str(tmp_path)), ("export", str(tmp_path), "x.csv")):
        wrong = run(*command)
        assert (wrong.returncode, "is a folder" in wrong.stderr) == (2, True), wrong.stderr
    again = run("run", "--resume", str(run_file), "--json")  # at its end already
    assert json.loads(again.stdout)["runs"][0]["end"] == 0.1
    wrong = run("run", str(model), "--set", "gravity=[0, 0, 0]")
    assert wrong.returncode == 2
    assert "convert first" in wrong.stderr


def test_what_the_start_gives_is_held_and_the_rest_is_found_and_shown(tmp_path):
    file = tmp_path / "crank.toml"
    model = model_text(planar.slider_crank(planar.Place(planar.about((0.0, 1.0, 0.0)))))
    file.write_text(model + "\n[initial]\nq.A = 0.4\nv.A = 20\n")
    refused = run("run", str(file), "--end", "0.02", "--set", "initial.assemble=false")
    assert refused.returncode == 2
    assert "'S' by" in refused.stderr
    for way in ("assemble = true under [initial]", "--set initial.assemble=true"):
        assert way in " ".join(refused.stderr.split())
    result = run("run", str(file), "--end", "0.02", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)["runs"][0]
    assert found["start"]["A"] == {"joint": "A", "q": "0.4 rad", "v": "20 rad/s", "q_from": "given", "v_from": "given"}
    assert found["start_changes"]
    assert not any(change["given"] for change in found["start_changes"])
    other = chasles.load(file).run(span=(0.0, 0.01))
    assert (other.joint("A").q[0, 0], other.joint("A").v[0, 0]) == (0.4, 20.0)
    assert other.violations.position[0].max() < 1e-13
    assert found["kinetic_energy_at_start"] == other.energies.kinetic[0] > 0.0
    shown = run("run", str(file), "--end", "0.01").stdout
    assert "initial A: 0.4 rad (given), 20 rad/s (given)" in shown
    checked = run("check", str(file), "--json")
    assert json.loads(checked.stdout)["start of the joints"] == list(found["start"].values())
    assert "0.4 rad" in html_report(other)


@pytest.mark.usefixtures("few_restarts")
@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            "[initial]\nq.A = 0\nq.{slide} = 50\n",
            "'A' = 0 rad, {slide!r} = 50 m. With 'A' as given, {slide!r} would be",
        ),
        ("[initial]\nheld = ['Z']\n", "initial.held: names 'Z', of which nothing is given"),
        ("[initial]\nheld = {{ a = ['A'] }}\n", "initial.held.a: is unknown here; expected q or v"),
        ("[initial]\nheld = 3\n", "initial.held: is 3; expected a list"),
        ("[simulation]\nspan = [0, 1]\nstep = 5\n", "step 5.0 is longer than the span"),
        ("[simulation]\nspan = [0, 1]\ncontrol = [1, 2, 3, 4, 5]\n", "the input has shape (5,)"),
        ("[simulation]\nspan = [0, 1]\nsave = [0, 2]\n", "save[1] = 2 is after the end of the span, 1"),
        ("[simulation]\nmethod = 'generalized_alpha'\n", 'coordinates="absolute"'),
    ],
)
def test_check_finds_what_run_would(tmp_path, start, message):
    system = planar.slider_crank(planar.Place(planar.about((0.0, 1.0, 0.0))))
    slide = next(joint.name for joint in system.joints if joint.kind == "prismatic")
    file = tmp_path / "crank.toml"
    file.write_text(model_text(system) + "\n" + start.format(slide=slide))
    with pytest.raises(ValueError) as refused:
        find_study(str(file)).run()
    try:
        found = check_report(find_study(str(file)))["mistakes"]
    except ValueError as error:  # it cannot be read at all
        found = [str(error)]
    assert found == [str(refused.value)]
    assert message.format(slide=slide) in found[0]


def test_doubts():
    rod = chasles.Body("rod", 2.0, inertia=(0.1, 0.1, 0.01))
    loose = chasles.Body("loose", 1000.0, inertia=(1e-6, 1e-6, 1e-6))
    hinge = chasles.revolute("hinge", "ground", "rod", axis=(0, 1, 0), lower=-90, upper=0.5, rest=4 * np.pi)
    study = Study(chasles.System([rod, loose], [hinge]), {"q": {"hinge": 30.0}}, {"span": (0.0, 1.0)})
    found = doubts(study.system, study.initial, study.plan())
    assert len(found) == 5
    assert found[0].startswith("lower of joint 'hinge' is -90 rad, -14.3 turns; for degrees write \"-90 deg\"")
    assert found[1].startswith("initial.q.hinge is 30 rad")
    assert "'loose' has no joint" in found[2]
    assert "'loose' has 1000 kg and a radius of gyration of 3.87e-05 m: no material is so dense" in found[3]
    assert found[4] == "joint 'hinge' starts at 30, beyond its limits -90 to 0.5; which are data only"
    steel = chasles.Body("rod", shapes=[chasles.shapes.Cylinder(0.01, 0.5)], density=7.8)  # meant in g/cm³
    (found,) = doubts(chasles.System([steel], [chasles.revolute("hinge", "ground", "rod", axis=(0, 1, 0))]), {})
    assert found == "body 'rod' has a density of 7.8 kg/m³, as of a gas; for g/cm³ write \"7.8 g/cm^3\""


def test_doubts_about_lengths_in_mm():
    """All of a part in mm, its joints alone, or gravity."""
    in_mm = chasles.Body("rod", shapes=[chasles.shapes.Cylinder(10.0, 200.0)], density=7850.0)
    hinges = [chasles.revolute("a", "ground", "rod", axis=(0, 1, 0))]
    (found,) = doubts(chasles.System([in_mm], hinges), {})
    assert found.startswith("body 'rod' has 4.93e+08 kg by its shapes and density, and a radius of gyration of ")
    assert found.endswith('lengths are in m: for others write "25 mm"')
    for rod in (
        chasles.Body("rod", shapes=[chasles.shapes.Cylinder(0.01, 0.2)], density=7850.0),
        chasles.Body("rod", 0.5, inertia=(2e-3, 2e-3, 1e-5)),
    ):
        tip = chasles.Body("tip", 0.5, inertia=(2e-3, 2e-3, 1e-5))
        far = chasles.revolute("b", "rod", "tip", axis=(0, 1, 0), at=(0, 0, -200))
        (found,) = doubts(chasles.System([rod, tip], [*hinges, far]), {})
        assert found.startswith("body 'rod' has places 200 m apart, and a radius of gyration of 0.0")
    (found,) = doubts(chasles.System([rod], hinges, gravity=(0, 0, -9810)), {})
    assert found == 'gravity is 9810 m/s²; for mm/s² write "9810 mm/s^2"'


def test_nothing_in_the_gallery_is_doubted():
    for name in chasles.gallery.model_files():
        study = chasles.load(name)
        assert doubts(study.system, study.initial) == [], name


@pytest.mark.parametrize(
    ("shell", "status"),
    [
        ("{chasles} list | head -1; exit ${{PIPESTATUS[0]}}", 141),
        pytest.param("{chasles} list >&-", 0, marks=pytest.mark.study),
        pytest.param("{chasles} check nothing 2>&-", 2, marks=pytest.mark.study),
        ("{chasles} list <&- >&- 2>&-", 0),
        ("{chasles} list > /dev/full", 4),
        pytest.param("LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii {chasles} list", 0, marks=pytest.mark.study),
        ("LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii {chasles} check 'Übung ☃.toml'", 2),
    ],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a shell of Linux")
def test_whoever_reads_what_is_said(shell, status, tmp_path):
    """A pager that was left, closed streams, a full disk, a terminal that knows only ASCII: no traceback."""
    command = shell.format(chasles=f"{sys.executable} -m chasles")
    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        errors="replace",
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in result.stdout + result.stderr
    assert "Exception ignored" not in result.stderr
    assert result.returncode == status, result.stderr


def test_the_longest_step_is_that_of_the_user(tmp_path):
    """A slider without forces would take a few long steps."""
    body, joint = chasles.Body("b", 1.0, inertia=(1, 1, 1)), chasles.prismatic("s", "ground", "b", axis=(1, 0, 0))
    (tmp_path / "model.toml").write_text(model_text(chasles.System([body], [joint], gravity=(0, 0, 0))), "utf-8")
    steps = []
    for more in ((), ("--max-step", "0.01")):
        result = run(
            "run", str(tmp_path / "model.toml"), "--end", "1", "--set", 'initial.v={"s" = 1.0}', "--json", *more
        )
        assert result.returncode == 0, result.stderr
        steps.append(json.loads(result.stdout)["runs"][0]["steps"])
    assert steps[0] < 50
    assert 100 <= steps[1] <= 102
    result = run("run", str(tmp_path / "model.toml"), "--end", "1", "--max-step", "-1")
    assert result.returncode != 0
    assert "max_step" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_loads_next_to_nothing():
    """It is there at once: neither arrays nor the commands are loaded."""
    code = (
        "import sys\nfrom chasles.cli import _called\nsys.argv[1:] = ['--help']\n_called()\n"
        "print([name for name in ('cyclopts', 'rich', 'numpy', 'numba', 'chasles.cli.run') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert "Simulate a model" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_overview_has_all_commands_and_what_they_say_of_themselves():
    said = run("--help", columns=1000).stdout
    modules = {path.stem for path in Path(cli.__file__).parent.glob("*.py")}
    for name in cli.COMMANDS:
        module = cli.MODULES.get(name, name)
        function = getattr(importlib.import_module(f"chasles.cli.{module}"), module)
        assert f"{name:<12}" + " ".join(inspect.getdoc(function).split("\n\n")[0].split()) in said
        modules.remove(module)
    assert modules == {"__init__", "drawing", "model", "progress", "streams"}  # no command is left out
    assert run().stdout == run("-h").stdout == run("--help").stdout
    assert max(map(len, run("--help", columns=60).stdout.splitlines())) <= 60
    assert '"run"' in run("runn").stderr
    assert run("--version").stdout.strip() == chasles.__version__


def test_matplotlib_is_loaded_as_it_is():
    """A command leaves out what it writes into docstrings and signatures, and nothing else."""
    code = (
        "from chasles.cli.drawing import load_matplotlib\nfrom matplotlib import artist\nown = artist.kwdoc\n"
        "load_matplotlib()\nassert artist.kwdoc is own\nfrom matplotlib.lines import Line2D\n"
        "assert 'dash_capstyle' in own(Line2D)\nassert Line2D.set.__doc__ is None\n"
        "line = Line2D([], [])\nline.set(color='red', lw=2)\nassert line.get_linewidth() == 2\n"
        "class Later(Line2D):\n    pass\nassert 'dash_capstyle' in Later.set.__doc__"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], timeout=300, check=True)


LAWS = """
from math import sin

import chasles
from chasles import cli


@chasles.law
def drag(t, q, v, parameters, out):
    out[0] = -parameters[0] * v[0]


def push(t, q, v, parameters, out):
    out[0] = sin(t)


def _helper():
    raise RuntimeError
"""


def test_laws_of_a_python_file(tmp_path):
    rod = chasles.Body("rod", 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1))
    hinge = chasles.revolute("hinge", "ground", "rod", axis=(0, 1, 0))
    file, laws = tmp_path / "rod.toml", tmp_path / "own_laws.py"
    text = model_text(chasles.System([rod], [hinge]))
    for name in ("drag", "push"):
        text += f'[[forces]]\nname = "{name}"\nkind = "joint_force"\njoint = "hinge"\nvalue = {{ law = "{name}" }}\n'
        text += "parameters = [2.0]\n"
    file.write_text(text)
    laws.write_text(LAWS)
    assert set(laws_in([laws])) == {"drag", "push"}
    study = find_study(str(file), None, [laws])
    found = study.run(span=(0.0, 0.1), step=0.05, progress=False)
    by_hand = chasles.simulate(
        chasles.System([rod], [hinge], forces=[chasles.JointForce("both", "hinge", "-2 * v + sin(t)")]),
        (0.0, 0.1),
        step=0.05,
        progress=False,
    )
    np.testing.assert_allclose(found.q, by_hand.q, rtol=1e-13)
    assert not check_report(study)["mistakes"]
    with pytest.raises(ValueError, match=r"needs the law 'drag', .* or --law FILE\.py on the command line"):
        find_study(str(file))
    laws.write_text("import nothing_of_this_name\n")
    for wrong, message in (
        (laws, "own_laws.py: ModuleNotFoundError"),
        (tmp_path / "none.py", "none.py: expected a Python file that is there"),
        (file, "rod.toml: expected a Python file"),
    ):
        with pytest.raises(ValueError, match=message):
            laws_in([wrong])


def test_warnings_show_no_line_of_the_command(monkeypatch):
    """A line in what calls commands says nothing to a user; one in a law of theirs does."""

    def called():
        ours = warnings.formatwarning("drive 'motor': ...", UserWarning, "/lib/cyclopts/_run.py", 44)
        assert ours == "chasles: warning: drive 'motor': ...\n"
        theirs = warnings.formatwarning("divide by zero", RuntimeWarning, "laws.py", 3)
        assert theirs == "chasles: laws.py:3: warning: divide by zero\n"

    monkeypatch.setattr(cli, "_called", called)
    monkeypatch.setattr(cli.registry, "provide", lambda services: None)  # the display is for commands alone
    usual = warnings.formatwarning
    with pytest.raises(SystemExit):
        cli.main()
    assert warnings.formatwarning is usual


def test_check_shows_units_of_limits_and_leaves_out_welds_in_assembly_modes(tmp_path):
    linkage = closed.four_bar()
    system = (
        linkage.with_body(chasles.Body("plate", 0.1, inertia=(0.1, 0.1, 0.1)))
        .with_joint(chasles.weld("rivet", linkage.joints[0].child, "plate"))
        .change("joints.A", lower=-3.0, upper=3.0)
    )
    file = tmp_path / "linkage.toml"
    file.write_text(model_text(Study(system, {"q": {"A": 1.4}})))
    shown = json.loads(run("check", str(file), "--json").stdout)
    assert next(joint["limits"] for joint in shown["joints"] if joint["joint"] == "A") == "-3 to 3 rad, data only"
    assert any("mode 1" in line for line in shown["lines"])
    assert not any("mode" in line and "rivet" in line for line in shown["lines"])
