"""The board of benchmark problems: every row agrees, and a wrong one would be seen."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.validation.board import Problem, anchor, compute, markdown, problems, row
from chasles.validation.files import write_files
from chasles.validation.peers import installed
from tests.commands import chasles as run

# one compiles a method that no other test of the ordinary run needs, one is in the tests of `gradient`, two linkages in
# those of the gallery; of the others the motions are long, and shorter ones are here
LONG = {
    "implicit_oscillator",
    "sundials_slider_crank",
    "bricard",
    "four_bars",
    "flyball_governor",
    "cycloidal_pendulum",
    "forty_four_bars",
    "orders_of_methods",
}
ALL = problems()


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.study) if n in LONG else n for n in ALL])
def test_known_values_are_met(name):
    (result,) = compute([ALL[name]])
    assert not result.error
    off = [f"{one.quantity}: {one.difference:.1e} > {one.tolerance:.0e}" for one in result.rows if not one.passed]
    assert result.rows
    assert not off


def test_wrong_values_are_seen():
    assert row("x", [1.0, 2.0], [1.0, 2.1], 0.2).passed
    assert not row("x", [1.0, 2.0], [1.0, 2.3], 0.2).passed
    assert not row("x", 1.0, np.nan, 1.0).passed
    with pytest.raises(ValueError, match="shape"):
        row("x", [1.0], [1.0, 2.0], 0.2)

    def breaks():
        raise RuntimeError("no convergence")

    wrong = Problem("wrong", "A wrong one", "nobody", lambda: [row("x", 1.0, 2.0, 0.1)])
    results = list(
        compute([wrong, Problem("broken", "A broken one", "nobody", breaks), Problem("empty", "", "", list)])
    )
    assert not any(result.passed for result in results)
    page = markdown(results)
    assert "**off**" in page
    assert "no convergence" in page


def test_the_command(tmp_path):
    page = tmp_path / "board.md"
    result = run("validate", "rbdl", "--json", "-o", str(page))
    assert result.returncode == 0, result.stderr
    (found,) = json.loads(result.stdout)
    assert found["problem"] == "rbdl"
    assert all(one["passed"] for one in found["rows"])
    assert "tree of five" in page.read_text(encoding="utf-8")
    unknown = run("validate", "rdbl")
    assert unknown.returncode == 2
    assert "did you mean 'rbdl'" in unknown.stderr


def test_a_problem_has_its_files(tmp_path):
    """The model file is read back, and its run passes through the same points."""
    result = run("validate", "pendulum", "--files", str(tmp_path), "--badge", str(tmp_path / "badge.svg"))
    assert result.returncode == 0, result.stderr
    assert {file.name for file in tmp_path.iterdir()} == {f"pendulum.{end}" for end in ("toml", "html", "png")} | {
        "badge.svg"
    }
    assert "1 problem, 2 of 2 values agree" in (tmp_path / "badge.svg").read_text()
    again = ch.load(tmp_path / "pendulum.toml").run(certificate=False)
    assert abs(again.q[0, 0] - 2 * np.pi / 3) < 1e-15
    assert abs(again.q[-1, 0]) < 1e-6  # five quarters of the period


def checked(file: Path) -> None:
    laws = [part for law in file.parent.glob(f"{file.stem}_laws.py") for part in ("--law", str(law))]
    found = json.loads(run("check", str(file), "--json", *laws).stdout)
    assert found["mistakes"] == [], file.name


@pytest.mark.parametrize("name", ["tippe_top", *(pytest.param(n, marks=pytest.mark.study) for n in ALL)])
def test_every_mechanism_has_a_model_a_page_and_a_plot(name, tmp_path):
    """The laws that a file cannot hold stand beside it. Two problems are of the integrators alone."""
    (_,) = compute([ALL[name]])
    files = write_files(ALL[name], tmp_path)
    assert bool(files) != (name in ("screw_motion", "orders_of_methods"))
    for file in files:
        assert file.stat().st_size > 0
        if file.suffix == ".toml":
            checked(file)


def test_the_page_of_the_documentation_is_that_of_the_board():
    """Computed values may differ in last digits from machine to machine; problems, sources and numbers do not."""
    docs = Path(__file__).parents[2] / "docs"
    page, picture = (docs / name for name in ("validation.md", "_static/validation.svg"))
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (?!All problems)(.*)$", text, re.MULTILINE) == [one.title for one in ALL.values()]
    for one in ALL.values():
        assert re.search(rf"^`{one.name}`, [\d.]+ s\. Known values: {re.escape(one.source)}\.$", text, re.MULTILINE)
        assert f"](#{anchor(one.title)})" in text
    count = len(re.findall(r"\| (?:ok|\*\*off\*\*) \|", text))
    assert f"{len(ALL)} problems, {count} quantities, {count} within their tolerance." in text
    assert f"{len(ALL)} problems, {count} of {count} values agree" in picture.read_text(encoding="utf-8")
    (result,) = compute([ALL["rbdl"]])
    assert all(f"| {one.quantity} [{one.unit}] |" in text for one in result.rows)


@pytest.mark.parametrize("name", ["lagrange_top", "rbdl", pytest.param("heavy_top", marks=pytest.mark.study)])
def test_peers_compute_the_same_problem(name):
    """By their own equations: their last digits differ, and steps of MuJoCo are of order 4."""
    (result,) = compute([ALL[name]], installed())
    assert set(result.peers) == {"Pinocchio", "MuJoCo"}
    for peer, rows in result.peers.items():
        for one, ours in zip(rows, result.rows, strict=True):
            assert one.difference <= max(ours.tolerance, 1e-4 if peer == "MuJoCo" else 0.0)
    theirs, ours = (
        np.concatenate([one.ours.ravel() for one in rows]) for rows in (*result.peers.values(), result.rows)[1:]
    )
    assert np.any(theirs != ours)
    assert f"| {' | '.join(result.peers)} |" in markdown([result])


def test_what_peers_cannot_compute_has_no_column():
    found = list(compute([ALL["pendulum"], ALL["slider_crank"]], installed()))
    assert list(found[0].peers) == ["Pinocchio"]  # MuJoCo takes no point masses
    assert not found[1].peers


def test_the_board_is_large():
    assert len(ALL) >= 55
