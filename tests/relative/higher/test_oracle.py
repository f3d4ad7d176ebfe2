"""Higher derivatives against the oracle: differences of poses and d'Alembert's principle in 60 digits.

The bars are 1e-11 of the largest entry for first derivatives and 1e-10 beyond. What is found is a few roundings, so
5e-14 is asked for, up to the fourth derivatives of twists.
"""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from chasles.relative.mechanism import Mechanism
from tests.oracle import partials
from tests.oracle.path import Path
from tests.oracle.tree import REPRESENTATIONS, Tree, doubles
from tests.relative import models

TOLERANCE = 5e-14
ORDERS = 5


@dataclass
class Case:
    """A mechanism and the oracle's tree, a state with derivatives and wrenches, and the oracle on this path."""

    mechanism: Mechanism
    tree: Tree
    q: np.ndarray
    rates: np.ndarray  # v, v', ..., (5, nv)
    wrenches: np.ndarray  # W, W', W''
    path: Path
    place: np.ndarray  # where the velocities of the oracle are among those of the mechanism
    parts: list

    @functools.cached_property
    def twists(self) -> dict[str, np.ndarray]:
        return {name: doubles(x) for name, x in self.path.twist_derivatives(ORDERS).items()}

    @functools.cached_property
    def forces(self) -> np.ndarray:
        return doubles(self.path.force_derivatives(3, list(self.wrenches)))[:, np.argsort(self.place)]


@functools.cache
def case(name: str) -> Case:
    parts = models.MODELS[name]()
    mechanism, tree = Mechanism(models.system_of(parts)), models.oracle_of(parts)
    rng = np.random.default_rng(31)
    q, rates = models.coordinates(mechanism, rng), rng.normal(size=(ORDERS, mechanism.nv))
    wrenches = rng.normal(size=(3, len(parts), 6))
    path = Path(
        tree,
        models.split(mechanism, parts, q, "coordinates"),
        [models.split(mechanism, parts, rate) for rate in rates],
    )
    return Case(mechanism, tree, q, rates, wrenches, path, models.joined(mechanism, parts), parts)


def off(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference relative to the largest entry, or to one if that is larger."""
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("name", models.COSTLY)
def test_twist_derivatives(name, representation):
    """One state, and the same on lanes."""
    model = case(name)
    found = model.mechanism.rates.twists(model.q, list(model.rates), representation=representation)
    many = model.mechanism.rates.twists(np.tile(model.q, (5, 1)), model.rates, representation=representation)
    for k in range(ORDERS):
        assert off(found[k], model.twists[representation][k]) < TOLERANCE
        assert off(many[k, 4], model.twists[representation][k]) < TOLERANCE


@pytest.mark.parametrize("name", models.COSTLY)
def test_jacobian_derivatives(name):
    model = case(name)
    mechanism, rng = model.mechanism, np.random.default_rng(2)
    found = {key: mechanism.rates.jacobians(model.q, model.rates[:3], representation=key) for key in REPRESENTATIONS}
    for c in rng.choice(len(model.tree.columns), 4, replace=False):
        expected = model.path.column_derivatives(*model.tree.columns[c], 4)
        for key in REPRESENTATIONS:
            for k in range(3):
                assert off(found[key][k][..., model.place[c]], doubles(expected[key][k + 1])) < TOLERANCE


@pytest.mark.parametrize("representation", ["body", "hybrid"])
@pytest.mark.parametrize("name", models.COSTLY)
def test_inverse_dynamics_rates(name, representation):
    model = case(name)
    mechanism, more = model.mechanism, {"wrenches": list(model.wrenches), "representation": representation}
    found = mechanism.rates.inverse_dynamics(model.q, *model.rates[:4], **more)
    many = mechanism.rates.inverse_dynamics(np.tile(model.q, (5, 1)), *model.rates[:4], **more)
    first = mechanism.rates.inverse_dynamics(
        model.q, *model.rates[:3], wrenches=list(model.wrenches[:2]), representation=representation
    )
    for k in range(3):
        assert off(found[k], model.forces[k]) < TOLERANCE
        assert off(many[k, 3], model.forces[k]) < TOLERANCE
    for k in range(2):
        assert off(first[k], model.forces[k]) < TOLERANCE


@pytest.mark.parametrize("name", models.COSTLY)
def test_jacobian_partials(name):
    """Random freedoms on the way to a body, of which some are of one joint, differentiated once, twice and thrice."""
    model = case(name)
    mechanism, rng = model.mechanism, np.random.default_rng(3)
    q = models.split(mechanism, model.parts, model.q, "coordinates")
    column_of = {int(place): model.tree.columns[c] for c, place in enumerate(model.place)}
    depths = [len(mechanism.derivatives._way(link)) for link in mechanism.tree.link_of_body]
    deep = [int(body) for body in np.argsort(depths)[-3:]]
    for order, samples in ((1, 3), (2, 3), (3, 2)):
        for sample in range(samples):
            body = deep[sample % len(deep)]
            way = mechanism.derivatives._way(int(mechanism.tree.link_of_body[body]))
            indices = [int(k) for k in rng.choice(way, order + 1)]
            if sample % 2:  # the derivatives along neighbors
                start = int(rng.integers(len(way) - order + 1))
                indices[1:] = rng.permutation(way[start : start + order]).tolist()
            expected = partials.column_partials(
                model.tree, q, column_of[indices[0]], tuple(column_of[k] for k in indices[1:])
            )
            for key in REPRESENTATIONS:
                found = tensor(name, body, order, key)[(slice(None), *indices)]
                assert np.abs(found - doubles(expected[key][body])).max() < 1e-13 * 4**order, (indices, key)


@functools.cache
def tensor(name: str, body: int, order: int, representation: str) -> np.ndarray:
    mechanism = case(name).mechanism
    return mechanism.derivatives.jacobian(
        case(name).q, mechanism.bodies[body], order=order, representation=representation
    )


@pytest.mark.first(1)
@pytest.mark.parametrize("name", ["chain", "branching"])
def test_christoffel_symbols(name):
    model = case(name)
    q = models.split(model.mechanism, model.parts, model.q, "coordinates")
    back = np.argsort(model.place)
    expected = doubles(partials.christoffel_symbols(model.tree, q))[np.ix_(back, back, back)]
    assert off(model.mechanism.derivatives.christoffel_symbols(model.q), expected) < TOLERANCE
    assert off(model.mechanism.derivatives.christoffel_symbols(np.tile(model.q, (4, 1)))[2], expected) < TOLERANCE
