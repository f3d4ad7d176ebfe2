"""What acts along joint coordinates, in absolute coordinates: the same motion as in joint coordinates, to 1e-9."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.model import joint as make
from tests.absolute.systems import JOINTS, SPACES, bodies, frame

TIGHT = {"method": ch.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-12}
MOVING = {
    **{kind: build for kind, build in JOINTS.items() if kind != "weld"},
    "oblique": lambda *names, **at: make.universal(*names, axes=((0.6, 0.0, 0.8), (0.3, 0.9, 0.1)), **at),
    "general": lambda *names, **at: make.general(*names, screws=SCREWS, **at),
}
SCREWS = ((0.0, 0.6, 0.8, 0.1, 0.4, -0.3), (1.0, 0.0, 0.0, 0.3, -0.1, 0.2), (0.0, 0.0, 0.0, 0.6, 0.0, -0.8))


@ch.law
def odd(t, q, v, p, out):
    """Depends on time, on all coordinates and on all velocities."""
    for k in range(len(out)):
        out[k] = p[0] * np.sin(t + k) - p[1] * q[len(q) - 1] - 0.1 * v[k] * v[k] * v[k]


def system_with(kind: str, rotor: bool = False, between: bool = True) -> ch.System:
    """A joint of a kind with all that can act along it, to a body that hangs on a spherical joint with a spring."""
    rng = np.random.default_rng([len(kind), ord(kind[0]), 5])
    more = {"at": frame(rng), "child_at": frame(rng), "damping": 0.2, "stiffness": 1.5, "friction": 0.1}
    more["friction_speed"] = 0.5
    if kind not in ("spherical", "free"):
        more |= {"rest": 0.2, "lower": -0.1, "upper": 0.3, "stop_stiffness": 4.0, "stop_damping": 0.1}
        if rotor:
            more["armature"] = 0.3
    held = MOVING[kind]("joint", "one" if between else "ground", "two", **more)
    base = make.spherical("base", "ground", "one", at=frame(rng), child_at=frame(rng), stiffness=2.0, damping=0.1)
    forces = [
        ch.JointForce("law", "joint", odd, parameters=(0.7, 0.4)),
        ch.JointForce("push", "joint", (0.3,) * held.nv),
    ]
    return ch.System(bodies(rng, "one", "two"), [base, held], forces=forces, gravity=(0.3, -1.0, -9.7))


def start_of(system: ch.System, seed: int = 1):
    mechanism = system.compile()
    rng = np.random.default_rng(seed)
    q = mechanism.retract(mechanism.neutral(), 0.4 * rng.standard_normal(mechanism.nv))
    return q, rng.standard_normal(mechanism.nv)


def compare(system: ch.System, span: float, tolerance: float = 1e-9, space: str = "SE3", **options):
    """Both kinds of coordinates: poses, twists, energies and joint states at the end."""
    q, v = start_of(system)
    one = ch.simulate(system, (0.0, span), q, v, save="final", **TIGHT, **options)
    two = ch.simulate(system, (0.0, span), q, v, coordinates="absolute", space=space, **TIGHT, **options)
    assert one.success and two.success
    poses = one.mechanism.poses(one.q[-1])
    assert np.abs(pose_group.log(pose_group.compose(pose_group.inverse(poses), two.poses[-1]))).max() < tolerance
    assert np.abs(one.mechanism.twists(one.q[-1], one.v[-1]) - two.twists[-1]).max() < tolerance
    assert abs(one.energy.work[-1] - two.energy.work[-1]) < tolerance
    assert abs(one.energy.springs[-1] - two.energy.springs[-1]) < tolerance
    assert abs(one.energy.kinetic[-1] - two.energy.kinetic[-1]) < tolerance
    assert two.certificate.passed, two.certificate
    found, speeds = two.dynamics.coordinates(two.solution.y[-1])
    assert np.abs(one.mechanism.difference(found, one.q[-1])).max() < tolerance
    assert np.abs(speeds - one.v[-1]).max() < tolerance
    return one, two


@pytest.mark.parametrize("kind", MOVING)
def test_joints_with_all_that_acts_move_as_in_joint_coordinates(kind):
    compare(system_with(kind), 0.5, space=SPACES[len(kind) % 2])
