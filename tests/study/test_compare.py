"""Comparisons: what a run leaves in its row, which spaces are run, and what the study finds."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.gallery import boxes
    from chasles.integrate.method_name import METHOD_NAMES, method_from
    from chasles.study.choice import explicit_methods, methods_of, spaces_of
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)


def study(name, **options):
    example = boxes.example(name)
    options = {"methods": ["rk4", "cg3"], "steps": [2e-3, 1e-3]} | options
    return ch.compare(example.system, (0.0, 0.2), poses=example.poses, twists=example.twists, **options)


@pytest.fixture(scope="module")
def pendulum():
    return study("double_pendulum")


def test_every_combination_has_a_row(pendulum):
    """Without stabilization "auto" takes SE(3) for the link on the ground and SO(3) x R3 for the other."""
    assert pendulum.methods == ("rk4", "cg3")
    assert pendulum.spaces == ("SE3", "SO3xR3", "auto")
    assert len(pendulum.select(stabilization="none")) == 2 * 3 * 2
    assert len(pendulum.select(stabilization="projection")) == 2 * 2 * 2
    assert pendulum.step_sizes == (2e-3, 1e-3)


def test_auto_is_left_out_where_it_is_one_of_the_others():
    found = study("heavy_top", methods=["rk4"], steps=[1e-3], stabilizations=[None])
    assert found.spaces == ("SE3", "SO3xR3")


def test_what_the_groups_do(pendulum):
    """SE(3) wins on the joint to the ground without stabilization, and on nothing else by much."""
    assert pendulum.ratio("none", "position violation of joint 1").mean < 1e-5
    assert 0.2 < pendulum.ratio("none", "position violation of joint 2").mean < 5
    assert 0.2 < pendulum.ratio("none", "error at the end").mean < 5
    auto = pendulum.select(method="rk4", space="auto", stabilization="none", step=1e-3)[0]
    assert auto.joints[0] < 1e-13
    for row in pendulum.select(stabilization="projection"):
        assert row.position < 1e-13 * 0.4  # of the length of the pendulum
        assert row.velocity < 1e-12
    with pytest.raises(KeyError, match="no ratio"):
        pendulum.ratio("none", "beauty")


def test_numbers_of_a_row(pendulum):
    for method, order in (("rk4", 4), ("cg3", 3)):
        for space in ("SE3", "SO3xR3"):
            assert pendulum.order(method, space, "projection") == pytest.approx(order, abs=0.35)
    row = pendulum.select(method="rk4", space="SE3", stabilization="none", step=1e-3)[0]
    run = boxes.double_pendulum().simulate(0.2, stabilization=None, progress=False)
    assert row.steps == 200
    assert row.evaluations == run.solution.evaluations
    assert row.position == run.violations[0].max()
    assert row.energy == abs(run.energies.balance - run.energies.balance[0]).max()
    assert pendulum.reference_error < 1e-10
    assert row.seconds > 0


def test_table_summary_and_files(pendulum, tmp_path):
    from rich.console import Console

    console = Console(width=180, file=io.StringIO())
    console.print(pendulum.table(), pendulum.summary())
    text = console.file.getvalue()
    for part in ("energy [J]", "rk4", "cg3", "auto", "(4)", "geometric mean", "violation of joint 2"):
        assert part in text
    files = pendulum.save(tmp_path / "new")
    rows = list(csv.DictReader(files[0].read_text().splitlines()))
    assert len(rows) == len(pendulum.rows)
    assert float(rows[0]["position violation of joint 1"]) == pytest.approx(pendulum.rows[0].joints[0], rel=1e-5)
    assert files[1].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["comparison.csv", "comparison.png"]


def test_a_narrow_screen_cuts_and_folds_no_number(pendulum):
    from rich.console import Console

    shown = {}
    for width in (40, 300):
        stream = io.StringIO()
        Console(file=stream, width=width).print(pendulum.table(), soft_wrap=True)
        lines = stream.getvalue().splitlines()
        shown[width] = [words for line in lines if (words := line.split()) and words[0] in pendulum.methods]
    assert shown[40] == shown[300]
    middle = pendulum.step_sizes[len(pendulum.step_sizes) // 2]
    times = {row[-1] for row in shown[40]}
    assert times == {f"{1e3 * row.seconds:.2f}" for row in pendulum.rows if row.step == middle}


def test_pictures_against_steps_or_time(pendulum):
    axes = pendulum.plot(against="seconds").axes[0]
    rows = pendulum.select(method="rk4", space=pendulum.spaces[0], stabilization=pendulum.stabilizations[0])
    assert axes.lines[0].get_xdata().tolist() == [row.seconds for row in rows]
    assert axes.lines[0].get_ydata().tolist() == [row.error for row in rows]
    assert axes.get_xlabel() == "time [s]"
    with pytest.raises(ValueError, match="against 'money'; expected evaluations, steps, seconds, step"):
        pendulum.plot(against="money")


def test_a_run_that_fails_says_so(pendulum):
    failed = replace(pendulum.rows[0], error=np.nan, position=np.nan, energy=np.nan, message="not finite")
    changed = replace(pendulum, rows=(failed, *pendulum.rows[1:]))
    assert "not finite" in changed.csv()
    assert changed.ratio("none", "position violation").mean > 0
    changed.plot()


def test_a_mapping_of_bodies_is_a_space():
    found = study(
        "double_pendulum",
        methods=[ch.integrate.RKMK("heun")],
        steps=[1e-3],
        spaces=[{"link 2": "SE3"}],
        stabilizations=[None],
    )
    assert found.spaces == ("mapping",)
    assert found.ratios == ()


def test_energy_momentum_runs_wherever_all_bodies_are_on_so3xr3():
    """Also if a mapping says so, or leaves bodies out, which means the same."""
    spaces = [{"link 1": "SO3xR3"}, {"link 2": "SE3"}, {"link 1": "SO3xR3", "link 2": "SO3xR3"}]
    found = study("double_pendulum", methods=["energy_momentum"], steps=[2e-3], spaces=spaces)
    assert [row.space for row in found.rows] == ["mapping", "mapping 2"]
    assert found.rows[0].energy == found.rows[1].energy < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["rk5"]}, "compare: method is 'rk5'"),
        ({"spaces": ["SO3"]}, "space 'SO3'"),
        ({"stabilizations": ["baumgarte!"]}, "stabilization 'baumgarte!'"),
        ({"steps": [0.0]}, "expected positive numbers"),
        ({"steps": []}, "expected positive numbers"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        study("heavy_top", **options)


def test_all_explicit_methods_are_known():
    names = explicit_methods()
    for name in ("rk4", "dopri5", "dop853", "cf4", "cg3", "carpenter_kennedy"):
        assert name in names


def test_names_are_those_of_simulate():
    """One list for `compare`, `simulate`, `sensitivities`, files and the command line."""
    assert {"hem5", "bliedf3", "generalized_alpha_index3", "lie_midpoint", "cf4", "rk4"} <= set(METHOD_NAMES)
    for name in METHOD_NAMES:
        assert methods_of([name]) == {name: method_from(name)}
    example = boxes.example("double_pendulum")
    options = {"coordinates": "absolute", "step": 2e-3, "poses": example.poses, "twists": example.twists}
    by_name, by_class = (
        ch.simulate(example.system, (0.0, 6e-3), method=method, **options)
        for method in ("hem5", ch.integrate.HalfExplicit(5))
    )
    assert np.array_equal(by_name.solution.y, by_class.solution.y)


def test_methods_for_constrained_systems_are_compared_too():
    found = study(
        "double_pendulum", methods=["rk4", "hem5", "rattle", "energy_momentum"], stabilizations=["projection"]
    )
    assert [found.select(method=name)[0].index for name in found.methods] == [1, 2, 3, 3]
    assert {row.space for row in found.select(method="energy_momentum")} == {"SO3xR3"}
    assert {row.stabilization for row in found.select(method="hem5")} == {"own"}
    for name, order in (("hem5", 5), ("rattle", 2), ("energy_momentum", 2)):
        assert found.order(name, "SO3xR3", "own") > order - 0.3
    lines = found.recommendation(1e-3).splitlines()
    assert lines[0].startswith("fastest to an error below 1.0e-03: ")
    assert lines[1].startswith("smallest energy error: energy_momentum (index 3) on SO3xR3")
    assert "none of these runs" in found.recommendation(1e-30)


def test_spaces_given_for_each_body_beside_auto_and_nothing_to_run():
    system = boxes.example("double_pendulum").system
    names = list(spaces_of(system, [{body.name: "SE3" for body in system.bodies}, "auto"], None))
    assert names == ["mapping", "auto"]
    with pytest.raises(ValueError, match="nothing to run"):
        study("double_pendulum", methods=["energy_momentum"], spaces=["SE3"])


def test_rods_are_compared_by_implicit_methods():
    """Explicit ones cannot take steps of this length: axial waves are fast. The reference is implicit too."""
    rubber, line = ch.rods.Material(1e8, 0.3, 1000.0), ch.rods.Line((0, 0, 0), (1, 0, 0))
    rod = ch.Rod("b", line, ch.rods.Circle(0.02), rubber, ("ground", "free"), 4, damping=1e-3)
    found = ch.compare(ch.System(rods=[rod]), (0.0, 0.02), steps=[2e-3, 1e-3], spaces=["SO3xR3"])
    assert found.methods == ("generalized_alpha", "bliedf2", "radau5")
    assert found.reference == "radau5 at 1e-10"
    errors = {row.method: row.error for row in found.rows if row.step == 1e-3}
    assert errors["radau5"] < errors["generalized_alpha"] < 1e-3
    assert "fastest" in found.recommendation()
    assert found.reference_error < 1e-6
