"""chasles as a solver of cosseratbench: its scenarios, judged by its own metrics."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

bench = pytest.importorskip("cosseratbench")
registry = pytest.importorskip("cosseratbench.registry")


@pytest.fixture(scope="module")
def solver():
    from chasles.bridges.cosseratbench import ChaslesSolver

    return ChaslesSolver()


def result(solver, name, elements=8):
    found = bench.run(registry.load_experiment(name), solver, n_elements=elements)
    assert found.outcome == "completed", found.failure
    return found


def test_the_entry_point_names_it(solver):
    root = Path(__file__).parents[2]
    points = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["cosseratbench.solvers"]
    assert points == {"chasles": "chasles.bridges.cosseratbench:ChaslesSolver"}
    assert isinstance(solver, bench.Solver)


def test_cantilever_and_catenary(solver):
    """Bounds: what the references leave out, bending by more than a little, shear, and stiffness of the cable."""
    assert result(solver, "cantilever").metrics["tip_deflection_error"] < 1e-3
    hanging = result(solver, "catenary")
    assert hanging.metrics["shape_error"] < 1e-3
    assert hanging.metrics["settling_residual"] == 0.0


def test_pendulum_starts_as_it_hangs_and_keeps_its_swing(solver):
    found = result(solver, "pendulum")
    scenario = registry.load_experiment("pendulum").scenario
    start, rod = found.trajectory, scenario.rods[0]
    assert np.abs(start.positions[0][0] - rod.nodes(8)).max() < 1e-5  # theirs are on straight lines between points
    assert np.abs(start.directors[0][0] - rod.directors(8)).max() < 1e-6
    assert found.metrics["period_error"] < 2e-4
    assert abs(found.metrics["amplitude_change"]) < 1e-3


@pytest.mark.parametrize("name", ["capstan", "pile", pytest.param("crossing", marks=pytest.mark.study)])
def test_contact_is_not_supported(solver, name):
    assert bench.run(registry.load_experiment(name), solver).outcome == "unsupported"


@pytest.mark.study
def test_critical_twist(solver):
    """Six rods that are twisted by driven ends; the measurement itself is good to half a percent. With 8 elements too
    few of them buckle to measure anything."""
    assert result(solver, "twist", 16).metrics["critical_twist_error"] < 5e-3
