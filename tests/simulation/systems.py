"""Systems for the tests of simulation."""

import numpy as np

import chasles as ch


def top() -> ch.System:
    """The heavy top of mueller2013: a box on a spherical joint, no gravity."""
    body = ch.Body("top", mass=21.6, com=(0.5, 0.0, 0.0), inertia=(0.36, 0.306, 0.09))
    return ch.System([body], [ch.spherical("pivot", "ground", "top")], gravity=(0.0, 0.0, 0.0), name="top")


def pendulum(**more) -> ch.System:
    """A point mass on a massless rod of 1 m that swings in the plane x, z."""
    body = ch.Body("bob", mass=1.0, com=(0.0, 0.0, -1.0))
    return ch.System([body], [ch.revolute("hinge", "ground", "bob", axis=(0.0, -1.0, 0.0), **more)], name="pendulum")


def arm(**more) -> ch.System:
    """Two links, a spherical and a revolute joint."""
    capsule = [ch.shapes.Capsule(0.05, 0.9, pose=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5))]
    bodies = [ch.Body(name, shapes=capsule, density=1000.0) for name in ("upper", "lower")]
    elbow = ch.revolute("elbow", "upper", "lower", axis=(0.0, 1.0, 0.0), at=(0.0, 0.0, -1.0), **more)
    return ch.System(bodies, [ch.spherical("shoulder", "ground", "upper"), elbow], name="arm")


def satellite(damping: float = 0.0, gravity=(0.0, 0.0, 0.0)) -> ch.System:
    """A body that floats, with two arms."""
    box = ch.Body("hub", shapes=[ch.shapes.Box((0.4, 0.5, 0.6))], density=300.0)
    arms = [ch.Body(n, mass=2.0, com=(0.3, 0.0, 0.05), inertia=(0.02, 0.08, 0.07)) for n in ("left", "right")]
    joints = [
        ch.revolute("port", "hub", "left", axis=(0.0, 1.0, 0.3), at=(0.2, 0.0, 0.0), damping=damping),
        ch.universal("starboard", "hub", "right", at=(-0.2, 0.1, 0.0), damping=damping),
    ]
    return ch.System([box, *arms], joints, gravity=gravity, name="satellite")


def satellite_state(mechanism) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return mechanism.random(rng), rng.standard_normal(mechanism.nv)
