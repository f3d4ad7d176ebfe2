"""A closed mechanism made from another one of its form has the tables that its own analysis gives, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.loop.variant import variant
from tests.relative.test_survey import SYSTEMS
from tests.simulation.test_batch_loops import driven, planar


def changed(system):
    """Other masses, centers of mass, inertias, springs, dampers and gravity."""
    bodies = [
        replace(body, mass=body.mass * (1.1 + k), com=(0.1, 0.02, 0.01 * k), inertia=(0.01 + 0.001 * k, 0.02, 0.025))
        for k, body in enumerate(system.bodies)
    ]
    joints = [replace(joint, damping=0.37) if any(joint.damping) else joint for joint in system.joints]
    forces = [replace(force, stiffness=33.0) for force in system.forces]
    return replace(system, bodies=bodies, joints=joints, forces=forces, gravity=(1.0, 2.0, 3.0))


def bits(mechanism):
    return mechanism.packed.parameters.view(np.int64)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_variant_is_what_its_own_analysis_gives(kind):
    system = kind()
    other = changed(system)
    made, own = variant(ClosedMechanism(system), other), ClosedMechanism(other)
    assert np.array_equal(bits(made), bits(own))
    assert not np.array_equal(bits(made), bits(ClosedMechanism(system)))
    assert np.array_equal(made.row_units, own.row_units)
    assert (made.system, made.split, made.tree.joints) == (own.system, own.split, own.tree.joints)
    q = own.random(np.random.default_rng(1))
    assert np.array_equal(made.mass_matrix(q), own.mass_matrix(q))
    assert np.array_equal(made.applied_forces(q, np.ones(own.nv)).tau, own.applied_forces(q, np.ones(own.nv)).tau)
    assert made.energy(q, np.ones(own.nv)) == own.energy(q, np.ones(own.nv))


def test_a_system_of_another_form_is_analyzed_by_itself():
    system = planar()
    base, (crank, *others) = ClosedMechanism(system), system.joints
    moved = replace(crank, parent_frame=(*crank.parent_frame[:4], 0.01, 0, 0))
    point = replace(system.bodies[2], inertia=(0.0, 0.0, 0.0))
    cases = {
        "a length": replace(system, joints=[moved, *others]),
        "a point mass": replace(system, bodies=[*system.bodies[:2], point]),
        "a spring in a cut joint": replace(system, joints=[*system.joints[:3], replace(others[-1], stiffness=1)]),
        "a rotor": replace(system, joints=[replace(crank, armature=0.1), *others]),
        "another frame": system.with_frame(ch.Frame("tip", "one", (1, 0, 0, 0, 0.1, 0, 0))),
        "a drive": replace(system, constraints=[ch.Drive("motor", "crank", "t")]),
        "friction that sticks": replace(system, joints=[replace(crank, friction=0.1, friction_speed=0.0), *others]),
        "one body more": planar().with_body(ch.Body("loose", 1.0, (0, 0, 0), (1, 1, 1))),
    }
    for what, other in cases.items():
        assert variant(base, other) is None, what


def test_laws_of_other_parameters_are_other_numbers():
    system = driven()
    motor = ch.Drive("motor", "crank", "w * t + 0.8", parameters={"w": 4.0})
    faster = replace(system, constraints=[system.constraints[0], motor])
    compiled(system)
    assert np.array_equal(bits(compiled(faster)), bits(ClosedMechanism(faster)))


def test_masses_without_a_check_make_an_equal_system():
    system = planar()
    bodies = [replace(body, mass=3.0) for body in system.bodies]
    found = system.with_numbers(bodies)
    assert found == replace(system, bodies=bodies)
    assert found.body("one").mass == 3.0
    assert found.mass == 9.0
