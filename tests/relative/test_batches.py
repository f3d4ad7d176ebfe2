"""How batches reach the compiled loops."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from chasles.kernel.policy import COMPILED
from chasles.relative import algorithm, forward, inverse, kinematics, mass, sharing
from chasles.relative.mechanism import Mechanism
from chasles.relative.raw import Raw
from tests.relative import models, zoo


@pytest.fixture(scope="module")
def mechanism():
    return Mechanism(models.system_of(models.chain()))


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_loop_has_one_signature_however_it_is_called(mechanism):
    """Each costs seconds of compilation: a read-only or strided array must not make another."""
    n, bodies = mechanism.nv, len(mechanism.bodies)
    for batch in ((), (1,), (3,), (5,), (2, 3)):
        for q_batch in {(), batch}:
            q, x = np.zeros((*q_batch, n)), np.asfortranarray(np.zeros((*batch, n)))
            x.flags.writeable = False
            for wrenches in (None, np.zeros((bodies, 6)), np.zeros((*batch, bodies, 6))):
                mechanism.inverse_dynamics(q, x, x, wrenches)
                mechanism.forward_dynamics(q, x, x, wrenches)
            mechanism.accelerations(q, x, x)
            mechanism.twists(q, x)
        mechanism.mass_matrix(np.zeros((*batch, n)))
        mechanism.poses(np.zeros((*batch, n)))
    every = (inverse.inverse_dynamics, forward.forward_dynamics, mass.mass_matrix, kinematics.motion_of_frames)
    for one in every:
        assert (len(one.scalar.signatures), len(one.lanes.signatures)) == (1, 1)
        one.compile()
        one.compile(lanes=True)
        assert (len(one.scalar.signatures), len(one.lanes.signatures)) == (1, 1)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_code_for_lanes_is_compiled_when_enough_was_done_one_by_one(monkeypatch):
    """A first run of some hundred states should not wait for it; what is on disk is used at once."""
    one = algorithm.Algorithm(inverse.inverse_dynamics.kernel.py_func, "nv", {"q": "nq"})
    monkeypatch.setattr(algorithm, "FEW", 100)
    monkeypatch.setattr(algorithm, "PATIENCE", 3)
    monkeypatch.setattr(type(one.lanes), "at_hand", lambda self, kinds: False)
    assert [one._on_lanes(8, work) for work in (99, 120, 99, 150, 29, 99, 120, 120)] == [*[False] * 6, True, True]
    assert algorithm.Algorithm._on_lanes(one, 3, 1000) is False  # fewer states than lanes
    monkeypatch.setattr(one, "_waited", 0)
    monkeypatch.setattr(type(one.lanes), "at_hand", lambda self, kinds: True)
    assert [one._on_lanes(8, work) for work in (99, 100)] == [False, True]


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_code_that_is_at_hand_is_found_without_compiling(mechanism, monkeypatch):
    loop = mass.mass_matrix.lanes
    mass.mass_matrix.compile(lanes=True)
    (kinds,) = loop.signatures
    assert loop.at_hand(kinds)
    other = type(loop)(loop.py_func)  # as in a new process
    monkeypatch.setattr(type(loop), "_make", lambda *given: pytest.fail("it was compiled"))
    assert other.at_hand(kinds) == (loop.store.load(kinds) is not None)
    assert not other.at_hand(("int64",))
    assert other.signatures == ([kinds] if other.found else [])


def test_order_in_memory_does_not_matter(mechanism):
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 7, mechanism.nv))
    expected = mechanism.inverse_dynamics(q, v, a)
    for change in (np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x[::-1].copy()[::-1]):
        np.testing.assert_array_equal(mechanism.inverse_dynamics(change(q), change(v), change(a)), expected)


def test_no_states(mechanism):
    n, none = mechanism.nv, np.zeros((0, mechanism.nv))
    assert mechanism.inverse_dynamics(none, none, none).shape == (0, n)
    assert mechanism.forward_dynamics(none, none, none).shape == (0, n)
    assert mechanism.mass_matrix(none).shape == (0, n, n)
    assert mechanism.poses(none).shape == (0, 6, 7)
    assert mechanism.accelerations(none, none, none, "six").shape == (0, 6)
    assert mechanism.inverse_dynamics(np.zeros(n), none, none).shape == (0, n)
    assert mechanism.inverse_dynamics(none, none, none, np.zeros((0, 6, 6))).shape == (0, n)
    assert mechanism.mass_matrix(np.zeros((2, 0, 3, n))).shape == (2, 0, 3, n, n)


def test_no_frames(mechanism):
    assert mechanism.poses(np.zeros((4, mechanism.nq)), []).shape == (4, 0, 7)


def test_one_state_is_read_where_it_is(mechanism):
    """Arguments that fit are not copied, others are; the caller's arrays stay as they were, results are new arrays."""
    q, v, a = np.random.default_rng(2).normal(size=(3, mechanism.nv))
    given = [x.copy() for x in (q, v, a)]
    first = mechanism.inverse_dynamics(q, v, a)
    kept = first.copy()
    assert mechanism.inverse_dynamics(2 * q, v, a) is not first
    np.testing.assert_array_equal(first, kept)
    for x, before in zip((q, v, a), given, strict=True):
        np.testing.assert_array_equal(x, before)
    fixed = a.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(mechanism.inverse_dynamics(list(q), np.repeat(v, 2)[::2], fixed), kept)
    np.testing.assert_allclose(
        mechanism.inverse_dynamics(*(np.tile(x, (4, 1)) for x in (q, v, a)))[3], kept, rtol=1e-13
    )
    assert np.isfinite(mechanism.inverse_dynamics(q, 0 * v, 1e200 * a)).all()  # whose square is not finite
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"v\[1\] is not finite"):
            mechanism.inverse_dynamics(q, np.where(np.arange(mechanism.nv) == 1, bad, v), a)


def test_one_state_in_several_threads(mechanism):
    """Workspaces are not shared."""
    states = np.random.default_rng(3).normal(size=(2000, 3, mechanism.nv))
    expected = [mechanism.forward_dynamics(*state) for state in states]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda state: mechanism.forward_dynamics(*state), states))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_threads_are_for_work_that_is_worth_them(mechanism, monkeypatch):
    """To start them takes longer than a small batch, by the pace of the states before."""
    monkeypatch.setattr(sharing, "SHARE", 2e-3)
    started = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, count):
            started.append(count + 1)  # and this thread
            super().__init__(count)

    monkeypatch.setattr(sharing, "ThreadPoolExecutor", Pool)
    pace: dict[bool, float] = {}
    monkeypatch.setattr(inverse.inverse_dynamics, "_pace", pace)
    several = Mechanism(mechanism.system, threads=3)
    q = np.random.default_rng(2).normal(size=(4000, mechanism.nv))
    expected = mechanism.inverse_dynamics(q, q, q)
    for count in (200, 200, 200):
        np.testing.assert_array_equal(several.inverse_dynamics(*[q[:count]] * 3), expected[:count])
    assert not started
    assert 0.0 < pace[True] <= sharing.SLOWER**2 * sharing.PACE
    for work, threads in ((1.9, 1), (2.1, 1), (4.1, 2), (6.1, 3), (60.0, 3)):  # milliseconds
        pace[True] = 1e-3 * work / (4000 * several.tables.links)
        np.testing.assert_array_equal(several.inverse_dynamics(q, q, q), expected)
        assert (started[-1] if started else 1) == threads


def test_whoever_is_free_takes_the_next_piece(monkeypatch):
    """One that is slow takes fewer; an error ends all, and is raised."""
    monkeypatch.setattr(sharing, "SHARE", 1e-12)
    here, ours, theirs, all_taken = threading.get_ident(), [], [], threading.Event()

    def part(first, last):
        if threading.get_ident() == here:
            ours.append((first, last))
        else:
            theirs.append((first, last))
            all_taken.wait(60)  # until the other one has taken the rest
        if len(ours) + len(theirs) == 8:
            all_taken.set()

    sharing.shared(part, 1000, 1000, 2, {}, False)
    assert sorted(ours + theirs) == [(125 * k, 125 * (k + 1)) for k in range(8)]
    assert len(theirs) <= 1

    def wrong(first, last):
        raise ArithmeticError(first)

    with pytest.raises(ArithmeticError):
        sharing.shared(wrong, 1000, 1000, 2, {}, False)


def test_raw_mass_matrices_of_the_same_arrays_again():
    """What joints on other branches share is zero, whatever stood there; other arrays are looked at anew."""
    mechanism = Mechanism(zoo.tree(5, ("free", *("revolute",) * 4, "spherical")))
    raw, out = mechanism.raw, np.full((mechanism.nv, mechanism.nv), 7.0)
    q = zoo.state(mechanism)[0]
    for seed in range(3):
        q[:] = zoo.state(mechanism, seed)[0]
        out[:] = 7.0
        assert raw.mass_matrix(q, out) is out
        np.testing.assert_array_equal(out, mechanism.mass_matrix(q))
    with pytest.raises(ValueError, match="out has shape"):
        raw.mass_matrix(q, out[:-1].copy())


@pytest.mark.parametrize("count", [None, 1, 3, 4, 5, 6, 7, 9])
def test_raw_results_may_be_written_over_what_is_read(mechanism, count):
    """The last four states of a batch overlap those before them: they are read after results were written."""
    rng, nv = np.random.default_rng(5), mechanism.nv
    shape = (nv,) if count is None else (count, nv)
    q, v, a = rng.normal(size=(3, *shape))
    derivatives = [np.empty((*shape, nv)) for _ in range(3)]
    for _ in range(20):  # also by the builtin
        for given in range(3):
            arrays = [q.copy(), v.copy(), a.copy()]
            found = mechanism.raw.inverse_dynamics(*arrays, arrays[given])
            np.testing.assert_array_equal(found, mechanism.inverse_dynamics(q, v, a))
        room = np.append(a, 0.0)
        found = mechanism.raw.forward_dynamics(q, v, room[:-1].reshape(shape), room[1:].reshape(shape))
        np.testing.assert_array_equal(found, mechanism.forward_dynamics(q, v, a))
        dq, dv, _ = derivatives
        with pytest.raises(ValueError, match=r"raw\.inverse_dynamics_derivatives: dv and da share memory"):
            mechanism.raw.inverse_dynamics_derivatives(q, v, a, dq, dv, dv)
        mechanism.raw.inverse_dynamics_derivatives(q, v, a, *derivatives)


def test_threads_wait_for_the_workspace_of_a_raw(mechanism, monkeypatch):
    q, out, algorithm = np.zeros((8, mechanism.nv)), np.zeros((8, mechanism.nv)), inverse.inverse_dynamics
    raw, loop, together = Raw(mechanism), algorithm.lanes, threading.Barrier(2)

    def alone(*arguments):
        with pytest.raises(threading.BrokenBarrierError):
            together.wait(0.05)  # nobody comes
        together.reset()
        loop(*arguments)

    monkeypatch.setattr(algorithm, "lanes", alone)
    with ThreadPoolExecutor(2) as threads:
        for made in [threads.submit(raw.inverse_dynamics, q, q, q, out.copy()) for _ in range(2)]:
            np.testing.assert_array_equal(
                made.result(), mechanism.inverse_dynamics(q[0], q[0], q[0])[None].repeat(8, 0)
            )
