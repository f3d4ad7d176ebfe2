"""Rotors: in absolute coordinates every implicit method that takes them goes to the motion of joint coordinates."""

import numpy as np
import pytest

import chasles as ch

Q, V, END = [0.3, -0.5], [1.0, 2.0], 0.4
METHODS = [
    (ch.integrate.GeneralizedAlpha(), 2),
    (ch.integrate.GeneralizedAlpha(index=3), 2),
    (ch.integrate.BLieDF(2), 2),
    (ch.integrate.BLieDF(3), 3),
    (ch.integrate.HalfExplicit(5), 5),
]


def arm():
    """Rotors that are heavier than the links."""
    links = [ch.Body(name, 1.0, (0.2, 0.05, 0), (0.01, 0.02, 0.02)) for name in ("upper", "lower")]
    joints = [
        ch.revolute("shoulder", "ground", "upper", axis=(0, 1, 0), armature=0.3),
        ch.revolute("elbow", "upper", "lower", axis=(0.1, 1, 0.3), at=(0.5, 0, 0), armature=0.2),
    ]
    return ch.System(links, joints)


@pytest.fixture(scope="module")
def truth():
    return ch.simulate(arm(), (0, END), Q, V, rtol=1e-12, atol=1e-13, save="final")["lower"].pose[-1]


@pytest.mark.parametrize(("method", "order"), METHODS, ids=str)
def test_a_rotor_turns_with_its_joint(method, order, truth):
    found = []
    for step in (0.02, 0.01):
        run = ch.simulate(arm(), (0, END), Q, V, coordinates="absolute", method=method, step=step, save="final")
        found.append(np.abs(run["lower"].pose[-1] - truth).max())
    assert found[1] < 2e-3
    assert np.log2(found[0] / found[1]) > order - 0.5 or found[1] < 1e-9


@pytest.mark.parametrize("method", [ch.integrate.Rattle(), ch.integrate.EnergyMomentum()], ids=str)
def test_others_refuse_it_by_name(method):
    with pytest.raises(ValueError, match="'shoulder' has an armature"):
        ch.simulate(arm(), (0, END), Q, V, coordinates="absolute", method=method, step=0.01)
