"""What is said of a user's function that has the wrong arguments, does not compile, or is interrupted."""

import ctypes
import enum
from types import ModuleType

import numba
import numpy as np
import pytest

import chasles as ch
from chasles.force.law_tangent import LawTangent
from chasles.integrate.vector_field import PythonField
from chasles.model import law as law_module
from chasles.model.law import C_SIGNATURE, PythonLaw
from chasles.model.user_function import constants_of


def slider(law):
    body, joint = ch.Body("b", 1.0, inertia=(0.01,) * 3), ch.prismatic("s", "ground", "b", axis=(1, 0, 0))
    return ch.System([body], [joint], forces=[ch.JointForce("push", "s", law)])


DECLARED = [
    (lambda: ch.law(lambda t, q: None), r"takes \(t, q\); expected 5 arguments.*f\(t, q, v, parameters, out\)"),
    (lambda: ch.law(breaks=[1.0])(lambda t, q, v, p: None), "expected 5 arguments"),
    (lambda: slider(lambda t, q, v: None), "expected 5 arguments"),
    (lambda: ch.Wrench("w", "b", lambda t: None), "expected 5 arguments"),
    (lambda: ch.Drive("d", "s", lambda t: t), "expected 5 arguments"),
    (lambda: ch.CustomConstraint("c", ("a", "b"), lambda t, x: 0), "expected 5 arguments"),
    (lambda: ch.integrate.field(lambda t, y: None), r"expected 4 arguments: .*f\(t, y, p, out\)"),
    (lambda: ch.Event(lambda y: 0.0), r"expected 3 arguments: .*f\(t, y, p\)"),
    (lambda: ch.integrate.LieODE(ch.integrate.Space("r1"), lambda t, y, p, out: None), "expected 3 arguments"),
    (
        lambda: ch.simulate(slider((1.0,)), (0, 1), controller=lambda t, q: 0.0, period=0.1),
        r"controller takes \(t, q\); expected 3 arguments",
    ),
]


@pytest.mark.parametrize(("make", "said"), DECLARED)
def test_wrong_arguments_are_refused_when_declared(make, said):
    with pytest.raises(TypeError, match=said):
        make()


def test_functions_with_defaults_or_any_arguments_are_taken():
    assert ch.law(lambda t, q, v, p, out, more=1.0: None).function
    assert ch.Event(lambda *arguments: 0.0).function
    assert slider(max).forces  # in C, it tells nothing


@ch.law
def unknown_name(t, q, v, p, out):
    out[0] = q[0]
    out[0] += nothing_like_this  # noqa: F821


@ch.law
def adds_text(t, q, v, p, out):
    x = 1.0
    out[0] = x + "a"


@ch.law
def unknown_function(t, q, v, p, out):
    out[0] = np.not_there(q[0])


@pytest.mark.parametrize(
    ("law", "reason", "line"),
    [
        (unknown_name, "nothing_like_this", "out[0] += nothing_like_this"),
        (adds_text, "add(float64", 'out[0] = x + "a"'),
        (unknown_function, "not_there", "out[0] = np.not_there(q[0])"),
    ],
)
def test_what_does_not_compile_is_said_in_short_with_the_line(law, reason, line):
    with pytest.raises(TypeError) as error:
        _ = law.address
    said = str(error.value)
    assert said.startswith(f"law {law.__name__!r} does not compile")
    assert reason in said
    assert line in said
    assert said.count("\n") == 0
    assert error.value.__suppress_context__


def test_an_interrupt_before_the_function_is_called_is_not_lost(monkeypatch):
    """While arrays are made of pointers: the result is NaN, not what was there before, and the interrupt is kept."""

    def interrupted(*arguments):
        raise KeyboardInterrupt

    law = PythonLaw(lambda t, q, v, p, out: None)
    tangent, field = LawTangent(PythonLaw(lambda t, q, v, p, out: None)), PythonField(lambda t, y, p: y, 1)
    x, out, duals = np.ones(1), np.ones(2), np.ones(64)
    pointer = [a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (x, out, duals)]
    monkeypatch.setattr(np.ctypeslib, "as_array", interrupted)
    monkeypatch.setattr("chasles.model.law._numbers", interrupted)
    law._callback(0.0, pointer[0], pointer[0], pointer[0], pointer[1], 1, 1, 1, 2)
    assert isinstance(law.error, KeyboardInterrupt)
    assert np.isnan(out).all()
    out[:] = 1.0
    field._callback(0.0, pointer[0], pointer[0], pointer[1], 1, 1, 2)
    assert isinstance(field.error, KeyboardInterrupt)
    assert np.isnan(out).all()
    tangent._callback(0.0, pointer[2], pointer[2], pointer[2], pointer[2], 1, 1, 1, 1)
    assert isinstance(tangent.law.error, KeyboardInterrupt)
    assert np.isnan(duals[0])


def test_a_lost_interrupt_ends_a_simulation(monkeypatch):
    calls = []
    whole = law_module._numbers

    def sometimes(*arguments):
        calls.append(1)
        if len(calls) == 50:
            raise KeyboardInterrupt
        return whole(*arguments)

    def spring(_, q, v, p, out):
        out[0] = -q[0]

    monkeypatch.setattr(law_module, "_numbers", sometimes)
    with pytest.raises(KeyboardInterrupt):
        ch.simulate(slider(spring), (0, 10), q=[1.0])


NESTED = ((1.0, 2.0), (3.0, (4.0,)))
ARRAY = np.array([10.0, 20.0])
settings = ModuleType("settings")
settings.inner = ModuleType("settings.inner")
settings.inner.GAIN = 100.0
FACTOR, ROWS = 1000.0, 0.0


@numba.njit
def factor():
    return FACTOR


@numba.njit
def doubled():
    return 2.0 * FACTOR


helper = factor


@ch.law
def reads(t, q, v, p, out):
    own = settings
    rows = [ROWS * k for k in range(2)]
    out[0] = NESTED[1][1][0] + ARRAY[1] + own.inner.GAIN + helper() + rows[1]


def called(law):
    """The compiled law, through its address."""
    numbers = np.ones(1)
    pointer = numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    C_SIGNATURE(law.address)(0.0, pointer, pointer, pointer, pointer, 1, 1, 1, 1)
    return float(numbers[0])


def bind(monkeypatch, **values):
    for name, value in values.items():
        monkeypatch.setitem(globals(), name, value)


CHANGES = {
    "a tuple in a tuple": lambda patch: bind(patch, NESTED=((1.0, 2.0), (3.0, (5.0,)))),
    "an array": lambda patch: bind(patch, ARRAY=np.array([10.0, 21.0])),
    "an array in place": lambda patch: ARRAY.__setitem__(1, 22.0),
    "a module's module": lambda patch: patch.setattr(settings.inner, "GAIN", 101.0),
    "what a function takes that it calls": lambda patch: bind(patch, FACTOR=1001.0),
    "a function that it calls": lambda patch: bind(patch, helper=doubled),
    "what a comprehension takes": lambda patch: bind(patch, ROWS=1.0),
}


@pytest.mark.parametrize("what", CHANGES)
def test_all_that_a_law_takes_from_outside_is_part_of_it(what, monkeypatch):
    monkeypatch.setitem(globals(), "ARRAY", ARRAY.copy())
    before = constants_of(reads)
    CHANGES[what](monkeypatch)
    assert constants_of(reads) != before


def test_a_law_is_compiled_anew_when_what_it_takes_from_outside_has_changed(monkeypatch):
    monkeypatch.setitem(globals(), "ARRAY", ARRAY.copy())
    assert called(reads) == 1124.0
    ARRAY[1] = 30.0
    bind(monkeypatch, NESTED=((1.0, 2.0), (3.0, (5.0,))), FACTOR=2000.0, ROWS=0.5)
    monkeypatch.setattr(settings.inner, "GAIN", 200.0)
    assert called(reads) == 2235.5  # Numba's function too, which had been compiled
    bind(monkeypatch, helper=doubled)
    assert called(reads) == 4235.5


def test_a_new_law_has_what_functions_that_it_calls_take_now(monkeypatch):
    """Numba keeps what it compiled for the law before, as in a notebook whose cell with the constant is run again."""

    def push(t, q, v, p, out):
        out[0] = factor()

    bind(monkeypatch, FACTOR=3.0)
    assert called(ch.law(push)) == 3.0
    bind(monkeypatch, FACTOR=4.0)
    assert called(ch.law(push)) == 4.0


def test_members_of_an_enumeration_are_constants(monkeypatch):
    monkeypatch.setitem(globals(), "Gear", enum.IntEnum("Gear", {"LOW": 1}))
    law = ch.law(lambda t, q, v, p, out: Gear.LOW.value)  # noqa: F821
    before = constants_of(law)
    bind(monkeypatch, Gear=enum.IntEnum("Gear", {"LOW": 2}))
    assert constants_of(law) != before


def test_memory_of_a_law_in_python_is_no_part_of_it():
    memory = np.zeros(1)

    def counts(t, q, v, p, out):
        memory[0] += 1.0

    assert constants_of(counts) == constants_of(PythonLaw(counts)) == {}
    assert constants_of(ch.law(counts)).keys() == {"memory"}
