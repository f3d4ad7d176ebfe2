"""Rows of many loops: equations of loops that are far from each other share no joints, and cost no more for that."""

import time

import numpy as np
import pytest

import chasles as ch
from chasles.kernel.policy import COMPILED
from tests.relative.test_loops import same_as_absolute

BAR = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.09, 0.09)}


def row_of_four_bars(loops, order=None, spatial=True, stand="ground", driven=()):
    """Posts side by side, and a rail from each to the next: `order` is that in which the rails are closed.

    Spatial rails have spherical joints at one end and universal ones at the other, so all equations are independent;
    those of planar ones are not.
    """
    bodies = [ch.Body(f"post {k}", **BAR) for k in range(loops + 1)]
    joints = [ch.revolute(f"foot {k}", stand, f"post {k}", axis=(0, 1, 0), at=(k, 0, 0)) for k in range(loops + 1)]
    if stand != "ground":
        bodies.append(ch.Body(stand, 20.0, (loops / 2, 0, 0), (30.0, 20.0, 10.0)))
        joints.append(ch.spherical("stand", "ground", stand))
    for k in range(loops) if order is None else order:
        bodies.append(ch.Body(f"rail {k}", **BAR))
        start, end = {"at": (1, 0, 0)}, {"at": (1, 0, 0), "child_at": (1, 0, 0)}
        if spatial:
            joints.append(ch.universal(f"a {k}", f"post {k}", f"rail {k}", **start))
            joints.append(ch.spherical(f"b {k}", f"rail {k}", f"post {k + 1}", **end))
        else:
            joints.append(ch.revolute(f"a {k}", f"post {k}", f"rail {k}", axis=(0, 1, 0), **start))
            joints.append(ch.revolute(f"b {k}", f"rail {k}", f"post {k + 1}", axis=(0, 1, 0), **end))
    drives = [ch.Drive(f"drive {k}", f"foot {k}", "-0.7 + 0.3 * t + 0.1 * t**2") for k in driven]
    return ch.System(bodies, joints, constraints=drives)


def closed(mechanism):
    """A configuration in which posts lean and rails are about level."""
    kinds = {joint.name: joint.kind for joint in mechanism.system.joints}
    lean = {"foot": [-0.7], "stand": [1.0, 0.0, 0.0, 0.0]}
    rail = {"revolute": [0.7], "universal": [0.0, 0.7], "spherical": [np.cos(0.35), 0.0, np.sin(0.35), 0.0]}
    return mechanism.assemble(np.concatenate([lean.get(n.split()[0], rail[kinds[n]]) for n in mechanism.joints]))


@pytest.mark.parametrize(
    ("loops", "options"),
    [
        (1, {}),
        (7, {}),
        (8, {"order": [5, 0, 7, 2, 1, 6, 3, 4]}),
        (7, {"spatial": False}),
        (6, {"stand": "table"}),
        (5, {"stand": "table", "order": [4, 1, 0, 3, 2], "driven": [3]}),
        (6, {"driven": [2]}),
        (6, {"spatial": False, "driven": [6]}),
    ],
)
def test_they_move_as_in_absolute_coordinates(loops, options):
    system = row_of_four_bars(loops, **options)
    mechanism = system.compile()
    q = closed(mechanism)
    _, v, absolute, state = same_as_absolute(system, q)
    if options.get("spatial", True):  # nothing is redundant, so reactions are one set
        for name in ("a 0", f"b {loops - 1}", f"b {loops // 2}"):
            wanted = absolute.reactions(name, *state)
            assert np.abs(mechanism.reactions(name, q, v) - wanted).max() < 1e-9 * (1.0 + np.abs(wanted).max())


@pytest.mark.skipif(not COMPILED, reason="a matter of compiled code")
def test_cost_is_far_from_the_cube_of_their_number():
    seconds = {}
    for loops in (16, 64):
        mechanism = row_of_four_bars(loops).compile()
        q = closed(mechanism)
        v = np.zeros(mechanism.nv)
        best = np.inf
        for _ in range(12):
            begin = time.process_time()
            mechanism.forward_dynamics(q, v, v)
            best = min(best, time.process_time() - begin)
        seconds[loops] = best
    assert seconds[64] < 12 * seconds[16]  # 64 by the cube, 4 by their number
