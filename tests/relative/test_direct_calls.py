"""Calls on one state that come again and again go straight to the compiled code: same bits, same errors."""

import gc
import pickle
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from chasles.kernel import direct
from chasles.model import joint as make
from chasles.model.body import Body
from chasles.model.system import System
from chasles.relative import direct_calls, forward
from chasles.relative.mechanism import Mechanism
from tests.relative.zoo import MOVING, state

pytestmark = pytest.mark.skipif(not direct.available(), reason="nothing is compiled, or arrays lie in another way")

CALLS = {
    "inverse_dynamics": lambda m, q, v, a: m.inverse_dynamics(q, v, a),
    "forward_dynamics": lambda m, q, v, a: m.forward_dynamics(q, v, a),
    "mass_matrix": lambda m, q, v, a: m.mass_matrix(q),
    "poses": lambda m, q, v, a: m.poses(q),
    "poses of a frame": lambda m, q, v, a: m.poses(q, "tool"),
    "poses of some": lambda m, q, v, a: m.poses(q, ["side", "b0"]),
    "jacobian": lambda m, q, v, a: m.jacobian(q, "tool"),
    "jacobian of some": lambda m, q, v, a: m.jacobian(q, ("side", "tool"), representation="hybrid"),
}


def often(mechanism: Mechanism, seed: int = 3) -> Mechanism:
    """The mechanism, after it was called often enough."""
    given = state(mechanism, seed)
    for call in CALLS.values():
        for _ in range(direct_calls.OFTEN):
            call(mechanism, *given)
    assert mechanism.tables.direct.inverse_dynamics is not None
    return mechanism


@pytest.fixture(scope="module")
def quick() -> dict[str, Mechanism]:
    return {name: often(Mechanism(mechanism.system)) for name, mechanism in MOVING.items()}


@pytest.mark.parametrize("name", MOVING)
def test_the_same_bits_as_the_thorough_way(quick, name):
    thorough, mechanism = MOVING[name], quick[name]
    for seed in range(5):
        q, v, a = state(mechanism, seed)
        for call in CALLS.values():
            expected = call(thorough, q[None], v[None], a[None])[0]
            found = call(mechanism, q, v, a)
            assert found.shape == expected.shape
            assert found.tobytes() == np.ascontiguousarray(expected).tobytes()
        calls = mechanism.tables.direct
        assert calls.inverse_dynamics(q, v, a) is not None  # that it was not the thorough way
        assert calls.forward_dynamics(q, v, a) is not None
        assert calls.mass_matrix(q) is not None
        assert set(calls.poses) == {None, "tool", ("side", "b0")}
        assert set(calls.jacobian) == {"tool", (None, ("side", "tool"), "hybrid")}
        assert all(call(q) is not None for call in (*calls.poses.values(), *calls.jacobian.values()))


class Own(np.ndarray):
    """An array of another class."""


def wrong(x: np.ndarray) -> dict[str, object]:
    """An argument in all kinds of wrong and of unusual ways."""
    bad, endless, doubled = x.copy(), x.copy(), np.repeat(x, 2)
    bad[-1], endless[0] = np.nan, -np.inf
    readonly, odd = x.copy(), np.frombuffer(b" " + x.tobytes(), dtype=np.uint8)[1:].view(float)
    readonly.flags.writeable = False
    found: dict[str, object] = {"nan": bad, "infinite": endless, "short": x[:-1], "empty": x[:0], "nothing": None}
    found |= {"text": "q", "list": x.tolist(), "tuple": tuple(x), "column": x[:, None], "row": x[None], "scalar": 1.0}
    found |= {"class": x.view(Own), "single": x.astype(np.float32), "swapped": x.astype(">f8"), "odd": odd}
    found |= {"complex": x + 0j, "strided": doubled[::2], "reversed": x[::-1].copy()[::-1], "readonly": readonly}
    found |= {"objects": x.astype(object), "large": np.full_like(x, 1e308), "twice": 2.0 * x, "ragged": [[1.0], [1, 2]]}
    return found | {"whole": np.round(x).astype(int)}


def outcome(call, *given):
    with np.errstate(all="ignore"):
        try:
            return np.asarray(call(*given)).tobytes()
        except (ValueError, TypeError) as error:
            return type(error), str(error)


@pytest.mark.parametrize("name", ["arm", "kinds", "rooted"])
def test_the_same_errors_as_the_thorough_way(quick, name, monkeypatch):
    mechanism = quick[name]
    monkeypatch.setattr(direct_calls, "available", lambda: False)
    thorough = Mechanism(mechanism.system)
    for place in range(3):
        given = list(state(mechanism, 1))
        for what, value in wrong(given[place]).items():
            given[place] = value
            for label, call in CALLS.items():
                assert outcome(call, mechanism, *given) == outcome(call, thorough, *given), (label, place, what)
    assert thorough.tables.direct.inverse_dynamics is None


@pytest.mark.parametrize("name", MOVING)
def test_a_number_that_is_not_finite_is_seen_at_each_place(quick, name):
    """Several numbers are looked at together, and what is left at the end one by one."""
    mechanism = quick[name]
    q, v, a = state(mechanism, 2)
    calls = mechanism.tables.direct
    for place in range(len(v)):
        for value in (np.nan, -np.nan, np.inf, -np.inf):
            bad = v.copy()
            bad[place] = value
            assert calls.inverse_dynamics(q, bad, a) is None
            assert calls.inverse_dynamics(q, v, bad) is None
    largest = np.where(np.arange(len(v)) % 2, 1.0, -1.0) * np.finfo(float).max
    assert calls.inverse_dynamics(q, v, largest) is not None


def test_a_quaternion_is_looked_at_in_each_place(quick):
    mechanism = quick["kinds"]
    q = state(mechanism, 2)[0]
    assert len(mechanism.tables.quaternions) > 1
    for start in mechanism.tables.quaternions:
        joint = mechanism.tables.joint_at(int(start))
        for k in range(4):
            off = q.copy()
            off[start + k] += 1e-4
            with pytest.raises(ValueError, match=f"^mass_matrix: q: the quaternion of joint '{joint}' has length"):
                mechanism.mass_matrix(off)
            off[start + k] = q[start + k] + 1e-10
            assert mechanism.tables.direct.mass_matrix(off) is not None


def test_an_inertia_that_is_singular_is_named():
    """The accelerations are looked at in the compiled function, too."""
    system = System([Body("a", 1.0)], [make.revolute("hinge", "ground", "a", axis=(0, 0, 1))], gravity=(0, 0, 0))
    mechanism, one = Mechanism(system), np.ones(1)
    for _ in range(direct_calls.OFTEN + 1):
        with pytest.raises(ValueError, match="the inertia that joint 'hinge' moves is singular"):
            mechanism.forward_dynamics(one, one, one)
    given: Any = forward.forward_dynamics, ("q", "v", "tau"), "a", (1,)
    assert mechanism.tables.direct._made(*given, finite=True)(one, one, one) is None
    assert not np.isfinite(mechanism.tables.direct._made(*given, finite=False)(one, one, one)).all()


def test_frames_in_any_form(quick):
    q, names = state(quick["arm"])[0], ["side", "tool"]
    for form in (names, tuple(names), np.array(names), dict.fromkeys(names), (name for name in names)):
        np.testing.assert_array_equal(quick["arm"].poses(q, form), MOVING["arm"].poses(q[None], names)[0])
    for form in (names, np.array(names), iter(names)):
        np.testing.assert_array_equal(quick["arm"].jacobian(q, form), MOVING["arm"].jacobian(q[None], names)[0])


def test_wrong_numbers_of_arguments_are_refused(quick):
    call, (q, v, a) = quick["arm"].tables.direct.inverse_dynamics, state(quick["arm"])
    assert call() is call(q) is call(q, v) is call(q, v, a, a) is None


def test_results_are_new_and_nothing_is_kept(quick):
    mechanism = quick["floating"]
    q, v, a = state(mechanism, 4)
    first = mechanism.inverse_dynamics(q, v, a)
    expected = first.copy()
    counts = [sys.getrefcount(x) for x in (q, v, a, None)]
    results = [mechanism.inverse_dynamics(q, v, a) for _ in range(100)]
    bad = np.full_like(q, np.nan)
    assert all(mechanism.tables.direct.mass_matrix(bad) is None for _ in range(100))
    assert [sys.getrefcount(x) for x in (q, v, a)] == counts[:3]
    assert abs(sys.getrefcount(None) - counts[3]) < 50
    assert {sys.getrefcount(result) for result in results} == {3}  # the list, the loop, the question
    results[0][:] = 7.0
    assert results[1].flags.owndata
    assert results[1].flags.writeable
    for result in (first, *results[1:]):
        np.testing.assert_array_equal(result, expected)


def test_it_lives_on_without_its_mechanism():
    mechanism = often(Mechanism(MOVING["kinds"].system))
    q, v, a = state(mechanism)
    call, expected = mechanism.tables.direct.forward_dynamics, mechanism.forward_dynamics(q, v, a)
    alive = weakref.ref(mechanism)
    del mechanism
    for generation in (1, 2):  # all that the tests before left behind is looked through only if it has to be
        if alive() is not None:
            gc.collect(generation)
    again = [np.full(5000, np.nan) for _ in range(200)]  # what was freed is written over
    np.testing.assert_array_equal(call(q, v, a), expected)
    del again


def test_threads_share_it(quick):
    mechanism = quick["floating"]
    states = [state(mechanism, seed) for seed in range(8)]
    expected = [mechanism.forward_dynamics(*given) for given in states]

    def many(k):
        return all(np.array_equal(mechanism.forward_dynamics(*states[k]), expected[k]) for _ in range(300))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(many, range(8), timeout=60))


def test_a_copy_begins_anew(quick):
    copy = pickle.loads(pickle.dumps(quick["arm"]))
    given = state(copy)
    assert copy.tables.direct.inverse_dynamics is None
    np.testing.assert_array_equal(copy.inverse_dynamics(*given), quick["arm"].inverse_dynamics(*given))


def test_large_trees_let_other_threads_run(monkeypatch):
    monkeypatch.setattr(direct_calls, "MANY_LINKS", 6)
    large = Mechanism(MOVING["arm"].system)
    q, v, a = state(large)
    for _ in range(direct_calls.OFTEN + 1):
        large.inverse_dynamics(q, v, a)
    assert large.tables.direct.inverse_dynamics is None


def test_very_many_frames_are_not_all_kept(monkeypatch):
    monkeypatch.setattr(direct_calls, "MOST", 3)
    mechanism = Mechanism(MOVING["arm"].system)
    q = state(mechanism)[0]
    for name in mechanism.bodies:
        for _ in range(direct_calls.OFTEN + 1):
            np.testing.assert_array_equal(mechanism.poses(q, name), mechanism.poses(q)[mechanism.bodies.index(name)])
    assert len(mechanism.tables.direct.poses) == 3
