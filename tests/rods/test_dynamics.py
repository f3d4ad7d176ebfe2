"""Rods in motion, against published problems whose limits were found with finer meshes and steps, and closed forms."""

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.gallery import model_files
from chasles.io.load import load
from chasles.lie.rotation import quaternion_to_matrix

LIMIT = np.array([[4.7692, 3.0618, -2.8015], [12.263, 6.5325, 1.5034]])  # ends of the spaghetti at 3.5, to 5e-4


@pytest.mark.parametrize(("space", "bound"), [("SO3xR3", 4e-3), ("SE3", 4e-3)])
def test_flying_spaghetti(space, bound):
    study = load(model_files()["flying_spaghetti"])
    method = ch.integrate.GeneralizedAlpha(rho=0.9)
    how = {"method": method, "step": 0.0125, "space": space, "certificate": False}
    run = study.run(span=(0, 3.5), save="all", **how)
    assert np.abs(run.poses[-1][[0, -1], 4:] - LIMIT).max() < bound
    energies = run.energies
    assert np.abs(energies.balance).max() < 1e-3 * energies.total.max()
    assert energies.springs == pytest.approx(run.rod("rod").energy, rel=1e-9)


def test_frequencies_and_damping():
    """Of a slender cantilever: errors of the first three bending frequencies, and ζ = τ ω/2."""
    r, tau = 1e-4, 1e-3
    section = rods.Stiffness((0.8, 1, 1, 1 / r**2, 0.4 / r**2, 0.4 / r**2), 1.0, r * r * np.array([2.0, 1.0, 1.0]))
    rod = ch.Rod("b", rods.Line((0, 0, 0), (1, 0, 0)), section, ends=("ground", "free"), elements=16, damping=tau)
    values = ch.linearize(ch.System(rods=[rod], gravity=(0, 0, 0))).eigenvalues
    swinging = values[values.imag > 0][[0, 2, 4]]
    sizes = np.abs(swinging)
    error = sizes / np.array([1.875104068712, 4.694091132974, 7.854757438238]) ** 2 - 1
    assert (np.abs(error) < [5e-6, 1e-4, 3e-4]).all()
    assert -swinging.real / sizes == pytest.approx(tau * sizes / 2, rel=1e-6)


def test_momentum_of_a_free_rod():
    """Under internal damping alone momentum is kept, and energy falls by the work of damping."""
    rod = ch.Rod(
        "rod",
        rods.Helix((0.3, 0, 0), (0, 0, 0), (0, 0, 1), 0.2, 0.5),
        rods.Rectangle(0.02, 0.01),
        rods.Material(E=1e7, density=1000.0),
        elements=6,
        damping=2e-3,
        masses="trapezoid",  # centers at the nodes
    )
    system = ch.System(rods=[rod], gravity=(0, 0, 0))
    how = {"coordinates": "absolute", "method": "generalized_alpha", "step": 1e-3, "certificate": False}
    twists = np.zeros((7, 6))
    twists[:, 5] = np.linspace(-1.0, 1.0, 7) ** 2
    poses = ch.simulate(system, (0, 1e-3), **how).poses[0]
    run = ch.simulate(system, (0, 0.2), poses=poses, twists=twists, **how)
    masses = np.array([body.mass for body in system.bodies])
    speeds = np.einsum("tnij,tnj->tni", quaternion_to_matrix(run.poses[..., :4]), run.twists[..., 3:])
    momentum = np.einsum("n,tni->ti", masses, speeds)
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * masses.sum() * np.abs(speeds).max()
    energies = run.energies
    lost = energies.total[0] - energies.total[-1]
    assert lost > 0.0
    assert np.abs(energies.balance - energies.balance[0]).max() < 5e-3 * energies.total[0]  # rho = 0.8 damps waves
