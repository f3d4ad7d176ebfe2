"""Twists, accelerations, wrenches, inertias and shapes against Pinocchio and MuJoCo, as docs/screws.md translates them.

Both libraries work with numbers of size one here; 1e-13 leaves some hundred roundings for a forward pass.
"""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from chasles import lie, screw
from chasles.screw import inertia

TOLERANCE = 1e-13
SWAP = np.roll(np.eye(6), 3, axis=0)  # (angular, linear) and (linear, angular)
RNG = np.random.default_rng(11)
COUNT = 10
POSES = lie.pose.random(RNG, (COUNT,))
TWISTS, RATES, WRENCHES = RNG.normal(size=(3, COUNT, 6))
BODY = screw.Box((0.4, 0.7, 1.1), pose=lie.pose.exp([0.3, -0.8, 0.5, 0.2, -0.4, 0.6])).inertia(mass=2.3)


def agree(found, expected, size=1.0):
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * size)


# ---------------------------------------------------------------- Pinocchio


def pin_inertia(matrix):
    mass, *rest = inertia.to_parameters(matrix)
    center = np.array(rest[:3]) / mass
    about = inertia.transform(matrix, [1, 0, 0, 0, *-center])[:3, :3]
    return pin.Inertia(mass, center, about)


def placement(g):
    return pin.SE3(lie.pose.to_matrix(g))


def free_body():
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    model.appendBodyToJoint(joint, pin_inertia(BODY), pin.SE3.Identity())
    frame = model.addFrame(pin.Frame("body", joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    model.gravity = pin.Motion.Zero()
    return model, model.createData(), frame


def pin_states():
    """Configuration, velocity and acceleration of a free body of Pinocchio for each of the poses: body twists."""
    for g, v, a in zip(POSES, TWISTS, RATES, strict=True):
        yield np.concatenate([g[4:], g[1:4], g[:1]]), SWAP @ v, SWAP @ a


@pytest.mark.parametrize(
    ("representation", "frame"),
    [
        ("body", pin.ReferenceFrame.LOCAL),
        ("spatial", pin.ReferenceFrame.WORLD),
        ("hybrid", pin.ReferenceFrame.LOCAL_WORLD_ALIGNED),
    ],
)
def test_pinocchio_reference_frames(representation, frame):
    model, data, index = free_body()
    twists = screw.convert_twist(TWISTS, POSES, "body", representation)
    rates = screw.convert_acceleration(RATES, TWISTS, POSES, "body", representation)
    for k, state in enumerate(pin_states()):
        pin.forwardKinematics(model, data, *state)
        pin.updateFramePlacements(model, data)
        agree(twists[k], SWAP @ pin.getFrameVelocity(model, data, index, frame).vector, 10)
        # in world axes at the body, the derivative of the twist is the "classical" acceleration
        ask = pin.getFrameClassicalAcceleration if representation == "hybrid" else pin.getFrameAcceleration
        agree(rates[k], SWAP @ ask(model, data, index, frame).vector, 10)
        if representation == "hybrid":  # the other one is the turned body acceleration
            turned = screw.convert_twist(RATES[k], POSES[k], "body", "hybrid")
            agree(turned, SWAP @ pin.getFrameAcceleration(model, data, index, frame).vector, 10)


def test_pinocchio_wrenches():
    for g, f in zip(POSES, WRENCHES, strict=True):
        expected = SWAP @ placement(g).act(pin.Force(SWAP @ f)).vector
        agree(screw.convert_wrench(f, g, "body", "spatial"), expected, 10)


def test_pinocchio_newton_euler():
    model, data, _ = free_body()
    expected = [SWAP @ pin.rnea(model, data, *state) for state in pin_states()]
    agree(screw.wrench_of_motion(BODY, TWISTS, RATES), expected, 10)


def test_pinocchio_inertia():
    theirs = pin_inertia(BODY)
    agree(BODY, SWAP @ theirs.matrix() @ SWAP)
    # theirs are xx, xy, yy, xz, yz, zz
    agree(inertia.to_parameters(BODY), theirs.toDynamicParameters()[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]])
    for g in POSES:
        agree(inertia.transform(BODY, g), SWAP @ placement(g).act(theirs).matrix() @ SWAP, 100)
    agree(inertia.combine([BODY, BODY]), SWAP @ (theirs + theirs).matrix() @ SWAP)
    pseudo = theirs.toPseudoInertia().toMatrix()
    agree(inertia.pseudo_inertia(BODY), pseudo)


def test_pinocchio_shapes():
    make, m = pin.Inertia, 1.7
    pairs = [
        (screw.Box((0.3, 0.5, 0.9)), make.FromBox(m, 0.3, 0.5, 0.9)),
        (screw.Sphere(0.7), make.FromSphere(m, 0.7)),
        (screw.Cylinder(0.3, 1.1), make.FromCylinder(m, 0.3, 1.1)),
        (screw.Capsule(0.3, 1.1), make.FromCapsule(m, 0.3, 1.1)),
        (screw.Ellipsoid((0.3, 0.5, 0.9)), make.FromEllipsoid(m, 0.3, 0.5, 0.9)),
    ]
    for shape, theirs in pairs:
        agree(shape.inertia(mass=m), SWAP @ theirs.matrix() @ SWAP)


# ---------------------------------------------------------------- MuJoCo


def mujoco_body():
    principal = inertia.principal(BODY)
    text = " ".join
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option gravity="0 0 0"><flag contact="disable"/></option><worldbody><body name="b"><freejoint/>
        <inertial mass="{float(principal.mass)!r}" pos="{text(repr(float(x)) for x in principal.pose[4:])}"
        quat="{text(repr(float(x)) for x in principal.pose[:4])}"
        diaginertia="{text(repr(float(x)) for x in principal.moments)}"/></body></worldbody></mujoco>"""
    )


def object_vector(function, model, data, local):
    result = np.zeros(6)
    function(model, data, mujoco.mjtObj.mjOBJ_XBODY, 1, result, local)
    return result


def test_mujoco_velocities_and_accelerations_are_mixed():
    """qvel, qacc and generalized forces of a free joint are (linear, angular), linear in world and angular in body."""
    model = mujoco_body()
    data = mujoco.MjData(model)
    mixed = screw.convert_twist(TWISTS, POSES, "body", "mixed")
    rates = screw.convert_acceleration(RATES, TWISTS, POSES, "body", "mixed")
    wrenches = screw.wrench_of_motion(BODY, mixed, rates, "mixed", POSES)
    hybrid = screw.convert_twist(TWISTS, POSES, "body", "hybrid")
    hybrid_rates = screw.convert_acceleration(RATES, TWISTS, POSES, "body", "hybrid")
    for k, g in enumerate(POSES):
        data.qpos[:], data.qvel[:], data.qacc[:] = [*g[4:], *g[:4]], SWAP @ mixed[k], SWAP @ rates[k]
        mujoco.mj_inverse(model, data)
        agree(wrenches[k], SWAP @ data.qfrc_inverse, 30)
        agree(TWISTS[k], object_vector(mujoco.mj_objectVelocity, model, data, 1), 10)
        agree(hybrid[k], object_vector(mujoco.mj_objectVelocity, model, data, 0), 10)
        mujoco.mj_rnePostConstraint(model, data)
        agree(hybrid_rates[k], object_vector(mujoco.mj_objectAcceleration, model, data, 0), 30)


def test_mujoco_generalized_forces_are_mixed():
    model = mujoco_body()
    data = mujoco.MjData(model)
    for g, wrench in zip(POSES, WRENCHES, strict=True):
        data.qpos[:], data.qfrc_applied[:] = [*g[4:], *g[:4]], SWAP @ wrench
        mujoco.mj_forward(model, data)
        agree(screw.wrench_of_motion(BODY, np.zeros(6), SWAP @ data.qacc, "mixed", g), wrench, 30)


def test_mujoco_applied_wrenches_are_hybrid_at_the_center_of_mass():
    """xfrc_applied is (force, torque) in world axes at the center of mass."""
    model = mujoco_body()
    data = mujoco.MjData(model)
    center = inertia.principal(BODY).pose[4:]
    at_center = lie.pose.compose(POSES, np.array([1.0, 0, 0, 0, *center]))
    for k, g in enumerate(POSES):
        wrench = WRENCHES[k]  # hybrid, at the center of mass
        data.qpos[:] = [*g[4:], *g[:4]]
        data.xfrc_applied[1] = SWAP @ wrench
        mujoco.mj_forward(model, data)
        spatial = screw.convert_wrench(wrench, at_center[k], "hybrid", "spatial")
        applied = screw.convert_wrench(spatial, g, "spatial", "mixed")
        acceleration = SWAP @ data.qacc
        agree(screw.wrench_of_motion(BODY, np.zeros(6), acceleration, "mixed", g), applied, 30)


@pytest.mark.parametrize(
    ("shape", "geom"),
    [
        (screw.Box((0.6, 1.0, 1.8)), 'type="box" size="0.3 0.5 0.9"'),
        (screw.Sphere(0.7), 'type="sphere" size="0.7"'),
        (screw.Cylinder(0.3, 1.1), 'type="cylinder" size="0.3 0.55"'),
        (screw.Capsule(0.3, 1.1), 'type="capsule" size="0.3 0.55"'),
        (screw.Ellipsoid((0.3, 0.5, 0.9)), 'type="ellipsoid" size="0.3 0.5 0.9"'),
    ],
)
def test_mujoco_shapes(shape, geom):
    """Their sizes are half lengths."""
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><freejoint/><geom {geom} density="7.8"/></body></worldbody></mujoco>'
    )
    assert model.body_mass[1] == pytest.approx(shape.mass(7.8), rel=1e-12)
    found = np.sort(np.diag(shape.inertia(density=7.8))[:3])
    np.testing.assert_allclose(found, np.sort(model.body_inertia[1]), rtol=1e-12)
