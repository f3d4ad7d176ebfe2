"""Base parameters: published numbers of them, what they must satisfy, reports."""

import numpy as np
import pytest

import chasles as ch
from chasles.relative.mechanism import Mechanism
from chasles.relative.parameter.identifiability import identify
from tests.relative import models
from tests.relative.zoo import ZOO, deviation, tree

HALF = np.pi / 2
# a, alpha, d of modified Denavit-Hartenberg parameters
PANDA = [
    *[(0, 0, 0.333), (0, -HALF, 0), (0, HALF, 0.316), (0.0825, HALF, 0)],
    *[(-0.0825, -HALF, 0.384), (0, HALF, 0), (0.088, HALF, 0)],
]


def arm(rows) -> Mechanism:
    names = ["ground", *(f"link {k}" for k in range(1, len(rows) + 1))]
    bodies = [ch.Body(name, 1.0, (0.05, 0.02, 0.1), (0.1, 0.12, 0.15)) for name in names[1:]]
    joints = [
        ch.model.denavit_hartenberg(f"joint {k + 1}", names[k], names[k + 1], a=a, alpha=alpha, d=d)
        for k, (a, alpha, d) in enumerate(rows)
    ]
    return Mechanism(ch.System(bodies, joints, [ch.Frame("tool", names[-1], (0.05, 0.1, 0.2))]))


def test_published_combinations():
    """The 43 coefficients of the Panda that gaz2019 found in symbols.

    From the authors' get_Panda_coefficients_expanded.m (github.com/marcocognetti/FrankaEmikaPandaDynModel): 31 with
    inertias, 12 first moments; some of them here, about the origins of the links' frames.
    """
    report = arm(PANDA).parameters.inertial_identifiability()
    assert report.rank == 43
    terms = {report.terms(k)[0]: report.terms(k)[1:] for k in range(report.rank)}
    assert sum(": I" in name for name in terms) == 31

    def masses(value: str, first: int) -> list[str]:
        return [f"{value} link {k}: m" for k in range(first, 8)]

    assert terms["link 1: Izz"] == ["+ link 2: Iyy"]
    moved = ["+ 0.09986 link 3: m", "+ 0.632 link 3: mcz", "+ link 3: Iyy", *masses("+ 0.1067", 4)]
    assert terms["link 2: Ixx"] == ["- link 2: Iyy", *moved]
    assert terms["link 3: Ixy"] == ["+ 0.0825 link 4: mcz"]
    assert terms["link 4: Izz"] == [
        *("+ 0.1543 link 5: m", "+ 0.768 link 5: mcz", "+ link 5: Iyy"),
        *masses("+ 0.1543", 6),
    ]
    assert terms["link 6: Ixx"] == ["- link 6: Iyy", "- 0.007744 link 7: m", "+ link 7: Iyy"]
    assert terms["link 7: Ixx"] == ["- link 7: Iyy"]
    assert terms["link 2: mcy"] == ["- 0.316 link 3: m", "- link 3: mcz", *masses("- 0.316", 4)]
    assert terms["link 6: mcx"] == ["+ 0.088 link 7: m"]
    assert terms["link 7: Izz"] == terms["link 7: mcx"] == terms["link 7: mcy"] == []


@pytest.mark.parametrize(
    ("kinds", "measured", "count"),
    [
        (("revolute",) * 7, "pose", 4 * 7 + 6),
        (("revolute",) * 7, "position", 4 * 7 + 3),
        (("revolute",) * 7, "orientation", 2 * 7 + 3),
        (("revolute", "prismatic", "revolute", "prismatic", "revolute"), "pose", 4 * 3 + 2 * 2 + 6),
        (("prismatic", "prismatic"), "pose", 2 * 2 + 6),
    ],
)
def test_numbers_of_geometric_parameters_of_chains(kinds, measured, count):
    """Four for a revolute joint, two for a prismatic one, six for the frames at both ends: Everett, Driels and Mooring,
    ICRA 1987. Three fewer without orientations; of the orientation alone, the directions of the axes count."""
    mechanism = Mechanism(tree(12, kinds, chain=True))
    assert mechanism.parameters.geometric_identifiability("tool", measured=measured).rank == count


@pytest.mark.first(1)
@pytest.mark.parametrize("name", models.MODELS)
def test_base_parameters_fit_as_well_as_all(name):
    mechanism, rng = Mechanism(models.system_of(models.MODELS[name]())), np.random.default_rng(5)
    report = mechanism.parameters.inertial_identifiability(joint_terms="armature")
    q, (v, a) = mechanism.random(rng, (20,)), rng.normal(size=(2, 20, mechanism.nv))
    Y, parameters = mechanism.parameters.regressor(q, v, a, "armature"), rng.normal(size=len(report.names))
    base = report.values(parameters)
    assert deviation(report.columns(Y) @ base, Y @ parameters) < 1e-10
    every = np.concatenate([report.kept, report.grouped, report.unseen])
    assert sorted(every) == list(range(len(report.names)))
    assert report.singular_values[report.rank - 1] > 1e-4  # a clear gap
    assert np.all(report.singular_values[report.rank :] < 1e-12)
    # other parameters with the same base parameters give the same forces, and the nearest ones change least
    prior = rng.normal(size=len(report.names))
    nearest = report.parameters(base, prior)
    assert deviation(Y @ nearest, Y @ parameters) < 1e-10
    assert np.linalg.norm(nearest - prior) <= np.linalg.norm(parameters - prior)
    np.testing.assert_array_equal(nearest[report.unseen], prior[report.unseen])


def test_standard_deviations_are_those_of_least_squares():
    mechanism, rng = arm(PANDA[:3]), np.random.default_rng(6)
    q, (v, a) = mechanism.random(rng, (40,)), rng.normal(size=(2, 40, mechanism.nv))
    report = mechanism.parameters.inertial_identifiability(q, v, a)
    W = report.columns(mechanism.parameters.regressor(q, v, a)).reshape(-1, report.rank)
    expected = 0.3 * np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    np.testing.assert_allclose(report.standard_deviations(0.3), expected, rtol=1e-9)
    lengths = np.linalg.norm(W, axis=0)
    assert report.condition == pytest.approx(np.linalg.cond(W / lengths), rel=1e-9)


def test_poor_data_tells_less():
    mechanism, rng = arm(PANDA), np.random.default_rng(7)
    q, still = mechanism.random(rng, (100,)), np.zeros((100, 7))
    at_rest = mechanism.parameters.inertial_identifiability(q, still, still)
    assert 0 < at_rest.rank < 43
    assert all("I" not in name for name in (at_rest.names[k] for k in at_rest.kept))  # gravity feels no inertia
    one = mechanism.parameters.inertial_identifiability(q[:1], still[:1], still[:1])
    assert one.rank <= 7


def test_table():
    text = str(arm(PANDA).parameters.inertial_identifiability(joint_terms=("armature", "friction")))
    # the rotors of the first two joints cannot be told from Izz of their links, which turn about no other axis
    assert text.startswith(f"{43 + 7 - 2 + 7} of 84 parameters can be found, ")
    assert "link 6: mcx + 0.088 link 7: m\n" in text
    assert "link 1: Izz + link 2: Iyy + joint 1: armature\n" in text
    assert "joint 3: friction" in text
    assert "not at all: link 1: m; link 1: mcx;" in text
    assert max(map(len, text.splitlines())) <= 110


def test_nearly_parallel_axes_do_not_spoil_the_choice():
    mechanism, rng = arm(PANDA), np.random.default_rng(8)
    places = mechanism.parameters.places()
    off = Mechanism(mechanism.parameters.with_geometry(1e-4 * rng.normal(size=84), places))
    report = off.parameters.geometric_identifiability("tool")
    assert report.rank == 34
    assert report.condition < 100


def test_bad_input():
    mechanism = ZOO["arm"]
    q = mechanism.neutral()
    with pytest.raises(ValueError, match="give q, v and a, or none of them"):
        mechanism.parameters.inertial_identifiability(q)
    with pytest.raises(ValueError, match="measured is 'twist'; expected one of pose, position, orientation"):
        mechanism.parameters.geometric_identifiability("tool", measured="twist")
    with pytest.raises(ValueError, match="identify: matrix has no rows"):
        identify(np.zeros((0, 3)), ["a", "b", "c"])
    nothing = identify(np.zeros((4, 2)), ["a", "b"])
    assert nothing.rank == 0
    assert list(nothing.unseen) == [0, 1]
    assert "0 of 2 parameters" in str(nothing)
