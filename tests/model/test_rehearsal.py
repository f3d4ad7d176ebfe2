"""A compiled law that goes beyond its arrays, or returns its value, is named when the system is made."""

import numpy as np
import pytest

import chasles as ch


def body():
    return ch.Body("b", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))


def on_a_joint(law, **more):
    joint = ch.revolute("j", "ground", "b", axis=(0, 0, 1))
    return ch.System([body()], [joint], forces=[ch.JointForce("push", "j", law, **more)])


def on_a_body(law, **more):
    return ch.System([body()], [ch.free("f", "ground", "b")], forces=[ch.Wrench("air", "b", law, **more)])


@ch.law
def reads(t, q, v, p, out):
    out[0] = p[0] * v[0]


@ch.law
def six(t, pose, twist, p, out):
    for k in range(6):
        out[k] = -0.1 * twist[k]


@ch.law
def returns(t, q, v, p, out):
    return 3.0


@ch.law
def not_at_zero(t, q, v, p, out):
    out[0] = 1 / int(q[0])


def returns_in_python(t, q, v, p, out):
    return 3.0


def test_what_goes_beyond_its_arrays_is_named():
    with pytest.raises(ValueError, match=r"joint force 'push': law 'reads' goes beyond .* 1 and 1 numbers and 0 param"):
        on_a_joint(reads)
    with pytest.raises(ValueError, match=r"joint force 'push': law 'six' goes beyond its arrays .* writes 1"):
        on_a_joint(six)
    on_a_joint(reads, parameters=[2.0])
    on_a_body(six)
    on_a_joint(not_at_zero)  # its own matter


def test_what_returns_its_value_is_named():
    with pytest.raises(ValueError, match=r"law 'returns' returns a value, .* out\[0\] = "):
        on_a_joint(returns)
    with pytest.raises(ValueError, match=r"law 'returns_in_python' returns a value"):
        ch.simulate(on_a_joint(returns_in_python), (0, 0.1))


def test_a_part_of_a_run_is_not_judged_and_has_the_curve_of_its_points():
    run = ch.simulate(on_a_joint(reads, parameters=[-0.3]), (0, 2.0), v=[1.0])
    some = run.part(slice(2, 6))
    assert some.certificate.status == "not judged"
    assert "part of a run" in some.certificate.words
    t = 0.5 * (some.t[0] + some.t[-1])
    np.testing.assert_allclose(some(t).q, run(t).q, rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="some of the points were left out"):
        run.part(slice(None, None, 2))(0.3)
    assert run.part(slice(None)).certificate.status == "passed"


def test_between_every_nth_step_nothing_is_said():
    run = ch.simulate(on_a_joint(reads, parameters=[-0.3]), (0, 2.0), v=[1.0], save=3)
    with pytest.raises(ValueError, match=r"run\(t\): save=3 kept one step of 3"):
        run(0.3)


FACTOR = 3.0


@ch.law
def takes_a_constant(t, q, v, p, out):
    out[0] = FACTOR


def test_a_constant_that_changed_is_taken_as_it_is_now(monkeypatch):
    def pushed(system):
        return ch.simulate(system, (0, 1.0), step=0.1, certificate=False).v[-1, 0] * 0.1

    old = on_a_joint(takes_a_constant).compile()
    assert pushed(old) == pytest.approx(3.0, rel=1e-12)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert pushed(on_a_joint(takes_a_constant)) == pytest.approx(5.0, rel=1e-12)
    assert pushed(old) == pytest.approx(3.0, rel=1e-12)  # compiled before


def later(k):
    @ch.law
    def law(t, q, v, p, out):
        out[0] = 1.0 if t < 500 else k

    return law


def test_a_law_with_another_constant_does_not_continue_a_run(tmp_path):
    file = tmp_path / "run.h5"
    ch.simulate(on_a_joint(later(1.0)), (0, 0.1), step=0.01, file=file, certificate=False)
    with pytest.raises(ch.errors.ResultFileError, match="or a constant that it uses is not"):
        ch.open(file, laws={"law": later(-9.0)})
    assert len(ch.open(file, laws={"law": later(1.0)})) == 11


def test_an_unknown_option_of_a_joint_is_named():
    with pytest.raises(TypeError, match=r"joint 'pin': revolute\(...\) takes no 'point'; the place of a joint is at="):
        ch.revolute("pin", "ground", "arm", axis=(0, 0, 1), point=(0, 0, 1))
    with pytest.raises(TypeError, match=r"takes no 'dampingg'; did you mean 'damping'\?"):
        ch.revolute("pin", "ground", "arm", axis=(0, 0, 1), dampingg=1.0)
