"""One problem solved through SciPy, Ipopt, JAX, PyTorch and CasADi, with gradients of simulations by chasles.

A rod on a damped hinge shall come to rest at 1 rad after half a second. Unknown are its speed at the start and a
constant torque. SciPy, Ipopt and CasADi take the end as equations, JAX and PyTorch minimize the squared deviation.
"""

import argparse
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

import chasles as ch
from chasles import bridges

GOAL = np.array([1.0, 0.0])  # angle [rad] and speed [rad/s] at the end


def rod() -> ch.System:
    """A rod of 1 kg with damping; without gravity."""
    body = ch.Body("rod", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    hinge = ch.revolute("pin", "ground", "rod", axis=(0, 1, 0), damping=0.3)
    return ch.System([body], [hinge], gravity=(0, 0, 0))


END = bridges.simulation_end(rod(), (0.0, 0.5), step=0.01)


def by_scipy() -> np.ndarray:
    from scipy.optimize import NonlinearConstraint, minimize

    value, jacobian = END.of_one_vector()
    end = NonlinearConstraint(lambda x: value([0.0, *x]), GOAL, GOAL, jac=lambda x: jacobian([0.0, *x])[:, 1:])
    return minimize(lambda x: (x @ x, 2 * x), np.zeros(2), jac=True, constraints=end, options={"ftol": 1e-14}).x


def by_ipopt() -> np.ndarray:
    import ipyopt

    value, jacobian = END.of_one_vector()

    def put(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray, np.ndarray], None]:
        def into(x: np.ndarray, out: np.ndarray) -> None:
            out[:] = function(x)

        return into

    free, none = np.full(2, 1e20), np.zeros(0, dtype=int)
    places = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    problem = ipyopt.Problem(
        *(2, -free, free, 2, GOAL, GOAL, places, (none, none), lambda x: x @ x, put(lambda x: 2 * x)),
        *(put(lambda x: value([0.0, *x])), put(lambda x: jacobian([0.0, *x])[:, 1:].ravel())),
        ipopt_options={"print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory", "tol": 1e-10},
    )
    return problem.solve(np.zeros(2))[0]


def by_cyipopt() -> np.ndarray:
    import cyipopt

    value, jacobian = END.of_one_vector()
    off = {"type": "eq", "fun": lambda x: value([0.0, *x]) - GOAL, "jac": lambda x: jacobian([0.0, *x])[:, 1:]}
    options = {"disp": 0, "sb": "yes"}
    return cyipopt.minimize_ipopt(
        lambda x: (x @ x, 2 * x), np.zeros(2), jac=True, constraints=[off], tol=1e-10, options=options
    ).x


def by_jax() -> np.ndarray:
    import jax
    from scipy.optimize import minimize

    jax.config.update("jax_enable_x64", True)
    end = bridges.jax_function(END)

    @jax.jit
    @jax.value_and_grad
    def loss(x: jax.Array) -> jax.Array:
        off = end(jax.numpy.zeros(1), x[:1], x[1:]) - GOAL
        return off @ off

    return minimize(lambda x: tuple(map(np.asarray, loss(x))), np.zeros(2), jac=True, options={"gtol": 1e-12}).x


def by_torch() -> np.ndarray:
    import torch

    end, goal = bridges.torch_function(END), torch.tensor(GOAL)
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS(
        [x], max_iter=200, tolerance_grad=1e-12, tolerance_change=1e-16, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        search.zero_grad()
        off = end(torch.zeros(1, dtype=torch.float64), x[:1], x[1:]) - goal
        total = off @ off
        total.backward()
        return total

    search.step(loss)
    return x.detach().numpy()


def by_casadi() -> np.ndarray:
    import casadi

    end, x = bridges.casadi_function(END), casadi.MX.sym("x", 2)
    program = {"x": x, "f": casadi.dot(x, x), "g": end(casadi.MX.zeros(1), x[0], x[1])}
    options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "hessian_approximation": "limited-memory"}}
    found = casadi.nlpsol("found", "ipopt", program, options)(x0=[0, 0], lbg=GOAL, ubg=GOAL)
    return np.array(found["x"]).ravel()


WAYS = {
    "scipy": by_scipy,
    "ipyopt": by_ipopt,
    "cyipopt": by_cyipopt,
    "jax": by_jax,
    "torch": by_torch,
    "casadi": by_casadi,
}


def main(chosen: list[str], picture: str | None) -> None:
    found = {}
    for name in chosen:
        if find_spec(name) is None:
            print(f"{name}: is not installed")
            continue
        found[name] = speed, torque = WAYS[name]()
        angle, rate = END([0.0], [speed], [torque])
        print(f"{name}: {speed:.5f} rad/s and {torque:.5f} N m lead to {angle:.5f} rad, {rate:.5f} rad/s")
    apart = max(np.abs(x - y).max() for x in found.values() for y in found.values())
    print(f"largest difference of the answers: {apart:.0e}")
    if picture:
        speed, torque = next(iter(found.values()))
        run = ch.simulate(rod(), (0.0, 0.5), [0.0], [speed], control=[torque], save=np.linspace(0, 0.5, 101))
        run.plot("joints", "joints.velocity", file=picture)
        print(f"picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by", nargs="*", choices=WAYS, default=list(WAYS), help="programs to use")
    parser.add_argument("--picture", help="where to save a picture, for example throw.png")
    given = parser.parse_args()
    main(given.by, given.picture)
