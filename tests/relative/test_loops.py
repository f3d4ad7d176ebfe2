"""Closed mechanisms in joint coordinates against absolute coordinates, 60 digits, Lagrange's equation, virtual work."""

import functools
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from tests.absolute import loops, test_constraints
from tests.oracle import tree as oracle
from tests.relative import closed, models

# ---------------------------------------------------------------- rows, against differences in 60 digits

POINTS = {"hand": (0.1, -0.2, 0.3), "foot": (0.2, 0.1, -0.1), "moon": (-0.1, 0.2, 0.1)}
LENGTH, NORMAL = 0.7, (0.3, 0.5, -0.6)


@functools.cache
def closed_kinds():
    """The tree with all kinds of joints, and rows off their zero: of a spherical joint, a rigid link, a plane."""
    parts = models.all_kinds()
    system = models.system_of(parts).with_joint(
        ch.spherical("ball joint", "hand", "foot", at=POINTS["hand"], child_at=POINTS["foot"])
    )
    system = system.with_constraint(
        ch.Distance("link", ("moon", "hand"), (POINTS["moon"], POINTS["hand"]), LENGTH),
        ch.PointOnPlane("plane", ("foot", "moon"), (POINTS["foot"], POINTS["moon"]), NORMAL),
    )
    return parts, system.compile(), models.oracle_of(parts)


@oracle.precise
def rows_by_definition(parts, poses):
    """Residuals of the five rows at poses in high precision."""
    at = {part.name: C for part, C in zip(parts, poses, strict=True)}
    points = {name: (at[name] @ oracle.exact([*point, 1.0]))[:3] for name, point in POINTS.items()}
    link = points["hand"] - points["moon"]
    length = Decimal(LENGTH)
    normal = at["foot"][:3, :3] @ oracle.unit(NORMAL)
    plane = normal @ (points["moon"] - points["foot"])
    return np.array([*(points["foot"] - points["hand"]), (link @ link - length**2) / (2 * length), plane])


def test_rows_are_derivatives_in_sixty_digits():
    parts, mechanism, tree = closed_kinds()
    assert mechanism.constraint_names == ("ball joint", "link", "plane")
    assert mechanism.rows == 5
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = models.coordinates(mechanism.spanning, rng)
        v, a = rng.normal(size=(2, mechanism.nv))
        every = [models.split(mechanism.spanning, parts, x, w) for x, w in ((q, "coordinates"), (v, "velocities"))]
        every.append(models.split(mechanism.spanning, parts, a))
        with localcontext(prec=oracle.DIGITS):
            g = {k: rows_by_definition(parts, tree.along(*every, k * oracle.STEP)) for k in (-1, 0, 1)}
            first = (g[1] - g[-1]) / (2 * oracle.STEP)
            second = (g[1] - 2 * g[0] + g[-1]) / oracle.STEP**2
        found = mechanism.constraint_rows(q, v)
        rates = found.jacobian @ a - found.right
        for values, expected in ((found.residual, g[0]), (found.speed, first), (rates, second)):
            expected = oracle.doubles(expected)
            assert np.abs(values - expected).max() < 5e-14 * np.abs(expected).max()
        assert np.abs(found.jacobian @ v - found.speed).max() < 1e-13 * np.abs(found.speed).max()
        off = mechanism._largest(rates) - mechanism.constraint_violation(q, v, a).acceleration
        assert np.abs(off).max() < 1e-14 * np.abs(rates).max()


# ---------------------------------------------------------------- against absolute coordinates

CUTS = [(kind,) for kind in closed.CUT] + [("spherical", "cylindrical"), ("planar", "universal", "spherical")]


def same_as_absolute(system, q, v=None, t=0.0):
    """Accelerations of all bodies, in joint coordinates and in absolute ones; and the mechanisms with their states."""
    mechanism, absolute = system.compile(), system.compile("absolute", space="SE3")
    v = mechanism.consistent_velocities(q, np.random.default_rng(1).normal(size=mechanism.nv) if v is None else v, t)
    state = absolute.state(mechanism.poses(q), mechanism.twists(q, v))
    wanted = absolute.accelerations_under(*state, t=t)
    a = mechanism.accelerations_under(q, v, t=t)
    found = pose_group.Ad_apply(pose_group.inverse(absolute.central), mechanism.accelerations(q, v, a))
    assert np.abs(found - wanted).max() < 1e-9 * (1.0 + np.abs(wanted).max())
    assert mechanism.constraint_violation(q, v, a, t).acceleration.max() < 1e-11 * (1.0 + np.abs(wanted).max())
    return mechanism, v, absolute, state


@pytest.mark.parametrize("cut", CUTS, ids=" ".join)
def test_random_mechanisms_move_as_in_absolute_coordinates(cut):
    system, q = closed.random_closed(len(cut) * 100 + closed.CUT.index(cut[0]), cut)
    mechanism, v, absolute, state = same_as_absolute(system, q)
    assert [joint.name for joint in mechanism.split.cut] == [f"cut {k}" for k in range(len(cut))]
    assert mechanism.constraint_violation(q).position.max() < 1e-13
    assert mechanism.mobility(q).rank == mechanism.rows
    for name in (joint.name for joint in system.joints):  # reactions: sign, axes and origin as there
        wanted = absolute.reactions(name, *state)
        assert np.abs(mechanism.reactions(name, q, v) - wanted).max() < 1e-9 * (1.0 + np.abs(wanted).max())


def height(t, poses, twists, parameters, out):
    """The origin of the second body's frame at a height that grows with time, as a constraint of one's own."""
    (w, x, y, z), spin, speed = poses[7:11], twists[6:9], twists[9:12]
    up = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])  # e_z in the body
    out[0] = poses[13] - parameters[0] - parameters[1] * t
    out[24:27] = up
    out[39] = -up @ np.cross(spin, speed)
    out[42] = parameters[1]


def a_height(poses):
    return [ch.CustomConstraint("height", ("one", "two"), height, parameters=[poses[1, 6], 0.2])]


KINDS = [kind for kind in test_constraints.KINDS if kind is not test_constraints.a_custom_link]


@pytest.mark.parametrize("kind", [*KINDS, a_height])
def test_constraints_act_as_in_absolute_coordinates(kind):
    system, poses, twists = test_constraints.held(kind)
    mechanism = system.compile()
    q = np.concatenate([poses[mechanism.bodies.index(joint.removeprefix("free "))] for joint in mechanism.joints])
    mechanism, v, absolute, state = same_as_absolute(system, q, twists.ravel())
    (name,) = mechanism.constraint_names
    wanted = absolute.reactions(name, *state)
    assert np.abs(mechanism.reactions(name, q, v) - wanted).max() < 1e-10 * (1.0 + np.abs(wanted).max())


def test_couplings_and_drives_act_as_in_absolute_coordinates():
    system = test_constraints.gears(carried=True)
    swing = ch.Drive("motor", "to one", test_constraints.swing, parameters=(0.4, 3.0, 0.2))
    driven = ch.System(system.bodies, system.joints, constraints=[swing], gravity=(1.0, 2.0, 3.0))
    for one, t in ((system, 0.0), (driven, 0.3)):
        mechanism = one.compile()
        q = mechanism.assemble(mechanism.random(np.random.default_rng(2)), t)
        assert mechanism.constraint_violation(q, t=t).position.max() < 1e-14
        same_as_absolute(one, q, t=t)
    law = 0.4 * np.sin(3.0 * t) + 0.2 * t
    assert np.remainder(q[mechanism.tree.coordinates["to one"]] - law + 1.0, 2 * np.pi) - 1.0 == pytest.approx(0.0)


def test_batches():
    system, q = closed.random_closed(7, ("spherical",))
    mechanism = replace(system, forces=()).compile()
    rng = np.random.default_rng(0)
    states = np.array([mechanism.assemble(mechanism.retract(q, 0.1 * rng.normal(size=mechanism.nv))) for _ in range(3)])
    v, tau = rng.normal(size=(2, 1, mechanism.nv)), rng.normal(size=mechanism.nv)
    wrenches = rng.normal(size=(len(mechanism.bodies), 6))
    found = mechanism.constrained_motion(states, v, tau, wrenches=wrenches)
    assert found.accelerations.shape == (2, 3, mechanism.nv)
    assert found.multipliers.shape == (2, 3, 3)
    one = mechanism.constrained_motion(states[1], v[0, 0], tau, wrenches=wrenches)
    assert np.array_equal(one.accelerations, mechanism.forward_dynamics(states[1], v[0, 0], tau, wrenches))
    assert np.array_equal(found.accelerations[0, 1], one.accelerations)
    assert np.array_equal(found.multipliers[0, 1], one.multipliers)
    none = mechanism.forward_dynamics(states[:0], v[0], tau)
    assert none.shape == (0, mechanism.nv)
    # equations of motion: M a + C v + g - Σ JᵀW = tau - Jᵀ λ
    tree = mechanism.spanning.inverse_dynamics(states[1], v[0, 0], one.accelerations, wrenches)
    pushed = tau - mechanism.constraint_jacobian(states[1]).T @ one.multipliers
    assert np.abs(tree - pushed).max() < 1e-11 * np.abs(tree).max()


# ---------------------------------------------------------------- the planar four-bar: three equations too many

CRANK, SPEED = 0.7, 3.0


@pytest.mark.parametrize("cut", [(), ("A",), ("B",), ("C",)])
def test_a_planar_loop_of_spatial_joints(cut):
    mechanism = closed.four_bar().compile(cut=cut)
    q, v = closed.four_bar_state(mechanism, CRANK, SPEED)
    assert mechanism.constraint_violation(q, v).velocity.max() < 1e-14
    found = mechanism.constrained_motion(q, v)
    crank = mechanism.accelerations(q, v, found.accelerations, "crank")[2]
    no_torque = closed.four_bar_torque(CRANK, SPEED, 0.0)
    expected = -no_torque / (closed.four_bar_torque(CRANK, SPEED, 1.0) - no_torque)
    assert crank == pytest.approx(expected, rel=1e-11)
    report = mechanism.mobility(q)
    assert report.freedoms == 1
    assert report.redundant == 3
    assert report.dependent == mechanism.constraint_names
    assert "redundant" in str(report)


def test_dependent_rows_share_what_they_must():
    """The multipliers are the smallest in the rows' own units: none of another choice would change the motion."""
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, CRANK, SPEED)
    found = mechanism.constrained_motion(q, v)
    J = mechanism.constraint_jacobian(q)
    lengths = np.sqrt(np.einsum("ri,ij,rj->r", J, np.linalg.inv(mechanism.mass_matrix(q)), J))
    forces = -mechanism.spanning.inverse_dynamics(q, v, found.accelerations)
    assert np.abs(J.T @ found.multipliers - forces).max() < 1e-12 * np.abs(forces).max()
    used = lengths > 1e-9
    best = np.linalg.lstsq((J[used] / lengths[used, None]).T, forces, rcond=1e-9)[0] / lengths[used]
    assert np.abs(found.multipliers[used] - best).max() < 1e-9 * np.abs(best).max()
    assert np.abs(found.multipliers[~used]).max(initial=0.0) == 0.0


def test_joints_that_something_acts_on_stay_in_the_tree():
    """All four hinges are damped: one more coordinate, and a body in two parts. Oracle: Lagrange's equation."""
    damping = 0.3
    mechanism = closed.four_bar(damping=damping).compile()
    assert set(mechanism.joints) == set("ABCD")
    assert mechanism.split.parts == {"rocker": ("rocker at D",)}
    assert mechanism.constraint_names == ("D",)
    q, v = closed.four_bar_state(mechanism, CRANK, SPEED)
    assert mechanism.constraint_violation(q, v).position.max() < 1e-15
    x, y, z = loops.four_bar_rates(CRANK)
    lost = damping * SPEED * (x**2 + (y - x) ** 2 + (z - y) ** 2 + z**2)
    no_torque = closed.four_bar_torque(CRANK, SPEED, 0.0)
    expected = (-lost - no_torque) / (closed.four_bar_torque(CRANK, SPEED, 1.0) - no_torque)
    a = mechanism.accelerations_under(q, v)
    assert a[mechanism.tree.velocities["A"]] == pytest.approx(expected, rel=1e-11)
    kinetic, potential = mechanism.energy(q, v)
    expected = loops.four_bar_energy(CRANK)
    assert kinetic == pytest.approx(expected[0] * SPEED**2, rel=1e-13)
    assert potential == pytest.approx(expected[1], rel=1e-13)
    bodies = mechanism.system.compile("absolute")
    state = bodies.state(mechanism.poses(q, bodies.bodies), mechanism.twists(q, v, bodies.bodies))
    for name in "ABCD":  # also of the joint whose body is split
        wanted = bodies.reactions(name, *state)
        across = np.arange(6)[[2, 3, 4]]  # others are not unique in a planar loop
        np.testing.assert_allclose(mechanism.reactions(name, q, v)[across], wanted[across], rtol=0, atol=1e-9)
    # a push on the whole body is one on its first part
    push = np.zeros((3, 6))
    push[2] = [0.0, 0.0, 0.5, 1.0, 2.0, 0.0]
    pushed = mechanism.forward_dynamics(q, v, np.zeros(4), push)
    plain = closed.four_bar().compile()
    other = plain.forward_dynamics(*closed.four_bar_state(plain, CRANK, SPEED), np.zeros(3), push)
    assert pushed[0] == pytest.approx(other[0], rel=1e-12)


def test_only_some_joints_are_acted_on():
    system = closed.four_bar()
    damped = [ch.revolute("D", "ground", "rocker", axis=closed.Z, at=(loops.BASE, 0.0, 0.0), damping=0.1)]
    mechanism = ch.System(system.bodies, [*system.joints[:3], *damped]).compile()
    assert mechanism.constraint_names == ("C",)  # D is taken first
    assert not mechanism.split.parts
    geared = system.with_constraint(ch.Coupling("gear", ("A", "D"), (1.0, 2.0)))
    assert geared.compile().constraint_names == ("C", "gear")
    assert closed.four_bar().compile(cut="B").constraint_names == ("B", "D")


def test_a_joint_without_rows_that_closes_a_loop():
    """Its child is split, and it moves as the same joint with rows."""
    system, q = closed.random_closed(11, ("cylindrical",))
    *others, cut = system.joints
    ends = {"at": cut.parent_frame, "child_at": cut.child_frame}
    general = ch.general(cut.name, cut.parent, cut.child, screws=cut.screws, **ends)
    other = ch.System(system.bodies, [*others, general], forces=system.forces, gravity=system.gravity).compile()
    mechanism = system.compile()
    assert other.split.parts == {cut.child: (f"{cut.child} at cut 0",)}
    assert mechanism.mobility(q).freedoms == mechanism.nv - 4
    v = mechanism.consistent_velocities(q, np.random.default_rng(0).normal(size=mechanism.nv))
    frames = [np.array(cut.parent_frame), pose_group.compose(mechanism.poses(q, cut.child), np.array(cut.child_frame))]
    turned = pose_group.log(pose_group.compose(pose_group.inverse(frames[0]), frames[1]))
    axis = np.array(cut.screws[0][:3])
    where, more = other.tree.coordinates, other.tree.velocities
    at, speed = np.zeros(other.nq), np.zeros(other.nv)
    for name in mechanism.joints:
        at[where[name]], speed[more[name]] = q[mechanism.tree.coordinates[name]], v[mechanism.tree.velocities[name]]
    at[where[cut.name]] = turned[:3] @ axis, turned[3:] @ axis
    assert other.constraint_violation(at).position.max() < 1e-13
    J = other.constraint_jacobian(at)
    speed[more[cut.name]] = np.linalg.lstsq(J[:, more[cut.name]], -J @ speed, rcond=None)[0]
    assert other.constraint_violation(at, speed).velocity.max() < 1e-12
    found = other.accelerations(at, speed, other.accelerations_under(at, speed))
    wanted = mechanism.accelerations(q, v, mechanism.accelerations_under(q, v))
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()
    assert other.mobility(at).freedoms == mechanism.mobility(q).freedoms


# ---------------------------------------------------------------- inverse dynamics


def test_torque_of_the_crank_by_virtual_work():
    for last in (closed.four_bar(), loops.four_bar()):
        mechanism = last.compile()
        if "D" not in mechanism.constraint_names:
            raise AssertionError
        if last.joints[1].kind == "revolute":
            q, v = closed.four_bar_state(mechanism, CRANK, SPEED)
        else:
            q = mechanism.neutral()
            a, b, c = loops.four_bar_angles(CRANK)
            q[0], q[5], q[1:5] = a, c - b, [np.cos((b - a) / 2), 0.0, 0.0, np.sin((b - a) / 2)]
            v = mechanism.consistent_velocities(q, mechanism.consistent_velocities(q, np.eye(mechanism.nv)[0]))
            v *= SPEED / v[0]
        tau = np.zeros(mechanism.nv)
        tau[0] = 4.0
        a = mechanism.forward_dynamics(q, v, tau)
        expected = closed.four_bar_torque(CRANK, SPEED, a[0])
        assert expected == pytest.approx(4.0, rel=1e-11)
        found = mechanism.inverse_dynamics(q, v, a, actuated=["A"])
        assert np.abs(found - tau).max() < 1e-11
        # any other joint can do it, with the same power
        other = mechanism.inverse_dynamics(q, v, a, actuated="C")
        assert not other[0]
        assert other @ v == pytest.approx(4.0 * v[0], rel=1e-11)


def test_forward_and_inverse_dynamics_are_inverse():
    system, q = closed.random_closed(23, ("planar", "universal", "spherical"))
    mechanism = system.compile()
    rng = np.random.default_rng(4)
    v = mechanism.consistent_velocities(q, rng.normal(size=mechanism.nv))
    tau, wrenches = rng.normal(size=mechanism.nv), rng.normal(size=(len(mechanism.bodies), 6))
    a = mechanism.forward_dynamics(q, v, tau, wrenches)
    u = mechanism.inverse_dynamics(q, v, a, wrenches, applied=False)  # all joints: the least of all forces that do it
    again = mechanism.forward_dynamics(q, v, u, wrenches)
    assert np.abs(again - a).max() < 1e-10 * np.abs(a).max()
    assert np.linalg.norm(u) < np.linalg.norm(tau)
    J = mechanism.constraint_jacobian(q)
    assert np.abs(J @ u).max() < 1e-11  # no part of it is one that the constraints take
    joints = ["j0", "j1", "j3", "j6", "j7"]  # more freedoms than the mobility
    freedoms = [mechanism.tree.velocities[name] for name in joints]
    assert sum(part.stop - part.start for part in freedoms) >= mechanism.mobility(q).freedoms
    u = mechanism.inverse_dynamics(q, v, a, wrenches, actuated=joints, applied=False)
    again = mechanism.forward_dynamics(q, v, u, wrenches)
    assert np.abs(again - a).max() < 1e-8 * np.abs(a).max()
    passive = [name for name in mechanism.joints if name not in joints]
    assert all(not u[mechanism.tree.velocities[name]].any() for name in passive)


def test_actuators_are_what_is_actuated():
    system = closed.four_bar().with_actuator(ch.Actuator("motor", "A"))
    mechanism = system.compile()
    q, v = closed.four_bar_state(mechanism, CRANK, SPEED)
    a = mechanism.forward_dynamics(q, v, [1.5, 0.0, 0.0])
    assert mechanism.inverse_dynamics(q, v, a) == pytest.approx([1.5, 0.0, 0.0], abs=1e-12)


# ---------------------------------------------------------------- assembly


def test_a_rough_start_is_assembled():
    mechanism = closed.rssr().compile()
    rng = np.random.default_rng(1)
    q = mechanism.assemble(mechanism.retract(mechanism.neutral(), 0.5 * rng.normal(size=mechanism.nv)))
    assert mechanism.constraint_violation(q).position.max() < 1e-15
    assert mechanism.mobility(q).freedoms == 2
    given = rng.normal(size=mechanism.nv)
    v = mechanism.consistent_velocities(q, given)
    assert mechanism.constraint_violation(q, v).velocity.max() < 1e-14
    assert abs((given - v) @ mechanism.mass_matrix(q) @ v) < 1e-14  # orthogonal in the metric of the masses
    assert np.abs(mechanism.consistent_velocities(q, v) - v).max() < 1e-14
    held = mechanism.consistent_velocities(q, given, held="A")
    kept = mechanism.tree.velocities["A"].start
    assert held[kept] == given[kept]
    assert mechanism.constraint_violation(q, held).velocity.max() < 1e-13
    allowed = np.linalg.svd(np.concatenate([mechanism.constraint_jacobian(q), np.eye(mechanism.nv)[[kept]]]))[2][-1]
    assert abs((given - held) @ mechanism.mass_matrix(q) @ allowed) < 1e-13  # the nearest of those that keep it
    with pytest.raises(ch.errors.AssemblyError, match=r"no velocities with .* as given satisfy"):
        mechanism.consistent_velocities(q, given, held=mechanism.joints)
    with pytest.raises(ValueError, match="held: there is no joint 'nothing'"):
        mechanism.consistent_velocities(q, given, held=["nothing"])
    near = mechanism.retract(q, 1e-4 * rng.normal(size=mechanism.nv))
    back, speed = mechanism.project(near, given)
    assert mechanism.constraint_violation(back, speed).position.max() < 1e-15
    assert mechanism.constraint_violation(back, speed).velocity.max() < 1e-14
    move = mechanism.difference(back, near)  # the shortest way: M move is in the span of the rows
    J, push = mechanism.constraint_jacobian(near), mechanism.mass_matrix(near) @ move
    left = push - J.T @ np.linalg.lstsq(J.T, push, rcond=None)[0]
    assert np.linalg.norm(left) < 1e-3 * np.linalg.norm(push)


def test_velocities_are_on_the_constraints_however_far_positions_were_off():
    mechanism = closed.rssr().compile()
    rng = np.random.default_rng(1)
    q = mechanism.assemble(mechanism.retract(mechanism.neutral(), 0.5 * rng.normal(size=mechanism.nv)))
    for size in np.repeat([1e-3, 1e-2, 3e-2], 10):
        way = rng.normal(size=mechanism.nv)
        near = mechanism.retract(q, size * way / np.linalg.norm(way))
        off = mechanism.constraint_violation(*mechanism.project(near, rng.normal(size=mechanism.nv)))
        assert off.position.max() < 1e-14
        assert off.velocity.max() < 2e-13  # up to 9e-6 with the factor that positions leave


def test_an_overconstrained_linkage():
    mechanism = closed.bennett().compile()
    q = mechanism.assemble([0.8, -1.2, 0.9])
    assert mechanism.constraint_violation(q).position.max() < 1e-14
    report = mechanism.mobility(q)
    assert (report.equations, report.rank, report.freedoms) == (5, 2, 1)


# ---------------------------------------------------------------- what is wrong is said with names


def test_a_tree_is_still_a_mechanism():
    system = ch.System([loops.rod("rod", 1.0, 1.0)], [ch.revolute("A", "ground", "rod", axis=closed.Z)])
    assert type(system.compile()) is ch.Mechanism
    held = system.compile(cut=["A"])
    assert held.joints == ("free rod",)
    assert held.mobility(held.neutral()).freedoms == 1
    with pytest.raises(ValueError, match=r"cut: there is no joint 'B'; joints: A"):
        system.compile(cut=["B"])


def test_what_cannot_be_assembled_is_refused():
    rods = [loops.rod("one", 0.3, 1.0), loops.rod("two", 0.4, 1.0)]
    joints = [
        ch.spherical("near", "ground", "one"),
        ch.spherical("middle", "one", "two", at=(0.3, 0.0, 0.0)),
        ch.spherical("far", "ground", "two", at=(1.0, 0.0, 0.0), child_at=(0.4, 0.0, 0.0)),  # 0.3 m too far
    ]
    mechanism = ch.System(rods, joints).compile()
    rough = mechanism.retract(mechanism.neutral(), [0.0, 0.2, 0.1, 0.1, 0.0, 0.3])
    with pytest.raises(ch.errors.AssemblyError, match=r"no coordinates near the given ones .* violate 'far' by 0\.3"):
        mechanism.assemble(rough)
    with pytest.raises(
        ch.errors.AssemblyError, match=r"consistent_velocities: the coordinates violate 'far' by .*; assemble"
    ):
        mechanism.consistent_velocities(rough, np.zeros(6))


def test_contradicting_constraints():
    wheel = ch.System(
        [loops.rod("rod", 1.0, 1.0)],
        [ch.revolute("A", "ground", "rod", axis=closed.Z)],
        constraints=[
            ch.Drive("slow", "A", test_constraints.swing, parameters=(0.0, 0.0, 1.0)),
            ch.Drive("fast", "A", test_constraints.swing, parameters=(0.5, 2.0, 1.0)),
        ],
    ).compile()
    with pytest.raises(ch.errors.AssemblyError, match=r"no velocities satisfy .* violate '(slow|fast)' by"):
        wheel.consistent_velocities([0.0], [0.0])
    with pytest.raises(
        ch.errors.RedundantConstraintsError, match=r"1 of 2 constraint equations depend .* contradict .*by"
    ):
        wheel.forward_dynamics([0.5], [0.0], [0.0], t=0.5)


def test_errors_of_inverse_dynamics():
    mechanism = closed.rssr().compile()
    q = mechanism.assemble(mechanism.retract(mechanism.neutral(), [0.5, 0.0, 0.3, 0.2, 0.1]))
    v = mechanism.consistent_velocities(q, np.ones(5))
    a = mechanism.forward_dynamics(q, v, np.zeros(5))
    with pytest.raises(
        ValueError, match=r"mobility 2, the actuated joints \(A\) have 1 degree of freedom; name more of them"
    ):
        mechanism.inverse_dynamics(q, v, a, actuated=["A"])
    with pytest.raises(ValueError, match=r"the actuated joints \(A, D\) cannot control the motion"):  # the rod spins
        mechanism.inverse_dynamics(q, v, a, actuated=["A", "D"])
    with pytest.raises(ValueError, match="joint 'C' is cut and has no coordinates"):
        mechanism.inverse_dynamics(q, v, a, actuated=["C"])
    with pytest.raises(ValueError, match="inverse_dynamics: actuated: there is no joint 'E'"):
        mechanism.inverse_dynamics(q, v, a, actuated=["E"])
    with pytest.raises(ValueError, match=r"the accelerations violate 'C' by .* \[m/s² or rad/s²\]"):
        mechanism.inverse_dynamics(q, v, a + 0.1)
    assert mechanism.inverse_dynamics([q], [v], [a]).shape == (1, 5)


def test_other_errors():
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, CRANK, SPEED)
    with pytest.raises(ValueError, match="reactions: there is no joint or constraint 'E'; there are A, B, C, D"):
        mechanism.reactions("E", q, v)
    with pytest.raises(ValueError, match="violation: accelerations need velocities"):
        mechanism.constraint_violation(q, a=v)
    with pytest.raises(ValueError, match=r"constraint_rows: leading axes do not broadcast: q \(2,\), v \(3,\)"):
        mechanism.constraint_rows(np.tile(q, (2, 1)), np.tile(v, (3, 1)))
    light = ch.System(
        [loops.rod("one", 1.0, 1.0), ch.Body("two")],
        [
            ch.revolute("A", "ground", "one", axis=closed.Z, damping=1.0),
            ch.revolute("B", "one", "two", axis=closed.Z, damping=1.0),
            ch.revolute("C", "ground", "two", axis=closed.Z, damping=1.0),
        ],
    )
    with pytest.raises(ValueError, match=r"joint 'C' closes a loop and something acts on it, .* it has no mass"):
        light.compile()
