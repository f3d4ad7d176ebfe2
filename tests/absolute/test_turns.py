"""Angles of joints in absolute coordinates go on over full turns, however few times are saved."""

import numpy as np
import pytest

import chasles as ch

SAVED = np.array([0.0, 0.4, 1.7, 4.0])  # the spin turns many times in between
AXIS = (0.0, 0.6, 0.8)
SPINS = {
    "revolute": (lambda **at: ch.revolute("j", "ground", "b", axis=AXIS, **at), [0.3], [25.0]),
    "helical": (lambda **at: ch.helical("j", "ground", "b", axis=AXIS, pitch=0.02, **at), [0.3], [-25.0]),
    "cylindrical": (lambda **at: ch.cylindrical("j", "ground", "b", axis=AXIS, **at), [0.3, 0.1], [25.0, 0.2]),
    "planar": (lambda **at: ch.planar("j", "ground", "b", normal=AXIS, **at), [0.1, 0.2, 0.3], [0.3, 0.1, -25.0]),
    "universal": (lambda **at: ch.universal("j", "ground", "b", **at), [0.3, 0.2], [25.0, 1.0]),
}


def spinning(kind, **more):
    """A body on a joint, and a second one that turns on it."""
    make, q, v = SPINS[kind]
    system = ch.System(
        [
            ch.Body("b", 1.0, inertia=(0.05, 0.06, 0.08)),
            ch.Body("c", 0.2, (0.0, 0.1, 0.0), inertia=(0.01, 0.01, 0.012)),
        ],
        [make(at=(0.1, 0.2, 0.0)), ch.revolute("k", "b", "c", axis=(1, 0, 0), at=(0.0, 0.0, 0.3))],
        gravity=(0.0, 0.0, 0.0),
        **more,
    )
    return system, [*q, -0.4], [*v, 19.0]


@pytest.mark.parametrize("kind", SPINS)
def test_sparse_times_against_joint_coordinates(kind):
    system, q, v = spinning(kind)
    how = {"rtol": 1e-9, "atol": 1e-11, "save": SAVED}
    tree = ch.simulate(system, (0.0, 4.0), q, v, **how)
    bodies = ch.simulate(system, (0.0, 4.0), q, v, coordinates="absolute", **how)
    turned = max(np.ptp(tree.joint(name).q) for name in "jk")
    assert turned > 8 * np.pi
    for name in "jk":
        assert np.abs(tree.joint(name).q - bodies.joint(name).q).max() < 1e-4


METHODS = {
    "rk4": (ch.integrate.RKMK("rk4"), 5e-3),
    "rattle": (ch.integrate.Rattle(), 2e-3),
    "generalized alpha": (ch.integrate.GeneralizedAlpha(), 2e-3),
    "bliedf": (ch.integrate.BLieDF(2), 2e-3),
    "energy-momentum": (ch.integrate.EnergyMomentum(), 2e-3),
    "Radau": (ch.integrate.RadauIIA(), 2e-2),
    "half-explicit": (ch.integrate.HalfExplicit(), 5e-3),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_count(name):
    """A wheel that spins at a constant rate, 64 turns between saved times, and further turns at the start."""
    method, step = METHODS[name]
    wheel = ch.Body("wheel", 1.0, inertia=(0.1, 0.1, 0.2))
    system = ch.System([wheel], [ch.revolute("axle", "ground", "wheel", axis=(0, 0, 1))], gravity=(0, 0, 0))
    more = {"coordinates": "absolute", "method": method, "step": step}
    begin, rate = 0.5 + 10 * np.pi, 200.0
    if name == "energy-momentum":  # Cayley's map turns by less
        rate = 2.0 * np.arctan(0.5 * rate * step) / step
    for save in ("final", 500):
        run = ch.simulate(system, (0.0, 2.0), [begin], [200.0], save=save, **more)
        assert np.abs(run.joint("axle").q[:, 0] - (begin + rate * run.t)).max() < 0.02 * np.pi


def test_adaptive_implicit_steps_count():
    wheel = ch.Body("wheel", 1.0, inertia=(0.1, 0.1, 0.2))
    system = ch.System([wheel], [ch.revolute("axle", "ground", "wheel", axis=(0, 0, 1))], gravity=(0, 0, 0))
    more = {"coordinates": "absolute", "method": ch.integrate.GeneralizedAlpha(), "rtol": 1e-5, "save": "final"}
    run = ch.simulate(system, (0.0, 2.0), [0.5], [60.0], **more)
    assert run.joint("axle").q[-1, 0] == pytest.approx(120.5, abs=0.1)


def test_files_and_resumed_runs_count(tmp_path):
    system, q, v = spinning("cylindrical")
    how = {"coordinates": "absolute", "step": 2e-3, "method": ch.integrate.RKMK("rk4"), "save": 400, "progress": False}
    whole = ch.simulate(system, (0.0, 4.0), q, v, **how)
    written = ch.simulate(system, (0.0, 4.0), q, v, file=tmp_path / "run.h5", **how)
    opened = ch.open(tmp_path / "run.h5")
    for name in "jk":
        assert np.array_equal(opened.joint(name).q, whole.joint(name).q)
        assert np.array_equal(written.joint(name).q, whole.joint(name).q)
    ch.export(opened, tmp_path / "run.csv")
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True, deletechars="")
    column = next(name for name in table.dtype.names if name.startswith("j.q0"))
    assert np.allclose(table[column], whole.joint("j").q[:, 0], rtol=1e-12)


def test_a_loop_with_an_input_and_a_cut_joint():
    """The cut joint has no coordinate in q: its angle comes from the poses, and is counted on."""
    rod = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.001, 0.1, 0.1)}
    z = (0, 0, 1)
    system = ch.System(
        [ch.Body(name, **rod) for name in ("crank", "coupler", "rocker")],
        [
            ch.revolute("A", "ground", "crank", axis=z),
            ch.revolute("B", "crank", "coupler", axis=z, at=(1, 0, 0)),
            ch.revolute("C", "coupler", "rocker", axis=z, at=(1, 0, 0), child_at=(1, 0, 0)),
            ch.revolute("D", "ground", "rocker", axis=z, at=(1.3, 0, 0)),
        ],
        gravity=(0, -9.81, 0),
        actuators=[ch.Actuator("u", "A")],
    )
    mechanism = system.compile()
    assert "D" not in mechanism.joints
    q = mechanism.assemble([1.4, -1.3, 1.2])
    tree = ch.simulate(system, (0.0, 0.2), q, control=[1.5])
    bodies = ch.simulate(system, (0.0, 0.2), q, control=[1.5], coordinates="absolute")
    assert np.abs(tree["rocker"].position[-1] - bodies["rocker"].position[-1]).max() < 1e-7
    assert np.abs(tree.joint("A").q[-1] - bodies.joint("A").q[-1]).max() < 1e-7
