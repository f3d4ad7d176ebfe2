"""All that assembly asks of one configuration, in one call, against the single functions and closed forms."""

import numpy as np
import pytest

import chasles as ch
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.survey import Surveyor
from tests.simulation.test_batch_loops import driven, floating, planar


def welded():
    """A four-bar whose last hinge has a damper, so that the body behind it is split and a weld closes the loop: all
    three axes are aligned."""
    system = planar()
    place = {"axis": (0, 0, 1), "at": (0.6, 0, 0), "child_at": (0.5, 0, 0)}
    knee = ch.revolute("knee", "one", "two", axis=(0, 0, 1), at=(0.3, 0, 0), damping=0.1)
    tip = ch.revolute("tip", "two", "three", damping=0.2, **place)
    return ch.System(system.bodies, [system.joints[0], knee, system.joints[2], tip])


SYSTEMS = [planar, driven, floating, welded]


@pytest.fixture(params=SYSTEMS, ids=lambda made: made.__name__)
def mechanism(request):
    return ClosedMechanism(request.param())


def test_rows_masses_and_violations_are_those_of_single_functions(mechanism):
    rng, nv = np.random.default_rng(3), mechanism.nv
    free = np.arange(1, nv)
    survey = Surveyor(mechanism, free)
    for _ in range(3):
        q, v, t = mechanism.random(rng), rng.normal(size=nv), 0.3
        seen, rows = survey(q, v, t), mechanism.constraint_rows(q, v, t)
        spread = survey(np.repeat(q, 2)[::2], np.repeat(v, 2)[::2], t)  # every other number of an array
        assert np.array_equal(spread.speed, seen.speed)
        off = mechanism.constraint_violation(q, v, t=t, scaled=True)
        for mine, other in (
            (seen.residual, rows.residual),
            (seen.speed, rows.speed),
            (seen.jacobian, rows.jacobian),
            (seen.position, off.position),
            (seen.velocity, off.velocity),
        ):
            np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-14)
        M = mechanism.mass_matrix(q)[1:, 1:]
        np.testing.assert_allclose(seen.root[1:].T @ M @ seen.root[1:], np.eye(nv - 1), atol=1e-12)
        assert not seen.root[0].any()
        assert np.array_equal(seen.root[1:], np.triu(seen.root[1:]))


def test_rows_to_assemble_with_are_a_gradient(mechanism):
    """gᵀJ is the gradient of |g|²/2 at any distance, by central differences."""
    rng, nv, h = np.random.default_rng(5), mechanism.nv, 1e-6
    survey = Surveyor(mechanism, np.arange(nv))
    q = mechanism.random(rng)
    seen = survey(q, None, 0.3)

    def half_square(step):
        return 0.5 * np.sum(survey(mechanism.retract(q, step), None, 0.3).group_residual ** 2)

    found = [(half_square(h * e) - half_square(-h * e)) / (2 * h) for e in np.eye(nv)]
    np.testing.assert_allclose(seen.group_residual @ seen.group_jacobian, found, rtol=1e-6, atol=1e-8)


def test_dot_products_are_zero_at_a_half_turn_and_rotation_vectors_are_not():
    """The crank of one link, closed on itself the wrong way round."""
    bodies = [ch.Body("bar", 1.0, (0.1, 0, 0), (0.01, 0.02, 0.02))]
    joints = [ch.spherical("ball", "ground", "bar"), ch.revolute("pin", "ground", "bar", axis=(0, 0, 1))]
    mechanism = ClosedMechanism(ch.System(bodies, joints), cut=["pin"])
    half = np.array([0.0, 1.0, 0.0, 0.0])  # about x
    seen = Surveyor(mechanism, np.arange(3))(half, None, 0.0)
    np.testing.assert_allclose(seen.residual, 0.0, atol=1e-15)
    assert np.linalg.norm(seen.group_residual) == pytest.approx(np.pi)
    assert seen.position.max() == pytest.approx(np.pi)


def test_tiles_of_fewer_rows_have_zeros_behind_them(monkeypatch):
    """Whatever stood in the memory before."""
    mechanism, empty = ClosedMechanism(planar()), np.empty
    q, expected = mechanism.neutral(), mechanism.constraint_rows(mechanism.neutral()).tiles
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full_like(empty(shape, dtype), 7))
    tiles = mechanism.constraint_rows(q).tiles
    assert np.array_equal(tiles, expected)
    assert np.array_equal(np.unique(tiles[:, -3:]), [0.0])  # of the third row
