"""The oracle of trees against other ways to the same numbers: Lagrange's equations, and digits computed elsewhere."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from tests.oracle import tree as oracle
from tests.relative import models

DATA = Path(__file__).parents[1] / "reference" / "planar_two_links.json"


def relative(found, expected) -> float:
    found, expected = oracle.exact(found).ravel(), oracle.exact(expected).ravel()
    return float(max(abs(found - expected)) / max(abs(expected)))


@oracle.precise
def lagrange(tree, q, v, a):
    """d/dt ∂T/∂v - ∂T/∂q + ∂U/∂q, all differenced, of a tree whose joints have axes (q is a list of arrays)."""
    h = Decimal("1e-9")

    def shifted(x, column, by):
        i, k = column
        out = [oracle.exact(y) for y in x]
        out[i][k] += by
        return out

    def momentum(q, v, column):
        ahead, back = (tree.kinetic_energy(q, shifted(v, column, s * h)) for s in (1, -1))
        return (ahead - back) / (2 * h)

    def at(t):
        rows = [tuple(map(oracle.exact, row)) for row in zip(q, v, a, strict=True)]
        return [x + t * y + t * t / 2 * z for x, y, z in rows], [y + t * z for _, y, z in rows]

    tau = []
    for column in tree.columns:
        inertial = (momentum(*at(h), column) - momentum(*at(-h), column)) / (2 * h)
        ahead, back = shifted(q, column, h), shifted(q, column, -h)
        kinetic = (tree.kinetic_energy(ahead, v) - tree.kinetic_energy(back, v)) / (2 * h)
        potential = (tree.potential_energy(ahead) - tree.potential_energy(back)) / (2 * h)
        tau.append(inertial - kinetic + potential)
    return np.array(tau, dtype=object)


def test_d_alembert_gives_the_equations_of_lagrange():
    """Differences of step 1e-9 leave 16 digits."""
    tree, rng = models.oracle_of(models.chain()), np.random.default_rng(1)
    q, v, a = ([rng.normal(size=link.nv) for link in tree.links] for _ in range(3))
    assert relative(tree.inverse_dynamics(q, v, a), lagrange(tree, q, v, a)) < 1e-16


def test_kinetic_energy_is_the_quadratic_form_of_the_mass_matrix():
    tree, rng = models.oracle_of(models.all_kinds()), np.random.default_rng(2)
    q = [rng.normal(size={"spherical": 4, "free": 7, None: link.nv}[link.group]) for link in tree.links]
    v = [rng.normal(size=link.nv) for link in tree.links]
    flat = np.concatenate([oracle.exact(x) for x in v])
    with oracle.localcontext(prec=oracle.DIGITS):
        form = flat @ tree.mass_matrix(q) @ flat / 2
        assert abs(form / tree.kinetic_energy(q, v) - 1) < Decimal("1e-20")


def test_forward_dynamics_inverts_inverse_dynamics():
    tree, rng = models.oracle_of(models.chain()), np.random.default_rng(3)
    q, v, a = ([rng.normal(size=link.nv) for link in tree.links] for _ in range(3))
    wrenches = rng.normal(size=(len(tree.links), 6))
    tau = tree.inverse_dynamics(q, v, a, wrenches).reshape(-1, 1)
    assert relative(tree.forward_dynamics(q, v, list(tau), wrenches), np.concatenate(a)) < 1e-18


@pytest.mark.parametrize("turn", [0.0, 1e-30, 0.3, 3.0, 40.0])
def test_exponential_is_a_rotation(turn):
    with oracle.localcontext(prec=oracle.DIGITS):
        axis = oracle.unit([1.0, -2.0, 0.5])
        C = oracle.exponential(np.concatenate([Decimal(turn) * axis, oracle.exact([1.0, 2.0, 3.0])]))
        off = C[:3, :3] @ C[:3, :3].T - oracle.identity(3)
        assert max(abs(x) for x in off.ravel()) < Decimal("1e-56")
        assert max(abs(x) for x in C[:3, :3] @ axis - axis) < Decimal("1e-56")
        assert np.trace(oracle.doubles(C)) == pytest.approx(2 + 2 * np.cos(turn), abs=1e-14)


def test_digits_computed_elsewhere():
    """A planar arm of two links, in 512-bit arithmetic from the Lagrangian, by other code."""
    data = json.loads(DATA.read_text())["models"]["planar2"]
    model, state, expected = data["model"], data["state"], data["reference"]
    links = []
    for parent, Y, A, M in zip(*(model[name] for name in ("parent", "Y", "A", "M")), strict=True):
        M = np.array(M)
        mass, com = M[5, 5], np.array([M[2, 4], M[0, 5], M[1, 3]]) / M[5, 5]
        about = M[:3, :3] - mass * (com @ com * np.eye(3) - np.outer(com, com))
        links.append(oracle.Link(parent, oracle.exact([Y]), oracle.exact(A), mass, com, about))
    tree = oracle.Tree(links, model["gravity"])
    q, v, a, tau = (np.reshape(state[name], (2, 1)) for name in ("q", "qd", "qdd", "tau_fd"))
    wrenches = state["W_app_body"]
    poses, twists, rates = tree.motion(q, v, a)
    found = {"C": poses, "M": tree.mass_matrix(q), "Q": tree.inverse_dynamics(q, v, a)}
    for name in oracle.REPRESENTATIONS:
        found |= {f"V_{name}": twists[name], f"Vdot_{name}": rates[name]}
    found["Q_with_applied_wrench"] = tree.inverse_dynamics(q, v, a, wrenches)
    found["qdd_forward_dynamics"] = tree.forward_dynamics(q, v, tau)
    found["qdd_forward_dynamics_with_applied_wrench"] = tree.forward_dynamics(q, v, tau, wrenches)
    found["T"], found["U"] = tree.kinetic_energy(q, v), tree.potential_energy(q)
    for name, value in found.items():
        assert relative(oracle.doubles(value), np.array(expected[name])) < 1e-15, name
