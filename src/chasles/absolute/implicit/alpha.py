"""Coordinates of generalized alpha: predicted, as a state, and carried on to the next step."""

from __future__ import annotations

from chasles.absolute.implicit.chart import lift, lift_rate, minus, move_body, plus
from chasles.absolute.implicit.layout import CARRIED, STATE_VECTOR
from chasles.absolute.implicit.position import displacement, keep_rows
from chasles.absolute.implicit.structure import SIZES
from chasles.absolute.tables import BODY, FIELD, SE3
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load6, store6

# parameters: αm, αf, γ, β, index, whether in local coordinates, tolerance, whether to project velocities, tolerances of
# the error (zero: no estimate)
ALPHA = layout("ALPHA", am=1, af=1, gamma=1, beta=1, index=1, local=1, tolerance=1, project=1, rtol=1, atol=1)
STATE = Regions(
    "AlphaState",
    point=STATE_VECTOR.count,
    rate_n=6 * SIZES.n_bodies,  # V'
    a_n=6 * SIZES.n_bodies,
    lam=3 * SIZES.n_nodes,
    zeta=3 * SIZES.n_kept,
    drift=3 * SIZES.n_kept,  # the change of ζ in the step before; during a step, ζ at its begin
    growth=6 * SIZES.n_bodies,  # the change of x'' in the step before
    **CARRIED,
)
VECTORS = Regions(
    "AlphaVectors",
    x=6 * SIZES.n_bodies,
    star=6 * SIZES.n_bodies,
    rate=6 * SIZES.n_bodies,  # x'
    second=6 * SIZES.n_bodies,  # x''
    new_v=6 * SIZES.n_bodies,
    new_rate=6 * SIZES.n_bodies,
    moved=6 * SIZES.n_bodies,  # the change of x* in an iteration
    error_x=6 * SIZES.n_bodies,  # estimates, of coordinates and of velocities
    error_v=6 * SIZES.n_bodies,
)
state_of, vectors_of = STATE.views, VECTORS.views
# index is that of the equations: 3 also if rows depend on others, when the matrix is symmetric and velocities are
# projected (`onto`); `project`: they are because it was asked for
make_alpha = joined("Alpha", "am af gamma beta level local form tolerance onto project rtol atol", STATE, VECTORS)


@kernel
def trial_state(desk, own):
    """Poses, velocities and their derivatives from the coordinates."""
    for i in range(desk.tables.n):
        on_se3 = desk.tables.bodies[i * BODY.size + BODY.space] == SE3
        move_body(on_se3, desk.q, i, load6(own.x, 6 * i, 0.0), desk.new_q)
        velocity, acceleration = load6(own.rate, 6 * i, 0.0), load6(own.second, 6 * i, 0.0)
        if own.local:
            at = load6(own.star, 6 * i, 0.0)
            acceleration = lift_rate(on_se3, at, velocity, acceleration)
            velocity = lift(on_se3, at, velocity)
        store6(own.new_v, 6 * i, velocity)
        store6(own.new_rate, 6 * i, acceleration)


@kernel
def algorithmic(own, k):
    """a_{n+1} from x''."""
    return ((1.0 - own.af) * own.second[k] + own.af * own.rate_n[k] - own.am * own.a_n[k]) / (1.0 - own.am)


@kernel
def change_step(desk, own, h):
    """a belongs to a time off t_n by so much of the step."""
    before = own.last_step[0]
    for k in range(6 * desk.tables.n):
        own.a_n[k] = own.rate_n[k] + h / before * (own.a_n[k] - own.rate_n[k])
        own.growth[k] *= h / before
    own.last_step[0], own.contraction[0] = h, 1.0


@kernel
def predict(desk, own, t, h):
    """Predicted: x'' and ζ change as in the step before, λ stays."""
    v, gamma, beta = desk.v, own.gamma, own.beta
    for k in range(6 * desk.tables.n):
        own.second[k] = own.rate_n[k] + own.growth[k]
        end = algorithmic(own, k)
        own.rate[k] = v[k] + h * ((1.0 - gamma) * own.a_n[k] + gamma * end)
        own.star[k] = h * (v[k] + h * ((0.5 - beta) * own.a_n[k] + beta * end))
        own.x[k] = own.star[k]
    if own.level == 2 or own.atol + own.rtol > 0.0:
        keep_rows(desk, t)
    if own.level == 2:
        for k in range(3 * desk.tables.nn):
            before_step = own.zeta[k]
            own.zeta[k] += own.drift[k]
            own.drift[k] = before_step
        displacement(desk, own.zeta)
        for k in range(6 * desk.tables.n):
            own.x[k] += desk.a[k]
    if desk.tables.gravity[FIELD.regularization] > 0.0:  # what dependent rows leave open must not be carried on
        for k in range(3 * desk.plan.n_nodes):
            own.lam[k] = 0.0


@kernel
def carry_on(desk, own):
    """V', a and what the next step is predicted with."""
    for i in range(desk.tables.n):
        on_se3 = desk.tables.bodies[i * BODY.size + BODY.space] == SE3
        for k in range(6 * i, 6 * i + 6):
            own.growth[k] = own.second[k] - own.rate_n[k]
            own.a_n[k] = algorithmic(own, k)
        if own.local:
            off = minus(load6(own.a_n, 6 * i, 0.0), load6(own.second, 6 * i, 0.0))
            ahead = lift(on_se3, load6(own.star, 6 * i, 0.0), off)
            store6(own.a_n, 6 * i, plus(load6(own.new_rate, 6 * i, 0.0), 1.0, ahead))
    for k in range(6 * desk.tables.n):
        own.rate_n[k] = own.new_rate[k]
    if own.level == 2:
        for k in range(3 * desk.tables.nn):
            own.drift[k] = own.zeta[k] - own.drift[k]
