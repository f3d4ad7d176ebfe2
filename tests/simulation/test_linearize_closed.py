"""Linear systems and modes of closed mechanisms: against own reductions to one coordinate, closed forms and flows."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest

import chasles as ch
from chasles.gallery import bicycle
from tests.absolute import loops
from tests.relative import closed
from tests.simulation import reduced

Z = (0.0, 0.0, 1.0)
LENGTHS = (loops.CRANK, loops.COUPLER, loops.ROCKER, loops.BASE)
STIFFNESS, DAMPING = 30.0, 0.7


def off(got, wanted) -> float:
    """Largest difference, relative to the largest number."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


@cache
def four_bar_reduced():
    """The four-bar with springs and dampers in all joints: equilibrium angle, m, d and k of the crank's angle."""

    def joints(x):
        a, b, c = reduced.four_bar_angles(LENGTHS, x)
        return a, b - a, c - b, c

    pieces = reduced.four_bar_pieces(LENGTHS, tuple(loops.MASSES.values()))
    gravity = -mp.mpf(loops.FOUR_BAR_GRAVITY[1])

    def potential(x):
        springs = sum(mp.mpf(STIFFNESS) / 2 * angle**2 for angle in joints(x))
        return springs + sum(piece.mass * gravity * piece.place(x)[1][1] for piece in pieces)

    return reduced.swing(pieces, potential, [(DAMPING, lambda x, k=k: joints(x)[k]) for k in range(4)], 0.3)


@pytest.mark.parametrize("compiled", [{}, {"cut": ["B"]}, {"coordinates": "absolute"}], ids=str)
def test_four_bar(compiled):
    """Three of its six equations are redundant."""
    at, m, d, k = four_bar_reduced()
    system = closed.four_bar(stiffness=STIFFNESS, damping=DAMPING)
    mechanism = system.compile(**compiled)
    tree = system.compile() if "coordinates" in compiled else mechanism
    q, _ = closed.four_bar_state(tree, float(at), 0.0)
    found = ch.linearize(mechanism, q)
    assert found.at_equilibrium
    assert found.stability == "asymptotically stable"
    (mode,) = found.modes
    assert abs(mode.frequency / float(mp.sqrt(k / m) / (2 * mp.pi)) - 1) < 1e-11
    assert abs(mode.damping / float(d / (2 * mp.sqrt(k * m))) - 1) < 1e-11
    rates = closed.four_bar_state(tree, float(at), 1.0)[1]
    assert off(mode.shape, rates / rates[np.argmax(np.abs(rates))]) < 1e-12
    assert off(found.basis[: tree.nv, 0], rates / rates[found.states[0]]) < 1e-12


def test_four_bar_in_motion():
    """m x'' + m' x'²/2 + V' = 0 about a state that moves: derivatives with respect to angle and speed."""
    mechanism = closed.four_bar().compile()
    pieces = reduced.four_bar_pieces(LENGTHS, tuple(loops.MASSES.values()))
    x, speed = mp.mpf("0.8"), mp.mpf(2)

    def acceleration(at, rate):
        slope = mp.diff(lambda s: reduced.kinetic(pieces, s), at, h=mp.mpf(10) ** -6)
        weight = sum(p.mass * mp.mpf("9.81") * reduced.rate(lambda s, p=p: p.place(s)[1], at)[1] for p in pieces)
        return -(slope * rate**2 / 2 + weight) / reduced.kinetic(pieces, at)

    h = mp.mpf(10) ** -4
    by_angle = sum(
        w * (acceleration(x + k * h, speed) - acceleration(x - k * h, speed)) for k, w in ((1, 8), (2, -1))
    ) / (12 * h)
    by_speed = (acceleration(x, speed + 1) - acceleration(x, speed - 1)) / 2
    found = ch.linearize(mechanism, *closed.four_bar_state(mechanism, float(x), float(speed)))
    assert found.states.tolist() == [0, 3]
    assert found.stability == "not an equilibrium"
    assert off(found.A, [[0.0, 1.0], [float(by_angle), float(by_speed)]]) < 1e-10
    assert off(found.acceleration[0], float(acceleration(x, speed))) < 1e-12


# ---------------------------------------------------------------- a double wishbone

LOWER, UPPER = ((0.0, 0.0, 0.0), (0.0, 0.4, 0.0)), ((0.02, 0.1, 0.25), (0.0, 0.28, 0.0))  # pivot, ball on the arm
LOWER_AXIS, UPPER_AXIS = (1.0, 0.05, -0.02), (1.0, -0.1, 0.05)
BALL, TIE, RACK = (0.02, -0.02, 0.25), (-0.12, 0.0, 0.06), (-0.12, 0.08, 0.08)  # on the upright; on the ground
STRUT, TIRE = (
    (((0.0, 0.15, 0.5), (0.0, 0.3, 0.02)), (9e3, 400.0, 0.47)),
    (((0.0, 0.5, -0.3), (0.0, 0.1, -0.2)), (5e4, 50.0, 0.11)),
)
MASSES = {"lower": (3.0, (0.0, 0.2, 0.0)), "upper": (1.5, (0.01, 0.14, 0.0)), "upright": (22.0, (0.0, 0.08, 0.1))}
INERTIAS = {"lower": (0.05, 0.002, 0.05), "upper": (0.02, 0.001, 0.02), "upright": (0.5, 0.8, 0.6)}


def suspension() -> ch.System:
    """Two arms, an upright between ball joints, a tie rod, a strut and a tire: one freedom."""
    bodies = [ch.Body(name, mass, com, INERTIAS[name]) for name, (mass, com) in MASSES.items()]
    joints = [
        ch.revolute("lower arm", "ground", "lower", axis=LOWER_AXIS, at=LOWER[0]),
        ch.revolute("upper arm", "ground", "upper", axis=UPPER_AXIS, at=UPPER[0]),
        ch.spherical("lower ball", "lower", "upright", at=LOWER[1]),
        ch.spherical("upper ball", "upper", "upright", at=UPPER[1], child_at=BALL),
    ]
    springs = [
        ch.Spring("strut", ("ground", "lower"), STRUT[0], *STRUT[1]),
        ch.Spring("tire", ("ground", "upright"), TIRE[0], *TIRE[1]),
    ]
    length = float(np.linalg.norm(np.array(LOWER[1]) + TIE - RACK))
    rod = ch.Distance("tie rod", ("ground", "upright"), (RACK, TIE), length)
    return ch.System(bodies, joints, forces=springs, constraints=[rod], name="suspension")


@cache
def suspension_reduced():
    vector = lambda x: mp.matrix([mp.mpf(number) for number in x])  # noqa: E731
    length = mp.norm(vector(LOWER[1]) + vector(TIE) - vector(RACK))

    def gaps(x, unknown):
        """What is left of the two ball joints and the tie rod, and the upright."""
        angle, *by = unknown
        ball, size = reduced.turn(LOWER_AXIS, x) * vector(LOWER[1]), mp.norm(mp.matrix(by))
        turned = reduced.turn(by, size) if size else mp.eye(3)
        miss = ball + turned * vector(BALL) - vector(UPPER[0]) - reduced.turn(UPPER_AXIS, angle) * vector(UPPER[1])
        return mp.matrix([*miss, mp.norm(ball + turned * vector(TIE) - vector(RACK)) - length]), (angle, turned, ball)

    columns = [
        reduced.rate(lambda s, k=k: gaps(mp.mpf("0.02"), mp.eye(4)[:, k] * s)[0], mp.mpf("0.01")) for k in range(4)
    ]
    inverse = mp.matrix([[column[r] for column in columns] for r in range(4)]) ** -1
    unknown = mp.matrix(4, 1)

    @cache
    def upright(x):
        """Angle of the upper arm, rotation of the upright and its ball joint below, by the chord method."""
        for _ in range(40):
            left, found = gaps(x, unknown)
            if mp.norm(left) < mp.mpf(10) ** -33:
                return found
            unknown[:] = unknown - inverse * left
        raise AssertionError("the suspension does not close")

    def place(name):
        com = vector(MASSES[name][1])

        def found(x):
            angle, turned, ball = upright(x)
            if name == "upright":
                return turned, ball + turned * com
            axis, pivot, by = (LOWER_AXIS, LOWER[0], x) if name == "lower" else (UPPER_AXIS, UPPER[0], angle)
            return reduced.turn(axis, by), vector(pivot) + reduced.turn(axis, by) * com

        return found

    pieces = [reduced.Piece(mass, INERTIAS[name], place(name)) for name, (mass, _) in MASSES.items()]

    def strut(x):
        return mp.norm(reduced.turn(LOWER_AXIS, x) * vector(STRUT[0][1]) - vector(STRUT[0][0]))

    def tire(x):
        _, turned, ball = upright(x)
        return mp.norm(ball + turned * vector(TIRE[0][1]) - vector(TIRE[0][0]))

    def potential(x):
        stored = sum(k / 2 * (of(x) - free) ** 2 for (_, (k, _, free)), of in ((STRUT, strut), (TIRE, tire)))
        return stored + sum(p.mass * mp.mpf("9.81") * p.place(x)[1][2] for p in pieces)

    return reduced.swing(pieces, potential, [(STRUT[1][1], strut), (TIRE[1][1], tire)], 0.0219)


@pytest.mark.study
def test_suspension():
    at, m, d, k = suspension_reduced()
    mechanism = suspension().compile()
    q = mechanism.neutral()
    q[mechanism.tree.coordinates["lower arm"]] = float(at)
    found = ch.linearize(mechanism, mechanism.assemble(q, held=["lower arm"]))
    assert found.at_equilibrium
    assert found.stability == "asymptotically stable"
    assert len(found.A) == 2
    (mode,) = found.modes
    assert abs(mode.frequency / float(mp.sqrt(k / m) / (2 * mp.pi)) - 1) < 1e-10
    assert abs(mode.damping / float(d / (2 * mp.sqrt(k * m))) - 1) < 1e-10


# ---------------------------------------------------------------- couplings and drives


def shafts(ratio: float, *more) -> ch.System:
    """Two shafts on springs to the ground, the second turns -ratio times as fast; a third hangs on the second."""
    bodies = [ch.Body(f"shaft {k}", 1.0, inertia=(1.0, 1.0, i)) for k, i in enumerate((0.3, 0.05, 0.2))]
    joints = [
        ch.revolute("one", "ground", "shaft 0", axis=Z, stiffness=40.0, damping=0.3),
        ch.revolute("two", "ground", "shaft 1", axis=Z, stiffness=5.0),
        ch.revolute("three", "shaft 1", "shaft 2", axis=Z, stiffness=12.0, damping=0.1),
    ]
    gear = ch.Coupling("gear", ("one", "two"), (ratio, 1.0))
    return ch.System(bodies, joints, constraints=[gear, *more], name="shafts")


def test_geared_shafts():
    ratio = 2.5
    found = ch.linearize(shafts(ratio))
    by = np.array([[1.0, 0.0], [-ratio, 0.0], [-ratio, 1.0]])  # absolute angles of the shafts
    joints = np.array([[1.0, 0.0], [-ratio, 0.0], [0.0, 1.0]])
    M, K, D = by.T @ np.diag([0.3, 0.05, 0.2]) @ by, joints.T @ np.diag([40.0, 5.0, 12.0]) @ joints, np.diag([0.3, 0.1])
    wanted = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, np.c_[K, D])]]))
    assert off(np.sort_complex(found.eigenvalues), np.sort_complex(wanted)) < 1e-13
    assert all(abs(mode.shape[1] + ratio * mode.shape[0]) < 1e-13 for mode in found.modes)


def test_a_drive_holds_its_coordinate():
    """The gears stand still; the third shaft swings on its own. With no freedom left there are no modes."""
    found = ch.linearize(shafts(2.5, ch.Drive("brake", "one", 0.0)))
    (mode,) = found.modes
    assert abs(mode.frequency - np.sqrt(12.0 / 0.2) / (2 * np.pi)) < 1e-13
    assert found.at_equilibrium
    none = ch.linearize(shafts(2.5, ch.Drive("brake", "one", 0.0), ch.Drive("other", "three", 0.0)))
    assert none.A.shape == (0, 0)
    assert none.modes == []


def test_a_pendulum_on_a_driven_shaft():
    """cos θ = g/(l Ω²) is a steady motion, about which it swings with Ω sin θ."""
    speed, length = 6.0, 0.5
    bodies = [ch.Body("shaft", 1.0, inertia=(0.1, 0.1, 0.1)), ch.Body("bob", 2.0, (0.0, 0.0, -length))]
    joints = [
        ch.revolute("shaft", "ground", "shaft", axis=Z),
        ch.revolute("hinge", "shaft", "bob", axis=(0.0, 1.0, 0.0)),
    ]
    system = ch.System(bodies, joints, constraints=[ch.Drive("motor", "shaft", f"{speed} * t")])
    angle, t = np.arccos(9.81 / (length * speed**2)), 0.4
    found = ch.linearize(system, [speed * t, angle], [speed, 0.0], t=t)
    assert np.abs(found.acceleration).max() < 1e-13
    assert off(found.A, [[0.0, 1.0], [-((speed * np.sin(angle)) ** 2), 0.0]]) < 1e-13


@pytest.mark.parametrize(
    "system",
    [closed.rssr, closed.bennett, lambda: shafts(2.5), lambda: closed.random_closed(3, ("revolute", "spherical"))[0]],
    ids=["RSSR", "Bennett", "gears", "random"],
)
def test_derivatives_are_those_of_the_accelerations(system):
    """Along curves on the constraints, at states that move, with all kinds of joints and quaternions."""
    mechanism = system().compile()
    rng = np.random.default_rng(4)
    q = mechanism.assemble()
    v = mechanism.consistent_velocities(q, rng.normal(size=mechanism.nv))
    found = ch.linearize(mechanism, q, v)
    nv, half = mechanism.nv, len(found.A) // 2
    move = found.basis @ rng.normal(size=2 * half)
    move /= np.abs(move).max()

    def state(s: float) -> tuple[np.ndarray, np.ndarray]:
        """On the constraints, with the chosen numbers as given."""
        at = mechanism.assemble(mechanism.retract(q, s * move[:nv]))
        speed = mechanism.consistent_velocities(at, v + s * move[nv:])
        return at, speed

    def values(s: float) -> np.ndarray:
        at, speed = state(s)
        return np.concatenate([mechanism.difference(at, q), speed - v, mechanism.accelerations_under(at, speed)])

    h = 0.01
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    slopes = sum(w * (values(k * h) - values(-k * h)) for k, w in weights.items()) / h
    x = slopes[: 2 * nv][found.states]
    assert off(found.basis @ x, slopes[: 2 * nv]) < 1e-9
    assert off((found.A @ x)[half:], slopes[2 * nv :][found.states[half:] - nv]) < 1e-8


def test_states_off_the_constraints_are_refused():
    mechanism = closed.four_bar().compile()
    q, v = closed.four_bar_state(mechanism, 0.8, 1.0)
    with pytest.raises(ch.errors.AssemblyError, match="'D' by"):
        ch.linearize(mechanism, q + 0.01)
    with pytest.raises(ch.errors.AssemblyError, match="'D' by"):
        ch.linearize(mechanism, q, v + 0.01)


# ---------------------------------------------------------------- rolling: Whipple's bicycle (Meijaard et al. 2007)


def test_bicycle_over_speeds():
    """Lean and steer of the published equations M x'' + v C1 x' + (g K0 + v² K2) x = 0, from 0 to 10 m/s."""
    M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
    C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
    mechanism = bicycle.system().compile()
    for speed in (0.5, 2.0, 4.0, 6.0, 8.0, 10.0):
        rows = -np.linalg.solve(M, np.concatenate([9.81 * K0 + speed**2 * K2, speed * C1], axis=1))
        wanted = np.linalg.eigvals(np.concatenate([np.eye(4)[2:], rows]))
        found = ch.linearize(mechanism, v=bicycle.rolling(mechanism, speed)).eigenvalues
        for value in wanted:
            assert np.abs(found - value).min() < 1e-10 * np.abs(wanted).max(), speed


def test_bicycle():
    """Eigenvalues at 5 m/s, as published to 15 digits; seven places and three velocities are free."""
    mechanism = bicycle.system().compile()
    found = ch.linearize(mechanism, v=bicycle.rolling(mechanism, 5.0))
    assert found.A.shape == (10, 10)
    assert np.abs(found.acceleration).max() < 1e-13
    weave = -0.775341882195845 + 4.464867713788226j
    wanted = [-0.322866429004087, weave, weave.conjugate(), -14.078389692798220]
    assert np.abs(found.eigenvalues[-4:] - wanted).max() < 1e-10
