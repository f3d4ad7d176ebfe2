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


def test_right_angle():
    """Simo and Vu-Quoc 1988: a frame of two legs, clamped, pulled out of its plane at the elbow for two seconds."""
    section = rods.Stiffness((1e3, 1e3, 1e3, 1e6, 1e6, 1e6), 1.0, (20, 10, 10))
    one = ch.Rod("one", rods.Line((0, 0, 0), (10, 0, 0)), section, ends=("ground", "free"), elements=8)
    two = ch.Rod("two", rods.Line((0, 0, 0), (0, 10, 0)), section, ends=("one[8]", "free"), elements=8)
    pull = ch.Wrench("pull", "one[8]", (0, 0, 0, 0, 0, "50 * max(0, 1 - abs(t - 1))"), "hybrid")
    system = ch.System(rods=[one, two], forces=[pull], gravity=(0, 0, 0))
    how = {"method": ch.integrate.GeneralizedAlpha(rho=0.9), "step": 0.025, "certificate": False}
    run = ch.simulate(system, (0, 5), coordinates="absolute", **how)
    assert abs(run["one[8]"].position[-1, 2] - 3.1114) < 7e-3
    after = run.energies.total[run.t > 2.1]
    assert np.ptp(after) < 1e-4 * after[0]


def test_rotating_beam():
    """Frequencies of flapping at 12 times √(EI/ρAL⁴), which tension by centrifugal forces makes: Wright et al. 1982."""
    n, speed = 16, 12.0
    section = rods.Stiffness((1, 1, 1, 1e6, 1e6 / 2.6, 1e6 / 2.6), 1.0, 1e-6 * np.array([2.0, 1.0, 1.0]))
    rod = ch.Rod("b", rods.Line((0, 0, 0), (1, 0, 0)), section, ends=("ground", "free"), elements=n)
    x = rod.mesh.s
    for _ in range(3):  # forces follow the places
        forces = speed**2 * rod.mesh.mass * x
        pulls = [ch.Wrench(f"pull {k}", f"b[{k}]", (0, 0, 0, forces[k], 0, 0), "hybrid") for k in range(1, n + 1)]
        found = ch.equilibrium(ch.System(rods=[rod], forces=pulls, gravity=(0, 0, 0)))
        x = found.rod("b").nodes[:, 4]
    hub = ch.Body("hub", 1e6, inertia=(1e6, 1e6, 1e6))
    blade = ch.Rod("b", rods.Line((0, 0, 0), (1, 0, 0)), section, ends=("hub", "free"), elements=n)
    system = ch.System([hub], [ch.revolute("axis", "ground", "hub", axis=(0, 0, 1))], rods=[blade], gravity=(0, 0, 0))
    q = {f"b[{k}]": found.q[7 * (k - 1) : 7 * k] for k in range(1, n + 1)}
    values = ch.linearize(system, q, {"axis": speed}).eigenvalues.imag
    flap = np.sort(values[values > 1e-6])[[1, 3]]
    assert flap == pytest.approx([13.1702, 37.6031], rel=2e-4)


@pytest.mark.parametrize(("how", "bound"), [({}, 1e-4), ({"strains": ("bend_y", "bend_z"), "modes": 5}, 1e-4)])
def test_a_whirling_shaft_is_unstable_above_its_critical_speed(how, bound):
    """A shaft that is clamped in a hub which turns at a speed Ω, with damping c = τω² of the material, turns with it:
    z'' + c (z' - iΩ z) + ω² z = 0 in space. So it is unstable for Ω > ω. Rotary inertia and shear are 5e-5 here."""
    length, r, E, density, tau = 1.0, 0.004, 2e11, 7800.0, 2e-4
    w = 1.875104068711961**2 * np.sqrt(E * r**2 / 4 / density) / length**2
    line, steel = rods.Line((0, 0, 0), (length, 0, 0)), rods.Material(E, 0.3, density)
    shaft = ch.Rod("s", line, rods.Circle(r), steel, ("hub", "free"), 16, damping=tau, **how)
    hub, spin = ch.Body("hub", 1e6, inertia=(1e6,) * 3), ch.revolute("spin", "ground", "hub", axis=(1, 0, 0))
    system = ch.System([hub], [spin], rods=[shaft], gravity=(0, 0, 0))
    for speed in (0.98 * w, 1.02 * w, 2.0 * w):
        known = np.roots([1, 2j * speed + tau * w**2, w**2 - speed**2])  # seen from the hub
        found = ch.linearize(system, v={"spin": speed}).eigenvalues
        for value in (*known, *known.conj()):
            assert np.abs(found - value).min() < bound * w
        assert (found.real > 1e-3).sum() == (2 if speed > w else 0)


@pytest.mark.study
def test_a_ring_has_modes_in_pairs():
    """Closed forms of a thin ring, in its plane and out of it, with two waves around it. It has no end, so masses are
    the same at all nodes; shear and rotary inertia are 1.4e-4 here."""
    E, density, r, nu = 2e11, 7800.0, 0.01, 0.3
    curve = rods.Arc((1, 0, 0), (0, 0, 0), (0, 0, 1), 2 * np.pi)
    ring = ch.Rod("r", curve, rods.Circle(r), rods.Material(E, nu, density), elements=16, masses="trapezoid")
    system = ch.System(rods=[ring], joints=[ch.weld("close", "r[0]", "r[16]")], gravity=(0, 0, 0))
    found = np.sort(np.abs(ch.linearize(system).eigenvalues.imag))
    found = found[found > 10.0][:8:2]
    known = 6.0 * np.sqrt(E * r**2 / 4 / density) / np.sqrt([5.0 + nu, 5.0 + nu, 5.0, 5.0])
    assert found == pytest.approx(known, rel=3e-4)
    assert found[[0, 2]] == pytest.approx(found[[1, 3]], rel=1e-7)


def late_by(angle: float, rho: float = 0.8) -> float:
    """By how much less than `angle` generalized alpha turns an oscillator in a step, by its matrix."""
    m, f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma, beta = 0.5 - m + f, 0.25 * (1 - m + f) ** 2
    new = np.array([[1, 0, -beta], [0, 1, -gamma], [(1 - f) * angle**2, 0, 1 - m]])
    old = np.array([[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [-f * angle**2, 0, -m]])
    values = np.linalg.eigvals(np.linalg.solve(new, old))
    return angle - float(np.abs(np.angle(values[np.argmax(np.abs(values.imag))])))


def late_tip(step: float, end: float, EI: float, line_mass: float) -> float:
    """How far the tip of a cantilever of 1 m that falls is off in the end, at most: modes of a thin beam under sudden
    weight, each late by what the method makes it, all added up."""
    k = np.array([1.875104068712, 4.694091132974, 7.854757438238, 10.995540734876, 14.137168391046])
    ratio = (np.cosh(k) + np.cos(k)) / (np.sinh(k) + np.sin(k))
    omega = k**2 * np.sqrt(EI / line_mass)
    amplitudes = 4.0 * ratio / k * 9.81 / omega**2
    late = np.array([late_by(w * step) for w in omega]) * end / step
    return float(amplitudes @ np.minimum(late, 2.0))


@pytest.mark.parametrize("step", [0.025, 0.01, 0.005, 0.0025])
def test_a_slender_rod_takes_long_steps(step):
    """A nylon rod of 2 mm falls: its waves along the axis are 1e3 times as fast as what is seen. With the prediction of
    the step before alone, Newton's method fails at 25 and 10 ms. What the steps may be off by follows from the method
    and a slender beam, without the rod: 10, 3.3, 1.2 and 0.5 mm. The place of the tip is that of Radau's method with
    steps of 0.25 ms, which 0.125 ms change by 4e-10 m."""
    curve, nylon = ch.rods.Line((0, 0, 0), (1, 0, 0)), ch.rods.Material(2e9, 0.3, 1100.0)
    rod = ch.Rod("r", curve, ch.rods.Circle(0.002), nylon, ("ground", "free"))
    how = {"coordinates": "absolute", "method": "generalized_alpha", "certificate": False}
    run = ch.simulate(ch.System(rods=[rod]), (0, 0.5), step=step, **how)
    error = np.linalg.norm(run["r[16]"].position[-1] - (0.458602, 0, -0.806602))
    area = np.pi * 0.002**2
    assert error < late_tip(step, 0.5, 2e9 * area * 0.002**2 / 4, 1100.0 * area)


def test_explicit_steps_up_to_the_time_of_waves_through_an_element():
    """A cantilever of slenderness 1000 falls: the classical method is stable with 0.75 h/c, and not with 1.1."""
    curve, nylon = rods.Line((0, 0, 0), (1, 0, 0)), rods.Material(2e9, 0.3, 1100.0)
    system = ch.System(rods=[ch.Rod("r", curve, rods.Circle(0.002), nylon, ("ground", "free"), 16)])
    wave = 1 / 16 / np.sqrt(2e9 / 1100)
    how = {"coordinates": "absolute", "method": "rk4", "certificate": False}
    run = ch.simulate(system, (0, 500 * 0.75 * wave), step=0.75 * wave, **how)
    energies = run.energies
    assert np.ptp(energies.total) < 1e-9 * np.ptp(energies.gravity)
    early = run.t < 1 / np.sqrt(
        2e9 / 1100
    )  # the clamp is not felt at the tip yet, but for a little that meshes let ahead
    assert run["r@1"].position[early, 2] == pytest.approx(-9.81 / 2 * run.t[early] ** 2, rel=1e-7, abs=1e-13)
    with pytest.warns(RuntimeWarning):
        assert not ch.simulate(system, (0, 500 * 1.1 * wave), step=1.1 * wave, **how).success
