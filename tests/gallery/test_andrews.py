"""Andrews' squeezing mechanism against the published reference solution."""

import numpy as np
import pytest

import chasles as ch
from chasles.gallery import andrews

# Test Set for IVP Solvers (PSIDE, rtol = atol = 1e-14): angles and their rates at t = 0.03 s, accelerations at t = 0
REFERENCE = [
    *(0.1581077119629904e2, -0.1575637105984298e2, 0.4082224013073101e-1, -0.5347301163226948),
    *(0.5244099658805304, 0.5347301163226948, 0.1048080741042263e1),
]
RATES = [
    *(0.1139920302151208e4, -0.1424379294994111e4, 0.1103291221937134e2, 0.1929337464421385e2),
    *(0.5735699284790808, -0.1929337464421385e2, 0.3231791658026955),
]
FIRST_ACCELERATIONS = [14222.4439199541138705911625887, -10666.8329399655854029433719415, 0.0, 0.0, 0.0, 0.0, 0.0]
CARRIER = {1: 0, 3: 4, 5: 6}  # of the angles that are relative, what they are relative to


def relative(rates):
    """Rates of the data's angles from those of the bodies."""
    found = np.array(rates)
    for k, carrier in CARRIER.items():
        found[k] -= rates[carrier]
    return found


def test_the_start():
    mechanism = andrews.system().compile("absolute")
    assert "41 constraint equations" in repr(mechanism)
    poses = andrews.poses()
    central, velocity = mechanism.state(poses)
    assert mechanism.constraint_violation(central, velocity)[0].max() < 1e-15
    assert np.abs(andrews.angles(poses) - andrews.START).max() < 1e-15
    spins = relative(mechanism.accelerations_under(central, velocity)[:, 2])
    assert np.abs(spins - FIRST_ACCELERATIONS).max() < 1e-8 * FIRST_ACCELERATIONS[0]


@pytest.mark.parametrize("space", ["SE3", "SO3xR3"])
def test_the_published_solution(space):
    run = ch.simulate(
        andrews.system(), (0.0, andrews.DURATION), poses=andrews.poses(), coordinates="absolute", space=space,
        method=ch.integrate.RKMK("dop853"), rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    assert run.success
    found = andrews.angles(run.poses[-1])
    off = np.remainder(found - REFERENCE + np.pi, 2 * np.pi) - np.pi
    turned = np.unwrap(andrews.angles(run.poses)[:, :2], axis=0)[-1]
    rates = relative(run.twists[-1, :, 2])
    assert np.abs(off).max() < 1e-8
    assert np.abs(turned - REFERENCE[:2]).max() < 1e-8
    assert np.abs(rates - RATES).max() < 1e-8 * np.abs(RATES).max()
    position, speed = run.violations
    assert position.max() < 1e-13 * 0.1  # the mechanism is 0.1 m large
    assert speed.max() < 1e-13 * np.abs(run.twists).max()
