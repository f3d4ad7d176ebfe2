"""Functions of mechanisms with their derivatives: against differences, and through JAX, PyTorch, CasADi, SciPy."""

import numpy as np
import pytest

import chasles as ch
from chasles import bridges

SYSTEM = ch.System(
    [
        ch.Body("upper", 1.0, (0.02, 0, -0.2), (0.02, 0.022, 0.004)),
        ch.Body("lower", 0.7, (0, 0.01, -0.2), (0.01, 0.01, 0.002)),
    ],
    [
        ch.spherical("ball", "ground", "upper"),
        ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.4)),
    ],
    [ch.Frame("hand", "lower", (0.1, 0, -0.3))],
)
MECHANISM = SYSTEM.compile()
rng = np.random.default_rng(0)
Q, V, U = MECHANISM.random(rng), rng.normal(size=4), rng.normal(size=4)
CASES = {
    "forward": (bridges.forward_dynamics(MECHANISM), (Q, V, U)),
    "inverse": (bridges.inverse_dynamics(MECHANISM), (Q, V, U)),
    "frame": (bridges.frame_pose(SYSTEM, "hand"), (Q,)),
    "simulation": (bridges.simulation_end(MECHANISM, (0.0, 0.1), step=0.01), (Q, V, U)),
}


def along(arguments):
    """Directions; those of the quaternion stay on the sphere."""
    found = [rng.normal(size=x.shape) for x in arguments]
    found[0][:4] -= (found[0][:4] @ Q[:4]) * Q[:4]
    return found


@pytest.mark.parametrize("case", [pytest.param(k, marks=[pytest.mark.study] * (k == "simulation")) for k in CASES])
def test_derivatives_are_those_of_differences(case):
    function, arguments = CASES[case]
    directions, h = along(arguments), 1e-5
    ahead, behind = (function(*(x + s * h * d for x, d in zip(arguments, directions, strict=True))) for s in (1, -1))
    found, wanted = function.pushed(tuple(directions), *arguments), (ahead - behind) / (2 * h)
    if case in ("frame", "simulation") and (found @ wanted) < 0:  # a quaternion and its opposite
        wanted = -wanted
    assert np.allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())
    weights = rng.normal(size=function.size)
    pulled = function.pulled(weights, *arguments)
    assert np.isclose(sum(p @ d for p, d in zip(pulled, directions, strict=True)), weights @ found, rtol=1e-10)


def test_plain_functions_for_scipy_and_ipopt():
    from scipy.optimize import root

    value, jacobian = bridges.forward_dynamics(MECHANISM).of_one_vector()
    assert value(np.concatenate([Q, V, U])).shape == (4,)
    assert jacobian(np.concatenate([Q, V, U])).shape == (4, len(Q) + 8)
    pose = bridges.frame_pose(
        ch.System(
            [ch.Body("rod", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))], [ch.prismatic("rail", "ground", "rod", axis=(1, 0, 0))]
        ),
        "rod",
    )
    shift, slope = pose.of_one_vector()
    assert np.isclose(root(lambda x: shift(x)[4:5] - 2.0, [0.0], jac=lambda x: slope(x)[4:5]).x[0], 2.0)


@pytest.mark.parametrize("case", ["forward", "simulation"])
def test_jax(case):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    function, arguments = CASES[case]
    weights = rng.normal(size=function.size)
    reverse, forward = (bridges.jax_function(function, mode) for mode in ("reverse", "forward"))
    given = tuple(map(jax.numpy.asarray, arguments))
    slopes = jax.jit(jax.grad(lambda *x: jax.numpy.dot(weights, reverse(*x)), argnums=(0, 1, 2)))(*given)
    for found, wanted in zip(slopes, function.pulled(weights, *arguments), strict=True):
        assert np.allclose(found, wanted, rtol=1e-12)
    directions = tuple(along(arguments))
    value, moved = jax.jit(lambda x, d: jax.jvp(forward, x, d))(given, tuple(map(jax.numpy.asarray, directions)))
    assert np.allclose(value, function(*arguments))
    assert np.allclose(moved, function.pushed(directions, *arguments), rtol=1e-12)
    several = jax.vmap(reverse)(*(jax.numpy.stack([x, x]) for x in given))
    assert np.allclose(several[1], function(*arguments))


def test_torch():
    torch = pytest.importorskip("torch")
    arm = ch.System(
        [ch.Body("rod", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))], [ch.revolute("pin", "ground", "rod", axis=(0, 1, 0))]
    )
    for function in (bridges.forward_dynamics(arm), bridges.simulation_end(arm, (0.0, 0.1), step=0.01)):
        given = [torch.tensor(rng.normal(size=n), requires_grad=True) for n in function.inputs.values()]
        assert torch.autograd.gradcheck(bridges.torch_function(function), given)
    with pytest.raises(TypeError, match="expected float64"):
        bridges.torch_function(function)(*(x.float() for x in given))


@pytest.mark.parametrize("case", ["forward", "simulation"])
def test_casadi(case):
    casadi = pytest.importorskip("casadi")
    function, arguments = CASES[case]
    bridged = bridges.casadi_function(function)
    symbols = [casadi.MX.sym(name, n) for name, n in function.inputs.items()]
    y = bridged(*symbols)
    slope = casadi.Function("slope", symbols, [y, *(casadi.jacobian(y, x) for x in symbols)])
    value, *slopes = slope(*arguments)
    assert np.allclose(np.array(value).ravel(), function(*arguments))
    for found, wanted in zip(slopes, function.jacobian(*arguments), strict=True):
        assert np.allclose(np.array(found), wanted)


def test_bad_input_has_its_own_answer():
    function = CASES["forward"][0]
    with pytest.raises(TypeError, match="expected q, v, tau"):
        function(Q)
    with pytest.raises(ValueError, match="v has shape"):
        function(Q, Q, U)
    with pytest.raises(ValueError, match="no body or frame 'foot'"):
        bridges.frame_pose(SYSTEM, "foot")
