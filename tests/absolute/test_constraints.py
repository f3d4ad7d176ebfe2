"""Constraints beyond joints: what they hold, exactly; without stabilization their violation is that of the method."""

import numpy as np
import pytest

import chasles as ch
from chasles.constraint.projection import ROUNDING
from chasles.lie import pose as pose_group
from tests.absolute.systems import SPACES, bodies, frame

TIGHT = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-12, "coordinates": "absolute"}
GRAVITY = (0.3, -1.0, -9.7)


@ch.law
def swing(t, _x, _y, p, out):
    out[0] = p[0] * np.sin(p[1] * t) + p[2] * t
    out[1] = p[0] * p[1] * np.cos(p[1] * t) + p[2]
    out[2] = -p[0] * p[1] * p[1] * np.sin(p[1] * t)


@ch.law
def link(t, poses, twists, p, out):
    """A rigid link of length p[0] between points p[1:4] and p[4:7] of two bodies, as (d·d - l²) / 2 = 0."""
    d, speed, bend = np.zeros(3), np.zeros(3), np.zeros(3)
    R = np.zeros((2, 3, 3))
    for s in range(2):  # number by number: products of arrays would compile ten times as long
        w, x, y, z = poses[7 * s], poses[7 * s + 1], poses[7 * s + 2], poses[7 * s + 3]
        R[s, 0, 0], R[s, 0, 1], R[s, 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
        R[s, 1, 0], R[s, 1, 1], R[s, 1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
        R[s, 2, 0], R[s, 2, 1], R[s, 2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
        a, b, c = p[1 + 3 * s], p[2 + 3 * s], p[3 + 3 * s]
        W0, W1, W2 = twists[6 * s], twists[6 * s + 1], twists[6 * s + 2]
        v0 = twists[6 * s + 3] + W1 * c - W2 * b
        v1 = twists[6 * s + 4] + W2 * a - W0 * c
        v2 = twists[6 * s + 5] + W0 * b - W1 * a
        b0, b1, b2 = W1 * v2 - W2 * v1, W2 * v0 - W0 * v2, W0 * v1 - W1 * v0
        sign = 2.0 * s - 1.0
        for k in range(3):
            d[k] += sign * (poses[7 * s + 4 + k] + R[s, k, 0] * a + R[s, k, 1] * b + R[s, k, 2] * c)
            speed[k] += sign * (R[s, k, 0] * v0 + R[s, k, 1] * v1 + R[s, k, 2] * v2)
            bend[k] += sign * (R[s, k, 0] * b0 + R[s, k, 1] * b1 + R[s, k, 2] * b2)
    for s in range(2):
        sign = 2.0 * s - 1.0
        a, b, c = p[1 + 3 * s], p[2 + 3 * s], p[3 + 3 * s]
        n0 = sign * (R[s, 0, 0] * d[0] + R[s, 1, 0] * d[1] + R[s, 2, 0] * d[2])
        n1 = sign * (R[s, 0, 1] * d[0] + R[s, 1, 1] * d[1] + R[s, 2, 1] * d[2])
        n2 = sign * (R[s, 0, 2] * d[0] + R[s, 1, 2] * d[1] + R[s, 2, 2] * d[2])
        out[3 + 18 * s], out[4 + 18 * s], out[5 + 18 * s] = b * n2 - c * n1, c * n0 - a * n2, a * n1 - b * n0
        out[6 + 18 * s], out[7 + 18 * s], out[8 + 18 * s] = n0, n1, n2
    out[0] = 0.5 * (d[0] ** 2 + d[1] ** 2 + d[2] ** 2 - p[0] ** 2)
    out[39] = -(speed[0] ** 2 + speed[1] ** 2 + speed[2] ** 2) - (d[0] * bend[0] + d[1] * bend[1] + d[2] * bend[2])


def free_bodies(seed=3):
    """Two bodies in gravity, a spring between them, and a state in which they turn and fly."""
    rng = np.random.default_rng(seed)
    spring = ch.Spring("pull", ("one", "two"), ((0.1, 0.0, 0.2), (0.0, -0.1, 0.1)), 5.0, 0.0, 0.3)
    system = ch.System(bodies(rng, "one", "two"), forces=[spring], gravity=GRAVITY)
    poses, twists = np.array([frame(rng), frame(rng)]), rng.uniform(-1.5, 1.5, (2, 6))
    return system, poses, twists


def held(constraint_of):
    """The free bodies with constraints that the start satisfies in position; velocities are projected."""
    system, poses, twists = free_bodies()
    return system.with_constraint(*constraint_of(poses)), poses, twists


POINTS = ((0.2, 0.1, -0.1), (-0.1, 0.3, 0.2))


def in_one(poses, point):
    """A point of body two, as seen from body one."""
    return pose_group.act(pose_group.inverse(poses[0]), pose_group.act(poses[1], np.array(point)))


def a_distance(poses):
    apart = pose_group.act(poses[1], np.array(POINTS[1])) - pose_group.act(poses[0], np.array(POINTS[0]))
    return [ch.Distance("link", ("one", "two"), POINTS, float(np.linalg.norm(apart)))]


def a_custom_link(poses):
    length = a_distance(poses)[0].length
    return [ch.CustomConstraint("link", ("one", "two"), link, parameters=[length, *POINTS[0], *POINTS[1]])]


def a_line(poses):
    return [ch.PointOnLine("line", ("one", "two"), (in_one(poses, POINTS[1]), POINTS[1]), (0.3, 0.5, -0.6))]


def a_plane(poses):
    return [ch.PointOnPlane("plane", ("one", "two"), (in_one(poses, POINTS[1]), POINTS[1]), (0.3, 0.5, -0.6))]


def ball_on_plate(poses):
    center = in_one(poses, POINTS[1])
    normal = np.array([0.6, 0.0, 0.8])
    return [ch.Rolling("roll", ("one", "two"), 0.2, (center - 0.2 * normal, POINTS[1]), normal)]


def disc_on_plate(poses):
    normal, axis = np.array([0.6, 0.0, 0.8]), np.array([0.1, 0.9, 0.4])
    turn = pose_group.compose(pose_group.inverse(poses[0]), poses[1])
    k = pose_group.act(np.array([*turn[:4], 0.0, 0.0, 0.0]), axis / np.linalg.norm(axis))
    height = 0.2 * np.linalg.norm(normal - (normal @ k) * k)
    center = in_one(poses, POINTS[1])
    return [ch.Rolling("roll", ("one", "two"), 0.2, (center - height * normal, POINTS[1]), normal, axis)]


KINDS = [a_distance, a_custom_link, a_line, a_plane, ball_on_plate, disc_on_plate]


@pytest.mark.parametrize("space", [*SPACES, {"one": "SE3"}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::chasles.errors.StartChangedWarning")
def test_a_constraint_holds_without_stabilization(kind, space):
    system, poses, twists = held(kind)
    run = ch.simulate(
        system, (0.0, 0.5), poses=poses, twists=twists, assemble=True, space=space, stabilization=None, **TIGHT
    )
    position, speed = run.violations
    assert position[0].max() < 1e-15
    assert position.max() < 1e-12
    assert speed.max() < 5e-12
    assert np.ptp(run.energies.balance) < 5e-12  # constraints do no work
    assert np.abs(run.poses[0] - poses).max() < 1e-14


def test_three_planes_are_a_spherical_joint():
    system, poses, twists = free_bodies()
    at = in_one(poses, POINTS[1])
    planes = [ch.PointOnPlane(f"plane {k}", ("one", "two"), (at, POINTS[1]), np.eye(3)[k]) for k in range(3)]
    joint = ch.spherical("ball", "one", "two", at=at, child_at=POINTS[1])
    found = []
    for held_system in (system.with_constraint(*planes), system.with_joint(joint)):
        mechanism = held_system.compile("absolute", space="SO3xR3")
        central, velocity = mechanism.project(*mechanism.state(poses, twists))
        found.append(mechanism.accelerations_under(central, velocity))
    assert np.abs(found[0] - found[1]).max() < 1e-12


def test_a_custom_constraint_is_the_built_in_one():
    found = []
    for kind in (a_distance, a_custom_link):
        system, poses, twists = held(kind)
        mechanism = system.compile("absolute", space={"one": "SE3"})
        central, velocity = mechanism.project(*mechanism.state(poses, twists))
        found.append(mechanism.accelerations_under(central, velocity))
    assert np.abs(found[0] - found[1]).max() < 1e-12


# ---------------------------------------------------------------- coupled and driven coordinates

INERTIA = {"one": 0.3, "two": 0.05}
AXIS = (0.0, 0.6, 0.8)


def gears(ratios=(1.0, 3.0), offset=0.4, carried=False):
    """Two wheels with parallel axes, on the ground or on a carrier that turns about a spherical joint."""
    turn = pose_group.exp([0.7, -0.2, 0.4, 0.0, 0.0, 0.0])
    wheels = [ch.Body(name, 2.0, (0.0, 0.0, 0.0), (inertia,) * 3) for name, inertia in INERTIA.items()]
    base = "carrier" if carried else "ground"
    joints = [
        ch.revolute(f"to {name}", base, name, axis=AXIS, at=(*turn[:4], x, 0.1, 0.2))
        for name, x in (("one", 0.0), ("two", 0.5))
    ]
    more = []
    if carried:
        wheels.append(ch.Body("carrier", 3.0, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
        more.append(ch.spherical("base", "ground", "carrier"))
    torque = ch.Wrench("motor", "one", (*(2.0 * np.array(AXIS)), 0.0, 0.0, 0.0))
    gear = ch.Coupling("gear", ("to one", "to two"), ratios, offset)
    return ch.System(
        wheels, [*more, *joints], forces=[torque], constraints=[gear], gravity=(0.0, 0.0, 0.0), name="gears"
    )


def angle(run, joint, body):
    """Angle of a joint at the end, from poses, within half a turn."""
    joint = run.mechanism.system.joint(joint)
    parent = np.array(pose_group.identity())
    if joint.parent != "ground":
        parent = run.poses[-1, run.mechanism.bodies.index(joint.parent)]
    frames = [
        pose_group.compose(parent, np.array(joint.parent_frame)),
        pose_group.compose(run.poses[-1, run.mechanism.bodies.index(body)], np.array(joint.child_frame)),
    ]
    turned = pose_group.log(pose_group.compose(pose_group.inverse(frames[0]), frames[1]))
    return turned[:3] @ np.array(joint.screws[0][:3])


@pytest.mark.parametrize("stabilization", ["projection", None])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("ratios", [(1.0, 3.0), (1.0, -np.sqrt(2.0))])
def test_gears_over_many_turns(ratios, space, stabilization):
    """c_1 q_1 + c_2 q_2 = offset; (I_1 + (c_1/c_2)² I_2) q_1'' = torque: 40 rad in 4 s; an irrational ratio too."""
    c, d = ratios
    system = gears(ratios)
    q = [0.1, (0.4 - c * 0.1) / d]
    run = ch.simulate(system, (0.0, 4.0), q, space=space, stabilization=stabilization, save="final", **TIGHT)
    expected = 0.1 + 0.5 * 2.0 / (INERTIA["one"] + (c / d) ** 2 * INERTIA["two"]) * 16.0
    turns = run.dynamics.angles(run.solution.y)[-1]
    assert expected > 40.0
    assert turns[0] == pytest.approx(expected, abs=1e-9)
    assert c * turns[0] + d * turns[1] == pytest.approx(0.4, abs=1e-9)
    assert abs(np.remainder(angle(run, "to one", "one") - expected + np.pi, 2 * np.pi) - np.pi) < 1e-9
    # a projection ends when residuals are rounding of what they are differences of: here of two angles of 50 rad
    assert run.violations[0].max() < (ROUNDING * 2.0 * expected if stabilization else 1e-9)


@pytest.mark.parametrize("space", SPACES)
def test_gears_on_a_moving_carrier(space):
    """Three bodies in one equation; the carrier meets it twice."""
    system = gears((1.0, 2.5), 0.0, carried=True)
    v = [1.0, -2.0, 0.5, 3.0, -1.2]
    run = ch.simulate(system, (0.0, 1.0), v=v, space=space, stabilization=None, **TIGHT)
    position, speed = run.violations
    assert position.max() < 1e-10
    assert speed.max() < 1e-9
    assert np.ptp(run.energies.balance) < 1e-8
    moving = run.energies.kinetic[0] + run.energies.work[-1] - run.energies.work[0]
    assert run.energies.kinetic[-1] == pytest.approx(moving, abs=1e-8)


def test_rack_and_pinion():
    pinion = ch.Body("pinion", 1.0, (0.0, 0.0, 0.0), (0.2, 0.2, 0.2))
    rack = ch.Body("rack", 4.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    joints = [
        ch.revolute("turn", "ground", "pinion", axis=(0.0, 1.0, 0.0)),
        ch.prismatic("slide", "ground", "rack", axis=(1.0, 0.0, -1.0)),
    ]
    radius, drop = 0.25, 9.81 / np.sqrt(2.0)
    for order in (1, -1):
        mesh = ch.Coupling("mesh", ("turn", "slide")[::order], (-radius, 1.0)[::order])
        system = ch.System([pinion, rack], joints, constraints=[mesh])
        run = ch.simulate(system, (0.0, 3.0), save="final", **TIGHT)
        traveled = 0.5 * 9.0 * 4.0 * drop / (4.0 + 0.2 / radius**2)
        assert np.linalg.norm(run.poses[-1, 1, 4:]) == pytest.approx(traveled, abs=1e-9)
        assert run.dynamics.angles(run.solution.y)[-1, 0] == pytest.approx(traveled / radius, abs=1e-8)


@pytest.mark.parametrize("stabilization", ["projection", None])
@pytest.mark.parametrize("space", SPACES)
def test_a_driven_joint_follows_its_law(space, stabilization):
    rng = np.random.default_rng(11)
    system = ch.System(
        bodies(rng, "one", "two"),
        [
            ch.revolute("hinge", "ground", "one", axis=AXIS, at=frame(rng), child_at=frame(rng)),
            ch.cylindrical("slide", "one", "two", axis=(0.3, 0.1, 0.9), at=frame(rng), child_at=frame(rng)),
        ],
    ).with_constraint(
        ch.Drive("crank", "hinge", swing, parameters=[0.4, 5.0, 8.0]),
        ch.Drive("lift", "slide", swing, coordinate=1, parameters=[0.1, 3.0, 0.0]),
    )
    run = ch.simulate(
        system, (0.0, 2.0), v=[0.4 * 5.0 + 8.0, 0.7, 0.1 * 3.0], space=space, stabilization=stabilization, **TIGHT
    )
    assert run.success
    expected = 0.4 * np.sin(10.0) + 16.0
    assert abs(np.remainder(angle(run, "hinge", "one") - expected + np.pi, 2 * np.pi) - np.pi) < 1e-9
    position, speed = run.violations
    assert position.max() < (1e-13 if stabilization else 1e-9)
    assert speed.max() < (1e-12 if stabilization else 1e-9)


def test_a_drive_with_a_number_holds_a_joint():
    """As locking does."""
    rng = np.random.default_rng(12)
    system = ch.System(
        bodies(rng, "one", "two"),
        [
            ch.spherical("ball", "ground", "one", at=frame(rng), child_at=frame(rng)),
            ch.revolute("hinge", "one", "two", axis=AXIS, at=frame(rng), child_at=frame(rng)),
        ],
    )
    q, v = [1.0, 0.0, 0.0, 0.0, 0.6], [1.0, -2.0, 0.5, 0.0]
    driven = ch.simulate(
        system.with_constraint(ch.Drive("hold", "hinge", 0.6)), (0.0, 1.0), q, v, save="final", **TIGHT
    )
    locked = ch.simulate(system.lock("hinge", [0.6]), (0.0, 1.0), q[:4], v[:3], save="final", **TIGHT)
    assert np.abs(driven.poses[-1] - locked.poses[-1]).max() < 1e-10


# ---------------------------------------------------------------- rolling


@pytest.mark.parametrize("space", SPACES)
def test_a_ball_rolls_down_a_slope(space):
    """a = 5/7 g sin(slope)."""
    radius, slope = 0.3, 0.4
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    ball = ch.Body("ball", 2.0, (0.0, 0.0, 0.0), (0.4 * 2.0 * radius**2,) * 3)
    roll = ch.Rolling("roll", ("ground", "ball"), radius, normal=normal)
    system = ch.System([ball], constraints=[roll])
    start = np.array([[1.0, 0.0, 0.0, 0.0, *(radius * normal)]])
    run = ch.simulate(system, (0.0, 2.0), poses=start, space=space, save="final", **TIGHT)
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    expected = radius * normal + 0.5 * 5.0 / 7.0 * 9.81 * np.sin(slope) * 4.0 * down
    assert np.abs(run.poses[-1, 0, 4:] - expected).max() < 1e-10


# ---------------------------------------------------------------- the model


def test_constraints_are_part_of_the_system():
    system = gears()
    with pytest.raises(ValueError, match=r"constraints 'gear' are no part of a tree; use system.compile\(\)"):
        ch.Mechanism(system)
    with pytest.raises(ValueError, match=r"constraint 'mesh': there is no joint 'to three'; joints: to one, to two"):
        system.with_constraint(ch.Coupling("mesh", ("to one", "to three"), (1.0, 1.0)))
    with pytest.raises(ValueError, match="constraint 'link': there is no body 'three'"):
        system.with_constraint(ch.Distance("link", ("one", "three")))
    with pytest.raises(ValueError, match="joints and constraints: the name 'gear' is used 2 times"):
        system.with_constraint(ch.Distance("gear", ("one", "two")))
    with pytest.raises(ValueError, match="'gear' holds its coordinate"):
        system.lock("to one")
    with pytest.raises(ValueError, match="coordinate 1 of joint 'to one', which has 1"):
        system.with_constraint(ch.Drive("motor", "to one", 0.0, coordinate=1))
    ball = ch.System([ch.Body("ball", 1.0)], [ch.spherical("pivot", "ground", "ball")])
    with pytest.raises(ValueError, match="joint 'pivot' is spherical; expected a revolute"):
        ball.with_constraint(ch.Drive("motor", "pivot", 0.0))


def test_constraints_go_with_an_attached_system():
    other = gears(carried=True)
    hanging = ch.System(other.bodies, other.joints[1:], constraints=other.constraints)
    both = ch.System().attach(hanging, ch.spherical("first", "ground", "carrier"), "a ")
    both = both.attach(hanging, ch.spherical("second", "ground", "carrier"), "b ")
    assert [c.name for c in both.constraints] == ["a gear", "b gear"]
    assert both.constraints[1].joints == ("b to one", "b to two")
    rolling = ch.System([ch.Body("ball", 1.0)], constraints=[ch.Rolling("roll", ("ground", "ball"), 0.1)])
    with pytest.raises(ValueError, match="constraint 'roll' of 'system' is connected to its ground"):
        ch.System().attach(rolling, ch.free("by", "ground", "ball"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ch.Distance("link", ("one", "two"), length=0.0), "length is 0"),
        (lambda: ch.Distance("link", ("one", "one")), "two different bodies"),
        (lambda: ch.PointOnLine("line", ("one", "two"), direction=(0, 0, 0)), "has no length"),
        (lambda: ch.Coupling("gear", ("a", "b"), (1.0, 0.0)), "not zero"),
        (lambda: ch.Coupling("gear", ("a", "a"), (1.0, 1.0)), "coordinate 0 of joint 'a' is there twice"),
        (lambda: ch.Coupling("gear", ("a",), (1.0,)), "names of two joints or more"),
        (lambda: ch.Coupling("gear", ("a", "b", "c"), (1.0, 2.0)), "ratios"),
        (lambda: ch.Coupling("gear", ("a", "b", "c"), (1.0, 2.0, 3.0), 0.0, (0, 0)), "each of the 3 joints"),
        (lambda: ch.model.gear_pair("gear", ("a", "b"), (20, 0)), "teeth is .* expected 2 positive numbers"),
        (lambda: ch.model.gear_pair("gear", ("a", "b", "c"), (20, 10)), "names of 2 different joints"),
        (lambda: ch.model.planetary_gear("set", "s", "s", (20, 60), "r"), "names of different joints"),
        (lambda: ch.model.planetary_gear("set", "s", "c", (60, 20), "r"), "the number of the inner gear first"),
        (lambda: ch.model.rack_and_pinion("rack", "p", "r", 0.0), "radius is 0"),
        (lambda: ch.model.lead_screw("screw", "s", 0.0), "lead is 0"),
        (lambda: ch.Rolling("roll", ("one", "two"), -1.0), "radius is -1"),
        (lambda: ch.CustomConstraint("own", ("one", "two"), 3.0), "expected a function"),
        (lambda: ch.CustomConstraint("own", ("one", "two"), link, rows=4), "rows is 4"),
        (lambda: ch.Drive("motor", "hinge", "fast"), "'fast' is unknown here"),
    ],
)
def test_bad_constraints_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_error_in_a_law_comes_out():
    def broken(t, poses, twists, p, out):
        raise RuntimeError("no such table")

    system, poses, twists = free_bodies()
    system = system.with_constraint(ch.CustomConstraint("own", ("one", "two"), broken))
    with pytest.raises(RuntimeError, match="no such table"):
        ch.simulate(system, (0.0, 1.0), poses=poses, twists=twists, coordinates="absolute")
