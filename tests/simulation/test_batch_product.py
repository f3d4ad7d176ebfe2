"""Batches of everything: trees, loops and absolute coordinates, steps that are fixed or follow the error, explicit and
implicit methods. Members are the runs of `simulate` to the bit, and variants are data: they compile nothing."""

import numpy as np
import pytest

import chasles as ch
from tests.compile_times import WATCH

SPAN = (0.0, 0.05)
HOW = {
    "fixed": {"method": "rk4", "step": 0.01},
    "adaptive": {"rtol": 1e-5},
    "absolute": {"method": "rk4", "step": 0.01, "coordinates": "absolute"},
    "absolute adaptive": {"rtol": 1e-5, "coordinates": "absolute"},
    "implicit": {"method": "generalized_alpha", "step": 0.01, "coordinates": "absolute"},
    "implicit adaptive": {"method": "generalized_alpha", "rtol": 1e-3, "coordinates": "absolute"},
}


def crank(closed, mass, inertia, length, stiffness, damping, gain, gravity):
    """Two rods on hinges with a spring, and a motor with a gain; closed by a third one, a four-bar."""

    def rod(name, size):
        return ch.Body(name, mass, (size / 2, 0, 0), (0.01, inertia, inertia))

    bodies = [rod("one", 0.3), rod("two", length)]
    joints = [
        ch.revolute("crank", "ground", "one", axis=(0, 0, 1), damping=damping, stiffness=stiffness),
        ch.revolute("knee", "one", "two", axis=(0, 0, 1), at=(0.3, 0, 0)),
    ]
    if closed:
        bodies.append(rod("three", 0.5))
        joints += [
            ch.revolute("rocker", "ground", "three", axis=(0, 0, 1), at=(0.6, 0, 0)),
            ch.spherical("tip", "two", "three", at=(length, 0, 0), child_at=(0.5, 0, 0)),
        ]
    forces = [
        ch.Spring("spring", ("ground", "two"), ((0, 0.5, 0), (0.1, 0, 0)), stiffness=stiffness, damping=damping),
        ch.JointForce("motor", "crank", "-gain * v", parameters={"gain": gain}),
    ]
    return ch.System(bodies, joints, forces=forces, gravity=(0, -gravity, 0))


def values(count, seed):
    """Numbers of all kinds for so many members."""
    rng = np.random.default_rng(seed)
    names = ("mass", "inertia", "length", "stiffness", "damping", "gain", "gravity")
    sizes = (1.0, 0.05, 0.6, 20.0, 0.3, 0.2, 9.8)
    return {name: size * rng.uniform(0.95, 1.05, count) for name, size in zip(names, sizes, strict=True)}


@pytest.mark.sample(1)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("closed", [False, True], ids=["tree", "loop"])
def test_members_are_the_runs_of_simulate_to_the_bit_and_variants_compile_nothing(closed, how):
    more, count = HOW[how], 3
    start = {"crank": np.linspace(0.8, 0.9, count)}

    def run(parameters, order, threads):
        given = {name: value[order] for name, value in parameters.items()} | {"closed": np.full(len(order), closed)}
        q = {"crank": start["crank"][order]}
        return ch.simulate_batch(crank, SPAN, q, parameters=given, threads=threads, **more)

    first = values(count, 1)
    batch = run(first, np.arange(count), 1)
    assert batch.success.all()
    assert np.array_equal(run(first, np.arange(count)[::-1], 2).ends.q[::-1], batch.ends.q)
    one = crank(closed, **{name: float(value[1]) for name, value in first.items()})
    alone = ch.simulate(one, SPAN, {"crank": start["crank"][1]}, save="final", certificate=False, **more)
    assert np.array_equal(batch[1].q, alone.q)
    assert np.array_equal(batch[1].v, alone.v)
    WATCH.asked()
    others = run(values(count, 2), np.arange(count), 1)
    assert others.success.all()
    assert WATCH.notes == []
    assert (others.ends.q != batch.ends.q).all()
