"""Every implicit method on systems of every kind of joint over 20 s: against joint coordinates, and in other words.

The whole product is a study; the ordinary run takes a small sample of it.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from tests.absolute.implicit.scenes import KINDS, SHAPES, WORDS, distance, in_motion, in_units, scene

END, STEP = 20.0, 4e-3
METHODS = {
    "index 2": ch.integrate.GeneralizedAlpha(0.8, tolerance=1e-13),
    "index 2, textbook": ch.integrate.GeneralizedAlpha(0.8, local=False, tolerance=1e-13),
    "index 2, default": ch.integrate.GeneralizedAlpha(),
    "index 3": ch.integrate.GeneralizedAlpha(0.8, index=3, tolerance=1e-13),
    "index 3, textbook": ch.integrate.GeneralizedAlpha(0.8, index=3, local=False, tolerance=1e-13),
    **{f"BLieDF{k}": ch.integrate.BLieDF(k, tolerance=1e-13) for k in (2, 3, 4, 5)},
    "RATTLE": ch.integrate.Rattle(),
    **{f"HEM{order}": ch.integrate.HalfExplicit(order) for order in (3, 4, 5)},
    "energy-momentum": ch.integrate.EnergyMomentum(),
    "Radau": ch.integrate.RadauIIA(),
}
PRODUCT = [
    (name, kind, shape)
    for name, kind, shape in itertools.product(METHODS, KINDS, SHAPES)
    if name != "energy-momentum" or kind not in ("helical", "general")  # which it refuses
]
SAMPLE = [
    ("index 2, default", "prismatic", "hub"),
    ("BLieDF3", "universal", "hub"),
    *(PRODUCT[k] for k in np.random.default_rng(17).choice(len(PRODUCT), 3, replace=False)),
]


def run(told, name, step, **more):
    return told.told(told.run(END, METHODS[name], step, save=(1.0, 10.0), **more))


def growth(told, share=1e-7):
    """By how much an error of the velocities at the start has grown at the saved times, since the first of them."""
    at, near = {"save": (1.0, 10.0)}, replace(told, twists=told.twists * (1 + share))
    if told.v is not None:
        near = replace(near, v=told.v * (1 + share))
    apart = distance(near.told(near.exact(END, **at)), told.told(told.exact(END, **at))).max(axis=1)
    return np.maximum(apart / apart[0], 1.0)


def check_order(name, kind, shape):
    """Errors at the end fall with the step as the order says, which no method does that is not stable.

    They are C hᵖ (1 + c h + ...), and of BLieDF5 c h is up to -0.45 at the longer step: the slope is then half an order
    short, and so is half of it at half the step. What is left of it without c is looked at. (It is no lack of
    stability: along the imaginary axis BDF5 grows by 10/137 ω (h ω)⁵ a second, and the fastest mode of all scenes has
    10 rad/s: that is 6e-5 in 20 s at 8 ms, and would make the slope larger.)
    """
    told, order = scene(kind, shape), METHODS[name].order
    exact = told.told(told.exact(END, save=(1.0, 10.0)))
    first = 2 * STEP if order > 4 else STEP  # finer steps of these end at rounding
    coarse, fine = (distance(run(told, name, step), exact).max(axis=1) for step in (first, first / 2))
    # where the motion forgets its start, the error of each second grows as one of the start does
    assert np.all(fine < np.maximum([1e-4, 1e-2, 0.3], fine[0] * growth(told) * [1.0, 10.0, END]))
    known = (coarse < 0.1) & (fine > 1e-9)
    slope = np.log2(coarse[known] / fine[known])
    if np.any(slope <= order - 0.3):
        finest = distance(run(told, name, first / 4), exact).max(axis=1)
        slope = np.maximum(slope, 2.0 * np.log2(fine[known] / finest[known]) - slope)
    assert np.all(slope > order - 0.3)


def check_words(name, kind, shape, words=WORDS):
    """The same motion, but for rounding that grows as errors of the start do."""
    told = scene(kind, shape)
    first = run(told, name, STEP)
    off = distance(first, told.told(told.exact(END, save=(1.0, 10.0)))).max(axis=1)
    grown = np.maximum(growth(told), off / max(off[0], 1e-12))
    for word in words:
        if word == "uniform velocity" and shape != "floating":
            continue
        other = WORDS[word](told)
        # Half-explicit stages are off the constraints, and the energy-momentum scheme has mean rotations: there the
        # equations of one joint in other words are other equations, and only as near as both are to the exact motion.
        form = word.startswith("joint") and name.startswith(("HEM", "energy"))
        # Newton's method stops at its tolerance, and differences of positions lose digits far from the origin
        rounding = 1e-6 if "velocity" in word else 1e-8 if "default" in name or "3" in name else 1e-9
        bound = 2.0 * off if form else rounding * grown
        assert np.all(distance(run(other, name, STEP), first).max(axis=1) < np.maximum(bound, 1e-9)), word


@pytest.mark.first(1)
@pytest.mark.parametrize(("name", "kind", "shape"), SAMPLE)
def test_a_sample(name, kind, shape):
    check_order(name, kind, shape)
    check_words(name, kind, shape, [*WORDS][:2])


@pytest.mark.study
@pytest.mark.parametrize(("name", "kind", "shape"), PRODUCT)
def test_orders_of_all(name, kind, shape):
    check_order(name, kind, shape)


@pytest.mark.study
@pytest.mark.parametrize(("name", "kind", "shape"), PRODUCT)
def test_other_words_of_all(name, kind, shape):
    check_words(name, kind, shape)


# ------------------------------------------------------------ what Newton's method takes for small

SPIN = np.array([0.01, 0.02, 0.03])
SATELLITE = {
    "RATTLE": {"method": ch.integrate.Rattle(), "step": 10.0},
    "energy-momentum": {"method": ch.integrate.EnergyMomentum(), "step": 10.0},
    "index 2": {"method": ch.integrate.GeneralizedAlpha(0.9), "step": 5.0},
    "index 3": {"method": ch.integrate.GeneralizedAlpha(0.9, index=3), "step": 5.0},
    "BLieDF3": {"method": ch.integrate.BLieDF(3), "step": 5.0},
    "HEM5": {"method": ch.integrate.HalfExplicit(5), "step": 5.0},
    "index 2, adaptive": {"method": ch.integrate.GeneralizedAlpha(0.9), "rtol": 1e-6, "atol": 1e-6},
    "HEM5, adaptive": {"method": ch.integrate.HalfExplicit(5), "rtol": 1e-6, "atol": 1e-6},
}


@pytest.mark.parametrize("name", SATELLITE)
def test_a_free_body_does_not_notice_its_velocity(name):
    """Nothing of a rotation without torques depends on the velocity of the center."""
    system = ch.System([ch.Body("body", 100.0, (0, 0, 0), (10.0, 12.0, 15.0))], gravity=(0, 0, 0))
    end = 500.0 if "adaptive" in name else 5000.0
    found = [
        ch.simulate(
            system, (0.0, end), v=[*SPIN, 0.0, speed, 0.0], coordinates="absolute", save="final", **SATELLITE[name]
        )
        for speed in (0.0, 7600.0)
    ]
    assert found[0].solution.steps == found[1].solution.steps
    assert np.abs(found[0].poses[-1, 0, :4] - found[1].poses[-1, 0, :4]).max() < 2e-11


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["index 2, default", "BLieDF3", "RATTLE", "HEM4", "energy-momentum"])
@pytest.mark.parametrize("told", [in_units(1e3, 1e3), in_units(1e-6, 1e-18), in_motion])
def test_size_and_velocity_of_connected_bodies(told, name):
    """Joints are a difference of positions, which lose digits far from the origin: here up to 15 km."""
    one = scene("revolute", "floating")
    other = told(one)
    there, here = (x.told(x.run(2.0, METHODS[name], STEP)) for x in (other, one))
    assert distance(there, here).max() < (1e-8 if told is in_motion else 1e-11)


@pytest.mark.parametrize("name", ["index 2, default", "BLieDF3", "RATTLE", "energy-momentum"])
def test_small_and_slow_bodies_beside_large_and_fast_ones(name):
    """A micrometer pendulum is as accurate beside a body of kilometers as it is alone."""
    length = 1e-6
    small = ch.Body("small", 1e-15, (0, 0, -length), 1e-15 * length**2 * np.array([0.1, 0.2, 0.15]))
    pivot = ch.spherical("pivot", "ground", "small")
    large = ch.Body("large", 1e12, (0, 0, 0), 1e18 * np.array([1.0, 2.0, 2.5]))
    gravity = (0.0, 0.0, -9.81 * length)
    alone, beside = ch.System([small], [pivot], gravity=gravity), ch.System([large, small], [pivot], gravity=gravity)
    more = {"coordinates": "absolute", "method": METHODS[name], "step": 0.01, "save": "final"}
    one = ch.simulate(alone, (0.0, 5.0), v=[1.0, 0.5, 2.0], **more)
    poses = np.array([[1.0, 0, 0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0, 0]])
    twists = np.array([[3.0, 1.0, 2.0, 0.0, 500.0, 0.0], [1.0, 0.5, 2.0, 0.0, 0.0, 0.0]])
    two = ch.simulate(beside, (0.0, 5.0), poses=poses, twists=twists, **more)
    turned = np.abs(one["small"].pose[-1, :4] - two["small"].pose[-1, :4]).max()
    assert turned < 1e-9


def test_output_times_that_are_steps_but_for_rounding():
    """3 times 0.1 is not 30 times 0.01: there the step's own point is taken, and nothing is warned of."""
    body = ch.Body("rod", 1.0, (0.5, 0.0, 0.0), (0.1, 0.1, 0.1))
    system = ch.System([body], [ch.revolute("hinge", "ground", "rod", axis=(0.0, 1.0, 0.0))])
    how = {"coordinates": "absolute", "method": "bliedf", "step": 0.01, "certificate": False}
    some, every = ch.simulate(system, (0, 0.7), every=0.1, **how), ch.simulate(system, (0, 0.7), **how)
    np.testing.assert_array_equal(some.poses, every.poses[::10])
