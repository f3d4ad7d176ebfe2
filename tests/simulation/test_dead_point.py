"""A drive that loops do not let go on is told where it stands, whichever coordinates and steps found out."""

import re

import numpy as np
import pytest

import chasles as ch

CRANK, LINK, BASE = 0.04, 0.25, 0.245
GRASHOF = CRANK + LINK - BASE  # the length of the lever from which on the crank turns over
START = np.radians(30.0)
pytestmark = pytest.mark.filterwarnings("ignore:(simulate|solve)")


def linkage(lever: float) -> tuple[ch.System, dict[str, float]]:
    """A four-bar whose crank is driven, and its start."""
    sizes = {"crank": CRANK, "link": LINK, "arm": lever}
    bodies = [ch.Body(name, 0.1, (size / 2, 0, 0), (1e-5,) * 3) for name, size in sizes.items()]
    joints = [
        ch.revolute("motor", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("crank pin", "crank", "link", axis=(0, 0, 1), at=(CRANK, 0, 0)),
        ch.revolute("lever pin", "link", "arm", axis=(0, 0, 1), at=(LINK, 0, 0), child_at=(lever, 0, 0)),
        ch.revolute("spindle", "ground", "arm", axis=(0, 0, 1), at=(BASE, 0, 0)),
    ]
    drive = ch.Drive("drive", "motor", f"{START} + 4.7 * t")
    return ch.System(bodies, joints, constraints=[drive], gravity=(0, 0, 0)), {"motor": START, "spindle": 0.45}


def dead_angle(lever: float) -> float:
    """Of the crank, where link and lever are stretched to LINK - lever: the cosine rule."""
    return 360.0 - np.degrees(np.arccos((CRANK**2 + BASE**2 - (LINK - lever) ** 2) / (2 * CRANK * BASE)))


@pytest.mark.first(1)
@pytest.mark.parametrize("options", [{}, {"method": "rk4", "step": 1e-3}])
def test_a_drive_that_cannot_go_on_says_where_and_nothing_runs_away(options):
    lever = 0.98 * GRASHOF
    system, q = linkage(lever)
    run = ch.simulate(system, (0, 3), q, held=["motor"], assemble=True, certificate=False, **options)
    assert not run.success
    found = re.search(r"drive 'drive' cannot go on: .* dead point at motor = (\S+) deg \(t = (\S+) s\)", run.message)
    assert float(found[1]) == pytest.approx(dead_angle(lever), abs=0.01)
    assert START + 4.7 * float(found[2]) == pytest.approx(np.radians(dead_angle(lever)), abs=1e-4)
    assert "runs away" not in run.message
    assert str(run.certificate).count("cannot go on") == 1


@pytest.mark.study
def test_in_absolute_coordinates_loops_that_are_torn_are_no_success():
    system, q = linkage(0.98 * GRASHOF)
    run = ch.simulate(system, (0, 1.4), q, held=["motor"], assemble=True, coordinates="absolute", certificate=False)
    assert not run.success
    assert "cannot go on: the linkage is at a dead point at motor = " in run.message


def test_loops_that_are_torn_at_the_only_saved_point_are_no_success():
    """In absolute coordinates the motion goes on with loops apart, so its end must be looked at."""
    lever = 0.98 * GRASHOF
    system, q = linkage(lever)
    how = {"coordinates": "absolute", "certificate": False, "save": "final", "rtol": 1e-4}
    run = ch.simulate(system, (0, 1.2), q, held=["motor"], assemble=True, **how)
    assert not run.success
    found = re.search(r"dead point at motor = (\S+) deg \(t = (\S+) s\)", run.message)
    assert float(found[1]) % 360.0 == pytest.approx(dead_angle(lever), abs=0.01)
    assert float(found[2]) < 1.2


def test_at_a_change_point_the_singular_configuration_is_named():
    system, q = linkage(GRASHOF)
    run = ch.simulate(system, (0, 3), q, held=["motor"], assemble=True, rtol=1e-9, certificate=False)
    assert run.success or "near a singular configuration" in run.message
    assert "cannot go on" not in run.message


def test_a_running_drive_is_named_where_nothing_is_free():
    system, _ = linkage(0.06)
    mechanism = system.compile("relative")
    rest = ch.equilibrium(mechanism, {"motor": START})
    assert rest.running == ("drive",)
    assert "no degrees of freedom left" in str(rest)
    assert "not at rest: 'drive'" in str(rest)
    with pytest.raises(ch.errors.AssemblyError, match=r"'drive'.*mechanism\.consistent_velocities"):
        ch.linearize(mechanism, rest.q)
    linear = ch.linearize(mechanism, rest.q, mechanism.consistent_velocities(rest.q, np.zeros(3)))
    assert linear.stability == "no degrees of freedom left"
    assert len(linear.modes) == 0


def test_an_unstable_equilibrium_says_where_it_gives_way():
    bodies = [ch.Body(name, 1.0, (0, 0, 0.5), (0.1, 0.1, 0.1)) for name in ("low", "high")]
    joints = [
        ch.revolute("foot", "ground", "low", axis=(0, 1, 0), stiffness=1e3),
        ch.revolute("knee", "low", "high", axis=(0, 1, 0), at=(0, 0, 1), stiffness=1.0),
    ]
    rest = ch.equilibrium(ch.System(bodies, joints))
    assert rest.weakest == "knee"
    assert "gives way at 'knee'" in str(rest)
    assert "gives way" not in str(ch.equilibrium(ch.System(bodies[:1], joints[:1])))
