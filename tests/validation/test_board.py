"""The board of benchmark problems: every row agrees, and a wrong one would be seen."""

import json

import numpy as np
import pytest

from chasles.validation.board import Problem, compute, markdown, problems, row
from tests.commands import chasles as run

LONG = {"implicit_oscillator"}  # compiles a method that no other test of the ordinary run needs
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


def test_the_board_is_large():
    assert len(ALL) >= 30
