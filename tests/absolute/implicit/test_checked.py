"""All implicit methods with every access to memory checked (`CHASLES_CHECK=1`): a small loop, one method a process."""

import os
import subprocess
import sys

import pytest

from chasles.kernel.policy import COMPILED

SCRIPT = """
import sys

import numpy as np
import chasles as ch
from chasles.constrained.run import ConstrainedStepper
from chasles.integrate.options import Options
from chasles.simulation.bodies.dynamics import BodyDynamics

seen = []
sys.unraisablehook = lambda error: seen.append(error.exc_type)
rod = ch.Body("rod", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))
tie = ch.Distance("tie", ("ground", "rod"), ((1.0, 0.0, 1.0), (1.0, 0.0, 0.0)), 1.0)
spring = ch.Spring("spring", ("ground", "rod"), ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)), 20.0, 0.5)
system = ch.System([rod], [ch.spherical("pivot", "ground", "rod")], forces=[spring], constraints=[tie])
method = METHOD

dynamics = BodyDynamics(system, "SO3xR3", projected=True)
start = dynamics.start(0.0, None, None, None, None, None)
exact = ch.simulate(system, (0.0, 0.02), coordinates="absolute", progress=False)
stepper = ConstrainedStepper(dynamics, method, (0.0, 0.02), start, Options(step=1e-3, save="final"))
found = stepper.finish(progress=False)
assert not seen, seen
off = abs(found.y[-1] - exact.solution.y[-1]).max()
assert 0.0 < off < 1e-4, off
print("ran", off)

# the same with a workspace that is shorter than was declared
stepper = ConstrainedStepper(dynamics, method, (0.0, 0.02), start, Options(step=1e-3, save="final"))
stepper.work = stepper.work[: len(stepper.work) // 2].copy()
try:
    stepper.advance(10)  # the first steps of some methods are explicit
except (IndexError, ArithmeticError, RuntimeError) as error:
    seen.append(type(error))
assert IndexError in seen, seen
print("caught")
"""

METHODS = [
    "ch.integrate.GeneralizedAlpha()",
    "ch.integrate.GeneralizedAlpha(index=3)",
    "ch.integrate.BLieDF()",
    "ch.integrate.Rattle()",
    "ch.integrate.HalfExplicit()",
    "ch.integrate.EnergyMomentum()",
    "ch.integrate.RadauIIA()",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A compile cache that the methods share."""
    return tmp_path_factory.mktemp("checked")


@pytest.mark.study
@pytest.mark.timeout(3000)
@pytest.mark.skipif(not COMPILED, reason="bounds are Python's own when the compiler is switched off")
@pytest.mark.parametrize("method", METHODS)
def test_no_access_is_out_of_bounds_and_one_that_is_is_caught(method, folder):
    own = {"CHASLES_CHECK": "1", "CHASLES_CACHE_DIR": str(folder), "NUMBA_OPT": "1"}
    environment = os.environ | own | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("METHOD", method, 1)],
        env=environment, capture_output=True, text=True, timeout=2900, check=False,
    )  # fmt: skip
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["ran", "caught"], result.stderr
