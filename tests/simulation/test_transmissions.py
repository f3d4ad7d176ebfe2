"""Couplings of any number of coordinates, and transmissions by name, against closed forms."""

import numpy as np
import pytest

import chasles as ch
from chasles.io.model_file import ModelFileError
from chasles.io.model_writer import model_text

COORDINATES = ("relative", "absolute")
TEETH = (20.0, 64.0)
INERTIA = {"sun": 0.02, "ring": 0.3, "carrier": 0.11}
TORQUE = {"sun": 1.5, "ring": -0.4, "carrier": 2.0}
WILLIS = np.array([TEETH[0], TEETH[1], -(TEETH[0] + TEETH[1])])


def planetary(torques=True, **joint):
    bodies = [ch.Body(name, 1.0, inertia=(1.0, 1.0, moment)) for name, moment in INERTIA.items()]
    joints = [ch.revolute(f"to {name}", "ground", name, axis=(0, 0, 1), **joint) for name in INERTIA]
    forces = [ch.JointForce(f"on {name}", f"to {name}", [value]) for name, value in TORQUE.items()] if torques else []
    gear = ch.model.planetary_gear("set", "to sun", "to carrier", TEETH, "to ring")
    return ch.System(bodies, joints, forces=forces, constraints=[gear], gravity=(0, 0, 0), name="planetary set")


def in_order(values):
    """By the order of the coupling: sun, ring, carrier."""
    return np.array([values[name] for name in INERTIA])


def solved():
    """Accelerations and multiplier of I a = τ - cᵀ λ, c a = 0, with c in the order of the joints."""
    c = WILLIS
    matrix = np.block([[np.diag(in_order(INERTIA)), c[:, None]], [c[None], np.zeros((1, 1))]])
    found = np.linalg.solve(matrix, [*in_order(TORQUE), 0.0])
    return found[:3], -c * found[3]


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_planetary_set_turns_as_willis_says(coordinates):
    """The ratio of the speeds holds over many turns; motion and forces are those of three equations."""
    system = planetary()
    ring, carrier = 3.0, -1.7
    sun = -(WILLIS[1] * ring + WILLIS[2] * carrier) / WILLIS[0]
    run = ch.simulate(
        system, (0.0, 2.0), v=[sun, ring, carrier], coordinates=coordinates, step=0.02, method="rk4", save="all"
    )
    speeds = np.stack([run[name].twist[:, 2] for name in INERTIA], axis=-1)
    assert np.abs(speeds @ WILLIS).max() < 1e-12 * np.abs(speeds * WILLIS).max()
    accelerations, forces = solved()
    expected = np.array([sun, ring, carrier]) + run.t[:, None] * accelerations
    assert np.abs(speeds - expected).max() < 1e-12 * np.abs(expected).max()
    # what the gears give: to the closed form, and no power is lost between them
    found = run.coordinate_forces("set")
    order = [list(INERTIA).index(name.removeprefix("to ")) for name in system.constraints[0].joints]
    assert np.abs(found - forces[order]).max() < 1e-11 * np.abs(forces).max()
    power = (found * speeds[:, order]).sum(axis=1)
    assert np.abs(power).max() < 1e-11 * np.abs(found * speeds[:, order]).max()
    assert run.certificate.passed


def test_a_ring_that_stands_still_gives_the_equivalent_inertia():
    """I = I_sun + I_carrier (z_s / (z_s + z_r))² at the sun."""
    system = planetary(torques=False)
    gear = ch.model.planetary_gear("set", "to sun", "to carrier", TEETH)
    system = ch.System(
        system.bodies[::2],
        system.joints[::2],
        constraints=[gear],
        gravity=(0, 0, 0),
        actuators=[ch.Actuator("m", "to sun")],
    )
    ratio = TEETH[0] / sum(TEETH)
    found = system.compile().constrained_motion([0.0, 0.0], [0.0, 0.0], u=[1.3, 0.0]).accelerations
    expected = 1.3 / (INERTIA["sun"] + INERTIA["carrier"] * ratio**2)
    assert found == pytest.approx([expected, expected * ratio], rel=1e-13)


def test_freedoms_and_redundancy():
    system = planetary()
    found = ch.mobility(system)
    assert (found.freedoms, found.rank) == (2, found.equations)
    twice = system.with_constraint(ch.Coupling("again", ("to sun", "to ring", "to carrier"), tuple(0.5 * WILLIS)))
    found = ch.mobility(twice)
    assert (found.freedoms, found.equations - found.rank) == (2, 1)
    assert set(found.dependent) == {"set", "again"}


def test_frequencies_are_those_of_the_reduced_system():
    """With springs on all three shafts: M and K on the null space of c."""
    stiffness = np.array([40.0, 900.0, 250.0])
    system = planetary(torques=False)
    joints = [
        ch.revolute(f"to {name}", "ground", name, axis=(0, 0, 1), stiffness=k)
        for name, k in zip(INERTIA, stiffness, strict=True)
    ]
    system = ch.System(system.bodies, joints, constraints=system.constraints, gravity=(0, 0, 0))
    basis = np.linalg.svd(WILLIS[None])[2][1:].T
    squared = np.linalg.eigvals(
        np.linalg.solve(basis.T @ np.diag(in_order(INERTIA)) @ basis, basis.T @ np.diag(stiffness) @ basis)
    )
    for mechanism in (system.compile(), system.compile(coordinates="absolute")):
        found = [mode.frequency for mode in ch.linearize(mechanism).modes]
        assert np.sort(found) == pytest.approx(np.sort(np.sqrt(squared)) / (2 * np.pi), rel=1e-10)


def test_sensitivities_to_torques():
    """Speeds of the sun after a time by the torques: t times the accelerations of unit torques."""
    basis = np.linalg.svd(WILLIS[None])[2][1:].T
    inverse = basis @ np.linalg.inv(basis.T @ np.diag(in_order(INERTIA)) @ basis) @ basis.T
    found = ch.sensitivities(
        planetary(), (0.0, 0.5), wrt=("control",), control=[0.0, 0.0, 0.0], step=0.05, save="final"
    )
    assert found["control"][-1, 3:] == pytest.approx(0.5 * inverse, rel=1e-11)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_planets_on_a_moving_carrier(coordinates):
    """With a planet as a body on the carrier, two meshes of three coordinates each give Willis' equation."""
    planet = ch.Body("planet", 0.4, inertia=(1.0, 1.0, 0.003))
    z = (TEETH[1] - TEETH[0]) / 2
    system = planetary(torques=False)
    system = ch.System(
        [*system.bodies, planet],
        [*system.joints, ch.revolute("to planet", "carrier", "planet", axis=(0, 0, 1), at=(0.3, 0, 0))],
        forces=[ch.JointForce("on sun", "to sun", [2.0])],
        gravity=(0, 0, 0),
        constraints=[
            ch.Coupling("sun mesh", ("to sun", "to carrier", "to planet"), (TEETH[0], -TEETH[0], z)),
            ch.Coupling("ring mesh", ("to ring", "to carrier", "to planet"), (TEETH[1], -TEETH[1], -z)),
        ],
    )
    assert ch.mobility(system).freedoms == 2
    run = ch.simulate(system, (0.0, 1.0), coordinates=coordinates, rtol=1e-12, atol=1e-13)
    speeds = np.stack([run[name].twist[:, 2] for name in INERTIA], axis=-1)
    assert np.abs(speeds[-1]).max() > 1.0
    assert np.abs(speeds @ WILLIS).max() < 1e-12 * np.abs(speeds * WILLIS).max()
    # energy: the work of the torque
    J = np.array([[TEETH[0], 0, -TEETH[0], z], [0, TEETH[1], -TEETH[1], -z]])
    M = np.diag([*in_order(INERTIA), 0.003])
    M[2, 2] += 0.4 * 0.3**2 + 0.003
    M[2, 3] = M[3, 2] = 0.003
    whole = np.block([[M, J.T], [J, np.zeros((2, 2))]])
    expected = np.linalg.solve(whole, [2.0, 0, 0, 0, 0, 0])[:3]
    assert speeds[-1] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_lead_screw_lowers_its_nut(coordinates):
    """(m + I (2π/lead)²) x'' = m g, with two joints and with one cylindrical joint; left-handed too."""
    nut, spindle = ch.Body("nut", 3.0, inertia=(1, 1, 1)), ch.Body("spindle", 1.0, inertia=(1, 1, 0.002))
    lead = -0.02
    apart = ch.System(
        [nut, spindle],
        [
            ch.prismatic("slide", "ground", "nut", axis=(0, 0, 1)),
            ch.revolute("turn", "ground", "spindle", axis=(0, 0, 1)),
        ],
        constraints=[ch.model.lead_screw("thread", ("turn", "slide"), lead)],
    )
    together = ch.System(
        [ch.Body("nut", 3.0, inertia=(1, 1, 0.002))],
        [ch.cylindrical("guide", "ground", "nut", axis=(0, 0, 1))],
        constraints=[ch.model.lead_screw("thread", "guide", lead)],
    )
    for system in (apart, together):
        run = ch.simulate(system, (0.0, 3.0), coordinates=coordinates, step=0.02, method="rk4")
        gravity = system.gravity[2]
        traveled = 0.5 * 9.0 * 3.0 * gravity / (3.0 + 0.002 * (2 * np.pi / lead) ** 2)
        assert run["nut"].pose[-1, 6] == pytest.approx(traveled, rel=1e-11)
        assert abs(run.coordinate_forces("thread")[-1, 1]) == pytest.approx(
            3.0 * abs(gravity - 2 * traveled / 9.0), rel=1e-10
        )


def test_gears_and_racks_by_name():
    external = ch.model.gear_pair("mesh", ("a", "b"), (20, 40), offset=0.1)
    assert (external.ratios, external.offset) == ((20.0, 40.0), 2.0)
    assert ch.model.gear_pair("mesh", ("a", "b"), (20, 40), internal=True).ratios == (20.0, -40.0)
    rack = ch.model.rack_and_pinion("rack", "pinion", "rod", 0.05, 0.2)
    assert (rack.joints, rack.ratios, rack.offset) == (("pinion", "rod"), (-0.05, 1.0), 0.2)


FILE = """
name = "train"
gravity = [0, 0, 0]
[[bodies]]
name = "a"
mass = 1.0
inertia = [1, 1, 1]
[[bodies]]
name = "b"
mass = 1.0
inertia = [1, 1, 1]
[[bodies]]
name = "c"
mass = 1.0
inertia = [1, 1, 1]
[[joints]]
name = "A"
kind = "revolute"
axis = [0, 0, 1]
parent = "ground"
child = "a"
[[joints]]
name = "B"
kind = "revolute"
axis = [0, 0, 1]
parent = "ground"
child = "b"
[[joints]]
name = "C"
kind = "cylindrical"
axis = [0, 0, 1]
parent = "ground"
child = "c"
[[constraints]]
"""
KINDS = {
    'kind = "planetary_gear"\nsun = "A"\nring = "B"\ncarrier = "C"\nteeth = [20, 64]': ch.model.planetary_gear(
        "x", "A", "C", (20, 64), "B"
    ),
    'kind = "planetary_gear"\nsun = "A"\ncarrier = "C"\nteeth = [20, 64]\noffset = "90 deg"': ch.model.planetary_gear(
        "x", "A", "C", (20, 64), offset=np.pi / 2
    ),
    'kind = "gear_pair"\njoints = ["A", "B"]\nteeth = [20, 31]\ninternal = true': ch.model.gear_pair(
        "x", ("A", "B"), (20, 31), internal=True
    ),
    'kind = "lead_screw"\njoints = ["C"]\nlead = "4 mm"': ch.model.lead_screw("x", "C", 0.004),
    'kind = "coupling"\njoints = ["A", "B", "C"]\nratios = [1, 2, -3]\noffset = 0.5': ch.Coupling(
        "x", ("A", "B", "C"), (1, 2, -3), 0.5
    ),
}


@pytest.mark.parametrize("text", KINDS)
def test_transmissions_in_files(text, tmp_path):
    path = tmp_path / "train.toml"
    path.write_text(f'{FILE}name = "x"\n{text}\n')
    system = ch.load(path).system
    assert system.constraints == (KINDS[text],)
    (again := tmp_path / "again.toml").write_text(model_text(system))
    assert ch.load(again).system == system


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'kind = "planetary_gear"\nsun = "A"\ncarrier = "C"\nteeth = [64, 20]',
            r"constraints\[0\].teeth.*the number of the inner gear first",
        ),
        ('kind = "planetary_gear"\nsun = "A"\ncarrier = "D"\nteeth = [20, 64]', "there is no joint 'D'"),
        ('kind = "gear_pair"\njoints = ["A", "B"]\nteeth = [20]', r"teeth"),
        ('kind = "lead_screw"\njoints = ["C"]\nlead = 0.0', r"constraints\[0\].lead.*lead is 0"),
        ('kind = "lead_screw"\njoints = ["A"]\nlead = 0.1', "coordinate 1 of joint 'A', which has 1"),
        ('kind = "rack_and_pinion"\npinion = "A"\nrack = "C"\nradius = "3 s"', "radius"),
        ('kind = "coupling"\njoints = ["A", "B", "A"]\nratios = [1, 2, 3]', "joint 'A' is there twice"),
        ('kind = "coupling"\njoints = ["A", "B", "C"]\nratios = [1, 0, 3]', "not zero"),
    ],
)
def test_bad_transmissions_in_files_are_named(text, message, tmp_path):
    path = tmp_path / "train.toml"
    path.write_text(f'{FILE}name = "x"\n{text}\n')
    with pytest.raises(ModelFileError, match=message):
        ch.load(path)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("place", [-1.0, 1.5, 7.0])
def test_a_start_many_turns_away_is_assembled(place, coordinates):
    """The rack alone is given; the pinion is as many turns on as it takes."""
    bodies = [ch.Body(name, 1.0, (0, 0, 0), (0.1, 0.1, 0.1)) for name in ("wheel", "bar")]
    joints = [
        ch.revolute("pinion", "ground", "wheel", axis=(0, 1, 0)),
        ch.prismatic("rack", "ground", "bar", axis=(1, 0, 0)),
    ]
    system = ch.System(bodies, joints, constraints=[ch.model.rack_and_pinion("teeth", "pinion", "rack", radius=0.4)])
    run = ch.simulate(system, (0.0, 0.1), q={"rack": place}, v={"rack": 1.0}, coordinates=coordinates)
    assert run.joint("rack").q[0, 0] == pytest.approx(place, abs=1e-12)
    assert run.joint("pinion").q[0, 0] == pytest.approx(place / 0.4, abs=1e-12)
    assert run.joint("pinion").v[-1, 0] == pytest.approx(1.0 / 0.4, abs=1e-9)
