"""Energies, momenta, center of mass: from sums over the bodies, and identities."""

import numpy as np
import pytest

from chasles.lie import pose
from chasles.model.body import Body
from chasles.model.joint import revolute
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from tests.relative.zoo import MOVING, ZOO, deviation, rate_of, state


def sums(mechanism, q, v):
    """Potential energy, momentum, center of mass and its velocity, body by body."""
    bodies = [b for b, link in zip(mechanism.system.bodies, mechanism.tree.link_of_body, strict=True) if link >= 0]
    names = [b.name for b in bodies]
    places, twists = mechanism.poses(q, names), mechanism.twists(q, v, names)
    momentum = sum(
        pose.AdT_apply(pose.inverse(g), b.spatial @ V) for b, g, V in zip(bodies, places, twists, strict=True)
    )
    mass = sum(b.mass for b in bodies)
    center = sum(b.mass * pose.act(g, np.array(b.com)) for b, g in zip(bodies, places, strict=True)) / mass
    return -mass * np.array(mechanism.system.gravity) @ center, momentum, center, momentum[3:] / mass


@pytest.mark.parametrize("name", MOVING)
def test_sums_over_bodies(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 15)
    potential, momentum, center, velocity = sums(mechanism, q, v)
    kinetic, found = mechanism.energy(q, v)
    assert found == pytest.approx(potential, rel=1e-13)
    assert kinetic == pytest.approx(0.5 * v @ mechanism.mass_matrix(q) @ v, rel=1e-13)
    assert deviation(mechanism.momentum(q, v), momentum) < 1e-13
    assert deviation(mechanism.center_of_mass(q), center) < 1e-14
    assert deviation(mechanism.centroidal.velocity(q, v), velocity) < 1e-13
    assert deviation(rate_of(mechanism.center_of_mass, mechanism, q, v), velocity) < 1e-10
    about = np.concatenate([momentum[:3] - np.cross(center, momentum[3:]), momentum[3:]])
    assert deviation(mechanism.centroidal.momentum(q, v), about) < 1e-13


@pytest.mark.parametrize("name", MOVING)
def test_lanes_equal_scalars(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 16, (3, 2))
    energies, momentum = mechanism.energy(q, v), mechanism.momentum(q, v)
    assert energies[0].shape == energies[1].shape == (3, 2)
    one = mechanism.energy(q[2, 1], v[2, 1])
    assert np.array(one) == pytest.approx([energies[0][2, 1], energies[1][2, 1]], rel=1e-13)
    assert deviation(mechanism.momentum(q[2, 1], v[2, 1]), momentum[2, 1]) < 1e-13
    matrix = mechanism.centroidal.matrix(q)
    assert matrix.shape == (3, 2, 6, mechanism.nv)
    assert deviation(mechanism.centroidal.matrix(q[2, 1]), matrix[2, 1]) < 1e-13


def test_digits_far_from_the_origin():
    mechanism = ZOO["floating"]
    q, v, _ = state(mechanism, 17)
    far = q.copy()
    far[mechanism.tree.coordinates["j0"]] = q[mechanism.tree.coordinates["j0"]] + np.array([0, 0, 0, 0, 1e6, 0, 0])
    assert deviation(mechanism.centroidal.momentum(far, v), mechanism.centroidal.momentum(q, v)) < 1e-8
    assert deviation(mechanism.terms.coriolis(far, v), mechanism.terms.coriolis(q, v)) == 0.0


def test_nothing_that_moves_or_weighs():
    fixed = ZOO["fixed"]
    none = np.zeros((3, 0))
    assert np.array_equal(fixed.energy(none, none), np.zeros((2, 3)))
    assert np.array_equal(fixed.momentum(none, none), np.zeros((3, 6)))
    with pytest.raises(ValueError, match="center_of_mass: nothing of 'system' that moves has a mass"):
        fixed.center_of_mass(none)
    light = Mechanism(System([Body("a")], [revolute("j", "ground", "a", axis=(0, 0, 1), armature=1.0)]))
    assert light.energy([0.3], [2.0])[0] == 2.0
    with pytest.raises(ValueError, match="there is no center"):
        light.centroidal.matrix([0.3])
