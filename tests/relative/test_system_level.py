"""The block matrices of the whole tree against the recursions: J = A X, its rate, mass matrix and C."""

import numpy as np
import pytest

from chasles.lie import pose
from chasles.relative import system_level
from chasles.relative.kinematics import REPRESENTATIONS
from tests.relative.zoo import MOVING, ZOO, deviation, state


def of_bodies(mechanism, links: np.ndarray) -> np.ndarray:
    """Rows of the links, in body representation, as rows of the bodies."""
    n, tree = mechanism.tables.links, mechanism.tree
    rows = links.reshape(n, 6, -1)
    ground = np.zeros_like(rows[0])
    return np.array(
        [
            ground if link < 0 else pose.Ad(pose.inverse(place)) @ rows[link]
            for link, place in zip(tree.link_of_body, tree.body_in_link, strict=True)
        ]
    )


@pytest.mark.parametrize("name", MOVING)
def test_factors_give_the_jacobian_of_the_recursion(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 6)
    parts = system_level.factors(mechanism, q)
    assert deviation(of_bodies(mechanism, parts.jacobian), mechanism.jacobian(q)) < 1e-13
    rate = system_level.jacobian_rate(parts, v)
    assert deviation(of_bodies(mechanism, rate), mechanism.rates.jacobian(q, v)) < 1e-13


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_factors_of_other_representations(representation):
    mechanism = ZOO["kinds"]
    q, v, _ = state(mechanism, 6)
    parts = system_level.factors(mechanism, q, representation)
    body = system_level.factors(mechanism, q)
    twists = (body.jacobian @ v).reshape(-1, 6)
    converted = [system_level.conversion(g, representation) @ V for g, V in zip(body.poses, twists, strict=True)]
    assert deviation((parts.jacobian @ v).reshape(-1, 6), np.array(converted)) < 1e-13
    n = mechanism.tables.links
    blocks = parts.carry.reshape(n, 6, n, 6).swapaxes(1, 2)
    used = blocks[blocks.any(axis=(2, 3))]
    if representation == "spatial":  # a link has the spatial twist of its parent and what its joint adds
        assert np.abs(used - np.eye(6)).max() < 1e-13
    if representation == "hybrid":  # only the reference point changes
        assert np.abs(used[:, :3, :3] - np.eye(3)).max() < 1e-13


@pytest.mark.parametrize("name", ["arm", "kinds", "floating"])
def test_mass_matrix_is_the_one_of_composite_bodies(name):
    mechanism = MOVING[name]
    q, _, _ = state(mechanism, 7)
    J = system_level.factors(mechanism, q).jacobian
    assert deviation(J.T @ system_level.inertias(mechanism) @ J, mechanism.mass_matrix(q)) < 1e-13
