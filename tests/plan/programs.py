"""The nonlinear programs of plans, to look at their derivatives."""

from unittest.mock import patch

import numpy as np
from scipy.sparse import coo_matrix

import chasles as ch

PUSHED = ch.plan.quantity(lambda t, q, v, u: (u**2).sum(axis=1) * v[:, 0] + np.sin(q[:, -1]) + u[:, -1], "pushed")


class FoundError(Exception):
    """The program, before it is solved."""


def program_of(way, system, start, end=0.3, off=0.2, **more):
    """The program of a plan with all kinds of costs and limits, and variables that are so far from its start."""

    def found(program, z, *_):
        raise FoundError(program, z)

    bodies = system(**more["parameters"]).bodies if more else system.bodies
    still = dict.fromkeys(start[1], 0.0) if isinstance(start[1], dict) else np.zeros(len(start[1]))
    costs = [
        *(ch.plan.effort(), ch.plan.duration(), ch.plan.final(ch.plan.state(v=still))),
        ch.plan.tracking(ch.plan.frame(bodies[-1].name, [1.0, 2.0, 3.0])),
        *(ch.plan.tracking(PUSHED), ch.plan.final(ch.plan.inputs(), 0.1)),
    ]
    at_half = ch.plan.keep(ch.plan.frame(bodies[0].name, [1, 0, 0, 0, 0, 0, 1.0]), -100, 100, when=0.5)
    limits = [at_half, ch.plan.reach(ch.plan.state(v=still)), ch.plan.keep(PUSHED, -1.0), ch.plan.reach(PUSHED, 0.5)]
    with patch(f"{way.__module__}.solved", found):
        try:
            bent = "approximate" if more else "exact"
            way(system, (0.0, end), 2, costs, *start, limits=limits, duration=(0.05, 1.0), hessian=bent, **more)
        except FoundError as error:
            program, z = error.args
    own = 1 + len(more.get("parameters", ()))
    z[:-own] += off * np.random.default_rng(0).normal(size=len(z) - own)
    return program, z


def require_slopes(program, z, tiny=1e-5):
    """The Jacobian, the gradient and the Hessian against central differences along one direction."""
    along = 0.1 * np.random.default_rng(1).normal(size=len(z))
    matrix = coo_matrix((program.slopes(z), program.places), shape=(len(program.least), len(z))).tocsr()
    wanted = (program.rows(z + tiny * along) - program.rows(z - tiny * along)) / (2 * tiny)
    assert np.abs(matrix @ along - wanted).max() < 1e-8 * np.abs(wanted).max()
    slope = (program.cost(z + tiny * along)[0] - program.cost(z - tiny * along)[0]) / (2 * tiny)
    assert abs(program.cost(z)[1] @ along - slope) < 1e-7 * abs(slope)
    if program.bends is not None:
        require_bends(program, z, tiny)


def require_bends(program, z, tiny):
    """The Hessian of the Lagrangian, of which the program has differences to one side, against central ones."""
    rng, shape = np.random.default_rng(2), (len(program.least), len(z))
    multipliers, along = rng.normal(size=shape[0]), 0.1 * rng.normal(size=shape[1])

    def gradient(z):
        return 0.7 * program.cost(z)[1] + coo_matrix((program.slopes(z), program.places), shape=shape).T @ multipliers

    wanted = (gradient(z + tiny * along) - gradient(z - tiny * along)) / (2 * tiny)
    places = program.bends.places()
    lower = coo_matrix((program.bends.entries(z, multipliers, 0.7), places), shape=(len(z), len(z))).tocsr()
    assert (places[0] >= places[1]).all()
    found = lower @ along + lower.T @ along - lower.diagonal() * along
    assert np.abs(found - wanted).max() < 1e-5 * np.abs(wanted).max()
