"""Coordinates of a step: differentials against 60 digits, and what is truncated against what is not."""

import numpy as np
import pytest
from mpmath import mp

import chasles as ch
from chasles.lie import pose, transition
from chasles.lie.transition.coordinates import LOCAL
from chasles.transition.implicit.chart import Chart
from tests.oracle.test_transition import exact_motion, exact_product
from tests.transition.test_maps import STEP, exact_numbers

SIDES = {"body": 1.0, "spatial": -1.0}


def chart_of(local, representation="body"):
    return Chart(ch.transition.LGTProblem(lambda q, v, t: v, local=local, representation=representation, bodies=2))


def exact_onward(x, local, scale, side):
    """dψ_{-x}, or dψ_x on the left, by differences of ψ in 60 digits: columns are velocities of the motion."""
    columns = []
    for k in range(6):
        with mp.workdps(60):
            ends = []
            for sign in (1, -1):
                moved = exact_numbers(x)
                moved[k] += sign * STEP
                moved = moved / exact_numbers(scale)
                step = exact_motion(moved, local)
                if LOCAL[local].group != "SE3":
                    for row in range(3):
                        step[row, 3] = moved[3 + row]
                ends.append(step)
            slope, middle = (ends[0] - ends[1]) / (2 * STEP), (ends[0] + ends[1]) / 2
            turn = middle[:3, :3]
            spin = turn.T * slope[:3, :3] if side > 0 else slope[:3, :3] * turn.T
            linear = slope[:3, 3]
            if LOCAL[local].group == "SE3":
                linear = turn.T * linear if side > 0 else linear - spin * middle[:3, 3]
            columns.append([float(c) for c in (spin[2, 1], spin[0, 2], spin[1, 0], *linear)])
    return np.array(columns).T


@pytest.mark.parametrize("representation", SIDES)
@pytest.mark.parametrize("local", LOCAL)
def test_differentials(local, representation):
    chart = chart_of(local, representation)
    for size in (1e-9, 0.3, 1.2):
        x = size * np.array([0.4, -0.7, 0.5, 0.3, 0.9, -0.6])
        truth = exact_onward(x, local, chart.scale, SIDES[representation])
        assert np.abs(chart.onward(x) - truth).max() < 4e-15


@pytest.mark.parametrize("representation", SIDES)
@pytest.mark.parametrize("local", LOCAL)
def test_truncated_velocities(local, representation):
    """`lift` has all terms up to the second of the differential, `lift_rate` is its derivative."""
    chart, rng = chart_of(local, representation), np.random.default_rng(2)
    x, dx, ddx = rng.normal(size=(3, 2, 6))
    off = []
    for size in (0.02, 0.01):
        exact = (chart.onward(size * x) @ dx[..., None])[..., 0]
        off.append(np.abs(chart.lift(size * x, dx) - exact).max())
    assert np.log2(off[0] / off[1]) > 2.9
    h = 1e-4
    ahead, behind = (chart.lift(x + e * dx + e * e / 2 * ddx, dx + e * ddx) for e in (h, -h))
    assert np.abs(chart.lift_rate(x, dx, ddx) - (ahead - behind) / (2 * h)).max() < 1e-6


@pytest.mark.parametrize("representation", SIDES)
@pytest.mark.parametrize("local", LOCAL)
def test_the_way_back(local, representation):
    """Coordinates of points before lead from the new point to them."""
    chart, rng = chart_of(local, representation), np.random.default_rng(5)
    steps, points = 0.2 * rng.normal(size=(4, 2, 6)), [pose.random(rng, (2,))]
    for x in steps[::-1]:
        points.append(chart.move(points[-1], x))
    assert np.abs(chart.between(points[-2], points[-1]) - steps[0]).max() < 5e-15  # of positions of 2 m
    found = chart.back(np.stack([steps[0]] * 3), chart.returns(steps[1:]))
    assert found.shape == (3, 3, 2, 6)
    for k, x in enumerate(found[:, 1]):
        there = chart.move(points[-1], x)
        assert np.abs(pose.to_matrix(there) - pose.to_matrix(points[-3 - k])).max() < 5e-15


def test_motions_and_their_coordinates():
    rng = np.random.default_rng(3)
    x = 0.2 * rng.normal(size=(4, 6))
    for local in LOCAL:
        g = transition.motion(x, local)
        assert np.abs(transition.from_motion(g, local) - x).max() < 4e-15
        g[:, :4] *= -1.0  # the same rotations
        assert np.abs(transition.from_motion(g, local) - x).max() < 4e-15
        with mp.workdps(60):
            truth = exact_product(mp.eye(4), exact_motion(x[0], local), local)
            found = pose.to_matrix(g[0])
            assert max(abs(float(truth[i, j]) - found[i, j]) for i in range(3) for j in range(3)) < 4e-15
