"""Reactions of constraints are in plots, tables and reports, as those of joints are."""

import numpy as np
import pytest

import chasles as ch
from chasles.io.result.quantities import with_reactions
from chasles.view.series import reactions_of

TURNS = np.linspace(0, 2 * np.pi, 240, endpoint=False)
CIRCLE = 0.5 * np.column_stack([np.cos(TURNS), np.sin(TURNS)])
HOLDS = {
    "distance": ch.Distance("hold", ("ground", "bob"), ((0, 0, 0), (0, 0, 0)), 0.5),
    "cam": ch.Cam("hold", ("ground", "bob"), CIRCLE, at=(np.sqrt(0.5), np.sqrt(0.5), 0, 0, 0, 0, 0)),
}


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("kind", HOLDS)
def test_a_pendulum_on_a_constraint(tmp_path, kind, coordinates):
    """A point mass that swings in a plane on a string, or in a circular track, pulls by m (g cos θ + v²/l)."""
    plane = ch.planar("plane", "ground", "bob", normal=(0, 1, 0))
    system = ch.System([ch.Body("bob", 2.0, (0, 0, 0), (0.1, 0.1, 0.1))], [plane], constraints=[HOLDS[kind]])
    angle = np.pi / 4  # a point that the spline goes through
    at = np.array([1.0, 0, 0, 0, 0.5 * np.sin(angle), 0, -0.5 * np.cos(angle)])
    run = ch.simulate(system, (0.0, 0.4), poses=[at], coordinates="absolute", certificate=False)
    if coordinates == "relative":
        run = ch.simulate(system, (0.0, 0.4), q=run.q[0], certificate=False)
    x, v = run["bob"].position, run["bob"].twist[:, 3:]
    pull = 2.0 * (9.81 * -x[:, 2] / 0.5 + (v**2).sum(axis=1) / 0.5)
    assert set(with_reactions(run)) == {"plane", "hold"}
    found = np.linalg.norm(run.reactions("hold")[:, 3:], axis=1)
    bend = TURNS[1] ** 2 / 12  # by how much the curvature of the spline is off that of its circle, at most
    np.testing.assert_allclose(found, pull, rtol=bend if kind == "cam" else 1e-9)
    run.export(tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().splitlines()[0]
    assert "hold.fx [N]" in header
    assert "hold" in reactions_of(run)[1]
