"""A joint that is turned by 180 degrees is not closed, though its rows, which are dot products, are zero."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.constraint.alignment import Alignment
from chasles.constraint.joints import axis_frame, joint_tiles

AXIS = np.array((0.36, 0.48, 0.8))
AT = (0.2, -0.1, 0.3)
CLOSING = {
    "weld": lambda **at: ch.weld("w", "ground", "b", **at),
    "prismatic": lambda **at: ch.prismatic("w", "ground", "b", axis=AXIS, **at),
    "revolute": lambda **at: ch.revolute("w", "ground", "b", axis=AXIS, **at),
    "cylindrical": lambda **at: ch.cylindrical("w", "ground", "b", axis=AXIS, **at),
    "helical": lambda **at: ch.helical("w", "ground", "b", axis=AXIS, pitch=0.1, **at),
    "planar": lambda **at: ch.planar("w", "ground", "b", normal=AXIS, **at),
}


def held(kind, **more):
    """A body that hangs on a free joint, f, and is closed by the joint under test."""
    body = ch.Body("b", 1.0, (0.1, 0.0, 0.2), inertia=(0.3, 0.25, 0.2))
    return ch.System([body], [ch.free("f", "ground", "b", damping=1.0), CLOSING[kind](at=AT, **more)])


def off(kind, pose):
    """By what angle the pose of the body is the wrong way round, by SciPy."""
    turn = Rotation.from_quat(pose[:4], scalar_first=True)
    if kind in ("weld", "prismatic"):
        return turn.magnitude()
    return np.arccos(np.clip(AXIS @ turn.apply(AXIS), -1.0, 1.0))


@pytest.mark.parametrize("kind", CLOSING)
def test_assembly_ends_the_right_way_round(kind):
    system = held(kind)
    closed, bodies = system.compile(cut=["w"]), system.compile("absolute")
    for seed in range(5):
        rough = closed.spanning.random(np.random.default_rng(seed))
        q = closed.assemble(rough)
        assert off(kind, closed.poses(q)[0]) < 1e-7
        assert closed.constraint_violation(q).position.max() < 1e-12
        poses = bodies.assemble(closed.poses(rough))
        assert off(kind, poses[0]) < 1e-7
        assert bodies.constraint_violation(*bodies.state(poses))[0].max() < 1e-12


@pytest.mark.parametrize("kind", CLOSING)
def test_a_half_turn_is_refused_or_assembled(kind):
    system = held(kind)
    x = Rotation.from_quat(axis_frame(system.joint("w"))[:4], scalar_first=True).apply((1.0, 0.0, 0.0))
    turn = Rotation.from_rotvec(np.pi * x)
    pose = np.array([*turn.as_quat(scalar_first=True), *AT])  # about the point that the joint holds
    closed, bodies = system.compile(cut=["w"]), system.compile("absolute")
    assert np.allclose(closed.constraint_rows(pose).residual, 0.0, atol=1e-12)  # what the rows say
    assert np.allclose(closed.constraint_violation(pose).position, np.pi)
    assert np.allclose(bodies.constraint_violation(*bodies.state([pose]))[0].max(), np.pi)
    said = r"'w' by 3\.14 in position.*turned the wrong way round: 'w' by 180 degrees.*assemble=True"
    with pytest.raises(ValueError, match=said):
        ch.simulate(closed, (0.0, 0.1), pose)
    with pytest.raises(ValueError, match=said):
        ch.simulate(system, (0.0, 0.1), poses=[pose], coordinates="absolute")
    with pytest.raises(ch.errors.AssemblyError, match=r"violate 'w' by 3\.14"):
        closed.consistent_velocities(pose, np.zeros(6))
    assert off(kind, closed.poses(closed.assemble(pose))[0]) < 1e-7
    assert off(kind, bodies.assemble([pose])[0]) < 1e-7


def test_a_loop_that_cannot_turn_names_its_joint():
    """A planar four-bar whose last joint is mounted upside down on the rocker."""
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    z, over = (0, 0, 1), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    system = ch.System(
        [ch.Body(name, **bar) for name in ("crank", "coupler", "rocker")],
        [
            ch.revolute("A", "ground", "crank", axis=z),
            ch.revolute("B", "crank", "coupler", axis=z, at=(1, 0, 0)),
            ch.revolute("C", "coupler", "rocker", axis=z, at=(1, 0, 0)),
            ch.revolute("D", "ground", "rocker", axis=z, at=(1.3, 0, 0), child_at=over),
        ],
    )
    with pytest.raises(ch.errors.AssemblyError, match=r"turned the wrong way round: 'D' by 180 degrees"):
        system.compile().assemble([1.4, -1.3, -2.0])


def random_rotations(rng, count):
    return Rotation.random(count, random_state=rng).as_matrix()


@pytest.mark.parametrize("kind", ["weld", "revolute"])
def test_rows_and_their_gradient(kind):
    rng = np.random.default_rng(3)
    frames = [np.array([*Rotation.random(random_state=rng).as_quat(scalar_first=True), 0, 0, 0]) for _ in range(2)]
    joint = ch.weld("w", "a", "b") if kind == "weld" else ch.revolute("w", "a", "b", axis=AXIS)
    alignment = Alignment.of(joint_tiles(joint, 0, 1, *frames, special=False))
    S = [Rotation.from_quat(frame[:4], scalar_first=True) for frame in frames]

    def angle(R):
        one, other = (Rotation.from_matrix(R[k]) * S[k] for k in range(2))
        if kind == "weld":
            return (one.inv() * other).magnitude()
        return np.arccos(np.clip(one.apply(AXIS) @ other.apply(AXIS), -1, 1))

    for _ in range(5):
        R = random_rotations(rng, 2)
        assert alignment.angles(R) == pytest.approx(angle(R))
        g, J = alignment.rows(R)
        assert np.linalg.norm(g[0]) == pytest.approx(angle(R))
        for side in range(2):
            for k in range(3):
                ends = []
                for sign in (1, -1):
                    moved = R.copy()
                    moved[side] = R[side] @ Rotation.from_rotvec(sign * 1e-6 * np.eye(3)[k]).as_matrix()
                    ends.append(0.5 * angle(moved) ** 2)
                assert g[0] @ J[0, side, :, k] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


@pytest.mark.filterwarnings("ignore:simulate. a step turned")
def test_a_run_that_jumps_over_has_no_success():
    """Euler steps of half a turn: the projection onto the rows may find the half turn nearer."""
    bodies = [
        ch.Body("a", 1.0, inertia=(0.2, 0.3, 0.4)),
        ch.Body("b", 1.0, (0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.25)),
    ]
    system = ch.System(bodies, [ch.prismatic("j", "a", "b", axis=(0, 0, 1), stiffness=10.0)])
    tree, mechanism = system.compile(), system.compile("absolute")
    jumped = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        q, v = tree.retract(tree.neutral(), 0.5 * rng.normal(size=tree.nv)), 8 * rng.normal(size=tree.nv)
        run = ch.simulate(
            mechanism, (0.0, 4.0), poses=tree.poses(q), twists=tree.twists(q, v), method=ch.integrate.RKMK("euler"),
            step=rng.choice([0.1, 0.2, 0.4]), progress=False,
        )  # fmt: skip
        turned = run.violations[0].max() > 1.0
        jumped += turned
        assert not (turned and run.solution.success)
        assert turned == ("turned the wrong way round: 'j' by" in run.solution.message)
    assert jumped
