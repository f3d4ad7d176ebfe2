"""Planar loops of spatial joints: rows that are zero by structure are rounding, and no constraints.

Oracles: absolute coordinates, whose rows are never zero; the same loop in another plane; and counts by hand.
"""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from tests.relative import planar

FAR = (1e3, -1e3, 1e3)
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0), "oblique": (0.3, -0.5, 0.8)}
ANGLES = {"slider-crank": (0.7, 0.0, np.pi), "four-bar": (0.7, planar.stretched())}  # on dead centers, too
TIGHT = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-12, "save": "final"}


def places(axis: str, seed: int) -> list[planar.Place]:
    """At the origin and far from it, of 1 m, of 1 mm and of 1 km; with frames along the rods and with any."""
    turn, rng = planar.about(AXES[axis]), np.random.default_rng(seed)
    turned = tuple(planar.rotation(rng) for _ in range(3))
    return [
        planar.Place(turn),
        planar.Place(turn, FAR, frames=turned),
        planar.Place(turn, scale=1e-3, frames=turned),
        planar.Place(turn, FAR, 1e3),
    ]


@pytest.mark.first(2)
@pytest.mark.sample(1)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("loop", planar.LOOPS)
def test_accelerations_with_every_joint_cut(loop, axis):
    make, state_of = planar.LOOPS[loop]
    for place in places(axis, seed=len(axis)):
        system, absolute = make(place), None
        for joint in system.joints:
            mechanism = system.compile(cut=[joint.name])
            for angle in ANGLES[loop]:
                for speed in (0.0, 3.0):
                    q, v = planar.state(system, mechanism, *state_of(place, angle, speed))
                    assert mechanism.mobility(q).freedoms == 1
                    absolute = absolute or planar.in_absolute(system, mechanism.poses(q))
                    assert planar.apart(mechanism, absolute, q, v) < 1e-10, (place, joint.name, angle, speed)


@pytest.mark.parametrize("loop", planar.LOOPS)
def test_random_planes(loop):
    """Accelerations of joints are those of the loop in the plane x, y, whatever the plane and the bodies' frames."""
    make, state_of = planar.LOOPS[loop]
    flat, rng = planar.Place(np.eye(3)), np.random.default_rng(7)
    state = {name: state_of(flat, *at) for name, at in {"rest": (2.1, 0.0), "motion": (-0.6, 5.0)}.items()}
    for cut in ("C", make(flat).joints[-1].name):
        known = make(flat).compile(cut=[cut])
        wanted = {key: known.accelerations_under(*planar.state(make(flat), known, *at)) for key, at in state.items()}
        for _ in range(8):
            frames = tuple(planar.rotation(rng) for _ in range(3))
            system = make(planar.Place(planar.rotation(rng), tuple(rng.normal(size=3)), frames=frames))
            mechanism = system.compile(cut=[cut])
            assert mechanism.nv == 3
            for key, at in state.items():
                found = mechanism.accelerations_under(*planar.state(system, mechanism, *at))
                assert np.abs(found - wanted[key]).max() < 1e-11 * np.abs(wanted[key]).max()


@pytest.mark.first(2)
@pytest.mark.sample(1)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("loop", planar.LOOPS)
def test_motion_of_a_second(loop, axis):
    """End states against absolute coordinates, from rest on a dead center and from a fast motion."""
    make, state_of = planar.LOOPS[loop]
    for k, place in enumerate(places(axis, seed=3)):
        system = make(place)
        system = replace(system, gravity=place.scale * np.array(system.gravity))  # the same motion for all sizes
        mechanism = system.compile(cut=[system.joints[(k + len(axis)) % 4].name])
        q, v = planar.state(system, mechanism, *state_of(place, *[(ANGLES[loop][1], 0.0), (2.0, 9.0)][k % 2]))
        run = ch.simulate(mechanism, (0.0, 1.0), q, v, **TIGHT)
        start = {"poses": mechanism.poses(q), "twists": mechanism.twists(q, v)}
        other = ch.simulate(system, (0.0, 1.0), **start, coordinates="absolute", **TIGHT)
        end = mechanism.poses(run.q[-1])
        apart = np.abs(pose_group.log(pose_group.compose(pose_group.inverse(end), other.poses[-1])))
        twists = np.abs(mechanism.twists(run.q[-1], run.v[-1]) - other.twists[-1])
        for off in (apart, twists):
            assert max(off[:, :3].max(), off[:, 3:].max() / place.scale) < 1e-8
        assert run.success
        assert run.violations[0].max() < 1e-15 * (1.0 + np.abs(end[:, 4:]).max())


@pytest.mark.parametrize("cut", ["A", "B", "C", "S"])
def test_reactions_stay_in_the_plane(cut):
    """In the plane they are unique, across it the smallest is none."""
    place = planar.Place(planar.about(AXES["oblique"]))
    system = planar.slider_crank(place)
    mechanism = system.compile(cut=[cut])
    q, v = planar.state(system, mechanism, *planar.slider_crank_state(place, 0.7, 3.0))
    absolute = planar.in_absolute(system, mechanism.poses(q))
    wanted = absolute.reactions(cut, *absolute.state(mechanism.poses(q), mechanism.twists(q, v)))
    found = mechanism.reactions(cut, q, v)
    inside = [2, 3, 4]  # torque across the plane, forces in it: in the joint's frame, whose z axis is the normal
    assert np.abs(found - wanted)[inside].max() < 1e-9 * np.abs(wanted).max()
    assert np.abs(np.delete(found, inside)).max() < 1e-9 * np.abs(found).max()


# ---------------------------------------------------------------- rows without any effect


def on_a_swing(joints: list[ch.model.Joint]) -> ch.System:
    """A body on a hinge, with two more on it."""
    rng = np.random.default_rng(5)
    bodies = [ch.Body(name, 1.0, rng.normal(size=3), np.eye(3)) for name in ("swing", "one", "two")]
    return ch.System(bodies, [ch.revolute("hinge", "ground", "swing", axis=(0.3, 0.5, -0.7)), *joints])


def test_sliders_in_a_plane_on_a_swing():
    """All directions in one plane: three rows hold, those of angles and the one across do nothing at all."""
    turn = planar.rotation(np.random.default_rng(2))
    axes = [turn @ (np.cos(a), np.sin(a), 0.0) for a in (0.1, 1.2, 2.5)]
    ends = [("swing", "one"), ("one", "two"), ("swing", "two")]
    system = on_a_swing([ch.prismatic(f"s{k}", *ends[k], axis=axes[k]) for k in range(3)])
    mechanism = system.compile()
    q = np.array([0.4, 0.0, 0.0])
    report = mechanism.mobility(q)
    assert (report.equations, report.rank, report.freedoms) == (5, 1, 2)
    v = mechanism.consistent_velocities(q, [1.0, 0.7, 0.2])
    assert np.abs(v[1:]).min() > 0.01
    assert planar.apart(mechanism, planar.in_absolute(system, mechanism.poses(q)), q, v) < 1e-10


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_bodies_held_twice(kind):
    """A second joint at the same place takes nothing away."""
    turn = planar.rotation(np.random.default_rng(3))
    more = {"axis": turn @ planar.Z} if kind == "revolute" else {}
    place = turn @ (0.3, 0.2, 0.1)
    twice = [getattr(ch, kind)(f"j{k}", "swing", "one", at=place, **more) for k in range(2)]
    system = on_a_swing([*twice, ch.revolute("last", "one", "two", axis=turn @ planar.X)])
    mechanism = system.compile()
    q = mechanism.random(np.random.default_rng(4))
    v = np.random.default_rng(5).normal(size=mechanism.nv)
    assert mechanism.mobility(q).rank == 0
    assert np.array_equal(mechanism.consistent_velocities(q, v), v)
    found, tree = mechanism.accelerations_under(q, v), mechanism.spanning.accelerations_under(q, v)
    assert np.abs(found - tree).max() < 1e-13 * np.abs(tree).max()


def test_light_links_do_not_count_as_contradictions():
    """A Porter governor with links of a gram in its steady state: accelerations by single constraint forces are a
    million times as large as their sum, and its rounding is no contradiction of redundant equations."""
    arm, speed, ball, load, gram = 0.2, 15.0, 1.0, 2.0, 1e-3
    lean = np.arccos((ball + gram + load) * 9.81 / ((ball + gram) * speed**2 * arm))  # from the vertical
    sides, top = {"left": -1.0, "right": 1.0}, (0, 0, 0.3)
    bodies, joints = [ch.Body("shaft", 1.0, inertia=(0.1, 0.1, 1e-3))], []
    for side, sign in sides.items():
        bodies.append(ch.Body(f"{side} arm", ball, (sign * arm, 0, 0), (1e-6, 1e-6, 1e-6)))
        bodies.append(ch.Body(f"{side} link", gram, (0, 0, 0), (1e-8, 1e-8, 1e-8)))
        joints.append(ch.revolute(f"{side} hinge", "shaft", f"{side} arm", axis=(0, sign, 0), at=top))
        joints.append(
            ch.revolute(f"{side} knee", f"{side} arm", f"{side} link", axis=(0, -sign, 0), at=(sign * arm, 0, 0))
        )
    joints += [
        ch.revolute("bearing", "ground", "shaft", axis=(0, 0, 1)),
        ch.prismatic("slide", "shaft", "sleeve", axis=(0, 0, 1)),
    ]
    joints += [
        ch.revolute(f"{side} foot", f"{side} link", "sleeve", axis=(0, 1, 0), at=(-sign * arm, 0, 0))
        for side, sign in sides.items()
    ]
    bodies.append(ch.Body("sleeve", load, inertia=(1e-3, 1e-3, 1e-3)))
    governor = ch.System(bodies, joints, constraints=[ch.Drive("engine", "bearing", f"{speed} * t")]).compile()
    q = governor.neutral()
    for name, value in {"hinge": np.pi / 2 - lean, "knee": np.pi - 2 * lean}.items():
        for side in sides:
            q[governor.tree.coordinates[f"{side} {name}"]] = value
    q[governor.tree.coordinates["slide"]] = 0.3 - 2 * arm * np.cos(lean)
    v = np.zeros(governor.nv)
    v[governor.tree.velocities["bearing"]] = speed
    found = governor.constrained_motion(q, v)
    assert np.abs(found.accelerations).max() < 1e-6
    pull = load * 9.81 / (2 * np.cos(lean))  # of the sleeve along each link; the link itself weighs and turns too
    out, up = pull * np.sin(lean) - gram * speed**2 * arm * np.sin(lean), pull * np.cos(lean) + gram * 9.81
    force = governor.reactions("left knee", q, v)[3:]
    assert np.linalg.norm(force) == pytest.approx(np.hypot(out, up), rel=1e-9)
