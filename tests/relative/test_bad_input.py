"""What is wrong is said with names: mechanisms that are no trees, coordinates off their groups, singular inertias."""

import numpy as np
import pytest

from chasles.model import joint as make
from chasles.model.body import Body, Frame
from chasles.model.system import System
from chasles.relative import inverse
from chasles.relative.direct_calls import OFTEN
from chasles.relative.mechanism import Mechanism

X, Z = (1, 0, 0), (0, 0, 1)


def solid(name: str) -> Body:
    return Body(name, 1.0, (0.1, 0.2, 0.3), (0.3, 0.3, 0.3))


def arm(*names: str, **joint) -> System:
    """A chain of revolute joints."""
    parents = ("ground", *names)
    joints = [make.revolute(f"to {n}", p, n, axis=Z, **joint) for p, n in zip(parents, names, strict=False)]
    return System([solid(name) for name in names], joints)


# ---------------------------------------------------------------- no tree


def test_two_joints_into_one_body():
    system = arm("a", "b").with_joint(make.revolute("second", "ground", "b", axis=Z))
    with pytest.raises(
        ValueError, match=r"body 'b' is the child of two joints, 'to b' and 'second': .* must be a tree"
    ):
        Mechanism(system)


def test_a_loop_that_does_not_reach_the_ground():
    ring = [make.revolute(f"{p}{c}", p, c, axis=Z) for p, c in ("ab", "bc", "ca")]
    system = System([solid(name) for name in "abcd"], ring)
    with pytest.raises(
        ValueError, match=r"joints 'ca', 'ab', 'bc' form a loop|joints .*'ab'.* form a loop that does not"
    ):
        Mechanism(system)


# ---------------------------------------------------------------- arguments


@pytest.fixture(scope="module")
def mechanism():
    system = arm("a", "b").with_body(solid("c")).with_joint(make.spherical("ball", "b", "c"))
    return Mechanism(system.with_frame(Frame("tool", "b", (0, 0, 1))))


GOOD = {"q": [0, 0, 1, 0, 0, 0], "v": np.zeros(5), "a": np.zeros(5), "tau": np.zeros(5)}
CALLS = {
    "poses": ("q",),
    "twists": ("q", "v"),
    "accelerations": ("q", "v", "a"),
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "mass_matrix": ("q",),
}


@pytest.mark.parametrize(("function", "argument"), [(f, name) for f, names in CALLS.items() for name in names])
def test_arguments_are_checked_by_name(mechanism, function, argument):
    def call(value):
        given = [value if name == argument else GOOD[name] for name in CALLS[function]]
        return getattr(mechanism, function)(*given)

    size = 6 if argument == "q" else 5
    call(GOOD[argument])
    for wrong in (np.zeros(size + 1), np.zeros(size - 1), 0.0, np.zeros((size, 2)), []):
        with pytest.raises(ValueError, match=rf"{function}: {argument} has shape .*; expected \(\.\.\., {size}\)"):
            call(wrong)
    broken = np.array(GOOD[argument], dtype=float)
    for value in (np.nan, np.inf):
        broken[1] = value
        with pytest.raises(ValueError, match=rf"{function}: {argument}\[1\] is not finite"):
            call(broken)
    for wrong in ("text", None, [1j] * size, [[0.0], [0.0, 0.0]]):
        with pytest.raises(ValueError, match=f"{function}: {argument} is not an array of real numbers"):
            call(wrong)


@pytest.mark.parametrize("function", CALLS)
def test_quaternions_off_the_sphere(mechanism, function):
    others = [GOOD[name] for name in CALLS[function][1:]]
    for length in (1.0 + 1e-6, 0.0, 2.0):
        message = (
            rf"{function}: q: the quaternion of joint 'ball' has length {length:.9g}; expected 1 \(order w, x, y, z\)"
        )
        with pytest.raises(ValueError, match=message):
            getattr(mechanism, function)([0, 0, length, 0, 0, 0], *others)
    batch = np.tile(GOOD["q"], (2, 3, 1))
    batch[1, 2, 2] = 3
    with pytest.raises(ValueError, match=rf"{function}: q\[1, 2\]: the quaternion of joint 'ball' has length 3"):
        getattr(mechanism, function)(batch, *others)
    getattr(mechanism, function)([0, 0, 1 + 1e-9, 0, 0, 0], *others)


def test_batches_that_do_not_broadcast(mechanism):
    with pytest.raises(ValueError, match=r"inverse_dynamics: leading axes do not broadcast: q \(2,\), v \(3,\)"):
        mechanism.inverse_dynamics(np.tile(GOOD["q"], (2, 1)), np.zeros((3, 5)), np.zeros(5))


def test_wrenches(mechanism):
    with pytest.raises(ValueError, match=r"inverse_dynamics: wrenches has shape \(2, 6\); expected \(\.\.\., 3, 6\)"):
        mechanism.inverse_dynamics(GOOD["q"], GOOD["v"], GOOD["a"], np.zeros((2, 6)))
    with pytest.raises(ValueError, match=r"forward_dynamics: wrenches\[1, 2\] is not finite"):
        mechanism.forward_dynamics(GOOD["q"], GOOD["v"], GOOD["a"], [[0] * 6, [0, 0, np.nan, 0, 0, 0], [0] * 6])


def test_frames_and_representations(mechanism):
    with pytest.raises(ValueError, match=r"there is no body or frame 'hook'; bodies and frames: a, b, c, tool"):
        mechanism.poses(GOOD["q"], "hook")
    with pytest.raises(ValueError, match=r"there is no body or frame 'hook'"):
        mechanism.twists(GOOD["q"], GOOD["v"], ["tool", "hook"])
    with pytest.raises(ValueError, match=r"twists: .*'world'"):
        mechanism.twists(GOOD["q"], GOOD["v"], representation="world")


# ---------------------------------------------------------------- no inertia


def test_a_joint_that_carries_no_mass():
    for joint in (
        make.revolute("last", "a", "tip", axis=X),
        make.spherical("last", "a", "tip"),
        make.free("last", "a", "tip"),
    ):
        system = arm("a").with_body(Body("tip")).with_joint(joint)
        with pytest.raises(ValueError, match=r"joint 'last' carries no mass: body 'tip' and all that hangs on it"):
            Mechanism(system)
    with pytest.raises(ValueError, match=r"joint 'free tip' carries no mass: body 'tip'"):
        Mechanism(System([Body("tip")]))


def test_a_massless_body_between_bodies_with_mass_is_fine():
    system = arm("a", "b", "c")
    bodies = [Body("b") if body.name == "b" else body for body in system.bodies]
    joints = [make.revolute(j.name, j.parent, j.child, axis=X if j.child == "b" else Z) for j in system.joints]
    mechanism = Mechanism(System(bodies, joints))
    a = mechanism.forward_dynamics([0.1, 0.2, 0.3], [1, 2, 3], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(mechanism.inverse_dynamics([0.1, 0.2, 0.3], [1, 2, 3], a), [0.1, 0.2, 0.3], atol=1e-12)


def test_a_rotor_is_inertia_enough():
    system = arm("a").with_body(Body("wheel")).with_joint(make.revolute("spin", "a", "wheel", axis=Z, armature=0.5))
    np.testing.assert_allclose(Mechanism(system).forward_dynamics([0, 0], [0, 0], [0, 2])[1], 4.0, rtol=1e-15)
    both = make.universal("spin", "a", "wheel", armature=(0.5, 0.0))
    with pytest.raises(ValueError, match=r"joint 'spin' carries no mass"):
        Mechanism(arm("a").with_body(Body("wheel")).with_joint(both))


def test_a_welded_massless_body_is_a_frame():
    plain, rng = arm("a", "b"), np.random.default_rng(3)
    system = plain.with_body(Body("flange"), Body("base")).with_joint(
        make.weld("bolt", "b", "flange", at=(0, 0, 1)), make.weld("screw", "ground", "base", at=(1, 0, 0))
    )
    ours, other = Mechanism(system), Mechanism(plain.with_frame(Frame("flange", "b", (0, 0, 1))))
    q, v, a = rng.normal(size=(3, 2))
    np.testing.assert_array_equal(ours.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a))
    np.testing.assert_array_equal(ours.twists(q, v, "flange"), other.twists(q, v, "flange"))
    np.testing.assert_array_equal(ours.poses(q, "base"), [1, 0, 0, 0, 1, 0, 0])


POINT = Body("bob", 1.0, (0.0, 0.0, 0.3))
SINGULAR = {
    "revolute": make.revolute("hang", "ground", "bob", axis=Z),
    "helical without pitch": make.helical("hang", "ground", "bob", axis=Z, pitch=0.0),
    "spherical": make.spherical("hang", "ground", "bob"),
    "cylindrical": make.cylindrical("hang", "ground", "bob", axis=Z),
    "universal": make.universal("hang", "ground", "bob", axes=(X, Z)),
    "free": make.free("hang", "ground", "bob"),
    "at the point": make.spherical("hang", "ground", "bob", child_at=(0, 0, 0.3)),
    "axis anywhere": make.revolute("hang", "ground", "bob", axis=(0.1, 0.7, -0.4), child_at=(0, 0, 0.3)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, with the compiler switched off
@pytest.mark.parametrize("batch", [(), (1,), (6,), (2, 3)])
@pytest.mark.parametrize("joint", SINGULAR.values(), ids=SINGULAR)
def test_a_point_mass_on_its_axis(joint, batch):
    """Inverse dynamics is defined, forward dynamics is not; never inf or nan."""
    mechanism = Mechanism(System([POINT], [joint]))
    q = np.zeros(mechanism.nq)
    q[0] = 1.0 if joint.kind in ("spherical", "free") else 0.3
    v = np.full((*batch, mechanism.nv), 0.2)
    assert np.isfinite(mechanism.inverse_dynamics(q, v, v)).all()
    where = rf", state \[{', '.join('0' * len(batch))}\]" if batch else ""
    rotor = ", or the joint an armature" if joint.screws else ""
    if joint.kind == "spherical":
        rotor = (
            ": it has none about the line through its center of mass, as a point mass .* or take a universal joint, .*"
        )
    message = f"forward_dynamics{where}: the inertia that joint 'hang' moves is singular, .* give body 'bob' inertia "
    message += f"about the joint{rotor}$"
    with pytest.raises(ValueError, match=message):
        mechanism.forward_dynamics(q, v, v)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, with the compiler switched off
def test_the_error_names_the_joint_at_fault():
    """Not those around it, to which the infinity spreads."""
    joints = [make.revolute("pin", "b", "bob", axis=X, child_at=(0, 0, 0.3)), make.weld("tail", "bob", "end")]
    system = arm("a", "b").with_body(POINT, Body("end"), solid("side"))
    system = system.with_joint(*joints, make.revolute("other", "b", "side", axis=Z))
    with pytest.raises(ValueError, match=r"the inertia that joint 'pin' moves is singular"):
        Mechanism(system).forward_dynamics(np.zeros(4), np.zeros(4), np.zeros(4))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, with the compiler switched off
def test_one_bad_state_of_a_batch_is_named():
    mechanism = Mechanism(arm("a", "b"))
    v = np.zeros((7, 2))
    v[5] = 1e200
    with pytest.raises(
        ValueError, match=r"forward_dynamics, state \[5\]: the acceleration of joint 'to a' is not finite"
    ):
        mechanism.forward_dynamics(np.ones(2), v, np.zeros(2))


# ---------------------------------------------------------------- hardly anything


def test_an_empty_system():
    mechanism = Mechanism(System())
    assert (mechanism.nq, mechanism.nv) == (0, 0)
    assert mechanism.inverse_dynamics([], [], []).shape == (0,)
    assert mechanism.forward_dynamics(np.zeros((3, 0)), np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)
    assert mechanism.mass_matrix([]).shape == (0, 0)
    assert mechanism.poses([]).shape == (0, 7)
    np.testing.assert_array_equal(mechanism.poses([], "ground"), [1, 0, 0, 0, 0, 0, 0])


def test_everything_welded():
    mechanism = Mechanism(System([solid("a")], [make.weld("bolt", "ground", "a", at=(1, 2, 3))]))
    np.testing.assert_array_equal(mechanism.poses(np.zeros((2, 0))), [[[1, 0, 0, 0, 1, 2, 3]]] * 2)
    assert mechanism.inverse_dynamics([], [], [], np.ones((1, 6))).shape == (0,)
    assert mechanism.forward_dynamics([], [], []).shape == (0,)


def test_a_single_free_body_falls():
    mechanism = Mechanism(System([solid("a")], gravity=(0, 0, -9.81)))
    a = mechanism.forward_dynamics([1, 0, 0, 0, 5, 6, 7], np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(a, [0, 0, 0, 0, 0, -9.81], rtol=0, atol=1e-14)


def test_a_name_for_a_free_joint_that_is_taken():
    """A body without a joint moves freely; the name of its joint gives way to the user's."""
    system = System([solid("a"), solid("b")], [make.revolute("free a", "ground", "b", axis=Z)])
    mechanism = Mechanism(system)
    assert set(mechanism.joints) == {"free a", "free a'"}
    assert "2 bodies, 8 coordinates, 7 velocities" in repr(mechanism)


# ---------------------------------------------------------------- arrays of the lowest tier


@pytest.mark.parametrize("often", [1, OFTEN + 1])
def test_raw_arrays_are_looked_at(often):
    """A kernel would read and write beyond them; so does a builtin that calls it after some calls."""
    mechanism = Mechanism(arm("a", "b"))
    raw, nv = mechanism.raw, 2
    good = {"q": np.zeros(nv), "v": np.zeros(nv), "a": np.ones(nv), "tau": np.ones(nv), "out": np.empty(nv)}
    good |= {name: np.empty((nv, nv)) for name in ("dq", "dv", "da", "dtau")}
    calls = {
        "inverse_dynamics": ("q", "v", "a", "out"),
        "forward_dynamics": ("q", "v", "tau", "out"),
        "inverse_dynamics_derivatives": ("q", "v", "a", "dq", "dv", "da"),
        "forward_dynamics_derivatives": ("q", "v", "tau", "a", "dq", "dv", "dtau"),
        "mass_matrix": ("q", "out"),
    }
    for function, names in calls.items():
        arrays = {name: good[name] for name in names}
        if function == "mass_matrix":
            arrays["out"] = np.empty((nv, nv))
        call = getattr(raw, function)
        for _ in range(often):
            call(*arrays.values())
        for name, array in arrays.items():
            wide = np.zeros((*array.shape[:-1], 2 * nv))
            odd = np.frombuffer(bytearray(array.nbytes + 1), dtype=np.uint8)[1:].view(float).reshape(array.shape)
            wrong = [
                (odd, ValueError, "multiple of 8 bytes"),
                (array[:-1].copy(), ValueError, "shape"),
                (np.zeros((*array.shape, 1)), ValueError, "shape"),
                (np.zeros((3, *array.shape)), ValueError, "shape"),
                (wide[..., ::2], ValueError, "not contiguous"),
                (array.astype(np.float32), TypeError, "float32"),
                (array.astype(np.int64), TypeError, "int64"),
                (array.astype(complex), TypeError, "complex"),
                (array.tolist(), TypeError, "is a list"),
                (None, TypeError, "is a NoneType"),
            ]
            for value, kind, said in wrong:
                if name == "q" and value is not None and np.shape(value) == (3, nv):
                    continue  # then it is the others that do not fit
                with pytest.raises(kind, match=rf"raw\.{function}: {name} .*{said}"):
                    call(*(arrays | {name: value}).values())
        last = list(arrays)[-1]
        fixed = arrays[last].copy()
        fixed.flags.writeable = False
        with pytest.raises(ValueError, match=f"{last} is written to, and it is read-only"):
            call(*(arrays | {last: fixed}).values())
        with pytest.raises(TypeError):
            call(*list(arrays.values())[:-1])


def test_raw_looks_again_at_arrays_that_were_changed_in_place():
    mechanism = Mechanism(arm("a", "b"))
    q, v, a, out = np.zeros(2), np.zeros(2), np.ones(2), np.empty(2)
    for _ in range(OFTEN + 2):
        expected = mechanism.raw.inverse_dynamics(q, v, a, out).copy()
    for fixed in (q, v, a):  # what is read may be read-only, and no other code is compiled for it
        fixed.flags.writeable = False
    for _ in range(2):
        out[:] = 0.0
        assert (mechanism.raw.inverse_dynamics(q, v, a, out) == expected).all()
    assert (mechanism.raw.inverse_dynamics(q[None], v[None], a[None], out[None]) == expected).all()
    assert not any("readonly" in kind for kinds in inverse.inverse_dynamics.scalar.signatures for kind in kinds)
    matrix = np.empty((2, 2))
    for _ in range(OFTEN + 2):
        mechanism.raw.mass_matrix(q, matrix)
    for call, given, written in (("inverse_dynamics", (q, v, a), out), ("mass_matrix", (q,), matrix)):
        written.flags.writeable = False
        with pytest.raises(ValueError, match="out is written to, and it is read-only"):
            getattr(mechanism.raw, call)(*given, written)
        written.flags.writeable = True
        written.resize(1, refcheck=False)
        with pytest.raises(ValueError, match=r"out has shape \(1,\)"):
            getattr(mechanism.raw, call)(*given, written)
