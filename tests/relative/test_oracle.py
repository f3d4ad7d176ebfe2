"""Trees against the oracle: differences of poses and d'Alembert's principle in 60 digits, on three mechanisms.

The bar is 1e-12 of the largest entry. What is found is a few roundings, so 2e-14 is asked for; forward dynamics, which
solves with a mass matrix of condition number up to 3e3, gets 2e-13.
"""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from chasles import lie
from chasles.model.body import Frame
from chasles.relative.mechanism import Mechanism
from tests.oracle.tree import REPRESENTATIONS, doubles
from tests.relative import models

STATES = 5  # four lanes and one more
TOLERANCE, SOLVE_TOLERANCE = 2e-14, 2e-13


@dataclass
class Case:
    """A mechanism, five states, and what the oracle says of them; in the order of the mechanism."""

    mechanism: Mechanism
    given: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]


@functools.cache
def case(name: str) -> Case:
    parts = models.MODELS[name]()
    mechanism, tree = Mechanism(models.system_of(parts)), models.oracle_of(parts)
    rng = np.random.default_rng(17)
    given = {"q": models.coordinates(mechanism, rng, STATES), "wrenches": rng.normal(size=(STATES, len(parts), 6))}
    given |= {what: rng.normal(size=(STATES, mechanism.nv)) for what in ("v", "a", "tau")}
    back = np.argsort(models.joined(mechanism, parts))
    rows = []
    for k in range(STATES):
        q = models.split(mechanism, parts, given["q"][k], "coordinates")
        v, a, tau = (models.split(mechanism, parts, given[what][k]) for what in ("v", "a", "tau"))
        W = given["wrenches"][k]
        poses, twists, rates = tree.motion(q, v, a)
        row = {"poses": poses, "mass_matrix": tree.mass_matrix(q)[np.ix_(back, back)]}
        row |= {f"twists, {name}": x for name, x in twists.items()}
        row |= {f"accelerations, {name}": x for name, x in rates.items()}
        row["inverse_dynamics"] = tree.inverse_dynamics(q, v, a)[back]
        row["inverse_dynamics, wrenches"] = tree.inverse_dynamics(q, v, a, W)[back]
        row["forward_dynamics"] = tree.forward_dynamics(q, v, tau)[back]
        row["forward_dynamics, wrenches"] = tree.forward_dynamics(q, v, tau, W)[back]
        rows.append(row)
    return Case(mechanism, given, {what: np.array([doubles(row[what]) for row in rows]) for what in rows[0]})


def compute(mechanism: Mechanism, what: str, given: dict[str, np.ndarray]) -> np.ndarray:
    """The result named as in the oracle's."""
    function, _, more = what.partition(", ")
    arguments = {
        "poses": ("q",),
        "mass_matrix": ("q",),
        "twists": ("q", "v"),
        "accelerations": ("q", "v", "a"),
        "inverse_dynamics": ("q", "v", "a"),
        "forward_dynamics": ("q", "v", "tau"),
    }[function]
    extra = {"representation": more} if more in REPRESENTATIONS else {}
    if more == "wrenches":
        arguments = (*arguments, "wrenches")
    result = getattr(mechanism, function)(*(given[name] for name in arguments), **extra)
    return lie.pose.to_matrix(result) if function == "poses" else result


RESULTS = [
    *("poses", "mass_matrix"),
    *(f"{what}, {name}" for what in ("twists", "accelerations") for name in REPRESENTATIONS),
    *("inverse_dynamics", "inverse_dynamics, wrenches", "forward_dynamics", "forward_dynamics, wrenches"),
]


def deviation(found: np.ndarray, expected: np.ndarray, batch: int) -> float:
    """Largest difference in a state relative to the state's largest entry."""
    assert found.shape == expected.shape
    rest = tuple(range(batch, found.ndim))
    return float(np.max(np.abs(found - expected).max(axis=rest) / np.abs(expected).max(axis=rest)))


def allowed(what: str) -> float:
    return SOLVE_TOLERANCE if what.startswith("forward") else TOLERANCE


@pytest.mark.parametrize("what", RESULTS)
@pytest.mark.parametrize("name", models.COSTLY)
def test_one_state(name, what):
    model = case(name)
    for k in range(STATES):
        found = compute(model.mechanism, what, {key: x[k] for key, x in model.given.items()})
        assert deviation(found, model.expected[what][k], 0) < allowed(what)


@pytest.mark.parametrize("what", RESULTS)
@pytest.mark.parametrize("name", models.COSTLY)
def test_batches(name, what):
    """One row and three run state by state, four and more on lanes, the last lanes overlapping."""
    model = case(name)
    for count in (1, 3, 4, 5):
        found = compute(model.mechanism, what, {key: x[:count] for key, x in model.given.items()})
        assert deviation(found, model.expected[what][:count], 1) < allowed(what)


@pytest.mark.parametrize("what", RESULTS)
@pytest.mark.parametrize("name", models.COSTLY)
def test_leading_axes(name, what):
    model = case(name)
    found = compute(model.mechanism, what, {key: x[:4].reshape(2, 2, *x.shape[1:]) for key, x in model.given.items()})
    expected = model.expected[what][:4]
    assert deviation(found, expected.reshape(2, 2, *expected.shape[1:]), 2) < allowed(what)


@pytest.mark.parametrize("what", [name for name in RESULTS if name not in ("poses", "mass_matrix")])
@pytest.mark.parametrize("name", models.COSTLY)
def test_one_configuration_and_many_velocities(name, what):
    model = case(name)
    given = {**model.given, "q": model.given["q"][4]}
    repeated = {**model.given, "q": np.tile(given["q"], (STATES, 1))}
    np.testing.assert_array_equal(compute(model.mechanism, what, given), compute(model.mechanism, what, repeated))
    assert deviation(compute(model.mechanism, what, given)[4], model.expected[what][4], 0) < allowed(what)


@pytest.mark.parametrize("what", [name for name in RESULTS if name not in ("poses", "mass_matrix")])
def test_axes_that_broadcast_against_each_other(what):
    model = case("all kinds")
    given = {"q": model.given["q"][:3, None], **{key: x[None, :2] for key, x in model.given.items() if key != "q"}}
    found = compute(model.mechanism, what, given)
    assert found.shape[:2] == (3, 2)
    for k in range(2):
        assert deviation(found[k, k], model.expected[what][k], 0) < allowed(what)


@pytest.mark.parametrize("what", RESULTS)
def test_threads_do_not_change_a_bit(what):
    model, rng = case("all kinds"), np.random.default_rng(4)
    given = {"q": models.coordinates(model.mechanism, rng, 259)}
    given |= {key: rng.normal(size=(259, *x.shape[1:])) for key, x in model.given.items() if key != "q"}
    two = Mechanism(model.mechanism.system, threads=2)
    np.testing.assert_array_equal(compute(two, what, given), compute(model.mechanism, what, given))


@pytest.mark.parametrize("name", models.COSTLY)
def test_frames_are_bodies_or_places_on_them(name):
    """A frame moves as the body does: its pose is the body's times its own."""
    model = case(name)
    bodies = model.mechanism.bodies
    offset = lie.pose.exp([0.3, -0.8, 0.5, 0.2, -0.4, 0.6])
    frames = Frame("tool", bodies[2], offset), Frame("post", "ground", offset)
    mechanism = Mechanism(model.mechanism.system.with_frame(*frames))

    q, v = model.given["q"], model.given["v"]
    poses = mechanism.poses(q, ["tool", bodies[1], "post", "ground"])
    every = model.expected["poses"]
    expected = [every[:, 2] @ lie.pose.to_matrix(offset), every[:, 1]]
    expected += [np.broadcast_to(x, (STATES, 4, 4)) for x in (lie.pose.to_matrix(offset), np.eye(4))]
    assert deviation(lie.pose.to_matrix(poses), np.stack(expected, axis=1), 1) < TOLERANCE
    twist = mechanism.twists(q, v, "tool", representation="spatial")  # the same for all frames of a body
    assert deviation(twist, model.expected["twists, spatial"][:, 2], 1) < TOLERANCE
    assert not mechanism.twists(q, v, ["post", "ground"]).any()
