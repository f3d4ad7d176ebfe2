"""The board: no wrong run passes, and right runs are not refused. The quick part runs a few of each kind."""

import itertools

import numpy as np
import pytest

import chasles as ch
from tests.certificate import attacks, inventions, known, models
from tests.certificate.board import FAMILIES, case, count
from tests.certificate.models import ABSOLUTE, arm, push, slider

REFUSED = 0.02  # share of right runs that may be refused


def test_a_quick_part_of_the_board():
    """Cases that need nothing compiled but what all runs need: a spring, a rod, an arm, one law."""
    rng = np.random.default_rng(5)
    cases = []
    for _ in range(6):  # oscillators of all sizes, by steps from right to wrong
        m, w, size = 10.0 ** rng.uniform(-6, 3), 10.0 ** rng.uniform(-1, 2), 10.0 ** rng.uniform(-8, 2)
        method, step = str(rng.choice(["rk4", "heun", "lie_midpoint"])), 10.0 ** rng.uniform(-2.5, 0.0) / w
        run = ch.simulate(slider(m, m * w * w), (0, 20 / w), q=[size], method=method, step=step, save="final")
        truth = (size * np.cos(20.0), run.q[-1, 0], size), (-size * w * np.sin(20.0), run.v[-1, 0], size * w)
        cases.append(case(f"{method}, {w * step:.2g} rad a step, {size:.1e} m", run, *truth))
    system = arm(2)
    for q in ([0.3, -0.7], [-1.0, 0.2]):  # held at rest
        run = ch.simulate(system, (0, 0.5), q, control=system.compile().terms.gravity(q))
        cases.append(case("held", run, (q, run.q[-1], 1e-6)))
    system = slider(forces=[push(models.motor, 100.0, 100.0, 0.0, -1.0)])
    for how in ({"method": "rk4", "step": 0.02}, {"method": "rk4", "step": 0.001}, {}):
        run = ch.simulate(system, (0, 10.0), v=[1.0], **how)
        cases.append(case(f"100 Hz, {how}", run, (501.0, run.v[-1, 0], 501.0)))
    counted, bad = count(cases)
    assert not bad, "\n".join(bad)
    kinds = {kind for kind, _ in counted}
    assert {"wrong", "right"} <= kinds, counted


@pytest.mark.study
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:drive")  # of runs that are wrong
def test_the_whole_board():
    """All families: of wrong runs none passes, of right ones at most 2 % are refused."""
    modules = {function.__module__ for function in FAMILIES.values()}
    assert modules == {known.__name__, inventions.__name__, attacks.__name__}
    counted, bad = count(itertools.chain.from_iterable(make() for make in FAMILIES.values()))
    right = sum(number for (kind, _), number in counted.items() if kind == "right")
    wrong = sum(number for (kind, _), number in counted.items() if kind == "wrong")
    assert right > 350, counted
    assert wrong > 220, counted
    assert counted["wrong", "passed"] == 0, "\n".join(bad)
    assert right - counted["right", "passed"] <= REFUSED * right, "\n".join(bad)


@pytest.mark.study
@pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("seed", range(4))
def test_pushes_at_random_times(width, seed):
    """A push of unknown time is either resolved or refused, by an adaptive run and by one with fixed steps."""
    when = np.random.default_rng(seed).uniform(0.5, 9.5)
    system = slider(forces=[push(models.gauss, 5.0, when, width)])
    for how in ({}, ABSOLUTE, {"method": "rk4", "step": 0.05}):
        run = ch.simulate(system, (0, 10.0), v=[1.0], **how)
        found = case(f"{when}, {how}", run, (6.0, run["b"].twist[-1, 3], 6.0))
        assert (found.kind, run.certificate.status) in (("right", "passed"), ("wrong", "failed"), ("neither", "failed"))
