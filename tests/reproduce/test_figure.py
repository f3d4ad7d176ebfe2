"""Claims, the table and the files, on a small made-up figure."""

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from chasles import reproduce
from chasles.reproduce.figure import Claim, Figure, notes, save, table


@pytest.mark.parametrize(
    ("measured", "low", "high", "agrees", "accepted"),
    [
        (2.03, 1.9, 2.1, True, "1.9 to 2.1"),
        (2.2, 1.9, 2.1, False, "1.9 to 2.1"),
        (1e-15, -np.inf, 1e-13, True, "at most 1e-13"),
        (1e-12, -np.inf, 1e-13, False, "at most 1e-13"),
        (3.0, 2.0, np.inf, True, "at least 2"),
        (np.nan, 2.0, np.inf, False, "at least 2"),
        (np.nan, -np.inf, 2.0, False, "at most 2"),
    ],
)
def test_a_verdict_follows_from_the_number(measured, low, high, agrees, accepted):
    claim = Claim("says", "quantity", measured, low, high)
    assert (claim.agrees, claim.accepted) == (agrees, accepted)


def made_up(number=3):
    x = np.linspace(0, 1, 5)
    claims = [
        Claim("Order 2 [sic]", "order [1]", 2.01, 1.9, 2.1, "measured at x = 1"),
        Claim("Grows", "slope", np.nan, low=1, note="measured at x = 1"),
        Claim("Small", "size", 0.1, high=1, note="another"),
    ]
    data = {"curve": {"x [m]": x, "y": x**2}, "names": {"name": ["a", "b"], "n": np.array([1, 2])}}
    return Figure(number, "made up", data, claims, lambda canvas: canvas.add_subplot().plot(x, x**2))


def test_files(tmp_path):
    folder = tmp_path / "new" / "folder"
    for _ in range(2):  # the second time over the first
        files = save(made_up(), folder, "celledoni2022")
    assert sorted(path.name for path in files) == sorted(path.name for path in folder.iterdir())
    assert {path.name for path in files} == {
        *("figure_03.png", "figure_03_curve.csv", "figure_03_names.csv", "figure_03.json"),
    }
    assert files[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    rows = list(csv.DictReader((folder / "figure_03_curve.csv").read_text().splitlines()))
    assert [float(row["y"]) for row in rows] == [x**2 for x in np.linspace(0, 1, 5)]  # to the last bit
    assert (folder / "figure_03_names.csv").read_text() == "name,n\na,1\nb,2\n"
    content = json.loads((folder / "figure_03.json").read_text())
    assert content["paper"] == "celledoni2022"
    assert [claim["agrees"] for claim in content["claims"]] == [True, False, True]
    assert content["claims"][0]["accepted"] == [1.9, 2.1]
    assert content["claims"][1]["measured"] is None


def test_a_figure_that_cannot_be_drawn_leaves_the_old_files(tmp_path):
    def broken(canvas):
        raise ArithmeticError("no picture")

    save(made_up(), tmp_path, "celledoni2022")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    figure = made_up()
    with pytest.raises(ArithmeticError, match="no picture"):
        save(Figure(3, "other", {"curve": {"x": np.zeros(2)}}, (), broken, figure.size), tmp_path, "celledoni2022")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_table_and_notes():
    figures = [made_up(), made_up(5)]
    assert notes(figures) == {"measured at x = 1": 1, "another": 2}
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(table(figures))
    text = console.export_text()
    for part in ("paper says", "we measure", "agrees?", "Order 2 [sic]", "order [1]: 2.01", "yes (1)", "no (1)", "nan"):
        assert part in text


def test_an_unknown_paper_is_refused():
    with pytest.raises(ValueError, match="no paper 'mueller22'; did you mean 'mueller2022'"):
        reproduce.paper("mueller22")
