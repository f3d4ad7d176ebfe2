"""Laws as expressions: values and derivatives against mpmath, break points, mistakes, motions in all coordinates."""

import copy
import pickle

import mpmath as mp
import numpy as np
import pytest

import chasles as ch
from chasles.force.law_tangent import LawTangent
from chasles.model import program as machine
from chasles.model.expression_function import LAW_FUNCTIONS, TABLES
from chasles.model.expression_law import Expression, put_in

SMOOTH = {"method": "gauss-legendre", "maxdegree": 4}  # 24 points between cuts: 30 digits where nothing bends
T = [0.03, 0.11, 0.26, 0.41, 0.55, 0.63, 0.77, 0.9, 1.4]


def rise(polynomial):
    return lambda x, a, b: polynomial(min(max((x - a) / (b - a), mp.mpf(0)), mp.mpf(1)))


def modified_sine(x, a, b):
    """By integrating its acceleration twice, in pieces."""
    s = min(max((x - a) / (b - a), mp.mpf(0)), mp.mpf(1))

    def bend(u):
        edge = mp.mpf(1) / 8
        return mp.sin(4 * mp.pi * u) if u < edge or u > 1 - edge else mp.sin(4 * mp.pi * u / 3 + mp.pi / 3)

    def height(end):
        cuts = [mp.mpf(0), *(c for c in (mp.mpf(1) / 8, mp.mpf(7) / 8) if c < end), end]
        return mp.quad(lambda u: (end - u) * bend(u), cuts, **SMOOTH)

    return height(s) / height(mp.mpf(1))


def trapezoid(x, a, b, part=None):
    part = mp.mpf(1) / 3 if part is None else part
    s = min(max((x - a) / (b - a), mp.mpf(0)), mp.mpf(1))

    def speed(u):
        return min(u / part, mp.mpf(1), (1 - u) / part)

    def way(end):
        return mp.quad(speed, [0, *(c for c in (part, 1 - part) if 0 < c < end), end], **SMOOTH)

    return way(s) / way(mp.mpf(1))


ELEMENTARY = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "hypot", "tanh")
REFERENCE = {
    **{
        name: getattr(mp, name)
        for name in ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "hypot", "tanh"]
    },
    "abs": abs,
    "min": min,
    "max": max,
    "sign": lambda x: mp.mpf(1) if x >= 0 else mp.mpf(-1),
    "step": lambda x, edge: mp.mpf(x >= edge),
    "ramp": rise(lambda s: s),
    "smooth3": rise(lambda s: s * s * (3 - 2 * s)),
    "smooth": rise(lambda s: s**3 * (10 + s * (6 * s - 15))),
    "smooth7": rise(lambda s: 35 * s**4 - 84 * s**5 + 70 * s**6 - 20 * s**7),
    "trapezoid": trapezoid,
    "cycloid": rise(lambda s: s - mp.sin(2 * mp.pi * s) / (2 * mp.pi)),
    "modified_sine": modified_sine,
    "half_sine": lambda x, a, b: mp.sin(mp.pi * (x - a) / (b - a)) if a < x < b else mp.mpf(0),
    "sweep": lambda x, f0, f1, a, b: mp.sin(
        2 * mp.pi * (f0 * min(x - a, b - a) + (f1 - f0) * min(x - a, b - a) ** 2 / (2 * (b - a)) + f1 * max(x - b, 0))
        if x > a
        else mp.mpf(0)
    ),
    "harmonics": lambda x, a0, *more: (
        a0 + sum(c * (mp.cos if k % 2 == 0 else mp.sin)((k // 2 + 1) * x) for k, c in enumerate(more))
    ),
    "pi": mp.pi,
    "tau": 2 * mp.pi,
    "deg": mp.pi / 180,
}
TEXTS = [
    "2.5",
    "t",
    "-t ** 2 + 3 * t - 1",
    "t / 3 - 1 / (1 + t)",
    "t ** 2.5",
    "2 ** t",
    "(1 + t) ** (2 * t)",
    "sin(t) * cos(2 * t) - tan(t / 2)",
    "asin(t / 3) + acos(t / 4) + atan(5 * t)",
    "atan2(sin(3 * t), cos(2 * t) - 0.5)",
    "sqrt(1 + t) * exp(-t) * log(2 + t)",
    "hypot(t, 2) * tanh(3 * t - 1)",
    "abs(t - 0.5) + max(t, 0.3, 1 - t) - min(t, 0.7)",
    "sign(t - 0.2) + step(t, 0.6)",
    "ramp(t, 0.1, 0.85)",
    "smooth3(t, 0.1, 0.85) + smooth(2 * t, 0.1, 1.5) - smooth7(1 - t, 0.05, 0.95)",
    "trapezoid(t, 0.1, 0.95) + trapezoid(t, 0, 1, 0.5) + trapezoid(t, 0, 1, 0.2)",
    "cycloid(t, 0.1, 0.95)",
    "modified_sine(t, 0.1, 0.95)",
    "half_sine(t, 0.2, 0.6)",
    "sweep(t, 1, 5, 0.2, 0.8)",
    "harmonics(3 * t, 1, 2, -3, 0.5, 0.25)",
    "0.3 * smooth(t, 0.2, 0.7) * sin(tau * t) ** 2 + 30 * deg",
]


@pytest.mark.parametrize("text", TEXTS)
def test_value_rate_and_acceleration(text):
    """Against mpmath with 30 digits, differentiated by it numerically."""
    law = Expression(text, rates=True)
    with mp.workdps(30):
        reference = eval(f"lambda t: mp.mpf(0) + ({text})", {**REFERENCE, "mp": mp})
        for t in T[TEXTS.index(text) % 2 :: 2]:
            expected = [float(mp.diff(reference, mp.mpf(t), k, h=mp.mpf(10) ** -9)) for k in range(3)]
            np.testing.assert_allclose(law.at(t), expected, rtol=1e-11, atol=1e-11 * (1 + np.abs(expected).max()))


def test_every_function_is_compared():
    used = {name for text in TEXTS for name in LAW_FUNCTIONS if f"{name}(" in text}
    assert used == set(LAW_FUNCTIONS)
    assert set(LAW_FUNCTIONS) <= set(REFERENCE)


def test_tables():
    x, y = [0.0, 0.4, 1.0, 1.5], [1.0, 2.0, -1.0, 1.0]
    for name in TABLES:
        law = Expression(f"{name}(t, {x}, {y})", rates=True)
        np.testing.assert_allclose([law.at(a)[0] for a in x], y, atol=1e-14)
    line, held = Expression(f"table(2 * t, {x}, {y})"), Expression(f"spline(t, {x}, {y})", rates=True)
    np.testing.assert_allclose([line.at(t / 2)[0] for t in T], np.interp(T, x, y), atol=1e-14)
    assert line.breaks == tuple(a / 2 for a in x)
    assert held.breaks == (0.0, 1.5)
    np.testing.assert_array_equal(held.at(7.0), [1.0, 0.0, 0.0])
    cam = Expression(f"periodic(t, {x}, {y})", rates=True)
    np.testing.assert_allclose(cam.at(0.7), cam.at(0.7 + 3 * 1.5), atol=1e-12)
    for t in (1e-9, 0.4, 1.0):  # nothing jumps
        np.testing.assert_allclose(cam.at(t - 1e-9), cam.at(t + 1e-9), atol=1e-6)
    rest = Expression(f"clamped(t, {x}, {y})", rates=True)
    assert rest.at(0.0)[1] == pytest.approx(0.0, abs=1e-14)


def test_the_compiled_machine_is_the_same():
    """Of all expressions, at many times, to rounding: the compiler may fuse operations."""
    import ctypes

    from chasles.model.law import C_SIGNATURE

    pointer = ctypes.POINTER(ctypes.c_double)
    for text in TEXTS:
        law = Expression(text, rates=True)
        call, p, out, none = C_SIGNATURE(law.address), np.array(law.program), np.zeros(3), np.zeros(1)
        for t in T:
            arrays = [array.ctypes.data_as(pointer) for array in (none, none, p, out)]
            call(t, *arrays, 0, 0, len(p), 3)
            np.testing.assert_allclose(out, law.at(t), rtol=1e-12, atol=1e-12)
    assert Expression("t").address == Expression("2 * t").address  # nothing is compiled for a new one


@pytest.mark.parametrize("count", [5, 200])
def test_many_times_at_once(count):
    law, times = Expression(["3 * sin(6 * (t - 0.2))", "smooth(t, 0, 1)", "2"]), np.linspace(-1, 2, count)[:, None]
    np.testing.assert_allclose(law.over(times)[:, 0], [law.at(t) for t in times[:, 0]], rtol=1e-14, atol=1e-15)
    assert law.over(times).shape == (count, 1, 3)


def test_break_points():
    assert Expression("smooth(2 * t - 1, 0, 3)").breaks == (0.5, 2.0)
    assert Expression("step(t, 1) + half_sine(t, 1, 1.5)").breaks == (1.0, 1.5)
    assert Expression("abs(t - 2) + max(t, 3) + sign(1 - t)").breaks == (1.0, 2.0, 3.0)
    assert Expression("modified_sine(t, 0, 8)").breaks == (0.0, 1.0, 7.0, 8.0)
    assert Expression("sin(t)").breaks == ()


MISTAKES = {
    "3 +": "is not an expression",
    "sinus(t)": "there is no function 'sinus'; did you mean 'sin'",
    "x + 1": "'x' is unknown here; known: t",
    "q": "'q' is unknown here",
    "1 / 0 + t": "division by zero",
    "smooth(t, 2, 1)": "begins at 2 and ends at 1",
    "smooth(t, 1)": r"takes smooth\(x, begin, end\); 2 given",
    "smooth(t, t, 2)": "only the first argument may depend on t",
    "trapezoid(t, 0, 1, 0.7)": "fraction is 0.7",
    "table(t, [0, 2, 1], [1, 2, 3])": "1 follows 2; expected x in ascending order",
    "table(t, [0, 1], [1, 2, 3])": "2 numbers in x and 3 in y",
    "table(t, [0, t], [1, 2])": "something else than numbers",
    "periodic(t, [0, 1, 2], [1, 2, 3])": "expected the same value",
    "__import__('os')": "expected numbers",
    "__import__(1)": "there is no function",
    "t.real": "expected numbers",
    "[t]": "expected numbers",
    "t if t else 1": "expected numbers",
    "lambda: t": "expected numbers",
    "True": "expected numbers",
    "log(-1) * t ** (1/0)": "division by zero",
    "t" + "+t" * 60_000: "characters|not an expression",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_named(text):
    with pytest.raises(ValueError, match=MISTAKES[text]):
        ch.Drive("crank angle", "crank", text)


def test_deep_nesting_is_refused_not_run():
    deep = "t"
    for _ in range(machine.DEPTH + 2):
        deep = f"(1.0 * t + sin({deep}))"
    with pytest.raises(ValueError, match="nested too deeply"):
        Expression(deep)


def test_parameters_by_name_and_what_is_written():
    drive = ch.Drive("d", "j", "a + b ** 2 * t", parameters={"a": -0.5, "b": -3.0})
    assert drive.value.texts == ("-0.5 + (-3.0) ** 2 * t",)
    again = ch.Drive("d", "j", drive.value.value)
    assert again == drive
    for copied in (pickle.loads(pickle.dumps(drive)), copy.deepcopy(drive)):
        assert copied == drive
    with pytest.raises(ValueError, match="of expressions they have names"):
        ch.Drive("d", "j", "t", parameters=[1.0])
    assert put_in("-c ** 2 + t", {"c": -2.0}) == "-(-2.0) ** 2 + t"


def bar(name):
    return ch.Body(name, 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))


def pair(*forces):
    joints = [
        ch.revolute("shoulder", "ground", "one", axis=(0, 1, 0)),
        ch.spherical("elbow", "one", "two", at=(1, 0, 0)),
    ]
    return ch.System([bar("one"), bar("two")], joints, forces=forces)


@ch.law
def damper(t, q, v, p, out):
    out[0] = -0.4 * v[0] - 0.1 * v[0] * abs(v[0]) - 2.0 * q[0] + 3.0 * np.sin(5.0 * t)


@ch.law
def three(t, q, v, p, out):
    out[0], out[1], out[2] = -0.1 * v[0], 0.2 * q[1], 0.3 * v[2] * np.cos(t)


@ch.law
def push(t, pose, twist, p, out):
    out[5] = 4.0 * np.sin(3.0 * t)


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_the_same_motion_as_laws_in_python(coordinates):
    written = [
        ch.JointForce("a", "shoulder", "-0.4 * v - 0.1 * v * abs(v) - 2 * q + c * sin(5 * t)", parameters={"c": 3.0}),
        ch.JointForce("b", "elbow", ["-0.1 * v[0]", "0.2 * q[1]", "0.3 * v[2] * cos(t)"]),
        ch.Wrench("c", "two", [0, 0, 0, 0, 0.0, "4 * sin(3 * t)"]),
    ]
    compiled = [
        ch.JointForce("a", "shoulder", damper),
        ch.JointForce("b", "elbow", three),
        ch.Wrench("c", "two", push),
    ]
    options = {"coordinates": coordinates, "rtol": 1e-10, "atol": 1e-12, "progress": False}
    first, second = (ch.simulate(pair(*forces), (0, 2.0), **options) for forces in (written, compiled))
    np.testing.assert_allclose(first["two"].pose[-1], second["two"].pose[-1], atol=1e-9)


def test_a_joint_must_have_what_is_used():
    with pytest.raises(ValueError, match=r"uses q, but joint 'elbow' has 4 of them; write q\[0\] to q\[3\]"):
        pair(ch.JointForce("f", "elbow", ["q", 0, 0]))
    with pytest.raises(ValueError, match=r"uses v\[3\], but joint 'elbow' has 3"):
        pair(ch.JointForce("f", "elbow", ["v[3]", 0, 0]))
    with pytest.raises(ValueError, match="has 1 numbers; joint 'elbow'"):
        pair(ch.JointForce("f", "elbow", "v[0]"))
    with pytest.raises(ValueError, match="expected six numbers or expressions"):
        ch.Wrench("w", "one", "t")
    with pytest.raises(ValueError, match="'q' is unknown here"):
        ch.Wrench("w", "one", ["q", 0, 0, 0, 0, 0])


def test_linearization_has_exact_derivatives():
    force = ch.JointForce("a", "shoulder", "-3 * q - 0.5 * v - q ** 3")
    spring = ch.System([bar("one")], [ch.revolute("shoulder", "ground", "one", axis=(0, 0, 1))], forces=[force])
    found = ch.linearize(spring, q=[0.5])
    inertia = 0.1 + 0.25
    np.testing.assert_allclose(
        np.sort_complex(found.eigenvalues),
        np.sort_complex(np.roots([inertia, 0.5, 3 + 3 * 0.25])),
        rtol=1e-12,
    )


def test_laws_of_drives_have_exact_derivatives_too():
    """There the program is made of numbers, and coordinates are dual numbers."""
    law = Expression("0.3 * sin(2 * t)", rates=True)
    assert [LawTangent(law, varied).note for varied in (False, True)] == ["", ""]


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_driven_crank(coordinates):
    """The crank is where the law says, and its motor torque is that of a compiled law with the same derivatives."""
    crank = ch.System(
        [bar("one"), bar("two")],
        [
            ch.revolute("a", "ground", "one", axis=(0, 1, 0)),
            ch.revolute("b", "one", "two", axis=(0, 1, 0), at=(1, 0, 0), damping=0.3),
        ],
        constraints=[ch.Drive("motor", "a", "start + 1.5 * smooth(t, 0.2, 0.9)", parameters={"start": 0.3})],
    )
    run = ch.simulate(crank, (0, 1.2), q=[0.3, 0.0], coordinates=coordinates, progress=False)
    law = Expression("0.3 + 1.5 * smooth(t, 0.2, 0.9)", rates=True)
    expected = np.array([law.at(t) for t in run.t])
    np.testing.assert_allclose(run.joint("a").q.ravel(), expected[:, 0], atol=1e-7)
    np.testing.assert_allclose(run.joint("a").v.ravel(), expected[:, 1], atol=1e-6)
    assert {0.2, 0.9} <= set(np.round(run.t, 12))


def driven(value, **more):
    return ch.System(
        [bar("one")],
        [ch.revolute("a", "ground", "one", axis=(0, 0, 1))],
        constraints=[ch.Drive("motor", "a", value, **more)],
    )


def test_drives_that_jump_are_refused_where_the_run_meets_them():
    for value, what in (
        ("step(t, 0.5)", "jumps by 1 at t = 0.5 s"),
        ("ramp(t, 0.2, 0.7)", "jumps in its speed by 2 a second at t = 0.2 s"),
        ("table(t, [-1, 0.3, 2], [0, 0, 1])", "jumps in its speed by 0.588 a second at t = 0.3 s"),
    ):
        with pytest.raises(ValueError, match=what):
            ch.simulate(driven(value), (0, 1.5), q=[0.0], progress=False)
    for value in ("3 * t", "ramp(t, -1, 5)", "smooth3(t, 0.2, 0.7)", "step(t, 0.5) * (t - 0.5) ** 3", "sin(t) / 0.1"):
        expected = Expression(value, rates=True).at(0.0)
        run = ch.simulate(driven(value), (0, 1.0), q=[expected[0]], v=[expected[1]], step=0.05, progress=False)
        assert run.success, value


@ch.law
def wrong_rates(t, _, __, p, out):
    out[0], out[1], out[2] = np.sin(t), np.cos(t), np.cos(t)


def test_a_law_whose_rates_are_not_its_derivatives_is_named():
    from chasles.simulation.laws.drive_check import DriveWarning

    with pytest.warns(DriveWarning, match="drive 'motor': at t = .* are off"):
        ch.simulate(driven(wrong_rates), (0, 1.0), q=[0.0], v=[1.0], step=0.05, progress=False)
