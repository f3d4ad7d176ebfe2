"""Inverse dynamics of many states of a humanoid at once, and what holds it up."""

import argparse
import time

import numpy as np

import chasles as ch


def limb(name: str, root: str, axes: list, start: tuple, step: tuple) -> tuple[list, list]:
    """A row of links; the first joint is at `start` on the root, the others a `step` further."""
    rod = [ch.shapes.Capsule(0.04, max(0.05, np.linalg.norm(step)), pose=(1, 0, 0, 0, *(x / 2 for x in step)))]
    bodies = [ch.Body(f"{name} {k}", shapes=rod, density=900.0) for k in range(len(axes))]
    parents = [root, *(body.name for body in bodies)]
    joints = [
        ch.revolute(f"{name} joint {k}", parents[k], parents[k + 1], axis=axis, at=step if k else start)
        for k, axis in enumerate(axes)
    ]
    return bodies, joints


def system() -> ch.System:
    """A pelvis that floats, legs of six joints, a trunk of three, arms of seven, a head: 36 velocities."""
    x, y, z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    bodies, joints = [ch.Body("pelvis", shapes=[ch.shapes.Box((0.2, 0.3, 0.15))], density=900.0)], []
    parts = [limb("trunk", "pelvis", [x, y, z], (0, 0, 0.08), (0, 0, 0.15))]
    for side, sign in (("left", 1), ("right", -1)):
        parts.append(limb(f"{side} leg", "pelvis", [z, x, y, y, y, x], (0, 0.1 * sign, -0.08), (0, 0, -0.15)))
        parts.append(limb(f"{side} arm", "trunk 2", [y, x, z, y, z, y, x], (0, 0.2 * sign, 0.15), (0, 0, -0.1)))
    parts.append(limb("head", "trunk 2", [z], (0, 0, 0.25), (0, 0, 0.2)))
    for more, connections in parts:
        bodies += more
        joints += connections
    return ch.System(bodies, joints, name="humanoid")


def main(states: int) -> None:
    humanoid = system().compile()
    print(f"{humanoid}, {humanoid.system.mass:.1f} kg")
    rng = np.random.default_rng(0)
    q = humanoid.retract(humanoid.neutral(), 0.2 * rng.normal(size=(states, humanoid.nv)))
    v, a = rng.normal(size=(2, states, humanoid.nv))
    humanoid.inverse_dynamics(q[:4], v[:4], a[:4])  # the first call compiles, or loads from the cache
    start = time.perf_counter()
    tau = humanoid.inverse_dynamics(q, v, a)
    print(f"inverse dynamics of {states} states: {(time.perf_counter() - start) * 1e3:.1f} ms")
    assert np.allclose(humanoid.forward_dynamics(q, v, tau), a, atol=1e-8)
    base = humanoid.terms.gravity(humanoid.neutral())[:6]  # the first six velocities are the pelvis's twist
    print(f"upward force on the pelvis at rest: {base[5]:.3f} N; weight {9.81 * humanoid.system.mass:.3f} N")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=10_000)
    main(parser.parse_args().states)
