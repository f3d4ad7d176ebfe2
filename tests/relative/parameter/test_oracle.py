"""Regressors and derivatives by geometry against differences of the oracle, 60 digits, along random directions.

The bar is 1e-11 of the largest entry; what is found is some roundings (5e-15), so 2e-14 is asked for; of forward
dynamics, which solves with the mass matrix (found: 9e-14), 5e-13.
"""

import functools
from decimal import Decimal

import numpy as np
import pytest

from chasles.relative.mechanism import Mechanism
from tests.oracle import tree as oracle
from tests.relative import models
from tests.relative.parameter.displaced import with_masses, with_places

TOLERANCE, SOLVE_TOLERANCE = 2e-14, 5e-13
STEP = Decimal("1e-12")
STATES = 4  # one block of lanes; the oracle is asked for the last


@functools.cache
def mechanism_of(name: str) -> Mechanism:
    return Mechanism(models.system_of(models.MODELS[name]()))


@functools.cache
def given(name: str) -> dict[str, np.ndarray]:
    mechanism, rng = mechanism_of(name), np.random.default_rng(31)
    states = {what: rng.normal(size=(STATES, mechanism.nv)) for what in ("v", "a", "tau")}
    return states | {"q": models.coordinates(mechanism, rng, STATES)}


@oracle.precise
def column_in(representation: str, C: oracle.Array, column: oracle.Array) -> oracle.Array:
    """A body twist in a representation, by definition: the pose's rate is C times the twist's matrix."""
    return oracle.twist_by_definition(C, C @ oracle.hat(column))[representation]


def results(tree: oracle.Tree, name: str, only: str = "") -> dict[str, oracle.Array]:
    """What the oracle says of the last state, in the order of the mechanism."""
    parts, mechanism = models.MODELS[name](), mechanism_of(name)
    back = np.argsort(models.joined(mechanism, parts))
    states = {what: x[-1] for what, x in given(name).items()}
    q = models.split(mechanism, parts, states.pop("q"), "coordinates")
    v, a, tau = (models.split(mechanism, parts, states[what]) for what in ("v", "a", "tau"))
    found = {"inverse_dynamics": tree.inverse_dynamics(q, v, a)[back]}
    if only:
        return found
    poses, columns = tree.poses(q), tree.jacobians(q)[1][back]
    found |= {"poses": poses, "forward_dynamics": tree.forward_dynamics(q, v, tau)[back]}
    for representation in oracle.REPRESENTATIONS:
        turned = [[column_in(representation, C, x) for C, x in zip(poses, row, strict=True)] for row in columns]
        found[f"jacobian, {representation}"] = np.array(turned, dtype=object)  # (nv, bodies, 6)
    return found


@functools.cache
def expected_by_geometry(name: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A direction in the space of geometric parameters, and the oracle's derivatives along it."""
    parts, mechanism = models.MODELS[name](), mechanism_of(name)
    tree, places = models.oracle_of(parts), mechanism.parameters.places()
    direction = np.random.default_rng(32).normal(size=6 * len(places))
    with oracle.localcontext(prec=oracle.DIGITS):
        steps = STEP * oracle.exact(direction).reshape(-1, 6)
        ahead, behind = (
            results(with_places(parts, tree, dict(zip(places.names, sign * steps, strict=True))), name)
            for sign in (1, -1)
        )
        rates = {what: (ahead[what] - behind[what]) / (2 * STEP) for what in ahead}
        poses = (ahead["poses"] + behind["poses"]) / 2
        for representation in oracle.REPRESENTATIONS:
            pairs = zip(poses, rates["poses"], strict=True)
            twists = [oracle.twist_by_definition(C, rate)[representation] for C, rate in pairs]
            rates[f"poses, {representation}"] = np.array(twists, dtype=object)
        del rates["poses"]
    return direction, {what: oracle.doubles(rate) for what, rate in rates.items()}


def deviation(found: np.ndarray, expected: np.ndarray) -> float:
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def by_geometry(name: str, what: str, rows) -> np.ndarray:
    mechanism = mechanism_of(name)
    x = {key: value[rows] for key, value in given(name).items()}
    function, _, representation = what.partition(", ")
    if function == "poses":
        return mechanism.parameters.pose_derivatives(x["q"], representation=representation)
    if function == "jacobian":
        return mechanism.parameters.jacobian_derivatives(x["q"], mechanism.bodies, representation=representation)
    if function == "inverse_dynamics":
        return mechanism.parameters.inverse_dynamics_derivatives(x["q"], x["v"], x["a"])
    return mechanism.parameters.forward_dynamics_derivatives(x["q"], x["v"], x["tau"])


WHAT = [f"{what}, {representation}" for what in ("poses", "jacobian") for representation in oracle.REPRESENTATIONS]


@pytest.mark.first(5)
@pytest.mark.parametrize("what", [*WHAT, "inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("name", models.COSTLY)
def test_derivatives_by_geometry(name, what):
    direction, expected = expected_by_geometry(name)
    bar = SOLVE_TOLERANCE if what == "forward_dynamics" else TOLERANCE
    for rows in (-1, slice(None)):  # one state, and lanes
        found = by_geometry(name, what, rows) @ direction
        if rows != -1:
            found = found[-1]
        if what.startswith("jacobian"):
            found = np.moveaxis(found, -1, 0)
        assert deviation(found, expected[what]) < bar


@pytest.mark.parametrize("name", models.COSTLY)
def test_regressor(name):
    parts, mechanism = models.MODELS[name](), mechanism_of(name)
    tree, x = models.oracle_of(parts), given(name)
    direction = np.random.default_rng(33).normal(size=(len(parts), 10))
    with oracle.localcontext(prec=oracle.DIGITS):
        step = STEP * oracle.exact(direction)
        ahead, behind = (
            results(with_masses(tree, sign * step), name, "forces")["inverse_dynamics"] for sign in (1, -1)
        )
        expected = oracle.doubles((ahead - behind) / (2 * STEP))
    for rows in (-1, slice(None)):
        found = mechanism.parameters.regressor(*(x[key][rows] for key in "qva")) @ direction.ravel()
        assert deviation(found if rows == -1 else found[-1], expected) < TOLERANCE


@pytest.mark.parametrize("name", models.COSTLY)
def test_regressor_times_parameters_is_inverse_dynamics(name):
    mechanism, rng = mechanism_of(name), np.random.default_rng(34)
    q = models.coordinates(mechanism, rng, 50)
    v, a = rng.normal(size=(2, 50, mechanism.nv))
    tau = mechanism.inverse_dynamics(q, v, a)
    found = mechanism.parameters.regressor(q, v, a, "armature") @ mechanism.parameters.inertial("armature")
    assert np.max(np.abs(found - tau).max(axis=1) / np.abs(tau).max(axis=1)) < 1e-14
