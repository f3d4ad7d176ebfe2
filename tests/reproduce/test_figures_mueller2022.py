"""The study of mueller2022: what it measures, and that the verdicts are those measured before. Times are not
judged here.
"""

import numpy as np
import pytest

from chasles.kernel.policy import COMPILED

if COMPILED:
    from chasles.reproduce import coordinate_study, paper
    from chasles.reproduce.coordinate_study import DIRECT, measured
    from chasles.reproduce.direct_integration import WAYS
else:
    pytest.skip(reason="the integrators need the compiler", allow_module_level=True)

FIGURES = paper("mueller2022")
DISAGREE = {1: ["Renormalization"], 2: ["Renormalization"]}


def check(number):
    figure = FIGURES[number]()
    assert figure.number == number
    judged = [claim for claim in figure.claims if not claim.note.startswith("Processor time")]
    wrong = [claim for claim in judged if not claim.agrees]
    expected = DISAGREE.get(number, [])
    assert len(wrong) == len(expected), wrong
    for claim, part in zip(wrong, expected, strict=True):
        assert part in claim.says
        assert claim.note  # a difference is explained
    runs = figure.data["runs"]
    assert {len(values) for values in runs.values()} == {3 * (4 * 6 + 4)}
    for name, values in runs.items():
        assert name in ("absolute", "local", "method") or np.isfinite(values).all()


@pytest.mark.study
def test_verdicts_of_the_tumbling_body():
    check(3)


@pytest.mark.study
def test_verdicts_of_implicit_methods():
    figure = FIGURES[5]()
    assert all(claim.agrees for claim in figure.claims), figure.claims
    assert {len(values) for values in figure.data["runs"].values()} == {2 * (6 + 3)}


@pytest.mark.study
@pytest.mark.parametrize("number", [1, 2, 4])
def test_verdicts(number):
    check(number)


@pytest.mark.parametrize("way", WAYS)
def test_direct_integration_converges(way):
    """The peers are fair: each way has the order of the method where its coordinates are regular."""
    errors = [measured("heavy_top", way, DIRECT, "rk4", steps, repeated=0).rotation_error for steps in (1000, 2000)]
    assert np.log2(errors[0] / errors[1]) > 3.7, errors


def test_the_norm_drifts_only_without_the_group():
    ours, plain, unit = (
        measured("heavy_top", absolute, local, "rk4", repeated=0).norm_defect
        for absolute, local in (("quaternion", "rotation_vector"), ("quaternion", DIRECT), ("renormalized", DIRECT))
    )
    assert max(ours, unit) < 4.5e-16
    assert plain > 1e-12
    assert set(coordinate_study.CASES) == {"heavy_top", "double_pendulum", "tumbling_body", "chain"}
