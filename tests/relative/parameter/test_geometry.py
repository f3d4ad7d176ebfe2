"""Places and derivatives by geometry: single parameters, frames, welds, joints' screws, long chains, bad input."""

import tracemalloc

import numpy as np
import pytest

import chasles as ch
from chasles import lie
from chasles.relative.mechanism import Mechanism
from tests.relative.zoo import ZOO, deviation, state, tree

WEIGHTS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # of central differences of order 6
H = 2e-3


def differenced(mechanism, column, *functions, places=None):
    """Derivatives of functions of a mechanism by one parameter."""
    totals = [0.0] * len(functions)
    for k, weight in WEIGHTS:
        for sign in (1, -1):
            delta = np.zeros(6 * len(mechanism.parameters.places(places)))
            delta[column] = sign * k * H
            other = Mechanism(mechanism.parameters.with_geometry(delta, places))
            totals = [x + sign * weight / H * f(other) for x, f in zip(totals, functions, strict=True)]
    return totals


@pytest.mark.study  # `test_welds_and_frames` takes one of each place too
@pytest.mark.parametrize("name", ["kinds", "floating"])
def test_each_parameter_by_itself(name):
    """One parameter of each place, in turn rotation and translation along the three axes."""
    mechanism = ZOO[name]
    q, v, a = state(mechanism, 3)
    exact = mechanism.parameters.inverse_dynamics_derivatives(q, v, a)
    for place in range(len(mechanism.parameters.places())):
        column = 6 * place + place % 6
        (found,) = differenced(mechanism, column, lambda other: other.inverse_dynamics(q, v, a))
        assert deviation(exact[:, column], found) < 1e-9


def welded() -> Mechanism:
    """Bodies welded to the ground, to a moving body and to one another, with things that hang on them."""
    solid = {"mass": 1.0, "com": (0.1, -0.2, 0.3), "inertia": (0.2, 0.25, 0.3)}
    rng = np.random.default_rng(8)
    bodies = [ch.Body(name, **solid) for name in ("post", "arm", "plate", "box", "wheel", "twin")]
    pairs = [
        (ch.weld, "foot", "ground", "post"),
        (ch.revolute, "shoulder", "post", "arm"),
        (ch.weld, "glue", "arm", "plate"),
        (ch.weld, "tape", "plate", "box"),
        (ch.revolute, "axle", "plate", "wheel"),
        (ch.prismatic, "rail", "post", "twin"),
    ]
    joints = [
        make(
            *names,
            at=lie.pose.random(rng),
            child_at=lie.pose.random(rng),
            **({} if make is ch.weld else {"axis": (1, 2, 2)}),
        )
        for make, *names in pairs
    ]
    frames = [ch.Frame("mark", "box", lie.pose.random(rng)), ch.Frame("camera", "ground", lie.pose.random(rng))]
    return Mechanism(ch.System(bodies, joints, frames, gravity=(1.0, 2.0, -9.0)))


def test_welds_and_frames():
    mechanism = welded()
    q, v, a = state(mechanism, 4)
    places = [*(joint.name for joint in mechanism.system.joints), "mark", "camera"]
    names = mechanism.parameters.places(places).names
    force = mechanism.parameters.inverse_dynamics_derivatives(q, v, a, places)
    frames = [*mechanism.bodies, "mark", "camera"]
    J = mechanism.parameters.jacobian_derivatives(q, frames, places, representation="hybrid")
    g = mechanism.parameters.pose_derivatives(q, frames, places, representation="hybrid")
    functions = (
        lambda m: m.inverse_dynamics(q, v, a),
        lambda m: m.jacobian(q, frames, representation="hybrid"),
        lambda m: m.poses(q, frames)[:, 4:],
    )
    for place in range(len(names)):
        column = 6 * place + (place + place // 2) % 6
        forces, columns, positions = differenced(mechanism, column, *functions, places=places)
        assert deviation(force[:, column], forces) < 1e-9
        assert deviation(J[..., column], columns) < 1e-9
        assert deviation(g[:, 3:, column], positions) < 1e-9
    assert not force[:, -12:].any()  # frames have no mass
    assert not g[-1, :, :-6].any()  # the camera stands on the ground
    only = mechanism.parameters.pose_derivatives(q, "mark", "mark")
    # a model's quaternions may be off unit length by 1e-15, and six of them are between this frame and its link
    np.testing.assert_allclose(only, np.eye(6), rtol=0, atol=2 * 6 * 1e-15)


def test_both_sides_of_a_joint_move_its_screws():
    """exp(δ) exp(Y q) exp(-δ) = exp(Ad Y q): the sum of a joint's two derivatives is that by its screw."""
    mechanism = ZOO["arm"]
    q, v, a = state(mechanism, 5)
    delta = np.random.default_rng(6).normal(size=6)
    joint = mechanism.system.joints[3]
    both = mechanism.parameters.inverse_dynamics_derivatives(q, v, a, joint.name)
    found = (both[:, :6] + both[:, 6:]) @ delta

    def tilted(h: float) -> np.ndarray:
        screw = lie.se3.Ad_apply(lie.se3.exp(h * delta), np.array(joint.screws[0]))
        made = ch.general(joint.name, joint.parent, joint.child, screws=[screw])
        other = ch.model.Joint(
            made.name, made.parent, made.child, "general", made.screws, joint.parent_frame, joint.child_frame
        )
        joints = [other if j.name == joint.name else j for j in mechanism.system.joints]
        system = ch.System(mechanism.system.bodies, joints, gravity=mechanism.system.gravity)
        return Mechanism(system).inverse_dynamics(q, v, a)

    expected = sum(w * (tilted(k * H) - tilted(-k * H)) / H for k, w in WEIGHTS)
    assert deviation(found, expected) < 1e-9


def test_batches_and_threads():
    mechanism = ZOO["again"]
    q, v, a = state(mechanism, 7, (131,))
    two = Mechanism(mechanism.system, threads=2)
    places = mechanism.parameters.places([mechanism.joints[2], (mechanism.joints[0], "child"), "tool"])
    assert len(places.parameters) == 24
    assert places.parameters[0] == f"{mechanism.joints[2]}, parent, rx"
    force = mechanism.parameters.inverse_dynamics_derivatives(q, v, a, places)
    np.testing.assert_array_equal(two.parameters.inverse_dynamics_derivatives(q, v, a, places), force)
    J = mechanism.parameters.jacobian_derivatives(q, "tool", places)
    np.testing.assert_array_equal(two.parameters.jacobian_derivatives(q, "tool", places), J)
    assert J.shape == (131, 6, mechanism.nv, 24)
    assert deviation(mechanism.parameters.inverse_dynamics_derivatives(q[9], v[9], a[9], places), force[9]) < 1e-13
    every = mechanism.parameters.inverse_dynamics_derivatives(q, v, a)
    column = 6 * mechanism.parameters.places().names.index((mechanism.joints[2], "parent"))
    np.testing.assert_array_equal(every[..., column : column + 12], force[..., :12])
    assert mechanism.parameters.pose_derivatives(q[:0], "tool", places).shape == (0, 6, 24)
    assert mechanism.parameters.pose_derivatives(q[0], "tool", []).shape == (6, 0)
    assert ZOO["fixed"].parameters.inverse_dynamics_derivatives([], [], []).shape == (0, 24)


def test_a_long_chain_needs_no_memory_beyond_its_results():
    mechanism = Mechanism(tree(9, ("revolute",) * 100, chain=True))
    q, v, a = state(mechanism, 10)
    places = mechanism.parameters.places()
    mechanism.parameters.inverse_dynamics_derivatives(q, v, a, places)
    tracemalloc.start()
    result = mechanism.parameters.inverse_dynamics_derivatives(q, v, a, places)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.shape == (100, 1200)
    assert used < 2.5 * result.nbytes
    direction = np.zeros(1200)
    direction[[5, 260, 700, 1190]] = 1.0

    def moved(t):
        return Mechanism(mechanism.parameters.with_geometry(t * direction, places)).inverse_dynamics(q, v, a)

    expected = sum(w * (moved(k * H) - moved(-k * H)) / H for k, w in WEIGHTS)
    assert deviation(result @ direction, expected) < 1e-9


def test_bad_input():
    mechanism = ZOO["arm"]
    q, v, a = state(mechanism, 11)
    with pytest.raises(
        ValueError, match=r"parameters\.places: place 'elbow' is unknown; expected the name of a joint or a frame"
    ):
        mechanism.parameters.places("elbow")
    with pytest.raises(ValueError, match=r"place \('j1', 'top'\) is unknown"):
        mechanism.parameters.places([("j1", "top")])
    with pytest.raises(ValueError, match=r"place \('j1', 'parent'\) is given twice"):
        mechanism.parameters.places(["j1", ("j1", "parent")])
    with pytest.raises(ValueError, match=r"parameters\.with_geometry: delta"):
        mechanism.parameters.with_geometry(np.zeros(5), ["j1"])
    with pytest.raises(ValueError, match="no body or frame 'nothing'"):
        mechanism.parameters.pose_derivatives(q, "nothing")
    with pytest.raises(ValueError, match="representation"):
        mechanism.parameters.jacobian_derivatives(q, "tool", representation="world")
    with pytest.raises(ValueError, match=r"parameters\.inverse_dynamics_derivatives"):
        mechanism.parameters.inverse_dynamics_derivatives(q, v, a[1:])
