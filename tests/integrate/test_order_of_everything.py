"""The order of every method, with every option, on every space and side: generated from what the code offers, so that
nothing new is forgotten. A random sample runs always, all of it as a study."""

import itertools
import warnings
from collections import Counter

import numpy as np
import pytest

from chasles.integrate.batch import solve_batch
from chasles.integrate.event import Event
from chasles.integrate.gauss import Gauss, LieMidpoint
from chasles.integrate.method import (
    COMMUTATOR_FREE,
    COORDINATES,
    CROUCH_GROSSMAN,
    LOW_STORAGE,
    MINIMAL,
    RKMK,
    Exponentials,
)
from chasles.integrate.problem import LieODE
from chasles.integrate.solver import solve
from chasles.integrate.space import CHARTS, Space
from chasles.integrate.tableau import TABLEAUX, Tableau
from chasles.integrate.vector_field import field
from tests.integrate.embedding import SPACES, truth
from tests.integrate.problems import PARAMETERS, tangle

PLATEAU = 2e-12  # rounding, and the error of the reference
FEW_CHARTS = ("se3:rotation_vector", "se3:screw", "se3:euler:ZYX", "so3xr3:rotation_vector:2pi", "so3xr3:euler:zxz")
LABELS = [label for label in SPACES if label not in CHARTS or label in FEW_CHARTS]
SIDES = ("left", "right")
FIELDS = (tuple(PARAMETERS), *(tuple(0.8 * np.random.default_rng(k).normal(size=11)) for k in (1, 2)))
WEAK = tuple(tuple(0.5 * np.random.default_rng(k).normal(size=11)) for k in (1, 2, 3))  # keep charts from poles


def munthe_kaas():
    """All valid combinations of the options of RKMK."""
    for name, coordinates in itertools.product(TABLEAUX, COORDINATES):
        for dexpinv in ("exact", "minimal", *range(8)):
            if (dexpinv == "minimal" and name not in MINIMAL) or (coordinates != "exp" and dexpinv != "exact"):
                continue
            yield RKMK(name, dexpinv, coordinates)


def rows_of(method):
    """The method itself and the other results that its stages give, as methods of their own, each with its order."""
    yield "", method
    if isinstance(method, RKMK):
        table, limit = method.table, RKMK("dop853", method.dexpinv).order if isinstance(method.dexpinv, int) else 9
        weights = [(table.embedded, table.embedded_order), (table.second_embedded, 3)]
        if method.dexpinv != "minimal":
            for k, (w, order) in enumerate(weights):
                if w is not None:
                    tableau = Tableau(f"{table.name}, row {k + 2}", min(order, limit), table.a, w)
                    yield f", row {k + 2}", RKMK(tableau, method.dexpinv, method.coordinates)
    elif isinstance(method, Exponentials) and method.embedded:
        yield ", row 2", Exponentials(method.name, method.embedded_order, method.stages, method.embedded)


METHODS = [
    *munthe_kaas(),
    *COMMUTATOR_FREE.values(),
    *CROUCH_GROSSMAN.values(),
    *LOW_STORAGE.values(),
    LieMidpoint(),
    *(Gauss(s) for s in (1, 2, 3)),
]


def label_of(method):
    if isinstance(method, RKMK):
        return f"{method.table.name} {method.dexpinv} {method.coordinates}"
    return getattr(method, "name", repr(method))


CASES = [(method, label, side) for method in METHODS for label in LABELS for side in SIDES]


def fine_window(error, order):
    """Observed order from the three finest step sizes whose errors are above rounding: infinite if there is none, 0 if
    there are fewer than three."""
    counts, found, slope = [], [], 0.0
    n, growth = {1: (32, 1.4), 2: (16, 1.4), 3: (12, 1.4), 4: (6, 1.4)}.get(order, (2, 1.25))
    while n <= 1500:
        size = error(n)
        if size < PLATEAU:
            break
        if np.isfinite(size):
            counts.append(n)
            found.append(size)
        if len(found) >= 3:
            slope = -np.polyfit(np.log(counts[-3:]), np.log(found[-3:]), 1)[0]
            if slope > order - 0.2 and len(found) >= 4:
                break
        n = int(np.ceil(growth * n))
    return slope if found else np.inf


def wrong_orders(method, label, side):
    """The results of a method whose order is too low on a space. Where the leading terms of the error nearly cancel, or
    too few errors are above rounding, another field of the same form decides: an order that is lost is lost on all."""
    space, wrong = Space(*SPACES[label], side=side), []
    for row, form in rows_of(method):
        slopes = []
        for p in FIELDS if label not in CHARTS else (FIELDS[0], *WEAK):
            y0, true = truth(label, side, p=p)

            def error(n, form=form, p=p, y0=y0, true=true):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a step too long for the chart ends the run: `success` says so
                    run = solve(LieODE(space, tangle, p), form, (0, 1), y0, step=1 / n, save="final")
                return abs(run.y[-1] - true[-1]).max() if run.success else np.inf

            slopes.append(fine_window(error, form.order))
            if slopes[-1] > form.order - 0.2:
                break
        else:
            wrong.append(f"{label_of(method)}{row} on {label}, {side}: {slopes}, expected {form.order}")
    return wrong


def wrong_curves(method, label, side):
    """Whether the curve between saved points has order 4, or that of the method, also with every third point saved."""
    times = tuple(np.linspace(0.013, 0.987, 41))
    y0, true = truth(label, side, times)
    equation = LieODE(Space(*SPACES[label], side=side), tangle, PARAMETERS)
    order, wrong = min(method.order, 4), []
    for save in ("all",) if isinstance(method, LieMidpoint | Gauss) else ("all", 3):
        rough, fine = (
            abs(solve(equation, method, (0, 1), y0, step=1 / n, save=save)(np.array(times)) - true).max()
            for n in (120, 480)
        )
        slope = np.log(rough / fine) / np.log(4)
        if not (slope > order - 0.4 or fine < PLATEAU):
            wrong.append(f"curve, save={save}, of {label_of(method)} on {label}, {side}: {slope:.2f}")
    return wrong


def sample(count):
    return [CASES[k] for k in np.random.default_rng(17).choice(len(CASES), count, replace=False)]


@pytest.mark.parametrize("case", sample(6), ids=lambda case: f"{label_of(case[0])} {case[1]} {case[2]}")
def test_the_order_of_a_random_sample(case):
    assert not wrong_orders(*case)


@pytest.mark.parametrize(
    ("method", "label", "side"),
    [
        (RKMK("rk4", coordinates="second_kind"), "so3", "right"),  # -x is not the inverse motion
        (RKMK("rk4", coordinates="second_kind"), "pose", "right"),
        (RKMK("rk4", "minimal"), "se2", "left"),  # the planar blocks took dexpinv in spite of it
        (RKMK("kutta3", "minimal"), "se2", "right"),
        (RKMK("rk4", coordinates="cay"), "se2", "right"),
    ],
)
def test_the_order_where_it_was_lost(method, label, side):
    assert not wrong_orders(method, label, side)
    assert not wrong_curves(method, label, side)


@pytest.mark.study
@pytest.mark.parametrize("label", LABELS)
def test_the_order_of_everything(label):
    """The full product."""
    wrong, count = [], Counter()
    for method, side in itertools.product(METHODS, SIDES):
        wrong += wrong_orders(method, label, side)
        count[type(method).__name__] += 1
    print(label, dict(count), *wrong, sep="\n")
    assert not wrong


@pytest.mark.study
@pytest.mark.parametrize("label", LABELS)
def test_the_curve_of_everything(label):
    """Dense output: one method for each family and coordinate map."""
    methods = [RKMK("rk4", coordinates=c) for c in COORDINATES]
    methods += [RKMK("rk4", 2), RKMK("rk4", "minimal"), COMMUTATOR_FREE["cf4"], CROUCH_GROSSMAN["cg4"], Gauss(2)]
    wrong = [line for m, side in itertools.product(methods, SIDES) for line in wrong_curves(m, label, side)]
    print(label, *wrong, sep="\n")
    assert not wrong


def test_truncation_without_an_estimate_is_not_adaptive():
    """Both results of a pair leave out the same terms, so their difference does not see them."""
    assert [RKMK("dopri5", m).embedded_order for m in range(4)] == [0, 0, 4, 4]
    y0, _ = truth("so3", "left")
    with pytest.raises(ValueError, match="no embedded estimate"):
        solve(LieODE(Space("so3"), tangle, PARAMETERS), RKMK("dopri5", 1), (0, 1), y0, rtol=1e-8)


@field
def around(t, y, p, out):
    """A turn about one axis."""
    out[0], out[1], out[2] = 0.0, 0.0, p[0]


@pytest.mark.parametrize("method", [COMMUTATOR_FREE["cf4"], RKMK("rk4", coordinates="cay2"), RKMK("rk4")])
def test_a_step_of_more_than_half_a_turn_gives_the_true_curve_or_none(method):
    """4 rad a step: the logarithm of the motion alone would go the other way round."""
    equation = LieODE(Space("so3", side="right"), around, [4.0])
    run = solve(equation, method, (0, 2), np.eye(3).ravel(), step=1.0)
    if isinstance(method, Exponentials):  # a product of rotations, each about an axis of its own in general
        with pytest.raises(ValueError, match="half a turn"):
            run(0.5)
        return
    middle = run(0.5).reshape(3, 3)
    angle = np.arctan2(middle[1, 0], middle[0, 0])
    assert abs(angle - 2.0) < 0.05, angle  # the order of the step; the other way round it is at -1.14


@field
def clock(t, y, p, out):
    out[0] = t - 0.7


def test_the_curve_up_to_an_event_in_a_step_of_more_than_half_a_turn():
    equation = LieODE(Space("so3"), around, [5.0])
    run = solve(equation, RKMK("rk4"), (0, 1), np.eye(3).ravel(), step=1.0, events=[Event(clock, terminal=True)])
    middle = run(0.35).reshape(3, 3)
    np.testing.assert_allclose(np.arctan2(middle[1, 0], middle[0, 0]), 1.75, atol=1e-6)


def test_second_kind_says_that_a_step_leaves_its_chart():
    """The second angle is singular at a quarter of a turn; the result used to be false without a word."""
    equation = LieODE(Space("so3"), around, [2.0])
    with pytest.warns(RuntimeWarning, match="coordinates of the second kind"):
        run = solve(equation, RKMK("rk4", coordinates="second_kind"), (0, 2), np.eye(3).ravel(), step=1.0)
    assert not run.success


@field(lanes=True)
def drift(t, y, p, out):
    out[0], out[1] = y[1], -y[0]


@field
def to_the_circle(t, y, p, out):
    size = np.sqrt(y[0] * y[0] + y[1] * y[1])
    out[0], out[1] = y[0] / size, y[1] / size


def test_a_batch_keeps_the_correction_after_each_step():
    """On lanes nothing corrects; the projection was lost without a word."""
    equation = LieODE(Space("r2"), drift, correction=to_the_circle)
    points = [[np.cos(a), np.sin(a)] for a in (0.0, 0.5, 1.0, 2.0)]
    for run in solve_batch(equation, RKMK("euler"), (0, 1), points, step=0.1):
        np.testing.assert_allclose(np.linalg.norm(run.y, axis=1), 1, atol=1e-15)
