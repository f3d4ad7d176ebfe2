"""A body of a user's model turns as well whatever velocity its center has."""

import numpy as np

import chasles as ch

MOMENTS = np.array([10.0, 12.0, 15.0])


def free(q, twists, t):
    spin, rates = twists[:, :3], np.zeros_like(twists)
    rates[:, :3] = -np.cross(spin, MOMENTS * spin) / MOMENTS
    return rates


def test_a_free_body_does_not_notice_its_velocity():
    ends = []
    for speed in (0.0, 7600.0):
        case = ch.transition.LGTProblem(free, bodies=1, representation="mixed")
        y0 = case.state([[1.0, 0, 0, 0, 0, 0, 0]], [[0.1, 0.2, 0.3, 0.0, speed, 0.0]])
        found = ch.integrate.solve(case, ch.integrate.GeneralizedAlpha(0.9), (0.0, 10.0), y0, step=0.5, save="final")
        ends.append(np.ravel(found.y[-1])[:4])
    assert np.abs(ends[0] - ends[1]).max() < 1e-14
