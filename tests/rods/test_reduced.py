"""Reduced bodies against the finite element model that they are made of: a beam of Euler and Bernoulli in space."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.linalg import eigh

import chasles as ch
from chasles.io.load import load
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text
from chasles.lie import pose as pose_group

LENGTH, RADIUS, E, G, RHO, COUNT = 1.0, 0.01, 7e10, 2.7e10, 2700.0, 8
AREA, SECOND = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4


def element(L):
    """Stiffness and consistent mass of a beam element, (u, v, w, rotations about x, y, z) of both nodes."""
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    bar = np.array([[1.0, -1.0], [-1.0, 1.0]])
    full = np.array([[2.0, 1.0], [1.0, 2.0]])
    for (i, j), stiffness, mass in (((0, 6), E * AREA, RHO * AREA), ((3, 9), 2 * G * SECOND, 2 * RHO * SECOND)):
        K[np.ix_((i, j), (i, j))] += stiffness / L * bar
        M[np.ix_((i, j), (i, j))] += mass * L / 6 * full
    bend = np.array([[12, 6 * L, -12, 6 * L], [6 * L, 4 * L * L, -6 * L, 2 * L * L],
                     [-12, -6 * L, 12, -6 * L], [6 * L, 2 * L * L, -6 * L, 4 * L * L]])  # fmt: skip
    move = np.array([[156, 22 * L, 54, -13 * L], [22 * L, 4 * L * L, 13 * L, -3 * L * L],
                     [54, 13 * L, 156, -22 * L], [-13 * L, -3 * L * L, -22 * L, 4 * L * L]])  # fmt: skip
    for places, sign in (((1, 5, 7, 11), 1.0), ((2, 4, 8, 10), -1.0)):
        signs = np.outer([1, sign, 1, sign], [1, sign, 1, sign])
        K[np.ix_(places, places)] += E * SECOND / L**3 * signs * bend
        M[np.ix_(places, places)] += RHO * AREA * L / 420 * signs * move
    return K, M


def beam():
    """Stiffness and mass of the free beam along x."""
    K, M = np.zeros((2, 6 * (COUNT + 1), 6 * (COUNT + 1)))
    for k in range(COUNT):
        part = slice(6 * k, 6 * k + 12)
        for whole, own in zip((K, M), element(LENGTH / COUNT), strict=True):
            whole[part, part] += own
    return K, M


def craig_bampton(kept, modes):
    """Mass and stiffness of the nodes that are kept and of modes with these held, and the map to all nodes."""
    K, M = beam()
    b = np.concatenate([6 * k % len(K) + np.arange(6) for k in kept])
    i = np.setdiff1d(np.arange(len(K)), b)
    _, shapes = eigh(K[np.ix_(i, i)], M[np.ix_(i, i)])
    T = np.zeros((len(K), len(b) + modes))
    T[b, : len(b)] = np.eye(len(b))
    T[i, : len(b)] = -np.linalg.solve(K[np.ix_(i, i)], K[np.ix_(i, b)])
    T[i, len(b) :] = shapes[:, :modes]
    return T.T @ M @ T, T.T @ K @ T, T


PLACES = [(0.2, 0.1, 0.0), (0.2 + LENGTH, 0.1, 0.0)]  # somewhere in the body's frame


def reduced(modes=6, **more):
    mass, stiffness, _ = craig_bampton((0, COUNT), modes)
    return ch.rods.ReducedBody("beam", mass, stiffness, PLACES, **more)


def held(*forces, gravity=(0, 0, 0), **more):
    weld = ch.weld("clamp", "ground", "beam[0]")
    return ch.System(joints=[weld], forces=forces, gravity=gravity, reduced=[reduced(**more)])


def test_frequencies_are_those_of_the_matrices():
    mass, stiffness, _ = craig_bampton((0, COUNT), 6)
    known = np.sqrt(eigh(stiffness[6:, 6:], mass[6:, 6:], eigvals_only=True))
    found = np.sort(np.abs(ch.linearize(held()).eigenvalues.imag))[::2]
    assert np.allclose(found, known, rtol=1e-9)
    K, M = beam()
    fine = np.sqrt(eigh(K[6:, 6:], M[6:, 6:], eigvals_only=True))[:4]
    assert np.allclose(found[:4], fine, rtol=5e-4)  # the whole model


def test_frequencies_of_the_free_body():
    """The mass of the shapes goes with that of the rigid motion: six zeros, then those of the matrices."""
    mass, stiffness, _ = craig_bampton((0, COUNT), 6)
    known = np.sqrt(np.abs(eigh(stiffness, mass, eigvals_only=True)[6:]))
    found = np.sort(np.abs(ch.linearize(ch.System(reduced=[reduced()], gravity=(0, 0, 0))).eigenvalues.imag))
    assert np.allclose(found[-2 * len(known) :: 2], known, rtol=1e-8)


def test_deflection_under_a_load_and_under_weight():
    K, _ = beam()
    load = ch.Wrench("load", "beam[1]", (0, 0.1, 0, 0, 0.2, 0.3), "hybrid")
    rest = ch.equilibrium(held(load))
    tip = held(load).compile().poses(rest.q, frames="beam[1]")
    known = np.linalg.solve(K[6:, 6:], np.concatenate([np.zeros(6 * (COUNT - 1)), [0, 0.2, 0.3, 0, 0.1, 0]]))[-6:]
    assert np.allclose(tip[4:] - (LENGTH, 0, 0), known[:3], atol=2e-4 * np.abs(known[:3]).max())
    assert np.allclose(pose_group.log(tip)[:3], known[3:], atol=5e-4 * np.abs(known[3:]).max())
    heavy = held(gravity=(0, 0, -9.81))
    sag = heavy.compile().poses(ch.equilibrium(heavy).q, frames="beam[1]")[6]
    assert np.isclose(sag, -RHO * AREA * 9.81 * LENGTH**4 / (8 * E * SECOND), rtol=1e-3)


def test_mass_and_momentum_and_energy():
    free = ch.System(reduced=[reduced()], gravity=(0, 0, 0))
    assert np.isclose(free.mass, RHO * AREA * LENGTH, rtol=1e-9)
    tree = free.compile()
    v = np.zeros(tree.nv)
    v[:6], v[6:] = (0.3, 2.0, 1.0, 0.5, 0.0, 0.2), 0.01
    run = ch.simulate(free, (0, 0.02), v=v, rtol=1e-9, certificate=False)
    momentum = tree.momentum(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-9 * np.abs(momentum[0]).max()
    assert np.ptp(run.energies.total) < 1e-7 * run.energies.total[0]


def test_turned_in_space_it_is_the_same():
    """The whole system turned by any rotation, gravity with it: the same coordinates."""
    turn = pose_group.exp([0.7, -1.1, 2.0, 0.3, 0.2, -0.5])
    mass, stiffness, _ = craig_bampton((0, COUNT), 4)
    found = []
    for pose in (pose_group.identity(), turn):
        weld = ch.weld("clamp", "ground", "beam[0]", at=pose)
        gravity = pose_group.act(pose, np.array([0, 0, -9.81])) - pose[4:]
        body = ch.rods.ReducedBody("beam", mass, stiffness, PLACES)
        found.append(ch.equilibrium(ch.System(joints=[weld], reduced=[body], gravity=gravity)).q)
    assert np.allclose(*found, atol=1e-12)


def test_axes_of_interfaces_and_order_do_not_matter():
    """The same body with its rotations first and with turned interface frames: the tip goes to the same place."""
    mass, stiffness, _ = craig_bampton((0, COUNT), 2)
    swap = np.concatenate([np.arange(12).reshape(2, 6)[:, [3, 4, 5, 0, 1, 2]].ravel(), [12, 13]])
    frames = [
        pose_group.compose((1, 0, 0, 0, *place), pose_group.exp([0.4, 0.9, k, 0, 0, 0]))
        for k, place in enumerate(PLACES)
    ]
    load = ch.Wrench("load", "beam[1]", (0, 0, 0, 0, 0.2, 0.3), "hybrid")
    tips = []
    for body in (
        ch.rods.ReducedBody("beam", mass, stiffness, PLACES),
        ch.rods.ReducedBody("beam", mass[np.ix_(swap, swap)], stiffness[np.ix_(swap, swap)], frames, order="rotation"),
    ):
        weld = ch.weld("clamp", "ground", "beam[0]", at=body.interfaces[0])
        system = ch.System(joints=[weld], reduced=[body], forces=[load], gravity=(0, 0, 0))
        tips.append(system.compile().poses(ch.equilibrium(system).q, frames="beam[1]")[4:])
    assert np.allclose(*tips, atol=1e-6)


def test_from_files(tmp_path):
    mass, stiffness, _ = craig_bampton((0, COUNT), 3)
    np.savez(tmp_path / "beam.npz", mass=mass, stiffness=stiffness, interfaces=np.array(PLACES))
    one = ch.rods.ReducedBody.load("beam", tmp_path / "beam.npz")
    mmwrite(tmp_path / "m.mtx", mass, precision=17)
    mmwrite(tmp_path / "k.mtx", stiffness, precision=17)
    two = ch.rods.ReducedBody("beam", tmp_path / "m.mtx", tmp_path / "k.mtx", PLACES)
    assert np.allclose(one.mass, two.mass, rtol=1e-14)
    assert np.allclose(one.stiffness, two.stiffness, rtol=1e-14)
    with pytest.raises(ValueError, match="cannot be read as Matrix Market"):
        ch.rods.ReducedBody("beam", tmp_path / "none.mtx", tmp_path / "k.mtx", PLACES)


def test_in_a_model_file(tmp_path):
    mass, stiffness, _ = craig_bampton((0, COUNT), 1)
    np.savez(tmp_path / "beam.npz", mass=mass, stiffness=stiffness, interfaces=np.array(PLACES))
    text = """
    [[reduced]]
    name = "beam"
    file = "beam.npz"
    damping = "1 ms"
    shapes = 5
    [[joints]]
    name = "clamp"
    kind = "weld"
    parent = "ground"
    child = "beam[0]"
    """
    (tmp_path / "model.toml").write_text(text)
    system = load(tmp_path / "model.toml").system
    assert system == ch.System(
        joints=[ch.weld("clamp", "ground", "beam[0]")],
        reduced=[ch.rods.ReducedBody("beam", mass, stiffness, PLACES, damping=1e-3, shapes=5)],
        name="model",
    )
    assert study_of_text(model_text(system), Path()).system == system
    for wrong, message in (("none.npz", "cannot be read"), ("../beam.npz", "leads out of the folder")):
        (tmp_path / "model.toml").write_text(text.replace("beam.npz", wrong))
        with pytest.raises(ValueError, match=message):
            load(tmp_path / "model.toml")
    (tmp_path / "model.toml").write_text(text.replace('file = "beam.npz"', ""))
    with pytest.raises(ValueError, match="has no mass"):
        load(tmp_path / "model.toml")


def broken(what):
    mass, stiffness, _ = craig_bampton((0, COUNT), 2)
    more = {"interfaces": PLACES, "mass": mass, "stiffness": stiffness}
    off = mass.copy()
    off[0, 3] += 0.1 * mass[0, 0]
    negative = stiffness.copy()
    negative[13, 13] *= -1
    indefinite = stiffness.copy()
    indefinite[12, 13] = indefinite[13, 12] = 10 * stiffness[13, 13]
    return (
        more
        | {
            "not symmetric": {"mass": off},
            "below zero": {"stiffness": negative},
            "negative eigenvalue": {"stiffness": indefinite},
            "the same coordinates": {"mass": mass[:-1, :-1]},
            "expected a square matrix": {"mass": mass[:, :-1]},
            "for 3 interfaces": {"interfaces": [*PLACES, (0, 0, 0)]},
            "holds it against": {"stiffness": stiffness + np.diag([1e5, *[0.0] * 13])},
            "or is the order not": {"order": "rotation"},
            "interfaces at other places": {"interfaces": [(0, 0, 0), (0, 1, 0)]},
            "without mass": {"mass": mass * np.outer([*[1.0] * 13, 0.0], [*[1.0] * 13, 0.0])},
            "leaves a motion free": {"stiffness": stiffness * np.outer([*[1.0] * 13, 0.0], [*[1.0] * 13, 0.0])},
            "expected 1 to 8": {"shapes": 9},
            "damping is -1; expected zero or more": {"damping": -1.0},
        }[what]
    )


@pytest.mark.parametrize(
    "message",
    [
        *("not symmetric", "below zero", "negative eigenvalue", "the same coordinates", "expected a square matrix"),
        *("for 3 interfaces", "holds it against", "or is the order not", "interfaces at other places", "without mass"),
        *("leaves a motion free", "expected 1 to 8", "damping is -1; expected zero or more"),
    ],
)
def test_mistakes_are_named(message):
    with pytest.raises(ValueError, match="reduced body 'beam': ") as error:
        ch.rods.ReducedBody("beam", **broken(message))
    assert message in str(error.value)


def test_complex_matrices_are_refused():
    mass, stiffness, _ = craig_bampton((0, COUNT), 1)
    with pytest.raises(ValueError, match="reduced body 'beam': stiffness is complex; expected"):
        ch.rods.ReducedBody("beam", mass, stiffness * (1 + 0.05j), PLACES)


def test_what_it_is_not_for_is_said():
    with pytest.raises(ValueError, match="not for loops, constraints and absolute coordinates"):
        held().compile("absolute")
