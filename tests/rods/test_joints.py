"""Rods whose elements are joints: against rods with all strains, closed forms, and other coordinates of the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles import rods
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.rod_modes import shapes
from tests.rods.test_statics import BEND, SLENDER, bend, cantilever

BENDING = ("twist", "bend_y", "bend_z")
FORCES = ("stiffness", "damping")
RUBBER = rods.Material(1e7, 0.3, 1000.0)


def hook(n: int = 6, ends=("ground", "free"), section=None, **more) -> ch.System:
    """An arc that is fixed at one end."""
    curve = rods.Arc((0, 0, 0), (0, 0.5, 0), (0, 0, 1), 1.0)
    section = section or rods.Rectangle(0.02, 0.012)
    return ch.System(rods=[ch.Rod("b", curve, section, RUBBER, ends, n, damping=1e-3, **more)])


@pytest.mark.parametrize("strains", ["bend_z", BENDING, rods.STRAINS])
def test_elastica_is_of_order_two(strains):
    errors = []
    for n in (8, 16):
        system = cantilever(n, SLENDER, (0, 0, 0, 0, 10, 0), strains=strains)
        mechanism = system.compile()
        found = mechanism.poses(ch.equilibrium(system).q)[-1, 4:6]
        errors.append(np.linalg.norm(found - [0.445002538816, 0.810622237791]))
    assert errors[0] < 7e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)


@pytest.mark.sample(1)
@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize(("strains", "bound"), [(("bend_z",), 5e-6), (BENDING, 2e-5), (rods.STRAINS, 2e-5)])
def test_the_steps_along_a_rod_of_polynomials_are_of_order_four(strains, bound, curved):
    """Strains that change along the rod, also of a reference that is bent and twisted, against SciPy's solution of
    g' = g ξ: where the tip is, and how it is turned. With elements "helix" they are of order two."""
    first, slope = np.array([0.8, 1.5, -1.1, 0.1, 0.05, -0.1]), np.array([-0.6, 1.0, 2.0, 0.1, -0.1, 0.2])
    own = [rods.STRAINS.index(name) for name in strains]
    curve = rods.Helix((0, 0, 0), (0, 0.5, 0), (0, 0, 1), 0.4, 0.3) if curved else rods.Line((0, 0, 0), (1, 0, 0))
    line = ch.Rod("b", curve, rods.Circle(0.02), RUBBER, ("ground", "free"), 8, twist=1.2 * curved)
    start, near = replace(line, twist=0.0).poses(np.array([0.0, 0.1]))
    helix = pose_group.log(pose_group.compose(pose_group.inverse(start), near)) / 0.1  # the same all along
    rate = line.twist / line.length

    def along(s, y):
        strain, reference = np.zeros(6), pose_group.Ad_apply(pose_group.exp([-rate * s, 0, 0, 0, 0, 0]), helix)
        strain[own] = (first + slope * s / line.length)[own]
        k, c = (reference + strain)[:3] + rate * np.eye(3)[0], (reference + strain)[3:]
        R, K = y[:9].reshape(3, 3), np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
        return np.concatenate([(R @ K).ravel(), R @ c])

    begin = [*quaternion_to_matrix(start[:4]).ravel(), *start[4:]]
    known = solve_ivp(along, (0, line.length), begin, method="DOP853", rtol=1e-10, atol=1e-11).y[:, -1]
    errors = {}
    for element, n in (("magnus", 8), ("magnus", 16), ("helix", 8)):
        rod = replace(line, elements=n, element=element, strains=strains, modes=2)
        mechanism, q, places = ch.System(rods=[rod]).compile(), {}, np.array([0.0, rod.length])
        for k, (name, values) in enumerate(zip(strains, shapes(rod, places), strict=True)):
            wanted = (first + np.outer([0, 1], slope))[:, own[k]] * rod.length / n
            q |= {f"b {name} {mode}": share for mode, share in enumerate(np.linalg.solve(values.T, wanted))}
        pose = mechanism.poses(np.array([q[joint] for joint in mechanism.tree.coordinates]), frames=f"b[{n}]")
        found = np.concatenate([quaternion_to_matrix(pose[:4]).ravel(), pose[4:]])
        errors[element, n] = np.abs(found - known).max()
    assert errors["magnus", 8] < bound
    assert errors["magnus", 8] / errors["magnus", 16] == pytest.approx(16.0, rel=0.1)
    assert errors["helix", 8] > 30 * errors["magnus", 8]


def test_mechanics_along_polynomials_agree_with_differences():
    """Twist and bends of an arc: the mass matrix is the sum over nodes of what differences of their poses move; forward
    and inverse dynamics invert each other; derivatives are those of differences."""
    mechanism = hook(8, strains=BENDING, modes=2).compile()
    rng = np.random.default_rng(5)
    q, v, a = 0.1 * rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)
    h, expected = 1e-5, np.zeros((6, 6))
    for body in mechanism.system.bodies:
        poses = [mechanism.poses(np.stack([q + h * e, q - h * e]), frames=body.name) for e in np.eye(6)]
        twists = [pose_group.log(pose_group.compose(pose_group.inverse(two), one)) / (2 * h) for one, two in poses]
        expected += np.array(twists) @ body.spatial @ np.array(twists).T
    M = mechanism.mass_matrix(q)
    np.testing.assert_allclose(M, expected, atol=1e-8 * np.abs(M).max())
    tau = mechanism.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(mechanism.accelerations_under(q, v, tau), a, atol=1e-9)
    springs = [np.array([getattr(joint, name)[0] for joint in mechanism.tree.joints]) for name in FORCES]
    exact = [
        own + np.diag(more) for own, more in zip(mechanism.derivatives.inverse_dynamics(q, v, a), springs, strict=False)
    ]
    for k, e in enumerate(np.eye(6)):
        for matrix, ends in zip(exact, ((h, 0), (0, h)), strict=True):
            one, two = (mechanism.inverse_dynamics(q + s * ends[0] * e, v + s * ends[1] * e, a) for s in (1, -1))
            np.testing.assert_allclose(matrix[:, k], (one - two) / (2 * h), atol=1e-6 * np.abs(matrix).max())


def test_equilibrium_along_polynomials_is_of_order_four():
    """The elastica with as many modes as it takes, against a finer mesh with as many; and against shooting."""
    tips = []
    for n in (6, 12, 24):
        system = cantilever(n, SLENDER, (0, 0, 0, 0, 10, 0), strains="bend_z", modes=5)
        tips.append(system.compile().poses(ch.equilibrium(system).q, frames=f"b[{n}]")[4:6])
    assert np.linalg.norm(tips[0] - tips[1]) / np.linalg.norm(tips[1] - tips[2]) == pytest.approx(16.0, rel=0.1)
    assert np.linalg.norm(tips[2] - [0.445002538816, 0.810622237791]) < 3e-5


def test_few_polynomials_are_enough():
    """Errors of a mesh of 16 elements with 1, 2, ... coordinates in all."""
    errors = []
    for modes in (1, 2, 3, 4):
        system = cantilever(16, SLENDER, (0, 0, 0, 0, 10, 0), strains="bend_z", modes=modes)
        mechanism = system.compile()
        assert mechanism.nv == modes
        tip = mechanism.poses(ch.equilibrium(system).q)[list(mechanism.bodies).index("b[16]"), 4:6]
        errors.append(np.linalg.norm(tip - [0.445002538816, 0.810622237791]))
    assert (np.array(errors) < [0.2, 0.02, 1.5e-3, 4.3e-4]).all()


def test_the_same_in_absolute_coordinates():
    """Accelerations of all nodes, bent, twisted and in motion, from joints and from poses."""
    system = hook(strains=("twist", "bend_y", "bend_z", "stretch"))
    tree, rng = system.compile(), np.random.default_rng(3)
    q, v = 0.2 * rng.normal(size=tree.nq), rng.normal(size=tree.nv)
    expected = tree.accelerations(q, v, tree.accelerations_under(q, v))
    bodies = system.compile("absolute")
    state = bodies.state(tree.poses(q), tree.twists(q, v))
    found = bodies.accelerations(*state, bodies.accelerations_under(*state))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("tapered", [False, True])
def test_as_many_modes_as_elements_change_nothing(tapered):
    section = (rods.Rectangle(0.02, 0.012), rods.Rectangle(0.01, 0.012)) if tapered else None
    n, strains = 5, ("bend_y", "bend_z")
    apart = hook(n, section=section, strains=strains).compile()
    modal = hook(n, section=section, strains=strains, modes=n, element="helix").compile()
    rod = modal.system.rods[0]
    values = shapes(rod, rod.mesh.s[:-1] + 0.5 * rod.mesh.lengths)
    G = np.zeros((apart.nv, modal.nv))  # in element k strains are the factors in turn, one order and the other
    for k in range(n):
        for place, strain in enumerate((1, 0) if k % 2 else (0, 1)):
            for mode in range(n):
                part = modal.tree.velocities[f"b {strains[strain]} {mode}"]
                G[apart.tree.velocities[f"b[{k + 1}]"].start + place, part] = values[strain, mode, k]
    rng = np.random.default_rng(1)
    q, v = 0.1 * rng.normal(size=modal.nq), rng.normal(size=modal.nv)
    np.testing.assert_allclose(modal.poses(q)[:n], apart.poses(G @ q), atol=1e-12)
    a = apart.accelerations_under(G @ q, G @ v)
    np.testing.assert_allclose(G @ modal.accelerations_under(q, v), a, rtol=0, atol=1e-9 * np.abs(a).max())


def test_what_a_run_says_of_it():
    run = ch.simulate(hook(strains=BENDING), (0, 0.02), certificate=False)
    rod = run.rod("b")
    assert rod.energy == pytest.approx(run.energies.springs, rel=1e-9, abs=1e-14)
    assert np.isnan(rod.stresses[..., 3:]).all()
    assert rod.curve().shape == (len(run.t), 4 * 6 + 1, 3)
    panels = run.plot("rods.b").axes
    assert [one.get_ylabel() for one in panels] == ["torque [N m]", "bending moment [N m]"]
    drawn = panels[1].lines[0].get_ydata()
    assert drawn[-1] == pytest.approx(np.linalg.norm(rod.sections[-1, 0, 1:3]), rel=1e-6)
    assert run.plot("rods.b.energy").axes[0].lines[0].get_ydata()[-1] == pytest.approx(rod.energy[-1], rel=1e-6)
    with pytest.raises(ValueError, match=r"no 'rods\.b\.axial' in this run"):
        run.plot("rods.b.axial")
    with pytest.raises(ValueError, match=r"'b' is a rod; run\.rod\('b'\)\.ends are the stresses"):
        run.reactions("b")
    # at rest the moment at the clamp carries the weight: half an element before it, and to the order of the mesh
    system = hook(32, strains=BENDING)
    rest = ch.equilibrium(system)
    still = ch.simulate(system, (0, 1e-3), q=rest.q, certificate=False)
    other = ch.equilibrium(hook(32))
    assert still.rod("b").nodes[0, -1, 4:] == pytest.approx(other.rod("b").nodes[-1, 4:], abs=2e-3 * 0.5)
    assert still.rod("b").stresses[0, 8, :3] == pytest.approx(other.rod("b").stresses[8, :3], rel=1e-2, abs=1e-4)


def test_an_arm_on_a_tree_reaches_a_place():
    """A rod on a turning hub with a hand at its tip: inverse kinematics and dynamics over the hinge and the modes."""
    arm = ch.Rod(
        "arm",
        rods.Line((0, 0, 0), (1, 0, 0)),
        rods.Circle(0.02),
        RUBBER,
        ("hub", "free"),
        16,
        strains="bend_y",
        modes=2,
    )
    hub, hand = (ch.Body(name, 0.5, inertia=(0.01,) * 3) for name in ("hub", "hand"))
    joints = [ch.revolute("turn", "ground", "hub", axis=(0, 0, 1)), ch.weld("grip", "arm[16]", "hand", at=(0.05, 0, 0))]
    mechanism = ch.System([hub, hand], joints, rods=[arm]).compile()
    assert [mechanism.nv, list(mechanism.tree.velocities)[:3]] == [3, ["turn", "arm bend_y 0", "arm bend_y 1"]]
    goal = mechanism.poses(np.array([0.4, 0.08, -0.03]), frames="hand")
    found = mechanism.inverse_kinematics("hand", goal)
    assert mechanism.poses(found.q, frames="hand") == pytest.approx(goal, abs=1e-8)
    a = np.array([1.0, -2.0, 3.0])
    tau = mechanism.inverse_dynamics(found.q, np.zeros(3), a)
    assert mechanism.accelerations_under(found.q, np.zeros(3), tau) == pytest.approx(a, abs=1e-9)


def test_both_ends_held_is_a_loop():
    """An arch between two clamps sinks under its weight, nearly as one with all strains does."""
    start = hook().rods[0].poses(0.25)[4:]
    found = []
    for strains in ((), ("bend_z", "stretch")):
        system = hook(12, ("ground", "ground"), strains=strains).with_gravity((0, -9.81, 0))
        rest = ch.equilibrium(system)
        mechanism = system.compile("absolute") if not strains else system.compile()
        places = rest.poses if not strains else mechanism.poses(rest.q)
        found.append(places[list(mechanism.bodies).index("b[6]"), 4:] - start)
    assert np.linalg.norm(found[0] - found[1]) < 0.02 * np.linalg.norm(found[0])


def test_in_a_file():
    system = hook(strains=BENDING, modes=3)
    again = study_of_text(model_text(system), Path()).system
    assert again.rods == system.rods
    assert again.joints == system.joints


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strains": "bend_x"}, "strains has 'bend_x'; did you mean .*expected some of twist, bend_y"),
        ({"modes": 2}, "modes are for a rod with some strains"),
        ({"strains": "bend_y", "modes": 7}, "modes is 7; expected 1 to 6"),
        ({"strains": "bend_y", "modes": True}, "modes is True"),
        ({"strains": "shear_y", "section": rods.Stiffness((1, 1, 1, 1, np.inf, np.inf))}, "'shear_y', of infinite"),
        ({"strains": "bend_y", "section": rods.Stiffness(np.eye(6) + 0.1)}, "its section couples strains"),
    ],
)
def test_mistakes_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        hook(**changes)


def test_what_is_not_for_such_rods_is_said():
    modal, apart = hook(strains="bend_y", modes=2), hook(strains="bend_y")
    held = ch.PointOnPlane("table", ("ground", "b[6]"))
    for make in (lambda: modal.compile("absolute"), lambda: modal.with_constraint(held).compile()):
        with pytest.raises(ValueError, match="strains of rod 'b' are modes, which are for trees"):
            make()
    assert ch.mobility(modal).freedoms == 2
    more = replace(apart.rods[0], name="c", strains=())
    for find in (lambda: ch.equilibrium(replace(apart, rods=[*apart.rods, more])), lambda: rods.buckling(apart)):
        with pytest.raises(ValueError, match="rod 'b' has some strains only"):
            find()


def test_the_roll_up_of_the_gallery_ends_as_a_circle():
    assert ch.equilibrium(ch.load("roll_up").system, t=4.0).q == pytest.approx([-2 * np.pi / 16, 0.0], abs=1e-9)


def test_the_bend_in_space_is_of_order_two():
    """That the factors of an element do not commute costs no order; extrapolated, the tip is that of shooting, but for
    the stretch that this rod does not have."""
    tips = []
    for n in (8, 16):
        system = bend(n)
        rod = replace(system.rods[0], strains=BENDING, material=rods.Material(1e7, 0.0, 1.0))
        system = replace(system, rods=[rod])
        tips.append(system.compile().poses(ch.equilibrium(system).q)[-1, 4:])
    errors = [np.linalg.norm(tip - BEND) for tip in tips]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert np.linalg.norm((4 * tips[1] - tips[0]) / 3 - BEND) < 1e-2


def test_a_joint_of_a_rod_is_not_locked():
    system = cantilever(3, SLENDER, (0, 0, 0, 0, 10, 0), strains=("bend_z",))
    with pytest.raises(ValueError, match=r"'b\[2\]' cannot be locked: a rod made it, and its coordinates are strains"):
        system.lock("b[2]")


@pytest.mark.sample(1)
@pytest.mark.parametrize("modes", [None, 3])
@pytest.mark.parametrize("holder", ["ground", "hub"])
def test_a_rod_may_hang_on_its_second_end(modes, holder):
    """A tapered rod with intrinsic strain, from the holder to its tip and from the tip to the holder: one motion."""
    section = rods.Rectangle(0.02, 0.012), rods.Rectangle(0.01, 0.006)
    hub, hinge = (
        ch.Body("hub", 1.0, inertia=(0.01,) * 3),
        ch.revolute("h", "ground", "hub", axis=(0, 1, 0), at=(0, 0, 1)),
    )
    bodies, joints = ([hub], [hinge]) if holder == "hub" else ([], [])
    height, runs = 1.0 if bodies else 0.0, []  # the curve of a free end is in space
    for back in (False, True):
        start, end = (0.1, 0, 0), (1, 0, 0.2)
        if back:
            start, end = (1, 0, 0.2 + height), (0.1, 0, height)
        rod = ch.Rod("b", rods.Line(start, end), section[::-1] if back else section, RUBBER, (holder, "free"), 4)
        bend = f"{'-' * back}(t + {'0.9219544457292888 - s' if back else 's'})"
        rod = replace(rod, ends=rod.ends[::-1] if back else rod.ends, up=(0, 1, 0), damping=1e-3)
        rod = replace(rod, intrinsic={"bend_z": bend}, strains=("bend_z",), modes=modes)
        system = ch.System(bodies, joints, rods=[rod])
        assert isinstance(system.compile(), ch.Mechanism)  # no loop
        runs.append(ch.simulate(system, (0, 0.05), rtol=1e-10, atol=1e-12, certificate=back, progress=False))
    forward, backward = (run.rod("b") for run in runs)
    np.testing.assert_allclose(backward.nodes[-1, ::-1, 4:], forward.nodes[-1, :, 4:], atol=1e-8)
    assert np.abs(forward.nodes[-1, -1, 4:] - forward.nodes[0, -1, 4:]).max() > 1e-2
    size = np.abs(forward.stresses[-1, :, 2]).max()
    np.testing.assert_allclose(
        np.abs(backward.stresses[-1, ::-1, 2]), np.abs(forward.stresses[-1, :, 2]), atol=1e-6 * size
    )
    np.testing.assert_allclose(backward.energy[-1], forward.energy[-1], rtol=1e-6)
    assert runs[1].certificate["energy"].passed


@pytest.mark.parametrize("name", ["E", "length"])
def test_gradients_of_rods_with_modes(name):
    """By the modulus, and by the length, which places all joints: against differences of eighth order. Where a mode is
    zero, its joint is held for all values of the parameters, so that there is a derivative."""
    given = {"E": 2e7, "length": 0.5}

    def system(E, length):
        line, rubber = rods.Line((0, 0, 0), (length, 0, 0)), rods.Material(E, 0.3, 1000.0)
        rod = ch.Rod("r", line, rods.Circle(0.01), rubber, ("ground", "free"), 2, strains=("bend_y", "bend_z"), modes=2)
        return ch.System(rods=[replace(rod, intrinsic={"bend_z": "0.5 * t"}, damping=1e-3)])

    def run(**changed):
        return ch.simulate(system(**given | changed), (0, 0.01), method="rk4", step=2e-4, certificate=False)

    def end(t, q, v):
        return np.sin(q @ [1.0, -0.3, 0.7, 0.2]) + 0.01 * (v @ [0.5, 1.0, -0.2, 0.4]) ** 2

    found = ch.gradient(run(), ch.objective.end(end), by=[name], system=system, parameters=given)
    step, wanted = 2e-3 * given[name], 0.0
    for k, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
        ends = [run(**{name: given[name] + sign * k * step}) for sign in (1, -1)]
        one, other = (end(run.t[-1], run.q[-1], run.v[-1]) for run in ends)
        wanted += weight * (one - other) / step
    assert float(found[name]) == pytest.approx(wanted, rel=1e-9)
