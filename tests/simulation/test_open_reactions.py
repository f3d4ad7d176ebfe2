"""Which components of reactions are not unique, against free-body diagrams: wrenches of all joints that keep every body
in equilibrium without a load, in a null space found by SVD."""

import numpy as np
import pytest

import chasles as ch
from chasles.gallery import overconstrained
from chasles.lie.rotation import quaternion_to_matrix
from chasles.simulation.open_reactions import COMPONENTS
from chasles.view.series import reactions_of

ACROSS = {"torque x", "torque y", "force z"}  # of a linkage in the plane x, y
Z = (0, 0, 1)
WARNED = "reactions are not unique: "


def self_stress(run: ch.Run, k: int) -> dict[str, np.ndarray]:
    """Of each joint and drive, what it gets in states of stress at a time: (states, 6), those of drives (states, 1)."""
    system, poses = run.system, run.poses[k]
    bodies, joints = [body.name for body in system.bodies], system.joints
    drives = [item for item in system.constraints if isinstance(item, ch.Drive)]
    columns = 6 * len(joints) + len(drives)
    balance, powerless = np.zeros((6 * len(bodies), columns)), np.zeros((len(joints), columns))
    for j, joint in enumerate(joints):
        child = bodies.index(joint.child)
        turn, frame = quaternion_to_matrix(poses[child, :4]), np.array(joint.child_frame)
        place, axes = poses[child, 4:] + turn @ frame[4:], turn @ quaternion_to_matrix(frame[:4])
        wrench = np.zeros((6, 6))  # in the joint's axes at its place, to those of space at its origin
        wrench[:3, :3] = wrench[3:, 3:] = axes
        wrench[:3, 3:] = np.cross(place, axes.T).T
        motors = [6 * len(joints) + i for i, drive in enumerate(drives) if drive.joint == joint.name]
        screw = np.array(joint.screws[0])
        for body, sign in ((joint.child, 1.0), (joint.parent, -1.0)):
            if body != "ground":
                at = slice(6 * bodies.index(body), 6 * bodies.index(body) + 6)
                balance[at, 6 * j : 6 * j + 6] += sign * wrench
                for column in motors:
                    balance[at, column] += sign * wrench @ screw / (screw @ screw)
        powerless[j, 6 * j : 6 * j + 6] = screw
    equations = np.vstack([balance, powerless])
    _, sizes, right = np.linalg.svd(equations)
    null = right[np.count_nonzero(sizes > 1e-9) :]
    found = {joint.name: null[:, 6 * j : 6 * j + 6] for j, joint in enumerate(joints)}
    return found | {drive.name: null[:, [6 * len(joints) + i]] for i, drive in enumerate(drives)}


def expected(run: ch.Run) -> dict[str, tuple[str, ...]]:
    """The components that some state of stress loads."""
    found = {}
    for name, loads in self_stress(run, len(run) // 2).items():
        words = COMPONENTS if loads.shape[1] == 6 else ("force",)
        which = tuple(
            word for word, load in zip(words, np.abs(loads).max(axis=0, initial=0.0), strict=True) if load > 1e-7
        )
        if which:
            found[name] = which
    return found


def table(*places: float, coordinates: str, drives=(), **arm) -> ch.Run:
    """Rockers carry a bar."""
    bar, arms, joints = ch.Body("bar", 3.0, (0.5, 0, 0), (0.1, 0.2, 0.2)), [], []
    given = {"mass": 1.0, "com": (0.25, 0, 0), "inertia": (0.02, 0.02, 0.03)} | arm
    for k, x in enumerate(places):
        arms.append(ch.Body(f"arm {k}", **given))
        joints.append(ch.revolute(f"foot {k}", "ground", f"arm {k}", axis=Z, at=(x, 0, 0)))
        joints.append(ch.revolute(f"top {k}", f"arm {k}", "bar", axis=Z, at=(0.5, 0, 0), child_at=(x, 0, 0)))
    motors = [ch.Drive(f"motor {k}", f"foot {k}", "1 + 0.1 * t") for k in drives]
    system = ch.System([*arms, bar], joints, gravity=(0, -9.81, 0), constraints=motors)
    start = {f"foot {k}": 1.0 for k in range(len(places))}
    options = {"step": 0.005, "method": "rk4", "certificate": False}
    return ch.simulate(system, (0, 0.02), start, coordinates=coordinates, **options)


def told(run: ch.Run) -> str:
    """The one warning for all joints and drives."""
    names = run.open_reactions
    messages = set()
    for name in names:
        with pytest.warns(UserWarning, match=WARNED) as found:
            run.coordinate_forces(name) if name.startswith("motor") else run.reactions(name)
        messages |= {str(one.message) for one in found}
    (message,) = messages  # so Python shows it once
    return message


COORDINATES = pytest.mark.parametrize("coordinates", ["relative", "absolute"])


@COORDINATES
def test_what_loads_nothing_is_given_without_a_word(coordinates):
    run = table(0.0, 1.0, coordinates=coordinates)
    assert run.open_reactions == expected(run)
    assert {which for words in run.open_reactions.values() for which in words} == ACROSS
    for joint in run.system.joints:
        np.testing.assert_allclose(run.reactions(joint.name)[:, [0, 1, 5]], 0.0, atol=1e-9)


@COORDINATES
def test_bodies_beside_the_plane_load_it(coordinates):
    run = table(0.0, 1.0, coordinates=coordinates, com=(0.25, 0, 0.05))
    assert run.open_reactions == expected(run)
    message = told(run)
    assert message.startswith(f"{WARNED}'foot 0', 'top 0', 'foot 1', 'top 1' in torque x, torque y, force z. ")


def test_tables_and_reports_say_so_too(tmp_path):
    run, notes = table(0.0, 1.0, coordinates="relative", com=(0.25, 0, 0.05)), []
    with pytest.warns(UserWarning, match=WARNED) as found:
        run.export(tmp_path / "run.csv")
    assert len(found) == 1
    reactions_of(run, notes)
    (note,) = notes
    assert note == str(found[0].message).replace("reactions", "Reactions", 1)


@COORDINATES
def test_a_bar_on_three_rockers(coordinates):
    """Two would do, so one more force in the plane is not unique: that along the rockers."""
    run = table(0.0, 0.4, 1.0, coordinates=coordinates)
    assert run.open_reactions == expected(run)
    assert "force x" in run.open_reactions["foot 0"]
    assert "force y" not in run.open_reactions["foot 0"]
    assert "'foot 0', 'foot 1', 'foot 2' in torque x, torque y, force x, force z; " in told(run)


def test_what_is_not_named_is_the_same_in_all_coordinates():
    runs = [table(0.0, 0.4, 1.0, coordinates=coordinates) for coordinates in ("relative", "absolute")]
    differ = 0.0
    for joint in runs[0].system.joints:
        with pytest.warns(UserWarning, match=WARNED):
            one, two = (run.reactions(joint.name) for run in runs)
        unique = [k for k, word in enumerate(COMPONENTS) if word not in runs[0].open_reactions[joint.name]]
        np.testing.assert_allclose(one[:, unique], two[:, unique], rtol=0, atol=1e-7)
        differ = max(differ, np.abs(one - two).max())
    assert differ > 1.0  # N


@COORDINATES
def test_two_motors_share_a_load(coordinates):
    run = table(0.0, 1.0, coordinates=coordinates, drives=(0, 1))
    assert run.open_reactions == expected(run)
    assert run.open_reactions["motor 0"] == ("force",)
    assert "; 'motor 0', 'motor 1' in force. " in told(run)
    one = table(0.0, 1.0, coordinates=coordinates, drives=(0,))
    with pytest.warns(UserWarning, match=WARNED):
        both = run.coordinate_forces("motor 0") + run.coordinate_forces("motor 1")
    np.testing.assert_allclose(both, one.coordinate_forces("motor 0"), rtol=0, atol=1e-7)  # of a parallelogram


@pytest.mark.parametrize("linkage", [overconstrained.bennett, overconstrained.bricard])
def test_linkages_in_space(linkage):
    given = linkage()
    start = {"poses": given.poses, "twists": given.twists, "coordinates": "absolute", "certificate": False}
    run = ch.simulate(given.system, (0.0, 0.1), step=0.01, method="rk4", **start)
    some = expected(run)
    assert set(some) == set(run.open_reactions)
    for name, words in some.items():
        assert set(words) <= set(run.open_reactions[name])
    told(run)


def test_an_axis_that_is_inclined_in_its_frame_is_no_load():
    """Reactions in the plane have components along all axes of such a frame, but none across the plane."""
    tilted = np.array([np.cos(0.3), np.sin(0.3), 0.0, 0.0])
    axis = quaternion_to_matrix(tilted).T @ np.array(Z, dtype=float)
    arms = [ch.Body(f"arm {k}", 1.0, (0.25, 0, 0), (0.02, 0.02, 0.03)) for k in range(2)]
    bar = ch.Body("bar", 3.0, (0.5, 0, 0), (0.1, 0.2, 0.2))
    joints = []
    for k in range(2):
        foot = {"at": (*tilted, k, 0, 0), "child_at": (*tilted, 0, 0, 0)}
        joints.append(ch.revolute(f"foot {k}", "ground", f"arm {k}", axis=tuple(axis), **foot))
        joints.append(ch.revolute(f"top {k}", f"arm {k}", "bar", axis=Z, at=(0.5, 0, 0), child_at=(k, 0, 0)))
    system = ch.System([*arms, bar], joints, gravity=(0, -9.81, 0))
    run = ch.simulate(system, (0, 0.02), {"foot 0": 1.0, "foot 1": 1.0}, certificate=False)
    assert "force y" in run.open_reactions["foot 0"]
    assert np.abs(run.reactions("foot 0")[:, 4]).max() > 1.0


def test_a_tree_has_none():
    loop = overconstrained.parallelogram().system
    tree = loop.rearranged(joints=loop.joints[:3])
    assert ch.simulate(tree, (0, 0.02), step=0.01, method="rk4", certificate=False).open_reactions == {}
