"""Every kind of joint, in trees and loops, in joint and absolute coordinates: the same motion in other units.

The whole product is a study; the ordinary run takes a small sample of it.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.model.joint_kind import JOINT_KINDS
from tests.absolute.implicit.scenes import KINDS, Scene, distance, in_units, lengths_of, scene

END = 2.0
ALPHA, RK4 = ch.integrate.GeneralizedAlpha(), ch.integrate.RKMK("rk4")
OPTIONS = {
    "joint": {},
    "absolute": {"coordinates": "absolute"},
    "absolute, SE(3)": {"coordinates": "absolute", "space": "SE3"},
    "generalized alpha": {"coordinates": "absolute", "method": ALPHA, "rtol": 1e-6},
    "half-explicit": {"coordinates": "absolute", "method": ch.integrate.HalfExplicit(5), "rtol": 1e-6},
}
FIXED = {
    "joint": {"method": RK4},
    "absolute": {"coordinates": "absolute", "method": RK4},
    "generalized alpha": {"coordinates": "absolute", "method": ALPHA},
    "BLieDF": {"coordinates": "absolute", "method": ch.integrate.BLieDF(3)},
    "RATTLE": {"coordinates": "absolute", "method": ch.integrate.Rattle()},
}
SHAPES = ("tree", "chain", "loop")
SIZES = [(1e3, 1e3), (1e9, 1e12), (1e-6, 1e-18)]  # [mm, g], [nm, pg · 1e-3], and one that is as small as that in SI
TIMES = [(1e3, 1e3, 1e3), (1e9, 1e12, 1e6)]  # [mm, g, ms], [nm, ..., µs]
PRODUCT = list(itertools.product(KINDS, SHAPES))
SAMPLE = [PRODUCT[k] for k in np.random.default_rng(3).choice(len(PRODUCT), 3, replace=False)]


def per(one: Scene, time: float) -> Scene:
    """In another unit of time, `time` of them a second."""
    system = one.system
    forces = [replace(s, stiffness=s.stiffness / time**2, damping=s.damping / time) for s in system.forces]
    gravity = tuple(x / time**2 for x in system.gravity)
    return replace(
        one,
        system=replace(system, forces=tuple(forces), gravity=gravity),
        twists=one.twists / time,
        v=None if one.v is None else one.v / time,
    )


def closed_start(one: Scene) -> Scene:
    """A loop's start in joint coordinates: it is made closed with all of them zero."""
    loop = one.system.compile(cut=["closing"])
    q = loop.spanning.neutral()
    slides = np.array([mark for joint in loop.tree.joints for mark in lengths_of(joint)[1]])
    v = loop.consistent_velocities(q, np.where(slides, one.units, 1.0) * 0.3)
    return replace(one, q=q, v=v)


def go(one: Scene, options, time=1.0, step=None):
    """Poses in SI at two times, and how many steps were taken."""
    if "coordinates" in options:
        system, start = one.system, {"poses": one.poses, "twists": one.twists}
    else:
        loop = any(joint.name == "closing" for joint in one.system.joints)
        system = one.system.compile(cut=["closing"]) if loop else one.system
        start = {"q": one.q, "v": one.v}
    end = END * time
    step = None if step is None else step * time
    run = ch.simulate(system, (0.0, end), **start, step=step, save=[0.5 * end, end], progress=False, **options)
    return one.told(run), (run.solution.steps, run.solution.rejections)


def check_sizes(kind, shape, sizes=SIZES):
    """With steps that follow the error."""
    si = scene(kind, shape)
    if shape == "loop":
        si = closed_start(si)
    for name, options in OPTIONS.items():
        expected, steps = go(si, options)
        for units in sizes:
            found, taken = go(in_units(*units)(si), options)
            assert taken == steps, (name, units)
            assert distance(found, expected).max() < 1e-10, (name, units)


def check_times(kind, shape, times=TIMES):
    """With given steps: tolerances of velocities are per second."""
    si = scene(kind, shape)
    if shape == "loop":
        si = closed_start(si)
    for name, options in FIXED.items():
        expected, _ = go(si, options, 1.0, 0.01)
        for length, mass, time in times:
            found, _ = go(per(in_units(length, mass)(si), time), options, time, 0.01)
            assert distance(found, expected).max() < 1e-10, (name, length, time)


def test_no_kind_is_forgotten():
    assert set(KINDS) == set(JOINT_KINDS)


@pytest.mark.first(1)
@pytest.mark.parametrize(("kind", "shape"), SAMPLE)
def test_a_sample_in_other_units(kind, shape):
    check_sizes(kind, shape, SIZES[1:2])  # those that are farthest from SI
    check_times(kind, shape, TIMES[1:])


def held_twice(length, mass):
    """Joints whose equations depend on each other, of angles and of lengths: two rails, a plane, two hinges."""
    inertia = mass * length**2 * np.array([0.1, 0.2, 0.25])
    bodies = [ch.Body(name, mass, (0.3 * length, 0.1 * length, 0.0), inertia) for name in "abcd"]
    aside, above = (0.0, 0.5 * length, 0.0), (0.0, 0.0, 0.3 * length)
    joints = [
        ch.prismatic("rail", "ground", "a", axis=(1, 0, 0)),
        ch.prismatic("other rail", "ground", "a", axis=(1, 0, 0), at=aside, child_at=aside),
        ch.cylindrical("sleeve", "a", "b", axis=(0, 0, 1)),
        ch.planar("table", "ground", "b", normal=(0, 0, 1)),
        ch.helical("screw", "b", "c", axis=(0, 1, 0), pitch=0.1 * length),
        ch.revolute("hinge", "c", "d", axis=(0, 0, 1), at=(length, 0, 0)),
        ch.revolute("other hinge", "c", "d", axis=(0, 0, 1), at=(length, 0, above[2]), child_at=above),
    ]
    return ch.System(bodies, joints, gravity=(length, 2.0 * length, -9.81 * length))


@pytest.mark.filterwarnings("ignore:reactions are")
def test_equations_that_depend_on_each_other_in_other_units():
    """Which multipliers are taken and how well they are refined does not depend on whether a row is of lengths."""
    found = []
    for length, mass in ((1.0, 1.0), (1e-3, 1e-3), (1e-9, 1e-18), (1e6, 1.0)):
        system = held_twice(length, mass)
        poses = np.tile([1.0, 0, 0, 0, 0, 0, 0], (4, 1))
        poses[system.compile("absolute").bodies.index("d"), 4] = length
        run = ch.simulate(system, (0.0, 1.0), poses=poses, coordinates="absolute", save="final", progress=False)
        poses = np.stack([run[name].pose[-1] for name in "abcd"]) / ([1.0] * 4 + [length] * 3)
        loads = np.array([run.reactions(joint.name)[-1] for joint in system.joints])
        scaled = loads / (mass * length * np.array([length] * 3 + [1.0] * 3))
        found.append((run.solution.steps, poses, scaled))
    for steps, poses, loads in found[1:]:
        assert steps == found[0][0]
        assert np.abs(poses - found[0][1]).max() < 1e-10
        assert np.abs(loads - found[0][2]).max() < 1e-6 * np.abs(loads).max()


@pytest.mark.study
@pytest.mark.parametrize(("kind", "shape"), PRODUCT)
def test_all_in_other_units_of_length_and_mass(kind, shape):
    check_sizes(kind, shape)


@pytest.mark.study
@pytest.mark.parametrize(("kind", "shape"), PRODUCT)
def test_all_in_other_units_of_time_too(kind, shape):
    check_times(kind, shape)
