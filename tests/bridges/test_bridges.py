"""Functions of mechanisms with their derivatives: against differences, and through JAX, PyTorch, CasADi, SciPy."""

import re
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles import bridges
from tests.simulation.test_gradient_bodies import flat

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
PAGE = Path(__file__).parents[2] / "docs" / "bridges.md"
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


@ch.law
def drag(t, q, v, parameters, out):
    out[0] = -parameters[0] * v[0] * np.sqrt(1.0 + v[0] * v[0])


def driven() -> ch.System:
    """The arm with a damper, a spring between its ends and a law along its elbow."""
    return SYSTEM.rearranged(
        joints=[
            ch.spherical("ball", "ground", "upper", damping=0.3),
            ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.4), stiffness=2.0),
        ],
        forces=[
            ch.Spring(
                "string", ("ground", "lower"), ((0.5, 0, 0), (0, 0, -0.3)), stiffness=9.0, length=0.2, damping=0.4
            ),
            ch.JointForce("drag", "elbow", drag, parameters=[0.7]),
        ],
    )


def linkage() -> ch.System:
    bodies = [
        ch.Body("crank", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01)),
        ch.Body("rod", 0.8, (0.45, 0, 0), (0.01, 0.05, 0.06)),
        ch.Body("rocker", 1.2, (0.25, 0, 0), (0.01, 0.02, 0.03)),
    ]
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 0, 1), damping=0.1, stiffness=3.0),
        ch.spherical("B", "crank", "rod", at=(0.2, 0, 0)),
        ch.spherical("C", "rod", "rocker", at=(0.9, 0, 0), child_at=(0.5, 0, 0)),
        ch.revolute("D", "ground", "rocker", axis=(0, 1, 0), at=(0.8, 0.1, 0.0), damping=0.2),
    ]
    return ch.System(bodies, joints, gravity=(0.3, -9.81, 1.0))


def moved(mechanism, function, arguments, directions, h=1e-3) -> np.ndarray:
    """The derivative along directions, q along q exp(δ), by differences of fourth order."""

    def at(s):
        rest = (x + s * d for x, d in zip(arguments[1:], directions[1:], strict=True))
        return function(mechanism.retract(arguments[0], s * directions[0]), *rest)

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@pytest.mark.parametrize("case", ["driven", "linkage", "linkage and its forces"])
def test_forces_and_loops(case):
    """Forward dynamics: next to the constraints too."""
    mechanism = (driven() if case == "driven" else linkage()).compile()
    draw = np.random.default_rng(4)
    q = Q if case == "driven" else mechanism.assemble(None)
    v, tau = draw.normal(size=mechanism.nv), draw.normal(size=mechanism.nv)
    if case != "driven":
        v = mechanism.consistent_velocities(q, v)
    function = bridges.forward_dynamics(mechanism, applied=case != "linkage")
    directions = [draw.normal(size=mechanism.nv) for _ in range(3)]
    wanted = moved(mechanism, function, (q, v, tau), directions)
    numbers = mechanism.tables.configuration.lift(q, directions[0])
    found = function.pushed((numbers, *directions[1:]), q, v, tau)
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_the_end_of_a_simulated_loop():
    """By the crank's angle and speed: backward, forward, and by differences; other joints follow."""
    mechanism = flat().compile()  # some of its equations depend on others
    q = mechanism.assemble([0.8, 0, 0], held=["A"])
    end = bridges.simulation_end(mechanism, (0.0, 0.1), step=0.01, independent=["A"], near=q)
    assert end.inputs["q"] == end.inputs["v"] == 1
    given = q[:1] + 0.1, np.array([1.5]), np.zeros(end.inputs["control"])
    found, h = np.concatenate(end.jacobian(*given)[:2], axis=1), 2e-3
    for k in range(2):
        pairs = [end(*(x + s * m * h * (i == k) for i, x in enumerate(given))) * s for m in (1, 2) for s in (1, -1)]
        wanted = (8 * (pairs[0] + pairs[1]) - pairs[2] - pairs[3]) / (12 * h)
        assert np.abs(found[:, k] - wanted).max() < 1e-6 * np.abs(wanted).max()
    weights = np.random.default_rng(0).normal(size=mechanism.nq + mechanism.nv)
    back = np.concatenate(end.pulled(weights, *given)[:2])
    assert np.abs(back - weights @ found).max() < 1e-11 * np.abs(back).max()
    start = end(given[0], given[1], given[2])
    assert mechanism.constraint_violation(start[: mechanism.nq], start[mechanism.nq :]).position < 1e-12


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "say which joints"),
        ({"independent": ["A", "C"]}, "do not determine"),
        ({"independent": ["Z"]}, "not one of"),
    ],
)
def test_loops_need_independent_joints(given, told):
    with pytest.raises(ValueError, match=told):
        bridges.simulation_end(flat(), (0.0, 0.1), step=0.01, **given)


def test_inverse_dynamics_and_frames_of_a_loop():
    """The motor's torque, by accelerations that the loop allows; and a frame."""
    mechanism = linkage().compile()
    q = mechanism.assemble(None)
    v = mechanism.consistent_velocities(q, np.random.default_rng(4).normal(size=mechanism.nv))
    every = bridges.forward_dynamics(mechanism)
    back = bridges.inverse_dynamics(mechanism, actuated=["A", "B"])
    tau = np.zeros(mechanism.nv)
    tau[0] = 0.7
    slope = back.jacobian(q, v, every(q, v, tau))[2] @ every.jacobian(q, v, tau)[2][:, 0]
    h = 1e-3
    ahead, behind = (back(q, v, every(q, v, tau + s * h * np.eye(mechanism.nv)[0])) for s in (1, -1))
    assert np.abs(slope - (ahead - behind) / (2 * h)).max() < 1e-9
    pose = bridges.frame_pose(mechanism, "rocker")
    along_v = mechanism.tables.configuration.lift(q, v)
    assert np.abs(pose.pushed((along_v,), q) - moved(mechanism, pose, (q,), [v])).max() < 1e-9
    with pytest.raises(ValueError, match="actuated is for loops"):
        bridges.inverse_dynamics(SYSTEM, actuated=["elbow"])


HINGES = ch.System(
    [ch.Body(name, 1.0, (0.02, 0.1, -0.2), (0.02, 0.022, 0.004)) for name in ("upper", "lower")],
    [
        ch.revolute("hip", "ground", "upper", axis=(1, 0, 0)),
        ch.revolute("knee", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.4)),
    ],
)


@pytest.mark.parametrize("which", [bridges.forward_dynamics, bridges.inverse_dynamics])
def test_second_derivatives(which):
    function, x, h = which(HINGES), np.random.default_rng(2).normal(size=6), 1e-3
    _, jacobian = function.of_one_vector()
    found = function.second(*np.split(x, 3))
    for k, one in enumerate(np.eye(6)):
        near, far = (jacobian(x + s * h * one) - jacobian(x - s * h * one) for s in (1, 2))
        assert np.abs(found[:, :, k] - (8 * near - far) / (12 * h)).max() < 1e-9 * np.abs(found).max()
    with pytest.raises(ValueError, match="has no second derivatives"):
        CASES["forward"][0].second(Q, V, U)


@pytest.mark.parametrize("which", [bridges.forward_dynamics, bridges.inverse_dynamics])
def test_casadi_has_hessians(which):
    casadi = pytest.importorskip("casadi")
    function, x = which(HINGES), np.random.default_rng(2).normal(size=6)
    bridged, symbols = bridges.casadi_function(function), casadi.MX.sym("x", 6)
    weights = np.array([0.7, -1.3])
    y = casadi.dot(weights, bridged(*casadi.vertsplit(symbols, 2)))
    hessian = casadi.Function("hessian", [symbols], [casadi.hessian(y, symbols)[0]])
    wanted = np.einsum("k,kij->ij", weights, function.second(*np.split(x, 3)))
    assert np.allclose(np.array(hessian(x)), wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


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
    end = bridges.torch_function(function)(
        [0.3], np.zeros(1), given[2]
    )  # what has no gradient may be a list or an array
    end[0].backward()
    assert np.allclose(given[2].grad, function.jacobian([0.3], [0.0], given[2].detach())[2][0])


def test_second_derivatives_of_torch_are_right_or_refused():
    """Autograd takes a gradient that it cannot follow as constant, and Hessians would lack terms without a word."""
    torch = pytest.importorskip("torch")
    arm = ch.System(
        [ch.Body(name, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)) for name in ("upper", "lower")],
        [
            ch.revolute("shoulder", "ground", "upper", axis=(0, 1, 0)),
            ch.revolute("elbow", "upper", "lower", axis=(0, 1, 0), at=(1, 0, 0)),
        ],
    )
    for function in (bridges.forward_dynamics(arm), bridges.inverse_dynamics(arm)):
        given = [torch.tensor(rng.normal(size=n), requires_grad=True) for n in function.inputs.values()]
        assert torch.autograd.gradgradcheck(bridges.torch_function(function), given)
    found = bridges.torch_function(function)(*given)
    (slope,) = torch.autograd.grad(found[0], given[0], create_graph=True)
    (second,) = torch.autograd.grad(slope[0], given[0], create_graph=True)
    with pytest.raises(RuntimeError, match="no third derivatives"):
        second[1].backward()
    end = bridges.torch_function(bridges.simulation_end(arm, (0.0, 0.1), step=0.01))
    with pytest.raises(RuntimeError, match="simulation_end has no second derivatives"):
        torch.autograd.functional.hessian(lambda u: (end([0.1, 0.2], [0.0, 0.0], u) ** 2).sum(), given[2])


def test_torch_with_a_parameter():
    """The code of docs/bridges.md."""
    pytest.importorskip("torch")
    blocks = re.findall(r"^```(?:python|text)\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    scope = {}
    for code in (blocks[0], next(code for code in blocks if "class Tip" in code)):
        exec(code, scope)
    ends = [
        ch.simulate(scope["sprung"](3.0 + h), (0, 0.5), q=[0.3], step=0.01, certificate=False)["tip"].position[-1, 2]
        for h in (-1e-3, 1e-3)
    ]
    assert scope["k"].grad.item() == pytest.approx((ends[1] - ends[0]) / 2e-3, rel=1e-6)


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
