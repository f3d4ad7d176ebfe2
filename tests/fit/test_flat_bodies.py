"""Whole inertias of plates and rods: the fit settles, its values are right, and the limit is named."""

import numpy as np
import pytest

import chasles as ch

T = np.arange(0.0, 2.0, 0.02)
TOLD = 0.6 * np.sin(3 * T) + 0.4 * np.cos(7 * T), 0.8 * np.sin(4 * T + 1) + 0.5 * np.cos(9 * T) - 0.5
HOW = {"method": "rk4", "step": 0.02}
BODIES = {
    "box": ((0.15, 0.1, 0.05), (0.010, 0.012, 0.016)),
    "plate": ((0.15, 0.1, 0.0), (0.008, 0.012, 0.020)),
    "rod": ((0.2, 0.0, 0.0), (0.0, 0.016, 0.016)),
}


def head(kind):
    """A camera head that pans and tilts a body."""
    return ch.System(
        [ch.Body("yoke", 0.3, (0, 0, 0), (0.002, 0.002, 0.002)), ch.Body("camera", 1.2, *BODIES[kind])],
        [
            ch.revolute("pan", "ground", "yoke", axis=(0, 0, 1), damping=0.05),
            ch.revolute("tilt", "yoke", "camera", axis=(0, 1, 0), damping=0.05),
        ],
        actuators=[ch.Actuator("pan", "pan"), ch.Actuator("tilt", "tilt")],
    )


def measured(kind, seed):
    run = ch.simulate(
        head(kind), (0, T[-1]), period=0.02, progress=False, **HOW,
        controller=lambda t, q, v: np.array([told[round(t / 0.02)] for told in TOLD]),
    )  # fmt: skip
    seen = run.q[np.searchsorted(run.t, T - 1e-9)] + 1e-3 * np.random.default_rng(seed).normal(size=(len(T), 2))
    data = {"inputs.pan": TOLD[0], "inputs.tilt": TOLD[1], "joints.pan": seen[:, 0], "joints.tilt": seen[:, 1]}
    return {"t": T, **data}


@pytest.mark.parametrize(("kind", "seed"), [("plate", 1), ("rod", 1)])
def test_flat_bodies_are_found(kind, seed):
    fit = ch.fit.to_data(head("box"), measured(kind, seed), "bodies.camera", **HOW)
    assert fit.success
    assert fit.iterations < 60
    true = ch.screw.inertia.to_parameters(head(kind).bodies[1].spatial)
    off = np.abs(fit.told.values(fit.found.values) - fit.told.values(true))
    assert (off < 4 * fit.told.standard_deviations(1.0)).all()
    assert "camera: mcy: has no influence on what was measured" in fit.unidentified
    assert fit.deviations["camera: m"] == np.inf
    ch.screw.inertia.check(fit.study().system.bodies[1].spatial, strict=False)
    if kind == "rod":
        assert any("bodies.camera: the data puts it at the limit of physical inertias: it is a" in x for x in fit.notes)


def test_a_flat_model_is_no_limit_by_itself():
    """A model may be flat; where the data asks for more, it gets it."""
    fit = ch.fit.to_data(head("plate"), measured("box", 0), "bodies.camera", **HOW)
    assert fit.success
    true = ch.screw.inertia.to_parameters(head("box").bodies[1].spatial)
    off = np.abs(fit.told.values(fit.found.values) - fit.told.values(true))
    assert (off < 4 * fit.told.standard_deviations(1.0)).all()
    assert not any("limit" in note for note in fit.notes)


@pytest.mark.parametrize("guess", ["box", "rod"])
def test_flat_links_from_torques(guess):
    def arm(kind):
        links = [ch.Body(name, 2.0, *BODIES[kind]) for name in ("one", "two")]
        joints = [
            ch.revolute("low", "ground", "one", axis=(0, 0, 1)),
            ch.revolute("top", "one", "two", axis=(0, 1, 0), at=(0, 0, 0.3)),
        ]
        return ch.System(links, joints).compile()

    mechanism, t, speed = arm("plate"), np.linspace(0, 10, 300)[:, None], np.array([1.1, 1.7])
    motion = np.sin(speed * t), speed * np.cos(speed * t), -(speed**2) * np.sin(speed * t)
    clean = mechanism.inverse_dynamics(*motion)
    fit = ch.fit.to_torques(mechanism, *motion, clean + 0.05 * np.random.default_rng(0).normal(size=clean.shape))
    found = fit.parameters(arm(guess).parameters.inertial())
    assert not mechanism.parameters.unphysical(found)
    assert (np.abs(fit.told.values(found) - fit.base) < fit.deviations).all()
