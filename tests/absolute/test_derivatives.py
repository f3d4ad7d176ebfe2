"""Derivatives of forward and inverse dynamics in absolute coordinates: against own equations on complex numbers,
against differences of eighth order, and along curves on the constraints."""

import numpy as np
import pytest

import chasles as ch
from chasles.constraint.rows import TILE
from chasles.gallery import bicycle
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from tests.absolute.systems import JOINTS, SPACES, bodies, frame, joined
from tests.relative import closed
from tests.relative.test_loop_derivatives import off, slope
from tests.simulation.test_linearize_closed import shafts


def triangle() -> ch.System:
    """A free body and two others on spherical joints, each to the free one and to each other: a loop of nine equations.
    (Bodies on SE(3) that the ground holds are kept in a subgroup, so that not all directions exist.)"""
    rng = np.random.default_rng(5)
    ends = [ch.spherical(name, "base", name, at=rng.uniform(-0.5, 0.5, 3)) for name in ("one", "two")]
    between = ch.spherical("tip", "one", "two", at=(0.7, 0.1, -0.2), child_at=(-0.3, 0.8, 0.1))
    return ch.System(
        bodies(rng, "base", "one", "two"),
        [ch.free("floating", "ground", "base"), *ends, between],
        gravity=(0.3, -0.4, -9.81),
    )


def moved(mechanism, q, step):
    """q exp(step), each body in its space."""
    out, step = q.copy(), step.reshape(-1, 6)
    for i, name in enumerate(mechanism.bodies):
        mixed = mechanism.spaces[name] != "SE3"
        screw = np.concatenate([step[i, :3], np.zeros(3)]) if mixed else step[i]
        out[i] = pose_group.compose(q[i], pose_group.exp(screw))
        out[i, 4:] += step[i, 3:] if mixed else 0.0
    return out


def state(system, t=0.3, **options):
    """A mechanism, a state of it on its constraints that moves, and wrenches."""
    tree, rng = system.compile(), np.random.default_rng(1)
    closed_loop = hasattr(tree, "spanning")
    q = tree.assemble(None, t) if closed_loop else tree.random(rng)
    v = rng.normal(size=tree.nv)
    v = tree.consistent_velocities(q, v, t) if closed_loop else v
    mechanism = system.compile("absolute", **options).examined(tree.poses(q), t)
    return mechanism, *mechanism.state(tree.poses(q), tree.twists(q, v)), rng.normal(size=(len(tree.bodies), 6)), t


def own_accelerations(system, turn, v, wrenches, mixed):
    """Of `triangle`, from formulas of its own, on complex numbers; turn: rotation matrices of the central frames."""
    n, central = len(system.bodies), system.compile("absolute").central
    M, f = np.zeros((6 * n, 6 * n)), np.zeros(6 * n, dtype=complex)
    J, c = np.zeros((9, 6 * n), dtype=complex), np.zeros(9, dtype=complex)
    spin = v[:, :3]
    for i, body in enumerate(system.bodies):
        axes = quaternion_to_matrix(central[i, :4])
        theta, at = axes.T @ np.array(body.inertia) @ axes, slice(6 * i, 6 * i + 6)
        M[at, at] = np.diag([0.0] * 3 + [body.mass] * 3)
        M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = theta
        force = axes.T @ wrenches[i, 3:]
        f[at][:3] = axes.T @ (wrenches[i, :3] - np.cross(central[i, 4:], wrenches[i, 3:]))
        f[at][:3] -= np.cross(spin[i], theta @ spin[i])
        f[at][3:] = turn[i] @ force + body.mass * np.asarray(system.gravity)
    names = [body.name for body in system.bodies]
    for k, joint in enumerate(system.joints[1:]):
        for name, on_body, sign in ((joint.parent, joint.parent_frame, -1.0), (joint.child, joint.child_frame, 1.0)):
            i, rows = names.index(name), slice(3 * k, 3 * k + 3)
            arm = quaternion_to_matrix(central[i, :4]).T @ (np.asarray(on_body)[4:] - central[i, 4:])
            J[rows, 6 * i : 6 * i + 3] = sign * turn[i] @ np.array([np.cross(e, arm) for e in np.eye(3)]).T
            J[rows, 6 * i + 3 : 6 * i + 6] = sign * np.eye(3)
            c[rows] -= sign * turn[i] @ np.cross(spin[i], np.cross(spin[i], arm))
    K = np.block([[M, J.T], [J, np.zeros((9, 9))]])
    a = np.linalg.solve(K, np.concatenate([f, c]))[: 6 * n].reshape(n, 6)
    if not mixed:
        a[:, 3:] = np.einsum("nji,nj->ni", turn, a[:, 3:]) - np.cross(spin, v[:, 3:])
    return a.ravel()


@pytest.mark.parametrize("space", SPACES)
def test_on_complex_numbers(space):
    """By an imaginary step, which is exact."""
    system, mixed, step = triangle(), space != "SE3", 1e-30
    m, q, v, w, _ = state(system, space=space)
    turn = quaternion_to_matrix(q[:, :4])

    def own(*moves):
        by_q, by_v, by_w = (1j * step * x.reshape(m.n, 6) for x in moves)
        columns = np.cross(by_q[:, None, :3], np.eye(3)).swapaxes(1, 2)  # of the skew matrices
        return own_accelerations(system, turn + turn @ columns, v + by_v, w + by_w, mixed)

    a = own(*np.zeros((3, 6 * m.n)))
    assert off(m.forward_dynamics(q, v, w).ravel(), a.real, a) < 1e-12
    every = np.concatenate(m.derivatives.forward_dynamics(q, v, w), axis=1)
    for move in directions(18 * m.n):
        assert off(every @ move, own(*np.split(move, 3)).imag / step, every) < 1e-12


def directions(size, count=6):
    """Random ones, of length one."""
    found = np.random.default_rng(12).normal(size=(count, size))
    return found / np.linalg.norm(found, axis=1)[:, None]


def check_along_directions(m, q, v, w, t, bound=1e-11, h=2.0**-7):
    """Differences of eighth order of forward and inverse dynamics, along directions in which every entry counts."""
    angles, a = m.angles(q), m.forward_dynamics(q, v, w, t)

    def forward(q, v, w):
        return m.forward_dynamics(q, v, w, t, angles)

    def inverse(q, v, a):
        return m.inverse_dynamics(q, v, a, applied=False)

    for last, function, found in (
        (w, forward, m.derivatives.forward_dynamics(q, v, w, t)),
        (a, inverse, m.derivatives.inverse_dynamics(q, v, a)),
    ):
        every = np.concatenate(found, axis=1)
        for move in directions(18 * m.n):
            by_q, by_v, by_last = (x.reshape(-1, 6) for x in np.split(move, 3))
            wanted = slope(lambda s: function(moved(m, q, s * by_q), v + s * by_v, last + s * by_last).ravel(), h)  # noqa: B023
            assert off(every @ move, wanted, every) < bound


@pytest.mark.sample(1)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("between", [False, True], ids=["to ground", "between bodies"])
@pytest.mark.parametrize("kind", list(JOINTS))
def test_joints(kind, between, space):
    m, q, v, w, t = state(joined(kind, between), space=space)
    if kind == "weld" and not between:  # nothing moves
        assert all(np.abs(x).max() < 1e-12 for x in m.derivatives.forward_dynamics(q, v, w, t))
    elif any(tile.integers[TILE.subgroup] for tile in m.tiles):  # what leaves the subgroup is not computed
        along_joint(joined(kind, between).compile(), m, w)
    else:
        check_along_directions(m, q, v, w, t)


def along_joint(tree, m, w):
    rng = np.random.default_rng(2)
    near, v, d, dv = 0.5 * rng.normal(size=(4, tree.nv))  # several coordinates may give one pose
    q = tree.retract(tree.neutral(), near)

    def states(s):
        at = tree.retract(q, s * d)
        return m.state(tree.poses(at), tree.twists(at, v + s * dv))

    check_along(m, states, w, 0.0)


def check_along(m, states, w, t, bound=1e-11):
    """Along a curve of states on the constraints."""
    q, v = states(0.0)

    def values(s):
        at, speed = states(s)
        away = pose_group.log(pose_group.compose(pose_group.inverse(q), at))
        mixed = m._mixed
        away[mixed, 3:] = at[mixed, 4:] - q[mixed, 4:]
        return np.concatenate([away.ravel(), (speed - v).ravel(), m.forward_dynamics(at, speed, w, t).ravel()])

    d, dv, da = np.split(slope(values), 3)
    found = m.derivatives.forward_dynamics(q, v, w, t)
    size = np.abs(found.dq) @ np.abs(d) + np.abs(found.dv) @ np.abs(dv) + np.abs(da)
    assert off(found.dq @ d + found.dv @ dv, da, size) < bound


def rotors() -> ch.System:
    """Armatures on a hinge and a slide, with a spin of their own."""
    rng = np.random.default_rng(4)
    joints = [
        ch.revolute("base", "ground", "one", axis=(0.3, 0.4, 0.5), at=frame(rng), armature=0.4),
        ch.prismatic("slide", "one", "two", axis=(0.3, 0.1, 0.5), at=frame(rng), armature=0.7),
    ]
    return ch.System(bodies(rng, "one", "two"), joints)


SYSTEMS = {
    "RSSR": closed.rssr,
    "gears, drive": lambda: shafts(2.5, ch.Drive("motor", "three", "sin(3 * t)")),
    "bicycle": bicycle.system,
    "rotors": rotors,
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_constraints(name):
    """Also in directions that leave the constraints."""
    check_along_directions(*state(SYSTEMS[name]()))


@pytest.mark.parametrize("space", SPACES)
def test_dependent_equations(space):
    """A planar four-bar, whose equations are redundant, along its motion."""
    system = closed.four_bar()
    tree = system.compile()
    m, _, _, w, t = state(system, space=space)
    assert m.redundant

    def states(s):
        q, v = closed.four_bar_state(tree, 0.8 + s, 2.0 + 0.7 * s)
        return m.state(tree.poses(q), tree.twists(q, v))

    check_along(m, states, w, t, 1e-10)


@pytest.mark.study
@pytest.mark.parametrize("space", SPACES)
def test_joint_given_by_screws(space):
    """Newton's method for its coordinates runs on dual numbers."""
    rng = np.random.default_rng(6)
    screws = [(0.36, 0.48, 0.8, 0.1, 0.2, -0.1), (0.0, 0.6, -0.8, 0.3, 0.0, 0.1), (0.0, 0.0, 0.0, 0.0, 0.6, 0.8)]
    base = ch.spherical("base", "ground", "one", at=frame(rng), child_at=frame(rng))
    joint = ch.general("joint", "one", "two", screws=screws, at=frame(rng), child_at=frame(rng))
    system = ch.System(bodies(rng, "one", "two"), [base, joint])
    tree = system.compile()
    m, _, _, w, _ = state(system, space=space)
    along_joint(tree, m, w)


def test_feedback_counts():
    """Baumgarte's stabilization is a part of the accelerations."""
    check_along_directions(*state(closed.rssr(), baumgarte=(3.0, 5.0)))


def test_batches_and_messages():
    m, q, v, w, t = state(triangle())
    one, many = m.derivatives.forward_dynamics(q, v, w, t), m.derivatives.forward_dynamics(np.stack([q, q]), v, w, t)
    assert all(np.array_equal(x[1], y) for x, y in zip(many, one, strict=True))
    a = m.forward_dynamics(q, v, w, t)
    one, many = m.derivatives.inverse_dynamics(q, v, a), m.derivatives.inverse_dynamics(q, np.stack([v, v]), a)
    assert all(np.array_equal(x[1], y) for x, y in zip(many, one, strict=True))
    with pytest.raises(ValueError, match=r"derivatives\.forward_dynamics: velocity has shape"):
        m.derivatives.forward_dynamics(q, v[:-1], w)
    with pytest.raises(ValueError, match=r"derivatives\.inverse_dynamics: a has shape"):
        m.derivatives.inverse_dynamics(q, v, a[:-1])
    with pytest.raises(AttributeError, match="there are forward_dynamics and inverse_dynamics"):
        _ = m.derivatives.mass_matrix
