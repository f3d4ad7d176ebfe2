"""Derivatives against differences of the oracle: d'Alembert's principle in 60 digits, on three mechanisms.

The oracle's forces are good to some 22 digits. They are differenced along q exp(δ), v and a: first derivatives with a
step of 1e-8, second ones with 1e-4 and 2e-4 extrapolated, so that both are right to 14 digits. Along every velocity
where there are few; else along some random directions, in which every entry counts. What is found is a few roundings,
so 2e-13 of the largest entry is asked for; where the mass matrix is inverted, with its condition of up to 3e3, 1e-11.
"""

import functools
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest

from chasles.relative.mechanism import Mechanism
from tests.oracle import tree as oracle
from tests.relative import models

STEP, LONG_STEP = Decimal("1e-8"), Decimal("1e-4")
TOLERANCE, SOLVE_TOLERANCE = 2e-13, 1e-11
FEW, SOME = 6, 1


def quaternion_exponential(w: oracle.Array) -> oracle.Array:
    """The unit quaternion of a rotation by the vector w, by power series."""
    square, cosine, sine, term = -(w @ w) / 4, Decimal(0), Decimal(0), Decimal(1)
    for k in range(1, 60):
        cosine, term = cosine + term, term / (2 * k - 1)
        sine, term = sine + term, term * square / (2 * k)
    return np.concatenate([[cosine], sine * w / 2])


def product(p: oracle.Array, q: oracle.Array) -> oracle.Array:
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + oracle.cross(p[1:], q[1:])])


def displaced(link: oracle.Link, q: oracle.Array, delta: oracle.Array) -> oracle.Array:
    """q exp(δ) of a joint."""
    q = oracle.exact(q)
    if link.group is None:
        return q + delta
    q[:4] = oracle.unit(q[:4])
    turned = product(q[:4], quaternion_exponential(delta[:3]))
    if link.group == "spherical":
        return turned
    return np.concatenate([turned, oracle.pose_matrix(q)[:3] @ oracle.exponential(delta)[:, 3]])


@dataclass
class Case:
    """A mechanism, a state of it, and the oracle; vectors in the order of the mechanism."""

    name: str

    def __post_init__(self):
        self.parts = models.MODELS[self.name]()
        self.mechanism, self.tree = Mechanism(models.system_of(self.parts)), models.oracle_of(self.parts)
        rng = np.random.default_rng(23)
        n = self.mechanism.nv
        self.q, self.wrenches = models.coordinates(self.mechanism, rng), rng.normal(size=(len(self.parts), 6))
        self.v, self.a, self.tau = rng.normal(size=(3, n))
        self.back = np.argsort(models.joined(self.mechanism, self.parts))
        self.directions = np.eye(n) if n <= FEW else rng.normal(size=(SOME, n))
        self.pairs = rng.normal(size=(2 if n <= FEW else 1, 2, n))
        self.motions = rng.normal(size=(len(self.directions), 2, n))  # along which v and a, or forces, change at once
        self.bends = rng.normal(size=(len(self.pairs), 2, 2, n))

    def split(self, x: np.ndarray) -> list[oracle.Array]:
        return [oracle.exact(part) for part in models.split(self.mechanism, self.parts, np.asarray(x, dtype=object))]

    def moved(self, *deltas: np.ndarray) -> list[oracle.Array]:
        """q exp(δ) exp(δ') ..."""
        q = models.split(self.mechanism, self.parts, self.q, "coordinates")
        for delta in deltas:
            q = [displaced(*each) for each in zip(self.tree.links, q, self.split(delta), strict=True)]
        return q

    def forces(self, *deltas: np.ndarray, v=0, a=0) -> oracle.Array:
        """Inverse dynamics at displaced arguments."""
        motion = self.split(oracle.exact(self.v) + v), self.split(oracle.exact(self.a) + a)
        return self.tree.inverse_dynamics(self.moved(*deltas), *motion, self.wrenches)[self.back]

    def accelerations(self, *deltas: np.ndarray, v=0, tau=0) -> oracle.Array:
        given = self.split(oracle.exact(self.v) + v), self.split(oracle.exact(self.tau) + tau)
        return self.tree.forward_dynamics(self.moved(*deltas), *given, self.wrenches)[self.back]

    def matrix(self, *deltas: np.ndarray) -> oracle.Array:
        return self.tree.mass_matrix(self.moved(*deltas))[np.ix_(self.back, self.back)]


@functools.cache
def case(name: str) -> Case:
    return Case(name)


@oracle.precise
def slope(function, direction: np.ndarray, step: Decimal = STEP) -> np.ndarray:
    ahead, back = function(step * oracle.exact(direction)), function(-step * oracle.exact(direction))
    return oracle.doubles((ahead - back) / (2 * step))


@oracle.precise
def mixed(function, u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """∂²/∂s∂t of function(s u, t w), extrapolated from two steps."""
    u, w = oracle.exact(u), oracle.exact(w)

    def rough(h: Decimal) -> oracle.Array:
        corners = ((x, y, function(x * h * u, y * h * w)) for x in (1, -1) for y in (1, -1))
        return sum(x * y * value for x, y, value in corners) / (4 * h * h)

    return oracle.doubles((4 * rough(LONG_STEP) - rough(2 * LONG_STEP)) / 3)


def deviation(found: np.ndarray, expected: np.ndarray) -> float:
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.fixture(params=models.COSTLY)
def model(request) -> Case:
    return case(request.param)


def test_inverse_dynamics(model):
    found = model.mechanism.derivatives.inverse_dynamics(model.q, model.v, model.a, model.wrenches)
    for u, (v, a) in zip(model.directions, model.motions, strict=True):  # all three at once
        expected = slope(lambda x: model.forces(x[0], v=x[1], a=x[2]), np.array([u, v, a]))
        assert deviation(found.dq @ u + found.dv @ v + found.da @ a, expected) < TOLERANCE


def test_forward_dynamics(model):
    found = model.mechanism.derivatives.forward_dynamics(model.q, model.v, model.tau, model.wrenches)
    for u, (v, tau) in zip(model.directions, model.motions, strict=True):
        expected = slope(lambda x: model.accelerations(x[0], v=x[1], tau=x[2]), np.array([u, v, tau]))
        assert deviation(found.dq @ u + found.dv @ v + found.dtau @ tau, expected) < SOLVE_TOLERANCE


def test_mass_matrix_and_its_inverse(model):
    change = model.mechanism.derivatives.mass_matrix(model.q)
    inverse_change = model.mechanism.derivatives.inverse_mass_matrix(model.q)
    x = oracle.exact(model.v)
    for u in model.pairs[0, :1]:
        expected = slope(model.matrix, u)
        assert deviation(change @ u, expected) < TOLERANCE
        assert deviation(model.mechanism.derivatives.mass_matrix(model.q, along=u), expected) < TOLERANCE
        solved = slope(lambda delta: oracle.solve(model.matrix(delta), x), u)
        assert deviation(inverse_change @ u @ model.v, solved) < SOLVE_TOLERANCE
        along = model.mechanism.derivatives.inverse_mass_matrix(model.q, along=u)
        assert deviation(along @ model.v, solved) < SOLVE_TOLERANCE


def test_second_derivatives(model):
    """The derivative along w of the one along u: Q at q exp(t w) exp(s u), while v and a change along s and t, too."""
    found = model.mechanism.derivatives.inverse_dynamics_second(model.q, model.v, model.a, model.wrenches)
    for (u, w), ((u_v, u_a), (w_v, w_a)) in zip(model.pairs, model.bends, strict=True):
        twice = found.dq_dq @ w @ u + found.dv_dv @ w_v @ u_v
        twice += found.dq_dv @ w_v @ u + found.dq_dv @ u_v @ w + found.da_dq @ w @ u_a + found.da_dq @ u @ w_a
        expected = mixed(
            lambda x, y: model.forces(y[0], x[0], v=x[1] + y[1], a=x[2] + y[2]),
            *(np.array([u, u_v, u_a]), np.array([w, w_v, w_a])),
        )
        assert deviation(twice, expected) < TOLERANCE
