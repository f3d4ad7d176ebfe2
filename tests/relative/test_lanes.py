"""The recursions that are seldom asked for many states, on lanes and one by one."""

from operator import attrgetter

import numpy as np
import pytest

from chasles.kernel.policy import COMPILED
from tests.relative.mimics import special
from tests.relative.zoo import ZOO, deviation, state

OTHER = {"representation": "hybrid"}
CALLS = {  # what it is called with: the state by its letters, derivatives as a list after a comma, and more
    "spatial": ("inverse_dynamics", "qva", {"representation": "spatial"}),
    "hybrid": ("inverse_dynamics", "qva", OTHER),
    "mixed": ("inverse_dynamics", "qva", {"representation": "mixed"}),
    "forward derivatives": ("derivatives.forward_dynamics", "qva", {}),
    "inverse mass matrix": ("terms.inverse_mass_matrix", "q", {}),
    "coriolis": ("terms.coriolis", "qv", {}),
    "rates of twists": ("rates.twists", "q,va", {}),
    "rates of jacobians": ("rates.jacobians", "q,v", {}),
    "partial derivatives of the jacobian": ("derivatives.jacobian", "q", {"frames": "tool"}),
    "energies, linear": ("parameters.energy_regressor", "qv", {}),
    "rates of forces": ("rates.inverse_dynamics", "qvaa", {}),
    "rates of forces, hybrid": ("rates.inverse_dynamics", "qvaa", OTHER),
    "rates of the jacobian": ("rates.jacobian", "qv", {}),
    "centroidal": ("centroidal.matrix", "q", {}),
    "energies": ("energy", "qv", {}),
    "momentum": ("momentum", "qv", {}),
    "momenta": ("momentum_form.momenta", "qv", {}),
    "rates of momenta": ("momentum_form.rates", "qv", {}),
    "regressor": ("parameters.regressor", "qva", {}),
    "forces by geometry": ("parameters.inverse_dynamics_derivatives", "qva", {}),
    "jacobian by geometry": ("parameters.jacobian_derivatives", "q", {"frames": "tool"}),
}
ORDERS_FIRST = ("rates.inverse_dynamics", "rates.twists", "rates.jacobians")
MIMIC = ("forward_dynamics", "mass_matrix", "derivatives.forward_dynamics", "derivatives.inverse_dynamics")

pytestmark = [
    pytest.mark.study,
    pytest.mark.skipif(not COMPILED, reason="there are neither scalars nor lanes when the compiler is off"),
]


def compare(mechanism, function, letters, more):
    given = dict(zip("qva", state(mechanism, 41, (6,)), strict=True))
    call, (plain, _, rates) = attrgetter(function)(mechanism), letters.partition(",")

    def called(rows):
        arguments = [given[letter][rows] for letter in plain]
        return call(*arguments, *([[given[letter][rows] for letter in rates]] if rates else []), **more)

    several = called(slice(None))
    several = several if isinstance(several, tuple) else (several,)
    for k in range(6):
        one = called(k)
        for many, single in zip(several, one if isinstance(one, tuple) else (one,), strict=True):
            part = many[:, k] if function in ORDERS_FIRST else many[k]
            assert deviation(np.asarray(part), np.asarray(single)) < 1e-12


@pytest.mark.parametrize("name", ["kinds", "floating"])
@pytest.mark.parametrize("call", CALLS)
def test_lanes_equal_scalars(call, name):
    compare(ZOO[name], *CALLS[call])


def test_christoffel_symbols():
    compare(ZOO["arm"], "derivatives.christoffel_symbols", "q", {})


@pytest.mark.parametrize("function", [*MIMIC, "terms.inverse_mass_matrix"])
def test_with_joints_that_follow_others(function):
    letters = "q" if "mass" in function else "qva"
    compare(special("crossing groups").compile(), function, letters, {})
