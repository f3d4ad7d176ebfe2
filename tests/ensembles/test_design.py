"""Points of ensembles: grids, tables, samples, distributions."""

import numpy as np
import pytest
import scipy

from chasles.ensembles.design import Design, design_of, read_points, values_of
from chasles.ensembles.distribution import FAMILIES, Distribution, distribution

POINTS = np.linspace(0.001, 0.999, 41)[:, None]
KNOWN = {
    "normal(1.5, 0.2)": ("norm", 1.5, 0.2),
    "lognormal(0.3, 0.5)": ("lognorm", 0.5, 0.0, np.exp(0.3)),
    "uniform(-1, 3)": ("uniform", -1, 4),
    "triangular(1, 1.5, 4)": ("triang", 0.5 / 3, 1, 3),
    "vonmises(0.4, 2)": ("vonmises", 2, 0.4),
}


@pytest.mark.parametrize("text", KNOWN)
def test_distributions_are_those_of_scipy(text):
    values = distribution(text).values(POINTS)
    family, *numbers = KNOWN[text]
    np.testing.assert_allclose(getattr(scipy.stats, family)(*numbers).cdf(values), POINTS[:, 0], atol=1e-9)


def test_every_distribution_is_tested():
    assert {text.partition("(")[0] for text in KNOWN} | {"rotation"} == set(FAMILIES)


def test_rotations_are_uniform():
    """All entries of R have mean 0 and mean square 1/3, and the angle is distributed as (1 - cos θ)/π."""
    q = Design(samples=(("turn", distribution("rotation()")),), n=4096, kind="sobol", seed=1).values()["turn"]
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=1e-14)
    w, x, y, z = q.T
    first = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)])
    np.testing.assert_allclose(first.mean(axis=1), 0.0, atol=0.01)
    np.testing.assert_allclose((first**2).mean(axis=1), 1 / 3, atol=0.01)
    angle = np.sort(2 * np.arccos(np.abs(w)))
    np.testing.assert_allclose((angle - np.sin(angle)) / np.pi, (np.arange(4096) + 0.5) / 4096, atol=0.02)


def test_units():
    assert distribution("normal(25 mm, 0.5 mm)").numbers == (0.025, 0.0005)
    np.testing.assert_allclose(values_of("angle", "0 deg:90 deg:3"), [0, np.pi / 4, np.pi / 2])
    for given in ("[40 mm, 6 cm, 0.1]", ["40 mm", "6 cm", 0.1], '["40 mm", "6 cm", 0.1]'):
        np.testing.assert_allclose(values_of("length", given), [0.04, 0.06, 0.1], rtol=1e-15)
    with pytest.raises(ValueError, match=r"length=\[40 mm, 6 cn\]: unit 'cn'"):
        values_of("length", "[40 mm, 6 cn]")
    with pytest.raises(ValueError, match="length: expected a list of finite numbers"):
        values_of("length", "[]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("normla(1, 2)", "did you mean 'normal'"),
        ("normal(1)", "expected normal\\(mean, deviation\\)"),
        ("normal(1, -2)", "expected more than 0"),
        ("uniform(2, 1)", "lower bound first"),
        ("triangular(1, 5, 4)", "in order"),
        ("normal(1, inf)", "inf"),
        ("normal 1 2", "is not a distribution"),
        ("normal(1, two)", "two"),
    ],
)
def test_wrong_distributions(text, message):
    with pytest.raises(ValueError, match=message):
        distribution(text)


def test_members_are_a_product_with_samples_fastest():
    plan, fixed = design_of({"a": "0:1:3", "b": [5, 6], "c": 2.0}, {"m": "uniform(0, 1)"}, (), 4, "random", 0)
    values = plan.values()
    assert fixed == {"c": 2.0}
    assert plan.members == 24
    assert values["a"].tolist() == np.repeat([0, 0.5, 1], 8).tolist()
    assert values["b"].tolist() == np.tile(np.repeat([5, 6], 4), 3).tolist()
    assert values["m"].tolist() == np.tile(values["m"][:4], 6).tolist()  # the same chances at each point


def test_a_longer_ensemble_begins_with_a_shorter_one():
    drawn = (("m", Distribution("normal", (0.0, 1.0))),)
    short, long = (Design(samples=drawn, n=n, seed=7).values()["m"] for n in (5, 50))
    assert short.tolist() == long[:5].tolist()
    assert long.tolist() != Design(samples=drawn, n=50, seed=8).values()["m"].tolist()


@pytest.mark.parametrize("kind", ["latin", "sobol", "halton"])
def test_designs_fill_the_cube_evenly(kind):
    points = Design(
        samples=tuple((f"x{k}", Distribution("uniform", (0, 1))) for k in range(3)), n=64, kind=kind
    ).points()
    assert points.shape == (64, 3)
    if kind == "latin":  # one in each slice
        assert all(len(set((64 * column).astype(int))) == 64 for column in points.T)
    assert scipy.stats.qmc.discrepancy(points) < 0.3 * scipy.stats.qmc.discrepancy(
        np.random.default_rng(0).random((64, 3))
    )


@pytest.mark.parametrize(("kind", "slope"), [("random", -0.5), ("sobol", -0.9)])
def test_means_converge_as_they_should(kind, slope):
    """The mean of a smooth function: n^(-1/2) for random points, about n^(-1) or better for a Sobol sequence."""
    drawn = tuple((f"x{k}", Distribution("uniform", (0, 1))) for k in range(3))
    counts, errors = (64, 2048), []
    for n in counts:
        means = [np.exp(-Design(samples=drawn, n=n, kind=kind, seed=s).points().sum(axis=1)).mean() for s in range(8)]
        errors.append(np.sqrt(np.mean((np.array(means) - (1 - np.exp(-1)) ** 3) ** 2)))
    found = np.log(errors[1] / errors[0]) / np.log(counts[1] / counts[0])
    assert abs(found - slope) < 0.2 if kind == "random" else found < slope


def test_points_from_a_table(tmp_path):
    file = tmp_path / "points.csv"
    file.write_text("length [mm],mass\n400,1\n500,2.5\n\n")
    axis = read_points(file)
    assert axis.names == ("length", "mass")
    np.testing.assert_allclose(axis.rows, [(0.4, 1.0), (0.5, 2.5)], rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("length\n", "no rows"),
        ("length,mass\n1\n", "row 2 .* expected 2 numbers"),
        ("length\nnan\n", "row 2 .*not finite"),
        ("length [furlong]\n1\n", "furlong"),
        (",mass\n1,2\n", "has no name"),
        ("", "cannot be read"),
    ],
)
def test_wrong_tables(tmp_path, text, message):
    file = tmp_path / "points.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_points(file)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "nothing varies"),
        ({"given": {"a": "0:1:0"}}, "number of values is 0"),
        ({"given": {"a": "0:1:two"}}, "first:last:number"),
        ({"given": {"a": "0:1:3:log"}}, "ends above 0"),
        ({"given": {"a": "0:b:3"}}, "a=0:b:3"),
        ({"given": {"a": []}}, "finite numbers"),
        ({"sample": {"a": "uniform(0, 1)"}}, "how many"),
        ({"sample": {"a": "uniform(0, 1)"}, "n": 0}, "n is 0; expected a whole number, 1 or more"),
        ({"given": {"a": "0:1:3"}, "n": 5}, "nothing is sampled"),
        ({"given": {"a": "0:1:3"}, "sample": {"a": "uniform(0, 1)"}, "n": 2}, "given twice"),
        ({"sample": {"a": "uniform(0, 1)"}, "n": 2, "kind": "sobl"}, "did you mean 'sobol'"),
        ({"sample": {"a": "uniform(0, 1)"}, "n": 3, "kind": "sobol"}, "powers of 2"),
        ({"sample": {"a": "rotation()"}, "n": 4, "kind": "saltelli"}, "plain numbers"),
        ({"given": {"a": "0:1:100000", "b": "0:1:100000"}}, "at most"),
    ],
)
def test_wrong_designs(given, message):
    given = {"given": {}, "sample": {}, "tables": (), "n": None, "kind": "random", "seed": 0} | given
    with pytest.raises(ValueError, match=message):
        design_of(**given)[0].values()
