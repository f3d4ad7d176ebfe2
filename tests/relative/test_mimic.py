"""Joints that follow others, in joint coordinates: against the closed mechanism of the same couplings, a dense solution
with the constant matrix of the ratios, Pinocchio and differences."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.model.mimic import as_couplings, without_mimics
from chasles.relative.elimination import PLAN, planned
from chasles.relative.factoring import factoring
from tests.relative.mimics import PLACES, random_tree, special

TOLERANCE = 1e-10


def state(mechanism, seed=0):
    rng = np.random.default_rng(seed)
    return mechanism.random(rng), rng.normal(size=mechanism.nv), rng.normal(size=mechanism.nv)


def matrix(system, mechanism):
    """The constant matrix of the ratios, from the rules as they are written."""
    free = without_mimics(system).compile()
    found = np.zeros((free.nv, mechanism.nv))
    for joint in system.joints:
        ratio, leader = 1.0, joint
        while leader.mimic is not None:
            ratio, leader = ratio * leader.mimic_ratio, system.joint(leader.mimic)
        own, other = free.tree.velocities[joint.name], mechanism.tree.velocities[leader.name]
        found[own, other] = ratio * np.eye(joint.nv)
    return free, found


def every(system, mechanism, q):
    """Coordinates of all joints, from the rules as they are written."""
    free, found = without_mimics(system).compile(), {}
    for joint in sorted(system.joints, key=lambda joint: _depth(system, joint)):
        if joint.mimic is None:
            found[joint.name] = q[mechanism.tree.coordinates[joint.name]]
        else:
            found[joint.name] = joint.mimic_ratio * found[joint.mimic] + joint.mimic_offset
    return np.concatenate([found[joint.name] for joint in free.tree.joints])


def _depth(system, joint):
    return 0 if joint.mimic is None else 1 + _depth(system, system.joint(joint.mimic))


def check(system):
    """Forward and inverse dynamics against the closed mechanism and the dense projection."""
    mechanism = system.compile()
    q, v, tau = state(mechanism)
    free, G = matrix(system, mechanism)
    place, speed = every(system, mechanism, q), G @ v
    a = mechanism.forward_dynamics(q, v, tau)
    mass, bias = free.mass_matrix(place), free.inverse_dynamics(place, speed, np.zeros(free.nv), applied=False)
    expected = np.linalg.solve(G.T @ mass @ G, tau - G.T @ bias)
    size = np.abs(expected).max()
    assert np.abs(a - expected).max() < TOLERANCE * size
    force = np.linalg.lstsq(G.T, tau, rcond=None)[0]
    closed = as_couplings(system).compile().forward_dynamics(place, speed, force)
    assert np.abs(G @ a - closed).max() < TOLERANCE * np.abs(closed).max()
    assert np.abs(mechanism.inverse_dynamics(q, v, a, applied=False) - tau).max() < TOLERANCE * np.abs(bias).max()
    assert np.abs(mechanism.mass_matrix(q) - G.T @ mass @ G).max() < 1e-13 * np.abs(mass).max()
    # with dampers on all joints
    a = mechanism.accelerations_under(q, v, tau)
    closed = as_couplings(system).compile().accelerations_under(place, speed, force)
    assert np.abs(G @ a - closed).max() < TOLERANCE * np.abs(closed).max()


@pytest.mark.parametrize("name", PLACES)
def test_dynamics_are_those_of_the_closed_mechanism(name):
    check(special(name))


@pytest.mark.parametrize("seed", range(12))
def test_random_trees(seed):
    check(random_tree(seed))


def test_kinematics_energies_and_momenta_are_those_of_all_joints():
    system = special("several")
    mechanism = system.compile()
    q, v, a = state(mechanism)
    free, G = matrix(system, mechanism)
    place = every(system, mechanism, q)
    for representation in ("body", "spatial", "hybrid", "mixed"):
        how = {"representation": representation}
        assert np.array_equal(mechanism.twists(q, v, **how), free.twists(place, G @ v, **how))
        found, expected = mechanism.accelerations(q, v, a, **how), free.accelerations(place, G @ v, G @ a, **how)
        assert np.abs(found - expected).max() < 1e-12
        assert np.abs(mechanism.jacobian(q, **how) - free.jacobian(place, **how) @ G).max() < 1e-14
        found = mechanism.inverse_dynamics(q, v, a, applied=False, **how)
        expected = G.T @ free.inverse_dynamics(place, G @ v, G @ a, applied=False)
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
    assert np.array_equal(mechanism.energy(q, v), free.energy(place, G @ v))
    assert np.array_equal(mechanism.momentum(q, v), free.momentum(place, G @ v))
    assert np.abs(mechanism.centroidal.matrix(q) - free.centroidal.matrix(place) @ G).max() < 1e-13
    assert np.abs(mechanism.twist_form.velocities(q, mechanism.twists(q, v)) - v).max() < 1e-13
    # without followers a joint at these coordinates is the same tree
    assert np.array_equal(mechanism.poses(q), free.poses(place))


@pytest.mark.parametrize("name", ["crossing groups", "on a free body"])
def test_derivatives_are_those_of_differences(name):
    mechanism = special(name).compile()
    q, v, tau = state(mechanism)
    a = mechanism.forward_dynamics(q, v, tau)
    step, still = 1e-6, np.zeros(mechanism.nv)

    def differences(function):
        return np.stack([(function(step * e) - function(-step * e)) / (2 * step) for e in np.eye(mechanism.nv)], -1)

    found = mechanism.derivatives.forward_dynamics(q, v, tau)
    expected = (
        differences(lambda x: mechanism.forward_dynamics(mechanism.retract(q, x), v, tau)),
        differences(lambda x: mechanism.forward_dynamics(q, v + x, tau)),
        differences(lambda x: mechanism.forward_dynamics(q, v, tau + x)),
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert np.abs(ours - theirs).max() < 1e-8 * np.abs(theirs).max()
    found = mechanism.derivatives.inverse_dynamics(q, v, a)
    expected = (
        differences(lambda x: mechanism.inverse_dynamics(mechanism.retract(q, x), v, a, applied=False)),
        differences(lambda x: mechanism.inverse_dynamics(q, v + x, a, applied=False)),
        mechanism.mass_matrix(q),
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert np.abs(ours - theirs).max() < 1e-8 * np.abs(theirs).max()
    terms, unit = mechanism.terms, np.eye(mechanism.nv)
    assert np.abs(terms.inverse_mass_matrix(q) @ mechanism.mass_matrix(q) - unit).max() < 1e-12
    sum_of_terms, bias = terms.coriolis(q, v) @ v + terms.gravity(q), terms.bias(q, v)
    assert np.abs(sum_of_terms - bias).max() < 1e-12 * np.abs(bias).max()
    regressor = mechanism.parameters.regressor(q, v, a, ("armature", "damping"))
    forces = regressor @ mechanism.parameters.inertial(("armature", "damping"))
    assert np.abs(forces - mechanism.inverse_dynamics(q, v, a)).max() < 1e-12 * np.abs(forces).max()
    rates = mechanism.rates.inverse_dynamics(q, v, a, still)
    h = 1e-5
    ahead, behind = (
        mechanism.inverse_dynamics(mechanism.retract(q, s * v + s * s / 2 * a), v + s * a, a, applied=False)
        for s in (h, -h)
    )
    assert np.abs(rates[1] - (ahead - behind) / (2 * h)).max() < 1e-7 * np.abs(rates[1]).max()


@pytest.mark.parametrize("system", [*map(special, PLACES), *map(random_tree, range(12))], ids=lambda each: each.name)
def test_derivatives_are_the_dense_projection(system):
    """∂a/∂x = -M⁻¹ Gᵀ ∂Q/∂x G of the tree without followers, one state and several at once."""
    mechanism = system.compile()
    free, G = matrix(system, mechanism)
    q, v, tau = (np.stack(part) for part in zip(*(state(mechanism, seed) for seed in range(4)), strict=True))
    a = mechanism.forward_dynamics(q, v, tau)
    places = np.stack([every(system, mechanism, one) for one in q])
    projected = [G.T @ each @ G for each in free.derivatives.inverse_dynamics(places, v @ G.T, a @ G.T)]
    inverse = np.linalg.inv(projected[2])
    expected = {
        mechanism.derivatives.inverse_dynamics: (a, projected),
        mechanism.derivatives.forward_dynamics: (tau, [-inverse @ projected[0], -inverse @ projected[1], inverse]),
        mechanism.mass_matrix: (None, [projected[2]]),
        mechanism.terms.inverse_mass_matrix: (None, [inverse]),
    }
    for function, (third, every_matrix) in expected.items():
        given = (q,) if third is None else (q, v, third)
        several, one = function(*given), function(*(part[0] for part in given))
        several, one = ([several], [one]) if third is None else (several, one)
        for many, single, theirs in zip(several, one, every_matrix, strict=True):
            assert np.abs(many - theirs).max() < 1e-11 * np.abs(theirs).max()
            assert np.array_equal(single, many[0])


def test_the_plan_grows_with_the_tree():
    """Of a chain in which every other joint follows the one before, and of pairs on one body: O(n), not O(n²). So do
    the factors of the mass matrix, but for the depth of the chain."""
    for on in (lambda k: k - 1, lambda k: 0 if k else -1):
        sizes = []
        for count in (20, 40, 80):
            bodies = [ch.Body(f"b{k}", 1.0, (0, 0, 0.1), (0.1, 0.1, 0.1)) for k in range(count + 1)]
            joints = []
            for k in range(count + 1):
                more = {"mimic": f"j{k - 1}", "mimic_ratio": -0.5} if k and k % 2 == 0 else {}
                parent = "ground" if on(k) < 0 else f"b{on(k)}"
                joints.append(ch.revolute(f"j{k}", parent, f"b{k}", axis=(0, 1, 0), at=(0, 0, 0.2), **more))
            dependence = ch.System(bodies, joints).compile().tree.dependence
            plan, order = planned(dependence), factoring(dependence)
            sizes.append([len(plan.table), *plan.table[PLAN.groups : PLAN.ground]])
            carried = int((order.ends - np.arange(len(order.ends))).sum())  # entries of the factors
            assert carried == (count + 1 if on(2) == 0 else (count // 2 + 1) * (count // 2 + 2) // 2)
        sizes = np.array(sizes)
        assert np.array_equal(sizes[2] - sizes[1], 2 * (sizes[1] - sizes[0]))


def test_pinocchio_has_the_same_mass_matrix_forces_and_jacobian():
    pinocchio = pytest.importorskip("pinocchio")
    inertia = '<inertia ixx="0.1" iyy="0.12" izz="0.13" ixy="0.01" ixz="0" iyz="0"/>'

    def link(name, k):
        mass = f'<origin xyz="{0.1 * k} 0.1 0.05"/><mass value="{1 + 0.3 * k}"/>{inertia}'
        return f'<link name="{name}"><inertial>{mass}</inertial></link>'

    def joint(name, kind, parent, child, axis, more=""):
        ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        place = '<origin xyz="0.3 0.1 0.2" rpy="0.1 0.2 0.3"/><limit lower="-9" upper="9" effort="7" velocity="3"/>'
        return f'<joint name="{name}" type="{kind}">{ends}{place}{more}</joint>'

    text = "".join(link(name, k) for k, name in enumerate("abcdef"))
    text += joint("j1", "revolute", "a", "b", "0 0 1") + joint("j2", "revolute", "b", "c", "0 1 0")
    text += joint("j3", "revolute", "b", "d", "1 0 0", '<mimic joint="j2" multiplier="-0.7" offset="0.2"/>')
    text += joint("j4", "prismatic", "d", "e", "1 0 0", '<mimic joint="j2" multiplier="0.3" offset="-0.1"/>')
    text += joint("j5", "revolute", "e", "f", "0 1 0")
    model = pinocchio.buildModelFromXML(f'<robot name="r">{text}</robot>', mimic=True)
    data = model.createData()
    mechanism = _loaded(f'<robot name="r">{text}</robot>')
    q, v, a = state(mechanism)
    order = ch.io.pinocchio_order(mechanism, model)
    place, speed = order.to(q, v)
    assert model.nv == mechanism.nv == 3
    tau = pinocchio.rnea(model, data, place, speed, order.to(q, a)[1])
    expected = mechanism.inverse_dynamics(q, v, a, applied=False)
    assert np.abs(order.back(place, tau)[1] - expected).max() < 1e-13 * np.abs(expected).max()
    mass = pinocchio.crba(model, data, place)
    mass = np.triu(mass) + np.triu(mass, 1).T
    ours = order.to(np.tile(q, (3, 1)), mechanism.mass_matrix(q))[1]  # rows in the order there
    assert np.abs(order.to(np.tile(q, (3, 1)), ours.T)[1].T - mass).max() < 1e-13 * np.abs(mass).max()
    pinocchio.computeJointJacobians(model, data, place)
    pinocchio.updateFramePlacements(model, data)
    J = pinocchio.getFrameJacobian(model, data, model.getFrameId("f"), pinocchio.WORLD)[[3, 4, 5, 0, 1, 2]]
    own = order.to(np.tile(q, (6, 1)), mechanism.jacobian(q, "f", representation="spatial"))[1]
    assert np.abs(own - J).max() < 1e-13
    # a model that knows no mimics has coordinates of all joints
    every_joint = ch.io.pinocchio_order(mechanism, pinocchio.buildModelFromXML(f'<robot name="r">{text}</robot>'))
    full = every_joint.to(q, v)
    assert full[0][2:4] == pytest.approx([0.2 - 0.7 * q[1], 0.3 * q[1] - 0.1])
    assert np.array_equal(every_joint.back(*full)[0], q)
    assert np.array_equal(every_joint.back(*full)[1], v)


def _loaded(text):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(text)
        return ch.load(file).system.compile()


def test_inverse_kinematics_within_the_limits_of_the_followers():
    system = special("other branch of a body")
    limited = [replace(joint, lower=-1.0, upper=0.5) if joint.name == "j3" else joint for joint in system.joints]
    mechanism = replace(system, joints=limited).compile()
    ends = sorted(((-1.0 - 0.1) / -2.0, (0.5 - 0.1) / -2.0))
    assert mechanism.limits.lower[1] == pytest.approx(ends[0])
    assert mechanism.limits.upper[1] == pytest.approx(ends[1])
    wanted = np.array([0.4, 0.2, -0.3])
    target = mechanism.poses(wanted, "b3")
    found = mechanism.inverse_kinematics("b3", target, [0.1, 0.0, 0.1])
    assert found.success
    assert np.abs(mechanism.poses(found.q, "b3") - target).max() < 1e-9
    beyond = mechanism.inverse_kinematics("b3", mechanism.poses([0.4, 0.9, -0.3], "b3"), [0.1, 0.0, 0.1], restarts=2)
    assert mechanism.limits.lower[1] - 1e-12 <= beyond.q[1] <= mechanism.limits.upper[1] + 1e-12


@pytest.mark.study
def test_batches_on_lanes():
    mechanism = special("between free bodies").compile()
    rng = np.random.default_rng(2)
    q, v, tau = mechanism.random(rng, (1100,)), *(rng.normal(size=(1100, mechanism.nv)) for _ in range(2))
    found = mechanism.forward_dynamics(q, v, tau)
    for k in range(0, 1100, 97):
        one = mechanism.forward_dynamics(q[k], v[k], tau[k])
        assert np.abs(found[k] - one).max() < 1e-12 * np.abs(one).max()
    back = mechanism.inverse_dynamics(q, v, found, applied=False)
    assert np.abs(back - tau).max() < 1e-9


def test_what_is_not_there_says_so():
    mechanism = special("gripper").compile()
    q, v, _ = state(mechanism)
    with pytest.raises(ValueError, match=r"momentum_form\.rates: is not there for mechanisms with joints that mimic"):
        mechanism.momentum_form.rates(q, v)
    with pytest.raises(ValueError, match="raw: is not there"):
        _ = mechanism.raw


def test_locking_a_leader_holds_what_follows_it():
    system = special("several")
    held = system.lock({"j1": 0.7})
    assert {joint.name for joint in held.joints if joint.kind == "weld"} == {"j1", "j2", "j3", "j4"}
    mechanism, other = held.compile(), system.compile()
    assert np.abs(mechanism.poses([0.3]) - other.poses([0.3, 0.7])).max() < 1e-14
    with pytest.raises(ValueError, match="joint 'j2' cannot be locked: it follows 'j1'; lock that one"):
        system.lock("j2")


def test_attached_twice_each_follows_its_own():
    hand = special("gripper")
    turn = ch.revolute("turn", "ground", "base", axis=(0, 0, 1))
    base = ch.System([ch.Body("base", 1.0, inertia=(0.1, 0.1, 0.1))], [turn])
    loose = replace(hand, joints=[joint for joint in hand.joints if joint.parent != "ground"])
    both = base
    for side in ("left ", "right "):
        both = both.attach(loose, ch.revolute(f"{side}wrist", "base", "b0", axis=(1, 0, 0)), prefix=side)
    assert both.joint("right j2").mimic == "right j1"
    assert both.compile().nv == 5


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"mimic": "nobody"}, r"joint 'j2': mimic is 'nobody'; there is no such joint"),
        ({"mimic": "j2"}, r"joint 'j2': mimic is 'j2'; expected the name of another joint"),
        ({"mimic": 3}, r"mimic is 3; expected the name of another joint"),
        ({"mimic": "ball"}, r"joint 'j2': mimic: joint 'ball' is spherical; expected one with one axis to follow"),
        ({"mimic": "j1", "mimic_ratio": np.nan}, "mimic_ratio"),
        ({"mimic": "j1", "mimic_offset": np.inf}, "mimic_offset"),
        ({"mimic_ratio": 2.0}, "mimic_ratio and mimic_offset are for a joint that follows one; give mimic"),
        ({"mimic": "j3"}, r"joint 'j3': mimic goes round in a circle: 'j3' follows 'j2' follows 'j3'"),
    ],
)
def test_bad_input(more, message):
    bodies = [ch.Body(name, 1.0, inertia=(0.1, 0.1, 0.1)) for name in "abcd"]
    joints = [
        ch.revolute("j1", "ground", "a", axis=(0, 0, 1)),
        ch.spherical("ball", "ground", "b"),
        ch.revolute("j3", "ground", "d", axis=(0, 0, 1), mimic="j2"),
    ]
    with pytest.raises(ValueError, match=message):
        ch.System(bodies, [*joints, ch.revolute("j2", "ground", "c", axis=(0, 0, 1), **more)])


def test_only_joints_with_one_axis_follow():
    with pytest.raises(ValueError, match="joint 'j': mimic is for joints with one axis, not for a spherical joint"):
        ch.spherical("j", "a", "b", mimic="k")
    with pytest.raises(ValueError, match="not for a cylindrical joint"):
        ch.cylindrical("j", "a", "b", axis=(0, 0, 1), mimic="k")


def test_a_group_without_mass_is_named_and_one_with_mass_in_a_follower_moves():
    def pair(*masses):
        bodies = [ch.Body(name, m, inertia=(m, m, m)) for name, m in zip("ab", masses, strict=True)]
        joints = [
            ch.revolute("one", "ground", "a", axis=(0, 0, 1)),
            ch.revolute("two", "ground", "b", axis=(0, 0, 1), mimic="one", mimic_ratio=3.0),
        ]
        return ch.System(bodies, joints)

    assert pair(0.0, 2.0).compile().mass_matrix([0.0])[0, 0] == pytest.approx(18.0)
    assert pair(0.0, 2.0).compile().forward_dynamics([0.0], [0.0], [1.0]) == pytest.approx([1 / 18])
    with pytest.raises(ValueError, match="joint 'one' carries no mass"):
        pair(0.0, 0.0).compile()
