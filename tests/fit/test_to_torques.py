"""Inertial parameters from torques: exact without noise, intervals that cover, what cannot be told, bad input."""

import numpy as np
import pytest

import chasles as ch

TERMS = ("damping", "armature")
AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0))


def arm(**more):
    names = ["ground", "link 1", "link 2", "link 3"]
    return ch.System(
        [ch.Body(name, 2.0, (0.02, 0.01, 0.15), (0.02, 0.022, 0.01)) for name in names[1:]],
        [
            ch.revolute(
                f"joint {k + 1}", *names[k : k + 2], axis=axis, at=(0, 0, 0.3 * (k > 0)), damping=0.3, armature=0.1
            )
            for k, axis in enumerate(AXES)
        ],
        **more,
    )


def measured(count=200):
    mechanism = arm().compile()
    t, speed = np.linspace(0, 10, count)[:, None], np.array([1.1, 1.7, 2.3])
    motion = np.sin(speed * t), speed * np.cos(speed * t), -(speed**2) * np.sin(speed * t)
    return mechanism, motion, mechanism.parameters.regressor(*motion, TERMS) @ mechanism.parameters.inertial(TERMS)


def test_exact_torques_give_the_base_parameters():
    mechanism, motion, torques = measured()
    fit = ch.fit.to_torques(mechanism, *motion, torques, joint_terms=TERMS)
    assert np.allclose(fit.base, fit.told.values(mechanism.parameters.inertial(TERMS)), atol=1e-11)
    again = mechanism.parameters.inertial_identifiability(*motion, TERMS)
    assert np.array_equal(fit.told.kept, again.kept)
    assert np.array_equal(fit.told.unseen, again.unseen)
    assert "link 1: m: has no influence on the torques" in fit.unidentified
    assert "only together: link 1: Izz + link 2: Izz" in fit.unidentified


def test_each_joint_has_its_own_noise_and_intervals_cover():
    mechanism, motion, clean = measured()
    rng, noise, hits, wanted = np.random.default_rng(0), np.array([0.02, 0.2, 0.5]), 0.0, None
    for _ in range(60):
        fit = ch.fit.to_torques(mechanism, *motion, clean + noise * rng.normal(size=clean.shape), joint_terms=TERMS)
        wanted = fit.told.values(mechanism.parameters.inertial(TERMS)) if wanted is None else wanted
        low, high = fit.intervals().T
        hits += np.mean((low < wanted) & (wanted < high)) / 60
        assert np.abs(fit.noise / noise - 1).max() < 0.25
    assert 0.92 < hits < 0.98


def test_the_completed_system_is_physical_and_has_the_base_parameters():
    mechanism, motion, clean = measured()
    torques = clean + 0.05 * np.random.default_rng(1).normal(size=clean.shape)
    fit = ch.fit.to_torques(mechanism, *motion, torques, joint_terms=TERMS)
    guess = mechanism.parameters.inertial(TERMS) * np.repeat([0.8, 1.2, 0.9, 1.0], [10, 10, 10, 6])
    found = fit.parameters(guess)
    assert not mechanism.parameters.unphysical(found, TERMS)
    assert (np.abs(fit.told.values(found) - fit.base) < 3 * fit.deviations).all()
    assert fit.system(guess).compile().nv == 3


def test_a_motion_within_limits_tells_parameters_apart():
    system = arm()
    few, many = (
        ch.fit.excitation(
            system, 8.0, position=(-1.0, 1.0), speed=1.5, acceleration=4.0, joint_terms="damping", tries=n
        )
        for n in (1, 60)
    )
    q, v, a = many(np.linspace(0, 8, 1000))
    assert np.abs(q).max() < 1.001
    assert np.abs(v).max() < 1.503
    assert np.abs(a).max() < 4.01
    assert np.allclose(np.gradient(q, 8 / 999, axis=0)[1:-1], v[1:-1], atol=1e-3)
    assert many.told.rank == few.told.rank
    assert np.linalg.det(many.told.triangle) ** 2 > np.linalg.det(few.told.triangle) ** 2
    with pytest.raises(ValueError, match="has no limits"):
        ch.fit.excitation(system)


def test_bad_input_has_its_own_answer():
    mechanism, (q, v, a), torques = measured(40)
    with pytest.raises(ValueError, match="torques"):
        ch.fit.to_torques(mechanism, q, v, a, np.where(torques > 1, np.nan, torques))
    with pytest.raises(ValueError, match="expected equally many"):
        ch.fit.to_torques(mechanism, q, v, a, torques[1:])
    with pytest.raises(ValueError, match="expected \\(times, 3\\)"):
        ch.fit.to_torques(mechanism, q[0], v[0], a[0], torques[0])
    with pytest.raises(ValueError, match="measure more"):
        ch.fit.to_torques(mechanism, q[:3], v[:3], a[:3], torques[:3])
    with pytest.raises(ValueError, match="force 'push' acts too"):
        ch.fit.to_torques(arm(forces=[ch.JointForce("push", "joint 1", "1")]), q, v, a, torques)
    with pytest.raises(ValueError, match="no parameter has an influence"):
        ch.fit.to_torques(arm(gravity=(0, 0, 0)), 0 * q, 0 * v, 0 * a, 0 * torques)
