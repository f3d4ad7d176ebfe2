"""Methods as files write them: of one's own too, to the same bits."""

import json
from fractions import Fraction

import numpy as np
import pytest

from chasles.integrate.method import RKMK
from chasles.integrate.method_name import method_from, name_of
from chasles.integrate.solver import solve
from chasles.integrate.tableau import TABLEAUX, Tableau
from tests.integrate.problems import problem

EQUATION, START = problem("ts2")
OWN = [
    Tableau("third", 3, ((), (Fraction(1, 3),), (0, Fraction(2, 3))), (0.25, 0, Fraction(3, 4))),
    Tableau("pair", np.int64(2), ((), (np.float64(0.1) * 10,)), (0.5, 0.5), (1.0, 0.0), 1),
    TABLEAUX["dop853"],
]


@pytest.mark.parametrize("tableau", OWN, ids=lambda tableau: tableau.name)
def test_an_own_tableau_is_written_to_the_same_bits(tableau):
    for method in (RKMK(tableau), RKMK(tableau, dexpinv=2), RKMK(tableau, coordinates="cay")):
        written = method_from(json.loads(json.dumps(name_of(method))))
        assert written == method
        assert np.array_equal(written.table.matrix, method.table.matrix)
        one, two = (solve(EQUATION, m, (0, 1), START, step=1 / 8) for m in (method, written))
        assert np.array_equal(one.y, two.y)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"b": None}, "a tableau without b"),
        ({"c": [0.0]}, "c is unknown for a tableau"),
        ({"a": [[], [float("nan")]]}, "finite numbers"),
        ({"a": [[], ["x"]]}, "finite numbers"),
        ({"a": 3}, "rows of numbers"),
        ({"b": [1.0]}, "i entries"),
        ({"b": 1.0}, "rows of numbers"),
        ({"order": 2.5}, "whole numbers"),
        ({"order": 0}, "at least 1"),
        ({"name": 3}, "expected a text"),
        ({"second_embedded": [1.0, 0.0]}, "second embedded"),
        ({"name": "rk4", "dexpinv": "minimal"}, "minimal commutators"),  # they belong to the stages of the known one
    ],
)
def test_a_tableau_in_a_file_is_checked(changes, message):
    tableau = {"name": "own", "order": 2, "a": [[], [0.5]], "b": [0.0, 1.0], **changes}
    tableau = {key: value for key, value in tableau.items() if value is not None}
    more = {"dexpinv": tableau.pop("dexpinv")} if "dexpinv" in tableau else {}
    with pytest.raises(ValueError, match=message):
        method_from({"name": "rkmk", "tableau": tableau, **more})
