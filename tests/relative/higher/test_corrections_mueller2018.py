"""Formulas of mueller2018 on derivatives, as printed and corrected, on the chain: what docs/corrections.md says is so.

A printed form must be wrong by more than 1e-2 of the truth's largest entry, the corrected one right to 1e-13. The truth
are differences of poses with 60 digits. Bodies and joints are numbered from 0; i is a body, j, k, r are joints.
"""

import numpy as np
import pytest

from chasles.lie import se3
from chasles.relative import system_level
from tests.oracle import partials
from tests.oracle.tree import doubles
from tests.relative import models
from tests.relative.higher.test_oracle import case
from tests.relative.zoo import rate_of, state

N, PAIRS, WRONG, RIGHT = 6, [(i, j) for i in range(6) for j in range(i + 1)], 1e-2, 1e-13


class Truth:
    """All that the formulas are made of, from the oracle."""

    def __init__(self):
        model = case("chain")
        q = models.split(model.mechanism, model.parts, model.q, "coordinates")
        self.v, self.a, self.jerk = model.rates[:3]
        self.C = doubles(model.tree.poses(q))
        self.R, self.r = self.C[:, :3, :3], self.C[:, :3, 3]
        twists = model.twists
        self.V = {name: x[0] for name, x in twists.items()}
        self.dV, self.ddV = ({name: x[k] for name, x in twists.items()} for k in (1, 2))
        columns = [model.path.column_derivatives(j, 0, 2) for j in range(N)]
        names = ("body", "spatial", "hybrid", "mixed")
        # J[name][i, j] and its time derivative
        self.J, self.dJ = (
            {name: np.stack([doubles(column[name][k]) for column in columns], axis=1) for name in names} for k in (0, 1)
        )
        # partial[name][i, j, k]
        found = [[partials.column_partials(model.tree, q, (j, 0), ((k, 0),)) for k in range(N)] for j in range(N)]
        self.partial = {
            name: np.array([[doubles(x[name]) for x in row] for row in found]).transpose(2, 0, 1, 3) for name in names
        }
        self.symbols = doubles(partials.christoffel_symbols(model.tree, q))
        self.bodies = model.mechanism.system.bodies
        self.inertia = [body.spatial for body in self.bodies]


@pytest.fixture(scope="module")
def truth():
    return Truth()


def bracket(x, y):
    return se3.ad(x) @ y


def angular(x):
    return np.concatenate([x[:3], np.zeros(3)])


def linear(x):
    return np.concatenate([np.zeros(3), x[3:]])


def shifted(d):
    """Ad of a translation."""
    out = np.eye(6)
    out[3:, :3] = se3.ad(np.concatenate([d, np.zeros(3)]))[:3, :3]
    return out


def off(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return np.abs(found - expected).max() / max(1.0, np.abs(expected).max())


# ---------------------------------------------------------------- body representation


def test_2_3_4_derivatives_of_relative_poses(truth):
    """∂_k (C_i⁻¹C_j) with ∂_k C_i = C_i Ĵ_ik, which is what the column of k means."""
    inv, J = np.linalg.inv, truth.J["body"]
    worst = dict.fromkeys(("2", "2 printed", "3", "3 printed", "4", "4 printed"), 0.0)
    for i, j in PAIRS:
        for k in range(j, i + 1):
            D, E = inv(truth.C[i]) @ truth.C[j], inv(truth.C[j]) @ truth.C[i]
            own = se3.hat(J[j, k]) if k <= j else np.zeros((4, 4))
            dD = -se3.hat(J[i, k]) @ D + D @ own
            dE = -own @ E + E @ se3.hat(J[i, k])
            worst["3 printed"] = max(worst["3 printed"], off(-se3.hat(J[i, k]) @ D, dD))
            worst["4 printed"] = max(worst["4 printed"], off(E @ se3.hat(J[i, j]), dE))
            if k > j:
                worst["3"] = max(worst["3"], off(-se3.hat(J[i, k]) @ D, dD))
                worst["4"] = max(worst["4"], off(E @ se3.hat(J[i, k]), dE))
            X, expected = se3.hat(J[j, j]), se3.hat(truth.partial["body"][i, j, k])
            worst["2"] = max(worst["2"], off(dD @ X @ E + D @ X @ dE, expected))
            worst["2 printed"] = max(worst["2 printed"], off(dD @ X @ D + D @ X @ dE, expected))
    for name, error in worst.items():
        assert error > WRONG if "printed" in name else error < RIGHT, (name, error)


def test_13_jerk_in_body_representation(truth):
    J, v, a, jerk = truth.J["body"], truth.v, truth.a, truth.jerk
    printed, corrected = np.zeros((N, 6)), np.zeros((N, 6))
    for i in range(N):
        for j in range(i + 1):
            base = J[i, j] * jerk[j]
            for k in range(j + 1, i + 1):
                B = bracket(J[i, j], J[i, k])
                base = base + B * (2 * a[j] * v[k] + v[j] * a[k])
                for r in range(k, i + 1):
                    cubic = bracket(B, J[i, r]) * v[j] * v[k] * v[r]
                    printed[i] += 2 * cubic
                    corrected[i] += cubic if r == k else 2 * cubic
            printed[i] += base
            corrected[i] += base
    assert off(printed, truth.ddV["body"]) > WRONG
    assert off(corrected, truth.ddV["body"]) < RIGHT


def test_8_holds_for_joints_with_one_freedom_only():
    """J' = -A a J: right on the chain; with spherical and free joints J - X must stand for J."""
    for name, right in (("chain", True), ("all kinds", False)):
        mechanism = case(name).mechanism
        q, v, _ = state(mechanism, 51)
        parts = system_level.factors(mechanism, q)
        expected = rate_of(lambda x, m=mechanism: system_level.factors(m, x).jacobian, mechanism, q, v)
        a, _ = system_level.body_rates(parts, v)
        printed = off(-parts.carry @ a @ parts.jacobian, expected)
        assert printed < 1e-10 if right else printed > WRONG
        assert off(system_level.jacobian_rate(parts, v), expected) < 1e-10


# ---------------------------------------------------------------- spatial representation


def test_16_the_rates_belong_inside_the_sum(truth):
    J, V = truth.J["spatial"], truth.V["spatial"]
    last = N - 1  # the columns are the same for all bodies that a joint moves
    for j in range(N):
        inside = bracket(sum(J[last, k] * truth.v[k] for k in range(j + 1)), J[last, j])
        assert off(inside, truth.dJ["spatial"][last, j]) < RIGHT
        assert off(bracket(V[j], J[last, j]), truth.dJ["spatial"][last, j]) < RIGHT


# ---------------------------------------------------------------- hybrid and mixed representation


def test_25_partial_derivatives_of_hybrid_columns(truth):
    J, left_out = truth.J["hybrid"], 0.0
    for i, j in PAIRS:
        for k in range(i + 1):
            expected = truth.partial["hybrid"][i, j, k]
            found = bracket(J[i, j], linear(J[i, k])) if k >= j else bracket(angular(J[i, k]), J[i, j])
            assert off(found, expected) < RIGHT
            left_out = max(left_out, np.abs(expected).max() if k < j else 0.0)
    assert left_out > WRONG


def test_26_27_rate_of_the_hybrid_jacobian(truth):
    J, V, r, v = truth.J["hybrid"], truth.V["hybrid"], truth.r, truth.v
    names = ("sum", "difference", "first", "second", "third", "26", "27 first", "27 second", "27 third")
    worst = dict.fromkeys(names, 0.0)
    for i, j in PAIRS:
        X, before = J[j, j], V[j - 1] if j else np.zeros(6)
        to, to_before = r[j] - r[i], (r[j - 1] if j else np.zeros(3)) - r[i]
        speed = np.concatenate([np.zeros(3), V[j, 3:] - V[i, 3:]])
        forms = {
            "sum": sum(bracket(J[i, j], linear(J[i, k])) * v[k] for k in range(j + 1)),
            "difference": bracket(J[i, j], linear(V[i] - shifted(to_before) @ before)),
            "26": sum(bracket(J[i, j], linear(J[i, k])) * v[k] for k in range(j, i + 1))
            + bracket(angular(before), J[i, j]),
            "first": bracket(speed, X) + shifted(to_before) @ bracket(angular(V[j]), X),
            "second": shifted(to_before) @ (bracket(speed, X) + bracket(angular(V[j]), X)),
            "third": shifted(to) @ (bracket(truth.V["spatial"][j], X) - bracket(linear(V[i]), X)),
            "27 first": bracket(speed, X) + shifted(to) @ bracket(angular(V[j]), X),
            "27 second": shifted(to) @ (bracket(speed, X) + bracket(angular(V[j]), X)),
            "27 third": shifted(to) @ (bracket(V[j], X) - bracket(linear(V[i]), X)),
        }
        for name, found in forms.items():
            worst[name] = max(worst[name], off(found, truth.dJ["hybrid"][i, j]))
    for name, error in worst.items():
        assert error < RIGHT if name[0] == "2" else error > WRONG, (name, error)


def test_28_hybrid_acceleration(truth):
    J, V, v = truth.J["hybrid"], truth.V["hybrid"], truth.v
    printed, missing = np.zeros((N, 6)), np.zeros((N, 6))
    for i, j in PAIRS:
        printed[i] += J[i, j] * truth.a[j]
        printed[i] += sum(bracket(J[i, j], linear(J[i, k])) * v[j] * v[k] for k in range(j, i + 1))
        if j:
            missing[i] += bracket(angular(V[j - 1]), J[i, j]) * v[j]
    assert off(printed, truth.dV["hybrid"]) > WRONG
    assert off(printed + missing, truth.dV["hybrid"]) < RIGHT


def test_31_32_hybrid_jerk_with_parentheses(truth):
    V, dV, v, a = truth.V["hybrid"], truth.dV["hybrid"], truth.v, truth.a
    jerk = np.zeros((N, 6))
    for i, j in PAIRS:
        X, w, dw = truth.J["hybrid"][j, j], angular(V[j]), angular(dV[j])
        speed, rate = linear(V[j] - V[i]), linear(dV[j] - dV[i])
        turned = bracket(w, X)
        jerk[i] += truth.J["hybrid"][i, j] * truth.jerk[j] + 2 * a[j] * bracket(speed, X)
        jerk[i] += v[j] * (bracket(rate, X) + 2 * bracket(speed, turned))
        inner = 2 * a[j] * turned + v[j] * (bracket(dw, X) + bracket(w, turned))
        jerk[i] += shifted(truth.r[j] - truth.r[i]) @ inner
    assert off(jerk, truth.ddV["hybrid"]) < RIGHT


def test_33_mixed_representation(truth):
    V, dV, ddV = truth.V["hybrid"], truth.dV["hybrid"], truth.ddV["hybrid"]

    def turned(i, x):
        return np.concatenate([truth.R[i].T @ x[:3], x[3:]])

    printed = corrected = 0.0
    for i, j in PAIRS:
        drift = np.concatenate([np.cross(V[i, :3], truth.J["hybrid"][i, j][:3]), np.zeros(3)])
        rate, expected = truth.dJ["hybrid"][i, j], truth.dJ["mixed"][i, j]
        printed = max(printed, off(turned(i, rate), expected))
        corrected = max(corrected, off(turned(i, rate - drift), expected))
    assert printed > WRONG
    assert corrected < RIGHT
    plain = [turned(i, ddV[i]) for i in range(N)]
    drift = [np.concatenate([np.cross(V[i, :3], dV[i, :3]), np.zeros(3)]) for i in range(N)]
    assert off(plain, truth.ddV["mixed"]) > WRONG
    assert off([turned(i, ddV[i] - drift[i]) for i in range(N)], truth.ddV["mixed"]) < RIGHT
    assert off([turned(i, dV[i]) for i in range(N)], truth.dV["mixed"]) < RIGHT


# ---------------------------------------------------------------- Christoffel symbols


def christoffel(truth, i, j, k, first, s, r):
    """mueller2018 eq. (86) with the sum from `first` on."""
    J, total = truth.J["body"], 0.0
    for b in range(first, N):
        M = truth.inertia[b]
        total += J[b, k] @ M @ bracket(J[b, i], J[b, j]) + J[b, j] @ M @ bracket(J[b, i], J[b, k])
        total += J[b, i] @ M @ bracket(J[b, s], J[b, r])
    return 0.5 * total


def test_86_christoffel_symbols(truth):
    printed = corrected = 0.0
    for i, j, k in np.ndindex(N, N, N):
        expected = truth.symbols[i, j, k]
        s, r = min(j, k), max(j, k)
        corrected = max(corrected, abs(christoffel(truth, i, j, k, max(i, j, k), s, r) - expected))
        if i < j <= k or j <= i < k:
            found = christoffel(truth, i, j, k, k, min(i, j), max(i, j))
            printed = max(printed, abs(found - expected))
    size = np.abs(truth.symbols).max()
    assert printed > 0.1 * size
    assert corrected < RIGHT * size


def test_87_christoffel_symbols_with_binet_s_tensor(truth):
    J, size = truth.J["body"], np.abs(truth.symbols).max()
    printed = corrected = anywhere = 0.0
    for i, j, k in np.ndindex(N, N, N):
        s, r, expected = min(j, k), max(j, k), truth.symbols[i, j, k]
        found = form = general = 0.0
        for b in range(max(i, j, k), N):
            mass, com = truth.bodies[b].mass, np.array(truth.bodies[b].com)
            at = shifted(-com) @ J[b].T  # columns at the center of mass
            (w, u), theta = (at[:3], at[3:]), inertia_about(truth.inertia[b], mass, com)
            binet = 0.5 * np.trace(theta) * np.eye(3) - theta
            found += w[:, s] @ binet @ np.cross(w[:, r], w[:, i]) + mass * u[:, i] @ np.cross(w[:, s], u[:, r])
            check = np.zeros((6, 6))
            check[:3, :3], check[3:, 3:] = binet, mass * np.eye(3)
            form += 0.5 * at[:, j] @ check @ bracket(angular(at[:, k]), at[:, i])
            about = truth.inertia[b][:3, :3]
            second = np.zeros((4, 4))
            second[:3, :3] = 0.5 * np.trace(about) * np.eye(3) - about
            second[:3, 3] = second[3, :3] = mass * com
            second[3, 3] = mass
            general += np.trace(se3.hat(J[b, i]) @ second @ (se3.hat(J[b, s]) @ se3.hat(J[b, r])).T)
        corrected, anywhere = max(corrected, abs(found - expected)), max(anywhere, abs(general - expected))
        if i < j <= k or j <= i < k:
            printed = max(printed, abs(form - expected))
    assert printed > 0.1 * size
    assert max(corrected, anywhere) < RIGHT * size


def inertia_about(matrix, mass, com):
    """Rotational inertia about the center of mass from a 6x6 matrix about the origin."""
    return matrix[:3, :3] - mass * ((com @ com) * np.eye(3) - np.outer(com, com))
