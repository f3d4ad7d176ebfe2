"""Drives, moving constraints and couplings: the forces they exert and the work they do."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from tests.absolute.systems import bodies, frame
from tests.absolute.test_constraints import swing

TIGHT = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-11, "atol": 1e-11}
SWING = (0.6, 4.0, 1.5)


def arm() -> ch.System:
    rng = np.random.default_rng(8)
    joints = [
        ch.revolute("shoulder", "ground", "one", axis=(0.0, 0.6, 0.8), at=frame(rng), child_at=frame(rng), damping=0.3),
        ch.cylindrical("wrist", "one", "two", axis=(0.0, 1.0, 0.0), at=frame(rng), child_at=frame(rng), stiffness=2.0),
    ]
    return ch.System(bodies(rng, "one", "two"), joints, gravity=(0.3, -1.0, -9.7))


@pytest.mark.parametrize(("joint", "coordinate"), [("shoulder", 0), ("wrist", 1)])
def test_a_drive_exerts_what_inverse_dynamics_asks_for_and_its_work_is_counted(joint, coordinate):
    drive = ch.Drive("motor", joint, swing, coordinate, parameters=SWING)
    tree = arm().compile()
    index = tree.tree.velocities[joint].start + coordinate
    q, v = np.array([0.3, 0.2, -0.1]), np.array([0.5, -0.4, 0.2])
    q[index], v[index] = 0.0, SWING[0] * SWING[1] + SWING[2]
    run = ch.simulate(arm().with_constraint(drive), (0.0, 1.0), q, v, coordinates="absolute", **TIGHT)
    finding = run.certificate["energy balance"]
    assert finding.tolerance is not None
    assert finding.value < 1e-8
    assert np.ptp(run.energies.work) > 0.3  # there is something to be counted
    at, speed = run.dynamics.coordinates(run.solution.y)
    force = run.coordinate_forces("motor")[:, 0]
    # the other coordinates move as they like; along the driven one the motor's force is what is missing
    angular = -SWING[0] * SWING[1] ** 2 * np.sin(SWING[1] * run.t)
    applied = tree.applied_forces(at, speed, run.t).tau
    M, bias = tree.mass_matrix(at), tree.terms.bias(at, speed)
    others = [k for k in range(3) if k != index]
    known = (applied - bias)[:, others] - M[:, others, index] * angular[:, None]
    a = np.zeros_like(speed)
    a[:, others] = np.linalg.solve(M[:, others][:, :, others], known[..., None])[..., 0]
    a[:, index] = angular
    needed = tree.inverse_dynamics(at, speed, a, t=run.t)[:, index]
    np.testing.assert_allclose(force, needed, atol=1e-6 * np.abs(needed).max())


@ch.law
def lifted(t, poses, twists, p, out):
    """The origin of body two stays at the height p[0] + p[1] sin(p[2] t) in space."""
    w, x, y, z = poses[7], poses[8], poses[9], poses[10]
    up = (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))  # e_z in the body
    for k in range(3):
        out[24 + k] = up[k]
    out[0] = poses[13] - p[0] - p[1] * np.sin(p[2] * t)
    a, b = twists[6:9], twists[9:12]
    bend = (
        up[0] * (a[1] * b[2] - a[2] * b[1]) + up[1] * (a[2] * b[0] - a[0] * b[2]) + up[2] * (a[0] * b[1] - a[1] * b[0])
    )
    out[39] = -bend - p[1] * p[2] * p[2] * np.sin(p[2] * t)
    out[42] = p[1] * p[2] * np.cos(p[2] * t)


def test_the_work_of_a_moving_constraint_of_ones_own():
    """A body whose origin is moved up and down: the balance closes only with the work of what moves it."""
    rng = np.random.default_rng(9)
    system = ch.System(bodies(rng, "one"))
    pose = frame(rng)
    moved = ch.CustomConstraint("lift", ("ground", "one"), lifted, parameters=(pose[6], 0.3, 5.0))
    twist = pose_group.Ad_apply(np.array([*pose_group.inverse(pose)[:4], 0, 0, 0]), np.array([1, 2, 0.5, 0.3, 0, 1.5]))
    run = ch.simulate(
        *(system.with_constraint(moved), (0.0, 1.0)), coordinates="absolute", poses=[pose], twists=[twist], **TIGHT
    )
    assert np.abs(run["one"].position[:, 2] - pose[6] - 0.3 * np.sin(5 * run.t)).max() < 1e-9
    assert run.certificate["energy balance"].value < 1e-8
    assert np.ptp(run.energies.work) > 1.0


def test_forces_of_gears():
    """2 q_1 + q_2 = 0 between a motor and a wheel: the gears drive the wheel."""
    made = [ch.Body("rotor", mass=1.0, inertia=(0.1, 0.1, 0.2)), ch.Body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.03))]
    joints = [
        ch.revolute("shaft", "ground", "rotor", axis=(0.0, 0.0, 1.0)),
        ch.revolute("axle", "ground", "wheel", axis=(0.0, 0.0, 1.0), at=(0.5, 0.0, 0.0)),
    ]
    gears = ch.Coupling("gears", ("shaft", "axle"), ratios=(2.0, 1.0))
    push = ch.JointForce("push", "shaft", (1.5,))
    run = ch.simulate(ch.System(made, joints, forces=[push], constraints=[gears]), (0.0, 0.5), coordinates="absolute")
    acceleration = 1.5 / (0.2 + 4 * 0.03)
    expected = (0.2 * acceleration - 1.5, -2 * 0.03 * acceleration)
    np.testing.assert_allclose(run.coordinate_forces("gears"), np.tile(expected, (len(run), 1)), rtol=1e-9)
    assert run.certificate.passed, run.certificate
    with pytest.raises(ValueError, match="coordinate_forces"):
        run.reactions("gears")
    with pytest.raises(ValueError, match="no coupling or drive 'shaft'; there are gears"):
        run.coordinate_forces("shaft")
