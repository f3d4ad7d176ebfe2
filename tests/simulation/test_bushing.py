"""Bushings: an energy of the relative pose, in joint and absolute coordinates; against SciPy and closed forms."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.constrained.tables import STRUCTURE
from chasles.lie import pose
from tests.absolute.implicit.systems import stepper
from tests.absolute.loops import four_bar, four_bar_poses, four_bar_twists
from tests.absolute.systems import bodies, frame

RNG = np.random.default_rng(12)


def symmetric(rng, size: float = 1.0) -> np.ndarray:
    root = rng.normal(size=(6, 6))
    return size * (root @ root.T + np.eye(6))


def pair(damped: bool = True, seed: int = 2, swapped: bool = False) -> ch.System:
    """Two free bodies with a mount to the ground and one between them, all six numbers coupled, relaxed at neutral."""
    rng = np.random.default_rng(seed)
    made = bodies(rng, "one", "two")
    mounts = []
    for name, both in (("foot", ("ground", "one")), ("link", ("one", "two"))):
        at = frame(rng)
        frames, K, D = (at, at), symmetric(rng, 3.0), symmetric(rng, 0.1 * damped)
        if swapped:
            both, frames = both[::-1], frames[::-1]
        mounts.append(ch.Bushing(name, both, frames, K, D))
    return ch.System(made, forces=mounts)


def matrix(p: np.ndarray) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = Rotation.from_quat(np.roll(p[:4], -1)).as_matrix(), p[4:]
    return found


def screw(C: np.ndarray) -> np.ndarray:
    """log of a 4x4 matrix as six numbers, from Rodrigues' formula for the exponential's translation."""
    x = Rotation.from_matrix(C[:3, :3]).as_rotvec()
    angle = np.linalg.norm(x)
    turn = hat(np.concatenate([x, np.zeros(3)]))[:3, :3]
    V = np.eye(3) + 0.5 * turn
    if angle > 1e-6:
        V = np.eye(3) + (1 - np.cos(angle)) / angle**2 * turn + (angle - np.sin(angle)) / angle**3 * turn @ turn
    return np.concatenate([x, np.linalg.solve(V, C[:3, 3])])


def hat(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1], x[3]], [x[2], 0, -x[0], x[4]], [-x[1], x[0], 0, x[5]], [0, 0, 0, 0.0]])


def wrench_by_differences(mount: ch.Bushing, on_first: np.ndarray, on_second: np.ndarray, twist: np.ndarray):
    """Wrench on the second body in its own frame from the energy, and the damping's from its dissipation; the first
    body is at rest. Differences of the logarithm, of fourth order."""
    K, D = (np.diag(m) if np.ndim(m) == 1 else np.array(m) for m in (mount.stiffness, mount.damping))
    A, F = on_first @ matrix(np.array(mount.frames[0])), matrix(np.array(mount.frames[1]))

    def X(x):
        return screw(np.linalg.solve(A, on_second @ scipy.linalg.expm(hat(x)) @ F))

    def slope(d, e=1e-3):
        return (8 * (X(e * d) - X(-e * d)) - X(2 * e * d) + X(-2 * e * d)) / (12 * e)

    J = np.array([slope(d) for d in np.eye(6)]).T
    return -J.T @ (K @ X(np.zeros(6)) + D @ (J @ twist)), 0.5 * X(np.zeros(6)) @ K @ X(np.zeros(6))


def test_the_wrench_derives_from_the_energy():
    """At large rotations, with all couplings."""
    mount = ch.Bushing("m", ("ground", "b"), (frame(RNG), frame(RNG)), symmetric(RNG, 5.0), symmetric(RNG))
    (body,) = bodies(RNG, "b")
    mechanism = ch.System([body], forces=[mount]).compile()
    for _ in range(5):
        q, v = mechanism.random(RNG), RNG.normal(size=6)
        at, twist = mechanism.poses(q, "b"), mechanism.twists(q, v)[0]
        expected, energy = wrench_by_differences(mount, np.eye(4), matrix(at), twist)
        found = mechanism.applied_forces(q, v)
        at_link = found.wrenches
        assert found.stored == pytest.approx(energy, rel=1e-12)
        power = expected @ twist - wrench_by_differences(mount, np.eye(4), matrix(at), 0 * twist)[0] @ twist
        assert found.power == pytest.approx(power, rel=1e-9)
        assert at_link @ twist == pytest.approx(expected @ twist, rel=1e-9)
        assert np.abs(at_link - expected).max() < 1e-9 * np.abs(expected).max()


def test_a_body_on_a_bushing_moves_as_an_independent_model_does():
    """Newton and Euler about the center of mass in NumPy, with an energy that is differenced and SciPy's integrator."""
    body = ch.Body("b", 2.0, inertia=(0.3, 0.4, 0.5))
    K = np.diag([4.0, 5.0, 6.0, 40.0, 50.0, 60.0])
    K[0, 4] = K[4, 0] = 3.0
    mount = ch.Bushing("m", ("ground", "b"), ((0, 0, 0.1), (0.1, 0.0, -0.2)), K, (0.1, 0.1, 0.1, 0.5, 0.5, 0.5))
    system = ch.System([body], forces=[mount])
    moments, spin = np.array([0.3, 0.4, 0.5]), np.array([1.0, -0.5, 0.7, 0.2, 0.1, -0.3])

    def rate(t, y):
        R, w, v = y[:9].reshape(3, 3), y[12:15], y[15:]
        at = np.eye(4)
        at[:3, :3], at[:3, 3] = R, y[9:12]
        wrench, _ = wrench_by_differences(mount, np.eye(4), at, np.concatenate([w, v]))
        force = wrench[3:] + R.T @ [0, 0, -9.81 * 2.0]
        turn = hat(np.concatenate([w, np.zeros(3)]))[:3, :3]
        spun = (wrench[:3] - np.cross(w, moments * w)) / moments
        return np.concatenate([(R @ turn).ravel(), R @ v, spun, force / 2.0 - np.cross(w, v)])

    start = np.concatenate([np.eye(3).ravel(), np.zeros(3), spin])
    expected = scipy.integrate.solve_ivp(rate, (0, 0.3), start, "DOP853", rtol=1e-8, atol=1e-9).y[:, -1]
    for coordinates in ("relative", "absolute"):
        run = ch.simulate(system, (0, 0.3), v=spin, coordinates=coordinates, rtol=1e-10, save="final")
        assert np.abs(matrix(run["b"].pose[-1])[:3, :3].ravel() - expected[:9]).max() < 1e-7
        assert np.abs(run["b"].position[-1] - expected[9:12]).max() < 1e-8


def test_natural_frequencies_of_a_block():
    """A block on a mount below its center: bounce and twist by themselves, rocking with the sway; in closed form."""
    mass, moments, below = 12.0, np.array([0.4, 0.5, 0.6]), 0.15
    k = np.array([300.0, 350.0, 80.0, 2e4, 3e4, 5e4])  # rotations, translations
    block = ch.Body("block", mass, inertia=moments)
    mount = ch.Bushing("mount", ("ground", "block"), ((0, 0, 0), (0, 0, -below)), k)
    hung = ch.free("free", "ground", "block", at=(0, 0, below))
    found = ch.linearize(ch.System([block], [hung], forces=[mount], gravity=(0, 0, 0)))
    squares = [k[2] / moments[2], k[5] / mass]
    for turn, sway in ((0, 4), (1, 3)):
        b, c = k[sway] / mass, (k[turn] + k[sway] * below**2) / moments[turn]
        rest = 4 * (k[sway] * below) ** 2 / (mass * moments[turn])
        squares += [(b + c + s * np.sqrt((b - c) ** 2 + rest)) / 2 for s in (-1, 1)]
    assert [m.frequency for m in found.modes] == pytest.approx(np.sqrt(np.sort(squares)) / (2 * np.pi), rel=1e-10)


def test_energy_and_both_coordinates():
    for damped in (False, True):
        system = pair(damped)
        v = np.random.default_rng(3).normal(size=12)
        options: Any = {"v": v, "rtol": 1e-11, "atol": 1e-11}
        tree = ch.simulate(system, (0, 2), **options)
        free = ch.simulate(system, (0, 2), coordinates="absolute", **options)
        assert np.abs(tree["two"].position[-1] - free["two"].position[-1]).max() < 1e-8
        for run in (tree, free):
            assert np.ptp(run.energies.balance) < 1e-8 * run.energies.kinetic.max()
            assert (run.energies.work[-1] < -0.01) == damped
            assert run.energies.springs.max() > 0.1


def test_which_body_is_first_does_not_matter():
    v = np.random.default_rng(3).normal(size=12)
    one, other = (pair(swapped=swapped).compile() for swapped in (False, True))
    q = one.random(np.random.default_rng(4))
    a, b = one.applied_forces(q, v), other.applied_forces(q, v)
    assert np.abs(a.wrenches - b.wrenches).max() < 1e-12 * np.abs(a.wrenches).max()
    assert a.power == pytest.approx(b.power, rel=1e-12)


def test_inner_forces_balance():
    """Without the ground, momentum is kept: the wrenches on both bodies are opposite about any point."""
    rng = np.random.default_rng(8)
    mount = ch.Bushing("link", ("one", "two"), (frame(rng), frame(rng)), symmetric(rng), symmetric(rng))
    mechanism = ch.System(bodies(rng, "one", "two"), forces=[mount], gravity=(0, 0, 0)).compile()
    q, v = mechanism.random(rng), rng.normal(size=12)
    in_space = pose.AdT_apply(pose.inverse(mechanism.poses(q)), mechanism.applied_forces(q, v).wrenches.reshape(2, 6))
    assert np.abs(in_space.sum(axis=0)).max() < 1e-13 * np.abs(in_space).max()


METHODS = {
    "index 2": (ch.integrate.GeneralizedAlpha(0.9), 400),
    "index 3": (ch.integrate.GeneralizedAlpha(0.9, index=3), 400),
    "BLieDF": (ch.integrate.BLieDF(3), 400),
    "RATTLE": (ch.integrate.Rattle(), 400),
    "half-explicit": (ch.integrate.HalfExplicit(4), 50),
    "energy-momentum": (ch.integrate.EnergyMomentum(), 400),
}


def loop() -> ch.System:
    system = four_bar()
    ends = ((0, 0, 0), four_bar_poses(1.0)[2] * [1, -1, -1, -1, 0, 0, 0])  # along the axes of space at the start
    K, D = (0, 0, 5.0, 30.0, 30.0, 30.0), (0, 0, 0.2, 1, 1, 1)
    return system.with_force(ch.Bushing("mount", ("crank", "rocker"), ends, K, D))


@pytest.mark.parametrize("name", METHODS)
def test_a_loop_with_all_methods(name):
    """Against joint coordinates with an explicit method."""
    method, steps = METHODS[name]
    system, start = loop(), {"poses": four_bar_poses(1.0), "twists": four_bar_twists(1.0, 3.0)}
    begin = ch.simulate(system, (0, 1e-3), coordinates="absolute", method="rk4", step=1e-3, **start)
    q, v = ({joint.name: getattr(begin.joint(joint.name), x)[0] for joint in system.joints[:3]} for x in "qv")
    exact = ch.simulate(system, (0, 0.2), q, v, rtol=1e-11, save="final")
    run = ch.simulate(
        system, (0, 0.2), coordinates="absolute", space="SO3xR3", method=method, step=0.2 / steps, save="final", **start
    )
    for body in ("crank", "coupler", "rocker"):
        assert np.abs(run[body].pose[-1] - exact[body].pose[-1]).max() < 1e-5
        assert np.abs(run[body].twist[-1] - exact[body].twist[-1]).max() < 3e-5 * np.abs(exact[body].twist[-1]).max()


def chain(n: int, stiffness: float = 1e5) -> ch.System:
    """Rods along x, one mounted on the next, the first on the ground."""
    rods = [ch.Body(f"rod {k}", 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1)) for k in range(n)]
    K = stiffness * np.array([1e-1, 1e-1, 1e-1, 1.0, 1.0, 1.0])
    D = 1e-3 * K
    mounts = [
        ch.Bushing(f"mount {k}", (f"rod {k - 1}" if k else "ground", f"rod {k}"), ((bool(k), 0, 0), (0, 0, 0)), K, D)
        for k in range(n)
    ]
    starts = [ch.free(f"free {k}", "ground", f"rod {k}", at=(float(k), 0, 0)) for k in range(n)]
    return ch.System(rods, starts, forces=mounts)


def test_a_stiff_chain_takes_few_iterations_and_its_cost_is_linear():
    """Steps far above the periods; operations of the factorization grow by the same number for every body."""
    going = {n: stepper(chain(n, 1e7), 1.0, "SO3xR3", ch.integrate.GeneralizedAlpha(0.6), 5e-3) for n in (10, 20, 40)}
    operations = [len(STRUCTURE.part(run.packed, "operations")) for run in going.values()]
    assert operations[2] - operations[1] == 2 * (operations[1] - operations[0])
    going[10].advance(100)
    assert going[10].evaluations() / 100 < 5.0


@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("step", [1e-2, 4e-2])
def test_dampers_that_a_step_cannot_follow(index, step):
    """From rest, far from the balance with the weight: the derivative of the accelerations is 1e4 times what a step
    makes of them. Against Radau IIA, which starts without it."""
    method = ch.integrate.GeneralizedAlpha(0.6, index=index)
    system, options = chain(3, 1e9), {"coordinates": "absolute", "step": step, "save": "final"}
    found = ch.simulate(system, (0, 0.2), method=method, **options)
    other = ch.simulate(system, (0, 0.2), method="radau5", **options)
    assert found.solution.evaluations < 6 * found.solution.steps
    fall = 0.5 * 9.81 * step**2  # of a free body in one step
    assert np.abs(found["rod 2"].pose[-1] - other["rod 2"].pose[-1]).max() < 1e-2 * fall


MATRICES: dict[str, tuple[Any, str]] = {
    "five numbers": (np.ones(5), r"stiffness has shape \(5,\); expected \(6,\) or \(6, 6\)"),
    "negative": ((1, 1, -2, 1, 1, 1), "stiffness has -2 on its diagonal"),
    "one-sided": (np.eye(6) + np.eye(6, k=1), "stiffness is not symmetric: 1 in row 0, column 1, but 0 in row 1"),
    "one-sided beside zeros": (np.eye(6, k=1), "stiffness is not symmetric"),
    "pushes away": (np.eye(6) + 2 * (np.eye(6, k=3) + np.eye(6, k=-3)), "stiffness has a negative eigenvalue"),
    "not a number": (np.full(6, np.nan), "stiffness is not finite"),
}


@pytest.mark.parametrize("case", MATRICES)
def test_matrices_that_no_energy_has_are_refused(case):
    value, message = MATRICES[case]
    with pytest.raises(ValueError, match=f"bushing 'm': {message}"):
        ch.Bushing("m", ("a", "b"), stiffness=value)


def test_matrices_may_be_rounded_and_units_do_not_matter():
    """A measured matrix off symmetry by rounding, in units in which rotations are a billion times as stiff."""
    unit = np.repeat([1e9, 1.0], 3)
    K = symmetric(RNG) * np.outer(unit, unit)
    off = K * (1 + 1e-11 * RNG.uniform(-1, 1, (6, 6)))
    kept = np.array(ch.Bushing("m", ("a", "b"), stiffness=off).stiffness)
    assert np.array_equal(kept, kept.T)
    assert ch.Bushing("m", ("a", "b"), stiffness=np.diag([1.0, 2, 3, 4, 5, 6])).stiffness == (1, 2, 3, 4, 5, 6)


def test_frames_that_are_no_poses_are_refused():
    for wrong in (((0, 0, 0),), 3.0, ((0, 0, 0), (0, 0, 0, 0))):
        with pytest.raises(ValueError, match="bushing 'm': frames"):
            ch.Bushing("m", ("a", "b"), wrong)
    with pytest.raises(ValueError, match="two different bodies"):
        ch.Bushing("m", ("a", "a"))
