"""What forces add to Newton's matrix, against differences of the forces themselves: springs, bushings and rods."""

import numpy as np
import pytest

import chasles as ch
from chasles.constrained.force_tangent import force_tangent_addresses
from chasles.constrained.tables import BLOCK, STRUCTURE
from chasles.constrained.workspace import NO_ROW, WORKSPACE, ForceCall, run_loop
from chasles.force.table import ACTED, FORCE, FORCES
from chasles.lie import pose as pose_group
from tests.absolute.implicit.systems import stepper
from tests.absolute.systems import SPACES, bodies, frame

TILES = ((0, 0), (0, 3), (3, 0), (3, 3))


def random_symmetric(rng) -> np.ndarray:
    root = rng.normal(size=(6, 6))
    return root @ root.T


def forces_of(kind: str, rng) -> list:
    """A force between the bodies, and one to the ground from either end."""
    pairs = (("one", "two"), ("ground", "two"), ("one", "ground"))
    if kind == "spring":
        return [
            ch.Spring(f"force {k}", pair, rng.uniform(-0.5, 0.5, (2, 3)), 7.0, 3.0, 0.4) for k, pair in enumerate(pairs)
        ]
    if kind in ("magnus", "helix"):
        return []
    matrix = (lambda rng: np.diag(rng.uniform(0.5, 2.0, 6))) if kind == "diagonal bushing" else random_symmetric
    return [
        ch.Bushing(f"force {k}", pair, (frame(rng), frame(rng)), matrix(rng), matrix(rng))
        for k, pair in enumerate(pairs)
    ]


def rods_of(kind: str, rng) -> list:
    """A damped element between the bodies, and one to the ground from either end, of a section with all couplings."""
    if kind not in ("magnus", "helix"):
        return []
    return [
        ch.Rod(
            f"rod {k}",
            ch.rods.Arc((0.1, 0.2, 0.0), (0.1, 0.8, 0.0), (0, 0, 1), 0.8),
            ch.rods.Stiffness(random_symmetric(rng) + np.eye(6)),
            ends=ends,
            elements=1,
            damping=0.3,
            twist=0.4,
            element=kind,
        )
        for k, ends in enumerate((("one", "two"), ("ground", "two"), ("one", "ground")))
    ]


def tangent(going, q, v, ratio, first=NO_ROW) -> np.ndarray:
    """-∂Q/∂d as the kernel gives it, (12, 12): blocks of the bodies, and couplings from the matrix. Wrenches of
    bushings from row `first` on are in the workspace."""
    head, mechanism = going.packed, going.mechanism
    work = WORKSPACE.split(going.work, head)
    work.blocks[:], work.matrix[:], work.wrenches[:], work.acted[:] = 0.0, 0.0, 0.0, 0.0
    call = ForceCall(
        *(0.0, 1.0, ratio, going.p, head, q.ravel(), v.ravel(), work.blocks, work.matrix, work.law_wrenches),
        *(work.element_tiles, work.force_work, work.wrenches, work.acted, first),
    )
    for address in force_tangent_addresses(mechanism.forces.table):
        run_loop(address, call)
    found = np.zeros((12, 12))
    for i in range(2):
        block = work.blocks[i * BLOCK.size :]
        for k, (row, column) in enumerate(TILES):
            rows, columns = slice(6 * i + row, 6 * i + row + 3), slice(6 * i + column, 6 * i + column + 3)
            found[rows, columns] = block[9 * k : 9 * k + 9].reshape(3, 3)
    slots = STRUCTURE.part(head, "slots")
    for k, at in enumerate(STRUCTURE.part(head, "coupled")):
        if at >= 0:
            line = FORCES.size + k * FORCE.size
            i, j = mechanism.forces.table[line + FORCE.first : line + FORCE.third]
            for pair, (a, b) in enumerate(((i, j), (j, i))):
                for n, (row, column) in enumerate(TILES):
                    tile = 9 * slots[at + 4 * pair + n]
                    rows, columns = slice(6 * a + row, 6 * a + row + 3), slice(6 * b + column, 6 * b + column + 3)
                    found[rows, columns] = work.matrix[tile : tile + 9].reshape(3, 3)
    return found


def moved(q, v, d, ratio, space):
    """Poses turned in the bodies and moved in space, velocities of the body's space faster by `ratio` of that."""
    rotation = pose_group.exp(np.concatenate([d[:, :3], np.zeros((2, 3))], axis=1))
    new = pose_group.compose(q, rotation)
    new[:, 4:] += d[:, 3:]
    faster = d.copy()
    if space == "SE3":
        faster[:, 3:] = pose_group.act(pose_group.inverse(np.concatenate([q[:, :4], 0 * q[:, 4:]], axis=1)), d[:, 3:])
    return new, v + ratio * faster


def by_differences(going, q, v, ratio, space) -> np.ndarray:
    """-∂Q/∂d by differences of fourth order of the forces, (12, 12)."""

    def force(d):
        new, faster = moved(q, v, d.reshape(2, 6), ratio, space)
        return going.mechanism.applied_forces(new, faster)[0].ravel()

    e = 2e-3 / (1.0 + 0.1 * ratio)
    columns = [
        (8 * (force(-e * d) - force(e * d)) - force(-2 * e * d) + force(2 * e * d)) / (12 * e) for d in np.eye(12)
    ]
    return np.array(columns).T


@pytest.mark.parametrize("kind", ["spring", "bushing", "diagonal bushing", "magnus", "helix"])
@pytest.mark.parametrize("space", SPACES)
def test_tangents_are_exact(space, kind):
    """Stiffness alone, then with the damping along; the differences are of fourth order and good to some 1e-11."""
    rng = np.random.default_rng(3)
    system = ch.System(bodies(rng, "one", "two"), forces=forces_of(kind, rng), rods=rods_of(kind, rng))
    going = stepper(system, 1.0, space, ch.integrate.GeneralizedAlpha(), 1e-3)
    going.advance(1)  # writes the pose of the ground to the workspace
    q = pose_group.compose(going.problem.split(going.point())[0], pose_group.exp(rng.uniform(-0.6, 0.6, (2, 6))))
    v = rng.normal(size=(2, 6))

    for ratio in (0.0, 5.0, 1e3):
        expected = by_differences(going, q, v, ratio, space)
        assert np.abs(tangent(going, q, v, ratio) - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("space", SPACES)
def test_tangents_of_springs_whose_points_meet(space):
    """Without a free length a spring is stiff in all directions where its points meet, though there is no line."""
    rng = np.random.default_rng(3)
    q, v = pose_group.exp(rng.uniform(-0.6, 0.6, (2, 6))), rng.normal(size=(2, 6))
    place = rng.uniform(-0.5, 0.5, 3)
    points = [place, *(pose_group.act(pose_group.inverse(x), place) for x in q)]
    ends = {"ground": points[0], "one": points[1], "two": points[2]}
    pairs = (("one", "two"), ("ground", "two"), ("one", "ground"))
    forces = [ch.Spring(f"force {k}", pair, [ends[name] for name in pair], 7.0 + k) for k, pair in enumerate(pairs)]
    system = ch.System(bodies(rng, "one", "two"), forces=forces)
    going = stepper(system, 1.0, space, ch.integrate.GeneralizedAlpha(), 1e-3)
    going.advance(1)
    q = system.compile("absolute", space=space).state(q)[0]  # at the centers of mass
    expected = by_differences(going, q, v, 0.0, space)
    assert np.abs(expected).max() > 10.0
    assert np.abs(tangent(going, q, v, 0.0) - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["bushing", "magnus", "helix"])
@pytest.mark.parametrize("space", SPACES)
def test_elements_push_with_their_tangents_as_without(space, kind):
    """What Newton's method takes instead of evaluating them once more."""
    rng = np.random.default_rng(4)
    system = ch.System(bodies(rng, "one", "two"), forces=forces_of(kind, rng), rods=rods_of(kind, rng))
    going = stepper(system, 1.0, space, ch.integrate.GeneralizedAlpha(), 1e-3)
    q = pose_group.compose(going.problem.split(going.point())[0], pose_group.exp(rng.uniform(-0.6, 0.6, (2, 6))))
    v = rng.normal(size=(2, 6))
    wrenches, power, _ = going.mechanism.applied_forces(q, v)
    work = WORKSPACE.split(going.work, going.packed)
    tangent(going, q, v, 1e3)
    assert not work.wrenches.any()
    tangent(going, q, v, 1e3, first=0)
    assert np.abs(work.wrenches - wrenches.ravel()).max() < 1e-13 * np.abs(wrenches).max()
    assert abs(work.acted[ACTED.power] - power) < 1e-13 * abs(power)
