"""Forward dynamics of long chains by every installed peer: one state, one call from Python.

    python -m benchmarks.long_chain_speed [BODIES ...]

Links of 0.1 m hang on hinges about y and z in turn. Accelerations are compared first.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable

import numpy as np

import chasles as ch

LENGTH, MASS, INERTIA, GRAVITY = 0.1, 1.0, (1e-3, 2e-3, 2e-3), 9.81
AGREEMENT = 1e-6  # of the largest acceleration; errors of chains grow with their length

Call = Callable[[], np.ndarray]


def axis(k: int) -> tuple[float, float, float]:
    return (0.0, 1.0, 0.0) if k % 2 else (0.0, 0.0, 1.0)


def place(k: int) -> tuple[float, float, float]:
    return (LENGTH if k else 0.0, 0.0, 0.0)


def state(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=n) * 0.1, rng.normal(size=n) * 0.1


def ours(n: int) -> Call:
    bodies = [ch.Body(f"b{k}", MASS, (LENGTH / 2, 0.0, 0.0), INERTIA) for k in range(n)]
    joints = [
        ch.revolute(f"j{k}", f"b{k - 1}" if k else "ground", f"b{k}", axis=axis(k), at=place(k)) for k in range(n)
    ]
    mechanism = ch.System(bodies, joints, gravity=(0.0, 0.0, -GRAVITY)).compile()
    q, v = state(n)
    force = np.zeros(n)
    return lambda: mechanism.forward_dynamics(q, v, force)


def pinocchio(n: int) -> Call:
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    for k in range(n):
        kind = pin.JointModelRY() if k % 2 else pin.JointModelRZ()
        number = model.addJoint(k, kind, pin.SE3(np.eye(3), np.array(place(k))), f"j{k}")
        inertia = pin.Inertia(MASS, np.array([LENGTH / 2, 0.0, 0.0]), np.diag(INERTIA))
        model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
    data = model.createData()
    q, v = state(n)
    force = np.zeros(n)
    return lambda: pin.aba(model, data, q, v, force)


def mujoco(n: int) -> Call:
    import mujoco as mj

    spec = mj.MjSpec()
    spec.option.gravity = [0.0, 0.0, -GRAVITY]
    body = spec.worldbody
    for k in range(n):
        body = body.add_body(pos=place(k), mass=MASS, ipos=(LENGTH / 2, 0.0, 0.0), inertia=INERTIA)
        body.explicitinertial = True
        body.add_joint(type=mj.mjtJoint.mjJNT_HINGE, axis=axis(k))
    model = spec.compile()
    data = mj.MjData(model)
    data.qpos[:], data.qvel[:] = state(n)

    def call() -> np.ndarray:
        mj.mj_forward(model, data)
        return np.array(data.qacc)

    return call


def drake(n: int) -> Call:
    names = ("pydrake.math", "pydrake.multibody.plant", "pydrake.multibody.tree")
    maths, plants, tree = (importlib.import_module(name) for name in names)  # its stubs refuse what its functions take
    plant = plants.MultibodyPlant(0.0)
    about = np.array(INERTIA) / MASS + np.array([0.0, 1.0, 1.0]) * (LENGTH / 2) ** 2
    inertia = tree.SpatialInertia(MASS, [LENGTH / 2, 0.0, 0.0], tree.UnitInertia(*about))
    parent = plant.world_frame()
    for k in range(n):
        body = plant.AddRigidBody(f"b{k}", inertia)
        place_in_parent = tree.FixedOffsetFrame(f"f{k}", parent, maths.RigidTransform(np.array(place(k))))
        plant.AddJoint(
            tree.RevoluteJoint(f"j{k}", plant.AddFrame(place_in_parent), body.body_frame(), np.array(axis(k)))
        )
        parent = body.body_frame()
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -GRAVITY])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    both = np.concatenate(state(n))

    def call() -> np.ndarray:
        plant.SetPositionsAndVelocities(context, both)  # so that nothing cached is taken
        return plant.EvalTimeDerivatives(context).get_generalized_velocity().CopyToVector()

    return call


# module, call, and the longest chain: Pinocchio's data of 400 bodies take 4 GB; the factors of MuJoCo's mass matrix
# have a number for each pair of bodies, and a call with 1000 takes 60 ms
PEERS: dict[str, tuple[str, Callable[[int], Call], int]] = {
    "Pinocchio": ("pinocchio", pinocchio, 200),
    "MuJoCo": ("mujoco", mujoco, 1000),
    "Drake": ("pydrake", drake, 10_000),
}


def pairs(n: int) -> tuple[Call, dict[str, Call]]:
    """Our call and those of the installed peers, which give the same accelerations."""
    mine = ours(n)
    expected = mine()
    others = {}
    for name, (module, make, longest) in PEERS.items():
        if importlib.util.find_spec(module) is None or n > longest:
            continue
        others[name] = make(n)
        off = np.abs(others[name]() - expected).max() / np.abs(expected).max()
        assert off < AGREEMENT, f"{name}: accelerations of a chain of {n} differ by {off:.1e}"
    return mine, others


def spent(call: Call, most: float = 0.3) -> float:
    """Least processor time of a call [s]."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < most and len(times) < 200):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bodies", nargs="*", type=int, default=[1000, 10_000])
    for n in parser.parse_args().bodies:
        mine, others = pairs(n)
        for name, call in others.items():
            own, other = spent(mine), spent(call)
            print(f"chain of {n}: {1e6 * own:.0f} µs, {name} {1e6 * other:.0f} µs, ratio {other / own:.1f}")


if __name__ == "__main__":
    main()
