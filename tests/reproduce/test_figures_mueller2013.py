"""The figures of paper mueller2013: what they measure, and that the verdicts are those measured before."""

import numpy as np
import pytest

from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.reproduce import paper, two_groups
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)

FIGURES = paper("mueller2013")
# statements that do not hold, by figure
DISAGREE = {
    3: ["Energy drift on SE(3)", "two orders of magnitude"],
    5: ["SO(3)×R³"],
    6: ["performance of SE(3): joint 2"] * 2,
    9: ["SE(3)", "SO(3)"],
    10: ["SE(3)", "SO(3)"],
    13: ["SE(3)", "SO(3)×R³"],
}


def test_every_numerical_figure_is_there():
    """Figures 1, 4, 8 and 11 are drawings."""
    assert list(FIGURES) == [2, 3, 5, 6, 7, 9, 10, *range(12, 16)]


@pytest.mark.parametrize("number", FIGURES)
def test_verdicts(number):
    figure = FIGURES[number]()
    assert figure.number == number
    wrong = [claim for claim in figure.claims if not claim.agrees]
    expected = DISAGREE.get(number, [])
    assert len(wrong) == len(expected), wrong
    for claim, part in zip(wrong, expected, strict=True):
        assert part in claim.says
        assert claim.note  # a difference is explained
    assert list(figure.data) == ["SE3", "SO3xR3"]
    for columns in figure.data.values():
        assert len({len(values) for values in columns.values()}) == 1
        assert all(np.isfinite(values).all() for values in columns.values())


def test_sizes_read_off_an_axis():
    assert two_groups.printed("says", "quantity", 1e-6, 4e-6).agrees
    assert not two_groups.printed("says", "quantity", 1e-6, 6e-6).agrees
    assert two_groups.similar("says", "quantity", 1.0, 2.9).agrees
    assert not two_groups.similar("says", "quantity", 1.0, 0.3).agrees
    assert two_groups.largest(np.array([1.0, -3.0, 5.0]), until=1e-3) == 3.0
