"""Assembly modes: against closed forms of the four-bar and the slider-crank, and circles of two loops."""

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.start.assembly_modes import assembly_modes
from tests.absolute import loops
from tests.relative import closed

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
CRANK, ROD, OFFSET = 0.3, 0.8, 0.1


def slider_crank(scale: float = 1.0) -> ch.System:
    rod = lambda name, length, mass: loops.rod(name, scale * length, mass)  # noqa: E731
    bodies = [rod("crank", CRANK, 1.0), rod("rod", ROD, 0.5), ch.Body("slider", 1.0, inertia=(0.1, 0.1, 0.1))]
    joints = [
        ch.revolute("crank", "ground", "crank", axis=Z),
        ch.revolute("pin", "crank", "rod", axis=Z, at=(scale * CRANK, 0.0, 0.0)),
        ch.revolute("wrist", "rod", "slider", axis=Z, at=(scale * ROD, 0.0, 0.0)),
        ch.prismatic("slide", "ground", "slider", axis=X, at=(0.0, scale * OFFSET, 0.0)),
    ]
    return ch.System(bodies, joints, name="slider-crank")


def circles(a, r, b, s):
    """The two points at distances r from a and s from b."""
    d = b - a
    size = np.hypot(*d)
    along = (r * r - s * s + size * size) / (2 * size)
    across = np.sqrt(r * r - along * along)
    middle, normal = a + along * d / size, np.array([-d[1], d[0]]) / size
    return [middle + across * normal, middle - across * normal]


def turned(angle) -> float:
    return float((angle + np.pi) % (2 * np.pi) - np.pi)


@pytest.mark.first(1)
@pytest.mark.parametrize("angle", [0.8, 2.5])
def test_four_bar(angle):
    """The coupler's end is where two circles meet."""
    system = closed.four_bar()
    tip = loops.CRANK * np.array([np.cos(angle), np.sin(angle)])
    wanted = []
    for end in circles(tip, loops.COUPLER, np.array([loops.BASE, 0.0]), loops.ROCKER):
        coupler, rocker = np.arctan2(*(end - tip)[::-1]), np.arctan2(end[1], end[0] - loops.BASE)
        wanted.append({"A": angle, "B": coupler - angle, "C": rocker - coupler, "D": rocker})
    found = system.compile().assembly_modes({"A": angle})
    joints = system.compile().joints
    assert len(found) == 2
    got = [[turned(x) for x in mode.q] for mode in found]
    expected = [[turned(w[joint]) for joint in joints] for w in wanted]
    assert min(np.abs(np.array(got) - order).max() for order in (expected, expected[::-1])) < 1e-12
    assert found[0].distance <= found[1].distance
    for k, mode in enumerate(found, 1):
        for coordinates in ("relative", "absolute"):
            run = ch.simulate(system, (0.0, 0.01), {"A": angle}, mode=k, coordinates=coordinates, progress=False)
            assert np.abs(np.array([turned(x) for x in run.q[0] - mode.q])).max() < 1e-12


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_slider_crank(scale):
    """A crank at 90 degrees alone: the slider is to either side, by Pythagoras; in millimeters too."""
    system = slider_crank(scale)
    found = assembly_modes(system, {"crank": np.pi / 2})
    place = system.compile(cut=["wrist"]).tree.coordinates["slide"]
    distance = np.sqrt(ROD**2 - (CRANK - OFFSET) ** 2)
    mechanism = system.compile(cut=["wrist"])
    found = assembly_modes(mechanism, {"crank": np.pi / 2})
    slides = sorted(float(mode.q[place][0]) / scale for mode in found)
    assert np.abs(np.array(slides) - [-distance, distance]).max() < 1e-12
    run = ch.simulate(system, (0.0, 0.01), {"crank": np.pi / 2}, progress=False)
    assert run.success


@pytest.mark.study
def test_two_loops():
    """A Watt chain of two four-bars: two modes of the first times two of the second, from circles."""
    first, second = closed.four_bar(), (0.35, 0.6, 0.5, 0.9)  # arm on the rocker, coupler, output, base
    arm, coupler, output, base = second
    bodies = [*first.bodies, loops.rod("second", coupler, 1.0), loops.rod("output", output, 1.0)]
    joints = [
        *first.joints,
        ch.revolute("E", "rocker", "second", axis=Z, at=(0.0, arm, 0.0)),
        ch.revolute("F", "second", "output", axis=Z, at=(coupler, 0.0, 0.0), child_at=(output, 0.0, 0.0)),
        ch.revolute("G", "ground", "output", axis=Z, at=(loops.BASE + base, 0.0, 0.0)),
    ]
    system, angle, wanted = ch.System(bodies, joints, name="Watt"), 0.8, []
    tip = loops.CRANK * np.array([np.cos(angle), np.sin(angle)])
    pivot = np.array([loops.BASE, 0.0])
    for end in circles(tip, loops.COUPLER, pivot, loops.ROCKER):
        along = (end - pivot) / loops.ROCKER
        pin, far = pivot + arm * np.array([-along[1], along[0]]), pivot + np.array([base, 0.0])
        if abs(coupler - output) < np.hypot(*(far - pin)) < coupler + output:
            wanted += [np.concatenate([end, tip_of]) for tip_of in circles(pin, coupler, far, output)]
    assert len(wanted) >= 2
    mechanism = system.compile()
    found = assembly_modes(mechanism, {"A": angle}, guesses=40)
    assert len(found) == len(wanted)
    for mode in found:
        poses = dict(zip(mechanism.bodies, mechanism.poses(mode.q), strict=True))
        ends = []
        for body, length in (("coupler", loops.COUPLER), ("second", coupler)):
            w, _, _, z = poses[body][:4]
            turn = 2 * np.arctan2(z, w)
            ends += [poses[body][4] + length * np.cos(turn), poses[body][5] + length * np.sin(turn)]
        assert min(np.abs(np.array(ends) - place).max() for place in wanted) < 1e-11


@pytest.mark.usefixtures("few_restarts")
def test_what_is_refused():
    system = closed.four_bar()
    with pytest.raises(ValueError, match="still has 1 degree of freedom"):
        assembly_modes(system)
    with pytest.raises(ValueError, match="by name"):
        assembly_modes(system, [0.8, 0.0, 0.0])
    with pytest.raises(ValueError, match="mode 3 is asked for; found were 2"):
        ch.simulate(system, (0.0, 1.0), {"A": 0.8}, mode=3)
    with pytest.raises(ValueError, match="mode is 0"):
        ch.simulate(system, (0.0, 1.0), {"A": 0.8}, mode=0)
    with pytest.raises(ValueError, match="assemble is False"):
        ch.simulate(system, (0.0, 1.0), {"A": 0.8}, mode=1, assemble=False)
    with pytest.raises(ch.errors.AssemblyError, match="no configuration"):
        assembly_modes(system, {"A": 0.8, "D": 0.1})
    pendulum = ch.System([ch.Body("rod", 1.0)], [ch.revolute("pivot", "ground", "rod", axis=X)])
    assert len(assembly_modes(pendulum, {"pivot": 0.3})) == 1
    with pytest.raises(ValueError, match="a tree has one assembly mode"):
        ch.simulate(pendulum, (0.0, 1.0), {"pivot": 0.3}, mode=2)


def test_in_files_and_on_the_command_line(tmp_path):
    """`mode` under [initial]; `check` lists the modes."""
    from chasles.cli.check import report
    from chasles.io.load import load
    from chasles.io.model_writer import model_text

    angle, system = 0.8, closed.four_bar()
    path = tmp_path / "model.toml"
    text = model_text(system) + f"\n[initial]\nq.A = {angle}\nmode = {{}}\n[simulation]\nspan = [0.0, 0.01]\n"
    modes = assembly_modes(system, {"A": angle})
    for k, mode in enumerate(modes, 1):
        path.write_text(text.format(k), encoding="utf-8")
        run = load(path).run()
        assert np.abs(np.array([turned(x) for x in run.q[0] - mode.q])).max() < 1e-12
    lines = report(load(path))["lines"]
    assert any(line.startswith("2 assembly modes with 'A' held") for line in lines)
    (taken,) = (line for line in lines if line.endswith("(taken)"))
    assert taken.strip().startswith("mode 2: B ")
    near = "\n[initial]\nq.A = 0.8\nq.B = {}\nheld = ['A']\n[simulation]\nspan = [0.0, 0.01]\n"
    for mode in modes[1:]:  # those near guesses come first
        guess = mode.q[system.compile().tree.coordinates["B"]][0]
        path.write_text(model_text(system) + near.format(guess), encoding="utf-8")
        lines = report(load(path))["lines"]
        assert any(line.startswith("2 assembly modes with 'A' held") for line in lines)
        assert any(line.strip().startswith("mode 1: B ") and line.endswith("(taken)") for line in lines)
    path.write_text(model_text(system) + "\n[initial]\nq.B = 0.1\nheld = []\n", encoding="utf-8")
    (line,) = (line for line in report(load(path))["lines"] if "modes are not listed" in line)
    assert "with nothing held the mechanism still has 1 degree" in line
    path.write_text(text.format(3), encoding="utf-8")
    assert "mode 3 is asked for" in report(load(path))["mistakes"][0]
    path.write_text(text.format("true"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"initial.mode.*whole number"):
        load(path)


SCISSOR = """
gravity = [0, 0, -9.81]
bodies = [
  { name = "a", mass = 8, com = [0.6, 0, 0], inertia = [0.01, 0.96, 0.96] },
  { name = "b", mass = 8, com = [0.6, 0, 0], inertia = [0.01, 0.96, 0.96] },
  { name = "shoe", mass = 1, inertia = [0.01, 0.01, 0.01] },
  { name = "roller", mass = 1, inertia = [0.01, 0.01, 0.01] },
  { name = "table", mass = 150, inertia = [10, 10, 10] },
]
joints = [
  { name = "foot", kind = "revolute", parent = "ground", child = "a", axis = [0, -1, 0] },
  { name = "slide", kind = "prismatic", parent = "ground", child = "shoe", axis = [1, 0, 0] },
  { name = "foot b", kind = "revolute", parent = "shoe", child = "b", axis = [0, -1, 0] },
  { name = "cross", kind="revolute", parent = "a", child="b", axis=[0, -1, 0], at=[0.6, 0, 0], child_at=[0.6, 0, 0] },
  { name = "top b", kind = "revolute", parent = "b", child = "table", axis = [0, -1, 0], at = [1.2, 0, 0] },
  { name = "rail", kind = "prismatic", parent = "table", child = "roller", axis = [1, 0, 0] },
  { name = "top a", kind = "revolute", parent = "a", child = "roller", axis = [0, -1, 0], at = [1.2, 0, 0] },
]
constraints = [{ name = "pump", kind = "drive", joint = "slide", value = "start - 0.4 * smooth(t, 0, 2)" }]
initial = { q = { foot = "20 deg" }, held = ["foot"], mode = MODE }
simulation = { span = [0, 0.1], method = "rk4", step = "50 ms" }
"""


def test_a_scissor_lift_that_a_drive_begins_to_lift_from_any_start(tmp_path):
    """The drive begins where the shoe is, so that it chooses nothing; bars that lie on each other are no mode. What the
    pump gives at rest: virtual work of all weights."""
    from chasles.cli.check import report
    from chasles.io.load import load

    path, angle, uprights = tmp_path / "scissor.toml", np.radians(20.0), []
    for mode in (1, 2):
        path.write_text(SCISSOR.replace("MODE", str(mode)), encoding="utf-8")
        lines = report(load(path))["lines"]
        assert any(line.startswith("2 assembly modes with 'foot' held") for line in lines)
        (taken,) = (line for line in lines if line.endswith("(taken)"))
        assert taken.strip().startswith(f"mode {mode}: slide 1.128")
        run = load(path).run(certificate=False)
        assert run.joint("slide").q[0, 0] == pytest.approx(1.2 * np.cos(angle), rel=1e-12)
        weight = 9.81 * (150 + 1 + 0.5 * 16)
        assert run.force("pump")[0, 0] == pytest.approx(-weight / np.tan(angle), rel=1e-9)
        uprights.append(run["table"].pose[0, 0] > 0.5)
    assert sorted(uprights) == [False, True]
    path.write_text(SCISSOR.replace("MODE", "3"), encoding="utf-8")
    with pytest.raises(ValueError, match="mode 3 is asked for; found were 2"):
        load(path)
