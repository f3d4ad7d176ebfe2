"""Every method reaches its order on a problem with all commutators active, and on a double pendulum in space; end
states against SciPy's DOP853 in the embedding."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from chasles.gallery.pendulum import Pendulum
from chasles.integrate.method import COMMUTATOR_FREE, CROUCH_GROSSMAN, LOW_STORAGE, RKMK, Exponentials
from chasles.integrate.solver import solve
from chasles.integrate.tableau import TABLEAUX, Tableau
from tests.integrate.problems import PARAMETERS, problem, tangle

PROBLEM, START = problem("se3*")


def embedded_field(t, y):
    """The coadjoint field in the embedding, mu' = (x × t + v × f, x × f): independent of all code under test."""
    out = np.empty(6)
    tangle(t, y, PARAMETERS, out)
    x, v, torque, force = out[:3], out[3:], y[:3], y[3:]
    return np.concatenate([np.cross(x, torque) + np.cross(v, force), np.cross(x, force)])


CHAIN = Pendulum(
    masses=(1.3, 0.7),
    lengths=(0.9, 1.2),
    directions=[[0.6, 0.0, -0.8], [0.0, 0.8, 0.6]],
    velocities=[[0.8, 1.5, 0.6], [2.0, -0.3, 0.4]],
)


def pendulum_rate(t, y):
    """The double pendulum in the embedding, y = (q1, w1, q2, w2), by Newton's law and the tensions of the rods."""
    (q1, w1), (q2, w2) = y.reshape(2, 2, 3)
    (m1, m2), (l1, l2), weight = CHAIN.masses, CHAIN.lengths, np.array([0, 0, -CHAIN.gravity])
    # m1 x1'' = m1 weight - s1 q1 + s2 q2, m2 x2'' = m2 weight - s2 q2, with rods of constant length
    matrix = np.array([[-1 / m1, q1 @ q2 / m1], [q1 @ q2 / m1, -1 / m1 - 1 / m2]])
    s1, s2 = np.linalg.solve(matrix, [-l1 * w1 @ w1 - q1 @ weight, -l2 * w2 @ w2])
    a1 = weight + (s2 * q2 - s1 * q1) / m1
    a2 = weight - s2 * q2 / m2
    return np.concatenate([np.cross(w1, q1), np.cross(q1, a1) / l1, np.cross(w2, q2), np.cross(q2, a2 - a1) / l2])


PENDULUM = (CHAIN.problem(), CHAIN.initial(), pendulum_rate)
COMMUTATORS = (PROBLEM, START, embedded_field)


@cache
def truth_of(rate):
    """The end of the motion in the embedding; not computed where tests are only collected."""
    start = START if rate is embedded_field else CHAIN.initial()
    return solve_ivp(rate, (0, 1), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


def errors(method, counts, case):
    """End errors for several numbers of steps."""
    problem_, start, rate = case
    ends = [solve(problem_, method, (0, 1), start, step=1 / n, save="final").y[-1] for n in counts]
    return [abs(end - truth_of(rate)).max() for end in ends]


def slope(method, counts, case=COMMUTATORS):
    """Observed order: the slope of log error over log step, from points above the rounding plateau."""
    found = np.array(errors(method, counts, case))
    kept = found > 3e-13
    assert kept.sum() >= 3, found
    return np.polyfit(np.log(np.array(counts)[kept]), np.log(found[kept]), 1)[0] * -1


def counts_for(order):
    return {8: (4, 6, 8, 10), 6: (8, 12, 16, 24), 5: (12, 16, 24, 32)}.get(order, (32, 48, 64, 96, 128))


def embedded(method):
    """The second method of a pair as a method of its own."""
    if isinstance(method, RKMK):
        table = method.table
        tableau = Tableau(table.name, table.embedded_order, table.a, table.embedded)
        return RKMK(tableau, coordinates=method.coordinates)
    return Exponentials(method.name, method.embedded_order, method.stages, method.embedded)


ALL = {
    **{f"rkmk {name}": RKMK(name) for name in TABLEAUX},
    "rkmk kutta3, one commutator": RKMK("kutta3", "minimal"),
    "rkmk rk4, two commutators": RKMK("rk4", "minimal"),
    "rkmk rk4, Cayley": RKMK("rk4", coordinates="cay"),
    "rkmk dopri5, Cayley": RKMK("dopri5", coordinates="cay"),
    "rkmk rk4, second kind": RKMK("rk4", coordinates="second_kind"),
    "rkmk butcher6, second kind": RKMK("butcher6", coordinates="second_kind"),
    **COMMUTATOR_FREE,
    **CROUCH_GROSSMAN,
    **LOW_STORAGE,
}
PAIRS = {name: method for name, method in ALL.items() if method.embedded_order}


@pytest.mark.parametrize("name", ALL)
def test_observed_order(name):
    method = ALL[name]
    assert slope(method, counts_for(method.order)) > method.order - 0.2


@pytest.mark.parametrize("name", PAIRS)
def test_observed_order_of_the_embedded_method(name):
    method = embedded(PAIRS[name])
    assert slope(method, counts_for(method.order)) > method.order - 0.2


def pendulum_counts(order):
    """Steps so short that the leading term of the error rules, and errors above rounding."""
    return {
        1: (800, 1600, 3200),
        2: (200, 400, 800),
        3: (100, 200, 400),
        4: (160, 320, 640),
        5: (90, 130, 180, 260),
        6: (40, 60, 90),
        7: (24, 32, 48),
        8: (16, 22, 30, 40),
    }[order]


@pytest.mark.parametrize("name", ALL)
def test_observed_order_on_the_double_pendulum(name):
    method = ALL[name]
    assert slope(method, pendulum_counts(method.order), PENDULUM) > method.order - 0.2


@pytest.mark.parametrize("name", PAIRS)
def test_observed_order_of_the_embedded_method_on_the_double_pendulum(name):
    method = embedded(PAIRS[name])
    assert slope(method, pendulum_counts(method.order), PENDULUM) > method.order - 0.2


@pytest.mark.parametrize("case", [COMMUTATORS, PENDULUM], ids=["commutators", "pendulum"])
def test_observed_order_of_the_third_row_of_dop853(case):
    """Its second estimate of the error is that of a method of order 3."""
    table = RKMK("dop853").table
    method = RKMK(Tableau("dop853, third row", 3, table.a, table.second_embedded))
    assert slope(method, (100, 200, 400), case) > 2.8


@pytest.mark.parametrize(("terms", "order"), [(0, 2), (1, 3), (2, 5), (4, 7)])
def test_a_truncated_dexpinv_limits_the_order(terms, order):
    """Order p needs ad^(p-2); ad^3 has coefficient zero, so ad^2 serves order 5."""
    method = RKMK("dop853", terms)
    assert method.order == order
    counts = (4, 6, 8, 12, 16) if order >= 5 else (16, 24, 32, 48)
    observed = slope(method, counts)
    assert observed > order - 0.2
    if order < 5:
        assert observed < order + 0.6  # and not more: the truncation is real (beyond, 1/720 hides it on this problem)


@pytest.mark.parametrize(
    "names", [("so3",), ("s3",), ("se3",), ("pose",), ("se2",), ("so2",), ("ts2",), ("s2",), ("r4",)]
)
@pytest.mark.parametrize("side", ["left", "right"])
def test_every_space_on_both_sides(names, side):
    """Order 4 from fixed steps, and adaptive Munthe-Kaas and commutator-free methods agree at a tight tolerance."""
    equation, start = problem(*names, side=side)
    fine = solve(equation, RKMK("dop853"), (0, 1), start, rtol=1e-12, atol=1e-13, save="final").y[-1]
    other = solve(equation, RKMK("dopri5", coordinates="exp"), (0, 1), start, rtol=1e-10, atol=1e-11, save="final").y[
        -1
    ]
    np.testing.assert_allclose(other, fine, rtol=0, atol=1e-8)
    coarse = [
        abs(solve(equation, method, (0, 1), start, step=1 / n, save="final").y[-1] - fine).max()
        for method in (RKMK("rk4"), COMMUTATOR_FREE["cf4"])
        for n in (24, 48)
    ]
    assert coarse[0] / coarse[1] > 2**3.5 or coarse[1] < 1e-10
    assert coarse[2] / coarse[3] > 2**3.5 or coarse[3] < 1e-10


def test_a_product_is_its_parts_when_they_do_not_interact():
    """A table of blocks integrates each block as if it were alone: constant field, so one step is exact."""
    from chasles import lie
    from chasles.integrate.problem import LieODE
    from chasles.integrate.space import Space
    from chasles.integrate.vector_field import field

    @field
    def constant(t, y, p, out):
        for i in range(out.shape[0]):
            out[i] = p[i]

    names = ("pose", "s2", "r2", "ts2", "so3", "se3*", "se2")
    space = Space(*names)
    point = np.concatenate([problem(n)[1] for n in names])
    x = np.random.default_rng(0).normal(size=space.dimension) * 0.4
    end = solve(LieODE(space, constant, x), RKMK("euler"), (0, 1), point, step=1.0, save="final").y[-1]
    expected = [
        lie.pose.compose(lie.pose.exp(x[:6]), point[:7]),
        lie.so3.act(lie.so3.exp(x[6:9]), point[7:10]),
        point[10:12] + x[9:11],
        lie.se3.Ad_apply(lie.se3.exp(x[11:17]), point[12:18]),
        (lie.so3.exp(x[17:20]) @ point[18:27].reshape(3, 3)).ravel(),
        lie.se3.AdT_apply(lie.se3.inverse(lie.se3.exp(x[20:26])), point[27:33]),
        (lie.se2.exp(x[26:29]) @ point[33:42].reshape(3, 3)).ravel(),
    ]
    np.testing.assert_allclose(end, np.concatenate(expected), rtol=0, atol=4e-16 * 4)
