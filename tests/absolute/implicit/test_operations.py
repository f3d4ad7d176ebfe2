"""Operations that methods share are given to a loop by name; one that is called but was not given is an error."""

import pytest

import chasles as ch
from chasles.constrained import operations
from chasles.kernel.policy import COMPILED
from tests.absolute.implicit.systems import SLOW_SPIN, slow_top, stepper

pytestmark = pytest.mark.skipif(not COMPILED, reason="there are no addresses when the compiler is switched off")


def going():
    return stepper(slow_top(), 0.1, "SO3xR3", ch.integrate.GeneralizedAlpha(), 1e-3, v=SLOW_SPIN)


@pytest.mark.parametrize("name", ["correction", "keep_rows"])
def test_a_call_that_was_not_seen_is_an_error(monkeypatch, name):
    assert going().advance(2) is None
    seen = operations.used_by
    monkeypatch.setattr(operations, "used_by", lambda loop: seen(loop) - {name})
    run = going()
    with pytest.raises(RuntimeError, match=f"generalized_alpha called one of the operations .*{name}"):
        run.advance(2)


def test_no_place_of_the_table_is_empty():
    run = going()
    places = [getattr(operations.OPERATIONS, name) for name in operations.TABLE]
    assert (run.operations[places] != 0).all()
